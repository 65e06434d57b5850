// The table of stored types and the size computation over it.
//
// Block sizes and GGUF numbers: ggml/include/ggml.h and ggml-common.h of
// llama.cpp. Names of safetensors: safetensors/src/tensor.rs. Descriptors of
// .npy: numpy.lib.format.

#include "poot/weights/element_type.h"

namespace poot::weights {

const ElementTypeInfo elementTypes[elementTypeCount] = {
    {ElementType::F32, "f32", 0, "F32", "<f4", 1, 4},
    {ElementType::F16, "f16", 1, "F16", "<f2", 1, 2},
    {ElementType::BF16, "bf16", 30, "BF16", nullptr, 1, 2},
    {ElementType::F64, "f64", 28, "F64", "<f8", 1, 8},
    {ElementType::F8E4M3, "f8e4m3", -1, "F8_E4M3", nullptr, 1, 1},
    {ElementType::F8E5M2, "f8e5m2", -1, "F8_E5M2", nullptr, 1, 1},
    {ElementType::I8, "i8", 24, "I8", "|i1", 1, 1},
    {ElementType::I16, "i16", 25, "I16", "<i2", 1, 2},
    {ElementType::I32, "i32", 26, "I32", "<i4", 1, 4},
    {ElementType::I64, "i64", 27, "I64", "<i8", 1, 8},
    {ElementType::U8, "u8", -1, "U8", "|u1", 1, 1},
    {ElementType::U16, "u16", -1, "U16", "<u2", 1, 2},
    {ElementType::U32, "u32", -1, "U32", "<u4", 1, 4},
    {ElementType::U64, "u64", -1, "U64", "<u8", 1, 8},
    {ElementType::Bool, "bool", -1, "BOOL", "|b1", 1, 1},
    {ElementType::Q4_0, "q4_0", 2, nullptr, nullptr, 32, 18},
    {ElementType::Q4_1, "q4_1", 3, nullptr, nullptr, 32, 20},
    {ElementType::Q5_0, "q5_0", 6, nullptr, nullptr, 32, 22},
    {ElementType::Q5_1, "q5_1", 7, nullptr, nullptr, 32, 24},
    {ElementType::Q8_0, "q8_0", 8, nullptr, nullptr, 32, 34},
    {ElementType::Q2_K, "q2_k", 10, nullptr, nullptr, 256, 84},
    {ElementType::Q3_K, "q3_k", 11, nullptr, nullptr, 256, 110},
    {ElementType::Q4_K, "q4_k", 12, nullptr, nullptr, 256, 144},
    {ElementType::Q5_K, "q5_k", 13, nullptr, nullptr, 256, 176},
    {ElementType::Q6_K, "q6_k", 14, nullptr, nullptr, 256, 210},
    {ElementType::IQ4_NL, "iq4_nl", 20, nullptr, nullptr, 32, 18},
    {ElementType::MXFP4, "mxfp4", 39, nullptr, nullptr, 32, 17},
};

namespace {
template <class Predicate>
std::optional<ElementType> find(Predicate predicate) {
  for (const ElementTypeInfo &info : elementTypes)
    if (predicate(info))
      return info.type;
  return std::nullopt;
}
} // namespace

std::optional<ElementType> elementTypeFromName(std::string_view name) {
  return find([&](const ElementTypeInfo &info) { return name == info.name; });
}

std::optional<ElementType> elementTypeFromGguf(uint32_t number) {
  return find([&](const ElementTypeInfo &info) {
    return info.ggufType >= 0 && static_cast<uint32_t>(info.ggufType) == number;
  });
}

std::optional<ElementType> elementTypeFromSafetensors(std::string_view dtype) {
  return find([&](const ElementTypeInfo &info) {
    return info.safetensors && dtype == info.safetensors;
  });
}

std::optional<ElementType> elementTypeFromNpy(std::string_view descr) {
  return find([&](const ElementTypeInfo &info) {
    return info.npy && descr == info.npy;
  });
}

std::string toString(const Shape &shape) {
  if (shape.empty())
    return "scalar";
  std::string out;
  for (int64_t extent : shape) {
    if (!out.empty())
      out += 'x';
    out += std::to_string(extent);
  }
  return out;
}

Expected<int64_t> countElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      return makeError(StatusCode::Malformed, "shape ", toString(shape),
                       " has a negative extent");
    if (__builtin_mul_overflow(count, extent, &count))
      return makeError(StatusCode::Malformed, "shape ", toString(shape),
                       " has more than 2^63-1 elements");
  }
  return count;
}

Expected<int64_t> countBytes(ElementType type, const Shape &shape) {
  Expected<int64_t> elements = countElements(shape);
  if (!elements)
    return elements;
  const ElementTypeInfo &info = getInfo(type);
  int64_t row = shape.empty() ? 1 : shape.back();
  if (row % info.blockElements != 0)
    return makeError(StatusCode::Malformed, "shape ", toString(shape),
                     " has rows of ", row, " elements, must be a multiple of ",
                     info.blockElements, ", the block of ", info.name);
  int64_t bytes;
  if (__builtin_mul_overflow(*elements / info.blockElements,
                             static_cast<int64_t>(info.blockBytes), &bytes))
    return makeError(StatusCode::Malformed, "shape ", toString(shape), " of ",
                     info.name, " takes more than 2^63-1 bytes");
  return bytes;
}

} // namespace poot::weights
