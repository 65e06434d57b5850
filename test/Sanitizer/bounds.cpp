// Indices beyond what they index.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// Off by one, at the end.
// CASE store_past_end: --input 0=undefined:64
KERNEL store_past_end(buffer<int32_t> y) {
  uint32_t i = local_id();
  y[i + 1] = 7;
//         ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL store_past_end_fixed(buffer<int32_t> y) {
  uint32_t i = local_id();
  y[i] = 7;
}

// A neighbour that the last element doesn't have.
// CASE load_past_end: --input 0=random:1:64 --input 1=undefined:64
KERNEL load_past_end(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = x[i + 1] - x[i];
//       ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL load_past_end_fixed(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = i + 1 < 64 ? x[i + 1] - x[i] : 0;
}

// One that the first element doesn't have: 0 - 1 wraps.
// CASE load_before_start: --input 0=random:1:64 --input 1=undefined:64
KERNEL load_before_start(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = (x[i - 1] + x[i]) / 2;
//        ^ error: index -1 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL load_before_start_fixed(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = i > 0 ? (x[i - 1] + x[i]) / 2 : x[i];
}

// The last workgroup isn't full.
// CASE no_guard: --grid 2 --input 0=undefined:100 --metadata 100
KERNEL no_guard(buffer<uint32_t> y, uint32_t n) { y[global_id()] = n; }
//                                                               ^ error: index 100 of buffer 0, which has 100 elements [out-of-bounds]
KERNEL no_guard_fixed(buffer<uint32_t> y, uint32_t n) {
  if (global_id() < n)
    y[global_id()] = n;
}

// 63 elements are no whole vectors.
// CASE vector_past_end: --input 0=random:1:15 --input 1=undefined:15 --metadata 63
KERNEL vector_past_end(buffer<const vec<float, 4>> x, buffer<vec<float, 4>> y,
                       uint32_t n) {
  uint32_t i = local_id();
  if (i * 4 < n)
    y[i] = x[i] * 2.0f;
//       ^ error: index 15 of buffer 1, which has 15 elements [out-of-bounds]
//         ^ error: index 15 of buffer 0, which has 15 elements [out-of-bounds]
}
KERNEL vector_past_end_fixed(buffer<const vec<float, 4>> x,
                             buffer<vec<float, 4>> y, uint32_t n) {
  uint32_t i = local_id();
  if (i * 4 + 4 <= n)
    y[i] = x[i] * 2.0f;
}

// An index that is data.
// CASE workgroup_array: --input 0=random:1:64 --input 1=undefined:64
KERNEL workgroup_array(buffer<const int32_t> x, buffer<int32_t> y) {
  workgroup<int32_t, 64> bins;
  uint32_t i = local_id();
  bins[i] = 0;
  barrier();
  atomic_add(bins[x[i]], 1);
//^ error: index 65 of workgroup array 0, which has 64 elements [out-of-bounds]
  barrier();
  y[i] = bins[i];
}
KERNEL workgroup_array_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  workgroup<int32_t, 64> bins;
  uint32_t i = local_id();
  bins[i] = 0;
  barrier();
  atomic_add(bins[x[i] % 64], 1);
  barrier();
  y[i] = bins[i];
}

// Row and column are exchanged in an array that isn't square.
// CASE exchanged_indices: --input 0=random:1:64 --input 1=undefined:64
KERNEL exchanged_indices(buffer<const float> x, buffer<float> y) {
  workgroup<float, 4, 16> tile;
  uint32_t row = local_id() / 16, column = local_id() % 16;
  tile(row, column) = x[local_id()];
  barrier();
  y[local_id()] = tile(column, row);
//                ^ error: index 64 of workgroup array 0, which has 64 elements [out-of-bounds]
}
KERNEL exchanged_indices_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 4, 16> tile;
  uint32_t row = local_id() / 16, column = local_id() % 16;
  tile(row, column) = x[local_id()];
  barrier();
  y[local_id()] = tile(row, column);
}

// A local array is too short for the number that comes as a parameter.
// CASE local_array: --input 0=random:1:640 --input 1=undefined:64 --metadata 10
KERNEL local_array(buffer<const float> x, buffer<float> y, uint32_t n) {
  float row[8] = {};
  for (uint32_t k = 0; k < n; ++k)
    row[k] = x[local_id() * n + k];
//         ^ error: index 8 of a variable's array of 8 [out-of-bounds]
  y[local_id()] = row[0] + row[7];
}
KERNEL local_array_fixed(buffer<const float> x, buffer<float> y, uint32_t n) {
  float row[10] = {};
  for (uint32_t k = 0; k < n; ++k)
    row[k] = x[local_id() * n + k];
  y[local_id()] = row[0] + row[7];
}

// A table of constants has 15 entries for a number of four bits.
// CASE table: --input 0=random:1:64 --input 1=undefined:64
inline constexpr int8_t levels[15] = {-7, -6, -5, -4, -3, -2, -1, 0,
                                      1,  2,  3,  4,  5,  6,  7};
KERNEL table(buffer<const int32_t> x, buffer<int32_t> y) {
  uint32_t i = local_id();
  y[i] = levels[x[i] & 15];
//       ^ error: index 15 of a table, which has 15 elements [out-of-bounds]
}
KERNEL table_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  uint32_t i = local_id();
  int32_t level = x[i] & 15;
  y[i] = level < 15 ? levels[level] : 0;
}

// An array in a structure: 20 bytes hold two numbers each, not three.
// CASE structure: --input 0=random:1:2 --input 1=undefined:64
struct block {
  float scale;
  int32_t quants[3];
};
KERNEL structure(buffer<const block> x, buffer<float> y) {
  uint32_t i = local_id();
  if (i < 8)
    y[i] = x[i / 4].scale * float(x[i / 4].quants[i % 4]);
//                                ^ error: index 3 of an array of 3 in an element of buffer 0 [out-of-bounds]
}
KERNEL structure_fixed(buffer<const block> x, buffer<float> y) {
  uint32_t i = local_id();
  if (i < 6)
    y[i] = x[i / 3].scale * float(x[i / 3].quants[i % 3]);
}
