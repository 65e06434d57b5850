// RUN: poot-opt %s --poot-graph-to-plan="targets=interp test-vectors=true" | FileCheck %s

// What each operand of a kernel is filled with, and what is compared.

graph.const @w : !graph.packed<q4_0, gguf, 8x64>
graph.const @experts : !graph.packed<q5_1, gguf, 3x8x64>
graph.const @table : !graph.packed<q8_0, gguf, 20x32>
graph.const @large : !graph.packed<q6_k, gguf, 8x256>
graph.const @other : !graph.packed<q6_k, gguf, 8x256>
graph.const @block : !graph.packed<mxfp4, gguf, 1x32>
graph.state @keys : tensor<24x1x8xf32>
graph.state @open : tensor<?x4xf32>

// Packed weights that a kernel writes are compared as words.
// CHECK-LABEL: kernel.func @repack_q4_0_8x64
// CHECK-SAME: plan.test_vector = {expected = [{absolute_tolerance = 0.0{{[^,]*}}, argument = 1 : i64, element = "u32",
// CHECK-SAME: inputs = [{bytes = 288 : i64, element = "q4_0", fill = "Bytes", {{[^}]*}} planar_row = 0 : i64
// CHECK-SAME: {bytes = 384 : i64, element = "u32", fill = "Zero"

// Planar weights are filled as blocks, of which the device makes rows.
// CHECK-LABEL: kernel.func @packed_contraction_f32_2x8(
// CHECK-SAME: bytes = 384 : i64, element = "q4_0", fill = "Bytes", {{[^}]*}} planar_row = 64 : i64

// Each row takes one of three matrices.
// CHECK-LABEL: kernel.func @packed_contraction_f32_2x8.1(
// CHECK-SAME: element = "q5_1", fill = "Bytes"
// CHECK-SAME: {bytes = 8 : i64, element = "i32", fill = "UniformInt", high = 2.0{{[^,]*}}, low = 0.0

// One of twenty rows.
// CHECK-LABEL: kernel.func @packed_row_gather_q8_0_3x32
// CHECK-SAME: {bytes = 12 : i64, element = "i32", fill = "UniformInt", high = 1.9{{[^,]*}}, low = 0.0
func.func @weights(%x: tensor<2x64xf32> {graph.name = "x"}, %e: tensor<2xi32> {graph.name = "e"}, %i: tensor<3xi32> {graph.name = "i"}) -> (tensor<2x8xf32> {graph.name = "y"}, tensor<2x8xf32> {graph.name = "z"}, tensor<3x32xf32> {graph.name = "rows"}) {
  %w = graph.get @w : !graph.packed<q4_0, gguf, 8x64>
  %y = graph.packed_contraction %x, %w : tensor<2x64xf32>, !graph.packed<q4_0, gguf, 8x64> -> tensor<2x8xf32>
  %experts = graph.get @experts : !graph.packed<q5_1, gguf, 3x8x64>
  %z = graph.packed_contraction %x, %experts experts %e : tensor<2x64xf32>, !graph.packed<q5_1, gguf, 3x8x64>, tensor<2xi32> -> tensor<2x8xf32>
  %table = graph.get @table : !graph.packed<q8_0, gguf, 20x32>
  %rows = graph.packed_row_gather %table, %i : !graph.packed<q8_0, gguf, 20x32>, tensor<3xi32> -> tensor<3x32xf32>
  return %y, %z, %rows : tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x32xf32>
}

// The seed gives the one block the smallest scale there is, which a device may
// take for zero.
// CHECK-LABEL: kernel.func @packed_contraction_f32_2x1(
// CHECK-SAME: absolute_tolerance = {{[0-9.]+}}E-35
func.func @smallest(%x: tensor<2x32xf32> {graph.name = "x"}) -> (tensor<2x1xf32> {graph.name = "y"}) {
  %w = graph.get @block : !graph.packed<mxfp4, gguf, 1x32>
  %y = graph.packed_contraction %x, %w : tensor<2x32xf32>, !graph.packed<mxfp4, gguf, 1x32> -> tensor<2x1xf32>
  return %y : tensor<2x1xf32>
}

