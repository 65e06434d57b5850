//===- Expressions.cpp - Values of scalars and vectors --------------------===//

#include "Importer.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "clang/AST/StmtVisitor.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using namespace mlir::arith;
using mlir::Location;
using mlir::Value;

static QualType elementOrSelf(QualType type) {
  if (auto *vector = type->getAs<clang::VectorType>())
    return vector->getElementType();
  return type;
}

static bool isSigned(QualType type) {
  return elementOrSelf(type)->isSignedIntegerOrEnumerationType();
}

static bool isFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value Importer::toBool(Value value, Location loc) {
  Value none = zero(value.getType(), loc);
  if (isFloat(value.getType()))
    return CmpFOp::create(builder, loc, CmpFPredicate::UNE, value, none);
  if (value.getType().isInteger(1))
    return value;
  return CmpIOp::create(builder, loc, CmpIPredicate::ne, value, none);
}

/// Works on vectors element by element, as __builtin_convertvector does.
Value Importer::convert(Value value, QualType from, QualType to,
                        SourceLocation source) {
  Location loc = getLoc(source);
  mlir::Type type = scalarType(to, source), old = value.getType();
  if (to->isBooleanType())
    return toBool(value, loc);
  if (type == old)
    return value;
  bool fromFloat = isFloat(old), toFloat = isFloat(type);
  unsigned oldWidth = mlir::getElementTypeOrSelf(old).getIntOrFloatBitWidth();
  unsigned width = mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (fromFloat && toFloat) {
    if (oldWidth == width) { // between f16 and bf16, through f32
      mlir::Type f32 = builder.getF32Type();
      if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
        f32 = vector.clone(f32);
      value = ExtFOp::create(builder, loc, f32, value);
      return TruncFOp::create(builder, loc, type, value);
    }
    if (oldWidth < width)
      return ExtFOp::create(builder, loc, type, value);
    return TruncFOp::create(builder, loc, type, value);
  }
  if (fromFloat) {
    if (isSigned(to))
      return FPToSIOp::create(builder, loc, type, value);
    return FPToUIOp::create(builder, loc, type, value);
  }
  if (toFloat) {
    if (isSigned(from))
      return SIToFPOp::create(builder, loc, type, value);
    return UIToFPOp::create(builder, loc, type, value);
  }
  if (oldWidth == width)
    return value;
  if (oldWidth > width)
    return TruncIOp::create(builder, loc, type, value);
  if (isSigned(from))
    return ExtSIOp::create(builder, loc, type, value);
  return ExtUIOp::create(builder, loc, type, value);
}

