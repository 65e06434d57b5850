//===- Translations.cpp - poot-translate --graph-to-bundle ----------------===//

#include "Poot/Bundle/Export.h"
#include "Poot/Dialect/Graph/GraphOps.h"
#include "Poot/Planner/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace poot {

void registerBundleTranslations() {
  static llvm::cl::list<std::string> targets(
      "bundle-target", llvm::cl::CommaSeparated,
      llvm::cl::desc("targets of --graph-to-bundle (vulkan)"));
  static TranslateFromMLIRRegistration toBundle(
      "graph-to-bundle", "compile a graph to a bundle",
      [](Operation *op, llvm::raw_ostream &output) -> LogicalResult {
        auto module = cast<ModuleOp>(op);
        PassManager pm(module.getContext());
        std::vector<std::string> names(targets.begin(), targets.end());
        if (names.empty())
          names.push_back("vulkan");
        planner::buildGraphToPlanPipeline(pm, names, /*testVectors=*/true);
        if (failed(pm.run(module)))
          return failure();
        ExportedBundle exported;
        if (failed(exportBundle(module, {}, exported)))
          return failure();
        auto bytes = bundle::encodeBundle(exported.index, exported.sections);
        if (!bytes)
          return module.emitError(bytes.status().message());
        output.write(reinterpret_cast<const char *>(bytes->data()),
                     bytes->size());
        return success();
      },
      [](DialectRegistry &registry) {
        registry.insert<graph::GraphDialect, func::FuncDialect>();
      });
}

} // namespace poot
