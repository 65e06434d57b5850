//===- ElementwiseKernels.cpp - Bodies that work element by element -------===//
//
// Copies, iota and the element-wise primitives: one invocation an element.
// Half-precision arithmetic is done in f32 and rounded once, which for + - * /
// and sqrt gives the correctly rounded result.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;

KValue convert(KernelBuilder &k, KValue value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (type.isInteger(1))
    return value != 0;
  if (from.isInteger(1)) {
    if (isa<FloatType>(type))
      return k.select(value, k.constant(type, 1.0), k.constant(type, 0.0));
    return k.ucast(value, type);
  }
  if (isa<FloatType>(from) && isa<IntegerType>(type)) {
    // Toward zero, saturating, NaN to zero. 2^(width-1) is exact in f32 and
    // f64; the largest integer below it need not be.
    if (!from.isF64()) {
      value = k.cast(value, k.f32Type());
      from = k.f32Type();
    }
    unsigned width = type.getIntOrFloatBitWidth();
    double bound = std::ldexp(1.0, width - 1);
    int64_t lowest = llvm::minIntN(width), highest = llvm::maxIntN(width);
    KValue inside = (value < bound) & (value >= -bound);
    KValue safe = k.select(inside, value, k.constant(from, 0.0));
    KValue integer = k.cast(safe, type);
    integer = k.select(value >= bound, k.constant(type, highest), integer);
    return k.select(value < -bound, k.constant(type, lowest), integer);
  }
  return k.cast(value, type);
}

/// A function of positive numbers, which GPUs promise nothing of elsewhere:
/// `atZero` at zero, NaN below.
static KValue onPositive(KernelBuilder &k, KValue x, KValue value,
                         KValue atZero) {
  KValue nan = x.like(std::numeric_limits<double>::quiet_NaN());
  return k.select(x > 0.0, value, k.select(x == 0.0, atZero, nan));
}

static KValue unary(KernelBuilder &k, UnaryKind kind, KValue x) {
  bool isFloat = isa<FloatType>(x.getType());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Abs:
    return k.abs(x);
  case UnaryKind::Sign: {
    KValue zero = isFloat ? x.like(0.0) : x.like(int64_t(0));
    KValue one = isFloat ? x.like(1.0) : x.like(int64_t(1));
    // Zeros keep their sign, NaN stays NaN.
    return k.select(x > zero, one, k.select(x < zero, -one, x));
  }
  case UnaryKind::Not:
    return ~x;
  case UnaryKind::Exp:
    // A GPU need not pass NaN on.
    return k.select(k.isnan(x), x, k.exp(x));
  case UnaryKind::Exp2:
    return k.select(k.isnan(x), x, k.exp2(x));
  case UnaryKind::Expm1:
    return k.expm1(x);
  case UnaryKind::Log:
    return onPositive(k, x, k.log(x), x.like(-infinity));
  case UnaryKind::Log2:
    return onPositive(k, x, k.log2(x), x.like(-infinity));
  case UnaryKind::Log1p:
    return k.log1p(x);
  case UnaryKind::Sqrt:
    return onPositive(k, x, k.sqrt(x), x);
  case UnaryKind::Rsqrt:
    return onPositive(k, x, k.rsqrt(x), x.like(1.0) / x);
  case UnaryKind::Sin:
    return k.sin(x);
  case UnaryKind::Cos:
    return k.cos(x);
  case UnaryKind::Tanh:
    return k.tanh(x);
  case UnaryKind::Erf:
    return k.erf(x);
  case UnaryKind::Floor:
    return k.floor(x);
  case UnaryKind::Ceil:
    return k.ceil(x);
  case UnaryKind::RoundEven:
    return k.round(x);
  case UnaryKind::Trunc:
    return k.trunc(x);
  }
  llvm_unreachable("every unary kind has its case");
}

/// Integer division and remainder: 0 where the divisor is 0, and the wrapped
/// quotient of the lowest integer by -1.
static KValue divideInteger(KernelBuilder &k, BinaryKind kind, KValue a,
                            KValue b) {
  KValue zero = a.like(int64_t(0)), one = a.like(int64_t(1));
  KValue byZero = b == zero;
  KValue negates = b == -1;
  KValue divisor = k.select(byZero | negates, one, b);
  if (kind == BinaryKind::Div)
    return k.select(byZero, zero, k.select(negates, -a, a / divisor));
  return k.select(byZero | negates, zero, a % divisor);
}

/// C's fmod, exact: one subtraction for each bit of the quotient. A subnormal
/// divisor counts as zero.
static KValue remainder(KernelBuilder &k, KValue a, KValue b) {
  Type type = a.getType();
  bool isWide = type.isF64();
  Type bits = isWide ? k.i64Type() : k.i32Type();
  int64_t mantissaBits = isWide ? 52 : 23;
  KValue one = k.constant(bits, int64_t(1) << mantissaBits);
  KValue infinity = k.constant(type, std::numeric_limits<double>::infinity());
  KValue magnitude = k.abs(a), divisor = k.abs(b);
  KValue divisorBits = k.bitcast(divisor, bits);
  KValue exponents = (k.bitcast(magnitude, bits) >> mantissaBits) -
                     (divisorBits >> mantissaBits);
  KValue isDefined =
      (magnitude < infinity) & (divisorBits >= one) & (divisor <= infinity);
  // Nothing to do where the divisor is larger, and no quotient otherwise.
  KValue first = k.select(isDefined & (divisor < infinity), exponents,
                          exponents.like(int64_t(-1)));
  // divisor * 2^n is exact, and so is each difference.
  KValue rest = k.whileLoop(
      {magnitude, first}, [&](ArrayRef<KValue> state) { return state[1] >= 0; },
      [&](ArrayRef<KValue> state) {
        KValue scaled =
            k.bitcast(divisorBits + (state[1] << mantissaBits), type);
        return KernelBuilder::Values{
            k.select(state[0] >= scaled, state[0] - scaled, state[0]),
            state[1] - 1};
      })[0];
  // The dividend's sign, also for zero.
  KValue signBit =
      k.constant(bits, isWide ? std::numeric_limits<int64_t>::min()
                              : int64_t(std::numeric_limits<int32_t>::min()));
  rest =
      k.bitcast(k.bitcast(rest, bits) | (k.bitcast(a, bits) & signBit), type);
  KValue nan = k.constant(type, std::numeric_limits<double>::quiet_NaN());
  return k.select(isDefined, rest, nan);
}

