// Weights are read as they are stored, unless their decoded values are needed
// anyway.
//
// RUN: poot-opt %s --graph-packed-contraction --graph-verify | FileCheck %s
// RUN: poot-opt %s --graph-packed-contraction --graph-repack-weights --graph-hoist-computed --graph-verify | FileCheck %s --check-prefix=REPACK

// REPACK: graph.computed @w.planar : !graph.packed<q8_0, planar, 8x64>
// REPACK: graph.computed @e.planar : !graph.packed<q8_0, planar, 3x8x64>
// No layout but one a const.
// REPACK-NOT: planar
// REPACK: func.func private @__load
// REPACK: graph.repack %{{.*}} : !graph.packed<q8_0, gguf, 8x64> -> !graph.packed<q8_0, planar, 8x64>
graph.const @w : !graph.packed<q8_0, gguf, 8x64>
graph.const @e : !graph.packed<q8_0, gguf, 3x8x64>
graph.const @both : !graph.packed<q8_0, gguf, 8x64>
graph.const @half : tensor<8x64xf16>

// One weight for a table of embeddings and the output, with a batch and rows.
// CHECK-LABEL: func.func @tied
// CHECK-NEXT: %[[W:.*]] = graph.get @w
// CHECK-NEXT: %[[X:.*]] = graph.packed_row_gather %[[W]], %arg0 : !graph.packed<q8_0, gguf, 8x64>, tensor<2x3xi32> -> tensor<2x3x64xf16>
// CHECK-NEXT: %[[Y:.*]] = graph.packed_contraction %[[X]], %[[W]] : tensor<2x3x64xf16>, !graph.packed<q8_0, gguf, 8x64> -> tensor<2x3x8xf32>
// CHECK-NEXT: %[[P:.*]] = graph.slice %[[W]] offsets [2, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 8x64> -> !graph.packed<q8_0, gguf, 3x64>
// CHECK-NEXT: %[[Z:.*]] = graph.packed_contraction %[[X]], %[[P]] : tensor<2x3x64xf16>, !graph.packed<q8_0, gguf, 3x64> -> tensor<2x3x3xf16>
// CHECK-NEXT: return %[[Y]], %[[Z]]
// REPACK-LABEL: func.func @tied
// REPACK: %[[W:.*]] = graph.get @w.planar
// REPACK: graph.slice %[[W]] offsets [2, 0] strides [1, 1] : !graph.packed<q8_0, planar, 8x64> -> !graph.packed<q8_0, planar, 3x64>
func.func @tied(%i: tensor<2x3xi32> {graph.name = "i"}) -> (tensor<2x3x8xf32> {graph.name = "y"}, tensor<2x3x3xf16> {graph.name = "z"}) {
  %w = graph.get @w : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf16>
  %x = graph.gather %d, %i dim 0 : tensor<8x64xf16>, tensor<2x3xi32> -> tensor<2x3x64xf16>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf16> -> tensor<64x8xf16>
  %ts = graph.broadcast %t dims [1, 2] : tensor<64x8xf16> -> tensor<2x64x8xf16>
  %y = graph.matmul %x, %ts : tensor<2x3x64xf16>, tensor<2x64x8xf16> -> tensor<2x3x8xf32>
  %part = graph.slice %d offsets [2, 0] strides [1, 1] : tensor<8x64xf16> -> tensor<3x64xf16>
  %pt = graph.transpose %part [1, 0] : tensor<3x64xf16> -> tensor<64x3xf16>
  %pts = graph.broadcast %pt dims [1, 2] : tensor<64x3xf16> -> tensor<2x64x3xf16>
  %z = graph.matmul %x, %pts : tensor<2x3x64xf16>, tensor<2x64x3xf16> -> tensor<2x3x3xf16>
  return %y, %z : tensor<2x3x8xf32>, tensor<2x3x3xf16>
}

