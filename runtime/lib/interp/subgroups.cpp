// Subgroup operations and fragments. The work-items at an operation are those
// of each subgroup that take part in it.

#include "handlers.h"

#include <algorithm>
#include <cmath>

using namespace poot;
using namespace poot::interp;
using weights::concat;

namespace {

/// Calls BODY(first, end) with the positions in m.lanes of each subgroup's
/// work-items.
template <class F> void eachSubgroup(Machine &m, F body) {
  for (uint32_t first = 0; first != m.count;) {
    uint32_t subgroup = m.lanes[first] / m.program.subgroupSize;
    uint32_t end = first + 1;
    while (end != m.count && m.lanes[end] / m.program.subgroupSize == subgroup)
      ++end;
    body(first, end);
    first = end;
  }
}

template <class I> struct IntElement {
  using T = typename I::Storage;
  template <kir::ReduceKind K> static T combine(T a, T b) {
    using Q = kir::ReduceKind;
    switch (K) {
    case Q::Add:
      return I::wrap(uint64_t(a) + b);
    case Q::Mul:
      return I::wrap(uint64_t(a) * b);
    case Q::Min:
      return I::sign(a) < I::sign(b) ? a : b;
    case Q::Max:
      return I::sign(a) > I::sign(b) ? a : b;
    case Q::UMin:
      return std::min(a, b);
    case Q::UMax:
      return std::max(a, b);
    }
    return a;
  }
};
template <class F> struct FloatElement {
  using T = typename F::Storage;
  template <kir::ReduceKind K> static T combine(T x, T y) {
    using Q = kir::ReduceKind;
    auto a = F::load(x), b = F::load(y);
    switch (K) {
    case Q::Add:
      return F::store(a + b);
    case Q::Mul:
      return F::store(a * b);
    case Q::Min:
    case Q::UMin:
      return F::store(std::fmin(a, b));
    default:
      return F::store(std::fmax(a, b));
    }
  }
};

template <class E, kir::ReduceKind K> void reduce(Machine &m, const Inst &i) {
  using T = typename E::T;
  T *d = m.at<T>(i.d);
  const T *a = m.at<T>(i.a);
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    T sum = a[m.lanes[first]];
    for (uint32_t p = first + 1; p != end; ++p)
      sum = E::template combine<K>(sum, a[m.lanes[p]]);
    for (uint32_t p = first; p != end; ++p)
      d[m.lanes[p]] = sum;
  });
}
template <class E> void inclusive(Machine &m, const Inst &i) {
  using T = typename E::T;
  T *d = m.at<T>(i.d);
  const T *a = m.at<T>(i.a);
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    T sum = a[m.lanes[first]];
    d[m.lanes[first]] = sum;
    for (uint32_t p = first + 1; p != end; ++p)
      d[m.lanes[p]] = sum =
          E::template combine<kir::ReduceKind::Add>(sum, a[m.lanes[p]]);
  });
}
template <class E> void exclusive(Machine &m, const Inst &i) {
  using T = typename E::T;
  T *d = m.at<T>(i.d);
  const T *a = m.at<T>(i.a);
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    T sum = T();
    for (uint32_t p = first; p != end; ++p) {
      T own = a[m.lanes[p]];
      d[m.lanes[p]] = sum;
      sum = p == first ? own
                       : E::template combine<kir::ReduceKind::Add>(sum, own);
    }
  });
}
template <class E> Handler reduction(kir::ReduceKind kind) {
  using Q = kir::ReduceKind;
  static constexpr Handler table[] = {reduce<E, Q::Add>,  reduce<E, Q::Mul>,
                                      reduce<E, Q::Min>,  reduce<E, Q::Max>,
                                      reduce<E, Q::UMin>, reduce<E, Q::UMax>};
  return table[static_cast<unsigned>(kind)];
}
template <class F> Handler withElement(kir::Element element, F body) {
  if (kir::isFloat(element))
    return withFloat(element,
                     [&](auto t) { return body(FloatElement<decltype(t)>()); });
  return withInt(element,
                 [&](auto t) { return body(IntElement<decltype(t)>()); });
}

