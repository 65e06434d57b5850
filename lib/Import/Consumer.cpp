//===- Consumer.cpp - Writes the kernels of a translation unit ------------===//

#include "Poot/Import/Import.h"

#include "Findings.h"
#include "Poot/Kir/Kir.h"
#include "Poot/Support/Files.h"
#include "poot/kir/json.h"

#include "mlir/IR/Diagnostics.h"

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclBase.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Sema/ParsedAttr.h"
#include "clang/Sema/Sema.h"
#include "clang/Sema/SemaDiagnostic.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
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
  /// Appends what is to be written for a kernel. False after an error.
  bool render(const KernelDecl &kernel, mlir::ModuleOp module);

  CompilerInstance &clang;
  ImportOptions options;
  /// Paths and contents.
  std::vector<std::pair<std::string, std::string>> files;
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
  llvm::StringSet<> found;
  Reporter reporter(engine, options.levels);
  for (const KernelDecl &kernel : findKernels(clang, reporter)) {
    if (!options.kernels.empty() &&
        !llvm::is_contained(options.kernels, kernel.name))
      continue;
    auto module = importKernel(clang, context, kernel, reporter);
    if (!module && !engine.hasErrorOccurred())
      error("kernel '" + kernel.name + "' can't be imported");
    found.insert(kernel.name);
    if (!module)
      continue;
    reportFindings(*module, options.workgroupLimit, clang.getSourceManager(),
                   reporter);
    if (!engine.hasErrorOccurred())
      render(kernel, *module);
  }
  for (const std::string &name : options.kernels)
    if (!found.contains(name))
      error("there is no kernel named '" + name + "'");
  if (engine.hasErrorOccurred())
    return;
  for (auto &[path, text] : files) {
    std::string message;
    if (mlir::failed(poot::writeOutput(path, text, message)))
      return error(message);
  }
}

bool Consumer::render(const KernelDecl &kernel, mlir::ModuleOp module) {
  auto add = [&](llvm::StringRef suffix, std::string text) {
    llvm::SmallString<128> path(options.folder);
    llvm::sys::path::append(path, kernel.name + suffix);
    auto [it, isNew] = options.written->try_emplace(path.str().str(), text);
    if (!isNew && it->second != text) {
      error("two kernels are written to '" + path + "'");
      return false;
    }
    files.emplace_back(path.str(), std::move(text));
    return true;
  };
  if (options.emitKirJson) {
    mlir::FailureOr<poot::kir::Module> plain = poot::exportKir(module);
    if (mlir::failed(plain) || !add(".kir.json", poot::kir::writeJson(*plain)))
      return false;
  }
  if (options.emitMlir) {
    std::string text;
    llvm::raw_string_ostream os(text);
    mlir::OpPrintingFlags flags;
    flags.enableDebugInfo();
    module->print(os, flags);
    os << "\n";
    return add(".mlir", std::move(text));
  }
  return true;
}

std::unique_ptr<ASTConsumer>
poot::import::createImportConsumer(CompilerInstance &clang,
                                   const ImportOptions &options) {
  return std::make_unique<Consumer>(clang, options);
}

bool poot::import::parseImportOption(llvm::StringRef option,
                                     ImportOptions &options,
                                     std::string &error) {
  auto [key, value] = option.split('=');
  if (key.size() == option.size())
    return false;
  if (key == "emit") {
    options.emitMlir = options.emitKirJson = false;
    llvm::SmallVector<llvm::StringRef> formats;
    value.split(formats, ',');
    for (llvm::StringRef format : formats) {
      if (format == "mlir")
        options.emitMlir = true;
      else if (format == "kir-json")
        options.emitKirJson = true;
      else if (format != "none")
        error =
            ("there is no format '" + format + "'; use kir-json, mlir or none")
                .str();
    }
  } else if (key == "out-dir") {
    options.folder = value.str();
    if (value.empty())
      error = "it names no folder";
  } else if (key == "kernel") {
    options.kernels.push_back(value.str());
    if (value.empty())
      error = "it names no kernel";
  } else if (key == "warn" || key == "error") {
    if (auto wrong = options.levels.set(value, key == "error"))
      error = *wrong;
  } else if (key == "workgroup-limit") {
    if (value.getAsInteger(10, options.workgroupLimit) ||
        options.workgroupLimit < 0)
      error = "it is a number of bytes";
  } else {
    return false;
  }
  return true;
}
