// Moves of elements within and between values, and reductions of vectors.

#include "handlers.h"

#include <algorithm>
#include <cmath>

using namespace poot;
using namespace poot::interp;

namespace {

template <class T> void copy(Machine &m, const Inst &i) {
  for (uint32_t k = 0; k != i.n; ++k) {
    T *d = m.at<T>(i.d, k);
    const T *a = m.at<T>(i.a, k);
    m.each([=](uint32_t l) { d[l] = a[l]; });
  }
}

template <class T> void gather(Machine &m, const Inst &i) {
  for (uint32_t k = 0; k != i.n; ++k) {
    T *d = m.at<T>(i.d, k);
    uint32_t from = m.program.lists[i.x + k];
    if (from == kNone) {
      m.each([=](uint32_t l) { d[l] = T(i.y); });
      continue;
    }
    const T *a = m.at<T>(from);
    m.each([=](uint32_t l) { d[l] = a[l]; });
  }
}

template <class T> void splat(Machine &m, const Inst &i) {
  const T *a = m.at<T>(i.a);
  for (uint32_t k = 0; k != i.n; ++k) {
    T *d = m.at<T>(i.d, k);
    m.each([=](uint32_t l) { d[l] = a[l]; });
  }
}

/// A position outside of the vector gives an undefined value: zero here.
template <class T> void extract(Machine &m, const Inst &i) {
  T *d = m.at<T>(i.d);
  const uint64_t *position = m.at<uint64_t>(i.b);
  m.each([&](uint32_t l) {
    uint64_t at = position[l];
    d[l] = at < i.n ? m.at<T>(i.a, static_cast<uint32_t>(at))[l] : T();
    if (i.z != kNone) {
      // The vector's taints are at c; y stands for those of the position.
      uint8_t taint = at < i.n
                          ? m.at<uint8_t>(i.c, static_cast<uint32_t>(at))[l]
                          : uint8_t(kPoison);
      m.at<uint8_t>(i.z)[l] = taint | m.at<uint8_t>(i.y)[l];
    }
  });
}

template <class T> void insert(Machine &m, const Inst &i) {
  const uint64_t *position = m.at<uint64_t>(i.c);
  const T *value = m.at<T>(i.b);
  for (uint32_t k = 0; k != i.n; ++k) {
    T *d = m.at<T>(i.d, k);
    const T *a = m.at<T>(i.a, k);
    m.each([=](uint32_t l) { d[l] = position[l] == k ? value[l] : a[l]; });
  }
  if (i.z == kNone)
    return;
  // List x: taints of the vector, of the element, of the position.
  const uint32_t *taints = m.program.lists.data() + i.x;
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.z, k);
    const uint8_t *a = m.at<uint8_t>(taints[0], k);
    const uint8_t *b = m.at<uint8_t>(taints[1]);
    const uint8_t *c = m.at<uint8_t>(taints[2]);
    m.each([&](uint32_t l) {
      d[l] = (position[l] == k ? b[l] : a[l]) | c[l];
      if (position[l] >= i.n)
        d[l] |= kPoison;
    });
  }
}

// Reductions.

