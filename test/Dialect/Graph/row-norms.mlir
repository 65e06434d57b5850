// Rows become composites, whatever order operands stand in, and stay where an
// intermediate value has another use.
//
// RUN: poot-opt %s --graph-row-norms --graph-verify | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[Y:.*]] = graph.softmax %arg0 : tensor<2x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @softmax(%x: tensor<2x8xf32> {graph.name = "x"}) -> (tensor<2x8xf32> {graph.name = "y"}) {
  %max = graph.reduce max %x dims [1] : tensor<2x8xf32> -> tensor<2xf32>
  // As kept dimensions come out of other tracers.
  %kept = graph.reshape %max : tensor<2xf32> -> tensor<2x1xf32>
  %maxs = graph.broadcast %kept dims [0, 1] : tensor<2x1xf32> -> tensor<2x8xf32>
  %shifted = graph.binary sub %x, %maxs : tensor<2x8xf32>
  %powers = graph.unary exp %shifted : tensor<2x8xf32>
  %sum = graph.reduce sum %powers dims [1] : tensor<2x8xf32> -> tensor<2xf32>
  %sums = graph.broadcast %sum dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %y = graph.binary div %powers, %sums : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Casts before and after belong to the op.
// CHECK-LABEL: func.func @softmax_f16
// CHECK-NEXT: graph.softmax %arg0 : tensor<2x8xf16>
// CHECK-NEXT: return
func.func @softmax_f16(%x: tensor<2x8xf16> {graph.name = "x"}) -> (tensor<2x8xf16> {graph.name = "y"}) {
  %wide = graph.cast %x : tensor<2x8xf16> -> tensor<2x8xf32>
  %max = graph.reduce max %wide dims [1] : tensor<2x8xf32> -> tensor<2xf32>
  %maxs = graph.broadcast %max dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %shifted = graph.binary sub %wide, %maxs : tensor<2x8xf32>
  %powers = graph.unary exp %shifted : tensor<2x8xf32>
  %sum = graph.reduce sum %powers dims [1] : tensor<2x8xf32> -> tensor<2xf32>
  %sums = graph.broadcast %sum dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %y = graph.binary div %powers, %sums : tensor<2x8xf32>
  %narrow = graph.cast %y : tensor<2x8xf32> -> tensor<2x8xf16>
  return %narrow : tensor<2x8xf16>
}

