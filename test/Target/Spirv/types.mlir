// Small types: which capabilities they take.
// RUN: poot-opt %s --poot-kernel-to-spirv | FileCheck %s
// RUN: poot-translate --kernel-to-spirv --kernel convert_only %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel compute %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel brain %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel brain_constant %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel wide %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel registers %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv

// Loading, storing and converting is part of the storage capability.
// CHECK: spirv.module @convert_only
// CHECK-SAME: [Shader, StorageBuffer16BitAccess, StorageBuffer8BitAccess], [SPV_KHR_16bit_storage, SPV_KHR_8bit_storage]
kernel.func @convert_only(%x: !kernel.buffer<f16, read>, %q: !kernel.buffer<i8, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %h = kernel.load %x[%n] : !kernel.buffer<f16, read>
  %f = arith.extf %h : f16 to f32
  %s = arith.mulf %f, %f : f32
  %i = arith.fptosi %s : f32 to i32
  %b = arith.trunci %i : i32 to i8
  kernel.store %b, %q[%n] : !kernel.buffer<i8, write>
  kernel.return
}

// CHECK: spirv.module @compute
// CHECK-SAME: Float16
// CHECK-SAME: Int8
kernel.func @compute(%x: !kernel.buffer<vector<4xf16>, read_write>, %q: !kernel.buffer<i8, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %h = kernel.load %x[%n] : !kernel.buffer<vector<4xf16>, read_write>
  %s = arith.mulf %h, %h : vector<4xf16>
  kernel.store %s, %x[%n] : !kernel.buffer<vector<4xf16>, read_write>
  %b = kernel.load %q[%n] : !kernel.buffer<i8, read_write>
  %c = arith.addi %b, %b : i8
  kernel.store %c, %q[%n] : !kernel.buffer<i8, read_write>
  kernel.return
}

// bf16 is its bits.
// CHECK: spirv.module @brain
// CHECK-SAME: [Shader, StorageBuffer16BitAccess], [SPV_KHR_16bit_storage]
// CHECK: spirv.UConvert %{{.*}} : i16 to i32
kernel.func @brain(%x: !kernel.buffer<bf16, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<bf16, read_write>
  %0 = arith.addf %v, %v : bf16
  kernel.store %0, %x[%n] : !kernel.buffer<bf16, read_write>
  kernel.return
}

// CHECK: spirv.module @brain_constant
// CHECK: spirv.Constant 16256 : i16
kernel.func @brain_constant(%x: !kernel.buffer<bf16, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %one = arith.constant 1.0 : bf16
  kernel.store %one, %x[%n] : !kernel.buffer<bf16, write>
  kernel.return
}

// CHECK: spirv.module @wide
// CHECK-SAME: Float64
// CHECK-SAME: Int64
kernel.func @wide(%x: !kernel.buffer<f64, read_write>, %y: !kernel.buffer<i64, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<f64, read_write>
  %w = kernel.load %y[%n] : !kernel.buffer<i64, read_write>
  kernel.store %v, %x[%n] : !kernel.buffer<f64, read_write>
  kernel.store %w, %y[%n] : !kernel.buffer<i64, read_write>
  kernel.return
}

// No buffer holds the type, so no storage capability covers it.
// CHECK: spirv.module @registers
// CHECK-SAME: [Shader, Float16], []
kernel.func @registers(%x: !kernel.buffer<f32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<f32, read_write>
  %h = arith.truncf %v : f32 to f16
  %f = arith.extf %h : f16 to f32
  kernel.store %f, %x[%n] : !kernel.buffer<f32, read_write>
  kernel.return
}
