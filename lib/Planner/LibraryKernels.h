//===- LibraryKernels.h - Ops that kernels of the library serve -*- C++ -*-===//
//
// A function for each op, which chooses a form and fills its hooks.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_LIBRARYKERNELS_H
#define POOT_LIB_PLANNER_LIBRARYKERNELS_H

#include "LibraryKernel.h"
#include "Poot/Planner/TargetInfo.h"

namespace poot::planner {

/// A request on its way to a kernel of the library.
struct LibraryRequest {
  KernelLibrary &library;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::StringRef name;
  const KernelRequest &request;
  const TargetInfo &target;

  /// The same with another way to put the request.
  LibraryRequest serving(const KernelRequest &other) const {
    return {library, builder, loc, name, other, target};
  }
  /// Kernel `variant`, or its instance for `type`.
  LibraryKernel instantiate(llvm::StringRef variant,
                            mlir::Type type = {}) const;
  LibraryKernel instantiate(llvm::StringRef variant,
                            llvm::StringRef instance) const;
  mlir::FailureOr<GeneratedKernel> finish(LibraryKernel &kernel) const {
    return kernel.finish(builder, name);
  }
};

/// The type that sums and keys of `element` are kept in, of which kernels have
/// instances: f32, f64, i32 or i64.
mlir::Type accumulatorOf(mlir::Type element);

mlir::FailureOr<GeneratedKernel> makeReduce(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeScan(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeArgTopK(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeSoftmax(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeRmsNorm(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeLayerNorm(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeMatmul(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel>
makeIndexedMatmul(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel>
makePackedContraction(const LibraryRequest &request);
/// A product, or two, with what element-wise ops make of the sums (Epilogue.h).
mlir::FailureOr<GeneratedKernel>
makeFusedProduct(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makePackedRows(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeRepack(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeRope(const LibraryRequest &request);
mlir::FailureOr<GeneratedKernel> makeAttention(const LibraryRequest &request);

/// True if a kernel of the library holds heads of the op's sizes.
bool hasAttentionKernel(graph::AttentionOp op);
bool hasRopeKernel(graph::RopeOp op);
/// Parts of the positions that different workgroups attend to, where whole
/// heads are too few for the target: 1, or more with a kernel that joins them.
/// The kernel of the parts has two results, values [rows, tokens, heads, parts,
/// value size] and statistics [rows, tokens, heads, parts, 2] in f32, which are
/// the inputs of the one that joins them.
int64_t chooseAttentionSplits(graph::AttentionOp op, const TargetInfo &target);

} // namespace poot::planner

#endif
