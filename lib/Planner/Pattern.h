//===- Pattern.h - What a kernel of the user's stands for -------*- C++ -*-===//
//
// An expression of graph ops, such as `div(x, add(exp(neg(x)), 1))`, and where
// a graph has it. docs/own-kernels.md says how patterns are written.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_PATTERN_H
#define POOT_LIB_PLANNER_PATTERN_H

#include "Poot/Dialect/Graph/GraphOps.h"
#include <optional>

namespace poot::planner {

class Pattern {
public:
  /// Reads `text`; what is wrong with it is reported through `emitError`, with
  /// what is allowed.
  static mlir::FailureOr<Pattern>
  parse(llvm::StringRef text,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  unsigned getNumOperands() const { return numOperands; }
  unsigned getNumOps() const;
  /// True for softmax and the norms, whose elements depend on their row.
  bool isRows() const;
  /// The pattern in ops alone; equal exactly for equal patterns.
  std::string str() const;

  /// Ops of a block that the pattern stands for.
  struct Match {
    /// One for each operand of the pattern.
    llvm::SmallVector<mlir::Value> operands;
    /// In the order of the block; the last gives the result. What the others
    /// compute is used among them alone. Literals aren't among them.
    llvm::SmallVector<mlir::Operation *> ops;
  };
  /// The match whose result `root` gives.
  std::optional<Match> match(mlir::Operation *root) const;

private:
  friend class PatternParser;

  /// An operand, a number, or an op on other nodes.
  struct Node {
    enum class Kind { Operand, Number, Op } kind;
    /// The operand's number.
    unsigned operand = 0;
    double number = 0;
    /// The op's name, as `getPatternName` gives it.
    llvm::StringRef op;
    llvm::SmallVector<unsigned> children;
  };
  /// A node, and the value that it has to be.
  struct Goal {
    unsigned node;
    mlir::Value value;
  };
  bool solve(llvm::SmallVector<Goal> goals,
             llvm::SmallVectorImpl<mlir::Value> &bound) const;
  void print(unsigned node, llvm::raw_ostream &os) const;

  /// Children come before their parents; the last is the root.
  llvm::SmallVector<Node> nodes;
  unsigned numOperands = 0;
};

} // namespace poot::planner

#endif
