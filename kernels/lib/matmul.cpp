//===- matmul.cpp - Products of batches of matrices -----------------------===//
//
// left [batches, rows, depth] times right [batches, depth, columns]. Forms:
//
//   matmul            a block of outputs an invocation, in registers: no
//                     barrier. For any accumulator; small and odd shapes.
//   matmul_wide       the same of f32 with a right operand whose depth lies
//                     innermost: loads four steps at once.
//   matmul_indexed    each row times the matrix that `expert` gives: one row of
//                     a block of columns an invocation.
//   matmul_tiled      f32, tiles of 64 x 64 through workgroup memory.
//   matmul_fragment   f16 to f32, tiles of 64 x 64 through workgroup memory and
//                     fragments of 16 x 16 x 16. LANES is the subgroup size.
//
// Hooks: load_left(buffer, batch, row, k), load_right(buffer, batch, k,
// column), their forms of four elements along the innermost dimension, and
// store(buffer, batch, row, column, value), which an epilogue goes into. Loads
// beyond an edge aren't made.
//
//===----------------------------------------------------------------------===//

#include "products.h"

namespace poot::library {

POOT_SPEC inline int32_t batches = 1;
POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t columns = 1;
POOT_SPEC inline int32_t depth = 1;
/// The block of an invocation: at most 8 by 8.
POOT_SPEC inline int32_t block_rows = 1;
POOT_SPEC inline int32_t block_columns = 1;
/// Steps of the depth in one iteration, at most 4.
POOT_SPEC inline int32_t steps = 1;
/// Whether matmul_fragment's right operand is [batches, columns, depth].
POOT_SPEC inline bool right_transposed = false;
/// Matrices that matmul_indexed chooses of.
POOT_SPEC inline int32_t experts = 1;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

template <class Acc>
POOT_HOOK("load_left")
inline Acc
    load_left(buffer<const Acc> left, int32_t batch, int32_t row, int32_t k) {
  return left[(batch * rows + row) * depth + k];
}

template <class Acc>
POOT_HOOK("load_right")
inline Acc load_right(buffer<const Acc> right, int32_t batch, int32_t k,
                      int32_t column) {
  return right[(batch * depth + k) * columns + column];
}

template <class Acc>
POOT_HOOK("store")
inline void store(buffer<Acc> out, int32_t batch, int32_t row, int32_t column,
                  Acc value) {
  out[(batch * rows + row) * columns + column] = value;
}

/// Elements k to k + 3 of a row; k is a multiple of 4, as is the depth.
POOT_HOOK("load_left4")
inline vec<float, 4> load_left4(buffer<const vec<float, 4>> left, int32_t batch,
                                int32_t row, int32_t k) {
  return left[((batch * rows + row) * depth + k) / 4];
}

/// Elements k to k + 3 of a column.
POOT_HOOK("load_right4")
inline vec<float, 4> load_right4(buffer<const vec<float, 4>> right,
                                 int32_t batch, int32_t column, int32_t k) {
  return right[((batch * columns + column) * depth + k) / 4];
}

/// The matrix of a row. An index outside the stack is clamped.
POOT_HOOK("expert")
inline int32_t expert(buffer<const int32_t> indices, int32_t row) {
  return clamp(indices[row], 0, experts - 1);
}

//===----------------------------------------------------------------------===//
// Blocks in registers
//===----------------------------------------------------------------------===//

/// The outputs of an invocation. Rows and columns beyond the edge repeat the
/// last one and aren't stored.
struct Block {
  int32_t batch, row, column;
  bool exists;

  int32_t row_of(int32_t r) const { return min(row + r, rows - 1); }
  int32_t column_of(int32_t c) const { return min(column + c, columns - 1); }
};

inline Block own_block() {
  int32_t down = divide_up(rows, block_rows);
  int32_t across = divide_up(columns, block_columns);
  int32_t id = linear_id();
  return {id / (down * across), id / across % down * block_rows,
          id % across * block_columns, id < batches * down * across};
}

template <class Acc>
inline void store_block(buffer<Acc> out, const Block &block,
                        const Acc (&sums)[64]) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r) {
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      if (block.row + r < rows && block.column + c < columns)
        store(out, block.batch, block.row + r, block.column + c,
              sums[r * 8 + c]);
  }
}

template <class Acc>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matmul(buffer<const Acc> left,
                                                      buffer<const Acc> right,
                                                      buffer<Acc> out) {
#pragma clang fp contract(fast)
  Block block = own_block();
  if (!block.exists)
    return;
  Acc sums[64];
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      sums[r * 8 + c] = 0;

  auto step = [&](int32_t k) {
    Acc across[8];
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      across[c] = load_right(right, block.batch, k, block.column_of(c));
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r) {
      Acc value = load_left(left, block.batch, block.row_of(r), k);
#pragma unroll
      for (int32_t c = 0; c < block_columns; ++c)
        sums[r * 8 + c] += value * across[c];
    }
  };
  int32_t whole = depth / steps * steps;
  for (int32_t k = 0; k < whole; k += steps)
#pragma unroll
    for (int32_t s = 0; s < steps; ++s)
      step(k + s);
  for (int32_t k = whole; k < depth; ++k)
    step(k);
  store_block(out, block, sums);
}

template void matmul<f32>(buffer<const f32>, buffer<const f32>, buffer<f32>);
template void matmul<f64>(buffer<const f64>, buffer<const f64>, buffer<f64>);
template void matmul<int32_t>(buffer<const int32_t>, buffer<const int32_t>,
                              buffer<int32_t>);
