// What a kernel that implements an op may not be.
//
// RUN: poot-opt %s --split-input-file --plan-use-kernels --verify-diagnostics
//
// The graph.const keeps the module of kernels within another one.

// A name that isn't one; all that there are.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'sillu': 'sillu' is no op or pattern; allowed are silu, gelu, gelu_tanh, swiglu, neg, abs, sign, not, exp, exp2, expm1, log, log2, log1p, sqrt, rsqrt, sin, cos, tanh, erf, floor, ceil, round_even, trunc, add, sub, mul, div, rem, max, min, pow, and, or, xor, shl, shr_s, shr_u, eq, ne, lt, le, gt, ge, select, softmax, rms_norm, layer_norm}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "sillu"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// The same within an expression.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x, hypot(y))': 'hypot' is no op or pattern; allowed are silu}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x, hypot(y))"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// An op without operands.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x, exp)': 'exp' needs its operands, as in exp(x)}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x, exp)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Too many operands.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'neg(x, y)': 'neg' takes 1 operand, not 2}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg(x, y)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Of an op with operands that may be missing.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'layer_norm(x, s, b, y)': 'layer_norm' takes 1 to 3 operands, not 4}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "layer_norm(x, s, b, y)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Of a pattern.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'exp(swiglu(x))': 'swiglu' takes 2 operands, not 1}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "exp(swiglu(x))"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A number that isn't one.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x, 1z)': '1z' is no number}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x, 1z)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A bracket is missing.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x, y': ')' is missing at the end}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x, y"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A comma is missing.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x y)': ')' is missing before 'y)'}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x y)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// An operand is missing.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(x, )': an op, an operand or a number is missing before ')'}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(x, )"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// More than an expression.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'neg(x) y': 'y' is left behind the expression}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg(x) y"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Nothing to compute from.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'add(1, 2)': a pattern is an op with at least one operand}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add(1, 2)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Too long.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(x)))))))))))))))))': it has 17 ops; a pattern has at most 16}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(neg(x)))))))))))))))))"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Rows within an expression.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'exp(softmax(x))': 'softmax' is a pattern by itself, on different operands; expressions have element-wise ops alone}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "exp(softmax(x))"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Rows of one operand twice.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' can't implement 'rms_norm(x, x)': 'rms_norm' is a pattern by itself, on different operands}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "rms_norm(x, x)"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A buffer is missing.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' has 2 buffers and 0 words of scalars; one that implements 'add' has 3 buffers, the operands and the result, and knows extents by specialization constants}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "add"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A scalar.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' has 2 buffers and 1 words of scalars; one}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>, %n: i32)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Workgroups in a plane.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' has workgroups of more than one dimension; one that implements an op has workgroups along x}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 8, 8, 1>} {
    kernel.return
  }
}

// -----

// Elements that no tensor has.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' has a buffer of 'vector<4xf32>'; one that implements an op has buffers of scalars}}
  kernel.func @k(%x: !kernel.buffer<vector<4xf32>, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// Memory that isn't reached by a hook.
graph.const @c : tensor<4xf32>
module {
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    // expected-error@+1 {{kernel 'k' reads or writes buffer 0 by itself; one that implements an op does so in the hook 'load', whose place the addresses of tensors take}}
    %v = kernel.load %x[%i] : !kernel.buffer<f32, read>
    kernel.return
  }
}

// -----

// A hook that isn't load.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.hook_body private @set(%b: !kernel.buffer<f32, write>, %i: i32, %v: f32) {
    kernel.store %v, %b[%i] : !kernel.buffer<f32, write>
    kernel.yield
  }
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    // expected-error@+1 {{kernel 'k' passes buffer 0 to a hook 'get' of type '(!kernel.buffer<f32, read>, i32) -> f32'; it can only be passed to 'load', which takes it and 32-bit numbers, an element's or a row's and an element's of it, and gives a value of its element type}}
    %v = kernel.hook "get"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.return
  }
}

// -----

// A hook of another type.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get3(%b: !kernel.buffer<f32, read>, %i: i32, %j: i32, %k: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    // expected-error@+1 {{kernel 'k' passes buffer 0 to a hook 'load' of type '(!kernel.buffer<f32, read>, i32, i32, i32) -> f32'; it can only}}
    %v = kernel.hook "load"(%x, %i, %i, %i) default @get3 : (!kernel.buffer<f32, read>, i32, i32, i32) -> f32
    kernel.return
  }
}

// -----

// A value of another type.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @setInt(%b: !kernel.buffer<f32, write>, %i: i32, %v: i32) {
    kernel.yield
  }
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    // expected-error@+1 {{kernel 'k' passes buffer 1 to a hook 'store' of type '(!kernel.buffer<f32, write>, i32, i32) -> ()'; it can only be passed to 'store', which takes it and 32-bit numbers, an element's or a row's and an element's of it, and a value of its element type}}
    kernel.hook "store"(%y, %i, %i) default @setInt : (!kernel.buffer<f32, write>, i32, i32) -> ()
    kernel.return
  }
}

// -----

