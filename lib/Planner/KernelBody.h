//===- KernelBody.h - What the kernel bodies share --------------*- C++ -*-===//
//
// The frame of a generated kernel: its arguments, the addressing of operands by
// their layouts, and the invocation's number in the grid.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_KERNELBODY_H
#define POOT_LIB_PLANNER_KERNELBODY_H

#include "OperandAccess.h"

namespace poot::planner {

/// What a kernel body is built on, before its operands can be addressed.
struct KernelFrame {
  KernelFrame(mlir::OpBuilder &builder, mlir::Location loc,
              llvm::StringRef name, int32_t workgroupSize)
      : builder(builder, loc, name, {workgroupSize, 1, 1}) {}
  kernel::KernelBuilder builder;
};

class KernelBody : private KernelFrame, public OperandAccess {
public:
  KernelBody(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
             const KernelRequest &request, int32_t workgroupSize = 64);

  /// Ends the invocations beyond `count` and returns this one's number. Sets
  /// the grid; call it once.
  KValue linearId(int64_t count);
  /// One workgroup for each of `count`; returns this one's number.
  KValue linearWorkgroup(int64_t count);

  GeneratedKernel finish();

private:
  KValue linearWorkgroupId(int64_t workgroups);

  int32_t workgroupSize;
  llvm::SmallVector<int64_t, 3> grid;
};

/// Combines two values as a reduction of `kind` does. Floats are f32 or f64.
KValue combine(kernel::KernelBuilder &k, graph::ReduceKind kind, KValue lhs,
               KValue rhs);
/// The neutral element of `kind`.
KValue neutral(kernel::KernelBuilder &k, graph::ReduceKind kind,
               mlir::Type type);
/// The value converted as graph.cast does, from an i1 or element type.
KValue convert(kernel::KernelBuilder &k, KValue value, mlir::Type type);

// One function a family of ops; each adds its code to `body`.
mlir::LogicalResult buildElementwise(KernelBody &body);
void buildGather(KernelBody &body);
void buildScatter(KernelBody &body);
void buildReduce(KernelBody &body);
void buildScan(KernelBody &body);
void buildArgTopK(KernelBody &body);
void buildMatmul(KernelBody &body);
void buildIndexedMatmul(KernelBody &body);
void buildPackedDequant(KernelBody &body);
void buildRandomBits(KernelBody &body);

/// Invocations of a workgroup that a product wants.
int32_t matmulWorkgroupSize(const KernelRequest &request);
/// Invocations of a workgroup that the ops above want.
int32_t workgroupSizeFor(const KernelRequest &request);

} // namespace poot::planner

#endif
