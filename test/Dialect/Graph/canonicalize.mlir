// Folders: each exact (G-fold-1), none that grows the module (G-fold-2).
// RUN: poot-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @shapes
func.func @shapes(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK: return %arg0, %arg0, %arg0, %arg0
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = graph.transpose %x [0, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %2 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %3 = graph.concat %x dim 1 : tensor<4x6xf32> -> tensor<4x6xf32>
  return %0, %1, %2, %3 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: @pairs
func.func @pairs(%x: tensor<4x6x2xf32>) -> (tensor<48xf32>, tensor<4x6x2xf32>, tensor<2x4x6xf32>, tensor<1x2x1xf32>, tensor<5x4x6x2xf32>) {
  // CHECK: %[[R:.*]] = graph.reshape %arg0 : tensor<4x6x2xf32> -> tensor<48xf32>
  %0 = graph.reshape %x : tensor<4x6x2xf32> -> tensor<24x2xf32>
  %1 = graph.reshape %0 : tensor<24x2xf32> -> tensor<48xf32>
  %2 = graph.transpose %x [1, 2, 0] : tensor<4x6x2xf32> -> tensor<6x2x4xf32>
  %3 = graph.transpose %2 [2, 0, 1] : tensor<6x2x4xf32> -> tensor<4x6x2xf32>
  // CHECK: %[[T:.*]] = graph.transpose %arg0 [2, 0, 1]
  %4 = graph.transpose %2 [1, 2, 0] : tensor<6x2x4xf32> -> tensor<2x4x6xf32>
  // CHECK: %[[S:.*]] = graph.slice %arg0 offsets [3, 3, 1] strides [2, 4, 1] : tensor<4x6x2xf32> -> tensor<1x1x1xf32>
  %5 = graph.slice %x offsets [1, 1, 0] strides [2, 2, 1] : tensor<4x6x2xf32> -> tensor<2x2x2xf32>
  %6 = graph.slice %5 offsets [1, 1, 1] strides [1, 2, 1] : tensor<2x2x2xf32> -> tensor<1x1x1xf32>
  %7 = graph.broadcast %6 dims [0, 1, 2] : tensor<1x1x1xf32> -> tensor<1x2x1xf32>
  // CHECK: %[[B:.*]] = graph.broadcast %arg0 dims [1, 2, 3] : tensor<4x6x2xf32> -> tensor<5x4x6x2xf32>
  %8 = graph.broadcast %x dims [1, 2, 3] : tensor<4x6x2xf32> -> tensor<1x4x6x2xf32>
  %9 = graph.broadcast %8 dims [0, 1, 2, 3] : tensor<1x4x6x2xf32> -> tensor<5x4x6x2xf32>
  // CHECK: return %[[R]], %arg0, %[[T]]
  return %1, %3, %4, %7, %9 : tensor<48xf32>, tensor<4x6x2xf32>, tensor<2x4x6xf32>, tensor<1x2x1xf32>, tensor<5x4x6x2xf32>
}

// CHECK-LABEL: @neutral_integers
func.func @neutral_integers(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %zero = graph.constant dense<0> : tensor<4xi32>
  %one = graph.constant dense<1> : tensor<4xi32>
  %all = graph.constant dense<-1> : tensor<4xi32>
  %0 = graph.binary add %zero, %x : tensor<4xi32>
  %1 = graph.binary mul %x, %one : tensor<4xi32>
  %2 = graph.binary and %x, %all : tensor<4xi32>
  %3 = graph.binary shl %x, %zero : tensor<4xi32>
  %4 = graph.binary div %x, %one : tensor<4xi32>
  %5 = graph.binary mul %x, %zero : tensor<4xi32>
  // CHECK: %[[ZERO:.*]] = graph.constant dense<0> : tensor<4xi32>
  // CHECK: return %arg0, %arg0, %arg0, %arg0, %arg0, %[[ZERO]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// x + 0 turns -0 into 0, and 0 * x is NaN for an infinity.
// CHECK-LABEL: @neutral_floats
func.func @neutral_floats(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %negative = graph.constant dense<-0.0> : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32>
  // CHECK: %[[ADD:.*]] = graph.binary add %arg0
  // CHECK: %[[MUL:.*]] = graph.binary mul %arg0
  %0 = graph.binary add %x, %zero : tensor<4xf32>
  %1 = graph.binary mul %x, %zero : tensor<4xf32>
  %2 = graph.binary add %x, %negative : tensor<4xf32>
  %3 = graph.binary mul %one, %x : tensor<4xf32>
  %4 = graph.binary sub %x, %zero : tensor<4xf32>
  // CHECK: return %[[ADD]], %[[MUL]], %arg0, %arg0, %arg0
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @integer_literals
func.func @integer_literals() -> (tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xi8>) {
  %a = graph.constant dense<[-128, 100, -7]> : tensor<3xi8>
  %b = graph.constant dense<[-1, 100, 2]> : tensor<3xi8>
  // CHECK-DAG: %[[ADD:.*]] = graph.constant dense<[127, -56, -5]> : tensor<3xi8>
  %0 = graph.binary add %a, %b : tensor<3xi8>
  // G-binary-2
  // CHECK-DAG: %[[DIV:.*]] = graph.constant dense<[-128, 1, -3]> : tensor<3xi8>
  %1 = graph.binary div %a, %b : tensor<3xi8>
  // CHECK-DAG: %[[REM:.*]] = graph.constant dense<[0, 0, -1]> : tensor<3xi8>
  %2 = graph.binary rem %a, %b : tensor<3xi8>
  // G-unary-2
  // CHECK-DAG: %[[ABS:.*]] = graph.constant dense<[-128, 100, 7]> : tensor<3xi8>
  %3 = graph.unary abs %a : tensor<3xi8>
  // CHECK: return %[[ADD]], %[[DIV]], %[[REM]], %[[ABS]]
  return %0, %1, %2, %3 : tensor<3xi8>, tensor<3xi8>, tensor<3xi8>, tensor<3xi8>
}

// G-binary-3, G-binary-4: errors are left to the oracle.
// CHECK-LABEL: @integer_errors
func.func @integer_errors() -> (tensor<i32>, tensor<i32>, tensor<i32>) {
  %a = graph.constant dense<5> : tensor<i32>
  %zero = graph.constant dense<0> : tensor<i32>
  %wide = graph.constant dense<32> : tensor<i32>
  // CHECK: graph.binary div
  %0 = graph.binary div %a, %zero : tensor<i32>
  // CHECK: graph.binary rem
  %1 = graph.binary rem %a, %zero : tensor<i32>
  // CHECK: graph.binary shl
  %2 = graph.binary shl %a, %wide : tensor<i32>
  return %0, %1, %2 : tensor<i32>, tensor<i32>, tensor<i32>
}

// CHECK-LABEL: @float_literals
func.func @float_literals() -> (tensor<2xf16>, tensor<4xf32>, tensor<2xf32>) {
  %a = graph.constant dense<[1.0, 65504.0]> : tensor<2xf16>
  // CHECK-DAG: %[[ADD:.*]] = graph.constant dense<[2.000000e+00, 0x7C00]> : tensor<2xf16>
  %0 = graph.binary add %a, %a : tensor<2xf16>
  %halves = graph.constant dense<[0.5, 1.5, 2.5, -0.5]> : tensor<4xf32>
  // G-unary-3
  // CHECK-DAG: %[[ROUND:.*]] = graph.constant dense<[0.000000e+00, 2.000000e+00, 2.000000e+00, -0.000000e+00]> : tensor<4xf32>
  %1 = graph.unary round_even %halves : tensor<4xf32>
  // A NaN stays where it arises.
  %inf = graph.constant dense<0x7F800000> : tensor<2xf32>
  // CHECK: graph.binary sub
  %2 = graph.binary sub %inf, %inf : tensor<2xf32>
  return %0, %1, %2 : tensor<2xf16>, tensor<4xf32>, tensor<2xf32>
}

// CHECK-LABEL: @casts
func.func @casts(%x: tensor<4xbf16>, %n: tensor<4xi32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xi32>, tensor<4xi8>, tensor<4xi1>, tensor<2xf32>) {
  // G-cast-3: saturation, NaN to 0; G-cast-4: to i1; G-cast-2
  // CHECK-DAG: graph.constant dense<[127, -128, 0, -1]> : tensor<4xi8>
  // CHECK-DAG: graph.constant dense<true> : tensor<4xi1>
  // CHECK-DAG: graph.constant dense<[0x4B800000, -2.000000e+00]> : tensor<2xf32>
  // There and back without loss.
  %0 = graph.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = graph.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  // f32 does not hold every i32.
  // CHECK: %[[BACK:.*]] = graph.cast %{{.*}} : tensor<4xf32> -> tensor<4xi32>
  %2 = graph.cast %n : tensor<4xi32> -> tensor<4xf32>
  %3 = graph.cast %2 : tensor<4xf32> -> tensor<4xi32>
  %4 = graph.cast %0 : tensor<4xf32> -> tensor<4xf32>
  %f = graph.constant dense<[300.0, -300.0, 0x7FC00000, -1.9]> : tensor<4xf32>
  %5 = graph.cast %f : tensor<4xf32> -> tensor<4xi8>
  %6 = graph.cast %f : tensor<4xf32> -> tensor<4xi1>
  %i = graph.constant dense<[16777217, -2]> : tensor<2xi32>
  %7 = graph.cast %i : tensor<2xi32> -> tensor<2xf32>
  // CHECK: return %arg0, %{{.*}}, %[[BACK]]
  return %1, %4, %3, %5, %6, %7 : tensor<4xbf16>, tensor<4xf32>, tensor<4xi32>, tensor<4xi8>, tensor<4xi1>, tensor<2xf32>
}

// CHECK-LABEL: @choices
func.func @choices(%c: tensor<4xi1>, %x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) {
  %true = graph.constant dense<true> : tensor<4xi1>
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %0 = graph.select %c, %x, %x : tensor<4xf32>
  %1 = graph.select %true, %x, %zero : tensor<4xf32>
  // CHECK: %[[TRUE:.*]] = graph.constant dense<true>
  %2 = graph.compare le %n, %n : tensor<4xi32>
  // NaN equals nothing, itself included.
  // CHECK: %[[EQ:.*]] = graph.compare eq %arg1, %arg1
  %3 = graph.compare eq %x, %x : tensor<4xf32>
  // CHECK: return %arg1, %arg1, %[[TRUE]], %[[EQ]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @twice
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.unary neg %x : tensor<4xf32>
  %1 = graph.unary neg %0 : tensor<4xf32>
  // CHECK: %[[ABS:.*]] = graph.unary abs %arg0
  %2 = graph.unary abs %x : tensor<4xf32>
  %3 = graph.unary abs %2 : tensor<4xf32>
  // CHECK: return %arg0, %[[ABS]]
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// A splat of any size stays a splat; a list of more than 64 elements is left.
// CHECK-LABEL: @size
func.func @size() -> (tensor<1000x1000xf32>, tensor<65xi32>) {
  // CHECK-DAG: graph.constant dense<3.000000e+00> : tensor<1000x1000xf32>
  %s = graph.constant dense<1.5> : tensor<1000xf32>
  %0 = graph.broadcast %s dims [1] : tensor<1000xf32> -> tensor<1000x1000xf32>
  %1 = graph.binary add %0, %0 : tensor<1000x1000xf32>
  %n = graph.constant dense<"0x0000000001000000020000000300000004000000050000000600000007000000080000000900000010000000110000001200000013000000140000001500000016000000170000001800000019000000200000002100000022000000230000002400000025000000260000002700000028000000290000003000000031000000320000003300000034000000350000003600000037000000380000003900000040000000410000004200000043000000440000004500000046000000470000004800000049000000500000005100000052000000530000005400000055000000560000005700000058000000590000006000000061000000620000006300000064000000"> : tensor<65xi32>
  // CHECK: graph.unary neg
  %2 = graph.unary neg %n : tensor<65xi32>
  return %1, %2 : tensor<1000x1000xf32>, tensor<65xi32>
}

// CHECK-LABEL: @one_index
func.func @one_index() -> tensor<1x4xi32> {
  // CHECK: graph.constant dense<0> : tensor<1x4xi32>
  %0 = graph.iota dim 0 : tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
