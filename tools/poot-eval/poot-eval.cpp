//===- poot-eval.cpp - The oracle from the command line -------------------===//
//
// Evaluates a function of a graph file on the CPU: one from the command line,
// or many, in one process, from a manifest.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Support/Files.h"
#include "Poot/Support/InitTool.h"
#include "Values.h"

#include "poot/weights/checkpoint.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <map>

using namespace mlir;
using namespace poot;
using namespace poot::eval;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

static cl::OptionCategory category("Evaluation options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("FILE.mlir"),
                                      cl::cat(category));
static cl::opt<std::string> functionName(
    "function",
    cl::desc("The function to evaluate; may be left out where the file has "
             "one entry"),
    cl::value_desc("name"), cl::cat(category));
static cl::list<std::string> inputOptions(
    "input",
    cl::desc("Value of a slot: NAME=FILE.npy, NAME=splat:VALUE or "
             "NAME=random:SEED (floats in [-1, 1), integers over their whole "
             "type). bf16 is given as f32"),
    cl::value_desc("name=value"), cl::cat(category));
static cl::list<std::string> outputOptions(
    "output",
    cl::desc("Write an output to NAME=FILE.npy (bf16 as f32); outputs without "
             "a file are printed when none has one"),
    cl::value_desc("name=file.npy"), cl::cat(category));
static cl::opt<std::string>
    weightsPath("weights",
                cl::desc("Checkpoint that holds the constants: a GGUF or "
                         "safetensors file, a shard index, or a folder"),
                cl::value_desc("path"), cl::cat(category));
static cl::list<std::string> constOptions(
    "const",
    cl::desc("Value of a constant, as for --input, instead of that of "
             "--weights; the name * stands for all constants not named"),
    cl::value_desc("name=value"), cl::cat(category));
static cl::list<std::string> stateOptions(
    "state",
    cl::desc("Value of a state before the first step, as for --input; zero "
             "where not given"),
    cl::value_desc("name=value"), cl::cat(category));
static cl::list<std::string>
    dumpStateOptions("dump-state",
                     cl::desc("Write a state after the last step to "
                              "NAME=FILE.npy"),
                     cl::value_desc("name=file.npy"), cl::cat(category));
