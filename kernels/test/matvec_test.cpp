// Products with weights that aren't packed against f64.

#include "../lib/matvec.cpp"

#include "library_test.h"

#include "poot/weights/half.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(columns), POOT_TEST_SPEC(depth),
          POOT_TEST_SPEC(block_rows)};
}

namespace {

/// Weights as an instance stores them, and their values.
template <class Weights> struct Stored;
template <> struct Stored<f32_weights> {
  std::vector<float> memory;
  float put(float value) {
    memory.push_back(value);
    return value;
  }
  auto argument() const { return in<4>(memory); }
};
template <> struct Stored<f16_weights> {
  std::vector<f16> memory;
  float put(float value) {
    memory.push_back(static_cast<f16>(value));
    return static_cast<float>(memory.back());
  }
  auto argument() const { return in<4>(memory); }
};
template <bool isBf16> struct StoredWords {
  std::vector<uint32_t> memory;
  bool isUpper = false;
  float put(float value) {
    uint32_t bits =
        isBf16 ? weights::f32ToBf16(value) : weights::f32ToF16(value);
    if (isUpper)
      memory.back() |= bits << 16;
    else
      memory.push_back(bits);
    isUpper = !isUpper;
    return isBf16 ? weights::bf16ToF32(static_cast<uint16_t>(bits))
                  : weights::f16ToF32(static_cast<uint16_t>(bits));
  }
  auto argument() const { return in<2>(memory); }
};
template <> struct Stored<f16_words> : StoredWords<false> {};
template <> struct Stored<bf16_words> : StoredWords<true> {};

template <class Weights> void testMatvec(const std::string &name) {
  Random random(1);
  for (auto [m, n, k, rowsAtOnce] : {std::array{1, 17, 64, 1},
                                     {3, 5, 4, 2},
                                     {1, 65, 68, 1},
                                     {17, 3, 36, 8},
                                     {8, 1, 256, 8},
                                     {5, 63, 12, 4}}) {
    rows = m;
    columns = n;
    depth = k;
    block_rows = rowsAtOnce;
    auto activations = random.vector<float>(m * k);
    Stored<Weights> stored[2];
    std::vector<float> values[2];
    for (int w = 0; w < 2; ++w)
      for (int i = 0; i < n * k; ++i)
        values[w].push_back(
            stored[w].put(static_cast<float>(random() * (i % 9 ? 1 : 1e-6))));
    std::vector<double> expected, pairs;
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < n; ++c)
        for (int w = 0; w < 2; ++w) {
          double sum = 0;
          for (int i = 0; i < k; ++i)
            sum += double(activations[r * k + i]) * values[w][c * k + i];
          pairs.push_back(sum);
          if (w == 0)
            expected.push_back(sum);
        }
    int64_t work = int64_t(divide_up(m, rowsAtOnce)) * n;
    std::vector<float> result(m * n), both(2 * m * n);
    run(invocations("matvec_lane_" + name, work), matvec_lane<Weights>,
        in<4>(activations), stored[0].argument(), out(result));
    expectNear(result, expected, 1e-5);
    run(invocations("matvec_gated_lane_" + name, work),
        matvec_gated_lane<Weights>, in<4>(activations), stored[0].argument(),
        stored[1].argument(), out(both));
    expectNear(both, pairs, 1e-5);
    for (uint32_t lanes : {4u, 8u, 32u}) {
      result.assign(m * n, NAN);
      both.assign(2 * m * n, NAN);
      int64_t groups = divide_up(work, 64 / lanes);
      run({"matvec_subgroup_" + name, groups, 64, lanes},
          matvec_subgroup<Weights>, in<4>(activations), stored[0].argument(),
          out(result));
      expectNear(result, expected, 1e-5);
      run({"matvec_gated_subgroup_" + name, groups, 64, lanes},
          matvec_gated_subgroup<Weights>, in<4>(activations),
          stored[0].argument(), stored[1].argument(), out(both));
      expectNear(both, pairs, 1e-5);
    }
  }
}

TEST(Matvec, F32) { testMatvec<f32_weights>("f32_weights"); }
TEST(Matvec, F16) { testMatvec<f16_weights>("f16_weights"); }
TEST(Matvec, F16Words) { testMatvec<f16_words>("f16_words"); }
TEST(Matvec, Bf16Words) { testMatvec<bf16_words>("bf16_words"); }

} // namespace
