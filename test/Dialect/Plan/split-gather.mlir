// A table too large for one binding is split by its rows: one command for each
// part, however many columns it has.
// RUN: poot-compile %s --print-plan | FileCheck %s

graph.const @table : tensor<40000x4000xf32>

// CHECK: gather_f32_1x4000 {{.*}} const:table slot:at {{\*}}output:row
// CHECK: gather_f32_1x4000.1 {{.*}} const:table+128000000 slot:at *output:row
// CHECK: gather_f32_1x4000.4 {{.*}} const:table+512000000 slot:at *output:row
// CHECK: 5 commands
func.func @forward(%at: tensor<1xi32> {graph.name = "at"})
    -> (tensor<1x4000xf32> {graph.name = "row"}) {
  %table = graph.get @table : tensor<40000x4000xf32>
  %row = graph.gather %table, %at dim 0
      : tensor<40000x4000xf32>, tensor<1xi32> -> tensor<1x4000xf32>
  return %row : tensor<1x4000xf32>
}
