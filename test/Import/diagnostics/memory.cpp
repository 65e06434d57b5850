// Memory that a kernel doesn't have, and pointers that lead nowhere.

#include "poot/kernel.h"

#include <cstdlib>
#include <cstring>
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

int counter = 0;
const int known = 3;
extern const int unknown;
thread_local int perThread = 0;
constexpr float kTable[] = {1, 2, 3};

struct Statics {
  static int number;
  static constexpr int kNumber = 4;
};

inline int next() {
  static int calls = 0;
//           ^ error: static variable 'calls' in a kernel [static]
  return ++calls;
}

KERNEL globals(buffer<float> y, int n) {
  y[0] = counter + known + Statics::kNumber + kTable[n % 3];
//       ^ error: use of the variable 'counter' in a kernel [global]
  y[1] = unknown;
//       ^ error: use of the variable 'unknown' in a kernel [global]
  counter = 2;
//^ error: use of the variable 'counter' in a kernel [global]
  y[2] = Statics::number;
//       ^ error: use of the variable 'number' in a kernel [global]
  y[3] = perThread;
//       ^ error: thread-local variable 'perThread' in a kernel [thread-local]
  y[4] = next() + next();
//       ^ note: reached through this call of 'next'
  static const int constant = 5;
  y[5] = constant;
  static thread_local int last = 3;
//                        ^ error: thread-local variable 'last' in a kernel [thread-local]
  y[6] = last;
//       ^ error: thread-local variable 'last' in a kernel [thread-local]
}

KERNEL heap(buffer<int> y, int n) {
  int *p = new int(3);
//         ^ error: 'new' in a kernel [heap]
  delete p;
//^ error: 'delete' in a kernel [heap]
  auto *q = static_cast<int *>(std::malloc(4));
//                             ^ error: call of 'malloc' in a kernel [heap]
  y[0] = *q;
  auto *r = static_cast<int *>(__builtin_alloca(n));
//                             ^ error: call of '__builtin_alloca' in a kernel [heap]
  y[1] = *r;
}

KERNEL variable(buffer<int> y, int n) {
//                                 ^ note: declared here
  int a[n];
//      ^ warning: variable length arrays in C++ are a Clang extension [-Wvla-cxx-extension]
//      ^ note: function parameter 'n' with unknown value cannot be used in a constant expression
//    ^ error: array of variable extent in a kernel [vla]
  a[0] = y[0];
  y[1] = a[0];
}

KERNEL bytes(buffer<int> y) {
  int a[4], b[4];
  float f[4];
  std::memset(a, 0, sizeof(a));
//^ error: call of 'memset' in a kernel [memory-function]
  std::memcpy(b, a, sizeof(a));
  std::memcpy(f, a, sizeof(a));
//^ error: copy of the bytes of objects of different types in a kernel [reinterpret-cast]
  y[0] = b[0] + f[0];
}

KERNEL casts(buffer<float> y) {
  int *p = reinterpret_cast<int *>(&y[0]);
//         ^ error: reinterpret_cast in a kernel [reinterpret-cast]
  y[1] = *p;
  auto address = (uintptr_t)&y[2];
//               ^ error: conversion of 'float *' to 'uintptr_t' in a kernel [reinterpret-cast]
  y[3] = address;
  int &bits = (int &)y[4];
//            ^ error: conversion of 'float' to 'int' in a kernel [reinterpret-cast]
  bits = 1;
}

inline float first(const float *p) { return p ? *p : 0; }
//                                          ^ error: comparison of a pointer with null in a kernel [pointer]

KERNEL null(buffer<float> y) {
  float *p = nullptr;
//           ^ error: null pointer in a kernel [pointer]
  y[0] = first(&y[1]);
//       ^ note: reached through this call of 'first'
  float *all[2];
//       ^ error: array of pointers in a kernel [pointer]
  float **where;
//        ^ error: pointer to a pointer in a kernel [pointer]
}

KERNEL base(buffer<float> y, int n) {
  float a[4] = {}, b[4] = {};
  float *p = a;
  if (n > 3)
    p = b;
//    ^ error: pointer to one of several arrays in a kernel [pointer-base]
  y[0] = *p;
}

inline float &pick(float *a, int n) {
  if (n > 3)
    return a[0];
  return a[1];
//^ error: references to different objects returned in a kernel [reference-return]
}

KERNEL references(buffer<float> y, int n) {
  float a[4] = {};
  pick(a, n) = 1;
//^ note: reached through this call of 'pick'
  y[0] = a[0];
}

KERNEL devices(buffer<int> y) {
  volatile int port = 3;
//             ^ error: volatile object in a kernel [volatile]
  y[0] = port;
}

KERNEL buffers(buffer<float> x, buffer<float> y, int n) {
  auto chosen = x;
  if (n > 3)
    chosen = y;
//         ^ error: assignment of a buffer or of what holds one in a kernel [buffer-select]
  chosen[0] = 1;
}

inline bool given(buffer<float> x) { return x != nullptr; }
//                                            ^ error: comparison of a buffer with null in a kernel [buffer-null]

KERNEL absent(buffer<float> x, buffer<float> y) {
  if (given(x))
//    ^ note: reached through this call of 'given'
    y[0] = 1;
  if (x)
//    ^ error: comparison of a buffer with null in a kernel [buffer-null]
    y[1] = 1;
  if (!x || nullptr == y)
//     ^ error: comparison of a buffer with null in a kernel [buffer-null]
//                  ^ error: comparison of a buffer with null in a kernel [buffer-null]
    y[2] = 1;
}
