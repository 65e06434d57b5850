//===- Element.h - Host types of tensor elements ----------------*- C++ -*-===//
//
// Maps element types to host types that the evaluators are templates over. f16
// and bf16 are bit patterns that widen to f32 exactly and round from it to
// nearest even: "f16 and bf16 compute in f32" is Compute<T>.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_EVAL_ELEMENT_H
#define POOT_LIB_EVAL_ELEMENT_H

#include "poot/weights/half.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdint>
#include <type_traits>

namespace poot::eval {

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float value) : bits(weights::f32ToF16(value)) {}
  operator float() const { return weights::f16ToF32(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(weights::f32ToBf16(value)) {}
  operator float() const { return weights::bf16ToF32(bits); }
};

template <class T>
inline constexpr bool isSmallFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool isFloat = isSmallFloat<T> || std::is_floating_point_v<T>;
template <class T> inline constexpr bool isBool = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool isInteger = std::is_integral_v<T> && !isBool<T>;

/// The type that element-wise functions of T compute in.
template <class T>
using Compute = std::conditional_t<isSmallFloat<T>, float, T>;

/// Calls BODY with a zero of the host type of ELEMENT_TYPE, an element type of
/// the graph dialect.
template <class Body> auto dispatch(mlir::Type elementType, Body &&body) {
  if (elementType.isF32())
    return body(float());
  if (elementType.isF64())
    return body(double());
  if (elementType.isF16())
    return body(Half());
  if (elementType.isBF16())
    return body(BFloat16());
  switch (elementType.getIntOrFloatBitWidth()) {
  case 1:
    return body(bool());
  case 8:
    return body(int8_t());
  case 16:
    return body(int16_t());
  case 32:
    return body(int32_t());
  default:
    return body(int64_t());
  }
}

/// Arithmetic that wraps, without the undefined overflow of signed types.
template <class T> T wrapAdd(T a, T b) { return T(uint64_t(a) + uint64_t(b)); }
template <class T> T wrapSub(T a, T b) { return T(uint64_t(a) - uint64_t(b)); }
template <class T> T wrapMul(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }

/// IEEE maximum and minimum: NaN when either is NaN, +0 above -0.
template <class T> T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b)
      return a + b;
    if (a == b)
      return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
template <class T> T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b)
      return a + b;
    if (a == b)
      return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

} // namespace poot::eval

#endif
