//===- matvec.cpp - Products with weights that aren't packed --------------===//
//
// x [rows, depth] times W [columns, depth] transposed, f32 sums, with few rows:
// what a step of decoding does. The depth lies innermost in both and is a
// multiple of 4. Instances are named after how weights are stored: f32, f16,
// and bf16_words (two in a 32-bit word).
//
//   matvec_lane       an invocation a block of up to 8 rows and columns: no
//                     barrier. Work number: row of blocks by row.
//   matvec_subgroup   a subgroup a block. Work number likewise, of subgroups.
//   matvec_gated_*    both with two weights, whose results go to one hook:
//                     `store_pair(out, row, column, gate, up)`.
//
// Hooks: load_x4(x, row, k); store(out, row, column, value); weight_row(row,
// column), by which a row can choose of a stack of W (then the block is one
// row). packed.cpp has the same for packed weights.
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

/// Sums of products with quads FIRST, FIRST + STRIDE and so on of the depth.
template <class Weights>
inline void sum_products(buffer<const vec<float, 4>> activations,
                         buffer<const typename Weights::Quad> weights,
                         const Work &work, int32_t first, int32_t stride,
                         Outputs<float> &sums) {
#pragma clang fp contract(fast)
  int32_t starts[8];
#pragma unroll
  for (int32_t c = 0; c < block_columns; ++c)
    starts[c] = work.weight_row(c) * (depth / 4);
  Outputs<vec<float, 4>> parts;
  clear(parts);
  for (int32_t i = first; i < depth / 4; i += stride) {
    vec<float, 4> values[8];
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r)
      values[r] = load_x4(activations, work.row_of(r), i * 4);
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c) {
      vec<float, 4> weight = Weights::widen(weights[starts[c] + i]);
#pragma unroll
      for (int32_t r = 0; r < block_rows; ++r)
        parts[r * 8 + c] += values[r] * weight;
    }
  }
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      sums[r * 8 + c] = sum4(parts[r * 8 + c]);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_lane(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> weights, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  Outputs<float> sums;
  sum_products<Weights>(activations, weights, work, 0, 1, sums);
  store_sums(out, work, sums);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_gated_lane(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> gate,
    buffer<const typename Weights::Quad> up, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  Outputs<float> gates, ups;
  sum_products<Weights>(activations, gate, work, 0, 1, gates);
  sum_products<Weights>(activations, up, work, 0, 1, ups);
  store_pairs(out, work, gates, ups);
}

template <class Weights>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matvec_subgroup(
    buffer<const vec<float, 4>> activations,
    buffer<const typename Weights::Quad> weights, buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t lane = static_cast<int32_t>(lane_id());
  int32_t lanes = subgroup_lanes();
  Outputs<float> sums;
  sum_products<Weights>(activations, weights, work, lane, lanes, sums);
  join_lanes(sums);
  if (lane == 0)
    store_sums(out, work, sums);
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
  int32_t lanes = subgroup_lanes();
  Outputs<float> gates, ups;
  sum_products<Weights>(activations, gate, work, lane, lanes, gates);
  sum_products<Weights>(activations, up, work, lane, lanes, ups);
  join_lanes(gates);
  join_lanes(ups);
  if (lane == 0)
    store_pairs(out, work, gates, ups);
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
POOT_MATVEC(bf16_words)

} // namespace poot::library
