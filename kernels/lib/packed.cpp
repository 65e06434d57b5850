//===- packed.cpp - Products with packed weights --------------------------===//
//
// x [rows, depth] times a packed W [columns, depth] transposed, f32 sums, of
// weights as they are stored: no kernel writes them unpacked. For each packed
// type in the layout of GGUF files and in the planar one (the instances whose
// names end in `_gguf` and `_planar`). Weights are two buffers of the same
// memory: `words`, and `quads` of 16 bytes, which only planar kernels read.
//
//   packed_lane       an invocation a block of up to 8 rows and columns: no
//                     barrier. Work number: row of blocks by row.
//   packed_subgroup   a subgroup a block: neighbours load neighbouring memory.
//                     Work number likewise, of subgroups.
//   packed_gated_*    both with two weights, whose results go to one hook:
//                     `store_pair(out, row, column, gate, up)`.
//   packed_tiled      tiles of 64 x 64 through workgroup memory, for many rows.
//   packed_fragment   the same by fragments of f16 weights and activations.
//   packed_rows       rows of W, decoded bit for bit: embeddings by index, or
//                     all of them. Work number: row * (depth / 8) + block of 8.
//
// Hooks: load_x4(x, row, k), elements k to k + 3 of a row of x; store(out, row,
// column, value); weight_row(row, column), by which a row can choose of a stack
// of W (then the block is one row, and tiles aren't for it);
// source_row(indices, row), of packed_rows.
//
//===----------------------------------------------------------------------===//

#include "packed.h"
#include "few_rows.h"
#include "products.h"

namespace poot::library {

/// Rows of the packed weight that packed_rows chooses of.
POOT_SPEC inline int32_t source_rows = 1;

/// The row of the weight for row ROW of the result, which isn't written where
/// that is negative. An index outside is clamped.
POOT_HOOK("source_row")
inline int32_t source_row(buffer<const int32_t> indices, int32_t row) {
  return clamp(indices[row], 0, source_rows - 1);
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

/// Adds the products of unit UNIT (32 elements) of x and WEIGHTS.
template <class Row>
inline void add_unit(words_t words, quads_t quads, const int32_t (&weights)[8],
                     buffer<const vec<float, 4>> activations, const Work &work,
                     int32_t unit, Outputs<float> &sums) {
#pragma clang fp contract(fast)
  constexpr int32_t groups = 32 / Row::groupSize;
  constexpr int32_t groupQuads = Row::groupSize / 4;
  int32_t numbers[8][32];
#pragma unroll
  for (int32_t c = 0; c < block_columns; ++c)
    Row(words, quads, weights[c], depth).codes(unit, numbers[c]);
#pragma unroll
  for (int32_t g = 0; g < groups; ++g) {
    Outputs<vec<float, 4>> products;
    vec<float, 4> totals[8];
    clear(products);
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r)
      totals[r] = 0;
#pragma unroll
    for (int32_t i = 0; i < groupQuads; ++i) {
      int32_t k = g * Row::groupSize + i * 4;
#pragma unroll
      for (int32_t r = 0; r < block_rows; ++r) {
        vec<float, 4> value =
            load_x4(activations, work.row_of(r), unit * 32 + k);
#pragma unroll
        for (int32_t c = 0; c < block_columns; ++c) {
          vec<float, 4> number = {static_cast<float>(numbers[c][k]),
                                  static_cast<float>(numbers[c][k + 1]),
                                  static_cast<float>(numbers[c][k + 2]),
                                  static_cast<float>(numbers[c][k + 3])};
          products[r * 8 + c] += value * number;
        }
        if constexpr (Row::offsetKind != OffsetKind::None)
          totals[r] += value;
      }
    }
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c) {
      Row weight(words, quads, weights[c], depth);
      float scale = weight.scale(unit * groups + g), offset = 0;
      if constexpr (Row::offsetKind == OffsetKind::Add)
        offset = weight.offset(unit * groups + g);
      else if constexpr (Row::offsetKind == OffsetKind::Subtract)
        offset = -weight.offset(unit * groups + g);
#pragma unroll
      for (int32_t r = 0; r < block_rows; ++r) {
        sums[r * 8 + c] += scale * sum4(products[r * 8 + c]);
        if constexpr (Row::offsetKind != OffsetKind::None)
          sums[r * 8 + c] += offset * sum4(totals[r]);
      }
    }
  }
}

