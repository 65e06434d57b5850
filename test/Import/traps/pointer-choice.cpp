// A choice between places of two arrays or buffers, where one expression makes
// and uses it, is a branch.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void

// RUNS: places --grid 1 --metadata 3 --input y=zeros:3
// GIVES: y (i32): 2 2 20
// RUNS: places --grid 1 --metadata 4 --input y=zeros:3
// GIVES: y (i32): 1 1 10
KERNEL places(buffer<int32_t> y, int n) {
  int a[4] = {}, b[4] = {};
  int *p = n > 3 ? a : b;
  *p = 1;
  y[0] = a[0] + 2 * b[0];
  int &r = n > 3 ? a[1] : b[2];
  r = 1;
  y[1] = a[1] + 2 * b[2];
  (n > 3 ? a[3] : b[3]) = 10;
  y[2] = a[3] + 2 * b[3];
}

// RUNS: buffers --grid 1 --metadata 3 --input x=zeros:2 --input y=zeros:2
// GIVES: x (i32): 0 0
// GIVES: y (i32): 0 7
// RUNS: buffers --grid 1 --metadata 4 --input x=zeros:2 --input y=zeros:2
// GIVES: x (i32): 0 7
// GIVES: y (i32): 0 0
KERNEL buffers(buffer<int32_t> x, buffer<int32_t> y, int n) {
  int *p = n > 3 ? &x[0] : &y[0];
  p[1] = 7;
}

// Within one array a pointer may be anywhere: rows, differences, comparisons.
//
// RUNS: within --grid 1 --metadata 5 --input y=zeros:5
// GIVES: y (i32): 3 4 6 1 0
KERNEL within(buffer<int32_t> y, int n) {
  int a[2][4] = {};
  int(*rows)[4] = a;
  rows[1][2] = 3;
  y[0] = a[1][2];
  int *p = &a[0][n - 2];
  *p = 4;
  y[1] = a[0][3];
  struct {
    int *at;
  } held{&a[0][0]};
  held.at += n;
  ++held.at;
  y[2] = held.at - &a[0][0];
  y[3] = held.at > p;
  y[4] = held.at == p;
}
