//===- rope.cpp - Rotary positions, and writes to a cache -----------------===//
//
// rope          x [rows, heads, head_dim] with pairs of its first `rotary`
//               elements rotated, the others copied. Work number: (row, head,
//               pair) from the outermost; elements beyond `rotary` count as
//               pairs of neighbours.
// rope_cache    what a step does to the heads of query, keys and values, which
//               follow each other in a row: the query's are rotated, the keys'
//               are rotated and written to the cache, the values' are written
//               to the cache. Work number likewise over all heads.
//
// A pair is elements i and i + rotary / 2, or 2i and 2i + 1 where `adjacent`.
// With c and s the hooks' cos and sin of an element: x[e] * c[e] + x[e'] *
// s[e], with e' the other element of the pair; for a rotation sin is negative
// at the pair's first element.
//
// Hooks: load(x, row, head, e); cosine(table, row, e), sine(table, row, e);
// store(out, row, head, e, value); of rope_cache store_key and
// store_value(cache, slot, head, e, value), and slot(slots, row): a negative
// slot, or one beyond `capacity`, drops the row's keys and values.
//
//===----------------------------------------------------------------------===//

#include "poot/kernel.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
/// Heads of the query; of keys, and as many of values.
POOT_SPEC inline int32_t heads = 1;
POOT_SPEC inline int32_t kv_heads = 1;
/// Both even.
POOT_SPEC inline int32_t head_dim = 2;
POOT_SPEC inline int32_t rotary = 2;
POOT_SPEC inline bool adjacent = false;

POOT_HOOK("load")
inline float load(buffer<const float> in, int32_t row, int32_t head,
                  int32_t e) {
  return in[(row * heads + head) * head_dim + e];
}

/// Of rope_cache: query heads, then those of keys, then those of values.
POOT_HOOK("load")
inline float load_all(buffer<const float> in, int32_t row, int32_t head,
                      int32_t e) {
  return in[(row * (heads + 2 * kv_heads) + head) * head_dim + e];
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

POOT_HOOK("slot")
inline int32_t slot(buffer<const int32_t> slots, int32_t row) {
  return slots[row];
}

POOT_HOOK("store_key")
inline void store_key(buffer<float> cache, int32_t slot, int32_t head,
                      int32_t e, float value) {
  cache[(slot * kv_heads + head) * head_dim + e] = value;
}

POOT_HOOK("store_value")
inline void store_value(buffer<float> cache, int32_t slot, int32_t head,
                        int32_t e, float value) {
  cache[(slot * kv_heads + head) * head_dim + e] = value;
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

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void rope_cache(
    buffer<const float> in, buffer<const float> cosines,
    buffer<const float> sines, buffer<const int32_t> slots, buffer<float> query,
    buffer<float> keys, buffer<float> values, int32_t capacity) {
  int32_t pairs = head_dim / 2, all = heads + 2 * kv_heads;
  int32_t id = linear_id();
  if (id >= rows * all * pairs)
    return;
  int32_t row = id / (all * pairs), head = id / pairs % all;
  Pair pair = pair_of(id % pairs);
  vec<float, 2> value = {load_all(in, row, head, pair.first),
                         load_all(in, row, head, pair.second)};
  if (pair.rotates && head < heads + kv_heads)
    value = rotated(cosines, sines, row, pair, value);
  if (head < heads) {
    store(query, row, head, pair.first, value.x);
    store(query, row, head, pair.second, value.y);
    return;
  }
  int32_t to = slot(slots, row);
  if (to < 0 || to >= capacity)
    return;
  head -= heads;
  if (head < kv_heads) {
    store_key(keys, to, head, pair.first, value.x);
    store_key(keys, to, head, pair.second, value.y);
  } else {
    store_value(values, to, head - kv_heads, pair.first, value.x);
    store_value(values, to, head - kv_heads, pair.second, value.y);
  }
}

} // namespace poot::library
