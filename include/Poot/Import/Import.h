//===- Import.h - Kernels of a translation unit ----------------*- C++ -*-===//
//
// Finds the functions that are marked as kernels in a translation unit that
// clang has parsed, and imports them into the kernel dialect. What isn't within
// the kernel subset is reported through clang at its place in the source, under
// a name (Diagnostics.def), with the calls that lead there from the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_IMPORT_IMPORT_H
#define POOT_IMPORT_IMPORT_H

#include "Poot/Import/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class CompilerInstance;
class FunctionDecl;
} // namespace clang

namespace poot::import {

/// A kernel that was found.
struct KernelDecl {
  const clang::FunctionDecl *function;
  /// Its name, and for an instance of a template also the arguments, as in
  /// `row_sum_f32_64`.
  std::string name;
};

/// Every kernel with a body, instances of templates included, in the order of
/// the source. Two that come to one name are an error.
std::vector<KernelDecl> findKernels(clang::CompilerInstance &clang,
                                    Reporter &reporter);

/// Checks one kernel and all that it calls, imports it into a module of its
/// own, with the default bodies of its hooks, and makes values of its
/// variables. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp> importKernel(clang::CompilerInstance &clang,
                                               mlir::MLIRContext &context,
                                               const KernelDecl &kernel,
                                               Reporter &reporter);

/// What is written for each kernel.
struct ImportOptions {
  /// NAME.kir.json (docs/kir-json.md), and NAME.mlir.
  bool emitKirJson = true, emitMlir = false;
  /// Where files go; they are named after their kernels.
  std::string folder = ".";
  /// If any are named, only these kernels.
  std::vector<std::string> kernels;
  /// Which diagnostics are warnings.
  Levels levels;
  /// Bytes of workgroup arrays beyond which there is a warning.
  int64_t workgroupLimit = 32768;
  /// What was written so far, by path. Several translation units may import one
  /// kernel of a header, but not two kernels of one name.
  std::shared_ptr<std::map<std::string, std::string>> written =
      std::make_shared<std::map<std::string, std::string>>();
};

/// Takes an option that pootc and clang's plugin have in common, spelt without
/// dashes, as `emit=mlir`. False if there is no such option; in ERROR, what is
/// wrong with its value.
bool parseImportOption(llvm::StringRef option, ImportOptions &options,
                       std::string &error);

/// Imports the kernels of a translation unit once clang has parsed it, and
/// writes what the options ask for. Nothing is written after an error.
std::unique_ptr<clang::ASTConsumer>
createImportConsumer(clang::CompilerInstance &clang,
                     const ImportOptions &options);

} // namespace poot::import

#endif // POOT_IMPORT_IMPORT_H
