//===- ExpandMath.cpp - Writes out the mathematics that GPUs lack ---------===//
//
// Each function below writes one operation in terms of f32 arithmetic, integer
// arithmetic and selects; vectors are computed element by element in the same
// way. Nothing relies on fused multiply-adds, nor breaks where a driver fuses:
// products whose rounding error matters are split so that they are exact.
//
// Polynomials are minimax fits (Lawson's algorithm in double precision); the
// comment beside each names function, interval and largest relative error.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELEXPANDMATH
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLog2E = 1.4426950408889634074;
// ln 2 with 15 bits, so that its product with an exponent is exact, and the
// rest.
constexpr double kLn2High = 0x1.62e4p-1;
constexpr double kLn2Low = kLn2 - kLn2High;

/// Writes expressions before one operation.
class Expander {
public:
  explicit Expander(Operation *op) : k(op) {
    // Rounding errors are computed by subtracting again what was added.
    k.setContraction(false);
  }

  KValue operand(Operation *op, unsigned index) {
    return {k, op->getOperand(index)};
  }

  KValue trunc(KValue x);
  KValue round(KValue x);
  KValue expm1(KValue x);
  KValue log1p(KValue x);
  KValue tanh(KValue x);
  KValue erf(KValue x);
  KValue erfc(KValue x);
  KValue cbrt(KValue x);
  std::pair<KValue, KValue> sincos(KValue x);
  KValue atan(KValue x);
  KValue atan2(KValue y, KValue x);
  KValue pow(KValue x, KValue y);
  KValue ctpop(KValue x);
  KValue ctlz(KValue x);
  KValue cttz(KValue x);
  KValue copysign(KValue magnitude, KValue sign);
  KValue isfinite(KValue x);
  KValue isnormal(KValue x);
  KValue bf16ToF32(KValue x);
  KValue f32ToBf16(KValue x);

  /// The type with the shape of `value` and the given elements.
  static Type withElement(KValue value, Type element) {
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      return vector.clone(element);
    return element;
  }

  KernelBuilder k;

private:
  KValue bits(KValue x) { return k.bitcast(x, withElement(x, k.i32Type())); }
  KValue number(KValue x) { return k.bitcast(x, withElement(x, k.f32Type())); }
  KValue toFloat(KValue x) { return k.cast(x, withElement(x, k.f32Type())); }
  KValue toInt(KValue x) { return k.cast(x, withElement(x, k.i32Type())); }
  KValue horner(KValue x, ArrayRef<double> coefficients);
  KValue isNegative(KValue x) { return bits(x) < 0; }
  KValue keepNaN(KValue x, KValue result) {
    return k.select(x != x, x, result);
  }
  /// The upper 12 bits of the fraction: the square of the result is exact.
  KValue upperHalf(KValue x) {
    return number(bits(x) & static_cast<int64_t>(0xfffff000));
  }
  KValue powerOfTwo(KValue exponent) { return number((exponent + 127) << 23); }
  KValue scale(KValue x, KValue exponent);
  KValue expm1OfReduced(KValue r);
  KValue expOfSum(KValue high, KValue low);
  KValue erfBelowOne(KValue x);
  KValue erfcFromHalf(KValue a);
  KValue atanBelowOne(KValue x);
  std::pair<KValue, KValue> reduceByHalfPi(KValue a);
};

