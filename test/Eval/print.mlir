// What poot-eval prints, and how it is given values.
//
// RUN: poot-eval %s --function=sum --input=x=splat:1.5 | FileCheck %s --check-prefix=SUM
// RUN: cat %s | poot-eval - --function=sum --input=x=splat:-inf | FileCheck %s --check-prefix=INF
// RUN: poot-eval %s --function=literal | FileCheck %s --check-prefix=LITERAL
// RUN: poot-eval %s --function=long | FileCheck %s --check-prefix=LONG
// RUN: poot-eval %s --function=weight --const=w=splat:0.1 | FileCheck %s --check-prefix=WEIGHT
// RUN: poot-eval %s --function=weight --const=*=splat:2 | FileCheck %s --check-prefix=ANY

graph.const @w : tensor<2xbf16>

// SUM: y : tensor<f32>
// SUM-NEXT: {{^}}9{{$}}
// INF: y : tensor<f32>
// INF-NEXT: -inf
func.func @sum(%x: tensor<2x3xf32> {graph.name = "x"})
    -> (tensor<f32> {graph.name = "y"}) {
  %y = graph.reduce sum %x dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// LITERAL: a : tensor<2x1x2xi8>
// LITERAL-NEXT: {{^}}[{{\[\[}}-1, 2]],
// LITERAL-NEXT: {{^}} {{\[\[}}3, 4]]]
// LITERAL-NEXT: b : tensor<3xf64>
// LITERAL-NEXT: [0.1, -0, nan]
// LITERAL-NEXT: c : tensor<f16>
// LITERAL-NEXT: {{^}}0.3332{{[0-9]*$}}
func.func @literal() -> (tensor<2x1x2xi8> {graph.name = "a"},
                         tensor<3xf64> {graph.name = "b"},
                         tensor<f16> {graph.name = "c"}) {
  %a = graph.constant dense<[[[-1, 2]], [[3, 4]]]> : tensor<2x1x2xi8>
  %b = graph.constant dense<[0.1, -0.0, 0x7FF8000000000000]> : tensor<3xf64>
  %c = graph.constant dense<0.33333> : tensor<f16>
  return %a, %b, %c : tensor<2x1x2xi8>, tensor<3xf64>, tensor<f16>
}

// Tensors of over 1000 elements show three entries at either end.
// LONG: y : tensor<2x1000xi32>
// LONG-NEXT: {{^}}[{{\[}}0, 1, 2, ..., 997, 998, 999],
// LONG-NEXT: {{^}} [0, 1, 2, ..., 997, 998, 999]]
func.func @long() -> (tensor<2x1000xi32> {graph.name = "y"}) {
  %y = graph.iota dim 1 : tensor<2x1000xi32>
  return %y : tensor<2x1000xi32>
}

// WEIGHT: y : tensor<2xbf16>
// WEIGHT-NEXT: [0.100097656, 0.100097656]
// ANY: [2, 2]
func.func @weight() -> (tensor<2xbf16> {graph.name = "y"}) {
  %w = graph.get @w : tensor<2xbf16>
  return %w : tensor<2xbf16>
}
