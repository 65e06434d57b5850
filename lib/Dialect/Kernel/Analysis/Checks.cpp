//===- Checks.cpp - What is wrong with a kernel ---------------------------===//

#include "Items.h"
#include "Poot/Dialect/Kernel/Analysis.h"
#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELCHECK
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

StringRef poot::kernel::getName(Finding::Kind kind) {
  switch (kind) {
  case Finding::DivergentBarrier:
    return "divergent-barrier";
  case Finding::MaybeDivergentBarrier:
    return "maybe-divergent-barrier";
  case Finding::IndexRange:
    return "index-range";
  case Finding::WorkgroupLimit:
    return "workgroup-limit";
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// Whether TARGET is reached from START without passing AVOIDED.
static bool isReachable(Block *start, Block *target, Block *avoided) {
  SmallVector<Block *> open{start};
  DenseSet<Block *> seen;
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    if (block == avoided || !seen.insert(block).second)
      continue;
    if (block == target)
      return true;
    llvm::append_range(open, block->getSuccessors());
  }
  return false;
}

/// The branch next to BLOCK at which some invocations surely take the way to it
/// and others surely don't; null if that isn't known of any.
static Operation *findParting(Block *block, Uniformity &uniformity,
                              Items &items) {
  for (Block *decider : uniformity.getDeciding(block)) {
    auto branch = dyn_cast<cf::CondBranchOp>(decider->getTerminator());
    if (!branch || !uniformity.mayDiffer(branch.getCondition()))
      continue;
    for (bool side : {true, false}) {
      Block *taken = side ? branch.getTrueDest() : branch.getFalseDest();
      Block *other = side ? branch.getFalseDest() : branch.getTrueDest();
      if (taken != other &&
          uniformity.getPostDominance().postDominates(block, taken) &&
          !isReachable(other, block, decider) &&
          items.find(branch.getCondition()) == Items::Differ)
        return branch;
    }
  }
  return nullptr;
}

static void checkBarriers(FuncOp kernel,
                          function_ref<void(const Finding &)> report) {
  SmallVector<BarrierOp> barriers;
  kernel.walk([&](BarrierOp barrier) { barriers.push_back(barrier); });
  if (barriers.empty() || kernel.getBody().hasOneBlock())
    return;
  Uniformity uniformity(kernel);
  Items items(kernel);
  for (BarrierOp barrier : barriers) {
    Operation *branch = uniformity.getDivergentBranch(barrier->getBlock());
    if (!branch)
      continue;
    if (Operation *parting =
            findParting(barrier->getBlock(), uniformity, items))
      report({Finding::DivergentBarrier, barrier.getLoc(),
              "barrier that only some work-items of the workgroup come to",
              parting->getLoc(), "they part here"});
    else
      report({Finding::MaybeDivergentBarrier, barrier.getLoc(),
              "barrier that perhaps not all work-items of the workgroup come "
              "to",
              branch->getLoc(), "they may part here"});
  }
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

namespace {
/// Adds what is known of identifiers.
class KernelRanges : public dataflow::IntegerRangeAnalysis {
public:
  KernelRanges(DataFlowSolver &solver, FuncOp kernel)
      : IntegerRangeAnalysis(solver), kernel(kernel) {}

  LogicalResult visitOperation(
      Operation *op,
      ArrayRef<const dataflow::IntegerValueRangeLattice *> operands,
      ArrayRef<dataflow::IntegerValueRangeLattice *> results) override {
    ArrayRef<int32_t> size = kernel.getWorkgroupSize();
    int64_t items = int64_t(size[0]) * size[1] * size[2];
    std::optional<std::pair<int64_t, int64_t>> range;
    constexpr int64_t kLargestSubgroup = 128;
    if (auto id = dyn_cast<LocalIdOp>(op))
      range = {0, size[static_cast<unsigned>(id.getDim())] - 1};
    else if (isa<LaneIdOp>(op))
      range = {0, std::min(items, kLargestSubgroup) - 1};
    else if (isa<SubgroupIdOp>(op))
      range = {0, items - 1};
    else if (isa<SubgroupSizeOp>(op))
      range = {1, kLargestSubgroup};
    if (!range)
      return IntegerRangeAnalysis::visitOperation(op, operands, results);
    APInt low(32, range->first), high(32, range->second);
    propagateIfChanged(results[0],
                       results[0]->join(IntegerValueRange(
                           ConstantIntRanges(low, high, low, high))));
    return success();
  }

private:
  FuncOp kernel;
};
} // namespace

/// The range of INDEX if all of it is outside of 0 to EXTENT - 1.
static std::optional<ConstantIntRanges> findOutside(Value index, int64_t extent,
                                                    DataFlowSolver &solver) {
  auto *lattice = solver.lookupState<dataflow::IntegerValueRangeLattice>(index);
  if (!lattice || lattice->getValue().isUninitialized())
    return std::nullopt;
  const ConstantIntRanges &range = lattice->getValue().getValue();
  // An index that is negative is far outside as an unsigned number.
  if (range.umin().getBitWidth() != 32 || range.umin().ult(extent))
    return std::nullopt;
  return range;
}

static std::string describe(const ConstantIntRanges &range) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // As signed numbers where that is one range.
  bool isSigned = range.smin().sle(range.smax()) && range.smax().isNegative();
  const APInt &low = isSigned ? range.smin() : range.umin();
  const APInt &high = isSigned ? range.smax() : range.umax();
  os << "index ";
  low.print(os, isSigned);
  if (low != high) {
    os << " to ";
    high.print(os, isSigned);
  }
  return text;
}

static void checkIndices(FuncOp kernel,
                         function_ref<void(const Finding &)> report) {
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<KernelRanges>(kernel);
  if (failed(solver.initializeAndRun(kernel)))
    return;
  auto check = [&](Operation *op, Value memory, Value index, int64_t extent,
                   StringRef what) {
    auto range = findOutside(index, extent, solver);
    if (!range)
      return;
    std::optional<Location> cause;
    if (Operation *declaration = memory.getDefiningOp())
      cause = declaration->getLoc();
    report({Finding::IndexRange, op->getLoc(),
            (describe(*range) + " of " + what + " with " + Twine(extent) +
             (extent == 1 ? " element" : " elements"))
                .str(),
            cause, "it is declared here"});
  };
  auto checkAccess = [&](Operation *op, Value memory, Value index,
                         std::optional<uint32_t> leaf, Value element) {
    Type type = memory.getType();
    if (auto array = dyn_cast<WorkgroupType>(type))
      check(op, memory, index, array.getSize(), "a workgroup array");
    else if (auto table = dyn_cast<TableType>(type))
      check(op, memory, index, table.getSize(), "a constant array");
    auto structure = dyn_cast<StructType>(getElementType(type));
    if (structure && leaf && element && *leaf < structure.getCounts().size())
      check(op, memory, element, structure.getCounts()[*leaf],
            "an array in a structure");
  };
  kernel.walk([&](Operation *op) {
    if (auto *state = solver.lookupState<dataflow::Executable>(
            solver.getProgramPointBefore(op->getBlock()));
        !state || !state->isLive())
      return;
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](LoadOp load) {
          checkAccess(load, load.getMemory(), load.getIndex(), load.getLeaf(),
                      load.getElement());
        })
        .Case([&](StoreOp store) {
          checkAccess(store, store.getMemory(), store.getIndex(),
                      store.getLeaf(), store.getElement());
        })
        .Case<AtomicRmwOp, AtomicCasOp, AtomicLoadOp, AtomicStoreOp>(
            [&](auto atomic) {
              checkAccess(atomic, atomic.getMemory(), atomic.getIndex(),
                          std::nullopt, Value());
            })
        .Case<VarLoadOp, VarStoreOp>([&](auto access) {
          auto type = cast<VarType>(access.getVar().getType());
          for (auto [index, extent] :
               llvm::zip(access.getIndices(), type.getShape()))
            check(access, access.getVar(), index, extent, "an array");
        });
  });
}

