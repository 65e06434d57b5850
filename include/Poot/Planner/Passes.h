//===- Passes.h - From graph to plan ----------------------------*- C++ -*-===//

#ifndef POOT_PLANNER_PASSES_H
#define POOT_PLANNER_PASSES_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace poot::planner {

#define GEN_PASS_DECL
#include "Poot/Planner/PlannerPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "Poot/Planner/PlannerPasses.h.inc"

/// Appends the passes from a graph to a finished plan for `targets`:
/// graph-verify, poot-graph-composites, plan-decompose, graph-repack-weights,
/// graph-hoist-computed, plan-use-kernels, plan-fuse-products, plan-lower-graph
/// for each target, plan-erase-graph, plan-assign-arena, plan-add-edges.
/// `kernels` are files of the user's kernels.
void buildGraphToPlanPipeline(mlir::OpPassManager &pm,
                              llvm::ArrayRef<std::string> targets,
                              bool testVectors,
                              llvm::ArrayRef<std::string> kernels = {});

/// Registers `poot-graph-to-plan`.
void registerPipelines();

} // namespace poot::planner

#endif
