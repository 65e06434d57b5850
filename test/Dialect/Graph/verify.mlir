// Each violation that graph-verify sees: rules of a whole module.
// RUN: poot-opt %s --split-input-file --verify-diagnostics --graph-verify

// G-entry-1: ops
func.func @entry() {
  // expected-error@+1 {{'arith.constant' op does not belong in a function of a graph module; only graph ops and the return do}}
  %0 = arith.constant 1 : i32
  return
}

// -----

// G-entry-1: symbols aside from the dialect's
module {
  // expected-error@+1 {{does not belong in a graph module; only graph.const, graph.state, graph.computed and functions do}}
  module {
  }
}

// -----

// G-entry-1: blocks
// expected-error@+1 {{must have one block: a step is one straight line of graph ops}}
func.func @entry() {
  cf.br ^next
^next:
  return
}

// -----

// G-entry-1: no body; G-entry-3
// expected-error@+1 {{must have one block}}
func.func private @declared()

// -----

// G-entry-3
// expected-error@+1 {{is private and not the load function; entries are public}}
func.func private @helper() {
  return
}

// -----

// G-entry-1: names
// expected-error@+1 {{argument 0 of an entry has no 'graph.name'}}
func.func @entry(%x: tensor<2xf32>) {
  return
}

// -----

// expected-error@+1 {{result 0 of an entry has no 'graph.name'}}
func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// G-type-4
// expected-error@+1 {{argument 0 has type 'tensor<2xi1>'; it must be a static tensor of i8, i16, i32, i64, f16, bf16, f32 or f64 with extents of at least 1 and at most 2^48 elements}}
func.func @entry(%x: tensor<2xi1> {graph.name = "x"}) {
  return
}

// -----

// G-type-2
// expected-error@+1 {{argument 0 has type 'tensor<?xf32>'; it must be a static tensor}}
func.func @entry(%x: tensor<?xf32> {graph.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{argument 0 has type '!graph.packed<q8_0, gguf, 32>'; it must be a static tensor}}
func.func @entry(%x: !graph.packed<q8_0, gguf, 32> {graph.name = "x"}) {
  return
}

// -----

// G-entry-2
#key = #graph.entry<phase = decode, rows = 1, tokens = 1, capacity = 64,
  cache = contiguous, logits = last, suffix = "greedy", activation = f32,
  kv = f16, accumulate = f32>
func.func @first() attributes {graph.entry = #key} {
  return
}
// expected-error@+1 {{has the same key as @first}}
func.func @second() attributes {graph.entry = #key} {
  return
}

// -----

// G-load-1
module attributes {graph.load = @__load} {
  // expected-error@+1 {{is the load function, which has no arguments and no results}}
  func.func private @__load(%x: tensor<2xf32>) {
    return
  }
}

// -----

module attributes {graph.load = @__load} {
  graph.state @s : tensor<2xf32>
  func.func private @__load() {
    // expected-error@+1 {{gets @s in the load function, which may get consts only}}
    %0 = graph.get @s : tensor<2xf32>
    return
  }
}

// -----

module attributes {graph.load = @__load} {
  graph.const @w : tensor<2xf32>
  graph.state @s : tensor<2xf32>
  func.func private @__load() {
    %0 = graph.get @w : tensor<2xf32>
    // expected-error@+1 {{sets @s in the load function, which may set computed symbols only}}
    graph.set @s, %0 : tensor<2xf32>
    return
  }
}

// -----

module attributes {graph.load = @__load} {
  graph.const @w : tensor<2xf32>
  graph.computed @c : tensor<2xf32>
  func.func private @__load() {
    %0 = graph.get @w : tensor<2xf32>
    // expected-note@+1 {{first set here}}
    graph.set @c, %0 : tensor<2xf32>
    // expected-error@+1 {{sets @c a second time}}
    graph.set @c, %0 : tensor<2xf32>
    return
  }
}

// -----

module attributes {graph.load = @__load} {
  // expected-error@+1 {{is never set by the load function @__load}}
  graph.computed @c : tensor<2xf32>
  func.func private @__load() {
    return
  }
}

// -----

// G-load-2
// expected-error@+1 {{needs a load function that sets it; the module has no 'graph.load'}}
graph.computed @c : tensor<2xf32>

// -----

module attributes {graph.load = @__load} {
  graph.const @w : tensor<2xf32>
  graph.computed @c : tensor<2xf32>
  func.func private @__load() {
    %0 = graph.get @w : tensor<2xf32>
    graph.set @c, %0 : tensor<2xf32>
    return
  }
  func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) {
    // expected-error@+1 {{sets the computed symbol @c in an entry; only the load function does}}
    graph.set @c, %x : tensor<2xf32>
    return
  }
}

