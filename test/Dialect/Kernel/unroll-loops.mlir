// Loops of a known trip count are written out; the others stay, with a remark
// where the author asked for it.
// RUN: poot-opt %s --kernel-unroll-loops --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// A sum of squares: nothing but a number is left.
// CHECK-LABEL: kernel.func @folds
// CHECK-NEXT: %[[SUM:.*]] = arith.constant 285 : i32
// CHECK-NEXT: kernel.store %[[SUM]]
// CHECK-NEXT: kernel.return
kernel.func @folds(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c10 = arith.constant 10 : i32
  cf.br ^head(%c0, %c0 : i32, i32)
^head(%i: i32, %s: i32):
  %more = arith.cmpi slt, %i, %c10 : i32
  cf.cond_br %more, ^body, ^end
^body:
  %q = arith.muli %i, %i : i32
  %s2 = arith.addi %s, %q : i32
  %i2 = arith.addi %i, %c1 : i32
  cf.br ^head(%i2, %s2 : i32, i32)
^end:
  kernel.store %s, %y[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// A loop that tests at its end, with an exit that depends on data: its value
// behind the loop is that of the iteration that left.
// CHECK-LABEL: kernel.func @search
// CHECK-SAME: %[[X:[^:]*]]: !kernel.buffer<i32, read>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK: kernel.load %[[X]][%[[C0]]]
// CHECK: cf.cond_br %{{.*}}, ^[[END:bb[0-9]+]](%[[C0]]{{.*}} : i32, i32), ^[[B1:bb[0-9]+]]
// CHECK: ^[[B1]]:
// CHECK: kernel.load %[[X]][%[[C1]]]
// CHECK: cf.cond_br %{{.*}}, ^[[END]](%[[C1]]{{.*}} : i32, i32), ^[[B2:bb[0-9]+]]
// CHECK: ^[[B2]]:
// CHECK: kernel.load %[[X]][%[[C2]]]
// CHECK-NOT: kernel.load
// CHECK: kernel.return
kernel.func @search(%x: !kernel.buffer<i32, read>,
                    %y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  cf.br ^loop(%c0 : i32)
^loop(%i: i32):
  %v = kernel.load %x[%i] : !kernel.buffer<i32, read>
  %found = arith.cmpi eq, %v, %n : i32
  cf.cond_br %found, ^end, ^latch
^latch:
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %c3 : i32
  cf.cond_br %more, ^loop(%i2 : i32), ^end
^end:
  kernel.store %i, %y[%v] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// Loops within loops, inner ones first; the inner trip count depends on the
// outer index. Six stores are left, in the order of the iterations.
// CHECK-LABEL: kernel.func @triangle
// CHECK-SAME: %[[Y:[^:]*]]: !kernel.buffer<i32, write>
// CHECK-COUNT-6: kernel.store {{.*}} %[[Y]]
// CHECK-NOT: kernel.store
// CHECK-NOT: cf.
// CHECK: kernel.return
kernel.func @triangle(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  cf.br ^outer(%c0 : i32)
^outer(%i: i32):
  kernel.loop_hint unroll_full
  %moreOuter = arith.cmpi slt, %i, %c4 : i32
  cf.cond_br %moreOuter, ^inner(%c0 : i32), ^end
^inner(%j: i32):
  %moreInner = arith.cmpi slt, %j, %i : i32
  cf.cond_br %moreInner, ^body, ^next
^body:
  %at = arith.addi %i, %j : i32
  kernel.store %j, %y[%at] : !kernel.buffer<i32, write>
  %j2 = arith.addi %j, %c1 : i32
  cf.br ^inner(%j2 : i32)
^next:
  %i2 = arith.addi %i, %c1 : i32
  cf.br ^outer(%i2 : i32)
^end:
  kernel.return
}

// -----

// A loop of unknown length in one that is written out stays a loop, and keeps
// its hint.
// CHECK-LABEL: kernel.func @inner_stays
// CHECK-NOT: unroll_full
// CHECK: kernel.loop_hint unroll times 4
// CHECK-NOT: unroll_full
// CHECK: kernel.loop_hint unroll times 4
// CHECK-NOT: kernel.loop_hint
kernel.func @inner_stays(%y: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  cf.br ^outer(%c0 : i32)
^outer(%i: i32):
  kernel.loop_hint unroll_full
  %moreOuter = arith.cmpi slt, %i, %c2 : i32
  cf.cond_br %moreOuter, ^inner(%c0, %c0 : i32, i32), ^end
^inner(%j: i32, %s: i32):
  kernel.loop_hint unroll times 4
  %moreInner = arith.cmpi slt, %j, %n : i32
  cf.cond_br %moreInner, ^body, ^next
^body:
  %v = kernel.load %y[%j] : !kernel.buffer<i32, read_write>
  %s2 = arith.addi %s, %v : i32
  %j2 = arith.addi %j, %c1 : i32
  cf.br ^inner(%j2, %s2 : i32, i32)
^next:
  kernel.store %s, %y[%i] : !kernel.buffer<i32, read_write>
  %i2 = arith.addi %i, %c1 : i32
  cf.br ^outer(%i2 : i32)
^end:
  kernel.return
}

// -----

// A loop whose latches are several (continue) and that is entered from several
// places. Its barriers stay in their iterations.
// CHECK-LABEL: kernel.func @continues
// CHECK-COUNT-3: kernel.barrier
// CHECK-NOT: kernel.barrier
// CHECK: kernel.return
kernel.func @continues(%y: !kernel.buffer<i32, read_write>, %n: i32, %m: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %which = arith.cmpi slt, %n, %m : i32
  cf.cond_br %which, ^head(%c0, %n : i32, i32), ^other
^other:
  kernel.store %n, %y[%m] : !kernel.buffer<i32, read_write>
  cf.br ^head(%c0, %m : i32, i32)
^head(%i: i32, %s: i32):
  %more = arith.cmpi slt, %i, %c3 : i32
  cf.cond_br %more, ^body, ^end
^body:
  kernel.barrier
  %i2 = arith.addi %i, %c1 : i32
  %v = kernel.load %y[%s] : !kernel.buffer<i32, read_write>
  cf.switch %v : i32, [
    default: ^head(%i2, %v : i32, i32),
    0: ^head(%i2, %s : i32, i32),
    7: ^store
  ]
^store:
  kernel.store %s, %y[%i] : !kernel.buffer<i32, read_write>
  cf.br ^head(%i2, %i : i32, i32)
^end:
  kernel.store %s, %y[%n] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

// CHECK-LABEL: kernel.func @obeys
// CHECK: kernel.loop_hint nounroll
// CHECK: arith.addi
kernel.func @obeys(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  kernel.loop_hint nounroll
  kernel.store %i, %y[%i] : !kernel.buffer<i32, write>
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %c2 : i32
  cf.cond_br %more, ^head(%i2 : i32), ^end
^end:
  kernel.return
}

// -----

// By a count: less than the trips is the target's affair.
// CHECK-LABEL: kernel.func @counts
// CHECK: kernel.loop_hint unroll times 4
// CHECK-NOT: kernel.loop_hint
// CHECK-COUNT-5: math.exp
// CHECK-NOT: math.exp
// CHECK: kernel.return
kernel.func @counts(%y: !kernel.buffer<i32, read_write>,
                    %z: !kernel.buffer<f32, read_write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  cf.br ^first(%c0 : i32)
^first(%i: i32):
  kernel.loop_hint unroll times 4
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %c5 : i32
  cf.cond_br %more, ^first(%i2 : i32), ^second(%c0 : i32)
^second(%j: i32):
  kernel.loop_hint unroll times 5
  %v = kernel.load %z[%j] : !kernel.buffer<f32, read_write>
  %e = math.exp %v : f32
  kernel.store %e, %z[%j] : !kernel.buffer<f32, read_write>
  %j2 = arith.addi %j, %c1 : i32
  %more2 = arith.cmpi slt, %j2, %c5 : i32
  cf.cond_br %more2, ^second(%j2 : i32), ^end
^end:
  kernel.return
}

// -----

// Without hint: 16 trips of a loop that tests at its head, but not 17 of one
// that tests at its end.
// CHECK-LABEL: kernel.func @limits
// CHECK-COUNT-16: kernel.store
// CHECK: cf.br
// CHECK: kernel.store
// CHECK: cf.cond_br
// CHECK-NOT: kernel.store
// CHECK: kernel.return
kernel.func @limits(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %c17 = arith.constant 17 : i32
  cf.br ^test(%c0 : i32)
^test(%j: i32):
  %moreTest = arith.cmpi slt, %j, %c16 : i32
  cf.cond_br %moreTest, ^body, ^head(%c0 : i32)
^body:
  kernel.store %c1, %y[%j] : !kernel.buffer<i32, write>
  %j2 = arith.addi %j, %c1 : i32
  cf.br ^test(%j2 : i32)
^head(%i: i32):
  kernel.store %i, %y[%i] : !kernel.buffer<i32, write>
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %c17 : i32
  cf.cond_br %more, ^head(%i2 : i32), ^end
^end:
  kernel.return
}

// -----

// CHECK-LABEL: kernel.func @unknown
// CHECK: kernel.loop_hint unroll_full
kernel.func @unknown(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  // expected-remark @below {{loop isn't unrolled: its trip count is no constant}}
  kernel.loop_hint unroll_full
  kernel.store %i, %y[%i] : !kernel.buffer<i32, write>
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %n : i32
  cf.cond_br %more, ^head(%i2 : i32), ^end
^end:
  kernel.return
}

// -----

kernel.func @endless(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c-1 = arith.constant -1 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  // expected-remark @below {{loop isn't unrolled: it has more than 4096 trips}}
  kernel.loop_hint unroll_full
  %i2 = arith.addi %i, %c1 : i32
  %end = arith.cmpi eq, %i2, %c-1 : i32
  cf.cond_br %end, ^end, ^head(%i2 : i32)
^end:
  kernel.return
}

// -----

kernel.func @large(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4000 = arith.constant 4000 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  // expected-remark @below {{loop isn't unrolled: it would take more than 32768 operations}}
  kernel.loop_hint unroll_full
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.barrier
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.barrier
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.barrier
  kernel.store %i, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.barrier
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %c4000 : i32
  cf.cond_br %more, ^head(%i2 : i32), ^end
^end:
  kernel.return
}
