//===- kernel.h - GPU kernels in C++ --------------------------------------===//
//
// What a kernel is written with: buffers, workgroup arrays, identifiers,
// barriers, atomics, subgroup operations, fragments, hooks, specialization
// constants and mathematics.
//
//   POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1)
//   void scale(poot::buffer<const float> x, poot::buffer<float> y,
//              uint32_t n, float factor) {
//     uint32_t i = poot::global_id();
//     if (i < n)
//       y[i] = x[i] * factor;
//   }
//
// pootc compiles such a function for GPUs; any clang compiles it for the CPU,
// where poot::host::launch (host.h) runs it. Here every builtin has the body
// that the CPU runs, and an annotation that tells pootc what it is; pootc never
// looks into annotated functions and classes. docs/kernel-language.md says what
// a kernel may do and what each builtin means on each target.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNEL_H
#define POOT_KERNEL_H

#include "poot/host_context.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if !defined(__clang__)
#error "poot/kernel.h needs clang: its vectors are clang's ext_vector_type"
#endif

/// Marks a function as a kernel. It returns void; its parameters are buffers,
/// scalars and structures of scalars. [[poot::kernel]] says the same to pootc.
#define POOT_KERNEL [[clang::annotate("poot.kernel")]]
/// The work-items of a workgroup in x, y and z: constant expressions, which may
/// depend on template arguments.
#define POOT_WORKGROUP_SIZE(X, Y, Z)                                           \
  [[clang::annotate("poot.workgroup_size", X, Y, Z)]]
/// Marks a function as a hook: a compiler may fill its calls with code of its
/// own. The function's body is what happens otherwise.
#define POOT_HOOK(NAME) [[clang::annotate("poot.hook", NAME)]]
/// Marks a variable of namespace scope as a specialization constant, of type
/// int32_t, uint32_t, float or bool. Its initializer is the default.
#define POOT_SPEC [[clang::annotate("poot.spec")]]
/// Something that a compiler may want to know of a kernel.
#define POOT_ATTRIBUTE(KEY, VALUE)                                             \
  [[clang::annotate("poot.attribute", KEY, VALUE)]]
/// The op, or expression of ops, that a kernel is to take the place of in a
/// graph (docs/own-kernels.md).
#define POOT_IMPLEMENTS(PATTERN) POOT_ATTRIBUTE("implements", PATTERN)

// Of this header alone: what a builtin and a class of its own are to pootc.
#define POOT_OP(...) [[clang::annotate("poot.op", __VA_ARGS__)]]
#define POOT_TYPE(NAME) [[clang::annotate("poot.type", NAME)]]

