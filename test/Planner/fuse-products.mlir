// RUN: poot-opt %s --plan-fuse-products --split-input-file | FileCheck %s
// Which kernels compute it; fuse-products-run.mlir has what they compute.
// RUN: poot-opt %s --split-input-file --plan-fuse-products --plan-lower-graph=target=vulkan:cpu \
// RUN:   | FileCheck %s --check-prefix=KERNEL

graph.const @gate : !graph.packed<q4_0, planar, 64x32>
graph.const @up : !graph.packed<q4_0, planar, 64x32>

// A feed-forward layer's gate and up are one kernel, reshapes between or not.
// CHECK-LABEL: func.func @gated
// CHECK-SAME: (%[[X:[^:]*]]: tensor<1x32xf32>
// CHECK-DAG: %[[G:[^ ]*]] = graph.get @gate
// CHECK-DAG: %[[U:[^ ]*]] = graph.get @up
// CHECK: %[[Y:[^ ]*]] = graph.fused "product_neg_exp_add_div_mul"(%[[X]], %[[G]], %[[U]]) :
// CHECK-NEXT: ^bb0(%[[A:[^:]*]]: tensor<1x32xf32>, %[[B:[^:]*]]: !graph.packed<{{.*}}>, %[[C:[^:]*]]: !graph.packed<{{.*}}>):
// CHECK-DAG: graph.packed_contraction %[[A]], %[[B]]
// CHECK-DAG: graph.packed_contraction %[[A]], %[[C]]
// CHECK-DAG: graph.constant dense<1.0
// CHECK: graph.yield
// CHECK: return %[[Y]]
// KERNEL: kernel.func @product_neg_exp_add_div_mul_f32_1x1x64({{.*}}plan.variant = "packed_gated_lane_q4_0_planar"
func.func @gated(%x: tensor<1x32xf32> {graph.name = "x"}) -> (tensor<1x1x64xf32> {graph.name = "y"}) {
  %one = graph.constant dense<1.0> : tensor<1x1x64xf32>
  %g = graph.get @gate : !graph.packed<q4_0, planar, 64x32>
  %u = graph.get @up : !graph.packed<q4_0, planar, 64x32>
  %0 = graph.packed_contraction %x, %g : tensor<1x32xf32>, !graph.packed<q4_0, planar, 64x32> -> tensor<1x64xf32>
  %1 = graph.reshape %0 : tensor<1x64xf32> -> tensor<1x1x64xf32>
  %2 = graph.packed_contraction %x, %u : tensor<1x32xf32>, !graph.packed<q4_0, planar, 64x32> -> tensor<1x64xf32>
  %3 = graph.reshape %2 : tensor<1x64xf32> -> tensor<1x1x64xf32>
  %4 = graph.unary neg %1 : tensor<1x1x64xf32>
  %5 = graph.unary exp %4 : tensor<1x1x64xf32>
  %6 = graph.binary add %5, %one : tensor<1x1x64xf32>
  %7 = graph.binary div %1, %6 : tensor<1x1x64xf32>
  %8 = graph.binary mul %7, %3 : tensor<1x1x64xf32>
  return %8 : tensor<1x1x64xf32>
}

// -----

graph.const @w : tensor<32x64xf32>
graph.state @s : tensor<4x64xf32>

// The sum goes on to a residual; what it gives has other uses.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Y:[^ ]*]] = graph.fused "product_add"(%{{.*}}, %{{.*}}, %[[R:[^)]*]])
// CHECK: graph.reduce sum %[[Y]]
// CHECK: return %[[Y]]
// KERNEL: kernel.func @product_add_f32_4x64({{.*}}plan.variant = "matmul_f32"
func.func @residual(%x: tensor<4x32xf32> {graph.name = "x"}, %r: tensor<4x64xf32> {graph.name = "r"}) -> (tensor<4x64xf32> {graph.name = "y"}, tensor<4xf32> {graph.name = "z"}) {
  %w = graph.get @w : tensor<32x64xf32>
  %0 = graph.matmul %x, %w : tensor<4x32xf32>, tensor<32x64xf32> -> tensor<4x64xf32>
  %1 = graph.binary add %r, %0 : tensor<4x64xf32>
  %2 = graph.reduce sum %1 dims [1] : tensor<4x64xf32> -> tensor<4xf32>
  return %1, %2 : tensor<4x64xf32>, tensor<4xf32>
}

