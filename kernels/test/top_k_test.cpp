// The largest elements against a stable sort, with equal elements, zeros of
// both signs, infinities and NaNs among them.

#include "../lib/top_k.cpp"

#include "library_test.h"

#include <algorithm>
#include <numeric>

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(length), POOT_TEST_SPEC(count)};
}

namespace {

/// Rows and extents are those that are set.
template <class T> void testRows(const std::string &type, Random &random) {
  std::vector<T> values;
  for (int i = 0; i < rows * length; ++i) {
    // Many are equal, in every other row most are zero.
    double scale = i / length % 2 ? 1.5 : 50;
    values.push_back(static_cast<T>(static_cast<int>(random() * scale)));
  }
  if constexpr (!std::is_integral_v<T>)
    for (int i = 0; i < rows * length; i += 7) {
      const T special[] = {T(-0.0), T(0.0), T(INFINITY), T(-INFINITY), T(NAN)};
      values[i] = special[random.bits() % 5];
    }
  std::vector<T> largest;
  std::vector<int32_t> places;
  for (int32_t r = 0; r < rows; ++r) {
    std::vector<int32_t> order(length);
    std::iota(order.begin(), order.end(), 0);
    auto larger = [&](int32_t a, int32_t b) {
      T v = values[r * length + a], w = values[r * length + b];
      if (v != v || w != w)
        return v != v && w != w ? a < b : v != v;
      return v == w ? a < b : v > w;
    };
    std::sort(order.begin(), order.end(), larger);
    for (int32_t i = 0; i < count; ++i) {
      places.push_back(order[i]);
      largest.push_back(values[r * length + order[i]]);
    }
  }
  auto wanted = exactly(largest), wantedPlaces = exactly(places);
  run({"arg_top_k_" + type, rows, 128}, arg_top_k<T>, in(values),
      out<T>(wanted), out<int32_t>(wantedPlaces));
}

template <class T> void testTopK(const std::string &type) {
  Random random(1);
  // Elements that aren't among the largest.
  int32_t others = 0;
  auto setLength = [&] { length = count + others; };
  sweep(
      {{"rows", rows, 3}, {"others", others, 150}, {"count", count, 5}},
      [&] {
        setLength();
        return int64_t(rows) * length * count;
      },
      [&] {
        setLength();
        testRows<T>(type, random);
      });
}

TEST(TopK, F32) { testTopK<float>("f32"); }
TEST(TopK, F64) { testTopK<double>("f64"); }
TEST(TopK, I32) { testTopK<int32_t>("i32"); }
TEST(TopK, I64) { testTopK<int64_t>("i64"); }

/// As of a large vocabulary: lavapipe ended the loops early.
TEST(TopK, ManyOfManyElements) {
  Random random(2);
  rows = 1;
  length = 131072;
  count = 65;
  testRows<float>("f32", random);
}

} // namespace
