//===- UnrollLoops.cpp - Writes out loops of a known trip count -----------===//
//
// Works on the graph, before it is structured. A loop is written out iteration
// by iteration, and what is known is folded on the way: that its trip count is
// a constant shows when no branch back is left. If it doesn't show within the
// limits, the copies are thrown away and the loop stays as it was. Values that
// are used behind the loop pass through variables, which become values again.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Transforms/Mem2Reg.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELUNROLLLOOPS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

namespace {
/// How far a loop may be written out.
struct Limits {
  unsigned trips;
  unsigned ops;
};

/// A branch and which of its successors.
struct Edge {
  Operation *terminator;
  unsigned index;
  SuccessorOperands getOperands() const {
    return cast<BranchOpInterface>(terminator).getSuccessorOperands(index);
  }
};

enum class Outcome { Done, NotConstant, TooManyTrips, TooLarge, Unsupported };

/// Constants of the kernel, each of them once, in its entry block.
class Constants {
public:
  explicit Constants(Block &entry) : builder(&entry, entry.begin()) {}
  /// Null where the dialect has no such constant.
  Value get(Attribute value, Type type, Dialect *dialect, Location loc);
  void eraseUnused();

private:
  OpBuilder builder;
  llvm::MapVector<std::tuple<Attribute, Type>, Operation *> known;
};

/// Writes out one loop.
class Unroller {
public:
  Unroller(FuncOp func, const CFGLoop &loop, const DominanceInfo &dominance,
           Constants &constants);
  Outcome run(Limits limits);
  /// Replaces the loop by the copies.
  void commit(SmallVectorImpl<VarOp> &vars, DenseSet<Block *> &erased);
  void discard();

private:
  bool isInside(Block *block) const { return inside.contains(block); }
  bool findEscaping();
  Block *newBlock();
  void resolveArguments(Block *block, Block *copy);
  void cloneOps(Block *block, Block *copy);
  void cloneTerminator(Block *block, Block *copy);
  void storeEscaping(OpBuilder &builder, Block *exiting);
  void branchTo(Block *block, Block *copy, unsigned index);

  FuncOp func;
  Block *header;
  const DominanceInfo &dominance;
  Constants &constants;
  DenseSet<Block *> inside;
  /// The blocks of the loop; but for branches back a block comes after those
  /// that branch to it.
  SmallVector<Block *> order;
  /// Blocks that a branch back leads to, other than the loop's header.
  DenseSet<Block *> innerHeaders;
  /// Whether a loop within is only entered at its header. Otherwise a branch
  /// back may be the first one to a block that was passed over as unreachable.
  bool isReducible = true;
  SmallVector<Edge> entries;

  /// Values that are used behind the loop, with their variables.
  llvm::MapVector<Value, VarOp> escaping;

  SmallVector<Block *> created;
  Block *first = nullptr, *next = nullptr;
  llvm::BitVector firstResolved;
  IRMapping mapping;
  DenseMap<Block *, SmallVector<Edge>> incoming;
  unsigned emitted = 0;
  bool foldedExit = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Constants::get(Attribute value, Type type, Dialect *dialect,
                     Location loc) {
  Operation *&op = known[{value, type}];
  if (!op)
    op = dialect->materializeConstant(builder, value, type, loc);
  return op ? op->getResult(0) : Value();
}

void Constants::eraseUnused() {
  for (auto &[key, op] : known)
    if (op && op->use_empty())
      op->erase();
  known.clear();
}

//===----------------------------------------------------------------------===//
// One loop
//===----------------------------------------------------------------------===//

/// Whether a variable can hold it.
static bool fitsVariable(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (vector && (vector.getRank() != 1 || vector.isScalable()))
    return false;
  Type scalar = vector ? vector.getElementType() : type;
  if (auto integer = dyn_cast<IntegerType>(scalar))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, FragmentType>(
      scalar);
}

Unroller::Unroller(FuncOp func, const CFGLoop &loop,
                   const DominanceInfo &dominance, Constants &constants)
    : func(func), header(loop.getHeader()), dominance(dominance),
      constants(constants) {
  inside.insert(loop.block_begin(), loop.block_end());
  for (Block *block : llvm::ReversePostOrderTraversal<Block *>(header))
    if (isInside(block))
      order.push_back(block);
  DenseSet<Block *> seen;
  for (Block *block : order) {
    seen.insert(block);
    for (Block *successor : block->getSuccessors())
      if (successor != header && seen.contains(successor)) {
        innerHeaders.insert(successor);
        isReducible &= dominance.dominates(successor, block);
      }
  }
  for (auto it = header->pred_begin(); it != header->pred_end(); ++it)
    if (!isInside(*it))
      entries.push_back({(*it)->getTerminator(), it.getSuccessorIndex()});
}

/// Finds what is used behind the loop. False where no variable can hold it.
bool Unroller::findEscaping() {
  auto visit = [&](Value value) {
    bool escapes = llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *here = func.getBody().findAncestorOpInRegion(*user);
      return !isInside(here->getBlock());
    });
    if (escapes)
      escaping.insert({value, VarOp()});
  };
  for (Block *block : order) {
    llvm::for_each(block->getArguments(), visit);
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), visit);
  }
  if (!llvm::all_of(escaping, [](auto &entry) {
        return fitsVariable(entry.first.getType());
      }))
    return false;
  Block &entry = func.getBody().front();
  OpBuilder builder(&entry, entry.begin());
  for (auto &[value, var] : escaping)
    var =
        VarOp::create(builder, value.getLoc(),
                      VarType::get(builder.getContext(), {}, value.getType()));
  return true;
}