namespace poot {

using f16 = _Float16;
using bf16 = __bf16;
using f32 = float;
using f64 = double;

/// N elements of type T. Of 2 and 4 there may be buffers and arrays.
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// An array in device memory, a parameter of a kernel. T is a scalar, a vector
/// of 2 or 4, or a trivially copyable structure of such; of a const T elements
/// are only read. A kernel doesn't know the extent: pass it beside the buffer.
template <class T> class POOT_TYPE("buffer") buffer {
public:
  using element_type = T;
  /// On the CPU: COUNT elements at DATA.
  buffer(T *data, size_t count) : data_(data), count_(count) {}

  template <class I> POOT_OP("kernel.element") T &operator[](I index) const {
    static_assert(std::is_integral_v<I>, "an index is an integer");
    return data_[host::check_index(static_cast<int64_t>(index), count_,
                                   "buffer")];
  }
  // A buffer is always there. These let pootc say so, in words of its own.
  POOT_OP("null") explicit operator bool() const { return data_; }
  POOT_OP("null") friend bool operator==(buffer b, std::nullptr_t) {
    return !b.data_;
  }
  POOT_OP("null") friend bool operator!=(buffer b, std::nullptr_t) {
    return b.data_;
  }

private:
  T *data_;
  size_t count_;
};

/// Says that a workgroup array may share the bytes of others.
struct overlay_t {};
inline constexpr overlay_t overlay{};

/// An array that the work-items of a workgroup share: a local variable of a
/// kernel, without an initializer. Nothing is in it at first.
template <class T, int... N> class POOT_TYPE("workgroup") workgroup {
  static_assert(sizeof...(N) > 0 && ((N > 0) && ...), "extents are positive");
  static constexpr int64_t count = (int64_t(1) * ... * N);

public:
  using element_type = T;
  workgroup()
      : data_(static_cast<T *>(
            host::workgroup_array(sizeof(T) * count, alignof(T)))) {}
  /// An array that may take the bytes of OTHERS: writing one of them leaves
  /// nothing in the others.
  template <class... A>
  explicit workgroup(overlay_t, const A &...others) : workgroup() {
    (void)sizeof...(others);
  }
  workgroup(const workgroup &) = delete;
  workgroup &operator=(const workgroup &) = delete;

  template <class I> POOT_OP("kernel.element") T &operator[](I index) const {
    static_assert(std::is_integral_v<I>, "an index is an integer");
    return data_[host::check_index(static_cast<int64_t>(index), count,
                                   "workgroup array")];
  }
  /// Element (i, j, ...), the last index fastest.
  template <class... I>
  POOT_OP("kernel.element")
  T &operator()(I... index) const {
    static_assert(sizeof...(I) == sizeof...(N), "one index an extent");
    int64_t linear = 0;
    ((linear = linear * N + host::check_index(static_cast<int64_t>(index), N,
                                              "workgroup array")),
     ...);
    return data_[linear];
  }

private:
  T *data_;
};

//===----------------------------------------------------------------------===//
// Identifiers
//===----------------------------------------------------------------------===//

enum dim : uint32_t { x = 0, y = 1, z = 2 };

/// Number of this work-item in its workgroup.
POOT_OP("kernel.local_id") inline uint32_t local_id(dim d = x) {
  return host::context().local_id[d];
}
/// Number of this workgroup in the grid.
POOT_OP("kernel.workgroup_id") inline uint32_t workgroup_id(dim d = x) {
  return host::context().workgroup_id[d];
}
/// Extent of the grid in workgroups.
POOT_OP("kernel.num_workgroups") inline uint32_t num_workgroups(dim d = x) {
  return host::context().num_workgroups[d];
}
/// Extent of a workgroup in work-items.
POOT_OP("kernel.workgroup_size") inline uint32_t workgroup_size(dim d = x) {
  return host::context().workgroup_size[d];
}
/// Number of this work-item in the grid.
POOT_OP("kernel.global_id") inline uint32_t global_id(dim d = x) {
  return workgroup_id(d) * workgroup_size(d) + local_id(d);
}
/// Number of this workgroup along x, then y: of a grid with more workgroups
/// than fit along x.
inline int32_t linear_workgroup() {
  return static_cast<int32_t>(workgroup_id(x) +
                              workgroup_id(y) * num_workgroups(x));
}
/// Number of this work-item, workgroup by workgroup.
inline int32_t linear_id() {
  return linear_workgroup() * static_cast<int32_t>(workgroup_size(x)) +
         static_cast<int32_t>(local_id(x));
}
/// Number of this work-item in its subgroup.
POOT_OP("kernel.lane_id") inline uint32_t lane_id() {
  return host::context().lane;
}
/// Number of this subgroup in its workgroup.
POOT_OP("kernel.subgroup_id") inline uint32_t subgroup_id() {
  return host::context().subgroup;
}
/// Lanes of a full subgroup.
POOT_OP("kernel.subgroup_size") inline uint32_t subgroup_size() {
  return host::context().subgroup_size;
}

//===----------------------------------------------------------------------===//
// Barriers and atomics
//===----------------------------------------------------------------------===//

/// Waits for the workgroup. What its work-items wrote before, all of them see
/// after.
POOT_OP("kernel.barrier")
inline void barrier(const char *file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  host::barrier(file, line);
}

enum class memory_order : uint32_t { relaxed, acquire, release, acq_rel };
enum class memory_scope : uint32_t { subgroup, workgroup, device };

#define POOT_ATOMIC(NAME, KIND, EXPRESSION)                                    \
  template <class T>                                                           \
  POOT_OP("kernel.atomic_rmw", KIND)                                           \
  inline T NAME(T &where, host::same_t<T> value,                               \
                memory_order = memory_order::relaxed,                          \
                memory_scope = memory_scope::device) {                         \
    T old = where;                                                             \
    where = EXPRESSION;                                                        \
    return old;                                                                \
  }
/// Each gives the old value. T is a 32 or 64-bit integer, or float for add,
/// min, max and exchange.
POOT_ATOMIC(atomic_add, "add", static_cast<T>(old + value))
POOT_ATOMIC(atomic_sub, "sub", static_cast<T>(old - value))
POOT_ATOMIC(atomic_min, "min", std::min(old, value))
POOT_ATOMIC(atomic_max, "max", std::max(old, value))
POOT_ATOMIC(atomic_bit_and, "and", static_cast<T>(old &value))
POOT_ATOMIC(atomic_bit_or, "or", static_cast<T>(old | value))
POOT_ATOMIC(atomic_bit_xor, "xor", static_cast<T>(old ^ value))
POOT_ATOMIC(atomic_exchange, "exchange", value)
#undef POOT_ATOMIC

/// Stores DESIRED if the element is EXPECTED; gives the old value.
template <class T>
POOT_OP("kernel.atomic_cas")
inline T atomic_compare_exchange(T &where, host::same_t<T> expected,
                                 host::same_t<T> desired,
                                 memory_order = memory_order::relaxed,
                                 memory_scope = memory_scope::device) {
  T old = where;
  if (old == expected)
    where = desired;
  return old;
}
template <class T>
POOT_OP("kernel.atomic_load")
inline T atomic_load(T &where, memory_order = memory_order::relaxed,
                     memory_scope = memory_scope::device) {
  return where;
}
template <class T>
POOT_OP("kernel.atomic_store")
inline void atomic_store(T &where, host::same_t<T> value,
                         memory_order = memory_order::relaxed,
                         memory_scope = memory_scope::device) {
  where = value;
}

//===----------------------------------------------------------------------===//
// Subgroups
//===----------------------------------------------------------------------===//

namespace host {
/// Combines the values of the lanes that take part, in their order.
template <class T, class F> T subgroup_fold(T value, F combine) {
  subgroup_values values = subgroup_gather(&value, sizeof(T));
  T result{};
  bool first = true;
  for (uint32_t lane = 0; lane < values.size(); ++lane) {
    T other;
    if (!values.get(lane, &other))
      continue;
    result = first ? other : combine(result, other);
    first = false;
  }
  return result;
}
template <class T> T subgroup_prefix(T value, bool inclusive) {
  subgroup_values values = subgroup_gather(&value, sizeof(T));
  T sum{};
  uint32_t end = context().lane + (inclusive ? 1 : 0);
  for (uint32_t lane = 0; lane < end; ++lane) {
    T other;
    if (values.get(lane, &other))
      sum = static_cast<T>(sum + other);
  }
  return sum;
}
template <class T> T subgroup_read(T value, uint32_t lane) {
  subgroup_values values = subgroup_gather(&value, sizeof(T));
  T other{};
  values.get(lane, &other);
  return other;
}
} // namespace host

/// The sum (product, smallest, largest) over the subgroup's active lanes.
template <class T>
POOT_OP("kernel.subgroup_reduce", "add")
inline T subgroup_add(T v) {
  return host::subgroup_fold(v, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
POOT_OP("kernel.subgroup_reduce", "mul")
inline T subgroup_mul(T v) {
  return host::subgroup_fold(v, [](T a, T b) { return static_cast<T>(a * b); });
}
template <class T>
POOT_OP("kernel.subgroup_reduce", "min")
inline T subgroup_min(T v) {
  return host::subgroup_fold(v, [](T a, T b) { return std::min(a, b); });
}
template <class T>
POOT_OP("kernel.subgroup_reduce", "max")
inline T subgroup_max(T v) {
  return host::subgroup_fold(v, [](T a, T b) { return std::max(a, b); });
}
/// The sum over the lanes before this one, with it or without.
template <class T>
POOT_OP("kernel.subgroup_scan", "inclusive")
inline T subgroup_inclusive_add(T v) {
  return host::subgroup_prefix(v, true);
}
template <class T>
POOT_OP("kernel.subgroup_scan", "exclusive")
inline T subgroup_exclusive_add(T v) {
  return host::subgroup_prefix(v, false);
}
/// The value of another lane, which must be active.
template <class T>
POOT_OP("kernel.subgroup_shuffle", "idx")
inline T subgroup_shuffle(T v, uint32_t lane) {
  return host::subgroup_read(v, lane);
}
template <class T>
POOT_OP("kernel.subgroup_shuffle", "xor")
inline T subgroup_shuffle_xor(T v, uint32_t mask) {
  return host::subgroup_read(v, host::context().lane ^ mask);
}
template <class T>
POOT_OP("kernel.subgroup_shuffle", "up")
inline T subgroup_shuffle_up(T v, uint32_t delta) {
  return host::subgroup_read(v, host::context().lane - delta);
}
template <class T>
POOT_OP("kernel.subgroup_shuffle", "down")
inline T subgroup_shuffle_down(T v, uint32_t delta) {
  return host::subgroup_read(v, host::context().lane + delta);
}
/// The value of a lane that is the same number in all lanes.
template <class T>
POOT_OP("kernel.subgroup_broadcast")
inline T subgroup_broadcast(T v, uint32_t lane) {
  return host::subgroup_read(v, lane);
}
POOT_OP("kernel.subgroup_any") inline bool subgroup_any(bool v) {
  return host::subgroup_fold(v, [](bool a, bool b) { return a || b; });
}
POOT_OP("kernel.subgroup_all") inline bool subgroup_all(bool v) {
  return host::subgroup_fold(v, [](bool a, bool b) { return a && b; });
}

//===----------------------------------------------------------------------===//
// Mathematics
//===----------------------------------------------------------------------===//

/// The same bits as another type of the same size.
template <class To, class From>
POOT_OP("arith.bitcast")
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// Of a scalar, or of each element of a vector.
#define POOT_MATH(NAME, OP, EXPRESSION)                                        \
  template <class T> POOT_OP(OP) inline T NAME(T v) {                          \
    static_assert(!std::is_integral_v<T>, #NAME " takes floating point");      \
    return host::map([](auto e) { return EXPRESSION; }, v);                    \
  }
POOT_MATH(exp, "math.exp", std::exp(e))
POOT_MATH(exp2, "math.exp2", std::exp2(e))
POOT_MATH(expm1, "math.expm1", std::expm1(e))
POOT_MATH(log, "math.log", std::log(e))
POOT_MATH(log2, "math.log2", std::log2(e))
POOT_MATH(log1p, "math.log1p", std::log1p(e))
POOT_MATH(sqrt, "math.sqrt", std::sqrt(e))
POOT_MATH(rsqrt, "math.rsqrt", 1 / std::sqrt(e))
POOT_MATH(cbrt, "math.cbrt", std::cbrt(e))
POOT_MATH(sin, "math.sin", std::sin(e))
POOT_MATH(cos, "math.cos", std::cos(e))
POOT_MATH(tan, "math.tan", std::tan(e))
POOT_MATH(tanh, "math.tanh", std::tanh(e))
POOT_MATH(erf, "math.erf", std::erf(e))
POOT_MATH(erfc, "math.erfc", std::erfc(e))
POOT_MATH(floor, "math.floor", std::floor(e))
POOT_MATH(ceil, "math.ceil", std::ceil(e))
POOT_MATH(rint, "math.roundeven", std::nearbyint(e))
POOT_MATH(trunc, "math.trunc", std::trunc(e))
#undef POOT_MATH

template <class T> POOT_OP("math.powf") inline T pow(T a, T b) {
  return host::map([](auto v, auto w) { return std::pow(v, w); }, a, b);
}
template <class T> POOT_OP("math.atan2") inline T atan2(T a, T b) {
  return host::map([](auto v, auto w) { return std::atan2(v, w); }, a, b);
}
template <class T> POOT_OP("math.copysign") inline T copysign(T a, T b) {
  return host::map([](auto v, auto w) { return std::copysign(v, w); }, a, b);
}
/// One rounding where the target has it; on Vulkan perhaps two.
template <class T> POOT_OP("math.fma") inline T fma(T a, T b, T c) {
  return host::map([](auto u, auto v, auto w) { return std::fma(u, v, w); }, a,
                   b, c);
}
template <class T> POOT_OP("math.abs") inline T abs(T v) {
  if constexpr (std::is_integral_v<T>)
    return v < 0 ? -v : v;
  else
    return host::map([](auto e) { return std::fabs(e); }, v);
}
template <class T> inline T min(T a, host::same_t<T> b) {
  return b < a ? b : a;
}
template <class T> inline T max(T a, host::same_t<T> b) {
  return a < b ? b : a;
}
template <class T>
inline T clamp(T v, host::same_t<T> low, host::same_t<T> high) {
  return v < low ? low : high < v ? high : v;
}
template <class T> POOT_OP("math.isnan") inline bool isnan(T v) {
  return v != v;
}
template <class T> POOT_OP("math.isinf") inline bool isinf(T v) {
  return std::isinf(host::wide(v));
}
/// Ones, leading zeros and trailing zeros of an unsigned number; of 0 its
/// width.
template <class T> POOT_OP("math.ctpop") inline T popcount(T v) {
  return static_cast<T>(__builtin_popcountg(host::unsigned_of(v)));
}
template <class T> POOT_OP("math.ctlz") inline T clz(T v) {
  return static_cast<T>(
      __builtin_clzg(host::unsigned_of(v), static_cast<int>(8 * sizeof(T))));
}
template <class T> POOT_OP("math.cttz") inline T ctz(T v) {
  return static_cast<T>(
      __builtin_ctzg(host::unsigned_of(v), static_cast<int>(8 * sizeof(T))));
}
/// The upper half of the product.
POOT_OP("kernel.mul_hi") inline uint32_t mul_hi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

enum class use : uint32_t { a, b, accumulator };
enum class layout : uint32_t { row, column };

/// An M by N part of a matrix that the lanes of a subgroup hold together.
template <class T, int M, int N, use U> class POOT_TYPE("fragment") fragment {
public:
  using element_type = T;
  static constexpr int rows = M, columns = N;
  T host_elements[M * N] = {};
};

template <class F>
POOT_OP("kernel.fragment_fill")
inline F fragment_fill(typename F::element_type value) {
  F f;
  for (auto &element : f.host_elements)
    element = value;
  return f;
}
/// Element (r, c) is at index + r * stride + c, or column by column at
/// index + c * stride + r.
template <class F, class Memory>
POOT_OP("kernel.fragment_load")
inline F fragment_load(const Memory &memory, uint32_t index, uint32_t stride,
                       layout order = layout::row) {
  F f;
  for (int r = 0; r < F::rows; ++r)
    for (int c = 0; c < F::columns; ++c)
      f.host_elements[r * F::columns + c] =
          memory[index +
                 (order == layout::row ? r * stride + c : c * stride + r)];
  return f;
}
template <class F, class Memory>
POOT_OP("kernel.fragment_store")
inline void fragment_store(const F &f, const Memory &memory, uint32_t index,
                           uint32_t stride, layout order = layout::row) {
  for (int r = 0; r < F::rows; ++r)
    for (int c = 0; c < F::columns; ++c)
      memory[index + (order == layout::row ? r * stride + c : c * stride + r)] =
          f.host_elements[r * F::columns + c];
}
/// a * b + c.
template <class T, class S, int M, int N, int K>
POOT_OP("kernel.fragment_mma")
inline fragment<S, M, N, use::accumulator> fragment_mma(
    const fragment<T, M, K, use::a> &a, const fragment<T, K, N, use::b> &b,
    const fragment<S, M, N, use::accumulator> &c) {
  auto d = c;
  // Each element is widened once: that of half types is a call on some CPUs.
  S left[M * K], right[K * N];
  for (int i = 0; i < M * K; ++i)
    left[i] = static_cast<S>(a.host_elements[i]);
  for (int i = 0; i < K * N; ++i)
    right[i] = static_cast<S>(b.host_elements[i]);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        d.host_elements[i * N + j] += left[i * K + k] * right[k * N + j];
  return d;
}

} // namespace poot

#endif // POOT_KERNEL_H
