// What kernel-check finds. Nothing is changed.
//
// RUN: poot-opt %s --split-input-file --verify-diagnostics --kernel-check | FileCheck %s
// RUN: not poot-opt %s --split-input-file --kernel-check=workgroup-limit=16 2>&1 | FileCheck %s --check-prefix=LIMIT

kernel.func @chosen(%n: i32)
    attributes {workgroup_size = array<i32: 8, 4, 1>} {
  %x = kernel.local_id x
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  // All of them.
  %all = arith.cmpi ult, %x, %c8 : i32
  cf.cond_br %all, ^first, ^second
^first:
  kernel.barrier
  cf.br ^second
^second:
  // The two ways have a barrier each.
  %some = arith.cmpi ult, %x, %c3 : i32
  // expected-note @+1 {{they part here}}
  cf.cond_br %some, ^third, ^fourth
^third:
  // expected-error @+1 {{barrier that only some work-items of the workgroup come to [divergent-barrier]}}
  kernel.barrier
  cf.br ^fifth
^fourth:
  // expected-error @+1 {{barrier that only some work-items of the workgroup come to [divergent-barrier]}}
  kernel.barrier
  cf.br ^fifth
^fifth:
  // Of y it isn't known, since n isn't.
  %y = kernel.local_id y
  %unknown = arith.cmpi eq, %y, %n : i32
  // expected-note @+1 {{they may part here}}
  cf.cond_br %unknown, ^sixth, ^end
^sixth:
  // expected-warning @+1 {{barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]}}
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// -----

// In z there is one work-item. What a uniform branch passes is uniform.
//
// CHECK: kernel.func @uniform
// CHECK: kernel.barrier
kernel.func @uniform(%x: !kernel.buffer<i32, read>, %n: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %z = kernel.local_id z
  %c0 = arith.constant 0 : i32
  %at = arith.addi %z, %n : i32
  %v = kernel.load %x[%at] : !kernel.buffer<i32, read>
  %c = arith.cmpi slt, %v, %n : i32
  cf.cond_br %c, ^then(%v : i32), ^else(%n : i32)
^then(%a: i32):
  cf.br ^join(%a : i32)
^else(%b: i32):
  cf.br ^join(%b : i32)
^join(%j: i32):
  %d = arith.cmpi eq, %j, %c0 : i32
  cf.cond_br %d, ^sync, ^end
^sync:
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// -----

// What a branch that differs passes differs, also where both of its ways lead
// to one block.
kernel.func @passed(%n: i32, %m: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %lane = kernel.lane_id
  %c = arith.cmpi slt, %lane, %n : i32
  cf.cond_br %c, ^join(%n : i32), ^join(%m : i32)
^join(%j: i32):
  // Equal for all.
  %e = arith.cmpi eq, %n, %m : i32
  cf.cond_br %e, ^one, ^two
^one:
  kernel.barrier
  cf.br ^two
^two:
  %d = arith.cmpi eq, %j, %m : i32
  // expected-note @+1 {{they may part here}}
  cf.cond_br %d, ^sync, ^end
^sync:
  // expected-warning @+1 {{[maybe-divergent-barrier]}}
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// -----

// A switch, and a loop with a barrier whose trip count differs.
kernel.func @loop(%n: i32) attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = kernel.local_id x
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  %c = arith.cmpi ult, %i, %x : i32
  // expected-note @+1 {{they may part here}}
  cf.cond_br %c, ^body, ^exit
^body:
  // expected-warning @+1 {{[maybe-divergent-barrier]}}
  kernel.barrier
  %next = arith.addi %i, %c1 : i32
  cf.br ^head(%next : i32)
^exit:
  // They left the loop at different times.
  // expected-note @+1 {{they may part here}}
  cf.switch %i : i32, [default: ^end, 1: ^one]
^one:
  // expected-warning @+1 {{[maybe-divergent-barrier]}}
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// -----

// A barrier in a loop that never ends, and one that isn't reached.
kernel.func @endless() attributes {workgroup_size = array<i32: 8, 1, 1>} {
  cf.br ^head
^head:
  kernel.barrier
  cf.br ^head
^never:
  kernel.barrier
  kernel.return
}

// -----

kernel.func @indices(%x: !kernel.buffer<!kernel.struct<16: f32 x 4 at 0>, read_write>,
                     %n: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  // expected-note @+1 {{it is declared here}}
  %array = kernel.workgroup_alloc : !kernel.workgroup<8xf32>
  // expected-note @+1 {{it is declared here}}
  %var = kernel.var : !kernel.var<4x2xf32>
  // expected-note @+1 {{it is declared here}}
  %table = kernel.constant_table dense<[1.0, 2.0]> : tensor<2xf32>
      -> !kernel.table<2xf32>
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %minus = arith.constant -1 : i32
  %i = kernel.local_id x
  %f = kernel.load %array[%i] : !kernel.workgroup<8xf32>
  %behind = arith.addi %i, %c8 : i32
  // expected-error @+1 {{index 8 to 15 of a workgroup array with 8 elements [index-range]}}
  kernel.store %f, %array[%behind] : !kernel.workgroup<8xf32>
  // expected-error @+1 {{index -1 of a workgroup array with 8 elements [index-range]}}
  kernel.store %f, %array[%minus] : !kernel.workgroup<8xf32>
  // expected-error @+1 {{index 8 of a constant array with 2 elements [index-range]}}
  %t = kernel.load %table[%c8] : !kernel.table<2xf32>
  // expected-error @+1 {{index 8 of an array with 2 elements [index-range]}}
  kernel.var_store %t, %var[%c0, %c8] : !kernel.var<4x2xf32>
  // expected-error @+1 {{index 8 of an array in a structure with 4 elements [index-range]}}
  kernel.store %f, %x[%n] leaf 0[%c8] : !kernel.buffer<!kernel.struct<16: f32 x 4 at 0>, read_write>
  // expected-error @+1 {{index 8 of a workgroup array with 8 elements [index-range]}}
  %old = kernel.atomic_rmw add relaxed device %array[%c8], %f : !kernel.workgroup<8xf32>
  // Perhaps inside.
  kernel.store %f, %array[%n] : !kernel.workgroup<8xf32>
  // Not reached.
  %false = arith.constant false
  cf.cond_br %false, ^never, ^end
^never:
  kernel.store %f, %array[%c8] : !kernel.workgroup<8xf32>
  cf.br ^end
^end:
  kernel.return
}

// -----

// LIMIT: warning: workgroup arrays of 32 bytes, beyond the limit of 16 [workgroup-limit]
// LIMIT: note: the largest of them takes 32
// LIMIT: kernel.func @shared
kernel.func @shared() attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %a = kernel.workgroup_alloc : !kernel.workgroup<4xf32>
  %b = kernel.workgroup_alloc overlays(%a : !kernel.workgroup<4xf32>)
      : !kernel.workgroup<8xf32>
  kernel.return
}
