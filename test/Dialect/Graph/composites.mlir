// The textual form of composites, and what each decomposes to.
//
// RUN: poot-opt %s | poot-opt | FileCheck %s
// RUN: poot-opt %s --graph-decompose --graph-verify | FileCheck %s --check-prefix=PRIMITIVE
// RUN: poot-opt %s --graph-decompose=ops=attention,rope | FileCheck %s --check-prefix=SOME
// RUN: not poot-opt %s --graph-decompose=ops=attention,matmul 2>&1 | FileCheck %s --check-prefix=NAME
//
// NAME: error: graph-decompose: 'matmul' is no composite op of the graph dialect

// SOME: graph.packed_contraction
// SOME-NOT: graph.attention
// SOME-NOT: graph.rope
// An op of a decomposition stays where it isn't asked for.
// SOME: graph.softmax
// SOME: graph.rms_norm

// PRIMITIVE-NOT: graph.attention
// PRIMITIVE-NOT: graph.softmax
// PRIMITIVE-NOT: graph.packed_row_gather
// PRIMITIVE-NOT: graph.fused

graph.const @w : !graph.packed<q4_k, gguf, 8x256>
graph.const @e : !graph.packed<q4_k, planar, 3x8x256>
graph.state @k : tensor<?x2x6xf16>
graph.state @v : tensor<?x2x4xf16>

// CHECK-LABEL: func.func @weights
// PRIMITIVE-LABEL: func.func @weights
func.func @weights(%x: tensor<2x3x256xf16> {graph.name = "x"}, %i: tensor<2x3xi32> {graph.name = "i"})
    -> (tensor<2x3x8xf32> {graph.name = "a"}, tensor<2x3x8xf16> {graph.name = "b"},
        tensor<2x3x256xbf16> {graph.name = "c"}, tensor<2x3x8xf32> {graph.name = "d"}) {
  %w = graph.get @w : !graph.packed<q4_k, gguf, 8x256>
  %e = graph.get @e : !graph.packed<q4_k, planar, 3x8x256>
  // CHECK: graph.packed_contraction %{{.*}}, %{{.*}} : tensor<2x3x256xf16>, !graph.packed<q4_k, gguf, 8x256> -> tensor<2x3x8xf32>
  // PRIMITIVE: %[[X:.*]] = graph.reshape %arg0 : tensor<2x3x256xf16> -> tensor<6x256xf16>
  // PRIMITIVE: graph.matmul %[[X]], %{{.*}} : tensor<6x256xf16>, tensor<256x8xf16> -> tensor<6x8xf32>
  %a = graph.packed_contraction %x, %w : tensor<2x3x256xf16>, !graph.packed<q4_k, gguf, 8x256> -> tensor<2x3x8xf32>
  // CHECK: graph.packed_contraction %{{.*}}, %{{.*}} experts %{{.*}} : tensor<2x3x256xf16>, !graph.packed<q4_k, planar, 3x8x256>, tensor<2x3xi32> -> tensor<2x3x8xf16>
  // PRIMITIVE: graph.packed_dequant %{{.*}} : !graph.packed<q4_k, planar, 3x8x256> -> tensor<3x8x256xf16>
  // PRIMITIVE: graph.indexed_matmul %arg0, %{{.*}}, %arg1 : tensor<2x3x256xf16>, tensor<3x256x8xf16>, tensor<2x3xi32> -> tensor<2x3x8xf16>
  %b = graph.packed_contraction %x, %e experts %i : tensor<2x3x256xf16>, !graph.packed<q4_k, planar, 3x8x256>, tensor<2x3xi32> -> tensor<2x3x8xf16>
  // CHECK: graph.packed_row_gather %{{.*}}, %{{.*}} : !graph.packed<q4_k, gguf, 8x256>, tensor<2x3xi32> -> tensor<2x3x256xbf16>
  %c = graph.packed_row_gather %w, %i : !graph.packed<q4_k, gguf, 8x256>, tensor<2x3xi32> -> tensor<2x3x256xbf16>
  %plain = graph.constant dense<1.0> : tensor<8x256xbf16>
  // CHECK: graph.packed_contraction %{{.*}}, %{{.*}} : tensor<2x3x256xf16>, tensor<8x256xbf16> -> tensor<2x3x8xf32>
  %d = graph.packed_contraction %x, %plain : tensor<2x3x256xf16>, tensor<8x256xbf16> -> tensor<2x3x8xf32>
  return %a, %b, %c, %d : tensor<2x3x8xf32>, tensor<2x3x8xf16>, tensor<2x3x256xbf16>, tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @layer
func.func @layer(%q: tensor<2x3x4x6xf32> {graph.name = "q"}, %pos: tensor<2x3xi32> {graph.name = "pos"},
    %slots: tensor<2x5xi32> {graph.name = "slots"}, %cos: tensor<2x3x4xf32> {graph.name = "cos"},
    %keys: tensor<10x2x6xf16> {graph.name = "keys"}, %values: tensor<10x2x4xf16> {graph.name = "values"})
    -> (tensor<2x3x4x4xf32> {graph.name = "a"}, tensor<2x3x4x4xf32> {graph.name = "b"}) {
  // CHECK: graph.rope halves %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>
  %h = graph.rope halves %q, %cos, %cos : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>
  // CHECK: graph.rope adjacent
  %r = graph.rope adjacent %h, %cos, %cos : tensor<2x3x4x6xf32>, tensor<2x3x4xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale 2.500000e-01 : tensor<2x3x4x6xf32>, tensor<10x2x6xf16>, tensor<10x2x4xf16>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  %a = graph.attention %r, %keys, %values, %pos scale 0.25 : tensor<2x3x4x6xf32>, tensor<10x2x6xf16>, tensor<10x2x4xf16>, tensor<2x3xi32> -> tensor<2x3x4x4xf32>
  %k = graph.get @k : tensor<?x2x6xf16>
  %v = graph.get @v : tensor<?x2x4xf16>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} slots %{{.*}} scale 2.500000e-01 : tensor<2x3x4x6xf32>, tensor<?x2x6xf16>, tensor<?x2x4xf16>, tensor<2x3xi32>, tensor<2x5xi32> -> tensor<2x3x4x4xf32>
  %b = graph.attention %r, %k, %v, %pos slots %slots scale 0.25 : tensor<2x3x4x6xf32>, tensor<?x2x6xf16>, tensor<?x2x4xf16>, tensor<2x3xi32>, tensor<2x5xi32> -> tensor<2x3x4x4xf32>
  return %a, %b : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<2x4xf16> {graph.name = "x"}, %s: tensor<4xf32> {graph.name = "s"})
    -> (tensor<2x4xf16> {graph.name = "y"}) {
  // CHECK: graph.softmax %{{.*}} : tensor<2x4xf16>
  %0 = graph.softmax %x : tensor<2x4xf16>
  // CHECK: graph.rms_norm %{{.*}} epsilon 9.99999974E-6 : tensor<2x4xf16>
  %1 = graph.rms_norm %0 epsilon 1.0e-5 : tensor<2x4xf16>
  // CHECK: graph.rms_norm %{{.*}} scale %{{.*}} epsilon 9.99999974E-6 : tensor<2x4xf16>, tensor<4xf32>
  %2 = graph.rms_norm %1 scale %s epsilon 1.0e-5 : tensor<2x4xf16>, tensor<4xf32>
  // CHECK: graph.layer_norm %{{.*}} epsilon 9.99999974E-6 : tensor<2x4xf16>
  %3 = graph.layer_norm %2 epsilon 1.0e-5 : tensor<2x4xf16>
  // CHECK: graph.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} epsilon 0.000000e+00 : tensor<2x4xf16> scale tensor<4xf32> bias tensor<4xf32>
  %4 = graph.layer_norm %3 scale %s bias %s epsilon 0.0 : tensor<2x4xf16> scale tensor<4xf32> bias tensor<4xf32>
  // CHECK: graph.layer_norm %{{.*}} bias %{{.*}} epsilon 0.000000e+00 : tensor<2x4xf16> bias tensor<4xf32>
  %5 = graph.layer_norm %4 bias %s epsilon 0.0 : tensor<2x4xf16> bias tensor<4xf32>
  return %5 : tensor<2x4xf16>
}

