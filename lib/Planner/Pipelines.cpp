//===- Pipelines.cpp - From a graph to a finished plan --------------------===//

#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Dialect/Plan/PlanPasses.h"
#include "Poot/Planner/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace poot::planner {

void buildGraphToPlanPipeline(OpPassManager &pm, ArrayRef<std::string> targets,
                              bool testVectors, ArrayRef<std::string> kernels) {
  pm.addPass(graph::createGraphVerify());
  graph::buildCompositesPipeline(pm);
  pm.addPass(createPlanDecompose());
  pm.addPass(graph::createGraphRepackWeights());
  pm.addPass(graph::createGraphHoistComputed());
  pm.addPass(createPlanUseKernels({llvm::to_vector(kernels)}));
  pm.addPass(createPlanFuseProducts());
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
  ListOption<std::string> kernels{
      *this, "kernels", llvm::cl::desc("files of kernels of the user's")};
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
        buildGraphToPlanPipeline(pm, targets, options.testVectors,
                                 llvm::to_vector(options.kernels));
      });
}

} // namespace poot::planner
