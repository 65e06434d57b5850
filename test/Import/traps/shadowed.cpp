// Names that hide others: templates, their parameters, variables.
//
// RUN: python3 %S/run.py %s

#include "poot/kernel.h"
using namespace poot;

template <class T> inline int size(T) { return sizeof(T); }
namespace inside {
template <class T> inline int size(T v) { return 100 + ::size(v); }
template <> inline int size(short) { return 200; }
} // namespace inside

template <class T> struct Outer {
  template <class S> struct Inner {
    static constexpr int kBytes = sizeof(T) * 10 + sizeof(S);
  };
  // The member hides the function of the namespace.
  static int size(T) { return 300; }
  static int both(T v) { return size(v) + ::size(v); }
};
template <> template <class S> struct Outer<char>::Inner {
  static constexpr int kBytes = -int(sizeof(S));
};

// RUNS: names --grid 1 --input y=zeros:8
// GIVES: y (i32): 4 104 200 308 84 -2 7 3
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void names(buffer<int32_t> y) {
  y[0] = size(1);
  {
    using namespace inside;
    y[1] = inside::size(1);
    y[2] = inside::size(short(1));
  }
  y[3] = Outer<double>::both(1);
  y[4] = Outer<double>::Inner<float>::kBytes;
  y[5] = Outer<char>::Inner<short>::kBytes;
  int v = 3;
  for (int v = 7, size = 1; size < 2; ++size)
    y[6] = v;
  y[7] = v;
}

// A kernel template and a function of its name; instances of two spellings.
template <class T, int N>
POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1, 1) void fill(buffer<T> y) {
  constexpr int T2 = N; // What a macro or a parameter may be called elsewhere.
  y[0] = T(T2);
}
namespace inside {
inline void fill(buffer<int32_t> y) { y[0] = 1; }
} // namespace inside
using Word = int32_t;
// RUNS: fill_i32_5 --grid 1 --input y=zeros:1
// GIVES: y (i32): 5
template void fill<Word, 5>(buffer<int32_t>);
// RUNS: fill_i32_6 --grid 1 --input y=zeros:1
// GIVES: y (i32): 6
template void fill<int32_t, 6>(buffer<Word>);
