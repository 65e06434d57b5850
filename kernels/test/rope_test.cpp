// Rotations of both pairings against f64, and what reaches a cache.

#include "../lib/rope.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows),     POOT_TEST_SPEC(heads),
          POOT_TEST_SPEC(kv_heads), POOT_TEST_SPEC(head_dim),
          POOT_TEST_SPEC(rotary),   POOT_TEST_SPEC(adjacent)};
}

namespace {

struct Tables {
  std::vector<float> cosines, sines;

  explicit Tables(Random &random) {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t e = 0; e < rotary; ++e) {
        double angle = random() * 3;
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
  }
};

/// Element E of a head that begins at X.
double rotated(const float *x, const Tables &tables, int32_t row, int32_t e) {
  if (e >= rotary)
    return x[e];
  int32_t half = rotary / 2;
  int32_t other = adjacent ? (e ^ 1) : e < half ? e + half : e - half;
  return double(x[e]) * tables.cosines[row * rotary + e] +
         double(x[other]) * tables.sines[row * rotary + e];
}

template <class Test> void forEachShape(Test test) {
  for (bool isAdjacent : {false, true})
    for (auto [r, h, d, part] : {std::array{1, 3, 64, 64},
                                 {3, 1, 64, 32},
                                 {17, 3, 2, 2},
                                 {5, 2, 126, 126},
                                 {65, 1, 8, 0}}) {
      adjacent = isAdjacent;
      rows = r;
      heads = h;
      head_dim = d;
      rotary = part;
      test();
    }
}

TEST(Rope, RotatesPairs) {
  Random random(1);
  forEachShape([&] {
    auto values = random.vector<float>(rows * heads * head_dim);
    Tables tables(random);
    // A buffer isn't empty.
    tables.cosines.push_back(0);
    tables.sines.push_back(0);
    std::vector<double> expected;
    for (int32_t i = 0; i < rows * heads; ++i)
      for (int32_t e = 0; e < head_dim; ++e)
        expected.push_back(
            rotated(&values[i * head_dim], tables, i / heads, e));
    std::vector<float> result(values.size());
    run(invocations("rope", rows * heads * head_dim / 2), rope, in(values),
        in(tables.cosines), in(tables.sines), out(result));
    expectNear(result, expected, 1e-6);
  });
}

TEST(Rope, WritesTheCache) {
  Random random(2);
  forEachShape([&] {
    kv_heads = 2;
    int32_t all = heads + 2 * kv_heads, capacity = rows + 3;
    auto values = random.vector<float>(rows * all * head_dim);
    Tables tables(random);
    tables.cosines.push_back(0);
    tables.sines.push_back(0);
    // Slots from the end; one row is padding, one beyond the cache.
    std::vector<int32_t> slots;
    for (int32_t r = 0; r < rows; ++r)
      slots.push_back(r == 1 ? -1 : r == 2 ? capacity : capacity - 1 - r);
    std::vector<float> query(rows * heads * head_dim);
    std::vector<float> keys(capacity * kv_heads * head_dim, 7), cached = keys;
    std::vector<double> wantedQuery;
    std::vector<double> wantedKeys(keys.begin(), keys.end());
    std::vector<double> wantedValues = wantedKeys;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t h = 0; h < all; ++h)
        for (int32_t e = 0; e < head_dim; ++e) {
          const float *head = &values[(r * all + h) * head_dim];
          if (h < heads) {
            wantedQuery.push_back(rotated(head, tables, r, e));
            continue;
          }
          if (slots[r] < 0 || slots[r] >= capacity)
            continue;
          int32_t h2 = (h - heads) % kv_heads;
          int32_t at = (slots[r] * kv_heads + h2) * head_dim + e;
          if (h < heads + kv_heads)
            wantedKeys[at] = rotated(head, tables, r, e);
          else
            wantedValues[at] = head[e];
        }
    run(invocations("rope_cache", rows * all * head_dim / 2), rope_cache,
        in(values), in(tables.cosines), in(tables.sines), in(slots), out(query),
        out(keys), out(cached), capacity);
    expectNear(query, wantedQuery, 1e-6);
    expectNear(keys, wantedKeys, 1e-6);
    expectNear(cached, wantedValues, 1e-6);
  });
}

} // namespace
