#include "poot/kernel.h"
using namespace poot;

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void levels(buffer<float> y, int n) {
  workgroup<float, 64> part;
  if (local_id() < 32)
    barrier();
  // Outside, whatever n is.
  part[64 + (n & 1)] = y[0];
  if (y[local_id()] > n)
    barrier();
  y[0] = part[n & 63];
}
