// Barriers of two branches stay two, and none is moved out of a loop that some
// work-items leave early.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s --check-prefix=TWO < %t/two.mlir
// RUN: FileCheck %s --check-prefix=LOOP < %t/leaving.mlir
// RUN: FileCheck %s --check-prefix=FOREVER < %t/forever.mlir
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

// TWO: kernel.func @two(
// TWO: cf.cond_br
// TWO-COUNT-2: kernel.barrier
// TWO-NOT: kernel.barrier
//
// Pairs change places, or all do.
//
// RUNS: two --grid 1 --metadata 3 --input y=random:1:8
// GIVES: y (f32): 0.491563529 0.133123145 -0.111281566 0.942005515 0.525788784 -0.111470595 0.0461343601 0.754697382
// RUNS: two --grid 1 --metadata 4 --input y=random:1:8
// GIVES: y (f32): 0.0461343601 0.754697382 0.525788784 -0.111470595 -0.111281566 0.942005515 0.491563529 0.133123145
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void two(buffer<float> y, int n) {
  workgroup<float, 8> part;
  part[local_id()] = y[local_id()];
  if (n > 3) {
    barrier();
    y[local_id()] = part[7 - local_id()];
  } else {
    barrier();
    y[local_id()] = part[local_id() ^ 1];
  }
}

// LOOP: kernel.func @leaving(
// LOOP: ^[[HEAD:bb[0-9]+]]
// LOOP: kernel.barrier
// LOOP: cf.br ^[[HEAD]]
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void leaving(buffer<float> y, int n) {
  workgroup<float, 8> part;
  for (int i = 0; i < n; ++i) {
    if (y[i] > 3)
      return;
    part[local_id()] = y[local_id() + i];
    barrier();
    y[local_id()] = part[7 - local_id()];
  }
}

// FOREVER: kernel.func @forever(
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void forever(buffer<float> y) {
  while (true)
    y[0] += 1;
}
