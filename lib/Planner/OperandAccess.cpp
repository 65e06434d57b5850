//===- OperandAccess.cpp - Reading and writing a kernel's operands --------===//

#include "OperandAccess.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace poot::planner {

/// Most workgroups along x, which Vulkan lets a device limit to 65,535.
static constexpr int64_t kMaxWorkgroupsX = 32768;

Type storageType(Type type) {
  if (type.isInteger(1) || isa<graph::PackedType>(type))
    return IntegerType::get(type.getContext(), 32);
  return type;
}

SmallVector<int64_t, 3> linearGrid(int64_t workgroups) {
  int64_t x = std::min(workgroups, kMaxWorkgroupsX);
  return {x, llvm::divideCeilSigned(workgroups, x), 1};
}

KernelArguments KernelArguments::append(kernel::KernelBuilder &k,
                                        const KernelRequest &request) {
  KernelArguments arguments;
  for (const OperandLayout &layout : request.inputs)
    arguments.inputs.push_back(
        layout.literal
            ? Value()
            : k.addBuffer(storageType(layout.element), kernel::Access::Read));
  arguments.inputQuads.resize(request.inputs.size());
  kernel::Access access = request.updatesOutput() ? kernel::Access::ReadWrite
                                                  : kernel::Access::Write;
  for (const OperandLayout &layout : request.outputs)
    arguments.outputs.push_back(
        k.addBuffer(storageType(layout.element), access));
  auto addExtent = [&](const OperandLayout &layout) {
    return layout.openState ? k.addMetadata(k.i32Type()).getValue() : Value();
  };
  for (const OperandLayout &layout : request.inputs)
    arguments.inputExtents.push_back(addExtent(layout));
  for (const OperandLayout &layout : request.outputs)
    arguments.outputExtents.push_back(addExtent(layout));
  return arguments;
}

unsigned KernelArguments::operandOf(Value argument) const {
  unsigned numInputs = inputs.size();
  for (auto [list, first] : {std::pair(&inputs, 0u),
                             {&inputQuads, 0u},
                             {&inputExtents, 0u},
                             {&outputs, numInputs},
                             {&outputExtents, numInputs}}) {
    auto it = llvm::find(*list, argument);
    if (it != list->end())
      return first + (it - list->begin());
  }
  return kNone;
}

KValue OperandAccess::extent(Value argument, const OperandLayout &layout) {
  if (argument)
    return {k, argument};
  return layout.shape.empty() ? KValue() : k.i32(layout.shape.front());
}

KValue OperandAccess::position(const OperandLayout &layout,
                               ArrayRef<KValue> index) {
  assert(index.size() == layout.strides.size() && "one index a dimension");
  KValue sum = k.i32(layout.offset);
  for (auto [i, stride] : llvm::zip(index, layout.strides))
    if (stride != 0)
      sum = sum + i * stride;
  return sum;
}

KValue OperandAccess::loadAt(unsigned i, KValue position) {
  KValue value = k.load(inputBuffer(i), position);
  return input(i).element.isInteger(1) ? value != 0 : value;
}

KValue OperandAccess::load(unsigned i, ArrayRef<KValue> index) {
  if (input(i).literal)
    return k.constant(input(i).literal);
  return loadAt(i, position(input(i), index));
}

bool OperandAccess::hasQuads(const OperandLayout &layout) {
  auto isWhole = [](int64_t number) { return number % 4 == 0; };
  return !layout.literal && !layout.isPacked() && !layout.shape.empty() &&
         layout.strides.back() == 1 &&
         (layout.element.isF32() || layout.element.isF16()) &&
         isWhole(layout.offset) &&
         llvm::all_of(ArrayRef(layout.strides).drop_back(), isWhole);
}

KValue OperandAccess::loadQuad(unsigned i, ArrayRef<KValue> index) {
  OperandLayout layout = input(i);
  if (!hasQuads(layout)) {
    SmallVector<KValue> elements;
    Index at(index);
    for (int64_t e = 0; e < 4; ++e) {
      at.back() = index.back() + e;
      elements.push_back(widen(load(i, at)));
    }
    return k.fromElements(elements);
  }
  Value &buffer = arguments.inputQuads[i];
  if (!buffer)
    buffer = k.addBuffer(k.vectorType(4, layout.element), kernel::Access::Read);
  layout.offset /= 4;
  for (int64_t &stride : layout.strides)
    stride /= 4;
  layout.strides.back() = 1;
  Index at(index);
  at.back() = k.udiv(at.back(), k.i32(4));
  KValue quad = k.load(KValue(k, buffer), position(layout, at));
  return layout.element.isF32() ? quad
                                : k.cast(quad, k.vectorType(4, k.f32Type()));
}

void OperandAccess::store(unsigned i, ArrayRef<KValue> index, KValue value) {
  if (output(i).element.isInteger(1))
    value = k.ucast(value, k.i32Type());
  k.store(outputBuffer(i), position(output(i), index), value);
}

KValue OperandAccess::elementPosition(const OperandLayout &layout,
                                      KValue number) {
  // In as few dimensions as the layout allows.
  OperandLayout collapsed = layout;
  collapseDims(collapsed);
  return position(collapsed, delinearize(number, collapsed.shape));
}

KValue OperandAccess::loadElement(unsigned i, KValue number) {
  return input(i).literal ? k.constant(input(i).literal)
                          : loadAt(i, elementPosition(input(i), number));
}

void OperandAccess::storeElement(unsigned i, KValue number, KValue value) {
  if (output(i).element.isInteger(1))
    value = k.ucast(value, k.i32Type());
  k.store(outputBuffer(i), elementPosition(output(i), number), value);
}

KValue OperandAccess::widen(KValue value) {
  Type type = value.getType();
  return type.isF16() || type.isBF16() ? k.cast(value, k.f32Type()) : value;
}

KValue OperandAccess::narrow(unsigned i, KValue value) {
  return value.getType() == output(i).element
             ? value
             : k.cast(value, output(i).element);
}

Index OperandAccess::delinearize(KValue linear, ArrayRef<int64_t> shape) {
  Index index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    if (i == 0 || shape[i] == 1) {
      index[i] = shape[i] == 1 ? k.i32(0) : linear;
      continue;
    }
    index[i] = k.urem(linear, k.i32(shape[i]));
    linear = k.udiv(linear, k.i32(shape[i]));
  }
  return index;
}

} // namespace poot::planner
