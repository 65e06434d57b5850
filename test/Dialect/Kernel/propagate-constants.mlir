// RUN: poot-opt --pass-pipeline="builtin.module(kernel.func(kernel-propagate-constants))" %s \
// RUN:   | FileCheck %s

// The first iteration extracts element 0 of a constant; the others don't.
// CHECK-LABEL: kernel.func @dynamic
kernel.func @dynamic(%x: !kernel.buffer<vector<4xf32>, read>,
                     %y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  cf.br ^loop(%c0, %zero : i32, vector<4xf32>)
^loop(%i: i32, %v: vector<4xf32>):
  // CHECK: vector.extract %{{.*}}[%{{.*}}] : f32 from vector<4xf32>
  %at = arith.index_castui %i : i32 to index
  %e = vector.extract %v[%at] : f32 from vector<4xf32>
  kernel.store %e, %y[%i] : !kernel.buffer<f32, write>
  %next = arith.addi %i, %c1 : i32
  %loaded = kernel.load %x[%i] : !kernel.buffer<vector<4xf32>, read>
  %more = arith.cmpi slt, %next, %c4 : i32
  cf.cond_br %more, ^loop(%next, %loaded : i32, vector<4xf32>), ^end
^end:
  kernel.return
}

// CHECK-LABEL: kernel.func @branches
kernel.func @branches(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c7 = arith.constant 7 : i32
  %positive = arith.cmpi sgt, %n, %c0 : i32
  cf.cond_br %positive, ^one, ^join(%c7 : i32)
^one:
  cf.br ^join(%c7 : i32)
^join(%v: i32):
  // CHECK: %[[SEVEN:.*]] = arith.constant 7 : i32
  // CHECK: kernel.store %[[SEVEN]]
  kernel.store %v, %y[%c0] : !kernel.buffer<i32, write>
  kernel.return
}

// An element of a vector that a loop makes anew, and a difference that folds to
// what it doesn't read: constants in the first iteration alone.
// CHECK-LABEL: kernel.func @looked_through
kernel.func @looked_through(%y: !kernel.buffer<f32, write>,
                            %z: !kernel.buffer<i32, write>, %n: f32, %b: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  cf.br ^loop(%c0 : i32)
^loop(%i: i32):
  // CHECK: %[[F:.*]] = arith.sitofp
  // CHECK: %[[V:.*]] = vector.from_elements %[[F]]
  // CHECK: %[[E:.*]] = vector.extract %[[V]][0]
  // CHECK: kernel.store %[[E]]
  // CHECK: %[[D:.*]] = arith.subi
  // CHECK: kernel.store %[[D]]
  %f = arith.sitofp %i : i32 to f32
  %v = vector.from_elements %f, %n : vector<2xf32>
  %e = vector.extract %v[0] : f32 from vector<2xf32>
  kernel.store %e, %y[%i] : !kernel.buffer<f32, write>
  %sum = arith.addi %i, %b : i32
  %d = arith.subi %sum, %b : i32
  kernel.store %d, %z[%i] : !kernel.buffer<i32, write>
  %next = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %next, %c4 : i32
  cf.cond_br %more, ^loop(%next : i32), ^end
^end:
  kernel.return
}
