//===- OperandLayout.h - Where a kernel finds a tensor ----------*- C++ -*-===//
//
// A strided view of a buffer: what transpose, reshape, slice and broadcast
// become in a plan instead of copies.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_PLANNER_OPERANDLAYOUT_H
#define POOT_PLANNER_OPERANDLAYOUT_H

#include "Poot/Dialect/Graph/GraphOps.h"
#include <optional>

namespace poot::planner {

using Extents = llvm::SmallVector<int64_t, 4>;

/// Bytes an element takes on a device: i1 is a 32-bit word there, 0 or 1.
int64_t deviceElementBytes(mlir::Type element);

/// Bytes of a dense tensor or packed weight on a device; of one row where the
/// outermost extent is open. (Devices allocate and bind whole 32-bit words.)
int64_t deviceBytes(mlir::Type type);

/// Row-major strides of `shape`, in elements.
Extents denseStrides(llvm::ArrayRef<int64_t> shape);

/// How a kernel addresses one operand. Element `index` of a tensor lies
/// `offset + sum(index[i] * strides[i])` elements after the argument's start.
/// A packed operand counts offset and strides in bytes; its innermost dimension
/// is always whole and has stride 0.
struct OperandLayout {
  /// A graph element type or a graph.packed type.
  mlir::Type element;
  Extents shape;
  Extents strides;
  int64_t offset = 0;
  /// Set where every element is this value: such an operand takes no argument.
  mlir::TypedAttr literal;
  /// Set where the outermost extent is open: the state it belongs to. `shape`
  /// then starts with ShapedType::kDynamic.
  mlir::FlatSymbolRefAttr openState;

  static OperandLayout dense(mlir::Type type);
  static OperandLayout splat(mlir::Type type, mlir::TypedAttr value);

  bool isPacked() const;
  bool isDense() const;
  /// Elements; only where no extent is open.
  int64_t count() const;
  /// Bytes from the argument's start to the end of the last element; -1 where
  /// an open extent leaves it to the session.
  int64_t spanBytes() const;
  /// A line that is equal exactly for equal layouts.
  std::string key() const;

  OperandLayout transpose(llvm::ArrayRef<int64_t> permutation) const;
  OperandLayout slice(llvm::ArrayRef<int64_t> offsets,
                      llvm::ArrayRef<int64_t> steps,
                      llvm::ArrayRef<int64_t> extents) const;
  OperandLayout broadcast(llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> extents) const;
  /// Nothing where no strides give the new shape.
  std::optional<OperandLayout> reshape(llvm::ArrayRef<int64_t> extents) const;
};

/// Drops unit dimensions and merges neighbours that every layout steps through
/// alike. All layouts have one shape, which may become rank 0.
void collapseDims(llvm::MutableArrayRef<OperandLayout> layouts);

} // namespace poot::planner

#endif
