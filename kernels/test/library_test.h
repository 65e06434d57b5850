// What the tests of library kernels share: sweeps over shapes, random numbers,
// what a result must be, and `run`, which launches a kernel on the CPU and, in
// the program that is built with the compiler, on devices as well.
//
// A test includes the source of a family: its specialization constants are
// variables there, which a test sets as a compiler would. Expected values come
// from loops in the test that share no code with the kernels. How near a result
// must be, and why, is in docs/tolerances.md.

#ifndef POOT_KERNELS_TEST_LIBRARY_TEST_H
#define POOT_KERNELS_TEST_LIBRARY_TEST_H

#include "poot/host.h"
#include "poot/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace poot::test {

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

/// Whether POOT_SWEEP=full asks for every case on every device. Otherwise a run
/// takes the share of them that is worth its time each day.
inline bool isFullSweep() {
  static const bool full = [] {
    const char *value = std::getenv("POOT_SWEEP");
    return value && std::string(value) == "full";
  }();
  return full;
}

/// Whether a sweep is under way, of whose launches not all are made each day.
inline bool isSweeping = false;

/// Extents around the sizes that kernels work in.
inline constexpr int32_t oddExtents[] = {1, 3, 17, 63, 65, 4097};

/// What a sweep changes: a specialization constant, or a variable of the test.
struct Extent {
  const char *name;
  int32_t &value;
  int32_t base;
  /// What the kernel takes: multiples of STEP up to MOST.
  int32_t step = 1, most = std::numeric_limits<int32_t>::max();
};

/// Calls TEST with every extent at its base, where they are left in the end,
/// and with one at a time at each of the odd extents, or at the next one that
/// the kernel takes. OPERATIONS gives the products or elements of a case; those
/// with too many are left out.
template <class Operations, class Test>
void sweep(const std::vector<Extent> &extents, Operations operations,
           Test test) {
  const int64_t most = isFullSweep() ? 10'000'000 : 50'000;
  auto toBase = [&] {
    for (const Extent &extent : extents)
      extent.value = extent.base;
  };
  isSweeping = true;
  toBase();
  {
    SCOPED_TRACE("every extent at its base");
    test();
  }
  for (const Extent &extent : extents) {
    std::set<int32_t> done = {extent.base};
    for (int32_t odd : oddExtents) {
      toBase();
      extent.value = std::min(
          (odd + extent.step - 1) / extent.step * extent.step, extent.most);
      if (!done.insert(extent.value).second || operations() > most)
        continue;
      SCOPED_TRACE(std::string(extent.name) + " = " +
                   std::to_string(extent.value));
      test();
    }
  }
  toBase();
  isSweeping = false;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The largest relative error of one rounding; 0 for integers.
template <class T>
inline constexpr double rounding = std::is_same_v<T, float>    ? 0x1p-24
                                   : std::is_same_v<T, double> ? 0x1p-53
                                                               : 0;

/// Sums of more terms get operands of few bits, so that no order of adding them
/// rounds at all: a bound on the roundings of so many would hide a lost term.
inline constexpr int64_t mostRoundedTerms = 256;

class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  double operator()() {
    return std::uniform_real_distribution<double>(-1, 1)(engine);
  }
  uint32_t bits() { return engine(); }
  /// From LEAST to MOST.
  int32_t integer(int32_t least, int32_t most) {
    return std::uniform_int_distribution<int32_t>(least, most)(engine);
  }
  template <class T> std::vector<T> vector(size_t count, double scale = 1) {
    std::vector<T> result(count);
    for (T &value : result)
      value = static_cast<T>((*this)() * scale);
    return result;
  }
  /// Operands of sums of TERMS products: integers up to SCALE, floats up to 1.
  template <class T>
  std::vector<T> operands(size_t count, int64_t terms, double scale = 500) {
    if (std::is_integral_v<T>)
      return vector<T>(count, scale);
    if (terms <= mostRoundedTerms)
      return vector<T>(count);
    std::vector<T> result(count);
    for (T &value : result)
      value = static_cast<T>(integer(-16, 16) / 16.0);
    return result;
  }

private:
  std::mt19937 engine;
};

/// What an element must be: within BOUND of VALUE, or NaN where that is one.
struct Wanted {
  double value;
  double bound = 0;
};

