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

// CHECK-LABEL: kernel.func @structures(
// CHECK-SAME: !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
kernel.func @structures(
    %x: !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                       read_write>, %i: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: %[[V:.*]] = kernel.load %{{.*}}[%{{.*}}] leaf 0 : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
  %0 = kernel.load %x[%i] leaf 0
      : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                       read_write>
  // CHECK: %[[W:.*]] = kernel.load %{{.*}}[%{{.*}}] leaf 2[%{{.*}}] :
  %1 = kernel.load %x[%i] leaf 2[%i]
      : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                       read_write>
  // CHECK: kernel.store %[[V]], %{{.*}}[%{{.*}}] leaf 0 :
  kernel.store %0, %x[%i] leaf 0
      : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                       read_write>
  // CHECK: kernel.store %[[W]], %{{.*}}[%{{.*}}] leaf 2[%{{.*}}] :
  kernel.store %1, %x[%i] leaf 2[%i]
      : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                       read_write>
  kernel.return
}

// CHECK-LABEL: kernel.func @private(
kernel.func @private(%i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  %tile = kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  // CHECK: kernel.workgroup_alloc overlays(%{{.*}} : !kernel.workgroup<64xf32>) : !kernel.workgroup<8xf32>
  %sums = kernel.workgroup_alloc overlays(%tile : !kernel.workgroup<64xf32>)
      : !kernel.workgroup<8xf32>
  // CHECK: kernel.constant_table dense<[1, 2]> : tensor<2xi8> -> !kernel.table<2xi8>
  %t = kernel.constant_table dense<[1, 2]> : tensor<2xi8> -> !kernel.table<2xi8>
  // CHECK: kernel.load %{{.*}}[%{{.*}}] : !kernel.table<2xi8>
  %0 = kernel.load %t[%i] : !kernel.table<2xi8>
  // CHECK: kernel.var : !kernel.var<i8>
  %v = kernel.var : !kernel.var<i8>
  // CHECK: kernel.var : !kernel.var<2x3xvector<16xf32>>
  %w = kernel.var : !kernel.var<2x3xvector<16xf32>>
  // CHECK: kernel.var_store %{{.*}}, %{{.*}}[] : !kernel.var<i8>
  kernel.var_store %0, %v[] : !kernel.var<i8>
  // CHECK: kernel.var_load %{{.*}}[%{{.*}}, %{{.*}}] : !kernel.var<2x3xvector<16xf32>>
  %1 = kernel.var_load %w[%i, %i] : !kernel.var<2x3xvector<16xf32>>
  // CHECK: kernel.spec_constant "flag" = true
  %2 = kernel.spec_constant "flag" = true
  // CHECK: kernel.spec_constant "scale" = 1.250000e-01 : f32
  %3 = kernel.spec_constant "scale" = 0.125 : f32
  cf.br ^loop
^loop:
  // CHECK: kernel.loop_hint unroll times 4
  kernel.loop_hint unroll times 4
  // CHECK: kernel.loop_hint nounroll
  kernel.loop_hint nounroll
  cf.cond_br %2, ^loop, ^end
^end:
  kernel.return
}

// CHECK-LABEL: kernel.func @atomics(
kernel.func @atomics(%x: !kernel.buffer<f32, read_write>,
                     %y: !kernel.buffer<i64, read_write>, %i: i32, %v: f32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: kernel.atomic_rmw min relaxed device %{{.*}} : !kernel.buffer<f32, read_write>
  %0 = kernel.atomic_rmw min relaxed device %x[%i], %v
      : !kernel.buffer<f32, read_write>
  // CHECK: kernel.atomic_load acquire device %{{.*}}[%{{.*}}] : !kernel.buffer<i64, read_write>
  %1 = kernel.atomic_load acquire device %y[%i] : !kernel.buffer<i64, read_write>
  // CHECK: kernel.atomic_store release workgroup %{{.*}}[%{{.*}}], %{{.*}} : !kernel.buffer<i64, read_write>
  kernel.atomic_store release workgroup %y[%i], %1
      : !kernel.buffer<i64, read_write>
  // CHECK: kernel.atomic_cas relaxed device %{{.*}} : !kernel.buffer<i64, read_write>
  %2 = kernel.atomic_cas relaxed device %y[%i], %1, %1
      : !kernel.buffer<i64, read_write>
  kernel.return
}

