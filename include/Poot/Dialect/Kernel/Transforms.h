//===- Transforms.h - Filling and specializing kernels ----------*- C++ -*-===//
//
// What a planner does to a kernel that somebody wrote: it fills the hooks with
// code of its own, replaces specialization constants by numbers, and lets the
// result fold.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_TRANSFORMS_H
#define POOT_DIALECT_KERNEL_TRANSFORMS_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace poot::kernel {

class KernelBuilder;

/// Replaces every call of hook `name` in `kernel` by `body`. Arguments of the
/// body beyond the hook's operands are appended to the kernel's interface, the
/// buffers behind its buffers and the metadata behind its metadata. A kernel
/// without such a hook, or of another type, is an error at the kernel.
mlir::LogicalResult fillHook(FuncOp kernel, llvm::StringRef name,
                             HookBodyOp body);

/// Builds what replaces one call of a hook, where the builder stands. It may
/// build branches, and append buffers and metadata, which a kernel with several
/// calls of the hook needs once only.
using HookFiller =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
        KernelBuilder &, HookOp)>;

/// Replaces every call of hook `name` by what `filler` builds there. A kernel
/// without such a hook is an error at the kernel.
mlir::LogicalResult fillHook(FuncOp kernel, llvm::StringRef name,
                             HookFiller filler);

/// Replaces the calls of all hooks that are left by their default bodies, also
/// those that bodies call. Bodies that call each other in a circle or more than
/// 64 deep are an error, and so are more than 65536 operations.
mlir::LogicalResult fillDefaultHooks(FuncOp kernel);

/// Replaces the specialization constants that `values` names. A name that the
/// kernel has no constant of, or a value of another type, is an error.
mlir::LogicalResult specialize(FuncOp kernel, mlir::DictionaryAttr values);

/// Replaces the specialization constants that are left by their defaults, so
/// that what hangs on them folds.
void specializeToDefaults(FuncOp kernel);

/// Drops the buffers and metadata that nothing uses any more, as where a filled
/// hook took the place of its default. Gives out which arguments these were.
llvm::BitVector eraseUnusedArguments(FuncOp kernel);

/// The passes that make values of variables, fold, and write out loops, for
/// kernels and bodies of hooks: poot-kernel-optimize. Hooks are called as
/// before and constants not specialized: that comes first where it is known.
/// Without `unrolls` loops stay loops, for kernels that are to be specialized.
void buildKernelOptimizePipeline(mlir::OpPassManager &manager,
                                 bool unrolls = true);

/// Registers that pipeline for textual use.
void registerKernelPipelines();

} // namespace poot::kernel

#endif // POOT_DIALECT_KERNEL_TRANSFORMS_H
