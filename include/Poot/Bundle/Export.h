//===- Export.h - Plans become bundles --------------------------*- C++ -*-===//
//
// Compiles the kernels of a module in plan form for their targets and describes
// everything that a runtime needs as the index of a bundle.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_EXPORT_H
#define POOT_BUNDLE_EXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "poot/bundle/writer.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace poot {

/// A bundle in memory: what poot/bundle/writer.h writes.
struct ExportedBundle {
  bundle::fb::BundleT index;
  std::vector<std::vector<uint8_t>> sectionBytes;
  std::vector<bundle::SectionSource> sections;
};

struct ExportOptions {
  /// Facts about the model that travel with the bundle, by key.
  std::vector<std::pair<std::string, std::string>> model;
  /// Called before each kernel is compiled, with how many there are.
  std::function<void(size_t done, size_t total)> progress;
};

/// Exports every program of `module`. Programs must have their arena and edges.
/// Equal modules give equal bytes.
mlir::LogicalResult exportBundle(mlir::ModuleOp module,
                                 const ExportOptions &options,
                                 ExportedBundle &bundle);

/// Exports every kernel of `module` for each of `targets`, without a program:
/// for who launches kernels one by one. Hooks must be filled and constants
/// specialized. The module stays as it is.
mlir::LogicalResult exportKernels(mlir::ModuleOp module,
                                  llvm::ArrayRef<std::string> targets,
                                  const ExportOptions &options,
                                  ExportedBundle &bundle);

/// Registers `--graph-to-bundle` with poot-translate.
void registerBundleTranslations();

} // namespace poot

#endif
