// FLAGS: -fopenmp-simd -fcoroutines
//
// Statements and expressions that have no form in a kernel.

#include "poot/kernel.h"

#undef NDEBUG
#include <cassert>
#include <coroutine>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

KERNEL jumps(buffer<int> y, int n) {
again:
  y[0] += 1;
  if (y[0] < n)
    goto again;
//  ^ error: 'goto again' in a kernel [goto]
  void *where = &&again;
//              ^ error: address of a label in a kernel [goto]
  goto *where;
//^ error: computed 'goto' in a kernel [goto]
}

KERNEL assembly(buffer<int> y) {
  asm volatile("nop");
//^ error: inline assembly in a kernel [asm]
  y[0] = 1;
}

KERNEL exceptions(buffer<int> y, int n) {
  try {
//^ error: 'try' in a kernel [exception]
    if (n > 3)
      throw 3;
//    ^ error: 'throw' in a kernel [exception]
  } catch (int) {
    y[0] = *new int(3);
  }
}

KERNEL ranges(buffer<int> y, int n) {
  switch (n) {
  case 1 ... 4:
//^ error: range of cases in a kernel [case-range]
    y[0] = 1;
    break;
  case 5:
    y[0] = 2;
  }
}

KERNEL output(buffer<int> y, int n) {
  printf("%d\n", n);
//^ error: call of 'printf' in a kernel [io]
  std::cout << "n = " << n << std::endl;
//                         ^ error: use of a stream in a kernel [io]
  std::puts("done");
//^ error: call of 'puts' in a kernel [io]
  assert(n > 3);
//^ error: assertion in a kernel [assert]
  if (n > 4)
    __builtin_trap();
//  ^ error: call of '__builtin_trap' in a kernel [assert]
  std::abort();
//^ error: call of 'abort' in a kernel [assert]
}

KERNEL leaving(buffer<int> y) {
  jmp_buf state;
  y[0] = setjmp(state);
//       ^ error: call of '_setjmp' in a kernel [longjmp]
}

KERNEL directives(buffer<int> y) {
  #pragma omp simd
//^ error: OpenMP directive in a kernel [statement]
  for (int i = 0; i < 4; ++i)
    y[i] = i;
}

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
inline Task suspend() { co_return; }
//                    ^ error: coroutine in a kernel [coroutine]

KERNEL coroutines(buffer<int> y) {
  suspend();
//^ note: reached through this call of 'suspend'
  y[0] = 1;
}

KERNEL texts(buffer<int> y, int n) { y[0] = "abc"[n]; }
//                                          ^ error: expression of kind StringLiteral in a kernel [expression]
