//===- KernelTable.h - The kernels of one target ----------------*- C++ -*-===//
//
// Makes each kernel once, however many ops ask for it, and each literal's data
// likewise.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_KERNELTABLE_H
#define POOT_LIB_PLANNER_KERNELTABLE_H

#include "LibraryKernel.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "Poot/Planner/Kernels.h"
#include "Poot/Planner/TargetInfo.h"
#include "llvm/ADT/StringMap.h"

namespace poot::planner {

class KernelTable {
public:
  KernelTable(mlir::ModuleOp module, const TargetInfo &target,
              bool testVectors);

  /// The kernel for `request`, made on first demand.
  mlir::FailureOr<GeneratedKernel> get(mlir::Location loc,
                                       const KernelRequest &request);

  /// The symbol of a plan.data that holds `elements`.
  mlir::StringAttr getData(mlir::Location loc,
                           mlir::DenseElementsAttr elements);

private:
  std::string uniqueName(llvm::StringRef name);

  mlir::ModuleOp module;
  const TargetInfo &target;
  bool testVectors;
  KernelLibrary library;
  mlir::SymbolTable symbols;
  llvm::StringMap<GeneratedKernel> kernels;
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> data;
};

} // namespace poot::planner

#endif
