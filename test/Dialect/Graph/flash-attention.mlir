// Attention that isn't traced from a model: without groups, with a mask by
// choice, in f16 over an f32 cache; and what only looks like it.
// test/Model/composites.test has the traced forms.
//
// RUN: poot-opt %s --graph-flash-attention --graph-verify | FileCheck %s
// RUN: poot-opt %s --graph-row-norms --graph-flash-attention --canonicalize --graph-verify | FileCheck %s

graph.state @k : tensor<20x3x4xf32>
graph.state @v : tensor<20x3x5xf32>

// CHECK-LABEL: func.func @choice
// CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %arg1 scale 5.000000e-01 : tensor<2x6x3x4xf16>, tensor<20x3x4xf32>, tensor<20x3x5xf32>, tensor<2x6xi32> -> tensor<2x6x3x5xf16>
// CHECK-NOT: graph.matmul
// CHECK-NOT: graph.softmax
// CHECK: return
func.func @choice(%q: tensor<2x3x6x4xf16> {graph.name = "q"}, %pos: tensor<2x6xi32> {graph.name = "pos"}) -> (tensor<2x3x6x5xf16> {graph.name = "y"}) {
  %k = graph.get @k : tensor<20x3x4xf32>
  %k4 = graph.reshape %k : tensor<20x3x4xf32> -> tensor<2x10x3x4xf32>
  %kt = graph.transpose %k4 [0, 2, 3, 1] : tensor<2x10x3x4xf32> -> tensor<2x3x4x10xf32>
  %kh = graph.cast %kt : tensor<2x3x4x10xf32> -> tensor<2x3x4x10xf16>
  %s = graph.matmul %q, %kh : tensor<2x3x6x4xf16>, tensor<2x3x4x10xf16> -> tensor<2x3x6x10xf32>
  %two = graph.constant dense<2.0> : tensor<2x3x6x10xf32>
  %scaled = graph.binary div %s, %two : tensor<2x3x6x10xf32>
  %iota = graph.iota dim 0 : tensor<10xi32>
  %key = graph.broadcast %iota dims [3] : tensor<10xi32> -> tensor<2x3x6x10xi32>
  %zero = graph.constant dense<0> : tensor<2x6xi32>
  %at = graph.binary max %zero, %pos : tensor<2x6xi32>
  %query = graph.broadcast %at dims [0, 2] : tensor<2x6xi32> -> tensor<2x3x6x10xi32>
  %hidden = graph.compare lt %query, %key : tensor<2x3x6x10xi32>
  %low = graph.constant dense<0xFF800000> : tensor<2x3x6x10xf32>
  %masked = graph.select %hidden, %low, %scaled : tensor<2x3x6x10xf32>
  %max = graph.reduce max %masked dims [3] : tensor<2x3x6x10xf32> -> tensor<2x3x6xf32>
  %maxs = graph.broadcast %max dims [0, 1, 2] : tensor<2x3x6xf32> -> tensor<2x3x6x10xf32>
  %shifted = graph.binary sub %masked, %maxs : tensor<2x3x6x10xf32>
  %powers = graph.unary exp %shifted : tensor<2x3x6x10xf32>
  %sum = graph.reduce sum %powers dims [3] : tensor<2x3x6x10xf32> -> tensor<2x3x6xf32>
  %sums = graph.broadcast %sum dims [0, 1, 2] : tensor<2x3x6xf32> -> tensor<2x3x6x10xf32>
  %p = graph.binary div %powers, %sums : tensor<2x3x6x10xf32>
  %ph = graph.cast %p : tensor<2x3x6x10xf32> -> tensor<2x3x6x10xf16>
  %v = graph.get @v : tensor<20x3x5xf32>
  %v4 = graph.reshape %v : tensor<20x3x5xf32> -> tensor<2x10x3x5xf32>
  %vt = graph.transpose %v4 [0, 2, 1, 3] : tensor<2x10x3x5xf32> -> tensor<2x3x10x5xf32>
  %vh = graph.cast %vt : tensor<2x3x10x5xf32> -> tensor<2x3x10x5xf16>
  %y = graph.matmul %ph, %vh : tensor<2x3x6x10xf16>, tensor<2x3x10x5xf16> -> tensor<2x3x6x5xf16>
  return %y : tensor<2x3x6x5xf16>
}

