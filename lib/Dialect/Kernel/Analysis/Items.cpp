//===- Items.cpp - Values of every invocation of a workgroup --------------===//

#include "Items.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace poot::kernel;

Items::Result Items::find(Value value) {
  std::optional<APInt> first;
  Result result = Same;
  ArrayRef<int32_t> size = kernel.getWorkgroupSize();
  for (id[2] = 0; id[2] < size[2]; ++id[2])
    for (id[1] = 0; id[1] < size[1]; ++id[1])
      for (id[0] = 0; id[0] < size[0]; ++id[0]) {
        known.clear();
        auto number = dyn_cast_or_null<IntegerAttr>(evaluate(value));
        if (!number)
          return Unknown;
        if (!first)
          first = number.getValue();
        else if (*first != number.getValue())
          result = Differ;
      }
  return result;
}

Attribute Items::evaluate(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  // Enough for conditions as people write them.
  constexpr unsigned kMaxDepth = 64, kMaxFolds = 1u << 20;
  Attribute result;
  if (depth < kMaxDepth && folds < kMaxFolds) {
    ++depth;
    ++folds;
    result = compute(value);
    --depth;
  }
  return known[value] = result;
}

Attribute Items::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto local = dyn_cast<LocalIdOp>(op))
    return IntegerAttr::get(value.getType(),
                            id[static_cast<unsigned>(local.getDim())]);
  if (!isPure(op) || op->getNumRegions() != 0 || op->getNumResults() != 1)
    return {};
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand));
    if (!operands.back())
      return {};
  }
  // Of a copy, since folding may change an operation where it stands.
  Operation *copy = op->clone();
  SmallVector<OpFoldResult> results;
  Attribute result;
  if (succeeded(copy->fold(operands, results)) && !results.empty()) {
    result = dyn_cast<Attribute>(results.front());
    if (!result)
      result = evaluate(cast<Value>(results.front()));
  }
  copy->destroy();
  return result;
}
