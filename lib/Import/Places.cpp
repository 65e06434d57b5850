//===- Places.cpp - Where expressions say that objects lie ----------------===//

#include "Importer.h"

#include "clang/AST/DeclTemplate.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using mlir::Location;
using mlir::Value;

Object *Importer::findVariable(const ValueDecl *decl) {
  Frame &frame = *stack.back();
  if (auto it = frame.variables.find(decl); it != frame.variables.end())
    return &it->second;
  if (auto it = frame.captures.find(decl); it != frame.captures.end())
    return it->second;
  return nullptr;
}

Object Importer::thisObject(const Expr *expr) {
  expr = expr->IgnoreParens();
  if (auto *cast = llvm::dyn_cast<CastExpr>(expr)) {
    if (cast->getCastKind() == CK_DerivedToBase ||
        cast->getCastKind() == CK_UncheckedDerivedToBase)
      return baseObject(thisObject(cast->getSubExpr()), cast);
    if (cast->getCastKind() == CK_NoOp)
      return thisObject(cast->getSubExpr());
  }
  Frame &frame = *stack.back();
  if (llvm::isa<CXXThisExpr>(expr)) {
    if (Object *self = frame.capturedThis ? frame.capturedThis : frame.self)
      return *self;
    fail(Diagnostic::Expression, expr->getExprLoc(), "'this' in a kernel");
  }
  return dereference(pointer(expr), expr->getType()->getPointeeType());
}

/// The part of OBJECT that a conversion to a base class names.
Object Importer::baseObject(Object object, const CastExpr *cast) {
  auto *record = cast->getSubExpr()->getType()->getPointeeCXXRecordDecl();
  if (!record)
    record = cast->getSubExpr()->getType()->getAsCXXRecordDecl();
  for (const CXXBaseSpecifier *step : cast->path()) {
    unsigned number = 0;
    for (const CXXBaseSpecifier &base : record->bases()) {
      if (ast.hasSameUnqualifiedType(base.getType(), step->getType()))
        break;
      ++number;
    }
    if (number >= object.parts.size())
      fail(Diagnostic::Expression, cast->getExprLoc(),
           "object that isn't known where the kernel is imported");
    Object base = object.parts[number];
    object = base;
    record = step->getType()->getAsCXXRecordDecl();
  }
  return object;
}

Object Importer::placeOfName(const DeclRefExpr *expr) {
  const ValueDecl *decl = expr->getDecl();
  SourceLocation source = expr->getLocation();
  if (Object *object = findVariable(decl))
    return *object;
  if (auto *binding = llvm::dyn_cast<BindingDecl>(decl)) {
    if (VarDecl *holding = binding->getHoldingVar())
      if (Object *object = findVariable(holding))
        return *object;
    return place(binding->getBinding());
  }
  auto *variable = llvm::dyn_cast<VarDecl>(decl);
  if (!variable)
    fail(Diagnostic::Expression, source,
         "use of '" + decl->getNameAsString() + "' in a kernel");
  return placeOfVariable(variable, source);
}

/// A variable that outlives the kernel: a constant.
Object Importer::placeOfVariable(const VarDecl *variable,
                                 SourceLocation source) {
  if (findAnnotation(variable, "poot.spec")) {
    // A variable of this name holds it, so that it can be read as any other.
    mlir::Type type = scalarType(variable->getType(), source);
    Expr::EvalResult result;
    const Expr *init = variable->getAnyInitializer();
    bool isAllowed =
        type && (type.isInteger(1) || type.isInteger(32) || type.isF32());
    if (!isAllowed || !init || !init->EvaluateAsRValue(result, ast))
      fail(Diagnostic::Spec, source,
           "POOT_SPEC variable '" + variable->getNameAsString() +
               "' of type '" + variable->getType().getAsString() + "'");
    Location loc = getLoc(source);
    Value byDefault = constant(type, result.Val, loc);
    auto op = byDefault.getDefiningOp<mlir::arith::ConstantOp>();
    Object object = allocate(variable->getType(), source);
    store(kernel::SpecConstantOp::create(
              builder, loc, variable->getNameAsString(), op.getValue()),
          object, loc);
    op.erase();
    return object;
  }
  if (isConstant(variable, ast)) {
    if (auto table = constantTable(variable, source))
      return *table;
    if (const APValue *value = variable->evaluateValue()) {
      Object object = allocate(variable->getType(), source);
      storeConstant(object, *value, source);
      return object;
    }
  }
  if (variable->isStaticLocal())
    fail(Diagnostic::Static, source,
         "static variable '" + variable->getNameAsString() + "' in a kernel");
  fail(Diagnostic::Global, source,
       "use of the variable '" + variable->getNameAsString() + "' in a kernel");
}

