// Decoding of whole tensors to f32 on the host.
//
// Packed types go through the templates of block_decode.h, with the scale and
// offset of a group computed once: the same values in the same order as
// decodeElement.

#include "poot/weights/block_decode.h"

namespace poot::weights {

namespace {

template <class Decoder>
void dequantizeBlocks(const ElementTypeInfo &info, const uint8_t *data,
                      int64_t blocks, float *out) {
  constexpr int32_t groupSize = Decoder::groupSize;
  // Sixteen elements at a time, because no decoder changes shift or byte
  // stride within so many: the inner loop vectorizes.
  constexpr int32_t run = 16;
  const int32_t groups = info.blockElements / groupSize;
  for (int64_t i = 0; i < blocks; ++i, data += info.blockBytes) {
    HostBlock b{data};
    for (int32_t group = 0; group < groups; ++group) {
      float scale = Decoder::scale(b, group);
      float offset = decodeOffset<Decoder>(b, group);
      for (int32_t first = 0; first < groupSize; first += run, out += run)
        for (int32_t j = 0; j < run; ++j) {
          int32_t element = (group * groupSize + first) | j;
          out[j] = combine<Decoder>(scale, b.toF32(Decoder::quant(b, element)),
                                    offset);
        }
    }
  }
}

template <class Scalar> Scalar load(const uint8_t *data) {
  Scalar value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

/// f8 with EXPONENT_BITS; E4M3 is the "fn" variant without infinities.
template <int exponentBits> float f8ToF32(uint8_t bits) {
  constexpr int fractionBits = 7 - exponentBits;
  constexpr int bias = (1 << (exponentBits - 1)) - 1;
  uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  uint32_t exponent = (bits & 0x7f) >> fractionBits;
  uint32_t fraction = bits & ((1 << fractionBits) - 1);
  constexpr uint32_t top = (1 << exponentBits) - 1;
  if (exponentBits == 5 && exponent == top)
    return bitsToF32(sign | 0x7f800000 | fraction << (23 - fractionBits));
  if (exponentBits == 4 && (bits & 0x7f) == 0x7f)
    return bitsToF32(sign | 0x7fc00000);
  if (exponent == 0) {
    // fraction · 2^(1 - bias - fractionBits)
    float unit =
        bitsToF32(static_cast<uint32_t>(128 - bias - fractionBits) << 23);
    return bitsToF32(sign | f32ToBits(static_cast<float>(fraction) * unit));
  }
  return bitsToF32(sign | (exponent + 127 - bias) << 23 |
                   fraction << (23 - fractionBits));
}

template <class Convert>
void convertEach(const uint8_t *data, int64_t count, int32_t stride, float *out,
                 Convert convert) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = convert(data + i * stride);
}

template <class Scalar>
void convertScalars(const uint8_t *data, int64_t count, float *out) {
  convertEach(data, count, sizeof(Scalar), out, [](const uint8_t *p) {
    return static_cast<float>(load<Scalar>(p));
  });
}

} // namespace

void dequantize(ElementType type, const uint8_t *data, int64_t count,
                float *out) {
  const ElementTypeInfo &info = getInfo(type);
  assert(count % info.blockElements == 0 && "not whole blocks");
  visitDecoder(type, [&](auto decoder) {
    dequantizeBlocks<decltype(decoder)>(info, data, count / info.blockElements,
                                        out);
  });
}

void convertToF32(ElementType type, const uint8_t *data, int64_t count,
                  float *out) {
  switch (type) {
  case ElementType::F32:
    if (count)
      std::memcpy(out, data, static_cast<size_t>(count) * sizeof(float));
    return;
  case ElementType::F16:
    return convertEach(data, count, 2, out, [](const uint8_t *p) {
      return f16ToF32(load<uint16_t>(p));
    });
  case ElementType::BF16:
    return convertEach(data, count, 2, out, [](const uint8_t *p) {
      return bf16ToF32(load<uint16_t>(p));
    });
  case ElementType::F8E4M3:
    return convertEach(data, count, 1, out,
                       [](const uint8_t *p) { return f8ToF32<4>(*p); });
  case ElementType::F8E5M2:
    return convertEach(data, count, 1, out,
                       [](const uint8_t *p) { return f8ToF32<5>(*p); });
  case ElementType::F64:
    return convertScalars<double>(data, count, out);
  case ElementType::I8:
    return convertScalars<int8_t>(data, count, out);
  case ElementType::I16:
    return convertScalars<int16_t>(data, count, out);
  case ElementType::I32:
    return convertScalars<int32_t>(data, count, out);
  case ElementType::I64:
    return convertScalars<int64_t>(data, count, out);
  case ElementType::U8:
    return convertScalars<uint8_t>(data, count, out);
  case ElementType::U16:
    return convertScalars<uint16_t>(data, count, out);
  case ElementType::U32:
    return convertScalars<uint32_t>(data, count, out);
  case ElementType::U64:
    return convertScalars<uint64_t>(data, count, out);
  case ElementType::Bool:
    return convertEach(data, count, 1, out,
                       [](const uint8_t *p) { return *p ? 1.0f : 0.0f; });
  default:
    return dequantize(type, data, count, out);
  }
}

} // namespace poot::weights
