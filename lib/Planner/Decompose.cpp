//===- Decompose.cpp - Composites that no kernel holds --------------------===//
//
// Implements plan-decompose.
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"
#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Planner/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {
#define GEN_PASS_DEF_PLANDECOMPOSE
#include "Poot/Planner/PlannerPasses.h.inc"

namespace {

bool hasKernel(CompositeOpInterface composite) {
  return TypeSwitch<Operation *, bool>(composite)
      .Case<AttentionOp>([](auto op) { return hasAttentionKernel(op); })
      .Case<RopeOp>([](auto op) { return hasRopeKernel(op); })
      .Case<FusedOp>([](auto) { return false; })
      .Default([](Operation *) { return true; });
}

struct Decompose : impl::PlanDecomposeBase<Decompose> {
  void runOnOperation() override {
    SmallVector<CompositeOpInterface> found;
    getOperation().walk([&](CompositeOpInterface op) {
      if (!hasKernel(op))
        found.push_back(op);
    });
    for (CompositeOpInterface op : found)
      graph::decompose(op);
  }
};

} // namespace
} // namespace poot::planner