Object Importer::temporary(const Expr *expr) {
  Object object = allocate(expr->getType(), expr->getExprLoc());
  initialize(object, expr);
  return object;
}

/// The place that a conditional operator names.
Object Importer::choose(const AbstractConditionalOperator *expr) {
  SourceLocation source = expr->getExprLoc();
  bool known;
  if (auto *binary = llvm::dyn_cast<BinaryConditionalOperator>(expr))
    opaque[binary->getOpaqueValue()] = place(binary->getCommon());
  else if (!expr->getCond()->isValueDependent() &&
           expr->getCond()->EvaluateAsBooleanCondition(known, ast))
    return place(known ? expr->getTrueExpr() : expr->getFalseExpr());
  return chooseBySides(scalar(expr->getCond()), expr->getTrueExpr(),
                       expr->getFalseExpr(), source,
                       [&](const Expr *side) { return place(side); });
}

Object Importer::place(const Expr *expr) {
  expr = expr->IgnoreParens();
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  QualType type = expr->getType();
  using namespace llvm;

  if (auto *e = dyn_cast<DeclRefExpr>(expr))
    return placeOfName(e);
  if (auto *e = dyn_cast<MemberExpr>(expr)) {
    auto *field = dyn_cast<FieldDecl>(e->getMemberDecl());
    if (!field) {
      if (auto *variable = dyn_cast<VarDecl>(e->getMemberDecl()))
        return placeOfVariable(variable, source);
      fail(Diagnostic::Global, source,
           "use of the static member '" +
               e->getMemberDecl()->getNameAsString() + "' in a kernel");
    }
    const Expr *base = e->getBase();
    Object object = e->isArrow()        ? thisObject(base)
                    : base->isGLValue() ? place(base)
                                        : temporary(base);
    return this->field(object, field);
  }
  if (auto *e = dyn_cast<ArraySubscriptExpr>(expr)) {
    const Expr *base = e->getBase()->IgnoreParens();
    if (base->getType()->isVectorType()) {
      Object object = base->isGLValue() ? place(base) : temporary(base);
      object.lane = toIndex(e->getIdx());
      object.type = type;
      return object;
    }
    auto *decay = dyn_cast<ImplicitCastExpr>(base);
    if (decay && decay->getCastKind() == CK_ArrayToPointerDecay) {
      const Expr *array = decay->getSubExpr();
      Object object = array->isGLValue() ? place(array) : temporary(array);
      addIndex(object, toIndex(e->getIdx()), type);
      return object;
    }
    Object p = pointer(base);
    Value offset = toIndex(e->getIdx());
    if (p.pointsToOne)
      return p.parts[0];
    Value index =
        mlir::arith::AddIOp::create(builder, loc, load(p, loc), offset);
    Object object = p.parts[0];
    addIndex(object, index, type);
    return object;
  }
  if (auto *e = dyn_cast<ExtVectorElementExpr>(expr)) {
    SmallVector<uint32_t, 4> elements;
    e->getEncodedElementAccess(elements);
    Object object = e->isArrow()                ? thisObject(e->getBase())
                    : e->getBase()->isGLValue() ? place(e->getBase())
                                                : temporary(e->getBase());
    if (object.swizzle.empty()) {
      object.swizzle.assign(elements.begin(), elements.end());
    } else { // of a swizzle
      auto outer = object.swizzle;
      object.swizzle.clear();
      for (unsigned element : elements)
        object.swizzle.push_back(outer[element]);
    }
    object.type = type;
    return object;
  }
  if (auto *e = dyn_cast<UnaryOperator>(expr)) {
    if (e->getOpcode() == UO_Deref)
      return isa<CXXThisExpr>(e->getSubExpr()->IgnoreParenImpCasts())
                 ? thisObject(e->getSubExpr())
                 : dereference(pointer(e->getSubExpr()), type);
    if (e->isIncrementDecrementOp()) {
      Object object = place(e->getSubExpr());
      increment(e, object);
      return object;
    }
    if (e->getOpcode() == UO_Extension)
      return place(e->getSubExpr());
  }
  if (auto *e = dyn_cast<CompoundAssignOperator>(expr))
    return compoundAssign(e);
  if (auto *e = dyn_cast<BinaryOperator>(expr)) {
    if (e->getOpcode() == BO_Assign)
      return assign(e);
    if (e->getOpcode() == BO_Comma) {
      discard(e->getLHS());
      return place(e->getRHS());
    }
  }
  if (auto *e = dyn_cast<CallExpr>(expr)) {
    Object result;
    Value value = call(e, nullptr, result);
    if (value) { // a reference to what was computed
      result = allocate(type, source);
      store(value, result, loc);
    }
    return result;
  }
  if (auto *e = dyn_cast<MaterializeTemporaryExpr>(expr))
    return e->getSubExpr()->isGLValue() ? place(e->getSubExpr())
                                        : temporary(e->getSubExpr());
  if (auto *e = dyn_cast<FullExpr>(expr))
    return place(e->getSubExpr());
  if (auto *e = dyn_cast<SubstNonTypeTemplateParmExpr>(expr))
    return place(e->getReplacement());
  if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr))
    return place(e->getExpr());
  if (isa<CXXReinterpretCastExpr>(expr))
    fail(Diagnostic::ReinterpretCast, source, "reinterpret_cast in a kernel");
  if (isa<CXXDynamicCastExpr>(expr))
    fail(Diagnostic::Rtti, source, "dynamic_cast in a kernel");
  if (auto *e = dyn_cast<CastExpr>(expr)) {
    const Expr *inner = e->getSubExpr();
    switch (e->getCastKind()) {
    case CK_NoOp:
    case CK_LValueToRValue:
    case CK_ConstructorConversion:
    case CK_UserDefinedConversion:
      return inner->isGLValue() ? place(inner) : temporary(inner);
    case CK_DerivedToBase:
    case CK_UncheckedDerivedToBase: {
      Object object = inner->getType()->isPointerType() ? thisObject(inner)
                      : inner->isGLValue()              ? place(inner)
                                                        : temporary(inner);
      return baseObject(object, e);
    }
    default:
      fail(Diagnostic::Expression, source,
           Twine("conversion '") + e->getCastKindName() + "' in a kernel");
    }
  }
  if (auto *e = dyn_cast<AbstractConditionalOperator>(expr)) {
    if (!e->isGLValue() && isScalar(type)) {
      Object object = allocate(type, source);
      store(conditional(e), object, loc);
      return object;
    }
    return e->isGLValue() ? choose(e) : temporary(e);
  }
  if (auto *e = dyn_cast<OpaqueValueExpr>(expr)) {
    auto it = opaque.find(e);
    if (it != opaque.end())
      return it->second;
    if (e->getSourceExpr())
      return place(e->getSourceExpr());
  }
  if (auto *e = dyn_cast<CompoundLiteralExpr>(expr))
    return temporary(e->getInitializer());
  if (isa<CXXTypeidExpr>(expr))
    fail(Diagnostic::Rtti, source, "'typeid' in a kernel");
  if (!expr->isGLValue())
    return temporary(expr);
  fail(Diagnostic::Expression, source,
       Twine("expression of kind ") + expr->getStmtClassName() +
           " in a kernel");
}

