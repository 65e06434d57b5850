// Tables, private variables that stay in memory, and structures in buffers.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:f16 | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --target=vulkan:f16 %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv

!particle = !kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>

// CHECK: spirv.GlobalVariable @buffer0
// CHECK-SAME: !spirv.struct<(f32 [0], i32 [4], !spirv.array<4 x f16, stride=2> [8])>, stride=16>
// CHECK-DAG: %[[ONE:.*]] = spirv.Constant 1 : i32
// CHECK-DAG: %[[INIT:.*]] = spirv.Constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK-DAG: %[[VAR:.*]] = spirv.Variable : !spirv.ptr<!spirv.array<2 x !spirv.array<4 x f32>>, Function>
// CHECK-DAG: %[[TABLE:.*]] = spirv.Variable init(%[[INIT]])
// CHECK: spirv.AccessChain %[[TABLE]][%[[N:.*]]] :
// CHECK: spirv.AccessChain %[[VAR]][%[[N]], %[[ONE]]]
// CHECK-NOT: kernel.
kernel.func @variables(%x: !kernel.buffer<!particle, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = kernel.constant_table dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      -> !kernel.table<3xf32>
  %a = kernel.var : !kernel.var<2x4xf32>
  %v = kernel.load %t[%n] : !kernel.table<3xf32>
  kernel.var_store %v, %a[%c0, %n] : !kernel.var<2x4xf32>
  %w = kernel.var_load %a[%n, %c1] : !kernel.var<2x4xf32>
  %h = kernel.load %x[%n] leaf 2[%n] : !kernel.buffer<!particle, read_write>
  %s = kernel.spec_constant "scale" = 2.0 : f32
  %z = arith.mulf %w, %s : f32
  kernel.loop_hint unroll_full
  kernel.store %z, %x[%n] leaf 0 : !kernel.buffer<!particle, read_write>
  kernel.store %h, %x[%n] leaf 2[%c0] : !kernel.buffer<!particle, read_write>
  kernel.return
}
