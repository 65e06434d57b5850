//===- Decompose.cpp - Composite ops become primitives --------------------===//
//
// The pass graph-decompose.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHDECOMPOSE
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

void graph::decompose(CompositeOpInterface op) {
  OpBuilder builder(op);
  op->replaceAllUsesWith(op.decompose(builder));
  op->erase();
}

namespace {
struct Decompose : graph::impl::GraphDecomposeBase<Decompose> {
  using GraphDecomposeBase::GraphDecomposeBase;

  void runOnOperation() final {
    llvm::StringSet<> names;
    for (const std::string &name : ops) {
      std::optional<RegisteredOperationName> known =
          RegisteredOperationName::lookup("graph." + name, &getContext());
      if (!known || !known->hasInterface<CompositeOpInterface>()) {
        emitError(getOperation().getLoc())
            << "graph-decompose: '" << name
            << "' is no composite op of the graph dialect";
        return signalPassFailure();
      }
      names.insert(name);
    }
    // A decomposition may hold further composites.
    bool changed = true;
    while (changed) {
      SmallVector<CompositeOpInterface> found;
      getOperation().walk([&](CompositeOpInterface op) {
        if (names.empty() || names.contains(op->getName().stripDialect()))
          found.push_back(op);
      });
      for (CompositeOpInterface op : found)
        graph::decompose(op);
      changed = !found.empty();
    }
  }
};
} // namespace
