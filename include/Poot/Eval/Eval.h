//===- Eval.h - The oracle --------------------------------------*- C++ -*-===//
//
// Evaluates functions and single ops of the graph dialect on the CPU, by the
// rules of docs/graph-semantics.md: what every device is compared with.
// Integers, comparisons, moves and packed decoding are exact; floats are as
// near to correctly rounded as the accumulation type lets them be. Equal inputs
// give equal bytes, whatever the number of threads.
//
// The module must have passed its verifiers and `graph-verify`. What a device
// leaves open or can't report (an index out of range, a division by zero) is an
// error here, given at the op's location.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_EVAL_EVAL_H
#define POOT_EVAL_EVAL_H

#include "Poot/Eval/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace poot::weights {
class Checkpoint;
struct TensorView;
} // namespace poot::weights

namespace poot::eval {

struct EvalOptions {
  /// What sums of f16, bf16 and f32 elements accumulate in. F32 is what devices
  /// do; F64 is a reference to measure rounding errors against. f64 elements
  /// always accumulate in f64, integers in wrapping integers.
  enum class Accumulate { F32, F64 };
  Accumulate accumulate = Accumulate::F32;

  /// Whether what is outside an op's domain is an error: an index out of range,
  /// a duplicate scatter index, an integer division by zero, a shift by the
  /// width or more. Otherwise the result is that of a device: indices are
  /// clamped or dropped, the last duplicate wins, division gives 0, shift
  /// amounts are taken modulo the width.
  bool strict = true;
};

/// What the functions of a module share: constants by name, states carried
/// from step to step, computed values. One environment serves one module.
class Environment {
public:
  /// Gives the constant NAME as TYPE (a ranked tensor or packed type), or
  /// reports through EMIT_ERROR why it can't.
  using ConstProvider = std::function<mlir::FailureOr<Tensor>(
      llvm::StringRef name, mlir::Type type,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError)>;

  /// OPEN_EXTENT is the outermost extent of states declared with `?`.
  explicit Environment(ConstProvider provider, int64_t openExtent = 0)
      : provider(std::move(provider)), openExtent(openExtent) {}

  /// The constant that OP declares, asked of the provider once.
  mlir::FailureOr<Tensor> getConst(graph::ConstOp op);
  /// The state that OP declares; zero before anything set it.
  mlir::FailureOr<Tensor> getState(graph::StateOp op);
  /// Replaces a state. VALUE must have its type, row-major.
  void setState(llvm::StringRef name, Tensor value) {
    states[name] = std::move(value);
  }

  /// Null before the load function has set it.
  const Tensor *findComputed(llvm::StringRef name) const {
    auto it = computed.find(name);
    return it == computed.end() ? nullptr : &it->second;
  }
  void setComputed(llvm::StringRef name, Tensor value) {
    computed[name] = std::move(value);
  }

  /// Whether the load function has run.
  bool loaded = false;

private:
  ConstProvider provider;
  int64_t openExtent;
  llvm::StringMap<Tensor> consts, states, computed;
};

/// A tensor of a file as a value of TYPE (a ranked tensor or packed type; open
/// extents fit any). Borrows the file's bytes where they are aligned; they must
/// outlive the value. Another shape or element type is an error through
/// EMIT_ERROR that names both.
mlir::FailureOr<Tensor>
fromStored(const weights::TensorView &stored, mlir::Type type,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Constants from CHECKPOINT, which must outlive the provider: nothing is
/// copied. A tensor that is missing is an error as well.
Environment::ConstProvider
bindCheckpoint(const weights::Checkpoint &checkpoint);

/// Runs FUNCTION on SLOTS (one per argument, of the argument's type) and gives
/// its results, row-major. A module's load function (`graph.load`) runs first,
/// once per environment. States change when the whole step has succeeded; a
/// failed step leaves them as they were.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evalFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> slots,
             Environment &environment, const EvalOptions &options = {});

/// Evaluates one op without symbols on explicit operands, one per operand and
/// of its type (an open extent may have any value). Results are row-major.
mlir::FailureOr<llvm::SmallVector<Tensor>>
evalOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
       const EvalOptions &options = {});

} // namespace poot::eval

#endif
