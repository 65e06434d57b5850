//===- pootc.cpp - Compiles C++ that holds GPU kernels --------------------===//
//
// Does what clang++ does with the same arguments, and on the way imports the
// kernels of each translation unit (Poot/Import/Import.h) and writes them to
// files. The object file is the one that clang++ writes. A kernel that can't be
// imported is an error of the compilation.
//
// Clang's driver plans the jobs. Those that compile run in this process; the
// others (assembler, linker) are programs, as ever.
//
//===----------------------------------------------------------------------===//

#include "Poot/Import/Import.h"
#include "Poot/Support/InitTool.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/Stack.h"
#include "clang/Basic/Version.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Job.h"
#include "clang/Driver/Tool.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/FrontendPluginRegistry.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/FrontendTool/Utils.h"
#include "clang/Options/Options.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace clang;

/// What the command line asks of every compilation.
static poot::import::ImportOptions importOptions;

namespace {
/// Clang runs it before its own work on each translation unit that it parses.
class ImportAction : public PluginASTAction {
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &instance,
                                                 llvm::StringRef) override {
    return poot::import::createImportConsumer(instance, importOptions);
  }
  bool ParseArgs(const CompilerInstance &,
                 const std::vector<std::string> &) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};
} // namespace

static FrontendPluginRegistry::Add<ImportAction>
    registration("poot-import", "imports GPU kernels");

static constexpr llvm::StringLiteral kHelp =
    R"(OVERVIEW: compiles C++ as clang++ does, and imports its GPU kernels

USAGE: pootc [pootc options] [clang++ options] file...

A kernel is a function marked POOT_KERNEL (poot/kernel.h, which is found without
an option). For each, and for each instance of a template, one file is written.

POOTC OPTIONS:
  --emit=FORMATS    what to write for a kernel NAME, separated by commas:
                      kir-json  NAME.kir.json (the default)
                      mlir      NAME.mlir, the kernel dialect as text
                      none      nothing; kernels are checked and imported
  --out-dir=FOLDER  where to write it; default: the current folder
  --kernel=NAME     only this kernel; may be given several times
  --warn=NAMES      diagnostics that are warnings, separated by commas, or all;
                    docs/reference/kernel-diagnostics.md says which can be
  --error=NAMES     diagnostics that are errors
  --workgroup-limit=BYTES
                    more bytes of workgroup arrays are warned of; default: 32768
  --help            this text
  --version         the versions of pootc and of the clang in it

CLANG OPTIONS: all that clang++ has ('clang++ --help' lists them). With -c, -S
and -fsyntax-only kernels are written too; with -E they aren't.
)";

/// Takes pootc's own options out of ARGUMENTS. False after an error.
static bool takeOptions(llvm::SmallVectorImpl<const char *> &arguments) {
  auto fail = [](const llvm::Twine &message) {
    llvm::errs() << "pootc: error: " << message << "\n";
    return false;
  };
  llvm::SmallVector<const char *, 64> others;
  for (auto [i, text] : llvm::enumerate(arguments)) {
    llvm::StringRef argument(text ? text : "");
    if (i == 0) {
      others.push_back(text);
      continue;
    }
    std::string error;
    llvm::StringRef option = argument;
    if (!option.consume_front("--") ||
        !poot::import::parseImportOption(option, importOptions, error))
      others.push_back(text);
    else if (!error.empty())
      return fail(argument + ": " + error);
  }
  arguments.assign(others.begin(), others.end());
  return true;
}

/// The folder with poot/kernel.h: beside an installed pootc, or in the tree
/// that this one was built from.
static std::string findHeaders(const char *program) {
  static int anchor;
  llvm::SmallString<256> installed(
      llvm::sys::fs::getMainExecutable(program, &anchor));
  llvm::sys::path::remove_filename(installed);
  llvm::sys::path::append(installed, "..", "include");
  llvm::sys::path::remove_dots(installed, /*remove_dot_dot=*/true);
  for (llvm::StringRef folder :
       {llvm::StringRef(installed), llvm::StringRef(POOT_KERNEL_HEADERS)}) {
    llvm::SmallString<256> header(folder);
    llvm::sys::path::append(header, "poot", "kernel.h");
    if (llvm::sys::fs::exists(header))
      return folder.str();
  }
  return {};
}