//===----------------------------------------------------------------------===//
// Assignment
//===----------------------------------------------------------------------===//

Object Importer::assign(const BinaryOperator *expr) {
  Location loc = getLoc(expr->getExprLoc());
  if (expr->getType()->isPointerType()) {
    Object from = pointer(expr->getRHS());
    auto *name = llvm::dyn_cast<DeclRefExpr>(expr->getLHS()->IgnoreParens());
    Object *to = name ? findVariable(name->getDecl()) : nullptr;
    if (!to)
      fail(Diagnostic::Pointer, expr->getExprLoc(),
           "pointer that isn't a local variable in a kernel");
    storePointer(*to, from, expr->getExprLoc());
    return *to;
  }
  if (!isScalar(expr->getType())) {
    Object to = place(expr->getLHS());
    initialize(to, expr->getRHS());
    return to;
  }
  Value value = scalar(expr->getRHS());
  Object to = place(expr->getLHS());
  store(value, to, loc);
  return to;
}

Object Importer::compoundAssign(const CompoundAssignOperator *expr) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  Value rhs = expr->getLHS()->getType()->isPointerType()
                  ? toIndex(expr->getRHS())
                  : scalar(expr->getRHS());
  Object to = place(expr->getLHS());
  Value lhs = load(to, loc);
  auto kind = BinaryOperator::getOpForCompoundAssignment(expr->getOpcode());
  QualType type = expr->getLHS()->getType();
  if (type->isPointerType()) {
    store(binary(kind, lhs, rhs, ast.IntTy, expr), to, loc);
    return to;
  }
  QualType computed = expr->getComputationLHSType();
  lhs = convert(lhs, type, computed, source);
  Value result = binary(kind, lhs, rhs, computed, expr);
  store(convert(result, expr->getComputationResultType(), type, source), to,
        loc);
  return to;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// Whether EXPR is written as an element of an array, so that its last index
