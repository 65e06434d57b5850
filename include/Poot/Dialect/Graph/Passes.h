//===- Passes.h - Passes over the graph dialect -----------------*- C++ -*-===//

#ifndef POOT_DIALECT_GRAPH_PASSES_H
#define POOT_DIALECT_GRAPH_PASSES_H

#include "Poot/Dialect/Graph/GraphOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace poot::graph {

#define GEN_PASS_DECL
#include "Poot/Dialect/Graph/Passes.h.inc"

/// What the pass graph-verify checks; reports each violation at its location.
mlir::LogicalResult verifyModule(mlir::ModuleOp module);

/// The function that MODULE's attribute graph.load names; null without one.
mlir::func::FuncOp getLoadFunction(mlir::ModuleOp module);

/// Whether OP only renames elements of its first operand: reshape, transpose,
/// slice or broadcast.
bool isView(mlir::Operation *op);

/// Replaces OP by its decomposition.
void decompose(CompositeOpInterface op);

/// Canonicalizes and finds composites, in the order in which the passes build
/// on each other. Belongs before graph-hoist-computed.
void buildCompositesPipeline(mlir::OpPassManager &pm);
/// Registers it as poot-graph-composites.
void registerPipelines();

#define GEN_PASS_REGISTRATION
#include "Poot/Dialect/Graph/Passes.h.inc"

} // namespace poot::graph

#endif
