//===- products.h - Matrix products through workgroup memory --------------===//
//
// The loops of a product whose workgroup stages tiles of both operands in
// workgroup memory. Where elements come from and results go is the caller's:
// dense operands in matmul.cpp, packed weights in packed.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNELS_PRODUCTS_H
#define POOT_KERNELS_PRODUCTS_H

#include "library.h"

namespace poot::library {

/// 64 by 64 outputs, which a workgroup computes.
struct Tile {
  static constexpr int32_t size = 64;
  int32_t batch, row, column;
  /// False for a workgroup beyond the last tile.
  bool exists;
};

/// The sums of an invocation in a tile of f32: 4 by 4 outputs that lie 16
/// apart.
struct TileSums {
  int32_t across, down;
  float sums[16];

  TileSums()
      : across(static_cast<int32_t>(local_id()) % 16),
        down(static_cast<int32_t>(local_id()) / 16) {
#pragma unroll
    for (int32_t i = 0; i < 16; ++i)
      sums[i] = 0;
  }

  /// Adds 16 steps of the depth. The tiles hold [16, 64] elements: a step's
  /// rows, and columns.
  void add(const workgroup<float, 16 * 64> &lefts,
           const workgroup<float, 16 * 64> &rights) {
#pragma clang fp contract(fast)
#pragma unroll
    for (int32_t k = 0; k < 16; ++k) {
      float left[4], right[4];
#pragma unroll
      for (int32_t i = 0; i < 4; ++i) {
        left[i] = lefts[k * 64 + down + i * 16];
        right[i] = rights[k * 64 + across + i * 16];
      }
#pragma unroll
      for (int32_t i = 0; i < 16; ++i)
        sums[i] += left[i / 4] * right[i % 4];
    }
  }

  template <class Store>
  void give(const Tile &tile, int32_t rows, int32_t columns,
            Store store) const {
#pragma unroll
    for (int32_t i = 0; i < 16; ++i) {
      int32_t row = tile.row + down + i / 4 * 16;
      int32_t column = tile.column + across + i % 4 * 16;
      if (row < rows && column < columns)
        store(row, column, sums[i]);
    }
  }
};

/// f32 by 256 invocations. LOADLEFT(row, k) and LOADRIGHT(k, column) give
/// elements inside the operands; STORE(row, column, sum) takes results.
template <class LoadLeft, class LoadRight, class Store>
inline void tiled_product(const workgroup<float, 16 * 64> &lefts,
                          const workgroup<float, 16 * 64> &rights,
                          const Tile &tile, int32_t rows, int32_t columns,
                          int32_t depth, LoadLeft loadLeft, LoadRight loadRight,
                          Store store) {
  int32_t t = static_cast<int32_t>(local_id());
  TileSums sums;
  for (int32_t base = 0; base < depth; base += 16) {
    // Neighbours load along the depth on the left and along columns on the
    // right.
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      int32_t at = t / 16 + i * 16, k = base + t % 16;
      float value = 0;
      if (tile.row + at < rows && k < depth)
        value = loadLeft(tile.row + at, k);
      lefts[t % 16 * 64 + at] = value;
    }
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      int32_t step = t / 64 + i * 4, column = tile.column + t % 64;
      float value = 0;
      if (base + step < depth && column < columns)
        value = loadRight(base + step, column);
      rights[step * 64 + t % 64] = value;
    }
    barrier();
    sums.add(lefts, rights);
    barrier();
  }
  sums.give(tile, rows, columns, store);
}

/// The same where the depth lies innermost in both operands and is a multiple
/// of 4: LOADLEFT4(row, k) and LOADRIGHT4(column, k) give elements k to k + 3.
template <class LoadLeft4, class LoadRight4, class Store>
inline void tiled_product4(const workgroup<float, 16 * 64> &lefts,
                           const workgroup<float, 16 * 64> &rights,
                           const Tile &tile, int32_t rows, int32_t columns,
                           int32_t depth, LoadLeft4 loadLeft4,
                           LoadRight4 loadRight4, Store store) {
  int32_t at = static_cast<int32_t>(local_id()) / 4;
  int32_t first = static_cast<int32_t>(local_id()) % 4 * 4;
  TileSums sums;
  for (int32_t base = 0; base < depth; base += 16) {
    int32_t k = base + first;
    vec<float, 4> left = 0, right = 0;
    if (tile.row + at < rows && k < depth)
      left = loadLeft4(tile.row + at, k);
    if (tile.column + at < columns && k < depth)
      right = loadRight4(tile.column + at, k);
#pragma unroll
    for (int32_t e = 0; e < 4; ++e) {
      lefts[(first + e) * 64 + at] = left[e];
      rights[(first + e) * 64 + at] = right[e];
    }
    barrier();
    sums.add(lefts, rights);
    barrier();
  }
  sums.give(tile, rows, columns, store);
}

