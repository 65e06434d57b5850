// A pointer that is given another array is an error, wherever that happens.
//
// RUN: not pootc -std=c++20 -fsyntax-only --emit=none %s 2>&1 | FileCheck %s

#include "poot/kernel.h"
using namespace poot;

POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void branch(buffer<float> y, int n) {
  float a[4] = {}, b[4] = {};
  float *p = a;
  if (n > 3)
    // CHECK: pointers.cpp:[[# @LINE + 1]]:7: error: {{.*}} [poot-kernel-pointer-base]
    p = b;
  *p = 1;
  y[0] = a[0] + b[0];
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void loop(buffer<float> y, int n) {
  float a[4] = {}, b[4] = {};
  float *p = a;
  for (int i = 0; i < n; ++i) {
    *p += 1;
    // CHECK: pointers.cpp:[[# @LINE + 1]]:7: error: {{.*}} [poot-kernel-pointer-base]
    p = b;
  }
  y[0] = a[0] + b[0];
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void null(buffer<float> y, int n) {
  float a[4] = {};
  float *p = a;
  // CHECK: pointers.cpp:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}} [poot-kernel-pointer]
  if (p != nullptr)
    y[0] = p[n];
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void between(buffer<float> y, int n) {
  float a[4] = {}, b[4] = {};
  float *p = a, *q = b;
  // CHECK: pointers.cpp:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}} [poot-kernel-pointer-base]
  y[0] = float(p - q);
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void held(buffer<float> y, int n) {
  struct Holder {
    float *p;
  };
  float a[4] = {}, b[4] = {};
  Holder holder{a};
  if (n > 3)
    // CHECK: pointers.cpp:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}} [poot-kernel-pointer-base]
    holder = Holder{b};
  y[0] = holder.p[n];
}
inline float *choose(float *a, float *b, int n) {
  if (n > 3)
    return a;
  // CHECK: pointers.cpp:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}} [poot-kernel-pointer-base]
  return b;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void chosen(buffer<float> y, int n) {
  float a[4] = {}, b[4] = {};
  // CHECK: pointers.cpp:[[# @LINE + 1]]:{{[0-9]+}}: note: reached through this call of 'choose'
  y[0] = *choose(a, b, n);
}
