//===- GraphTypes.h - Which tensors the graph dialect admits ----*- C++ -*-===//
//
// Predicates on types that the ops' constraints and every verifier share
// (docs/graph-semantics.md, G-type-1 to G-type-4).
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_GRAPHTYPES_H
#define POOT_DIALECT_GRAPH_GRAPHTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace poot::graph {

/// Most dimensions a tensor may have.
inline constexpr int64_t kMaxRank = 8;

/// Most elements a tensor may have, so that no byte size of one overflows.
inline constexpr int64_t kMaxElements = int64_t(1) << 48;

/// i1, i8, i16, i32, i64 (signless), f16, bf16, f32 or f64.
bool isElementType(mlir::Type type);

/// The product of SHAPE; nothing where an extent is below 1 or the product
/// exceeds kMaxElements.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// A ranked static tensor without an encoding attribute, of an element type
/// above, with extents of at least 1.
bool isTensor(mlir::Type type);

/// As isTensor, but the outermost extent may be `?`.
bool isOpenTensor(mlir::Type type);

bool isI32Tensor(mlir::Type type);
bool isBoolTensor(mlir::Type type);
/// A tensor of f16, bf16 or f32.
bool isDequantTensor(mlir::Type type);

} // namespace poot::graph

#endif