/// Runs one job of the compiler proper in this process. False after an error.
static bool compile(const driver::Command &job, DiagnosticsEngine &diagnostics,
                    const char *program) {
  auto invocation = std::make_shared<CompilerInvocation>();
  if (!CompilerInvocation::CreateFromArgs(*invocation, job.getArguments(),
                                          diagnostics, program))
    return false;
  // Several translation units may follow one another here.
  invocation->getFrontendOpts().DisableFree = false;
  invocation->getCodeGenOpts().DisableFree = false;
  llvm::cl::ResetAllOptionOccurrences();
  CompilerInstance instance(std::move(invocation));
  instance.createVirtualFileSystem();
  instance.createDiagnostics();
  return instance.hasDiagnostics() && ExecuteCompilerInvocation(&instance);
}

int main(int argc, char **argv) {
  noteBottomOfStack();
  poot::InitTool init(argc, argv);
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();

  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *, 64> arguments(argv, argv + argc);
  // Clang's driver asks the program's name which of its faces it shows.
  arguments[0] = POOT_CLANG_EXECUTABLE;
  llvm::cl::ExpansionContext expansion(allocator,
                                       llvm::cl::TokenizeGNUCommandLine);
  if (llvm::Error error = expansion.expandResponseFiles(arguments)) {
    llvm::errs() << "pootc: error: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  for (llvm::StringRef argument : llvm::drop_begin(arguments)) {
    if (argument == "--help") {
      llvm::outs() << kHelp;
      return 0;
    }
    if (argument == "--version") {
      llvm::outs() << "pootc " POOT_VERSION ", with " << getClangFullVersion()
                   << "\n";
      return 0;
    }
  }
  if (!takeOptions(arguments))
    return 1;
  // Behind every folder that the user names.
  if (std::string headers = findHeaders(argv[0]); !headers.empty()) {
    arguments.push_back("-idirafter");
    arguments.push_back(saver.save(headers).data());
  }

  DiagnosticOptions diagnosticOptions;
  auto *printer = new TextDiagnosticPrinter(llvm::errs(), diagnosticOptions);
  printer->setPrefix("pootc");
  DiagnosticsEngine diagnostics(DiagnosticIDs::create(), diagnosticOptions,
                                printer);
  driver::Driver driver(arguments[0], llvm::sys::getDefaultTargetTriple(),
                        diagnostics, "pootc");
  driver.ResourceDir = POOT_CLANG_RESOURCES;
  std::unique_ptr<driver::Compilation> compilation(
      driver.BuildCompilation(arguments));
  if (!compilation || compilation->containsError() ||
      diagnostics.hasErrorOccurred())
    return 1;
  if (compilation->getArgs().hasArg(options::OPT__HASH_HASH_HASH)) {
    compilation->getJobs().Print(llvm::errs(), "\n", /*Quote=*/true);
    return 0;
  }

  bool succeeded = true;
  for (const driver::Command &job : compilation->getJobs()) {
    llvm::ArrayRef<const char *> of = job.getArguments();
    bool compiles = !of.empty() && llvm::StringRef(of.front()) == "-cc1";
    // Each file is compiled, whatever became of the others; what takes their
    // results needs all of them.
    if (compiles) {
      if (compilation->getArgs().hasArg(options::OPT_v))
        job.Print(llvm::errs(), "\n", /*Quote=*/true);
      succeeded &= compile(job, diagnostics, arguments[0]);
      continue;
    }
    if (!succeeded)
      break;
    const driver::Command *failing = nullptr;
    succeeded &= compilation->ExecuteCommand(job, failing) == 0;
  }
  compilation->CleanupFileList(compilation->getTempFiles());
  if (!succeeded)
    compilation->CleanupFileMap(compilation->getFailureResultFiles(),
                                /*JA=*/nullptr, /*IssueErrors=*/true);
  return succeeded ? 0 : 1;
}