// -----

// G-state-1
graph.state @s : tensor<2xf32>
func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) {
  // expected-note@+1 {{first set here}}
  graph.set @s, %x : tensor<2xf32>
  // expected-error@+1 {{sets state @s a second time; a function sets a state at most once}}
  graph.set @s, %x : tensor<2xf32>
  return
}

// -----

// G-state-2: a reader after the set
graph.state @s : tensor<2xf32>
func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<2xf32>
  // expected-note@+1 {{overwritten here; move the reader before it, or read the new value}}
  graph.set @s, %x : tensor<2xf32>
  // expected-error@+1 {{'graph.unary' op reads the old value of state @s after its update}}
  %y = graph.unary exp %old : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// G-state-2: the return reads as well
graph.state @s : tensor<2xf32>
func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<2xf32>
  // expected-note@+1 {{overwritten here}}
  graph.set @s, %x : tensor<2xf32>
  // expected-error@+1 {{'func.return' op reads the old value of state @s after its update}}
  return %old : tensor<2xf32>
}

// -----

// G-state-2: through views, after the scatter and before the set
graph.state @s : tensor<8x2xf32>
func.func @entry(%i: tensor<1xi32> {graph.name = "i"}, %x: tensor<1x2xf32> {graph.name = "x"})
    -> (tensor<2x4xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<8x2xf32>
  %part = graph.slice %old offsets [0, 0] strides [1, 1] : tensor<8x2xf32> -> tensor<4x2xf32>
  %view = graph.transpose %part [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  // expected-note@+1 {{overwritten here}}
  %new = graph.scatter %old, %i, %x : tensor<8x2xf32>, tensor<1xi32>, tensor<1x2xf32>
  // expected-error@+1 {{'graph.unary' op reads the old value of state @s after its update}}
  %y = graph.unary exp %view : tensor<2x4xf32>
  graph.set @s, %new : tensor<8x2xf32>
  return %y : tensor<2x4xf32>
}

// -----

// G-state-2: the scatter itself reads other rows
graph.state @s : tensor<8x2xf32>
func.func @entry(%i: tensor<1xi32> {graph.name = "i"}) {
  %old = graph.get @s : tensor<8x2xf32>
  %row = graph.slice %old offsets [0, 0] strides [1, 1] : tensor<8x2xf32> -> tensor<1x2xf32>
  // expected-error@+2 {{'graph.scatter' op reads the old value of state @s while overwriting it}}
  // expected-note@+1 {{overwritten here}}
  %new = graph.scatter %old, %i, %row : tensor<8x2xf32>, tensor<1xi32>, tensor<1x2xf32>
  graph.set @s, %new : tensor<8x2xf32>
  return
}

// -----

// G-state-2: the value between two scatters
graph.state @s : tensor<8x2xf32>
func.func @entry(%i: tensor<1xi32> {graph.name = "i"}, %x: tensor<1x2xf32> {graph.name = "x"})
    -> (tensor<8x2xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<8x2xf32>
  %mid = graph.scatter %old, %i, %x : tensor<8x2xf32>, tensor<1xi32>, tensor<1x2xf32>
  // expected-note@+1 {{overwritten here}}
  %new = graph.scatter %mid, %i, %x : tensor<8x2xf32>, tensor<1xi32>, tensor<1x2xf32>
  graph.set @s, %new : tensor<8x2xf32>
  // expected-error@+1 {{'graph.unary' op reads the old value of state @s after its update}}
  %y = graph.unary exp %mid : tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// -----

// G-state-3
graph.state @s : tensor<2xf32>
func.func @entry(%x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}) {
  // expected-note@+1 {{overwritten here}}
  graph.set @s, %x : tensor<2xf32>
  // expected-error@+1 {{'graph.get' op reads the old value of state @s after its update}}
  %old = graph.get @s : tensor<2xf32>
  return %old : tensor<2xf32>
}

// -----

// Valid: readers before the update, of the new value, and of another copy.
graph.state @s : tensor<8x2xf32>
graph.state @t : tensor<8x2xf32>
func.func @entry(%i: tensor<1xi32> {graph.name = "i"}, %x: tensor<1x2xf32> {graph.name = "x"})
    -> (tensor<8x2xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<8x2xf32>
  %copy = graph.unary neg %old : tensor<8x2xf32>
  %new = graph.scatter %old, %i, %x : tensor<8x2xf32>, tensor<1xi32>, tensor<1x2xf32>
  graph.set @s, %new : tensor<8x2xf32>
  graph.set @t, %copy : tensor<8x2xf32>
  %y = graph.binary add %new, %copy : tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}
