// A select between two buffers reads or writes the one that is meant. What
// needs to know which one is an error.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s < %t/select.mlir
// RUN: python3 %S/run.py %s
// RUN: not pootc -std=c++20 -fsyntax-only --emit=none -DBAD %s 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BAD

#include "poot/kernel.h"
using namespace poot;

// RUNS: select --grid 1 --metadata 3 --input x=random:1:8 --input y=zeros:8 --input z=undefined:8
// GIVES: z (f32): 0 0 0 0 0 0 0 0
// RUNS: select --grid 1 --metadata 4 --input x=zeros:8 --input y=random:1:8 --input z=undefined:8
// GIVES: z (f32): 0 0 0 0 0 0 0 0
// RUNS: select --grid 1 --metadata 4 --input x=random:1:8 --input y=zeros:8 --input z=undefined:8
// GIVES: z (f32): 0.133123145 0.491563529 0.942005515 -0.111281566 -0.111470595 0.525788784 0.754697382 0.0461343601
// CHECK: kernel.func @select(%[[X:[a-z0-9]+]]: !kernel.buffer<f32, read>{{.*}}, %[[Y:[a-z0-9]+]]: !kernel.buffer<f32, read>{{.*}}, %[[Z:[a-z0-9]+]]: !kernel.buffer<f32, write>
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void select(buffer<const float> x,
                                                     buffer<const float> y,
                                                     buffer<float> z, int n) {
  auto chosen = n > 3 ? x : y;
  // CHECK: cf.cond_br
  // CHECK: kernel.load %[[X]]
  // CHECK: kernel.load %[[Y]]
  // CHECK: kernel.store %{{.*}}, %[[Z]]
  z[local_id()] = chosen[local_id()];
}

#ifdef BAD
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void assigned(buffer<const float> x,
                                                       buffer<const float> y,
                                                       buffer<float> z, int n) {
  auto chosen = x;
  if (n > 3)
    // BAD-DAG: buffer-select.cpp:[[# @LINE + 1]]:12: error: {{.*}} [poot-kernel-buffer-select]
    chosen = y;
  z[local_id()] = chosen[local_id()];
}
inline buffer<float> either(buffer<float> x, buffer<float> y, int n) {
  if (n > 3)
    return x;
  // BAD-DAG: buffer-select.cpp:[[# @LINE + 1]]:3: error: {{.*}} [poot-kernel-buffer-select]
  return y;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void returned(buffer<float> x,
                                                       buffer<float> y, int n) {
  either(x, y, n)[0] = 1;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void atomic(buffer<int32_t> x,
                                                     buffer<int32_t> y, int n) {
  // BAD-DAG: buffer-select.cpp:[[# @LINE + 1]]:14: error: {{.*}} [poot-kernel-atomic-type]
  atomic_add((n > 3 ? x : y)[0], 1);
}
#endif