static KValue binary(KernelBuilder &k, BinaryKind kind, KValue a, KValue b) {
  bool isFloat = isa<FloatType>(a.getType());
  int64_t widthMask = isFloat ? 0 : a.getType().getIntOrFloatBitWidth() - 1;
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return isFloat ? a / b : divideInteger(k, kind, a, b);
  case BinaryKind::Rem:
    return isFloat ? remainder(k, a, b) : divideInteger(k, kind, a, b);
  case BinaryKind::Max:
    return k.maximum(a, b);
  case BinaryKind::Min:
    return k.minimum(a, b);
  case BinaryKind::Pow:
    return k.pow(a, b);
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  case BinaryKind::Shl:
    return a << (b & widthMask);
  case BinaryKind::ShrS:
    return a >> (b & widthMask);
  case BinaryKind::ShrU:
    return k.ushr(a, b & widthMask);
  }
  llvm_unreachable("every binary kind has its case");
}

static KValue compare(ComparePredicate predicate, KValue a, KValue b) {
  if (a.getType().isInteger(1)) {
    // GPUs compare no Booleans, and as signed numbers true would lie below
    // false.
    switch (predicate) {
    case ComparePredicate::Eq:
      return ~(a ^ b);
    case ComparePredicate::Ne:
      return a ^ b;
    case ComparePredicate::Lt:
      return ~a & b;
    case ComparePredicate::Le:
      return ~a | b;
    case ComparePredicate::Gt:
      return a & ~b;
    case ComparePredicate::Ge:
      return a | ~b;
    }
  }
  switch (predicate) {
  case ComparePredicate::Eq:
    return a == b;
  case ComparePredicate::Ne:
    return a != b;
  case ComparePredicate::Lt:
    return a < b;
  case ComparePredicate::Le:
    return a <= b;
  case ComparePredicate::Gt:
    return a > b;
  case ComparePredicate::Ge:
    return a >= b;
  }
  llvm_unreachable("every predicate has its case");
}

KValue computeElement(KernelBuilder &k, Operation *op,
                      ArrayRef<KValue> operands) {
  // Half types are computed in f32.
  auto wide = [&](unsigned i) {
    Type type = operands[i].getType();
    return type.isF16() || type.isBF16() ? k.cast(operands[i], k.f32Type())
                                         : operands[i];
  };
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  KValue result =
      TypeSwitch<Operation *, KValue>(op)
          .Case<UnaryOp>([&](auto o) { return unary(k, o.getKind(), wide(0)); })
          .Case<BinaryOp>(
              [&](auto o) { return binary(k, o.getKind(), wide(0), wide(1)); })
          .Case<CompareOp>([&](auto o) {
            return compare(o.getPredicate(), wide(0), wide(1));
          })
          .Case<SelectOp>([&](auto) {
            return k.select(operands[0], operands[1], operands[2]);
          })
          .Case<CastOp>([&](auto) { return convert(k, operands[0], element); })
          .Default([](Operation *) { return KValue(); });
  return result && isa<FloatType>(element) ? convert(k, result, element)
                                           : result;
}

LogicalResult buildElementwise(KernelBody &body) {
  KernelBuilder &k = body.k;
  Operation *op = body.request.op;
  KValue id = body.linearId(body.output().count());

  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    Index index = body.delinearize(id, body.output().shape);
    KValue number = index[iota.getDim()] + body.request.firstRow;
    // Through f32 for the half types: 16-bit integers may not be there.
    Type element = body.output().element;
    body.store(0, index, convert(k, number, element));
    return success();
  }

  // Work on as few dimensions as the layouts allow.
  SmallVector<OperandLayout> layouts(body.request.inputs);
  layouts.push_back(body.output());
  collapseDims(layouts);
  const OperandLayout &out = layouts.back();
  Index index = body.delinearize(id, out.shape);

  Index values;
  for (unsigned i = 0; i < body.request.inputs.size(); ++i)
    values.push_back(body.input(i).literal
                         ? k.constant(body.input(i).literal)
                         : body.loadAt(i, body.position(layouts[i], index)));

  KValue result = op ? computeElement(k, op, values) : values[0];
  if (!result)
    return emitError(k.getLoc())
           << "no kernel body for '" << op->getName() << "'";
  if (out.element.isInteger(1))
    result = k.ucast(result, k.i32Type());
  k.store(body.outputBuffer(), body.position(out, index), result);
  return success();
}

} // namespace poot::planner
