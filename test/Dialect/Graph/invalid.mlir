// Each violation of a constraint that an op's or attribute's own verifier sees.
// RUN: poot-opt %s --split-input-file --verify-diagnostics

// G-type-1: rank
func.func @rank(%x: tensor<1x1x1x1x1x1x1x1x2xf32>) {
  // expected-error@+1 {{operand #0 must be a static tensor of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, but got 'tensor<1x1x1x1x1x1x1x1x2xf32>'}}
  %0 = graph.unary neg %x : tensor<1x1x1x1x1x1x1x1x2xf32>
  return
}

// -----

// G-type-1: element type
func.func @element(%x: tensor<2xui8>) {
  // expected-error@+1 {{must be a static tensor}}
  %0 = graph.unary not %x : tensor<2xui8>
  return
}

// -----

// G-type-1: no tensor at all, where another type is inferred from it
func.func @scalar(%c: tensor<2xi1>, %x: f32) {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.tensor, but found 'f32'}}
  %0 = graph.select %c, %x, %x : f32
  return
}

// -----

func.func @scalar_compare(%x: f32) {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.tensor, but found 'f32'}}
  %0 = graph.compare lt %x, %x : f32
  return
}

// -----

// G-type-2: extents
func.func @empty(%x: tensor<0x2xf32>) {
  // expected-error@+1 {{must be a static tensor}}
  %0 = graph.unary neg %x : tensor<0x2xf32>
  return
}

// -----

// G-type-2: too many elements, whose product would wrap
func.func @huge(%x: tensor<4398046511105x4194304xf32>) {
  // expected-error@+1 {{must be a static tensor}}
  %0 = graph.unary neg %x : tensor<4398046511105x4194304xf32>
  return
}

// -----

// G-type-2: open
func.func @open(%x: tensor<?x2xf32>) {
  // expected-error@+1 {{must be a static tensor}}
  %0 = graph.unary neg %x : tensor<?x2xf32>
  return
}

// -----

// G-type-3: block
// expected-error@+1 {{innermost extent 300 is not a multiple of the block of q4_k, 256 elements}}
graph.const @w : !graph.packed<q4_k, gguf, 4x300>

// -----

// G-type-3: extents
// expected-error@+1 {{packed weight must have extents of at least 1 and at most 2^48 elements}}
graph.const @w : !graph.packed<q8_0, gguf, 0x32>

// -----

// expected-error@+1 {{packed weight must have extents of at least 1 and at most 2^48 elements}}
graph.const @w : !graph.packed<q8_0, gguf, 4398046511105x4194304>

// -----

// G-type-3: rank
// expected-error@+1 {{packed weight has rank 9; the rank must be 1 to 8}}
graph.const @w : !graph.packed<q8_0, gguf, 1x1x1x1x1x1x1x1x32>

// -----

// G-type-3: unknown encoding
// expected-error@+2 {{expected ::poot::graph::PackedEncoding to be one of: q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, mxfp4}}
// expected-error@+1 {{failed to parse Graph_PackedType parameter 'encoding'}}
graph.const @w : !graph.packed<q9_9, gguf, 32>

// -----

// G-type-4
// expected-error@+1 {{has type 'tensor<4xi1>'; it must be a tensor of i8, i16, i32, i64, f16, bf16, f32 or f64 with extents of at least 1, all static, and at most 2^48 elements, or a packed weight}}
graph.const @w : tensor<4xi1>

// -----

// G-symbol-1
// expected-error@+1 {{has type 'tensor<?x4xf32>'; it must be a tensor}}
graph.const @w : tensor<?x4xf32>

// -----

// G-symbol-1
// expected-error@+1 {{has type 'tensor<4x?xf32>'; it must be a tensor of i8, i16, i32, i64, f16, bf16, f32 or f64 with extents of at least 1, static but for the outermost, and at most 2^48 elements}}
graph.state @s : tensor<4x?xf32>

// -----

// G-symbol-1
// expected-error@+1 {{has type '!graph.packed<q8_0, gguf, 32>'; it must be a tensor}}
graph.state @s : !graph.packed<q8_0, gguf, 32>

