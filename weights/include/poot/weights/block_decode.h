// Decoders of the packed block types, written once for every consumer.
//
// A decoder is a template over a backend B, which supplies the arithmetic. The
// host backend below computes; a kernel generator's backend appends operations
// to a kernel. Both therefore run the same formulas in the same order,
// bit-exact with the dequantization of Python's gguf package (gguf/quants.py),
// of which the layouts are described in llama.cpp's ggml/src/ggml-common.h.
//
// Every packed type has the form
//
//   value = scale(group) * quant(element)                 OffsetKind::None
//   value = scale(group) * quant(element) + offset(group) OffsetKind::Add
//   value = scale(group) * quant(element) - offset(group) OffsetKind::Subtract
//
// where an element belongs to group `element / groupSize`; the product is
// rounded before the sum. So a kernel may hoist scale and offset out of a loop
// over a group, and a planar layout may store the three parts apart.
//
// Decoders hold no control flow that depends on I32 or F32 values: they become
// straight-line code. Element and group need not be constants. Every byte
// position that is read lies inside the block for every element, even one whose
// value is then discarded by a select.
//
// A backend B is anchored at one block and has
//
//   B::I32, B::F32         value types, cheap to copy; I32 offers the binary
//                          operators + - & << >> with an I32 and with an
//                          int32_t on the right, and | with an I32. A shifted
//                          value is never negative (so >> may be logical or
//                          arithmetic), and no operation overflows. F32 offers
//                          + - *.
//   I32 byte(I32 p)        the byte at position p of the block, 0..255
//   I32 signedByte(I32 p)  the same as two's complement, -128..127
//   F32 f16(int32_t p)     the little-endian f16 at position p, widened
//   I32 constant(int32_t)
//   I32 selectLess(I32 x, int32_t limit, I32 a, I32 c)   x < limit ? a : c
//   I32 lookup(const int8_t (&table)[16], I32 index)     index in 0..15
//   F32 toF32(I32 x)       exact: |x| <= 255
//   F32 bitsToF32(I32 x)   the f32 with bit pattern x, which is not negative

#ifndef POOT_WEIGHTS_BLOCK_DECODE_H
#define POOT_WEIGHTS_BLOCK_DECODE_H

#include "poot/weights/element_type.h"
#include "poot/weights/half.h"

#include <cassert>
#include <cstdint>
#include <cstdlib>

