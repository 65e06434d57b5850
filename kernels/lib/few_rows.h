//===- few_rows.h - Products of few rows with a matrix --------------------===//
//
// What the kernels of matvec.cpp and packed.cpp share, which have a row of W
// for each column of the result and take a few rows of x at once: the extents,
// the hooks, and how the work is numbered.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNELS_FEW_ROWS_H
#define POOT_KERNELS_FEW_ROWS_H

#include "library.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t columns = 1;
/// A multiple of 4; of packed weights of 32, or of 256 for types with blocks
/// of 256.
POOT_SPEC inline int32_t depth = 256;
/// The block of an invocation or subgroup: rows of x, at most 8, and columns,
/// at most 8. Rows share the loads of W and columns those of x.
POOT_SPEC inline int32_t block_rows = 1;
POOT_SPEC inline int32_t block_columns = 1;

POOT_HOOK("load_x4")
inline vec<float, 4> load_x4(buffer<const vec<float, 4>> activations,
                             int32_t row, int32_t k) {
  return activations[(row * depth + k) / 4];
}

POOT_HOOK("store")
inline void store(buffer<float> out, int32_t row, int32_t column, float value) {
  out[row * columns + column] = value;
}

/// The sums of both weights for one output. By default they lie beside each
/// other: [rows, columns, 2].
POOT_HOOK("store_pair")
inline void store_pair(buffer<float> out, int32_t row, int32_t column,
                       float gate, float up) {
  out[(row * columns + column) * 2] = gate;
  out[(row * columns + column) * 2 + 1] = up;
}

/// The row of W that column COLUMN of row ROW is a product with. A stack of W
/// counts on.
POOT_HOOK("weight_row")
inline int32_t weight_row(int32_t, int32_t column) { return column; }

/// A block of rows of x and columns of the result. Those beyond the edge repeat
/// the last one and aren't stored.
struct Work {
  int32_t row, column;
  bool exists;
  int32_t row_of(int32_t r) const { return min(row + r, rows - 1); }
  int32_t weight_row(int32_t c) const {
    return poot::library::weight_row(row, min(column + c, columns - 1));
  }
};

inline Work work_of(int32_t id) {
  int32_t down = divide_up(rows, block_rows);
  int32_t across = divide_up(columns, block_columns);
  return {id / across * block_rows, id % across * block_columns,
          id < down * across};
}

/// What belongs to each output of a block: [row * 8 + column].
template <class T> using Outputs = T[64];

template <class T> inline void clear(Outputs<T> &values) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      values[r * 8 + c] = 0;
}

/// Sums over the subgroup.
inline void join_lanes(Outputs<float> &sums) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      sums[r * 8 + c] = subgroup_add(sums[r * 8 + c]);
}

inline void store_sums(buffer<float> out, const Work &work,
                       const Outputs<float> &sums) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      if (work.row + r < rows && work.column + c < columns)
        store(out, work.row + r, work.column + c, sums[r * 8 + c]);
}

inline void store_pairs(buffer<float> out, const Work &work,
                        const Outputs<float> &gates,
                        const Outputs<float> &ups) {
#pragma unroll
  for (int32_t r = 0; r < block_rows; ++r)
#pragma unroll
    for (int32_t c = 0; c < block_columns; ++c)
      if (work.row + r < rows && work.column + c < columns)
        store_pair(out, work.row + r, work.column + c, gates[r * 8 + c],
                   ups[r * 8 + c]);
}

/// The subgroups of a workgroup count on.
inline int32_t linear_subgroup() {
  return linear_workgroup() * divide_up(static_cast<int32_t>(workgroup_size(x)),
                                        static_cast<int32_t>(subgroup_size())) +
         static_cast<int32_t>(subgroup_id());
}

/// The lanes that a subgroup really has: a device's subgroups may be larger
/// than the workgroup.
inline int32_t subgroup_lanes() {
  return min(static_cast<int32_t>(subgroup_size()),
             static_cast<int32_t>(workgroup_size(x)));
}

} // namespace poot::library

#endif // POOT_KERNELS_FEW_ROWS_H
