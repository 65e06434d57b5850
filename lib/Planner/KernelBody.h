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
  KernelArguments arguments;
};

class KernelBody : private KernelFrame, public OperandAccess {
public:
  KernelBody(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
             const KernelRequest &request);

  /// Ends the invocations beyond `count` and returns this one's number. Sets
  /// the grid; call it once.
  KValue linearId(int64_t count);

  GeneratedKernel finish();

private:
  static constexpr int32_t kWorkgroupSize = 64;

  llvm::SmallVector<int64_t, 3> grid;
};

/// What an element-wise op computes of elements of its operands, in its
/// result's type. Null for any other op.
KValue computeElement(kernel::KernelBuilder &k, mlir::Operation *op,
                      llvm::ArrayRef<KValue> operands);

/// What says most of an op: the kind of an element-wise op or reduction, the
/// name of any other.
llvm::StringRef getKindName(mlir::Operation *op);

// One function a family of ops; each adds its code to `body`.
mlir::LogicalResult buildElementwise(KernelBody &body);
void buildGather(KernelBody &body);
void buildScatter(KernelBody &body);
void buildRandomBits(KernelBody &body);

} // namespace poot::planner

#endif
