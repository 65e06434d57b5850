// RUN: poot-translate --kernel-to-kir-json %s > %t.kir.json
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel out_of_bounds --input 0=random:1:8 --input 1=undefined:8 2>&1 | FileCheck %s --check-prefix=BOUNDS
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel negative_index --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel array_bounds --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=ARRAY
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel variable_bounds --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=VARIABLE
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel race_in_buffer --grid 2 --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel same_value --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel missing_barrier --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=BARRIER
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel relaxed_flag --grid 2 --input 0=zeros:1 --input 1=zeros:1 --input 2=zeros:2 2>&1 | FileCheck %s --check-prefix=RELAXED
// RUN: poot-run --interpret %t.kir.json --sanitize --kernel ordered_flag --grid 2 --input 0=zeros:1 --input 1=zeros:1 --input 2=zeros:2 2>&1 | FileCheck %s --check-prefix=ORDERED
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel narrow_scope --grid 2 --input 0=zeros:1 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel unwritten_array --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel overlaid --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=OVERLAID
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel unwritten_variable --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=UNSET
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel undefined_buffer --input 0=undefined:8 2>&1 | FileCheck %s --check-prefix=UNDEFINED
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel poison_branch --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=POISON
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel overflow --input 0=zeros:8 --metadata 2147483647 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel divergent_barrier --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=DIVERGENT
// RUN: not poot-run --interpret %t.kir.json --kernel divergent_barrier --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=DIVERGENT
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel two_barriers --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel division --input 0=zeros:8 --metadata 0 2>&1 | FileCheck %s --check-prefix=DIVISION
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel lowest --input 0=zeros:8 --metadata -1 2>&1 | FileCheck %s --check-prefix=LOWEST
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel shift --input 0=zeros:8 --metadata 32 2>&1 | FileCheck %s --check-prefix=SHIFT
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel foreign_lane --subgroup-size 4 --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=LANE
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel bad_broadcast --subgroup-size 4 --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=BROADCAST
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel unreachable --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=UNREACHABLE
// RUN: not poot-run --interpret %t.kir.json --kernel forever --step-limit 10000 2>&1 | FileCheck %s --check-prefix=FOREVER
// RUN: not poot-run --interpret %t.kir.json --sanitize --kernel hooked --input 0=zeros:8 2>&1 | FileCheck %s --check-prefix=HOOKED
// RUN: poot-run --interpret %t.kir.json --sanitize --kernel clean --grid 3 --input 0=random:1:24 --input 1=undefined:24 2>&1 | FileCheck %s --check-prefix=CLEAN

// BOUNDS: faults.mlir:[[#@LINE+7]]:8: error: index 8 of buffer 0, which has 8 elements [poot-sanitize-out-of-bounds]
// BOUNDS: faults.mlir:[[#@LINE+6]]:8: note: in work-item (7, 0, 0) of workgroup (0, 0, 0)
kernel.func @out_of_bounds(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c1 = arith.constant 1 : i32
  %i = kernel.local_id x
  %j = arith.addi %i, %c1 : i32
  %v = kernel.load %x[%j] : !kernel.buffer<f32, read>
  kernel.store %v, %y[%i] : !kernel.buffer<f32, write>
  kernel.return
}

// NEGATIVE: error: index -1 of buffer 0, which has 8 elements [poot-sanitize-out-of-bounds]
kernel.func @negative_index(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c = arith.constant -1 : i32
  kernel.store %c, %y[%c] : !kernel.buffer<i32, write>
  kernel.return
}

// ARRAY: error: index 4 of workgroup array 0, which has 4 elements [poot-sanitize-out-of-bounds]
// ARRAY: note: seen 4 times
kernel.func @array_bounds(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<4xi32>
  %i = kernel.local_id x
  kernel.store %i, %tile[%i] : !kernel.workgroup<4xi32>
  kernel.return
}

// VARIABLE: error: index 3 of a variable's array of 3 [poot-sanitize-out-of-bounds]
kernel.func @variable_bounds(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 4, 1, 1>} {
  %a = kernel.var : !kernel.var<2x3xi32>
  %c1 = arith.constant 1 : i32
  %i = kernel.local_id x
  kernel.var_store %i, %a[%c1, %i] : !kernel.var<2x3xi32>
  kernel.return
}

