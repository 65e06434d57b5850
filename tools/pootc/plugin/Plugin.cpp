//===- Plugin.cpp - Imports GPU kernels within clang ----------------------===//
//
// What pootc does on the way, for builds that keep their clang++ of the same
// version:
//
//   clang++-22 -fplugin=libpoot-clang-plugin.so \
//     -fplugin-arg-poot-emit=kir-json -fplugin-arg-poot-out-dir=FOLDER ...
//
// The arguments are pootc's own options without their dashes. The object file
// is the one that clang++ writes without the plugin.
//
//===----------------------------------------------------------------------===//

#include "Poot/Import/Import.h"

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendPluginRegistry.h"

using namespace clang;

namespace {
class ImportAction : public PluginASTAction {
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &instance,
                                                 llvm::StringRef) override {
    return poot::import::createImportConsumer(instance, options);
  }
  bool ParseArgs(const CompilerInstance &instance,
                 const std::vector<std::string> &arguments) override {
    DiagnosticsEngine &engine = instance.getDiagnostics();
    for (const std::string &argument : arguments) {
      std::string error;
      if (!poot::import::parseImportOption(argument, options, error))
        error = "there is no such argument of the plugin";
      if (error.empty())
        continue;
      engine.Report(engine.getCustomDiagID(DiagnosticsEngine::Error,
                                           "-fplugin-arg-poot-%0: %1"))
          << argument << error;
      return false;
    }
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }

  poot::import::ImportOptions options;
};
} // namespace

static FrontendPluginRegistry::Add<ImportAction>
    registration("poot", "imports GPU kernels");
