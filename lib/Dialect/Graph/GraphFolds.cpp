//===- GraphFolds.cpp - Folders of the graph dialect ----------------------===//
//
// Folders give an existing value or a literal for an op. They are exact: a
// folded program gives bit for bit what the oracle gives for the original.
// Literals are folded only where the result is a splat or has at most
// kMaxFoldedElements elements, so that no folder ever grows a module by the
// size of a tensor.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/GraphOps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace poot::graph;

static constexpr int64_t kMaxFoldedElements = 64;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// ATTRIBUTE as a literal that may be folded: a splat or a small one.
static DenseElementsAttr getLiteral(Attribute attribute) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements ||
      (!elements.isSplat() && elements.getNumElements() > kMaxFoldedElements))
    return {};
  return elements;
}

/// FUNCTION applied to each element of the OPERANDS, which have one shape.
/// Element is APInt or APFloat; FUNCTION returns an optional of APInt or
/// APFloat, whose absence stops the fold.
template <class Element, class Function>
static OpFoldResult foldElements(Type resultType,
                                 ArrayRef<DenseElementsAttr> operands,
                                 Function function) {
  auto type = cast<ShapedType>(resultType);
  bool splat = llvm::all_of(
      operands, [](DenseElementsAttr operand) { return operand.isSplat(); });
  int64_t count = splat ? 1 : type.getNumElements();
  if (count > kMaxFoldedElements)
    return {};
  using Result = typename decltype(function(
      std::declval<ArrayRef<Element>>()))::value_type;
  SmallVector<Result> results;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Element, 2> elements;
    for (DenseElementsAttr operand : operands)
      elements.push_back(operand.isSplat()
                             ? operand.template getSplatValue<Element>()
                             : *(operand.template value_begin<Element>() + i));
    std::optional<Result> result = function(elements);
    if (!result)
      return {};
    results.push_back(*result);
  }
  return DenseElementsAttr::get(type, results);
}

static bool isFloatType(Type type) {
  return isa<FloatType>(cast<ShapedType>(type).getElementType());
}

/// Whether ATTRIBUTE is a splat of the integer or float VALUE. Zero is +0.
static bool isSplatOf(Attribute attribute, int64_t value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return false;
  if (isFloatType(elements.getType())) {
    APFloat element = elements.getSplatValue<APFloat>();
    APFloat wanted(element.getSemantics());
    if (wanted.convertFromAPInt(APInt(64, value, /*isSigned=*/true),
                                /*IsSigned=*/true,
                                APFloat::rmNearestTiesToEven) != APFloat::opOK)
      return false;
    return element.bitwiseIsEqual(wanted);
  }
  APInt element = elements.getSplatValue<APInt>();
  return element.getBitWidth() == 1 ? element.getZExtValue() == (value & 1)
                                    : element.getSExtValue() == value;
}

static bool isSplatOfNegativeZero(Attribute attribute) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat() || !isFloatType(elements.getType()))
    return false;
  return elements.getSplatValue<APFloat>().isNegZero();
}

/// A float result that is the same wherever it is computed: a NaN's payload
/// and sign are not, so NaN stops the fold.
static std::optional<APFloat> unlessNaN(const APFloat &value) {
  if (value.isNaN())
    return std::nullopt;
  return value;
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) {
  // Involutions and idempotent functions of themselves.
  if (auto inner = getOperand().getDefiningOp<UnaryOp>();
      inner && inner.getKind() == getKind()) {
    switch (getKind()) {
    case UnaryKind::Neg:
    case UnaryKind::Not:
      return inner.getOperand();
    case UnaryKind::Abs:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::RoundEven:
    case UnaryKind::Trunc:
      return inner.getResult();
    default:
      break;
    }
  }
  DenseElementsAttr operand = getLiteral(adaptor.getOperand());
  if (!operand)
    return {};
  UnaryKind kind = getKind();
  if (!isFloatType(getType()))
    return foldElements<APInt>(getType(), operand,
                               [&](ArrayRef<APInt> x) -> std::optional<APInt> {
                                 switch (kind) {
                                 case UnaryKind::Neg:
                                   return -x[0];
                                 case UnaryKind::Abs:
                                   return x[0].abs();
                                 case UnaryKind::Sign:
                                   return APInt(x[0].getBitWidth(),
                                                x[0].isZero()       ? 0
                                                : x[0].isNegative() ? -1
                                                                    : 1,
                                                /*isSigned=*/true);
                                 case UnaryKind::Not:
                                   return ~x[0];
                                 default:
                                   return std::nullopt;
                                 }
                               });
  return foldElements<APFloat>(
      getType(), operand, [&](ArrayRef<APFloat> x) -> std::optional<APFloat> {
        APFloat value = x[0];
        switch (kind) {
        case UnaryKind::Neg:
          value.changeSign();
          return unlessNaN(value);
        case UnaryKind::Abs:
          value.clearSign();
          return unlessNaN(value);
        case UnaryKind::Floor:
          value.roundToIntegral(APFloat::rmTowardNegative);
          return unlessNaN(value);
        case UnaryKind::Ceil:
          value.roundToIntegral(APFloat::rmTowardPositive);
          return unlessNaN(value);
        case UnaryKind::RoundEven:
          value.roundToIntegral(APFloat::rmNearestTiesToEven);
          return unlessNaN(value);
        case UnaryKind::Trunc:
          value.roundToIntegral(APFloat::rmTowardZero);
          return unlessNaN(value);
        default:
          // The others round; their values belong to the oracle.
          return std::nullopt;
        }
      });
}