/// The products with units FIRST, FIRST + STRIDE and so on of the depth.
template <class Row>
inline void sum_units(words_t words, quads_t quads,
                      buffer<const vec<float, 4>> activations, const Work &work,
                      int32_t first, int32_t stride, Outputs<float> &sums) {
  int32_t weights[8];
#pragma unroll
  for (int32_t c = 0; c < block_columns; ++c)
    weights[c] = work.weight_row(c);
  clear(sums);
  for (int32_t unit = first; unit < depth / 32; unit += stride)
    add_unit<Row>(words, quads, weights, activations, work, unit, sums);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_lane(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  Outputs<float> sums;
  sum_units<typename Weight::Row>(words, quads, activations, work, 0, 1, sums);
  store_sums(out, work, sums);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_gated_lane(
    buffer<const vec<float, 4>> activations, words_t gateWords,
    quads_t gateQuads, words_t upWords, quads_t upQuads, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  using Row = typename Weight::Row;
  Outputs<float> gates, ups;
  sum_units<Row>(gateWords, gateQuads, activations, work, 0, 1, gates);
  sum_units<Row>(upWords, upQuads, activations, work, 0, 1, ups);
  store_pairs(out, work, gates, ups);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_subgroup(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t lane = static_cast<int32_t>(lane_id());
  int32_t lanes = subgroup_lanes();
  Outputs<float> sums;
  sum_units<typename Weight::Row>(words, quads, activations, work, lane, lanes,
                                  sums);
  join_lanes(sums);
  if (lane == 0)
    store_sums(out, work, sums);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_gated_subgroup(
    buffer<const vec<float, 4>> activations, words_t gateWords,
    quads_t gateQuads, words_t upWords, quads_t upQuads, buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t lane = static_cast<int32_t>(lane_id());
  int32_t lanes = subgroup_lanes();
  using Row = typename Weight::Row;
  Outputs<float> gates, ups;
  sum_units<Row>(gateWords, gateQuads, activations, work, lane, lanes, gates);
  sum_units<Row>(upWords, upQuads, activations, work, lane, lanes, ups);
  join_lanes(gates);
  join_lanes(ups);
  if (lane == 0)
    store_pairs(out, work, gates, ups);
}

//===----------------------------------------------------------------------===//
// Many rows
//===----------------------------------------------------------------------===//

/// Workgroup W computes tile W, row of tiles by row.
inline Tile own_tile() {
  int32_t down = divide_up(rows, Tile::size);
  int32_t across = divide_up(columns, Tile::size);
  int32_t id = linear_workgroup();
  return {0, id / across * Tile::size, id % across * Tile::size,
          id < down * across};
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(256, 1, 1) void packed_tiled(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Tile tile = own_tile();
  if (!tile.exists)
    return;
  workgroup<float, 16 * 64> lefts, rights;
  tiled_product4(
      lefts, rights, tile, rows, columns, depth,
      [&](int32_t row, int32_t k) { return load_x4(activations, row, k); },
      [&](int32_t column, int32_t k) {
        typename Weight::Row weight(words, quads, weight_row(tile.row, column),
                                    depth);
        return decode4(weight, k);
      },
      [&](int32_t row, int32_t column, float value) {
        store(out, row, column, value);
      });
}

template <class Weight, int LANES>
POOT_KERNEL POOT_WORKGROUP_SIZE(128, 1, 1) void packed_fragment(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Tile tile = own_tile();
  if (!tile.exists)
    return;
  workgroup<f16, 64 * 32> lefts, rights;
  workgroup<float, 64 * 64> results(overlay, lefts, rights);
  fragment_product<LANES>(
      lefts, rights, results, tile, rows, columns, depth, true,
      [&](int32_t row, int32_t k) {
        return __builtin_convertvector(load_x4(activations, row, k),
                                       vec<f16, 4>);
      },
      [&](int32_t column, int32_t k) {
        typename Weight::Row weight(words, quads, weight_row(tile.row, column),
                                    depth);
        return __builtin_convertvector(decode4(weight, k), vec<f16, 4>);
      },
      [&](int32_t row, int32_t column, float value) {
        store(out, row, column, value);
      });
}

//===----------------------------------------------------------------------===//
// Rows as they are
//===----------------------------------------------------------------------===//

POOT_HOOK("store")
inline void store_row(buffer<float> out, int32_t row, int32_t k, float value) {
  out[row * depth + k] = value;
}

template <class Weight>
POOT_KERNEL
POOT_WORKGROUP_SIZE(64, 1, 1) void packed_rows(words_t words, quads_t quads,
                                               buffer<const int32_t> indices,
                                               buffer<float> out) {
  int32_t across = depth / 8;
  int32_t id = linear_id();
  if (id >= rows * across)
    return;
  int32_t row = id / across, first = id % across * 8;
  int32_t source = source_row(indices, row);
  if (source < 0)
    return;
  typename Weight::Row weight(words, quads, source, depth);
#pragma unroll
  for (int32_t i = 0; i < 8; ++i)
    store_row(out, row, first + i, decode(weight, first + i));
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

#define POOT_PACKED_ROWS(WEIGHT)                                               \
  template void packed_rows<WEIGHT>(words_t, quads_t, buffer<const int32_t>,   \
                                    buffer<float>);                            \
  template void packed_lane<WEIGHT>(buffer<const vec<float, 4>>, words_t,      \
                                    quads_t, buffer<float>);
#define POOT_PACKED(NAME)                                                      \
  POOT_PACKED_ROWS(NAME##_gguf)                                                \
  POOT_PACKED_ROWS(NAME##_planar)                                              \
  template void packed_gated_lane<NAME##_planar>(buffer<const vec<float, 4>>,  \
                                                 words_t, quads_t, words_t,    \
                                                 quads_t, buffer<float>);      \
  template void packed_subgroup<NAME##_planar>(                                \
      buffer<const vec<float, 4>>, words_t, quads_t, buffer<float>);           \
  template void packed_gated_subgroup<NAME##_planar>(                          \
      buffer<const vec<float, 4>>, words_t, quads_t, words_t, quads_t,         \
      buffer<float>);                                                          \
  template void packed_tiled<NAME##_planar>(buffer<const vec<float, 4>>,       \
                                            words_t, quads_t, buffer<float>);  \
  template void packed_fragment<NAME##_planar, 32>(                            \
      buffer<const vec<float, 4>>, words_t, quads_t, buffer<float>);           \
  template void packed_fragment<NAME##_planar, 64>(                            \
      buffer<const vec<float, 4>>, words_t, quads_t, buffer<float>);
POOT_PACKED(q4_0)
POOT_PACKED(q4_1)
POOT_PACKED(q5_0)
POOT_PACKED(q5_1)
POOT_PACKED(q8_0)
POOT_PACKED(q2_k)
POOT_PACKED(q3_k)
POOT_PACKED(q4_k)
POOT_PACKED(q5_k)
POOT_PACKED(q6_k)
POOT_PACKED(iq4_nl)
POOT_PACKED(mxfp4)

} // namespace poot::library
