#include "poot/kernel.h"

POOT_KERNEL POOT_WORKGROUP_SIZE(32, 1, 1) void third(poot::buffer<float> y) {
  y[poot::global_id()] = 1;
}
