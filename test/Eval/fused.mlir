// What the oracle computes of a graph.fused is what it computes of its body.
//
// RUN: poot-eval %s --input=x=random:1 --input=y=random:2 --output=z=%t.fused.npy
// RUN: poot-opt %s --graph-decompose -o %t.mlir
// RUN: FileCheck %s --check-prefix=PRIMITIVE < %t.mlir
// RUN: poot-eval %t.mlir --input=x=random:1 --input=y=random:2 --output=z=%t.npy
// RUN: diff %t.fused.npy %t.npy
// PRIMITIVE-NOT: graph.fused

func.func @main(%x: tensor<3x4xf16> {graph.name = "x"}, %y: tensor<4x3xf16> {graph.name = "y"})
    -> (tensor<3x4xf16> {graph.name = "z"}) {
  // Of a view, and of a value twice.
  %t = graph.transpose %y [1, 0] : tensor<4x3xf16> -> tensor<3x4xf16>
  %0 = graph.fused "mul"(%x, %t, %x) : (tensor<3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16> {
  ^bb0(%a: tensor<3x4xf16>, %b: tensor<3x4xf16>, %c: tensor<3x4xf16>):
    %1 = graph.softmax %a : tensor<3x4xf16>
    %2 = graph.binary mul %1, %b : tensor<3x4xf16>
    %3 = graph.binary sub %2, %c : tensor<3x4xf16>
    graph.yield %3 : tensor<3x4xf16>
  }
  return %0 : tensor<3x4xf16>
}
