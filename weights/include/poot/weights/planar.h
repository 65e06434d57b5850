// The planar layout of packed weights: the same numbers as in the blocks of a
// GGUF file, ordered so that a kernel loads them by whole 32-bit words.
//
// A row (the innermost extent) is a sequence of planes, each of whole
// little-endian 32-bit words; a row is padded to 16 bytes, so that rows and
// their quants are aligned for the widest loads. Rows follow each other, and
// stay contiguous: slices and stacks of rows are what they are in a file.
//
//   quants   the low 2, 4 or 8 bits of each element's code
//   high     the 1 or 2 high bits of codes that have more
//   groups   8, 16 or 32 bits a group: its scale, and its minimum above it
//   blocks   for the types with blocks of 256, 16 or 32 bits a block: the f16
//            scale of its scales, and that of its minima above it
//
// In every plane field i of w bits is bits (i mod 32/w) * w and up of word
// i / (32/w): natural order, no interleaving. Codes are those of the file
// before a bias is taken off or a table is looked up, but for q8_0, whose codes
// are two's complement; the six-bit scales of q3_k, q4_k and q5_k become bytes
// (q3_k's signed, as q6_k's are).
//
// What a value is doesn't change by a bit: PlanarDecoder has the formulas of
// BlockDecoder over other fields. Every type has a planar form: those with
// blocks of 17, 18, 22, 34, 110 or 210 bytes aren't even aligned to words in a
// file; the others' quants are (q4_1, q5_1, q2_k, q4_k, q5_k), but scales stand
// between those of one block and the next, so that neighbouring lanes don't
// load neighbouring words.

#ifndef POOT_WEIGHTS_PLANAR_H
#define POOT_WEIGHTS_PLANAR_H

#include "poot/weights/block_decode.h"

#include <type_traits>

