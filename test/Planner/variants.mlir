// Which kernel of the library serves what, by target and shape.
// RUN: poot-opt %s --plan-lower-graph=target=vulkan:f16 --mlir-elide-elementsattrs-if-larger=4 \
// RUN:   | grep -o 'kernel.func @.*plan.variant = [^ ,}]*' | sed 's/(.*plan.variant =/ is/' | FileCheck %s --check-prefixes=ALL,GPU
// RUN: poot-opt %s --plan-lower-graph=target=vulkan:cpu \
// RUN:   | grep -o 'kernel.func @.*plan.variant = [^ ,}]*' | sed 's/(.*plan.variant =/ is/' | FileCheck %s --check-prefixes=ALL,CPU
// RUN: poot-opt %s --plan-lower-graph=target=vulkan:coopmat \
// RUN:   | grep -E 'kernel.func @(matmul_f16|packed_contraction_f16)' | FileCheck %s --check-prefix=FRAGMENT

graph.const @f32 : tensor<512x256xf32>
graph.const @f16 : tensor<512x256xf16>
graph.const @bf16 : tensor<512x256xbf16>
graph.const @gguf : !graph.packed<q4_k, gguf, 512x256>
graph.const @planar : !graph.packed<q4_k, planar, 512x256>
graph.const @stack : !graph.packed<q8_0, planar, 4x512x256>

// A decoding step's products, with weights as they are stored.
// GPU: @packed_contraction_f32_1x512 is "matvec_subgroup_f16_weights"
// CPU: @packed_contraction_f32_1x512 is "matvec_lane_f16_weights"
// ALL: @packed_contraction_f32_1x512.1 is "packed_lane_q4_k_gguf"
// GPU: @packed_contraction_f32_1x512.2 is "packed_subgroup_q4_k_planar"
// CPU: @packed_contraction_f32_1x512.2 is "packed_lane_q4_k_planar"
// GPU: @packed_contraction_f32_2x512 is "packed_subgroup_q8_0_planar"
// CPU: @packed_contraction_f32_2x512 is "packed_lane_q8_0_planar"
// GPU: @matmul_f32_1x256_256x512 is "matvec_subgroup_f32_weights"
// CPU: @matmul_f32_1x256_256x512 is "matvec_lane_f32_weights"
func.func @decode(%x: tensor<1x256xf32> {graph.name = "x"}, %two: tensor<2x256xf32> {graph.name = "two"}, %i: tensor<2xi32> {graph.name = "i"}) -> (tensor<1x512xf32> {graph.name = "a"}, tensor<1x512xf32> {graph.name = "b"}, tensor<1x512xf32> {graph.name = "c"}, tensor<2x512xf32> {graph.name = "d"}, tensor<1x512xf32> {graph.name = "e"}) {
  %f32 = graph.get @f32 : tensor<512x256xf32>
  %f16 = graph.get @f16 : tensor<512x256xf16>
  %gguf = graph.get @gguf : !graph.packed<q4_k, gguf, 512x256>
  %planar = graph.get @planar : !graph.packed<q4_k, planar, 512x256>
  %stack = graph.get @stack : !graph.packed<q8_0, planar, 4x512x256>
  %a = graph.packed_contraction %x, %f16 : tensor<1x256xf32>, tensor<512x256xf16> -> tensor<1x512xf32>
  %b = graph.packed_contraction %x, %gguf : tensor<1x256xf32>, !graph.packed<q4_k, gguf, 512x256> -> tensor<1x512xf32>
  %c = graph.packed_contraction %x, %planar : tensor<1x256xf32>, !graph.packed<q4_k, planar, 512x256> -> tensor<1x512xf32>
  %d = graph.packed_contraction %two, %stack experts %i : tensor<2x256xf32>, !graph.packed<q8_0, planar, 4x512x256>, tensor<2xi32> -> tensor<2x512xf32>
  %t = graph.transpose %f32 [1, 0] : tensor<512x256xf32> -> tensor<256x512xf32>
  %e = graph.matmul %x, %t : tensor<1x256xf32>, tensor<256x512xf32> -> tensor<1x512xf32>
  return %a, %b, %c, %d, %e : tensor<1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>, tensor<2x512xf32>, tensor<1x512xf32>
}

// bf16 comes two in a word, whatever the left operand is.
// GPU: @packed_contraction_f32_1x512.3 is "matvec_subgroup_bf16_words"
// CPU: @packed_contraction_f32_1x512.3 is "matvec_lane_bf16_words"
// GPU: @matmul_bf16_1x256_256x512 is "matvec_subgroup_bf16_words"
// CPU: @matmul_bf16_1x256_256x512 is "matvec_lane_bf16_words"
func.func @decode_bf16(%x: tensor<1x256xf32> {graph.name = "x"}, %h: tensor<1x256xbf16> {graph.name = "h"}) -> (tensor<1x512xf32> {graph.name = "a"}, tensor<1x512xbf16> {graph.name = "b"}) {
  %w = graph.get @bf16 : tensor<512x256xbf16>
  %a = graph.packed_contraction %x, %w : tensor<1x256xf32>, tensor<512x256xbf16> -> tensor<1x512xf32>
  %t = graph.transpose %w [1, 0] : tensor<512x256xbf16> -> tensor<256x512xbf16>
  %b = graph.matmul %h, %t : tensor<1x256xbf16>, tensor<256x512xbf16> -> tensor<1x512xbf16>
  return %a, %b : tensor<1x512xf32>, tensor<1x512xbf16>
}

