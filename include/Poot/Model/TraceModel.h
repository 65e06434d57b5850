//===- TraceModel.h - A model as a graph module -----------------*- C++ -*-===//

#ifndef POOT_MODEL_TRACEMODEL_H
#define POOT_MODEL_TRACEMODEL_H

#include "Poot/Model/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace poot::model {

/// One module with an entry for each of SHAPES, sharing consts and states; it
/// passes graph-verify. Null after an error, which is reported to CONTEXT's
/// diagnostics. States of different capacities do not agree: entries of one
/// module have one rows * capacity.
mlir::OwningOpRef<mlir::ModuleOp>
traceModel(mlir::MLIRContext &context, const Model &model,
           llvm::ArrayRef<trace::StepShape> shapes);

/// Registers `poot-translate --gguf-to-graph`.
void registerModelTranslations();

} // namespace poot::model

#endif // POOT_MODEL_TRACEMODEL_H