template <class T, kir::ShuffleKind K> void shuffle(Machine &m, const Inst &i) {
  using Q = kir::ShuffleKind;
  const uint32_t size = m.program.subgroupSize;
  T *d = m.at<T>(i.d);
  const T *a = m.at<T>(i.a);
  const uint32_t *b = m.at<uint32_t>(i.b);
  m.each([&](uint32_t l) {
    uint64_t self = l % size, lane = b[l];
    lane = K == Q::Idx   ? lane
           : K == Q::Xor ? self ^ lane
           : K == Q::Up  ? (lane > self ? size : self - lane)
                         : self + lane;
    uint32_t from = lane < size ? l - static_cast<uint32_t>(self) +
                                      static_cast<uint32_t>(lane)
                                : kNone;
    bool there = from != kNone && m.isActive(from);
    d[l] = there ? a[from] : T();
    if (i.z != kNone)
      // y: the taints of a, c: of b.
      m.at<uint8_t>(i.z)[l] =
          m.at<uint8_t>(i.c)[l] |
          (there ? m.at<uint8_t>(i.y)[from] : uint8_t(kForeignLane));
  });
}

template <class T> void broadcast(Machine &m, const Inst &i) {
  const uint32_t size = m.program.subgroupSize;
  T *d = m.at<T>(i.d);
  const T *a = m.at<T>(i.a);
  const uint32_t *b = m.at<uint32_t>(i.b);
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    uint32_t leader = m.lanes[first], lane = b[leader];
    for (uint32_t p = first; p != end; ++p)
      if (m.san && b[m.lanes[p]] != lane)
        m.fault(Fault::Subgroup, i.site, m.lanes[p],
                concat("a broadcast from lane ", b[m.lanes[p]],
                       ", and another lane asks for ", lane));
    uint32_t from = lane < size ? leader / size * size + lane : kNone;
    bool there = from != kNone && m.isActive(from);
    if (!there && m.san)
      m.fault(Fault::Subgroup, i.site, leader,
              concat("a broadcast from lane ", lane,
                     lane < size ? ", which doesn't take part"
                                 : ", which no subgroup has"));
    T value = there ? a[from] : T();
    for (uint32_t p = first; p != end; ++p) {
      d[m.lanes[p]] = value;
      if (i.z != kNone)
        m.at<uint8_t>(i.z)[m.lanes[p]] = there ? m.at<uint8_t>(i.y)[from] : 0;
    }
  });
}

template <bool all> void vote(Machine &m, const Inst &i) {
  uint8_t *d = m.at<uint8_t>(i.d);
  const uint8_t *a = m.at<uint8_t>(i.a);
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    bool result = all;
    for (uint32_t p = first; p != end; ++p)
      result =
          all ? result && (a[m.lanes[p]] & 1) : result || (a[m.lanes[p]] & 1);
    for (uint32_t p = first; p != end; ++p)
      d[m.lanes[p]] = result;
  });
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// The work-items of a subgroup, all of which hold a part of a fragment.
struct Holders {
  uint32_t first, count;
};

/// Calls BODY for every whole subgroup at the instruction. A part of one is a
/// fault: elements that others hold can't be reached.
template <class F> void eachWhole(Machine &m, const Inst &i, F body) {
  eachSubgroup(m, [&](uint32_t first, uint32_t end) {
    const uint32_t size = m.program.subgroupSize;
    uint32_t base = m.lanes[first] / size * size;
    uint32_t count = std::min(size, m.workItems - base);
    if (end - first != count) {
      m.fault(Fault::Subgroup, i.site, m.lanes[first],
              concat("only ", end - first, " of ", count,
                     " lanes of the subgroup come to an operation on "
                     "fragments, which all lanes do together"));
      return;
    }
    body(Holders{base, count});
  });
}

template <class T>
T *element(Machine &m, uint32_t reg, const Holders &holders, uint32_t e) {
  return m.at<T>(reg, e / holders.count) + holders.first + e % holders.count;
}