// The mask hides what comes before; where positions may be negative all would
// be hidden; weights are used again; and the cache is overwritten in between.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.attention
// CHECK: return
func.func @others(%q: tensor<1x3x6x4xf32> {graph.name = "q"}, %pos: tensor<1x6xi32> {graph.name = "pos"}, %new: tensor<20x3x5xf32> {graph.name = "new"})
    -> (tensor<1x3x6x5xf32> {graph.name = "a"}, tensor<1x3x6x5xf32> {graph.name = "b"}, tensor<1x3x6x5xf32> {graph.name = "c"},
        tensor<1x3x6x20xf32> {graph.name = "w"}, tensor<1x3x6x5xf32> {graph.name = "d"}) {
  %k = graph.get @k : tensor<20x3x4xf32>
  %kt = graph.transpose %k [1, 2, 0] : tensor<20x3x4xf32> -> tensor<3x4x20xf32>
  %kr = graph.reshape %kt : tensor<3x4x20xf32> -> tensor<1x3x4x20xf32>
  %v = graph.get @v : tensor<20x3x5xf32>
  %vt = graph.transpose %v [1, 0, 2] : tensor<20x3x5xf32> -> tensor<3x20x5xf32>
  %vr = graph.reshape %vt : tensor<3x20x5xf32> -> tensor<1x3x20x5xf32>
  %iota = graph.iota dim 0 : tensor<20xi32>
  %key = graph.broadcast %iota dims [3] : tensor<20xi32> -> tensor<1x3x6x20xi32>
  %zero = graph.constant dense<0> : tensor<1x6xi32>
  %at = graph.binary max %pos, %zero : tensor<1x6xi32>
  %query = graph.broadcast %at dims [0, 2] : tensor<1x6xi32> -> tensor<1x3x6x20xi32>
  %raw = graph.broadcast %pos dims [0, 2] : tensor<1x6xi32> -> tensor<1x3x6x20xi32>
  %low = graph.constant dense<-1.0e30> : tensor<1x3x6x20xf32>

  %s0 = graph.matmul %q, %kr : tensor<1x3x6x4xf32>, tensor<1x3x4x20xf32> -> tensor<1x3x6x20xf32>
  %later = graph.compare ge %key, %query : tensor<1x3x6x20xi32>
  %m0 = graph.select %later, %s0, %low : tensor<1x3x6x20xf32>
  %p0 = graph.softmax %m0 : tensor<1x3x6x20xf32>
  %a = graph.matmul %p0, %vr : tensor<1x3x6x20xf32>, tensor<1x3x20x5xf32> -> tensor<1x3x6x5xf32>

  %s1 = graph.matmul %q, %kr : tensor<1x3x6x4xf32>, tensor<1x3x4x20xf32> -> tensor<1x3x6x20xf32>
  %seen1 = graph.compare le %key, %raw : tensor<1x3x6x20xi32>
  %m1 = graph.select %seen1, %s1, %low : tensor<1x3x6x20xf32>
  %p1 = graph.softmax %m1 : tensor<1x3x6x20xf32>
  %b = graph.matmul %p1, %vr : tensor<1x3x6x20xf32>, tensor<1x3x20x5xf32> -> tensor<1x3x6x5xf32>

  %s2 = graph.matmul %q, %kr : tensor<1x3x6x4xf32>, tensor<1x3x4x20xf32> -> tensor<1x3x6x20xf32>
  %seen = graph.compare le %key, %query : tensor<1x3x6x20xi32>
  %m2 = graph.select %seen, %s2, %low : tensor<1x3x6x20xf32>
  %p2 = graph.softmax %m2 : tensor<1x3x6x20xf32>
  %c = graph.matmul %p2, %vr : tensor<1x3x6x20xf32>, tensor<1x3x20x5xf32> -> tensor<1x3x6x5xf32>

  %s3 = graph.matmul %q, %kr : tensor<1x3x6x4xf32>, tensor<1x3x4x20xf32> -> tensor<1x3x6x20xf32>
  %m3 = graph.select %seen, %s3, %low : tensor<1x3x6x20xf32>
  %p3 = graph.softmax %m3 : tensor<1x3x6x20xf32>
  // A copy of the values, so that the product may come later.
  %copy = graph.unary neg %vr : tensor<1x3x20x5xf32>
  %zeros = graph.constant dense<0> : tensor<1xi32>
  %row = graph.slice %k offsets [0, 0, 0] strides [1, 1, 1] : tensor<20x3x4xf32> -> tensor<1x3x4xf32>
  %rows = graph.unary neg %row : tensor<1x3x4xf32>
  %k2 = graph.scatter %k, %zeros, %rows : tensor<20x3x4xf32>, tensor<1xi32>, tensor<1x3x4xf32>
  graph.set @k, %k2 : tensor<20x3x4xf32>
  %d = graph.matmul %p3, %copy : tensor<1x3x6x20xf32>, tensor<1x3x20x5xf32> -> tensor<1x3x6x5xf32>
  return %a, %b, %c, %p2, %d : tensor<1x3x6x5xf32>, tensor<1x3x6x5xf32>, tensor<1x3x6x5xf32>, tensor<1x3x6x20xf32>, tensor<1x3x6x5xf32>
}
