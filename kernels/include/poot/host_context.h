//===- host_context.h - What builtins run on the CPU ----------------------===//
//
// The work-item that runs on this thread, and what its builtins need from the
// scheduler of poot::host::launch. Included by kernel.h; kernels don't use it.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_HOST_CONTEXT_H
#define POOT_HOST_CONTEXT_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace poot::host {

/// Identifiers of the running work-item. Outside launch all are 0, extents 1.
struct context_t {
  uint32_t local_id[3] = {0, 0, 0};
  uint32_t workgroup_id[3] = {0, 0, 0};
  uint32_t num_workgroups[3] = {1, 1, 1};
  uint32_t workgroup_size[3] = {1, 1, 1};
  uint32_t lane = 0, subgroup = 0, subgroup_size = 1;
};
context_t &context();

void barrier(const char *file, int line);

/// The bytes of the next workgroup array that this work-item declares.
void *workgroup_array(size_t bytes, size_t alignment);

/// INDEX, if it is at least 0 and below COUNT; otherwise the launch fails.
int64_t check_index(int64_t index, int64_t count, const char *what);

/// The values that the lanes of a subgroup brought to one operation.
class subgroup_values {
public:
  static constexpr uint32_t max_lanes = 128;
  uint32_t size() const { return size_; }
  /// False if lane LANE isn't active or doesn't exist.
  bool get(uint32_t lane, void *value) const;

  uint32_t size_ = 0;
  size_t bytes_ = 0;
  bool present_[max_lanes] = {};
  unsigned char values_[max_lanes][16] = {};
};
/// Waits for the lanes of the subgroup that come here.
subgroup_values subgroup_gather(const void *value, size_t bytes);

/// Mathematics on half types is done in float and rounded once.
template <class T> auto wide(T v) {
  if constexpr (std::is_same_v<T, double>)
    return v;
  else
    return static_cast<float>(v);
}
/// How many elements a vector has; 0 for a scalar.
template <class T> struct vector_size : std::integral_constant<int, 0> {};
template <class T, int N>
struct vector_size<T __attribute__((ext_vector_type(N)))>
    : std::integral_constant<int, N> {};
/// FUNCTION of the arguments, or of each of their elements.
template <class F, class T, class... A> T map(F function, T first, A... rest) {
  if constexpr (vector_size<T>::value == 0) {
    return static_cast<T>(function(wide(first), wide(rest)...));
  } else {
    T result = first;
    for (int i = 0; i < vector_size<T>::value; ++i)
      result[i] = map(function, first[i], rest[i]...);
    return result;
  }
}
template <class T> std::make_unsigned_t<T> unsigned_of(T v) {
  return static_cast<std::make_unsigned_t<T>>(v);
}

/// A parameter of this type takes no part in deducing T.
template <class T> struct same {
  using type = T;
};
template <class T> using same_t = typename same<T>::type;

} // namespace poot::host

#endif // POOT_HOST_CONTEXT_H