/// c[0] + c[1] x + c[2] x² + ...
KValue Expander::horner(KValue x, ArrayRef<double> coefficients) {
  KValue sum = x.like(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = sum * x + coefficient;
  return sum;
}

/// x · 2^exponent for exponents from -252 to 254, in two steps so that each
/// power of two is a normal number.
KValue Expander::scale(KValue x, KValue exponent) {
  KValue half = exponent >> 1;
  return x * powerOfTwo(half) * powerOfTwo(exponent - half);
}

//===----------------------------------------------------------------------===//
// Rounding and signs
//===----------------------------------------------------------------------===//

KValue Expander::trunc(KValue x) {
  return k.select(x < 0, k.ceil(x), k.floor(x));
}

/// Halves away from zero.
KValue Expander::round(KValue x) {
  KValue whole = trunc(x);
  KValue rest = k.abs(x - whole);
  // Infinity minus infinity is NaN, which rounds nothing up.
  return k.select(rest >= 0.5, whole + copysign(x.like(1.0), x), whole);
}

KValue Expander::copysign(KValue magnitude, KValue sign) {
  Type element = getElementTypeOrSelf(magnitude.getType());
  unsigned width = element.getIntOrFloatBitWidth();
  Type integer = withElement(magnitude, k.getOpBuilder().getIntegerType(width));
  // Wraps around to the sign bit where the type is narrower than 64 bits.
  int64_t signBit = static_cast<int64_t>(uint64_t(1) << (width - 1));
  KValue absolute = k.bitcast(magnitude, integer) & ~signBit;
  KValue negative = k.bitcast(sign, integer) & signBit;
  return k.bitcast(absolute | negative, magnitude.getType());
}

KValue Expander::isfinite(KValue x) { return k.abs(x) < kInfinity; }

KValue Expander::isnormal(KValue x) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(x.getType())).getFloatSemantics();
  KValue absolute = k.abs(x);
  KValue smallest =
      x.like(APFloat::getSmallestNormalized(semantics).convertToDouble());
  return (absolute >= smallest) & (absolute < kInfinity);
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

/// e^r - 1 for |r| up to ln 2 / 2.
KValue Expander::expm1OfReduced(KValue r) {
  // (e^r - 1 - r) / r², error 2.4e-10 relative to (e^r - 1).
  KValue tail = horner(r, {5.000000047e-01, 1.666666681e-01, 4.166635120e-02,
                           8.333273512e-03, 1.394129087e-03, 1.991395226e-04});
  return r + r * r * tail;
}

/// e^(high + low) for high from -105 to 88 and a small low.
KValue Expander::expOfSum(KValue high, KValue low) {
  KValue n = k.round(high * kLog2E);
  KValue r = (high - n * kLn2High) - n * kLn2Low + low;
  return scale(expm1OfReduced(r) + 1.0, toInt(n));
}

KValue Expander::expm1(KValue x) {
  // Outside of these the result is -1 or infinity.
  KValue inner = k.select(x > 89.0, x.like(89.0), x);
  inner = k.select(inner < -20.0, x.like(-20.0), inner);
  KValue n = k.round(inner * kLog2E);
  KValue r = (inner - n * kLn2High) - n * kLn2Low;
  KValue q = expm1OfReduced(r);
  // 2^n (q + 1) - 1, with half the power so that 2^128 doesn't overflow early.
  KValue half = powerOfTwo(toInt(n) - 1);
  KValue result = (half * q + (half - 0.5)) * 2.0;
  // The integer part of NaN is undefined; a sum loses the sign of zero.
  result = k.select((n == 0.0) | (x != x), q, result);
  return k.select(x == 0.0, x, result);
}

/// log(1 + x): reduces 1 + x to 2^n (1 + f) and adds the rounding error of
/// 1 + x back.
KValue Expander::log1p(KValue x) {
  constexpr int64_t kSqrtHalfBits = 0x3f3504f3;
  KValue u = x + 1.0;
  KValue biased = bits(u) + (0x3f800000 - kSqrtHalfBits);
  KValue n = (biased >> 23) - 127;
  KValue f = number((biased & 0x007fffff) + kSqrtHalfBits) - 1.0;
  KValue lost = k.select(x >= 1.0, 1.0 - (u - x), x - (u - 1.0)) / u;
  KValue unreduced = n == 0;
  f = k.select(unreduced, x, f);
  lost = k.select(unreduced, x.like(0.0), lost);

  // log(1 + f) = f - s (f - R), s = f / (2 + f); R(z) / z for z = s² up to
  // 0.0295, error 1.2e-9.
  KValue s = f / (f + 2.0);
  KValue z = s * s;
  KValue tail = z * horner(z, {6.666666655e-01, 4.000012352e-01,
                               2.855065088e-01, 2.333472086e-01});
  KValue halfSquare = f * f * 0.5;
  KValue exponent = toFloat(n);
  KValue result = s * (halfSquare + tail) + (exponent * kLn2Low + lost) -
                  halfSquare + f + exponent * kLn2High;

  result = k.select(x == -1.0, x.like(-kInfinity), result);
  result = k.select(x < -1.0, x.like(kNaN), result);
  // Also where 1 + x is 1: log(1 + x) = x, the sign of zero kept.
  KValue isTiny = k.abs(x) < 0x1p-26;
  return k.select(isTiny | ~(x < kInfinity), x, result);
}

