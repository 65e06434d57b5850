// Workgroup arrays that may overlay each other are one where they have the same
// elements; the third may not share with the first.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:f16 | FileCheck %s

// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.array<128 x i32>, Workgroup>
// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.array<32 x i32>, Workgroup>
// CHECK-DAG: spirv.GlobalVariable @{{.*}} : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
// CHECK-NOT: spirv.GlobalVariable @{{.*}} Workgroup
// CHECK: spirv.EntryPoint
kernel.func @overlays(%o: !kernel.buffer<i32, write>, %n: i32, %s: f32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %a = kernel.workgroup_alloc : !kernel.workgroup<64xi32>
  %b = kernel.workgroup_alloc overlays(%a : !kernel.workgroup<64xi32>)
      : !kernel.workgroup<128xi32>
  %c = kernel.workgroup_alloc overlays(%b : !kernel.workgroup<128xi32>)
      : !kernel.workgroup<32xi32>
  %d = kernel.workgroup_alloc overlays(%a : !kernel.workgroup<64xi32>)
      : !kernel.workgroup<64xf32>
  kernel.store %n, %a[%n] : !kernel.workgroup<64xi32>
  kernel.store %n, %b[%n] : !kernel.workgroup<128xi32>
  kernel.store %n, %c[%n] : !kernel.workgroup<32xi32>
  kernel.store %s, %d[%n] : !kernel.workgroup<64xf32>
  kernel.return
}
