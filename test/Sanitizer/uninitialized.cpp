// Use of what nobody wrote.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// The two elements at the sides are read, and nobody loads them.
// CASE halo: --input 0=random:1:64 --input 1=undefined:64
KERNEL halo(buffer<const float> x, buffer<float> y) {
  workgroup<float, 66> tile;
  uint32_t i = local_id();
  tile[i + 1] = x[i];
  barrier();
  y[i] = tile[i] + tile[i + 1];
//       ^ error: element 0 of workgroup array 0 is read, and was not written [uninitialized]
}
KERNEL halo_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 66> tile;
  uint32_t i = local_id();
  tile[i + 1] = x[i];
  if (i == 0)
    tile[0] = tile[65] = 0;
  barrier();
  y[i] = tile[i] + tile[i + 1];
}

// The odd rest of a tile isn't written, and summed.
// CASE rest_of_tile: --input 0=random:1:63 --input 1=undefined:1 --metadata 63
KERNEL rest_of_tile(buffer<const float> x, buffer<float> y, uint32_t n) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  if (i < n)
    tile[i] = x[i];
  for (uint32_t half = 32; half > 0; half /= 2) {
    barrier();
    if (i < half)
      tile[i] += tile[i + half];
//               ^ error: element 63 of workgroup array 0 is read, and was not written [uninitialized]
  }
  if (i == 0)
    y[0] = tile[0];
}
KERNEL rest_of_tile_fixed(buffer<const float> x, buffer<float> y, uint32_t n) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = i < n ? x[i] : 0;
  for (uint32_t half = 32; half > 0; half /= 2) {
    barrier();
    if (i < half)
      tile[i] += tile[i + half];
  }
  if (i == 0)
    y[0] = tile[0];
}

// A local array is read where no turn of the loop wrote it.
// CASE local_array: --input 0=random:1:64 --input 1=undefined:64 --metadata 3
KERNEL local_array(buffer<const float> x, buffer<float> y, uint32_t n) {
  float best[4];
  for (uint32_t k = 0; k < n; ++k)
    best[k] = x[(local_id() + k) % 64];
  y[local_id()] = best[0] + best[3];
//              ^ error: what is stored is a variable that was not written [uninitialized]
}
KERNEL local_array_fixed(buffer<const float> x, buffer<float> y, uint32_t n) {
  float best[4] = {};
  for (uint32_t k = 0; k < n; ++k)
    best[k] = x[(local_id() + k) % 64];
  y[local_id()] = best[0] + best[3];
}

// Where no element is above the limit, the place of the largest isn't known.
// CASE variable: --input 0=random:1:64 --input 1=undefined:64
KERNEL variable(buffer<const float> x, buffer<int32_t> y) {
  int32_t at;
  for (int32_t k = 0; k < 64; ++k)
    if (x[k] > 2)
      at = k;
  y[local_id()] = at;
//              ^ error: what is stored is a variable that was not written [uninitialized]
}
KERNEL variable_fixed(buffer<const float> x, buffer<int32_t> y) {
  int32_t at = -1;
  for (int32_t k = 0; k < 64; ++k)
    if (x[k] > 2)
      at = k;
  y[local_id()] = at;
}

// A branch is taken by a flag that may not be set.
// CASE branch: --input 0=random:1:64 --input 1=undefined:64
KERNEL branch(buffer<const float> x, buffer<float> y) {
  bool found;
  if (x[local_id()] > 0)
    found = true;
  y[local_id()] = 0;
  if (found)
//^ error: a branch depends on a variable that was not written [uninitialized]
    y[local_id()] = 1;
}
KERNEL branch_fixed(buffer<const float> x, buffer<float> y) {
  bool found = false;
  if (x[local_id()] > 0)
    found = true;
  y[local_id()] = 0;
  if (found)
    y[local_id()] = 1;
}

// Sums are added to an output that nobody set to zero.
// CASE output: --input 0=random:1:64 --input 1=undefined:64
KERNEL output(buffer<const float> x, buffer<float> y) {
  y[local_id()] += x[local_id()];
//              ^ error: element 0 of buffer 1 is read, and was not written [uninitialized]
}
KERNEL output_fixed(buffer<const float> x, buffer<float> y) {
  y[local_id()] = x[local_id()];
}

// Two arrays share their bytes, and the first is needed after the second has
// been written.
// CASE overlay_reused: --input 0=random:1:64 --input 1=undefined:64
KERNEL overlay_reused(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> values;
  workgroup<float, 64> squares(overlay, values);
  uint32_t i = local_id();
  values[i] = x[i];
  barrier();
  float v = values[63 - i];
  barrier();
  squares[i] = v * v;
  barrier();
  y[i] = squares[i ^ 1] + values[i];
//                        ^ error: element 0 of workgroup array 0 is read, and was not written [uninitialized]
}
KERNEL overlay_reused_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> values;
  workgroup<float, 64> squares(overlay, values);
  uint32_t i = local_id();
  values[i] = x[i];
  barrier();
  float v = values[63 - i];
  float own = values[i];
  barrier();
  squares[i] = v * v;
  barrier();
  y[i] = squares[i ^ 1] + own;
}
