// Conversions between f32 and the 16-bit floats, on bit patterns.
//
// Widening is exact. Narrowing rounds to nearest, ties to even; what is too
// large becomes infinity; a NaN stays a (quiet) NaN with its sign and the
// leading bits of its payload.

#ifndef POOT_WEIGHTS_HALF_H
#define POOT_WEIGHTS_HALF_H

#include <cstdint>
#include <cstring>

namespace poot::weights {

inline float bitsToF32(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t f32ToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float f16ToF32(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1f;
  uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) // Infinity, or a NaN, which becomes quiet.
    return bitsToF32(sign | 0x7f800000 | fraction << 13 |
                     (fraction ? 0x400000 : 0));
  if (exponent == 0) {
    // Zero or subnormal: fraction · 2^-24, exact in f32.
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return bitsToF32(sign | f32ToBits(magnitude));
  }
  return bitsToF32(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t f32ToF16(float value) {
  uint32_t bits = f32ToBits(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  // 65520 and above rounds to infinity.
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    // Below 2^-14 the result counts units of 2^-24. Adding 0.5 aligns the unit
    // of the f32 sum with it (2^-24 is the last place of numbers in [0.5, 1)),
    // so the addition itself rounds, to nearest even.
    float sum = bitsToF32(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (f32ToBits(sum) - 0x3f000000));
  }
  uint32_t odd = magnitude >> 13 & 1;
  uint32_t rounded = magnitude - (112u << 23) + 0xfff + odd;
  return static_cast<uint16_t>(sign | rounded >> 13);
}

inline float bf16ToF32(uint16_t value) {
  return bitsToF32(static_cast<uint32_t>(value) << 16);
}

inline uint16_t f32ToBf16(float value) {
  uint32_t bits = f32ToBits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  uint32_t odd = bits >> 16 & 1;
  return static_cast<uint16_t>((bits + 0x7fff + odd) >> 16);
}

} // namespace poot::weights

#endif // POOT_WEIGHTS_HALF_H
