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
  expr = expr->IgnoreParenImpCasts();
  Frame &frame = *stack.back();
  if (llvm::isa<CXXThisExpr>(expr)) {
    if (Object *self = frame.capturedThis ? frame.capturedThis : frame.self)
      return *self;
    fail(Diagnostic::Expression, expr->getExprLoc(), "'this' in a kernel");
  }
  return dereference(pointer(expr), expr->getType()->getPointeeType());
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
  if (variable->isUsableInConstantExpressions(ast) || variable->isConstexpr()) {
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
        if (const APValue *value = variable->evaluateValue()) {
          Object object = allocate(variable->getType(), source);
          storeConstant(object, *value, source);
          return object;
        }
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
    Value index = mlir::arith::AddIOp::create(builder, loc, load(p, loc),
                                              toIndex(e->getIdx()));
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
  if (auto *e = dyn_cast<CXXReinterpretCastExpr>(expr))
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
      for (const CXXBaseSpecifier *step : e->path()) {
        auto *record = object.type->getAsCXXRecordDecl();
        unsigned number = 0;
        for (const CXXBaseSpecifier &base : record->bases()) {
          if (ast.hasSameUnqualifiedType(base.getType(), step->getType()))
            break;
          ++number;
        }
        Object base = object.parts[number];
        object = base;
      }
      return object;
    }
    default:
      fail(Diagnostic::Expression, source,
           Twine("conversion '") + e->getCastKindName() + "' in a kernel");
    }
  }
  if (auto *e = dyn_cast<AbstractConditionalOperator>(expr)) {
    // Which of two places is not known: only constants choose.
    bool choice;
    if (!e->getCond()->isValueDependent() &&
        e->getCond()->EvaluateAsBooleanCondition(choice, ast))
      return place(choice ? e->getTrueExpr() : e->getFalseExpr());
    if (getKernelType(type) == "buffer")
      fail(Diagnostic::BufferSelect, source,
           "choice between two buffers in a kernel");
    if (isScalar(type)) { // its value, which is all that a reader needs
      Object object = allocate(type, source);
      store(conditional(e), object, loc);
      return object;
    }
    return temporary(e);
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
      return make(p.parts[0], load(p, loc));
    }
    case CK_NoOp:
      return pointer(inner);
    default:
      break;
    }
  }
  if (auto *e = dyn_cast<UnaryOperator>(expr)) {
    if (e->getOpcode() == UO_AddrOf) {
      Object object = place(e->getSubExpr());
      // The last index goes into the pointer.
      std::function<Value(Object &)> drop = [&](Object &part) -> Value {
        if (part.isLeaf() && !part.isPointer)
          return part.indices.empty() ? Value() : part.indices.pop_back_val();
        Value index;
        for (Object &inner : part.parts)
          index = drop(inner);
        return index;
      };
      Value index = drop(object);
      if (!index)
        fail(Diagnostic::Pointer, source,
             "address of an object that is no element of an array in a kernel");
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
  if (isa<AbstractConditionalOperator>(expr))
    fail(Diagnostic::PointerBase, source,
         "pointer to one of several arrays in a kernel");
  fail(Diagnostic::Pointer, source,
       Twine("pointer from an expression of kind ") + expr->getStmtClassName() +
           " in a kernel");
}

Object Importer::dereference(const Object &pointer, QualType type) {
  Object object = pointer.parts[0];
  addIndex(object, load(pointer, builder.getUnknownLoc()), type);
  return object;
}

/// Whether two objects are the same array.
static bool isSameArray(const Object &a, const Object &b) {
  if (a.memory != b.memory || a.indices != b.indices || a.leaf != b.leaf ||
      a.parts.size() != b.parts.size())
    return false;
  for (size_t i = 0; i < a.parts.size(); ++i)
    if (!isSameArray(a.parts[i], b.parts[i]))
      return false;
  return true;
}

void Importer::storePointer(Object &to, const Object &from,
                            SourceLocation loc) {
  bool isBound = !to.parts[0].type.isNull();
  if (isBound && !isSameArray(to.parts[0], from.parts[0]))
    fail(Diagnostic::PointerBase, loc,
         "pointer to one of several arrays in a kernel");
  to.parts[0] = from.parts[0];
  store(load(from, getLoc(loc)), to, getLoc(loc));
}

//===----------------------------------------------------------------------===//
// Initialization
//===----------------------------------------------------------------------===//

void Importer::initializeRecord(Object &object, const InitListExpr *list) {
  const CXXRecordDecl *record = checkRecord(object.type, list->getExprLoc());
  unsigned part = 0, init = 0;
  auto next = [&](const FieldDecl *field) {
    Object &to = object.parts[part++];
    if (init < list->getNumInits())
      return initialize(to, list->getInit(init++));
    if (field && field->getInClassInitializer())
      return initialize(to, field->getInClassInitializer());
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
      for (uint64_t i = 0; i < array->getZExtSize(); ++i) {
        Object element = object;
        addIndex(element, number(i, loc), array->getElementType());
        const Expr *init =
            i < e->getNumInits() ? e->getInit(i) : e->getArrayFiller();
        if (init)
          initialize(element, init);
        else
          zeroInitialize(element, source);
      }
      return;
    }
    return initializeRecord(object, e);
  }
  if (auto *e = dyn_cast<ArrayInitLoopExpr>(expr)) {
    auto *array = ast.getAsConstantArrayType(object.type);
    opaque[e->getCommonExpr()] = place(e->getCommonExpr()->getSourceExpr());
    for (uint64_t i = 0; i < array->getZExtSize(); ++i) {
      Object element = object;
      addIndex(element, number(i, loc), array->getElementType());
      Value saved = arrayIndex;
      arrayIndex = number(i, loc);
      initialize(element, e->getSubExpr());
      arrayIndex = saved;
    }
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
  if (auto *e = dyn_cast<CXXInheritedCtorInitExpr>(expr))
    fail(Diagnostic::Expression, source, "inherited constructor in a kernel");
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
  if (auto *e = dyn_cast<AbstractConditionalOperator>(expr);
      e && !e->isGLValue()) {
    if (getKernelType(object.type) == "buffer")
      fail(Diagnostic::BufferSelect, source,
           "choice between two buffers in a kernel");
    Value condition = scalar(e->getCond());
    Block *onTrue = newBlock(), *onFalse = newBlock(), *end = newBlock();
    branchIf(condition, onTrue, onFalse, loc);
    startBlock(onTrue);
    initialize(object, e->getTrueExpr());
    branch(end, loc);
    startBlock(onFalse);
    initialize(object, e->getFalseExpr());
    branch(end, loc);
    startBlock(end);
    return;
  }
  if (expr->isGLValue()) {
    if (auto *e = dyn_cast<AbstractConditionalOperator>(expr)) {
      bool choice;
      if (!e->getCond()->EvaluateAsBooleanCondition(choice, ast)) {
        Value condition = scalar(e->getCond());
        if (getKernelType(object.type) == "buffer")
          fail(Diagnostic::BufferSelect, source,
               "choice between two buffers in a kernel");
        Block *onTrue = newBlock(), *onFalse = newBlock(), *end = newBlock();
        branchIf(condition, onTrue, onFalse, loc);
        startBlock(onTrue);
        copy(object, place(e->getTrueExpr()), source);
        branch(end, loc);
        startBlock(onFalse);
        copy(object, place(e->getFalseExpr()), source);
        branch(end, loc);
        startBlock(end);
        return;
      }
    }
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