/// counts objects of its type.
static bool isElement(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  if (llvm::isa<ArraySubscriptExpr>(expr))
    return true;
  if (auto *unary = llvm::dyn_cast<UnaryOperator>(expr))
    return unary->getOpcode() == UO_Deref;
  auto *call = llvm::dyn_cast<CXXOperatorCallExpr>(expr);
  return call && (call->getOperator() == OO_Subscript ||
                  call->getOperator() == OO_Call);
}

/// A pointer is an array that is known and an index that is computed. The index
/// is a variable, so that a pointer is an object as others are.
Object Importer::pointer(const Expr *expr) {
  expr = expr->IgnoreParens();
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  using namespace llvm;
  auto make = [&](const Object &array, Value index) {
    Object result = allocate(expr->getType(), source);
    result.parts[0] = array;
    store(index, result, loc);
    return result;
  };
  if (isa<CXXReinterpretCastExpr>(expr))
    fail(Diagnostic::ReinterpretCast, source, "reinterpret_cast in a kernel");
  if (expr->isNullPointerConstant(ast, Expr::NPC_ValueDependentIsNotNull) !=
      Expr::NPCK_NotNull)
    fail(Diagnostic::Pointer, source, "null pointer in a kernel");
  if (auto *e = dyn_cast<FullExpr>(expr))
    return pointer(e->getSubExpr());
  if (auto *e = dyn_cast<CastExpr>(expr)) {
    const Expr *inner = e->getSubExpr();
    switch (e->getCastKind()) {
    case CK_ArrayToPointerDecay: {
      Object array = inner->isGLValue() ? place(inner) : temporary(inner);
      return make(array, number(0, loc));
    }
    case CK_LValueToRValue: {
      Object p = place(inner);
      if (!p.isPointer || p.parts[0].type.isNull())
        fail(Diagnostic::PointerBase, source,
             "pointer to an unknown array in a kernel");
      Object result = make(p.parts[0], load(p, loc));
      result.pointsToOne = p.pointsToOne;
      return result;
    }
    case CK_NoOp:
      return pointer(inner);
    default:
      break;
    }
  }
  auto one = [&](const Object &object) {
    Object result = make(object, number(0, loc));
    result.pointsToOne = true;
    return result;
  };
  if (isa<CXXThisExpr>(expr))
    return one(thisObject(expr));
  if (auto *e = dyn_cast<SubstNonTypeTemplateParmExpr>(expr))
    return pointer(e->getReplacement());
  if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr))
    return pointer(e->getExpr());
  if (auto *e = dyn_cast<UnaryOperator>(expr)) {
    if (e->getOpcode() == UO_AddrOf) {
      Object object = place(e->getSubExpr());
      // The last index of an element goes into the pointer.
      if (!isElement(e->getSubExpr()) || object.isChoice())
        return one(object);
      Value index;
      std::function<void(Object &)> drop = [&](Object &part) {
        if (part.isLeaf() && !part.isPointer) {
          if (!part.indices.empty())
            index = part.indices.pop_back_val();
          return;
        }
        for (Object &inner : part.parts)
          drop(inner);
      };
      drop(object);
      if (!index)
        return one(object);
      return make(object, index);
    }
    if (e->isIncrementDecrementOp()) {
      Object p = place(e->getSubExpr());
      Value old = load(p, loc);
      Value next = increment(e, p);
      return make(p.parts[0], e->isPrefix() ? next : old);
    }
  }
  if (auto *e = dyn_cast<BinaryOperator>(expr)) {
    if (e->isAdditiveOp()) {
      bool leftIsPointer = e->getLHS()->getType()->isPointerType();
      Object p = pointer(leftIsPointer ? e->getLHS() : e->getRHS());
      Value by = toIndex(leftIsPointer ? e->getRHS() : e->getLHS());
      return make(p.parts[0],
                  binary(e->getOpcode(), load(p, loc), by, ast.IntTy, e));
    }
    if (e->isAssignmentOp()) {
      Object p = place(e);
      return make(p.parts[0], load(p, loc));
    }
  }
  if (auto *e = dyn_cast<CallExpr>(expr)) {
    Object slot = allocate(e->getType(), source), result;
    call(e, &slot, result);
    return slot;
  }
  if (auto *e = dyn_cast<ConditionalOperator>(expr)) {
    Object result = allocate(e->getType(), source);
    Object target =
        chooseBySides(scalar(e->getCond()), e->getTrueExpr(), e->getFalseExpr(),
                      source, [&](const Expr *side) {
                        Object p = pointer(side);
                        store(load(p, loc), result, loc);
                        result.pointsToOne = p.pointsToOne;
                        return p.parts[0];
                      });
    result.parts[0] = target;
    return result;
  }
  if (expr->getType()->isFunctionPointerType())
    fail(Diagnostic::IndirectCall, source, "pointer to a function in a kernel");
  fail(Diagnostic::Pointer, source,
       Twine("pointer from an expression of kind ") + expr->getStmtClassName() +
           " in a kernel");
}

