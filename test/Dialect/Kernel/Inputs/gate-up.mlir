// A tiled product of a matrix with two others, as it comes from C++: an element
// of the result is two columns of each product, and a hook makes one value of
// them. Read by filled-hook.test, and run on devices by HookTest.cpp.

kernel.hook_body @gate(%row: i32, %column: i32, %gate: vector<2xf32>,
                       %up: vector<2xf32>) -> vector<2xf32> {
  kernel.yield %gate : vector<2xf32>
}

// silu(gate) * up + bias, scaled; negative rows of a mask are zero.
kernel.hook_body @silu_mul(%row: i32, %column: i32, %gate: vector<2xf32>,
                           %up: vector<2xf32>,
                           %bias: !kernel.buffer<vector<2xf32>, read>,
                           %mask: !kernel.buffer<i32, read>,
                           %scale: f32) -> vector<2xf32> {
  %c0 = arith.constant 0 : i32
  %m = kernel.load %mask[%row] : !kernel.buffer<i32, read>
  %masked = arith.cmpi slt, %m, %c0 : i32
  cf.cond_br %masked, ^zero, ^value
^zero:
  %zero = arith.constant dense<0.0> : vector<2xf32>
  kernel.yield %zero : vector<2xf32>
^value:
  %one = arith.constant dense<1.0> : vector<2xf32>
  %negated = arith.negf %gate : vector<2xf32>
  %exp = math.exp %negated : vector<2xf32>
  %sum = arith.addf %exp, %one : vector<2xf32>
  %silu = arith.divf %gate, %sum : vector<2xf32>
  %product = arith.mulf %silu, %up : vector<2xf32>
  %b = kernel.load %bias[%column] : !kernel.buffer<vector<2xf32>, read>
  %biased = arith.addf %product, %b : vector<2xf32>
  %scales = vector.broadcast %scale : f32 to vector<2xf32>
  %result = arith.mulf %biased, %scales : vector<2xf32>
  kernel.yield %result : vector<2xf32>
}

kernel.func @gate_up(%x: !kernel.buffer<f32, read>,
                     %g: !kernel.buffer<vector<2xf32>, read>,
                     %u: !kernel.buffer<vector<2xf32>, read>,
                     %y: !kernel.buffer<vector<2xf32>, write>,
                     %depth: i32, %columns: i32)
    attributes {workgroup_size = array<i32: 8, 8, 1>,
                kernel.attributes = {tile = "8"},
                kernel.fill = {epilogue = @silu_mul}} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %tileX = kernel.workgroup_alloc : !kernel.workgroup<64xf32>
  %tileG = kernel.workgroup_alloc : !kernel.workgroup<64xvector<2xf32>>
  %tileU = kernel.workgroup_alloc : !kernel.workgroup<64xvector<2xf32>>
  %sums = kernel.var : !kernel.var<2xvector<2xf32>>
  %k = kernel.var : !kernel.var<i32>
  %j = kernel.var : !kernel.var<i32>
  %lx = kernel.local_id x
  %ly = kernel.local_id y
  %wx = kernel.workgroup_id x
  %wy = kernel.workgroup_id y
  %wx8 = arith.muli %wx, %c8 : i32
  %wy8 = arith.muli %wy, %c8 : i32
  %column = arith.addi %wx8, %lx : i32
  %row = arith.addi %wy8, %ly : i32
  %ly8 = arith.muli %ly, %c8 : i32
  %own = arith.addi %ly8, %lx : i32
  %none = arith.constant dense<0.0> : vector<2xf32>
  kernel.var_store %none, %sums[%c0] : !kernel.var<2xvector<2xf32>>
  kernel.var_store %none, %sums[%c1] : !kernel.var<2xvector<2xf32>>
  kernel.var_store %c0, %k[] : !kernel.var<i32>
  cf.br ^outer
^outer:
  %k0 = kernel.var_load %k[] : !kernel.var<i32>
  %moreK = arith.cmpi slt, %k0, %depth : i32
  cf.cond_br %moreK, ^fill, ^end
^fill:
  %rowDepth = arith.muli %row, %depth : i32
  %kx = arith.addi %k0, %lx : i32
  %atX = arith.addi %rowDepth, %kx : i32
  %xv = kernel.load %x[%atX] : !kernel.buffer<f32, read>
  kernel.store %xv, %tileX[%own] : !kernel.workgroup<64xf32>
  %ky = arith.addi %k0, %ly : i32
  %kyColumns = arith.muli %ky, %columns : i32
  %atW = arith.addi %kyColumns, %column : i32
  %gv = kernel.load %g[%atW] : !kernel.buffer<vector<2xf32>, read>
  kernel.store %gv, %tileG[%own] : !kernel.workgroup<64xvector<2xf32>>
  %uv = kernel.load %u[%atW] : !kernel.buffer<vector<2xf32>, read>
  kernel.store %uv, %tileU[%own] : !kernel.workgroup<64xvector<2xf32>>
  kernel.barrier
  kernel.var_store %c0, %j[] : !kernel.var<i32>
  cf.br ^inner
^inner:
  kernel.loop_hint unroll_full
  %j0 = kernel.var_load %j[] : !kernel.var<i32>
  %moreJ = arith.cmpi slt, %j0, %c8 : i32
  cf.cond_br %moreJ, ^multiply, ^next
^multiply:
  %atA = arith.addi %ly8, %j0 : i32
  %a0 = kernel.load %tileX[%atA] : !kernel.workgroup<64xf32>
  %a = vector.broadcast %a0 : f32 to vector<2xf32>
  %j8 = arith.muli %j0, %c8 : i32
  %atB = arith.addi %j8, %lx : i32
  %bg = kernel.load %tileG[%atB] : !kernel.workgroup<64xvector<2xf32>>
  %bu = kernel.load %tileU[%atB] : !kernel.workgroup<64xvector<2xf32>>
  %pg = arith.mulf %a, %bg : vector<2xf32>
  %pu = arith.mulf %a, %bu : vector<2xf32>
  %sg = kernel.var_load %sums[%c0] : !kernel.var<2xvector<2xf32>>
  %su = kernel.var_load %sums[%c1] : !kernel.var<2xvector<2xf32>>
  %sg1 = arith.addf %sg, %pg : vector<2xf32>
  %su1 = arith.addf %su, %pu : vector<2xf32>
  kernel.var_store %sg1, %sums[%c0] : !kernel.var<2xvector<2xf32>>
  kernel.var_store %su1, %sums[%c1] : !kernel.var<2xvector<2xf32>>
  %j1 = arith.addi %j0, %c1 : i32
  kernel.var_store %j1, %j[] : !kernel.var<i32>
  cf.br ^inner
^next:
  kernel.barrier
  %k1 = arith.addi %k0, %c8 : i32
  kernel.var_store %k1, %k[] : !kernel.var<i32>
  cf.br ^outer
^end:
  %gate = kernel.var_load %sums[%c0] : !kernel.var<2xvector<2xf32>>
  %up = kernel.var_load %sums[%c1] : !kernel.var<2xvector<2xf32>>
  %r = kernel.hook "epilogue"(%row, %column, %gate, %up) default @gate
      : (i32, i32, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  %rowColumns = arith.muli %row, %columns : i32
  %atY = arith.addi %rowColumns, %column : i32
  kernel.store %r, %y[%atY] : !kernel.buffer<vector<2xf32>, write>
  kernel.return
}