// CHECK-LABEL: kernel.hook_body @scaled(
// CHECK-SAME: %{{.*}}: f32, %{{.*}}: !kernel.buffer<f32, read>, %{{.*}}: i32) -> f32
kernel.hook_body @scaled(%v: f32, %b: !kernel.buffer<f32, read>, %i: i32)
    -> f32 {
  %0 = kernel.load %b[%i] : !kernel.buffer<f32, read>
  %1 = arith.mulf %v, %0 : f32
  // CHECK: kernel.yield %{{.*}} : f32
  kernel.yield %1 : f32
}
kernel.hook_body @nothing(%i: i32) {
  // CHECK: kernel.yield
  kernel.yield
}
// CHECK: kernel.hook_body @two
kernel.hook_body @two(%v: f32, %i: i32) -> (f32, i32) {
  // CHECK: kernel.yield %{{.*}}, %{{.*}} : f32, i32
  kernel.yield %v, %i : f32, i32
}

// CHECK-LABEL: kernel.func @hooks(
// CHECK-SAME: attributes {kernel.attributes = {tile = "64"}, kernel.fill = {other = @scaled}, workgroup_size
kernel.func @hooks(%i: i32, %v: f32)
    attributes {workgroup_size = array<i32: 1, 1, 1>,
                kernel.attributes = {tile = "64"},
                kernel.fill = {other = @scaled}} {
  // CHECK: %{{.*}}:2 = kernel.hook "value"(%{{.*}}, %{{.*}}) default @two : (f32, i32) -> (f32, i32)
  %0:2 = kernel.hook "value"(%v, %i) default @two : (f32, i32) -> (f32, i32)
  // CHECK: kernel.hook "effect"(%{{.*}}) default @nothing : (i32) -> ()
  kernel.hook "effect"(%i) default @nothing : (i32) -> ()
  kernel.return
}

// CHECK-LABEL: kernel.func @fragments(
kernel.func @fragments(%x: !kernel.buffer<f16, read>,
                       %y: !kernel.buffer<f32, write>, %i: i32, %s: f32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<256xf16>
  // CHECK: %[[A:.*]] = kernel.fragment_load row %{{.*}}[%{{.*}}], %{{.*}} : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf16, a>
  %a = kernel.fragment_load row %x[%i], %i
      : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf16, a>
  // CHECK: %[[B:.*]] = kernel.fragment_load column %{{.*}} : !kernel.workgroup<256xf16> -> !kernel.fragment<16x8xf16, b>
  %b = kernel.fragment_load column %tile[%i], %i
      : !kernel.workgroup<256xf16> -> !kernel.fragment<16x8xf16, b>
  // CHECK: %[[C:.*]] = kernel.fragment_fill %{{.*}} : !kernel.fragment<16x8xf32, accumulator>
  %c = kernel.fragment_fill %s : !kernel.fragment<16x8xf32, accumulator>
  // CHECK: %[[D:.*]] = kernel.fragment_mma %[[A]], %[[B]], %[[C]] : !kernel.fragment<16x16xf16, a>, !kernel.fragment<16x8xf16, b> -> !kernel.fragment<16x8xf32, accumulator>
  %d = kernel.fragment_mma %a, %b, %c
      : !kernel.fragment<16x16xf16, a>, !kernel.fragment<16x8xf16, b>
      -> !kernel.fragment<16x8xf32, accumulator>
  // CHECK: kernel.fragment_store row %[[D]], %{{.*}}[%{{.*}}], %{{.*}} : !kernel.fragment<16x8xf32, accumulator>, !kernel.buffer<f32, write>
  kernel.fragment_store row %d, %y[%i], %i
      : !kernel.fragment<16x8xf32, accumulator>, !kernel.buffer<f32, write>
  kernel.return
}
