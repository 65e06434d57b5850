// What the tests of library kernels share: random numbers, comparisons with a
// reference in f64, and `run`, which launches a kernel on the CPU and, in the
// program that is built with the compiler, on devices as well.
//
// A test includes the source of a family: its specialization constants are
// variables there, which a test sets as a compiler would.

#ifndef POOT_KERNELS_TEST_LIBRARY_TEST_H
#define POOT_KERNELS_TEST_LIBRARY_TEST_H

#include "poot/host.h"
#include "poot/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
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

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The value of a specialization constant, by its name.
struct Spec {
  std::string name;
  double value;
};
#define POOT_TEST_SPEC(NAME)                                                   \
  poot::test::Spec { #NAME, static_cast<double>(NAME) }

/// The constants of the family, as they are set now. A test defines it.
std::vector<Spec> currentSpecs();

enum class Scalar { Int, Float, Double };

/// An argument that is a buffer.
template <class T> struct Arg {
  T *data;
  size_t count;
  Scalar scalar;
  operator buffer<T>() const { return {data, count}; }
};
template <class T> Scalar scalarOf() {
  return std::is_same_v<T, float>    ? Scalar::Float
         : std::is_same_v<T, double> ? Scalar::Double
                                     : Scalar::Int;
}
template <class T> Arg<const T> in(const std::vector<T> &values) {
  return {values.data(), values.size(), scalarOf<T>()};
}
template <class T> Arg<T> out(std::vector<T> &values) {
  return {values.data(), values.size(), scalarOf<T>()};
}
/// N elements as one vector.
template <int N, class T>
Arg<const vec<T, N>> in(const std::vector<T> &values) {
  return {reinterpret_cast<const vec<T, N> *>(values.data()), values.size() / N,
          scalarOf<T>()};
}
template <int N, class T> Arg<vec<T, N>> out(std::vector<T> &values) {
  return {reinterpret_cast<vec<T, N> *>(values.data()), values.size() / N,
          scalarOf<T>()};
}

/// A launch for a device: what the CPU's was, with the memory from before it.
struct DeviceLaunch {
  struct Memory {
    Scalar scalar;
    std::vector<unsigned char> before;
    const unsigned char *after; // what the CPU wrote; null if only read
  };
  std::string kernel;
  std::vector<Spec> specs;
  host::extent3 grid;
  std::vector<Memory> buffers;
  std::vector<uint32_t> metadata;
  /// What the grid is made for: subgroups of this size, or smaller ones unless
  /// the kernel counts on the size.
  uint32_t subgroupSize;
  bool isExactSubgroup;
  /// Within this of what the CPU computed, relative to the larger of it and 1.
  double tolerance;
};
/// Set in the program with devices.
inline void (*runOnDevices)(const DeviceLaunch &) = nullptr;

/// A kernel's name, and how many workgroups of which SIZE.
struct Grid {
  std::string kernel;
  int64_t workgroups;
  uint32_t size = 64;
  uint32_t subgroupSize = 32;
  bool isExactSubgroup = false;
  double tolerance = 1e-4;
};
/// At least COUNT invocations.
inline Grid invocations(const std::string &kernel, int64_t count,
                        uint32_t size = 64) {
  return {kernel, (count + size - 1) / size, size};
}

inline void capture(DeviceLaunch &launch, int32_t value) {
  launch.metadata.push_back(static_cast<uint32_t>(value));
}
template <class T> void capture(DeviceLaunch &launch, const Arg<T> &argument) {
  auto *bytes = reinterpret_cast<const unsigned char *>(argument.data);
  launch.buffers.push_back(
      {argument.scalar,
       std::vector<unsigned char>(bytes, bytes + argument.count * sizeof(T)),
       std::is_const_v<T> ? nullptr : bytes});
}

/// Runs KERNEL along x, in two rows of the grid where there are many
/// workgroups, as a compiler would beyond a device's limit.
template <class... P, class... A>
void run(const Grid &grid, void (*kernel)(P...), const A &...arguments) {
  uint32_t across = static_cast<uint32_t>(grid.workgroups);
  host::extent3 extent = {across, 1, 1};
  if (across > 4)
    extent = {(across + 1) / 2, 2, 1};
  DeviceLaunch launch;
  if (runOnDevices) {
    launch.kernel = grid.kernel;
    launch.specs = currentSpecs();
    launch.grid = extent;
    launch.subgroupSize = grid.subgroupSize;
    launch.isExactSubgroup = grid.isExactSubgroup;
    launch.tolerance = grid.tolerance;
    (capture(launch, arguments), ...);
  }
  host::options options;
  options.subgroup_size = grid.subgroupSize;
  host::result result = host::launch(
      extent, {grid.size, 1, 1}, [&] { kernel(arguments...); }, options);
  ASSERT_TRUE(result) << grid.kernel << ": " << result.error;
  if (runOnDevices)
    runOnDevices(launch);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

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