Object Importer::dereference(const Object &pointer, QualType type) {
  Object object = pointer.parts[0];
  if (!pointer.pointsToOne)
    addIndex(object, load(pointer, getLoc(lastPlace)), type);
  return object;
}

/// Whether two values are one, or equal constants.
static bool isSameValue(Value a, Value b) {
  if (a == b)
    return true;
  auto x = a ? a.getDefiningOp<mlir::arith::ConstantOp>() : nullptr;
  auto y = b ? b.getDefiningOp<mlir::arith::ConstantOp>() : nullptr;
  return x && y && x.getValue() == y.getValue();
}

bool poot::import::isSamePlace(const Object &a, const Object &b) {
  if (a.memory != b.memory || a.leaf != b.leaf || a.swizzle != b.swizzle ||
      a.pointsToOne != b.pointsToOne || !isSameValue(a.lane, b.lane) ||
      !isSameValue(a.condition, b.condition) ||
      a.indices.size() != b.indices.size() ||
      a.parts.size() != b.parts.size() || a.choices.size() != b.choices.size())
    return false;
  for (size_t i = 0; i < a.indices.size(); ++i)
    if (!isSameValue(a.indices[i], b.indices[i]))
      return false;
  for (size_t i = 0; i < a.parts.size(); ++i)
    if (!isSamePlace(a.parts[i], b.parts[i]))
      return false;
  for (size_t i = 0; i < a.choices.size(); ++i)
    if (!isSamePlace(a.choices[i], b.choices[i]))
      return false;
  return true;
}

