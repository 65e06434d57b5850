// Names, parameters, access, workgroup sizes and attributes.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s --check-prefix=SCALE < %t/scale.mlir
// RUN: FileCheck %s --check-prefix=SUM < %t/sum_f32_4.mlir
// RUN: FileCheck %s --check-prefix=HALF < %t/sum_f16_8.mlir
// RUN: FileCheck %s --check-prefix=WORDS < %t/words.mlir
// RUN: FileCheck %s --check-prefix=NAMES < %t/words.mlir
// RUN: FileCheck %s --check-prefix=SPELT < %t/spelt.mlir
// RUN: ls %t | FileCheck %s --check-prefix=FILES

// FILES-NOT: unused
// FILES: scale.mlir
// FILES-NEXT: spelt.mlir
// FILES-NEXT: sum_f16_8.mlir
// FILES-NEXT: sum_f32_4.mlir
// FILES-NEXT: words.mlir
// FILES-NOT: {{.}}

#include "poot/kernel.h"
using namespace poot;

// Buffers come first, whatever the order of the source. What is only written
// is `write`.
//
// SCALE: kernel.func @scale(
// SCALE-SAME: !kernel.buffer<f32, read>
// SCALE-SAME: !kernel.buffer<f32, write>
// SCALE-SAME: !kernel.buffer<i32, read_write>
// SCALE-SAME: i32
// SCALE-SAME: f32
// SCALE-SAME: kernel.attributes = {op = "scale", rank = "1"}
// SCALE-SAME: workgroup_size = array<i32: 16, 2, 1>
POOT_KERNEL POOT_WORKGROUP_SIZE(16, 2, 1) POOT_ATTRIBUTE("op", "scale")
    POOT_ATTRIBUTE("rank", "1") void scale(uint32_t n, buffer<const float> x,
                                           buffer<float> y, float factor,
                                           buffer<int32_t> count) {
  // SCALE: kernel.load {{.*}} !kernel.buffer<f32, read>
  // SCALE: arith.mulf
  // SCALE: kernel.store {{.*}} !kernel.buffer<f32, write>
  // SCALE: kernel.load {{.*}} !kernel.buffer<i32, read_write>
  // SCALE-NOT: kernel.var
  uint32_t i = local_id() + 16 * local_id(poot::y);
  if (i < n) {
    y[i] = x[i] * factor;
    count[0] += 1;
  }
}

// One file for each instance, explicit or implied; none for the template.
//
// SUM: kernel.func @sum_f32_4(
// SUM-SAME: workgroup_size = array<i32: 4, 1, 1>
// HALF: kernel.func @sum_f16_8(
// HALF-SAME: workgroup_size = array<i32: 8, 1, 1>
template <class T, int N>
POOT_KERNEL POOT_WORKGROUP_SIZE(N, 1, 1) void sum(buffer<const T> x,
                                                  buffer<T> y) {
  y[local_id()] = x[local_id()] + x[local_id() + N];
}
template void sum<float, 4>(buffer<const float>, buffer<float>);
inline auto implied = sum<f16, 8>;

template <class T>
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void unused(buffer<T> y) {
  y[0] = T();
}

// A structure is its scalars. What is narrow is widened, what is wide takes two
// words, the low one first.
//
// WORDS: kernel.func @words(%{{.*}}: !kernel.buffer<i32, write>{{.*}}, %[[A:[a-z0-9]+]]: i32{{.*}}, %[[B:[a-z0-9]+]]: i32{{.*}}, %[[LOW:[a-z0-9]+]]: i32{{.*}}, %[[HIGH:[a-z0-9]+]]: i32{{.*}}, %{{[a-z0-9]+}}: f32
//
// Arguments are called what the parameters are.
//
// NAMES: kernel.func @words(%{{.*}} loc("y"({{.*}})), %{{.*}}: i32 loc("p"({{.*}})), {{.*}} f32 loc("p"({{.*}})))
struct Parameters {
  int8_t a;
  bool b;
  int64_t wide;
  struct {
    float scale;
  } inner;
};
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void words(Parameters p,
                                                    buffer<int32_t> y) {
  // WORDS-DAG: arith.trunci %[[A]] : i32 to i8
  // WORDS-DAG: arith.trunci %[[B]] : i32 to i1
  // WORDS-DAG: arith.extui %[[LOW]] : i32 to i64
  // WORDS-DAG: arith.extui %[[HIGH]] : i32 to i64
  y[0] = p.a;
  y[1] = p.b ? int32_t(p.wide >> 7) : int32_t(p.inner.scale);
}

// SPELT: kernel.func @spelt(
[[poot::kernel]] POOT_WORKGROUP_SIZE(1, 1, 1) void spelt(buffer<bool> flags,
                                                         buffer<int32_t> y) {
  // SPELT: kernel.load {{.*}} !kernel.buffer<i8, read_write>
  // SPELT: kernel.store {{.*}} !kernel.buffer<i8, read_write>
  flags[1] = !flags[0];
  y[0] = flags[1];
}
