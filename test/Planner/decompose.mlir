// RUN: poot-opt %s --plan-decompose | FileCheck %s

// Heads that the library's kernels hold stay.
// CHECK-LABEL: func.func @held
// CHECK: graph.rope
// CHECK: graph.attention
func.func @held(%q: tensor<1x1x2x8xf32> {graph.name = "q"}, %kv: tensor<4x1x8xf32> {graph.name = "kv"}, %p: tensor<1x1xi32> {graph.name = "p"}, %c: tensor<1x1x6xf32> {graph.name = "c"}) -> (tensor<1x1x2x8xf32> {graph.name = "y"}) {
  %r = graph.rope halves %q, %c, %c : tensor<1x1x2x8xf32>, tensor<1x1x6xf32>
  %y = graph.attention %r, %kv, %kv, %p scale 0.5 : tensor<1x1x2x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<1x1xi32> -> tensor<1x1x2x8xf32>
  return %y : tensor<1x1x2x8xf32>
}

// An odd number of elements is no pairs; 6 are no multiple of 4, and 260 are more
// than 256.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.{{rope|attention}}
// CHECK: return
func.func @others(%x: tensor<2x5xf32> {graph.name = "x"}, %c: tensor<4xf32> {graph.name = "c"}, %q: tensor<1x1x2x8xf32> {graph.name = "q"}, %k: tensor<4x1x8xf32> {graph.name = "k"}, %v: tensor<4x1x6xf32> {graph.name = "v"}, %w: tensor<4x1x260xf32> {graph.name = "w"}, %p: tensor<1x1xi32> {graph.name = "p"}) -> (tensor<2x5xf32> {graph.name = "a"}, tensor<1x1x2x6xf32> {graph.name = "b"}, tensor<1x1x2x260xf32> {graph.name = "d"}) {
  %a = graph.rope adjacent %x, %c, %c : tensor<2x5xf32>, tensor<4xf32>
  %b = graph.attention %q, %k, %v, %p scale 0.5 : tensor<1x1x2x8xf32>, tensor<4x1x8xf32>, tensor<4x1x6xf32>, tensor<1x1xi32> -> tensor<1x1x2x6xf32>
  %d = graph.attention %q, %k, %w, %p scale 0.5 : tensor<1x1x2x8xf32>, tensor<4x1x8xf32>, tensor<4x1x260xf32>, tensor<1x1xi32> -> tensor<1x1x2x260xf32>
  return %a, %b, %d : tensor<2x5xf32>, tensor<1x1x2x6xf32>, tensor<1x1x2x260xf32>
}
