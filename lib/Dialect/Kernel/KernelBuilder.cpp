//===- KernelBuilder.cpp - Writes kernel bodies in C++ --------------------===//

#include "Poot/Dialect/Kernel/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::kernel;

//===----------------------------------------------------------------------===//
// KValue
//===----------------------------------------------------------------------===//

std::optional<int64_t> KValue::getConstant() const {
  APInt constant;
  if (!value || !matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return value.getType().isInteger(1)
             ? static_cast<int64_t>(constant.getZExtValue())
             : constant.getSExtValue();
}

KValue KValue::like(int64_t number) const {
  return builder->constant(getType(), number);
}

KValue KValue::like(double number) const {
  return builder->constant(getType(), number);
}

//===----------------------------------------------------------------------===//
// The kernel and its interface
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(OpBuilder &builder, Location loc, StringRef name,
                             ArrayRef<int32_t> workgroupSize)
    : loc(loc), body(builder.getContext()) {
  // Arithmetic is built before any pass could load these.
  MLIRContext *context = builder.getContext();
  context
      ->loadDialect<KernelDialect, arith::ArithDialect, cf::ControlFlowDialect,
                    math::MathDialect, vector::VectorDialect>();
  func = FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}),
                        workgroupSize);
  body.setInsertionPointToEnd(&func.getBody().front());
}

KernelBuilder::KernelBuilder(Operation *op)
    : loc(op->getLoc()), func(op->getParentOfType<FuncOp>()), body(op) {
  for (auto alloc : func.getBody().front().getOps<WorkgroupAllocOp>())
    lastAlloc = alloc;
}

FuncOp KernelBuilder::finish() {
  ReturnOp::create(body, loc);
  return func;
}

static Value insertArgument(FuncOp func, unsigned position, Type type,
                            Location loc) {
  BlockArgument argument =
      func.getBody().front().insertArgument(position, type, loc);
  SmallVector<Type> inputs(func.getArgumentTypes());
  inputs.insert(inputs.begin() + position, type);
  func.setFunctionType(FunctionType::get(func.getContext(), inputs, {}));
  return argument;
}

KValue KernelBuilder::addBuffer(Type element, Access access) {
  return {*this, insertArgument(func, func.getNumBuffers(),
                                BufferType::get(element, access), loc)};
}

