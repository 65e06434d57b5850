// Reductions, scans, softmax and norms against f64, with rows of odd length.

#include "../lib/rows.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(length),
          POOT_TEST_SPEC(exclusive), POOT_TEST_SPEC(epsilon)};
}

namespace {

template <class Test> void forEachShape(Test test) {
  for (int32_t extent : {1, 3, 17, 63, 65, 300}) {
    rows = 3;
    length = extent;
    test();
  }
  for (int32_t extent : {1, 17, 65}) {
    rows = extent;
    length = 9;
    test();
  }
}

Grid lane(const std::string &name) { return invocations(name, rows); }
Grid group(const std::string &name, uint32_t lanes) {
  return {name, rows, 128, lanes};
}
constexpr uint32_t subgroupSizes[] = {4, 32, 128};

template <class T>
void testReductions(const std::string &type, double scale, double tolerance) {
  Random random(1);
  forEachShape([&] {
    auto values = random.vector<T>(rows * length, scale);
    std::vector<double> sums(rows), prefixes, before;
    for (int32_t i = 0; i < rows * length; ++i) {
      before.push_back(sums[i / length]);
      sums[i / length] += static_cast<double>(values[i]);
      prefixes.push_back(sums[i / length]);
    }
    std::vector<T> result(rows), scanned(rows * length);
    run(lane("row_reduce_lane_" + type), row_reduce_lane<T>, in(values),
        out(result));
    expectNear(result, sums, tolerance);
    result.assign(rows, T(99));
    run(group("row_reduce_group_" + type, 32), row_reduce_group<T>, in(values),
        out(result));
    expectNear(result, sums, tolerance);
    for (bool isExclusive : {false, true}) {
      exclusive = isExclusive;
      run(group("row_scan_" + type, 32), row_scan<T>, in(values), out(scanned));
      expectNear(scanned, isExclusive ? before : prefixes, tolerance);
    }
  });
}

TEST(Rows, ReductionsF32) { testReductions<float>("f32", 1, 1e-5); }
TEST(Rows, ReductionsF64) { testReductions<double>("f64", 1, 1e-13); }
TEST(Rows, ReductionsI32) { testReductions<int32_t>("i32", 1e6, 0); }
TEST(Rows, ReductionsI64) { testReductions<int64_t>("i64", 1e12, 0); }

TEST(Rows, Softmax) {
  Random random(2);
  forEachShape([&] {
    auto values = random.vector<float>(rows * length, 20);
    std::vector<double> expected;
    for (int32_t r = 0; r < rows; ++r) {
      double largest = -INFINITY, sum = 0;
      for (int32_t i = 0; i < length; ++i)
        largest = std::max<double>(largest, values[r * length + i]);
      for (int32_t i = 0; i < length; ++i)
        sum += std::exp(values[r * length + i] - largest);
      for (int32_t i = 0; i < length; ++i)
        expected.push_back(std::exp(values[r * length + i] - largest) / sum);
    }
    std::vector<float> result(rows * length);
    run(lane("softmax_lane"), softmax_lane, in(values), out(result));
    expectNear(result, expected, 1e-6);
    for (uint32_t lanes : subgroupSizes) {
      result.assign(rows * length, 99);
      run(group("softmax_group", lanes), softmax_group, in(values),
          out(result));
      expectNear(result, expected, 1e-6);
    }
  });
}

TEST(Rows, Norms) {
  Random random(3);
  epsilon = 1e-3f;
  forEachShape([&] {
    auto values = random.vector<float>(rows * length, 3);
    auto weights = random.vector<float>(length);
    auto biases = random.vector<float>(length);
    std::vector<double> rms, layer;
    for (int32_t r = 0; r < rows; ++r) {
      const float *row = &values[r * length];
      double squares = 0, mean = 0, variance = 0;
      for (int32_t i = 0; i < length; ++i) {
        squares += double(row[i]) * row[i] / length;
        mean += double(row[i]) / length;
      }
      for (int32_t i = 0; i < length; ++i)
        variance += (row[i] - mean) * (row[i] - mean) / length;
      for (int32_t i = 0; i < length; ++i) {
        rms.push_back(row[i] / std::sqrt(squares + epsilon) * weights[i]);
        layer.push_back((row[i] - mean) / std::sqrt(variance + epsilon) *
                            weights[i] +
                        biases[i]);
      }
    }
    std::vector<float> result(rows * length);
    run(lane("rms_norm_lane"), rms_norm_lane, in(values), in(weights),
        out(result));
    expectNear(result, rms, 1e-5);
    run(lane("layer_norm_lane"), layer_norm_lane, in(values), in(weights),
        in(biases), out(result));
    expectNear(result, layer, 1e-5);
    for (uint32_t lanes : subgroupSizes) {
      result.assign(rows * length, 99);
      run(group("rms_norm_group", lanes), rms_norm_group, in(values),
          in(weights), out(result));
      expectNear(result, rms, 1e-5);
      run(group("layer_norm_group", lanes), layer_norm_group, in(values),
          in(weights), in(biases), out(result));
      expectNear(result, layer, 1e-5);
    }
  });
}

} // namespace
