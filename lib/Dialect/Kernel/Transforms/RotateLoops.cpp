//===- RotateLoops.cpp - Makes every loop test at its head ----------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELROTATELOOPS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

namespace {
struct RotateLoops
    : public poot::kernel::impl::KernelRotateLoopsBase<RotateLoops> {
  void runOnOperation() override;
};
} // namespace

/// Whether the first region only computes the condition, and the loop's results
/// are values that it carries. Then lanes that leave have done nothing in it
/// that could be seen. A result computed there would be computed again while
/// other lanes go on, and drivers that run lanes together lose the first one.
static bool testsAtHead(scf::WhileOp loop) {
  Region &before = loop.getBefore();
  bool computes = llvm::any_of(
      loop.getBeforeBody()->without_terminator(), [](Operation &op) {
        return op.getNumRegions() != 0 ||
               (!isMemoryEffectFree(&op) && !isa<LoopHintOp>(op));
      });
  return !computes &&
         llvm::all_of(loop.getConditionOp().getArgs(), [&](Value value) {
           return isa<BlockArgument>(value) ||
                  !before.isAncestor(value.getParentRegion());
         });
}

static Value createZero(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// Types of values that a loop may carry all have a zero: buffers are named by
/// arguments, never carried.
static bool carriesOnlyNumbers(scf::WhileOp loop) {
  OpBuilder builder(loop);
  return llvm::all_of(loop.getResultTypes(), [&](Type type) {
    return static_cast<bool>(builder.getZeroAttr(type));
  });
}

/// Rewrites
///   %r = while(%x = %init) { ...; condition(%c) %v } do { ^(%v) ...; yield %n
///   }
/// to
///   %r = while(%x, %go, %r = %init, true, 0) { condition(%go) } do {
///     ...; %next = if (%c) { ...; yield %n }; yield %next, %c, %v }
static void rotate(scf::WhileOp loop) {
  Block &before = *loop.getBeforeBody();
  Block &after = *loop.getAfterBody();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  unsigned numInits = loop.getInits().size();

  SmallVector<Value> inits(loop.getInits());
  inits.push_back(
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  for (Type type : loop.getResultTypes())
    inits.push_back(createZero(builder, loc, type));
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  SmallVector<Location> locs(types.size(), loc);

  auto rotated = scf::WhileOp::create(builder, loc, types, inits);
  Block *head = builder.createBlock(&rotated.getBefore(), {}, types, locs);
  scf::ConditionOp::create(builder, loc, head->getArgument(numInits),
                           head->getArguments());
  Block *body = builder.createBlock(&rotated.getAfter(), {}, types, locs);

  for (auto [from, to] : llvm::zip(before.getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  body->getOperations().splice(body->end(), before.getOperations());
  auto condition = cast<scf::ConditionOp>(body->getTerminator());
  SmallVector<Value> results(condition.getArgs());
  Value goesOn = condition.getCondition();

  auto yield = cast<scf::YieldOp>(after.getTerminator());
  for (auto [from, to] : llvm::zip(after.getArguments(), results))
    from.replaceAllUsesWith(to);
  SmallVector<Value> next(yield.getOperands());
  builder.setInsertionPoint(condition);
  if (!llvm::hasSingleElement(after)) {
    // What stood after the test runs only if the loop goes on.
    SmallVector<Type> nextTypes = llvm::to_vector(ValueRange(next).getTypes());
    auto ifOp = scf::IfOp::create(builder, loc, nextTypes, goesOn,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/!nextTypes.empty());
    Block *thenBlock = ifOp.thenBlock();
    if (!thenBlock->empty())
      thenBlock->getTerminator()->erase();
    yield->remove();
    thenBlock->getOperations().splice(thenBlock->end(), after.getOperations());
    thenBlock->push_back(yield);
    if (!nextTypes.empty()) {
      OpBuilder elseBuilder = OpBuilder::atBlockEnd(ifOp.elseBlock());
      SmallVector<Value> zeros;
      for (Type type : nextTypes)
        zeros.push_back(createZero(elseBuilder, loc, type));
      scf::YieldOp::create(elseBuilder, loc, zeros);
    }
    next.assign(ifOp.getResults().begin(), ifOp.getResults().end());
  }
  next.push_back(goesOn);
  next.append(results.begin(), results.end());
  scf::YieldOp::create(builder, loc, next);
  condition.erase();

  for (auto [index, result] : llvm::enumerate(loop.getResults()))
    result.replaceAllUsesWith(rotated.getResult(numInits + 1 + index));
  loop.erase();
}

void RotateLoops::runOnOperation() {
  SmallVector<scf::WhileOp> loops;
  getOperation().walk([&](scf::WhileOp loop) {
    if (!testsAtHead(loop) && carriesOnlyNumbers(loop))
      loops.push_back(loop);
  });
  for (scf::WhileOp loop : loops)
    rotate(loop);
}