// -----

// G-symbol-1
// expected-error@+1 {{has type 'f32'; it must be a tensor}}
graph.computed @c : f32

// -----

// G-symbol-1
func.func @inside() {
  // expected-error@+1 {{symbol's parent must have the SymbolTable trait}}
  graph.const @w : tensor<4xf32>
  return
}

// -----

// G-symbol-2
func.func @unknown() {
  // expected-error@+1 {{refers to @w, which is no graph.const, graph.state or graph.computed of this module}}
  %0 = graph.get @w : tensor<4xf32>
  return
}

// -----

// G-symbol-2
func.func @function() {
  // expected-error@+1 {{refers to @function, which is no graph.const}}
  %0 = graph.get @function : tensor<4xf32>
  return
}

// -----

// G-symbol-2
graph.const @w : tensor<4xf32>
func.func @type() {
  // expected-error@+1 {{has result type 'tensor<5xf32>', but @w has type 'tensor<4xf32>'}}
  %0 = graph.get @w : tensor<5xf32>
  return
}

// -----

// G-symbol-2
graph.const @w : tensor<4xf32>
func.func @set_const(%x: tensor<4xf32>) {
  // expected-error@+1 {{sets @w, a graph.const, which never changes}}
  graph.set @w, %x : tensor<4xf32>
  return
}

// -----

// G-symbol-2
graph.state @s : tensor<4xf32>
func.func @set_type(%x: tensor<5xf32>) {
  // expected-error@+1 {{sets @s of type 'tensor<4xf32>' to a value of type 'tensor<5xf32>'}}
  graph.set @s, %x : tensor<5xf32>
  return
}

// -----

