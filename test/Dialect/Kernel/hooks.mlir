// RUN: poot-opt %s --kernel-fill-hooks --poot-kernel-optimize --split-input-file --verify-diagnostics | FileCheck %s

// A matrix product whose epilogue takes the values of gate and up. The body
// reads a buffer of its own, which the kernel then takes behind its buffers.

kernel.hook_body @first(%row: i32, %col: i32, %gate: vector<2xf32>,
                        %up: vector<2xf32>) -> vector<2xf32> {
  kernel.yield %gate : vector<2xf32>
}

kernel.hook_body @silu_mul(%row: i32, %col: i32, %gate: vector<2xf32>,
                           %up: vector<2xf32>,
                           %bias: !kernel.buffer<vector<2xf32>, read>,
                           %scale: f32) -> vector<2xf32> {
  %b = kernel.load %bias[%col] : !kernel.buffer<vector<2xf32>, read>
  %one = arith.constant dense<1.0> : vector<2xf32>
  %n = arith.negf %gate : vector<2xf32>
  %e = math.exp %n : vector<2xf32>
  %d = arith.addf %e, %one : vector<2xf32>
  %s = arith.divf %gate, %d : vector<2xf32>
  %y = arith.mulf %s, %up : vector<2xf32>
  %z = arith.addf %y, %b : vector<2xf32>
  %sc = vector.broadcast %scale : f32 to vector<2xf32>
  %r = arith.mulf %z, %sc : vector<2xf32>
  kernel.yield %r : vector<2xf32>
}

