//===- Pipelines.cpp - From a graph to a finished plan --------------------===//

#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Dialect/Plan/PlanPasses.h"
#include "Poot/Planner/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace poot::planner {

void buildGraphToPlanPipeline(OpPassManager &pm, ArrayRef<std::string> targets,
                              bool testVectors) {
  pm.addPass(graph::createGraphVerify());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(graph::createGraphHoistComputed());
  for (const std::string &target : targets)
    pm.addPass(createPlanLowerGraph({target, testVectors}));
  pm.addPass(createPlanEraseGraph());
  OpPassManager &programs = pm.nest<plan::ProgramOp>();
  programs.addPass(plan::createPlanAssignArena());
  programs.addPass(plan::createPlanAddEdges());
}

namespace {
struct GraphToPlanOptions : PassPipelineOptions<GraphToPlanOptions> {
  ListOption<std::string> targets{
      *this, "targets", llvm::cl::desc("targets to plan for (vulkan)")};
  Option<bool> testVectors{*this, "test-vectors",
                           llvm::cl::desc("give each kernel a seeded check"),
                           llvm::cl::init(false)};
};
} // namespace

void registerPipelines() {
  PassPipelineRegistration<GraphToPlanOptions>(
      "poot-graph-to-plan",
      "From a graph to programs of dispatches, with arena and edges",
      [](OpPassManager &pm, const GraphToPlanOptions &options) {
        SmallVector<std::string> targets(options.targets.begin(),
                                         options.targets.end());
        if (targets.empty())
          targets.push_back("vulkan");
        buildGraphToPlanPipeline(pm, targets, options.testVectors);
      });
}

} // namespace poot::planner
