// Loops without a condition, with several ways out that meet in one place, in
// several, or not at all.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

// RUNS: several --grid 1 --metadata 3 --input y=zeros:8
// GIVES: y (i32): 100 201 302 203 104 205 6 7
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void several(buffer<int32_t> y,
                                                      int n) {
  int i = local_id(), k = 0, way = 0;
  while (true) {
    if (k * k >= i) {
      way = 100;
      if (k * k == i || k == n)
        break;
    }
    if (++k * 2 > i && i % 2) {
      way = 200;
      break;
    }
    if (k > 5)
      return;
    if (i == 2) {
      way = 300;
      break;
    }
    if (k == n)
      break;
  }
  y[i] = way + i;
}

// Out of two loops at once, by a flag, by return from a function, and on.
inline int find(int n, int value) {
  for (int a = 0;; ++a)
    for (int b = 0;; ++b) {
      if (a * n + b == value)
        return 10 * a + b;
      if (b == n - 1)
        break;
      if (a > n)
        return -1;
    }
}

// RUNS: nested --grid 1 --metadata 3 --input y=zeros:8
// GIVES: y (i32): 0 1 2 10 11 12 20 -1
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void nested(buffer<int32_t> y, int n) {
  bool done = false;
  for (int a = 0; !done; ++a) {
    int k = 0;
    do {
      if (k == int(local_id())) {
        y[k] = k == 7 ? find(n, -5) : find(n, k);
        done = true;
        continue;
      }
      if (a > 9)
        return;
    } while (++k < n * n);
  }
}
