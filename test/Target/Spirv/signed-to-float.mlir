// An integer is converted to floating point as a signed number, also where a
// driver's optimizer knows it: spirv-opt goes by the type of the constant, and
// integers are unsigned.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:base | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --target=vulkan:base %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: spirv-opt -O %t.spv -o %t.opt.spv
// RUN: spirv-dis %t.opt.spv | FileCheck %s --check-prefix=FOLDED

// CHECK: %[[SIGNED:.*]] = spirv.Bitcast %{{.*}} : i32 to si32
// CHECK: spirv.ConvertSToF %[[SIGNED]] : si32 to f32

// FOLDED: %[[NUMBER:.*]] = OpConstant %float -2048
// FOLDED: OpStore %{{.*}} %[[NUMBER]]
kernel.func @signed(%x: !kernel.buffer<i32, read>,
                    %y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %i = kernel.local_id x
  %c0 = arith.constant 0 : i32
  %c2048 = arith.constant 2048 : i32
  %v = kernel.load %x[%i] : !kernel.buffer<i32, read>
  // Never true, which spirv-opt knows.
  %below = arith.cmpi ult, %v, %c0 : i32
  %n = arith.extui %below : i1 to i32
  %m = arith.subi %n, %c2048 : i32
  %f = arith.sitofp %m : i32 to f32
  kernel.store %f, %y[%i] : !kernel.buffer<f32, write>
  kernel.return
}
