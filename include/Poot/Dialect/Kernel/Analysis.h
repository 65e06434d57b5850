//===- Analysis.h - What can be said of a kernel without running it -------===//
//
// Which values and branches are the same for all invocations of a workgroup,
// and from this and from ranges of values, what is wrong with a kernel. For
// kernels that are control-flow graphs, before kernel-structurize.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_ANALYSIS_H
#define POOT_DIALECT_KERNEL_ANALYSIS_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace poot::kernel {

/// Which values of a kernel may differ between the invocations of a workgroup
/// that execute their operation together, and which blocks may be left out by
/// some of them.
///
/// They differ by what identifies an invocation, by what is read at places that
/// differ, by atomic operations, and by most subgroup operations, since a
/// workgroup has several subgroups. From there it follows operands, branches
/// whose condition differs to the values that meet behind them, and loops that
/// are left at different times to what is used after them. What is read from
/// one place is one value: that another invocation writes there meanwhile would
/// be a race.
class Uniformity {
public:
  explicit Uniformity(FuncOp kernel);

  bool mayDiffer(mlir::Value value) const { return differing.contains(value); }
  /// A branch whose condition may differ and that decides, perhaps with others
  /// in between, whether an invocation comes to BLOCK; null if there is none.
  mlir::Operation *getDivergentBranch(mlir::Block *block) const {
    return divergentBlocks.lookup(block);
  }
  /// The branches that decide, next to it, whether an invocation comes to
  /// BLOCK.
  llvm::ArrayRef<mlir::Block *> getDeciding(mlir::Block *block) const {
    auto it = deciding.find(block);
    return it == deciding.end() ? llvm::ArrayRef<mlir::Block *>() : it->second;
  }
  mlir::PostDominanceInfo &getPostDominance() { return postDominance; }

private:
  void mark(mlir::Value value);
  void visit(mlir::Operation *op, mlir::Value operand);
  void visitBranch(mlir::Operation *branch);
  mlir::Block *getPostDominator(mlir::Block *block);

  FuncOp kernel;
  mlir::DominanceInfo dominance;
  mlir::PostDominanceInfo postDominance;
  llvm::DenseMap<mlir::Block *, unsigned> order;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Block *, 2>> deciding;
  /// The other way round: blocks that a branch decides.
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Block *>> decided;
  std::unique_ptr<mlir::CFGLoopInfo> loops;
  llvm::DenseSet<mlir::Value> differing;
  llvm::SmallVector<mlir::Value> worklist;
  llvm::DenseSet<mlir::Operation *> divergentBranches;
  llvm::DenseMap<mlir::Block *, mlir::Operation *> divergentBlocks;
};

/// Something that is wrong with a kernel, or may be.
struct Finding {
  enum Kind {
    /// A barrier that some invocations of a workgroup don't come to, if any
    /// comes to the branch before it.
    DivergentBarrier,
    /// The same, where it depends on values that aren't known.
    MaybeDivergentBarrier,
    /// An index that is outside of its array whatever it is computed from.
    IndexRange,
    /// More bytes of workgroup arrays than the limit.
    WorkgroupLimit,
  };
  Kind kind;
  mlir::Location loc;
  std::string text;
  /// Where it comes from, and what is there.
  std::optional<mlir::Location> cause;
  std::string causeText;
};

/// The name that messages end in, as `divergent-barrier`.
llvm::StringRef getName(Finding::Kind kind);

inline constexpr int64_t kDefaultWorkgroupLimit = 32768;

/// Calls REPORT for everything that is found: arrays, barriers, then indices.
void analyzeKernel(FuncOp kernel, int64_t workgroupLimit,
                   llvm::function_ref<void(const Finding &)> report);

} // namespace poot::kernel

#endif // POOT_DIALECT_KERNEL_ANALYSIS_H
