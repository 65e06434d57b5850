// Reductions, scans, softmax and norms of rows against higher precision.

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
  sweep(
      {{"rows", rows, 3}, {"length", length, 300}},
      [] { return int64_t(rows) * length; }, test);
}

Grid lane(const std::string &name) { return invocations(name, rows); }
Grid group(const std::string &name, uint32_t lanes = 0) {
  return {name, rows, 128, lanes};
}

template <class T> void testReductions(const std::string &type) {
  Random random(1);
  forEachShape([&] {
    auto values = random.operands<T>(rows * length, length);
    std::vector<Wanted> sums, prefixes, before;
    for (int32_t r = 0; r < rows; ++r) {
      Sum<T> sum;
      for (int32_t i = 0; i < length; ++i) {
        before.push_back(sum.wanted());
        sum.add(static_cast<double>(values[r * length + i]));
        prefixes.push_back(sum.wanted());
      }
      sums.push_back(sum.wanted());
    }
    run(lane("row_reduce_lane_" + type), row_reduce_lane<T>, in(values),
        out<T>(sums));
    run(group("row_reduce_group_" + type), row_reduce_group<T>, in(values),
        out<T>(sums));
    for (bool isExclusive : {false, true}) {
      exclusive = isExclusive;
      run(group("row_scan_" + type), row_scan<T>, in(values),
          out<T>(isExclusive ? before : prefixes));
    }
  });
}

TEST(Rows, ReductionsF32) { testReductions<float>("f32"); }
TEST(Rows, ReductionsF64) { testReductions<double>("f64"); }
TEST(Rows, ReductionsI32) { testReductions<int32_t>("i32"); }
TEST(Rows, ReductionsI64) { testReductions<int64_t>("i64"); }

constexpr double u = rounding<float>;

/// Of the roundings of a sum of COUNT positive numbers, relative to the sum.
double roundingsOf(int32_t count) { return 2 * std::sqrt(count) * u; }

TEST(Rows, Softmax) {
  Random random(2);
  forEachShape([&] {
    // Of many elements none is so small that the sum could do without it.
    auto values =
        random.vector<float>(rows * length, length > mostRoundedTerms ? 2 : 20);
    std::vector<Wanted> wanted;
    for (int32_t r = 0; r < rows; ++r) {
      const float *row = &values[r * length];
      double largest = *std::max_element(row, row + length);
      double sum = 0, error = 0;
      for (int32_t i = 0; i < length; ++i) {
        sum += std::exp(row[i] - largest);
        error += std::exp(row[i] - largest) * ofExp(row[i] - largest);
      }
      for (int32_t i = 0; i < length; ++i) {
        double share = std::exp(row[i] - largest) / sum;
        double relative = ofExp(row[i] - largest) + error / sum +
                          roundingsOf(length) + ofDivision;
        wanted.push_back({share, share * relative});
      }
    }
    run(lane("softmax_lane"), softmax_lane, in(values), out<float>(wanted));
    for (uint32_t lanes : subgroupSizes(int64_t(rows) * length))
      run(group("softmax_group", lanes), softmax_group, in(values),
          out<float>(wanted));
  });
}

TEST(Rows, Norms) {
  Random random(3);
  epsilon = 1e-3f;
  forEachShape([&] {
    auto values = random.operands<float>(rows * length, length);
    auto weights = random.vector<float>(length);
    auto biases = random.vector<float>(length);
    std::vector<Wanted> rms, layer;
    for (int32_t r = 0; r < rows; ++r) {
      const float *row = &values[r * length];
      Sum<float> sum, squares;
      for (int32_t i = 0; i < length; ++i) {
        sum.add(row[i]);
        squares.add(row[i], row[i]);
      }
      // Sum, division, epsilon; a root halves relative errors.
      auto [square, squareError] = squares.wanted();
      double power = square / length + epsilon;
      double relative = squareError / length / power + ofDivision + u;
      relative = relative / 2 + ofRsqrt + 2 * u;
      for (int32_t i = 0; i < length; ++i) {
        double value = row[i] / std::sqrt(power) * weights[i];
        rms.push_back({value, std::fabs(value) * relative});
      }

      auto [total, totalError] = sum.wanted();
      double mean = total / length;
      double meanError = totalError / length + ofDivision * std::fabs(mean);
      double variance = 0, varianceError = 0;
      for (int32_t i = 0; i < length; ++i) {
        double v = row[i] - mean;
        variance += v * v / length;
        varianceError +=
            2 * std::fabs(v) * (meanError + u * std::fabs(v)) / length;
      }
      power = variance + epsilon;
      varianceError += variance * (roundingsOf(length) + u + ofDivision);
      relative = (varianceError / power + u) / 2 + ofRsqrt;
      for (int32_t i = 0; i < length; ++i) {
        double factor = weights[i] / std::sqrt(power);
        double value = (row[i] - mean) * factor;
        layer.push_back(
            {value + biases[i], meanError * std::fabs(factor) +
                                    std::fabs(value) * (relative + 4 * u) +
                                    u * std::fabs(biases[i])});
      }
    }
    run(lane("rms_norm_lane"), rms_norm_lane, in(values), in(weights),
        out<float>(rms));
    run(lane("layer_norm_lane"), layer_norm_lane, in(values), in(weights),
        in(biases), out<float>(layer));
    for (uint32_t lanes : subgroupSizes(int64_t(rows) * length)) {
      run(group("rms_norm_group", lanes), rms_norm_group, in(values),
          in(weights), out<float>(rms));
      run(group("layer_norm_group", lanes), layer_norm_group, in(values),
          in(weights), in(biases), out<float>(layer));
    }
  });
}

} // namespace