Block *Unroller::newBlock() {
  auto *block = new Block();
  func.getBody().getBlocks().insert(header->getIterator(), block);
  created.push_back(block);
  return block;
}

/// All edges that lead to `copy` are known: an argument that is the same on all
/// of them is that value.
void Unroller::resolveArguments(Block *block, Block *copy) {
  ArrayRef<Edge> edges = incoming[copy];
  bool isFirst = copy == first;
  llvm::BitVector resolved(block->getNumArguments());
  for (BlockArgument argument : block->getArguments()) {
    unsigned number = argument.getArgNumber();
    Value value = edges.front().getOperands()[number];
    if (!innerHeaders.contains(block) &&
        llvm::all_of(edges, [&](const Edge &edge) {
          return edge.getOperands()[number] == value;
        })) {
      resolved.set(number);
      mapping.map(argument, value);
    } else {
      mapping.map(argument,
                  copy->addArgument(argument.getType(), argument.getLoc()));
    }
  }
  // The edges from outside still lead to the loop.
  if (isFirst) {
    firstResolved = resolved;
    return;
  }
  for (const Edge &edge : edges)
    for (int number = resolved.find_last(); number >= 0;
         number = resolved.find_prev(number))
      edge.getOperands().erase(number);
}

void Unroller::cloneOps(Block *block, Block *copy) {
  OpBuilder builder(copy, copy->end());
  for (Operation &op : block->without_terminator()) {
    // It spoke of the loop that is gone.
    if (block == header && isa<LoopHintOp>(op))
      continue;
    Attribute constant;
    if (matchPattern(&op, m_Constant(&constant)))
      if (Value value = constants.get(constant, op.getResult(0).getType(),
                                      op.getDialect(), op.getLoc())) {
        mapping.map(op.getResult(0), value);
        continue;
      }
    Operation *cloned = builder.clone(op, mapping);
    SmallVector<OpFoldResult> folded;
    if (cloned->getNumResults() != 0 && succeeded(cloned->fold(folded)) &&
        folded.size() == cloned->getNumResults()) {
      SmallVector<Value> values;
      for (auto [result, fold] : llvm::zip(cloned->getResults(), folded)) {
        if (auto value = dyn_cast<Value>(fold))
          values.push_back(value);
        else
          values.push_back(constants.get(cast<Attribute>(fold),
                                         result.getType(), op.getDialect(),
                                         op.getLoc()));
      }
      if (llvm::all_of(values, [](Value value) { return bool(value); })) {
        for (auto [result, value] : llvm::zip(op.getResults(), values))
          mapping.map(result, value);
        cloned->erase();
        continue;
      }
    }
    ++emitted;
  }
}

/// Stores what is used behind the loop and known where `exiting` leaves it.
void Unroller::storeEscaping(OpBuilder &builder, Block *exiting) {
  for (auto &[value, var] : escaping)
    if (dominance.dominates(value.getParentBlock(), exiting)) {
      VarStoreOp::create(builder, value.getLoc(), mapping.lookup(value), var,
                         ValueRange());
      ++emitted;
    }
}

/// Ends `copy` with a branch to the successor that is the only one taken.
void Unroller::branchTo(Block *block, Block *copy, unsigned index) {
  Operation *terminator = block->getTerminator();
  Block *target = terminator->getSuccessor(index);
  SmallVector<Value> operands;
  for (Value operand : cast<BranchOpInterface>(terminator)
                           .getSuccessorOperands(index)
                           .getForwardedOperands())
    operands.push_back(mapping.lookupOrDefault(operand));
  OpBuilder builder(copy, copy->end());
  ++emitted;
  if (!isInside(target)) {
    storeEscaping(builder, block);
    cf::BranchOp::create(builder, terminator->getLoc(), target, operands);
    return;
  }
  Block *targetCopy = mapping.lookup(target);
  auto branch =
      cf::BranchOp::create(builder, terminator->getLoc(), targetCopy, operands);
  incoming[targetCopy].push_back({branch, 0});
}