void Importer::storePointer(Object &to, const Object &from,
                            SourceLocation loc) {
  bool isBound = !to.parts[0].type.isNull();
  if (isBound && (to.pointsToOne != from.pointsToOne ||
                  !isSamePlace(to.parts[0], from.parts[0])))
    fail(Diagnostic::PointerBase, loc,
         "pointer to one of several arrays in a kernel");
  to.parts[0] = from.parts[0];
  to.pointsToOne = from.pointsToOne;
  store(load(from, getLoc(loc)), to, getLoc(loc));
}

//===----------------------------------------------------------------------===//
// Initialization
//===----------------------------------------------------------------------===//

void Importer::initializeRecord(Object &object, const InitListExpr *list) {
  const CXXRecordDecl *record = checkRecord(object.type, list->getExprLoc());
  // What default initializers call `this` is the object that is being made.
  Frame &frame = *stack.back();
  kept.push_back(object);
  struct Restore {
    Frame &frame;
    Object *self, *capturedThis;
    ~Restore() {
      frame.self = self;
      frame.capturedThis = capturedThis;
    }
  };
  auto byDefault = [&](Object &to, const Expr *init) {
    Restore restore{frame, frame.self, frame.capturedThis};
    frame.self = &kept.back();
    frame.capturedThis = nullptr;
    initialize(to, init);
  };
  unsigned part = 0, init = 0;
  auto next = [&](const FieldDecl *field) {
    Object &to = object.parts[part++];
    if (init < list->getNumInits()) {
      const Expr *value = list->getInit(init++);
      return llvm::isa<CXXDefaultInitExpr>(value) ? byDefault(to, value)
                                                  : initialize(to, value);
    }
    if (field && field->getInClassInitializer())
      return byDefault(to, field->getInClassInitializer());
    zeroInitialize(to, list->getExprLoc());
  };
  for (unsigned i = 0; i < record->getNumBases(); ++i)
    next(nullptr);
  for (const FieldDecl *field : record->fields()) {
    if (field->getType()->isReferenceType() && init < list->getNumInits()) {
      object.parts[part++] = place(list->getInit(init++));
      continue;
    }
    next(field);
  }
}

