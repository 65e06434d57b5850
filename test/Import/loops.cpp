// Loop hints and contraction.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s --check-prefix=HINTS < %t/hints.mlir
// RUN: FileCheck %s --check-prefix=MATH < %t/contracted.mlir
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t \
// RUN:   -ffp-contract=fast %s
// RUN: FileCheck %s --check-prefix=FAST < %t/contracted.mlir

#include "poot/kernel.h"
using namespace poot;

// HINTS: kernel.func @hints(
// HINTS: kernel.loop_hint unroll_full
// HINTS: kernel.loop_hint unroll times 4
// HINTS: kernel.loop_hint nounroll
// HINTS: kernel.loop_hint unroll times 6
// HINTS-NOT: kernel.loop_hint
template <int N> inline float tail(buffer<const float> x, int n) {
  float sum = 0;
  int i = 0;
#pragma unroll N
  do {
    sum += x[i];
  } while (++i < n);
  return sum;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void hints(buffer<const float> x,
                                                    buffer<float> y, int n) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i)
    sum += x[i];
#pragma clang loop unroll_count(4)
  for (int i = 0; i < n; ++i)
    sum += x[i];
#pragma nounroll
  while (sum > 3)
    sum *= 0.5f;
  sum += tail<6>(x, n);
  for (int i = 0; i < n; ++i)
    sum *= x[i];
  y[0] = sum;
}

// Without more, each operation rounds: also where clang contracts for the CPU.
//
// MATH: kernel.func @contracted(
// MATH: arith.mulf %{{[^ ]+}}, %{{[^ ]+}} : f32
// MATH: arith.addf %{{[^ ]+}}, %{{[^ ]+}} : f32
// MATH: arith.mulf {{.*}} fastmath<contract> : f32
// MATH: arith.addf {{.*}} fastmath<contract> : f32
// FAST: arith.mulf {{.*}} fastmath<contract> : f32
// FAST: arith.addf {{.*}} fastmath<contract> : f32
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void contracted(buffer<const float> x,
                                                         buffer<float> y) {
  y[0] = x[0] * x[1] + x[2];
  {
#pragma clang fp contract(fast)
    y[1] = x[3] * x[4] + x[5];
  }
}
