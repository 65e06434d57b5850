// RUN: poot-opt %s --plan-lower-graph --plan-erase-graph | FileCheck %s

graph.const @w : tensor<8x4xf32>
graph.const @rows : !graph.packed<q8_0, gguf, 6x32>
graph.const @stack : !graph.packed<q8_0, gguf, 2x3x32>
graph.const @table : tensor<70000x1024xf32>
graph.state @cache : tensor<?x4xf32>
graph.state @sum : tensor<4xf32>

// Views become strides and offsets of one dispatch.
// CHECK-LABEL: plan.program @"views.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 64 type tensor<2x8xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "y" bytes 24 type tensor<2x3xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer const "w" bytes 128
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.dispatch @matmul_f32_2x4_4x3 grid {{.*}}(%[[V0]], %[[V2]], %[[V1]]) [#plan.arg<read 0 : 64>, #plan.arg<read 0 : 128>, #plan.arg<write 0 : 24>] metadata []
func.func @views(%x: tensor<2x8xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<8x4xf32>
  %t = graph.transpose %w [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %s = graph.slice %t offsets [1, 1] strides [1, 2] : tensor<4x8xf32> -> tensor<3x4xf32>
  %r = graph.reshape %x : tensor<2x8xf32> -> tensor<2x2x4xf32>
  %a = graph.slice %r offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x2x4xf32> -> tensor<2x1x4xf32>
  %b = graph.reshape %a : tensor<2x1x4xf32> -> tensor<2x4xf32>
  %u = graph.transpose %s [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %y = graph.matmul %b, %u : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A transposed value has no strides as a line, and a slot is no output: copies.
// CHECK-LABEL: plan.program @"copies.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 96 type tensor<4x6xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "y" bytes 96 type tensor<24xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer output "same" bytes 96 type tensor<4x6xf32>
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.buffer arena bytes 96
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.dispatch @copy_f32_6x4 grid {{.*}}(%[[V0]], %[[V3]]) [#plan.arg<read 0 : 96>, #plan.arg<write 0 : 96>] metadata []
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.copy %[[V3]][0] to %[[V1]][0] bytes 96
// CHECK-NEXT: %[[V6:[0-9]+]] = plan.copy %[[V0]][0] to %[[V2]][0] bytes 96
func.func @copies(%x: tensor<4x6xf32> {graph.name = "x"}) -> (tensor<24xf32> {graph.name = "y"}, tensor<4x6xf32> {graph.name = "same"}) {
  %t = graph.transpose %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %y = graph.reshape %t : tensor<6x4xf32> -> tensor<24xf32>
  return %y, %x : tensor<24xf32>, tensor<4x6xf32>
}

// A value that two outputs share is computed once.
// CHECK-LABEL: plan.program @"shared.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 20 type tensor<5xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "a" bytes 20 type tensor<5xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer output "b" bytes 20 type tensor<5xf32>
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.dispatch @neg_f32_5 grid {{.*}}(%[[V0]], %[[V1]]) [#plan.arg<read 0 : 20>, #plan.arg<write 0 : 20>] metadata []
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.copy %[[V1]][0] to %[[V2]][0] bytes 20
func.func @shared(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xf32> {graph.name = "a"}, tensor<5xf32> {graph.name = "b"}) {
  %y = graph.unary neg %x : tensor<5xf32>
  return %y, %y : tensor<5xf32>, tensor<5xf32>
}

// A splat is part of the kernel; other literals are data.
// CHECK-LABEL: plan.program @"literals.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 12 type tensor<3xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "y" bytes 12 type tensor<3xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer const "literal" bytes 12
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.buffer arena bytes 12
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.dispatch @mul_f32_3 grid {{.*}}(%[[V0]], %[[V3]]) [#plan.arg<read 0 : 12>, #plan.arg<write 0 : 12>] metadata []
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.dispatch @add_f32_3 grid {{.*}}(%[[V3]], %[[V2]], %[[V1]]) [#plan.arg<read 0 : 12>, #plan.arg<read 0 : 12>, #plan.arg<write 0 : 12>] metadata []
func.func @literals(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %s = graph.constant dense<2.0> : tensor<3xf32>
  %l = graph.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %m = graph.binary mul %x, %s : tensor<3xf32>
  %y = graph.binary add %m, %l : tensor<3xf32>
  return %y : tensor<3xf32>
}

// Scatters that lead from a state to its own new value update it in place. An
// open extent reaches the kernel as metadata.
// CHECK-LABEL: plan.program @"in_place.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "i" bytes 8 type tensor<2xi32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer slot "u" bytes 32 type tensor<2x4xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer output "y" bytes 48 type tensor<3x4xf32>
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.buffer state "cache" bytes 16
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.buffer const "literal.1" bytes 12
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.dispatch @scatter_i32_nx4 grid {{.*}}(%[[V0]], %[[V1]], %[[V3]]) [#plan.arg<read 0 : 8>, #plan.arg<read 0 : 32>, #plan.arg<read_write 0 : -1 touches 32>] metadata [#plan.extent<@cache>]
// CHECK-NEXT: %[[V6:[0-9]+]] = plan.dispatch @scatter_i32_nx4 grid {{.*}}(%[[V0]], %[[V1]], %[[V3]]) [#plan.arg<read 0 : 8>, #plan.arg<read 0 : 32>, #plan.arg<read_write 0 : -1 touches 32>] metadata [#plan.extent<@cache>]
// CHECK-NEXT: %[[V7:[0-9]+]] = plan.dispatch @gather_f32_3x4 grid {{.*}}(%[[V3]], %[[V4]], %[[V2]]) [#plan.arg<read 0 : -1 touches 48>, #plan.arg<read 0 : 12>, #plan.arg<write 0 : 48>] metadata [#plan.extent<@cache>]
func.func @in_place(%i: tensor<2xi32> {graph.name = "i"}, %u: tensor<2x4xf32> {graph.name = "u"}) -> (tensor<3x4xf32> {graph.name = "y"}) {
  %old = graph.get @cache : tensor<?x4xf32>
  %a = graph.scatter %old, %i, %u : tensor<?x4xf32>, tensor<2xi32>, tensor<2x4xf32>
  %b = graph.scatter %a, %i, %u : tensor<?x4xf32>, tensor<2xi32>, tensor<2x4xf32>
  graph.set @cache, %b : tensor<?x4xf32>
  %j = graph.constant dense<[0, 1, 2]> : tensor<3xi32>
  %y = graph.gather %b, %j dim 0 : tensor<?x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// Any other value is computed apart and copied: the old one may still be read.
// CHECK-LABEL: plan.program @"replaced.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 16 type tensor<4xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer state "sum" bytes 16
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer arena bytes 16
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.dispatch @add_f32_4 grid {{.*}}(%[[V1]], %[[V0]], %[[V2]]) [#plan.arg<read 0 : 16>, #plan.arg<read 0 : 16>, #plan.arg<write 0 : 16>] metadata []
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.copy %[[V2]][0] to %[[V1]][0] bytes 16
func.func @replaced(%x: tensor<4xf32> {graph.name = "x"}) {
  %old = graph.get @sum : tensor<4xf32>
  %new = graph.binary add %old, %x : tensor<4xf32>
  graph.set @sum, %new : tensor<4xf32>
  return
}

// A reader that folding has moved behind the update gets a copy from before it.
// CHECK-LABEL: plan.program @"kept.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "i" bytes 4 type tensor<1xi32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer slot "u" bytes 4 type tensor<1xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer output "y" bytes 16 type tensor<4xf32>
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.buffer state "sum" bytes 16
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.buffer arena bytes 16
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.copy %[[V3]][0] to %[[V4]][0] bytes 16
// CHECK-NEXT: %[[V6:[0-9]+]] = plan.dispatch @scatter_i32_4 grid {{.*}}(%[[V0]], %[[V1]], %[[V3]]) [#plan.arg<read 0 : 4>, #plan.arg<read 0 : 4>, #plan.arg<read_write 0 : 16 touches 4>] metadata []
// CHECK-NEXT: %[[V7:[0-9]+]] = plan.copy %[[V4]][0] to %[[V2]][0] bytes 16
func.func @kept(%i: tensor<1xi32> {graph.name = "i"}, %u: tensor<1xf32> {graph.name = "u"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %old = graph.get @sum : tensor<4xf32>
  %new = graph.scatter %old, %i, %u : tensor<4xf32>, tensor<1xi32>, tensor<1xf32>
  graph.set @sum, %new : tensor<4xf32>
  return %old : tensor<4xf32>
}

// Packed rows move as bytes.
// CHECK-LABEL: plan.program @"packed.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer output "y" bytes 512 type tensor<4x32xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer const "rows" bytes 204
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer arena bytes 136
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.copy %[[V1]][34] to %[[V2]][0] bytes 68
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.copy %[[V1]][34] to %[[V2]][68] bytes 68
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.dispatch @packed_dequant_q8_0_4x32 grid {{.*}}(%[[V2]], %[[V0]]) [#plan.arg<read 0 : 136>, #plan.arg<write 0 : 512>] metadata []
func.func @packed() -> (tensor<4x32xf32> {graph.name = "y"}) {
  %w = graph.get @rows : !graph.packed<q8_0, gguf, 6x32>
  %s = graph.slice %w offsets [1, 0] strides [1, 1] : !graph.packed<q8_0, gguf, 6x32> -> !graph.packed<q8_0, gguf, 2x32>
  %c = graph.concat %s, %s dim 0 : !graph.packed<q8_0, gguf, 2x32>, !graph.packed<q8_0, gguf, 2x32> -> !graph.packed<q8_0, gguf, 4x32>
  %y = graph.packed_dequant %c : !graph.packed<q8_0, gguf, 4x32> -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// Those of a stack, where they follow each other: of each matrix one.
// CHECK-LABEL: plan.program @"packed_stack.vulkan:base"
// CHECK-COUNT-2: plan.buffer
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer arena bytes 136
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.copy %{{[0-9]+}}[34] to %[[V2]][0] bytes 34
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.copy %{{[0-9]+}}[136] to %[[V2]][34] bytes 34
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.copy %{{[0-9]+}}[34] to %[[V2]][68] bytes 34
// CHECK-NEXT: %[[V6:[0-9]+]] = plan.copy %{{[0-9]+}}[136] to %[[V2]][102] bytes 34
func.func @packed_stack() -> (tensor<4x1x32xf32> {graph.name = "y"}) {
  %w = graph.get @stack : !graph.packed<q8_0, gguf, 2x3x32>
  %s = graph.slice %w offsets [0, 1, 0] strides [1, 1, 1] : !graph.packed<q8_0, gguf, 2x3x32> -> !graph.packed<q8_0, gguf, 2x1x32>
  %c = graph.concat %s, %s dim 0 : !graph.packed<q8_0, gguf, 2x1x32>, !graph.packed<q8_0, gguf, 2x1x32> -> !graph.packed<q8_0, gguf, 4x1x32>
  %y = graph.packed_dequant %c : !graph.packed<q8_0, gguf, 4x1x32> -> tensor<4x1x32xf32>
  return %y : tensor<4x1x32xf32>
}

// A table beyond the 128 MiB that one binding holds: each part writes the rows
// that it has.
// CHECK-LABEL: plan.program @"too_large.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "i" bytes 28 type tensor<7xi32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "y" bytes 28672 type tensor<7x1024xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer const "table" bytes 286720000
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.dispatch @gather_f32_7x1024 grid {{.*}}(%[[V2]], %[[V0]], %[[V1]]) [#plan.arg<read 0 : 95576064 touches 28672>, #plan.arg<read 0 : 28>, #plan.arg<read_write 0 : 28672>] metadata []
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.dispatch @gather_f32_7x1024.1 grid {{.*}}(%[[V2]], %[[V0]], %[[V1]]) [#plan.arg<read 95576064 : 95576064 touches 28672>, #plan.arg<read 0 : 28>, #plan.arg<read_write 0 : 28672>] metadata []
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.dispatch @gather_f32_7x1024.2 grid {{.*}}(%[[V2]], %[[V0]], %[[V1]]) [#plan.arg<read 191152128 : 95567872 touches 28672>, #plan.arg<read 0 : 28>, #plan.arg<read_write 0 : 28672>] metadata []
func.func @too_large(%i: tensor<7xi32> {graph.name = "i"}) -> (tensor<7x1024xf32> {graph.name = "y"}) {
  %t = graph.get @table : tensor<70000x1024xf32>
  %y = graph.gather %t, %i dim 0 : tensor<70000x1024xf32>, tensor<7xi32> -> tensor<7x1024xf32>
  return %y : tensor<7x1024xf32>
}

// A weight beyond it: the outputs are split, and each part reads its rows.
// CHECK-LABEL: plan.program @"split.vulkan:base"
// CHECK-NEXT: %[[V0:[0-9]+]] = plan.buffer slot "x" bytes 4096 type tensor<1x1024xf32>
// CHECK-NEXT: %[[V1:[0-9]+]] = plan.buffer output "y" bytes 280000 type tensor<1x70000xf32>
// CHECK-NEXT: %[[V2:[0-9]+]] = plan.buffer const "table" bytes 286720000
// CHECK-NEXT: %[[V3:[0-9]+]] = plan.dispatch @matmul_f32_1x1024_1024x23334 grid {{.*}}(%[[V0]], %[[V2]], %[[V1]]) [#plan.arg<read 0 : 4096>, #plan.arg<read 0 : 95576064>, #plan.arg<write 0 : 93336>] metadata []
// CHECK-NEXT: %[[V4:[0-9]+]] = plan.dispatch @matmul_f32_1x1024_1024x23334.1 grid {{.*}}(%[[V0]], %[[V2]], %[[V1]]) [#plan.arg<read 0 : 4096>, #plan.arg<read 95576064 : 95576064>, #plan.arg<write 93184 : 93488>] metadata []
// CHECK-NEXT: %[[V5:[0-9]+]] = plan.dispatch @matmul_f32_1x1024_1024x23332 grid {{.*}}(%[[V0]], %[[V2]], %[[V1]]) [#plan.arg<read 0 : 4096>, #plan.arg<read 191152128 : 95567872>, #plan.arg<write 186624 : 93376>] metadata []
func.func @split(%x: tensor<1x1024xf32> {graph.name = "x"}) -> (tensor<1x70000xf32> {graph.name = "y"}) {
  %t = graph.get @table : tensor<70000x1024xf32>
  %w = graph.transpose %t [1, 0] : tensor<70000x1024xf32> -> tensor<1024x70000xf32>
  %y = graph.matmul %x, %w : tensor<1x1024xf32>, tensor<1024x70000xf32> -> tensor<1x70000xf32>
  return %y : tensor<1x70000xf32>
}
