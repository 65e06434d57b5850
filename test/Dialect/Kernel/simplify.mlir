// RUN: poot-opt %s --kernel-simplify --split-input-file | FileCheck %s

// A fold decides the branch into a loop. The loop goes; its counter, which would
// be computed from itself, folds nobody's time away.

// CHECK-LABEL: kernel.func @cut_off
// CHECK-NOT: cf.
// CHECK: kernel.return
kernel.func @cut_off(%x: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %zero = arith.subi %n, %n : i32
  %enters = arith.cmpi ne, %zero, %c0 : i32
  cf.cond_br %enters, ^head(%n : i32), ^end
^head(%i: i32):
  %next = arith.addi %i, %zero : i32
  kernel.store %next, %x[%c0] : !kernel.buffer<i32, read_write>
  %more = arith.cmpi slt, %next, %n : i32
  cf.cond_br %more, ^latch, ^end
^latch:
  cf.br ^head(%next : i32)
^end:
  kernel.return
}

// -----

// Two branches that are alike stay two: not all invocations reach one barrier.

// CHECK-LABEL: kernel.func @two_barriers
// CHECK-COUNT-2: kernel.barrier
kernel.func @two_barriers(%x: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %t = kernel.local_id x
  %c = arith.cmpi slt, %t, %n : i32
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

// -----

// Blocks that follow each other become one.

// CHECK-LABEL: kernel.func @merged
// CHECK-NOT: cf.br
// CHECK: kernel.return
kernel.func @merged(%x: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  cf.br ^a(%n : i32)
^a(%i: i32):
  kernel.store %i, %x[%i] : !kernel.buffer<i32, read_write>
  cf.br ^b
^b:
  kernel.return
}
