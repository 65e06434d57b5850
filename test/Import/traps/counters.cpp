// Loop counters of 64 and of 8 bits, and indices that wrap around.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

// Across 2^32, down to and below zero, and where only the lower half counts.
//
// RUNS: wide --grid 1 --metadata 5 --input y=zeros:4
// GIVES: y (i64): 5 21474836485 9 -15
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void wide(buffer<int64_t> y, int n) {
  constexpr uint64_t kLow = 0xffffffff;
  int64_t trips = 0, sum = 0;
  for (uint64_t i = kLow - 1; i < kLow - 1 + n; ++i, ++trips)
    sum += i;
  y[0] = trips;
  y[1] = sum + 5; // 5 * (2^32 - 2) + (0 + 1 + 2 + 3 + 4) + 5
  trips = 0;
  for (int64_t i = 4; i >= -4; --i)
    ++trips;
  y[2] = trips;
  sum = 0;
  for (int64_t i = -1; i > -(int64_t(1) << 33); i *= 8)
    sum += i > -100 ? i / 4 : 0; // 0 - 2 - 16
  y[3] = sum + 3;
}

// A counter that wraps: 250, 251, ..., 255, 0, 1.
//
// RUNS: narrow --grid 1 --input y=zeros:2
// GIVES: y (i32): 8 1276
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void narrow(buffer<int32_t> y) {
  int trips = 0;
  for (uint8_t i = 250; i != 2; ++i, ++trips)
    y[1] += i;
  y[0] = trips;
  y[1] -= 240; // 250 + ... + 255 + 0 + 1 is 1516.
}

// An unsigned number below zero on the way to an index.
//
// RUNS: wraps --grid 1 --metadata 3 --input y=zeros:7
// GIVES: y (i32): 0 10 20 30 0 10 10
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void wraps(buffer<int32_t> y,
                                                    uint32_t n) {
  for (uint32_t i = 0; i <= n; ++i)
    y[i] = 10 * i;
  uint32_t narrow = 0;
  uint64_t wide = 0;
  y[4] = y[(narrow - n) + 3];
  y[5] = y[(wide - n) + 4];
  y[6] = y[(narrow - n) % 4]; // 2^32 - 3
}
