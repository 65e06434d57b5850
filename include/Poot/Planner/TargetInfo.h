//===- TargetInfo.h - What the planner knows of a target --------*- C++ -*-===//
//
// One table of targets: how they are spelt, what a kernel may use there, and
// the limits that shape a plan.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_PLANNER_TARGETINFO_H
#define POOT_PLANNER_TARGETINFO_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace poot::planner {

/// The target whose kernels stay as they are, for the kernel interpreter.
inline constexpr llvm::StringLiteral kInterpTarget = "interp";

struct TargetInfo {
  /// As spelt in `--target` and in bundles.
  const char *name;
  const char *meaning;
  /// Most bytes of one kernel argument. Vulkan promises 128 MiB.
  int64_t maxBindingBytes;
  /// Element types beyond i32 and f32 are allowed.
  bool hasSmallAndWideTypes;
  /// Invocations run on a CPU, one vector of them after the other: loads aren't
  /// shared between them, and waiting at barriers costs more than it saves.
  bool isCpu;
  /// Subgroups of 32 multiply matrices of f16.
  bool hasFragments;
  /// Workgroups that keep a device busy, where sums can be split into more.
  int64_t workgroupsWanted;
  /// The feature that a device must have beyond those of the kernels, so that
  /// others take another target of a bundle. May be empty.
  llvm::StringLiteral feature;
};

/// Every target that can be compiled for.
llvm::ArrayRef<TargetInfo> getTargets();

/// Finds a target by its name, or for plain `vulkan` the first level of Vulkan
/// that has every element type of `module`'s functions. An unknown name is an
/// error that lists the known ones.
mlir::FailureOr<const TargetInfo *> findTarget(llvm::StringRef name,
                                               mlir::ModuleOp module);

} // namespace poot::planner

#endif
