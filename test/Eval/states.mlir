// States start as zero, are carried along, and can be given and kept.
//
// RUN: poot-eval %s --function=step --input=one=splat:1 --steps=3 | FileCheck %s --check-prefix=THREE
// RUN: poot-eval %s --function=step --input=one=splat:1 --state=count=splat:10 --output=after=%t.after.npy --dump-state=count=%t.npy
// RUN: poot-eval %s --function=step --input=one=%t.after.npy --state=count=%t.npy | FileCheck %s --check-prefix=KEPT
// RUN: not poot-eval %s --function=rows 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: poot-eval %s --function=rows --open-extent=5 | FileCheck %s --check-prefix=ROWS

graph.state @count : tensor<2xi32>

// THREE: after : tensor<2xi32>
// THREE-NEXT: [3, 3]
// KEPT: [22, 22]
func.func @step(%one: tensor<2xi32> {graph.name = "one"})
    -> (tensor<2xi32> {graph.name = "after"}) {
  %old = graph.get @count : tensor<2xi32>
  %new = graph.binary add %old, %one : tensor<2xi32>
  graph.set @count, %new : tensor<2xi32>
  return %new : tensor<2xi32>
}

// OPEN: states.mlir:[[#@LINE+1]]:1: error: 'graph.state' op has an open extent, and no extent for it was given
graph.state @open : tensor<?x2xf32>

// ROWS: y : tensor<1x2xf32>
// ROWS-NEXT: {{\[\[}}0, 0]]
func.func @rows() -> (tensor<1x2xf32> {graph.name = "y"}) {
  %old = graph.get @open : tensor<?x2xf32>
  %last = graph.constant dense<4> : tensor<1xi32>
  %y = graph.gather %old, %last dim 0 : tensor<?x2xf32>, tensor<1xi32> -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
