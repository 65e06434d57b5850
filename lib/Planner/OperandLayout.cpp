//===- OperandLayout.cpp - Where a kernel finds a tensor ------------------===//

#include "Poot/Planner/OperandLayout.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace poot::planner {

int64_t deviceElementBytes(Type element) {
  if (element.isInteger(1))
    return 4;
  return element.getIntOrFloatBitWidth() / 8;
}

int64_t deviceBytes(Type type) {
  if (auto packed = dyn_cast<graph::PackedType>(type))
    return graph::getPackedBytes(packed);
  auto tensor = cast<RankedTensorType>(type);
  int64_t count = 1;
  for (int64_t extent : tensor.getShape())
    count *= ShapedType::isDynamic(extent) ? 1 : extent;
  return count * deviceElementBytes(tensor.getElementType());
}

Extents denseStrides(ArrayRef<int64_t> shape) {
  Extents strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Only the outermost extent may be open, and no stride depends on it.
    if (i > 0)
      stride *= shape[i];
  }
  return strides;
}

OperandLayout OperandLayout::dense(Type type) {
  OperandLayout layout;
  if (auto packed = dyn_cast<graph::PackedType>(type)) {
    layout.element = packed;
    layout.shape = Extents(packed.getShape());
    layout.strides = denseStrides(ArrayRef(layout.shape).drop_back());
    for (int64_t &stride : layout.strides)
      stride *= graph::getPackedRowBytes(packed);
    layout.strides.push_back(0);
    return layout;
  }
  auto tensor = cast<RankedTensorType>(type);
  layout.element = tensor.getElementType();
  layout.shape = Extents(tensor.getShape());
  layout.strides = denseStrides(layout.shape);
  return layout;
}

OperandLayout OperandLayout::splat(Type type, TypedAttr value) {
  OperandLayout layout = dense(type);
  layout.strides.assign(layout.shape.size(), 0);
  layout.literal = value;
  return layout;
}

bool OperandLayout::isPacked() const { return isa<graph::PackedType>(element); }

bool OperandLayout::isDense() const {
  if (literal)
    return false;
  auto packed = dyn_cast<graph::PackedType>(element);
  int64_t stride = packed ? graph::getPackedRowBytes(packed) : 1;
  for (size_t i = packed ? shape.size() - 1 : shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != stride)
      return false;
    if (!ShapedType::isDynamic(shape[i]))
      stride *= shape[i];
  }
  return true;
}

int64_t OperandLayout::count() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t OperandLayout::spanBytes() const {
  if (openState)
    return -1;
  if (isPacked()) {
    int64_t end =
        offset + graph::getPackedRowBytes(cast<graph::PackedType>(element));
    for (size_t i = 0; i + 1 < shape.size(); ++i)
      end += (shape[i] - 1) * strides[i];
    return end;
  }
  int64_t last = offset;
  for (auto [extent, stride] : llvm::zip(shape, strides))
    last += (extent - 1) * stride;
  return (last + 1) * deviceElementBytes(element);
}

std::string OperandLayout::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << element << "[";
  llvm::interleave(shape, os, "x");
  os << ":";
  llvm::interleave(strides, os, ",");
  os << "+" << offset << "]";
  if (literal)
    os << "=" << literal;
  if (openState)
    os << "?";
  return text;
}

OperandLayout OperandLayout::transpose(ArrayRef<int64_t> permutation) const {
  OperandLayout result = *this;
  for (auto [i, source] : llvm::enumerate(permutation)) {
    result.shape[i] = shape[source];
    result.strides[i] = strides[source];
  }
  return result;
}

OperandLayout OperandLayout::slice(ArrayRef<int64_t> offsets,
                                   ArrayRef<int64_t> steps,
                                   ArrayRef<int64_t> extents) const {
  OperandLayout result = *this;
  for (size_t i = 0; i < shape.size(); ++i) {
    result.offset += offsets[i] * strides[i];
    result.strides[i] = strides[i] * steps[i];
    result.shape[i] = extents[i];
  }
  return result;
}

OperandLayout OperandLayout::broadcast(ArrayRef<int64_t> dims,
                                       ArrayRef<int64_t> extents) const {
  OperandLayout result = *this;
  result.shape = Extents(extents);
  result.strides.assign(extents.size(), 0);
  for (auto [i, dim] : llvm::enumerate(dims))
    if (shape[i] == extents[dim])
      result.strides[dim] = strides[i];
  return result;
}

std::optional<OperandLayout>
OperandLayout::reshape(ArrayRef<int64_t> extents) const {
  OperandLayout result = *this;
  result.shape = Extents(extents);
  result.strides.assign(extents.size(), 0);
  if (literal)
    return result;
  // Walk both shapes from the outside, matching groups of equal product; the
  // dimensions of a source group must follow each other without gaps.
  size_t from = 0, to = 0;
  while (from < shape.size() || to < extents.size()) {
    size_t fromEnd = from, toEnd = to;
    int64_t fromCount = 1, toCount = 1;
    if (fromEnd < shape.size())
      fromCount = shape[fromEnd++];
    if (toEnd < extents.size())
      toCount = extents[toEnd++];
    while (fromCount != toCount) {
      if (fromCount < toCount) {
        if (fromEnd == shape.size())
          return std::nullopt;
        fromCount *= shape[fromEnd++];
      } else {
        if (toEnd == extents.size())
          return std::nullopt;
        toCount *= extents[toEnd++];
      }
    }
    // The stride of the group's innermost step, over non-unit dimensions.
    int64_t stride = 0, expected = -1;
    for (size_t i = fromEnd; i-- > from;) {
      if (shape[i] == 1)
        continue;
      if (expected == -1)
        stride = strides[i];
      else if (strides[i] != expected)
        return std::nullopt;
      expected = strides[i] * shape[i];
    }
    for (size_t i = toEnd; i-- > to;) {
      result.strides[i] = stride;
      stride *= extents[i];
    }
    from = fromEnd;
    to = toEnd;
  }
  return result;
}

void collapseDims(MutableArrayRef<OperandLayout> layouts) {
  size_t rank = layouts.front().shape.size();
  SmallVector<OperandLayout> collapsed(layouts.begin(), layouts.end());
  for (OperandLayout &layout : collapsed) {
    layout.shape.clear();
    layout.strides.clear();
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t extent = layouts.front().shape[dim];
    if (extent == 1)
      continue;
    bool merges = !collapsed.front().shape.empty();
    for (auto [layout, result] : llvm::zip(layouts, collapsed))
      merges = merges && result.strides.back() == layout.strides[dim] * extent;
    for (auto [layout, result] : llvm::zip(layouts, collapsed)) {
      if (merges) {
        result.shape.back() *= extent;
        result.strides.back() = layout.strides[dim];
      } else {
        result.shape.push_back(extent);
        result.strides.push_back(layout.strides[dim]);
      }
    }
  }
  llvm::copy(collapsed, layouts.begin());
}

} // namespace poot::planner
