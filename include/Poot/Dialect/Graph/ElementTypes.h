//===- ElementTypes.h - Graph types and stored element types ----*- C++ -*-===//
//
// The graph dialect's types in terms of weights/'s one table of stored element
// types, from which names, block sizes and byte sizes come.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_ELEMENTTYPES_H
#define POOT_DIALECT_GRAPH_ELEMENTTYPES_H

#include "Poot/Dialect/Graph/GraphOps.h"
#include "poot/weights/element_type.h"

namespace poot::graph {

/// The stored type of a packed encoding; both spell their names alike.
weights::ElementType getElementType(PackedEncoding encoding);

/// The stored type of a tensor's element type, i1 as `Bool`; nothing for a
/// type that is no element type of the dialect.
std::optional<weights::ElementType> getElementType(mlir::Type element);

/// The type of a const that a checkpoint stores as TYPE with SHAPE: a tensor,
/// or a packed type in layout `gguf`. Null where the graph dialect has no such
/// type (fp8, unsigned integers, Bool), or the extents break its rules.
mlir::Type getConstType(mlir::MLIRContext *context, weights::ElementType type,
                        llvm::ArrayRef<int64_t> shape);

/// What a const of TYPE is stored as, and its extents, outermost first.
weights::ElementType getStoredType(mlir::Type type);
llvm::ArrayRef<int64_t> getShape(mlir::Type type);

/// Bytes of a row, the innermost extent, in the type's layout. Rows follow each
/// other, so that slices and concatenations of rows are those of bytes.
int64_t getPackedRowBytes(PackedType type);
/// Bytes of the whole weight: less than two an element.
int64_t getPackedBytes(PackedType type);

} // namespace poot::graph

#endif
