//===- KernelBuilder.h - Writes kernel bodies in C++ ----------------------===//
//
// `KernelBuilder` makes one kernel.func. Values are `KValue`s with operators;
// loops and branches take lambdas and become blocks. Operations on constants
// are folded as they are built, so that index arithmetic whose extents are
// known stays small.
//
//   KernelBuilder k(builder, loc, "scale", {64, 1, 1});
//   KValue x = k.addBuffer(k.f32Type(), Access::Read);
//   KValue y = k.addBuffer(k.f32Type(), Access::Write);
//   KValue n = k.addMetadata(k.i32Type());
//   KValue i = k.globalId(Dim::X);
//   k.ifThen(i < n, [&] { k.store(y, i, k.load(x, i) * 2.0); });
//   FuncOp func = k.finish();
//
// Integers are signed unless a function's name begins with u. Both operands of
// an operator have the same type; a C++ number takes the type of the other
// operand. Misuse of types is a programming error, found by the verifier.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_KERNELBUILDER_H
#define POOT_DIALECT_KERNEL_KERNELBUILDER_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <type_traits>

namespace poot::kernel {

class KernelBuilder;

/// A value of the kernel under construction.
class KValue {
public:
  KValue() = default;
  KValue(KernelBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  explicit operator bool() const { return static_cast<bool>(value); }
  operator mlir::Value() const { return value; }
  mlir::Value getValue() const { return value; }
  mlir::Type getType() const { return value.getType(); }
  KernelBuilder &getBuilder() const { return *builder; }

  /// The value of an integer constant (an i1 is 0 or 1).
  std::optional<int64_t> getConstant() const;

  /// A constant of this value's type.
  KValue like(int64_t number) const;
  KValue like(double number) const;

private:
  KernelBuilder *builder = nullptr;
  mlir::Value value;
};

class KernelBuilder {
public:
  using Values = llvm::SmallVector<KValue, 4>;

  /// Creates an empty kernel at `builder`'s insertion point and leaves that
  /// point after it.
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::StringRef name, llvm::ArrayRef<int32_t> workgroupSize);
  /// Goes on with an existing kernel: builds before `op`, at its location.
  explicit KernelBuilder(mlir::Operation *op);
  KernelBuilder(const KernelBuilder &) = delete;
  KernelBuilder &operator=(const KernelBuilder &) = delete;

  /// Ends the kernel with a return and gives it out.
  FuncOp finish();

  /// For operations that this class has no function for.
  mlir::OpBuilder &getOpBuilder() { return body; }
  mlir::Location getLoc() const { return loc; }
  void setLoc(mlir::Location newLoc) { loc = newLoc; }
  /// Whether a floating-point product and a sum may be computed together, with
  /// one rounding. They may, unless this is turned off: a target decides.
  void setContraction(bool allowed) { contracts = allowed; }
  FuncOp getFunc() { return func; }

  //===--------------------------------------------------------------------===//
  // Interface
  //===--------------------------------------------------------------------===//

  /// Appends a buffer, behind the buffers and before any metadata: binding i is
  /// the i-th call.
  KValue addBuffer(mlir::Type element, Access access);
  /// Appends a scalar of type i32 or f32 that is passed by value.
  KValue addMetadata(mlir::Type type);

  //===--------------------------------------------------------------------===//
  // Types and constants
  //===--------------------------------------------------------------------===//

  mlir::Type i1Type() { return body.getI1Type(); }
  mlir::Type i8Type() { return body.getI8Type(); }
  mlir::Type i16Type() { return body.getI16Type(); }
  mlir::Type i32Type() { return body.getI32Type(); }
  mlir::Type i64Type() { return body.getI64Type(); }
  mlir::Type f16Type() { return body.getF16Type(); }
  mlir::Type bf16Type() { return body.getBF16Type(); }
  mlir::Type f32Type() { return body.getF32Type(); }
  mlir::Type f64Type() { return body.getF64Type(); }
  mlir::Type vectorType(int64_t size, mlir::Type element);

  /// A constant of any scalar type; of a vector type all elements are equal.
  KValue constant(mlir::Type type, int64_t number);
  KValue constant(mlir::Type type, double number);
  KValue constant(mlir::TypedAttr value);
  KValue i32(int64_t number) { return constant(i32Type(), number); }
  KValue f32(double number) { return constant(f32Type(), number); }
  KValue boolean(bool value) { return constant(i1Type(), int64_t(value)); }

  //===--------------------------------------------------------------------===//
  // Arithmetic beyond the operators
  //===--------------------------------------------------------------------===//

