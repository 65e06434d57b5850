//===- Kernels.h - Kernel bodies of the graph's primitives ------*- C++ -*-===//
//
// Generates the kernel that computes one graph op on operands of given
// layouts. Shapes and strides are constants of the body, which then folds and
// unrolls; equal requests give equal kernels, so that the layers of a model
// share them.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_PLANNER_KERNELS_H
#define POOT_PLANNER_KERNELS_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "Poot/Planner/OperandLayout.h"

namespace poot::planner {

class KernelLibrary;
struct TargetInfo;

/// Attribute of a kernel.func that holds its test vector, if it has one
/// (lib/Planner/TestVectors.h gives the form).
inline constexpr llvm::StringLiteral kTestVectorAttr = "plan.test_vector";

/// Attribute of a kernel.func that was made of a kernel of the library: that
/// one's name, which bundles show as the variant.
inline constexpr llvm::StringLiteral kVariantAttr = "plan.variant";

/// What a kernel is to compute.
struct KernelRequest {
  /// The primitive; null for a copy of the one input to the one output.
  mlir::Operation *op = nullptr;
  /// A scatter takes indices and updates alone: its output holds the data. A
  /// rope with the rows of a cache as a fourth input writes its result there,
  /// as a scatter does, and its output is the cache.
  llvm::SmallVector<OperandLayout> inputs;
  llvm::SmallVector<OperandLayout> outputs;
  /// Where an operand was too large for one binding, the part that this is: of
  /// an iota, the number that it starts from; of a gather, the rows of the
  /// whole table (tableRows in all) that `inputs[0]` holds. Rows outside write
  /// nothing.
  int64_t firstRow = 0;
  int64_t tableRows = -1;

  /// True if the output keeps what the kernel doesn't write.
  bool updatesOutput() const;
  /// Equal exactly for requests that one kernel serves.
  std::string key() const;
  /// A readable symbol, such as `matmul_f32_1x576_576x1536`.
  std::string name() const;
};

/// A kernel and how it is launched.
struct GeneratedKernel {
  kernel::FuncOp func;
  llvm::SmallVector<int64_t, 3> grid;
  /// The operand of the request, counted over inputs and outputs, that each
  /// argument is: a buffer is the operand's memory, metadata its outermost
  /// extent, which is open. An operand may come more than once, and a literal
  /// never.
  llvm::SmallVector<unsigned> operands;
};

/// Makes a kernel named `name` at `builder`'s insertion point. Every primitive
/// that computes has a body; errors are reported at `loc`.
mlir::FailureOr<GeneratedKernel>
generateKernel(mlir::OpBuilder &builder, mlir::Location loc,
               llvm::StringRef name, const KernelRequest &request,
               KernelLibrary &library, const TargetInfo &target);

} // namespace poot::planner

#endif
