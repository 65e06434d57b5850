// What is wrong with calls, and the way that leads there.

#include "poot/kernel.h"

#include <cstdlib>
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

constexpr int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
//                                                      ^ error: recursive call of 'factorial' in a kernel [recursion]

inline int odd(int n);
inline int even(int n) { return n == 0 ? 1 : odd(n - 1); }
//                                           ^ note: reached through this call of 'odd'
inline int odd(int n) { return n == 0 ? 0 : even(n - 1); }
//                                          ^ error: recursive call of 'even' in a kernel [recursion]

template <class F> int apply(F f, int n) { return f(f, n); }
//                                                ^ note: reached through this call of 'operator()'

KERNEL recursion(buffer<int> y, int n) {
  y[0] = factorial(n);
//       ^ note: reached through this call of 'factorial'
  y[1] = even(n);
//       ^ note: reached through this call of 'even'
  y[2] = apply([](auto self, int k) -> int { return k ? self(self, k - 1) : 0; },
//                                                      ^ error: recursive call of 'operator()' in a kernel [recursion]
//       ^ note: reached through this call of 'apply'
               n);
  // What clang computes is no call.
  constexpr int six = factorial(3);
  y[3] = six + factorial(4);
}

inline int increment(int n) { return n + 1; }

struct Holder {
  int (*f)(int);
  int (Holder::*member)(int) const;
  int get(int n) const { return n; }
};

KERNEL indirect(buffer<int> y, int n) {
  int (*f)(int) = increment;
//      ^ error: variable 'f' that points to a function in a kernel [indirect-call]
  if (n > 3)
    y[0] = f(n);
//         ^ error: call through a pointer in a kernel [indirect-call]
  constexpr auto known = increment;
  y[1] = known(n);
  Holder holder{known, &Holder::get};
//       ^ error: type 'int (Holder::*)(int) const' in a kernel [type]
  y[2] = holder.f(n) + (holder.*holder.member)(n);
//       ^ error: call through a pointer in a kernel [indirect-call]
//                     ^ error: call through a pointer in a kernel [indirect-call]
}

int elsewhere(int n);
namespace inner {
struct Maker {
  Maker(int n);
  int n;
};
} // namespace inner

KERNEL undefined(buffer<int> y, int n) {
  y[0] = elsewhere(n);
//       ^ error: call of 'elsewhere', whose body isn't visible, in a kernel [undefined]
  inner::Maker maker(n);
//             ^ error: call of 'inner::Maker::Maker', whose body isn't visible, in a kernel [undefined]
  y[1] = maker.n;
}

inline int sum(int count, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, count);
  int n = __builtin_va_arg(list, int);
  __builtin_va_end(list);
  return n;
}

KERNEL variadic(buffer<int> y, int n) { y[0] = sum(2, n, n); }
//                                             ^ error: call of the variadic function 'sum' in a kernel [variadic]

// Twice the same place: said once, for the first way.
inline float checked(float v) {
  if (v < 0)
    throw v;
//  ^ error: 'throw' in a kernel [exception]
  return v;
}
inline float twice(float v) { return checked(v) + checked(v + 1); }
//                                   ^ note: reached through this call of 'checked'

KERNEL deep(buffer<float> y) { y[0] = twice(y[1]); }
//                                    ^ note: reached through this call of 'twice'
KERNEL deeper(buffer<float> y) { y[0] = twice(y[1]) + checked(y[2]); }

// What no kernel reaches may do anything.
inline int *unreached() { return new int(factorial(elsewhere(3))); }

template <bool kThrows> inline int discarded(int n) {
  if constexpr (kThrows)
    throw n;
  return n;
}

KERNEL fine(buffer<int> y, int n) {
  y[0] = discarded<false>(n) + int(sizeof(factorial(3)));
  auto unused = [] { throw 1; };
  (void)unused;
}

KERNEL library(buffer<float> y) {
  y[0] = std::sinh(y[1]);
//       ^ error: call of the library's 'sinhf' in a kernel, inside 'sinh' [library]
  y[1] = std::rand();
//       ^ error: call of the library's 'rand' in a kernel [library]
  y[2] = __builtin_bswap32(y[3]);
//       ^ error: call of the library's 'bswap32' in a kernel [library]
}

inline float angle(float v) { return std::asin(v); }
//                                   ^ error: call of the library's 'asinf' in a kernel, inside 'asin' [library]

KERNEL called(buffer<float> y) { y[0] = angle(y[1]); }
//                                      ^ note: reached through this call of 'angle'
