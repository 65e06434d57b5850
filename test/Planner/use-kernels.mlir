// Where a graph has what a kernel of the user's implements.
//
// DEFINE: %{kernels} = pootc -std=c++20 -fsyntax-only \
// DEFINE:   %S/Inputs/user_kernels.cpp
// RUN: rm -rf %t && mkdir %t && cd %t && %{kernels} --emit=kir-json,mlir
// RUN: poot-opt %s --plan-use-kernels='files=my_silu.kir.json,my_swiglu.kir.json,my_gelu.mlir,leaky_relu.mlir,my_sub.mlir,my_sub_i32.mlir,my_softmax.mlir,my_norm.mlir' \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[Y:.*]] = graph.fused "silu"(%arg0) : (tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>):
  // CHECK-NEXT:   %[[N:.*]] = graph.unary neg %[[A]] : tensor<8xf32>
  // CHECK-NEXT:   %[[E:.*]] = graph.unary exp %[[N]] : tensor<8xf32>
  // CHECK-NEXT:   %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK-NEXT:   %[[S:.*]] = graph.binary add %[[ONE]], %[[E]] : tensor<8xf32>
  // CHECK-NEXT:   %[[D:.*]] = graph.binary div %[[A]], %[[S]] : tensor<8xf32>
  // CHECK-NEXT:   graph.yield %[[D]] : tensor<8xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[Y]]
  // In either order of the sum, with a literal that is broadcast.
  %scalar = graph.constant dense<1.0> : tensor<f32>
  %one = graph.broadcast %scalar dims [] : tensor<f32> -> tensor<8xf32>
  %0 = graph.unary neg %x : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  %2 = graph.binary add %one, %1 : tensor<8xf32>
  %3 = graph.binary div %x, %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// Casts to f32 and back become part of it; one that is used elsewhere stays.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf16>) -> (tensor<8xf16>, tensor<8xf32>) {
  // CHECK: graph.cast %arg0 : tensor<8xf16> -> tensor<8xf32>
  // CHECK-NEXT: graph.fused "silu"(%arg0) : (tensor<8xf16>) -> tensor<8xf16> {
  // CHECK: graph.cast
  // CHECK: graph.cast
  // CHECK: graph.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %one = graph.constant dense<1.0> : tensor<8xf32>
  %wide = graph.cast %x : tensor<8xf16> -> tensor<8xf32>
  %0 = graph.unary neg %wide : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  %2 = graph.binary add %1, %one : tensor<8xf32>
  %3 = graph.binary div %wide, %2 : tensor<8xf32>
  %4 = graph.cast %3 : tensor<8xf32> -> tensor<8xf16>
  return %4, %wide : tensor<8xf16>, tensor<8xf32>
}

