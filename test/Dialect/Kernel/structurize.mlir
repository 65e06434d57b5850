// RUN: poot-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-structurize))' --split-input-file --verify-diagnostics | FileCheck %s

// Two loop exits that meet in one block, and an early return in the loop.
// CHECK-LABEL: kernel.func @exits
// CHECK: scf.while
// CHECK: scf.if
// CHECK: scf.condition
// CHECK: kernel.return
// CHECK-NEXT: }
kernel.func @exits(%x: !kernel.buffer<i32, read>, %o: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^end(%i : i32)
^body:
  %v = kernel.load %x[%i] : !kernel.buffer<i32, read>
  %stop = arith.cmpi eq, %v, %c0 : i32
  cf.cond_br %stop, ^end(%v : i32), ^next
^next:
  %leave = arith.cmpi eq, %v, %c1 : i32
  cf.cond_br %leave, ^return, ^latch
^latch:
  %i1 = arith.addi %i, %c1 : i32
  cf.br ^head(%i1 : i32)
^end(%r: i32):
  kernel.store %r, %o[%c0] : !kernel.buffer<i32, write>
  kernel.return
^return:
  kernel.return
}

// -----

// Poison, and what a variable has before its first write, is zero.
// CHECK-LABEL: kernel.func @undefined
// CHECK: %[[F:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[I:.*]] = arith.constant 0 : i32
// CHECK-NOT: kernel.unwritten
// CHECK: kernel.store %[[F]], %{{.*}}[%[[I]]]
kernel.func @undefined(%y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %f = kernel.unwritten : f32
  %i = ub.poison : i32
  kernel.store %f, %y[%i] : !kernel.buffer<f32, write>
  kernel.return
}

// -----

// A loop with two entries.
// CHECK-LABEL: kernel.func @irreducible
// CHECK-NOT: {{ cf\.}}
// CHECK: scf.while
// CHECK-NOT: ub.poison
// CHECK-NOT: scf.index_switch
// CHECK: kernel.return
kernel.func @irreducible(%o: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c = arith.cmpi sgt, %n, %c1 : i32
  cf.cond_br %c, ^a(%c0 : i32), ^b(%n : i32)
^a(%i: i32):
  %i1 = arith.addi %i, %c1 : i32
  cf.br ^b(%i1 : i32)
^b(%j: i32):
  %d = arith.cmpi slt, %j, %n : i32
  cf.cond_br %d, ^a(%j : i32), ^end
^end:
  kernel.store %j, %o[%c0] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// A switch is a chain of tests, in the type that it switches on.
// CHECK-LABEL: kernel.func @switch
// CHECK-SAME: %[[N:[^:]*]]: i32)
// CHECK: %[[M1:.*]] = arith.constant -1 : i32
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[N]], %[[M1]] : i32
// CHECK: %[[R:.*]] = scf.if %[[IS]] -> (i32)
// CHECK: else
// CHECK: %[[C5:.*]] = arith.constant 5 : i32
// CHECK: %[[IS5:.*]] = arith.cmpi eq, %[[N]], %[[C5]] : i32
// CHECK: scf.if %[[IS5]]
// CHECK-NOT: arith.index_cast
// CHECK: kernel.store %[[R]]
kernel.func @switch(%o: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c10 = arith.constant 10 : i32
  %c20 = arith.constant 20 : i32
  %c30 = arith.constant 30 : i32
  cf.switch %n : i32, [
    default: ^end(%c10 : i32),
    -1: ^end(%c20 : i32),
    5: ^end(%c30 : i32)
  ]
^end(%r: i32):
  kernel.store %r, %o[%c10] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// CHECK-LABEL: kernel.func @only_default
// CHECK-NOT: switch
// CHECK: kernel.store
kernel.func @only_default(%o: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  cf.switch %n : i32, [
    default: ^end(%n : i32)
  ]
^end(%r: i32):
  kernel.store %r, %o[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// Blocks that control never reaches, and a loop that never ends.
// CHECK-LABEL: kernel.func @dead
// CHECK-NOT: kernel.barrier
// CHECK: kernel.return
kernel.func @dead(%n: i32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  kernel.return
^a:
  kernel.barrier
  cf.br ^b
^b:
  cf.br ^a
}

// -----

// CHECK-LABEL: kernel.func @endless
// CHECK: scf.while
// CHECK: kernel.return
kernel.func @endless(%o: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  cf.br ^loop(%n : i32)
^loop(%i: i32):
  kernel.store %i, %o[%n] : !kernel.buffer<i32, read_write>
  cf.br ^loop(%n : i32)
}

// -----

// Barriers stay where they are.
// CHECK-LABEL: kernel.func @barriers
// CHECK: scf.if
// CHECK-NEXT: kernel.barrier
// CHECK: else
// CHECK-NEXT: kernel.barrier
kernel.func @barriers(%n: i32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
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

// -----

kernel.func @chosen_buffer(%x: !kernel.buffer<i32, read>, %y: !kernel.buffer<i32, read>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c = arith.cmpi sgt, %n, %c0 : i32
  %b = arith.select %c, %x, %y : !kernel.buffer<i32, read>
  // expected-error @below {{accesses memory that is chosen at run time; it must be an argument of the kernel or a workgroup array}}
  %v = kernel.load %b[%n] : !kernel.buffer<i32, read>
  kernel.return
}
