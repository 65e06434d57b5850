// FLAGS: -fopenmp-simd
//
// What is wrong with a function is said of it, with the call in the kernel.

#include "poot/kernel.h"

#undef NDEBUG
#include <atomic>
#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>
using namespace poot;

int counter = 0;
thread_local int perThread = 0;
POOT_SPEC inline int32_t depth = 64;
int elsewhere(int n);

union Bits {
  float f;
  uint32_t u;
};
struct Flags {
  uint32_t low : 4;
};
struct Guard {
  int n;
  ~Guard() {}
};
struct Base {
  int n;
};
struct Left : virtual Base {};

POOT_HOOK("scaled") inline void scaled(int &v) { v *= 2; }
//                                          ^ error: parameter 'v' of type 'int &' of hook 'scaled' [hook-signature]
inline int count(int n, ...) { return n; }
inline int increment(int n) { return n + 1; }

inline void callAsm() { asm volatile("nop"); }
//                      ^ error: inline assembly in a kernel [asm]
inline void callAssert(int n) { assert(n > 3); }
//                              ^ error: assertion in a kernel [assert]
inline int callAtomic() {
  std::atomic<int> own;
//                 ^ error: object of type 'std::atomic<int>' in a kernel [atomic]
  return 0;
}
inline void callAtomicType(buffer<double> w) { atomic_max(w[0], 1.0); }
//                                                        ^ error: atomic operation on 'double' in a kernel [atomic-type]
inline int callBitField() {
  Flags flags{1};
//      ^ error: class 'Flags' with bit-fields in a kernel [bit-field]
  return 1;
}
inline void callBufferElement() { workgroup<vec<float, 8>, 4> tile; }
//                                                            ^ error: elements of type 'vec<float, 8>' in a kernel [buffer-element]
inline void callBufferSelect(buffer<int> x, buffer<int> y, int n) {
  auto chosen = x;
  if (n > 3)
    chosen = y;
//         ^ error: assignment of a buffer or of what holds one in a kernel [buffer-select]
  chosen[0] = 1;
}
inline int callCaseRange(int n) {
  switch (n) {
  case 1 ... 4:
//^ error: range of cases in a kernel [case-range]
    return 1;
  }
  return 0;
}
inline int callContainer() {
  std::vector<int> v;
//                 ^ error: object of type 'std::vector<int>' in a kernel [container]
  return 0;
}
inline int callDestructor() {
  Guard guard{1};
//      ^ error: class 'Guard' with a destructor in a kernel [destructor]
  return guard.n;
}
inline int callExpression(int n) { return "abc"[n]; }
//                                        ^ error: expression of kind StringLiteral in a kernel [expression]
inline int callGlobal() { return counter; }
//                               ^ error: use of the variable 'counter' in a kernel [global]
inline void callGoto(int n) {
again:
  if (n > 3)
    goto again;
//  ^ error: 'goto again' in a kernel [goto]
}
inline int *callHeap() { return new int; }
//                              ^ error: 'new' in a kernel [heap]
inline void callHook(int n) { scaled(n); }
inline int callIndexRange(int n) {
  int v[4] = {n};
//    ^ note: it is declared here
  return v[4 | n];
//       ^ error: kernel 'analysed': index 4 to 4294967295 of an array with 4 elements [index-range]
}
inline int callIndirect(int (*f)(int), int n) { return f(n); }
//                                                     ^ error: call through a pointer in a kernel [indirect-call]
inline void callIo(int n) { std::printf("%d\n", n); }
//                          ^ error: call of 'printf' in a kernel [io]
inline int callLongjmp() {
  jmp_buf state;
  return setjmp(state);
//       ^ error: call of '_setjmp' in a kernel [longjmp]
}
inline int callMemory() {
  int v[2];
  std::memset(v, 0, sizeof(v));
//^ error: call of 'memset' in a kernel [memory-function]
  return v[0];
}
inline int callPointerBase(int n) {
  int a[2] = {}, b[2] = {};
  int *p = a;
  if (n > 3)
    p = b;
//    ^ error: pointer to one of several arrays in a kernel [pointer-base]
  return *p;
}
inline int callReinterpretCast(float f) { return reinterpret_cast<int &>(f); }
//                                               ^ error: reinterpret_cast in a kernel [reinterpret-cast]
inline void callSpec() { depth = 3; }
//                       ^ error: change of the POOT_SPEC variable 'depth' in a kernel [spec]
inline void callStatement(buffer<int> y) {
  #pragma omp simd
//^ error: OpenMP directive in a kernel [statement]
  for (int i = 0; i < 4; ++i)
    y[i] = i;
}
inline int callThreadLocal() { return perThread; }
//                                    ^ error: thread-local variable 'perThread' in a kernel [thread-local]
inline int callUndefined(int n) { return elsewhere(n); }
//                                       ^ error: call of 'elsewhere', whose body isn't visible, in a kernel [undefined]
inline int callUnion() {
  Bits bits;
//     ^ error: union 'Bits' in a kernel [union]
  return 0;
}
inline int callVariadic(int n) { return count(n, n); }
//                                      ^ error: call of the variadic function 'count' in a kernel [variadic]
inline float callVectorWidth() {
  vec<float, 5> v = 1;
//              ^ error: vector of 5 elements in a kernel [vector-width]
  return v[0];
}
inline int callVirtualBase() {
  Left left;
//     ^ error: class 'Left' with a virtual base in a kernel [virtual-base]
  return 0;
}
inline int callVla(int n) {
//                     ^ note: declared here
  int v[n];
//      ^ warning: variable length arrays in C++ are a Clang extension [-Wvla-cxx-extension]
//      ^ note: function parameter 'n' with unknown value cannot be used in a constant expression
//    ^ error: array of variable extent in a kernel [vla]
  return 0;
}
inline int callVolatile() {
  volatile int port = 3;
//             ^ error: volatile object in a kernel [volatile]
  return port;
}

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void calls(buffer<int> x,
                                                     buffer<int> y,
                                                     buffer<double> w, int n) {
  callAsm();
//^ note: reached through this call of 'callAsm'
  callAssert(n);
//^ note: reached through this call of 'callAssert'
  callAtomic();
//^ note: reached through this call of 'callAtomic'
  callAtomicType(w);
//^ note: reached through this call of 'callAtomicType'
  callBitField();
//^ note: reached through this call of 'callBitField'
  callBufferElement();
//^ note: reached through this call of 'callBufferElement'
  callBufferSelect(x, y, n);
//^ note: reached through this call of 'callBufferSelect'
  callCaseRange(n);
//^ note: reached through this call of 'callCaseRange'
  callContainer();
//^ note: reached through this call of 'callContainer'
  callDestructor();
//^ note: reached through this call of 'callDestructor'
  callGlobal();
//^ note: reached through this call of 'callGlobal'
  callGoto(n);
//^ note: reached through this call of 'callGoto'
  callHeap();
//^ note: reached through this call of 'callHeap'
  callHook(n);
//^ note: reached through this call of 'callHook'
  callIndirect(increment, n);
//^ note: reached through this call of 'callIndirect'
//             ^ error: pointer to a function in a kernel [indirect-call]
  callIo(n);
//^ note: reached through this call of 'callIo'
  callLongjmp();
//^ note: reached through this call of 'callLongjmp'
  callMemory();
//^ note: reached through this call of 'callMemory'
  callPointerBase(n);
//^ note: reached through this call of 'callPointerBase'
  callReinterpretCast(1);
//^ note: reached through this call of 'callReinterpretCast'
  callSpec();
//^ note: reached through this call of 'callSpec'
  callStatement(y);
//^ note: reached through this call of 'callStatement'
  callThreadLocal();
//^ note: reached through this call of 'callThreadLocal'
  callUndefined(n);
//^ note: reached through this call of 'callUndefined'
  callUnion();
//^ note: reached through this call of 'callUnion'
  callVariadic(n);
//^ note: reached through this call of 'callVariadic'
  callVectorWidth();
//^ note: reached through this call of 'callVectorWidth'
  callVirtualBase();
//^ note: reached through this call of 'callVirtualBase'
  callVla(n);
//^ note: reached through this call of 'callVla'
  callVolatile();
//^ note: reached through this call of 'callVolatile'
}

// What is no form of a kernel, and what analyses find, comes up where nothing
// else is wrong.
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void formless(buffer<int> y, int n) {
  y[0] = callExpression(n);
//       ^ note: reached through this call of 'callExpression'
}
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void analysed(buffer<int> y, int n) {
  y[0] = callIndexRange(n);
//       ^ note: reached through this call
}
