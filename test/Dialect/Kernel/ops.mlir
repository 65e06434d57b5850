// Every type and operation of the kernel dialect, in its printed form.
// RUN: poot-opt %s | FileCheck %s
// RUN: poot-opt %s --mlir-print-op-generic | poot-opt | FileCheck %s

// CHECK-LABEL: kernel.func @memory(
// CHECK-SAME: %{{.*}}: !kernel.buffer<f32, read>,
// CHECK-SAME: %{{.*}}: !kernel.buffer<vector<4xf16>, write>,
// CHECK-SAME: %{{.*}}: !kernel.buffer<i32, read_write>,
// CHECK-SAME: %{{.*}}: i32, %{{.*}}: f32)
// CHECK-SAME: attributes {workgroup_size = array<i32: 64, 2, 1>}
kernel.func @memory(%x: !kernel.buffer<f32, read>,
                    %h: !kernel.buffer<vector<4xf16>, write>,
                    %a: !kernel.buffer<i32, read_write>,
                    %n: i32, %s: f32)
    attributes {workgroup_size = array<i32: 64, 2, 1>} {
  // CHECK: %[[TILE:.*]] = kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  %tile = kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  // CHECK: kernel.workgroup_alloc : !kernel.workgroup<8xi32>
  %counts = kernel.workgroup_alloc : !kernel.workgroup<8 x i32>
  // CHECK: %[[V:.*]] = kernel.load %{{.*}}[%{{.*}}] : !kernel.buffer<f32, read>
  %v = kernel.load %x[%n] : !kernel.buffer<f32, read>
  // CHECK: kernel.store %[[V]], %[[TILE]][%{{.*}}] : !kernel.workgroup<64xf32>
  kernel.store %v, %tile[%n] : !kernel.workgroup<64xf32>
  // CHECK: kernel.barrier
  kernel.barrier
  // CHECK: kernel.load %[[TILE]]
  %w = kernel.load %tile[%n] : !kernel.workgroup<64xf32>
  %f = arith.truncf %w : f32 to f16
  %fv = vector.broadcast %f : f16 to vector<4xf16>
  // CHECK: kernel.store %{{.*}} : !kernel.buffer<vector<4xf16>, write>
  kernel.store %fv, %h[%n] : !kernel.buffer<vector<4xf16>, write>
  // CHECK: kernel.atomic_rmw add relaxed device %{{.*}}[%{{.*}}], %{{.*}} : !kernel.buffer<i32, read_write>
  %0 = kernel.atomic_rmw add relaxed device %a[%n], %n : !kernel.buffer<i32, read_write>
  // CHECK: kernel.atomic_rmw umax acq_rel workgroup %{{.*}} : !kernel.workgroup<8xi32>
  %1 = kernel.atomic_rmw umax acq_rel workgroup %counts[%n], %0 : !kernel.workgroup<8xi32>
  // CHECK: kernel.atomic_cas acquire subgroup %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : !kernel.buffer<i32, read_write>
  %2 = kernel.atomic_cas acquire subgroup %a[%n], %0, %1 : !kernel.buffer<i32, read_write>
  kernel.return
}

// CHECK-LABEL: kernel.func @identifiers(
kernel.func @identifiers(%o: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 8, 2>} {
  // CHECK: kernel.local_id x
  %0 = kernel.local_id x
  // CHECK: kernel.workgroup_id y
  %1 = kernel.workgroup_id y
  // CHECK: kernel.num_workgroups z
  %2 = kernel.num_workgroups z
  // CHECK: kernel.lane_id
  %3 = kernel.lane_id
  // CHECK: kernel.subgroup_id
  %4 = kernel.subgroup_id
  // CHECK: kernel.subgroup_size
  %5 = kernel.subgroup_size
  kernel.return
}

// CHECK-LABEL: kernel.func @subgroups(
kernel.func @subgroups(%x: !kernel.buffer<f32, read>, %i: i32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %v = kernel.load %x[%i] : !kernel.buffer<f32, read>
  // CHECK: kernel.subgroup_reduce max %{{.*}} : f32
  %0 = kernel.subgroup_reduce max %v : f32
  // CHECK: kernel.subgroup_reduce umin %{{.*}} : i32
  %1 = kernel.subgroup_reduce umin %i : i32
  // CHECK: kernel.subgroup_scan inclusive %{{.*}} : f32
  %2 = kernel.subgroup_scan inclusive %v : f32
  // CHECK: kernel.subgroup_shuffle xor %{{.*}}, %{{.*}} : f32
  %3 = kernel.subgroup_shuffle xor %v, %i : f32
  // CHECK: kernel.subgroup_broadcast %{{.*}}, %{{.*}} : f32
  %4 = kernel.subgroup_broadcast %v, %i : f32
  %c = arith.cmpi slt, %i, %1 : i32
  // CHECK: kernel.subgroup_any %{{.*}}
  %5 = kernel.subgroup_any %c
  // CHECK: kernel.subgroup_all %{{.*}}
  %6 = kernel.subgroup_all %5
  kernel.return
}
