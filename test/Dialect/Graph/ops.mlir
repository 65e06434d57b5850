// Every op and type, in the form that the printer gives.
// RUN: poot-opt %s | poot-opt | FileCheck %s
// RUN: poot-opt %s --emit-bytecode | poot-opt | FileCheck %s
// RUN: poot-opt %s --mlir-print-op-generic | poot-opt | FileCheck %s
// RUN: poot-opt %s --graph-verify | FileCheck %s

// CHECK: graph.const @w : !graph.packed<q4_k, gguf, 256x512>
graph.const @w : !graph.packed<q4_k, gguf, 256x512>
// CHECK: graph.const @planar : !graph.packed<q8_0, planar, 64>
graph.const @planar : !graph.packed<q8_0, planar, 64>
// CHECK: graph.const @scale : tensor<256xbf16>
graph.const @scale : tensor<256xbf16>
// CHECK: graph.state @cache : tensor<64x4xf16>
graph.state @cache : tensor<64x4xf16>
// CHECK: graph.state @open : tensor<?x4xf32>
graph.state @open : tensor<?x4xf32>

// CHECK-LABEL: func.func @entry(
// CHECK-SAME: graph.entry = #graph.entry<phase = decode, rows = 1, tokens = 1, capacity = 64, cache = contiguous, logits = last, suffix = "greedy", activation = f32, kv = f16, accumulate = f32>
func.func @entry(%x: tensor<2x3xf32> {graph.name = "x"},
                 %n: tensor<2x3xi32> {graph.name = "n"},
                 %at: tensor<5xi32> {graph.name = "at"})
    -> (tensor<2x3xf32> {graph.name = "y"})
    attributes {graph.entry = #graph.entry<phase = decode, rows = 1, tokens = 1,
        capacity = 64, cache = contiguous, logits = last, suffix = "greedy",
        activation = f32, kv = f16, accumulate = f32>} {
  // CHECK: graph.constant dense<1.000000e+00> : tensor<2x3xf32>
  %one = graph.constant dense<1.0> : tensor<2x3xf32>
  // G-unary-1
  // CHECK: graph.unary exp %{{.*}} : tensor<2x3xf32>
  %0 = graph.unary exp %x : tensor<2x3xf32>
  // CHECK: graph.unary not %{{.*}} : tensor<2x3xi32>
  %1 = graph.unary not %n : tensor<2x3xi32>
  // G-binary-1
  // CHECK: graph.binary add %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %2 = graph.binary add %0, %one : tensor<2x3xf32>
  // CHECK: graph.binary shr_u %{{.*}}, %{{.*}} : tensor<2x3xi32>
  %3 = graph.binary shr_u %n, %1 : tensor<2x3xi32>
  // G-compare-1
  // CHECK: graph.compare le %{{.*}}, %{{.*}} : tensor<2x3xi32>
  %4 = graph.compare le %n, %3 : tensor<2x3xi32>
  // G-select-1
  // CHECK: graph.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %5 = graph.select %4, %x, %2 : tensor<2x3xf32>
  // G-cast-1
  // CHECK: graph.cast %{{.*}} : tensor<2x3xi1> -> tensor<2x3xi8>
  %6 = graph.cast %4 : tensor<2x3xi1> -> tensor<2x3xi8>
  // G-iota-1
  // CHECK: graph.iota dim 1 : tensor<2x3xi64>
  %7 = graph.iota dim 1 : tensor<2x3xi64>
  // G-broadcast-1
  // CHECK: graph.broadcast %{{.*}} dims [0, 2] : tensor<2x3xf32> -> tensor<2x7x3xf32>
  %8 = graph.broadcast %5 dims [0, 2] : tensor<2x3xf32> -> tensor<2x7x3xf32>
  // G-reshape-1
  // CHECK: graph.reshape %{{.*}} : tensor<2x7x3xf32> -> tensor<6x7xf32>
  %9 = graph.reshape %8 : tensor<2x7x3xf32> -> tensor<6x7xf32>
  // G-transpose-1
  // CHECK: graph.transpose %{{.*}} [2, 0, 1] : tensor<2x7x3xf32> -> tensor<3x2x7xf32>
  %10 = graph.transpose %8 [2, 0, 1] : tensor<2x7x3xf32> -> tensor<3x2x7xf32>
  // G-slice-1
  // CHECK: graph.slice %{{.*}} offsets [1, 0] strides [2, 3] : tensor<6x7xf32> -> tensor<3x3xf32>
  %11 = graph.slice %9 offsets [1, 0] strides [2, 3] : tensor<6x7xf32> -> tensor<3x3xf32>
  // G-concat-1
  // CHECK: graph.concat %{{.*}}, %{{.*}} dim 0 : tensor<3x3xf32>, tensor<2x3xf32> -> tensor<5x3xf32>
  %12 = graph.concat %11, %x dim 0 : tensor<3x3xf32>, tensor<2x3xf32> -> tensor<5x3xf32>
  // G-slice-2, G-concat-1 on packed weights
  // CHECK: graph.get @w : !graph.packed<q4_k, gguf, 256x512>
  %w = graph.get @w : !graph.packed<q4_k, gguf, 256x512>
  // CHECK: graph.slice %{{.*}} offsets [8, 0] strides [1, 1] : !graph.packed<q4_k, gguf, 256x512> -> !graph.packed<q4_k, gguf, 16x512>
  %13 = graph.slice %w offsets [8, 0] strides [1, 1] : !graph.packed<q4_k, gguf, 256x512> -> !graph.packed<q4_k, gguf, 16x512>
  // CHECK: graph.concat %{{.*}}, %{{.*}} dim 0 : !graph.packed<q4_k, gguf, 16x512>, !graph.packed<q4_k, gguf, 16x512> -> !graph.packed<q4_k, gguf, 32x512>
  %14 = graph.concat %13, %13 dim 0 : !graph.packed<q4_k, gguf, 16x512>, !graph.packed<q4_k, gguf, 16x512> -> !graph.packed<q4_k, gguf, 32x512>
  // G-packed_dequant-1
  // CHECK: graph.packed_dequant %{{.*}} : !graph.packed<q4_k, gguf, 32x512> -> tensor<32x512xf16>
  %15 = graph.packed_dequant %14 : !graph.packed<q4_k, gguf, 32x512> -> tensor<32x512xf16>
  // G-gather-1
  // CHECK: graph.gather %{{.*}}, %{{.*}} dim 1 : tensor<32x512xf16>, tensor<5xi32> -> tensor<32x5xf16>
  %16 = graph.gather %15, %at dim 1 : tensor<32x512xf16>, tensor<5xi32> -> tensor<32x5xf16>
  // G-scatter-1
  %rows = graph.slice %16 offsets [0, 0] strides [1, 1] : tensor<32x5xf16> -> tensor<5x4xf16>
  %old = graph.get @cache : tensor<64x4xf16>
  // CHECK: graph.scatter %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x4xf16>, tensor<5xi32>, tensor<5x4xf16>
  %new = graph.scatter %old, %at, %rows : tensor<64x4xf16>, tensor<5xi32>, tensor<5x4xf16>
  // CHECK: graph.set @cache, %{{.*}} : tensor<64x4xf16>
  graph.set @cache, %new : tensor<64x4xf16>
  // G-type-2: an open state goes through gather and scatter.
  %wide = graph.cast %rows : tensor<5x4xf16> -> tensor<5x4xf32>
  // CHECK: graph.get @open : tensor<?x4xf32>
  %open = graph.get @open : tensor<?x4xf32>
  // CHECK: graph.scatter %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<5xi32>, tensor<5x4xf32>
  %opened = graph.scatter %open, %at, %wide : tensor<?x4xf32>, tensor<5xi32>, tensor<5x4xf32>
  // CHECK: graph.set @open, %{{.*}} : tensor<?x4xf32>
  graph.set @open, %opened : tensor<?x4xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} dim 0 : tensor<?x4xf32>, tensor<5xi32> -> tensor<5x4xf32>
  %17 = graph.gather %opened, %at dim 0 : tensor<?x4xf32>, tensor<5xi32> -> tensor<5x4xf32>
  // G-reduce-1
  // CHECK: graph.reduce max %{{.*}} dims [0, 1] : tensor<5x4xf32> -> tensor<f32>
  %18 = graph.reduce max %17 dims [0, 1] : tensor<5x4xf32> -> tensor<f32>
  // G-scan-1
  // CHECK: graph.scan sum %{{.*}} dim 0 : tensor<5x4xf32>
  %19 = graph.scan sum %17 dim 0 : tensor<5x4xf32>
  // CHECK: graph.scan prod %{{.*}} dim 1 exclusive : tensor<5x4xf32>
  %20 = graph.scan prod %19 dim 1 exclusive : tensor<5x4xf32>
  // G-arg_top_k-1
  // CHECK: graph.arg_top_k %{{.*}} k 2 : tensor<5x4xf32> -> tensor<5x2xf32>, tensor<5x2xi32>
  %values, %indices = graph.arg_top_k %20 k 2 : tensor<5x4xf32> -> tensor<5x2xf32>, tensor<5x2xi32>
  // G-matmul-1, G-matmul-2
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : tensor<5x4xf16>, tensor<4x5xf16> -> tensor<5x5xf32>
  %rows_t = graph.transpose %rows [1, 0] : tensor<5x4xf16> -> tensor<4x5xf16>
  %21 = graph.matmul %rows, %rows_t : tensor<5x4xf16>, tensor<4x5xf16> -> tensor<5x5xf32>
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : tensor<2x7x3xf32>, tensor<2x3x7xf32> -> tensor<2x7x7xf32>
  %22 = graph.transpose %8 [0, 2, 1] : tensor<2x7x3xf32> -> tensor<2x3x7xf32>
  %23 = graph.matmul %8, %22 : tensor<2x7x3xf32>, tensor<2x3x7xf32> -> tensor<2x7x7xf32>
  // G-indexed_matmul-1
  %experts = graph.reshape %23 : tensor<2x7x7xf32> -> tensor<2x7x7xf32>
  %in = graph.broadcast %18 dims [] : tensor<f32> -> tensor<5x7xf32>
  // CHECK: graph.indexed_matmul %{{.*}}, %{{.*}}, %{{.*}} : tensor<5x7xf32>, tensor<2x7x7xf32>, tensor<5xi32> -> tensor<5x7xf32>
  %24 = graph.indexed_matmul %in, %experts, %at : tensor<5x7xf32>, tensor<2x7x7xf32>, tensor<5xi32> -> tensor<5x7xf32>
  // G-random_bits-1
  // CHECK: graph.random_bits %{{.*}} : tensor<4xi32> -> tensor<3x2xi32>
  %seed = graph.slice %at offsets [0] strides [1] : tensor<5xi32> -> tensor<4xi32>
  %25 = graph.random_bits %seed : tensor<4xi32> -> tensor<3x2xi32>
  return %5 : tensor<2x3xf32>
}
