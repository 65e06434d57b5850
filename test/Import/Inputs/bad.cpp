#include "poot/kernel.h"

inline int down(int n);
inline int other(int n) { return down(n - 1); }
inline int down(int n) {
  return n > 0 ? other(n) : 3;
}
POOT_KERNEL POOT_WORKGROUP_SIZE(32, 1, 1) void bad(poot::buffer<int> y) {
  y[0] = down(y[1]);
}
