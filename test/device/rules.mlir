// What the oracle refuses and devices define: G-binary-3, G-binary-4,
// G-gather-3, G-scatter-4, G-indexed_matmul-3. Both runs are of one manifest.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python -c "import numpy as n; n.save('%t/a.npy', n.array([7, -7, -2**31, 1, -1, 9], n.int32)); n.save('%t/b.npy', n.array([0, 0, -1, 33, -1, 64], n.int32)); n.save('%t/i.npy', n.array([-5, 1, 99], n.int32)); n.save('%t/x.npy', n.arange(6, dtype=n.float32).reshape(3, 2) + 1); open('%t/runs.json', 'w').write('{\"runs\": [{\"entry\": \"integers\", \"inputs\": {\"a\": \"a.npy\", \"b\": \"b.npy\"}}, {\"entry\": \"indices\", \"inputs\": {\"i\": \"i.npy\", \"x\": \"x.npy\"}, \"steps\": 2}]}')"
// RUN: poot-compile %s -o %t/m.poot
// RUN: poot-run %t/m.poot --manifest %t/runs.json | FileCheck %s
// RUN: %python -c "open('%t/bad.json', 'w').write('{\"runs\": [{\"entry\": \"integers\", \"input\": {}}]}')"
// RUN: not poot-run %t/m.poot --manifest %t/bad.json 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: %python -c "open('%t/none.json', 'w').write('[')"
// RUN: not poot-run %t/m.poot --manifest %t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not poot-run %t/m.poot --manifest %t/runs.json --steps 2 2>&1 | FileCheck %s --check-prefix=STEPS

// BAD: bad.json: runs[0].input: keys of a run are entry (a string), inputs, outputs (objects) and steps (a number above 0)
// NONE: none.json: a JSON object with the array "runs" alone is needed
// STEPS: --steps requires --entry

// CHECK: quotient (i32 6): 0 0 -2147483648 0 1 0
// CHECK: remainder (i32 6): 0 0 0 1 0 9
// CHECK: left (i32 6): 7 -7 0 2 -2147483648 9
// CHECK: right (i32 6): 7 -7 -1 0 -1 9
func.func @integers(%a: tensor<6xi32> {graph.name = "a"}, %b: tensor<6xi32> {graph.name = "b"}) -> (tensor<6xi32> {graph.name = "quotient"}, tensor<6xi32> {graph.name = "remainder"}, tensor<6xi32> {graph.name = "left"}, tensor<6xi32> {graph.name = "right"}) {
  %q = graph.binary div %a, %b : tensor<6xi32>
  %r = graph.binary rem %a, %b : tensor<6xi32>
  %s = graph.binary shl %a, %b : tensor<6xi32>
  %t = graph.binary shr_s %a, %b : tensor<6xi32>
  return %q, %r, %s, %t : tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>
}

// CHECK: rows (f32 3x2): 1 2 3 4 5 6
// CHECK: updated (f32 3x2): 1 2 3 4 5 6
// CHECK: products (f32 3x1): 5 25 61
func.func @indices(%i: tensor<3xi32> {graph.name = "i"}, %x: tensor<3x2xf32> {graph.name = "x"}) -> (tensor<3x2xf32> {graph.name = "rows"}, tensor<3x2xf32> {graph.name = "updated"}, tensor<3x1xf32> {graph.name = "products"}) {
  %g = graph.gather %x, %i dim 0 : tensor<3x2xf32>, tensor<3xi32> -> tensor<3x2xf32>
  %s = graph.scatter %x, %i, %g : tensor<3x2xf32>, tensor<3xi32>, tensor<3x2xf32>
  %w = graph.reshape %x : tensor<3x2xf32> -> tensor<3x2x1xf32>
  %m = graph.indexed_matmul %x, %w, %i : tensor<3x2xf32>, tensor<3x2x1xf32>, tensor<3xi32> -> tensor<3x1xf32>
  return %g, %s, %m : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x1xf32>
}
