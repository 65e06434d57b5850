//===- rows.cpp - Reductions, scans, softmax and norms of rows ------------===//
//
// Work on rows of `length` elements, one after the other: dimensions that are
// reduced or normalized count as one row. Forms:
//
//   *_lane    a row an invocation: no barrier. Work number: the row.
//   *_group   a row a workgroup of 128: each invocation takes every 128th
//             element, and subgroup operations and one workgroup array join the
//             parts. Work number: the row.
//
// row_reduce, for accumulators f32, f64, i32 and i64, and row_scan (always a
// workgroup: an invocation takes a run of elements) combine by a hook. softmax,
// rms_norm and layer_norm are in f32.
//
// Hooks: load(x, row, i), store(out, row, i, value) — of row_reduce without the
// i —, combine(a, b) and neutral(a), the element that combines to the other,
// which ignores its argument. norms: scale(weights, i), bias(weights, i).
//
//===----------------------------------------------------------------------===//

#include "library.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t length = 1;
/// Whether an element of a scan is what comes before it.
POOT_SPEC inline bool exclusive = false;
POOT_SPEC inline float epsilon = 1e-5f;

inline constexpr int32_t groupSize = 128;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

template <class T>
POOT_HOOK("load")
inline T load(buffer<const T> in, int32_t row, int32_t i) {
  return in[row * length + i];
}

template <class T>
POOT_HOOK("store")
inline void store(buffer<T> out, int32_t row, int32_t i, T value) {
  out[row * length + i] = value;
}

template <class T>
POOT_HOOK("store")
inline void store_result(buffer<T> out, int32_t row, T value) {
  out[row] = value;
}

template <class T> POOT_HOOK("combine") inline T combine(T a, T b) {
  return a + b;
}

template <class T> POOT_HOOK("neutral") inline T neutral(T) { return 0; }

POOT_HOOK("scale")
inline float scale(buffer<const float> weights, int32_t i) {
  return weights[i];
}

POOT_HOOK("bias")
inline float bias(buffer<const float> weights, int32_t i) { return weights[i]; }

//===----------------------------------------------------------------------===//
// Joining the parts of a workgroup
//===----------------------------------------------------------------------===//

/// The sum over the workgroup, for each of its invocations. PARTS has room for
/// a value of each subgroup, however small those are.
inline float group_sum(const workgroup<float, groupSize> &parts, float value) {
  float sum = subgroup_add(value);
  int32_t subgroups =
      divide_up(groupSize, static_cast<int32_t>(subgroup_size()));
  barrier(); // what was in PARTS has been read
  if (lane_id() == 0)
    parts[subgroup_id()] = sum;
  barrier();
  sum = 0;
  for (int32_t i = 0; i < subgroups; ++i)
    sum += parts[i];
  return sum;
}

/// The same for the maximum, where a NaN counts as none.
inline float group_max(const workgroup<float, groupSize> &parts, float value) {
  float largest = subgroup_max(value);
  int32_t subgroups =
      divide_up(groupSize, static_cast<int32_t>(subgroup_size()));
  barrier();
  if (lane_id() == 0)
    parts[subgroup_id()] = largest;
  barrier();
  largest = parts[0];
  for (int32_t i = 1; i < subgroups; ++i)
    largest = max(largest, parts[i]);
  return largest;
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

template <class T>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1,
                                1) void row_reduce_lane(buffer<const T> in,
                                                        buffer<T> out) {
  int32_t row = linear_id();
  if (row >= rows)
    return;
  T result = neutral(T(0));
  for (int32_t i = 0; i < length; ++i)
    result = combine(result, load(in, row, i));
  store_result(out, row, result);
}

template <class T>
POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1,
                                1) void row_reduce_group(buffer<const T> in,
                                                         buffer<T> out) {
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<T, groupSize> parts;
  int32_t t = static_cast<int32_t>(local_id());
  T result = neutral(T(0));
  for (int32_t i = t; i < length; i += groupSize)
    result = combine(result, load(in, row, i));
  parts[t] = result;
  barrier();
  for (int32_t half = groupSize / 2; half > 0; half /= 2) {
    if (t < half)
      parts[t] = combine(parts[t], parts[t + half]);
    barrier();
  }
  if (t == 0)
    store_result(out, row, parts[0]);
}

template <class T>
POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1,
                                1) void row_scan(buffer<const T> in,
                                                 buffer<T> out) {
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<T, groupSize> parts;
  int32_t t = static_cast<int32_t>(local_id());
  int32_t run = divide_up(length, groupSize);
  int32_t begin = min(t * run, length), end = min(begin + run, length);
  T own = neutral(T(0));
  for (int32_t i = begin; i < end; ++i)
    own = combine(own, load(in, row, i));
  parts[t] = own;
  barrier();
  T before = neutral(T(0));
  for (int32_t i = 0; i < t; ++i)
    before = combine(before, parts[i]);
  for (int32_t i = begin; i < end; ++i) {
    T next = combine(before, load(in, row, i));
    store(out, row, i, exclusive ? before : next);
    before = next;
  }
}

