//===- top_k.cpp - The largest elements of rows ---------------------------===//
//
// arg_top_k: for each of `rows` rows of `length` elements the `count` largest
// in descending order, and where they are. A workgroup a row; work number: the
// row. Of equal elements, as +0 and -0 are, the lower position comes first; NaN
// is larger than any number and equal to NaN.
//
// Hooks: load(x, row, i); store(values, positions, row, rank, value, position).
//
//===----------------------------------------------------------------------===//

#include "poot/kernel.h"

#include <limits>

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t length = 1;
POOT_SPEC inline int32_t count = 1;

inline constexpr int32_t groupSize = 128;
/// Elements that an invocation looks at in one turn of its loop.
inline constexpr int32_t atOnce = 8;

template <class T>
POOT_HOOK("load")
inline T load(buffer<const T> in, int32_t row, int32_t i) {
  return in[row * length + i];
}

template <class T>
POOT_HOOK("store")
inline void store(buffer<T> values, buffer<int32_t> positions, int32_t row,
                  int32_t rank, T value, int32_t position) {
  values[row * count + rank] = value;
  positions[row * count + rank] = position;
}

/// An integer type that orders as T does.
template <class T>
using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <class T> inline Key<T> key_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    constexpr Key<T> magnitude = std::numeric_limits<Key<T>>::max();
    Key<T> bits = bit_cast<Key<T>>(value);
    // Negative numbers order by falling magnitude.
    Key<T> key = bits ^ ((bits >> (8 * sizeof(T) - 1)) & magnitude);
    key = value == T(0) ? Key<T>(0) : key;
    return isnan(value) ? magnitude : key;
  }
}

/// An element's key and position. A position beyond every row stands for none.
template <class K> struct Element {
  K key;
  int32_t position;

  bool is_before(const Element &other) const {
    return key > other.key || (key == other.key && position < other.position);
  }
};

template <class T>
POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1,
                                1) void arg_top_k(buffer<const T> in,
                                                  buffer<T> values,
                                                  buffer<int32_t> positions) {
  using K = Key<T>;
  int32_t row = linear_workgroup();
  if (row >= rows)
    return;
  workgroup<K, groupSize> keys;
  workgroup<int32_t, groupSize> places;
  int32_t t = static_cast<int32_t>(local_id());
  // The largest that comes after the last pick, COUNT times.
  Element<K> last = {std::numeric_limits<K>::max(), -1};
  for (int32_t rank = 0; rank < count; ++rank) {
    Element<K> best = {std::numeric_limits<K>::min(),
                       std::numeric_limits<int32_t>::max()};
    // Many at a turn, for the sake of lavapipe: there the loops of an
    // invocation end after 65535 turns in all.
    for (int32_t base = t; base < length; base += groupSize * atOnce)
#pragma unroll
      for (int32_t j = 0; j < atOnce; ++j) {
        int32_t i = base + j * groupSize;
        if (i < length) {
          Element<K> element = {key_of(load(in, row, i)), i};
          if (last.is_before(element) && element.is_before(best))
            best = element;
        }
      }
    keys[t] = best.key;
    places[t] = best.position;
    barrier();
    for (int32_t half = groupSize / 2; half > 0; half /= 2) {
      if (t < half) {
        Element<K> own = {keys[t], places[t]};
        Element<K> other = {keys[t + half], places[t + half]};
        if (other.is_before(own)) {
          keys[t] = other.key;
          places[t] = other.position;
        }
      }
      barrier();
    }
    last = {keys[0], places[0]};
    barrier(); // the next round overwrites the arrays
    if (t == 0)
      store(values, positions, row, rank, load(in, row, last.position),
            last.position);
  }
}

template void arg_top_k<float>(buffer<const float>, buffer<float>,
                               buffer<int32_t>);
template void arg_top_k<double>(buffer<const double>, buffer<double>,
                                buffer<int32_t>);
template void arg_top_k<int32_t>(buffer<const int32_t>, buffer<int32_t>,
                                 buffer<int32_t>);
template void arg_top_k<int64_t>(buffer<const int64_t>, buffer<int64_t>,
                                 buffer<int32_t>);

} // namespace poot::library
