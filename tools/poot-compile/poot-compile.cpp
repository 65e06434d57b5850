//===- poot-compile.cpp - Models, graphs and kernels to bundles -----------===//
//
// The compiler driver: a GGUF or safetensors checkpoint, the shape of a known
// model, a graph file, or a file of kernels becomes a bundle for one or more
// targets. Weights are never read: the bundle binds them by name when it is
// loaded.
//
//===----------------------------------------------------------------------===//

#include "Poot/Bundle/Export.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "Poot/InitAll.h"
#include "Poot/Model/Family.h"
#include "Poot/Model/TraceModel.h"
#include "Poot/Planner/Passes.h"
#include "Poot/Planner/TargetInfo.h"
#include "Poot/Support/Files.h"
#include "Poot/Support/InitTool.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "poot/weights/checkpoint.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>
#include <unistd.h>

using namespace mlir;
using namespace poot;
namespace cl = llvm::cl;

static cl::OptionCategory category("Compilation options");

static cl::opt<std::string>
    input(cl::Positional,
          cl::desc("MODEL.gguf | MODEL.safetensors | FOLDER | FILE.mlir | "
                   "KERNEL.kir.json | -"),
          cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Bundle to write"),
                                   cl::value_desc("file.poot"),
                                   cl::cat(category));
