//===- LibraryKernel.h - Kernels of the library serve requests --*- C++ -*-===//
//
// The kernels of kernels/lib, as pootc wrote them when poot was built, and how
// one is made to serve a request: its hooks are filled with the addressing of
// the request's operands, its extents become numbers, and what is left folds.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_LIBRARYKERNEL_H
#define POOT_LIB_PLANNER_LIBRARYKERNEL_H

#include "OperandAccess.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace poot::planner {

/// The kernels of the library, read as they are asked for.
class KernelLibrary {
public:
  /// A copy of the kernel called `name`, in a module with the bodies of its
  /// hooks. Null if the library has none of that name.
  mlir::OwningOpRef<mlir::ModuleOp> instantiate(mlir::MLIRContext *context,
                                                llvm::StringRef name);

private:
  llvm::StringMap<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

/// A kernel of the library on its way to serve a request. Errors, such as a
/// hook that the kernel doesn't have, are kept until `finish`.
class LibraryKernel {
public:
  LibraryKernel(KernelLibrary &library, mlir::Location loc,
                llvm::StringRef name, const KernelRequest &request);
  /// The same for a kernel of `module`, which need not be the library's.
  LibraryKernel(mlir::OwningOpRef<mlir::ModuleOp> module, mlir::Location loc,
                llvm::StringRef name, const KernelRequest &request);

  /// What takes the place of a call of a hook: gets the numbers that the call
  /// passes, without the buffers, and gives the hook's results.
  using Filler = llvm::function_ref<llvm::SmallVector<KValue>(
      OperandAccess &, llvm::ArrayRef<KValue>)>;
  void fill(llvm::StringRef hook, Filler filler);
  /// The same with the call itself, where it matters which buffers it passes.
  using CallFiller = llvm::function_ref<llvm::SmallVector<KValue>(
      OperandAccess &, kernel::HookOp)>;
  void fillCalls(llvm::StringRef hook, CallFiller filler);
  bool hasHook(llvm::StringRef hook);

  /// Replaces a specialization constant. A kernel that doesn't use it stays as
  /// it is.
  void set(llvm::StringRef constant, double value);

  /// The kernel's own buffer `i` is operand `operand` of the request, counted
  /// over inputs and outputs.
  void bind(unsigned i, unsigned operand);
  /// Computes the kernel's own metadata `i` where the kernel starts.
  void compute(unsigned i, llvm::function_ref<KValue(OperandAccess &)> value);

  /// The kernel is right with subgroups of this size alone.
  void requireSubgroupSize(int32_t size);

  /// Launches at least `count` invocations or workgroups.
  void launchInvocations(int64_t count);
  void launchWorkgroups(int64_t count);

  /// The finished kernel, called `name`, at `builder`'s insertion point.
  mlir::FailureOr<GeneratedKernel> finish(mlir::OpBuilder &builder,
                                          llvm::StringRef name);

private:
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kernel::FuncOp func;
  const KernelRequest &request;
  KernelArguments arguments;
  /// What the kernel had from the start.
  llvm::SmallVector<mlir::BlockArgument> ownBuffers, ownMetadata;
  /// The operands of its own buffers.
  llvm::DenseMap<mlir::Value, unsigned> bound;
  llvm::SmallVector<int64_t, 3> grid;
  bool failed = false;
};

} // namespace poot::planner

#endif
