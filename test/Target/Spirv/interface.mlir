// Entry point, bindings, metadata, identifiers, workgroup arrays, barriers.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:base | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --target=vulkan:base %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: spirv-dis %t.spv | FileCheck %s --check-prefix=DIS
// RUN: poot-translate --spirv-to-mlir %t.spv | FileCheck %s --check-prefix=BACK

// A kernel without special needs has no capability but Shader.
// CHECK: spirv.module @buffer0 Logical GLSL450 requires #spirv.vce<v1.5, [Shader], []>
// CHECK-DAG: spirv.GlobalVariable @[[IN:.*]] bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0, NonWritable]), Block>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @[[V4:.*]] bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0, NonReadable]), Block>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @[[RW:.*]] bind(0, 2) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0]), Block>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @[[META:.*]] : !spirv.ptr<!spirv.struct<(i32 [0], f32 [4]), Block>, PushConstant>
// CHECK-DAG: spirv.GlobalVariable @[[TILE:.*]] : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
// CHECK-DAG: spirv.GlobalVariable @{{.*}} built_in("WorkgroupId")
// CHECK-DAG: spirv.GlobalVariable @{{.*}} built_in("NumWorkgroups")
// CHECK: spirv.func @buffer0()
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// CHECK: spirv.EntryPoint "GLCompute" @buffer0
// CHECK: spirv.ExecutionMode @buffer0 "LocalSize", 64, 1, 1

// DIS: Version: 1.5
// DIS: OpEntryPoint GLCompute %{{.*}} "buffer0"
// DIS: OpExecutionMode %{{.*}} LocalSize 64 1 1

// BACK: spirv.EntryPoint "GLCompute" @buffer0

// The kernel's name is that of a variable that the conversion makes.
kernel.func @buffer0(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<vector<4xf32>, write>,
                     %z: !kernel.buffer<i32, read_write>, %n: i32, %s: f32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  %t = kernel.local_id x
  %g = kernel.workgroup_id x
  %e = kernel.num_workgroups y
  %v = kernel.load %x[%n] : !kernel.buffer<f32, read>
  %w = arith.mulf %v, %s : f32
  kernel.store %w, %tile[%t] : !kernel.workgroup<64xf32>
  kernel.barrier
  %u = kernel.load %tile[%e] : !kernel.workgroup<64xf32>
  %vec = vector.broadcast %u : f32 to vector<4xf32>
  kernel.store %vec, %y[%g] : !kernel.buffer<vector<4xf32>, write>
  %old = kernel.load %z[%g] : !kernel.buffer<i32, read_write>
  %new = arith.addi %old, %t : i32
  kernel.store %new, %z[%g] : !kernel.buffer<i32, read_write>
  kernel.return
}
