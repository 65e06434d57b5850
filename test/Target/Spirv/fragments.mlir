// Fragments: cooperative matrices where the target has the product, else loops
// over the rows that a lane holds.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:coopmat | FileCheck %s --check-prefix=MATRIX
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:f16 | FileCheck %s --check-prefix=LOOPS
// RUN: poot-translate --kernel-to-spirv --kernel product --target=vulkan:f16 %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: poot-translate --kernel-to-spirv --kernel other --target=vulkan:coopmat %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// spirv-val of 2023 doesn't know cooperative matrices; what is written is read
// again instead.
// RUN: poot-translate --kernel-to-spirv --kernel product --target=vulkan:coopmat %s -o %t.spv
// RUN: not spirv-val --target-env vulkan1.3 %t.spv 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: Invalid capability operand: 6022
// RUN: poot-translate --kernel-to-spirv --kernel product --target=vulkan:coopmat %s | poot-translate --spirv-to-mlir | FileCheck %s --check-prefix=AGAIN

!a = !kernel.fragment<16x16xf16, a>
!b = !kernel.fragment<16x16xf16, b>
!c = !kernel.fragment<16x16xf32, accumulator>

// MATRIX-LABEL: spirv.module @product
// MATRIX-SAME: requires #spirv.vce<v1.6, [Shader, StorageBuffer16BitAccess, CooperativeMatrixKHR, Float16], [SPV_KHR_16bit_storage, SPV_KHR_cooperative_matrix]>
// MATRIX-DAG: %[[SUM:.*]] = spirv.Variable : !spirv.ptr<!spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>, Function>
// MATRIX: spirv.CompositeConstruct %{{.*}} : (f32) -> !spirv.coopmatrix<16x16xf32, Subgroup, MatrixAcc>
// MATRIX: spirv.mlir.loop
// MATRIX: %[[A:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, %{{.*}}, <RowMajor> : !spirv.ptr<f16, StorageBuffer>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// MATRIX: %[[B:.*]] = spirv.KHR.CooperativeMatrixLoad %{{.*}}, %{{.*}}, <ColumnMajor> : !spirv.ptr<f16, StorageBuffer>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// MATRIX: %[[D:.*]] = spirv.KHR.CooperativeMatrixMulAdd %[[A]], %[[B]], %{{.*}}
// MATRIX: spirv.Store "Function" %{{.*}}, %[[D]]
// MATRIX: spirv.KHR.CooperativeMatrixStore
// MATRIX: spirv.ExecutionMode @product "LocalSize", 32, 1, 1

// LOOPS-LABEL: spirv.module @product
// LOOPS-NOT: coopmatrix
// LOOPS-DAG: spirv.GroupNonUniformIAdd <Subgroup> <ExclusiveScan>
// LOOPS-DAG: spirv.GroupNonUniformIAdd <Subgroup> <Reduce>
// LOOPS-DAG: spirv.Variable : !spirv.ptr<!spirv.array<16 x !spirv.array<16 x f32>>, Function>
// LOOPS: spirv.mlir.loop control(DontUnroll)

// AGAIN: spirv.KHR.CooperativeMatrixMulAdd
kernel.func @product(%x: !kernel.buffer<f16, read>, %y: !kernel.buffer<f16, read>,
                     %z: !kernel.buffer<f32, write>, %k: i32, %n: i32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0.0 : f32
  %none = kernel.fragment_fill %zero : !c
  cf.br ^head(%c0, %none : i32, !c)
^head(%i: i32, %sum: !c):
  %go = arith.cmpi slt, %i, %k : i32
  cf.cond_br %go, ^body, ^exit
^body:
  %a = kernel.fragment_load row %x[%i], %k : !kernel.buffer<f16, read> -> !a
  %b = kernel.fragment_load column %y[%i], %k : !kernel.buffer<f16, read> -> !b
  %d = kernel.fragment_mma %a, %b, %sum : !a, !b -> !c
  %j = arith.addi %i, %c16 : i32
  cf.br ^head(%j, %d : i32, !c)
^exit:
  kernel.fragment_store row %sum, %z[%c0], %n : !c, !kernel.buffer<f32, write>
  kernel.return
}

// A product that vulkan:coopmat hasn't got.
// MATRIX-LABEL: spirv.module @other
// MATRIX-NOT: coopmatrix
// MATRIX: spirv.EntryPoint "GLCompute" @other
kernel.func @other(%x: !kernel.buffer<i8, read>, %z: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %a = kernel.fragment_load row %x[%c0], %c16
      : !kernel.buffer<i8, read> -> !kernel.fragment<16x16xi8, a>
  %b = kernel.fragment_load row %x[%c0], %c16
      : !kernel.buffer<i8, read> -> !kernel.fragment<16x16xi8, b>
  %c = kernel.fragment_fill %c0 : !kernel.fragment<16x16xi32, accumulator>
  %d = kernel.fragment_mma %a, %b, %c
      : !kernel.fragment<16x16xi8, a>, !kernel.fragment<16x16xi8, b>
      -> !kernel.fragment<16x16xi32, accumulator>
  kernel.fragment_store row %d, %z[%c0], %c16
      : !kernel.fragment<16x16xi32, accumulator>, !kernel.buffer<i32, write>
  kernel.return
}
