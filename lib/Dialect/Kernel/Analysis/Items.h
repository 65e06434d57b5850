//===- Items.h - Values of every invocation of a workgroup ------*- C++ -*-===//
//
// Computes values that depend on the number of an invocation in its workgroup
// and on constants alone, for each invocation, by folding.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_DIALECT_KERNEL_ANALYSIS_ITEMS_H
#define POOT_LIB_DIALECT_KERNEL_ANALYSIS_ITEMS_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "llvm/ADT/DenseMap.h"

#include <array>

namespace poot::kernel {

class Items {
public:
  explicit Items(FuncOp kernel) : kernel(kernel) {}

  enum Result { Unknown, Same, Differ };
  /// Whether an integer is the same for all invocations. Unknown if it depends
  /// on anything else, or takes more steps than are worth it.
  Result find(mlir::Value value);

private:
  mlir::Attribute evaluate(mlir::Value value);
  mlir::Attribute compute(mlir::Value value);

  FuncOp kernel;
  std::array<int32_t, 3> id = {};
  llvm::DenseMap<mlir::Value, mlir::Attribute> known;
  unsigned depth = 0;
  unsigned folds = 0;
};

} // namespace poot::kernel

#endif // POOT_LIB_DIALECT_KERNEL_ANALYSIS_ITEMS_H
