//===- PropagateConstants.cpp - Constants through branches and loops ------===//
//
// Sparse conditional constant propagation on upstream's framework, with a
// transfer function that is right around loops. Upstream's takes the constant
// of whatever value a fold gives, also of one that the operation doesn't read,
// such as the element that a vector was made of: when that turns out to change
// from iteration to iteration, the operation isn't visited again. It also folds
// the operation itself, and what a fold does to it in place stays.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/FoldUtils.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELPROPAGATECONSTANTS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace mlir::dataflow;

namespace {
class Constants : public SparseConstantPropagation {
public:
  using SparseConstantPropagation::SparseConstantPropagation;

  LogicalResult
  visitOperation(Operation *op, ArrayRef<const Lattice<ConstantValue> *> in,
                 ArrayRef<Lattice<ConstantValue> *> results) override;
};
} // namespace

LogicalResult
Constants::visitOperation(Operation *op,
                          ArrayRef<const Lattice<ConstantValue> *> in,
                          ArrayRef<Lattice<ConstantValue> *> results) {
  if (op->getNumRegions() != 0) {
    setAllToEntryStates(results);
    return success();
  }
  SmallVector<Attribute> operands;
  for (const Lattice<ConstantValue> *lattice : in) {
    if (lattice->getValue().isUninitialized())
      return success(); // comes again
    operands.push_back(lattice->getValue().getConstantValue());
  }
  Operation *copy = op->clone();
  SmallVector<OpFoldResult> folds;
  bool isFolded = succeeded(copy->fold(operands, folds)) && !folds.empty();
  for (auto [i, lattice] : llvm::enumerate(results)) {
    Attribute attribute =
        isFolded ? dyn_cast<Attribute>(folds[i]) : Attribute();
    Value value = isFolded ? dyn_cast<Value>(folds[i]) : Value();
    if (attribute) {
      propagateIfChanged(
          lattice, lattice->join(ConstantValue(attribute, op->getDialect())));
      continue;
    }
    // An operand's constant; of other values nothing is known.
    auto operand = llvm::find(op->getOperands(), value);
    if (value && operand != op->getOperands().end())
      join(lattice, *in[operand.getIndex()]);
    else
      setToEntryState(lattice);
  }
  copy->destroy();
  return success();
}

namespace {
struct PropagateConstants
    : poot::kernel::impl::KernelPropagateConstantsBase<PropagateConstants> {
  void runOnOperation() override {
    Operation *root = getOperation();
    DataFlowSolver solver;
    solver.load<DeadCodeAnalysis>();
    solver.load<Constants>();
    if (failed(solver.initializeAndRun(root)))
      return signalPassFailure();

    OperationFolder folder(&getContext());
    auto replace = [&](Value value, Block *block) {
      auto *lattice = solver.lookupState<Lattice<ConstantValue>>(value);
      if (!lattice || lattice->getValue().isUninitialized() ||
          !lattice->getValue().getConstantValue())
        return false;
      Value constant = folder.getOrCreateConstant(
          block, lattice->getValue().getConstantDialect(),
          lattice->getValue().getConstantValue(), value.getType());
      if (!constant)
        return false;
      value.replaceAllUsesWith(constant);
      return true;
    };
    SmallVector<Block *> blocks;
    root->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      Block *entry = &block->getParent()->front();
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        bool replaced =
            op.getNumResults() != 0 && !op.hasTrait<OpTrait::ConstantLike>();
        if (!replaced)
          continue;
        for (Value result : op.getResults())
          replaced &= replace(result, entry);
        if (replaced && isOpTriviallyDead(&op))
          op.erase();
      }
      if (!block->isEntryBlock())
        for (BlockArgument argument : block->getArguments())
          replace(argument, entry);
    }
  }
};
} // namespace
