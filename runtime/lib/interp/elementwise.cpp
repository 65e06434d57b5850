// Arithmetic, comparisons, conversions: operations on each element alone.
//
// Integers are exact modulo their width. f16 and bf16 are computed in f32 and
// rounded once; functions of the C library are as exact as it is. What the
// definition leaves undefined has some fixed result here, and is found by the
// check that the decoder puts beside it in a sanitizing program.

#include "handlers.h"

#include <algorithm>
#include <cmath>

using namespace poot;
using namespace poot::interp;
using kir::Element;
using kir::Opcode;

//===----------------------------------------------------------------------===//
// Loops over columns and work-items
//===----------------------------------------------------------------------===//

namespace {

/// F(a[, b[, c]]) over storage types.
template <class R, class A, class F>
void map1(Machine &m, const Inst &i, F body) {
  for (uint32_t k = 0; k != i.n; ++k) {
    R *d = m.at<R>(i.d, k);
    const A *a = m.at<A>(i.a, k);
    m.each([=](uint32_t l) { d[l] = body(a[l]); });
  }
}
template <class R, class A, class F>
void map2(Machine &m, const Inst &i, F body) {
  for (uint32_t k = 0; k != i.n; ++k) {
    R *d = m.at<R>(i.d, k);
    const A *a = m.at<A>(i.a, k), *b = m.at<A>(i.b, k);
    m.each([=](uint32_t l) { d[l] = body(a[l], b[l]); });
  }
}
template <class R, class A, class F>
void map3(Machine &m, const Inst &i, F body) {
  for (uint32_t k = 0; k != i.n; ++k) {
    R *d = m.at<R>(i.d, k);
    const A *a = m.at<A>(i.a, k), *b = m.at<A>(i.b, k), *c = m.at<A>(i.c, k);
    m.each([=](uint32_t l) { d[l] = body(a[l], b[l], c[l]); });
  }
}

// Int operations: of<I>(a, b) gets zero-extended values.

template <class I> int64_t sign(uint64_t value) {
  return I::sign(static_cast<typename I::Storage>(value));
}
template <class I> constexpr int64_t lowest() {
  return INT64_MIN >> (64 - I::bits);
}

#define POOT_INT_OP(Name, Expression)                                          \
  struct Name {                                                                \
    template <class I> static uint64_t of(uint64_t a, uint64_t b) {            \
      (void)a, (void)b;                                                        \
      return static_cast<uint64_t>(Expression);                                \
    }                                                                          \
  };
#define S(x) sign<I>(x)
POOT_INT_OP(AddI, a + b)
POOT_INT_OP(SubI, a - b)
POOT_INT_OP(MulI, a *b)
POOT_INT_OP(AndI, a &b)
POOT_INT_OP(OrI, a | b)
POOT_INT_OP(XOrI, a ^ b)
POOT_INT_OP(DivUI, b ? a / b : UINT64_MAX)
POOT_INT_OP(RemUI, b ? a % b : a)
POOT_INT_OP(CeilDivUI, b ? a / b + (a % b != 0) : UINT64_MAX)
POOT_INT_OP(ShLI, b < I::bits ? a << b : 0)
POOT_INT_OP(ShRUI, b < I::bits ? a >> b : 0)
POOT_INT_OP(ShRSI, S(a) >> std::min<uint64_t>(b, 63))
POOT_INT_OP(MinSI, std::min(S(a), S(b)))
POOT_INT_OP(MinUI, std::min(a, b))
POOT_INT_OP(MaxSI, std::max(S(a), S(b)))
POOT_INT_OP(MaxUI, std::max(a, b))
// Division by zero gives all ones, as unsigned division does; the lowest number
// by -1 is itself.
POOT_INT_OP(DivSI, b == 0       ? -1
                   : S(b) == -1 ? static_cast<int64_t>(0 - a)
                                : S(a) / S(b))
POOT_INT_OP(RemSI, b == 0 ? S(a) : S(b) == -1 ? 0 : S(a) % S(b))
POOT_INT_OP(FloorDivSI, b == 0       ? -1
                        : S(b) == -1 ? static_cast<int64_t>(0 - a)
                                     : S(a) / S(b) - (S(a) % S(b) != 0 &&
                                                      (S(a) < 0) != (S(b) < 0)))
POOT_INT_OP(CeilDivSI, b == 0       ? -1
                       : S(b) == -1 ? static_cast<int64_t>(0 - a)
                                    : S(a) / S(b) + (S(a) % S(b) != 0 &&
                                                     (S(a) < 0) == (S(b) < 0)))
POOT_INT_OP(AbsI, S(a) < 0 ? 0 - a : a)
POOT_INT_OP(Ctlz, a ? uint64_t(__builtin_clzll(a)) - (64 - I::bits) : I::bits)
POOT_INT_OP(Cttz, a ? uint64_t(__builtin_ctzll(a)) : I::bits)
POOT_INT_OP(CtPop, __builtin_popcountll(a))
#undef POOT_INT_OP

template <class I, class F> void int1(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  map1<T, T>(m, i, [](T a) { return I::wrap(F::template of<I>(a, 0)); });
}
template <class I, class F> void int2(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  map2<T, T>(m, i, [](T a, T b) { return I::wrap(F::template of<I>(a, b)); });
}

/// Reports what division and shifts leave undefined, then computes.
template <class I, class F, bool isSigned>
void division(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  if (m.san)
    for (uint32_t k = 0; k != i.n; ++k) {
      const T *a = m.at<T>(i.a, k), *b = m.at<T>(i.b, k);
      m.each([&](uint32_t l) {
        if (b[l] == 0)
          m.fault(Fault::Division, i.site, l, "integer division by zero");
        else if (isSigned && I::bits > 1 && I::sign(b[l]) == -1 &&
                 I::sign(a[l]) == lowest<I>())
          m.fault(Fault::Division, i.site, l,
                  weights::concat("division of ", I::sign(a[l]),
                                  " by -1: the result doesn't fit"));
      });
    }
  int2<I, F>(m, i);
}
template <class I, class F> void shift(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  if (m.san)
    for (uint32_t k = 0; k != i.n; ++k) {
      const T *b = m.at<T>(i.b, k);
      m.each([&](uint32_t l) {
        if (b[l] >= I::bits)
          m.fault(Fault::Shift, i.site, l,
                  weights::concat("a value of ", I::bits,
                                  " bits is shifted by ", I::sign(b[l])));
      });
    }
  int2<I, F>(m, i);
}

template <class I, kir::IntPredicate P>
void compareInt(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  using Q = kir::IntPredicate;
  map2<uint8_t, T>(m, i, [](T a, T b) -> uint8_t {
    switch (P) {
    case Q::Eq:
      return a == b;
    case Q::Ne:
      return a != b;
    case Q::Slt:
      return I::sign(a) < I::sign(b);
    case Q::Sle:
      return I::sign(a) <= I::sign(b);
    case Q::Sgt:
      return I::sign(a) > I::sign(b);
    case Q::Sge:
      return I::sign(a) >= I::sign(b);
    case Q::Ult:
      return a < b;
    case Q::Ule:
      return a <= b;
    case Q::Ugt:
      return a > b;
    case Q::Uge:
      return a >= b;
    }
    return 0;
  });
}

template <class I, bool isSigned>
void multiplyExtended(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  for (uint32_t k = 0; k != i.n; ++k) {
    T *low = m.at<T>(i.d, k), *high = m.at<T>(i.z, k);
    const T *a = m.at<T>(i.a, k), *b = m.at<T>(i.b, k);
    m.each([=](uint32_t l) {
      unsigned __int128 product =
          isSigned ? static_cast<unsigned __int128>(
                         static_cast<__int128>(I::sign(a[l])) * I::sign(b[l]))
                   : static_cast<unsigned __int128>(a[l]) * b[l];
      low[l] = I::wrap(static_cast<uint64_t>(product));
      high[l] = I::wrap(static_cast<uint64_t>(product >> I::bits));
    });
  }
}
template <class I> void addExtended(Machine &m, const Inst &i) {
  using T = typename I::Storage;
  for (uint32_t k = 0; k != i.n; ++k) {
    T *sum = m.at<T>(i.d, k);
    uint8_t *overflow = m.at<uint8_t>(i.z, k);
    const T *a = m.at<T>(i.a, k), *b = m.at<T>(i.b, k);
    m.each([=](uint32_t l) {
      T result = I::wrap(static_cast<uint64_t>(a[l]) + b[l]);
      overflow[l] = result < a[l];
      sum[l] = result;
    });
  }
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

template <class T> T minimum(T a, T b, bool numbers) {
  if (std::isnan(a) || std::isnan(b)) {
    if (numbers && std::isnan(a) != std::isnan(b))
      return std::isnan(a) ? b : a;
    return std::isnan(a) ? a : b;
  }
  if (a == b)
    return std::signbit(a) ? a : b; // -0 is below +0.
  return a < b ? a : b;
}
template <class T> T maximum(T a, T b, bool numbers) {
  if (a == b)
    return std::signbit(a) ? b : a;
  return -minimum(-a, -b, numbers);
}
template <class T> T rsqrt(T a) {
  if constexpr (sizeof(T) == 4)
    return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
  else
    return 1 / std::sqrt(a);
}

#define POOT_FLOAT_OP(Name, Expression)                                        \
  struct Name {                                                                \
    template <class T> static T of(T a, T b, T c) {                            \
      (void)a, (void)b, (void)c;                                               \
      return static_cast<T>(Expression);                                       \
    }                                                                          \
  };
POOT_FLOAT_OP(AddF, a + b)
POOT_FLOAT_OP(SubF, a - b)
POOT_FLOAT_OP(MulF, a *b)
POOT_FLOAT_OP(DivF, a / b)
POOT_FLOAT_OP(RemF, std::fmod(a, b))
POOT_FLOAT_OP(MaximumF, maximum(a, b, false))
POOT_FLOAT_OP(MinimumF, minimum(a, b, false))
POOT_FLOAT_OP(MaxNumF, maximum(a, b, true))
POOT_FLOAT_OP(MinNumF, minimum(a, b, true))
POOT_FLOAT_OP(Acos, std::acos(a))
POOT_FLOAT_OP(Acosh, std::acosh(a))
POOT_FLOAT_OP(Asin, std::asin(a))
POOT_FLOAT_OP(Asinh, std::asinh(a))
POOT_FLOAT_OP(Atan, std::atan(a))
POOT_FLOAT_OP(Atan2, std::atan2(a, b))
POOT_FLOAT_OP(Atanh, std::atanh(a))
POOT_FLOAT_OP(Cbrt, std::cbrt(a))
POOT_FLOAT_OP(Ceil, std::ceil(a))
POOT_FLOAT_OP(ClampF, a<b ? b : a> c ? c : a)
POOT_FLOAT_OP(Cos, std::cos(a))
POOT_FLOAT_OP(Cosh, std::cosh(a))
POOT_FLOAT_OP(Erf, std::erf(a))
POOT_FLOAT_OP(Erfc, std::erfc(a))
POOT_FLOAT_OP(Exp, std::exp(a))
POOT_FLOAT_OP(Exp2, std::exp2(a))
POOT_FLOAT_OP(ExpM1, std::expm1(a))
POOT_FLOAT_OP(Floor, std::floor(a))
POOT_FLOAT_OP(Log, std::log(a))
POOT_FLOAT_OP(Log10, std::log10(a))
POOT_FLOAT_OP(Log1p, std::log1p(a))
POOT_FLOAT_OP(Log2, std::log2(a))
POOT_FLOAT_OP(PowF, std::pow(a, b))
POOT_FLOAT_OP(Round, std::round(a))
POOT_FLOAT_OP(RoundEven, std::nearbyint(a))
POOT_FLOAT_OP(Rsqrt, rsqrt(a))
POOT_FLOAT_OP(Sin, std::sin(a))
POOT_FLOAT_OP(Sinh, std::sinh(a))
POOT_FLOAT_OP(Sqrt, std::sqrt(a))
POOT_FLOAT_OP(Tan, std::tan(a))
POOT_FLOAT_OP(Tanh, std::tanh(a))
POOT_FLOAT_OP(Trunc, std::trunc(a))
#undef POOT_FLOAT_OP

template <class T, class F> void float1(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  using C = typename T::Compute;
  map1<V, V>(m, i, [](V a) {
    return T::store(F::template of<C>(T::load(a), C(), C()));
  });
}
template <class T, class F> void float2(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  using C = typename T::Compute;
  map2<V, V>(m, i, [](V a, V b) {
    return T::store(F::template of<C>(T::load(a), T::load(b), C()));
  });
}
template <class T, class F> void float3(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  using C = typename T::Compute;
  map3<V, V>(m, i, [](V a, V b, V c) {
    return T::store(F::template of<C>(T::load(a), T::load(b), T::load(c)));
  });
}

/// Rounded once. The product of two 16-bit floats is exact in f64; its sum is
/// rounded to odd there, which the last rounding doesn't notice.
template <class T> void fma(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  map3<V, V>(m, i, [](V x, V y, V z) -> V {
    if constexpr (sizeof(V) != 2) {
      return std::fma(x, y, z);
    } else {
      double a = static_cast<double>(T::load(x)) * T::load(y);
      double b = T::load(z);
      double sum = a + b;
      if (!std::isfinite(sum))
        return T::narrow(sum);
      double part = sum - a;
      double error = (a - (sum - part)) + (b - part);
      uint64_t bits;
      std::memcpy(&bits, &sum, sizeof bits);
      if (error != 0 && !(bits & 1)) {
        // Towards the exact sum.
        bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
        std::memcpy(&sum, &bits, sizeof bits);
      }
      return T::narrow(sum);
    }
  });
}

// Signs of 16-bit floats are bits: a NaN keeps its payload.
template <class T, class F> void onBits(Machine &m, const Inst &i, F body) {
  using U = std::conditional_t<
      sizeof(typename T::Storage) == 2, uint16_t,
      std::conditional_t<sizeof(typename T::Storage) == 4, uint32_t, uint64_t>>;
  constexpr U top = static_cast<U>(U(1) << (sizeof(U) * 8 - 1));
  map2<U, U>(m, i, [=](U a, U b) { return static_cast<U>(body(a, b, top)); });
}
template <class T> void negate(Machine &m, const Inst &i) {
  onBits<T>(m, i, [](auto a, auto, auto top) { return a ^ top; });
}
template <class T> void absolute(Machine &m, const Inst &i) {
  onBits<T>(m, i, [](auto a, auto, auto top) { return a & ~top; });
}
template <class T> void copySign(Machine &m, const Inst &i) {
  onBits<T>(m, i,
            [](auto a, auto b, auto top) { return (a & ~top) | (b & top); });
}

template <class T> void sincos(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  for (uint32_t k = 0; k != i.n; ++k) {
    V *sine = m.at<V>(i.d, k), *cosine = m.at<V>(i.z, k);
    const V *a = m.at<V>(i.a, k);
    m.each([=](uint32_t l) {
      auto value = T::load(a[l]);
      sine[l] = T::store(std::sin(value));
      cosine[l] = T::store(std::cos(value));
    });
  }
}

template <class T, kir::FloatPredicate P>
void compareFloat(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  using Q = kir::FloatPredicate;
  map2<uint8_t, V>(m, i, [](V x, V y) -> uint8_t {
    auto a = T::load(x), b = T::load(y);
    bool unordered = a != a || b != b;
    switch (P) {
    case Q::False:
      return 0;
    case Q::Oeq:
      return a == b;
    case Q::Ogt:
      return a > b;
    case Q::Oge:
      return a >= b;
    case Q::Olt:
      return a < b;
    case Q::Ole:
      return a <= b;
    case Q::One:
      return a < b || a > b;
    case Q::Ord:
      return !unordered;
    case Q::Ueq:
      return unordered || a == b;
    case Q::Ugt:
      return !(a <= b);
    case Q::Uge:
      return !(a < b);
    case Q::Ult:
      return !(a >= b);
    case Q::Ule:
      return !(a > b);
    case Q::Une:
      return a != b;
    case Q::Uno:
      return unordered;
    case Q::True:
      return 1;
    }
    return 0;
  });
}

template <class T, Opcode O> void testFloat(Machine &m, const Inst &i) {
  using V = typename T::Storage;
  map1<uint8_t, V>(m, i, [](V x) -> uint8_t {
    auto a = T::load(x);
    switch (O) {
    case Opcode::MathIsFinite:
      return std::isfinite(a);
    case Opcode::MathIsInf:
      return std::isinf(a);
    case Opcode::MathIsNaN:
      return std::isnan(a);
    default:
      // Of its own type: f16's smallest normal number is larger than f32's.
      if constexpr (std::is_same_v<T, F16>)
        return (x & 0x7c00) != 0 && (x & 0x7c00) != 0x7c00;
      return std::isnormal(a);
    }
  });
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <class A, class R> void zeroExtend(Machine &m, const Inst &i) {
  using T = typename A::Storage;
  using D = typename R::Storage;
  map1<D, T>(m, i, [](T a) { return R::wrap(a); });
}
template <class A, class R> void signExtend(Machine &m, const Inst &i) {
  using T = typename A::Storage;
  using D = typename R::Storage;
  map1<D, T>(m, i,
             [](T a) { return R::wrap(static_cast<uint64_t>(A::sign(a))); });
}

template <class A, class R> void convertFloat(Machine &m, const Inst &i) {
  using T = typename A::Storage;
  using D = typename R::Storage;
  map1<D, T>(m, i, [](T a) -> D {
    if constexpr (sizeof(T) == 8)
      return R::narrow(A::load(a));
    else
      return R::store(A::load(a));
  });
}

/// VALUE to the neighbours of R that it lies between, by a mode other than to
/// nearest even.
template <class R>
typename R::Storage roundBy(double value, kir::Rounding mode) {
  using D = typename R::Storage;
  D near = R::narrow(value);
  double got = static_cast<double>(R::load(near));
  if (value != value || got == value)
    return near;
  // The neighbour on the other side of VALUE. Bits of floats of one sign count
  // up with their magnitude.
  using U = std::conditional_t<
      sizeof(D) == 2, uint16_t,
      std::conditional_t<sizeof(D) == 4, uint32_t, uint64_t>>;
  U bits;
  std::memcpy(&bits, &near, sizeof bits);
  constexpr U top = static_cast<U>(U(1) << (sizeof(U) * 8 - 1));
  bool away = std::fabs(got) > std::fabs(value);
  U toward = static_cast<U>(away ? bits - 1 : bits);
  U outward = static_cast<U>(away ? bits : bits + 1);
  if (value < 0 && !(bits & top)) // -tiny became +0? narrow keeps signs.
    toward = static_cast<U>(toward | top),
    outward = static_cast<U>(outward | top);
  U chosen = bits;
  switch (mode) {
  case kir::Rounding::Downward:
    chosen = value < 0 ? outward : toward;
    break;
  case kir::Rounding::Upward:
    chosen = value < 0 ? toward : outward;
    break;
  case kir::Rounding::TowardZero:
    chosen = toward;
    break;
  case kir::Rounding::ToNearestAway: {
    D low, high;
    std::memcpy(&low, &toward, sizeof low);
    std::memcpy(&high, &outward, sizeof high);
    double below = std::fabs(value) - std::fabs(double(R::load(low)));
    double above = std::fabs(double(R::load(high))) - std::fabs(value);
    chosen = std::isinf(above) ? bits : below < above ? toward : outward;
    break;
  }
  case kir::Rounding::ToNearestEven:
    break;
  }
  std::memcpy(&near, &chosen, sizeof near);
  return near;
}
template <class A, class R, kir::Rounding M>
void convertFloatBy(Machine &m, const Inst &i) {
  map1<typename R::Storage, typename A::Storage>(
      m, i, [](auto a) { return roundBy<R>(double(A::load(a)), M); });
}

/// Values that don't fit become the nearest that does, NaN zero.
template <class A, class R, bool isSigned>
void floatToInt(Machine &m, const Inst &i) {
  using T = typename A::Storage;
  using D = typename R::Storage;
  map1<D, T>(m, i, [](T x) -> D {
    double a = std::trunc(static_cast<double>(A::load(x)));
    constexpr int bits = isSigned ? int(R::bits) - 1 : int(R::bits);
    const double end = std::ldexp(1.0, bits);
    if (a != a)
      return 0;
    if (isSigned) {
      if (a < -end)
        return R::wrap(static_cast<uint64_t>(lowest<R>()));
      if (a >= end)
        return R::wrap(static_cast<uint64_t>(~lowest<R>()));
      return R::wrap(static_cast<uint64_t>(static_cast<int64_t>(a)));
    }
    if (a < 0)
      return 0;
    if (a >= end)
      return R::wrap(UINT64_MAX);
    return R::wrap(static_cast<uint64_t>(a));
  });
}

template <class A, class R, bool isSigned>
void intToFloat(Machine &m, const Inst &i) {
  using T = typename A::Storage;
  using D = typename R::Storage;
  map1<D, T>(m, i, [](T x) -> D {
    auto convert = [](auto value) -> D {
      if constexpr (sizeof(D) != 2) {
        return static_cast<D>(value);
      } else {
        // Through f64, to odd where even that is too narrow.
        auto cut = value;
        if constexpr (A::bits == 64) {
          constexpr decltype(value) low = 0x7ff, last = 0x800;
          bool large = value >= (int64_t(1) << 53) ||
                       (isSigned && value <= static_cast<decltype(value)>(
                                                 -(int64_t(1) << 53)));
          if (large && (value & low))
            cut = (value & ~low) | last;
        }
        return R::narrow(static_cast<double>(cut));
      }
    };
    if constexpr (isSigned)
      return convert(A::sign(x));
    else
      return convert(static_cast<uint64_t>(x));
  });
}

template <class T> void selectOf(Machine &m, const Inst &i) {
  // x: 1 where the condition has a column for each element.
  for (uint32_t k = 0; k != i.n; ++k) {
    T *d = m.at<T>(i.d, k);
    const uint8_t *a = m.at<uint8_t>(i.a, i.x ? k : 0);
    const T *b = m.at<T>(i.b, k), *c = m.at<T>(i.c, k);
    m.each([=](uint32_t l) { d[l] = a[l] & 1 ? b[l] : c[l]; });
  }
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

template <class F> Handler intUnary(Element e) {
  return withInt(e, [](auto i) -> Handler { return int1<decltype(i), F>; });
}
template <class F> Handler intBinary(Element e) {
  return withInt(e, [](auto i) -> Handler { return int2<decltype(i), F>; });
}
template <class F, bool isSigned> Handler intDivision(Element e) {
  return withInt(
      e, [](auto i) -> Handler { return division<decltype(i), F, isSigned>; });
}
template <class F> Handler intShift(Element e) {
  return withInt(e, [](auto i) -> Handler { return shift<decltype(i), F>; });
}
template <class F> Handler floatUnary(Element e) {
  return withFloat(e, [](auto t) -> Handler { return float1<decltype(t), F>; });
}
template <class F> Handler floatBinary(Element e) {
  return withFloat(e, [](auto t) -> Handler { return float2<decltype(t), F>; });
}

Handler intComparison(Element e, kir::IntPredicate predicate) {
  return withInt(e, [&](auto i) -> Handler {
    using I = decltype(i);
    using Q = kir::IntPredicate;
    static constexpr Handler table[] = {
        compareInt<I, Q::Eq>,  compareInt<I, Q::Ne>,  compareInt<I, Q::Slt>,
        compareInt<I, Q::Sle>, compareInt<I, Q::Sgt>, compareInt<I, Q::Sge>,
        compareInt<I, Q::Ult>, compareInt<I, Q::Ule>, compareInt<I, Q::Ugt>,
        compareInt<I, Q::Uge>};
    return table[static_cast<unsigned>(predicate)];
  });
}

Handler floatComparison(Element e, kir::FloatPredicate predicate) {
  return withFloat(e, [&](auto t) -> Handler {
    using T = decltype(t);
    using Q = kir::FloatPredicate;
    static constexpr Handler table[] = {
        compareFloat<T, Q::False>, compareFloat<T, Q::Oeq>,
        compareFloat<T, Q::Ogt>,   compareFloat<T, Q::Oge>,
        compareFloat<T, Q::Olt>,   compareFloat<T, Q::Ole>,
        compareFloat<T, Q::One>,   compareFloat<T, Q::Ord>,
        compareFloat<T, Q::Ueq>,   compareFloat<T, Q::Ugt>,
        compareFloat<T, Q::Uge>,   compareFloat<T, Q::Ult>,
        compareFloat<T, Q::Ule>,   compareFloat<T, Q::Une>,
        compareFloat<T, Q::Uno>,   compareFloat<T, Q::True>};
    return table[static_cast<unsigned>(predicate)];
  });
}

Handler narrowing(Element from, Element to, kir::Rounding mode) {
  return withFloat(from, [&](auto a) {
    return withFloat(to, [&](auto r) -> Handler {
      using A = decltype(a);
      using R = decltype(r);
      using M = kir::Rounding;
      switch (mode) {
      case M::ToNearestEven:
        return convertFloat<A, R>;
      case M::Downward:
        return convertFloatBy<A, R, M::Downward>;
      case M::Upward:
        return convertFloatBy<A, R, M::Upward>;
      case M::TowardZero:
        return convertFloatBy<A, R, M::TowardZero>;
      case M::ToNearestAway:
        return convertFloatBy<A, R, M::ToNearestAway>;
      }
      return nullptr;
    });
  });
}

} // namespace

Handler poot::interp::findElementwise(const kir::Op &op, Element from,
                                      Element to) {
  auto intToInt = [&](bool isSigned) {
    return withInt(from, [&](auto a) {
      return withInt(to, [&](auto r) -> Handler {
        using A = decltype(a);
        using R = decltype(r);
        return isSigned ? signExtend<A, R> : zeroExtend<A, R>;
      });
    });
  };
  switch (op.opcode) {
  case Opcode::ArithAddI:
    return intBinary<AddI>(from);
  case Opcode::ArithSubI:
    return intBinary<SubI>(from);
  case Opcode::ArithMulI:
    return intBinary<MulI>(from);
  case Opcode::ArithDivSI:
    return intDivision<DivSI, true>(from);
  case Opcode::ArithDivUI:
    return intDivision<DivUI, false>(from);
  case Opcode::ArithRemSI:
    return intDivision<RemSI, true>(from);
  case Opcode::ArithRemUI:
    return intDivision<RemUI, false>(from);
  case Opcode::ArithCeilDivSI:
    return intDivision<CeilDivSI, true>(from);
  case Opcode::ArithCeilDivUI:
    return intDivision<CeilDivUI, false>(from);
  case Opcode::ArithFloorDivSI:
    return intDivision<FloorDivSI, true>(from);
  case Opcode::ArithAndI:
    return intBinary<AndI>(from);
  case Opcode::ArithOrI:
    return intBinary<OrI>(from);
  case Opcode::ArithXOrI:
    return intBinary<XOrI>(from);
  case Opcode::ArithShLI:
    return intShift<ShLI>(from);
  case Opcode::ArithShRSI:
    return intShift<ShRSI>(from);
  case Opcode::ArithShRUI:
    return intShift<ShRUI>(from);
  case Opcode::ArithMinSI:
    return intBinary<MinSI>(from);
  case Opcode::ArithMinUI:
    return intBinary<MinUI>(from);
  case Opcode::ArithMaxSI:
    return intBinary<MaxSI>(from);
  case Opcode::ArithMaxUI:
    return intBinary<MaxUI>(from);
  case Opcode::ArithMulSIExtended:
    return withInt(from, [](auto i) -> Handler {
      return multiplyExtended<decltype(i), true>;
    });
  case Opcode::ArithMulUIExtended:
    return withInt(from, [](auto i) -> Handler {
      return multiplyExtended<decltype(i), false>;
    });
  case Opcode::ArithAddUIExtended:
    return withInt(from,
                   [](auto i) -> Handler { return addExtended<decltype(i)>; });
  case Opcode::ArithCmpI:
    return intComparison(
        from, op.get<kir::IntPredicate>(kir::AttributeKey::IntPredicate));
  case Opcode::MathAbsI:
    return intUnary<AbsI>(from);
  case Opcode::MathCtlz:
    return intUnary<Ctlz>(from);
  case Opcode::MathCttz:
    return intUnary<Cttz>(from);
  case Opcode::MathCtPop:
    return intUnary<CtPop>(from);

  case Opcode::ArithAddF:
    return floatBinary<AddF>(from);
  case Opcode::ArithSubF:
    return floatBinary<SubF>(from);
  case Opcode::ArithMulF:
    return floatBinary<MulF>(from);
  case Opcode::ArithDivF:
    return floatBinary<DivF>(from);
  case Opcode::ArithRemF:
    return floatBinary<RemF>(from);
  case Opcode::ArithNegF:
    return withFloat(from,
                     [](auto t) -> Handler { return negate<decltype(t)>; });
  case Opcode::ArithMaximumF:
    return floatBinary<MaximumF>(from);
  case Opcode::ArithMinimumF:
    return floatBinary<MinimumF>(from);
  case Opcode::ArithMaxNumF:
    return floatBinary<MaxNumF>(from);
  case Opcode::ArithMinNumF:
    return floatBinary<MinNumF>(from);
  case Opcode::ArithCmpF:
    return floatComparison(
        from, op.get<kir::FloatPredicate>(kir::AttributeKey::FloatPredicate));
  case Opcode::MathAbsF:
    return withFloat(from,
                     [](auto t) -> Handler { return absolute<decltype(t)>; });
  case Opcode::MathCopySign:
    return withFloat(from,
                     [](auto t) -> Handler { return copySign<decltype(t)>; });
  case Opcode::MathClampF:
    return withFloat(
        from, [](auto t) -> Handler { return float3<decltype(t), ClampF>; });
  case Opcode::MathFma:
  case Opcode::VectorFma:
    return withFloat(from, [](auto t) -> Handler { return fma<decltype(t)>; });
  case Opcode::MathAtan2:
    return floatBinary<Atan2>(from);
  case Opcode::MathPowF:
    return floatBinary<PowF>(from);
#define POOT_UNARY(Opcode_, F)                                                 \
  case Opcode::Opcode_:                                                        \
    return floatUnary<F>(from);
    POOT_UNARY(MathAcos, Acos)
    POOT_UNARY(MathAcosh, Acosh)
    POOT_UNARY(MathAsin, Asin)
    POOT_UNARY(MathAsinh, Asinh)
    POOT_UNARY(MathAtan, Atan)
    POOT_UNARY(MathAtanh, Atanh)
    POOT_UNARY(MathCbrt, Cbrt)
    POOT_UNARY(MathCeil, Ceil)
    POOT_UNARY(MathCos, Cos)
    POOT_UNARY(MathCosh, Cosh)
    POOT_UNARY(MathErf, Erf)
    POOT_UNARY(MathErfc, Erfc)
    POOT_UNARY(MathExp, Exp)
    POOT_UNARY(MathExp2, Exp2)
    POOT_UNARY(MathExpM1, ExpM1)
    POOT_UNARY(MathFloor, Floor)
    POOT_UNARY(MathLog, Log)
    POOT_UNARY(MathLog10, Log10)
    POOT_UNARY(MathLog1p, Log1p)
    POOT_UNARY(MathLog2, Log2)
    POOT_UNARY(MathRound, Round)
    POOT_UNARY(MathRoundEven, RoundEven)
    POOT_UNARY(MathRsqrt, Rsqrt)
    POOT_UNARY(MathSin, Sin)
    POOT_UNARY(MathSinh, Sinh)
    POOT_UNARY(MathSqrt, Sqrt)
    POOT_UNARY(MathTan, Tan)
    POOT_UNARY(MathTanh, Tanh)
    POOT_UNARY(MathTrunc, Trunc)
#undef POOT_UNARY
  case Opcode::MathSincos:
    return withFloat(from,
                     [](auto t) -> Handler { return sincos<decltype(t)>; });
#define POOT_TEST(Opcode_)                                                     \
  case Opcode::Opcode_:                                                        \
    return withFloat(from, [](auto t) -> Handler {                             \
      return testFloat<decltype(t), Opcode::Opcode_>;                          \
    });
    POOT_TEST(MathIsFinite)
    POOT_TEST(MathIsInf)
    POOT_TEST(MathIsNaN)
    POOT_TEST(MathIsNormal)
#undef POOT_TEST

  case Opcode::ArithSelect:
    return withBytes(kir::byteSize(to),
                     [](auto t) -> Handler { return selectOf<decltype(t)>; });
  case Opcode::ArithExtSI:
  case Opcode::ArithIndexCast:
    return intToInt(true);
  case Opcode::ArithExtUI:
  case Opcode::ArithTruncI:
  case Opcode::ArithIndexCastUI:
    return intToInt(false);
  case Opcode::ArithExtF:
    return narrowing(from, to, kir::Rounding::ToNearestEven);
  case Opcode::ArithTruncF:
    return narrowing(from, to,
                     op.get<kir::Rounding>(kir::AttributeKey::Rounding));
  case Opcode::ArithFPToSI:
  case Opcode::ArithFPToUI:
    return withFloat(from, [&](auto a) {
      return withInt(to, [&](auto r) -> Handler {
        using A = decltype(a);
        using R = decltype(r);
        return op.opcode == Opcode::ArithFPToSI ? floatToInt<A, R, true>
                                                : floatToInt<A, R, false>;
      });
    });
  case Opcode::ArithSIToFP:
  case Opcode::ArithUIToFP:
    return withInt(from, [&](auto a) {
      return withFloat(to, [&](auto r) -> Handler {
        using A = decltype(a);
        using R = decltype(r);
        return op.opcode == Opcode::ArithSIToFP ? intToFloat<A, R, true>
                                                : intToFloat<A, R, false>;
      });
    });
  default:
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Taints
//===----------------------------------------------------------------------===//

void poot::interp::mergeTaints(Machine &m, const Inst &i) {
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    m.each([&](uint32_t l) {
      uint8_t taint = 0;
      for (uint32_t from : {i.a, i.b, i.c})
        if (from != kNone)
          taint |= m.at<uint8_t>(from, k)[l];
      d[l] = taint;
    });
  }
}

void poot::interp::selectTaints(Machine &m, const Inst &i) {
  // y: 1 where the condition has a column for each element.
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    const uint8_t *condition = m.at<uint8_t>(i.a, i.y ? k : 0);
    const uint8_t *own = m.at<uint8_t>(i.x, i.y ? k : 0);
    const uint8_t *b = m.at<uint8_t>(i.b, k), *c = m.at<uint8_t>(i.c, k);
    m.each([=](uint32_t l) {
      d[l] = own[l] ? own[l] : condition[l] & 1 ? b[l] : c[l];
    });
  }
}

static uint64_t readInt(Machine &m, Element element, uint32_t reg, uint32_t k,
                        uint32_t l, bool isSigned) {
  return withInt(element, [&](auto i) -> uint64_t {
    using I = decltype(i);
    auto value = m.at<typename I::Storage>(reg, k)[l];
    return isSigned ? static_cast<uint64_t>(I::sign(value)) : value;
  });
}

void poot::interp::checkIntFlags(Machine &m, const Inst &i) {
  const auto opcode = static_cast<Opcode>(i.x);
  const auto element = static_cast<Element>(i.z & 0xff);
  const auto result = static_cast<Element>(i.z >> 8);
  const unsigned bits = kir::bitWidth(element);
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    m.each([&](uint32_t l) {
      bool lost = false;
      for (bool isSigned : {true, false}) {
        if (!(i.y & (isSigned ? kir::NoSignedWrap : kir::NoUnsignedWrap)))
          continue;
        auto wide = [&](uint32_t reg) -> __int128 {
          uint64_t value = readInt(m, element, reg, k, l, isSigned);
          return isSigned ? static_cast<__int128>(static_cast<int64_t>(value))
                          : static_cast<__int128>(value);
        };
        __int128 a = wide(i.a), exact = 0;
        unsigned width = bits;
        switch (opcode) {
        case Opcode::ArithAddI:
          exact = a + wide(i.b);
          break;
        case Opcode::ArithSubI:
          exact = a - wide(i.b);
          break;
        case Opcode::ArithMulI: {
          // The product of two unsigned numbers of 64 bits may need 128.
          __int128 b = wide(i.b);
          if (!isSigned && bits == 64 && a && b > UINT64_MAX / a) {
            lost = true;
            continue;
          }
          exact = a * b;
          break;
        }
        case Opcode::ArithShLI: {
          uint64_t by = readInt(m, element, i.b, k, l, false);
          if (by >= bits)
            continue; // Reported already.
          exact = a * (static_cast<__int128>(1) << by);
          break;
        }
        default: // trunci
          exact = a;
          width = kir::bitWidth(result);
          break;
        }
        __int128 end = static_cast<__int128>(1)
                       << (isSigned ? width - 1 : width);
        lost |= exact >= end || exact < (isSigned ? -end : 0);
      }
      // Exact division and right shifts lose nothing.
      if (i.y & 256) {
        bool isSigned = opcode != Opcode::ArithDivUI;
        uint64_t a = readInt(m, element, i.a, k, l, isSigned);
        uint64_t b = readInt(m, element, i.b, k, l, isSigned);
        if (opcode == Opcode::ArithDivUI)
          lost |= b && a % b;
        else if (opcode == Opcode::ArithDivSI)
          lost |= b && static_cast<int64_t>(b) != -1 &&
                  static_cast<int64_t>(a) % static_cast<int64_t>(b);
        else
          lost |= b < bits && (a & ((uint64_t(1) << b) - 1));
      }
      if (lost)
        d[l] |= kPoison;
    });
  }
}

void poot::interp::checkFloatFlags(Machine &m, const Inst &i) {
  const auto element = static_cast<Element>(i.z);
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    withFloat(element, [&](auto t) {
      using T = decltype(t);
      m.each([&](uint32_t l) {
        for (uint32_t reg : {i.a, i.b, i.c}) {
          if (reg == kNone)
            continue;
          auto value = T::load(m.at<typename T::Storage>(reg, k)[l]);
          if (((i.y & kir::NoNaN) && std::isnan(value)) ||
              ((i.y & kir::NoInf) && std::isinf(value)))
            d[l] |= kPoison;
        }
      });
      return 0;
    });
  }
}

void poot::interp::checkFloatToInt(Machine &m, const Inst &i) {
  const auto element = static_cast<Element>(i.z);
  const double end = std::ldexp(1.0, static_cast<int>(i.x ? i.y - 1 : i.y));
  for (uint32_t k = 0; k != i.n; ++k) {
    uint8_t *d = m.at<uint8_t>(i.d, k);
    withFloat(element, [&](auto t) {
      using T = decltype(t);
      const auto *a = m.at<typename T::Storage>(i.a, k);
      m.each([&](uint32_t l) {
        double value = std::trunc(static_cast<double>(T::load(a[l])));
        if (!(value < end && value >= (i.x ? -end : 0)))
          d[l] |= kPoison;
      });
      return 0;
    });
  }
}

void poot::interp::checkUse(Machine &m, const Inst &i) {
  static constexpr const char *texts[] = {"an index is", "what is stored is",
                                          "an atomic takes", "a lane is",
                                          "a subgroup operation takes"};
  m.san->checkUse(m, i.a, i.n, i.site, texts[i.x]);
}
