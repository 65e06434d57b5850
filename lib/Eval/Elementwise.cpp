//===- Elementwise.cpp - Constants and element-wise ops -------------------===//
//
// f16 and bf16 compute in f32 and round the result to nearest even
// (G-number-1). The transcendental functions of f32 go through f64, so that
// they are correctly rounded but for rare ties; those of f64 are the C
// library's.
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include "Ops.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace poot;
using namespace poot::eval;
using namespace poot::graph;

//===----------------------------------------------------------------------===//
// Constant
//===----------------------------------------------------------------------===//

/// A splat literal becomes one element with strides of zero.
Result eval::evaluate(ConstantOp op, Operands, const EvalOptions &) {
  auto literal = cast<DenseElementsAttr>(op.getValue()); // G-constant-1
  ShapedType type = literal.getType();
  Type elementType = type.getElementType();
  int64_t count = literal.isSplat() ? 1 : literal.getNumElements();
  Result elements = allocateResult(op, elementType, {count});
  if (failed(elements))
    return failure();
  dispatch(elementType, [&](auto zero) {
    using T = decltype(zero);
    T *out = elements->mutableData<T>();
    if constexpr (isFloat<T>) {
      for (APFloat value :
           llvm::make_range(literal.value_begin<APFloat>(),
                            literal.value_begin<APFloat>() + count)) {
        uint64_t bits = value.bitcastToAPInt().getZExtValue();
        std::memcpy(out++, &bits, sizeof(T));
      }
    } else {
      std::copy_n(literal.value_begin<T>(), count, out);
    }
  });
  if (!literal.isSplat())
    return elements->reshape(type.getShape());
  return elements->view(type.getShape(),
                        SmallVector<int64_t>(type.getRank(), 0));
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

namespace {

/// Signs of floats are bits. The lowest integer is its own negative
/// (G-unary-2).
template <class T> T negate(T value) {
  if constexpr (isSmallFloat<T>)
    value.bits ^= 0x8000;
  else if constexpr (isFloat<T>)
    value = -value;
  else
    value = wrapSub(T(0), value);
  return value;
}

template <class T> T absolute(T value) {
  if constexpr (isSmallFloat<T>)
    value.bits &= 0x7fff;
  else if constexpr (isFloat<T>)
    value = std::fabs(value);
  else if (value < 0)
    value = wrapSub(T(0), value);
  return value;
}

/// -1, 0 or 1; of a zero and a NaN the value itself (G-unary-2).
template <class T> T sign(T value) {
  Compute<T> wide = value;
  return wide > 0 ? T(1) : wide < 0 ? T(-1) : value;
}

template <class T> T bitwiseNot(T value) {
  if constexpr (isBool<T>)
    return !value;
  else
    return ~value;
}

/// The functions that only floats have, in f64 also on behalf of f32
/// (G-unary-3).
double floatFunction(UnaryKind kind, double x) {
  switch (kind) {
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Exp2:
    return std::exp2(x);
  case UnaryKind::Expm1:
    return std::expm1(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Log2:
    return std::log2(x);
  case UnaryKind::Log1p:
    return std::log1p(x);
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Rsqrt:
    return 1 / std::sqrt(x);
  case UnaryKind::Sin:
    return std::sin(x);
  case UnaryKind::Cos:
    return std::cos(x);
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::RoundEven:
    return std::nearbyint(x);
  case UnaryKind::Trunc:
    return std::trunc(x);
  case UnaryKind::Neg:
  case UnaryKind::Abs:
  case UnaryKind::Sign:
  case UnaryKind::Not:
    break;
  }
  llvm_unreachable("handled for every element type");
}

} // namespace

Result eval::evaluate(UnaryOp op, Operands operands, const EvalOptions &) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements();
  UnaryKind kind = op.getKind();
  dispatch(result->getElementType(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = operands[0].dataAs<T>();
    T *out = result->mutableData<T>();
    auto map = [&](auto function) {
      std::transform(in, in + count, out, function);
    };
    if constexpr (!isFloat<T>)
      if (kind == UnaryKind::Not)
        return map(bitwiseNot<T>);
    if constexpr (!isBool<T>) {
      if (kind == UnaryKind::Neg)
        return map(negate<T>);
      if (kind == UnaryKind::Abs)
        return map(absolute<T>);
      if (kind == UnaryKind::Sign)
        return map(sign<T>);
    }
    if constexpr (isFloat<T>)
      map([&](T x) {
        double exact = floatFunction(kind, Compute<T>(x));
        return T(static_cast<Compute<T>>(exact));
      });
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

namespace {

/// Division is IEEE's, rem is C's fmod (G-binary-5), max and min propagate NaN
/// (G-binary-6), pow is C's (G-binary-7).
template <class W> W floatBinary(BinaryKind kind, W a, W b) {
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Rem:
    return std::fmod(a, b);
  case BinaryKind::Max:
    return maximum(a, b);
  case BinaryKind::Min:
    return minimum(a, b);
  case BinaryKind::Pow:
    return static_cast<W>(
        std::pow(static_cast<double>(a), static_cast<double>(b)));
  default:
    llvm_unreachable("the verifier admits no other kind for floats");
  }
}

/// Why an integer function has no value at an element, if so.
enum class Fault { None, DivisionByZero, Shift };

/// Sums and products wrap; div truncates toward zero, and the lowest integer by
/// -1 is itself with remainder 0 (G-binary-2). A division by zero gives 0
/// (G-binary-3) and a shift amount counts modulo the width (G-binary-4), both
/// with a fault.
template <class T> T integerBinary(BinaryKind kind, T a, T b, Fault &fault) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr int width = 8 * sizeof(T);
  switch (kind) {
  case BinaryKind::Add:
    return wrapAdd(a, b);
  case BinaryKind::Sub:
    return wrapSub(a, b);
  case BinaryKind::Mul:
    return wrapMul(a, b);
  case BinaryKind::Div:
  case BinaryKind::Rem:
    if (b == 0) {
      fault = Fault::DivisionByZero;
      return 0;
    }
    if (b == T(-1))
      return kind == BinaryKind::Div ? wrapSub(T(0), a) : T(0);
    return kind == BinaryKind::Div ? a / b : a % b;
  case BinaryKind::Max:
    return maximum(a, b);
  case BinaryKind::Min:
    return minimum(a, b);
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  case BinaryKind::Shl:
  case BinaryKind::ShrS:
  case BinaryKind::ShrU: {
    if (b < 0 || b >= width)
      fault = Fault::Shift;
    int amount = static_cast<Unsigned>(b) % width;
    if (kind == BinaryKind::Shl)
      return T(static_cast<uint64_t>(a) << amount);
    if (kind == BinaryKind::ShrS)
      return a >> amount;
    return T(static_cast<Unsigned>(a) >> amount);
  }
  case BinaryKind::Pow:
    break;
  }
  llvm_unreachable("the verifier admits no other kind for integers");
}

bool boolBinary(BinaryKind kind, bool a, bool b) {
  switch (kind) {
  case BinaryKind::And:
    return a && b;
  case BinaryKind::Or:
    return a || b;
  case BinaryKind::Xor:
    return a != b;
  default:
    llvm_unreachable("the verifier admits no other kind for i1");
  }
}

} // namespace

Result eval::evaluate(BinaryOp op, Operands operands,
                      const EvalOptions &options) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements();
  BinaryKind kind = op.getKind();
  LogicalResult status =
      dispatch(result->getElementType(), [&](auto zero) -> LogicalResult {
        using T = decltype(zero);
        const T *a = operands[0].dataAs<T>(), *b = operands[1].dataAs<T>();
        T *out = result->mutableData<T>();
        for (int64_t i = 0; i < count; ++i) {
          if constexpr (isFloat<T>) {
            out[i] = T(floatBinary<Compute<T>>(kind, a[i], b[i]));
          } else if constexpr (isBool<T>) {
            out[i] = boolBinary(kind, a[i], b[i]);
          } else {
            Fault fault = Fault::None;
            out[i] = integerBinary(kind, a[i], b[i], fault);
            if (fault == Fault::None || !options.strict)
              continue;
            if (fault == Fault::DivisionByZero)
              return op.emitOpError() << "divides " << int64_t(a[i])
                                      << " by zero at element " << i;
            return op.emitOpError()
                   << "shifts by " << int64_t(b[i]) << " at element " << i
                   << "; the amount must be in [0, " << 8 * sizeof(T) << ")";
          }
        }
        return success();
      });
  if (failed(status))
    return failure();
  return result;
}

//===----------------------------------------------------------------------===//
// Compare and select
//===----------------------------------------------------------------------===//

/// Integers as signed, false below true; with a NaN only `ne` holds, and -0
/// equals +0 (G-compare-2).
Result eval::evaluate(CompareOp op, Operands operands, const EvalOptions &) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements();
  dispatch(operands[0].getElementType(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = operands[0].dataAs<T>(), *b = operands[1].dataAs<T>();
    bool *out = result->mutableData<bool>();
    auto map = [&](auto predicate) {
      for (int64_t i = 0; i < count; ++i)
        out[i] = predicate(Compute<T>(a[i]), Compute<T>(b[i]));
    };
    switch (op.getPredicate()) {
    case ComparePredicate::Eq:
      return map(std::equal_to<>());
    case ComparePredicate::Ne:
      return map(std::not_equal_to<>());
    case ComparePredicate::Lt:
      return map(std::less<>());
    case ComparePredicate::Le:
      return map(std::less_equal<>());
    case ComparePredicate::Gt:
      return map(std::greater<>());
    case ComparePredicate::Ge:
      return map(std::greater_equal<>());
    }
  });
  return result;
}

