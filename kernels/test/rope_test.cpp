// Rotations of both pairings.

#include "../lib/rope.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(heads), POOT_TEST_SPEC(head_dim),
          POOT_TEST_SPEC(rotary), POOT_TEST_SPEC(adjacent)};
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
    // A buffer isn't empty.
    cosines.push_back(0);
    sines.push_back(0);
  }
};

/// Element E of a head that begins at X: as it is, or a sum of two products.
Wanted rotated(const float *x, const Tables &tables, int32_t row, int32_t e) {
  if (e >= rotary)
    return {x[e]};
  int32_t half = rotary / 2;
  int32_t other = adjacent ? (e ^ 1) : e < half ? e + half : e - half;
  Sum<float> sum;
  sum.add(x[e], tables.cosines[row * rotary + e]);
  sum.add(x[other], tables.sines[row * rotary + e]);
  return sum.wanted();
}

/// Elements of a head that aren't rotated.
int32_t copied;

template <class Test> void forEachShape(Test test) {
  auto operations = [] {
    head_dim = rotary + copied;
    return int64_t(rows) * heads * head_dim;
  };
  auto withHeads = [&] {
    head_dim = rotary + copied;
    test();
  };
  for (bool isAdjacent : {false, true}) {
    adjacent = isAdjacent;
    sweep({{"rows", rows, 5},
           {"heads", heads, 3},
           {"rotary", rotary, 8, 2},
           {"copied", copied, 4, 2}},
          operations, withHeads);
    // All of a head is rotated, and nothing.
    copied = 0;
    withHeads();
    std::swap(copied, rotary);
    withHeads();
  }
}

TEST(Rope, RotatesPairs) {
  Random random(1);
  forEachShape([&] {
    auto values = random.vector<float>(rows * heads * head_dim);
    Tables tables(random);
    std::vector<Wanted> wanted;
    for (int32_t i = 0; i < rows * heads; ++i)
      for (int32_t e = 0; e < head_dim; ++e)
        wanted.push_back(rotated(&values[i * head_dim], tables, i / heads, e));
    run(invocations("rope", rows * heads * head_dim / 2), rope, in(values),
        in(tables.cosines), in(tables.sines), out<float>(wanted));
  });
}

} // namespace
