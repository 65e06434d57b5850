// What is found in a kernel that has been imported.

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

inline void sync() { barrier(); }
//                   ^ error: kernel 'called': barrier that only some work-items of the workgroup come to [divergent-barrier]
//                   ^ warning: kernel 'calledAgain': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]

KERNEL half(buffer<float> y) {
  if (local_id() < 32)
//^ note: they part here
    barrier();
//  ^ error: kernel 'half': barrier that only some work-items of the workgroup come to [divergent-barrier]
  y[0] = 1;
}
KERNEL called(buffer<float> y) {
  if (local_id() == 0)
//^ note: they part here
    sync();
//  ^ note: reached through this call
  y[0] = 1;
}
KERNEL calledAgain(buffer<float> y) {
  if (lane_id() == 0)
//^ note: they may part here
    sync();
//  ^ note: reached through this call
  y[0] = 1;
}
KERNEL early(buffer<float> y, uint32_t n) {
  if (global_id() >= n)
//^ note: they may part here
    return;
  barrier();
//^ warning: kernel 'early': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
  y[0] = 1;
}
KERNEL strided(buffer<float> y, int n) {
  for (int i = local_id(); i < n; i += 64) {
//^ note: they may part here
    y[i] = 0;
    barrier();
//  ^ warning: kernel 'strided': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
  }
}
KERNEL voted(buffer<float> y, int n) {
  if (subgroup_any(local_id() == n))
//^ note: they may part here
    barrier();
//  ^ warning: kernel 'voted': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
}
KERNEL left(buffer<float> y, int n) {
  for (int i = 0; i < n; ++i) {
    if (y[i + local_id()] > 3)
//  ^ note: they may part here
      break;
    barrier();
//  ^ warning: kernel 'left': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
  }
}
KERNEL joined(buffer<float> y, int n) {
  bool in = true;
  if (local_id() > 3)
    in = n > 3;
  else
    in = n > 4;
  if (in)
//^ note: they may part here
    barrier();
//  ^ warning: kernel 'joined': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
}
KERNEL counted(buffer<float> y, int n) {
  int i = local_id();
  for (; i < n; i += 64)
    y[i] = 0;
  barrier();
  if (i > n + 3)
//^ note: they may part here
    barrier();
//  ^ warning: kernel 'counted': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
}
KERNEL stored(buffer<float> y, int n) {
  float sums[4] = {};
  sums[n & 3] = y[local_id()];
  if (sums[n & 1] > 0)
//^ note: they may part here
    barrier();
//  ^ warning: kernel 'stored': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
}
POOT_HOOK("done") inline bool done(int i) { return int(lane_id()) < i; }
KERNEL hooked(buffer<float> y, int n) {
  if (done(n))
//^ note: they may part here
    barrier();
//  ^ warning: kernel 'hooked': barrier that perhaps not all work-items of the workgroup come to [maybe-divergent-barrier]
}

// These are the same for the whole workgroup.
KERNEL uniform(buffer<float> y, buffer<const int> lengths, int n) {
  workgroup<float, 64> part;
  if (workgroup_id() * 64 >= n)
    return;
  if (local_id() < 64)
    barrier();
  int length = lengths[workgroup_id()];
  for (int i = 0; i < length; ++i) {
    part[local_id()] = y[local_id()];
    barrier();
    if (local_id() < 3)
      y[i] = part[i];
    barrier();
  }
  for (int i = 32; i > 0; i /= 2) {
    if (local_id() < i)
      part[local_id()] += part[local_id() + i];
    barrier();
  }
  if (part[0] > 3)
    barrier();
}
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void single(buffer<float> y, int n) {
  if (subgroup_add(n) > local_id())
    barrier();
}

struct Row {
  float v[4];
};
KERNEL indices(buffer<float> y, buffer<Row> rows, int n) {
  workgroup<float, 64> part;
//                     ^ note: it is declared here
  constexpr float kTable[4] = {1, 2, 3, 4};
//                ^ note: it is declared here
  float sums[8] = {};
//      ^ note: it is declared here
//      ^ note: it is declared here
  sums[n & 7] = 1;
  part[local_id() + 64] = 1;
//                      ^ error: kernel 'indices': index 64 to 127 of a workgroup array with 64 elements [index-range]
  y[0] = kTable[4 + (n & 3)] + sums[8 + (n & 1)] + part[n];
//       ^ error: kernel 'indices': index 4 to 7 of an array with 4 elements [index-range]
//                             ^ error: kernel 'indices': index 8 to 9 of an array with 8 elements [index-range]
  y[1] = rows[n].v[5 | n];
//       ^ error: kernel 'indices': index 5 to 4294967295 of an array in a structure with 4 elements [index-range]
  y[2] = rows[n].v[local_id() | 4];
//       ^ error: kernel 'indices': index 4 to 63 of an array in a structure with 4 elements [index-range]
  int i = -1;
  y[3] = sums[i];
//       ^ error: kernel 'indices': index -1 of an array with 8 elements [index-range]
  if (n > 70)
    y[4] = part[n & 63];
}

KERNEL big(buffer<float> y) {
//     ^ warning: kernel 'big': workgroup arrays of 36000 bytes, beyond the limit of 32768 [workgroup-limit]
  workgroup<float, 4000> a;
  workgroup<float, 5000> b;
//                       ^ note: the largest of them takes 20000
  workgroup<float, 4000> c(overlay, a);
  a[local_id()] = b[local_id()] = y[0];
  barrier();
  c[local_id()] = y[1] + a[3] + b[4];
}
