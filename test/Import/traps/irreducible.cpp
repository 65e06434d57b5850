// Switches whose cases stand inside of loops and branches: control flow that no
// loop is, since it is entered in several places.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

// Duff's device: i + 1 elements, the first turn with those that 4 leaves over.
//
// RUNS: duff --grid 1 --input y=zeros:8
// GIVES: y (i32): 1 2 3 4 5 6 7 8
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void duff(buffer<int32_t> y) {
  int count = local_id() + 1, turns = (count + 3) / 4, sum = 0;
  switch (count % 4) {
  case 0:
    do {
      ++sum;
    case 3:
      ++sum;
    case 2:
      ++sum;
    case 1:
      ++sum;
    } while (--turns > 0);
  }
  y[local_id()] = sum;
}

// Into both branches of an if, and into a loop within a loop.
//
// RUNS: inner --grid 1 --input y=zeros:6
// GIVES: y (i32): 111 11 1 10 1000 0
POOT_KERNEL POOT_WORKGROUP_SIZE(6, 1, 1) void inner(buffer<int32_t> y) {
  int i = local_id(), sum = 0, a, b;
  switch (i) {
  case 0:
    sum += 100;
  case 1:
    if (i < 2) {
      sum += 10;
    case 2:
      sum += 1;
    } else {
    case 3:
      sum += 10;
    }
    break;
  case 4:
    for (a = 0; a < 10; ++a)
      for (b = 0; b < 10; ++b) {
        sum += 10;
        if (false) {
        case 5:
          a = b = 10;
        }
      }
  }
  y[i] = sum;
}
