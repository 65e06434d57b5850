//===- ExpandAtomics.cpp - Atomics on f32 by compare and exchange ---------===//
//
// Takes a structured kernel. Memory of f32 that an atomic operation touches
// becomes memory of i32 for the whole kernel: plain accesses reinterpret the
// bits, and what has no integer form is a loop around kernel.atomic_cas. What
// the operation orders is ordered around the loop, see Passes.td.
//
//===----------------------------------------------------------------------===//

#include "Poot/Target/Passes.h"

#include "MemoryModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace poot {
#define GEN_PASS_DEF_KERNELEXPANDATOMICS
#include "Poot/Target/Passes.h.inc"
} // namespace poot

using namespace mlir;
using namespace poot;
using namespace poot::kernel;

namespace {
struct ExpandAtomics
    : public poot::impl::KernelExpandAtomicsBase<ExpandAtomics> {
  void runOnOperation() override;
};
} // namespace

static Value toBits(OpBuilder &builder, Location loc, Value number) {
  return arith::BitcastOp::create(builder, loc, builder.getI32Type(), number);
}
static Value toNumber(OpBuilder &builder, Location loc, Value bits) {
  return arith::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
}

/// What `kind` makes of the old number and the operand. As std::min and
/// std::max do, the old one stays where they don't compare.
static Value combine(OpBuilder &builder, Location loc, AtomicKind kind,
                     Value old, Value value) {
  if (kind == AtomicKind::Add)
    return arith::AddFOp::create(builder, loc, old, value);
  bool isMin = kind == AtomicKind::Min;
  Value isBeyond =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                            isMin ? value : old, isMin ? old : value);
  return arith::SelectOp::create(builder, loc, isBeyond, value, old);
}

/// Tries to replace what it has seen, until nobody came in between.
static void expand(AtomicRmwOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value value = op.getValue();
  if (op.getKind() == AtomicKind::Exchange) {
    auto exchange =
        AtomicRmwOp::create(builder, loc, builder.getI32Type(), op.getKind(),
                            op.getOrder(), op.getScope(), op.getMemory(),
                            op.getIndex(), toBits(builder, loc, value));
    op.replaceAllUsesWith(toNumber(builder, loc, exchange));
    op.erase();
    return;
  }
  Type memory = op.getMemory().getType();
  auto order = [&](MemoryOrder which) {
    if (op.getOrder() == which || op.getOrder() == MemoryOrder::AcqRel)
      spirv::MemoryBarrierOp::create(builder, loc, getScope(op.getScope()),
                                     getSemantics(which, memory));
  };
  order(MemoryOrder::Release);
  Type i32 = builder.getI32Type();
  Value first =
      AtomicLoadOp::create(builder, loc, i32, MemoryOrder::Relaxed,
                           op.getScope(), op.getMemory(), op.getIndex());
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange(i32), ValueRange(first),
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        Value expected = arguments.front();
        Value wanted = toBits(inner, loc,
                              combine(inner, loc, op.getKind(),
                                      toNumber(inner, loc, expected), value));
        Value seen = AtomicCasOp::create(inner, loc, i32, MemoryOrder::Relaxed,
                                         op.getScope(), op.getMemory(),
                                         op.getIndex(), expected, wanted);
        Value again = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::ne, seen, expected);
        scf::ConditionOp::create(inner, loc, again, seen);
      },
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        scf::YieldOp::create(inner, loc, arguments);
      });
  order(MemoryOrder::Acquire);
  op.replaceAllUsesWith(toNumber(builder, loc, loop.getResult(0)));
  op.erase();
}

/// Rewrites an access to memory that has just become one of i32.
static LogicalResult expandAccess(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AtomicRmwOp rmw) {
        expand(rmw);
        return success();
      })
      .Case<LoadOp, AtomicLoadOp>([&](auto load) {
        load.getResult().setType(builder.getI32Type());
        builder.setInsertionPointAfter(load);
        Value number = toNumber(builder, loc, load);
        load.getResult().replaceAllUsesExcept(number, number.getDefiningOp());
        return success();
      })
      .Case<StoreOp, AtomicStoreOp>([&](auto store) {
        store.getValueMutable().assign(toBits(builder, loc, store.getValue()));
        return success();
      })
      .Case([](WorkgroupAllocOp) { return success(); })
      .Default([](Operation *other) {
        return other->emitOpError(
            "uses memory that atomic operations on f32 use as well; this "
            "target does these through integers");
      });
}

static void setMemoryType(FuncOp func, Value memory, Type type) {
  memory.setType(type);
  if (auto argument = dyn_cast<BlockArgument>(memory)) {
    SmallVector<Type> inputs(func.getArgumentTypes());
    inputs[argument.getArgNumber()] = type;
    func.setFunctionType(FunctionType::get(func.getContext(), inputs, {}));
  }
}

void ExpandAtomics::runOnOperation() {
  FuncOp func = getOperation();
  llvm::SetVector<Value> numbers, readOnly;
  func.walk([&](Operation *op) {
    Value memory;
    if (auto rmw = dyn_cast<AtomicRmwOp>(op))
      memory = rmw.getMemory();
    else if (auto store = dyn_cast<AtomicStoreOp>(op))
      memory = store.getMemory();
    else if (auto load = dyn_cast<AtomicLoadOp>(op))
      memory = load.getMemory();
    else
      return;
    if (getElementType(memory.getType()).isF32())
      numbers.insert(memory);
    auto buffer = dyn_cast<BufferType>(memory.getType());
    if (buffer && !buffer.isWritable())
      readOnly.insert(memory);
  });

  // Targets without an atomic load write what they read.
  for (Value memory : readOnly)
    setMemoryType(
        func, memory,
        BufferType::get(cast<BufferType>(memory.getType()).getElementType(),
                        Access::ReadWrite));
  Type i32 = IntegerType::get(&getContext(), 32);
  for (Value memory : numbers) {
    Type type = memory.getType();
    if (auto buffer = dyn_cast<BufferType>(type))
      type = BufferType::get(i32, buffer.getAccess());
    else
      type = WorkgroupType::get(cast<WorkgroupType>(type).getSize(), i32);
    setMemoryType(func, memory, type);
    for (Operation *user : llvm::to_vector(memory.getUsers()))
      if (failed(expandAccess(user)))
        return signalPassFailure();
  }
}