/// An integer result; nothing where G-binary makes it an error.
static std::optional<APInt> evaluate(BinaryKind kind, const APInt &lhs,
                                     const APInt &rhs) {
  bool shiftsTooFar = rhs.uge(rhs.getBitWidth());
  switch (kind) {
  case BinaryKind::Add:
    return lhs + rhs;
  case BinaryKind::Sub:
    return lhs - rhs;
  case BinaryKind::Mul:
    return lhs * rhs;
  case BinaryKind::Div:
    return rhs.isZero() ? std::nullopt : std::optional<APInt>(lhs.sdiv(rhs));
  case BinaryKind::Rem:
    return rhs.isZero() ? std::nullopt : std::optional<APInt>(lhs.srem(rhs));
  case BinaryKind::Max:
    return lhs.sgt(rhs) ? lhs : rhs;
  case BinaryKind::Min:
    return lhs.slt(rhs) ? lhs : rhs;
  case BinaryKind::And:
    return lhs & rhs;
  case BinaryKind::Or:
    return lhs | rhs;
  case BinaryKind::Xor:
    return lhs ^ rhs;
  case BinaryKind::Shl:
    return shiftsTooFar ? std::nullopt : std::optional<APInt>(lhs.shl(rhs));
  case BinaryKind::ShrS:
    return shiftsTooFar ? std::nullopt : std::optional<APInt>(lhs.ashr(rhs));
  case BinaryKind::ShrU:
    return shiftsTooFar ? std::nullopt : std::optional<APInt>(lhs.lshr(rhs));
  case BinaryKind::Pow:
    return std::nullopt;
  }
  llvm_unreachable("every kind is listed");
}

