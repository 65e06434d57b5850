//===- InitAll.h - Registers what the command line tools offer ------------===//
//
// The one list of poot's dialects, passes, pipelines and translations. A new
// one is a line here and its library a word in tools/poot-opt/CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_INITALL_H
#define POOT_INITALL_H

#include "Poot/Bundle/Export.h"
#include "Poot/Dialect/Graph/GraphOps.h"
#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Dialect/Kernel/Kernel.h"
#include "Poot/Dialect/Kernel/Passes.h"
#include "Poot/Dialect/Kernel/Transforms.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "Poot/Dialect/Plan/PlanPasses.h"
#include "Poot/Kir/Kir.h"
#include "Poot/Model/TraceModel.h"
#include "Poot/Planner/Passes.h"
#include "Poot/Target/Passes.h"
#include "Poot/Target/Spirv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

namespace poot {

inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<graph::GraphDialect, kernel::KernelDialect, plan::PlanDialect>();

  // Upstream's that poot's IR is made of.
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::spirv::SPIRVDialect,
                  mlir::ub::UBDialect, mlir::vector::VectorDialect>();
}

inline void registerAllPasses() {
  graph::registerGraphPasses();
  graph::registerPipelines();
  kernel::registerPootKernelPasses();
  kernel::registerKernelPipelines();
  registerPootTargetPasses();
  registerSpirvPipelines();
  plan::registerPlanPasses();
  planner::registerPlannerPasses();
  planner::registerPipelines();

  mlir::registerTransformsPasses(); // canonicalize, cse, inline, ...
}

inline void registerAllTranslations() {
  registerBundleTranslations();
  registerKirTranslations();
  model::registerModelTranslations();
  registerSpirvTranslations();
}

} // namespace poot

#endif // POOT_INITALL_H