KValue KernelBuilder::addMetadata(Type type) {
  return {*this, insertArgument(func, func.getNumArguments(), type, loc)};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Type KernelBuilder::vectorType(int64_t size, Type element) {
  return VectorType::get({size}, element);
}

KValue KernelBuilder::constant(TypedAttr value) {
  return {*this, arith::ConstantOp::create(body, loc, value)};
}

static TypedAttr getNumberAttr(OpBuilder &builder, Type type, double number) {
  return builder.getFloatAttr(type, number);
}

static TypedAttr getNumberAttr(OpBuilder &builder, Type type, int64_t number) {
  if (isa<FloatType>(type))
    return builder.getFloatAttr(type, static_cast<double>(number));
  // Wraps around like a cast, so that both -1 and 0xff are fine for i8.
  return builder.getIntegerAttr(
      type, APInt(64, static_cast<uint64_t>(number), /*isSigned=*/true)
                .sextOrTrunc(type.getIntOrFloatBitWidth()));
}

template <typename T>
static TypedAttr getConstantAttr(OpBuilder &builder, Type type, T number) {
  TypedAttr element =
      getNumberAttr(builder, getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    return SplatElementsAttr::get(vector, ArrayRef<Attribute>(element));
  return element;
}

KValue KernelBuilder::constant(Type type, int64_t number) {
  return constant(getConstantAttr(body, type, number));
}

KValue KernelBuilder::constant(Type type, double number) {
  assert(isa<FloatType>(getElementTypeOrSelf(type)) &&
         "a fraction needs a floating-point type");
  return constant(getConstantAttr(body, type, number));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename OpTy, typename... Args>
KValue KernelBuilder::build(Args &&...args) {
  return {*this, body.createOrFold<OpTy>(loc, std::forward<Args>(args)...)};
}

static bool isFloat(KValue value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Folders look for constants on the right.
static void moveConstantRight(KValue &lhs, KValue &rhs) {
  if (matchPattern(lhs.getValue(), m_Constant()) &&
      !matchPattern(rhs.getValue(), m_Constant()))
    std::swap(lhs, rhs);
}

template <typename IntOp, typename FloatOp>
KValue KernelBuilder::buildBinary(KValue lhs, KValue rhs, bool isCommutative) {
  if (isCommutative)
    moveConstantRight(lhs, rhs);
  return isFloat(lhs) ? build<FloatOp>(lhs.getValue(), rhs.getValue())
                      : build<IntOp>(lhs.getValue(), rhs.getValue());
}

template <typename IntOp, typename FloatOp>
KValue KernelBuilder::buildContractable(KValue lhs, KValue rhs,
                                        bool isCommutative) {
  if (!isFloat(lhs))
    return buildBinary<IntOp, FloatOp>(lhs, rhs, isCommutative);
  if (isCommutative)
    moveConstantRight(lhs, rhs);
  return build<FloatOp>(lhs.getValue(), rhs.getValue(),
                        contracts ? arith::FastMathFlags::contract
                                  : arith::FastMathFlags::none);
}

KValue KernelBuilder::add(KValue lhs, KValue rhs) {
  return buildContractable<arith::AddIOp, arith::AddFOp>(lhs, rhs, true);
}
KValue KernelBuilder::sub(KValue lhs, KValue rhs) {
  return buildContractable<arith::SubIOp, arith::SubFOp>(lhs, rhs, false);
}
KValue KernelBuilder::mul(KValue lhs, KValue rhs) {
  return buildContractable<arith::MulIOp, arith::MulFOp>(lhs, rhs, true);
}
KValue KernelBuilder::div(KValue lhs, KValue rhs) {
  return buildBinary<arith::DivSIOp, arith::DivFOp>(lhs, rhs, false);
}
KValue KernelBuilder::rem(KValue lhs, KValue rhs) {
  return buildBinary<arith::RemSIOp, arith::RemFOp>(lhs, rhs, false);
}
KValue KernelBuilder::bitAnd(KValue lhs, KValue rhs) {
  moveConstantRight(lhs, rhs);
  return build<arith::AndIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::bitOr(KValue lhs, KValue rhs) {
  moveConstantRight(lhs, rhs);
  return build<arith::OrIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::bitXor(KValue lhs, KValue rhs) {
  moveConstantRight(lhs, rhs);
  return build<arith::XOrIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::shl(KValue lhs, KValue rhs) {
  return build<arith::ShLIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::shr(KValue lhs, KValue rhs) {
  return build<arith::ShRSIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::ushr(KValue lhs, KValue rhs) {
  return build<arith::ShRUIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::neg(KValue value) {
  return isFloat(value) ? build<arith::NegFOp>(value.getValue())
                        : sub(value.like(int64_t(0)), value);
}

KValue KernelBuilder::udiv(KValue lhs, KValue rhs) {
  std::optional<int64_t> divisor = rhs.getConstant();
  if (divisor && llvm::isPowerOf2_64(*divisor))
    return ushr(lhs, rhs.like(int64_t(llvm::Log2_64(*divisor))));
  return build<arith::DivUIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::urem(KValue lhs, KValue rhs) {
  std::optional<int64_t> divisor = rhs.getConstant();
  if (divisor && llvm::isPowerOf2_64(*divisor))
    return bitAnd(lhs, rhs.like(*divisor - 1));
  return build<arith::RemUIOp>(lhs.getValue(), rhs.getValue());
}
std::pair<KValue, KValue> KernelBuilder::umulExtended(KValue lhs, KValue rhs) {
  auto product = arith::MulUIExtendedOp::create(body, loc, lhs, rhs);
  return {{*this, product.getLow()}, {*this, product.getHigh()}};
}
KValue KernelBuilder::uceilDiv(KValue lhs, KValue rhs) {
  return udiv(lhs + (rhs - 1), rhs);
}

static KValue compare(KernelBuilder &builder, KValue lhs, KValue rhs,
                      arith::CmpIPredicate intPredicate,
                      arith::CmpFPredicate floatPredicate) {
  OpBuilder &body = builder.getOpBuilder();
  Location loc = builder.getLoc();
  if (isFloat(lhs))
    return {builder, body.createOrFold<arith::CmpFOp>(
                         loc, floatPredicate, lhs.getValue(), rhs.getValue())};
  return {builder, body.createOrFold<arith::CmpIOp>(
                       loc, intPredicate, lhs.getValue(), rhs.getValue())};
}

KValue KernelBuilder::eq(KValue lhs, KValue rhs) {
  return compare(*this, lhs, rhs, arith::CmpIPredicate::eq,
                 arith::CmpFPredicate::OEQ);
}
KValue KernelBuilder::ne(KValue lhs, KValue rhs) {
  return compare(*this, lhs, rhs, arith::CmpIPredicate::ne,
                 arith::CmpFPredicate::UNE);
}
KValue KernelBuilder::lt(KValue lhs, KValue rhs) {
  return compare(*this, lhs, rhs, arith::CmpIPredicate::slt,
                 arith::CmpFPredicate::OLT);
}
KValue KernelBuilder::le(KValue lhs, KValue rhs) {
  return compare(*this, lhs, rhs, arith::CmpIPredicate::sle,
                 arith::CmpFPredicate::OLE);
}
KValue KernelBuilder::ult(KValue lhs, KValue rhs) {
  return build<arith::CmpIOp>(arith::CmpIPredicate::ult, lhs.getValue(),
                              rhs.getValue());
}
KValue KernelBuilder::ule(KValue lhs, KValue rhs) {
  return build<arith::CmpIOp>(arith::CmpIPredicate::ule, lhs.getValue(),
                              rhs.getValue());
}

KValue KernelBuilder::min(KValue lhs, KValue rhs) {
  return buildBinary<arith::MinSIOp, arith::MinNumFOp>(lhs, rhs, true);
}
KValue KernelBuilder::max(KValue lhs, KValue rhs) {
  return buildBinary<arith::MaxSIOp, arith::MaxNumFOp>(lhs, rhs, true);
}
KValue KernelBuilder::minimum(KValue lhs, KValue rhs) {
  return buildBinary<arith::MinSIOp, arith::MinimumFOp>(lhs, rhs, true);
}
KValue KernelBuilder::maximum(KValue lhs, KValue rhs) {
  return buildBinary<arith::MaxSIOp, arith::MaximumFOp>(lhs, rhs, true);
}
KValue KernelBuilder::umin(KValue lhs, KValue rhs) {
  moveConstantRight(lhs, rhs);
  return build<arith::MinUIOp>(lhs.getValue(), rhs.getValue());
}
KValue KernelBuilder::umax(KValue lhs, KValue rhs) {
  moveConstantRight(lhs, rhs);
  return build<arith::MaxUIOp>(lhs.getValue(), rhs.getValue());
}

KValue KernelBuilder::select(KValue condition, KValue onTrue, KValue onFalse) {
  return build<arith::SelectOp>(condition.getValue(), onTrue.getValue(),
                                onFalse.getValue());
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Value buildCast(OpBuilder &builder, Location loc, Value value, Type type,
                       bool isUnsigned) {
  if (value.getType() == type)
    return value;
  Type from = getElementTypeOrSelf(value.getType());
  Type to = getElementTypeOrSelf(type);
  isUnsigned |= from.isInteger(1);
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);

  if (fromFloat && toFloat) {
    if (fromWidth < toWidth)
      return builder.createOrFold<arith::ExtFOp>(loc, type, value);
    if (fromWidth > toWidth)
      return builder.createOrFold<arith::TruncFOp>(loc, type, value);
    // f16 and bf16 meet in f32.
    Type wide = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    value = builder.createOrFold<arith::ExtFOp>(loc, wide, value);
    return builder.createOrFold<arith::TruncFOp>(loc, type, value);
  }
  if (fromFloat)
    return isUnsigned ? builder.createOrFold<arith::FPToUIOp>(loc, type, value)
                      : builder.createOrFold<arith::FPToSIOp>(loc, type, value);
  if (toFloat)
    return isUnsigned ? builder.createOrFold<arith::UIToFPOp>(loc, type, value)
                      : builder.createOrFold<arith::SIToFPOp>(loc, type, value);
  if (fromWidth > toWidth)
    return builder.createOrFold<arith::TruncIOp>(loc, type, value);
  return isUnsigned ? builder.createOrFold<arith::ExtUIOp>(loc, type, value)
                    : builder.createOrFold<arith::ExtSIOp>(loc, type, value);
}

KValue KernelBuilder::cast(KValue value, Type type) {
  return {*this, buildCast(body, loc, value, type, /*isUnsigned=*/false)};
}
KValue KernelBuilder::ucast(KValue value, Type type) {
  return {*this, buildCast(body, loc, value, type, /*isUnsigned=*/true)};
}
KValue KernelBuilder::bitcast(KValue value, Type type) {
  if (value.getType() == type)
    return value;
  return build<arith::BitcastOp>(type, value.getValue());
}

//===----------------------------------------------------------------------===//
// Mathematics
//===----------------------------------------------------------------------===//

KValue KernelBuilder::abs(KValue value) {
  return isFloat(value) ? build<math::AbsFOp>(value.getValue())
                        : build<math::AbsIOp>(value.getValue());
}
KValue KernelBuilder::fma(KValue a, KValue b, KValue c) {
  return build<math::FmaOp>(a.getValue(), b.getValue(), c.getValue());
}
KValue KernelBuilder::pow(KValue base, KValue exponent) {
  return build<math::PowFOp>(base.getValue(), exponent.getValue());
}
KValue KernelBuilder::atan2(KValue y, KValue x) {
  return build<math::Atan2Op>(y.getValue(), x.getValue());
}

#define POOT_KERNEL_UNARY(FUNCTION, OP)                                        \
  KValue KernelBuilder::FUNCTION(KValue value) {                               \
    return build<OP>(value.getValue());                                        \
  }
POOT_KERNEL_UNARY(exp, math::ExpOp)
POOT_KERNEL_UNARY(exp2, math::Exp2Op)
POOT_KERNEL_UNARY(expm1, math::ExpM1Op)
POOT_KERNEL_UNARY(log, math::LogOp)
POOT_KERNEL_UNARY(log2, math::Log2Op)
POOT_KERNEL_UNARY(log1p, math::Log1pOp)
POOT_KERNEL_UNARY(sqrt, math::SqrtOp)
POOT_KERNEL_UNARY(rsqrt, math::RsqrtOp)
POOT_KERNEL_UNARY(cbrt, math::CbrtOp)
POOT_KERNEL_UNARY(sin, math::SinOp)
POOT_KERNEL_UNARY(cos, math::CosOp)
POOT_KERNEL_UNARY(tan, math::TanOp)
POOT_KERNEL_UNARY(tanh, math::TanhOp)
POOT_KERNEL_UNARY(erf, math::ErfOp)
POOT_KERNEL_UNARY(erfc, math::ErfcOp)
POOT_KERNEL_UNARY(floor, math::FloorOp)
POOT_KERNEL_UNARY(ceil, math::CeilOp)
POOT_KERNEL_UNARY(round, math::RoundEvenOp)
POOT_KERNEL_UNARY(trunc, math::TruncOp)
POOT_KERNEL_UNARY(isnan, math::IsNaNOp)
POOT_KERNEL_UNARY(isinf, math::IsInfOp)
POOT_KERNEL_UNARY(popcount, math::CtPopOp)
POOT_KERNEL_UNARY(countLeadingZeros, math::CountLeadingZerosOp)
POOT_KERNEL_UNARY(countTrailingZeros, math::CountTrailingZerosOp)
#undef POOT_KERNEL_UNARY

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

KValue KernelBuilder::splat(KValue scalar, int64_t size) {
  return build<vector::BroadcastOp>(vectorType(size, scalar.getType()),
                                    scalar.getValue());
}
KValue KernelBuilder::fromElements(ArrayRef<KValue> elements) {
  SmallVector<Value, 4> values(elements.begin(), elements.end());
  return build<vector::FromElementsOp>(
      vectorType(values.size(), values.front().getType()), ValueRange(values));
}
KValue KernelBuilder::extract(KValue vector, int64_t position) {
  return build<vector::ExtractOp>(vector.getValue(), position);
}
KValue KernelBuilder::insert(KValue scalar, KValue vector, int64_t position) {
  return build<vector::InsertOp>(scalar.getValue(), vector.getValue(),
                                 position);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

KValue KernelBuilder::workgroupAlloc(int64_t size, Type element) {
  OpBuilder::InsertionGuard guard(body);
  if (lastAlloc)
    body.setInsertionPointAfter(lastAlloc);
  else
    body.setInsertionPointToStart(&func.getBody().front());
  auto alloc =
      WorkgroupAllocOp::create(body, loc, WorkgroupType::get(size, element));
  lastAlloc = alloc;
  return {*this, alloc};
}
KValue KernelBuilder::load(KValue memory, KValue index) {
  return {*this, LoadOp::create(body, loc, memory, index)};
}
void KernelBuilder::store(KValue memory, KValue index, KValue value) {
  StoreOp::create(body, loc, value, memory, index);
}
KValue KernelBuilder::atomicRmw(AtomicKind kind, KValue memory, KValue index,
                                KValue value, MemoryOrder order,
                                MemoryScope scope) {
  return {*this, AtomicRmwOp::create(body, loc, value.getType(), kind, order,
                                     scope, memory, index, value)};
}
KValue KernelBuilder::atomicCas(KValue memory, KValue index, KValue expected,
                                KValue value, MemoryOrder order,
                                MemoryScope scope) {
  return {*this, AtomicCasOp::create(body, loc, value.getType(), order, scope,
                                     memory, index, expected, value)};
}
void KernelBuilder::barrier() { BarrierOp::create(body, loc); }

//===----------------------------------------------------------------------===//
// Identifiers and subgroups
//===----------------------------------------------------------------------===//

KValue KernelBuilder::localId(Dim dim) {
  return build<LocalIdOp>(i32Type(), dim);
}
KValue KernelBuilder::workgroupId(Dim dim) {
  return build<WorkgroupIdOp>(i32Type(), dim);
}
KValue KernelBuilder::numWorkgroups(Dim dim) {
  return build<NumWorkgroupsOp>(i32Type(), dim);
}
KValue KernelBuilder::globalId(Dim dim) {
  int32_t extent = func.getWorkgroupSize()[static_cast<unsigned>(dim)];
  return workgroupId(dim) * extent + localId(dim);
}
KValue KernelBuilder::laneId() { return build<LaneIdOp>(i32Type()); }
KValue KernelBuilder::subgroupId() { return build<SubgroupIdOp>(i32Type()); }
KValue KernelBuilder::subgroupSize() {
  return build<SubgroupSizeOp>(i32Type());
}
KValue KernelBuilder::subgroupReduce(ReduceKind kind, KValue value) {
  return {*this,
          SubgroupReduceOp::create(body, loc, value.getType(), kind, value)};
}
KValue KernelBuilder::subgroupScan(ScanKind kind, KValue value) {
  return {*this,
          SubgroupScanOp::create(body, loc, value.getType(), kind, value)};
}
KValue KernelBuilder::subgroupShuffle(ShuffleKind kind, KValue value,
                                      KValue lane) {
  return {*this, SubgroupShuffleOp::create(body, loc, value.getType(), kind,
                                           value, lane)};
}
KValue KernelBuilder::subgroupBroadcast(KValue value, KValue lane) {
  return {*this,
          SubgroupBroadcastOp::create(body, loc, value.getType(), value, lane)};
}
KValue KernelBuilder::subgroupAny(KValue condition) {
  return {*this, SubgroupAnyOp::create(body, loc, i1Type(), condition)};
}
KValue KernelBuilder::subgroupAll(KValue condition) {
  return {*this, SubgroupAllOp::create(body, loc, i1Type(), condition)};
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static SmallVector<Value, 4> getValues(ArrayRef<KValue> values) {
  return {values.begin(), values.end()};
}

static KernelBuilder::Values getArguments(KernelBuilder &builder,
                                          Block *block) {
  KernelBuilder::Values values;
  for (BlockArgument argument : block->getArguments())
    values.emplace_back(builder, argument);
  return values;
}

/// A block that is not in the kernel yet, with arguments of the values' types.
/// Blocks are appended in the order in which control reaches them first.
Block *KernelBuilder::newBlock(ArrayRef<KValue> argumentTypes) {
  auto *block = new Block;
  for (KValue value : argumentTypes)
    block->addArgument(value.getType(), loc);
  return block;
}

void KernelBuilder::branch(Block *target, ArrayRef<KValue> arguments) {
  cf::BranchOp::create(body, loc, target, getValues(arguments));
}

KernelBuilder::Values
KernelBuilder::whileLoop(ArrayRef<KValue> inits,
                         function_ref<KValue(ArrayRef<KValue>)> condition,
                         function_ref<Values(ArrayRef<KValue>)> bodyFn) {
  Region &region = func.getBody();
  Block *header = newBlock(inits), *loop = newBlock(), *exit = newBlock();
  branch(header, inits);

  region.push_back(header);
  body.setInsertionPointToEnd(header);
  Values carried = getArguments(*this, header);
  KValue goesOn = condition(carried);
  cf::CondBranchOp::create(body, loc, goesOn, loop, exit);

  region.push_back(loop);
  body.setInsertionPointToEnd(loop);
  branch(header, bodyFn(carried));

  region.push_back(exit);
  body.setInsertionPointToEnd(exit);
  return carried;
}

KernelBuilder::Values KernelBuilder::forLoop(KValue lower, KValue upper,
                                             KValue step,
                                             ArrayRef<KValue> inits,
                                             LoopBody bodyFn) {
  Values first{lower};
  first.append(inits.begin(), inits.end());
  Values last = whileLoop(
      first, [&](ArrayRef<KValue> carried) { return carried[0] < upper; },
      [&](ArrayRef<KValue> carried) {
        Values next = bodyFn(carried[0], carried.drop_front());
        next.insert(next.begin(), carried[0] + step);
        return next;
      });
  last.erase(last.begin());
  return last;
}

void KernelBuilder::forLoop(KValue lower, KValue upper, KValue step,
                            function_ref<void(KValue)> bodyFn) {
  forLoop(lower, upper, step, {}, [&](KValue index, ArrayRef<KValue>) {
    bodyFn(index);
    return Values();
  });
}

KernelBuilder::Values
KernelBuilder::ifThenElseValues(KValue condition, function_ref<Values()> thenFn,
                                function_ref<Values()> elseFn) {
  Region &region = func.getBody();
  Block *thenBlock = newBlock(), *elseBlock = newBlock();
  cf::CondBranchOp::create(body, loc, condition, thenBlock, elseBlock);

  region.push_back(thenBlock);
  body.setInsertionPointToEnd(thenBlock);
  Values thenValues = thenFn();
  Block *merge = newBlock(thenValues);
  branch(merge, thenValues);

  region.push_back(elseBlock);
  body.setInsertionPointToEnd(elseBlock);
  branch(merge, elseFn());

  region.push_back(merge);
  body.setInsertionPointToEnd(merge);
  return getArguments(*this, merge);
}

void KernelBuilder::ifThenElse(KValue condition, function_ref<void()> thenFn,
                               function_ref<void()> elseFn) {
  ifThenElseValues(
      condition,
      [&] {
        thenFn();
        return Values();
      },
      [&] {
        elseFn();
        return Values();
      });
}

void KernelBuilder::ifThen(KValue condition, function_ref<void()> thenFn) {
  Region &region = func.getBody();
  Block *thenBlock = newBlock(), *merge = newBlock();
  cf::CondBranchOp::create(body, loc, condition, thenBlock, merge);
  region.push_back(thenBlock);
  body.setInsertionPointToEnd(thenBlock);
  thenFn();
  branch(merge);
  region.push_back(merge);
  body.setInsertionPointToEnd(merge);
}

void KernelBuilder::returnIf(KValue condition) {
  Region &region = func.getBody();
  Block *returnBlock = newBlock(), *rest = newBlock();
  cf::CondBranchOp::create(body, loc, condition, returnBlock, rest);
  region.push_back(returnBlock);
  body.setInsertionPointToEnd(returnBlock);
  ReturnOp::create(body, loc);
  region.push_back(rest);
  body.setInsertionPointToEnd(rest);
}
