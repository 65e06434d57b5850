// What the tests of library kernels share: random numbers, launches of so many
// invocations or workgroups, and comparisons with a reference in f64.
//
// A test includes the source of a family: its specialization constants are
// variables there, which a test sets as a compiler would.

#ifndef POOT_KERNELS_TEST_LIBRARY_TEST_H
#define POOT_KERNELS_TEST_LIBRARY_TEST_H

#include "poot/host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace poot::test {

/// Extents around the sizes that kernels work in.
inline constexpr int32_t oddExtents[] = {1, 3, 17, 63, 65};

class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  double operator()() {
    return std::uniform_real_distribution<double>(-1, 1)(engine);
  }
  uint32_t bits() { return engine(); }
  template <class T> std::vector<T> vector(size_t count, double scale = 1) {
    std::vector<T> result(count);
    for (T &value : result)
      value = static_cast<T>((*this)() * scale);
    return result;
  }

private:
  std::mt19937 engine;
};

/// Runs BODY in WORKGROUPS workgroups of SIZE along x, in two rows of the grid
/// where there are many, as a compiler would beyond a device's limit.
inline void launchWorkgroups(int64_t workgroups, uint32_t size,
                             const std::function<void()> &body,
                             uint32_t subgroupSize = 32) {
  uint32_t across = static_cast<uint32_t>(workgroups);
  host::extent3 grid = {across, 1, 1};
  if (across > 4)
    grid = {(across + 1) / 2, 2, 1};
  host::options options;
  options.subgroup_size = subgroupSize;
  host::result result = host::launch(grid, {size, 1, 1}, body, options);
  ASSERT_TRUE(result) << result.error;
}

/// The same with at least COUNT invocations.
inline void launchInvocations(int64_t count, uint32_t size,
                              const std::function<void()> &body) {
  launchWorkgroups((count + size - 1) / size, size, body);
}

/// Each of VALUES is within TOLERANCE of what EXPECTED has there, relative to
/// the larger of it and 1. Reports the first that isn't.
template <class T, class E>
void expectNear(const std::vector<T> &values, const std::vector<E> &expected,
                double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double value = static_cast<double>(values[i]);
    double wanted = static_cast<double>(expected[i]);
    double limit = tolerance * std::max(1.0, std::fabs(wanted));
    if (std::isnan(value) || std::fabs(value - wanted) > limit) {
      ADD_FAILURE() << "element " << i << " is " << value << ", not " << wanted;
      return;
    }
  }
}

} // namespace poot::test

#endif // POOT_KERNELS_TEST_LIBRARY_TEST_H