//===----------------------------------------------------------------------===//
// Workgroup arrays
//===----------------------------------------------------------------------===//

static void checkWorkgroupArrays(FuncOp kernel, int64_t limit,
                                 function_ref<void(const Finding &)> report) {
  // Arrays that share bytes, as far as any target lets them.
  struct Group {
    SmallVector<WorkgroupAllocOp> members;
    int64_t bytes;
  };
  SmallVector<Group> groups;
  kernel.walk([&](WorkgroupAllocOp alloc) {
    auto type = cast<WorkgroupType>(alloc.getResult().getType());
    int64_t bytes = type.getSize() * getElementBytes(type.getElementType());
    for (Group &group : groups)
      if (llvm::all_of(group.members, [&](WorkgroupAllocOp member) {
            return llvm::is_contained(alloc.getOverlays(), member.getResult());
          })) {
        group.members.push_back(alloc);
        group.bytes = std::max(group.bytes, bytes);
        return;
      }
    groups.push_back({{alloc}, bytes});
  });
  int64_t sum = 0;
  for (const Group &group : groups)
    sum += group.bytes;
  if (sum <= limit)
    return;
  auto largest = std::max_element(
      groups.begin(), groups.end(),
      [](const Group &a, const Group &b) { return a.bytes < b.bytes; });
  report({Finding::WorkgroupLimit, kernel.getLoc(),
          ("workgroup arrays of " + Twine(sum) +
           " bytes, beyond the limit of " + Twine(limit))
              .str(),
          largest->members.front().getLoc(),
          ("the largest of them takes " + Twine(largest->bytes)).str()});
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void poot::kernel::analyzeKernel(FuncOp kernel, int64_t workgroupLimit,
                                 function_ref<void(const Finding &)> report) {
  if (kernel.getBody().empty())
    return;
  checkWorkgroupArrays(kernel, workgroupLimit, report);
  checkBarriers(kernel, report);
  checkIndices(kernel, report);
}

namespace {
struct KernelCheck : poot::kernel::impl::KernelCheckBase<KernelCheck> {
  using KernelCheckBase::KernelCheckBase;

  void runOnOperation() override {
    bool fails = false;
    analyzeKernel(getOperation(), workgroupLimit, [&](const Finding &finding) {
      bool isError = finding.kind == Finding::DivergentBarrier ||
                     finding.kind == Finding::IndexRange;
      fails |= isError;
      InFlightDiagnostic diagnostic =
          isError ? emitError(finding.loc) : emitWarning(finding.loc);
      diagnostic << finding.text << " [" << poot::kernel::getName(finding.kind)
                 << "]";
      if (finding.cause)
        diagnostic.attachNote(*finding.cause) << finding.causeText;
    });
    markAllAnalysesPreserved();
    if (fails)
      signalPassFailure();
  }
};
} // namespace