template void matmul<int64_t>(buffer<const int64_t>, buffer<const int64_t>,
                              buffer<int64_t>);

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matmul_wide(
    buffer<const vec<float, 4>> left, buffer<const vec<float, 4>> right,
    buffer<float> out) {
#pragma clang fp contract(fast)
  Block block = own_block();
  if (!block.exists)
    return;
  vec<float, 4> parts[64];
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      parts[r * 8 + c] = 0;

  for (int32_t k = 0; k < depth; k += 4) {
    vec<float, 4> across[8];
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      across[c] = load_right4(right, block.batch, block.column_of(c), k);
#pragma unroll
    for (int32_t r = 0; r < block_rows; ++r) {
      vec<float, 4> value = load_left4(left, block.batch, block.row_of(r), k);
#pragma unroll
      for (int32_t c = 0; c < block_columns; ++c)
        parts[r * 8 + c] += value * across[c];
    }
  }
  float sums[64];
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      sums[r * 8 + c] = sum4(parts[r * 8 + c]);
  store_block(out, block, sums);
}

template <class Acc>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void matmul_indexed(
    buffer<const Acc> left, buffer<const Acc> right,
    buffer<const int32_t> indices, buffer<Acc> out) {
#pragma clang fp contract(fast)
  int32_t across = divide_up(columns, block_columns);
  int32_t id = linear_id();
  if (id >= rows * across)
    return;
  int32_t row = id / across;
  int32_t column = id % across * block_columns;
  int32_t matrix = expert(indices, row);
  Acc sums[8];
#pragma unroll
  for (int32_t c = 0; c < block_columns; ++c)
    sums[c] = 0;
  for (int32_t k = 0; k < depth; ++k) {
    Acc value = load_left(left, 0, row, k);
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      sums[c] +=
          value * load_right(right, matrix, k, min(column + c, columns - 1));
  }
#pragma unroll
  for (int32_t c = 0; c < block_columns; ++c)
    if (column + c < columns)
      store(out, 0, row, column + c, sums[c]);
}

template void matmul_indexed<f32>(buffer<const f32>, buffer<const f32>,
                                  buffer<const int32_t>, buffer<f32>);
template void matmul_indexed<f64>(buffer<const f64>, buffer<const f64>,
                                  buffer<const int32_t>, buffer<f64>);
template void matmul_indexed<int32_t>(buffer<const int32_t>,
                                      buffer<const int32_t>,
                                      buffer<const int32_t>, buffer<int32_t>);
template void matmul_indexed<int64_t>(buffer<const int64_t>,
                                      buffer<const int64_t>,
                                      buffer<const int32_t>, buffer<int64_t>);

//===----------------------------------------------------------------------===//
// Tiles in workgroup memory
//===----------------------------------------------------------------------===//

/// Workgroup W computes tile W of the outputs, batch by batch, row by row.
inline Tile own_tile() {
  int32_t down = divide_up(rows, Tile::size);
  int32_t across = divide_up(columns, Tile::size);
  int32_t id = linear_workgroup();
  return {id / (down * across), id / across % down * Tile::size,
          id % across * Tile::size, id < batches * down * across};
}

POOT_KERNEL POOT_WORKGROUP_SIZE(256, 1,
                                1) void matmul_tiled(buffer<const float> left,
                                                     buffer<const float> right,
                                                     buffer<float> out) {
  Tile tile = own_tile();
  if (!tile.exists)
    return;
  workgroup<float, 16 * 64> lefts, rights;
  tiled_product(
      lefts, rights, tile, rows, columns, depth,
      [&](int32_t row, int32_t k) {
        return load_left(left, tile.batch, row, k);
      },
      [&](int32_t k, int32_t column) {
        return load_right(right, tile.batch, k, column);
      },
      [&](int32_t row, int32_t column, float value) {
        store(out, tile.batch, row, column, value);
      });
}

/// Elements k to k + 3 of a row.
POOT_HOOK("load_left4")
inline vec<f16, 4> load_left4(buffer<const vec<f16, 4>> left, int32_t batch,
                              int32_t row, int32_t k) {
  return left[((batch * rows + row) * depth + k) / 4];
}

/// Elements inner to inner + 3: of a row, or where the operand is transposed of
/// a column. INNER is a multiple of 4, as is the extent.
POOT_HOOK("load_right4")
inline vec<f16, 4> load_right4(buffer<const vec<f16, 4>> right, int32_t batch,
                               int32_t outer, int32_t inner) {
  if (right_transposed)
    return right[((batch * columns + outer) * depth + inner) / 4];
  return right[((batch * depth + outer) * columns + inner) / 4];
}

template <int LANES>
POOT_KERNEL POOT_WORKGROUP_SIZE(128, 1, 1) void matmul_fragment(
    buffer<const vec<f16, 4>> left, buffer<const vec<f16, 4>> right,
    buffer<float> out) {
  Tile tile = own_tile();
  if (!tile.exists)
    return;
  workgroup<f16, 64 * 32> lefts, rights;
  workgroup<float, 64 * 64> results(overlay, lefts, rights);
  fragment_product<LANES>(
      lefts, rights, results, tile, rows, columns, depth, right_transposed,
      [&](int32_t row, int32_t k) {
        return load_left4(left, tile.batch, row, k);
      },
      [&](int32_t outer, int32_t inner) {
        return load_right4(right, tile.batch, outer, inner);
      },
      [&](int32_t row, int32_t column, float value) {
        store(out, tile.batch, row, column, value);
      });
}

template void matmul_fragment<8>(buffer<const vec<f16, 4>>,
                                 buffer<const vec<f16, 4>>, buffer<float>);
template void matmul_fragment<32>(buffer<const vec<f16, 4>>,
                                  buffer<const vec<f16, 4>>, buffer<float>);
template void matmul_fragment<64>(buffer<const vec<f16, 4>>,
                                  buffer<const vec<f16, 4>>, buffer<float>);

} // namespace poot::library
