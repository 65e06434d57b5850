// Operations whose result isn't defined.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// CASE division: --input 0=zeros:64 --input 1=undefined:64
KERNEL division(buffer<const uint32_t> x, buffer<uint32_t> y) {
  uint32_t i = local_id();
  y[i] = 100 / x[i];
//           ^ error: integer division by zero [division]
}
KERNEL division_fixed(buffer<const uint32_t> x, buffer<uint32_t> y) {
  uint32_t i = local_id();
  y[i] = x[i] ? 100 / x[i] : 0;
}

// CASE modulo: --input 0=random:1:64 --metadata 0
KERNEL modulo(buffer<int32_t> y, int32_t n) {
  uint32_t i = local_id();
  y[i] = y[i] % n;
//            ^ error: integer division by zero [division]
}
KERNEL modulo_fixed(buffer<int32_t> y, int32_t n) {
  uint32_t i = local_id();
  y[i] = n == 0 ? 0 : y[i] % n;
}

// The lowest number has no opposite.
// CASE lowest: --input 0=undefined:64 --metadata -2147483648,-1
KERNEL lowest(buffer<int32_t> y, int32_t a, int32_t b) {
  y[local_id()] = a / b;
//                  ^ error: division of -2147483648 by -1: the result doesn't fit [division]
}
KERNEL lowest_fixed(buffer<int32_t> y, int32_t a, int32_t b) {
  y[local_id()] = int32_t(int64_t(a) / b);
}

// A mask of the low bits, all 32 of them.
// CASE shift: --input 0=undefined:64 --metadata 32
KERNEL shift(buffer<uint32_t> y, uint32_t bits) {
  y[local_id()] = (1u << bits) - 1;
//                    ^ error: a value of 32 bits is shifted by 32 [shift]
}
KERNEL shift_fixed(buffer<uint32_t> y, uint32_t bits) {
  y[local_id()] = uint32_t((uint64_t(1) << bits) - 1);
}

// CASE right_shift: --input 0=random:1:64 --metadata -1
KERNEL right_shift(buffer<int32_t> y, int32_t bits) {
  y[local_id()] >>= bits;
//              ^ error: a value of 32 bits is shifted by -1 [shift]
}
KERNEL right_shift_fixed(buffer<int32_t> y, int32_t bits) {
  y[local_id()] >>= bits & 31;
}

// A float beyond the integers.
// CASE conversion: --input 0=undefined:64 --metadata 3e9
KERNEL conversion(buffer<int32_t> y, float limit) {
  y[local_id()] = int32_t(limit);
//              ^ error: what is stored is an undefined value (poison) [poison]
}
KERNEL conversion_fixed(buffer<int32_t> y, float limit) {
  y[local_id()] = limit < 0x1p31f ? int32_t(limit) : INT32_MAX;
}

// The last lane's neighbour is in no subgroup.
// CASE shuffle: --input 0=random:1:64 --input 1=undefined:64
KERNEL shuffle(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = subgroup_shuffle_down(x[i], 1);
//     ^ error: what is stored is a value of a lane that is not there [subgroup]
}
KERNEL shuffle_fixed(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  float next = subgroup_shuffle_down(x[i], 1);
  y[i] = lane_id() + 1 < subgroup_size() ? next : 0;
}

// Each wants another lane's value, which is no broadcast.
// CASE broadcast: --input 0=random:1:64 --input 1=undefined:64
KERNEL broadcast(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = subgroup_broadcast(x[i], lane_id() / 2);
//       ^ error: a broadcast from lane 1, and another lane asks for 0 [subgroup]
}
KERNEL broadcast_fixed(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = subgroup_shuffle(x[i], lane_id() / 2);
}
