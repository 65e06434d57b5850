//===- Match.h - What rewrites of the graph have in common ------*- C++ -*-===//
//
// Recognizing computations whatever views, unit dimensions and operand orders
// stand between their parts.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_DIALECT_GRAPH_TRANSFORMS_MATCH_H
#define POOT_LIB_DIALECT_GRAPH_TRANSFORMS_MATCH_H

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace poot::graph {

/// A value seen through the ops that only reorder and repeat dimensions or add
/// and drop those of extent 1.
struct DimView {
  mlir::Value source;
  /// For each dimension of the value the one of `source` that runs along it; -1
  /// where elements repeat and for every dimension of extent 1. Every dimension
  /// of `source` with a larger extent occurs once.
  llvm::SmallVector<int64_t> dims;
};

/// VALUE's view as far back as it goes, through at most CASTS casts between
/// floats.
DimView viewDims(mlir::Value value, int casts = 0);

/// The dims of a view of OUTER's source, seen from OUTER's value.
llvm::SmallVector<int64_t> compose(llvm::ArrayRef<int64_t> outer,
                                   llvm::ArrayRef<int64_t> inner);

/// SOURCE as a tensor of SHAPE along whose dimension i source dimension DIMS[i]
/// runs (-1: elements repeat, or the extent is 1). Null where that takes more
/// than a broadcast.
mlir::Value rebuild(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value source, llvm::ArrayRef<int64_t> dims,
                    llvm::ArrayRef<int64_t> shape);

/// VALUE before any reshapes.
mlir::Value stripReshapes(mlir::Value value);
/// The op that defines VALUE before reshapes that add or drop extents of 1.
mlir::Operation *definition(mlir::Value value);
template <class Op> Op definitionAs(mlir::Value value) {
  return mlir::dyn_cast_or_null<Op>(definition(value));
}

/// The element that all of VALUE has, if it is a float literal.
std::optional<llvm::APFloat> getSplat(mlir::Value value);
/// The other operand where one is a float literal splat.
struct SplatOperand {
  mlir::Value other;
  llvm::APFloat splat;
};
std::optional<SplatOperand> matchSplat(BinaryOp op);

/// Whether VIEW of a value of SHAPE repeats along the innermost dimension alone
/// and has the other dimensions in order.
bool isRowBroadcast(const DimView &view, llvm::ArrayRef<int64_t> shape);

/// Whether VALUE is a float reduction of KIND over the innermost dimension of
/// OPERAND (any operand, where it is null).
ReduceOp matchRowReduce(mlir::Value value, ReduceKind kind);

/// The operand of the f32 softmax over the innermost dimension that VALUE is;
/// null where it is none. Matches the composite and its primitives.
mlir::Value matchSoftmax(mlir::Value value);

/// Whether all that ROOT computes from INPUTS is used for ROOT alone. Views of
/// inputs and of literals may have other uses, and other operands than INPUTS
/// may not occur.
bool isClosed(mlir::Operation *root, llvm::ArrayRef<mlir::Value> inputs);

/// The only user of VALUE, if it is an Op.
template <class Op> Op onlyUser(mlir::Value value) {
  return value.hasOneUse() ? mlir::dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Erases the ops of MODULE's functions that nothing uses.
void eraseDeadOps(mlir::ModuleOp module);

inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline bool isF32(mlir::Value value) {
  return getTensorType(value).getElementType().isF32();
}

} // namespace poot::graph

#endif
