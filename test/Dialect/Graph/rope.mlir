// Rotations of pairs, whatever order operands stand in.
//
// RUN: poot-opt %s --graph-rope --graph-verify | FileCheck %s
// RUN: poot-opt %s --canonicalize --cse --graph-rope --graph-verify | FileCheck %s

// Halves of the first 4 of 6 elements, in f16.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT: %[[Y:.*]] = graph.rope halves %arg0, %arg1, %arg2 : tensor<2x3x4x6xf16>, tensor<2x3x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<2x3x4x6xf16> {graph.name = "x"}, %cos: tensor<2x3x4xf32> {graph.name = "cos"}, %sin: tensor<2x3x4xf32> {graph.name = "sin"})
    -> (tensor<2x3x4x6xf16> {graph.name = "y"}) {
  %first = graph.slice %x offsets [0, 0, 0, 0] strides [1, 1, 1, 1] : tensor<2x3x4x6xf16> -> tensor<2x3x4x4xf16>
  %part = graph.cast %first : tensor<2x3x4x4xf16> -> tensor<2x3x4x4xf32>
  %b = graph.slice %part offsets [0, 0, 0, 2] strides [1, 1, 1, 1] : tensor<2x3x4x4xf32> -> tensor<2x3x4x2xf32>
  %a = graph.slice %part offsets [0, 0, 0, 0] strides [1, 1, 1, 1] : tensor<2x3x4x4xf32> -> tensor<2x3x4x2xf32>
  %swapped = graph.concat %b, %a dim 3 : tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32> -> tensor<2x3x4x4xf32>
  %c = graph.broadcast %cos dims [0, 1, 3] : tensor<2x3x4xf32> -> tensor<2x3x4x4xf32>
  %s = graph.broadcast %sin dims [0, 1, 3] : tensor<2x3x4xf32> -> tensor<2x3x4x4xf32>
  %0 = graph.binary mul %c, %part : tensor<2x3x4x4xf32>
  %1 = graph.binary mul %swapped, %s : tensor<2x3x4x4xf32>
  %2 = graph.binary add %1, %0 : tensor<2x3x4x4xf32>
  %3 = graph.cast %2 : tensor<2x3x4x4xf32> -> tensor<2x3x4x4xf16>
  %rest = graph.slice %x offsets [0, 0, 0, 4] strides [1, 1, 1, 1] : tensor<2x3x4x6xf16> -> tensor<2x3x4x2xf16>
  %y = graph.concat %3, %rest dim 3 : tensor<2x3x4x4xf16>, tensor<2x3x4x2xf16> -> tensor<2x3x4x6xf16>
  return %y : tensor<2x3x4x6xf16>
}

// Neighbours, where q comes flat and angles without the dimension of rows.
// CHECK-LABEL: func.func @adjacent
// CHECK: %[[X:.*]] = graph.reshape %arg0 : tensor<3x16xf32> -> tensor<1x3x4x4xf32>
// CHECK: graph.rope adjacent %[[X]], %{{.*}}, %{{.*}} : tensor<1x3x4x4xf32>, tensor<1x3x4xf32>
// CHECK-NOT: graph.binary
// CHECK: return
func.func @adjacent(%x: tensor<3x16xf32> {graph.name = "x"}, %cos: tensor<3x4xf32> {graph.name = "cos"}, %sin: tensor<3x4xf32> {graph.name = "sin"})
    -> (tensor<1x3x4x4xf32> {graph.name = "y"}) {
  %part = graph.reshape %x : tensor<3x16xf32> -> tensor<1x3x4x4xf32>
  %pairs = graph.reshape %part : tensor<1x3x4x4xf32> -> tensor<1x3x4x2x2xf32>
  %b = graph.slice %pairs offsets [0, 0, 0, 0, 1] strides [1, 1, 1, 1, 1] : tensor<1x3x4x2x2xf32> -> tensor<1x3x4x2x1xf32>
  %a = graph.slice %pairs offsets [0, 0, 0, 0, 0] strides [1, 1, 1, 1, 1] : tensor<1x3x4x2x2xf32> -> tensor<1x3x4x2x1xf32>
  %joined = graph.concat %b, %a dim 4 : tensor<1x3x4x2x1xf32>, tensor<1x3x4x2x1xf32> -> tensor<1x3x4x2x2xf32>
  %swapped = graph.reshape %joined : tensor<1x3x4x2x2xf32> -> tensor<1x3x4x4xf32>
  %c = graph.broadcast %cos dims [1, 3] : tensor<3x4xf32> -> tensor<1x3x4x4xf32>
  %s = graph.broadcast %sin dims [1, 3] : tensor<3x4xf32> -> tensor<1x3x4x4xf32>
  %0 = graph.binary mul %part, %c : tensor<1x3x4x4xf32>
  %1 = graph.binary mul %swapped, %s : tensor<1x3x4x4xf32>
  %y = graph.binary add %0, %1 : tensor<1x3x4x4xf32>
  return %y : tensor<1x3x4x4xf32>
}

// Halves in their order are no exchange; angles of each head no common ones; a
// product that is used again isn't the rotation's.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.rope
// CHECK: return
func.func @others(%x: tensor<2x4x4xf32> {graph.name = "x"}, %cos: tensor<2x4xf32> {graph.name = "cos"}, %all: tensor<2x4x4xf32> {graph.name = "all"})
    -> (tensor<2x4x4xf32> {graph.name = "y"}, tensor<2x4x4xf32> {graph.name = "z"}, tensor<2x4x4xf32> {graph.name = "u"}, tensor<2x4x4xf32> {graph.name = "v"}) {
  %c = graph.broadcast %cos dims [0, 2] : tensor<2x4xf32> -> tensor<2x4x4xf32>
  %b = graph.slice %x offsets [0, 0, 2] strides [1, 1, 1] : tensor<2x4x4xf32> -> tensor<2x4x2xf32>
  %a = graph.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x4xf32> -> tensor<2x4x2xf32>
  %same = graph.concat %a, %b dim 2 : tensor<2x4x2xf32>, tensor<2x4x2xf32> -> tensor<2x4x4xf32>
  %swapped = graph.concat %b, %a dim 2 : tensor<2x4x2xf32>, tensor<2x4x2xf32> -> tensor<2x4x4xf32>
  %0 = graph.binary mul %x, %c : tensor<2x4x4xf32>
  %1 = graph.binary mul %same, %c : tensor<2x4x4xf32>
  %y = graph.binary add %0, %1 : tensor<2x4x4xf32>
  %2 = graph.binary mul %x, %all : tensor<2x4x4xf32>
  %3 = graph.binary mul %swapped, %all : tensor<2x4x4xf32>
  %z = graph.binary add %2, %3 : tensor<2x4x4xf32>
  %4 = graph.binary mul %swapped, %c : tensor<2x4x4xf32>
  %u = graph.binary add %0, %4 : tensor<2x4x4xf32>
  return %y, %z, %u, %4 : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
}
