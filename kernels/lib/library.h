//===- library.h - What the kernels of the library share ------------------===//
//
// How the kernels of this folder number their work. A kernel says in its
// comment what a *work number* stands for: an output, a block of outputs or a
// row. It is launched with at least so many invocations, or workgroups, along x
// and, where there are more than a grid takes, y; those beyond the last do
// nothing.
//
// All of them are made to be specialized: extents are specialization constants
// where a compiler knows them, memory is reached through hooks. The default
// body of a hook addresses dense row-major buffers; a compiler fills it with
// the address, element type and arithmetic of its own, and the buffer that
// nothing reads any more leaves the kernel's interface.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNELS_LIBRARY_H
#define POOT_KERNELS_LIBRARY_H

#include "poot/kernel.h"

namespace poot::library {

inline int32_t divide_up(int32_t a, int32_t b) { return (a + b - 1) / b; }

inline float sum4(vec<float, 4> v) { return (v.x + v.y) + (v.z + v.w); }

/// An f16 in the lower bits as f32, by 32-bit integers alone.
inline float half_to_float(uint32_t half) {
  uint32_t magnitude = half & 0x7fffu;
  // Normal numbers move their exponent; subnormal ones are multiples of 2^-24;
  // the largest exponent is infinity or NaN in both formats.
  float normal = bit_cast<float>((magnitude << 13) + (112u << 23));
  float subnormal =
      static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  float special = bit_cast<float>((magnitude << 13) | 0x7f800000u);
  // Choices of values, one after the other, so that no branch comes of them.
  float value = magnitude < 0x7c00u ? normal : special;
  value = magnitude < 0x400u ? subnormal : value;
  return bit_cast<float>(bit_cast<uint32_t>(value) | (half & 0x8000u) << 16);
}

} // namespace poot::library

#endif // POOT_KERNELS_LIBRARY_H