  KValue udiv(KValue lhs, KValue rhs);
  KValue urem(KValue lhs, KValue rhs);
  KValue ushr(KValue lhs, KValue rhs);
  /// The low and the high half of the product.
  std::pair<KValue, KValue> umulExtended(KValue lhs, KValue rhs);
  KValue ult(KValue lhs, KValue rhs);
  KValue ule(KValue lhs, KValue rhs);
  /// Rounds the quotient of two non-negative numbers up.
  KValue uceilDiv(KValue lhs, KValue rhs);

  /// If one operand is NaN, `min` and `max` give the other one, `minimum` and
  /// `maximum` give NaN. On integers they are the same.
  KValue min(KValue lhs, KValue rhs);
  KValue max(KValue lhs, KValue rhs);
  KValue minimum(KValue lhs, KValue rhs);
  KValue maximum(KValue lhs, KValue rhs);
  KValue umin(KValue lhs, KValue rhs);
  KValue umax(KValue lhs, KValue rhs);

  KValue select(KValue condition, KValue onTrue, KValue onFalse);

  /// Converts the value. Integers extend and convert as signed numbers, with
  /// `ucast` as unsigned ones; an i1 is always 0 or 1. Floating point rounds to
  /// nearest even, and to an integer towards zero.
  KValue cast(KValue value, mlir::Type type);
  KValue ucast(KValue value, mlir::Type type);
  /// Reinterprets the bits; both types have the same width.
  KValue bitcast(KValue value, mlir::Type type);

  KValue abs(KValue value);
  KValue fma(KValue a, KValue b, KValue c);
  KValue exp(KValue value);
  KValue exp2(KValue value);
  KValue expm1(KValue value);
  KValue log(KValue value);
  KValue log2(KValue value);
  KValue log1p(KValue value);
  KValue pow(KValue base, KValue exponent);
  KValue sqrt(KValue value);
  KValue rsqrt(KValue value);
  KValue cbrt(KValue value);
  KValue sin(KValue value);
  KValue cos(KValue value);
  KValue tan(KValue value);
  KValue atan2(KValue y, KValue x);
  KValue tanh(KValue value);
  KValue erf(KValue value);
  KValue erfc(KValue value);
  KValue floor(KValue value);
  KValue ceil(KValue value);
  /// To the nearest integer, halves to even.
  KValue round(KValue value);
  KValue trunc(KValue value);
  KValue isnan(KValue value);
  KValue isinf(KValue value);
  KValue popcount(KValue value);
  KValue countLeadingZeros(KValue value);
  KValue countTrailingZeros(KValue value);

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  KValue splat(KValue scalar, int64_t size);
  KValue fromElements(llvm::ArrayRef<KValue> elements);
  KValue extract(KValue vector, int64_t position);
  KValue insert(KValue scalar, KValue vector, int64_t position);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The array is declared in the entry block, wherever this is called.
  KValue workgroupAlloc(int64_t size, mlir::Type element);
  KValue load(KValue memory, KValue index);
  void store(KValue memory, KValue index, KValue value);
  KValue atomicRmw(AtomicKind kind, KValue memory, KValue index, KValue value,
                   MemoryOrder order = MemoryOrder::Relaxed,
                   MemoryScope scope = MemoryScope::Device);
  KValue atomicCas(KValue memory, KValue index, KValue expected, KValue value,
                   MemoryOrder order = MemoryOrder::Relaxed,
                   MemoryScope scope = MemoryScope::Device);
  void barrier();

  //===--------------------------------------------------------------------===//
  // Identifiers and subgroups
  //===--------------------------------------------------------------------===//

  KValue localId(Dim dim);
  KValue workgroupId(Dim dim);
  KValue numWorkgroups(Dim dim);
  /// workgroup_id * workgroup_size + local_id.
  KValue globalId(Dim dim);
  KValue laneId();
  KValue subgroupId();
  KValue subgroupSize();
  KValue subgroupReduce(ReduceKind kind, KValue value);
  KValue subgroupScan(ScanKind kind, KValue value);
  KValue subgroupShuffle(ShuffleKind kind, KValue value, KValue lane);
  KValue subgroupBroadcast(KValue value, KValue lane);
  KValue subgroupAny(KValue condition);
  KValue subgroupAll(KValue condition);

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  using LoopBody =
      llvm::function_ref<Values(KValue index, llvm::ArrayRef<KValue> carried)>;

  /// for (i = lower; i < upper; i += step), signed; `step` is positive and
  /// upper + step doesn't overflow. The body gets the carried values and gives
  /// the next ones; the result are the last ones.
  Values forLoop(KValue lower, KValue upper, KValue step,
                 llvm::ArrayRef<KValue> inits, LoopBody bodyFn);
  void forLoop(KValue lower, KValue upper, KValue step,
               llvm::function_ref<void(KValue index)> bodyFn);