// The product itself is wanted as well.
// CHECK-LABEL: func.func @used_twice
// CHECK-NOT: graph.fused
// CHECK: return
func.func @used_twice(%x: tensor<4x32xf32> {graph.name = "x"}) -> (tensor<4x64xf32> {graph.name = "y"}, tensor<4x64xf32> {graph.name = "z"}) {
  %w = graph.get @w : tensor<32x64xf32>
  %0 = graph.matmul %x, %w : tensor<4x32xf32>, tensor<32x64xf32> -> tensor<4x64xf32>
  %1 = graph.unary neg %0 : tensor<4x64xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xf32>
}

// The old value of the state that an update in between replaces stays where it
// is read.
// CHECK-LABEL: func.func @state
// CHECK-NOT: graph.fused
// CHECK: return
func.func @state(%x: tensor<4x32xf32> {graph.name = "x"}) -> (tensor<4x64xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<32x64xf32>
  %old = graph.get @s : tensor<4x64xf32>
  %0 = graph.matmul %x, %w : tensor<4x32xf32>, tensor<32x64xf32> -> tensor<4x64xf32>
  graph.set @s, %old : tensor<4x64xf32>
  %1 = graph.binary add %0, %old : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// What is bound are 240 MB, which a kernel reads in parts.
// CHECK-LABEL: func.func @large
// CHECK-NOT: graph.fused
// CHECK: return
graph.const @table : tensor<60000x1024xf32>
func.func @large(%x: tensor<60000x4xf32> {graph.name = "x"}, %v: tensor<4x8xf32> {graph.name = "v"}) -> (tensor<60000x8xf32> {graph.name = "y"}, tensor<60000x8xf32> {graph.name = "z"}) {
  %table = graph.get @table : tensor<60000x1024xf32>
  %0 = graph.matmul %x, %v : tensor<60000x4xf32>, tensor<4x8xf32> -> tensor<60000x8xf32>
  %1 = graph.slice %table offsets [0, 0] strides [1, 1] : tensor<60000x1024xf32> -> tensor<60000x8xf32>
  %2 = graph.binary add %0, %1 : tensor<60000x8xf32>
  %3 = graph.slice %table offsets [0, 4] strides [1, 1] : tensor<60000x1024xf32> -> tensor<60000x4xf32>
  %4 = graph.matmul %3, %v : tensor<60000x4xf32>, tensor<4x8xf32> -> tensor<60000x8xf32>
  %5 = graph.unary neg %4 : tensor<60000x8xf32>
  return %2, %5 : tensor<60000x8xf32>, tensor<60000x8xf32>
}

// A matrix that is both a factor and an element-wise op's operand is an operand
// of the fused op each time: its columns are rows to the product's kernel.
// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x4xf32>
// CHECK: graph.fused "product_add"(%[[X]], %[[X]], %[[X]])
// CHECK-NEXT: ^bb0(%{{[^:]*}}: {{[^,]*}}, %[[B:[^:]*]]: {{[^,]*}}, %[[C:[^:]*]]: tensor<4x4xf32>):
// CHECK: %[[P:[^ ]*]] = graph.matmul %{{[^,]*}}, %[[B]]
// CHECK: graph.binary add %[[P]], %[[C]]
func.func @square(%x: tensor<4x4xf32> {graph.name = "x"}) -> (tensor<4x4xf32> {graph.name = "y"}) {
  %0 = graph.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = graph.binary add %0, %x : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// A scatter into a state updates it in place, so that what reads the old value
// stays before it.
// CHECK-LABEL: func.func @update
// CHECK-NOT: graph.fused
// CHECK: return
func.func @update(%x: tensor<4x32xf32> {graph.name = "x"}, %i: tensor<1xi32> {graph.name = "i"}, %u: tensor<1x64xf32> {graph.name = "u"}) -> (tensor<4x64xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<32x64xf32>
  %old = graph.get @s : tensor<4x64xf32>
  %0 = graph.matmul %x, %w : tensor<4x32xf32>, tensor<32x64xf32> -> tensor<4x64xf32>
  %new = graph.scatter %old, %i, %u : tensor<4x64xf32>, tensor<1xi32>, tensor<1x64xf32>
  %1 = graph.unary neg %0 : tensor<4x64xf32>
  graph.set @s, %new : tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}