/// The successor that a branch on a constant takes.
static std::optional<unsigned> getTaken(Operation *terminator,
                                        const IRMapping &mapping) {
  if (isa<cf::BranchOp>(terminator))
    return 0;
  APInt flag;
  if (auto branch = dyn_cast<cf::CondBranchOp>(terminator)) {
    if (matchPattern(mapping.lookupOrDefault(branch.getCondition()),
                     m_ConstantInt(&flag)))
      return flag.isZero() ? 1 : 0;
  } else if (auto branch = dyn_cast<cf::SwitchOp>(terminator)) {
    if (matchPattern(mapping.lookupOrDefault(branch.getFlag()),
                     m_ConstantInt(&flag))) {
      unsigned index = 1;
      if (std::optional<DenseIntElementsAttr> cases = branch.getCaseValues())
        for (const APInt &value : cases->getValues<APInt>()) {
          if (value == flag)
            return index;
          ++index;
        }
      return 0;
    }
  }
  return std::nullopt;
}

void Unroller::cloneTerminator(Block *block, Block *copy) {
  Operation *terminator = block->getTerminator();
  if (std::optional<unsigned> taken = getTaken(terminator, mapping)) {
    foldedExit |= !llvm::all_of(terminator->getSuccessors(),
                                [&](Block *to) { return isInside(to); });
    return branchTo(block, copy, *taken);
  }
  OpBuilder builder(copy, copy->end());
  Operation *cloned = builder.clone(*terminator, mapping);
  ++emitted;
  for (unsigned index = 0; index < cloned->getNumSuccessors(); ++index) {
    Edge edge{cloned, index};
    Block *target = terminator->getSuccessor(index);
    if (isInside(target)) {
      incoming[cloned->getSuccessor(index)].push_back(edge);
      continue;
    }
    if (escaping.empty())
      continue;
    // A block of its own for what the edge stores.
    Block *exit = newBlock();
    OpBuilder exitBuilder(exit, exit->end());
    storeEscaping(exitBuilder, block);
    SuccessorOperands operands = edge.getOperands();
    SmallVector<Value> values(operands.getForwardedOperands());
    cf::BranchOp::create(exitBuilder, terminator->getLoc(), target, values);
    if (!values.empty())
      operands.erase(0, values.size());
    cloned->setSuccessor(exit, index);
  }
}

Outcome Unroller::run(Limits limits) {
  // Branches of other dialects aren't understood.
  for (Block *block : order)
    if (!isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp>(
            block->getTerminator()))
      return Outcome::Unsupported;
  if (!isReducible || !findEscaping())
    return Outcome::Unsupported;

  first = next = newBlock();
  incoming[first] = entries;
  for (unsigned trip = 0; !incoming[next].empty(); ++trip) {
    if (trip > limits.trips)
      return Outcome::TooManyTrips;
    mapping.clear();
    foldedExit = false;
    Block *current = next;
    SmallVector<Block *> copies;
    for (Block *block : order)
      copies.push_back(block == header ? current : newBlock());
    next = newBlock();
    for (auto [block, copy] : llvm::zip(order, copies))
      mapping.map(block, copy);
    mapping.map(header, next);
    for (auto [block, copy] : llvm::zip(order, copies)) {
      if (incoming[copy].empty())
        continue;
      // Where a loop tests at its head, the last copy is no trip: it leaves
      // before it does anything.
      if (trip == limits.trips && block != header)
        return Outcome::TooManyTrips;
      unsigned before = emitted;
      resolveArguments(block, copy);
      cloneOps(block, copy);
      if (trip == limits.trips && emitted != before)
        return Outcome::TooManyTrips;
      cloneTerminator(block, copy);
      if (emitted > limits.ops)
        return Outcome::TooLarge;
    }
    if (!incoming[next].empty() && !foldedExit)
      return Outcome::NotConstant;
  }
  return Outcome::Done;
}

static void eraseBlocks(ArrayRef<Block *> blocks) {
  for (Block *block : blocks) {
    block->dropAllReferences();
    block->dropAllDefinedValueUses();
  }
  for (Block *block : blocks)
    block->erase();
}

void Unroller::discard() {
  eraseBlocks(created);
  created.clear();
  for (auto &[value, var] : escaping)
    if (var)
      var.erase();
}

