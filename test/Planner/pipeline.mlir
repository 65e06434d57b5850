// RUN: poot-opt %s --poot-graph-to-plan | FileCheck %s
// RUN: poot-compile %s --print-plan | FileCheck %s --check-prefix=TABLE

graph.const @w : tensor<8x8xf32>

// What depends on constants alone runs in the load program. Buffers that don't
// live at once share bytes, and each command waits for what it reads or
// overwrites.
// CHECK: graph.computed @w.neg : tensor<8x8xf32>
// CHECK: plan.program @"__load.vulkan:base" target "vulkan:base" attributes
// CHECK: plan.dispatch @neg_f32_8x8
// CHECK-LABEL: plan.program @"chain.vulkan:base"
// CHECK-SAME: arena_size = 512
// CHECK: %[[A:[0-9]+]] = plan.buffer arena bytes 64 at 0
// CHECK: %[[B:[0-9]+]] = plan.buffer arena bytes 64 at 256
// CHECK: %[[C:[0-9]+]] = plan.buffer arena bytes 64 at 0
// CHECK: %[[M:[0-9]+]] = plan.dispatch @matmul_f32_2x8_8x8 {{.*}}(%0, %2, %[[A]])
// CHECK: %[[E:[0-9]+]] = plan.dispatch @scan_sum_f32_2x8 {{.*}}(%[[A]], %[[B]]) {{.*}} after(%[[M]])
// CHECK: %[[T:[0-9]+]] = plan.dispatch @tanh_f32_2x8 {{.*}}(%[[B]], %[[C]]) {{.*}} after(%[[E]])
// CHECK: plan.dispatch @add_f32_2x8 {{.*}}(%[[C]], %0, %1) {{.*}} after(%[[T]])
// CHECK-NOT: func.func

// TABLE-LABEL: program __load.vulkan:base on vulkan:base
// TABLE: 0 neg_f32_8x8 1x1x1 const:w =computed:w.neg
// TABLE-LABEL: program chain.vulkan:base on vulkan:base, entry chain
// TABLE-NEXT: # command grid arguments
// TABLE-NEXT: 0 matmul_f32_2x8_8x8 {{.*}} slot:x computed:w.neg =%0
// TABLE-NEXT: 1 scan_sum_f32_2x8 2x1x1 %0 =%1 after 0
// TABLE-NEXT: 2 tanh_f32_2x8 1x1x1 %1 =%2 after 1
// TABLE-NEXT: 3 add_f32_2x8 1x1x1 %2 slot:x =output:y after 2
// TABLE-NEXT: 4 commands; {{.*}} 3 arena buffers (192 B); arena 512 B

func.func @chain(%x: tensor<2x8xf32> {graph.name = "x"}) -> (tensor<2x8xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<8x8xf32>
  %n = graph.unary neg %w : tensor<8x8xf32>
  %a = graph.matmul %x, %n : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %b = graph.scan sum %a dim 1 : tensor<2x8xf32>
  %c = graph.unary tanh %b : tensor<2x8xf32>
  %d = graph.binary add %c, %x : tensor<2x8xf32>
  return %d : tensor<2x8xf32>
}
