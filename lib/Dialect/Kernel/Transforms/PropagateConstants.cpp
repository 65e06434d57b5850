//===- PropagateConstants.cpp - Constants through branches and loops ------===//
//
// Upstream's sccp, where it is right.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELPROPAGATECONSTANTS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;

namespace {
struct PropagateConstants
    : poot::kernel::impl::KernelPropagateConstantsBase<PropagateConstants> {
  void runOnOperation() override {
    WalkResult dynamic = getOperation()->walk([](Operation *op) {
      auto extract = dyn_cast<vector::ExtractOp>(op);
      auto insert = dyn_cast<vector::InsertOp>(op);
      bool isDynamic = (extract && !extract.getDynamicPosition().empty()) ||
                       (insert && !insert.getDynamicPosition().empty());
      return isDynamic ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (dynamic.wasInterrupted())
      return;
    OpPassManager sccp(getOperation()->getName());
    sccp.addPass(createSCCPPass());
    if (failed(runPipeline(sccp, getOperation())))
      signalPassFailure();
  }
};
} // namespace
