// RUN: poot-opt %s --graph-hoist-computed --graph-verify --split-input-file | FileCheck %s

// Two entries share the dequantized weight; the transpose stays a view; the
// literal and the bare const stay where they are.

// CHECK: module attributes {graph.load = @__load}
// CHECK: graph.const @w : !graph.packed<q8_0, gguf, 8x64>
// CHECK: graph.const @norm : tensor<64xf32>
// CHECK: graph.computed @w.f32 : tensor<8x64xf32>
// CHECK-NOT: graph.computed
// CHECK: func.func private @__load() {
// CHECK-NEXT: %[[W:.*]] = graph.get @w : !graph.packed<q8_0, gguf, 8x64>
// CHECK-NEXT: %[[D:.*]] = graph.packed_dequant %[[W]]
// CHECK-NEXT: graph.set @w.f32, %[[D]] : tensor<8x64xf32>
// CHECK-NEXT: return
graph.const @w : !graph.packed<q8_0, gguf, 8x64>
graph.const @norm : tensor<64xf32>

// CHECK: func.func @decode(%[[X:.*]]: tensor<1x64xf32>
// CHECK-NEXT: %[[NORM:.*]] = graph.get @norm : tensor<64xf32>
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %[[NORM]] dims [1] : tensor<64xf32> -> tensor<1x64xf32>
// CHECK-NEXT: %[[TWO:.*]] = graph.constant dense<2.000000e+00> : tensor<1x64xf32>
// CHECK-NEXT: graph.binary mul %[[X]], %[[B]]
// CHECK-NEXT: graph.binary mul %{{.*}}, %[[TWO]]
// CHECK-NEXT: %[[D:.*]] = graph.get @w.f32 : tensor<8x64xf32>
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[D]] [1, 0]
// CHECK-NEXT: graph.matmul %{{.*}}, %[[T]]
func.func @decode(%x: tensor<1x64xf32> {graph.name = "x"}) -> (tensor<1x8xf32> {graph.name = "y"}) {
  %norm = graph.get @norm : tensor<64xf32>
  %b = graph.broadcast %norm dims [1] : tensor<64xf32> -> tensor<1x64xf32>
  %two = graph.constant dense<2.0> : tensor<1x64xf32>
  %0 = graph.binary mul %x, %b : tensor<1x64xf32>
  %1 = graph.binary mul %0, %two : tensor<1x64xf32>
  %w = graph.get @w : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %y = graph.matmul %1, %t : tensor<1x64xf32>, tensor<64x8xf32> -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// CHECK: func.func @prefill
// CHECK-NEXT: graph.get @w.f32
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.matmul
func.func @prefill(%x: tensor<32x64xf32> {graph.name = "x"}) -> (tensor<32x8xf32> {graph.name = "y"}) {
  %w = graph.get @w : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %y = graph.matmul %x, %t : tensor<32x64xf32>, tensor<64x8xf32> -> tensor<32x8xf32>
  return %y : tensor<32x8xf32>
}

// -----

// Longer computations: a merge of two weights, a table from an iota, a name
// that is taken, a value that two users share.

// CHECK: graph.computed @a.f32_0 : tensor<2x3xf32>
// CHECK: graph.computed @a.concat : tensor<4x3xf32>
// CHECK: graph.computed @cos : tensor<5xf32>
// CHECK: func.func private @__load() {
// CHECK: %[[A:.*]] = graph.cast %{{.*}} : tensor<2x3xf16> -> tensor<2x3xf32>
// CHECK: graph.set @a.f32_0, %[[A]]
// CHECK: graph.concat %[[A]]
// CHECK: graph.set @a.concat
// CHECK: graph.iota
// CHECK: graph.set @cos
graph.const @a : tensor<2x3xf16>
graph.const @b : tensor<2x3xf32>
graph.const @a.f32 : tensor<1xf32>

// CHECK: func.func @entry
// CHECK-NEXT: %[[A:.*]] = graph.get @a.f32_0
// CHECK-NEXT: %[[M:.*]] = graph.get @a.concat
// CHECK-NEXT: %[[T:.*]] = graph.get @cos
// CHECK-NEXT: return %[[A]], %[[M]], %[[T]], %[[T]]
func.func @entry() -> (tensor<2x3xf32> {graph.name = "p"}, tensor<4x3xf32> {graph.name = "q"},
                       tensor<5xf32> {graph.name = "r"}, tensor<5xf32> {graph.name = "s"}) {
  %a = graph.get @a : tensor<2x3xf16>
  %b = graph.get @b : tensor<2x3xf32>
  %0 = graph.cast %a : tensor<2x3xf16> -> tensor<2x3xf32>
  %1 = graph.concat %0, %b dim 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %i = graph.iota dim 0 : tensor<5xi32>
  %f = graph.cast %i : tensor<5xi32> -> tensor<5xf32>
  %2 = graph.unary cos %f : tensor<5xf32>
  return %0, %1, %2, %2 : tensor<2x3xf32>, tensor<4x3xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

// A value of i1 stays, what it compares moves; nothing to move means no load
// function.

// CHECK: graph.computed @iota : tensor<4xi32>
// CHECK: func.func @mask
// CHECK: %[[I:.*]] = graph.get @iota
// CHECK: %[[C:.*]] = graph.compare lt %[[I]]
// CHECK: graph.select %[[C]]
func.func @mask(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %i = graph.iota dim 0 : tensor<4xi32>
  %two = graph.constant dense<2> : tensor<4xi32>
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %c = graph.compare lt %i, %two : tensor<4xi32>
  %y = graph.select %c, %x, %zero : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-NOT: graph.load
// CHECK: func.func @nothing
graph.const @w : tensor<4xf32>
func.func @nothing(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<4xf32>
  %y = graph.binary add %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
