// RUN: not pootc -std=c++20 -fsyntax-only --emit=none %s 2>&1 | FileCheck %s

#include "poot/kernel.h"

union Bits {
  float f;
  uint32_t u;
};

POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void pun(poot::buffer<float> y) {
  // CHECK: union.cpp:[[# @LINE + 1]]:8: error: {{.*}}'Bits'{{.*}} [poot-kernel-union]
  Bits bits;
  bits.f = y[0];
  y[1] = float(bits.u);
}
