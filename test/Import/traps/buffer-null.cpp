// A buffer is no pointer, and always there.
//
// RUN: not pootc -std=c++20 -fsyntax-only --emit=none %s 2>&1 | FileCheck %s

#include "poot/kernel.h"

POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void null(poot::buffer<float> y) {
  // CHECK: buffer-null.cpp:[[# @LINE + 1]]:9: error: {{.*}}[poot-kernel-buffer-null]
  if (y != nullptr)
    y[0] = 1;
  // CHECK: buffer-null.cpp:[[# @LINE + 1]]:7: error: {{.*}}[poot-kernel-buffer-null]
  if (y)
    y[1] = 1;
}
