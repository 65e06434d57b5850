// Types that GPUs don't have, and elements that memory doesn't have.

#include "poot/kernel.h"

#include <atomic>
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

inline long double precise(long double v) { return v * 2; }
//                                     ^ error: type 'long double' in a kernel [type]
//                 ^ error: type 'long double' in a kernel [type]

KERNEL types(buffer<float> y, int n) {
  long double wide = n;
//            ^ error: type 'long double' in a kernel [type]
  __int128 huge = n;
//         ^ error: type '__int128' in a kernel [type]
  _BitInt(7) odd = n;
//           ^ error: type '_BitInt(7)' in a kernel [type]
  _Complex float complex = n;
//               ^ error: type '_Complex float' in a kernel [type]
  float many[2000][2000];
//      ^ error: array of 4000000 elements in a kernel [type]
  y[0] = precise(n);
//               ^ error: type 'long double' in a kernel [type]
//       ^ note: reached through this call of 'precise'
//       ^ note: reached through this call of 'precise'
  y[1] = n * 1.5L;
//       ^ error: type 'long double' in a kernel [type]
}

KERNEL vectors(buffer<float> y) {
  vec<float, 5> five = y[0];
//              ^ error: vector of 5 elements in a kernel [vector-width]
  vec<float, 16> sixteen = y[0];
  y[1] = five[0] + sixteen[3];
}

struct Pair {
  float *p;
  int n;
};
struct Nontrivial {
  Nontrivial(const Nontrivial &) {}
  float v;
};

KERNEL elements(buffer<vec<float, 3>> a, buffer<Pair> b, buffer<long double> c,
//                                    ^ error: elements of type 'vec<float, 3>' in a kernel [buffer-element]
//                                                    ^ error: elements of type 'float *' in a kernel [buffer-element]
//                                                                           ^ error: type 'long double' in a kernel [type]
                buffer<Nontrivial> d, buffer<const float *> e) {
//                                 ^ error: elements of type 'Nontrivial' in a kernel [buffer-element]
//                                                          ^ error: elements of type 'const float *' in a kernel [buffer-element]
  workgroup<vec<float, 8>, 4> tile;
//                            ^ error: elements of type 'vec<float, 8>' in a kernel [buffer-element]
}

KERNEL atomics(buffer<int16_t> a, buffer<double> b, buffer<float> c, int n) {
  atomic_add(a[0], int16_t(1));
//           ^ error: atomic operation on 'short' in a kernel [atomic-type]
  atomic_max(b[0], 1.0);
//           ^ error: atomic operation on 'double' in a kernel [atomic-type]
  atomic_add(c[0], 1.0f);
  atomic_compare_exchange(c[0], 1.0f, 2.0f);
//                        ^ error: compare-exchange of float in a kernel [atomic-type]
  atomic_add(n, 1);
//           ^ error: atomic operation on what is no element of a buffer or workgroup array of scalars [atomic-type]
  std::atomic<int> own{0};
//                 ^ error: object of type 'std::atomic<int>' in a kernel [atomic]
  own.fetch_add(1);
//    ^ error: call of 'std::__atomic_base<int>::fetch_add' in a kernel [atomic]
  __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
//^ error: builtin atomic operation in a kernel [atomic]
}
