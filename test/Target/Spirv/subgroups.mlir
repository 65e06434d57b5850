// Subgroup operations and atomics.
// RUN: poot-opt %s --poot-kernel-to-spirv | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --kernel subgroups %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel atomics %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv

// CHECK: spirv.module @subgroups
// CHECK-SAME: [Shader, GroupNonUniform, {{.*}}], []
// CHECK: spirv.GroupNonUniformFAdd <Subgroup> <Reduce>
// CHECK: spirv.GroupNonUniformFMax <Subgroup> <Reduce>
// CHECK: spirv.GroupNonUniformUMin <Subgroup> <Reduce>
// CHECK: spirv.GroupNonUniformIMul <Subgroup> <Reduce>
// CHECK: spirv.GroupNonUniformFAdd <Subgroup> <InclusiveScan>
// CHECK: spirv.GroupNonUniformIAdd <Subgroup> <ExclusiveScan>
// CHECK: spirv.GroupNonUniformShuffle <Subgroup>
// CHECK: spirv.GroupNonUniformShuffleXor <Subgroup>
// CHECK: spirv.GroupNonUniformShuffleUp <Subgroup>
// CHECK: spirv.GroupNonUniformShuffleDown <Subgroup>
// CHECK: spirv.GroupNonUniformBroadcast <Subgroup>
// CHECK: spirv.GroupNonUniformShuffle <Subgroup>
// CHECK: spirv.GroupNonUniformAny <Subgroup>
// CHECK: spirv.GroupNonUniformAll <Subgroup>
kernel.func @subgroups(%x: !kernel.buffer<f32, read_write>, %y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %i = kernel.lane_id
  %id = kernel.subgroup_id
  %size = kernel.subgroup_size
  %v = kernel.load %x[%i] : !kernel.buffer<f32, read_write>
  %0 = kernel.subgroup_reduce add %v : f32
  %1 = kernel.subgroup_reduce max %0 : f32
  %2 = kernel.subgroup_reduce umin %id : i32
  %3 = kernel.subgroup_reduce mul %2 : i32
  %4 = kernel.subgroup_scan inclusive %1 : f32
  %5 = kernel.subgroup_scan exclusive %3 : i32
  %6 = kernel.subgroup_shuffle idx %4, %i : f32
  %7 = kernel.subgroup_shuffle xor %6, %i : f32
  %8 = kernel.subgroup_shuffle up %7, %i : f32
  %9 = kernel.subgroup_shuffle down %8, %i : f32
  %c0 = arith.constant 0 : i32
  %b = kernel.subgroup_broadcast %9, %c0 : f32
  %10 = kernel.subgroup_broadcast %b, %2 : f32
  %c = arith.cmpi slt, %5, %size : i32
  %11 = kernel.subgroup_any %c
  %12 = kernel.subgroup_all %11
  %13 = arith.extui %12 : i1 to i32
  kernel.store %10, %x[%i] : !kernel.buffer<f32, read_write>
  kernel.store %13, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// CHECK: spirv.module @atomics
// CHECK-SAME: [Shader], []
// CHECK: spirv.AtomicIAdd <Device> <None>
// CHECK: spirv.AtomicSMax <Workgroup> <AcquireRelease|WorkgroupMemory>
// CHECK: spirv.AtomicUMin <Subgroup> <Release|UniformMemory>
// CHECK: spirv.AtomicExchange <Device> <Acquire|UniformMemory>
// CHECK: spirv.AtomicCompareExchange <Device> <AcquireRelease|UniformMemory> <Acquire|UniformMemory>
// CHECK: spirv.AtomicCompareExchange <Device> <Release|UniformMemory> <None>
kernel.func @atomics(%x: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %s = kernel.workgroup_alloc : !kernel.workgroup<4xi32>
  %0 = kernel.atomic_rmw add relaxed device %x[%n], %n : !kernel.buffer<i32, read_write>
  %1 = kernel.atomic_rmw max acq_rel workgroup %s[%n], %0 : !kernel.workgroup<4xi32>
  %2 = kernel.atomic_rmw umin release subgroup %x[%n], %1 : !kernel.buffer<i32, read_write>
  %3 = kernel.atomic_rmw exchange acquire device %x[%n], %2 : !kernel.buffer<i32, read_write>
  %4 = kernel.atomic_cas acq_rel device %x[%n], %3, %2 : !kernel.buffer<i32, read_write>
  %5 = kernel.atomic_cas release device %x[%n], %4, %2 : !kernel.buffer<i32, read_write>
  kernel.return
}