/// A float result that every correctly rounding implementation shares.
static std::optional<APFloat> evaluate(BinaryKind kind, APFloat lhs,
                                       const APFloat &rhs) {
  constexpr auto nearest = APFloat::rmNearestTiesToEven;
  if (lhs.isNaN() || rhs.isNaN())
    return std::nullopt;
  switch (kind) {
  case BinaryKind::Add:
    lhs.add(rhs, nearest);
    return unlessNaN(lhs);
  case BinaryKind::Sub:
    lhs.subtract(rhs, nearest);
    return unlessNaN(lhs);
  case BinaryKind::Mul:
    lhs.multiply(rhs, nearest);
    return unlessNaN(lhs);
  case BinaryKind::Max:
    return maximum(lhs, rhs);
  case BinaryKind::Min:
    return minimum(lhs, rhs);
  default:
    // Division is not correctly rounded on every device.
    return std::nullopt;
  }
}

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  Attribute lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
  bool isFloat = isFloatType(getType());
  switch (getKind()) {
  case BinaryKind::Add:
    // -0 + 0 is 0: only -0 is neutral among floats.
    if (isFloat ? isSplatOfNegativeZero(rhs) : isSplatOf(rhs, 0))
      return getLhs();
    if (isFloat ? isSplatOfNegativeZero(lhs) : isSplatOf(lhs, 0))
      return getRhs();
    break;
  case BinaryKind::Sub:
    if (isSplatOf(rhs, 0))
      return getLhs();
    break;
  case BinaryKind::Mul:
    if (isSplatOf(rhs, 1))
      return getLhs();
    if (isSplatOf(lhs, 1))
      return getRhs();
    if (!isFloat && isSplatOf(rhs, 0))
      return rhs;
    if (!isFloat && isSplatOf(lhs, 0))
      return lhs;
    break;
  case BinaryKind::Div:
    if (isSplatOf(rhs, 1))
      return getLhs();
    break;
  case BinaryKind::Max:
  case BinaryKind::Min:
    if (getLhs() == getRhs())
      return getLhs();
    break;
  case BinaryKind::And:
    if (getLhs() == getRhs() || isSplatOf(rhs, -1))
      return getLhs();
    if (isSplatOf(lhs, -1))
      return getRhs();
    break;
  case BinaryKind::Or:
    if (getLhs() == getRhs() || isSplatOf(rhs, 0))
      return getLhs();
    if (isSplatOf(lhs, 0))
      return getRhs();
    break;
  case BinaryKind::Xor:
    if (isSplatOf(rhs, 0))
      return getLhs();
    if (isSplatOf(lhs, 0))
      return getRhs();
    break;
  case BinaryKind::Shl:
  case BinaryKind::ShrS:
  case BinaryKind::ShrU:
    if (isSplatOf(rhs, 0))
      return getLhs();
    break;
  case BinaryKind::Rem:
  case BinaryKind::Pow:
    break;
  }

  DenseElementsAttr left = getLiteral(lhs), right = getLiteral(rhs);
  if (!left || !right)
    return {};
  BinaryKind kind = getKind();
  if (isFloat)
    return foldElements<APFloat>(
        getType(), {left, right},
        [&](ArrayRef<APFloat> x) { return evaluate(kind, x[0], x[1]); });
  return foldElements<APInt>(getType(), {left, right}, [&](ArrayRef<APInt> x) {
    return evaluate(kind, x[0], x[1]);
  });
}

static bool holds(ComparePredicate predicate, APFloat::cmpResult order) {
  switch (predicate) {
  case ComparePredicate::Eq:
    return order == APFloat::cmpEqual;
  case ComparePredicate::Ne:
    return order != APFloat::cmpEqual;
  case ComparePredicate::Lt:
    return order == APFloat::cmpLessThan;
  case ComparePredicate::Le:
    return order == APFloat::cmpLessThan || order == APFloat::cmpEqual;
  case ComparePredicate::Gt:
    return order == APFloat::cmpGreaterThan;
  case ComparePredicate::Ge:
    return order == APFloat::cmpGreaterThan || order == APFloat::cmpEqual;
  }
  llvm_unreachable("every predicate is listed");
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  ComparePredicate predicate = getPredicate();
  Type element = getLhs().getType().getElementType();
  // Floats may be NaN, which equals nothing.
  if (getLhs() == getRhs() && isa<IntegerType>(element))
    return DenseElementsAttr::get(getType(),
                                  holds(predicate, APFloat::cmpEqual));
  DenseElementsAttr left = getLiteral(adaptor.getLhs());
  DenseElementsAttr right = getLiteral(adaptor.getRhs());
  if (!left || !right)
    return {};
  if (isa<FloatType>(element))
    return foldElements<APFloat>(
        getType(), {left, right},
        [&](ArrayRef<APFloat> x) -> std::optional<APInt> {
          return APInt(1, holds(predicate, x[0].compare(x[1])));
        });
  bool isBool = element.isInteger(1);
  return foldElements<APInt>(
      getType(), {left, right}, [&](ArrayRef<APInt> x) -> std::optional<APInt> {
        bool less = isBool ? x[0].ult(x[1]) : x[0].slt(x[1]);
        APFloat::cmpResult order = x[0] == x[1] ? APFloat::cmpEqual
                                   : less       ? APFloat::cmpLessThan
                                                : APFloat::cmpGreaterThan;
        return APInt(1, holds(predicate, order));
      });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getTrueValue() == getFalseValue())
    return getTrueValue();
  if (isSplatOf(adaptor.getCondition(), 1))
    return getTrueValue();
  if (isSplatOf(adaptor.getCondition(), 0))
    return getFalseValue();
  return {};
}

