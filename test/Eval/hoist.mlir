// A program means the same after its constant part has moved into the load
// function, and one that breaks a rule of the whole module isn't evaluated.
//
// RUN: poot-eval %s --input=x=splat:2 --const=w=random:5 > %t.before
// RUN: poot-opt %s --graph-hoist-computed > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: poot-eval %t.mlir --input=x=splat:2 --const=w=random:5 > %t.after
// RUN: diff %t.before %t.after
// RUN: sed 's/graph.name = "y"/graph.name = ""/' %s | not poot-eval - --input=x=splat:2 --const=w=random:5 2>&1 | FileCheck %s --check-prefix=INVALID

// CHECK: graph.load
// INVALID: error:
graph.const @w : tensor<3x4xf32>

func.func @f(%x: tensor<2x4xf32> {graph.name = "x"})
    -> (tensor<2x3xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<3x4xf32>
  %e = graph.unary exp %w : tensor<3x4xf32>
  %t = graph.transpose %e [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %y = graph.matmul %x, %t : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