static cl::list<std::string> targets(
    "target", cl::CommaSeparated,
    cl::desc("Target to compile for, once for each: vulkan (the first "
             "level that has the graph's types), vulkan:base, "
             "vulkan:f16, vulkan:coopmat, vulkan:cpu (Vulkan on a CPU), "
             "interp (the kernel interpreter). Kernels "
             "are compiled for interp as well; their vulkan is "
             "vulkan:f16"),
    cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string>
    shapeName("shape",
              cl::desc("Compile a model of a known shape, without a file: its "
                       "weights are bound when the bundle is loaded"),
              cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string> weightType(
    "weight-type",
    cl::desc("How the weights of a --shape are stored: f32, f16, bf16 or a "
             "packed encoding such as q4_0 (bf16)"),
    cl::value_desc("type"), cl::init("bf16"), cl::cat(category));
static cl::opt<int64_t> capacity(
    "capacity",
    cl::desc("Positions of each row that the KV cache holds (the model's "
             "context length, at most 2048)"),
    cl::value_desc("positions"), cl::init(0), cl::cat(category));
static cl::list<int64_t> prefill(
    "prefill", cl::CommaSeparated,
    cl::desc("Sizes of the chunks in which a prompt is read; 0 for none (32)"),
    cl::value_desc("tokens"), cl::cat(category));
static cl::opt<int64_t> rows("rows",
                             cl::desc("Sequences that step together (1)"),
                             cl::value_desc("count"), cl::init(1),
                             cl::cat(category));
static cl::opt<std::string>
    kvType("kv-type",
           cl::desc("Element type of the KV cache: f32, f16 or bf16"),
           cl::value_desc("type"), cl::init("f32"), cl::cat(category));
static cl::opt<std::string>
    activationType("activation-type",
                   cl::desc("Element type of activations: f32, f16 or bf16"),
                   cl::value_desc("type"), cl::init("f32"), cl::cat(category));
static cl::list<std::string>
    specs("spec", cl::CommaSeparated,
          cl::desc("The value of a specialization constant of the kernels; "
                   "others have their defaults"),
          cl::value_desc("name=number"), cl::cat(category));
static cl::list<std::string>
    kernels("kernel",
            cl::desc("A file of kernels of your own, .kir.json or .mlir as "
                     "pootc writes them: each takes the place of the ops that "
                     "it implements"),
            cl::value_desc("file"), cl::cat(category));
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

/// The element type that option OPTION names.
weights::Expected<weights::ElementType> parseElement(llvm::StringRef option,
                                                     const std::string &name) {
  std::optional<weights::ElementType> type = weights::elementTypeFromName(name);
  if (type)
    return *type;
  return weights::makeError(weights::StatusCode::InvalidArgument, "--",
                            option.str(), ": unknown element type ",
                            weights::quoted(name));
}

/// The entries that the options ask for: a decode step and the prefill chunks,
/// each with the likeliest token and with logits.
weights::Expected<std::vector<trace::StepShape>>
stepShapes(const model::ModelConfig &config) {
  trace::StepShape base;
  auto kv = parseElement("kv-type", kvType);
  if (!kv)
    return kv.status();
  auto activation = parseElement("activation-type", activationType);
  if (!activation)
    return activation.status();
  base.rows = rows;
  base.numerics.kv = *kv;
  base.numerics.activation = *activation;
  base.capacity = capacity == 0 ? model::defaultCapacity(config) : capacity;
  if (base.capacity > config.contextLength)
    return weights::makeError(
        weights::StatusCode::InvalidArgument, "--capacity ", base.capacity,
        " exceeds the model's context length of ", config.contextLength);

  std::vector<int64_t> chunks(prefill.begin(), prefill.end());
  if (chunks.empty())
    chunks.push_back(std::min<int64_t>(32, base.capacity));
  std::vector<trace::StepShape> shapes;
  auto add = [&](trace::Phase phase, int64_t tokens) {
    for (trace::Suffix suffix :
         {trace::Suffix::Greedy, trace::Suffix::Logits}) {
      trace::StepShape shape = base;
      shape.phase = phase;
      shape.tokens = tokens;
      shape.suffix = suffix;
      shapes.push_back(shape);
    }
  };
  add(trace::Phase::Decode, 1);
  for (int64_t tokens : chunks)
    if (tokens != 0)
      add(trace::Phase::Prefill, tokens);
  for (const trace::StepShape &shape : shapes)
    if (weights::Status status = trace::verify(shape); !status.ok())
      return status;
  return shapes;
}

/// The facts about a model that travel with its bundle.
std::vector<std::pair<std::string, std::string>>
describeModel(const model::Model &model) {
  const model::ModelConfig &config = model.config;
  return {{"family", model.family->name()},
          {"layers", std::to_string(config.layers)},
          {"hidden_size", std::to_string(config.hiddenSize)},
          {"heads", std::to_string(config.heads)},
          {"kv_heads", std::to_string(config.kvHeads)},
          {"head_dim", std::to_string(config.headDim)},
          {"vocab_size", std::to_string(config.vocabSize)},
          {"context_length", std::to_string(config.contextLength)}};
}

bool isKirFile(llvm::StringRef path) { return path.ends_with(".kir.json"); }

bool isIrFile(llvm::StringRef path) {
  return path == "-" || isKirFile(path) || path.ends_with(".mlir") ||
         path.ends_with(".mlirbc");
}

/// Kernels that somebody wrote, and no graph.
bool holdsKernels(ModuleOp module) {
  return module.getOps<func::FuncOp>().empty() &&
         !module.getOps<kernel::FuncOp>().empty();
}

/// The targets of kernels: those asked for, and the interpreter, whose KIR says
/// what a kernel's buffers hold. The types that vulkan:f16 has beyond
/// vulkan:base are needed by kernels that use them alone, so it is their
/// vulkan.
FailureOr<std::vector<std::string>> kernelTargets(ModuleOp module) {
  llvm::SetVector<StringRef> names;
  for (StringRef name : targets) {
    if (name == "vulkan")
      name = "vulkan:f16";
    FailureOr<const planner::TargetInfo *> target =
        planner::findTarget(name, module);
    if (failed(target))
      return failure();
    names.insert((*target)->name);
  }
  names.insert(planner::kInterpTarget);
  return std::vector<std::string>(names.begin(), names.end());
}

/// The model that the command line names.
weights::Expected<model::Model> readModel() {
  if (!shapeName.empty()) {
    auto type = parseElement("weight-type", weightType);
    if (!type)
      return type.status();
    return model::presetModel(shapeName, *type);
  }
  // What a model says of its tensors is copied; their bytes are never read.
  auto checkpoint = weights::Checkpoint::open(input);
  if (!checkpoint)
    return checkpoint.status();
  return model::readModel(*checkpoint);
}

int fail(const llvm::Twine &message) {
  llvm::errs() << "poot-compile: error: " << message << "\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  poot::InitTool init(argc, argv);
  registerAllPasses();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "poot's compiler: a model, a graph or kernels to a bundle\n\n"
      "  poot-compile MODEL.gguf --target vulkan -o MODEL.poot\n"
      "  poot-compile --shape llama3-8b --weight-type q4_k -o 8b.poot\n"
      "  poot-compile graph.mlir -o graph.poot\n"
      "  poot-compile MODEL.gguf --kernel silu.kir.json -o MODEL.poot\n"
      "  poot-compile kernel.kir.json -o kernel.poot\n");
  if (input.empty() == shapeName.empty())
    return fail("give one input, a file or a --shape; see --help");
  if (output.empty() && !printPlan)
    return fail("no output; name one with -o");
  if (targets.empty())
    targets.push_back("vulkan");

  auto start = std::chrono::steady_clock::now();
  Progress progress;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  // A note with the operation at fault would be the whole module at times.
  context.printOpOnDiagnostic(false);

  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  ExportOptions options;
  OwningOpRef<ModuleOp> module;
  if (shapeName.empty() && isIrFile(input)) {
    progress.step("reading " + input);
    std::string message;
    std::unique_ptr<llvm::MemoryBuffer> file = openNestedFile(input, message);
    if (!file)
      return fail(message);
    sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
    if (isKirFile(input))
      module = parseKirJson(*sources.getMemoryBuffer(1), &context);
    else
      runParser(input,
                [&] { module = parseSourceFile<ModuleOp>(sources, &context); });
  } else {
    progress.step("tracing " + (shapeName.empty() ? input : shapeName));
    auto model = readModel();
    if (!model)
      return fail(model.status().message());
    auto shapes = stepShapes(model->config);
    if (!shapes)
      return fail(shapes.status().message());
    options.model = describeModel(*model);
    module = model::traceModel(context, *model, *shapes);
  }
  if (!module)
    return 1;

  PassManager pm(&context);
  if (failed(applyPassManagerCLOptions(pm)))
    return 1;
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  pm.enableTiming(scope);
  const bool isKernels = holdsKernels(*module);
  if (isKernels) {
    if (printPlan)
      return fail(input + ": holds kernels alone, which have no plan to print");
    if (!kernels.empty())
      return fail("--kernel is for graphs and models, and the input holds "
                  "kernels alone");
    pm.addPass(kernel::createKernelFillHooks());
    pm.addNestedPass<kernel::FuncOp>(kernel::createKernelSpecialize(
        {llvm::to_vector(specs), /*defaults=*/true}));
  } else {
    if (!specs.empty())
      return fail("--spec is for kernels, and the input is a graph or a model");
    planner::buildGraphToPlanPipeline(
        pm,
        llvm::to_vector(llvm::map_range(
            targets, [](const std::string &name) { return name; })),
        /*testVectors=*/!noTestVectors && !output.empty(),
        llvm::to_vector(kernels));
  }
  progress.step("planning");
  if (failed(pm.run(*module)))
    return 1;
  if (printPlan) {
    plan::printPlan(*module, llvm::outs());
    if (std::string message; failed(flushOutput(message)))
      return fail(message);
  }
  if (output.empty())
    return 0;

  options.progress = [&](size_t done, size_t total) {
    progress.step("kernel " + llvm::Twine(done + 1) + " of " +
                  llvm::Twine(total));
  };
  ExportedBundle exported;
  if (isKernels) {
    FailureOr<std::vector<std::string>> names = kernelTargets(*module);
    if (failed(names) ||
        failed(exportKernels(*module, *names, options, exported)))
      return 1;
  } else if (failed(exportBundle(*module, options, exported))) {
    return 1;
  }
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
