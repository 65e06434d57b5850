//===- packed.cpp - Products with packed weights --------------------------===//
//
// x [rows, depth] times a packed W [columns, depth] transposed, f32 sums, of
// weights as they are stored: no kernel writes them unpacked. For each packed
// type in the layout of GGUF files and in the planar one (the instances whose
// names end in `_gguf` and `_planar`). Weights are two buffers of the same
// memory: `words`, and `quads` of 16 bytes, which only planar kernels read.
//
//   packed_lane       an invocation a column and block of up to 8 rows: no
//                     barrier. Work number: row block * columns + column.
//   packed_subgroup   a subgroup a column and block of rows: neighbours load
//                     neighbouring memory. Work number likewise, of subgroups.
//   packed_gated_*    both with two weights, whose results go to one hook:
//                     `store_pair(out, row, column, gate, up)`.
//   packed_tiled      tiles of 64 x 64 through workgroup memory, for many rows.
//   packed_fragment   the same by fragments of f16 weights and activations.
//   packed_rows       rows of W, decoded bit for bit: a lookup of embeddings,
//   or
//                     all of them. Work number: row * (depth / 8) + block of 8.
//
// Hooks: load_x4(x, row, k), elements k to k + 3 of a row of x; store(out, row,
// column, value); matrix(row), which of a stack of W a row takes (then the
// block is one row, and tiles aren't for it); source_row(indices, row), of
// packed_rows.
//
//===----------------------------------------------------------------------===//

#include "packed.h"
#include "few_rows.h"
#include "products.h"

namespace poot::library {

/// Rows of the packed weight that packed_rows chooses of.
POOT_SPEC inline int32_t source_rows = 1;

/// The row of the weight for row ROW of the result. An index outside is
/// clamped.
POOT_HOOK("source_row")
inline int32_t source_row(buffer<const int32_t> indices, int32_t row) {
  return clamp(indices[row], 0, source_rows - 1);
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

inline void clear(float (&sums)[8]) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    sums[r] = 0;
}

/// Adds the products of unit UNIT (32 elements) of x and WEIGHT.
template <class Row>
inline void add_unit(const Row &weight, buffer<const vec<float, 4>> activations,
                     const Work &work, int32_t unit, float (&sums)[8]) {
#pragma clang fp contract(fast)
  constexpr int32_t groups = 32 / Row::groupSize;
  constexpr int32_t quads = Row::groupSize / 4;
  int32_t numbers[32];
  weight.codes(unit, numbers);
#pragma unroll
  for (int32_t g = 0; g < groups; ++g) {
    float scale = weight.scale(unit * groups + g), offset = 0;
    if constexpr (Row::offsetKind == OffsetKind::Add)
      offset = weight.offset(unit * groups + g);
    else if constexpr (Row::offsetKind == OffsetKind::Subtract)
      offset = -weight.offset(unit * groups + g);
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r) {
      vec<float, 4> products = 0, total = 0;
#pragma unroll
      for (int32_t i = 0; i < quads; ++i) {
        int32_t k = g * Row::groupSize + i * 4;
        vec<float, 4> value =
            load_x4(activations, work.row_of(r), unit * 32 + k);
        vec<float, 4> number = {static_cast<float>(numbers[k]),
                                static_cast<float>(numbers[k + 1]),
                                static_cast<float>(numbers[k + 2]),
                                static_cast<float>(numbers[k + 3])};
        products += value * number;
        if constexpr (Row::offsetKind != OffsetKind::None)
          total += value;
      }
      sums[r] += scale * sum4(products);
      if constexpr (Row::offsetKind != OffsetKind::None)
        sums[r] += offset * sum4(total);
    }
  }
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_lane(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  typename Weight::Row weight(words, quads, work.weight_row(), depth);
  float sums[8];
  clear(sums);
  for (int32_t unit = 0; unit < depth / 32; ++unit)
    add_unit(weight, activations, work, unit, sums);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    if (work.row + r < rows)
      store(out, work.row + r, work.column, sums[r]);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_gated_lane(
    buffer<const vec<float, 4>> activations, words_t gateWords,
    quads_t gateQuads, words_t upWords, quads_t upQuads, buffer<float> out) {
  Work work = work_of(linear_id());
  if (!work.exists)
    return;
  int32_t index = work.weight_row();
  typename Weight::Row gate(gateWords, gateQuads, index, depth);
  typename Weight::Row up(upWords, upQuads, index, depth);
  float gates[8], ups[8];
  clear(gates);
  clear(ups);
  for (int32_t unit = 0; unit < depth / 32; ++unit) {
    add_unit(gate, activations, work, unit, gates);
    add_unit(up, activations, work, unit, ups);
  }
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
    if (work.row + r < rows)
      store_pair(out, work.row + r, work.column, gates[r], ups[r]);
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_subgroup(
    buffer<const vec<float, 4>> activations, words_t words, quads_t quads,
    buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  typename Weight::Row weight(words, quads, work.weight_row(), depth);
  float sums[8];
  clear(sums);
  for (int32_t unit = lane_id(); unit < depth / 32; unit += subgroup_size())
    add_unit(weight, activations, work, unit, sums);
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r) {
    float sum = subgroup_add(sums[r]);
    if (lane_id() == 0 && work.row + r < rows)
      store(out, work.row + r, work.column, sum);
  }
}

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void packed_gated_subgroup(
    buffer<const vec<float, 4>> activations, words_t gateWords,
    quads_t gateQuads, words_t upWords, quads_t upQuads, buffer<float> out) {
  Work work = work_of(linear_subgroup());
  if (!work.exists)
    return;
  int32_t index = work.weight_row();
  typename Weight::Row gate(gateWords, gateQuads, index, depth);
  typename Weight::Row up(upWords, upQuads, index, depth);
  float gates[8], ups[8];
  clear(gates);
  clear(ups);
  for (int32_t unit = lane_id(); unit < depth / 32; unit += subgroup_size()) {
    add_unit(gate, activations, work, unit, gates);
    add_unit(up, activations, work, unit, ups);
  }
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r) {
    float gated = subgroup_add(gates[r]);
    float upped = subgroup_add(ups[r]);
    if (lane_id() == 0 && work.row + r < rows)
      store_pair(out, work.row + r, work.column, gated, upped);
  }
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
        typename Weight::Row weight(words, quads, column, depth);
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
        typename Weight::Row weight(words, quads, column, depth);
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
  typename Weight::Row weight(words, quads, source_row(indices, row), depth);
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