/// What is not chosen has no effect (G-select-2).
Result eval::evaluate(SelectOp op, Operands operands, const EvalOptions &) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements();
  const bool *condition = operands[0].dataAs<bool>();
  dispatch(result->getElementType(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = operands[1].dataAs<T>(), *b = operands[2].dataAs<T>();
    T *out = result->mutableData<T>();
    for (int64_t i = 0; i < count; ++i)
      out[i] = condition[i] ? a[i] : b[i];
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

namespace {

/// VALUE as an f32 whose last bit is set when it is not exact. Rounding that to
/// 16 bits equals rounding VALUE itself: no double rounding.
template <class T> float roundToOdd(T value) {
  // Holds every T and, for integers, 2^63 as well.
  using Wide = std::conditional_t<isInteger<T>, __int128, double>;
  float nearest = static_cast<float>(value);
  if (value != value || std::isinf(nearest) || Wide(nearest) == Wide(value))
    return nearest;
  uint32_t bits = weights::f32ToBits(nearest);
  if (bits & 1)
    return nearest;
  // The odd neighbour is on VALUE's side of the even one.
  bool isBelow = Wide(nearest) < Wide(value);
  bool isAway = isBelow == (value > 0);
  return weights::bitsToF32(isAway ? bits + 1 : bits - 1);
}

/// To floats to nearest even (G-cast-2); float to integer toward zero,
/// saturating, NaN to 0 (G-cast-3); between integers sign-extend or truncate;
/// to i1 whether not equal to zero, from i1 0 or 1 (G-cast-4).
template <class To, class From> To convert(From value) {
  if constexpr (isBool<To>) {
    return Compute<From>(value) != 0;
  } else if constexpr (isFloat<From> && isInteger<To>) {
    using Limits = std::numeric_limits<To>;
    double wide = Compute<From>(value);
    // 2^(width-1), exact in f64, unlike the greatest integer itself.
    double bound = std::ldexp(1.0, 8 * sizeof(To) - 1);
    if (wide != wide)
      return 0;
    return wide >= bound    ? Limits::max()
           : wide <= -bound ? Limits::min()
                            : static_cast<To>(wide);
  } else if constexpr (isSmallFloat<To>) {
    if constexpr (std::is_same_v<From, double> || isInteger<From>)
      return To(roundToOdd(value));
    else
      return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

} // namespace

Result eval::evaluate(CastOp op, Operands operands, const EvalOptions &) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements();
  dispatch(operands[0].getElementType(), [&](auto fromZero) {
    using From = decltype(fromZero);
    const From *in = operands[0].dataAs<From>();
    dispatch(result->getElementType(), [&](auto toZero) {
      using To = decltype(toZero);
      std::transform(in, in + count, result->mutableData<To>(),
                     convert<To, From>);
    });
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Iota
//===----------------------------------------------------------------------===//

/// A vector with zero strides along the other dimensions (G-iota-2).
Result eval::evaluate(IotaOp op, Operands, const EvalOptions &) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t dim = op.getDim(), extent = type.getDimSize(dim);
  Result line = allocateResult(op, type.getElementType(), {extent});
  if (failed(line))
    return failure();
  dispatch(type.getElementType(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (isInteger<T>)
      std::iota(line->mutableData<T>(), line->mutableData<T>() + extent, T(0));
  });
  SmallVector<int64_t> strides(type.getRank(), 0);
  strides[dim] = 1;
  return line->view(type.getShape(), strides);
}
