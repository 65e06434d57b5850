//===- Variants.h - Which kernel of the library serves ----------*- C++ -*-===//
//
// The one table of the library's kernels by what they are good at: a request
// takes the first form of its family that can serve it on the target.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_VARIANTS_H
#define POOT_LIB_PLANNER_VARIANTS_H

#include "Poot/Planner/TargetInfo.h"

namespace poot::planner {

/// Most rows that share the loads of a weight: what an invocation or subgroup
/// takes of a product of few rows.
inline constexpr int64_t kFewRows = 8;

/// What the kernels of a family compute.
enum class Family {
  Reduce,
  Scan,
  TopK,
  Softmax,
  RmsNorm,
  LayerNorm,
  /// Products of batches of matrices.
  Product,
  /// Products of rows with a matrix that each row chooses.
  IndexedProduct,
  /// Products with a packed weight.
  PackedProduct,
  Attention,
  /// Attention to parts of the positions.
  AttentionParts,
};

/// What a request asks of a family, as far as a choice depends on it.
struct Demand {
  Family family;
  const TargetInfo &target;
  /// Rows of the result, or rows that are reduced.
  int64_t rows = 1;
  /// Elements of a row that is reduced, products of a sum, or positions that a
  /// cache has for a row.
  int64_t depth = 1;
  int64_t columns = 1;
  /// Rows choose their matrix.
  bool isIndexed = false;
  /// Sums are in f32.
  bool isF32 = false;
  /// The left operand is in f16, and so is the right one, or packed.
  bool isF16 = false;
  /// Four neighbours along the depth can be loaded at once, of either operand.
  bool hasQuads = false;
  /// The right operand's columns follow each other without gaps, the depth
  /// innermost and a multiple of four, and kernels have a form for its type.
  bool isWeight = false;
  /// A packed weight is in the planar layout.
  bool isPlanar = false;
};

/// The kernel's name, without the type that its instance ends in.
llvm::StringRef chooseVariant(const Demand &demand);

} // namespace poot::planner

#endif