/// A sum of products whose order and contraction are the kernel's.
template <class T> class Sum {
public:
  void add(double left, double right = 1) {
    value += static_cast<long double>(left) * right;
    magnitude += std::fabs(left * right);
    ++terms;
  }
  /// Each term goes through at most a rounding of its product and one of every
  /// sum. FURTHER is how many others it goes through.
  Wanted wanted(int further = 0) const {
    double roundings = static_cast<double>(terms + 1 + further);
    return {static_cast<double>(value),
            terms > mostRoundedTerms ? 0 : roundings * rounding<T> * magnitude};
  }

private:
  long double value = 0;
  double magnitude = 0;
  int64_t terms = 0;
};

/// Relative errors of f32 functions, as Vulkan allows them.
inline constexpr double ofDivision = 2.5 * 0x1p-23;
inline constexpr double ofRsqrt = 2 * 0x1p-23;
/// Of exp at a difference X, with the rounding of the difference.
inline double ofExp(double x) {
  return (3 + 2 * std::fabs(x)) * 0x1p-23 + std::fabs(x) * 0x1p-24;
}

/// Values that are exact.
template <class T> std::vector<Wanted> exactly(const std::vector<T> &values) {
  std::vector<Wanted> result;
  for (T value : values)
    result.push_back({static_cast<double>(value)});
  return result;
}

//===----------------------------------------------------------------------===//
// Arguments
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

/// Describes the first of the scalars at BYTES that isn't as wanted; nothing if
/// all are.
template <class T>
std::string findWrong(const unsigned char *bytes,
                      const std::vector<Wanted> &wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    double value = static_cast<double>(element);
    const auto &[exact, bound] = wanted[i];
    if (std::isnan(exact) ? std::isnan(value)
                          : value == exact || std::fabs(value - exact) <= bound)
      continue;
    std::ostringstream text;
    text.precision(std::numeric_limits<T>::max_digits10);
    text << "element " << i << " is " << value << ", not " << exact;
    if (bound != 0)
      text << " within " << bound;
    return text.str();
  }
  return {};
}

template <class T> struct ScalarOf {
  using type = T;
};
template <class T, int N>
struct ScalarOf<T __attribute__((ext_vector_type(N)))> {
  using type = T;
};

