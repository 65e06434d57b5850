//===- packed.h - Rows of packed weights in a kernel ----------------------===//
//
// Access to a row of a packed weight, in either layout, for kernels. The
// formulas are those of the decoders of weights/; here is the arithmetic that
// they ask of a backend, and the wide loads of the planar layout.
//
// A row has, for both layouts,
//
//   float scale(group), offset(group)        of a group of groupSize elements
//   void codes(unit, numbers)                the 32 numbers of a unit
//   int32_t code(element)                    one of them
//   void codes4(first, numbers)              4 of them
//   float value(element)                     an element, bit for bit as on the
//                                            host
//
// where a unit is 32 elements, and groups, units and elements count from the
// start of the row: value = scale * number + offset, of which the offset is
// nothing, added or subtracted by the type's kind.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNELS_PACKED_H
#define POOT_KERNELS_PACKED_H

#include "library.h"

#include "poot/weights/planar.h"

namespace poot::library {

using weights::BlockDecoder;
using weights::ElementType;
using weights::OffsetKind;
using weights::PlanarDecoder;

using words_t = buffer<const uint32_t>;
using quads_t = buffer<const vec<uint32_t, 4>>;

/// What the decoders need of every backend.
template <ElementType type> struct Arithmetic {
  using I32 = int32_t;
  using F32 = float;

  int32_t constant(int32_t value) const { return value; }
  int32_t selectLess(int32_t v, int32_t limit, int32_t a, int32_t c) const {
    return v < limit ? a : c;
  }
  /// TABLE is the type's own: its entries are bytes of four words here.
  int32_t lookup(const int8_t (&)[16], int32_t index) const {
    uint32_t word = index < 12 ? four(2) : four(3);
    word = index < 8 ? four(1) : word;
    word = index < 4 ? four(0) : word;
    return static_cast<int32_t>(word << (24 - (index & 3) * 8)) >> 24;
  }
  float toF32(int32_t v) const { return static_cast<float>(v); }
  float bitsToF32(int32_t v) const { return bit_cast<float>(v); }

private:
  static constexpr uint32_t pack(const int8_t *entries) {
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
      word |= static_cast<uint32_t>(static_cast<uint8_t>(entries[i])) << 8 * i;
    return word;
  }
  static constexpr uint32_t pack_values(int i) {
    if constexpr (type == ElementType::IQ4_NL || type == ElementType::MXFP4)
      return pack(BlockDecoder<type>::values + 4 * i);
    else
      return 0;
  }
  static constexpr uint32_t packed[4] = {pack_values(0), pack_values(1),
                                         pack_values(2), pack_values(3)};
  static uint32_t four(int i) { return packed[i]; }
};

//===----------------------------------------------------------------------===//
// Blocks as in a GGUF file
//===----------------------------------------------------------------------===//

/// A block that starts at byte START of a buffer of words.
template <ElementType type> struct Block32 : Arithmetic<type> {
  words_t words;
  int32_t start;

  Block32(words_t words, int32_t start) : words(words), start(start) {}

  int32_t byte(int32_t p) const {
    uint32_t position = static_cast<uint32_t>(start + p);
    return static_cast<int32_t>(words[position >> 2] >> ((position & 3) << 3) &
                                255);
  }
  int32_t signedByte(int32_t p) const { return (byte(p) ^ 128) - 128; }
  float f16(int32_t p) const {
    return half_to_float(static_cast<uint32_t>(byte(p) | byte(p + 1) << 8));
  }
};

/// The rows of a weight of [rows, elements].
template <ElementType elementType> struct GgufRow {
  static constexpr ElementType type = elementType;
  using Decoder = BlockDecoder<type>;
  static constexpr int32_t groupSize = Decoder::groupSize;
  static constexpr OffsetKind offsetKind = Decoder::offsetKind;
  static constexpr int32_t blockElements =
      weights::planar_detail::blockElementsOf(type);
  static constexpr int32_t blockBytes =
      weights::planar_detail::blockBytesOf(type);

  words_t words;
  int32_t start;

  GgufRow(words_t words, quads_t, int32_t row, int32_t elements)
      : words(words), start(row * (elements / blockElements) * blockBytes) {}

  float scale(int32_t group) const {
    Block32<type> block = block_of(group * groupSize);
    return Decoder::scale(block, group % (blockElements / groupSize));
  }
  float offset(int32_t group) const {
    Block32<type> block = block_of(group * groupSize);
    return weights::decodeOffset<Decoder>(block,
                                          group % (blockElements / groupSize));
  }
  int32_t code(int32_t element) const {
    Block32<type> block = block_of(element);
    return Decoder::quant(block, element % blockElements);
  }
  /// Of element FIRST and the three after it.
  void codes4(int32_t first, int32_t (&numbers)[4]) const {
    Block32<type> block = block_of(first);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      numbers[i] = Decoder::quant(block, first % blockElements + i);
  }
  void codes(int32_t unit, int32_t (&numbers)[32]) const {
    Block32<type> block = block_of(unit * 32);
    int32_t first = unit * 32 % blockElements;
#pragma unroll
    for (int32_t i = 0; i < 32; ++i)
      numbers[i] = Decoder::quant(block, first + i);
  }

private:
  Block32<type> block_of(int32_t element) const {
    return {words, start + element / blockElements * blockBytes};
  }
};

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

template <ElementType type> struct Planes : Arithmetic<type> {
  words_t words;
  int32_t start; // in words

  Planes(words_t words, int32_t start) : words(words), start(start) {}

  int32_t field(int32_t plane, int32_t index, int32_t bits) const {
    uint32_t count = 32 / bits;
    uint32_t at = static_cast<uint32_t>(index);
    uint32_t word = words[start + plane + at / count];
    return static_cast<int32_t>(word >> (at % count * bits) &
                                ((uint32_t(1) << bits) - 1));
  }
  float half(int32_t plane, int32_t index) const {
    return half_to_float(static_cast<uint32_t>(field(plane, index, 16)));
  }
};

template <ElementType elementType> struct PlanarRow {
  static constexpr ElementType type = elementType;
  using Decoder = PlanarDecoder<type>;
  static constexpr int32_t groupSize = Decoder::groupSize;
  static constexpr OffsetKind offsetKind = Decoder::offsetKind;
  static constexpr int32_t bits = Decoder::fields.quants;
  static constexpr int32_t highBits = Decoder::fields.high;

  weights::PlanarRowOf<int32_t> row;
  quads_t quads;
  Planes<type> planes;

  PlanarRow(words_t words, quads_t quads, int32_t index, int32_t elements)
      : row(weights::planarRowOf<int32_t>(type, elements)), quads(quads),
        planes(words, index * row.words) {}

  float scale(int32_t group) const {
    return Decoder::scale(planes, row, group);
  }
  float offset(int32_t group) const {
    return Decoder::offset(planes, row, group);
  }
  int32_t code(int32_t element) const {
    return Decoder::quant(planes, row, element);
  }
  /// Four fields of a plane never lie in two words.
  void codes4(int32_t first, int32_t (&numbers)[4]) const {
    uint32_t at = static_cast<uint32_t>(first);
    uint32_t low = planes.words[planes.start + at * bits / 32] >>
                   (at * bits % 32),
             high = 0;
    if constexpr (highBits != 0)
      high = planes.words[planes.start + row.high + at * highBits / 32] >>
             (at * highBits % 32);
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      numbers[i] = number_of(low >> (i * bits), high >> (i * highBits));
  }
  /// Quants lie at the row's start: 4-bit ones are a load of 16 bytes.
  void codes(int32_t unit, int32_t (&numbers)[32]) const {
    uint32_t low[bits], high[highBits ? highBits : 1];
    if constexpr (bits == 2) {
      low[0] = planes.words[planes.start + unit * 2];
      low[1] = planes.words[planes.start + unit * 2 + 1];
    } else {
#pragma unroll
      for (int32_t i = 0; i < bits / 4; ++i) {
        vec<uint32_t, 4> quad = quads[planes.start / 4 + unit * (bits / 4) + i];
#pragma unroll
        for (int32_t j = 0; j < 4; ++j)
          low[i * 4 + j] = quad[j];
      }
    }
    if constexpr (highBits != 0) {
#pragma unroll
      for (int32_t i = 0; i < highBits; ++i)
        high[i] = planes.words[planes.start + row.high + unit * highBits + i];
    }
#pragma unroll
    for (int32_t i = 0; i < 32; ++i) {
      uint32_t upper = 0;
      if constexpr (highBits != 0)
        upper = high[i * highBits / 32] >> (i * highBits % 32);
      numbers[i] = number_of(low[i * bits / 32] >> (i * bits % 32), upper);
    }
  }

private:
  /// The number whose code is in the lowest bits of LOW and HIGH.
  int32_t number_of(uint32_t low, uint32_t high) const {
    uint32_t code = low & ((1u << bits) - 1);
    if constexpr (highBits != 0)
      code |= (high & ((1u << highBits) - 1)) << bits;
    return Decoder::decode(planes, static_cast<int32_t>(code));
  }
};

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// An element, rounded as the host does.
template <class Row> inline float decode(const Row &row, int32_t element) {
  int32_t group = element / Row::groupSize;
  float offset = 0;
  if constexpr (Row::offsetKind != OffsetKind::None)
    offset = row.offset(group);
  return weights::combine<typename Row::Decoder>(
      row.scale(group), static_cast<float>(row.code(element)), offset);
}

/// Elements k to k + 3; k is a multiple of 4.
template <class Row> inline vec<float, 4> decode4(const Row &row, int32_t k) {
  int32_t group = k / Row::groupSize;
  int32_t codes[4];
  row.codes4(k, codes);
  vec<float, 4> numbers = {
      static_cast<float>(codes[0]), static_cast<float>(codes[1]),
      static_cast<float>(codes[2]), static_cast<float>(codes[3])};
  vec<float, 4> scaled = numbers * row.scale(group);
  if constexpr (Row::offsetKind == OffsetKind::Add)
    scaled += row.offset(group);
  else if constexpr (Row::offsetKind == OffsetKind::Subtract)
    scaled -= row.offset(group);
  return scaled;
}

/// What instances of kernels are named after.
#define POOT_PACKED_TYPE(NAME, TYPE)                                           \
  struct NAME##_gguf {                                                         \
    using Row = GgufRow<ElementType::TYPE>;                                    \
  };                                                                           \
  struct NAME##_planar {                                                       \
    using Row = PlanarRow<ElementType::TYPE>;                                  \
  };
POOT_PACKED_TYPE(q4_0, Q4_0)
POOT_PACKED_TYPE(q4_1, Q4_1)
POOT_PACKED_TYPE(q5_0, Q5_0)
POOT_PACKED_TYPE(q5_1, Q5_1)
POOT_PACKED_TYPE(q8_0, Q8_0)
POOT_PACKED_TYPE(q2_k, Q2_K)
POOT_PACKED_TYPE(q3_k, Q3_K)
POOT_PACKED_TYPE(q4_k, Q4_K)
POOT_PACKED_TYPE(q5_k, Q5_K)
POOT_PACKED_TYPE(q6_k, Q6_K)
POOT_PACKED_TYPE(iq4_nl, IQ4_NL)
POOT_PACKED_TYPE(mxfp4, MXFP4)
#undef POOT_PACKED_TYPE

} // namespace poot::library

#endif // POOT_KERNELS_PACKED_H
