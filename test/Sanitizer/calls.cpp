// Faults in what a kernel calls: the place is there, and the notes lead back to
// the kernel.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// CASE function: --input 0=zeros:64 --input 1=undefined:64
inline int32_t reciprocal(int32_t v) { return 100 / v; }
//                                                ^ error: integer division by zero [division]
inline int32_t scaled(int32_t v) { return 2 * reciprocal(v); }
//                                            ^ note: called from here
KERNEL function(buffer<const int32_t> x, buffer<int32_t> y) {
  y[local_id()] = scaled(x[local_id()]);
//                ^ note: called from here
}
KERNEL function_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  y[local_id()] = scaled(x[local_id()] + 1);
}

// CASE lambda: --input 0=random:1:64 --input 1=undefined:64
KERNEL lambda(buffer<const float> x, buffer<float> y) {
  auto at = [&](uint32_t i) { return x[i]; };
//                                   ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
  y[local_id()] = at(local_id()) + at(local_id() + 1);
//                                 ^ note: called from here
}
KERNEL lambda_fixed(buffer<const float> x, buffer<float> y) {
  auto at = [&](uint32_t i) { return i < 64 ? x[i] : 0; };
  y[local_id()] = at(local_id()) + at(local_id() + 1);
}

// An instance of a template: the window of 3 fits, that of 5 doesn't.
// CASE window: --input 0=random:1:66 --input 1=undefined:64
template <int N> inline float window_sum(buffer<const float> x, uint32_t i) {
  float sum = 0;
  for (int k = 0; k < N; ++k)
    sum += x[i + k];
//         ^ error: index 66 of buffer 0, which has 66 elements [out-of-bounds]
  return sum;
}
KERNEL window(buffer<const float> x, buffer<float> y) {
  y[local_id()] = window_sum<3>(x, local_id());
  y[local_id()] += window_sum<5>(x, local_id());
//                 ^ note: called from here
}
KERNEL window_fixed(buffer<const float> x, buffer<float> y) {
  y[local_id()] = window_sum<3>(x, local_id());
}

// An instance of a kernel that is a template.
// CASE strided_2: --input 0=random:1:64 --input 1=undefined:64
template <int S> KERNEL strided(buffer<const float> x, buffer<float> y) {
  y[local_id()] = x[local_id() * S];
//                ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
template void strided<2>(buffer<const float>, buffer<float>);
KERNEL strided_2_fixed(buffer<const float> x, buffer<float> y) {
  y[local_id()] = x[local_id() * 2 % 64];
}

// A member function, called by an operator.
// CASE member: --input 0=random:1:64 --input 1=undefined:64
struct matrix {
  buffer<const float> elements;
  uint32_t rows, columns;
  float operator()(uint32_t row, uint32_t column) const {
    return elements[row * columns + column];
//         ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
  }
};
KERNEL member(buffer<const float> x, buffer<float> y) {
  matrix m{x, 4, 16};
  y[local_id()] = m(local_id() % 16, local_id() / 16);
//                ^ note: called from here
}
KERNEL member_fixed(buffer<const float> x, buffer<float> y) {
  matrix m{x, 4, 16};
  y[local_id()] = m(local_id() / 16, local_id() % 16);
}

// The barrier is missing between two functions, which each look right.
// CASE between_functions: --input 0=random:1:64 --input 1=undefined:64
template <class Tile> inline void fill(Tile &tile, float value) {
  tile[local_id()] = value;
//                 ^ note: the other access, a write
}
template <class Tile> inline float opposite(const Tile &tile) {
  return tile[63 - local_id()];
//       ^ error: data race: a read of element 63 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL between_functions(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  fill(tile, x[local_id()]);
//^ note: called from here
  y[local_id()] = opposite(tile);
//                ^ note: called from here
}
KERNEL between_functions_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  fill(tile, x[local_id()]);
  barrier();
  y[local_id()] = opposite(tile);
}

// What a hook does if nobody fills it.
// CASE hook: --input 0=zeros:64 --input 1=undefined:64
POOT_HOOK("scale") inline int32_t scale(int32_t v) { return 100 / v; }
//                                                              ^ error: integer division by zero [division]
KERNEL hook(buffer<const int32_t> x, buffer<int32_t> y) {
  y[local_id()] = scale(x[local_id()]);
//                ^ note: called from here
}
KERNEL hook_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  y[local_id()] = scale(x[local_id()] + 1);
}
