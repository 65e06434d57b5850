// What KIR doesn't hold is named where it stands.
// RUN: rm -rf %t && split-file %s %t
// RUN: not poot-translate --kernel-to-kir-json %t/rank.mlir 2>&1 | FileCheck %t/rank.mlir
// RUN: not poot-translate --kernel-to-kir-json %t/width.mlir 2>&1 | FileCheck %t/width.mlir
// RUN: not poot-translate --kernel-to-kir-json %t/operation.mlir 2>&1 | FileCheck %t/operation.mlir
// RUN: not poot-translate --kernel-to-kir-json %t/attribute.mlir 2>&1 | FileCheck %t/attribute.mlir
// RUN: not poot-translate --kernel-to-kir-json %t/function.mlir 2>&1 | FileCheck %t/function.mlir
// RUN: not poot-translate --kernel-to-kir-json %t/memory.mlir 2>&1 | FileCheck %t/memory.mlir

//--- rank.mlir
// CHECK: rank.mlir:[[@LINE+2]]:{{[0-9]+}}: error: has a value of type 'vector<2x2xf32>', which KIR doesn't hold
kernel.func @rank(%x: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = arith.constant dense<0.0> : vector<2x2xf32>
  kernel.return
}

//--- width.mlir
// CHECK: width.mlir:[[@LINE+2]]:{{[0-9]+}}: error: has a value of type 'i7', which KIR doesn't hold
kernel.func @width(%x: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = arith.trunci %x : i32 to i7
  kernel.return
}

//--- operation.mlir
// CHECK: operation.mlir:[[@LINE+2]]:{{[0-9]+}}: error: is no operation of KIR
kernel.func @operation(%x: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = math.ipowi %x, %x : i32
  kernel.return
}

//--- attribute.mlir
// CHECK: attribute.mlir:[[@LINE+2]]:{{[0-9]+}}: error: has the attribute 'extra', which KIR doesn't hold
kernel.func @attribute(%x: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = arith.addi %x, %x {extra} : i32
  kernel.return
}

//--- function.mlir
// CHECK: function.mlir:[[@LINE+1]]:{{[0-9]+}}: error: has the attribute 'extra', which KIR doesn't hold
kernel.func @function(%x: i32) attributes {workgroup_size = array<i32: 1, 1, 1>, extra} {
  kernel.return
}

//--- memory.mlir
// CHECK: memory.mlir:[[@LINE+1]]:{{[0-9]+}}: error: can't become KIR: kernel 'memory': block 1 takes buffer<f32, read>; only scalars, vectors and fragments are passed on
module {
  kernel.func @memory(%x: !kernel.buffer<f32, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
    cf.br ^next(%x : !kernel.buffer<f32, read>)
  ^next(%y: !kernel.buffer<f32, read>):
    kernel.return
  }
}