// G-entry-1: names
// expected-error@+1 {{arguments 0 and 1 are both named 'x'}}
func.func @names(%a: tensor<1xf32> {graph.name = "x"}, %b: tensor<1xf32> {graph.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{'graph.name' must be a non-empty string}}
func.func @names(%a: tensor<1xf32> {graph.name = ""}) {
  return
}

// -----

// expected-error@+1 {{'graph.name' must be a non-empty string}}
func.func @names(%a: tensor<1xf32>) -> (tensor<1xf32> {graph.name = 1 : i32}) {
  return %a : tensor<1xf32>
}

// -----

// expected-error@+1 {{results 0 and 1 are both named 'y'}}
func.func @names(%a: tensor<1xf32>) -> (tensor<1xf32> {graph.name = "y"}, tensor<1xf32> {graph.name = "y"}) {
  return %a, %a : tensor<1xf32>, tensor<1xf32>
}

// -----

// expected-error@+1 {{argument 0 has the unknown attribute 'graph.nam'}}
func.func @names(%a: tensor<1xf32> {graph.nam = "x"}) {
  return
}

// -----

// expected-error@+1 {{result 0 has the unknown attribute 'graph.nam'}}
func.func @names(%a: tensor<1xf32>) -> (tensor<1xf32> {graph.nam = "x"}) {
  return %a : tensor<1xf32>
}

// -----

// expected-error@+1 {{has the unknown attribute 'graph.entri'; known are graph.entry, graph.load and graph.name}}
func.func @attribute() attributes {graph.entri} {
  return
}

// -----

// expected-error@+1 {{'graph.name' belongs on a function's arguments and results}}
func.func @attribute() attributes {graph.name = "f"} {
  return
}

// -----

// G-entry-2
// expected-error@+1 {{'graph.entry' belongs on a public function}}
func.func private @key() attributes {graph.entry = 1 : i32} {
  return
}

// -----

// expected-error@+1 {{'graph.entry' must be a #graph.entry}}
func.func @key() attributes {graph.entry = 1 : i32} {
  return
}

// -----

// expected-error@+1 {{entry key: rows is 0; it must be at least 1}}
func.func @key() attributes {graph.entry = #graph.entry<phase = decode, rows = 0,
  tokens = 1, capacity = 64, cache = contiguous, logits = last, suffix = "greedy",
  activation = f32, kv = f16, accumulate = f32>} {
  return
}

// -----

// expected-error@+1 {{entry key: kv type is 'i8'; it must be f16, bf16, f32 or f64}}
func.func @key() attributes {graph.entry = #graph.entry<phase = decode, rows = 1,
  tokens = 1, capacity = 64, cache = contiguous, logits = last, suffix = "greedy",
  activation = f32, kv = i8, accumulate = f32>} {
  return
}

// -----

// expected-error@+1 {{entry key: the suffix is empty}}
func.func @key() attributes {graph.entry = #graph.entry<phase = decode, rows = 1,
  tokens = 1, capacity = 64, cache = contiguous, logits = last, suffix = "",
  activation = f32, kv = f16, accumulate = f32>} {
  return
}

// -----

// G-load-1
// expected-error@+1 {{'graph.load' names @nothing, which is no private function}}
module attributes {graph.load = @nothing} {
}

// -----

// expected-error@+1 {{'graph.load' names @entry, which is no private function}}
module attributes {graph.load = @entry} {
  func.func @entry() {
    return
  }
}

// -----

// expected-error@+1 {{'graph.load' must name a function, such as @__load}}
module attributes {graph.load = 1 : i32} {
}

// -----

// expected-error@+1 {{'graph.load' belongs on a module}}
func.func @load() attributes {graph.load = @load} {
  return
}

// -----

// G-constant-1
func.func @sparse() {
  // expected-error@+1 {{must have a dense literal; larger values are a graph.const}}
  %0 = graph.constant sparse<[[0]], [1.0]> : tensor<4xf32>
  return
}

// -----

// G-unary-1
func.func @unary(%x: tensor<4xi1>) {
  // expected-error@+1 {{neg takes integers and floats, not i1}}
  %0 = graph.unary neg %x : tensor<4xi1>
  return
}

// -----

func.func @unary(%x: tensor<4xi32>) {
  // expected-error@+1 {{exp takes floats, not 'i32'}}
  %0 = graph.unary exp %x : tensor<4xi32>
  return
}

// -----

func.func @unary(%x: tensor<4xf32>) {
  // expected-error@+1 {{not takes integers and i1, not 'f32'}}
  %0 = graph.unary not %x : tensor<4xf32>
  return
}

// -----

// G-binary-1
func.func @binary(%x: tensor<4xf32>) {
  // expected-error@+1 {{xor takes integers and i1, not 'f32'}}
  %0 = graph.binary xor %x, %x : tensor<4xf32>
  return
}

// -----

func.func @binary(%x: tensor<4xi1>) {
  // expected-error@+1 {{shl takes integers, not 'i1'}}
  %0 = graph.binary shl %x, %x : tensor<4xi1>
  return
}

// -----

func.func @binary(%x: tensor<4xi32>) {
  // expected-error@+1 {{pow takes floats, not 'i32'}}
  %0 = graph.binary pow %x, %x : tensor<4xi32>
  return
}

// -----

func.func @binary(%x: tensor<4xi1>) {
  // expected-error@+1 {{add takes integers and floats, not i1}}
  %0 = graph.binary add %x, %x : tensor<4xi1>
  return
}

// -----

// G-cast-1
func.func @cast(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires the same shape for all operands and results}}
  %0 = graph.cast %x : tensor<4xf32> -> tensor<5xi32>
  return
}

// -----

// G-iota-1
func.func @iota() {
  // expected-error@+1 {{dim is 2; it must be 0 to 1, the dimensions of the operand}}
  %0 = graph.iota dim 2 : tensor<4x4xi32>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{has element type 'f32'; it must be i8, i16, i32 or i64}}
  %0 = graph.iota dim 0 : tensor<4xf32>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{counts to 128, which 'i8' does not hold}}
  %0 = graph.iota dim 0 : tensor<129xi8>
  return
}

// -----