// CHECK-LABEL: func.func @experts
// CHECK: graph.packed_contraction %arg0, %{{.*}} experts %arg1 : tensor<5x64xf32>, !graph.packed<q8_0, gguf, 3x8x64>, tensor<5xi32> -> tensor<5x8xf32>
func.func @experts(%x: tensor<5x64xf32> {graph.name = "x"}, %i: tensor<5xi32> {graph.name = "i"}) -> (tensor<5x8xf32> {graph.name = "y"}) {
  %e = graph.get @e : !graph.packed<q8_0, gguf, 3x8x64>
  %d = graph.packed_dequant %e : !graph.packed<q8_0, gguf, 3x8x64> -> tensor<3x8x64xf32>
  %t = graph.transpose %d [0, 2, 1] : tensor<3x8x64xf32> -> tensor<3x64x8xf32>
  %y = graph.indexed_matmul %x, %t, %i : tensor<5x64xf32>, tensor<3x64x8xf32>, tensor<5xi32> -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// Weights that the step widens are read as they are as well; the few rows that
// are gathered are widened afterwards.
// CHECK-LABEL: func.func @widened
// CHECK-NEXT: %[[W:.*]] = graph.get @half
// CHECK-NEXT: graph.packed_contraction %arg0, %[[W]] : tensor<2x64xf32>, tensor<8x64xf16> -> tensor<2x8xf32>
// CHECK-NEXT: %[[R:.*]] = graph.gather %[[W]], %arg1 dim 0 : tensor<8x64xf16>, tensor<3xi32> -> tensor<3x64xf16>
// CHECK-NEXT: graph.cast %[[R]] : tensor<3x64xf16> -> tensor<3x64xf32>
// CHECK-NEXT: return
func.func @widened(%x: tensor<2x64xf32> {graph.name = "x"}, %i: tensor<3xi32> {graph.name = "i"})
    -> (tensor<2x8xf32> {graph.name = "y"}, tensor<3x64xf32> {graph.name = "z"}) {
  %w = graph.get @half : tensor<8x64xf16>
  %d = graph.cast %w : tensor<8x64xf16> -> tensor<8x64xf32>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %y = graph.matmul %x, %t : tensor<2x64xf32>, tensor<64x8xf32> -> tensor<2x8xf32>
  %z = graph.gather %d, %i dim 0 : tensor<8x64xf32>, tensor<3xi32> -> tensor<3x64xf32>
  return %y, %z : tensor<2x8xf32>, tensor<3x64xf32>
}

// CHECK-LABEL: func.func @used_otherwise
// CHECK: graph.packed_dequant
// CHECK: graph.matmul
// REPACK-LABEL: func.func @used_otherwise
func.func @used_otherwise(%x: tensor<2x64xf32> {graph.name = "x"}) -> (tensor<2x8xf32> {graph.name = "y"}, tensor<8x64xf32> {graph.name = "z"}) {
  %w = graph.get @both : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %y = graph.matmul %x, %t : tensor<2x64xf32>, tensor<64x8xf32> -> tensor<2x8xf32>
  %z = graph.unary neg %d : tensor<8x64xf32>
  return %y, %z : tensor<2x8xf32>, tensor<8x64xf32>
}

// A const that this entry could read planar and the one above can't.
// CHECK-LABEL: func.func @used_here
// CHECK: graph.packed_contraction
// REPACK-LABEL: func.func @used_here
// REPACK: graph.packed_contraction %arg0, %{{.*}} : tensor<2x64xf32>, !graph.packed<q8_0, gguf, 8x64> -> tensor<2x8xf32>
func.func @used_here(%x: tensor<2x64xf32> {graph.name = "x"}) -> (tensor<2x8xf32> {graph.name = "y"}) {
  %w = graph.get @both : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %t = graph.transpose %d [1, 0] : tensor<8x64xf32> -> tensor<64x8xf32>
  %y = graph.matmul %x, %t : tensor<2x64xf32>, tensor<64x8xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Not a product with the transposed weight; not one with a weight of the right
// side; rows by a step.
// CHECK-LABEL: func.func @other_products
// CHECK-NOT: graph.packed_contraction
// CHECK: return
func.func @other_products(%x: tensor<2x8xf32> {graph.name = "x"}, %y: tensor<64x2xf32> {graph.name = "y"}, %z: tensor<2x64xf32> {graph.name = "z"})
    -> (tensor<2x64xf32> {graph.name = "a"}, tensor<8x2xf32> {graph.name = "b"}, tensor<2x4xf32> {graph.name = "c"}) {
  %w = graph.get @both : !graph.packed<q8_0, gguf, 8x64>
  %d = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %a = graph.matmul %x, %d : tensor<2x8xf32>, tensor<8x64xf32> -> tensor<2x64xf32>
  %d2 = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %b = graph.matmul %d2, %y : tensor<8x64xf32>, tensor<64x2xf32> -> tensor<8x2xf32>
  %d3 = graph.packed_dequant %w : !graph.packed<q8_0, gguf, 8x64> -> tensor<8x64xf32>
  %part = graph.slice %d3 offsets [0, 0] strides [2, 1] : tensor<8x64xf32> -> tensor<4x64xf32>
  %t = graph.transpose %part [1, 0] : tensor<4x64xf32> -> tensor<64x4xf32>
  %c = graph.matmul %z, %t : tensor<2x64xf32>, tensor<64x4xf32> -> tensor<2x4xf32>
  return %a, %b, %c : tensor<2x64xf32>, tensor<8x2xf32>, tensor<2x4xf32>
}
