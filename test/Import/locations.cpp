// Where an operation comes from, with the calls that lead there.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s < %t/outer.mlir

#include "poot/kernel.h"
using namespace poot;

// CHECK: #[[DIV:.+]] = loc("{{.*}}locations.cpp":[[# @LINE + 1]]:{{[0-9]+}})
inline int32_t inner(int32_t v) { return 100 / v; }
// CHECK: #[[CALL:.+]] = loc("{{.*}}locations.cpp":[[# @LINE + 1]]:{{[0-9]+}})
inline int32_t middle(int32_t v) { return inner(v); }
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void outer(buffer<const int32_t> x,
                                                    buffer<int32_t> y) {
  // CHECK: #[[OUTER:.+]] = loc("{{.*}}locations.cpp":[[# @LINE + 1]]:10)
  y[0] = middle(x[0]);
}
// CHECK: #[[PATH:.+]] = loc(callsite(#[[CALL]] at #[[OUTER]]))
// CHECK: loc(callsite(#[[DIV]] at #[[PATH]]))
