// RUN: poot-opt %s --kernel-split-vectors --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: kernel.func @long
// CHECK: kernel.var : !kernel.var<2x2xvector<4xf32>>
// CHECK: kernel.var : !kernel.var<3x6xf32>
// CHECK: cf.br ^[[HEAD:.*]](%{{.*}} : i32, vector<4xf32>, vector<4xf32>)
// CHECK: ^[[HEAD]](%{{.*}}: i32, %[[LO:.*]]: vector<4xf32>, %[[HI:.*]]: vector<4xf32>)
// CHECK: arith.addf %[[LO]], %{{.*}} fastmath<contract> : vector<4xf32>
// CHECK: arith.addf %[[HI]], %{{.*}} fastmath<contract> : vector<4xf32>
// CHECK-NOT: vector<8x
kernel.func @long(%n: i32, %s: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %a = kernel.var : !kernel.var<2xvector<8xf32>>
  %b = kernel.var : !kernel.var<3xvector<6xf32>>
  %v = vector.broadcast %s : f32 to vector<8xf32>
  cf.br ^head(%c0, %v : i32, vector<8xf32>)
^head(%i: i32, %acc: vector<8xf32>):
  %w = kernel.var_load %a[%i] : !kernel.var<2xvector<8xf32>>
  %sum = arith.addf %acc, %w fastmath<contract> : vector<8xf32>
  %six = vector.extract_strided_slice %sum {offsets = [1], sizes = [6], strides = [1]} : vector<8xf32> to vector<6xf32>
  kernel.var_store %six, %b[%i] : !kernel.var<3xvector<6xf32>>
  %go = arith.cmpi slt, %i, %n : i32
  cf.cond_br %go, ^head(%n, %sum : i32, vector<8xf32>), ^exit
^exit:
  kernel.return
}

// -----

// CHECK-LABEL: kernel.func @undefined
// CHECK-COUNT-2: ub.poison : vector<4xf32>
// CHECK-COUNT-2: kernel.unwritten : vector<4xf32>
// CHECK-COUNT-2: arith.addf
kernel.func @undefined(%y: !kernel.buffer<f32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %p = ub.poison : vector<8xf32>
  %u = kernel.unwritten : vector<8xf32>
  %sum = arith.addf %p, %u : vector<8xf32>
  %s = vector.extract %sum[7] : f32 from vector<8xf32>
  kernel.store %s, %y[%n] : !kernel.buffer<f32, write>
  kernel.return
}

// -----

// One element is a scalar.
// CHECK-LABEL: kernel.func @single
// CHECK: %[[ONE:.*]] = vector.bitcast %{{.*}} : vector<4xi8> to vector<1xi32>
// CHECK: %[[WORD:.*]] = vector.extract %[[ONE]][0]
// CHECK: kernel.store %[[WORD]]
kernel.func @single(%x: !kernel.buffer<vector<4xi8>, read>, %y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<vector<4xi8>, read>
  %b = vector.bitcast %v : vector<4xi8> to vector<1xi32>
  %w = vector.extract %b[0] : i32 from vector<1xi32>
  kernel.store %w, %y[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

kernel.func @unknown(%s: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{takes or gives 'vector<8xindex>'; vectors of more than 4 elements must be computed with arith, math and vector}}
  %w = vector.step : vector<8xindex>
  kernel.return
}
