// What products with element-wise ops behind them compute is what the oracle does.
// RUN: poot-compile %s --target vulkan:f16 --target vulkan:cpu --target interp -o %t.poot
// RUN: poot-run %t.poot --info | FileCheck %s
// RUN: poot-run %t.poot --target vulkan:f16 --self-check
// RUN: poot-run %t.poot --target vulkan:cpu --self-check
// RUN: poot-run %t.poot --device interp --sanitize --self-check

graph.const @gate : !graph.packed<q4_0, gguf, 64x32>
graph.const @up : !graph.packed<q4_0, gguf, 64x32>
graph.const @dense_gate : tensor<64x32xf16>
graph.const @dense_up : tensor<64x32xf16>

// CHECK-DAG: product_neg_exp_add_div_mul_f32_1x64 packed_gated_subgroup_q4_0_planar
func.func @gated(%x: tensor<1x32xf32> {graph.name = "x"}) -> (tensor<1x64xf32> {graph.name = "y"}) {
  %one = graph.constant dense<1.0> : tensor<1x64xf32>
  %g = graph.get @gate : !graph.packed<q4_0, gguf, 64x32>
  %u = graph.get @up : !graph.packed<q4_0, gguf, 64x32>
  %0 = graph.packed_contraction %x, %g : tensor<1x32xf32>, !graph.packed<q4_0, gguf, 64x32> -> tensor<1x64xf32>
  %1 = graph.packed_contraction %x, %u : tensor<1x32xf32>, !graph.packed<q4_0, gguf, 64x32> -> tensor<1x64xf32>
  %2 = graph.unary neg %0 : tensor<1x64xf32>
  %3 = graph.unary exp %2 : tensor<1x64xf32>
  %4 = graph.binary add %3, %one : tensor<1x64xf32>
  %5 = graph.binary div %0, %4 : tensor<1x64xf32>
  %6 = graph.binary mul %5, %1 : tensor<1x64xf32>
  return %6 : tensor<1x64xf32>
}

// Dense weights have such forms, too.
// CHECK-DAG: product_mul_f32_2x64 matvec_gated_subgroup_f16_weights
// CHECK-DAG: product_mul_f32_2x64{{.*}} matvec_gated_lane_f16_weights
func.func @dense(%x: tensor<2x32xf32> {graph.name = "x"}) -> (tensor<2x64xf32> {graph.name = "y"}) {
  %g = graph.get @dense_gate : tensor<64x32xf16>
  %u = graph.get @dense_up : tensor<64x32xf16>
  %0 = graph.packed_contraction %x, %g : tensor<2x32xf32>, tensor<64x32xf16> -> tensor<2x64xf32>
  %1 = graph.packed_contraction %x, %u : tensor<2x32xf32>, tensor<64x32xf16> -> tensor<2x64xf32>
  %2 = graph.binary mul %0, %1 : tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}

// The factors come once more, as they are.
// CHECK-DAG: product_sub_f32_2x4x4  matmul_f32
func.func @factor(%x: tensor<2x4x4xf32> {graph.name = "x"}, %w: tensor<2x4x4xf32> {graph.name = "w"}) -> (tensor<2x4x4xf32> {graph.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  %1 = graph.binary sub %0, %w : tensor<2x4x4xf32>
  return %1 : tensor<2x4x4xf32>
}

// CHECK-DAG: product_add_f32_2x3x4  matmul_indexed_f32
func.func @stack(%x: tensor<2x3x3xf32> {graph.name = "x"}, %w: tensor<2x3x4xf32> {graph.name = "w"}, %i: tensor<2x3xi32> {graph.name = "i"}) -> (tensor<2x3x4xf32> {graph.name = "y"}) {
  %0 = graph.indexed_matmul %x, %w, %i : tensor<2x3x3xf32>, tensor<2x3x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  %1 = graph.binary add %0, %w : tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}
