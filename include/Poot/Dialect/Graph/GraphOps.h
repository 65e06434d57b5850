//===- GraphOps.h - The graph dialect ---------------------------*- C++ -*-===//
//
// Types, attributes and ops of the graph dialect: the tensor program of one
// step of a model. docs/graph-semantics.md says what each op means.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_GRAPHOPS_H
#define POOT_DIALECT_GRAPH_GRAPHOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Poot/Dialect/Graph/GraphTypes.h"

#include "Poot/Dialect/Graph/GraphDialect.h.inc"
#include "Poot/Dialect/Graph/GraphEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Graph/GraphTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Graph/GraphAttributes.h.inc"

#include "Poot/Dialect/Graph/GraphInterfaces.h.inc"

#define GET_OP_CLASSES
#include "Poot/Dialect/Graph/GraphOps.h.inc"

namespace poot::graph {

/// Name of the attribute that names an entry's slots and outputs.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
/// Name of the function attribute that holds an entry's key.
inline constexpr llvm::StringLiteral kEntryAttr = "graph.entry";
/// Name of the module attribute that names the load function.
inline constexpr llvm::StringLiteral kLoadAttr = "graph.load";

} // namespace poot::graph

#endif