/// Whether every value of FROM is a value of TO.
static bool isExactCast(Type from, Type to) {
  auto fromInteger = dyn_cast<IntegerType>(from);
  auto toInteger = dyn_cast<IntegerType>(to);
  if (fromInteger && toInteger)
    return fromInteger.getWidth() <= toInteger.getWidth();
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return from == to ||
           APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                      toFloat.getFloatSemantics());
  // An integer of w bits, sign included, in a float of at least w - 1 bits of
  // precision; f16 would overflow only beyond 16 bits.
  return fromInteger && toFloat &&
         fromInteger.getWidth() <= toFloat.getFPMantissaWidth();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  Type from = getOperand().getType().getElementType();
  Type to = getType().getElementType();
  if (from == to)
    return getOperand();
  // There and back without loss.
  if (auto inner = getOperand().getDefiningOp<CastOp>())
    if (inner.getOperand().getType() == getType() && isExactCast(to, from) &&
        !from.isInteger(1))
      return inner.getOperand();

  DenseElementsAttr operand = getLiteral(adaptor.getOperand());
  if (!operand)
    return {};
  auto toFloat = dyn_cast<FloatType>(to);
  unsigned width = toFloat ? 0 : cast<IntegerType>(to).getWidth();
  constexpr auto nearest = APFloat::rmNearestTiesToEven;
  if (isa<FloatType>(from) && toFloat)
    return foldElements<APFloat>(
        getType(), operand, [&](ArrayRef<APFloat> x) -> std::optional<APFloat> {
          APFloat value = x[0];
          bool losesInfo;
          value.convert(toFloat.getFloatSemantics(), nearest, &losesInfo);
          return unlessNaN(value);
        });
  if (isa<FloatType>(from))
    return foldElements<APFloat>(
        getType(), operand, [&](ArrayRef<APFloat> x) -> std::optional<APInt> {
          if (width == 1)
            return APInt(1, !x[0].isZero());
          if (x[0].isNaN())
            return APInt(width, 0);
          // Saturates at both ends, as G-cast asks.
          APSInt value(width, /*isUnsigned=*/false);
          bool isExact;
          x[0].convertToInteger(value, APFloat::rmTowardZero, &isExact);
          return value;
        });
  bool fromBool = from.isInteger(1);
  if (toFloat)
    return foldElements<APInt>(
        getType(), operand, [&](ArrayRef<APInt> x) -> std::optional<APFloat> {
          APFloat value(toFloat.getFloatSemantics());
          value.convertFromAPInt(x[0], /*IsSigned=*/!fromBool, nearest);
          return value;
        });
  return foldElements<APInt>(
      getType(), operand, [&](ArrayRef<APInt> x) -> std::optional<APInt> {
        if (width == 1)
          return APInt(1, !x[0].isZero());
        return fromBool ? x[0].zextOrTrunc(width) : x[0].sextOrTrunc(width);
      });
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

OpFoldResult IotaOp::fold(FoldAdaptor) {
  if (getType().getDimSize(getDim()) == 1)
    return DenseElementsAttr::get(
        getType(),
        APInt::getZero(getType().getElementType().getIntOrFloatBitWidth()));
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    setDims(dims);
    setOperand(inner.getOperand());
    return getResult();
  }
  if (auto operand = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    if (operand.isSplat())
      return operand.resizeSplat(getType());
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getOperand());
    return getResult();
  }
  if (DenseElementsAttr operand = getLiteral(adaptor.getOperand()))
    return operand.reshape(getType());
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(getPermutation().size())))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> permutation;
    for (int64_t dim : getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    setPermutation(permutation);
    setOperand(inner.getOperand());
    return getResult();
  }
  if (auto operand = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    if (operand.isSplat())
      return operand.resizeSplat(getType());
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  // All of it: with equal extents the only valid offset is 0.
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<SliceOp>()) {
    SmallVector<int64_t> offsets, strides;
    for (auto [innerOffset, innerStride, offset, stride] :
         llvm::zip_equal(inner.getOffsets(), inner.getStrides(), getOffsets(),
                         getStrides())) {
      // A stride may exceed the extent where one element is taken, so that
      // only the strides' product can overflow.
      int64_t product;
      if (llvm::MulOverflow(innerStride, stride, product))
        return {};
      offsets.push_back(innerOffset + offset * innerStride);
      strides.push_back(product);
    }
    setOffsets(offsets);
    setStrides(strides);
    setOperand(inner.getOperand());
    return getResult();
  }
  if (auto operand = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    if (operand.isSplat())
      return operand.resizeSplat(cast<ShapedType>(getResult().getType()));
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  return {};
}

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

OpFoldResult RepackOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand())
                                             : OpFoldResult();
}
