//===- Structurize.cpp - Lifts a kernel's graph to structured control flow ===//
//
// Uses upstream's lifting and then removes what no target converts: index
// switches, poison and dead blocks.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CFGToSCF.h"
#include "mlir/Transforms/RegionUtils.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELSTRUCTURIZE
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

namespace {
/// Upstream knows how to end a func.func only.
struct KernelLifting : ControlFlowToSCFTransformation {
  FailureOr<Operation *> createUnreachableTerminator(Location loc,
                                                     OpBuilder &builder,
                                                     Region &) override {
    return ReturnOp::create(builder, loc).getOperation();
  }
};

struct Structurize
    : public poot::kernel::impl::KernelStructurizeBase<Structurize> {
  void runOnOperation() override;
};
} // namespace

/// SPIR-V's logical addressing has no pointers that are chosen at run time.
static LogicalResult checkMemoryOperands(FuncOp func) {
  WalkResult result = func.walk([&](Operation *op) {
    if (!isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp, AtomicLoadOp,
             AtomicStoreOp, FragmentLoadOp, FragmentStoreOp>(op))
      return WalkResult::advance();
    for (Value operand : op->getOperands()) {
      if (!getElementType(operand.getType()) ||
          operand.getDefiningOp<WorkgroupAllocOp>() ||
          operand.getDefiningOp<ConstantTableOp>())
        continue;
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && argument.getOwner() == &func.getBody().front())
        continue;
      op->emitOpError("accesses memory that is chosen at run time; it must be "
                      "an argument of the kernel or a workgroup array");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Turns `op` into a chain of scf.if, in the order of its cases.
static void expandSwitch(scf::IndexSwitchOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();

  // The lifting makes the index from the integer that the graph branched on.
  Value flag = op.getArg();
  auto cast = flag.getDefiningOp<arith::IndexCastUIOp>();
  if (cast)
    flag = cast.getIn();
  unsigned width = isa<IndexType>(flag.getType())
                       ? IndexType::kInternalStorageBitWidth
                       : flag.getType().getIntOrFloatBitWidth();

  MutableArrayRef<Region> caseRegions = op.getCaseRegions();
  Region *rest = &op.getDefaultRegion();
  SmallVector<Value> results;
  if (caseRegions.empty()) {
    // A switch with nothing but a default.
    auto *block = &rest->front();
    auto yield = cast_if_present<scf::YieldOp>(block->getTerminator());
    results.assign(yield.getOperands().begin(), yield.getOperands().end());
    yield.erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           block->getOperations());
  }
  for (auto [index, region] : llvm::enumerate(caseRegions)) {
    APInt value(64, static_cast<uint64_t>(op.getCases()[index]));
    Value constant = arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(flag.getType(), value.sextOrTrunc(width)));
    Value isCase = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         flag, constant);
    auto ifOp = scf::IfOp::create(builder, loc, op.getResultTypes(), isCase,
                                  /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
    ifOp.getThenRegion().takeBody(region);
    if (index == 0)
      results.assign(ifOp.getResults().begin(), ifOp.getResults().end());
    else
      scf::YieldOp::create(builder, loc, ifOp.getResults());
    if (index + 1 == caseRegions.size()) {
      ifOp.getElseRegion().takeBody(*rest);
    } else {
      builder.setInsertionPointToStart(&ifOp.getElseRegion().emplaceBlock());
    }
  }
  op.replaceAllUsesWith(results);
  op.erase();
  if (cast && cast->use_empty())
    cast->erase();
}

/// A value is poison, or that of a variable before its first write, on a path
/// that never uses it; zero serves as well.
static LogicalResult replaceUndefined(Operation *op) {
  OpBuilder builder(op);
  Type type = op->getResult(0).getType();
  TypedAttr zero = builder.getZeroAttr(type);
  if (!zero)
    return op->emitOpError("of type ")
           << type << " can't be carried by a branch";
  op->replaceAllUsesWith(
      arith::ConstantOp::create(builder, op->getLoc(), zero));
  op->erase();
  return success();
}

void Structurize::runOnOperation() {
  FuncOp func = getOperation();
  if (failed(checkMemoryOperands(func)))
    return signalPassFailure();

  // Dead blocks make the lifting fail.
  IRRewriter rewriter(&getContext());
  (void)eraseUnreachableBlocks(rewriter, func->getRegions());

  KernelLifting lifting;
  DominanceInfo dominance(func);
  if (failed(transformCFGToSCF(func.getBody(), lifting, dominance)))
    return signalPassFailure();

  SmallVector<scf::IndexSwitchOp> switches;
  SmallVector<Operation *> undefined;
  func.walk([&](Operation *op) {
    if (auto switchOp = dyn_cast<scf::IndexSwitchOp>(op))
      switches.push_back(switchOp);
    else if (isa<ub::PoisonOp, UnwrittenOp>(op))
      undefined.push_back(op);
  });
  for (scf::IndexSwitchOp op : switches)
    expandSwitch(op);
  for (Operation *op : undefined)
    if (failed(replaceUndefined(op)))
      return signalPassFailure();

  if (!func.getBody().hasOneBlock()) {
    func.emitError("the control-flow graph can't be lifted to structured form: "
                   "a terminator other than cf.br, cf.cond_br, cf.switch and "
                   "kernel.return remains");
    signalPassFailure();
  }
}
