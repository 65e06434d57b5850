//===- rope.cpp - Rotary positions ----------------------------------------===//
//
// rope          x [rows, heads, head_dim] with pairs of its first `rotary`
//               elements rotated, the others copied. Work number: (row, head,
//               pair) from the outermost; elements beyond `rotary` count as
//               pairs of neighbours.
//
// A pair is elements i and i + rotary / 2, or 2i and 2i + 1 where `adjacent`.
// With c and s the hooks' cos and sin of an element: x[e] * c[e] + x[e'] *
// s[e], with e' the other element of the pair; for a rotation sin is negative
// at the pair's first element.
//
// Hooks: load(x, row, head, e); cosine(table, row, e), sine(table, row, e);
// store(out, row, head, e, value), which for keys can be a write to the row's
// slot of a cache.
//
//===----------------------------------------------------------------------===//

#include "poot/kernel.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t heads = 1;
/// Both even.
POOT_SPEC inline int32_t head_dim = 2;
POOT_SPEC inline int32_t rotary = 2;
POOT_SPEC inline bool adjacent = false;

POOT_HOOK("load")
inline float load(buffer<const float> in, int32_t row, int32_t head,
                  int32_t e) {
  return in[(row * heads + head) * head_dim + e];
}

POOT_HOOK("cosine")
inline float cosine(buffer<const float> table, int32_t row, int32_t e) {
  return table[row * rotary + e];
}

POOT_HOOK("sine")
inline float sine(buffer<const float> table, int32_t row, int32_t e) {
  return table[row * rotary + e];
}

POOT_HOOK("store")
inline void store(buffer<float> out, int32_t row, int32_t head, int32_t e,
                  float value) {
  out[(row * heads + head) * head_dim + e] = value;
}

/// Two elements that an invocation takes.
struct Pair {
  int32_t first, second;
  bool rotates;
};

inline Pair pair_of(int32_t number) {
  int32_t half = rotary / 2;
  if (number >= half)
    return {number * 2, number * 2 + 1, false};
  if (adjacent)
    return {number * 2, number * 2 + 1, true};
  return {number, number + half, true};
}

inline vec<float, 2> rotated(buffer<const float> cosines,
                             buffer<const float> sines, int32_t row,
                             const Pair &pair, vec<float, 2> v) {
#pragma clang fp contract(fast)
  return {v.x * cosine(cosines, row, pair.first) +
              v.y * sine(sines, row, pair.first),
          v.y * cosine(cosines, row, pair.second) +
              v.x * sine(sines, row, pair.second)};
}

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void rope(buffer<const float> in,
                                                    buffer<const float> cosines,
                                                    buffer<const float> sines,
                                                    buffer<float> out) {
  int32_t pairs = head_dim / 2;
  int32_t id = linear_id();
  if (id >= rows * heads * pairs)
    return;
  int32_t row = id / (heads * pairs), head = id / pairs % heads;
  Pair pair = pair_of(id % pairs);
  vec<float, 2> value = {load(in, row, head, pair.first),
                         load(in, row, head, pair.second)};
  if (pair.rotates)
    value = rotated(cosines, sines, row, pair, value);
  store(out, row, head, pair.first, value.x);
  store(out, row, head, pair.second, value.y);
}

} // namespace poot::library
