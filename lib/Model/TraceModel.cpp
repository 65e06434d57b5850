//===- TraceModel.cpp - A model as a graph module -------------------------===//

#include "Poot/Model/TraceModel.h"

#include "Poot/Dialect/Graph/Passes.h"
#include "poot/weights/checkpoint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>

using namespace mlir;
using namespace poot;
using namespace poot::model;

OwningOpRef<ModuleOp> model::traceModel(MLIRContext &context,
                                        const Model &model,
                                        ArrayRef<trace::StepShape> shapes) {
  Location location = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  trace::Builder builder(*module);
  for (const trace::StepShape &shape : shapes)
    if (weights::Status status = traceStep(model, shape, builder);
        !status.ok()) {
      emitError(location) << status.message();
      return nullptr;
    }
  if (failed(verify(*module)) || failed(graph::verifyModule(*module)))
    return nullptr;
  return module;
}

//===----------------------------------------------------------------------===//
// poot-translate
//===----------------------------------------------------------------------===//

namespace {
/// The step that --gguf-to-graph traces.
struct StepOptions {
  llvm::cl::OptionCategory category{"Options of --gguf-to-graph"};
  llvm::cl::opt<int64_t> rows{"step-rows", llvm::cl::init(1),
                              llvm::cl::desc("Sequences that step together"),
                              llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> tokens{
      "step-tokens", llvm::cl::init(1),
      llvm::cl::desc("New tokens of each row: 1 is a decode step, more a "
                     "prefill chunk"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> capacity{
      "step-capacity", llvm::cl::init(0),
      llvm::cl::desc("Positions of each row that the cache holds (the model's "
                     "context length, at most 2048)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> block{
      "step-block", llvm::cl::init(0),
      llvm::cl::desc("Slots of a block of a paged cache; 0 is a contiguous "
                     "cache"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> logits{
      "step-logits",
      llvm::cl::desc("Return logits instead of the most likely token"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> all{"step-all",
                          llvm::cl::desc("Return the logits of every token"),
                          llvm::cl::cat(category)};

  trace::StepShape getShape() const {
    trace::StepShape shape;
    shape.phase = tokens > 1 ? trace::Phase::Prefill : trace::Phase::Decode;
    shape.rows = rows;
    shape.tokens = tokens;
    shape.capacity = capacity;
    if (block != 0) {
      shape.cache = trace::CacheLayout::Paged;
      shape.blockSize = block;
    }
    if (logits || all)
      shape.suffix = trace::Suffix::Logits;
    if (all)
      shape.logits = trace::LogitsRows::All;
    return shape;
  }
};
} // namespace

/// The GGUF file of SOURCES as the graph of one step.
static OwningOpRef<Operation *> translateGguf(const llvm::SourceMgr &sources,
                                              MLIRContext *context,
                                              trace::StepShape shape) {
  // The reader maps the file itself: weights are not copied.
  auto checkpoint = weights::Checkpoint::open(
      sources.getMemoryBuffer(sources.getMainFileID())
          ->getBufferIdentifier()
          .str());
  Location location = UnknownLoc::get(context);
  if (!checkpoint) {
    emitError(location) << checkpoint.status().message();
    return {};
  }
  weights::Expected<Model> read = readModel(*checkpoint);
  if (!read) {
    emitError(location) << read.status().message();
    return {};
  }
  if (shape.capacity == 0)
    shape.capacity = defaultCapacity(read->config);
  return traceModel(*context, *read, shape).release().getOperation();
}

void model::registerModelTranslations() {
  static StepOptions options;
  TranslateToMLIRRegistration registration(
      "gguf-to-graph", "a step of a GGUF file's model as a graph module",
      [](const std::shared_ptr<llvm::SourceMgr> &sources,
         MLIRContext *context) -> OwningOpRef<Operation *> {
        return translateGguf(*sources, context, options.getShape());
      },
      [](DialectRegistry &registry) {
        registry.insert<graph::GraphDialect, func::FuncDialect>();
      });
}
