// A rotation that goes into rows of a cache alone is written there by its
// kernel; rows of an index outside are dropped, as a scatter drops them.
// RUN: poot-opt %s --plan-lower-graph=target=vulkan:f16 | FileCheck %s
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c 'import numpy as n; r = n.random.default_rng(1); [n.save(k + ".npy", r.normal(size=s).astype("f")) for k, s in dict(x=(1, 3, 2, 6), c=(1, 3, 4), s=(1, 3, 4)).items()]; n.save("i.npy", n.array([[5, -1, 2]], "i4"))'
// RUN: poot-eval %s --function cached --input=x=x.npy --input=c=c.npy --input=s=s.npy --input=i=i.npy --output=y=oracle.npy
// RUN: poot-compile %s --target vulkan:f16 --target vulkan:cpu --target interp -o m.poot
// RUN: poot-run m.poot --entry cached --target vulkan:f16 --input x=x.npy --input c=c.npy --input s=s.npy --input i=i.npy --output y=f16.npy
// RUN: poot-run m.poot --entry cached --target vulkan:cpu --input x=x.npy --input c=c.npy --input s=s.npy --input i=i.npy --output y=cpu.npy
// RUN: poot-run m.poot --entry cached --device interp --sanitize --input x=x.npy --input c=c.npy --input s=s.npy --input i=i.npy --output y=interp.npy
// RUN: %python -c 'import numpy as n; o = n.load("oracle.npy"); assert (abs(o).sum((1, 2)) > 0).tolist() == [i in (2, 5) for i in range(8)]; [n.testing.assert_allclose(n.load(f + ".npy"), o, atol=2e-6) for f in ("f16", "cpu", "interp")]'

graph.state @k : tensor<8x2x6xf32>

// CHECK-LABEL: plan.program @"cached.vulkan:f16"
// CHECK-NOT: scatter
// CHECK: plan.dispatch @rope_f32_8x2x6 {{.*}} [#plan.arg<read 0 : 144>, #plan.arg<read 0 : 48>, #plan.arg<read 0 : 48>, #plan.arg<read 0 : 12>, #plan.arg<read_write 0 : 384 touches 144>]
// CHECK-NOT: scatter
// CHECK: plan.dispatch @gather
func.func @cached(%x: tensor<1x3x2x6xf32> {graph.name = "x"}, %c: tensor<1x3x4xf32> {graph.name = "c"}, %s: tensor<1x3x4xf32> {graph.name = "s"}, %i: tensor<1x3xi32> {graph.name = "i"}) -> (tensor<8x2x6xf32> {graph.name = "y"}) {
  %old = graph.get @k : tensor<8x2x6xf32>
  %r = graph.rope halves %x, %c, %s : tensor<1x3x2x6xf32>, tensor<1x3x4xf32>
  %new = graph.scatter %old, %i, %r : tensor<8x2x6xf32>, tensor<1x3xi32>, tensor<1x3x2x6xf32>
  graph.set @k, %new : tensor<8x2x6xf32>
  %all = graph.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %y = graph.gather %new, %all dim 0 : tensor<8x2x6xf32>, tensor<8xi32> -> tensor<8x2x6xf32>
  return %y : tensor<8x2x6xf32>
}

// What the rotation gives is wanted as well.
// CHECK-LABEL: plan.program @"twice.vulkan:f16"
// CHECK: plan.dispatch @rope_f32_3x2x6
// CHECK: plan.dispatch @scatter
func.func @twice(%x: tensor<3x2x6xf32> {graph.name = "x"}, %c: tensor<3x4xf32> {graph.name = "c"}, %s: tensor<3x4xf32> {graph.name = "s"}, %i: tensor<3xi32> {graph.name = "i"}) -> (tensor<3x2x6xf32> {graph.name = "y"}) {
  %old = graph.get @k : tensor<8x2x6xf32>
  %r = graph.rope halves %x, %c, %s : tensor<3x2x6xf32>, tensor<3x4xf32>
  %new = graph.scatter %old, %i, %r : tensor<8x2x6xf32>, tensor<3xi32>, tensor<3x2x6xf32>
  graph.set @k, %new : tensor<8x2x6xf32>
  return %r : tensor<3x2x6xf32>
}
