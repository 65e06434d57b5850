#include "poot/kernel.h"

// CHECK: kernel.func @spelt(
[[poot::kernel]] POOT_WORKGROUP_SIZE(8, 1,
                                     1) void spelt(poot::buffer<float> y) {
  y[0] = 1;
}