static cl::opt<int64_t>
    openExtent("open-extent",
               cl::desc("Outermost extent of the states declared with ?"),
               cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::opt<int64_t>
    steps("steps",
          cl::desc("Evaluate the function N times on the same inputs, with "
                   "the states carried along, and report the last results"),
          cl::value_desc("n"), cl::init(1), cl::cat(category));
static cl::opt<EvalOptions::Accumulate> accumulate(
    "accumulate", cl::desc("What sums of f16, bf16 and f32 accumulate in:"),
    cl::values(clEnumValN(EvalOptions::Accumulate::F32, "f32",
                          "f32, as on devices (the default)"),
               clEnumValN(EvalOptions::Accumulate::F64, "f64",
                          "f64, to measure rounding errors against")),
    cl::init(EvalOptions::Accumulate::F32), cl::cat(category));
static cl::opt<bool> deviceRules(
    "device-rules",
    cl::desc("Where an index, divisor or shift amount is out of range, do "
             "what devices do instead of stopping with an error"),
    cl::cat(category));
static cl::opt<bool>
    reportTime("time",
               cl::desc("Print the time of each step to standard error"),
               cl::cat(category));
static cl::opt<std::string> manifestPath(
    "manifest",
    cl::desc(
        "Evaluate the functions that a JSON file lists, instead of one "
        "from the command line: {\"runs\": [{\"file\": …, \"function\": …, "
        "\"inputs\": {NAME: VALUE}, \"outputs\": {NAME: FILE}, \"consts\": "
        "{…}, \"states\": {…}, \"dump_states\": {…}, \"steps\": N}]}, values "
        "as for --input, files relative to the manifest. Each run has "
        "states and constants of its own"),
    cl::value_desc("file.json"), cl::cat(category));

namespace {

using NameMap = std::map<std::string, std::string>;

/// What is evaluated once: the command line's, or an entry of a manifest.
struct Task {
  std::string file;
  std::string function;
  NameMap inputs, outputs, consts, states, dumpStates;
  int64_t steps = 1;
  /// Where relative paths start; empty for the working directory.
  std::string folder;
};

/// Reports an error that belongs to no place in a file.
LogicalResult report(const llvm::Twine &message) {
  llvm::errs() << "poot-eval: error: " << message << "\n";
  return failure();
}

/// Reads NAME=VALUE options into MAP.
LogicalResult readOptions(const cl::list<std::string> &options, NameMap &map) {
  for (StringRef option : options) {
    auto [name, value] = option.split('=');
    if (name.empty() || value.empty())
      return report(
          "--" + options.ArgStr + "='" + option +
          "' isn't of the form NAME=" + options.ValueStr.split('=').second);
    if (!map.emplace(name.str(), value.str()).second)
      return report("--" + options.ArgStr + " names '" + name + "' twice");
  }
  return success();
}

FailureOr<Task> taskFromCommandLine() {
  Task task;
  task.file = inputFile;
  task.function = functionName;
  task.steps = steps;
  if (openExtent < 0)
    return report("--open-extent must be at least 1");
  if (task.file.empty())
    return report("give a FILE.mlir (- for standard input) or --manifest; "
                  "--help lists all options");
  if (failed(readOptions(inputOptions, task.inputs)) ||
      failed(readOptions(outputOptions, task.outputs)) ||
      failed(readOptions(constOptions, task.consts)) ||
      failed(readOptions(stateOptions, task.states)) ||
      failed(readOptions(dumpStateOptions, task.dumpStates)))
    return failure();
  return task;
}

FailureOr<std::vector<Task>> tasksFromManifest(StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openNestedFile(path, message);
  if (!buffer)
    return report(message);
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse(buffer->getBuffer());
  if (!value)
    return report(path + ": " + llvm::toString(value.takeError()));

  std::vector<Task> tasks;
  llvm::json::Path::Root root("manifest");
  auto readRuns = [&](llvm::json::Path at) {
    const llvm::json::Object *object = value->getAsObject();
    const llvm::json::Array *runs = object ? object->getArray("runs") : nullptr;
    if (!runs) {
      at.report("expected an object with the array 'runs'");
      return false;
    }
    llvm::json::Path runsPath = at.field("runs");
    for (auto [i, run] : llvm::enumerate(*runs)) {
      // A path refers to its parent.
      llvm::json::Path runPath = runsPath.index(i);
      llvm::json::ObjectMapper mapper(run, runPath);
      Task task;
      if (!mapper || !mapper.map("file", task.file) ||
          !mapper.mapOptional("function", task.function) ||
          !mapper.mapOptional("inputs", task.inputs) ||
          !mapper.mapOptional("outputs", task.outputs) ||
          !mapper.mapOptional("consts", task.consts) ||
          !mapper.mapOptional("states", task.states) ||
          !mapper.mapOptional("dump_states", task.dumpStates) ||
          !mapper.mapOptional("steps", task.steps))
        return false;
      static const llvm::StringSet<> known = {
          "file",   "function", "inputs",      "outputs",
          "consts", "states",   "dump_states", "steps"};
      for (const auto &[key, ignored] : *run.getAsObject())
        if (!known.contains(key)) {
          runPath.field(key).report("no such key of a run");
          return false;
        }
      task.folder = llvm::sys::path::parent_path(path).str();
      tasks.push_back(std::move(task));
    }
    return true;
  };
  if (!readRuns(root))
    return report(path + ": " + llvm::toString(root.getError()));
  return tasks;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::string inFolder(StringRef folder, StringRef path) {
  if (llvm::sys::path::is_absolute(path))
    return path.str();
  SmallString<128> result(folder);
  llvm::sys::path::append(result, path);
  return std::string(result);
}

/// Keeps what several runs share: parsed files and the checkpoint.
class Evaluator {
public:
  Evaluator() {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
    // A note with the operation at fault would be the whole module at times.
    context.printOpOnDiagnostic(false);
  }

  LogicalResult openWeights(const std::string &path) {
    weights::Expected<weights::Checkpoint> opened =
        weights::Checkpoint::open(path);
    if (!opened)
      return report(opened.status().message());
    checkpoint.emplace(std::move(*opened));
    return success();
  }

  LogicalResult run(const Task &task);

private:
  FailureOr<ModuleOp> parse(const std::string &path);
  LogicalResult evaluate(const Task &task, ModuleOp module);
  Environment::ConstProvider provider(const Task &task);

  MLIRContext context;
  std::optional<weights::Checkpoint> checkpoint;
  /// Null for files that aren't valid, which are reported once.
  std::map<std::string, OwningOpRef<ModuleOp>> modules;
  llvm::SourceMgr *sources = nullptr;
  std::map<std::string, std::unique_ptr<llvm::SourceMgr>> sourceManagers;
};

/// Names of slots or outputs: their `graph.name`, else PREFIX and a number.
SmallVector<std::string> namesOf(size_t count, StringRef prefix,
                                 llvm::function_ref<Attribute(unsigned)> find) {
  SmallVector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    auto name = dyn_cast_or_null<StringAttr>(find(i));
    names.push_back(name ? name.str() : (prefix + llvm::Twine(i)).str());
  }
  return names;
}

std::string quotedList(ArrayRef<std::string> names) {
  if (names.empty())
    return "none";
  return "'" + llvm::join(names, "', '") + "'";
}

/// Reports the first key of MAP that isn't among NAMES.
LogicalResult checkNames(const NameMap &map, StringRef what,
                         ArrayRef<std::string> names) {
  for (const auto &[name, value] : map)
    if (!llvm::is_contained(names, name))
      return report("there is no " + what + " '" + name +
                    "'; there are: " + quotedList(names));
  return success();
}

FailureOr<ModuleOp> Evaluator::parse(const std::string &path) {
  auto [it, isNew] = modules.try_emplace(path);
  std::unique_ptr<llvm::SourceMgr> &manager = sourceManagers[path];
  if (isNew) {
    std::string message;
    std::unique_ptr<llvm::MemoryBuffer> buffer = openNestedFile(path, message);
    if (!buffer)
      return report(message);
    manager = std::make_unique<llvm::SourceMgr>();
    manager->AddNewSourceBuffer(std::move(buffer), {});
    SourceMgrDiagnosticHandler handler(*manager, &context);
    auto &module = it->second;
    runParser(path,
              [&] { module = parseSourceFile<ModuleOp>(*manager, &context); });
    if (it->second && failed(graph::verifyModule(*it->second)))
      it->second = nullptr;
  }
  sources = manager.get();
  if (!it->second)
    return failure();
  return *it->second;
}

LogicalResult Evaluator::run(const Task &task) {
  FailureOr<ModuleOp> module =
      parse(task.file == "-" ? task.file : inFolder(task.folder, task.file));
  if (failed(module))
    return failure();
  SourceMgrDiagnosticHandler handler(*sources, &context);
  return evaluate(task, *module);
}

/// Constants that the task names, then those of the checkpoint, then `*`.
Environment::ConstProvider Evaluator::provider(const Task &task) {
  return
      [&](StringRef name, Type type, EmitError emitError) -> FailureOr<Tensor> {
        auto it = task.consts.find(name.str());
        if (it == task.consts.end() && checkpoint)
          return bindCheckpoint(*checkpoint)(name, type, emitError);
        if (it == task.consts.end())
          it = task.consts.find("*");
        if (it == task.consts.end())
          return emitError()
                 << "has no value; give --weights or --const=" << name << "=…";
        return readValue(name, it->second, type, task.folder, openExtent,
                         emitError);
      };
}

LogicalResult Evaluator::evaluate(const Task &task, ModuleOp module) {
  // Choose the function.
  SmallVector<std::string> entries;
  func::FuncOp function;
  for (auto candidate : module.getOps<func::FuncOp>()) {
    if (candidate.getName() == task.function)
      function = candidate;
    if (candidate.isPublic())
      entries.push_back(candidate.getName().str());
  }
  if (task.function.empty() && entries.size() == 1)
    function = module.lookupSymbol<func::FuncOp>(entries[0]);
  if (!function && task.function.empty())
    return report("name one of the entries with --function: " +
                  quotedList(entries));
  if (!function)
    return report("there is no function '" + task.function +
                  "'; entries are: " + quotedList(entries));
  if (task.steps < 1)
    return report("--steps must be at least 1");

  // Slots and outputs.
  SmallVector<std::string> slotNames =
      namesOf(function.getNumArguments(), "arg", [&](unsigned i) {
        return function.getArgAttr(i, graph::kNameAttr);
      });
  SmallVector<std::string> outputNames =
      namesOf(function.getNumResults(), "result", [&](unsigned i) {
        return function.getResultAttr(i, graph::kNameAttr);
      });
  if (failed(checkNames(task.inputs, "slot", slotNames)) ||
      failed(checkNames(task.outputs, "output", outputNames)))
    return failure();
  SmallVector<Tensor> slots;
  for (size_t i = 0; i != slotNames.size(); ++i) {
    const auto &name = slotNames[i];
    auto it = task.inputs.find(name);
    if (it == task.inputs.end())
      return report("slot '" + name + "' of '" + function.getName() +
                    "' needs a value; give --input=" + name + "=…");
    FailureOr<Tensor> value =
        readValue(name, it->second, function.getArgumentTypes()[i], task.folder,
                  openExtent, [&] {
                    return emitError(function.getArgument(i).getLoc())
                           << "slot '" << name << "' ";
                  });
    if (failed(value))
      return failure();
    slots.push_back(*value);
  }

  // Constants and states.
  SmallVector<std::string> constNames, stateNames;
  for (auto op : module.getOps<graph::ConstOp>())
    constNames.push_back(op.getSymName().str());
  for (auto op : module.getOps<graph::StateOp>())
    stateNames.push_back(op.getSymName().str());
  NameMap namedConsts = task.consts;
  namedConsts.erase("*");
  if (failed(checkNames(namedConsts, "constant", constNames)) ||
      failed(checkNames(task.states, "state", stateNames)) ||
      failed(checkNames(task.dumpStates, "state", stateNames)))
    return failure();
  Environment environment(provider(task), openExtent);
  for (const auto &[name, spec] : task.states) {
    auto op = module.lookupSymbol<graph::StateOp>(name);
    FailureOr<Tensor> value =
        readValue(name, spec, op.getType(), task.folder, openExtent,
                  [&] { return op.emitOpError(); });
    if (failed(value))
      return failure();
    environment.setState(name, *value);
  }

  // Steps.
  EvalOptions options;
  options.accumulate = accumulate;
  options.strict = !deviceRules;
  SmallVector<Tensor> results;
  for (int64_t step = 0; step < task.steps; ++step) {
    auto start = std::chrono::steady_clock::now();
    FailureOr<SmallVector<Tensor>> values =
        evalFunction(function, slots, environment, options);
    if (failed(values))
      return failure();
    results = *values;
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    if (reportTime)
      llvm::errs() << "step " << step + 1 << ": "
                   << llvm::format("%.1f ms\n", time.count());
  }

  // Results.
  auto write = [&](const NameMap &files, const std::string &name,
                   const Tensor &value) -> LogicalResult {
    std::string path = inFolder(task.folder, files.at(name));
    return writeValue(value, path, [&] {
      return emitError(function.getLoc()) << "'" << name << "' ";
    });
  };
  for (auto [name, value] : llvm::zip_equal(outputNames, results)) {
    if (task.outputs.empty())
      printValue(name, value, llvm::outs());
    else if (task.outputs.count(name) &&
             failed(write(task.outputs, name, value)))
      return failure();
  }
  if (std::string message; failed(flushOutput(message)))
    return report(message);
  for (const auto &[name, path] : task.dumpStates) {
    FailureOr<Tensor> value =
        environment.getState(module.lookupSymbol<graph::StateOp>(name));
    if (failed(value) || failed(write(task.dumpStates, name, *value)))
      return failure();
  }
  return success();
}

} // namespace

int main(int argc, char **argv) {
  poot::InitTool init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "The oracle: evaluates a function of a graph file on the CPU\n\n"
      "  poot-eval step.mlir --function=decode --weights=model.gguf \\\n"
      "    --input=token=splat:1 --input=pos=pos.npy --output=logits=l.npy\n");
  Evaluator evaluator;
  if (!weightsPath.empty() && failed(evaluator.openWeights(weightsPath)))
    return 1;
  if (manifestPath.empty()) {
    FailureOr<Task> task = taskFromCommandLine();
    return failed(task) || failed(evaluator.run(*task));
  }
  if (!inputFile.empty())
    return failed(report("give either FILE.mlir or --manifest, not both"));
  FailureOr<std::vector<Task>> tasks = tasksFromManifest(manifestPath);
  if (failed(tasks))
    return 1;
  int failures = 0;
  for (auto [i, task] : llvm::enumerate(*tasks))
    if (failed(evaluator.run(task))) {
      (void)report("run " + llvm::Twine(i) + " ('" + task.function + "' of " +
                   task.file + ") failed");
      ++failures;
    }
  return failures > 0;
}
