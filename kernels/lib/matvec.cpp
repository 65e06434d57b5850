//===- matvec.cpp - Products with weights that aren't packed --------------===//
//
// x [rows, depth] times W [columns, depth] transposed, f32 sums, with few rows:
// what a step of decoding does. The depth lies innermost in both and is a
// multiple of 4. Instances are named after how weights are stored: f32, f16
// (for devices that load it), f16_words and bf16_words (two in a 32-bit word,
// for any device).
//
//   matvec_lane       an invocation a column and block of up to 8 rows: no
//                     barrier. Work number: row block * columns + column.
//   matvec_subgroup   a subgroup a column and block of rows. Work number
//                     likewise, of subgroups.
//   matvec_gated_*    both with two weights, whose results go to one hook:
//                     `store_pair(out, row, column, gate, up)`.
//
// Hooks: load_x4(x, row, k); store(out, row, column, value); matrix(row), which
// of a stack of W a row takes (then the block is one row). packed.cpp has the
// same for packed weights.
//
//===----------------------------------------------------------------------===//

#include "few_rows.h"

namespace poot::library {

//===----------------------------------------------------------------------===//
// How weights are stored
//===----------------------------------------------------------------------===//

struct f32_weights {
  using Quad = vec<float, 4>;
  static vec<float, 4> widen(Quad v) { return v; }
};

struct f16_weights {
  using Quad = vec<f16, 4>;
  static vec<float, 4> widen(Quad v) {
    return __builtin_convertvector(v, vec<float, 4>);
  }
};

struct f16_words {
  using Quad = vec<uint32_t, 2>;
  static vec<float, 4> widen(Quad v) {
    return {half_to_float(v.x & 0xffffu), half_to_float(v.x >> 16),
            half_to_float(v.y & 0xffffu), half_to_float(v.y >> 16)};
  }
};

struct bf16_words {
  using Quad = vec<uint32_t, 2>;
  static vec<float, 4> widen(Quad v) {
    return {bit_cast<float>(v.x << 16), bit_cast<float>(v.x & 0xffff0000u),
            bit_cast<float>(v.y << 16), bit_cast<float>(v.y & 0xffff0000u)};
  }
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The first four weights, in quads.
inline int32_t first_quad(const Work &work) {
  return work.weight_row() * (depth / 4);
}

/// Sums of products with quads FIRST, FIRST + STRIDE and so on of the depth.
template <class Weights>
inline void sum_products(buffer<const vec<float, 4>> activations,
                         buffer<const typename Weights::Quad> weights,
                         const Work &work, int32_t first, int32_t stride,
                         float (&sums)[8]) {
#pragma clang fp contract(fast)
  vec<float, 4> parts[8];
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    parts[r] = 0;
  int32_t start = first_quad(work);
  for (int32_t i = first; i < depth / 4; i += stride) {
    vec<float, 4> weight = Weights::widen(weights[start + i]);
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r)
      parts[r] += load_x4(activations, work.row_of(r), i * 4) * weight;
  }
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    sums[r] = sum4(parts[r]);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_lane(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> weights, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  float sums[8];
  sum_products<Weights>(activations, weights, work, 0, 1, sums);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    if (work.row + r < rows)
      store(out, work.row + r, work.column, sums[r]);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_gated_lane(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> gate,
    buffer<const typename Weights::Quad> up, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  float gates[8], ups[8];
  sum_products<Weights>(activations, gate, work, 0, 1, gates);
  sum_products<Weights>(activations, up, work, 0, 1, ups);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    if (work.row + r < rows)
      store_pair(out, work.row + r, work.column, gates[r], ups[r]);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_subgroup(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> weights, buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t lane = static_cast<int32_t>(lane_id());
  int32_t lanes = static_cast<int32_t>(subgroup_size());
  float sums[8];
  sum_products<Weights>(activations, weights, work, lane, lanes, sums);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r) {
    float sum = subgroup_add(sums[r]);
    if (lane == 0 && work.row + r < rows)
      store(out, work.row + r, work.column, sum);
  }
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_gated_subgroup(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> gate,
    buffer<const typename Weights::Quad> up, buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t lane = static_cast<int32_t>(lane_id());
  int32_t lanes = static_cast<int32_t>(subgroup_size());
  float gates[8], ups[8];
  sum_products<Weights>(activations, gate, work, lane, lanes, gates);
  sum_products<Weights>(activations, up, work, lane, lanes, ups);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r) {
    float gated = subgroup_add(gates[r]);
    float upped = subgroup_add(ups[r]);
    if (lane == 0 && work.row + r < rows)
      store_pair(out, work.row + r, work.column, gated, upped);
  }
}

#define POOT_MATVEC(WEIGHTS)                                                   \
  template void matvec_lane<WEIGHTS>(buffer<const vec<float, 4>>,              \
                                     buffer<const WEIGHTS::Quad>,              \
                                     buffer<float>);                           \
  template void matvec_gated_lane<WEIGHTS>(                                    \
      buffer<const vec<float, 4>>, buffer<const WEIGHTS::Quad>,                \
      buffer<const WEIGHTS::Quad>, buffer<float>);                             \
  template void matvec_subgroup<WEIGHTS>(buffer<const vec<float, 4>>,          \
                                         buffer<const WEIGHTS::Quad>,          \
                                         buffer<float>);                       \
  template void matvec_gated_subgroup<WEIGHTS>(                                \
      buffer<const vec<float, 4>>, buffer<const WEIGHTS::Quad>,                \
      buffer<const WEIGHTS::Quad>, buffer<float>);
POOT_MATVEC(f32_weights)
POOT_MATVEC(f16_weights)
POOT_MATVEC(f16_words)
POOT_MATVEC(bf16_words)

} // namespace poot::library