namespace poot::weights {

/// How many bits a field of each plane has; 0 where a type has no such plane.
struct PlanarFields {
  int32_t quants, high, groups, blocks;
};

constexpr PlanarFields planarFields(ElementType type) {
  switch (type) {
  case ElementType::Q4_0:
  case ElementType::IQ4_NL:
    return {4, 0, 16, 0};
  case ElementType::Q4_1:
    return {4, 0, 32, 0};
  case ElementType::Q5_0:
    return {4, 1, 16, 0};
  case ElementType::Q5_1:
    return {4, 1, 32, 0};
  case ElementType::Q8_0:
    return {8, 0, 16, 0};
  case ElementType::MXFP4:
    return {4, 0, 8, 0};
  case ElementType::Q2_K:
    return {2, 0, 8, 32};
  case ElementType::Q3_K:
    return {2, 1, 8, 16};
  case ElementType::Q4_K:
    return {4, 0, 16, 32};
  case ElementType::Q5_K:
    return {4, 1, 16, 32};
  case ElementType::Q6_K:
    return {4, 2, 8, 16};
  default:
    return {0, 0, 0, 0};
  }
}

/// Elements that share a scale: BlockDecoder's groupSize.
constexpr int32_t groupSizeOf(ElementType type) {
  return type == ElementType::Q2_K || type == ElementType::Q3_K ||
                 type == ElementType::Q6_K
             ? 16
             : 32;
}

/// Where the planes of a row begin, in 32-bit words from the row's start. A
/// kernel counts in int32_t.
template <class Index> struct PlanarRowOf {
  Index quants, high, groups, blocks;
  /// Words of a row, padding included: a multiple of 4.
  Index words;

  constexpr Index bytes() const { return words * 4; }
};
using PlanarRow = PlanarRowOf<int64_t>;

/// The one place that computes it.
template <class Index>
constexpr PlanarRowOf<Index> planarRowOf(ElementType type, Index elements) {
  PlanarFields fields = planarFields(type);
  // Elements are whole groups, so that only the planes after the quants end
  // within a word.
  auto wordsOf = [](Index count, int32_t bits) -> Index {
    int32_t each = bits ? 32 / bits : 1;
    return bits ? (count + each - 1) / each : 0;
  };
  PlanarRowOf<Index> row = {};
  row.high = wordsOf(elements, fields.quants);
  row.groups = row.high + wordsOf(elements, fields.high);
  row.blocks =
      row.groups + wordsOf(elements / groupSizeOf(type), fields.groups);
  Index end = row.blocks + wordsOf(elements / 256, fields.blocks);
  row.words = (end + 3) / 4 * 4;
  return row;
}

constexpr PlanarRow planarRow(ElementType type, int64_t elements) {
  return planarRowOf<int64_t>(type, elements);
}

/// The decoder of one packed type's planar rows: like BlockDecoder, but
/// anchored at a row, so that group and element count from the row's start. It
/// asks of a backend B what block_decode.h does, but instead of byte,
/// signedByte and f16
///
///   I32 field(I32 plane, I32 index, int32_t bits)   field INDEX of the plane
///             that begins at word PLANE of the row, 0 .. 2^bits - 1; bits is
///             1, 2, 4, 8 or 16
///   F32 half(I32 plane, I32 index)   the same of 16 bits, an f16, widened
///
/// PLANES is a PlanarRowOf, or has its members as I32.
template <ElementType elementType> struct PlanarDecoder {
  static constexpr ElementType type = elementType;
  static constexpr int32_t groupSize = BlockDecoder<type>::groupSize;
  static constexpr OffsetKind offsetKind = BlockDecoder<type>::offsetKind;
  static constexpr PlanarFields fields = planarFields(type);
  static_assert(groupSize == groupSizeOf(type));

  template <class B, class Planes>
  static typename B::F32 scale(B &b, const Planes &planes,
                               typename B::I32 group) {
    if constexpr (type == ElementType::MXFP4) {
      // As in BlockDecoder.
      auto e = b.field(planes.groups, group, 8);
      auto subnormal = b.constant(0x00200000) << (e & 1);
      return b.bitsToF32(
          b.selectLess(e, 2, subnormal, ((e + 255) & 255) << 23));
    } else if constexpr (fields.blocks == 0) {
      return half(b, planes.groups, group, fields.groups, 0);
    } else {
      auto block = group >> (groupSize == 16 ? 4 : 3);
      auto d = half(b, planes.blocks, block, fields.blocks, 0);
      if constexpr (type == ElementType::Q2_K)
        return d * b.toF32(b.field(planes.groups, group, 8) & 15);
      else if constexpr (fields.groups == 16)
        return d * b.toF32(b.field(planes.groups, group << 1, 8));
      else
        // Two's complement.
        return d *
               b.toF32(((b.field(planes.groups, group, 8) + 128) & 255) - 128);
    }
  }

  template <class B, class Planes>
  static typename B::F32 offset(B &b, const Planes &planes,
                                typename B::I32 group) {
    if constexpr (offsetKind == OffsetKind::None) {
      return b.toF32(b.constant(0));
    } else if constexpr (fields.blocks == 0) {
      return half(b, planes.groups, group, fields.groups, 1);
    } else {
      auto block = group >> (groupSize == 16 ? 4 : 3);
      auto d = half(b, planes.blocks, block, fields.blocks, 1);
      if constexpr (type == ElementType::Q2_K)
        return d * b.toF32(b.field(planes.groups, group, 8) >> 4);
      else
        return d * b.toF32(b.field(planes.groups, (group << 1) + 1, 8));
    }
  }

  template <class B, class Planes>
  static typename B::I32 quant(B &b, const Planes &planes,
                               typename B::I32 element) {
    typename B::I32 code = b.field(planes.quants, element, fields.quants);
    if constexpr (fields.high != 0)
      code =
          code | (b.field(planes.high, element, fields.high) << fields.quants);
    return decode(b, code);
  }

  /// A code as the number that scale multiplies: for kernels that take many
  /// codes out of a word by themselves.
  template <class B> static typename B::I32 decode(B &b, typename B::I32 code) {
    if constexpr (type == ElementType::IQ4_NL || type == ElementType::MXFP4)
      return b.lookup(BlockDecoder<type>::values, code);
    else if constexpr (type == ElementType::Q8_0)
      return ((code + 128) & 255) - 128;
    else if constexpr (bias != 0)
      return code - bias;
    else
      return code;
  }

  /// What the code of zero is.
  static constexpr int32_t bias = type == ElementType::Q4_0   ? 8
                                  : type == ElementType::Q5_0 ? 16
                                  : type == ElementType::Q3_K ? 4
                                  : type == ElementType::Q6_K ? 32
                                                              : 0;

private:
  /// Half WHICH of field INDEX, of 16 or 32 bits, in PLANE.
  template <class B, class Plane>
  static typename B::F32 half(B &b, Plane plane, typename B::I32 index,
                              int32_t bits, int32_t which) {
    if (bits == 32)
      return b.half(plane, (index << 1) + which);
    return b.half(plane, index);
  }
};

namespace planar_detail {

/// A backend of BlockDecoder that gives what is stored instead of its value:
/// table indices for entries, integer scales without the f16 that they count
/// in.
template <class Source, class Index> struct StoredBlock {
  using I32 = int32_t;
  using F32 = int32_t;

  const Source &source;
  Index start;

  I32 byte(I32 p) const { return source.byte(start + p); }
  I32 signedByte(I32 p) const { return ((byte(p) + 128) & 255) - 128; }
  F32 f16(int32_t) const { return 1; }
  I32 constant(int32_t value) const { return value; }
  I32 selectLess(I32 x, int32_t limit, I32 a, I32 c) const {
    return x < limit ? a : c;
  }
  I32 lookup(const int8_t (&)[16], I32 index) const { return index; }
  F32 toF32(I32 x) const { return x; }
  F32 bitsToF32(I32 x) const { return x; }
  /// The two bytes at P.
  I32 half(I32 p) const { return byte(p) | byte(p + 1) << 8; }
};

/// Where the f16 scale of a block of TYPE stands; its minimum follows.
constexpr int32_t halfPosition(ElementType type) {
  switch (type) {
  case ElementType::Q2_K:
    return 80;
  case ElementType::Q3_K:
    return 108;
  case ElementType::Q6_K:
    return 208;
  default:
    return 0;
  }
}

constexpr int32_t blockElementsOf(ElementType type) {
  return planarFields(type).blocks ? 256 : 32;
}

constexpr int32_t blockBytesOf(ElementType type) {
  switch (type) {
  case ElementType::MXFP4:
    return 17;
  case ElementType::Q4_0:
  case ElementType::IQ4_NL:
    return 18;
  case ElementType::Q4_1:
    return 20;
  case ElementType::Q5_0:
    return 22;
  case ElementType::Q5_1:
    return 24;
  case ElementType::Q8_0:
    return 34;
  case ElementType::Q2_K:
    return 84;
  case ElementType::Q3_K:
    return 110;
  case ElementType::Q4_K:
    return 144;
  case ElementType::Q5_K:
    return 176;
  case ElementType::Q6_K:
    return 210;
  default:
    return 0;
  }
}

template <ElementType type>
constexpr PlanarDecoder<type> planarOf(BlockDecoder<type>) {
  return {};
}

} // namespace planar_detail

/// Word WORD of the planar form of a row of ELEMENTS elements of TYPE.
/// SOURCE.byte(p) is byte p, 0 .. 255, of the row's blocks as in a file. Serves
/// the host and a repacking kernel alike.
template <ElementType type, class Source, class Index>
uint32_t planarWord(const Source &source, const PlanarRowOf<Index> &planes,
                    std::common_type_t<Index> elements,
                    std::common_type_t<Index> word) {
  using namespace planar_detail;
  using Decoder = BlockDecoder<type>;
  constexpr PlanarFields fields = planarFields(type);
  constexpr int32_t blockElements = blockElementsOf(type);
  constexpr int32_t groupSize = groupSizeOf(type);
  auto blockOf = [&](Index element) {
    return StoredBlock<Source, Index>{source, element / blockElements *
                                                  blockBytesOf(type)};
  };
  auto code = [&](Index element) {
    auto block = blockOf(element);
    int32_t within = static_cast<int32_t>(element % blockElements);
    return (Decoder::quant(block, within) + PlanarDecoder<type>::bias) & 255;
  };
  uint32_t result = 0;
  if (word < planes.high) {
    constexpr int32_t count = 32 / fields.quants;
    for (int32_t i = 0; i < count; ++i)
      result |= static_cast<uint32_t>(code(word * count + i) &
                                      ((1 << fields.quants) - 1))
                << (i * fields.quants);
    return result;
  }
  if (word < planes.groups) {
    if constexpr (fields.high != 0) {
      constexpr int32_t count = 32 / fields.high;
      for (int32_t i = 0; i < count; ++i)
        result |= static_cast<uint32_t>(
                      code((word - planes.high) * count + i) >> fields.quants)
                  << (i * fields.high);
    }
    return result;
  }
  if (word < planes.blocks) {
    constexpr int32_t count = 32 / fields.groups;
    for (int32_t i = 0; i < count; ++i) {
      Index group = (word - planes.groups) * count + i;
      if (group >= elements / groupSize)
        break;
      auto block = blockOf(group * groupSize);
      int32_t within =
          static_cast<int32_t>(group % (blockElements / groupSize));
      uint32_t field;
      if constexpr (fields.blocks == 0 && fields.groups == 32)
        field = static_cast<uint32_t>(block.half(0)) |
                static_cast<uint32_t>(block.half(2)) << 16;
      else if constexpr (fields.blocks == 0 && fields.groups == 16)
        field = static_cast<uint32_t>(block.half(0));
      else if constexpr (fields.blocks == 0)
        field = static_cast<uint32_t>(block.byte(0));
      else if constexpr (Decoder::offsetKind == OffsetKind::None)
        field = static_cast<uint32_t>(Decoder::scale(block, within)) & 255;
      else
        field = static_cast<uint32_t>(Decoder::scale(block, within)) |
                static_cast<uint32_t>(Decoder::offset(block, within))
                    << (fields.groups / 2);
      result |= field << (i * fields.groups);
    }
    return result;
  }
  if constexpr (fields.blocks != 0) {
    constexpr int32_t count = 32 / fields.blocks;
    for (int32_t i = 0; i < count; ++i) {
      Index index = (word - planes.blocks) * count + i;
      if (index >= elements / blockElements)
        break;
      auto block = blockOf(index * blockElements);
      constexpr int32_t position = halfPosition(type);
      uint32_t field = static_cast<uint32_t>(block.half(position));
      if constexpr (fields.blocks == 32)
        field |= static_cast<uint32_t>(block.half(position + 2)) << 16;
      result |= field << (i * fields.blocks);
    }
  }
  return result;
}

/// The backend of PlanarDecoder that computes on the host. A row needs no
/// alignment.
struct HostPlanarRow : HostBlock {
  I32 word(int64_t index) const {
    const uint8_t *p = block + index * 4;
    return static_cast<I32>(
        static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
        static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24);
  }
  I32 field(int64_t plane, int64_t index, int32_t bits) const {
    int64_t count = 32 / bits;
    auto value = static_cast<uint32_t>(word(plane + index / count));
    return static_cast<I32>(value >> (index % count * bits) &
                            ((uint32_t(1) << bits) - 1));
  }
  F32 half(int64_t plane, int64_t index) const {
    return f16ToF32(static_cast<uint16_t>(field(plane, index, 16)));
  }
};

/// Calls VISITOR with the PlanarDecoder of TYPE, which must be packed.
template <class Visitor>
decltype(auto) visitPlanarDecoder(ElementType type, Visitor &&visitor) {
  return visitDecoder(type, [&](auto decoder) -> decltype(auto) {
    return visitor(planar_detail::planarOf(decoder));
  });
}

/// Repacks ROWS rows of ELEMENTS elements, blocks as in a file, from DATA to
/// OUT, which takes ROWS times planarRow(type, elements).bytes() bytes.
void repackPlanar(ElementType type, const uint8_t *data, int64_t rows,
                  int64_t elements, uint8_t *out);

/// Decodes ROWS planar rows of ELEMENTS elements from DATA to OUT: the values,
/// bit for bit, that `dequantize` gives of the blocks.
void dequantizePlanar(ElementType type, const uint8_t *data, int64_t rows,
                      int64_t elements, float *out);

} // namespace poot::weights

#endif // POOT_WEIGHTS_PLANAR_H
