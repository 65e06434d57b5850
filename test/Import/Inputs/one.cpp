#include "poot/kernel.h"

POOT_KERNEL POOT_WORKGROUP_SIZE(32, 1, 1) void first(poot::buffer<float> y) {
  y[poot::global_id()] = 1;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(32, 1, 1) void second(poot::buffer<float> y) {
  y[poot::global_id()] = 2;
}
