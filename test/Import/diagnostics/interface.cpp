// What kernels, hooks and specialization constants may look like.

#include "poot/kernel.h"

#include <vector>
using namespace poot;

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) int result(buffer<int> y) {
//                                            ^ error: kernel 'result' returns 'int' [return-type]
  return y[0];
}

POOT_KERNEL void noSize(buffer<int> y) { y[0] = 1; }
//               ^ error: kernel 'noSize' has no workgroup size [workgroup-size]
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 32, 1) void large(buffer<int> y) {}
//                                              ^ error: kernel 'large' has a workgroup of 64 x 32 x 1 work-items [workgroup-size]
POOT_KERNEL POOT_WORKGROUP_SIZE(0, 1, 1) void empty(buffer<int> y) {}
//                                            ^ error: kernel 'empty' has a workgroup of 0 x 1 x 1 work-items [workgroup-size]
template <int N>
POOT_KERNEL POOT_WORKGROUP_SIZE(N, 1, 1) void sized(buffer<int> y) {}
//                                            ^ error: kernel 'sized' has a workgroup of 2048 x 1 x 1 work-items [workgroup-size]
template void sized<64>(buffer<int>);
template void sized<2048>(buffer<int>);

struct Shape {
  int rows, columns;
};
struct View {
  buffer<float> data;
  int rows;
};

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void parameters(
    buffer<float> a, float *b, const int &c, std::vector<int> d, Shape e,
//                          ^ error: parameter 'b' of type 'float *' of a kernel [pointer-parameter]
//                                        ^ error: parameter 'c' of type 'const int &' of a kernel [pointer-parameter]
//                                                            ^ error: object of type 'std::vector<int>' in a kernel [container]
    View f, vec<float, 4> g, workgroup<float, 4> &h, long double i) {}
//       ^ error: parameter 'f' of type 'View' of a kernel [parameter-type]
//                        ^ error: parameter 'g' of type 'vec<float, 4>' of a kernel [parameter-type]
//                                                ^ error: parameter 'h' of type 'workgroup<float, 4> &' of a kernel [workgroup-array]
//                                                               ^ error: type 'long double' in a kernel [type]

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void counted(int n, ...) {}
//                                             ^ error: kernel 'counted' is variadic [variadic]

struct Kernels {
  POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void member(buffer<int> y) {}
//                                               ^ error: kernel 'member' is a member function [kernel-member]
  POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) static void free(buffer<int> y) {}
};

namespace first {
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void same(buffer<int> y) {}
} // namespace first
namespace second {
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void same(buffer<int> y) {}
//                                             ^ error: two kernels are named 'same' [kernel-name]
} // namespace second

POOT_HOOK("out") inline void out(int row, float &v) { v *= 2; }
//                                               ^ error: parameter 'v' of type 'float &' of hook 'out' [hook-signature]
POOT_HOOK("point") inline float *point(float v) { return nullptr; }
//                               ^ error: hook 'point' returns 'float *' [hook-signature]
//                                                       ^ error: null pointer in a kernel [pointer]
POOT_HOOK("bare") float bare(float v);

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void hooks(buffer<float> y) {
  float v = y[0];
  out(1, v);
  y[1] = *point(v) + bare(v);
//        ^ note: reached through this call of 'point'
//                   ^ error: hook 'bare' without a default body in a kernel [undefined]
}

POOT_SPEC inline double precise = 1;
POOT_SPEC inline int32_t depth = 64;
int computed();
POOT_SPEC inline int32_t late = computed();

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void specialized(buffer<float> y) {
  y[0] = precise + depth;
//       ^ error: POOT_SPEC variable 'precise' of type 'double' [spec]
  y[1] = late;
//       ^ error: POOT_SPEC variable 'late' of type 'int32_t' [spec]
  depth = 3;
//^ error: change of the POOT_SPEC variable 'depth' in a kernel [spec]
  ++depth;
//  ^ error: change of the POOT_SPEC variable 'depth' in a kernel [spec]
}

struct Tile {
  workgroup<float, 4> data;
};
inline void byValue(workgroup<float, 4> tile) {}
//                                      ^ error: workgroup array as a parameter by value in a kernel [workgroup-array]

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void arrays(buffer<float> y) {
  Tile tile;
//     ^ error: class 'Tile' with a workgroup array as a member in a kernel [workgroup-array]
  static workgroup<float, 4> shared;
//                           ^ error: static workgroup array 'shared' in a kernel [workgroup-array]
  workgroup<float, 4> many[2];
//                    ^ error: array of workgroup arrays in a kernel [workgroup-array]
  byValue(workgroup<float, 4>());
//^ note: reached through this call of 'byValue'
}