// RACE: faults.mlir:[[#@LINE+6]]:3: error: data race: a write of element 0 of buffer 0 is not ordered with a write of it [poot-sanitize-race]
// RACE: note: in work-item (0, 0, 0) of workgroup (1, 0, 0)
// RACE: note: the other access, a write, by work-item (0, 0, 0) of workgroup (0, 0, 0)
kernel.func @race_in_buffer(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %i = kernel.local_id x
  kernel.store %i, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// All write the same: a race all the same.
// SAME: error: data race: a write of element 0 of buffer 0 is not ordered with a write of it [poot-sanitize-race]
kernel.func @same_value(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c0 = arith.constant 0 : i32
  kernel.store %c0, %y[%c0] : !kernel.buffer<i32, write>
  kernel.return
}

// BARRIER: faults.mlir:[[#@LINE+11]]:8: error: data race: a read of element 7 of workgroup array 0 is not ordered with a write of it [poot-sanitize-race]
// BARRIER: note: in work-item (0, 0, 0) of workgroup (0, 0, 0)
// BARRIER: faults.mlir:[[#@LINE+7]]:3: note: the other access, a write, by work-item (7, 0, 0) of workgroup (0, 0, 0)
kernel.func @missing_barrier(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<8xi32>
  %c7 = arith.constant 7 : i32
  %i = kernel.local_id x
  %j = arith.subi %c7, %i : i32
  kernel.store %i, %tile[%i] : !kernel.workgroup<8xi32>

  %v = kernel.load %tile[%j] : !kernel.workgroup<8xi32>
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// Workgroup 0 writes and raises a flag, which workgroup 1 waits for. Relaxed,
// the flag orders nothing.
// RELAXED: error: data race: a read of element 0 of buffer 0 is not ordered with a write of it [poot-sanitize-race]
kernel.func @relaxed_flag(%data: !kernel.buffer<i32, read_write>,
                          %flag: !kernel.buffer<i32, read_write>,
                          %y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %g = kernel.workgroup_id x
  %first = arith.cmpi eq, %g, %c0 : i32
  cf.cond_br %first, ^write, ^wait
^write:
  kernel.store %c1, %data[%c0] : !kernel.buffer<i32, read_write>
  kernel.atomic_store relaxed device %flag[%c0], %c1 : !kernel.buffer<i32, read_write>
  kernel.return
^wait:
  %f = kernel.atomic_load relaxed device %flag[%c0] : !kernel.buffer<i32, read_write>
  %set = arith.cmpi eq, %f, %c1 : i32
  cf.cond_br %set, ^read, ^wait
^read:
  %v = kernel.load %data[%c0] : !kernel.buffer<i32, read_write>
  kernel.store %v, %y[%g] : !kernel.buffer<i32, write>
  kernel.return
}

// ORDERED-NOT: error
// ORDERED: buffer 0 (i32): 1
// ORDERED: buffer 2 (i32): 0 1
kernel.func @ordered_flag(%data: !kernel.buffer<i32, read_write>,
                          %flag: !kernel.buffer<i32, read_write>,
                          %y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %g = kernel.workgroup_id x
  %first = arith.cmpi eq, %g, %c0 : i32
  cf.cond_br %first, ^write, ^wait
^write:
  kernel.store %c1, %data[%c0] : !kernel.buffer<i32, read_write>
  kernel.atomic_store release device %flag[%c0], %c1 : !kernel.buffer<i32, read_write>
  kernel.return
^wait:
  %f = kernel.atomic_load acquire device %flag[%c0] : !kernel.buffer<i32, read_write>
  %set = arith.cmpi eq, %f, %c1 : i32
  cf.cond_br %set, ^read, ^wait
^read:
  %v = kernel.load %data[%c0] : !kernel.buffer<i32, read_write>
  kernel.store %v, %y[%g] : !kernel.buffer<i32, write>
  kernel.return
}

// Atomics of a workgroup's scope don't reach another workgroup.
// SCOPE: error: data race: an atomic {{read|update}} of element 0 of buffer 0 is not ordered with an atomic update of it [poot-sanitize-race]
kernel.func @narrow_scope(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %old = kernel.atomic_rmw add relaxed workgroup %y[%c0], %c1 : !kernel.buffer<i32, read_write>
  kernel.return
}

// UNWRITTEN: error: element 0 of workgroup array 0 is read, and was not written [poot-sanitize-uninitialized]
kernel.func @unwritten_array(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<8xi32>
  %i = kernel.local_id x
  %v = kernel.load %tile[%i] : !kernel.workgroup<8xi32>
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// OVERLAID: error: element 0 of workgroup array 0 is read, and was not written [poot-sanitize-uninitialized]
kernel.func @overlaid(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %a = kernel.workgroup_alloc : !kernel.workgroup<8xi32>
  %b = kernel.workgroup_alloc overlays(%a : !kernel.workgroup<8xi32>) : !kernel.workgroup<8xi32>
  %i = kernel.local_id x
  kernel.store %i, %a[%i] : !kernel.workgroup<8xi32>
  kernel.barrier
  kernel.store %i, %b[%i] : !kernel.workgroup<8xi32>
  kernel.barrier
  %v = kernel.load %a[%i] : !kernel.workgroup<8xi32>
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// UNSET: error: what is stored is a variable that was not written [poot-sanitize-uninitialized]
kernel.func @unwritten_variable(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %a = kernel.var : !kernel.var<i32>
  %i = kernel.local_id x
  %v = kernel.var_load %a[] : !kernel.var<i32>
  %w = arith.addi %v, %i : i32
  kernel.store %w, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// UNDEFINED: error: element 0 of buffer 0 is read, and was not written [poot-sanitize-uninitialized]
kernel.func @undefined_buffer(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %i = kernel.local_id x
  %v = kernel.load %y[%i] : !kernel.buffer<i32, read_write>
  kernel.store %v, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// POISON: error: a branch depends on an undefined value (poison) [poot-sanitize-poison]
kernel.func @poison_branch(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %p = ub.poison : i1
  cf.cond_br %p, ^a, ^a
^a:
  kernel.return
}

// OVERFLOW: error: what is stored is an undefined value (poison) [poot-sanitize-poison]
kernel.func @overflow(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %v = arith.addi %n, %c1 overflow<nsw> : i32
  kernel.store %v, %y[%c0] : !kernel.buffer<i32, write>
  kernel.return
}

// DIVERGENT: faults.mlir:[[#@LINE+9]]:3: error: only 4 of 8 work-items of the workgroup come to this barrier; 4 have ended [poot-sanitize-divergent-barrier]
// DIVERGENT: note: in work-item (0, 0, 0) of workgroup (0, 0, 0)
kernel.func @divergent_barrier(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c4 = arith.constant 4 : i32
  %i = kernel.local_id x
  %low = arith.cmpi ult, %i, %c4 : i32
  cf.cond_br %low, ^wait, ^end
^wait:
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// TWO: error: only {{.*}} of 8 work-items of the workgroup come to this barrier; {{.*}} wait at another barrier [poot-sanitize-divergent-barrier]
// TWO: note: the other barrier, where work-item
kernel.func @two_barriers(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c4 = arith.constant 4 : i32
  %i = kernel.local_id x
  %low = arith.cmpi ult, %i, %c4 : i32
  cf.cond_br %low, ^one, ^two
^one:
  kernel.barrier
  cf.br ^end
^two:
  kernel.barrier
  cf.br ^end
^end:
  kernel.return
}

// DIVISION: error: integer division by zero [poot-sanitize-division]
kernel.func @division(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %i = kernel.local_id x
  %v = arith.divui %i, %n : i32
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// LOWEST: error: division of -2147483648 by -1: the result doesn't fit [poot-sanitize-division]
kernel.func @lowest(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %low = arith.constant -2147483648 : i32
  %v = arith.divsi %low, %n : i32
  kernel.store %v, %y[%c0] : !kernel.buffer<i32, write>
  kernel.return
}

// SHIFT: error: a value of 32 bits is shifted by 32 [poot-sanitize-shift]
kernel.func @shift(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %i = kernel.local_id x
  %v = arith.shli %i, %n : i32
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// The upper lanes read beyond the subgroup. That alone is no fault; using what
// they got is.
// LANE: error: what is stored is a value of a lane that is not there [poot-sanitize-subgroup]
// LANE: note: in work-item (3, 0, 0) of workgroup (0, 0, 0)
kernel.func @foreign_lane(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c1 = arith.constant 1 : i32
  %i = kernel.local_id x
  %v = kernel.subgroup_shuffle down %i, %c1 : i32
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// BROADCAST: error: a broadcast from lane 4, which no subgroup has [poot-sanitize-subgroup]
kernel.func @bad_broadcast(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c4 = arith.constant 4 : i32
  %i = kernel.local_id x
  %v = kernel.subgroup_broadcast %i, %c4 : i32
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// UNREACHABLE: error: control comes where the kernel says it never does [poot-sanitize-unreachable]
kernel.func @unreachable(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  ub.unreachable
}

// FOREVER: error: kernel 'forever' was given up after 10000 steps
kernel.func @forever() attributes {workgroup_size = array<i32: 8, 1, 1>} {
  cf.br ^loop
^loop:
  cf.br ^loop
}

// A fault in a hook's body names the hook as well.
// HOOKED: faults.mlir:[[#@LINE+5]]:8: error: integer division by zero [poot-sanitize-division]
// HOOKED: faults.mlir:[[#@LINE+13]]:8: note: called from here
kernel.hook_body @reciprocal(%v: i32) -> i32 {
  %c1 = arith.constant 1 : i32

  %r = arith.divui %c1, %v : i32
  kernel.yield %r : i32
}
kernel.func @hooked(%y: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %i = kernel.local_id x



  %v = kernel.hook "f"(%i) default @reciprocal : (i32) -> i32
  kernel.store %v, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}

// CLEAN-NOT: error
// CLEAN: buffer 1 (f32):
kernel.func @clean(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<8xf32>
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %g = kernel.workgroup_id x
  %base = arith.muli %g, %c8 : i32
  %i = kernel.local_id x
  %at = arith.addi %base, %i : i32
  %j = arith.subi %c7, %i : i32
  %v = kernel.load %x[%at] : !kernel.buffer<f32, read>
  kernel.store %v, %tile[%i] : !kernel.workgroup<8xf32>
  kernel.barrier
  %w = kernel.load %tile[%j] : !kernel.workgroup<8xf32>
  kernel.store %w, %y[%at] : !kernel.buffer<f32, write>
  kernel.return
}