namespace poot::weights {

enum class OffsetKind : uint8_t { None, Add, Subtract };

/// The decoder of one packed type: `groupSize`, `offsetKind`, `scale`, `quant`
/// and, unless offsetKind is None, `offset`.
template <ElementType type> struct BlockDecoder;

namespace block_detail {

/// 32 elements in 16 bytes at BASE: low nibbles are elements 0..15, high
/// nibbles 16..31.
template <class B>
typename B::I32 nibble32(B &b, int32_t base, typename B::I32 element) {
  return (b.byte((element & 15) + base) >> ((element >> 4) << 2)) & 15;
}

/// Bit ELEMENT (0..31) of the four bytes at BASE.
template <class B>
typename B::I32 bit32(B &b, int32_t base, typename B::I32 element) {
  return (b.byte((element >> 3) + base) >> (element & 7)) & 1;
}

/// 256 elements in 128 bytes at BASE: each 32 bytes hold 64 elements, first 32
/// in the low nibbles, then 32 in the high ones.
template <class B>
typename B::I32 nibble256(B &b, int32_t base, typename B::I32 element) {
  return (b.byte(((element >> 6) << 5) + (element & 31) + base) >>
          (((element >> 5) & 1) << 2)) &
         15;
}

/// 256 elements of two bits in 64 bytes at BASE: each 32 bytes hold 128
/// elements, 32 per bit pair, low pair first.
template <class B>
typename B::I32 pair256(B &b, int32_t base, typename B::I32 element) {
  return (b.byte(((element >> 7) << 5) + (element & 31) + base) >>
          (((element >> 5) & 3) << 1)) &
         3;
}

/// Bit ELEMENT / 32 of byte ELEMENT % 32 of the 32 bytes at BASE.
template <class B>
typename B::I32 bit256(B &b, int32_t base, typename B::I32 element) {
  return (b.byte((element & 31) + base) >> (element >> 5)) & 1;
}

/// The scale of GROUP (0..7) out of the 12 bytes at BASE in which Q4_K and Q5_K
/// pack eight 6-bit scales and eight 6-bit minima.
template <class B>
typename B::I32 scale6(B &b, int32_t base, typename B::I32 group) {
  auto own = b.byte((group & 3) + base);
  auto shared = b.byte((group & 3) + (base + 8));
  return b.selectLess(group, 4, own & 63, (shared & 15) | ((own >> 6) << 4));
}

/// The minimum of GROUP; see scale6.
template <class B>
typename B::I32 minimum6(B &b, int32_t base, typename B::I32 group) {
  auto own = b.byte((group & 3) + (base + 4));
  auto shared = b.byte((group & 3) + (base + 8));
  return b.selectLess(group, 4, own & 63, (shared >> 4) | ((own >> 6) << 4));
}

/// What the types with one f16 scale per block of 32 share.
struct OneScale {
  static constexpr int32_t groupSize = 32;
  static constexpr OffsetKind offsetKind = OffsetKind::None;
  template <class B> static typename B::F32 scale(B &b, typename B::I32) {
    return b.f16(0);
  }
};

/// What the types with an f16 scale and an f16 minimum per block of 32 share.
struct ScaleAndMinimum {
  static constexpr int32_t groupSize = 32;
  static constexpr OffsetKind offsetKind = OffsetKind::Add;
  template <class B> static typename B::F32 scale(B &b, typename B::I32) {
    return b.f16(0);
  }
  template <class B> static typename B::F32 offset(B &b, typename B::I32) {
    return b.f16(2);
  }
};

/// What Q4_K and Q5_K share: d, dmin, then packed 6-bit scales and minima.
struct PackedScaleAndMinimum {
  static constexpr int32_t groupSize = 32;
  static constexpr OffsetKind offsetKind = OffsetKind::Subtract;
  template <class B> static typename B::F32 scale(B &b, typename B::I32 group) {
    return b.f16(0) * b.toF32(scale6(b, 4, group));
  }
  template <class B>
  static typename B::F32 offset(B &b, typename B::I32 group) {
    return b.f16(2) * b.toF32(minimum6(b, 4, group));
  }
};

} // namespace block_detail

// d f16 | 16 bytes of nibbles
template <> struct BlockDecoder<ElementType::Q4_0> : block_detail::OneScale {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::nibble32(b, 2, element) - 8;
  }
};

// d f16 | m f16 | 16 bytes of nibbles
template <>
struct BlockDecoder<ElementType::Q4_1> : block_detail::ScaleAndMinimum {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::nibble32(b, 4, element);
  }
};

// d f16 | 32 high bits | 16 bytes of nibbles
template <> struct BlockDecoder<ElementType::Q5_0> : block_detail::OneScale {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return (block_detail::nibble32(b, 6, element) |
            (block_detail::bit32(b, 2, element) << 4)) -
           16;
  }
};

// d f16 | m f16 | 32 high bits | 16 bytes of nibbles
template <>
struct BlockDecoder<ElementType::Q5_1> : block_detail::ScaleAndMinimum {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::nibble32(b, 8, element) |
           (block_detail::bit32(b, 4, element) << 4);
  }
};

// d f16 | 32 signed bytes
template <> struct BlockDecoder<ElementType::Q8_0> : block_detail::OneScale {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return b.signedByte(element + 2);
  }
};

// 16 bytes: scale low nibble, minimum high | 64 bytes of pairs | d f16 | dmin
template <> struct BlockDecoder<ElementType::Q2_K> {
  static constexpr int32_t groupSize = 16;
  static constexpr OffsetKind offsetKind = OffsetKind::Subtract;
  template <class B> static typename B::F32 scale(B &b, typename B::I32 group) {
    return b.f16(80) * b.toF32(b.byte(group) & 15);
  }
  template <class B>
  static typename B::F32 offset(B &b, typename B::I32 group) {
    return b.f16(82) * b.toF32(b.byte(group) >> 4);
  }
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::pair256(b, 16, element);
  }
};

