// Work-items that loop over an atomic get their turn one after the other, so
// that none waits for another for ever. They still meet at a subgroup operation:
// those who come early wait for the lanes that are on their way.
// RUN: poot-translate --kernel-to-kir-json %s -o %t.kir.json
// RUN: poot-run --interpret %t.kir.json --input 0=zeros:16 --input 1=zeros:1 --output 0=%t.npy
// RUN: %python -c 'import numpy as n; assert (n.load("%t.npy") == 16).all()'

kernel.func @meeting(%y: !kernel.buffer<i32, write>,
                     %count: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %lane = kernel.local_id x
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c300 = arith.constant 300 : i32
  %trips = arith.muli %lane, %c300 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  %more = arith.cmpi slt, %i, %trips : i32
  cf.cond_br %more, ^body, ^end
^body:
  %old = kernel.atomic_rmw add relaxed device %count[%c0], %c1
      : !kernel.buffer<i32, read_write>
  %next = arith.addi %i, %c1 : i32
  cf.br ^head(%next : i32)
^end:
  %sum = kernel.subgroup_reduce add %c1 : i32
  kernel.store %sum, %y[%lane] : !kernel.buffer<i32, write>
  kernel.return
}
