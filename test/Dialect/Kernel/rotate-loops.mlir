// RUN: poot-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-rotate-loops))' | FileCheck %s

// A loop that tests at its end carries condition and results.
// CHECK-LABEL: kernel.func @at_end
// CHECK-SAME: %[[O:[^:]*]]: !kernel.buffer<i32, read_write>, %[[N:[^:]*]]: i32)
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK: scf.while (%[[I:.*]] = %{{.*}}, %[[GO:.*]] = %[[TRUE]], %[[R:.*]] = %{{.*}}) : (i32, i1, i32) -> (i32, i1, i32)
// CHECK-NEXT: scf.condition(%[[GO]]) %[[I]], %[[GO]], %[[R]]
// CHECK: do
// CHECK: %[[NEXT:.*]] = arith.addi
// CHECK-NEXT: kernel.store
// CHECK: %[[C:.*]] = arith.cmpi
// CHECK: scf.yield %[[NEXT]], %[[C]], %[[NEXT]]
kernel.func @at_end(%o: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%i = %c0) : (i32) -> i32 {
    %next = arith.addi %i, %c1 : i32
    kernel.store %next, %o[%n] : !kernel.buffer<i32, read_write>
    %c = arith.cmpi slt, %next, %n : i32
    scf.condition(%c) %next : i32
  } do {
  ^bb0(%j: i32):
    scf.yield %j : i32
  }
  kernel.store %r, %o[%c0] : !kernel.buffer<i32, read_write>
  kernel.return
}

// What stands after the test runs only when the loop goes on.
// CHECK-LABEL: kernel.func @in_the_middle
// CHECK: scf.while
// CHECK-NEXT: scf.condition
// CHECK: do
// CHECK: %[[C:.*]] = arith.cmpi
// CHECK: scf.if %[[C]] -> (i32)
// CHECK-NEXT: kernel.barrier
kernel.func @in_the_middle(%o: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%i = %c0) : (i32) -> i32 {
    kernel.store %i, %o[%n] : !kernel.buffer<i32, read_write>
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%j: i32):
    kernel.barrier
    %next = arith.addi %j, %c1 : i32
    scf.yield %next : i32
  }
  kernel.store %r, %o[%c0] : !kernel.buffer<i32, read_write>
  kernel.return
}

// A loop that only computes its condition first stays as it is.
// CHECK-LABEL: kernel.func @at_head
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32
kernel.func @at_head(%o: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%i = %c0) : (i32) -> i32 {
    %twice = arith.muli %i, %i : i32
    %c = arith.cmpi slt, %twice, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%j: i32):
    kernel.store %j, %o[%n] : !kernel.buffer<i32, read_write>
    %next = arith.addi %j, %c1 : i32
    scf.yield %next : i32
  }
  kernel.store %r, %o[%c0] : !kernel.buffer<i32, read_write>
  kernel.return
}

// A result that is computed beside the condition.
// CHECK-LABEL: kernel.func @computed_result
// CHECK: scf.while (%{{.*}} = %{{.*}}, %[[GO:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, i1, i32) -> (i32, i1, i32)
// CHECK-NEXT: scf.condition(%[[GO]])
kernel.func @computed_result(%o: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %r = scf.while (%i = %n) : (i32) -> i32 {
    %next = arith.shrsi %i, %n : i32
    %c = arith.cmpi sgt, %next, %c0 : i32
    scf.condition(%c) %next : i32
  } do {
  ^bb0(%j: i32):
    scf.yield %j : i32
  }
  kernel.store %r, %o[%c0] : !kernel.buffer<i32, read_write>
  kernel.return
}
