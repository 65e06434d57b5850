// A faster silu, which is a bit off: x / (1 + exp(-x)) is x * (1 + tanh(x / 2))
// / 2, and tanh(t) is nearly t * (27 + t^2) / (27 + 9 * t^2) up to where that
// is 1.
//
// docs/own-kernels.md shows how it takes the place of a model's activation.

#include "poot/operands.h"

POOT_KERNEL POOT_IMPLEMENTS("silu") POOT_ATTRIBUTE("tolerance", "0.05")
    POOT_WORKGROUP_SIZE(64, 1, 1) void fast_silu(poot::buffer<const float> in,
                                                 poot::buffer<float> out) {
  int32_t i = poot::linear_id();
  if (i >= poot::count)
    return;
  float x = poot::load(in, i);
  float t = poot::clamp(x / 2, -3.0f, 3.0f);
  float tanh = t * (27 + t * t) / (27 + 9 * t * t);
  poot::store(out, i, x * (1 + tanh) / 2);
}