// CHECK-LABEL: kernel.func @gate_up
// CHECK-SAME: !kernel.buffer<vector<2xf32>, write>, %[[BIAS:[^:]*]]: !kernel.buffer<vector<2xf32>, read>, %[[K:[^:]*]]: i32, %[[SCALE:[^:]*]]: f32)
// CHECK-NOT: kernel.fill
// CHECK: kernel.load %[[BIAS]]
// CHECK: math.exp
// CHECK-NOT: kernel.hook
kernel.func @gate_up(%x: !kernel.buffer<f32, read>,
                     %g: !kernel.buffer<vector<2xf32>, read>,
                     %u: !kernel.buffer<vector<2xf32>, read>,
                     %y: !kernel.buffer<vector<2xf32>, write>, %depth: i32)
    attributes {workgroup_size = array<i32: 16, 1, 1>,
                kernel.fill = {epilogue = @silu_mul}} {
  %col = kernel.local_id x
  %row = kernel.workgroup_id x
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : vector<2xf32>
  %gate = kernel.var : !kernel.var<vector<2xf32>>
  %up = kernel.var : !kernel.var<vector<2xf32>>
  kernel.var_store %zero, %gate[] : !kernel.var<vector<2xf32>>
  kernel.var_store %zero, %up[] : !kernel.var<vector<2xf32>>
  cf.br ^head(%c0 : i32)
^head(%k: i32):
  %more = arith.cmpi slt, %k, %depth : i32
  cf.cond_br %more, ^body, ^end
^body:
  %a0 = kernel.load %x[%k] : !kernel.buffer<f32, read>
  %a = vector.broadcast %a0 : f32 to vector<2xf32>
  %gw = kernel.load %g[%k] : !kernel.buffer<vector<2xf32>, read>
  %uw = kernel.load %u[%k] : !kernel.buffer<vector<2xf32>, read>
  %gp = arith.mulf %a, %gw : vector<2xf32>
  %up_ = arith.mulf %a, %uw : vector<2xf32>
  %g0 = kernel.var_load %gate[] : !kernel.var<vector<2xf32>>
  %u0 = kernel.var_load %up[] : !kernel.var<vector<2xf32>>
  %g1 = arith.addf %g0, %gp : vector<2xf32>
  %u1 = arith.addf %u0, %up_ : vector<2xf32>
  kernel.var_store %g1, %gate[] : !kernel.var<vector<2xf32>>
  kernel.var_store %u1, %up[] : !kernel.var<vector<2xf32>>
  %next = arith.addi %k, %c1 : i32
  cf.br ^head(%next : i32)
^end:
  %gv = kernel.var_load %gate[] : !kernel.var<vector<2xf32>>
  %uv = kernel.var_load %up[] : !kernel.var<vector<2xf32>>
  %r = kernel.hook "epilogue"(%row, %col, %gv, %uv) default @first
      : (i32, i32, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  kernel.store %r, %y[%col] : !kernel.buffer<vector<2xf32>, write>
  kernel.return
}

// -----

// A default with branches, called in a loop; bodies may call hooks.

kernel.hook_body @twice(%v: i32) -> i32 {
  %0 = kernel.hook "inner"(%v) default @plus : (i32) -> i32
  %1 = kernel.hook "inner"(%0) default @plus : (i32) -> i32
  kernel.yield %1 : i32
}
kernel.hook_body @plus(%v: i32) -> i32 {
  %c9 = arith.constant 9 : i32
  %c = arith.cmpi sgt, %v, %c9 : i32
  cf.cond_br %c, ^a, ^b
^a:
  kernel.yield %c9 : i32
^b:
  %s = arith.addi %v, %c9 : i32
  kernel.yield %s : i32
}
// CHECK-LABEL: kernel.func @defaults
// CHECK-NOT: kernel.hook
// CHECK: kernel.return
kernel.func @defaults(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %i = kernel.local_id x
  %v = kernel.load %y[%i] : !kernel.buffer<i32, read_write>
  %r = kernel.hook "outer"(%v) default @twice : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.hook_body @id(%v: i32) -> i32 {
  kernel.yield %v : i32
}
kernel.hook_body @other(%v: f32) -> f32 {
  kernel.yield %v : f32
}
// expected-error @below {{has no hook 'prologue'; it has 'epilogue'}}
kernel.func @unknown(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>,
                kernel.fill = {prologue = @other}} {
  %i = kernel.local_id x
  %r = kernel.hook "epilogue"(%i) default @id : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.hook_body @id(%v: i32) -> i32 {
  kernel.yield %v : i32
}
kernel.hook_body @other(%v: f32) -> f32 {
  kernel.yield %v : f32
}
kernel.func @type(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>,
                kernel.fill = {epilogue = @other}} {
  %i = kernel.local_id x
  // expected-error @below {{hook 'epilogue' of type '(i32) -> i32' can't be filled by "other" of type '(f32) -> f32'}}
  %r = kernel.hook "epilogue"(%i) default @id : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.hook_body @loop(%v: i32) -> i32 {
  // expected-error @below {{has a default that calls itself}}
  %r = kernel.hook "epilogue"(%v) default @loop : (i32) -> i32
  kernel.yield %r : i32
}
kernel.func @circle(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %i = kernel.local_id x
  %r = kernel.hook "epilogue"(%i) default @loop : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

// A body's own hooks take their defaults, whatever fills them elsewhere.
kernel.hook_body @ten(%v: i32) -> i32 {
  %c10 = arith.constant 10 : i32
  %r = arith.muli %v, %c10 : i32
  kernel.yield %r : i32
}
kernel.hook_body @same(%v: i32) -> i32 {
  kernel.yield %v : i32
}
kernel.hook_body @plus_one(%v: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %0 = kernel.hook "a"(%v) default @same : (i32) -> i32
  %1 = kernel.hook "c"(%0) default @same : (i32) -> i32
  %r = arith.addi %1, %c1 : i32
  kernel.yield %r : i32
}
// CHECK-LABEL: kernel.func @nested
// CHECK: %[[I:.*]] = kernel.local_id
// CHECK: %[[A:.*]] = arith.muli %[[I]], %{{.*}} : i32
// CHECK: %[[B:.*]] = arith.addi %[[A]], %{{.*}} : i32
// CHECK: %[[C:.*]] = arith.muli %[[B]], %{{.*}} : i32
// CHECK: kernel.store %[[C]]
kernel.func @nested(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>,
                kernel.fill = {a = @ten, b = @plus_one, c = @ten}} {
  %i = kernel.local_id x
  %0 = kernel.hook "a"(%i) default @same : (i32) -> i32
  %1 = kernel.hook "b"(%0) default @same : (i32) -> i32
  %2 = kernel.hook "c"(%1) default @same : (i32) -> i32
  kernel.store %2, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

// Both loops of a circle of two, seen from a body that isn't part of it.
kernel.hook_body @one(%v: i32) -> i32 {
  %r = kernel.hook "next"(%v) default @two : (i32) -> i32
  kernel.yield %r : i32
}
kernel.hook_body @two(%v: i32) -> i32 {
  // expected-error @below {{hook 'again' has a default that calls itself}}
  %r = kernel.hook "again"(%v) default @one : (i32) -> i32
  %s = kernel.hook "again"(%r) default @one : (i32) -> i32
  kernel.yield %s : i32
}
kernel.func @larger_circle(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %i = kernel.local_id x
  %r = kernel.hook "epilogue"(%i) default @one : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

// Each calls the next one four times: 4^8 calls.
kernel.hook_body @h0(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h1 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h1 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h1 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h1 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h1(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h2 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h2 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h2 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h2 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h2(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h3 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h3 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h3 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h3 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h3(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h4 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h4 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h4 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h4 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h4(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h5 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h5 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h5 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h5 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h5(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h6 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h6 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h6 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h6 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h6(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h7 : (i32) -> i32
  // expected-error @below {{the defaults of the kernel's hooks come to more than 65536 operations}}
  %1 = kernel.hook "n"(%0) default @h7 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h7 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h7 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h7(%v: i32) -> i32 {
  %0 = kernel.hook "n"(%v) default @h8 : (i32) -> i32
  %1 = kernel.hook "n"(%0) default @h8 : (i32) -> i32
  %2 = kernel.hook "n"(%1) default @h8 : (i32) -> i32
  %3 = kernel.hook "n"(%2) default @h8 : (i32) -> i32
  kernel.yield %3 : i32
}
kernel.hook_body @h8(%v: i32) -> i32 {
  kernel.yield %v : i32
}
kernel.func @many(%y: !kernel.buffer<i32, read_write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %i = kernel.local_id x
  %r = kernel.hook "n"(%i) default @h0 : (i32) -> i32
  kernel.store %r, %y[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}
