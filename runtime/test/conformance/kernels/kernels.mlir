// The kernels of the .spvasm files beside this one, for the interpreter. The
// .kir.json files are made of it, and checked in so that the suite needs no
// compiler:
//
//   poot-translate --kernel-to-kir-json kernels.mlir
//
// with one kernel at a time.

// z[i] = x[i] + y[i], for i < n.
kernel.func @add(%x: !kernel.buffer<i32, read>, %y: !kernel.buffer<i32, read>,
                 %z: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c64 = arith.constant 64 : i32
  %group = kernel.workgroup_id x
  %first = arith.muli %group, %c64 : i32
  %local = kernel.local_id x
  %i = arith.addi %first, %local : i32
  %inside = arith.cmpi slt, %i, %n : i32
  cf.cond_br %inside, ^body, ^end
^body:
  %left = kernel.load %x[%i] : !kernel.buffer<i32, read>
  %right = kernel.load %y[%i] : !kernel.buffer<i32, read>
  %sum = arith.addi %left, %right : i32
  kernel.store %sum, %z[%i] : !kernel.buffer<i32, write>
  cf.br ^end
^end:
  kernel.return
}

// -----

// y[i] = x[i] * scale + offset, for i < n.
kernel.func @affine(%x: !kernel.buffer<i32, read>,
                    %y: !kernel.buffer<i32, write>, %n: i32, %scale: i32,
                    %offset: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c64 = arith.constant 64 : i32
  %group = kernel.workgroup_id x
  %first = arith.muli %group, %c64 : i32
  %local = kernel.local_id x
  %i = arith.addi %first, %local : i32
  %inside = arith.cmpi slt, %i, %n : i32
  cf.cond_br %inside, ^body, ^end
^body:
  %value = kernel.load %x[%i] : !kernel.buffer<i32, read>
  %product = arith.muli %value, %scale : i32
  %sum = arith.addi %product, %offset : i32
  kernel.store %sum, %y[%i] : !kernel.buffer<i32, write>
  cf.br ^end
^end:
  kernel.return
}

// -----

// Writes row, of n elements, to rows[at[0]], unless that is beyond the extent.
kernel.func @append(%row: !kernel.buffer<i32, read>,
                    %at: !kernel.buffer<i32, read>,
                    %rows: !kernel.buffer<i32, read_write>, %n: i32,
                    %extent: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %group = kernel.workgroup_id x
  %start = arith.muli %group, %c64 : i32
  %local = kernel.local_id x
  %i = arith.addi %start, %local : i32
  %inside = arith.cmpi slt, %i, %n : i32
  cf.cond_br %inside, ^body, ^end
^body:
  %position = kernel.load %at[%c0] : !kernel.buffer<i32, read>
  %fits = arith.cmpi slt, %position, %extent : i32
  cf.cond_br %fits, ^write, ^end
^write:
  %value = kernel.load %row[%i] : !kernel.buffer<i32, read>
  %first = arith.muli %position, %n : i32
  %to = arith.addi %first, %i : i32
  kernel.store %value, %rows[%to] : !kernel.buffer<i32, read_write>
  cf.br ^end
^end:
  kernel.return
}

// -----

// y[i] = f(f(... x[i])), steps times, where f(v) = v * 5 + 3.
kernel.func @iterate(%x: !kernel.buffer<i32, read>,
                     %y: !kernel.buffer<i32, write>, %n: i32, %steps: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %c64 = arith.constant 64 : i32
  %group = kernel.workgroup_id x
  %first = arith.muli %group, %c64 : i32
  %local = kernel.local_id x
  %i = arith.addi %first, %local : i32
  %inside = arith.cmpi slt, %i, %n : i32
  cf.cond_br %inside, ^body, ^end
^body:
  %value = kernel.load %x[%i] : !kernel.buffer<i32, read>
  cf.br ^header(%c0, %value : i32, i32)
^header(%count: i32, %current: i32):
  %more = arith.cmpi slt, %count, %steps : i32
  cf.cond_br %more, ^work, ^done
^work:
  %scaled = arith.muli %current, %c5 : i32
  %next = arith.addi %scaled, %c3 : i32
  %next_count = arith.addi %count, %c1 : i32
  cf.br ^header(%next_count, %next : i32, i32)
^done:
  kernel.store %current, %y[%i] : !kernel.buffer<i32, write>
  cf.br ^end
^end:
  kernel.return
}

// -----

// sum[i] = the sum of column i over the rows of n elements, extent of them.
kernel.func @sum_rows(%rows: !kernel.buffer<i32, read>,
                      %sum: !kernel.buffer<i32, write>, %n: i32, %extent: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %group = kernel.workgroup_id x
  %start = arith.muli %group, %c64 : i32
  %local = kernel.local_id x
  %i = arith.addi %start, %local : i32
  %inside = arith.cmpi slt, %i, %n : i32
  cf.cond_br %inside, ^header(%c0, %c0 : i32, i32), ^end
^header(%row: i32, %total: i32):
  %more = arith.cmpi slt, %row, %extent : i32
  cf.cond_br %more, ^work, ^done
^work:
  %first = arith.muli %row, %n : i32
  %from = arith.addi %first, %i : i32
  %value = kernel.load %rows[%from] : !kernel.buffer<i32, read>
  %next_total = arith.addi %total, %value : i32
  %next_row = arith.addi %row, %c1 : i32
  cf.br ^header(%next_row, %next_total : i32, i32)
^done:
  kernel.store %total, %sum[%i] : !kernel.buffer<i32, write>
  cf.br ^end
^end:
  kernel.return
}