void Unroller::commit(SmallVectorImpl<VarOp> &vars, DenseSet<Block *> &erased) {
  for (const Edge &edge : entries) {
    for (int number = firstResolved.find_last(); number >= 0;
         number = firstResolved.find_prev(number))
      edge.getOperands().erase(number);
    edge.terminator->setSuccessor(first, edge.index);
  }
  for (auto &[value, var] : escaping) {
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      Operation *here = func.getBody().findAncestorOpInRegion(*user);
      if (isInside(here->getBlock()))
        continue;
      OpBuilder builder(here);
      use.set(VarLoadOp::create(builder, user->getLoc(), var, ValueRange()));
    }
    vars.push_back(var);
  }
  erased.insert(order.begin(), order.end());
  eraseBlocks(order);
  // Copies that nothing led to.
  SmallVector<Block *> empty;
  for (Block *block : created)
    if (block->empty())
      empty.push_back(block);
  eraseBlocks(empty);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct UnrollLoops
    : public poot::kernel::impl::KernelUnrollLoopsBase<UnrollLoops> {
  void runOnOperation() override;
  bool unrollOne(Constants &constants, SmallVectorImpl<VarOp> &vars);
  bool tryUnroll(const CFGLoop &loop, const DominanceInfo &dominance,
                 Constants &constants, SmallVectorImpl<VarOp> &vars);

  /// The headers of loops that stay as they are.
  DenseSet<Block *> stays;
};
} // namespace

static void emitReason(LoopHintOp hint, Outcome outcome, Limits limits) {
  if (hint.getUnroll() != Unroll::Full)
    return;
  InFlightDiagnostic remark = hint.emitRemark("loop isn't unrolled: ");
  switch (outcome) {
  case Outcome::NotConstant:
    remark << "its trip count is no constant";
    break;
  case Outcome::TooManyTrips:
    remark << "it has more than " << limits.trips << " trips";
    break;
  case Outcome::TooLarge:
    remark << "it would take more than " << limits.ops << " operations";
    break;
  case Outcome::Unsupported:
  case Outcome::Done:
    remark << "a loop within has two entries, or a value that is used behind "
              "it can't be carried";
    break;
  }
}

bool UnrollLoops::tryUnroll(const CFGLoop &loop, const DominanceInfo &dominance,
                            Constants &constants,
                            SmallVectorImpl<VarOp> &vars) {
  // Hinted loops: what a compiler of SPIR-V still takes in a few seconds.
  constexpr Limits kHinted{4096, 32768};
  // Others: what is seldom slower, and keeps small arrays in registers.
  constexpr Limits kSmall{16, 192};
  Limits limits = kSmall;
  auto hints = loop.getHeader()->getOps<LoopHintOp>();
  LoopHintOp hint = hints.empty() ? LoopHintOp() : *hints.begin();
  if (hint) {
    if (hint.getUnroll() == Unroll::None)
      return false;
    limits = kHinted;
    // By a count that isn't less than its trips; else it is the target's.
    if (hint.getUnroll() == Unroll::Count)
      limits.trips = std::min<unsigned>(limits.trips, *hint.getCount());
  } else if (!loop.isInnermost()) {
    return false;
  }
  Unroller unroller(getOperation(), loop, dominance, constants);
  Outcome outcome = unroller.run(limits);
  if (outcome == Outcome::Done) {
    DenseSet<Block *> erased;
    unroller.commit(vars, erased);
    // Their addresses may become those of new blocks.
    for (Block *block : erased)
      stays.erase(block);
    return true;
  }
  unroller.discard();
  if (hint)
    emitReason(hint, outcome, limits);
  return false;
}

/// Inner loops come first: their trip counts are known more often, and once
/// they are gone the outer ones are shorter.
bool UnrollLoops::unrollOne(Constants &constants,
                            SmallVectorImpl<VarOp> &vars) {
  Region &body = getOperation().getBody();
  if (body.hasOneBlock())
    return false;
  DominanceInfo dominance(getOperation());
  CFGLoopInfo loops(dominance.getDomTree(&body));
  SmallVector<CFGLoop *> order = loops.getLoopsInPreorder();
  for (CFGLoop *loop : llvm::reverse(order)) {
    if (stays.contains(loop->getHeader()))
      continue;
    if (tryUnroll(*loop, dominance, constants, vars))
      return true;
    stays.insert(loop->getHeader());
  }
  return false;
}

void UnrollLoops::runOnOperation() {
  FuncOp func = getOperation();
  IRRewriter rewriter(&getContext());
  (void)eraseUnreachableBlocks(rewriter, func->getRegions());
  stays.clear();
  Constants constants(func.getBody().front());
  SmallVector<VarOp> vars;
  bool changed = false;
  while (unrollOne(constants, vars)) {
    changed = true;
    (void)eraseUnreachableBlocks(rewriter, func->getRegions());
  }
  constants.eraseUnused();
  if (!changed)
    return markAllAnalysesPreserved();

  SmallVector<PromotableAllocationOpInterface> slots(vars.begin(), vars.end());
  DominanceInfo dominance(func);
  OpBuilder builder(&func.getBody().front(), func.getBody().front().begin());
  if (!slots.empty())
    (void)tryToPromoteMemorySlots(slots, builder, DataLayout::closest(func),
                                  dominance);
}
