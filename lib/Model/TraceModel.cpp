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

/// The model in BUFFER, a GGUF file, as the graph of one decode step.
static OwningOpRef<Operation *>
translateGguf(const std::shared_ptr<llvm::SourceMgr> &sources,
              MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      sources->getMemoryBuffer(sources->getMainFileID());
  // The reader maps the file itself: weights are not copied.
  auto checkpoint =
      weights::Checkpoint::open(buffer->getBufferIdentifier().str());
  Location location = UnknownLoc::get(context);
  if (!checkpoint) {
    emitError(location) << checkpoint.status().message();
    return {};
  }
  auto read = readModel(*checkpoint);
  if (!read) {
    emitError(location) << read.status().message();
    return {};
  }
  trace::StepShape shape;
  shape.capacity = std::min<int64_t>(read->config.contextLength, 1024);
  return traceModel(*context, *read, shape).release().getOperation();
}

void model::registerModelTranslations() {
  TranslateToMLIRRegistration registration(
      "gguf-to-graph", "a GGUF file's decode step as a graph module",
      translateGguf, [](DialectRegistry &registry) {
        registry.insert<graph::GraphDialect, func::FuncDialect>();
      });
}