// CHECK-LABEL: func.func @fused
// PRIMITIVE-LABEL: func.func @fused
func.func @fused(%x: tensor<2x4xf16> {graph.name = "x"}, %y: tensor<2x4xf16> {graph.name = "y"})
    -> (tensor<2x4xf16> {graph.name = "z"}) {
  // CHECK: graph.fused "mul(softmax(x), y)"(%{{.*}}, %{{.*}}) : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2x4xf16>, %[[B:.*]]: tensor<2x4xf16>):
  // CHECK-NEXT: %[[S:.*]] = graph.softmax %[[A]] : tensor<2x4xf16>
  // CHECK-NEXT: %[[M:.*]] = graph.binary mul %[[S]], %[[B]] : tensor<2x4xf16>
  // CHECK-NEXT: graph.yield %[[M]] : tensor<2x4xf16>
  // PRIMITIVE: graph.reduce max
  // PRIMITIVE: %[[Z:.*]] = graph.binary mul %{{.*}}, %arg1 : tensor<2x4xf16>
  // PRIMITIVE-NEXT: return %[[Z]]
  %z = graph.fused "mul(softmax(x), y)"(%x, %y) : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16> {
  ^bb0(%a: tensor<2x4xf16>, %b: tensor<2x4xf16>):
    %0 = graph.softmax %a : tensor<2x4xf16>
    %1 = graph.binary mul %0, %b : tensor<2x4xf16>
    graph.yield %1 : tensor<2x4xf16>
  }
  return %z : tensor<2x4xf16>
}
