// A first kernel: y = factor * x, with the last work-items left idle where n is
// no multiple of 64.

#include "poot/kernel.h"

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1,
                                1) void scale(poot::buffer<const float> x,
                                              poot::buffer<float> y, uint32_t n,
                                              float factor) {
  uint32_t i = poot::global_id();
  if (i < n)
    y[i] = x[i] * factor;
}