// G-broadcast-1
func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error@+1 {{operand dimension 0 has extent 3, which is neither 1 nor the 4 of result dimension 1}}
  %0 = graph.broadcast %x dims [1] : tensor<3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<1x3xf32>) {
  // expected-error@+1 {{dims [1, 0] are not strictly increasing}}
  %0 = graph.broadcast %x dims [1, 0] : tensor<1x3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error@+1 {{has 2 dims for an operand of rank 1}}
  %0 = graph.broadcast %x dims [0, 1] : tensor<3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error@+1 {{dims[0] is 2, outside a result of rank 2}}
  %0 = graph.broadcast %x dims [2] : tensor<3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error@+1 {{changes the element type from 'f32' to 'f16'}}
  %0 = graph.broadcast %x dims [0] : tensor<3xf32> -> tensor<3x4xf16>
  return
}

// -----

// G-reshape-1
func.func @reshape(%x: tensor<3xf32>) {
  // expected-error@+1 {{makes 4 elements of 3}}
  %0 = graph.reshape %x : tensor<3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reshape(%x: tensor<3xf32>) {
  // expected-error@+1 {{changes the element type from 'f32' to 'i32'}}
  %0 = graph.reshape %x : tensor<3xf32> -> tensor<3xi32>
  return
}

// -----

// G-transpose-1
func.func @transpose(%x: tensor<3x4xf32>) {
  // expected-error@+2 {{[0, 0] is no permutation of the operand's dimensions}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.transpose %x [0, 0] : tensor<3x4xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose(%x: tensor<3x4xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<3x4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.transpose %x [1, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

// G-slice-1
func.func @slice(%x: tensor<8xf32>) {
  // expected-error@+1 {{takes 4 elements from 2 with stride 2 in dimension 0, past the extent 8}}
  %0 = graph.slice %x offsets [2] strides [2] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice(%x: tensor<8xf32>) {
  // expected-error@+1 {{offset 8 of dimension 0 is outside the extent 8}}
  %0 = graph.slice %x offsets [8] strides [1] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @slice(%x: tensor<8xf32>) {
  // expected-error@+1 {{stride 0 of dimension 0 must be at least 1}}
  %0 = graph.slice %x offsets [0] strides [0] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @slice(%x: tensor<8xf32>) {
  // expected-error@+1 {{takes 2 elements from 1 with stride 9223372036854775807 in dimension 0, past the extent 8}}
  %0 = graph.slice %x offsets [1] strides [9223372036854775807] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @slice(%x: tensor<8xf32>) {
  // expected-error@+1 {{operand, result, offsets and strides have ranks 1, 1, 2 and 1; they must agree}}
  %0 = graph.slice %x offsets [0, 0] strides [1] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

// G-slice-2
func.func @slice(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{slices a packed weight along its innermost dimension}}
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 4x64> -> !graph.packed<q8_0, gguf, 4x32>
  return
}

// -----

func.func @slice(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{slices a packed weight with strides [2, 1]; they must be 1}}
  %0 = graph.slice %x offsets [0, 0] strides [2, 1] : !graph.packed<q8_0, gguf, 4x64> -> !graph.packed<q8_0, gguf, 2x64>
  return
}

// -----

func.func @slice(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{changes the packing from}}
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 4x64> -> !graph.packed<q4_0, gguf, 4x64>
  return
}

// -----

func.func @slice(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{changes the element type from}}
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 4x64> -> tensor<4x64xf32>
  return
}

// -----

// G-concat-1
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+2 {{operand 1 has extent 4 in dimension 1, operand 0 has 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.concat %x, %y dim 0 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error@+2 {{operand 1 differs from operand 0 in element type or rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.concat %x, %y dim 0 : tensor<2x3xf32>, tensor<2x3xf16> -> tensor<4x3xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{cannot join operands of rank 2 along dimension 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.concat %x dim 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @concat(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+2 {{cannot join operands of rank 2 along dimension 1 (packed weights are not joined along the innermost)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.concat %x dim 1 : !graph.packed<q8_0, gguf, 4x64> -> !graph.packed<q8_0, gguf, 4x64>
  return
}

// -----

func.func @concat() {
  // expected-error@+2 {{joins nothing}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "graph.concat"() {dim = 0 : i64} : () -> tensor<1xf32>
  return
}

// -----

// G-gather-1
func.func @gather(%x: tensor<2x3xf32>, %i: tensor<5xi32>) {
  // expected-error@+2 {{dim is 2, outside data of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i dim 2 : tensor<2x3xf32>, tensor<5xi32> -> tensor<2x5xf32>
  return
}

// -----

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{operand #1 must be a static tensor of i32}}
  %0 = graph.gather %x, %i dim 0 : tensor<2x3xf32>, tensor<5xi64> -> tensor<5x3xf32>
  return
}

// -----

func.func @gather(%x: tensor<?x3xf32>, %i: tensor<5xi32>) {
  // expected-error@+2 {{an open tensor is gathered along dimension 0 only}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i dim 1 : tensor<?x3xf32>, tensor<5xi32> -> tensor<5x5xf32>
  return
}

// -----

func.func @gather(%x: tensor<1099511627776x2xf32>, %i: tensor<1048576xi32>) {
  // expected-error@+2 {{beyond rank 8 or 2^48 elements}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i dim 1 : tensor<1099511627776x2xf32>, tensor<1048576xi32> -> tensor<1xf32>
  return
}

// -----

// G-scatter-1
func.func @scatter(%x: tensor<8x3xf32>, %i: tensor<5xi32>, %u: tensor<5x4xf32>) {
  // expected-error@+1 {{has updates of shape [5, 4]; indices and data ask for [5, 3]}}
  %0 = graph.scatter %x, %i, %u : tensor<8x3xf32>, tensor<5xi32>, tensor<5x4xf32>
  return
}

// -----

func.func @scatter(%x: tensor<8x3xf32>, %i: tensor<5xi32>, %u: tensor<5x3xf16>) {
  // expected-error@+1 {{writes 'f16' into data of 'f32'}}
  %0 = graph.scatter %x, %i, %u : tensor<8x3xf32>, tensor<5xi32>, tensor<5x3xf16>
  return
}

// -----

func.func @scatter(%x: tensor<f32>, %i: tensor<5xi32>, %u: tensor<5xf32>) {
  // expected-error@+1 {{writes rows of data, which needs a dimension}}
  %0 = graph.scatter %x, %i, %u : tensor<f32>, tensor<5xi32>, tensor<5xf32>
  return
}

// -----

// G-reduce-1
func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{dims [1, 0] must be strictly increasing dimensions of an operand of rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x dims [1, 0] : tensor<2x3xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{reduces no dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x dims [] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xi1>) {
  // expected-error@+2 {{reduces tensors of integers and floats only}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = graph.reduce max %x dims [0] : tensor<2x3xi1> -> tensor<3xi1>
  return
}

// -----

// G-scan-1
func.func @scan(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{dim is -1; it must be 0 to 1, the dimensions of the operand}}
  %0 = graph.scan sum %x dim -1 : tensor<2x3xf32>
  return
}

// -----

func.func @scan(%x: tensor<2x3xi1>) {
  // expected-error@+1 {{takes integers and floats, not i1}}
  %0 = graph.scan max %x dim 0 : tensor<2x3xi1>
  return
}

// -----

// G-arg_top_k-1
func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{k is 4; it must be 1 to 3, the innermost extent}}
  // expected-error@+1 {{failed to infer returned types}}
  %0, %1 = graph.arg_top_k %x k 4 : tensor<2x3xf32> -> tensor<2x4xf32>, tensor<2x4xi32>
  return
}

// -----

func.func @top_k(%x: tensor<f32>) {
  // expected-error@+2 {{takes a tensor of integers or floats of rank 1 or more}}
  // expected-error@+1 {{failed to infer returned types}}
  %0, %1 = graph.arg_top_k %x k 1 : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

// G-matmul-1
func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{contracts 3 columns of 'tensor<2x3xf32>' with 4 rows of 'tensor<4x5xf32>'}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x2x3xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{batch dimension 0 has extents 2 and 1; broadcasts must be explicit}}
  %0 = graph.matmul %x, %y : tensor<2x2x3xf32>, tensor<1x3x5xf32> -> tensor<2x2x5xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{has operands of rank 3 and 2; both must have the same rank of at least 2}}
  %0 = graph.matmul %x, %y : tensor<2x2x3xf32>, tensor<3x5xf32> -> tensor<2x2x5xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{has a result of shape [5, 2]; the operands ask for [2, 5]}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<5x2xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<3x5xf16>) {
  // expected-error@+1 {{has operands of 'f32' and 'f16'; their element types must agree}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x5xf16> -> tensor<2x5xf32>
  return
}

// -----

// G-matmul-2
func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{has a result of 'f16' for operands of 'f32'; it must be 'f32'}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xf16>
  return
}

// -----

func.func @matmul(%x: tensor<2x3xbf16>, %y: tensor<3x5xbf16>) {
  // expected-error@+1 {{has a result of 'f16' for operands of 'bf16'; it must be 'bf16' or f32}}
  %0 = graph.matmul %x, %y : tensor<2x3xbf16>, tensor<3x5xbf16> -> tensor<2x5xf16>
  return
}

// -----

// G-indexed_matmul-1
func.func @indexed(%x: tensor<2x3xf32>, %w: tensor<4x3x5xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{has indices of shape [3] for rows of [2]}}
  %0 = graph.indexed_matmul %x, %w, %i : tensor<2x3xf32>, tensor<4x3x5xf32>, tensor<3xi32> -> tensor<2x5xf32>
  return
}

// -----

func.func @indexed(%x: tensor<2x3xf32>, %w: tensor<3x5xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{has operands of rank 2 and 2; lhs needs at least 1, weights exactly 3}}
  %0 = graph.indexed_matmul %x, %w, %i : tensor<2x3xf32>, tensor<3x5xf32>, tensor<2xi32> -> tensor<2x5xf32>
  return
}

// -----

func.func @indexed(%x: tensor<2x3xf32>, %w: tensor<4x7x5xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{contracts 3 columns of}}
  %0 = graph.indexed_matmul %x, %w, %i : tensor<2x3xf32>, tensor<4x7x5xf32>, tensor<2xi32> -> tensor<2x5xf32>
  return
}

// -----

// G-packed_dequant-1
func.func @dequant(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{has a result of shape [64, 4] for a packed weight of [4, 64]}}
  %0 = graph.packed_dequant %x : !graph.packed<q8_0, gguf, 4x64> -> tensor<64x4xf32>
  return
}

// -----

func.func @dequant(%x: !graph.packed<q8_0, gguf, 4x64>) {
  // expected-error@+1 {{must be a static tensor of f16, bf16 or f32}}
  %0 = graph.packed_dequant %x : !graph.packed<q8_0, gguf, 4x64> -> tensor<4x64xf64>
  return
}

// -----

// G-random_bits-1
func.func @random(%x: tensor<2xi32>) {
  // expected-error@+1 {{has a seed of shape [2]; it must be [4]}}
  %0 = graph.random_bits %x : tensor<2xi32> -> tensor<8xi32>
  return
}

// -----

// G-packed_contraction-1
func.func @stored_rank(%x: tensor<2x64xf32>, %w: !graph.packed<q8_0, gguf, 3x8x64>) {
  // expected-error@+1 {{has operands of rank 2 and 3; lhs needs at least 1, weights exactly 2}}
  %0 = graph.packed_contraction %x, %w : tensor<2x64xf32>, !graph.packed<q8_0, gguf, 3x8x64> -> tensor<2x8xf32>
  return
}

// -----

// G-packed_contraction-1
func.func @stored_columns(%x: tensor<2x32xf32>, %w: !graph.packed<q8_0, gguf, 8x64>) {
  // expected-error@+1 {{contracts 32 columns of 'tensor<2x32xf32>' with 64 columns of '!graph.packed<q8_0, gguf, 8x64>'}}
  %0 = graph.packed_contraction %x, %w : tensor<2x32xf32>, !graph.packed<q8_0, gguf, 8x64> -> tensor<2x8xf32>
  return
}

// -----

// G-packed_contraction-1
func.func @stored_indices(%x: tensor<2x64xf32>, %w: !graph.packed<q8_0, gguf, 3x8x64>, %i: tensor<3xi32>) {
  // expected-error@+1 {{has indices of shape [3] for rows of [2]}}
  %0 = graph.packed_contraction %x, %w experts %i : tensor<2x64xf32>, !graph.packed<q8_0, gguf, 3x8x64>, tensor<3xi32> -> tensor<2x8xf32>
  return
}

// -----

// G-packed_contraction-2
func.func @stored_element(%x: tensor<2x64xf16>, %w: !graph.packed<q8_0, gguf, 8x64>) {
  // expected-error@+1 {{has a result of 'bf16' for an operand of 'f16'; it must be 'f16' or f32}}
  %0 = graph.packed_contraction %x, %w : tensor<2x64xf16>, !graph.packed<q8_0, gguf, 8x64> -> tensor<2x8xbf16>
  return
}

// -----

// G-packed_contraction-1
func.func @stored_result(%x: tensor<2x64xf16>, %w: !graph.packed<q8_0, gguf, 8x64>) {
  // expected-error@+1 {{has a result of shape [2, 64]; the operands ask for [2, 8]}}
  %0 = graph.packed_contraction %x, %w : tensor<2x64xf16>, !graph.packed<q8_0, gguf, 8x64> -> tensor<2x64xf16>
  return
}

// -----

// G-packed_row_gather-1
func.func @row_gather(%w: !graph.packed<q8_0, gguf, 8x64>, %i: tensor<3xi32>) {
  // expected-error@+1 {{has a result of shape [3, 32]; the operands ask for [3, 64]}}
  %0 = graph.packed_row_gather %w, %i : !graph.packed<q8_0, gguf, 8x64>, tensor<3xi32> -> tensor<3x32xf32>
  return
}

// -----

// G-packed_row_gather-1
func.func @row_gather_rank(%w: !graph.packed<q8_0, gguf, 64>, %i: tensor<3xi32>) {
  // expected-error@+1 {{has weights of rank 1; it must be 2}}
  %0 = graph.packed_row_gather %w, %i : !graph.packed<q8_0, gguf, 64>, tensor<3xi32> -> tensor<3x64xf32>
  return
}

// -----

// G-attention-1
func.func @attention_rank(%q: tensor<2x3x4xf32>, %k: tensor<8x2x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{takes a query of rank 4 and keys and values of rank 3}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_cache(%q: tensor<2x3x4x4xf32>, %k: tensor<8x2x4xf32>, %v: tensor<8x1x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has keys 'tensor<8x2x4xf32>' and values 'tensor<8x1x4xf32>'; they may differ in the innermost extent alone}}
  %0 = graph.attention %q, %k, %v, %p scale 1.0 : tensor<2x3x4x4xf32>, tensor<8x2x4xf32>, tensor<8x1x4xf32>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_element(%q: tensor<2x3x4x4xf32>, %k: tensor<8x2x4xi8>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has a cache of 'i8'; it must be f16, bf16 or f32}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x4x4xf32>, tensor<8x2x4xi8>, tensor<8x2x4xi8>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_width(%q: tensor<2x3x4x6xf32>, %k: tensor<8x2x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has query heads of 6 elements and key heads of 4}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x4x6xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_heads(%q: tensor<2x3x5x4xf32>, %k: tensor<8x2x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has 5 query heads, which is no multiple of the 2 key heads}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x5x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<2x3xi32> -> tensor<2x3x5x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_positions(%q: tensor<2x3x4x4xf32>, %k: tensor<8x2x4xf32>, %p: tensor<3x2xi32>) {
  // expected-error@+1 {{has positions of shape [3, 2] for a query of shape [2, 3, 4, 4]}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x4x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<3x2xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-2
func.func @attention_slots(%q: tensor<2x3x4x4xf32>, %k: tensor<8x2x4xf32>, %p: tensor<2x3xi32>, %s: tensor<8xi32>) {
  // expected-error@+1 {{has slots of shape [8]; it must be [2, capacity]}}
  %0 = graph.attention %q, %k, %k, %p slots %s scale 1.0 : tensor<2x3x4x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<2x3xi32>, tensor<8xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-2
func.func @attention_open(%q: tensor<2x3x4x4xf32>, %k: tensor<?x2x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has a cache of shape [?, 2, 4] without slots; its outermost extent must be a multiple of the 2 rows}}
  %0 = graph.attention %q, %k, %k, %p scale 1.0 : tensor<2x3x4x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-attention-1
func.func @attention_scale(%q: tensor<2x3x4x4xf32>, %k: tensor<8x2x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{has a scale that is not finite}}
  %0 = graph.attention %q, %k, %k, %p scale 0x7F800000 : tensor<2x3x4x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  return
}

// -----

// G-rope-1
func.func @rope_shape(%x: tensor<2x3x4xf32>, %c: tensor<3x4xf32>) {
  // expected-error@+1 {{has angles of shape [3, 4] for an operand of shape [2, 3, 4]; they must be [B.., r] and [B.., heads, d]}}
  %0 = graph.rope halves %x, %c, %c : tensor<2x3x4xf32>, tensor<3x4xf32>
  return
}

// -----

// G-rope-1
func.func @rope_odd(%x: tensor<2x3x4xf32>, %c: tensor<2x3xf32>) {
  // expected-error@+1 {{rotates 3 elements; it must be an even number up to 4}}
  %0 = graph.rope adjacent %x, %c, %c : tensor<2x3x4xf32>, tensor<2x3xf32>
  return
}

// -----

// G-softmax-1
func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{takes rows of a tensor; the operand is a scalar}}
  %0 = graph.softmax %x : tensor<f32>
  return
}