/// -e / (2 + e), e = expm1(-2 |x|).
KValue Expander::tanh(KValue x) {
  KValue e = expm1(k.abs(x) * -2.0);
  KValue result = e / (e + 2.0);
  return copysign(result, x);
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

KValue Expander::erfBelowOne(KValue x) {
  // erf(√z) / √z for z up to 1, error 3.3e-11.
  return x + x * horner(x * x,
                        {1.128379167e+00 - 1, -3.761263843e-01, 1.128378197e-01,
                         -2.686540004e-02, 5.220945429e-03, -8.482828776e-04,
                         1.125694737e-04, -9.641514429e-06});
}

/// erfc(a) for a from 0.5; zero from 10.2 on.
KValue Expander::erfcFromHalf(KValue a) {
  a = k.select(a > 10.2, a.like(10.2), a);
  // (1 + 2a) e^(a²) erfc(a) in t = (a - 2.5) / (a + 2.5), error 1.1e-9.
  KValue t = (a - 2.5) / (a + 2.5);
  KValue q = horner(t, {1.264838183e+00, -1.223567717e-01, -9.902436902e-02,
                        1.576303161e-01, -1.029706486e-01, 3.275529844e-02,
                        9.583740734e-04, -4.347575115e-03, 4.114817950e-04,
                        5.333901956e-04});
  // a² in two parts, the first one exact.
  KValue upper = upperHalf(a);
  KValue low = (a - upper) * (a + upper);
  return expOfSum(-(upper * upper), -low) * q / (a * 2.0 + 1.0);
}

KValue Expander::erf(KValue x) {
  KValue a = k.abs(x);
  KValue tail = copysign(1.0 - erfcFromHalf(a), x);
  return keepNaN(x, k.select(a < 1.0, erfBelowOne(x), tail));
}

KValue Expander::erfc(KValue x) {
  KValue a = k.abs(x);
  KValue tail = erfcFromHalf(a);
  tail = k.select(x < 0.0, 2.0 - tail, tail);
  return keepNaN(x, k.select(a < 0.5, 1.0 - erfBelowOne(x), tail));
}

//===----------------------------------------------------------------------===//
// Roots and powers
//===----------------------------------------------------------------------===//

KValue Expander::cbrt(KValue x) {
  KValue a = k.abs(x);
  // Small numbers would leave a residual below the smallest normal one.
  KValue isSmall = a < 0x1p-80;
  KValue scaled = k.select(isSmall, a * 0x1p48, a);
  // A third of the exponent is right within 6 %.
  KValue t = number(k.udiv(bits(scaled), bits(scaled).like(int64_t(3))) +
                    int64_t(709958130));
  // Halley's iteration triples the number of correct bits.
  for (int i = 0; i != 2; ++i) {
    KValue cube = t * t * t;
    t = t * (scaled + scaled + cube) / (scaled + cube + cube);
  }
  // A last Newton step on the residual, with t² split to be exact.
  KValue upper = upperHalf(t);
  KValue square = upper * upper;
  KValue residual =
      (scaled - square * upper) - (t - upper) * (square + t * (upper + t));
  t = t + residual / (t * t * 3.0);
  t = k.select(isSmall, t * 0x1p-16, t);
  KValue isSpecial = (a == 0.0) | ~(a < kInfinity);
  return k.select(isSpecial, x, copysign(t, x));
}

/// |x|^y = 2^(y log2 |x|) with the logarithm and its product in two parts, then
/// the special cases of C99 in the order of its annex F.9.4.4.
KValue Expander::pow(KValue x, KValue y) {
  constexpr int64_t kSqrtHalfBits = 0x3f3504f3;
  KValue a = k.abs(x);
  KValue isSubnormal = a < 0x1p-126;
  KValue scaled = k.select(isSubnormal, a * 0x1p24, a);
  KValue biased = bits(scaled) + (0x3f800000 - kSqrtHalfBits);
  KValue exponent = toFloat((biased >> 23) - 127);
  exponent = k.select(isSubnormal, exponent - 24.0, exponent);
  KValue f = number((biased & 0x007fffff) + kSqrtHalfBits) - 1.0;

  // log(1 + f) = f - f²/2 + f³ P(f), error of P 1.4e-10 relative to f².
  KValue tail = horner(f, {3.333333286e-01, -2.499996604e-01, 2.000003581e-01,
                           -1.666943466e-01, 1.428694454e-01, -1.242509136e-01,
                           1.101204119e-01, -1.079404156e-01, 1.074344079e-01,
                           -6.151514753e-02}) *
                f * f * f;
  KValue upper = upperHalf(f);
  KValue squareHigh = upper * upper * 0.5;
  KValue squareLow = (f - upper) * (f + upper) * 0.5;
  KValue high = f - squareHigh;
  KValue low = ((f - high) - squareHigh) - squareLow + tail;
  // Normalize, then multiply by log2 e in 12 bits and the rest.
  KValue sum = high + low;
  low = low - (sum - high);
  high = sum;
  constexpr double kLog2EHigh = 0x1.714p+0;
  constexpr double kLog2ELow = kLog2E - kLog2EHigh;
  KValue headHigh = upperHalf(high);
  KValue headLow = (high - headHigh) + low;
  KValue logHigh = headHigh * kLog2EHigh;
  KValue logLow = headLow * kLog2EHigh + (headHigh + headLow) * kLog2ELow;
  // Add the exponent; it is zero or the larger one.
  KValue whole = exponent + logHigh;
  logLow = logLow + (logHigh - (whole - exponent));

  // y (whole + logLow), the leading product exact.
  KValue wholeUpper = upperHalf(whole);
  KValue wholeLower = (whole - wholeUpper) + logLow;
  KValue yUpper = upperHalf(y);
  KValue product = yUpper * wholeUpper;
  KValue rest = (y - yUpper) * wholeUpper + y * wholeLower;
  KValue total = product + rest;
  // Beyond these the result is 0 or infinity; so it is for infinite operands.
  KValue plain = y * whole;
  KValue isLarge = ~(k.abs(plain) < 260.0);
  product = k.select(isLarge, plain, product);
  rest = k.select(isLarge, y.like(0.0), rest);
  total = k.select(isLarge, plain, total);
  KValue tooLarge = total > 130.0, tooSmall = total < -152.0;
  KValue outside = tooLarge | tooSmall;
  KValue n = k.round(k.select(outside, y.like(0.0), total));
  KValue r = k.select(outside, y.like(0.0), (product - n) + rest);
  // (2^r - 1) / r for |r| up to 1/2, error 1.6e-10.
  KValue fraction =
      r * horner(r, {6.931471806e-01, 2.402265093e-01, 5.550410930e-02,
                     9.618056089e-03, 1.333345372e-03, 1.546167946e-04,
                     1.531030956e-05});
  KValue result = scale(fraction + 1.0, toInt(n));
  result = k.select(tooLarge, y.like(kInfinity), result);
  result = k.select(tooSmall, y.like(0.0), result);

  // Zero and infinity as base or exponent.
  KValue yNegative = y < 0.0;
  KValue zero = y.like(0.0), infinity = y.like(kInfinity);
  KValue aIsZero = a == 0.0, aIsInfinite = a == kInfinity;
  KValue yIsInfinite = k.abs(y) == kInfinity;
  KValue vanishes = aIsZero ^ yNegative; // for a in {0, inf}: 0 or inf
  result = k.select(aIsZero | aIsInfinite, k.select(vanishes, zero, infinity),
                    result);
  KValue shrinks = (a < 1.0) ^ yNegative;
  result = k.select(yIsInfinite, k.select(shrinks, zero, infinity), result);

  // The sign of a negative base.
  KValue yIsInteger = (k.floor(y) == y) & ~yIsInfinite;
  KValue halfY = y * 0.5;
  KValue yIsOdd = yIsInteger & (k.floor(halfY) != halfY);
  KValue xNegative = isNegative(x);
  result = k.select(xNegative & yIsOdd, -result, result);
  KValue undefined = (x < 0.0) & ~yIsInteger & ~yIsInfinite & ~aIsInfinite;
  result = k.select(undefined, y.like(kNaN), result);

  result = k.select((x != x) | (y != y), x + y, result);
  KValue minusOneToInfinity = (x == -1.0) & yIsInfinite;
  KValue isOne = (x == 1.0) | (y == 0.0) | minusOneToInfinity;
  return k.select(isOne, y.like(1.0), result);
}

//===----------------------------------------------------------------------===//
// Trigonometry
//===----------------------------------------------------------------------===//

/// For finite a >= 0: the quadrant (a multiple of π/2, modulo 4) and the rest,
/// from -π/4 to π/4. Payne and Hanek's method: multiplies the 24 bits of the
/// fraction by those 96 bits of 2/π that matter for the result modulo 4.
std::pair<KValue, KValue> Expander::reduceByHalfPi(KValue a) {
  KValue pattern = bits(a);
  KValue exponent = (pattern >> 23) - 127;
  KValue fraction = (pattern & 0x007fffff) | 0x00800000;

  // A zero word before the words of 2/π, so that windows may begin before the
  // point. A window begins `exponent + 7` bits into them.
  static const int64_t words[] = {0,          0xa2f9836e, 0x4e441529,
                                  0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                  0x3c439041, 0xfe5163ab};
  KValue begin = k.max(exponent + 7, exponent.like(int64_t(0)));
  KValue firstWord = begin >> 5;
  KValue shift = begin & 31;
  auto getWord = [&](unsigned offset) {
    KValue word = begin.like(words[offset + 4]);
    for (int i = 3; i >= 0; --i)
      word = k.select(firstWord == i, begin.like(words[offset + i]), word);
    return word;
  };
  KValue w[4] = {getWord(0), getWord(1), getWord(2), getWord(3)};
  auto getWindow = [&](unsigned i) {
    // Two shifts, since one by 32 is undefined.
    return (w[i] << shift) |
           k.ushr(k.ushr(w[i + 1], shift.like(int64_t(1))), 31 - shift);
  };
  // Modulo 4: the product's highest two bits are the quadrant.
  auto [low1, high1] = k.umulExtended(getWindow(1), fraction);
  auto [low2, high2] = k.umulExtended(getWindow(2), fraction);
  KValue middle = low1 + high2;
  KValue carry = k.cast(k.ult(middle, low1), middle.getType());
  KValue top = getWindow(0) * fraction + high1 + carry;

  // The nearest multiple; the rest is signed, in units of 2^-30 quadrants.
  KValue quadrant = k.ushr(top + 0x20000000, top.like(int64_t(30)));
  KValue rest = top - (quadrant << 30);
  KValue upper = toFloat(rest & int64_t(-256)) * 0x1p-30;
  KValue lowerBits =
      ((rest & 255) << 24) | k.ushr(middle, rest.like(int64_t(8)));
  KValue lower = k.ucast(lowerBits, a.getType()) * 0x1p-54;
  // π/2 in two parts, the first with 12 bits.
  constexpr double kHalfPiHigh = 0x1.92p+0;
  constexpr double kHalfPiLow = kPi / 2 - kHalfPiHigh;
  KValue sum = upper + lower;
  KValue head = upperHalf(sum);
  KValue headRest = (upper - head) + lower;
  KValue angle =
      head * kHalfPiHigh + (headRest * kHalfPiHigh + sum * kHalfPiLow);
  KValue isSmall = a < kPi / 4;
  return {k.select(isSmall, quadrant.like(int64_t(0)), quadrant & 3),
          k.select(isSmall, a, angle)};
}

std::pair<KValue, KValue> Expander::sincos(KValue x) {
  KValue a = k.abs(x);
  auto [quadrant, r] = reduceByHalfPi(a);
  KValue z = r * r;
  // (sin r - r) / r³ and (cos r - 1 + r²/2) / r⁴ up to π/4, errors below 5e-12.
  KValue sine = r + r * z *
                        horner(z, {-1.666666664e-01, 8.333329385e-03,
                                   -1.983933454e-04, 2.718308619e-06});
  KValue halfSquare = z * 0.5;
  KValue one = 1.0 - halfSquare;
  KValue cosine = one + (((1.0 - one) - halfSquare) +
                         z * z *
                             horner(z, {4.166666662e-02, -1.388888375e-03,
                                        2.479951968e-05, -2.721021010e-07}));
  KValue swaps = (quadrant & 1) != 0;
  KValue sinResult = k.select(swaps, cosine, sine);
  KValue cosResult = k.select(swaps, sine, cosine);
  sinResult =
      k.select(((quadrant & 2) != 0) ^ isNegative(x), -sinResult, sinResult);
  cosResult = k.select(((quadrant + 1) & 2) != 0, -cosResult, cosResult);
  // Infinities and NaN.
  KValue isSpecial = ~(a < kInfinity);
  KValue undefined = x.like(kNaN);
  return {k.select(isSpecial, undefined, sinResult),
          k.select(isSpecial, undefined, cosResult)};
}

KValue Expander::atanBelowOne(KValue x) {
  // atan(√z) / √z for z up to 1, error 2.1e-9.
  KValue z = x * x;
  KValue tail =
      horner(z, {-3.333328769e-01, 1.999837445e-01, -1.426304987e-01,
                 1.094778955e-01, -8.393989393e-02, 5.783558466e-02,
                 -3.108541279e-02, 1.087691893e-02, -1.787297954e-03});
  return x + x * z * tail;
}

KValue Expander::atan(KValue x) {
  KValue a = k.abs(x);
  KValue isLarge = a > 1.0;
  KValue inner = atanBelowOne(k.select(isLarge, 1.0 / a, a));
  return copysign(k.select(isLarge, kPi / 2 - inner, inner), x);
}

KValue Expander::atan2(KValue y, KValue x) {
  KValue ax = k.abs(x), ay = k.abs(y);
  KValue isSteep = ay > ax;
  KValue larger = k.select(isSteep, ay, ax);
  KValue smaller = k.select(isSteep, ax, ay);
  KValue quotient = smaller / larger;
  quotient = k.select(larger == 0.0, x.like(0.0), quotient);
  quotient =
      k.select((ax == kInfinity) & (ay == kInfinity), x.like(1.0), quotient);
  KValue angle = atanBelowOne(quotient);
  angle = k.select(isSteep, kPi / 2 - angle, angle);
  angle = k.select(isNegative(x), kPi - angle, angle);
  angle = copysign(angle, y);
  return k.select((x != x) | (y != y), x + y, angle);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

KValue Expander::ctpop(KValue x) {
  Type i32 = withElement(x, k.i32Type());
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  if (width < 32)
    return k.ucast(k.popcount(k.ucast(x, i32)), x.getType());
  KValue low = k.cast(x, i32);
  KValue high = k.cast(k.ushr(x, x.like(int64_t(32))), i32);
  return k.ucast(k.popcount(low) + k.popcount(high), x.getType());
}

KValue Expander::ctlz(KValue x) {
  Type i32 = withElement(x, k.i32Type());
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  if (width < 32)
    return k.cast(k.countLeadingZeros(k.ucast(x, i32)) - int64_t(32 - width),
                  x.getType());
  KValue low = k.cast(x, i32);
  KValue high = k.cast(k.ushr(x, x.like(int64_t(32))), i32);
  KValue count = k.select(high == 0, k.countLeadingZeros(low) + 32,
                          k.countLeadingZeros(high));
  return k.ucast(count, x.getType());
}

/// The bits below the lowest set one: ~x & (x - 1).
KValue Expander::cttz(KValue x) { return k.popcount(~x & (x - 1)); }

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// The upper half of an f32.
KValue Expander::bf16ToF32(KValue x) {
  KValue half = k.bitcast(x, withElement(x, k.i16Type()));
  return number(k.ucast(half, withElement(x, k.i32Type())) << 16);
}

/// Rounds to nearest even; a NaN stays one.
KValue Expander::f32ToBf16(KValue x) {
  KValue pattern = bits(x);
  KValue isOdd = k.ushr(pattern, pattern.like(int64_t(16))) & 1;
  KValue rounded = pattern + 0x7fff + isOdd;
  rounded = k.select(x != x, pattern | 0x00400000, rounded);
  KValue half = k.cast(k.ushr(rounded, rounded.like(int64_t(16))),
                       withElement(x, k.i16Type()));
  return k.bitcast(half, withElement(x, k.bf16Type()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ExpandMath
    : public poot::kernel::impl::KernelExpandMathBase<ExpandMath> {
  void runOnOperation() override;

private:
  LogicalResult expand(Operation *op);
  bool promoteToF32(Operation *op, bool onlyBf16);

  /// Operations still to look at; expansions add to it.
  SmallVector<Operation *> worklist;
};

bool isFloatOf(Type type, unsigned width) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() == width;
}

bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// Operations of math that every target has for f16 and f64 as it is, or that
/// are expanded exactly in the type itself.
bool isExactMath(Operation *op) {
  return isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::RoundEvenOp,
             math::RoundOp, math::TruncOp, math::CopySignOp, math::FmaOp,
             math::SqrtOp, math::RsqrtOp, math::IsNaNOp, math::IsInfOp,
             math::IsFiniteOp, math::IsNormalOp, math::ClampFOp>(op);
}

} // namespace

/// Computes `op` on f32 operands and rounds its floating-point results back.
bool ExpandMath::promoteToF32(Operation *op, bool onlyBf16) {
  auto isNarrow = [&](Type type) {
    return isBf16(type) || (!onlyBf16 && isFloatOf(type, 16));
  };
  if (llvm::none_of(op->getOperandTypes(), isNarrow) &&
      llvm::none_of(op->getResultTypes(), isNarrow))
    return false;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto widen = [&](Type type) -> Type {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(builder.getF32Type());
    return builder.getF32Type();
  };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (isNarrow(operand.getType())) {
      operand = arith::ExtFOp::create(builder, loc, widen(operand.getType()),
                                      operand);
      worklist.push_back(operand.getDefiningOp());
    }
    operands.push_back(operand);
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(isNarrow(type) ? widen(type) : type);
  Operation *wide = builder.create(loc, op->getName().getIdentifier(), operands,
                                   types, op->getAttrs());
  worklist.push_back(wide);
  for (auto [old, result] : llvm::zip(op->getResults(), wide->getResults())) {
    Value value = result;
    if (isNarrow(old.getType())) {
      value = arith::TruncFOp::create(builder, loc, old.getType(), value);
      worklist.push_back(value.getDefiningOp());
    }
    old.replaceAllUsesWith(value);
  }
  op->erase();
  return true;
}

LogicalResult ExpandMath::expand(Operation *op) {
  // What computes on vectors of bf16; other operations of vector only move.
  if (isa<vector::FMAOp, vector::ReductionOp>(op)) {
    promoteToF32(op, /*onlyBf16=*/true);
    return success();
  }
  bool isMath = isa<math::MathDialect>(op->getDialect());
  if (!isMath && !isa<arith::ArithDialect>(op->getDialect()))
    return success();

  // Conversions from and to bf16, by way of f32.
  if (auto ext = dyn_cast<arith::ExtFOp>(op)) {
    if (!isBf16(ext.getIn().getType()))
      return success();
    Expander e(op);
    KValue result = e.bf16ToF32(e.operand(op, 0));
    ext.replaceAllUsesWith(e.k.cast(result, ext.getType()).getValue());
    op->erase();
    return success();
  }
  if (auto truncate = dyn_cast<arith::TruncFOp>(op)) {
    if (!isBf16(truncate.getType()))
      return success();
    Expander e(op);
    KValue wide = e.operand(op, 0);
    KValue result =
        e.f32ToBf16(e.k.cast(wide, e.withElement(wide, e.k.f32Type())));
    truncate.replaceAllUsesWith(result.getValue());
    op->erase();
    return success();
  }
  // SPIR-V's remainders are undefined on negative numbers; upstream's emulation
  // through absolute values gets the smallest number wrong.
  if (auto remainder = dyn_cast<arith::RemSIOp>(op)) {
    Expander e(op);
    KValue a = e.operand(op, 0), b = e.operand(op, 1);
    remainder.replaceAllUsesWith((a - a / b * b).getValue());
    op->erase();
    return success();
  }
  if (isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op))
    return success();
  if (promoteToF32(op, /*onlyBf16=*/!isMath || isExactMath(op)))
    return success();
  if (!isMath)
    return success();

  Type type = op->getResult(0).getType();
  if (!isExactMath(op) && isFloatOf(type, 64))
    return op->emitOpError("is not available on ")
           << type << "; GPUs have it on f16, bf16 and f32";

  Expander e(op);
  auto x = [&] { return e.operand(op, 0); };
  auto y = [&] { return e.operand(op, 1); };
  auto isI32 = [&] { return getElementTypeOrSelf(type).isInteger(32); };
  KValue result;
  TypeSwitch<Operation *>(op)
      .Case([&](math::TruncOp) { result = e.trunc(x()); })
      .Case([&](math::RoundOp) { result = e.round(x()); })
      .Case([&](math::ExpM1Op) { result = e.expm1(x()); })
      .Case([&](math::Log1pOp) { result = e.log1p(x()); })
      .Case([&](math::TanhOp) { result = e.tanh(x()); })
      .Case([&](math::ErfOp) { result = e.erf(x()); })
      .Case([&](math::ErfcOp) { result = e.erfc(x()); })
      .Case([&](math::CbrtOp) { result = e.cbrt(x()); })
      .Case([&](math::SinOp) { result = e.sincos(x()).first; })
      .Case([&](math::CosOp) { result = e.sincos(x()).second; })
      .Case([&](math::TanOp) {
        auto [sine, cosine] = e.sincos(x());
        result = sine / cosine;
      })
      .Case([&](math::SincosOp) {
        auto [sine, cosine] = e.sincos(x());
        op->getResult(1).replaceAllUsesWith(cosine.getValue());
        result = sine;
      })
      .Case([&](math::AtanOp) { result = e.atan(x()); })
      .Case([&](math::Atan2Op) { result = e.atan2(x(), y()); })
      .Case([&](math::PowFOp) { result = e.pow(x(), y()); })
      .Case([&](math::CopySignOp) { result = e.copysign(x(), y()); })
      .Case([&](math::IsFiniteOp) { result = e.isfinite(x()); })
      .Case([&](math::IsNormalOp) { result = e.isnormal(x()); })
      .Case([&](math::ClampFOp) {
        result = e.k.minimum(e.k.maximum(x(), y()), e.operand(op, 2));
      })
      .Case([&](math::CtPopOp) {
        if (!isI32())
          result = e.ctpop(x());
      })
      .Case([&](math::CountLeadingZerosOp) {
        if (!isI32())
          result = e.ctlz(x());
      })
      .Case([&](math::CountTrailingZerosOp) {
        result = e.cttz(x());
        if (!isI32())
          if (Operation *count = result.getValue().getDefiningOp())
            worklist.push_back(count);
      });
  if (result) {
    op->getResult(0).replaceAllUsesWith(result.getValue());
    op->erase();
  }
  return success();
}

void ExpandMath::runOnOperation() {
  worklist.clear();
  getOperation().walk([&](Operation *op) {
    if (op->getDialect() && op != getOperation().getOperation())
      worklist.push_back(op);
  });
  while (!worklist.empty())
    if (failed(expand(worklist.pop_back_val())))
      return signalPassFailure();

  // Integer quotients that round up or down.
  RewritePatternSet patterns(&getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(
          applyPatternsGreedily(getOperation(), std::move(patterns), config)))
    signalPassFailure();
}