// Many rows.
// GPU: @packed_contraction_f32_40x512 is "packed_tiled_q4_k_planar"
// CPU: @packed_contraction_f32_40x512 is "packed_lane_q4_k_planar"
// GPU: @matmul_f32_40x256_256x512 is "matmul_tiled"
// CPU: @matmul_f32_40x256_256x512 is "matvec_lane_f32_weights"
// GPU: @matmul_f32_40x512_512x256 is "matmul_tiled"
// CPU: @matmul_f32_40x512_512x256 is "matmul_f32"
// ALL: @matmul_f16_40x256_256x512 is
func.func @prefill(%x: tensor<40x256xf32> {graph.name = "x"}, %y: tensor<40x512xf32> {graph.name = "y"}, %h: tensor<40x256xf16> {graph.name = "h"}) -> (tensor<40x512xf32> {graph.name = "a"}, tensor<40x512xf32> {graph.name = "b"}, tensor<40x256xf32> {graph.name = "c"}, tensor<40x512xf16> {graph.name = "d"}, tensor<40x512xf16> {graph.name = "e"}) {
  %f32 = graph.get @f32 : tensor<512x256xf32>
  %f16 = graph.get @f16 : tensor<512x256xf16>
  %planar = graph.get @planar : !graph.packed<q4_k, planar, 512x256>
  %a = graph.packed_contraction %x, %planar : tensor<40x256xf32>, !graph.packed<q4_k, planar, 512x256> -> tensor<40x512xf32>
  %t = graph.transpose %f32 [1, 0] : tensor<512x256xf32> -> tensor<256x512xf32>
  %b = graph.matmul %x, %t : tensor<40x256xf32>, tensor<256x512xf32> -> tensor<40x512xf32>
  %c = graph.matmul %y, %f32 : tensor<40x512xf32>, tensor<512x256xf32> -> tensor<40x256xf32>
  // FRAGMENT-DAG: kernel.func @matmul_f16_40x256_256x512({{.*}}kernel.subgroup_size = 32 : i32, plan.variant = "matmul_fragment_32"
  %u = graph.transpose %f16 [1, 0] : tensor<512x256xf16> -> tensor<256x512xf16>
  %d = graph.matmul %h, %u : tensor<40x256xf16>, tensor<256x512xf16> -> tensor<40x512xf16>
  // FRAGMENT-DAG: kernel.func @packed_contraction_f16_40x512({{.*}}plan.variant = "packed_fragment_q4_k_planar_32"
  %e = graph.packed_contraction %h, %planar : tensor<40x256xf16>, !graph.packed<q4_k, planar, 512x256> -> tensor<40x512xf16>
  return %a, %b, %c, %d, %e : tensor<40x512xf32>, tensor<40x512xf32>, tensor<40x256xf32>, tensor<40x512xf16>, tensor<40x512xf16>
}

// Rows, and attention in parts where heads are too few for a GPU.
// ALL: @reduce_sum_f32_3x32 is "row_reduce_lane_f32"
// ALL: @reduce_sum_f32_3x33 is "row_reduce_group_f32"
// ALL: @softmax_f32_3x33 is "softmax_group"
// ALL: @rms_norm_f32_3x33 is "rms_norm_group"
// GPU: is "attention_split_group"
// GPU: is "attention_combine"
// CPU: is "attention_group"
// ALL: is "attention_lane"
func.func @rows(%s: tensor<3x32xf32> {graph.name = "s"}, %l: tensor<3x33xf32> {graph.name = "l"}, %q: tensor<1x1x9x64xf32> {graph.name = "q"}, %k: tensor<512x3x64xf32> {graph.name = "k"}, %few: tensor<16x3x64xf32> {graph.name = "few"}, %p: tensor<1x1xi32> {graph.name = "p"}) -> (tensor<3xf32> {graph.name = "a"}, tensor<3xf32> {graph.name = "b"}, tensor<3x33xf32> {graph.name = "c"}, tensor<3x33xf32> {graph.name = "d"}, tensor<1x1x9x64xf32> {graph.name = "e"}, tensor<1x1x9x64xf32> {graph.name = "f"}) {
  %a = graph.reduce sum %s dims [1] : tensor<3x32xf32> -> tensor<3xf32>
  %b = graph.reduce sum %l dims [1] : tensor<3x33xf32> -> tensor<3xf32>
  %c = graph.softmax %l : tensor<3x33xf32>
  %d = graph.rms_norm %l epsilon 1.0e-05 : tensor<3x33xf32>
  %e = graph.attention %q, %k, %k, %p scale 0.125 : tensor<1x1x9x64xf32>, tensor<512x3x64xf32>, tensor<512x3x64xf32>, tensor<1x1xi32> -> tensor<1x1x9x64xf32>
  %f = graph.attention %q, %few, %few, %p scale 0.125 : tensor<1x1x9x64xf32>, tensor<16x3x64xf32>, tensor<16x3x64xf32>, tensor<1x1xi32> -> tensor<1x1x9x64xf32>
  return %a, %b, %c, %d, %e, %f : tensor<3xf32>, tensor<3xf32>, tensor<3x33xf32>, tensor<3x33xf32>, tensor<1x1x9x64xf32>, tensor<1x1x9x64xf32>
}