// The result is loaded.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read_write>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read_write>
    kernel.yield %v : f32
  }
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, read_write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    // expected-error@+1 {{kernel 'k' passes buffer 1 to a hook 'load' of type '(!kernel.buffer<f32, read_write>, i32) -> f32'; it can only be passed to 'store'}}
    %v = kernel.hook "load"(%y, %i) default @get : (!kernel.buffer<f32, read_write>, i32) -> f32
    kernel.return
  }
}

// -----

// No result.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{kernel 'k' stores nothing: it never calls the hook 'store'}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    kernel.return
  }
}

// -----

// A tolerance that isn't one.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.hook_body private @set(%b: !kernel.buffer<f32, write>, %i: i32, %v: f32) {
    kernel.store %v, %b[%i] : !kernel.buffer<f32, write>
    kernel.yield
  }
  // expected-error@+1 {{kernel 'k' has the tolerance 'much'; a number such as 0.01 can be one}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg", tolerance = "much"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.hook "store"(%y, %i, %v) default @set : (!kernel.buffer<f32, write>, i32, f32) -> ()
    kernel.return
  }
}

// -----

// Two kernels for one pattern, in two spellings.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.hook_body private @set(%b: !kernel.buffer<f32, write>, %i: i32, %v: f32) {
    kernel.store %v, %b[%i] : !kernel.buffer<f32, write>
    kernel.yield
  }
  // expected-note@+1 {{which is here}}
  kernel.func @a(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "silu"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.hook "store"(%y, %i, %v) default @set : (!kernel.buffer<f32, write>, i32, f32) -> ()
    kernel.return
  }
  // expected-error@+1 {{kernel 'b' implements 'div(a, add(exp(neg(a)), 1.0))', as kernel 'a' does}}
  kernel.func @b(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "div(a, add(exp(neg(a)), 1.0))"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.hook "store"(%y, %i, %v) default @set : (!kernel.buffer<f32, write>, i32, f32) -> ()
    kernel.return
  }
}

// -----

// In types that both serve.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.hook_body private @set(%b: !kernel.buffer<f32, write>, %i: i32, %v: f32) {
    kernel.store %v, %b[%i] : !kernel.buffer<f32, write>
    kernel.yield
  }
  kernel.hook_body private @get16(%b: !kernel.buffer<f16, read>, %i: i32) -> f16 {
    %v = kernel.load %b[%i] : !kernel.buffer<f16, read>
    kernel.yield %v : f16
  }
  kernel.hook_body private @set16(%b: !kernel.buffer<f16, write>, %i: i32, %v: f16) {
    kernel.store %v, %b[%i] : !kernel.buffer<f16, write>
    kernel.yield
  }
  // expected-note@+1 {{which is here}}
  kernel.func @a(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.hook "store"(%y, %i, %v) default @set : (!kernel.buffer<f32, write>, i32, f32) -> ()
    kernel.return
  }
  // expected-error@+1 {{kernel 'b' implements 'neg', as kernel 'a' does}}
  kernel.func @b(%x: !kernel.buffer<f16, read>, %y: !kernel.buffer<f16, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get16 : (!kernel.buffer<f16, read>, i32) -> f16
    kernel.hook "store"(%y, %i, %v) default @set16 : (!kernel.buffer<f16, write>, i32, f16) -> ()
    kernel.return
  }
}

// -----

// A kernel that the graph has no use for.
graph.const @c : tensor<4xf32>
module {
  kernel.hook_body private @get(%b: !kernel.buffer<f32, read>, %i: i32) -> f32 {
    %v = kernel.load %b[%i] : !kernel.buffer<f32, read>
    kernel.yield %v : f32
  }
  kernel.hook_body private @set(%b: !kernel.buffer<f32, write>, %i: i32, %v: f32) {
    kernel.store %v, %b[%i] : !kernel.buffer<f32, write>
    kernel.yield
  }
  // expected-warning@+1 {{kernel 'k' implements 'neg', which the graph has nowhere in types that it serves}}
  kernel.func @k(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
      attributes {kernel.attributes = {implements = "neg"}, workgroup_size = array<i32: 64, 1, 1>} {
    %i = kernel.local_id x
    %v = kernel.hook "load"(%x, %i) default @get : (!kernel.buffer<f32, read>, i32) -> f32
    kernel.hook "store"(%y, %i, %v) default @set : (!kernel.buffer<f32, write>, i32, f32) -> ()
    kernel.return
  }
}
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = graph.unary neg %x : tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// Nothing that says what it implements.
graph.const @c : tensor<4xf32>
// expected-error@+1 {{holds no kernel that says what it implements; POOT_IMPLEMENTS("PATTERN") does in C++}}
module {
  kernel.func @k(%x: !kernel.buffer<f32, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
    kernel.return
  }
}

// -----

// No file of kernels.
graph.const @c : tensor<4xf32>
module {
  // expected-error@+1 {{'graph.const' does not belong in a file of kernels; only kernel.func and kernel.hook_body do}}
  graph.const @w : tensor<4xf32>
}