/// An index of memory, which counts in i32. It is computed in its own width.
Value Importer::toIndex(const Expr *expr) {
  Value value = scalar(expr);
  Location loc = getLoc(expr->getExprLoc());
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (width > 32)
    return TruncIOp::create(builder, loc, builder.getI32Type(), value);
  if (width == 32)
    return value;
  if (isSigned(expr->getType()))
    return ExtSIOp::create(builder, loc, builder.getI32Type(), value);
  return ExtUIOp::create(builder, loc, builder.getI32Type(), value);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// LHS and RHS have one type, but for shifts. TYPE is the C++ type of LHS.
Value Importer::binary(BinaryOperatorKind kind, Value lhs, Value rhs,
                       QualType type, const Expr *expr) {
  Location loc = getLoc(expr->getExprLoc());
  bool isReal = isFloat(lhs.getType()), sign = isSigned(type);
  FastMathFlags flags = FastMathFlags::none;
  if (expr->getFPFeaturesInEffect(ast.getLangOpts())
          .allowFPContractAcrossStatement())
    flags = FastMathFlags::contract;
  switch (kind) {
  case BO_Add:
    if (isReal)
      return AddFOp::create(builder, loc, lhs, rhs, flags);
    return AddIOp::create(builder, loc, lhs, rhs);
  case BO_Sub:
    if (isReal)
      return SubFOp::create(builder, loc, lhs, rhs, flags);
    return SubIOp::create(builder, loc, lhs, rhs);
  case BO_Mul:
    if (isReal)
      return MulFOp::create(builder, loc, lhs, rhs, flags);
    return MulIOp::create(builder, loc, lhs, rhs);
  case BO_Div:
    if (isReal)
      return DivFOp::create(builder, loc, lhs, rhs);
    if (sign)
      return DivSIOp::create(builder, loc, lhs, rhs);
    return DivUIOp::create(builder, loc, lhs, rhs);
  case BO_Rem:
    if (sign)
      return RemSIOp::create(builder, loc, lhs, rhs);
    return RemUIOp::create(builder, loc, lhs, rhs);
  case BO_And:
    return AndIOp::create(builder, loc, lhs, rhs);
  case BO_Or:
    return OrIOp::create(builder, loc, lhs, rhs);
  case BO_Xor:
    return XOrIOp::create(builder, loc, lhs, rhs);
  case BO_Shl:
  case BO_Shr: {
    // A count is below the width, whatever type it has.
    unsigned width =
        mlir::getElementTypeOrSelf(lhs.getType()).getIntOrFloatBitWidth();
    unsigned countWidth =
        mlir::getElementTypeOrSelf(rhs.getType()).getIntOrFloatBitWidth();
    if (countWidth < width)
      rhs = ExtUIOp::create(builder, loc, lhs.getType(), rhs);
    else if (countWidth > width)
      rhs = TruncIOp::create(builder, loc, lhs.getType(), rhs);
    if (kind == BO_Shl)
      return ShLIOp::create(builder, loc, lhs, rhs);
    if (sign)
      return ShRSIOp::create(builder, loc, lhs, rhs);
    return ShRUIOp::create(builder, loc, lhs, rhs);
  }
  default:
    break;
  }
  Value result;
  if (isReal) {
    CmpFPredicate predicate = kind == BO_LT   ? CmpFPredicate::OLT
                              : kind == BO_GT ? CmpFPredicate::OGT
                              : kind == BO_LE ? CmpFPredicate::OLE
                              : kind == BO_GE ? CmpFPredicate::OGE
                              : kind == BO_EQ ? CmpFPredicate::OEQ
                                              : CmpFPredicate::UNE;
    result = CmpFOp::create(builder, loc, predicate, lhs, rhs);
  } else {
    using P = CmpIPredicate;
    P predicate = kind == BO_LT   ? (sign ? P::slt : P::ult)
                  : kind == BO_GT ? (sign ? P::sgt : P::ugt)
                  : kind == BO_LE ? (sign ? P::sle : P::ule)
                  : kind == BO_GE ? (sign ? P::sge : P::uge)
                  : kind == BO_EQ ? P::eq
                                  : P::ne;
    if (!BinaryOperator::isComparisonOp(kind))
      fail(Diagnostic::Expression, expr->getExprLoc(),
           "operator '" + BinaryOperator::getOpcodeStr(kind) + "' in a kernel");
    result = CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  // Vectors compare to 0 and -1 in integers of the elements' width.
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(lhs.getType()))
    result = ExtSIOp::create(
        builder, loc, scalarType(expr->getType(), expr->getExprLoc()), result);
  return result;
}

/// Compares two pointers into one array, or subtracts them.
Value Importer::comparePointers(const BinaryOperator *expr) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  Object p = pointer(expr->getLHS()), q = pointer(expr->getRHS());
  bool same =
      p.pointsToOne == q.pointsToOne && isSamePlace(p.parts[0], q.parts[0]);
  if (!same)
    fail(Diagnostic::PointerBase, source,
         "pointers meet that may be into different arrays in a kernel");
  Value result =
      binary(expr->getOpcode(), load(p, loc), load(q, loc), ast.IntTy, expr);
  if (result.getType().isInteger(1))
    return result;
  return convert(result, ast.IntTy, expr->getType(), source);
}

