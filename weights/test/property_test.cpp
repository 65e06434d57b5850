// Whatever tensors a file holds, in whatever order and place, both readers
// return exactly those.

#include "byte_builder.h"
#include "poot/weights/safetensors.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

using namespace poot::weights;
using namespace poot::weights::test;

namespace {

struct Tensor {
  ElementType type;
  Shape shape;
  std::string data;
};

/// A tensor of TYPE with at most 4 extents, none below LEAST.
Tensor anyTensor(ElementType type, int64_t least) {
  Tensor tensor;
  tensor.type = type;
  int rank = *rc::gen::inRange(isPacked(type) ? 1 : 0, 5);
  for (int i = 0; i < rank; ++i)
    tensor.shape.push_back(*rc::gen::inRange<int64_t>(least, 5));
  if (isPacked(type))
    tensor.shape.back() *= getInfo(type).blockElements;
  char fill = *rc::gen::arbitrary<char>();
  tensor.data.assign(static_cast<size_t>(*countBytes(type, tensor.shape)),
                     fill);
  return tensor;
}

/// The types of which HAS is true.
template <class Has> std::vector<ElementType> typesWith(Has has) {
  std::vector<ElementType> types;
  for (const ElementTypeInfo &info : elementTypes)
    if (has(info))
      types.push_back(info.type);
  return types;
}

std::vector<Tensor> anyTensors(const std::vector<ElementType> &types,
                               int64_t least) {
  std::vector<Tensor> tensors;
  int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i)
    tensors.push_back(anyTensor(*rc::gen::elementOf(types), least));
  return tensors;
}

/// 0..COUNT-1 in any order.
std::vector<size_t> anyOrder(size_t count) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i)
    order.insert(order.begin() + *rc::gen::inRange<size_t>(0, i + 1), i);
  return order;
}

void expectSame(const TensorView &view, const Tensor &tensor) {
  RC_ASSERT(view.type == tensor.type);
  RC_ASSERT(view.shape == tensor.shape);
  RC_ASSERT(std::string(view.data.begin(), view.data.end()) == tensor.data);
}

RC_GTEST_PROP(GgufProperty, ReturnsTheTensorsOfTheFile, ()) {
  std::vector<Tensor> tensors = anyTensors(
      typesWith([](const auto &info) { return info.ggufType >= 0; }), 1);
  GgufBuilder b;
  b.alignment = size_t(1) << *rc::gen::inRange(3, 9);
  if (b.alignment != 32 || *rc::gen::arbitrary<bool>())
    b.metadata.push_back(ggufEntry("general.alignment", GgufValueType::U32,
                                   raw(static_cast<uint32_t>(b.alignment))));
  std::vector<uint64_t> offsets(tensors.size());
  for (size_t i : anyOrder(tensors.size())) {
    // A gap of up to two units is allowed.
    size_t gap = *rc::gen::inRange<size_t>(0, 3) * b.alignment;
    b.data.resize(
        (b.data.size() + b.alignment - 1) / b.alignment * b.alignment + gap);
    offsets[i] = b.data.size();
    b.data += tensors[i].data;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<uint64_t> extents(tensors[i].shape.rbegin(),
                                  tensors[i].shape.rend());
    b.tensors.push_back(ggufTensor(
        concat("t", i), extents,
        static_cast<uint32_t>(getInfo(tensors[i].type).ggufType), offsets[i]));
  }
  std::string bytes = b.build();
  auto file = Gguf::parse(spanOf(bytes), "any.gguf");
  if (!file)
    RC_FAIL(file.status().message());
  RC_ASSERT(file->tensors().size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    expectSame(*file->findTensor(concat("t", i)), tensors[i]);
}

RC_GTEST_PROP(SafetensorsProperty, ReturnsTheTensorsOfTheFile, ()) {
  std::vector<Tensor> tensors = anyTensors(
      typesWith([](const auto &info) { return info.safetensors; }), 0);
  std::vector<size_t> begins(tensors.size());
  std::string data;
  for (size_t i : anyOrder(tensors.size())) {
    begins[i] = data.size();
    data += tensors[i].data;
  }
  std::string header = "{";
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string extents;
    for (int64_t extent : tensors[i].shape)
      extents += concat(extents.empty() ? "" : ",", extent);
    header += concat(i ? "," : "", "\"t", i, "\":{\"dtype\":\"",
                     getInfo(tensors[i].type).safetensors, "\",\"shape\":[",
                     extents, "],\"data_offsets\":[", begins[i], ",",
                     begins[i] + tensors[i].data.size(), "]}");
  }
  header += "}";
  std::string bytes = raw<uint64_t>(header.size()) + header + data;
  auto file = Safetensors::parse(spanOf(bytes), "any.safetensors");
  if (!file)
    RC_FAIL(file.status().message());
  RC_ASSERT(file->tensors().size() == tensors.size());
  for (const TensorView &view : file->tensors())
    expectSame(view, tensors[std::stoul(view.name.substr(1))]);
}

} // namespace
