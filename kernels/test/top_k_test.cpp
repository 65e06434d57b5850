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

template <class T> void testTopK(const std::string &type) {
  Random random(1);
  // Elements that aren't among the largest.
  int32_t others = 0;
  auto operations = [&] {
    length = count + others;
    return int64_t(rows) * length * count;
  };
  sweep({{"rows", rows, 3}, {"others", others, 150}, {"count", count, 5}},
        operations, [&] {
          length = count + others;
          auto values = random.vector<T>(rows * length, 50);
          for (T &value : values)
            value = static_cast<T>(static_cast<int>(value)); // many are equal
          if constexpr (!std::is_integral_v<T>)
            for (int i = 0; i < rows * length; i += 7) {
              const T special[] = {T(-0.0), T(0.0), T(INFINITY), T(-INFINITY),
                                   T(NAN)};
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
        });
}

TEST(TopK, F32) { testTopK<float>("f32"); }
TEST(TopK, F64) { testTopK<double>("f64"); }
TEST(TopK, I32) { testTopK<int32_t>("i32"); }
TEST(TopK, I64) { testTopK<int64_t>("i64"); }

} // namespace
