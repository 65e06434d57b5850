//===- Consumer.cpp - Writes the kernels of a translation unit ------------===//

#include "Poot/Import/Import.h"

#include "mlir/IR/Diagnostics.h"

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclBase.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Sema/ParsedAttr.h"
#include "clang/Sema/Sema.h"
#include "clang/Sema/SemaDiagnostic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace clang;
using namespace poot::import;

namespace {
class Consumer : public ASTConsumer {
public:
  Consumer(CompilerInstance &clang, ImportOptions options)
      : clang(clang), options(std::move(options)) {}

  void HandleTranslationUnit(ASTContext &) override;

private:
  void error(const llvm::Twine &message) {
    DiagnosticsEngine &engine = clang.getDiagnostics();
    engine.Report(engine.getCustomDiagID(DiagnosticsEngine::Error, "%0"))
        << message.str();
  }
  bool write(llvm::StringRef name, mlir::ModuleOp module);

  CompilerInstance &clang;
  ImportOptions options;
};
} // namespace

namespace {
/// [[poot::kernel]] says what POOT_KERNEL says.
struct KernelAttribute : ParsedAttrInfo {
  KernelAttribute() {
    static constexpr Spelling spellings[] = {
        {ParsedAttr::AS_CXX11, "poot::kernel"}};
    Spellings = spellings;
  }
  bool diagAppertainsToDecl(Sema &sema, const ParsedAttr &attribute,
                            const Decl *decl) const override {
    if (llvm::isa<FunctionDecl>(decl))
      return true;
    sema.Diag(attribute.getLoc(), diag::warn_attribute_wrong_decl_type_str)
        << attribute << attribute.isRegularKeywordAttribute() << "functions";
    return false;
  }
  AttrHandling handleDeclAttribute(Sema &sema, Decl *decl,
                                   const ParsedAttr &attribute) const override {
    decl->addAttr(AnnotateAttr::Create(sema.Context, "poot.kernel", nullptr, 0,
                                       attribute.getRange()));
    return AttributeApplied;
  }
};
} // namespace

static ParsedAttrInfoRegistry::Add<KernelAttribute>
    kernelAttribute("poot-kernel", "marks a function as a GPU kernel");

void Consumer::HandleTranslationUnit(ASTContext &) {
  DiagnosticsEngine &engine = clang.getDiagnostics();
  if (engine.hasErrorOccurred())
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  // What passes say of a kernel goes where clang's messages go.
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << d.getLocation() << ": " << d;
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      error(text);
    else
      llvm::errs() << text << "\n";
  });
  std::vector<std::pair<std::string, mlir::OwningOpRef<mlir::ModuleOp>>>
      modules;
  Reporter reporter(engine, options.levels);
  for (const KernelDecl &kernel : findKernels(clang, reporter)) {
    if (!options.kernels.empty() &&
        !llvm::is_contained(options.kernels, kernel.name))
      continue;
    auto module = importKernel(clang, context, kernel, reporter);
    if (!module && !engine.hasErrorOccurred())
      error("kernel '" + kernel.name + "' can't be imported");
    modules.emplace_back(kernel.name, std::move(module));
  }
  for (const std::string &name : options.kernels)
    if (llvm::none_of(modules, [&](auto &m) { return m.first == name; }))
      error("there is no kernel named '" + name + "'");
  if (engine.hasErrorOccurred() || !options.emitMlir)
    return;
  for (auto &[name, module] : modules)
    if (!write(name, *module))
      return;
}

/// Writes to a temporary name first, so that no half file stays.
bool Consumer::write(llvm::StringRef name, mlir::ModuleOp module) {
  llvm::SmallString<128> path(options.folder);
  llvm::sys::path::append(path, name + ".mlir");
  llvm::SmallString<128> temporary;
  int descriptor;
  std::error_code failure = llvm::sys::fs::createUniqueFile(
      path + ".%%%%%%", descriptor, temporary, llvm::sys::fs::OF_Text);
  if (!failure) {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    mlir::OpPrintingFlags flags;
    flags.enableDebugInfo();
    module->print(os, flags);
    os << "\n";
    os.close();
    failure = os.error();
    os.clear_error();
    if (!failure)
      failure = llvm::sys::fs::rename(temporary, path);
    if (failure)
      llvm::sys::fs::remove(temporary);
  }
  if (failure)
    error("can't write '" + path + "': " + failure.message());
  return !failure;
}

std::unique_ptr<ASTConsumer>
poot::import::createImportConsumer(CompilerInstance &clang,
                                   const ImportOptions &options) {
  return std::make_unique<Consumer>(clang, options);
}
