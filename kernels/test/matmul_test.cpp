// Matrix products against sums in f64, one odd extent at a time.

#include "../lib/matmul.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(batches),    POOT_TEST_SPEC(rows),
          POOT_TEST_SPEC(columns),    POOT_TEST_SPEC(depth),
          POOT_TEST_SPEC(block_rows), POOT_TEST_SPEC(block_columns),
          POOT_TEST_SPEC(steps),      POOT_TEST_SPEC(right_transposed),
          POOT_TEST_SPEC(experts)};
}

namespace {

struct Case {
  int32_t batches, rows, columns, depth;
};

std::vector<Case> cases(int32_t multipleOf) {
  std::vector<Case> result = {{1, 5, 6, 8}, {3, 4, 9, 12}};
  for (int32_t extent : oddExtents) {
    result.push_back({1, extent, 7, 8});
    result.push_back({2, 6, extent, 8});
    result.push_back({1, 5, 6, extent});
  }
  for (Case &c : result)
    c.depth = (c.depth + multipleOf - 1) / multipleOf * multipleOf;
  return result;
}

void specialize(const Case &c) {
  batches = c.batches;
  rows = c.rows;
  columns = c.columns;
  depth = c.depth;
}

/// left times right, of which element (k, column) is at(k, column).
template <class T, class At>
std::vector<double> reference(const Case &c, const std::vector<T> &left,
                              At right) {
  std::vector<double> result;
  for (int32_t b = 0; b < c.batches; ++b)
    for (int32_t r = 0; r < c.rows; ++r)
      for (int32_t n = 0; n < c.columns; ++n) {
        double sum = 0;
        for (int32_t k = 0; k < c.depth; ++k)
          sum += static_cast<double>(left[(b * c.rows + r) * c.depth + k]) *
                 static_cast<double>(right(b, k, n));
        result.push_back(sum);
      }
  return result;
}

template <class Acc>
void testMatmul(const std::string &name, double scale, double tolerance) {
  Random random(1);
  for (const Case &c : cases(1)) {
    specialize(c);
    auto left = random.vector<Acc>(c.batches * c.rows * c.depth, scale);
    auto right = random.vector<Acc>(c.batches * c.depth * c.columns, scale);
    auto expected = reference(c, left, [&](int b, int k, int n) {
      return right[(b * c.depth + k) * c.columns + n];
    });
    for (auto [down, across, unrolled] :
         {std::array{1, 1, 1}, {4, 2, 4}, {8, 4, 1}, {3, 8, 2}}) {
      block_rows = down;
      block_columns = across;
      steps = unrolled;
      std::vector<Acc> result(c.batches * c.rows * c.columns);
      run(invocations(name, int64_t(c.batches) * divide_up(c.rows, down) *
                                divide_up(c.columns, across)),
          matmul<Acc>, in(left), in(right), out(result));
      expectNear(result, expected, tolerance);
    }
  }
}

TEST(Matmul, F32) { testMatmul<float>("matmul_f32", 1, 1e-5); }
TEST(Matmul, F64) { testMatmul<double>("matmul_f64", 1, 1e-14); }
TEST(Matmul, I32) { testMatmul<int32_t>("matmul_i32", 1000, 0); }
TEST(Matmul, I64) { testMatmul<int64_t>("matmul_i64", 100000, 0); }

TEST(Matmul, Wide) {
  Random random(2);
  for (const Case &c : cases(4)) {
    specialize(c);
    auto left = random.vector<float>(c.batches * c.rows * c.depth);
    auto right = random.vector<float>(c.batches * c.depth * c.columns);
    auto expected = reference(c, left, [&](int b, int k, int n) {
      return right[(b * c.columns + n) * c.depth + k];
    });
    for (auto [down, across] : {std::array{1, 1}, {8, 4}, {3, 2}}) {
      block_rows = down;
      block_columns = across;
      std::vector<float> result(c.batches * c.rows * c.columns);
      run(invocations("matmul_wide", int64_t(c.batches) *
                                         divide_up(c.rows, down) *
                                         divide_up(c.columns, across)),
          matmul_wide, in<4>(left), in<4>(right), out(result));
      expectNear(result, expected, 1e-5);
    }
  }
}

TEST(Matmul, IndexedClampsExperts) {
  Random random(3);
  experts = 4;
  for (Case c : cases(1)) {
    c.batches = 1;
    specialize(c);
    auto left = random.vector<float>(c.rows * c.depth);
    auto right = random.vector<float>(experts * c.depth * c.columns);
    std::vector<int32_t> indices(c.rows);
    for (int32_t &index : indices)
      index = static_cast<int32_t>(random.bits() % 8) - 2;
    std::vector<double> expected;
    for (int32_t r = 0; r < c.rows; ++r)
      for (int32_t n = 0; n < c.columns; ++n) {
        int32_t e = std::clamp(indices[r], 0, experts - 1);
        double sum = 0;
        for (int32_t k = 0; k < c.depth; ++k)
          sum += double(left[r * c.depth + k]) *
                 right[(e * c.depth + k) * c.columns + n];
        expected.push_back(sum);
      }
    block_columns = 4;
    std::vector<float> result(c.rows * c.columns);
    run(invocations("matmul_indexed_f32",
                    int64_t(c.rows) * divide_up(c.columns, 4)),
        matmul_indexed<float>, in(left), in(right), in(indices), out(result));
    expectNear(result, expected, 1e-5);
  }
}

TEST(Matmul, Tiled) {
  Random random(4);
  for (const Case &c : cases(1)) {
    specialize(c);
    auto left = random.vector<float>(c.batches * c.rows * c.depth);
    auto right = random.vector<float>(c.batches * c.depth * c.columns);
    auto expected = reference(c, left, [&](int b, int k, int n) {
      return right[(b * c.depth + k) * c.columns + n];
    });
    std::vector<float> result(c.batches * c.rows * c.columns);
    run({"matmul_tiled",
         int64_t(c.batches) * divide_up(c.rows, 64) * divide_up(c.columns, 64),
         256},
        matmul_tiled, in(left), in(right), out(result));
    expectNear(result, expected, 1e-5);
  }
}

template <int LANES> void testFragments() {
  Random random(5);
  // Every lane does a fragment's arithmetic on the host: a few cases.
  for (const Case &c : {Case{1, 65, 20, 36}, {2, 3, 68, 4}, {1, 17, 4, 100}}) {
    specialize(c);
    auto left = random.vector<f16>(c.batches * c.rows * c.depth);
    auto right = random.vector<f16>(c.batches * c.depth * c.columns);
    for (bool transposed : {false, true}) {
      right_transposed = transposed;
      auto expected = reference(c, left, [&](int b, int k, int n) {
        return transposed ? right[(b * c.columns + n) * c.depth + k]
                          : right[(b * c.depth + k) * c.columns + n];
      });
      std::vector<float> result(c.batches * c.rows * c.columns);
      run({"matmul_fragment_" + std::to_string(LANES),
           int64_t(c.batches) * divide_up(c.rows, 64) *
               divide_up(c.columns, 64),
           128, LANES, true},
          matmul_fragment<LANES>, in<4>(left), in<4>(right), out(result));
      expectNear(result, expected, 1e-5);
    }
  }
}

TEST(Matmul, FragmentsOf8Lanes) { testFragments<8>(); }
TEST(Matmul, FragmentsOf32Lanes) { testFragments<32>(); }

} // namespace
