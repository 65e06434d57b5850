// A workgroup that leaves a loop early, before a barrier of it, or between two.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

// Workgroup g returns in turn g, with the sum of 1 to g.
//
// RUNS: before --grid 3 --metadata 5 --input y=zeros:12
// GIVES: y (i32): 0 0 0 0 1 1 1 1 3 3 3 3
POOT_KERNEL POOT_WORKGROUP_SIZE(4, 1, 1) void before(buffer<int32_t> y, int n) {
  workgroup<int32_t, 4> part;
  for (int k = 0; k < n; ++k) {
    if (k == int(workgroup_id()))
      return;
    part[local_id()] = k + 1;
    barrier();
    y[global_id()] += part[3 - local_id()];
    barrier();
  }
}

// What all work-items read at one place decides, after a barrier.
//
// RUNS: between --grid 1 --metadata 9 --input y=zeros:4
// GIVES: y (i32): 4 4 4 4
POOT_KERNEL POOT_WORKGROUP_SIZE(4, 1, 1) void between(buffer<int32_t> y,
                                                      int n) {
  workgroup<int32_t, 1> turn;
  for (int k = 0; k < n; ++k) {
    if (local_id() == 0)
      turn[0] = k;
    barrier();
    if (turn[0] == 4)
      return;
    barrier();
    y[local_id()] += 1;
  }
}

// Work-items that leave for themselves, where no barrier is.
//
// RUNS: alone --grid 1 --metadata 9 --input y=zeros:4
// GIVES: y (i32): 1 2 3 4
POOT_KERNEL POOT_WORKGROUP_SIZE(4, 1, 1) void alone(buffer<int32_t> y, int n) {
  for (int k = 0; k < n; ++k) {
    y[local_id()] += 1;
    for (int j = 0; j < n; ++j)
      if (j == k && k == int(local_id()))
        return;
  }
  y[local_id()] = -1;
}
