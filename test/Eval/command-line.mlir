// Each mistake on the command line, or in a manifest, and the message it gets.
//
// RUN: not poot-eval 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: poot-eval: error: give a FILE.mlir (- for standard input) or --manifest
// RUN: not poot-eval %t.none 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: poot-eval: error: cannot open input file '{{.*}}.none'
// RUN: not poot-eval %s 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: poot-eval: error: name one of the entries with --function: 'f', 'g', 'packed'
// RUN: not poot-eval %s --function=h 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: poot-eval: error: there is no function 'h'; entries are: 'f', 'g', 'packed'
// RUN: not poot-eval %s --function=f 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: poot-eval: error: slot 'x' of 'f' needs a value; give --input=x=
// RUN: not poot-eval %s --function=f --input=z=splat:1 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: poot-eval: error: there is no slot 'z'; there are: 'x'
// RUN: not poot-eval %s --function=f --input=x 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: poot-eval: error: --input='x' isn't of the form NAME=value
// RUN: not poot-eval %s --function=f --input=x=splat:1 --input=x=splat:2 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: poot-eval: error: --input names 'x' twice
// RUN: not poot-eval %s --function=f --input=x=splat:1.5 2>&1 | FileCheck %s --check-prefix=SPLAT
// SPLAT: command-line.mlir:[[#F:]]:{{.*}}: error: slot 'x' can't be 'splat:1.5'; an integer that fits into 'i8' can
// RUN: not poot-eval %s --function=f --input=x=splat:128 2>&1 | FileCheck %s --check-prefix=FITS
// FITS: error: slot 'x' can't be 'splat:128'; an integer that fits into 'i8' can
// RUN: not poot-eval %s --function=f --input=x=random:x 2>&1 | FileCheck %s --check-prefix=SEED
// SEED: error: slot 'x' can't be 'random:x'; 'random:SEED' with a non-negative integer can
// RUN: not poot-eval %s --function=f --input=x=%t.none.npy 2>&1 | FileCheck %s --check-prefix=NONPY
// NONPY: error: slot 'x' {{.*}}.none.npy: {{.*}}no such file
// RUN: not poot-eval %s --function=f --input=x=%s 2>&1 | FileCheck %s --check-prefix=NPY
// NPY: error: slot 'x' {{.*}}command-line.mlir: not a .npy file
// RUN: poot-eval %s --function=g --input=x=splat:1 --const=w=splat:0 --output=y=%t.npy
// RUN: not poot-eval %s --function=f --input=x=%t.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: slot 'x' has type 'tensor<2xi8>' but '{{.*}}.npy' holds f32 of shape 3
// RUN: not poot-eval %s --function=f --input=x=splat:1 --output=z=%t.npy 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: poot-eval: error: there is no output 'z'; there are: 'y'
// RUN: not poot-eval %s --function=f --input=x=splat:1 --output=y=%t.none/y.npy 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: error: 'y' {{.*}}none/y.npy
// RUN: not poot-eval %s --function=f --input=x=splat:1 --const=v=splat:1 2>&1 | FileCheck %s --check-prefix=CONSTNAME
// CONSTNAME: poot-eval: error: there is no constant 'v'; there are: 'w', 'q', 'p'
// RUN: not poot-eval %s --function=f --input=x=splat:1 --state=v=splat:1 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: poot-eval: error: there is no state 'v'; there are: none
// RUN: not poot-eval %s --function=f --input=x=splat:1 --steps=0 2>&1 | FileCheck %s --check-prefix=STEPS
// STEPS: poot-eval: error: --steps must be at least 1
// RUN: not poot-eval %s --function=g --input=x=splat:1 2>&1 | FileCheck %s --check-prefix=NOCONST
// NOCONST: 'graph.const' op has no value; give --weights or --const=w=
// RUN: not poot-eval %s --function=packed --const=q=splat:1 2>&1 | FileCheck %s --check-prefix=PACKED
// PACKED: 'graph.const' op has type '!graph.packed<q4_0, gguf, 2x32>', whose values come from --weights alone
// RUN: not poot-eval %s --function=f --weights=%s 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: poot-eval: error: {{.*}}command-line.mlir
// RUN: not poot-eval %s --manifest=%s 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: poot-eval: error: give either FILE.mlir or --manifest, not both
// RUN: not poot-eval --manifest=%s 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: poot-eval: error: {{.*}}command-line.mlir: [1:{{.*}}Invalid JSON value
// RUN: echo '[]' > %t.json && not poot-eval --manifest=%t.json 2>&1 | FileCheck %s --check-prefix=RUNS
// RUNS: poot-eval: error: {{.*}}.json: expected an object with the array 'runs' when parsing manifest
// RUN: echo '{"runs": [{"file": "a", "input": {}}]}' > %t.json && not poot-eval --manifest=%t.json 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: poot-eval: error: {{.*}}.json: no such key of a run at manifest.runs[0].input
// RUN: echo '{"runs": [{"file": "%s", "function": "h"}, {"file": "%s", "function": "f", "inputs": {"x": "splat:3"}}]}' > %t.json && not poot-eval --manifest=%t.json > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=REST < %t.out
// REST-DAG: poot-eval: error: run 0 ('h' of {{.*}}) failed
// REST-DAG: [-3, -3]

graph.const @w : tensor<3xf32>
graph.const @q : !graph.packed<q4_0, gguf, 2x32>
graph.const @p : !graph.packed<q4_0, planar, 2x32>

func.func @f(%x: tensor<2xi8> {graph.name = "x"}) -> (tensor<2xi8> {graph.name = "y"}) {
  %y = graph.unary neg %x : tensor<2xi8>
  return %y : tensor<2xi8>
}

func.func @g(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<3xf32>
  %y = graph.binary add %x, %w : tensor<3xf32>
  return %y : tensor<3xf32>
}

func.func @packed() -> (tensor<2x32xf32> {graph.name = "y"}) {
  %q = graph.get @q : !graph.packed<q4_0, gguf, 2x32>
  %y = graph.packed_dequant %q : !graph.packed<q4_0, gguf, 2x32> -> tensor<2x32xf32>
  return %y : tensor<2x32xf32>
}
