// Atomics on f32 go through integers, and those on i64 name what they need.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:f16 --split-input-file | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --kernel numbers --target=vulkan:base %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel wide --target=vulkan:f16 %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv

// The order is around the loop. What is only loaded isn't read-only any more.
// CHECK-LABEL: spirv.module @numbers
// CHECK-SAME: [Shader]
// CHECK-DAG: @buffer0 bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0]), Block>, StorageBuffer>
// CHECK-DAG: @buffer1 bind(0, 1) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0]), Block>, StorageBuffer>
// CHECK: spirv.MemoryBarrier <Device>, <Release|UniformMemory>
// CHECK: spirv.AtomicOr <Device> <None>
// CHECK: spirv.mlir.loop
// CHECK: spirv.FAdd
// CHECK: spirv.AtomicCompareExchange <Device> <None> <None>
// CHECK: spirv.MemoryBarrier <Device>, <Acquire|UniformMemory>
// CHECK: spirv.AtomicOr <Device> <Acquire|UniformMemory>
// CHECK: spirv.AtomicExchange <Device> <Release|UniformMemory>
// CHECK: spirv.Bitcast %{{.*}} : i32 to f32
kernel.func @numbers(%x: !kernel.buffer<f32, read_write>,
                     %r: !kernel.buffer<f32, read>, %n: i32, %s: f32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %0 = kernel.atomic_rmw add acq_rel device %x[%n], %s
      : !kernel.buffer<f32, read_write>
  %1 = kernel.atomic_load acquire device %r[%n] : !kernel.buffer<f32, read>
  kernel.atomic_store release device %x[%n], %1 : !kernel.buffer<f32, read_write>
  %2 = kernel.load %x[%n] : !kernel.buffer<f32, read_write>
  %3 = arith.addf %2, %0 : f32
  kernel.store %3, %x[%n] : !kernel.buffer<f32, read_write>
  kernel.return
}

// CHECK-LABEL: spirv.module @wide
// CHECK-SAME: Int64Atomics
// CHECK: spirv.AtomicIAdd <Device> <None> %{{.*}} : !spirv.ptr<i64, StorageBuffer>
kernel.func @wide(%y: !kernel.buffer<i64, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %0 = arith.extsi %n : i32 to i64
  %1 = kernel.atomic_rmw add relaxed device %y[%n], %0
      : !kernel.buffer<i64, read_write>
  kernel.return
}