Value Importer::binaryExpr(const BinaryOperator *expr) {
  Location loc = getLoc(expr->getExprLoc());
  if (expr->isAssignmentOp())
    return load(place(expr), loc);
  if (expr->getOpcode() == BO_Comma) {
    discard(expr->getLHS());
    return scalar(expr->getRHS());
  }
  if (expr->isLogicalOp()) {
    Value lhs = scalar(expr->getLHS());
    Block *rhsBlock = newBlock(), *end = newBlock();
    Value result = end->addArgument(builder.getI1Type(), loc);
    if (expr->getOpcode() == BO_LAnd)
      mlir::cf::CondBranchOp::create(builder, loc, lhs, rhsBlock,
                                     mlir::ValueRange{}, end,
                                     mlir::ValueRange{lhs});
    else
      mlir::cf::CondBranchOp::create(builder, loc, lhs, end,
                                     mlir::ValueRange{lhs}, rhsBlock,
                                     mlir::ValueRange{});
    startBlock(rhsBlock);
    Value rhs = scalar(expr->getRHS());
    branch(end, loc, rhs);
    startBlock(end);
    return result;
  }
  QualType left = expr->getLHS()->getType(), right = expr->getRHS()->getType();
  if (left->isPointerType() || right->isPointerType()) {
    auto isNull = [&](const Expr *side) {
      return side->isNullPointerConstant(
                 ast, Expr::NPC_ValueDependentIsNotNull) != Expr::NPCK_NotNull;
    };
    if (isNull(expr->getLHS()) || isNull(expr->getRHS()) ||
        !left->isPointerType() || !right->isPointerType())
      fail(Diagnostic::Pointer, expr->getExprLoc(),
           "comparison of a pointer with null in a kernel");
    return comparePointers(expr);
  }
  Value lhs = scalar(expr->getLHS()), rhs = scalar(expr->getRHS());
  return binary(expr->getOpcode(), lhs, rhs, left, expr);
}

Value Importer::increment(const UnaryOperator *expr, const Object &object) {
  Location loc = getLoc(expr->getExprLoc());
  Value old = load(object, loc);
  Value one = isFloat(old.getType())
                  ? Value(ConstantOp::create(
                        builder, loc, mlir::FloatAttr::get(old.getType(), 1.0)))
                  : number(1, loc, old.getType().getIntOrFloatBitWidth());
  Value next = binary(
      expr->isIncrementOp() ? BO_Add : BO_Sub, old, one,
      expr->getType()->isPointerType() ? ast.IntTy : expr->getType(), expr);
  store(next, object, loc);
  return expr->isPrefix() ? next : old;
}

Value Importer::unary(const UnaryOperator *expr) {
  Location loc = getLoc(expr->getExprLoc());
  switch (expr->getOpcode()) {
  case UO_Plus:
  case UO_Extension:
    return scalar(expr->getSubExpr());
  case UO_Minus: {
    Value value = scalar(expr->getSubExpr());
    if (isFloat(value.getType()))
      return NegFOp::create(builder, loc, value);
    return SubIOp::create(builder, loc, zero(value.getType(), loc), value);
  }
  case UO_LNot: {
    Value value = toBool(scalar(expr->getSubExpr()), loc);
    return XOrIOp::create(builder, loc, value, number(1, loc, 1));
  }
  case UO_Not: {
    Value value = scalar(expr->getSubExpr());
    mlir::Type type = value.getType();
    mlir::TypedAttr ones =
        builder.getIntegerAttr(mlir::getElementTypeOrSelf(type), -1);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      ones = mlir::DenseElementsAttr::get(vector, mlir::Attribute(ones));
    return XOrIOp::create(builder, loc, value,
                          ConstantOp::create(builder, loc, ones));
  }
  case UO_PreInc:
  case UO_PreDec:
  case UO_PostInc:
  case UO_PostDec:
    return increment(expr, place(expr->getSubExpr()));
  case UO_Deref:
    return load(place(expr), loc);
  default:
    fail(Diagnostic::Expression, expr->getExprLoc(),
         "operator '" + UnaryOperator::getOpcodeStr(expr->getOpcode()) +
             "' in a kernel");
  }
}