// 32 bytes of high bits | 64 bytes of pairs | 12 bytes of 6-bit scales | d f16
// Scale g: low four bits in nibble g / 8 of byte g % 8, high two in pair g / 4
// of byte 8 + g % 4.
template <> struct BlockDecoder<ElementType::Q3_K> {
  static constexpr int32_t groupSize = 16;
  static constexpr OffsetKind offsetKind = OffsetKind::None;
  template <class B> static typename B::F32 scale(B &b, typename B::I32 group) {
    auto low = (b.byte((group & 7) + 96) >> ((group >> 3) << 2)) & 15;
    auto high = (b.byte((group & 3) + 104) >> ((group >> 2) << 1)) & 3;
    return b.f16(108) * b.toF32((low | (high << 4)) - 32);
  }
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    // A clear high bit subtracts four.
    return (block_detail::pair256(b, 32, element) |
            (block_detail::bit256(b, 0, element) << 2)) -
           4;
  }
};

// d f16 | dmin f16 | 12 bytes of scales and minima | 128 bytes of nibbles
template <>
struct BlockDecoder<ElementType::Q4_K> : block_detail::PackedScaleAndMinimum {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::nibble256(b, 16, element);
  }
};

// d f16 | dmin f16 | 12 bytes of scales and minima | 32 bytes of high bits |
// 128 bytes of nibbles
template <>
struct BlockDecoder<ElementType::Q5_K> : block_detail::PackedScaleAndMinimum {
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return block_detail::nibble256(b, 48, element) |
           (block_detail::bit256(b, 16, element) << 4);
  }
};

// 128 bytes of nibbles | 64 bytes of pairs | 16 signed scales | d f16
// The nibbles lie 64 bytes per 128 elements: first 64 low, then 64 high.
template <> struct BlockDecoder<ElementType::Q6_K> {
  static constexpr int32_t groupSize = 16;
  static constexpr OffsetKind offsetKind = OffsetKind::None;
  template <class B> static typename B::F32 scale(B &b, typename B::I32 group) {
    return b.f16(208) * b.toF32(b.signedByte(group + 192));
  }
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    auto low = (b.byte(((element >> 7) << 6) + (element & 63)) >>
                (((element >> 6) & 1) << 2)) &
               15;
    return (low | (block_detail::pair256(b, 128, element) << 4)) - 32;
  }
};

// d f16 | 16 bytes of nibbles, which index a table
template <> struct BlockDecoder<ElementType::IQ4_NL> : block_detail::OneScale {
  static constexpr int8_t values[16] = {
      -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return b.lookup(values, block_detail::nibble32(b, 2, element));
  }
};

// e byte | 16 bytes of nibbles, which index the E2M1 values, doubled
template <> struct BlockDecoder<ElementType::MXFP4> {
  static constexpr int32_t groupSize = 32;
  static constexpr OffsetKind offsetKind = OffsetKind::None;
  static constexpr int8_t values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                        0, -1, -2, -3, -4, -6, -8, -12};
  template <class B> static typename B::F32 scale(B &b, typename B::I32) {
    // 2^(e-128), half of the block's scale because the values are doubled.
    // Below e = 2 that is subnormal: 2^-128 and 2^-127. For e = 0 the discarded
    // exponent must not be negative, hence the + 255 modulo 256.
    auto e = b.byte(b.constant(0));
    auto subnormal = b.constant(0x00200000) << (e & 1);
    return b.bitsToF32(b.selectLess(e, 2, subnormal, ((e + 255) & 255) << 23));
  }
  template <class B>
  static typename B::I32 quant(B &b, typename B::I32 element) {
    return b.lookup(values, block_detail::nibble32(b, 1, element));
  }
};

/// The offset of GROUP, or an unused constant when the type has none.
template <class Decoder, class B>
typename B::F32 decodeOffset(B &b, typename B::I32 group) {
  if constexpr (Decoder::offsetKind == OffsetKind::None)
    return b.toF32(b.constant(0));
  else
    return Decoder::offset(b, group);
}