void Importer::initialize(Object &object, const Expr *expr) {
  using namespace llvm;
  expr = expr->IgnoreParens();
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  if (object.isPointer)
    return storePointer(object, pointer(expr), source);
  if (!object.type.isNull() && isScalar(object.type))
    return store(expr->isGLValue() ? load(place(expr), loc) : scalar(expr),
                 object, loc);

  if (auto *e = dyn_cast<FullExpr>(expr))
    return initialize(object, e->getSubExpr());
  if (auto *e = dyn_cast<CXXBindTemporaryExpr>(expr))
    return initialize(object, e->getSubExpr());
  if (auto *e = dyn_cast<CXXDefaultInitExpr>(expr))
    return initialize(object, e->getExpr());
  if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr))
    return initialize(object, e->getExpr());
  if (auto *e = dyn_cast<MaterializeTemporaryExpr>(expr))
    return initialize(object, e->getSubExpr());
  if (isa<ImplicitValueInitExpr, CXXScalarValueInitExpr>(expr))
    return zeroInitialize(object, source);
  if (auto *e = dyn_cast<InitListExpr>(expr)) {
    if (e->isTransparent())
      return initialize(object, e->getInit(0));
    if (auto *array = ast.getAsConstantArrayType(object.type)) {
      auto one = [&](Value index, const Expr *init) {
        Object element = object;
        addIndex(element, index, array->getElementType());
        if (init)
          initialize(element, init);
        else
          zeroInitialize(element, source);
      };
      for (unsigned i = 0; i < e->getNumInits(); ++i)
        one(number(i, loc), e->getInit(i));
      forRange(e->getNumInits(), array->getZExtSize(), source,
               [&](Value index) { one(index, e->getArrayFiller()); });
      return;
    }
    return initializeRecord(object, e);
  }
  if (auto *e = dyn_cast<ArrayInitLoopExpr>(expr)) {
    auto *array = ast.getAsConstantArrayType(object.type);
    opaque[e->getCommonExpr()] = place(e->getCommonExpr()->getSourceExpr());
    forRange(0, array->getZExtSize(), source, [&](Value index) {
      Object element = object;
      addIndex(element, index, array->getElementType());
      Value saved = std::exchange(arrayIndex, index);
      initialize(element, e->getSubExpr());
      arrayIndex = saved;
    });
    return;
  }
  if (auto *e = dyn_cast<LambdaExpr>(expr)) {
    const CXXRecordDecl *closure = e->getLambdaClass();
    unsigned number = 0;
    auto field = closure->field_begin();
    for (const Expr *capture : e->capture_inits()) {
      Object &part = object.parts[number++];
      if (!capture) {
        ++field;
        continue;
      }
      if (field->getType()->isReferenceType())
        part = place(capture);
      else if (isa<CXXThisExpr>(capture->IgnoreParenImpCasts()))
        part = thisObject(capture);
      else
        initialize(part, capture);
      ++field;
    }
    return;
  }
  if (auto *e = dyn_cast<CXXConstructExpr>(expr))
    return construct(object, e);
  if (auto *e = dyn_cast<CXXInheritedCtorInitExpr>(expr)) {
    // The constructor that inherits hands its own parameters on.
    Frame &frame = *stack.back();
    llvm::SmallVector<Object> parameters;
    for (const ParmVarDecl *parameter : frame.function->parameters())
      parameters.push_back(frame.variables[parameter]);
    kept.push_back(object);
    Object *self = &kept.back();
    expand(e->getConstructor(), self, {}, nullptr, source, parameters);
    object = *self;
    return;
  }
  if (auto *e = dyn_cast<CXXParenListInitExpr>(expr)) {
    if (e->getInitExprs().size() == object.parts.size() &&
        object.type->isRecordType()) {
      for (auto [part, init] : llvm::zip(object.parts, e->getInitExprs()))
        initialize(part, init);
      return;
    }
  }
  if (auto *e = dyn_cast<CXXStdInitializerListExpr>(expr)) {
    // In the libraries of GNU and LLVM it is a pointer and a count.
    Object list = place(e->getSubExpr());
    auto *array = ast.getAsConstantArrayType(list.type);
    if (array && object.parts.size() == 2 && object.parts[0].isPointer) {
      object.parts[0].parts[0] = list;
      store(number(0, loc), object.parts[0], loc);
      store(number(array->getZExtSize(), loc, 64), object.parts[1], loc);
      return;
    }
  }
  if (auto *e = dyn_cast<OpaqueValueExpr>(expr);
      e && !opaque.count(e) && e->getSourceExpr())
    return initialize(object, e->getSourceExpr());
  if (auto *e = dyn_cast<CallExpr>(expr)) {
    Object result;
    if (expr->isGLValue()) {
      call(e, nullptr, result);
      if (getKernelType(object.type) == "buffer")
        object = result;
      else
        copy(object, result, source);
      return;
    }
    call(e, &object, result);
    return;
  }
  if (auto *e = dyn_cast<CastExpr>(expr)) {
    CastKind kind = e->getCastKind();
    if (kind == CK_NoOp || kind == CK_ConstructorConversion ||
        kind == CK_UserDefinedConversion)
      return initialize(object, e->getSubExpr());
  }
  if (auto *e = dyn_cast<BinaryOperator>(expr);
      e && e->getOpcode() == BO_Comma) {
    discard(e->getLHS());
    return initialize(object, e->getRHS());
  }
  if (auto *e = dyn_cast<ConditionalOperator>(expr); e && !e->isGLValue()) {
    Value condition = scalar(e->getCond());
    if (holdsBuffers(object.type)) {
      object =
          chooseBySides(condition, e->getTrueExpr(), e->getFalseExpr(), source,
                        [&](const Expr *side) { return temporary(side); });
      return;
    }
    ifElse(condition, loc, [&](bool first) {
      initialize(object, first ? e->getTrueExpr() : e->getFalseExpr());
      return Value();
    });
    return;
  }
  if (expr->isGLValue()) {
    Object from = place(expr);
    if (getKernelType(object.type) == "buffer")
      object = from;
    else
      copy(object, from, source);
    return;
  }
  fail(Diagnostic::Expression, source,
       Twine("expression of kind ") + expr->getStmtClassName() +
           " in a kernel");
}