// What is added to a sum doesn't make its error larger: sums of some 10,000 are
// compared within one. What an exponential makes of it may be off by any factor.
// CHECK-LABEL: kernel.func @product_add_f32_2x8
// CHECK-SAME: absolute_tolerance = 0.{{[0-9]}}
// CHECK-LABEL: kernel.func @product_exp_mul_f32_2x8
// CHECK-SAME: absolute_tolerance = {{[0-9][0-9][0-9][0-9]}}
func.func @epilogues(%x: tensor<2x256xf32> {graph.name = "x"}, %r: tensor<2x8xf32> {graph.name = "r"}) -> (tensor<2x8xf32> {graph.name = "y"}, tensor<2x8xf32> {graph.name = "z"}) {
  %w = graph.get @large : !graph.packed<q6_k, gguf, 8x256>
  %0 = graph.packed_contraction %x, %w : tensor<2x256xf32>, !graph.packed<q6_k, gguf, 8x256> -> tensor<2x8xf32>
  %y = graph.binary add %0, %r : tensor<2x8xf32>
  %v = graph.get @other : !graph.packed<q6_k, gguf, 8x256>
  %1 = graph.packed_contraction %x, %v : tensor<2x256xf32>, !graph.packed<q6_k, gguf, 8x256> -> tensor<2x8xf32>
  %2 = graph.unary exp %1 : tensor<2x8xf32>
  %z = graph.binary mul %2, %r : tensor<2x8xf32>
  return %y, %z : tensor<2x8xf32>, tensor<2x8xf32>
}

// Rows that are updated at once are different ones.
// CHECK-LABEL: kernel.func @scatter_{{[a-z0-9]*}}_24x1x8
// CHECK-SAME: {bytes = 8 : i64, element = "i32", fill = "Permutation", high = 2.3{{[^,]*}}, low = -1.0

// Positions of ten, at slots of twenty-four.
// CHECK-LABEL: kernel.func @attention_f32_2x1x2x8
// CHECK-SAME: {bytes = 8 : i64, element = "i32", fill = "UniformInt", high = 9.0{{[^,]*}}, low = 0.0
// CHECK-SAME: {bytes = 80 : i64, element = "i32", fill = "UniformInt", high = 2.3{{[^,]*}}, low = 0.0
func.func @attend(%q: tensor<2x1x2x8xf32> {graph.name = "q"}, %new: tensor<2x1x8xf32> {graph.name = "new"}, %at: tensor<2xi32> {graph.name = "at"}, %pos: tensor<2x1xi32> {graph.name = "pos"}, %slots: tensor<2x10xi32> {graph.name = "slots"}) -> (tensor<2x1x2x8xf32> {graph.name = "y"}) {
  %keys = graph.get @keys : tensor<24x1x8xf32>
  %all = graph.scatter %keys, %at, %new : tensor<24x1x8xf32>, tensor<2xi32>, tensor<2x1x8xf32>
  graph.set @keys, %all : tensor<24x1x8xf32>
  %y = graph.attention %q, %all, %all, %pos slots %slots scale 0.5 : tensor<2x1x2x8xf32>, tensor<24x1x8xf32>, tensor<24x1x8xf32>, tensor<2x1xi32>, tensor<2x10xi32> -> tensor<2x1x2x8xf32>
  return %y : tensor<2x1x2x8xf32>
}

// More updates than rows would race, and an open extent isn't known.
// CHECK-LABEL: kernel.func @scatter_i32_2x4
// CHECK-NOT: plan.test_vector
// CHECK-LABEL: kernel.func @gather
// CHECK-NOT: plan.test_vector
func.func @none(%x: tensor<2x4xi32> {graph.name = "x"}, %i: tensor<5xi32> {graph.name = "i"}, %new: tensor<5x4xi32> {graph.name = "new"}) -> (tensor<2x4xi32> {graph.name = "y"}, tensor<5x4xf32> {graph.name = "z"}) {
  %y = graph.scatter %x, %i, %new : tensor<2x4xi32>, tensor<5xi32>, tensor<5x4xi32>
  %open = graph.get @open : tensor<?x4xf32>
  %z = graph.gather %open, %i dim 0 : tensor<?x4xf32>, tensor<5xi32> -> tensor<5x4xf32>
  return %y, %z : tensor<2x4xi32>, tensor<5x4xf32>
}
