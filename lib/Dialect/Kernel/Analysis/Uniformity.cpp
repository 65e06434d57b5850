//===- Uniformity.cpp - What is the same in a whole workgroup -------------===//

#include "Poot/Dialect/Kernel/Analysis.h"

#include "Items.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/GenericLoopInfoImpl.h"

#include <set>

using namespace mlir;
using namespace poot::kernel;

/// Invocations of a workgroup.
static int64_t countItems(FuncOp kernel) {
  int64_t items = 1;
  for (int32_t extent : kernel.getWorkgroupSize())
    items *= extent;
  return items;
}

/// Whether the results of OP differ though its operands don't.
static bool isSource(Operation *op, FuncOp kernel) {
  if (auto id = dyn_cast<LocalIdOp>(op))
    return kernel.getWorkgroupSize()[static_cast<unsigned>(id.getDim())] > 1;
  if (auto reduce = dyn_cast<SubgroupReduceOp>(op))
    // Of equal values these are the value; sums count the lanes.
    return reduce.getKind() == ReduceKind::Add ||
           reduce.getKind() == ReduceKind::Mul;
  if (isa<LaneIdOp, SubgroupIdOp, SubgroupScanOp, AtomicRmwOp, AtomicCasOp,
          AtomicLoadOp>(op))
    return true;
  if (auto hook = dyn_cast<HookOp>(op)) {
    auto body = SymbolTable::lookupNearestSymbolFrom<HookBodyOp>(
        hook, hook.getDefaultBodyAttr());
    if (!body)
      return false;
    // A body may hold hooks of its own; those that differ by themselves are
    // filled before.
    WalkResult result = body.getBody().walk([&](Operation *inner) {
      return !isa<HookOp>(inner) && isSource(inner, kernel)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return result.wasInterrupted();
  }
  return false;
}

Block *Uniformity::getPostDominator(Block *block) {
  auto *node = postDominance.getNode(block);
  auto *parent = node ? node->getIDom() : nullptr;
  return parent ? parent->getBlock() : nullptr;
}

Uniformity::Uniformity(FuncOp kernel)
    : kernel(kernel), dominance(kernel), postDominance(kernel) {
  Region &body = kernel.getBody();
  bool isOneBlock = body.hasOneBlock();
  if (!isOneBlock) {
    unsigned number = 0;
    for (Block *block : llvm::ReversePostOrderTraversal<Block *>(&body.front()))
      order[block] = number++;
    // A block depends on a branch if it lies between one of its successors and
    // what every way passes.
    for (Block &block : body) {
      if (block.getNumSuccessors() < 2 || !order.contains(&block))
        continue;
      Block *end = getPostDominator(&block);
      llvm::DenseSet<Block *> seen;
      for (Block *runner : block.getSuccessors())
        for (; runner && runner != end && seen.insert(runner).second;
             runner = getPostDominator(runner)) {
          deciding[runner].push_back(&block);
          decided[&block].push_back(runner);
        }
    }
    loops = std::make_unique<CFGLoopInfo>(dominance.getDomTree(&body));
  }
  if (countItems(kernel) < 2)
    return;
  kernel.walk([&](Operation *op) {
    if (isSource(op, kernel))
      for (Value result : op->getResults())
        mark(result);
  });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses())
      visit(use.getOwner(), value);
  }
}

void Uniformity::mark(Value value) {
  if (differing.insert(value).second)
    worklist.push_back(value);
}

/// An operand of OP differs.
void Uniformity::visit(Operation *op, Value operand) {
  if (auto store = dyn_cast<VarStoreOp>(op))
    return mark(store.getVar());
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    auto branch = dyn_cast<BranchOpInterface>(op);
    if (!branch)
      return;
    for (unsigned i = 0; i < op->getNumSuccessors(); ++i) {
      SuccessorOperands operands = branch.getSuccessorOperands(i);
      for (unsigned j = 0; j < operands.size(); ++j)
        if (operands[j] == operand)
          mark(op->getSuccessor(i)->getArgument(j));
    }
    // What decides is no successor's operand, or is also one.
    bool decides = llvm::any_of(op->getOpOperands(), [&](OpOperand &use) {
      return use.get() == operand &&
             !branch.getSuccessorBlockArgument(use.getOperandNumber());
    });
    // A condition may come to the same for all, as with a number that is below
    // the extent.
    if (decides && op->getNumSuccessors() > 1 &&
        Items(kernel).find(operand) != Items::Same)
      visitBranch(op);
    return;
  }
  for (Value result : op->getResults())
    mark(result);
}

/// Invocations take different ways at BRANCH.
void Uniformity::visitBranch(Operation *branch) {
  if (!divergentBranches.insert(branch).second)
    return;
  Block *block = branch->getBlock(), *end = getPostDominator(block);

  // Blocks that some don't come to, and those that hang on these in turn.
  llvm::SmallVector<Block *> blocks{block};
  llvm::DenseSet<Block *> seen;
  while (!blocks.empty()) {
    Block *decider = blocks.pop_back_val();
    for (Block *dependent : decided.lookup(decider)) {
      if (!seen.insert(dependent).second)
        continue;
      divergentBlocks.try_emplace(dependent, branch);
      blocks.push_back(dependent);
      // What is written there, some variables have.
      for (Operation &op : *dependent)
        if (auto store = dyn_cast<VarStoreOp>(op))
          mark(store.getVar());
    }
  }

  // Where two ways meet, arguments differ. A way has the name of the block that
  // it began at, a successor or an earlier meeting.
  llvm::DenseMap<Block *, Block *> ways;
  std::set<std::pair<unsigned, Block *>> open;
  auto meet = [&](Block *at) {
    for (auto [i, argument] : llvm::enumerate(at->getArguments())) {
      Value first;
      bool isOne = true;
      for (auto it = at->pred_begin(), e = at->pred_end(); it != e; ++it) {
        auto from = cast<BranchOpInterface>((*it)->getTerminator());
        Value value = from.getSuccessorOperands(it.getSuccessorIndex())[i];
        isOne = isOne && value && (!first || first == value);
        first = value;
      }
      if (!isOne)
        mark(argument);
    }
  };
  auto come = [&](Block *at, Block *way) {
    auto [it, isNew] = ways.try_emplace(at, way);
    if (!isNew) {
      if (it->second == way || it->second == at)
        return;
      it->second = at;
      meet(at);
    }
    if (at != end)
      open.insert({order.lookup(at), at});
  };
  for (auto [i, successor] : llvm::enumerate(branch->getSuccessors())) {
    // Twice the same successor is a meeting at once.
    if (llvm::is_contained(branch->getSuccessors().take_front(i), successor)) {
      ways[successor] = successor;
      meet(successor);
    }
    come(successor, successor);
  }
  while (!open.empty()) {
    Block *at = open.begin()->second;
    open.erase(open.begin());
    for (Block *next : at->getSuccessors())
      come(next, ways.lookup(at));
  }

  // Of a loop that is left at different times, what is used behind it differs.
  for (CFGLoop *loop = loops->getLoopFor(block); loop;
       loop = loop->getParentLoop()) {
    if (end && loop->contains(end))
      break;
    for (Block *inner : loop->getBlocks()) {
      auto escapes = [&](Value value) {
        if (llvm::any_of(value.getUsers(), [&](Operation *user) {
              return !loop->contains(user->getBlock());
            }))
          mark(value);
      };
      for (Value argument : inner->getArguments())
        escapes(argument);
      for (Operation &op : *inner)
        for (Value result : op.getResults())
          escapes(result);
    }
  }
}
