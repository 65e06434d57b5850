// What is outside of an op's domain stops the oracle at the op; with
// --device-rules the result is that of a device. Functions are named after the
// constraints of docs/graph-semantics.md.
//
// DEFINE: %{function} =
// DEFINE: %{error} = not poot-eval %s --function=%{function} 2>&1 | FileCheck %s --check-prefix=%{function}
// DEFINE: %{device} = poot-eval %s --function=%{function} --device-rules | FileCheck %s --check-prefix=%{function}-DEVICE
//
// REDEFINE: %{function} = binary_3_div
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = binary_3_rem
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = binary_4_above
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = binary_4_negative
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = gather_3
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = scatter_4
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = scatter_5
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = indexed_matmul_3
// RUN: %{error}
// RUN: %{device}
// REDEFINE: %{function} = huge
// RUN: %{error}

// binary_3_div: errors.mlir:[[#@LINE+5]]:8: error: 'graph.binary' op divides 7 by zero at element 1
// binary_3_div-DEVICE: [-3, 0]
func.func @binary_3_div() -> (tensor<2xi8> {graph.name = "y"}) {
  %a = graph.constant dense<7> : tensor<2xi8>
  %b = graph.constant dense<[-2, 0]> : tensor<2xi8>
  %y = graph.binary div %a, %b : tensor<2xi8>
  return %y : tensor<2xi8>
}

// binary_3_rem: errors.mlir:[[#@LINE+5]]:8: error: 'graph.binary' op divides -7 by zero at element 0
// binary_3_rem-DEVICE: [0, -1]
func.func @binary_3_rem() -> (tensor<2xi64> {graph.name = "y"}) {
  %a = graph.constant dense<-7> : tensor<2xi64>
  %b = graph.constant dense<[0, 2]> : tensor<2xi64>
  %y = graph.binary rem %a, %b : tensor<2xi64>
  return %y : tensor<2xi64>
}

// binary_4_above: errors.mlir:[[#@LINE+5]]:8: error: 'graph.binary' op shifts by 33 at element 1; the amount must be in [0, 32)
// binary_4_above-DEVICE: [-8, -4]
func.func @binary_4_above() -> (tensor<2xi32> {graph.name = "y"}) {
  %a = graph.constant dense<-8> : tensor<2xi32>
  %b = graph.constant dense<[0, 33]> : tensor<2xi32>
  %y = graph.binary shr_s %a, %b : tensor<2xi32>
  return %y : tensor<2xi32>
}

// binary_4_negative: errors.mlir:[[#@LINE+5]]:8: error: 'graph.binary' op shifts by -1 at element 0; the amount must be in [0, 16)
// binary_4_negative-DEVICE: -32768
func.func @binary_4_negative() -> (tensor<i16> {graph.name = "y"}) {
  %a = graph.constant dense<1> : tensor<i16>
  %b = graph.constant dense<-1> : tensor<i16>
  %y = graph.binary shl %a, %b : tensor<i16>
  return %y : tensor<i16>
}

// gather_3: errors.mlir:[[#@LINE+5]]:8: error: 'graph.gather' op index -1 at element 1 is outside of [0, 4)
// gather_3-DEVICE: [2, 0, 3]
func.func @gather_3() -> (tensor<3xi32> {graph.name = "y"}) {
  %a = graph.iota dim 0 : tensor<4xi32>
  %i = graph.constant dense<[2, -1, 4]> : tensor<3xi32>
  %y = graph.gather %a, %i dim 0 : tensor<4xi32>, tensor<3xi32> -> tensor<3xi32>
  return %y : tensor<3xi32>
}

// scatter_4: errors.mlir:[[#@LINE+6]]:8: error: 'graph.scatter' op index 4 at element 1 is outside of [0, 4) and not -1
// scatter_4-DEVICE: [9, 1, 2, 3]
func.func @scatter_4() -> (tensor<4xi32> {graph.name = "y"}) {
  %a = graph.iota dim 0 : tensor<4xi32>
  %i = graph.constant dense<[-1, 4, 0]> : tensor<3xi32>
  %u = graph.constant dense<9> : tensor<3xi32>
  %y = graph.scatter %a, %i, %u : tensor<4xi32>, tensor<3xi32>, tensor<3xi32>
  return %y : tensor<4xi32>
}

// scatter_5: errors.mlir:[[#@LINE+6]]:8: error: 'graph.scatter' op index 2 stands at element 1 and again at 3
// scatter_5-DEVICE: [0, 1, 7, 3]
func.func @scatter_5() -> (tensor<4xi32> {graph.name = "y"}) {
  %a = graph.iota dim 0 : tensor<4xi32>
  %i = graph.constant dense<[-1, 2, -1, 2]> : tensor<4xi32>
  %u = graph.constant dense<[4, 5, 6, 7]> : tensor<4xi32>
  %y = graph.scatter %a, %i, %u : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
  return %y : tensor<4xi32>
}

// indexed_matmul_3: errors.mlir:[[#@LINE+7]]:8: error: 'graph.indexed_matmul' op index 3 at element 0 is outside of [0, 2)
// indexed_matmul_3-DEVICE: {{\[\[}}1],
// indexed_matmul_3-DEVICE-NEXT: [0]]
func.func @indexed_matmul_3() -> (tensor<2x1xi32> {graph.name = "y"}) {
  %x = graph.constant dense<1> : tensor<2x1xi32>
  %w = graph.iota dim 0 : tensor<2x1x1xi32>
  %i = graph.constant dense<[3, -5]> : tensor<2xi32>
  %y = graph.indexed_matmul %x, %w, %i : tensor<2x1xi32>, tensor<2x1x1xi32>, tensor<2xi32> -> tensor<2x1xi32>
  return %y : tensor<2x1xi32>
}

// A value beyond memory is refused, at the op that needs it.
// huge: errors.mlir:[[#@LINE+4]]:8: error: 'graph.unary' op needs a value of type 'tensor<1048576x1048576xf32>', for which there is no memory (the oracle holds values of up to 16 GiB)
func.func @huge() -> (tensor<1048576x1048576xf32> {graph.name = "y"}) {
  %a = graph.constant dense<1.0> : tensor<f32>
  %b = graph.broadcast %a dims [] : tensor<f32> -> tensor<1048576x1048576xf32>
  %y = graph.unary exp %b : tensor<1048576x1048576xf32>
  return %y : tensor<1048576x1048576xf32>
}