#define POOT_REDUCTIONS(T)                                                     \
  template void row_reduce_lane<T>(buffer<const T>, buffer<T>);                \
  template void row_reduce_group<T>(buffer<const T>, buffer<T>);               \
  template void row_scan<T>(buffer<const T>, buffer<T>);
POOT_REDUCTIONS(float)
POOT_REDUCTIONS(double)
POOT_REDUCTIONS(int32_t)
POOT_REDUCTIONS(int64_t)

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

// A row with a NaN, or with +infinity, comes out as NaNs: of infinity minus
// infinity. One of -infinity alone does too, as its definition says.

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1,
                                1) void softmax_lane(buffer<const float> in,
                                                     buffer<float> out) {
  int32_t row = linear_id();
  if (row >= rows)
    return;
  float largest = load(in, row, 0);
  for (int32_t i = 1; i < length; ++i)
    largest = max(largest, load(in, row, i));
  float sum = 0;
  for (int32_t i = 0; i < length; ++i)
    sum += exp(load(in, row, i) - largest);
  for (int32_t i = 0; i < length; ++i)
    store(out, row, i, exp(load(in, row, i) - largest) / sum);
}

POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1,
                                1) void softmax_group(buffer<const float> in,
                                                      buffer<float> out) {
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<float, groupSize> parts;
  int32_t t = static_cast<int32_t>(local_id());
  float largest = -INFINITY;
  for (int32_t i = t; i < length; i += groupSize)
    largest = max(largest, load(in, row, i));
  largest = group_max(parts, largest);
  float sum = 0;
  for (int32_t i = t; i < length; i += groupSize)
    sum += exp(load(in, row, i) - largest);
  sum = group_sum(parts, sum);
  for (int32_t i = t; i < length; i += groupSize)
    store(out, row, i, exp(load(in, row, i) - largest) / sum);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void rms_norm_lane(
    buffer<const float> in, buffer<const float> weights, buffer<float> out) {
  int32_t row = linear_id();
  if (row >= rows)
    return;
  float squares = 0;
  for (int32_t i = 0; i < length; ++i) {
    float v = load(in, row, i);
    squares += v * v;
  }
  float factor = rsqrt(squares / static_cast<float>(length) + epsilon);
  for (int32_t i = 0; i < length; ++i)
    store(out, row, i, load(in, row, i) * factor * scale(weights, i));
}

POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1, 1) void rms_norm_group(
    buffer<const float> in, buffer<const float> weights, buffer<float> out) {
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<float, groupSize> parts;
  int32_t t = static_cast<int32_t>(local_id());
  float squares = 0;
  for (int32_t i = t; i < length; i += groupSize) {
    float v = load(in, row, i);
    squares += v * v;
  }
  squares = group_sum(parts, squares);
  float factor = rsqrt(squares / static_cast<float>(length) + epsilon);
  for (int32_t i = t; i < length; i += groupSize)
    store(out, row, i, load(in, row, i) * factor * scale(weights, i));
}

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void layer_norm_lane(
    buffer<const float> in, buffer<const float> weights,
    buffer<const float> biases, buffer<float> out) {
  int32_t row = linear_id();
  if (row >= rows)
    return;
  float sum = 0;
  for (int32_t i = 0; i < length; ++i)
    sum += load(in, row, i);
  float mean = sum / static_cast<float>(length);
  float squares = 0;
  for (int32_t i = 0; i < length; ++i) {
    float v = load(in, row, i) - mean;
    squares += v * v;
  }
  float factor = rsqrt(squares / static_cast<float>(length) + epsilon);
  for (int32_t i = 0; i < length; ++i)
    store(out, row, i,
          (load(in, row, i) - mean) * factor * scale(weights, i) +
              bias(biases, i));
}

POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1, 1) void layer_norm_group(
    buffer<const float> in, buffer<const float> weights,
    buffer<const float> biases, buffer<float> out) {
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<float, groupSize> parts;
  int32_t t = static_cast<int32_t>(local_id());
  float sum = 0;
  for (int32_t i = t; i < length; i += groupSize)
    sum += load(in, row, i);
  float mean = group_sum(parts, sum) / static_cast<float>(length);
  float squares = 0;
  for (int32_t i = t; i < length; i += groupSize) {
    float v = load(in, row, i) - mean;
    squares += v * v;
  }
  squares = group_sum(parts, squares);
  float factor = rsqrt(squares / static_cast<float>(length) + epsilon);
  for (int32_t i = t; i < length; i += groupSize)
    store(out, row, i,
          (load(in, row, i) - mean) * factor * scale(weights, i) +
              bias(biases, i));
}

} // namespace poot::library
