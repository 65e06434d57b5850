//===- Composites.cpp - The passes that find composites, in order ---------===//

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace poot;

void graph::buildCompositesPipeline(OpPassManager &pm) {
  // Patterns are matched on the canonical form, in which equal values are one.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createGraphFlashAttention());
  pm.addPass(createGraphRowNorms());
  pm.addPass(createGraphRope());
  pm.addPass(createGraphPackedContraction());
  // The views around composites cancel each other.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void graph::registerPipelines() {
  PassPipelineRegistration<>(
      "poot-graph-composites",
      "The composite ops that a traced graph stands for",
      [](OpPassManager &pm) { buildCompositesPipeline(pm); });
}