template <class I> struct IntReduce {
  using T = typename I::Storage;
  template <kir::CombiningKind K> static T of(T a, T b) {
    using Q = kir::CombiningKind;
    switch (K) {
    case Q::Add:
      return I::wrap(uint64_t(a) + b);
    case Q::Mul:
      return I::wrap(uint64_t(a) * b);
    case Q::MinUI:
      return std::min(a, b);
    case Q::MinSI:
      return I::sign(a) < I::sign(b) ? a : b;
    case Q::MaxUI:
      return std::max(a, b);
    case Q::MaxSI:
      return I::sign(a) > I::sign(b) ? a : b;
    case Q::And:
      return a & b;
    case Q::Or:
      return a | b;
    case Q::Xor:
      return a ^ b;
    default:
      return a;
    }
  }
};
template <class F> struct FloatReduce {
  using T = typename F::Storage;
  template <kir::CombiningKind K> static T of(T x, T y) {
    using Q = kir::CombiningKind;
    auto a = F::load(x), b = F::load(y);
    bool numbers = K == Q::MinNumF || K == Q::MaxNumF;
    switch (K) {
    case Q::Add:
      return F::store(a + b);
    case Q::Mul:
      return F::store(a * b);
    default:
      break;
    }
    bool highest = K == Q::MaxNumF || K == Q::MaximumF;
    if (std::isnan(a) || std::isnan(b)) {
      if (numbers)
        return std::isnan(a) ? y : x;
      return std::isnan(a) ? x : y;
    }
    if (a == b)
      return std::signbit(a) != highest ? x : y;
    return (a < b) != highest ? x : y;
  }
};
template <class R, kir::CombiningKind K>
void reduce(Machine &m, const Inst &i) {
  using T = typename R::T;
  T *d = m.at<T>(i.d);
  m.each([&](uint32_t l) {
    uint32_t k = i.b == kNone;
    T sum = i.b == kNone ? m.at<T>(i.a)[l] : m.at<T>(i.b)[l];
    for (; k < i.n; ++k)
      sum = R::template of<K>(sum, m.at<T>(i.a, k)[l]);
    d[l] = sum;
  });
}
template <class R> Handler reduction(kir::CombiningKind kind) {
  using Q = kir::CombiningKind;
  static constexpr Handler table[] = {
      reduce<R, Q::Add>,     reduce<R, Q::Mul>,     reduce<R, Q::MinUI>,
      reduce<R, Q::MinSI>,   reduce<R, Q::MinNumF>, reduce<R, Q::MaxUI>,
      reduce<R, Q::MaxSI>,   reduce<R, Q::MaxNumF>, reduce<R, Q::And>,
      reduce<R, Q::Or>,      reduce<R, Q::Xor>,     reduce<R, Q::MinimumF>,
      reduce<R, Q::MaximumF>};
  return table[static_cast<unsigned>(kind)];
}

} // namespace

#define POOT_BY_BYTES(Find, Function)                                          \
  Handler poot::interp::Find(uint32_t bytes) {                                 \
    return withBytes(bytes,                                                    \
                     [](auto t) -> Handler { return Function<decltype(t)>; }); \
  }
POOT_BY_BYTES(findCopy, copy)
POOT_BY_BYTES(findGather, gather)
POOT_BY_BYTES(findSplat, splat)
POOT_BY_BYTES(findExtract, extract)
POOT_BY_BYTES(findInsert, insert)

void poot::interp::bitcastVector(Machine &m, const Inst &i) {
  // x and y: bits of an element of a and d; z: the columns of d. Taints: from
  // b to c unless kNone.
  const uint32_t from = i.x, to = i.y;
  auto bytes = [](uint32_t bits) { return bits < 8 ? 1 : bits / 8; };
  std::vector<uint8_t> bits;
  const uint64_t total = uint64_t(i.n) * from;
  bits.resize(total / 8 + 9);
  m.each([&](uint32_t l) {
    std::fill(bits.begin(), bits.end(), 0);
    for (uint32_t k = 0; k != i.n; ++k)
      withBytes(bytes(from), [&](auto t) {
        auto value = m.at<decltype(t)>(i.a, k)[l];
        if (from < 8)
          bits[k / 8] |= static_cast<uint8_t>((value & 1) << (k % 8));
        else
          std::memcpy(bits.data() + uint64_t(k) * (from / 8), &value,
                      sizeof value);
        return 0;
      });
    for (uint32_t k = 0; k != i.z; ++k)
      withBytes(bytes(to), [&](auto t) {
        decltype(t) value = 0;
        if (to < 8)
          value = bits[k / 8] >> (k % 8) & 1;
        else
          std::memcpy(&value, bits.data() + uint64_t(k) * (to / 8),
                      sizeof value);
        m.at<decltype(t)>(i.d, k)[l] = value;
        return 0;
      });
    if (i.c == kNone)
      return;
    for (uint32_t k = 0; k != i.z; ++k) {
      uint8_t taint = 0;
      uint64_t first = uint64_t(k) * to / from;
      uint64_t last = (uint64_t(k) * to + to - 1) / from;
      for (uint64_t s = first; s <= last; ++s)
        taint |= m.at<uint8_t>(i.b, static_cast<uint32_t>(s))[l];
      m.at<uint8_t>(i.c, k)[l] = taint;
    }
  });
}

Handler poot::interp::findReduction(kir::CombiningKind kind,
                                    kir::Element element) {
  if (kir::isFloat(element))
    return withFloat(element, [&](auto t) {
      return reduction<FloatReduce<decltype(t)>>(kind);
    });
  return withInt(
      element, [&](auto t) { return reduction<IntReduce<decltype(t)>>(kind); });
}
