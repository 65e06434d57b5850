// Lambdas that capture by reference change what they captured.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

template <class F> inline void repeat(int n, F f) {
  for (int i = 0; i < n; ++i)
    f(i);
}

// A variable, an array, a structure, a buffer, a workgroup array.
//
// RUNS: captures --grid 1 --metadata 4 --input y=zeros:10
// GIVES: y (i32): 6 12 3 9 1 4 9 40 50 11
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void captures(buffer<int32_t> y,
                                                       int n) {
  int sum = 0;
  repeat(n, [&](int i) { sum += i; });
  y[0] = sum;
  int squares[4];
  struct {
    int first, last = 3;
  } ends;
  repeat(n, [&](int i) {
    squares[i] = i * i;
    (i == 0 ? ends.first : ends.last) = i * i;
  });
  y[2] = ends.first + 3;
  y[3] = ends.last;
  repeat(n - 1, [&y, &squares](int i) { y[4 + i] = squares[i + 1]; });
  workgroup<int32_t, 4> part;
  repeat(n, [&](int i) { part[i] = 10 * i; });
  y[7] = part[1] + part[3];
  // By value it is a copy, and one of its own where it may change.
  auto copy = [sum]() mutable { return sum += 1; };
  sum = 0;
  y[8] = copy() * 6 + copy() + sum;
  // Nested, and a reference to a reference.
  int &alias = sum;
  auto outer = [&] {
    auto inner = [&](int v) { alias += v; };
    inner(4);
    repeat(1, [&](int) { inner(7); });
  };
  outer();
  y[9] = sum;
  y[1] = [&]() -> int & { return squares[3]; }() + 3;
}