/// An argument that is a buffer.
template <class T> struct Arg {
  T *data;
  size_t count;
  /// Of what is written: the memory itself, and what its scalars must be then.
  std::shared_ptr<std::vector<unsigned char>> memory;
  const std::vector<Wanted> *wanted = nullptr;
  std::string (*findWrong)(const unsigned char *,
                           const std::vector<Wanted> &) = nullptr;
  operator buffer<T>() const { return {data, count}; }
};
template <class T> Arg<const T> in(const std::vector<T> &values) {
  return {values.data(), values.size()};
}
/// N elements as one vector.
template <int N, class T>
Arg<const vec<T, N>> in(const std::vector<T> &values) {
  return {reinterpret_cast<const vec<T, N> *>(values.data()),
          values.size() / N};
}
/// Written by the kernel alone. COMPARED is what it is compared as: uint32_t to
/// ask for equal bits.
template <class T, class Compared = typename ScalarOf<T>::type>
Arg<T> out(const std::vector<Wanted> &wanted) {
  // Floats are NaN until they are written, integers -1.
  auto memory = std::make_shared<std::vector<unsigned char>>(
      wanted.size() * sizeof(Compared), 0xff);
  return {reinterpret_cast<T *>(memory->data()), memory->size() / sizeof(T),
          memory, &wanted, findWrong<Compared>};
}
/// Holds VALUES before.
template <class T>
Arg<T> inout(const std::vector<T> &values, const std::vector<Wanted> &wanted) {
  Arg<T> result = out<T>(wanted);
  std::copy(values.begin(), values.end(), result.data);
  return result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A launch for a device: what the CPU's was, with the memory from before it.
struct DeviceLaunch {
  struct Memory {
    std::vector<unsigned char> before;
    const std::vector<Wanted> *wanted; // null if it is only read
    std::string (*findWrong)(const unsigned char *,
                             const std::vector<Wanted> &);
  };
  std::string kernel;
  std::vector<Spec> specs;
  host::extent3 grid;
  std::vector<Memory> buffers;
  std::vector<uint32_t> metadata;
  /// Lanes of the subgroups that the grid is made for; 0 if the kernel doesn't
  /// ask.
  uint32_t subgroupSize;
  int64_t turns; // see Grid
};
/// Set in the program with devices.
inline void (*runOnDevices)(const DeviceLaunch &) = nullptr;

/// How often each kernel was launched, by device: "cpu" is poot::host::launch.
inline std::map<std::string, std::map<std::string, unsigned>> &launchCounts() {
  static std::map<std::string, std::map<std::string, unsigned>> counts;
  return counts;
}

/// A kernel's name, and how many workgroups of which SIZE.
struct Grid {
  std::string kernel;
  int64_t workgroups;
  uint32_t size = 64;
  uint32_t subgroupSize = 0;
  /// One launch of so many is in the share that isn't by hand.
  unsigned every = 1;
  /// Turns that the loops of an invocation take in all, where there may be more
  /// than lavapipe takes.
  int64_t turns = 0;
};
/// The same for devices, on which compiling dominates.
inline constexpr unsigned deviceShare = 12;
/// At least COUNT invocations.
inline Grid invocations(const std::string &kernel, int64_t count,
                        uint32_t size = 64) {
  return {kernel, (count + size - 1) / size, size};
}
/// Subgroup sizes of SwiftShader, lavapipe and NVIDIA. In cases that aren't
/// large also AMD's and the largest one: on the CPU they take long.
inline std::vector<uint32_t> subgroupSizes(int64_t operations) {
  if (operations > 200'000)
    return {4, 8, 32};
  return {4, 8, 32, 64, 128};
}

inline void capture(DeviceLaunch &launch, int32_t value) {
  launch.metadata.push_back(static_cast<uint32_t>(value));
}
template <class T> void capture(DeviceLaunch &launch, const Arg<T> &argument) {
  auto *bytes = reinterpret_cast<const unsigned char *>(argument.data);
  launch.buffers.push_back({{bytes, bytes + argument.count * sizeof(T)},
                            argument.wanted,
                            argument.findWrong});
}

/// Whether a launch is in the share that isn't by hand: all outside of sweeps,
/// the kernel's first one, and after it one of EVERY, where each kernel begins
/// with another.
inline bool isInShare(const Grid &grid, unsigned number, unsigned every) {
  unsigned begin = 0;
  for (char c : grid.kernel)
    begin += static_cast<unsigned char>(c);
  return isFullSweep() || !isSweeping || number == 0 ||
         (begin + number) % every == 0;
}

/// Runs KERNEL along x, in two rows of the grid where there are many
/// workgroups, as a compiler would beyond a device's limit. Arguments are
/// int32_t and Args; what is written must be as wanted, on the CPU and on each
/// device.
template <class... P, class... A>
void run(const Grid &grid, void (*kernel)(P...), const A &...arguments) {
  static std::map<std::pair<std::string, uint32_t>, unsigned> numbers;
  unsigned number = numbers[{grid.kernel, grid.subgroupSize}]++;
  if (!isInShare(grid, number,
                 runOnDevices ? std::max(grid.every, deviceShare) : grid.every))
    return;
  uint32_t across = static_cast<uint32_t>(grid.workgroups);
  host::extent3 extent = {across, 1, 1};
  if (across > 4)
    extent = {(across + 1) / 2, 2, 1};
  DeviceLaunch launch = {grid.kernel, currentSpecs(),    extent,    {},
                         {},          grid.subgroupSize, grid.turns};
  (capture(launch, arguments), ...);
  host::options options;
  if (grid.subgroupSize)
    options.subgroup_size = grid.subgroupSize;
  ++launchCounts()[grid.kernel]["cpu"];
  host::result result = host::launch(
      extent, {grid.size, 1, 1}, [&] { kernel(arguments...); }, options);
  if (!result) {
    ADD_FAILURE() << grid.kernel << " on the CPU: " << result.error;
    return;
  }
  size_t place = 0;
  auto check = [&](const auto &argument) {
    if constexpr (!std::is_integral_v<std::decay_t<decltype(argument)>>) {
      if (argument.wanted) {
        std::string wrong =
            argument.findWrong(argument.memory->data(), *argument.wanted);
        if (!wrong.empty())
          ADD_FAILURE() << grid.kernel << " on the CPU, buffer " << place
                        << ": " << wrong;
      }
      ++place;
    }
  };
  (check(arguments), ...);
  if (runOnDevices)
    runOnDevices(launch);
}

} // namespace poot::test

#endif // POOT_KERNELS_TEST_LIBRARY_TEST_H
