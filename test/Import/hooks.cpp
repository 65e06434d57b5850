// Hooks and specialization constants are kept for whoever fills them.
//
// RUN: rm -rf %t && mkdir %t
// RUN: pootc -std=c++20 -fsyntax-only --emit=mlir --out-dir=%t %s
// RUN: FileCheck %s < %t/gated.mlir
// RUN: poot-opt --kernel-fill-hooks --poot-kernel-optimize %t/gated.mlir \
// RUN:   | FileCheck %s --check-prefix=FILLED

#include "poot/kernel.h"
using namespace poot;

POOT_SPEC inline int32_t depth = 64;
POOT_SPEC inline float scale = 0.5f;
POOT_SPEC inline bool flag = true;

struct Two {
  vec<float, 2> gate;
  float up;
};

// CHECK-DAG: kernel.hook_body private @epilogue_default(%{{.*}}: i32 {{.*}}, %{{.*}}: vector<2xf32> {{.*}}, %{{.*}}: f32 {{.*}}) -> (vector<2xf32>, f32)
// CHECK-DAG: kernel.yield {{.*}} : vector<2xf32>, f32
POOT_HOOK("epilogue") inline Two epilogue(int32_t row, const Two &v) {
  return {v.gate * float(row), v.up};
}
// CHECK-DAG: kernel.hook_body private @load_default(%{{.*}}: !kernel.buffer<f32, read> {{.*}}, %{{.*}}: i32 {{.*}}) -> f32
template <class T> POOT_HOOK("load") inline T read(buffer<const T> m, int i) {
  return m[i];
}

// CHECK: kernel.func @gated(
// FILLED: kernel.func @gated(
POOT_KERNEL POOT_WORKGROUP_SIZE(8, 1, 1) void gated(buffer<const float> x,
                                                    buffer<float> y) {
  // CHECK: kernel.spec_constant "depth" = 64 : i32
  // CHECK: kernel.hook "load"(%{{.*}}, %{{.*}}) default @load_default : (!kernel.buffer<f32, read>, i32) -> f32
  // CHECK: kernel.spec_constant "scale" = 5.000000e-01 : f32
  // CHECK: kernel.spec_constant "flag" = true
  // CHECK: kernel.hook "epilogue"(%{{.*}}, %{{.*}}, %{{.*}}) default @epilogue_default : (i32, vector<2xf32>, f32) -> (vector<2xf32>, f32)
  // FILLED-NOT: kernel.hook
  // FILLED: kernel.spec_constant "depth"
  float sum = 0;
  for (int i = 0; i < depth; ++i)
    sum += read(x, i) * scale;
  auto [gate, up] = epilogue(3, {{sum, flag ? 1.0f : 2.0f}, sum});
  y[0] = gate.x + gate.y;
  y[1] = up;
}
