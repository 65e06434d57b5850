// A table of 234 MiB, more than one binding holds: it is computed, gathered from
// and multiplied with in parts, with the oracle's results.

// RUN: poot-compile %s --print-plan | FileCheck %s
// RUN: poot-compile %s -o %t.poot
// RUN: poot-run %t.poot --entry f --input shift=%S/Inputs/one.npy --output rows=%t.device-rows.npy --output sums=%t.device-sums.npy
// RUN: poot-eval %s --input=shift=%S/Inputs/one.npy --output=rows=%t.oracle-rows.npy --output=sums=%t.oracle-sums.npy
// RUN: cmp %t.device-rows.npy %t.oracle-rows.npy
// RUN: cmp %t.device-sums.npy %t.oracle-sums.npy

// CHECK: iota_i32_30000x1024 {{.*}} =
// CHECK: iota_i32_30000x1024.1 {{.*}} =
// CHECK: program f
// CHECK: gather_f32_3x1024
// CHECK: gather_f32_3x1024.1
// CHECK: matmul_f32_1x1024_1024x30000
// CHECK: matmul_f32_1x1024_1024x30000
func.func @f(%shift: tensor<1xi32> {graph.name = "shift"})
    -> (tensor<3x1024xf32> {graph.name = "rows"},
        tensor<1x60000xf32> {graph.name = "sums"}) {
  %row = graph.iota dim 0 : tensor<60000x1024xi32>
  %column = graph.iota dim 1 : tensor<60000x1024xi32>
  %seven = graph.constant dense<7> : tensor<60000x1024xi32>
  %mask = graph.constant dense<255> : tensor<60000x1024xi32>
  %a = graph.binary mul %row, %seven : tensor<60000x1024xi32>
  %b = graph.binary add %a, %column : tensor<60000x1024xi32>
  %c = graph.binary and %b, %mask : tensor<60000x1024xi32>
  %table = graph.cast %c : tensor<60000x1024xi32> -> tensor<60000x1024xf32>

  %first = graph.constant dense<[0, 31000, 59998]> : tensor<3xi32>
  %shifts = graph.broadcast %shift dims [0] : tensor<1xi32> -> tensor<3xi32>
  %indices = graph.binary add %first, %shifts : tensor<3xi32>
  %rows = graph.gather %table, %indices dim 0 : tensor<60000x1024xf32>, tensor<3xi32> -> tensor<3x1024xf32>

  %one = graph.cast %shift : tensor<1xi32> -> tensor<1xf32>
  %ones = graph.broadcast %one dims [0] : tensor<1xf32> -> tensor<1x1024xf32>
  %columns = graph.transpose %table [1, 0] : tensor<60000x1024xf32> -> tensor<1024x60000xf32>
  // Sums of integers below 2^24 are exact in any order.
  %sums = graph.matmul %ones, %columns : tensor<1x1024xf32>, tensor<1024x60000xf32> -> tensor<1x60000xf32>
  return %rows, %sums : tensor<3x1024xf32>, tensor<1x60000xf32>
}