/// Joins the parts of a value. Product and sum are separate statements, so that
/// a compiler which contracts within expressions still rounds twice.
template <class Decoder, class F32>
F32 combine(F32 scale, F32 quant, F32 offset) {
  F32 product = scale * quant;
  if constexpr (Decoder::offsetKind == OffsetKind::Add)
    return product + offset;
  else if constexpr (Decoder::offsetKind == OffsetKind::Subtract)
    return product - offset;
  else
    return product;
}

/// Calls VISITOR with the BlockDecoder of TYPE, which must be packed. This is
/// the way from a run-time type to the templates:
///
///   visitDecoder(type, [&](auto decoder) {
///     using Decoder = decltype(decoder);
///     ... Decoder::scale(b, group) ...
///   });
template <class Visitor>
decltype(auto) visitDecoder(ElementType type, Visitor &&visitor) {
  switch (type) {
  case ElementType::Q4_0:
    return visitor(BlockDecoder<ElementType::Q4_0>());
  case ElementType::Q4_1:
    return visitor(BlockDecoder<ElementType::Q4_1>());
  case ElementType::Q5_0:
    return visitor(BlockDecoder<ElementType::Q5_0>());
  case ElementType::Q5_1:
    return visitor(BlockDecoder<ElementType::Q5_1>());
  case ElementType::Q8_0:
    return visitor(BlockDecoder<ElementType::Q8_0>());
  case ElementType::Q2_K:
    return visitor(BlockDecoder<ElementType::Q2_K>());
  case ElementType::Q3_K:
    return visitor(BlockDecoder<ElementType::Q3_K>());
  case ElementType::Q4_K:
    return visitor(BlockDecoder<ElementType::Q4_K>());
  case ElementType::Q5_K:
    return visitor(BlockDecoder<ElementType::Q5_K>());
  case ElementType::Q6_K:
    return visitor(BlockDecoder<ElementType::Q6_K>());
  case ElementType::IQ4_NL:
    return visitor(BlockDecoder<ElementType::IQ4_NL>());
  case ElementType::MXFP4:
    return visitor(BlockDecoder<ElementType::MXFP4>());
  default:
    break;
  }
  assert(false && "not a packed type");
  std::abort();
}

/// The value of one element of the block at which B is anchored.
template <class B>
typename B::F32 decodeElement(ElementType type, B &b, typename B::I32 element) {
  return visitDecoder(type, [&](auto decoder) -> typename B::F32 {
    using Decoder = decltype(decoder);
    // A group size is a power of two; this is its logarithm.
    constexpr int32_t shift = Decoder::groupSize == 16 ? 4 : 5;
    static_assert(Decoder::groupSize == 1 << shift);
    typename B::I32 group = element >> shift;
    typename B::F32 scale = Decoder::scale(b, group);
    typename B::F32 offset = decodeOffset<Decoder>(b, group);
    return combine<Decoder>(scale, b.toF32(Decoder::quant(b, element)), offset);
  });
}

/// The backend that computes on the host.
struct HostBlock {
  using I32 = int32_t;
  using F32 = float;

  const uint8_t *block;

  I32 byte(I32 p) const { return block[p]; }
  I32 signedByte(I32 p) const { return static_cast<int8_t>(block[p]); }
  F32 f16(int32_t p) const {
    return f16ToF32(static_cast<uint16_t>(block[p] | block[p + 1] << 8));
  }
  I32 constant(int32_t value) const { return value; }
  I32 selectLess(I32 x, int32_t limit, I32 a, I32 c) const {
    return x < limit ? a : c;
  }
  I32 lookup(const int8_t (&table)[16], I32 index) const {
    return table[index];
  }
  F32 toF32(I32 x) const { return static_cast<float>(x); }
  F32 bitsToF32(I32 x) const {
    return weights::bitsToF32(static_cast<uint32_t>(x));
  }
};

/// Decodes COUNT elements, whole blocks of the packed TYPE, from DATA to OUT.
void dequantize(ElementType type, const uint8_t *data, int64_t count,
                float *out);

/// The same for any type: also widens or rounds scalars to f32. DATA needs no
/// alignment. Integers beyond 2^24 and f64 round to the nearest f32.
void convertToF32(ElementType type, const uint8_t *data, int64_t count,
                  float *out);

} // namespace poot::weights

#endif // POOT_WEIGHTS_BLOCK_DECODE_H
