//===- Checkpoint.cpp - Stored tensors as values
//---------------------------===//

#include "poot/weights/checkpoint.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Eval/Eval.h"

#include <cstring>

using namespace mlir;
using namespace poot;
using namespace poot::eval;

FailureOr<Tensor>
eval::fromStored(const weights::TensorView &stored, Type type,
                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto packed = dyn_cast<graph::PackedType>(type);
  // No file holds a layout of poot's own.
  bool isOwnLayout = packed && packed.getLayout() != graph::PackedLayout::Gguf;
  if (isOwnLayout || graph::getStoredType(type) != stored.type ||
      failed(verifyCompatibleShape(graph::getShape(type), stored.shape)))
    return emitError() << "has type " << type << " but '" << stored.name
                       << "' holds " << weights::getName(stored.type)
                       << " of shape " << weights::toString(stored.shape);
  if (packed)
    return Tensor::borrowPacked(packed, stored.data.data);
  Type elementType = cast<RankedTensorType>(type).getElementType();
  bool isBool = elementType.isInteger(1);
  bool isAligned = reinterpret_cast<uintptr_t>(stored.data.data) %
                       elementBytes(elementType) ==
                   0;
  if (isAligned && !isBool)
    return Tensor::borrow(elementType, stored.shape, stored.data.data);
  FailureOr<Tensor> copy = Tensor::allocate(elementType, stored.shape);
  if (failed(copy))
    return emitError() << "doesn't fit into memory";
  std::memcpy(copy->mutableData(), stored.data.data, stored.data.size);
  if (isBool) // A file may hold any byte; memory holds 0 or 1.
    for (size_t i = 0; i < stored.data.size; ++i)
      copy->mutableData()[i] = stored.data.data[i] != 0;
  return copy;
}

Environment::ConstProvider
eval::bindCheckpoint(const weights::Checkpoint &checkpoint) {
  return [&checkpoint](StringRef name, Type type,
                       llvm::function_ref<InFlightDiagnostic()> emitError)
             -> FailureOr<Tensor> {
    const weights::TensorView *stored =
        checkpoint.find({name.data(), name.size()});
    if (!stored)
      return emitError() << "is not among the weights of '" << checkpoint.path()
                         << "'";
    return fromStored(*stored, type, emitError);
  };
}