/// The lane that reads or writes element E in memory. Devices differ in which
/// it is, so it is any, and never one that follows from E in a way that a
/// kernel might rely on.
uint32_t laneOf(const Holders &holders, uint32_t e) {
  return holders.first + (e * 0x9e3779b1u >> 16) % holders.count;
}

/// Calls BODY(byte, lane, element) for every element of a fragment in memory.
template <class F>
void eachElement(Machine &m, const Inst &i, Sanitizer::Kind kind, F body) {
  const AccessInfo &access = m.program.accesses[i.x];
  const Memory &memory = m.memories[access.memory];
  const uint32_t rows = i.y & 0xffff, columns = i.y >> 16;
  eachWhole(m, i, [&](const Holders &holders) {
    const uint32_t index = m.at<uint32_t>(i.a)[holders.first];
    const uint32_t stride = m.at<uint32_t>(i.b)[holders.first];
    if (m.san)
      for (uint32_t l = holders.first; l != holders.first + holders.count; ++l)
        if (m.at<uint32_t>(i.a)[l] != index ||
            m.at<uint32_t>(i.b)[l] != stride) {
          m.fault(Fault::Subgroup, i.site, l,
                  "the index or the stride of a fragment differs between the "
                  "lanes of a subgroup");
          break;
        }
    for (uint32_t r = 0; r != rows; ++r)
      for (uint32_t c = 0; c != columns; ++c) {
        uint32_t e = r * columns + c;
        uint32_t lane = laneOf(holders, e);
        uint32_t at = i.z ? index + c * stride + r : index + r * stride + c;
        uint8_t *place = nullptr;
        if (at < memory.count) {
          place = memory.data + at * memory.elementBytes;
          if (m.san)
            m.san->access(access.memory, at * memory.elementBytes, access.bytes,
                          kind, kir::Scope::Device, lane, i.site);
        } else {
          m.fault(Fault::OutOfBounds, i.site, lane,
                  concat("element (", r, ", ", c,
                         ") of a fragment is at index ", at, " of ",
                         m.program.memories[access.memory].name, ", which has ",
                         memory.count, " elements"));
          if (m.failed())
            return;
        }
        body(place, holders, e);
      }
  });
}

template <class T> void fragmentLoad(Machine &m, const Inst &i) {
  eachElement(m, i, Sanitizer::Kind::Read,
              [&](const uint8_t *place, const Holders &holders, uint32_t e) {
                T value = T();
                if (place)
                  std::memcpy(&value, place, sizeof value);
                *element<T>(m, i.d, holders, e) = value;
              });
}
template <class T> void fragmentStore(Machine &m, const Inst &i) {
  eachElement(m, i, Sanitizer::Kind::Write,
              [&](uint8_t *place, const Holders &holders, uint32_t e) {
                if (place)
                  std::memcpy(place, element<T>(m, i.c, holders, e), sizeof(T));
              });
}

/// Sums of 16-bit accumulators are kept in f32 and rounded at the end.
template <class A, class R, class Sum>
void fragmentMma(Machine &m, const Inst &i) {
  const uint32_t *shape = m.program.lists.data() + i.x;
  const uint32_t rows = shape[0], columns = shape[1], inner = shape[2];
  std::vector<Sum> a(uint64_t(rows) * inner), b(uint64_t(inner) * columns);
  eachWhole(m, i, [&](const Holders &holders) {
    for (uint32_t e = 0; e != rows * inner; ++e)
      a[e] = static_cast<Sum>(
          A::load(*element<typename A::Storage>(m, i.a, holders, e)));
    for (uint32_t e = 0; e != inner * columns; ++e)
      b[e] = static_cast<Sum>(
          A::load(*element<typename A::Storage>(m, i.b, holders, e)));
    for (uint32_t r = 0; r != rows; ++r)
      for (uint32_t c = 0; c != columns; ++c) {
        uint32_t e = r * columns + c;
        Sum sum = static_cast<Sum>(
            R::load(*element<typename R::Storage>(m, i.c, holders, e)));
        for (uint32_t k = 0; k != inner; ++k)
          sum += a[r * inner + k] * b[k * columns + c];
        *element<typename R::Storage>(m, i.d, holders, e) =
            R::store(static_cast<decltype(R::load({}))>(sum));
      }
  });
}
template <unsigned B> struct SignedElement {
  using Storage = typename Int<B>::Storage;
  static uint64_t load(Storage value) {
    return static_cast<uint64_t>(Int<B>::sign(value));
  }
  static Storage store(uint64_t value) { return Int<B>::wrap(value); }
};

} // namespace

