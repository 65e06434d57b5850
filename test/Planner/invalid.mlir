// RUN: poot-opt %s --split-input-file --verify-diagnostics --plan-lower-graph=target=vulkan:base

// The value of an open state isn't copied for readers behind its update.
graph.state @s : tensor<?x4xf32>
func.func @old_value(%i: tensor<1xi32> {graph.name = "i"}, %u: tensor<1x4xf32> {graph.name = "u"}) -> (tensor<1x4xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<?x4xf32>
  // expected-note @+1 {{updated here}}
  %new = graph.scatter %old, %i, %u : tensor<?x4xf32>, tensor<1xi32>, tensor<1x4xf32>
  // expected-error @+1 {{reads the value that state '@s' had before its update in place}}
  %y = graph.gather %old, %i dim 0 : tensor<?x4xf32>, tensor<1xi32> -> tensor<1x4xf32>
  graph.set @s, %new : tensor<?x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

graph.state @open : tensor<?x4xf32>
func.func @open_copy(%i: tensor<i32> {graph.name = "i"}, %u: tensor<4xf32> {graph.name = "u"}) -> (tensor<1x4xf32> {graph.name = "y"}) {
  %old = graph.get @open : tensor<?x4xf32>
  // expected-error @+1 {{a state with an open extent can only be updated in place: set the state to this value}}
  %new = graph.scatter %old, %i, %u : tensor<?x4xf32>, tensor<i32>, tensor<4xf32>
  %zero = graph.constant dense<0> : tensor<1xi32>
  %y = graph.gather %new, %zero dim 0 : tensor<?x4xf32>, tensor<1xi32> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @wide(%x: tensor<4xf16> {graph.name = "x"}) -> (tensor<4xf16> {graph.name = "y"}) {
  // expected-error @+1 {{element type 'f16' is beyond vulkan:base; vulkan:f16 has it}}
  %y = graph.unary neg %x : tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

func.func @too_long(%x: tensor<1x40000000xf32> {graph.name = "x"}) -> (tensor<1x40000000xf32> {graph.name = "y"}) {
  // expected-error @+1 {{needs an operand of more than 134217728 bytes, the most that vulkan:base binds at once, and can't be split}}
  %y = graph.scan sum %x dim 1 : tensor<1x40000000xf32>
  return %y : tensor<1x40000000xf32>
}

// -----

func.func @odd_head(%x: tensor<2x5xf32> {graph.name = "x"}, %c: tensor<4xf32> {graph.name = "c"}) -> (tensor<2x5xf32> {graph.name = "y"}) {
  // expected-error @+1 {{'graph.rope' has heads that no kernel holds; run plan-decompose first}}
  %y = graph.rope halves %x, %c, %c : tensor<2x5xf32>, tensor<4xf32>
  return %y : tensor<2x5xf32>
}

// -----

func.func @uneven_head(%q: tensor<1x1x2x6xf32> {graph.name = "q"}, %kv: tensor<4x1x6xf32> {graph.name = "kv"}, %p: tensor<1x1xi32> {graph.name = "p"}) -> (tensor<1x1x2x6xf32> {graph.name = "y"}) {
  // expected-error @+1 {{'graph.attention' has heads that no kernel holds; run plan-decompose first}}
  %y = graph.attention %q, %kv, %kv, %p scale 0.5 : tensor<1x1x2x6xf32>, tensor<4x1x6xf32>, tensor<4x1x6xf32>, tensor<1x1xi32> -> tensor<1x1x2x6xf32>
  return %y : tensor<1x1x2x6xf32>
}

// -----

func.func @repeated(%x: tensor<1xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
  %all = graph.broadcast %x dims [0] : tensor<1xf32> -> tensor<5000000000xf32>
  // expected-error @+1 {{has an operand of 5000000000 elements; kernels number at most 2147483647}}
  %y = graph.reduce max %all dims [0] : tensor<5000000000xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// -----

graph.const @w : !graph.packed<q8_0, gguf, 6x32>
func.func @part() -> (tensor<4x32xf32> {graph.name = "y"}) {
  %w = graph.get @w : !graph.packed<q8_0, gguf, 6x32>
  %s = graph.slice %w offsets [1, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 6x32> -> !graph.packed<q8_0, gguf, 4x32>
  // expected-error @+1 {{only whole weights can be repacked, not slices of them}}
  %p = graph.repack %s : !graph.packed<q8_0, gguf, 4x32> -> !graph.packed<q8_0, planar, 4x32>
  %y = graph.packed_dequant %p : !graph.packed<q8_0, planar, 4x32> -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
