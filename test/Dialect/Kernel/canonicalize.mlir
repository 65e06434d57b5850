// What canonicalization and CSE do with kernels, and what they leave alone.
// RUN: poot-opt %s --canonicalize --cse | FileCheck %s

// The identifier in a dimension of extent 1 is 0.
// CHECK-LABEL: kernel.func @local_id_in_flat_dimension
kernel.func @local_id_in_flat_dimension(%o: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[X:.*]] = kernel.local_id x
  // CHECK: kernel.store %[[ZERO]], %{{.*}}[%[[X]]]
  %x = kernel.local_id x
  %y = kernel.local_id y
  kernel.store %y, %o[%x] : !kernel.buffer<i32, write>
  kernel.return
}

// Loads of a read-only buffer are merged, across a store too.
// CHECK-LABEL: kernel.func @read_only_loads
kernel.func @read_only_loads(%x: !kernel.buffer<f32, read>,
                             %y: !kernel.buffer<f32, read_write>, %i: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: %[[V:.*]] = kernel.load %{{.*}} : !kernel.buffer<f32, read>
  // CHECK: kernel.load %{{.*}} : !kernel.buffer<f32, read_write>
  // CHECK-NOT: kernel.load %{{.*}} : !kernel.buffer<f32, read>
  // CHECK: kernel.load %{{.*}} : !kernel.buffer<f32, read_write>
  %0 = kernel.load %x[%i] : !kernel.buffer<f32, read>
  %1 = kernel.load %y[%i] : !kernel.buffer<f32, read_write>
  %2 = arith.addf %0, %1 : f32
  kernel.store %2, %y[%i] : !kernel.buffer<f32, read_write>
  %3 = kernel.load %x[%i] : !kernel.buffer<f32, read>
  %4 = kernel.load %y[%i] : !kernel.buffer<f32, read_write>
  %5 = arith.mulf %3, %4 : f32
  kernel.store %5, %y[%i] : !kernel.buffer<f32, read_write>
  kernel.return
}

// Barriers in two branches are not one barrier.
// CHECK-LABEL: kernel.func @barriers_in_branches
kernel.func @barriers_in_branches(%n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // CHECK: cf.cond_br %{{.*}}, ^[[A:.*]], ^[[B:.*]]
  // CHECK: ^[[A]]:
  // CHECK-NEXT: kernel.barrier
  // CHECK: ^[[B]]:
  // CHECK-NEXT: kernel.barrier
  %c0 = arith.constant 0 : i32
  %c = arith.cmpi sgt, %n, %c0 : i32
  cf.cond_br %c, ^a, ^b
^a:
  kernel.barrier
  cf.br ^end
^b:
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// A reduction over fewer lanes is another reduction, also where the first one
// dominates it; two in one block are the same.
// CHECK-LABEL: kernel.func @subgroup_in_branch
kernel.func @subgroup_in_branch(%x: !kernel.buffer<f32, read>,
                                %o: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // CHECK: kernel.subgroup_reduce
  // CHECK-NOT: kernel.subgroup_reduce
  // CHECK: cf.cond_br
  // CHECK: kernel.subgroup_reduce
  %t = kernel.local_id x
  %c3 = arith.constant 3 : i32
  %v = kernel.load %x[%t] : !kernel.buffer<f32, read>
  %0 = kernel.subgroup_reduce add %v : f32
  %1 = kernel.subgroup_reduce add %v : f32
  %2 = arith.addf %0, %1 : f32
  kernel.store %2, %o[%t] : !kernel.buffer<f32, write>
  %c = arith.cmpi slt, %t, %c3 : i32
  cf.cond_br %c, ^then, ^end
^then:
  %3 = kernel.subgroup_reduce add %v : f32
  kernel.store %3, %o[%t] : !kernel.buffer<f32, write>
  cf.br ^end
^end:
  kernel.return
}
