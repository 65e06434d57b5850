// Products with weights that aren't packed against sums in higher precision.

#include "../lib/matvec.cpp"

#include "library_test.h"

#include "poot/weights/half.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(columns), POOT_TEST_SPEC(depth),
          POOT_TEST_SPEC(block_rows), POOT_TEST_SPEC(block_columns)};
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
template <> struct Stored<bf16_words> {
  std::vector<uint32_t> memory;
  bool isUpper = false;
  float put(float value) {
    uint32_t bits = weights::f32ToBf16(value);
    if (isUpper)
      memory.back() |= bits << 16;
    else
      memory.push_back(bits);
    isUpper = !isUpper;
    return weights::bf16ToF32(static_cast<uint16_t>(bits));
  }
  auto argument() const { return in<2>(memory); }
};

int64_t operations() { return int64_t(rows) * columns * depth; }

template <class Weights> void testMatvec(const std::string &name) {
  Random random(1);
  sweep({{"rows", rows, 3},
         {"columns", columns, 3},
         {"depth", depth, 20, 4},
         {"block_rows", block_rows, 2, 1, 8},
         {"block_columns", block_columns, 2, 1, 8}},
        operations, [&] {
          auto activations = random.operands<float>(rows * depth, depth);
          Stored<Weights> stored[2];
          std::vector<float> values[2];
          for (int w = 0; w < 2; ++w)
            for (float value : random.operands<float>(columns * depth, depth))
              values[w].push_back(stored[w].put(value));
          std::vector<Wanted> wanted, pairs;
          for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c)
              for (int w = 0; w < 2; ++w) {
                Sum<float> sum;
                for (int i = 0; i < depth; ++i)
                  sum.add(activations[r * depth + i], values[w][c * depth + i]);
                pairs.push_back(sum.wanted());
                if (w == 0)
                  wanted.push_back(sum.wanted());
              }
          int64_t work = int64_t(divide_up(rows, block_rows)) *
                         divide_up(columns, block_columns);
          run(invocations("matvec_lane_" + name, work), matvec_lane<Weights>,
              in<4>(activations), stored[0].argument(), out<float>(wanted));
          run(invocations("matvec_gated_lane_" + name, work),
              matvec_gated_lane<Weights>, in<4>(activations),
              stored[0].argument(), stored[1].argument(), out<float>(pairs));
          for (uint32_t lanes : subgroupSizes(operations())) {
            int64_t groups = divide_up(work, std::max(64 / lanes, 1u));
            run({"matvec_subgroup_" + name, groups, 64, lanes},
                matvec_subgroup<Weights>, in<4>(activations),
                stored[0].argument(), out<float>(wanted));
            run({"matvec_gated_subgroup_" + name, groups, 64, lanes},
                matvec_gated_subgroup<Weights>, in<4>(activations),
                stored[0].argument(), stored[1].argument(), out<float>(pairs));
          }
        });
}

TEST(Matvec, F32) { testMatvec<f32_weights>("f32_weights"); }
TEST(Matvec, F16) { testMatvec<f16_weights>("f16_weights"); }
TEST(Matvec, Bf16Words) { testMatvec<bf16_words>("bf16_words"); }

/// Halves of every size are widened by integers: subnormal ones, too.
template <class Weights> void testSmallWeights(const std::string &name) {
  Random random(2);
  rows = columns = block_rows = block_columns = 1;
  depth = 256;
  auto activations = random.vector<float>(depth);
  Stored<Weights> stored;
  Sum<float> sum;
  for (int i = 0; i < depth; ++i)
    sum.add(activations[i], stored.put(static_cast<float>(random() * 1e-6)));
  std::vector<Wanted> wanted = {sum.wanted()};
  run(invocations("matvec_lane_" + name, 1), matvec_lane<Weights>,
      in<4>(activations), stored.argument(), out<float>(wanted));
}

TEST(Matvec, SmallF16) { testSmallWeights<f16_weights>("f16_weights"); }
TEST(Matvec, SmallBf16Words) { testSmallWeights<bf16_words>("bf16_words"); }

} // namespace