Value Importer::conditional(const AbstractConditionalOperator *expr) {
  Location loc = getLoc(expr->getExprLoc());
  if (auto *binary = llvm::dyn_cast<BinaryConditionalOperator>(expr))
    opaque[binary->getOpaqueValue()] = binary->getCommon()->isGLValue()
                                           ? place(binary->getCommon())
                                           : temporary(binary->getCommon());
  Value condition = scalar(expr->getCond());
  auto value = [&](const Expr *side) -> Value {
    if (expr->getType()->isVoidType()) {
      discard(side);
      return {};
    }
    return side->isGLValue() ? load(place(side), loc) : scalar(side);
  };
  // Of vectors, both sides are computed, and each element chooses.
  if (llvm::isa<mlir::VectorType>(condition.getType())) {
    Value onTrue = value(expr->getTrueExpr());
    Value onFalse = value(expr->getFalseExpr());
    return SelectOp::create(builder, loc, toBool(condition, loc), onTrue,
                            onFalse);
  }
  return ifElse(condition, loc, [&](bool first) {
    return value(first ? expr->getTrueExpr() : expr->getFalseExpr());
  });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Importer::shuffled(Value vector, llvm::ArrayRef<unsigned> elements,
                         Location loc) {
  if (elements.size() == 1)
    return mlir::vector::ExtractOp::create(builder, loc, vector,
                                           int64_t(elements.front()));
  llvm::SmallVector<int64_t> mask(elements.begin(), elements.end());
  return mlir::vector::ShuffleOp::create(builder, loc, vector, vector, mask);
}

Value Importer::vectorOf(const InitListExpr *expr) {
  Location loc = getLoc(expr->getExprLoc());
  auto type = llvm::cast<mlir::VectorType>(
      scalarType(expr->getType(), expr->getExprLoc()));
  llvm::SmallVector<Value> elements;
  for (const Expr *init : expr->inits()) {
    Value value = scalar(init);
    auto part = llvm::dyn_cast<mlir::VectorType>(value.getType());
    if (!part) {
      elements.push_back(value);
      continue;
    }
    for (int64_t i = 0; i < part.getNumElements(); ++i)
      elements.push_back(
          mlir::vector::ExtractOp::create(builder, loc, value, i));
  }
  while (int64_t(elements.size()) < type.getNumElements())
    elements.push_back(zero(type.getElementType(), loc));
  return mlir::vector::FromElementsOp::create(builder, loc, type, elements);
}

//===----------------------------------------------------------------------===//
// Any value
//===----------------------------------------------------------------------===//

Value Importer::castExpr(const CastExpr *expr) {
  const Expr *inner = expr->getSubExpr();
  Location loc = getLoc(expr->getExprLoc());
  switch (expr->getCastKind()) {
  case CK_LValueToRValue:
    if (auto *choice =
            llvm::dyn_cast<ConditionalOperator>(inner->IgnoreParens()))
      return conditional(choice);
    return load(place(inner), loc);
  case CK_NoOp:
  case CK_ConstructorConversion:
  case CK_UserDefinedConversion:
    return inner->isGLValue() ? load(place(inner), loc) : scalar(inner);
  case CK_IntegralCast:
  case CK_FloatingCast:
  case CK_IntegralToFloating:
  case CK_FloatingToIntegral:
  case CK_IntegralToBoolean:
  case CK_FloatingToBoolean:
  case CK_BooleanToSignedIntegral:
    return convert(scalar(inner), inner->getType(), expr->getType(),
                   expr->getExprLoc());
  case CK_VectorSplat:
    return mlir::vector::BroadcastOp::create(
        builder, loc, scalarType(expr->getType(), expr->getExprLoc()),
        scalar(inner));
  case CK_ToVoid:
    discard(inner);
    return {};
  case CK_LValueToRValueBitCast:
  case CK_BitCast: {
    // Of values alone: between vectors, and std::bit_cast.
    mlir::Type to = scalarType(expr->getType(), expr->getExprLoc());
    if (to && isScalar(inner->getType()))
      return bitCast(inner->isGLValue() ? load(place(inner), loc)
                                        : scalar(inner),
                     to, loc);
    fail(Diagnostic::ReinterpretCast, expr->getExprLoc(),
         "bits of '" + inner->getType().getAsString() + "' as '" +
             expr->getType().getAsString() + "' in a kernel");
  }
  case CK_PointerToBoolean:
    fail(Diagnostic::Pointer, expr->getExprLoc(),
         "comparison of a pointer with null in a kernel");
  default:
    fail(Diagnostic::Expression, expr->getExprLoc(),
         llvm::Twine("conversion '") + expr->getCastKindName() +
             "' in a kernel");
  }
}

Value Importer::scalar(const Expr *expr) {
  expr = expr->IgnoreParens();
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  QualType type = expr->getType();

  // What clang computes is a constant: calls of constexpr functions, template
  // arguments, sizes.
  if (type->isArithmeticType() || type->isEnumeralType()) {
    Expr::EvalResult result;
    if (!expr->isValueDependent() && expr->isPRValue() &&
        expr->EvaluateAsRValue(result, ast) && !result.HasSideEffects)
      if (Value value = constant(scalarType(type, source), result.Val, loc))
        return value;
  }

  using namespace llvm;
  if (auto *e = dyn_cast<CastExpr>(expr))
    return castExpr(e);
  if (auto *e = dyn_cast<UnaryOperator>(expr))
    return unary(e);
  if (auto *e = dyn_cast<BinaryOperator>(expr))
    return binaryExpr(e);
  if (auto *e = dyn_cast<AbstractConditionalOperator>(expr))
    return conditional(e);
  if (auto *e = dyn_cast<CallExpr>(expr)) {
    Object result;
    if (Value value = call(e, nullptr, result))
      return value;
    return result.isLeaf() ? load(result, loc) : Value();
  }
  if (auto *e = dyn_cast<SubstNonTypeTemplateParmExpr>(expr))
    return scalar(e->getReplacement());
  if (auto *e = dyn_cast<CXXRewrittenBinaryOperator>(expr))
    return scalar(e->getSemanticForm());
  if (auto *e = dyn_cast<OpaqueValueExpr>(expr)) {
    if (auto it = opaque.find(e); it != opaque.end())
      return load(it->second, loc);
    if (e->getSourceExpr())
      return scalar(e->getSourceExpr());
  }
  if (auto *e = dyn_cast<StmtExpr>(expr)) {
    const CompoundStmt *body = e->getSubStmt();
    for (const Stmt *inner : llvm::drop_end(body->body()))
      statement(inner);
    auto *last = dyn_cast<Expr>(body->body_back());
    return last ? scalar(last) : Value();
  }
  if (auto *e = dyn_cast<FullExpr>(expr)) // ConstantExpr, ExprWithCleanups
    return scalar(e->getSubExpr());
  if (auto *e = dyn_cast<CXXBindTemporaryExpr>(expr))
    return scalar(e->getSubExpr());
  if (auto *e = dyn_cast<MaterializeTemporaryExpr>(expr))
    return scalar(e->getSubExpr());
  if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr))
    return scalar(e->getExpr());
  if (auto *e = dyn_cast<CXXDefaultInitExpr>(expr))
    return scalar(e->getExpr());
  if (isa<CXXScalarValueInitExpr, ImplicitValueInitExpr>(expr))
    return zero(scalarType(type, source), loc);
  if (isa<ArrayInitIndexExpr>(expr))
    return convert(arrayIndex, ast.IntTy, type, source);
  if (auto *e = dyn_cast<ConvertVectorExpr>(expr))
    return convert(scalar(e->getSrcExpr()), e->getSrcExpr()->getType(), type,
                   source);
  if (auto *e = dyn_cast<ShuffleVectorExpr>(expr)) {
    llvm::SmallVector<int64_t> mask;
    for (unsigned i = 0; i < e->getNumSubExprs() - 2; ++i)
      mask.push_back(e->getShuffleMaskIdx(i).getSExtValue());
    Value a = scalar(e->getExpr(0)), b = scalar(e->getExpr(1));
    return mlir::vector::ShuffleOp::create(builder, loc, a, b, mask);
  }
  if (auto *e = dyn_cast<ExtVectorElementExpr>(expr);
      e && !e->getBase()->isGLValue()) {
    SmallVector<uint32_t, 4> elements;
    e->getEncodedElementAccess(elements);
    return shuffled(scalar(e->getBase()), elements, loc);
  }
  if (auto *e = dyn_cast<InitListExpr>(expr)) {
    if (type->isVectorType())
      return vectorOf(e);
    if (e->getNumInits() == 1)
      return scalar(e->getInit(0));
    if (e->getNumInits() == 0)
      return zero(scalarType(type, source), loc);
  }
  if (auto *e = dyn_cast<CXXConstructExpr>(expr)) { // a fragment
    if (e->getNumArgs() == 1 &&
        e->getConstructor()->isCopyOrMoveConstructor()) {
      const Expr *from = e->getArg(0)->IgnoreParens();
      return from->isGLValue() && !isa<MaterializeTemporaryExpr>(from)
                 ? load(place(from), loc)
                 : scalar(from);
    }
    return zero(scalarType(type, source), loc);
  }
  if (isa<CXXThrowExpr>(expr))
    fail(Diagnostic::Exception, source, "'throw' in a kernel");
  if (isa<CXXNewExpr, CXXDeleteExpr>(expr))
    fail(Diagnostic::Heap, source, "'new' or 'delete' in a kernel");
  if (isa<CXXTypeidExpr>(expr))
    fail(Diagnostic::Rtti, source, "'typeid' in a kernel");
  if (isa<VAArgExpr>(expr))
    fail(Diagnostic::Variadic, source, "'va_arg' in a kernel");
  if (expr->isGLValue())
    return load(place(expr), loc);
  fail(Diagnostic::Expression, source,
       Twine("expression of kind ") + expr->getStmtClassName() +
           " in a kernel");
}

/// An expression for its effects.
void Importer::discard(const Expr *expr) {
  expr = expr->IgnoreParens();
  using namespace llvm;
  if (auto *e = dyn_cast<FullExpr>(expr))
    return discard(e->getSubExpr());
  if (auto *e = dyn_cast<CastExpr>(expr);
      e &&
      (e->getCastKind() == CK_ToVoid || e->getCastKind() == CK_LValueToRValue))
    return discard(e->getSubExpr());
  if (auto *e = dyn_cast<CallExpr>(expr)) {
    Object result;
    call(e, nullptr, result);
    return;
  }
  if (auto *e = dyn_cast<BinaryOperator>(expr);
      e && e->getOpcode() == BO_Comma) {
    discard(e->getLHS());
    return discard(e->getRHS());
  }
  if (isa<DeclRefExpr, MemberExpr, LambdaExpr>(expr))
    return;
  if (expr->getType()->isPointerType()) {
    (void)pointer(expr);
    return;
  }
  if (expr->isGLValue()) {
    (void)place(expr);
    return;
  }
  if (expr->getType()->isVoidType() || isScalar(expr->getType())) {
    (void)scalar(expr);
    return;
  }
  (void)temporary(expr);
}
