// Loads, stores and atomics of memory, and variables. An access out of bounds
// is a fault; it reads zero and writes nothing.

#include "handlers.h"

#include <algorithm>
#include <cmath>

using namespace poot;
using namespace poot::interp;
using weights::concat;

namespace {

using Kind = Sanitizer::Kind;

/// Where an access of LANE begins; false when it is out of bounds, which has
/// been reported.
inline bool locate(Machine &m, const Inst &i, const AccessInfo &access,
                   const uint32_t *index, uint32_t l, uint64_t &at) {
  const Memory &memory = m.memories[access.memory];
  if (index[l] >= memory.count) {
    const MemoryInfo &info = m.program.memories[access.memory];
    m.fault(Fault::OutOfBounds, i.site, l,
            concat("index ", static_cast<int32_t>(index[l]), " of ", info.name,
                   ", which has ", memory.count,
                   memory.count == 1 ? " element" : " elements"));
    return false;
  }
  at = index[l] * memory.elementBytes + access.offset;
  if (access.leafIndex == kNone)
    return true;
  uint32_t leaf = m.at<uint32_t>(access.leafIndex)[l];
  if (leaf >= access.leafCount) {
    const MemoryInfo &info = m.program.memories[access.memory];
    m.fault(Fault::OutOfBounds, i.site, l,
            concat("index ", static_cast<int32_t>(leaf), " of an array of ",
                   access.leafCount, " in an element of ", info.name));
    return false;
  }
  at += uint64_t(leaf) * access.bytes;
  return true;
}

template <class T> void load(Machine &m, const Inst &i) {
  const AccessInfo &access = m.program.accesses[i.x];
  const uint8_t *data = m.memories[access.memory].data;
  const uint32_t *index = m.at<uint32_t>(i.a);
  T *d = m.at<T>(i.d);
  const uint32_t items = m.workItems, n = i.n;
  m.each([&](uint32_t l) {
    uint64_t at;
    if (!locate(m, i, access, index, l, at)) {
      for (uint32_t k = 0; k != n; ++k)
        d[uint64_t(k) * items + l] = T();
      return;
    }
    if (m.san)
      m.san->access(access.memory, at, access.bytes, Kind::Read,
                    kir::Scope::Device, l, i.site);
    for (uint32_t k = 0; k != n; ++k)
      std::memcpy(&d[uint64_t(k) * items + l], data + at + k * sizeof(T),
                  sizeof(T));
  });
}

template <class T> void store(Machine &m, const Inst &i) {
  const AccessInfo &access = m.program.accesses[i.x];
  uint8_t *data = m.memories[access.memory].data;
  const uint32_t *index = m.at<uint32_t>(i.a);
  const T *b = m.at<T>(i.b);
  const uint32_t items = m.workItems, n = i.n;
  m.each([&](uint32_t l) {
    uint64_t at;
    if (!locate(m, i, access, index, l, at))
      return;
    if (m.san)
      m.san->access(access.memory, at, access.bytes, Kind::Write,
                    kir::Scope::Device, l, i.site);
    for (uint32_t k = 0; k != n; ++k)
      std::memcpy(data + at + k * sizeof(T), &b[uint64_t(k) * items + l],
                  sizeof(T));
  });
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

template <class T> T update(kir::AtomicKind kind, T old, T value) {
  using Q = kir::AtomicKind;
  if constexpr (std::is_floating_point_v<T>) {
    switch (kind) {
    case Q::Add:
      return old + value;
    case Q::Min:
      return std::fmin(old, value);
    case Q::Max:
      return std::fmax(old, value);
    default:
      return value;
    }
  } else {
    using S = std::make_signed_t<T>;
    switch (kind) {
    case Q::Add:
      return old + value;
    case Q::Min:
      return static_cast<S>(old) < static_cast<S>(value) ? old : value;
    case Q::Max:
      return static_cast<S>(old) > static_cast<S>(value) ? old : value;
    case Q::UMin:
      return std::min(old, value);
    case Q::UMax:
      return std::max(old, value);
    case Q::And:
      return old & value;
    case Q::Or:
      return old | value;
    case Q::Xor:
      return old ^ value;
    case Q::Exchange:
      return value;
    }
    return value;
  }
}

/// Runs BODY(pointer) for each work-item's element. The orders of the machine
/// are those of its processor: all that came before is visible to others.
template <class F>
void eachAtomic(Machine &m, const Inst &i, bool reads, bool writes, F body) {
  const AccessInfo &access = m.program.accesses[i.x];
  uint8_t *data = m.memories[access.memory].data;
  const uint32_t *index = m.at<uint32_t>(i.a);
  const auto order = static_cast<kir::Order>(i.z & 0xff);
  const auto scope = static_cast<kir::Scope>(i.z >> 8);
  m.sawAtomic = true;
  m.each([&](uint32_t l) {
    uint64_t at;
    if (!locate(m, i, access, index, l, at))
      return body(nullptr, l);
    if (m.san) {
      if (writes)
        m.san->release(access.memory, at, order, scope, reads, l);
      if (reads)
        m.san->access(access.memory, at, access.bytes, Kind::AtomicRead, scope,
                      l, i.site);
      if (writes)
        m.san->access(access.memory, at, access.bytes, Kind::AtomicWrite, scope,
                      l, i.site);
      if (reads)
        m.san->acquire(access.memory, at, order, scope, l);
    }
    body(data + at, l);
  });
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> T fromBits(Bits<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T> Bits<T> toBits(T value) {
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <class T> void atomicRmw(Machine &m, const Inst &i) {
  const auto kind = static_cast<kir::AtomicKind>(i.y);
  T *d = m.at<T>(i.d);
  const T *b = m.at<T>(i.b);
  eachAtomic(m, i, true, true, [&](uint8_t *place, uint32_t l) {
    if (!place) {
      d[l] = T();
      return;
    }
    auto *bits = reinterpret_cast<Bits<T> *>(place);
    Bits<T> old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(
        bits, &old, toBits<T>(update<T>(kind, fromBits<T>(old), b[l])), false,
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    d[l] = fromBits<T>(old);
  });
}

template <class T> void atomicCas(Machine &m, const Inst &i) {
  T *d = m.at<T>(i.d);
  const T *b = m.at<T>(i.b), *c = m.at<T>(i.c);
  eachAtomic(m, i, true, true, [&](uint8_t *place, uint32_t l) {
    T old = T();
    if (place) {
      old = c[l];
      __atomic_compare_exchange_n(reinterpret_cast<T *>(place), &old, b[l],
                                  false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    d[l] = old;
  });
}

template <class T> void atomicLoad(Machine &m, const Inst &i) {
  T *d = m.at<T>(i.d);
  eachAtomic(m, i, true, false, [&](uint8_t *place, uint32_t l) {
    d[l] = place
               ? __atomic_load_n(reinterpret_cast<T *>(place), __ATOMIC_SEQ_CST)
               : T();
  });
}

template <class T> void atomicStore(Machine &m, const Inst &i) {
  const T *b = m.at<T>(i.b);
  eachAtomic(m, i, false, true, [&](uint8_t *place, uint32_t l) {
    if (place)
      __atomic_store_n(reinterpret_cast<T *>(place), b[l], __ATOMIC_SEQ_CST);
  });
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The number of the element that LANE names.
inline bool locateVar(Machine &m, const Inst &i, const VarInfo &var, uint32_t l,
                      uint64_t &element) {
  element = 0;
  for (size_t d = 0; d != var.extents.size(); ++d) {
    uint32_t index = m.at<uint32_t>(m.program.lists[i.y + d])[l];
    if (index >= var.extents[d]) {
      m.fault(Fault::OutOfBounds, i.site, l,
              concat("index ", static_cast<int32_t>(index),
                     " of a variable's array of ", var.extents[d]));
      return false;
    }
    element = element * var.extents[d] + index;
  }
  return true;
}

template <class T> void varLoad(Machine &m, const Inst &i) {
  const VarInfo &var = m.program.vars[i.x];
  m.each([&](uint32_t l) {
    uint64_t element;
    bool found = locateVar(m, i, var, l, element);
    for (uint32_t k = 0; k != i.n; ++k) {
      auto column = static_cast<uint32_t>(found ? element * i.n + k : k);
      m.at<T>(i.d, k)[l] = found ? m.at<T>(var.reg, column)[l] : T();
      if (i.z != kNone)
        m.at<uint8_t>(i.z, k)[l] =
            found ? m.at<uint8_t>(var.taint, column)[l] : 0;
    }
  });
}

template <class T> void varStore(Machine &m, const Inst &i) {
  const VarInfo &var = m.program.vars[i.x];
  m.each([&](uint32_t l) {
    uint64_t element;
    if (!locateVar(m, i, var, l, element))
      return;
    for (uint32_t k = 0; k != i.n; ++k) {
      auto column = static_cast<uint32_t>(element * i.n + k);
      m.at<T>(var.reg, column)[l] = m.at<T>(i.b, k)[l];
      if (var.taint != kNone)
        m.at<uint8_t>(var.taint, column)[l] = m.at<uint8_t>(i.z, k)[l];
    }
  });
}

} // namespace

#define POOT_BY_BYTES(Find, Function)                                          \
  Handler poot::interp::Find(uint32_t bytes) {                                 \
    return withBytes(bytes,                                                    \
                     [](auto t) -> Handler { return Function<decltype(t)>; }); \
  }
POOT_BY_BYTES(findLoad, load)
POOT_BY_BYTES(findStore, store)
POOT_BY_BYTES(findVarLoad, varLoad)
POOT_BY_BYTES(findVarStore, varStore)

#define POOT_BY_ELEMENT(Function, element)                                     \
  (element) == kir::Element::F32 ? Handler(Function<float>)                    \
  : kir::byteSize(element) == 8  ? Handler(Function<uint64_t>)                 \
                                 : Handler(Function<uint32_t>)
Handler poot::interp::findAtomicRmw(kir::AtomicKind, kir::Element element) {
  return POOT_BY_ELEMENT(atomicRmw, element);
}
Handler poot::interp::findAtomicCas(kir::Element element) {
  return kir::byteSize(element) == 8 ? Handler(atomicCas<uint64_t>)
                                     : Handler(atomicCas<uint32_t>);
}
Handler poot::interp::findAtomicLoad(kir::Element element) {
  return kir::byteSize(element) == 8 ? Handler(atomicLoad<uint64_t>)
                                     : Handler(atomicLoad<uint32_t>);
}
Handler poot::interp::findAtomicStore(kir::Element element) {
  return kir::byteSize(element) == 8 ? Handler(atomicStore<uint64_t>)
                                     : Handler(atomicStore<uint32_t>);
}
