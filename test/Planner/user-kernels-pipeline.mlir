// A kernel of the user's in the pipeline: an operand beyond a binding is split,
// a value that depends on constants alone is computed by the load program, what
// no kernel is for stays as it is, and the file's kernels don't.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: pootc -std=c++20 -fsyntax-only %S/Inputs/user_kernels.cpp
// RUN: poot-opt %s --poot-graph-to-plan='targets=vulkan:base kernels=my_sub.kir.json,my_norm.kir.json,my_decay.kir.json' -o plan.mlir
// RUN: FileCheck %s < plan.mlir
// RUN: FileCheck %s --check-prefix=KERNELS \
// RUN:   --implicit-check-not=kernel.hook --implicit-check-not=spec_constant < plan.mlir

// KERNELS-DAG: kernel.func @my_sub_f32_8(
// KERNELS-DAG: kernel.func @my_sub_f32_23334x1024(
// KERNELS-DAG: kernel.func @my_norm_f32_23334x1024(

graph.const @w : tensor<8xf32>
graph.state @s : tensor<8xf32>

// CHECK-LABEL: plan.program @"__load.vulkan:base"
// CHECK: plan.dispatch @my_sub_f32_8 grid [1, 1, 1]

// CHECK-LABEL: plan.program @"small.vulkan:base"
// CHECK-NOT: @my_sub
// CHECK: plan.dispatch @add_f32_8
func.func @small(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<8xf32>
  %0 = graph.unary exp %w : tensor<8xf32>
  %1 = graph.binary sub %w, %0 : tensor<8xf32>
  %2 = graph.binary add %1, %x : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-LABEL: plan.program @"large.vulkan:base"
// CHECK: plan.dispatch @my_sub_f32_23334x1024 grid [32768, 12, 1]
// CHECK: plan.dispatch @my_sub_f32_23334x1024
// CHECK: plan.dispatch @my_sub_f32_23332x1024
// CHECK: plan.dispatch @my_norm_f32_23334x1024 grid [23334, 1, 1]
// CHECK: plan.dispatch @my_norm_f32_23334x1024
// CHECK: plan.dispatch @my_norm_f32_23332x1024
func.func @large(%x: tensor<70000x1024xf32> {graph.name = "x"}, %s: tensor<1024xf32> {graph.name = "s"})
    -> (tensor<70000x1024xf32> {graph.name = "y"}) {
  %0 = graph.binary sub %x, %x : tensor<70000x1024xf32>
  %1 = graph.rms_norm %0 scale %s epsilon 1.0e-5 : tensor<70000x1024xf32>, tensor<1024xf32>
  return %1 : tensor<70000x1024xf32>
}

// The kernel runs where its last op stood. What its first one read of a state
// has been overwritten by then, and so is kept.
// CHECK-LABEL: plan.program @"state.vulkan:base"
// CHECK: %[[X:.*]] = plan.buffer slot "x"
// CHECK: %[[Y:.*]] = plan.buffer output "y"
// CHECK: %[[S:.*]] = plan.buffer state "s"
// CHECK: %[[OLD:.*]] = plan.buffer arena
// CHECK: plan.copy %[[S]][0] to %[[OLD]][0]
// CHECK: plan.copy %[[X]][0] to %[[S]][0]
// CHECK: plan.dispatch @my_decay_f32_8 grid [1, 1, 1](%[[OLD]], %[[Y]])
func.func @state(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %old = graph.get @s : tensor<8xf32>
  %0 = graph.unary neg %old : tensor<8xf32>
  graph.set @s, %x : tensor<8xf32>
  %1 = graph.unary exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
