// Every form of attention against softmax in higher precision: positions are
// anywhere, some before the cache (padding) or beyond it.

#include "../lib/attention.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows),       POOT_TEST_SPEC(tokens),
          POOT_TEST_SPEC(heads),      POOT_TEST_SPEC(kv_heads),
          POOT_TEST_SPEC(head_dim),   POOT_TEST_SPEC(value_dim),
          POOT_TEST_SPEC(block),      POOT_TEST_SPEC(splits),
          POOT_TEST_SPEC(score_scale)};
}

namespace {

/// Cache slots of a row, and heads that share keys.
int32_t capacity, sharing;
std::vector<int32_t> positions;

/// What positions of a query come to: sum of exp(score - largest), and the
/// values weighted by these.
struct Part {
  double largest = lowest, sum = 0;
  std::vector<double> values, magnitudes;
  /// Relative errors of the weights: of the scores before they are exponents,
  /// and of exponentials. Each maximum on the way multiplies by one more.
  double ofScores = 0, ofExponents = 0;
  int32_t terms = 0;

  double error() const {
    return ofScores + ofExponents + 2 * std::sqrt(terms) * rounding<float>;
  }
};

struct Tensors {
  std::vector<float> query, keys, values;

  explicit Tensors(Random &random)
      : query(random.vector<float>(rows * tokens * heads * head_dim, 2)),
        keys(random.vector<float>(rows * capacity * kv_heads * head_dim)),
        values(random.vector<float>(rows * capacity * kv_heads * value_dim)) {}

  /// Query head H of token T of row R at positions BEGIN up to END.
  Part attend(int32_t r, int32_t t, int32_t h, int32_t begin,
              int32_t end) const {
    Part part;
    part.values.resize(value_dim);
    part.magnitudes.resize(value_dim);
    std::vector<double> scores;
    int32_t g = h / sharing, maxima = 0;
    for (int32_t p = begin; p < end; ++p) {
      Sum<float> sum;
      for (int32_t e = 0; e < head_dim; ++e)
        sum.add(query[((r * tokens + t) * heads + h) * head_dim + e],
                keys[((r * capacity + p) * kv_heads + g) * head_dim + e]);
      auto [product, error] = sum.wanted(/*further=*/1);
      scores.push_back(product * score_scale);
      part.ofScores = std::max(part.ofScores, error * score_scale);
      maxima += scores.back() > part.largest;
      part.largest = std::max(part.largest, scores.back());
    }
    part.terms = static_cast<int32_t>(scores.size());
    for (int32_t p = begin; p < end; ++p) {
      double distance = scores[p - begin] - part.largest;
      double weight = std::exp(distance);
      // The distances of all maxima on the way add up to at most this one.
      part.ofExponents =
          std::max(part.ofExponents, ofExp(distance) + (maxima + 1) * ofExp(0));
      part.sum += weight;
      for (int32_t e = 0; e < value_dim; ++e) {
        double value =
            weight *
            values[((r * capacity + p) * kv_heads + g) * value_dim + e];
        part.values[e] += value;
        part.magnitudes[e] += std::fabs(value);
      }
    }
    return part;
  }
};

template <class Visitor> void forEachQuery(Visitor visitor) {
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t t = 0; t < tokens; ++t)
      for (int32_t h = 0; h < heads; ++h)
        visitor(r, t, h,
                std::clamp(positions[r * tokens + t], 0, capacity - 1) + 1);
}

void testForms(Random &random) {
  heads = kv_heads * sharing;
  positions.clear();
  for (int32_t i = 0; i < rows * tokens; ++i)
    positions.push_back(random.integer(-1, capacity));
  positions.back() = capacity - 1;
  Tensors tensors(random);
  std::vector<Wanted> wanted;
  forEachQuery([&](int32_t r, int32_t t, int32_t h, int32_t end) {
    Part part = tensors.attend(r, t, h, 0, end);
    for (int32_t e = 0; e < value_dim; ++e)
      wanted.push_back({part.values[e] / part.sum,
                        2 * part.error() * part.magnitudes[e] / part.sum});
  });
  // What splits come to, and the same as the kernel that joins them reads it.
  int32_t span = divide_up(capacity, splits);
  std::vector<Wanted> wantedParts, wantedStatistics;
  std::vector<float> parts, statistics;
  forEachQuery([&](int32_t r, int32_t t, int32_t h, int32_t end) {
    for (int32_t s = 0; s < splits; ++s) {
      Part part =
          tensors.attend(r, t, h, s * span, std::min(end, (s + 1) * span));
      // A maximum that is a little off makes all of its part larger or smaller.
      double error = part.error() + part.ofScores;
      for (int32_t e = 0; e < value_dim; ++e) {
        wantedParts.push_back({part.values[e], error * part.magnitudes[e]});
        parts.push_back(static_cast<float>(part.values[e]));
      }
      wantedStatistics.push_back({part.largest, part.ofScores});
      wantedStatistics.push_back({part.sum, error * part.sum});
      statistics.push_back(static_cast<float>(part.largest));
      statistics.push_back(static_cast<float>(part.sum));
    }
  });
  const auto &[query, keys, values] = tensors;
  int32_t queries = rows * tokens * heads;
  int32_t blocks = divide_up(tokens * sharing, block);
  run({"attention_split_group", int64_t(rows) * kv_heads * blocks * splits,
       128},
      attention_split_group, in<4>(query), in<4>(keys), in<4>(values),
      in(positions), out<float>(wantedParts),
      out<vec<float, 2>>(wantedStatistics), capacity, span);
  run(invocations("attention_combine", int64_t(queries) * value_dim),
      attention_combine, in(parts), in<2>(statistics), out<float>(wanted));
  splits = 1; // all positions at once
  run(invocations("attention_lane", queries), attention_lane, in<4>(query),
      in<4>(keys), in<4>(values), in(positions), out<float>(wanted), capacity);
  run({"attention_group", int64_t(rows) * kv_heads * blocks, 128},
      attention_group, in<4>(query), in<4>(keys), in<4>(values), in(positions),
      out<float>(wanted), capacity);
}

TEST(Attention, EveryForm) {
  Random random(1);
  score_scale = 0.7f;
  sweep(
      {{"rows", rows, 2},
       {"tokens", tokens, 3},
       {"kv_heads", kv_heads, 2},
       {"sharing", sharing, 3},
       {"head_dim", head_dim, 8, 4, 256},
       {"value_dim", value_dim, 12, 4, 256},
       {"capacity", capacity, 20},
       {"block", block, 2, 1, 8},
       {"splits", splits, 2}},
      [] {
        return int64_t(rows) * tokens * kv_heads * sharing *
               (int64_t(capacity) * (head_dim + value_dim) +
                int64_t(splits) * value_dim);
      },
      [&] { testForms(random); });
  // More positions than a workgroup has invocations.
  capacity = 300;
  testForms(random);
}

} // namespace