Handler poot::interp::findSubgroupReduce(kir::ReduceKind kind,
                                         kir::Element element) {
  return withElement(element,
                     [&](auto e) { return reduction<decltype(e)>(kind); });
}
Handler poot::interp::findSubgroupScan(kir::ScanKind kind,
                                       kir::Element element) {
  return withElement(element, [&](auto e) -> Handler {
    return kind == kir::ScanKind::Inclusive ? inclusive<decltype(e)>
                                            : exclusive<decltype(e)>;
  });
}
Handler poot::interp::findSubgroupShuffle(kir::ShuffleKind kind,
                                          uint32_t bytes) {
  return withBytes(bytes, [&](auto t) -> Handler {
    using T = decltype(t);
    using Q = kir::ShuffleKind;
    static constexpr Handler table[] = {shuffle<T, Q::Idx>, shuffle<T, Q::Xor>,
                                        shuffle<T, Q::Up>, shuffle<T, Q::Down>};
    return table[static_cast<unsigned>(kind)];
  });
}
Handler poot::interp::findSubgroupBroadcast(uint32_t bytes) {
  return withBytes(bytes,
                   [](auto t) -> Handler { return broadcast<decltype(t)>; });
}
void poot::interp::subgroupAny(Machine &m, const Inst &i) { vote<false>(m, i); }
void poot::interp::subgroupAll(Machine &m, const Inst &i) { vote<true>(m, i); }

void poot::interp::spreadTaints(Machine &m, const Inst &i) {
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    eachSubgroup(m, [&](uint32_t first, uint32_t end) {
      uint8_t taint = 0;
      for (uint32_t from : {i.a, i.b, i.c})
        if (from != kNone)
          for (uint32_t p = first; p != end; ++p)
            taint |= m.at<uint8_t>(from, k)[m.lanes[p]];
      for (uint32_t p = first; p != end; ++p)
        d[m.lanes[p]] = taint;
    });
  }
}

Handler poot::interp::findFragmentLoad(uint32_t bytes) {
  return withBytes(bytes,
                   [](auto t) -> Handler { return fragmentLoad<decltype(t)>; });
}
Handler poot::interp::findFragmentStore(uint32_t bytes) {
  return withBytes(
      bytes, [](auto t) -> Handler { return fragmentStore<decltype(t)>; });
}
Handler poot::interp::findFragmentMma(kir::Element input,
                                      kir::Element accumulator) {
  if (kir::isFloat(input) && kir::isFloat(accumulator))
    return withFloat(input, [&](auto a) {
      return withFloat(accumulator, [&](auto r) -> Handler {
        using A = decltype(a);
        using R = decltype(r);
        return fragmentMma<A, R, typename R::Compute>;
      });
    });
  auto withSigned = [](kir::Element element, auto body) -> Handler {
    switch (element) {
    case kir::Element::I8:
      return body(SignedElement<8>());
    case kir::Element::I16:
      return body(SignedElement<16>());
    case kir::Element::I32:
      return body(SignedElement<32>());
    case kir::Element::I64:
      return body(SignedElement<64>());
    default:
      return nullptr;
    }
  };
  return withSigned(input, [&](auto a) {
    return withSigned(accumulator, [&](auto r) -> Handler {
      return fragmentMma<decltype(a), decltype(r), uint64_t>;
    });
  });
}