/// f16 to f32 by 128 invocations in subgroups of LANES, which share the tile's
/// 16 fragments evenly, 32 steps of the depth at a time. The left tile holds
/// [64, 32] elements, the right one [32, 64], or [64, 32] where TRANSPOSED.
/// LOADLEFT(row, k) gives elements k to k + 3; LOADRIGHT(outer, inner) gives
/// elements inner to inner + 3 of row (where TRANSPOSED: column) OUTER. Inner
/// extents are multiples of 4. RESULTS may overlay the tiles.
template <int LANES, class LoadLeft, class LoadRight, class Store>
inline void fragment_product(const workgroup<f16, 64 * 32> &lefts,
                             const workgroup<f16, 64 * 32> &rights,
                             const workgroup<float, 64 * 64> &results,
                             const Tile &tile, int32_t rows, int32_t columns,
                             int32_t depth, bool transposed, LoadLeft loadLeft,
                             LoadRight loadRight, Store store) {
  static_assert(LANES == 8 || LANES == 16 || LANES == 32 || LANES == 64);
  using A = fragment<f16, 16, 16, use::a>;
  using B = fragment<f16, 16, 16, use::b>;
  using C = fragment<float, 16, 16, use::accumulator>;
  // Neighbouring fragments of a row of the tile, so that they share loads.
  constexpr int32_t count = LANES / 8;
  int32_t t = static_cast<int32_t>(local_id());
  int32_t first = static_cast<int32_t>(subgroup_id()) * count;
  C sums[count];
#pragma unroll
  for (int32_t i = 0; i < count; ++i)
    sums[i] = fragment_fill<C>(0.0f);
  for (int32_t base = 0; base < depth; base += 32) {
    // Each of the tiles is 512 loads of four elements.
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      int32_t at = t + i * 128;
      int32_t row = at / 8, k = at % 8 * 4;
      vec<f16, 4> value = 0;
      if (tile.row + row < rows && base + k < depth)
        value = loadLeft(tile.row + row, base + k);
#pragma unroll
      for (int32_t e = 0; e < 4; ++e)
        lefts[row * 32 + k + e] = value[e];
    }
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) {
      int32_t at = t + i * 128;
      vec<f16, 4> value = 0;
      if (transposed) {
        int32_t column = at / 8, k = at % 8 * 4;
        if (tile.column + column < columns && base + k < depth)
          value = loadRight(tile.column + column, base + k);
      } else {
        int32_t k = at / 16, column = at % 16 * 4;
        if (base + k < depth && tile.column + column < columns)
          value = loadRight(base + k, tile.column + column);
      }
#pragma unroll
      for (int32_t e = 0; e < 4; ++e)
        rights[at * 4 + e] = value[e];
    }
    barrier();
#pragma unroll
    for (int32_t k = 0; k < 32; k += 16) {
#pragma unroll
      for (int32_t i = 0; i < count; ++i) {
        uint32_t row = (first + i) / 4 * 16, column = (first + i) % 4 * 16;
        A a = fragment_load<A>(lefts, row * 32 + k, 32, layout::row);
        if (transposed) {
          B b = fragment_load<B>(rights, column * 32 + k, 32, layout::column);
          sums[i] = fragment_mma(a, b, sums[i]);
        } else {
          B b = fragment_load<B>(rights, k * 64 + column, 64, layout::row);
          sums[i] = fragment_mma(a, b, sums[i]);
        }
      }
    }
    barrier();
  }
#pragma unroll
  for (int32_t i = 0; i < count; ++i) {
    uint32_t row = (first + i) / 4 * 16, column = (first + i) % 4 * 16;
    fragment_store(sums[i], results, row * 64 + column, 64);
  }
  barrier();
  for (int32_t at = t; at < 64 * 64; at += 128) {
    int32_t row = tile.row + at / 64, column = tile.column + at % 64;
    if (row < rows && column < columns)
      store(row, column, results[at]);
  }
}

} // namespace poot::library

#endif // POOT_KERNELS_PRODUCTS_H