  /// while (condition(carried)) carried = body(carried).
  Values whileLoop(llvm::ArrayRef<KValue> inits,
                   llvm::function_ref<KValue(llvm::ArrayRef<KValue>)> condition,
                   llvm::function_ref<Values(llvm::ArrayRef<KValue>)> bodyFn);

  void ifThen(KValue condition, llvm::function_ref<void()> thenFn);
  void ifThenElse(KValue condition, llvm::function_ref<void()> thenFn,
                  llvm::function_ref<void()> elseFn);
  /// Both sides give as many values, of the same types.
  Values ifThenElseValues(KValue condition, llvm::function_ref<Values()> thenFn,
                          llvm::function_ref<Values()> elseFn);
  /// Ends this invocation if the condition holds. The invocations that go on
  /// must not reach a barrier unless all of the workgroup do.
  void returnIf(KValue condition);

  //===--------------------------------------------------------------------===//
  // What the operators are made of
  //===--------------------------------------------------------------------===//

  KValue add(KValue lhs, KValue rhs);
  KValue sub(KValue lhs, KValue rhs);
  KValue mul(KValue lhs, KValue rhs);
  KValue div(KValue lhs, KValue rhs);
  KValue rem(KValue lhs, KValue rhs);
  KValue bitAnd(KValue lhs, KValue rhs);
  KValue bitOr(KValue lhs, KValue rhs);
  KValue bitXor(KValue lhs, KValue rhs);
  KValue shl(KValue lhs, KValue rhs);
  KValue shr(KValue lhs, KValue rhs);
  KValue neg(KValue value);
  KValue eq(KValue lhs, KValue rhs);
  KValue ne(KValue lhs, KValue rhs);
  KValue lt(KValue lhs, KValue rhs);
  KValue le(KValue lhs, KValue rhs);

private:
  template <typename OpTy, typename... Args> KValue build(Args &&...args);
  template <typename IntOp, typename FloatOp>
  KValue buildBinary(KValue lhs, KValue rhs, bool isCommutative);
  template <typename IntOp, typename FloatOp>
  KValue buildContractable(KValue lhs, KValue rhs, bool isCommutative);
  mlir::Block *newBlock(llvm::ArrayRef<KValue> argumentTypes = {});
  void branch(mlir::Block *target, llvm::ArrayRef<KValue> arguments = {});

  mlir::Location loc;
  FuncOp func;
  mlir::OpBuilder body;
  mlir::Operation *lastAlloc = nullptr;
  bool contracts = true;
};

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

#define POOT_KERNEL_OPERATOR(SYMBOL, FUNCTION)                                 \
  inline KValue operator SYMBOL(KValue lhs, KValue rhs) {                      \
    return lhs.getBuilder().FUNCTION(lhs, rhs);                                \
  }                                                                            \
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>    \
  KValue operator SYMBOL(KValue lhs, T rhs) {                                  \
    using Number =                                                             \
        std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;      \
    return lhs SYMBOL lhs.like(static_cast<Number>(rhs));                      \
  }                                                                            \
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>    \
  KValue operator SYMBOL(T lhs, KValue rhs) {                                  \
    using Number =                                                             \
        std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;      \
    return rhs.like(static_cast<Number>(lhs)) SYMBOL rhs;                      \
  }

POOT_KERNEL_OPERATOR(+, add)
POOT_KERNEL_OPERATOR(-, sub)
POOT_KERNEL_OPERATOR(*, mul)
POOT_KERNEL_OPERATOR(/, div)
POOT_KERNEL_OPERATOR(%, rem)
POOT_KERNEL_OPERATOR(&, bitAnd)
POOT_KERNEL_OPERATOR(|, bitOr)
POOT_KERNEL_OPERATOR(^, bitXor)
POOT_KERNEL_OPERATOR(<<, shl)
POOT_KERNEL_OPERATOR(>>, shr)
POOT_KERNEL_OPERATOR(==, eq)
POOT_KERNEL_OPERATOR(!=, ne)
POOT_KERNEL_OPERATOR(<, lt)
POOT_KERNEL_OPERATOR(<=, le)
#undef POOT_KERNEL_OPERATOR

inline KValue operator>(KValue lhs, KValue rhs) { return rhs < lhs; }
inline KValue operator>=(KValue lhs, KValue rhs) { return rhs <= lhs; }
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
KValue operator>(KValue lhs, T rhs) {
  return rhs < lhs;
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
KValue operator>=(KValue lhs, T rhs) {
  return rhs <= lhs;
}
inline KValue operator-(KValue value) { return value.getBuilder().neg(value); }
/// The complement; of an i1, its negation.
inline KValue operator~(KValue value) { return value ^ int64_t(-1); }

} // namespace poot::kernel

#endif // POOT_DIALECT_KERNEL_KERNELBUILDER_H
