// Kernels that implement ops, for use-kernels.mlir and user-kernels-run.mlir:
// each as simple as can be.

#include "poot/operands.h"

namespace {

template <class T, class F>
inline void map(poot::buffer<const T> x, poot::buffer<T> y, F f) {
  int32_t i = poot::linear_id();
  if (i < poot::count)
    poot::store(y, i, f(poot::load(x, i)));
}

template <class T, class F>
inline void zip(poot::buffer<const T> x, poot::buffer<const T> y,
                poot::buffer<T> z, F f) {
  int32_t i = poot::linear_id();
  if (i < poot::count)
    poot::store(z, i, f(poot::load(x, i), poot::load(y, i)));
}

} // namespace

#define KERNEL(PATTERN)                                                        \
  POOT_KERNEL POOT_IMPLEMENTS(PATTERN) POOT_WORKGROUP_SIZE(64, 1, 1) void

KERNEL("silu")
my_silu(poot::buffer<const float> x, poot::buffer<float> y) {
  map(x, y, [](float v) { return v / (1 + poot::exp(-v)); });
}

KERNEL("swiglu")
my_swiglu(poot::buffer<const float> x, poot::buffer<const float> y,
          poot::buffer<float> z) {
  zip(x, y, z, [](float a, float b) { return a / (1 + poot::exp(-a)) * b; });
}

KERNEL("gelu_tanh")
my_gelu(poot::buffer<const float> x, poot::buffer<float> y) {
  map(x, y, [](float v) {
    float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1 + poot::tanh(inner));
  });
}

KERNEL("select(gt(x, 0), x, mul(0.1, x))")
leaky_relu(poot::buffer<const float> x, poot::buffer<float> y) {
  map(x, y, [](float v) { return v > 0 ? v : 0.1f * v; });
}

KERNEL("sub")
my_sub(poot::buffer<const float> x, poot::buffer<const float> y,
       poot::buffer<float> z) {
  zip(x, y, z, [](float a, float b) { return a - b; });
}

KERNEL("exp(neg(x))")
my_decay(poot::buffer<const float> x, poot::buffer<float> y) {
  map(x, y, [](float v) { return poot::exp(-v); });
}

// Another kernel for other types.
KERNEL("sub")
my_sub_i32(poot::buffer<const int32_t> x, poot::buffer<const int32_t> y,
           poot::buffer<int32_t> z) {
  zip(x, y, z, [](int32_t a, int32_t b) { return a - b; });
}

KERNEL("softmax")
my_softmax(poot::buffer<const float> x, poot::buffer<float> y) {
  int32_t row = poot::linear_workgroup(), t = int32_t(poot::local_id());
  if (row >= poot::rows || t != 0)
    return;
  float largest = poot::load(x, row, 0), sum = 0;
  for (int32_t i = 1; i < poot::length; ++i)
    largest = poot::max(largest, poot::load(x, row, i));
  for (int32_t i = 0; i < poot::length; ++i)
    sum += poot::exp(poot::load(x, row, i) - largest);
  for (int32_t i = 0; i < poot::length; ++i)
    poot::store(y, row, i, poot::exp(poot::load(x, row, i) - largest) / sum);
}

KERNEL("rms_norm(x, scale)")
my_norm(poot::buffer<const float> x, poot::buffer<const float> scale,
        poot::buffer<float> y) {
  int32_t row = poot::linear_workgroup(), t = int32_t(poot::local_id());
  if (row >= poot::rows)
    return;
  float squares = 0;
  for (int32_t i = 0; i < poot::length; ++i)
    squares += poot::load(x, row, i) * poot::load(x, row, i);
  float root = poot::rsqrt(squares / float(poot::length) + poot::epsilon);
  for (int32_t i = t; i < poot::length; i += 64)
    poot::store(y, row, i, poot::load(x, row, i) * root * poot::load(scale, i));
}
