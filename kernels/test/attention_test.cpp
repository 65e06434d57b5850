// Every form of attention against softmax in f64: groups of heads, several
// tokens, positions at odd places, padding, heads of unequal dimensions.

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

struct Case {
  int32_t rows, tokens, heads, kvHeads, keyDim, valueDim, capacity, block,
      splits;
  std::vector<int32_t> positions;
};

std::vector<double> reference(const Case &c, const std::vector<float> &query,
                              const std::vector<float> &keys,
                              const std::vector<float> &values) {
  std::vector<double> result;
  for (int32_t r = 0; r < c.rows; ++r)
    for (int32_t t = 0; t < c.tokens; ++t)
      for (int32_t h = 0; h < c.heads; ++h) {
        int32_t last =
            std::clamp(c.positions[r * c.tokens + t], 0, c.capacity - 1);
        int32_t g = h / (c.heads / c.kvHeads);
        std::vector<double> scores;
        double largest = -INFINITY, sum = 0;
        for (int32_t p = 0; p <= last; ++p) {
          double score = 0;
          for (int32_t e = 0; e < c.keyDim; ++e)
            score +=
                double(
                    query[((r * c.tokens + t) * c.heads + h) * c.keyDim + e]) *
                keys[((r * c.capacity + p) * c.kvHeads + g) * c.keyDim + e];
          scores.push_back(score * score_scale);
          largest = std::max(largest, scores.back());
        }
        for (double &score : scores)
          sum += score = std::exp(score - largest);
        for (int32_t e = 0; e < c.valueDim; ++e) {
          double value = 0;
          for (int32_t p = 0; p <= last; ++p)
            value +=
                scores[p] / sum *
                values[((r * c.capacity + p) * c.kvHeads + g) * c.valueDim + e];
          result.push_back(value);
        }
      }
  return result;
}

TEST(Attention, EveryForm) {
  Random random(1);
  score_scale = 0.7f;
  for (const Case &c :
       {Case{1, 1, 1, 1, 4, 4, 1, 1, 1, {0}},
        {1, 1, 9, 3, 64, 64, 65, 3, 2, {62}},
        {2, 1, 4, 1, 8, 132, 300, 4, 3, {299, 16}},
        {1,
         17,
         2,
         1,
         16,
         8,
         140,
         8,
         2,
         {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -1, 17, 139, 500}},
        {3, 3, 2, 2, 12, 4, 63, 5, 4, {0, 1, 2, 40, 41, 42, 60, 61, 62}}}) {
    rows = c.rows;
    tokens = c.tokens;
    heads = c.heads;
    kv_heads = c.kvHeads;
    head_dim = c.keyDim;
    value_dim = c.valueDim;
    block = c.block;
    splits = c.splits;
    auto query = random.vector<float>(rows * tokens * heads * head_dim, 2);
    auto keys = random.vector<float>(rows * c.capacity * kv_heads * head_dim);
    auto values =
        random.vector<float>(rows * c.capacity * kv_heads * value_dim);
    auto expected = reference(c, query, keys, values);
    int32_t queries = rows * tokens * heads;
    int32_t blocks = divide_up(tokens * (heads / kv_heads), block);
    int32_t span = divide_up(c.capacity, splits);
    std::vector<float> result(queries * value_dim);

    run(invocations("attention_lane", queries), attention_lane, in<4>(query),
        in<4>(keys), in<4>(values), in(c.positions), out(result), c.capacity);
    expectNear(result, expected, 1e-5);

    std::vector<float> parts(queries * splits * value_dim, NAN);
    std::vector<float> statistics(queries * splits * 2, NAN);
    auto combine = [&] {
      result.assign(result.size(), NAN);
      run(invocations("attention_combine", queries * value_dim),
          attention_combine, in(parts), in<2>(statistics), out(result));
      expectNear(result, expected, 1e-5);
    };
    run(invocations("attention_split_lane", queries * splits),
        attention_split_lane, in<4>(query), in<4>(keys), in<4>(values),
        in(c.positions), out<4>(parts), out<2>(statistics), c.capacity, span);
    combine();

    parts.assign(parts.size(), NAN);
    statistics.assign(statistics.size(), NAN);
    run({"attention_split_group", rows * kv_heads * blocks * splits, 128},
        attention_split_group, in<4>(query), in<4>(keys), in<4>(values),
        in(c.positions), out(parts), out<2>(statistics), c.capacity, span);
    combine();

    splits = 1;
    result.assign(result.size(), NAN);
    run({"attention_group", rows * kv_heads * blocks, 128}, attention_group,
        in<4>(query), in<4>(keys), in<4>(values), in(c.positions), out(result),
        c.capacity);
    expectNear(result, expected, 1e-5);
  }
}

} // namespace
