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

// An element of a table at a known index is a constant; beyond its end nothing
// is known.
// CHECK-LABEL: kernel.func @table
kernel.func @table(%y: !kernel.buffer<f32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK-DAG: %[[T:.*]] = kernel.constant_table
  // CHECK: kernel.store %[[TWO]]
  // CHECK: %[[V:.*]] = kernel.load %[[T]][%{{.*}}]
  // CHECK: kernel.store %[[V]]
  // CHECK: %[[W:.*]] = kernel.load %[[T]][%{{.*}}]
  // CHECK: kernel.store %[[W]]
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %t = kernel.constant_table dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      -> !kernel.table<3xf32>
  %0 = kernel.load %t[%c1] : !kernel.table<3xf32>
  kernel.store %0, %y[%n] : !kernel.buffer<f32, write>
  %1 = kernel.load %t[%c3] : !kernel.table<3xf32>
  kernel.store %1, %y[%n] : !kernel.buffer<f32, write>
  %2 = kernel.load %t[%n] : !kernel.table<3xf32>
  kernel.store %2, %y[%n] : !kernel.buffer<f32, write>
  kernel.return
}

// Whoever specializes the kernel finds its constants; equal ones are merged.
// CHECK-LABEL: kernel.func @spec_constants
kernel.func @spec_constants(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: %[[C:.*]] = kernel.spec_constant "rows" = 64 : i32
  // CHECK-NEXT: %[[D:.*]] = arith.addi %[[C]], %[[C]] : i32
  // CHECK-NEXT: kernel.store %[[D]]
  %0 = kernel.spec_constant "rows" = 64 : i32
  %1 = kernel.spec_constant "rows" = 64 : i32
  %2 = arith.addi %0, %1 : i32
  kernel.store %2, %y[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// Hints stay with their loops.
// CHECK-LABEL: kernel.func @hints
kernel.func @hints(%y: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // CHECK: ^bb1({{.*}}):  // 2 preds
  // CHECK-NEXT: kernel.loop_hint unroll_full
  // CHECK-NEXT: kernel.store
  // CHECK: ^bb2({{.*}}):  // 2 preds
  // CHECK-NEXT: kernel.loop_hint unroll_full
  // CHECK-NEXT: kernel.store
  // CHECK: ^bb3:
  // CHECK-NOT: kernel.loop_hint
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^enter
^enter:
  cf.br ^first(%c0 : i32)
^first(%i: i32):
  kernel.loop_hint unroll_full
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  %i2 = arith.addi %i, %c1 : i32
  %m = arith.cmpi slt, %i2, %n : i32
  cf.cond_br %m, ^first(%i2 : i32), ^second(%c0 : i32)
^second(%j: i32):
  kernel.loop_hint unroll_full
  kernel.store %j, %y[%j] : !kernel.buffer<i32, read_write>
  %j2 = arith.addi %j, %c1 : i32
  %k = arith.cmpi slt, %j2, %n : i32
  cf.cond_br %k, ^second(%j2 : i32), ^end
^end:
  kernel.return
}

// A fragment's product is the affair of the lanes that execute it together.
// CHECK-LABEL: kernel.func @fragments
kernel.func @fragments(%y: !kernel.buffer<f32, write>, %n: i32, %s: f32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  // CHECK: kernel.fragment_fill
  // CHECK: cf.cond_br
  // CHECK: kernel.fragment_fill
  %0 = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, accumulator>
  kernel.fragment_store row %0, %y[%n], %n
      : !kernel.fragment<16x16xf32, accumulator>, !kernel.buffer<f32, write>
  %t = kernel.local_id x
  %c = arith.cmpi slt, %t, %n : i32
  cf.cond_br %c, ^then, ^end
^then:
  %1 = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, accumulator>
  kernel.fragment_store row %1, %y[%t], %n
      : !kernel.fragment<16x16xf32, accumulator>, !kernel.buffer<f32, write>
  cf.br ^end
^end:
  kernel.return
}
