//===- poot-compile.cpp - Models and graphs to bundles --------------------===//
//
// The compiler driver: a GGUF or safetensors checkpoint, the shape of a known
// model, or a graph file becomes a bundle for one or more targets. Weights are
// never read: the bundle binds them by name when it is loaded.
//
//===----------------------------------------------------------------------===//

#include "Poot/Bundle/Export.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "Poot/InitAll.h"
#include "Poot/Planner/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "poot/weights/atomic_file.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include <chrono>
#include <unistd.h>

using namespace mlir;
using namespace poot;
namespace cl = llvm::cl;

static cl::OptionCategory category("Compilation options");

static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("MODEL.gguf | FILE.mlir | -"),
                                  cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Bundle to write"),
                                   cl::value_desc("file.poot"),
                                   cl::cat(category));
static cl::list<std::string>
    targets("target", cl::CommaSeparated,
            cl::desc("Target to compile for, once for each: vulkan (the first "
                     "level that has the graph's types), vulkan:base, "
                     "vulkan:f16"),
            cl::value_desc("name"), cl::cat(category));
static cl::opt<bool> printPlan("print-plan",
                               cl::desc("Print every program as a table"),
                               cl::cat(category));
static cl::opt<bool>
    noTestVectors("no-test-vectors",
                  cl::desc("Leave out the seeded checks that poot-run "
                           "--self-check runs"),
                  cl::cat(category));

namespace {

/// Progress on a terminal, silence in a pipe.
class Progress {
public:
  void step(const llvm::Twine &text) {
    if (!isTerminal)
      return;
    llvm::errs() << "\r\033[K" << text;
    pending = true;
  }
  ~Progress() {
    if (pending)
      llvm::errs() << "\r\033[K";
  }

private:
  bool isTerminal = isatty(STDERR_FILENO);
  bool pending = false;
};

int fail(const llvm::Twine &message) {
  llvm::errs() << "poot-compile: error: " << message << "\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAllPasses();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "poot's compiler: a model or a graph to a bundle\n\n"
      "  poot-compile MODEL.gguf --target vulkan -o MODEL.poot\n"
      "  poot-compile graph.mlir -o graph.poot\n");
  if (input.empty())
    return fail("no input; see --help");
  if (output.empty() && !printPlan)
    return fail("no output; name one with -o");
  if (targets.empty())
    targets.push_back("vulkan");

  auto start = std::chrono::steady_clock::now();
  Progress progress;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);

  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  progress.step("reading " + input);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  if (!file)
    return fail(message);
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;

  PassManager pm(&context);
  if (failed(applyPassManagerCLOptions(pm)))
    return 1;
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  pm.enableTiming(scope);
  planner::buildGraphToPlanPipeline(
      pm,
      llvm::to_vector(llvm::map_range(
          targets, [](const std::string &name) { return name; })),
      /*testVectors=*/!noTestVectors && !output.empty());
  progress.step("planning");
  if (failed(pm.run(*module)))
    return 1;
  if (printPlan)
    plan::printPlan(*module, llvm::outs());
  if (output.empty())
    return 0;

  ExportOptions options;
  options.progress = [&](size_t done, size_t total) {
    progress.step("kernel " + llvm::Twine(done + 1) + " of " +
                  llvm::Twine(total));
  };
  ExportedBundle exported;
  if (failed(exportBundle(*module, options, exported)))
    return 1;
  weights::Status written =
      bundle::writeBundle(output, exported.index, exported.sections);
  if (!written.ok())
    return fail(written.message());
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  progress.step("");
  if (isatty(STDERR_FILENO))
    llvm::errs() << output << ": " << exported.index.targets.size()
                 << " target(s), " << llvm::format("%.1f", seconds.count())
                 << " s\n";
  return 0;
}