// The sum has another use; along the other dimension no row is reduced.
// CHECK-LABEL: func.func @no_softmax
// CHECK-NOT: graph.softmax
// CHECK: return
func.func @no_softmax(%x: tensor<8x8xf32> {graph.name = "x"})
    -> (tensor<8x8xf32> {graph.name = "y"}, tensor<8xf32> {graph.name = "s"}, tensor<8x8xf32> {graph.name = "z"}) {
  %max = graph.reduce max %x dims [1] : tensor<8x8xf32> -> tensor<8xf32>
  %maxs = graph.broadcast %max dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %shifted = graph.binary sub %x, %maxs : tensor<8x8xf32>
  %powers = graph.unary exp %shifted : tensor<8x8xf32>
  %sum = graph.reduce sum %powers dims [1] : tensor<8x8xf32> -> tensor<8xf32>
  %sums = graph.broadcast %sum dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %y = graph.binary div %powers, %sums : tensor<8x8xf32>
  // The maximum of rows along columns: square, so that only dims tell.
  %turned = graph.broadcast %max dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %shifted2 = graph.binary sub %x, %turned : tensor<8x8xf32>
  %powers2 = graph.unary exp %shifted2 : tensor<8x8xf32>
  %sum2 = graph.reduce sum %powers2 dims [1] : tensor<8x8xf32> -> tensor<8xf32>
  %sums2 = graph.broadcast %sum2 dims [0] : tensor<8xf32> -> tensor<8x8xf32>
  %z = graph.binary div %powers2, %sums2 : tensor<8x8xf32>
  return %y, %sum, %z : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: graph.rms_norm %arg0 scale %arg1 epsilon 9.99999974E-6 : tensor<2x4xbf16>, tensor<4xf32>
// CHECK-NEXT: return
func.func @rms_norm(%x: tensor<2x4xbf16> {graph.name = "x"}, %w: tensor<4xf32> {graph.name = "w"})
    -> (tensor<2x4xbf16> {graph.name = "y"}) {
  %wide = graph.cast %x : tensor<2x4xbf16> -> tensor<2x4xf32>
  %square = graph.binary mul %wide, %wide : tensor<2x4xf32>
  %sum = graph.reduce sum %square dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %count = graph.constant dense<4.0> : tensor<2xf32>
  %mean = graph.binary div %sum, %count : tensor<2xf32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<2xf32>
  %plus = graph.binary add %epsilon, %mean : tensor<2xf32>
  %root = graph.unary rsqrt %plus : tensor<2xf32>
  %roots = graph.broadcast %root dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %normal = graph.binary mul %roots, %wide : tensor<2x4xf32>
  %ws = graph.broadcast %w dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %scaled = graph.binary mul %ws, %normal : tensor<2x4xf32>
  %y = graph.cast %scaled : tensor<2x4xf32> -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// What is multiplied with rows is no scale where it varies along them, and the
// normalized rows may well have other uses.
// CHECK-LABEL: func.func @rms_norm_alone
// CHECK-NEXT: %[[N:.*]] = graph.rms_norm %arg0 epsilon 9.99999974E-6 : tensor<2x4xf32>
// CHECK-NEXT: %[[G:.*]] = graph.binary mul %[[N]], %arg1
// CHECK-NEXT: return %[[G]], %[[N]]
func.func @rms_norm_alone(%x: tensor<2x4xf32> {graph.name = "x"}, %g: tensor<2x4xf32> {graph.name = "g"})
    -> (tensor<2x4xf32> {graph.name = "y"}, tensor<2x4xf32> {graph.name = "n"}) {
  %square = graph.binary mul %x, %x : tensor<2x4xf32>
  %sum = graph.reduce sum %square dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %part = graph.constant dense<0.25> : tensor<2xf32>
  %mean = graph.binary mul %sum, %part : tensor<2xf32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<2xf32>
  %plus = graph.binary add %mean, %epsilon : tensor<2xf32>
  %root = graph.unary rsqrt %plus : tensor<2xf32>
  %roots = graph.broadcast %root dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %normal = graph.binary mul %x, %roots : tensor<2x4xf32>
  %y = graph.binary mul %normal, %g : tensor<2x4xf32>
  return %y, %normal : tensor<2x4xf32>, tensor<2x4xf32>
}

// The mean of 4 elements is no product with 0.5, and rows that are used once
// more aren't the norm's alone.
// CHECK-LABEL: func.func @no_norm
// CHECK-NOT: graph.rms_norm
// CHECK: return
func.func @no_norm(%x: tensor<2x4xf32> {graph.name = "x"})
    -> (tensor<2x4xf32> {graph.name = "y"}, tensor<2x4xf32> {graph.name = "z"}, tensor<2xf32> {graph.name = "r"}) {
  %square = graph.binary mul %x, %x : tensor<2x4xf32>
  %sum = graph.reduce sum %square dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %half = graph.constant dense<0.5> : tensor<2xf32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<2xf32>
  %mean = graph.binary mul %sum, %half : tensor<2xf32>
  %plus = graph.binary add %mean, %epsilon : tensor<2xf32>
  %root = graph.unary rsqrt %plus : tensor<2xf32>
  %roots = graph.broadcast %root dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %y = graph.binary mul %x, %roots : tensor<2x4xf32>
  %quarter = graph.constant dense<0.25> : tensor<2xf32>
  %mean2 = graph.binary mul %sum, %quarter : tensor<2xf32>
  %plus2 = graph.binary add %mean2, %epsilon : tensor<2xf32>
  %root2 = graph.unary rsqrt %plus2 : tensor<2xf32>
  %roots2 = graph.broadcast %root2 dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %z = graph.binary mul %x, %roots2 : tensor<2x4xf32>
  return %y, %z, %root2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT: graph.layer_norm %arg0 scale %arg1 bias %arg2 epsilon 9.99999974E-6 : tensor<2x4xf32> scale tensor<4xf32> bias tensor<4xf32>
// CHECK-NEXT: return
func.func @layer_norm(%x: tensor<2x4xf32> {graph.name = "x"}, %w: tensor<4xf32> {graph.name = "w"}, %b: tensor<4xf32> {graph.name = "b"})
    -> (tensor<2x4xf32> {graph.name = "y"}) {
  %part = graph.constant dense<0.25> : tensor<2xf32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<2xf32>
  %total = graph.reduce sum %x dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %mean = graph.binary mul %total, %part : tensor<2xf32>
  %means = graph.broadcast %mean dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %centred = graph.binary sub %x, %means : tensor<2x4xf32>
  %square = graph.binary mul %centred, %centred : tensor<2x4xf32>
  %sum = graph.reduce sum %square dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %variance = graph.binary mul %sum, %part : tensor<2xf32>
  %plus = graph.binary add %variance, %epsilon : tensor<2xf32>
  %root = graph.unary rsqrt %plus : tensor<2xf32>
  %roots = graph.broadcast %root dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %normal = graph.binary mul %centred, %roots : tensor<2x4xf32>
  %ws = graph.broadcast %w dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %scaled = graph.binary mul %normal, %ws : tensor<2x4xf32>
  %bs = graph.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %y = graph.binary add %scaled, %bs : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
