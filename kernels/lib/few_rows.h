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
/// Rows of x that an invocation or subgroup takes at once, at most 8.
POOT_SPEC inline int32_t block_rows = 1;

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

POOT_HOOK("matrix") inline int32_t matrix(int32_t) { return 0; }

/// A block of rows of x and a column of W.
struct Work {
  int32_t row, column;
  bool exists;
  int32_t row_of(int32_t r) const { return min(row + r, rows - 1); }
  /// The row of W, counted over a stack of them.
  int32_t weight_row() const { return matrix(row) * columns + column; }
};

inline Work work_of(int32_t id) {
  int32_t blocks = divide_up(rows, block_rows);
  return {id / columns * block_rows, id % columns, id < blocks * columns};
}

/// The subgroups of a workgroup count on.
inline int32_t linear_subgroup() {
  return linear_workgroup() * divide_up(static_cast<int32_t>(workgroup_size(x)),
                                        static_cast<int32_t>(subgroup_size())) +
         static_cast<int32_t>(subgroup_id());
}

} // namespace poot::library

#endif // POOT_KERNELS_FEW_ROWS_H
