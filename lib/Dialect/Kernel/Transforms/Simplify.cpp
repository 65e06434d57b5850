//===- Simplify.cpp - Canonicalization of a control-flow graph ------------===//
//
// Upstream's canonicalizer merges a block into the one that alone branches to
// it while it folds. Where a fold has just cut a loop off, the loop's header is
// merged into its own latch, and a value is computed from itself: %x =
// arith.addi %x, %zero folds to itself for ever. So blocks are left alone while
// values fold, and are removed and merged in between, where all are reached.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELSIMPLIFY
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;

namespace {
struct Simplify : poot::kernel::impl::KernelSimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  bool simplifyBlocks(Region &region);

  FrozenRewritePatternSet patterns;
};
} // namespace

LogicalResult Simplify::initialize(MLIRContext *context) {
  RewritePatternSet all(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(all);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.getStringRef() != cf::BranchOp::getOperationName())
      op.getCanonicalizationPatterns(all, context);
  patterns = FrozenRewritePatternSet(std::move(all));
  return success();
}

/// Decides branches on constants, removes what isn't reached, and merges blocks
/// that follow each other. True if something changed.
bool Simplify::simplifyBlocks(Region &region) {
  IRRewriter rewriter(region.getContext());
  bool changed = false;
  for (Block &block : region) {
    auto branch = dyn_cast<cf::CondBranchOp>(block.getTerminator());
    if (!branch || !matchPattern(branch.getCondition(), m_Constant()))
      continue;
    rewriter.setInsertionPoint(branch);
    if (matchPattern(branch.getCondition(), m_NonZero()))
      rewriter.replaceOpWithNewOp<cf::BranchOp>(branch, branch.getTrueDest(),
                                                branch.getTrueDestOperands());
    else
      rewriter.replaceOpWithNewOp<cf::BranchOp>(branch, branch.getFalseDest(),
                                                branch.getFalseDestOperands());
    changed = true;
  }
  changed |= succeeded(eraseUnreachableBlocks(rewriter, region));
  for (Block &block : llvm::make_early_inc_range(region)) {
    Block *before = block.getSinglePredecessor();
    auto branch = before ? dyn_cast<cf::BranchOp>(before->getTerminator())
                         : cf::BranchOp();
    // All blocks are reached, so none is its own only predecessor.
    if (!branch || block.isEntryBlock())
      continue;
    SmallVector<Value> operands(branch.getDestOperands());
    rewriter.eraseOp(branch);
    rewriter.mergeBlocks(&block, before, operands);
    changed = true;
  }
  return changed;
}

void Simplify::runOnOperation() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
  SmallVector<Region *> bodies;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<FunctionOpInterface>(op))
      return WalkResult::advance();
    for (Region &region : op->getRegions())
      bodies.push_back(&region);
    return WalkResult::skip();
  });
  for (Region *body : bodies) {
    // What folds may cut off blocks, and what is cut off may let more fold. A
    // few rounds find all but contrived cases.
    constexpr int kMaxRounds = 4;
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = simplifyBlocks(*body);
      if (round != 0 && !changed)
        break;
      // Where it doesn't converge, what it has reached is right all the same.
      (void)applyPatternsGreedily(*body, patterns, config);
    }
    (void)simplifyBlocks(*body);
  }
}