// The larger pattern is taken.
// CHECK-LABEL: func.func @swiglu
func.func @swiglu(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: graph.fused "swiglu"(%arg0, %arg1)
  // CHECK-NOT: graph.fused
  // CHECK: return
  %one = graph.constant dense<1.0> : tensor<8xf32>
  %0 = graph.unary neg %x : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  %2 = graph.binary add %1, %one : tensor<8xf32>
  %3 = graph.binary div %x, %2 : tensor<8xf32>
  %4 = graph.binary mul %y, %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// A value in between that is used elsewhere has to be there.
// CHECK-LABEL: func.func @used
func.func @used(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NOT: graph.fused
  // CHECK: return
  %one = graph.constant dense<1.0> : tensor<8xf32>
  %0 = graph.unary neg %x : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  %2 = graph.binary add %1, %one : tensor<8xf32>
  %3 = graph.binary div %x, %2 : tensor<8xf32>
  return %3, %1 : tensor<8xf32>, tensor<8xf32>
}

// Other numbers, other operands, another op.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NOT: graph.fused
  // CHECK: return
  %one = graph.constant dense<1.0> : tensor<8xf32>
  %two = graph.constant dense<2.0> : tensor<8xf32>
  %0 = graph.unary neg %x : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  %2 = graph.binary add %1, %two : tensor<8xf32>
  %3 = graph.binary div %x, %2 : tensor<8xf32>
  %4 = graph.unary exp2 %0 : tensor<8xf32>
  %5 = graph.binary add %4, %one : tensor<8xf32>
  %6 = graph.binary div %x, %5 : tensor<8xf32>
  %7 = graph.unary neg %x : tensor<8xf32>
  %8 = graph.unary exp %7 : tensor<8xf32>
  %9 = graph.binary add %8, %one : tensor<8xf32>
  %10 = graph.binary div %y, %9 : tensor<8xf32>
  return %3, %6, %10 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// An expression of one's own: comparisons, an operand three times.
// CHECK-LABEL: func.func @expression
func.func @expression(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: graph.fused "select(gt(x, 0), x, mul(0.1, x))"(%arg0)
  // CHECK: return
  %zero = graph.constant dense<0.0> : tensor<8xf32>
  %slope = graph.constant dense<0.1> : tensor<8xf32>
  %0 = graph.compare gt %x, %zero : tensor<8xf32>
  %1 = graph.binary mul %x, %slope : tensor<8xf32>
  %2 = graph.select %0, %x, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Each by the kernel that serves its types; of i64 there is none.
// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<8xbf16>, %y: tensor<8xi32>, %z: tensor<8xi64>) -> (tensor<8xbf16>, tensor<8xi32>, tensor<8xi64>) {
  // CHECK-NEXT: graph.fused "sub"(%arg0, %arg0) : (tensor<8xbf16>, tensor<8xbf16>)
  // CHECK: graph.fused "sub"(%arg1, %arg1) : (tensor<8xi32>, tensor<8xi32>)
  // CHECK: }
  // CHECK-NEXT: graph.binary sub %arg2, %arg2 : tensor<8xi64>
  %0 = graph.binary sub %x, %x : tensor<8xbf16>
  %1 = graph.binary sub %y, %y : tensor<8xi32>
  %2 = graph.binary sub %z, %z : tensor<8xi64>
  return %0, %1, %2 : tensor<8xbf16>, tensor<8xi32>, tensor<8xi64>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<2x8xf16>, %s: tensor<8xf32>) -> (tensor<2x8xf16>, tensor<2x8xf16>, tensor<2x8xf16>) {
  // CHECK-NEXT: graph.fused "softmax"(%arg0)
  // CHECK: graph.fused "rms_norm(x, scale)"(%arg0, %arg1)
  // CHECK: }
  // CHECK-NEXT: graph.rms_norm %arg0 epsilon
  %0 = graph.softmax %x : tensor<2x8xf16>
  %1 = graph.rms_norm %x scale %s epsilon 1.0e-5 : tensor<2x8xf16>, tensor<8xf32>
  %2 = graph.rms_norm %x epsilon 1.0e-5 : tensor<2x8xf16>
  return %0, %1, %2 : tensor<2x8xf16>, tensor<2x8xf16>, tensor<2x8xf16>
}

// What an expression is computed from is no part of it.
// CHECK-LABEL: func.func @chained
func.func @chained(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[A:.*]] = graph.fused "sub"(%arg0, %arg0)
  // CHECK: graph.fused "gelu_tanh"(%[[A]])
  // CHECK: return
  %half = graph.constant dense<0.5> : tensor<8xf32>
  %one = graph.constant dense<1.0> : tensor<8xf32>
  %c = graph.constant dense<0.044715> : tensor<8xf32>
  %r = graph.constant dense<0.797884583> : tensor<8xf32>
  %v = graph.binary sub %x, %x : tensor<8xf32>
  %0 = graph.binary mul %v, %v : tensor<8xf32>
  %1 = graph.binary mul %0, %v : tensor<8xf32>
  %2 = graph.binary mul %1, %c : tensor<8xf32>
  %3 = graph.binary add %v, %2 : tensor<8xf32>
  %4 = graph.binary mul %3, %r : tensor<8xf32>
  %5 = graph.unary tanh %4 : tensor<8xf32>
  %6 = graph.binary mul %v, %half : tensor<8xf32>
  %7 = graph.binary add %5, %one : tensor<8xf32>
  %8 = graph.binary mul %6, %7 : tensor<8xf32>
  return %8 : tensor<8xf32>
}