// -----

// G-rms_norm-1
func.func @norm_scale(%x: tensor<2x4xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{has a scale or bias of shape [2]; it must be [4]}}
  %0 = graph.rms_norm %x scale %s epsilon 1.0e-5 : tensor<2x4xf32>, tensor<2xf32>
  return
}

// -----

// G-layer_norm-1
func.func @norm_epsilon(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{has an epsilon that is negative or not finite}}
  %0 = graph.layer_norm %x epsilon -1.0e-5 : tensor<2x4xf32>
  return
}

// -----

// G-repack-1
func.func @repack_shape(%w: !graph.packed<q8_0, gguf, 8x64>) {
  // expected-error@+1 {{makes '!graph.packed<q8_0, planar, 16x32>' of '!graph.packed<q8_0, gguf, 8x64>'; only the layout may differ}}
  %0 = graph.repack %w : !graph.packed<q8_0, gguf, 8x64> -> !graph.packed<q8_0, planar, 16x32>
  return
}

// -----

// G-repack-1
func.func @repack_back(%w: !graph.packed<q8_0, planar, 8x64>) {
  // expected-error@+1 {{makes the layout 'gguf' of 'planar'; only the reverse is there}}
  %0 = graph.repack %w : !graph.packed<q8_0, planar, 8x64> -> !graph.packed<q8_0, gguf, 8x64>
  return
}

// -----

// G-fused-1
func.func @fused_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a body that takes other types than those of the operands}}
  %0 = graph.fused "neg"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = graph.unary neg %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// G-fused-1
func.func @fused_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a body that doesn't yield 'tensor<2x2xf32>'}}
  %0 = graph.fused "neg"(%x) : (tensor<4xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = graph.unary neg %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return
}

// -----

// G-fused-1
graph.const @w : tensor<4xf32>
func.func @fused_body(%x: tensor<4xf32>) {
  %0 = graph.fused "add"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{does not belong in a fused computation; only graph ops that compute values do}}
    %1 = graph.get @w : tensor<4xf32>
    %2 = graph.binary add %a, %1 : tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  }
  return
}
