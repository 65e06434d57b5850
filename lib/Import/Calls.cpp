//===- Calls.cpp - Calls are expanded, builtins become operations ---------===//

#include "Importer.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/Builtins.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using mlir::Location;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Mathematics
//===----------------------------------------------------------------------===//

/// What a function of the C library is: an operation's name, or nothing.
static llvm::StringRef getLibraryOp(llvm::StringRef name) {
  name.consume_front("__builtin_");
  static const llvm::StringMap<llvm::StringRef> ops = {
      {"exp", "math.exp"},
      {"exp2", "math.exp2"},
      {"expm1", "math.expm1"},
      {"log", "math.log"},
      {"log2", "math.log2"},
      {"log1p", "math.log1p"},
      {"sqrt", "math.sqrt"},
      {"cbrt", "math.cbrt"},
      {"sin", "math.sin"},
      {"cos", "math.cos"},
      {"tan", "math.tan"},
      {"tanh", "math.tanh"},
      {"atan", "math.atan"},
      {"erf", "math.erf"},
      {"erfc", "math.erfc"},
      {"floor", "math.floor"},
      {"ceil", "math.ceil"},
      {"rint", "math.roundeven"},
      {"nearbyint", "math.roundeven"},
      {"round", "math.round"},
      {"trunc", "math.trunc"},
      {"fabs", "math.absf"},
      {"pow", "math.powf"},
      {"atan2", "math.atan2"},
      {"copysign", "math.copysign"},
      {"fma", "math.fma"},
      {"fmin", "arith.minnumf"},
      {"fmax", "arith.maxnumf"},
      {"isnan", "math.isnan"},
      {"isinf", "math.isinf"},
      {"isfinite", "math.isfinite"},
      {"abs", "math.absi"},
      {"labs", "math.absi"},
      {"llabs", "math.absi"},
      {"popcount", "math.ctpop"},
      {"popcountl", "math.ctpop"},
      {"popcountll", "math.ctpop"},
      {"clz", "math.ctlz"},
      {"clzl", "math.ctlz"},
      {"clzll", "math.ctlz"},
      {"ctz", "math.cttz"},
      {"ctzl", "math.cttz"},
      {"ctzll", "math.cttz"},
  };
  auto find = [&](llvm::StringRef n) { return ops.lookup(n); };
  if (llvm::StringRef op = find(name); !op.empty())
    return op;
  if (name.consume_back("f16") || name.consume_back("f"))
    return find(name);
  return {};
}

/// Half types are computed in f32 and rounded once.
Value Importer::mathCall(llvm::StringRef op, llvm::ArrayRef<Value> operands,
                         QualType type, const Expr *expr) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  mlir::Type operandType = operands.front().getType();
  mlir::Type element = mlir::getElementTypeOrSelf(operandType);
  bool isReal = llvm::isa<mlir::FloatType>(element);
  if (op == "math.abs")
    op = isReal ? "math.absf" : "math.absi";
  bool isTest =
      op == "math.isnan" || op == "math.isinf" || op == "math.isfinite";
  bool isHalf = element.isF16() || element.isBF16();
  llvm::SmallVector<Value> wide(operands);
  mlir::Type wideType = builder.getF32Type();
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(operandType))
    wideType = vector.clone(wideType);
  if (isHalf)
    for (Value &value : wide)
      value = mlir::arith::ExtFOp::create(builder, loc, wideType, value);
  mlir::OperationState state(loc, op);
  state.addOperands(wide);
  state.addTypes(isTest ? builder.getI1Type() : wide.front().getType());
  if (!mlir::RegisteredOperationName::lookup(op, builder.getContext()))
    fail(Diagnostic::Expression, source, "'" + op + "' in a kernel");
  Value result = builder.create(state)->getResult(0);
  if (isHalf && !isTest)
    result = mlir::arith::TruncFOp::create(builder, loc, operandType, result);
  // C tells more of its results than a bit, and counts bits in an int.
  if (isTest && !type->isBooleanType())
    return convert(result, ast.BoolTy, type, source);
  mlir::Type wanted = scalarType(type, source);
  if (result.getType() != wanted && !isTest)
    result = convert(result, ast.UnsignedIntTy, type, source);
  return result;
}

//===----------------------------------------------------------------------===//
// Builtins of poot/kernel.h
//===----------------------------------------------------------------------===//

static uint32_t evaluate(const Expr *expr, ASTContext &ast, bool &isConstant) {
  Expr::EvalResult result;
  isConstant = expr->EvaluateAsInt(result, ast);
  return isConstant ? result.Val.getInt().getZExtValue() : 0;
}

/// Between types of one size.
Value Importer::bitCast(Value value, mlir::Type to, Location loc) {
  auto elements = [](mlir::Type t) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(t);
    return vector ? vector.getNumElements() : 1;
  };
  if (to == value.getType())
    return value;
  if (elements(to) == elements(value.getType()))
    return mlir::arith::BitcastOp::create(builder, loc, to, value);
  // Between vectors of other lengths.
  auto asVector = [](mlir::Type t) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(t);
    return vector ? vector : mlir::VectorType::get({1}, t);
  };
  if (!llvm::isa<mlir::VectorType>(value.getType()))
    value = mlir::vector::BroadcastOp::create(builder, loc,
                                              asVector(value.getType()), value);
  value = mlir::vector::BitCastOp::create(builder, loc, asVector(to), value);
  if (!llvm::isa<mlir::VectorType>(to))
    value = mlir::vector::ExtractOp::create(builder, loc, value, int64_t(0));
  return value;
}

Value Importer::builtin(llvm::StringRef op, llvm::StringRef detail,
                        const CallExpr *expr, Object *destination,
                        Object &placeOut) {
  using namespace poot::kernel;
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  llvm::SmallVector<const Expr *> arguments(expr->arguments());
  // An operator's or member function's object comes first.
  const Expr *self = nullptr;
  if (auto *member = llvm::dyn_cast<CXXMemberCallExpr>(expr)) {
    self = member->getImplicitObjectArgument();
  } else if (llvm::isa<CXXOperatorCallExpr>(expr) &&
             llvm::isa_and_nonnull<CXXMethodDecl>(expr->getDirectCallee())) {
    self = arguments.front();
    arguments.erase(arguments.begin());
  }
  QualType type = expr->getType();
  auto constantArgument = [&](unsigned i) {
    bool isConstant = false;
    uint32_t value =
        i < arguments.size() ? evaluate(arguments[i], ast, isConstant) : 0;
    if (!isConstant)
      fail(Diagnostic::Expression, source,
           "argument that must be a constant in a kernel");
    return value;
  };
  auto memoryOf = [&](const Expr *handle) {
    Object object = handle->isGLValue() ? place(handle) : temporary(handle);
    return getMemory(object, source);
  };

  if (op == "kernel.element") {
    Object handle = self->isGLValue() ? place(self) : temporary(self);
    Value index = toIndex(arguments[0]);
    if (arguments.size() > 1) {
      auto *record = cast<ClassTemplateSpecializationDecl>(
          self->getType()->getAsCXXRecordDecl());
      auto extents = record->getTemplateArgs()[1].pack_elements();
      for (size_t i = 1; i < arguments.size(); ++i) {
        Value extent = number(extents[i].getAsIntegral().getExtValue(), loc);
        index = mlir::arith::MulIOp::create(builder, loc, index, extent);
        index = mlir::arith::AddIOp::create(builder, loc, index,
                                            toIndex(arguments[i]));
      }
    }
    placeOut = elementOf(handle, type.getNonReferenceType(), index, source);
    return {};
  }
  // Of a dimension that is computed, all three are read and one is chosen.
  auto byDimension = [&](llvm::function_ref<Value(Dim)> read) -> Value {
    bool isConstant = false;
    uint32_t known = evaluate(arguments[0], ast, isConstant);
    if (isConstant)
      return read(static_cast<Dim>(std::min(known, 2u)));
    Value dimension = scalar(arguments[0]);
    Value result = read(Dim::Z);
    for (uint32_t d : {1u, 0u}) {
      Value matches = mlir::arith::CmpIOp::create(
          builder, loc, mlir::arith::CmpIPredicate::eq, dimension,
          number(d, loc, dimension.getType().getIntOrFloatBitWidth()));
      result = mlir::arith::SelectOp::create(builder, loc, matches,
                                             read(static_cast<Dim>(d)), result);
    }
    return result;
  };
  mlir::Type i32 = builder.getI32Type();
  auto sizeOf = [&](Dim d) {
    return number(func.getWorkgroupSize()[static_cast<unsigned>(d)], loc);
  };
  if (op == "kernel.local_id")
    return byDimension([&](Dim d) -> Value {
      return LocalIdOp::create(builder, loc, i32, d);
    });
  if (op == "kernel.workgroup_id")
    return byDimension([&](Dim d) -> Value {
      return WorkgroupIdOp::create(builder, loc, i32, d);
    });
  if (op == "kernel.num_workgroups")
    return byDimension([&](Dim d) -> Value {
      return NumWorkgroupsOp::create(builder, loc, i32, d);
    });
  if (op == "kernel.workgroup_size")
    return byDimension(sizeOf);
  if (op == "kernel.global_id")
    return byDimension([&](Dim d) -> Value {
      Value group = WorkgroupIdOp::create(builder, loc, i32, d);
      Value first = mlir::arith::MulIOp::create(builder, loc, group, sizeOf(d));
      Value local = LocalIdOp::create(builder, loc, i32, d);
      return mlir::arith::AddIOp::create(builder, loc, first, local);
    });
  if (op == "kernel.lane_id")
    return LaneIdOp::create(builder, loc, builder.getI32Type());
  if (op == "kernel.subgroup_id")
    return SubgroupIdOp::create(builder, loc, builder.getI32Type());
  if (op == "kernel.subgroup_size")
    return SubgroupSizeOp::create(builder, loc, builder.getI32Type());
  if (op == "kernel.barrier") {
    BarrierOp::create(builder, loc);
    return {};
  }
  if (op == "arith.bitcast") {
    mlir::Type to = scalarType(type, source);
    if (!to || !isScalar(arguments[0]->getType()))
      fail(Diagnostic::Type, source,
           "bit_cast from '" + arguments[0]->getType().getAsString() +
               "' to '" + type.getAsString() + "' in a kernel");
    return bitCast(scalar(arguments[0]), to, loc);
  }
  if (op == "kernel.mul_hi")
    return mlir::arith::MulUIExtendedOp::create(
               builder, loc, scalar(arguments[0]), scalar(arguments[1]))
        .getHigh();
  if (op.starts_with("math.")) {
    llvm::SmallVector<Value> operands;
    for (const Expr *argument : arguments)
      operands.push_back(scalar(argument));
    return mathCall(op, operands, type, expr);
  }

  if (op.starts_with("kernel.atomic_")) {
    Object where = place(arguments[0]);
    if (!where.isLeaf() || where.isChoice() || where.leaf ||
        where.indices.size() != 1 || where.lane || !where.swizzle.empty() ||
        !llvm::isa<BufferType, WorkgroupType>(where.memory.getType()))
      fail(Diagnostic::AtomicType, arguments[0]->getExprLoc(),
           "atomic operation on what is no element of a buffer or workgroup "
           "array of scalars");
    QualType element = where.type.getUnqualifiedType();
    mlir::Type scalarOf = scalarType(element, source);
    bool isReal = scalarOf.isF32();
    if (!scalarOf.isInteger(32) && !scalarOf.isInteger(64) && !isReal)
      fail(Diagnostic::AtomicType, arguments[0]->getExprLoc(),
           "atomic operation on '" + element.getAsString() + "'");
    bool isLoad = op == "kernel.atomic_load", isCas = op == "kernel.atomic_cas";
    unsigned values = isLoad ? 0 : isCas ? 2 : 1;
    auto order = static_cast<MemoryOrder>(constantArgument(1 + values));
    auto scope = static_cast<MemoryScope>(constantArgument(2 + values));
    Value at = where.indices.front();
    if (isLoad)
      return AtomicLoadOp::create(builder, loc, scalarOf, order, scope,
                                  where.memory, at);
    Value value = scalar(arguments[1]);
    if (op == "kernel.atomic_store") {
      AtomicStoreOp::create(builder, loc, order, scope, where.memory, at,
                            value);
      return {};
    }
    if (isCas) {
      if (isReal)
        fail(Diagnostic::AtomicType, arguments[0]->getExprLoc(),
             "compare-exchange of float");
      return AtomicCasOp::create(builder, loc, scalarOf, order, scope,
                                 where.memory, at, value, scalar(arguments[2]));
    }
    bool sign = element->isSignedIntegerType();
    if (detail == "sub") { // the sum with its negative
      value = isReal ? Value(mlir::arith::NegFOp::create(builder, loc, value))
                     : Value(mlir::arith::SubIOp::create(
                           builder, loc, zero(scalarOf, loc), value));
      detail = "add";
    }
    std::optional<AtomicKind> kind = symbolizeAtomicKind(detail);
    if (kind == AtomicKind::Min && !sign && !isReal)
      kind = AtomicKind::UMin;
    if (kind == AtomicKind::Max && !sign && !isReal)
      kind = AtomicKind::UMax;
    return AtomicRmwOp::create(builder, loc, scalarOf, *kind, order, scope,
                               where.memory, at, value);
  }

  if (op == "kernel.subgroup_any" || op == "kernel.subgroup_all") {
    Value value = toBool(scalar(arguments[0]), loc);
    if (op == "kernel.subgroup_any")
      return SubgroupAnyOp::create(builder, loc, builder.getI1Type(), value);
    return SubgroupAllOp::create(builder, loc, builder.getI1Type(), value);
  }
  if (op.starts_with("kernel.subgroup_")) {
    Value value = scalar(arguments[0]);
    mlir::Type t = value.getType();
    bool isAllowed =
        !llvm::isa<mlir::VectorType>(t) && !t.isBF16() && !t.isInteger(1);
    if (!isAllowed)
      fail(Diagnostic::Type, source,
           "subgroup operation on '" + type.getAsString() + "'");
    if (op == "kernel.subgroup_reduce") {
      std::optional<ReduceKind> kind = symbolizeReduceKind(detail);
      if (type->isUnsignedIntegerType()) {
        if (kind == ReduceKind::Min)
          kind = ReduceKind::UMin;
        if (kind == ReduceKind::Max)
          kind = ReduceKind::UMax;
      }
      return SubgroupReduceOp::create(builder, loc, t, *kind, value);
    }
    if (op == "kernel.subgroup_scan")
      return SubgroupScanOp::create(builder, loc, t, *symbolizeScanKind(detail),
                                    value);
    Value lane = toIndex(arguments[1]);
    if (op == "kernel.subgroup_broadcast")
      return SubgroupBroadcastOp::create(builder, loc, t, value, lane);
    return SubgroupShuffleOp::create(
        builder, loc, t, *symbolizeShuffleKind(detail), value, lane);
  }

  auto layoutArgument = [&](unsigned i) {
    return static_cast<FragmentLayout>(constantArgument(i));
  };
  if (op == "kernel.fragment_fill")
    return FragmentFillOp::create(builder, loc, scalarType(type, source),
                                  scalar(arguments[0]));
  if (op == "kernel.fragment_load")
    return FragmentLoadOp::create(builder, loc, scalarType(type, source),
                                  layoutArgument(3), memoryOf(arguments[0]),
                                  toIndex(arguments[1]), toIndex(arguments[2]));
  if (op == "kernel.fragment_store") {
    Value value = load(place(arguments[0]), loc);
    FragmentStoreOp::create(builder, loc, layoutArgument(4), value,
                            memoryOf(arguments[1]), toIndex(arguments[2]),
                            toIndex(arguments[3]));
    return {};
  }
  if (op == "kernel.fragment_mma") {
    llvm::SmallVector<Value, 3> values;
    for (const Expr *argument : arguments)
      values.push_back(argument->isGLValue() ? load(place(argument), loc)
                                             : scalar(argument));
    return FragmentMmaOp::create(builder, loc, values[2].getType(), values[0],
                                 values[1], values[2]);
  }
  fail(Diagnostic::Expression, source, "builtin '" + op + "' in a kernel");
}

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

kernel::HookBodyOp Importer::hookBody(llvm::StringRef name,
                                      const FunctionDecl *function,
                                      mlir::FunctionType type,
                                      SourceLocation source) {
  function = function->getDefinition() ? function->getDefinition() : function;
  if (auto it = hookBodies.find(function); it != hookBodies.end())
    return it->second;
  if (!function->hasBody())
    fail(Diagnostic::Undefined, source,
         "hook '" + name + "' without a default body");
  std::string symbol = (name + "_default").str();
  for (unsigned i = 1; module.lookupSymbol(symbol); ++i)
    symbol = (name + "_default_" + llvm::Twine(i)).str();

  // The body is imported with a state of its own.
  mlir::OpBuilder::InsertionGuard guard(builder);
  auto savedStack = std::move(stack);
  auto savedTargets = std::move(targets);
  auto savedTables = std::move(tables);
  mlir::Region *savedRegion = region;
  Block *savedEntry = entry;
  stack.clear();
  targets.clear();
  tables.clear();

  builder.setInsertionPointToStart(module.getBody());
  auto body = kernel::HookBodyOp::create(
      builder, getLoc(function->getLocation()), symbol, type);
  body.setPrivate();
  hookBodies[function] = body;
  region = &body.getBody();
  entry = &region->front();
  Block *start = newBlock();
  Frame frame(body.getLoc());
  frame.function = function;
  stack.push_back(&frame);
  startBlock(start);
  unsigned argument = 0;
  Location loc = body.getLoc();
  for (const ParmVarDecl *parameter : function->parameters()) {
    QualType t = parameter->getType().getNonReferenceType();
    llvm::StringRef special = getKernelType(t);
    if (special == "buffer" || special == "workgroup") {
      Object handle;
      handle.type = t;
      handle.memory = entry->getArgument(argument++);
      frame.variables[parameter] = handle;
      continue;
    }
    Object object = allocate(t, parameter->getLocation());
    forEachElement(
        object,
        [&](const Object &element) {
          store(entry->getArgument(argument++), element, loc);
        },
        parameter->getLocation());
    frame.variables[parameter] = object;
  }
  std::optional<Object> result;
  if (!function->getReturnType()->isVoidType())
    result = allocate(function->getReturnType(), function->getLocation());
  frame.result = result ? &*result : nullptr;
  frame.returnBlock = newBlock();
  statement(function->getBody());
  branch(frame.returnBlock, loc);
  startBlock(frame.returnBlock);
  llvm::SmallVector<Value> values;
  if (result)
    forEachElement(
        *result,
        [&](const Object &element) { values.push_back(load(element, loc)); },
        function->getLocation());
  kernel::YieldOp::create(builder, loc, values);
  startBlock(entry);
  branch(start, loc);
  Block *end = frame.returnBlock;
  finishBody(*region, [&] { branch(end, loc); });

  stack = std::move(savedStack);
  targets = std::move(savedTargets);
  tables = std::move(savedTables);
  region = savedRegion;
  entry = savedEntry;
  return body;
}

Value Importer::hook(llvm::StringRef name, const CallExpr *expr,
                     Object *destination, Object &placeOut) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  const FunctionDecl *function = expr->getDirectCallee();
  llvm::SmallVector<Value> operands;
  for (auto [argument, parameter] :
       llvm::zip(expr->arguments(), function->parameters())) {
    QualType t = parameter->getType();
    llvm::StringRef special = getKernelType(t.getNonReferenceType());
    bool byReference =
        t->isReferenceType() && !t.getNonReferenceType().isConstQualified();
    if ((byReference && special != "workgroup") || t->isPointerType() ||
        special == "fragment")
      fail(Diagnostic::HookSignature, parameter->getLocation(),
           "parameter '" + parameter->getNameAsString() + "' of type '" +
               t.getAsString() + "' of hook '" + name + "'");
    Object object = argument->isGLValue() || special == "buffer"
                        ? place(argument)
                        : temporary(argument);
    if (special == "buffer" || special == "workgroup") {
      if (!object.isLeaf())
        fail(Diagnostic::HookSignature, parameter->getLocation(),
             "array of structures as an operand of hook '" + name + "'");
      operands.push_back(getMemory(object, source));
      continue;
    }
    forEachElement(
        object,
        [&](const Object &element) {
          if (element.isPointer)
            fail(Diagnostic::HookSignature, source,
                 "pointer as an operand of hook '" + name + "'");
          operands.push_back(load(element, loc));
        },
        source);
  }
  QualType resultType = expr->getType();
  if (function->getReturnType()->isReferenceType())
    fail(Diagnostic::HookSignature, function->getLocation(),
         "hook '" + name + "' returns a reference");
  std::optional<Object> result;
  llvm::SmallVector<Object> elements;
  llvm::SmallVector<mlir::Type> types;
  if (!resultType->isVoidType()) {
    result = destination ? *destination : allocate(resultType, source);
    forEachElement(
        *result,
        [&](const Object &element) {
          types.push_back(scalarType(element.type, source));
          elements.push_back(element);
        },
        source);
  }
  auto type =
      builder.getFunctionType(mlir::ValueRange(operands).getTypes(), types);
  kernel::HookBodyOp body = hookBody(name, function, type, source);
  if (body.getFunctionType() != type)
    fail(Diagnostic::HookSignature, source,
         "hook '" + name + "' with operands of different types");
  auto op = kernel::HookOp::create(builder, loc, types, name, operands,
                                   body.getSymName());
  for (auto [element, value] : llvm::zip(elements, op.getResults()))
    store(value, element, loc);
  if (destination || !result)
    return {};
  placeOut = *result;
  return isScalar(resultType) ? op.getResult(0) : Value();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// memcpy and memmove of whole objects of one type, which is what the library's
/// algorithms come to.
void Importer::moveElements(const CallExpr *expr) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  auto typed = [](const Expr *pointer) {
    pointer = pointer->IgnoreParens();
    while (auto *cast = llvm::dyn_cast<CastExpr>(pointer)) {
      if (cast->getCastKind() != CK_BitCast && cast->getCastKind() != CK_NoOp)
        break;
      pointer = cast->getSubExpr()->IgnoreParens();
    }
    return pointer;
  };
  const Expr *to = typed(expr->getArg(0)), *from = typed(expr->getArg(1));
  QualType type = to->getType()->getPointeeType();
  if (type.isNull() || from->getType()->getPointeeType().isNull() ||
      !ast.hasSameUnqualifiedType(type, from->getType()->getPointeeType()) ||
      type->isVoidType() || type->isIncompleteType())
    fail(Diagnostic::ReinterpretCast, source,
         "copy of the bytes of objects of different types in a kernel");
  Object p = pointer(to), q = pointer(from);
  Value bytes = scalar(expr->getArg(2));
  unsigned width = bytes.getType().getIntOrFloatBitWidth();
  Value count = mlir::arith::DivUIOp::create(
      builder, loc, bytes,
      number(ast.getTypeSizeInChars(type).getQuantity(), loc, width));
  if (width > 32)
    count = mlir::arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                                          count);
  // Within one array the two may overlap: then the end is copied first.
  Value first = load(p, loc), second = load(q, loc);
  Value backwards = mlir::arith::CmpIOp::create(
      builder, loc, mlir::arith::CmpIPredicate::sgt, first, second);
  Value last = mlir::arith::SubIOp::create(builder, loc, count, number(1, loc));
  forValues(number(0, loc), count, loc, [&](Value i) {
    Value mirrored = mlir::arith::SubIOp::create(builder, loc, last, i);
    Value at =
        mlir::arith::SelectOp::create(builder, loc, backwards, mirrored, i);
    Object a = p.parts[0], b = q.parts[0];
    if (!p.pointsToOne)
      addIndex(a, mlir::arith::AddIOp::create(builder, loc, first, at), type);
    if (!q.pointsToOne)
      addIndex(b, mlir::arith::AddIOp::create(builder, loc, second, at), type);
    copy(a, b, source);
  });
}

static unsigned countReturns(const Stmt *stmt) {
  if (!stmt || llvm::isa<LambdaExpr>(stmt))
    return 0;
  unsigned count = llvm::isa<ReturnStmt>(stmt);
  for (const Stmt *inner : stmt->children())
    count += countReturns(inner);
  return count;
}

/// Whether a buffer, or a reference that a lambda holds, is a part of objects
/// of TYPE: what is bound where the kernel is imported.
bool Importer::holdsBuffers(QualType type) {
  if (type->isReferenceType() || getKernelType(type) == "buffer")
    return true;
  if (auto *array = ast.getAsConstantArrayType(type))
    return holdsBuffers(array->getElementType());
  auto *record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || !getKernelType(type).empty())
    return false;
  for (const CXXBaseSpecifier &base : record->bases())
    if (holdsBuffers(base.getType()))
      return true;
  for (const FieldDecl *field : record->fields())
    if (holdsBuffers(field->getType()))
      return true;
  return false;
}

Value Importer::call(const CallExpr *expr, Object *destination,
                     Object &placeOut) {
  SourceLocation source = expr->getExprLoc();
  Location loc = getLoc(source);
  const FunctionDecl *function = expr->getDirectCallee();
  if (!function) {
    // A pointer that is a constant names its function.
    Expr::EvalResult callee;
    const Expr *named = expr->getCallee();
    if (!named->isValueDependent() && named->getType()->isPointerType() &&
        named->EvaluateAsRValue(callee, ast) && callee.Val.isLValue())
      if (auto *decl = callee.Val.getLValueBase().dyn_cast<const ValueDecl *>())
        function = llvm::dyn_cast<FunctionDecl>(decl);
  }
  if (!function) {
    if (llvm::isa<CXXPseudoDestructorExpr>(expr->getCallee()->IgnoreParens()))
      return {};
    fail(Diagnostic::IndirectCall, source,
         "call through a pointer in a kernel");
  }
  auto give = [&](Value value) -> Value {
    if (!destination || !value)
      return value;
    store(value, *destination, loc);
    return {};
  };
  if (auto annotation = findAnnotation(function, "poot.op")) {
    llvm::StringRef detail =
        annotation->size() > 1 ? getText((*annotation)[1]) : "";
    return give(builtin(getText((*annotation)[0]), detail, expr, destination,
                        placeOut));
  }
  if (auto annotation = findAnnotation(function, "poot.hook");
      annotation && annotation->size() == 1)
    return hook(getText(annotation->front()), expr, destination, placeOut);

  std::string name = function->getNameAsString();
  if (function->getBuiltinID()) {
    llvm::StringRef plain = name;
    plain.consume_front("__builtin_");
    if (function->isInStdNamespace() &&
        llvm::is_contained({"move", "forward", "as_const", "move_if_noexcept"},
                           plain)) {
      placeOut = expr->getArg(0)->isGLValue() ? place(expr->getArg(0))
                                              : temporary(expr->getArg(0));
      return {};
    }
    if (plain == "expect")
      return give(scalar(expr->getArg(0)));
    if (plain == "constant_p")
      return give(number(0, loc));
    if (plain == "unreachable" || plain == "assume")
      return {};
    if (llvm::StringRef op = getLibraryOp(name); !op.empty()) {
      llvm::SmallVector<Value> operands;
      for (const Expr *argument : expr->arguments())
        operands.push_back(scalar(argument));
      return give(mathCall(op, operands, expr->getType(), expr));
    }
    if (plain == "memcpy" || plain == "memmove") {
      moveElements(expr);
      if (!expr->getType()->isVoidType() && destination)
        storePointer(*destination, pointer(expr->getArg(0)), source);
      return {};
    }
    if (llvm::is_contained({"malloc", "calloc", "realloc", "free"}, plain))
      fail(Diagnostic::Heap, source, "call of '" + name + "' in a kernel");
    if (!function->getDefinition())
      fail(Diagnostic::Library, source,
           "call of the library's '" + plain + "' in a kernel");
  }

  const Expr *self = nullptr;
  llvm::SmallVector<const Expr *> arguments(expr->arguments());
  bool isArrow = false;
  if (auto *member = llvm::dyn_cast<CXXMemberCallExpr>(expr)) {
    self = member->getImplicitObjectArgument();
    isArrow = self->getType()->isPointerType();
    if (member->getMethodDecl() && member->getMethodDecl()->isVirtual())
      fail(Diagnostic::Virtual, source,
           "call of the virtual function '" + name + "' in a kernel");
  } else if (llvm::isa<CXXOperatorCallExpr>(expr)) {
    auto *method = llvm::dyn_cast<CXXMethodDecl>(function);
    if (method && !method->isStatic()) {
      self = arguments.front();
      arguments.erase(arguments.begin());
    } else if (method) {
      arguments.erase(arguments.begin());
    }
  }
  if (llvm::isa_and_nonnull<CXXDestructorDecl>(function))
    return {};
  std::optional<Object> object;
  if (self)
    object = isArrow             ? thisObject(self)
             : self->isGLValue() ? place(self)
                                 : temporary(self);
  auto *method = llvm::dyn_cast<CXXMethodDecl>(function);
  if (method &&
      (method->isCopyAssignmentOperator() ||
       method->isMoveAssignmentOperator()) &&
      (method->isTrivial() || method->isDefaulted())) {
    Object to = *object;
    if (holdsBuffers(to.type))
      fail(Diagnostic::BufferSelect, source,
           "assignment of a buffer or of what holds one in a kernel");
    initialize(to, arguments[0]);
    placeOut = to;
    return {};
  }
  kept.push_back(object ? *object : Object());
  Object *selfPointer = object ? &kept.back() : nullptr;
  QualType type = function->getReturnType();
  if (type->isVoidType()) {
    expand(function, selfPointer, arguments, nullptr, source);
    return {};
  }
  if (type->isReferenceType()) {
    // What is constant may come from several returns: its value does.
    QualType referred = type.getNonReferenceType();
    const FunctionDecl *definition = function->getDefinition();
    if (referred.isConstQualified() && isScalar(referred) && definition &&
        countReturns(definition->getBody()) > 1) {
      Object slot = allocate(referred, source);
      expand(function, selfPointer, arguments, &slot, source);
      placeOut = slot;
    } else {
      placeOut = expand(function, selfPointer, arguments, nullptr, source);
    }
    return {};
  }
  Object slot = destination ? *destination : allocate(type, source);
  expand(function, selfPointer, arguments, &slot, source);
  if (destination) {
    *destination = slot;
    return {};
  }
  placeOut = slot;
  if (slot.isLeaf() && !slot.isPointer && isScalar(type))
    return load(slot, loc);
  return {};
}

void Importer::construct(Object &object, const CXXConstructExpr *expr) {
  const CXXConstructorDecl *constructor = expr->getConstructor();
  SourceLocation source = expr->getExprLoc();
  if (getKernelType(object.type) == "buffer") {
    // Copies of a buffer are the same buffer.
    if (expr->getNumArgs() == 1 && constructor->isCopyOrMoveConstructor()) {
      object = place(expr->getArg(0));
      return;
    }
    fail(Diagnostic::BufferSelect, source, "making of a buffer in a kernel");
  }
  QualType base = ast.getBaseElementType(object.type);
  if (object.isLeaf() && getKernelType(base) == "fragment") {
    // Written out: a fragment can't be in an array that is indexed at run time.
    if (auto *array = ast.getAsConstantArrayType(object.type)) {
      for (uint64_t i = 0; i < array->getZExtSize(); ++i) {
        Object element = object;
        addIndex(element, number(i, getLoc(source)), array->getElementType());
        construct(element, expr);
      }
      return;
    }
    return zeroInitialize(object, source);
  }
  checkRecord(base, source);
  if (constructor->isCopyOrMoveConstructor() &&
      (constructor->isTrivial() || constructor->isDefaulted()))
    return initialize(object, expr->getArg(0));
  if (constructor->isDefaultConstructor() && constructor->isTrivial()) {
    if (expr->requiresZeroInitialization())
      zeroInitialize(object, source);
    return;
  }
  // An array of objects is constructed one by one.
  if (auto *array = ast.getAsConstantArrayType(object.type)) {
    for (uint64_t i = 0; i < array->getZExtSize(); ++i) {
      Object element = object;
      addIndex(element, number(i, getLoc(source)), array->getElementType());
      construct(element, expr);
    }
    return;
  }
  if (expr->requiresZeroInitialization())
    zeroInitialize(object, source);
  kept.push_back(object);
  Object *self = &kept.back();
  llvm::SmallVector<const Expr *> arguments(expr->arguments());
  expand(constructor, self, arguments, nullptr, source);
  object = *self; // references are bound by now
}

Object Importer::expand(const FunctionDecl *function, Object *self,
                        llvm::ArrayRef<const Expr *> arguments, Object *result,
                        SourceLocation source, llvm::ArrayRef<Object> objects) {
  std::string name = function->getNameAsString();
  if (++expansions > 50000)
    fail(Diagnostic::Expression, source,
         "more than 50,000 calls, all of which are expanded, in a kernel");
  for (Frame *frame : stack)
    if (frame->function->getCanonicalDecl() == function->getCanonicalDecl())
      fail(Diagnostic::Recursion, source,
           "recursive call of '" + name + "' in a kernel");
  const FunctionDecl *definition = nullptr;
  if (!function->getBody(definition) && !function->isDefaulted())
    fail(Diagnostic::Undefined, source,
         "call of '" + function->getQualifiedNameAsString() +
             "', whose body isn't visible, in a kernel");
  if (definition)
    function = definition;
  if (function->isVariadic())
    fail(Diagnostic::Variadic, source,
         "call of the variadic function '" + name + "' in a kernel");

  Frame frame(getLoc(source));
  frame.function = function;
  frame.self = self;
  frame.result = result;
  frame.returnsReference =
      !result && function->getReturnType()->isReferenceType();
  for (unsigned i = 0; i < function->getNumParams(); ++i) {
    const ParmVarDecl *parameter = function->getParamDecl(i);
    if (!objects.empty()) {
      frame.variables[parameter] = objects[i];
      continue;
    }
    const Expr *argument = arguments[i];
    if (parameter->getType()->isReferenceType()) {
      frame.variables[parameter] =
          argument->isGLValue() ? place(argument) : temporary(argument);
      continue;
    }
    Object object = allocate(parameter->getType(), parameter->getLocation());
    initialize(object, argument);
    frame.variables[parameter] = object;
  }
  if (auto *method = llvm::dyn_cast<CXXMethodDecl>(function);
      method && method->getParent()->isLambda() && self) {
    llvm::DenseMap<const ValueDecl *, FieldDecl *> captures;
    FieldDecl *capturedThis = nullptr;
    method->getParent()->getCaptureFields(captures, capturedThis);
    for (auto &[variable, field] : captures)
      frame.captures[variable] = &self->parts[field->getFieldIndex()];
    if (capturedThis)
      frame.capturedThis = &self->parts[capturedThis->getFieldIndex()];
  }

  auto savedTargets = std::move(targets);
  targets.clear();
  stack.push_back(&frame);
  reporter.enterCall(name, source);
  // The path is put back also where the import ends.
  struct Leave {
    Importer &importer;
    ~Leave() {
      importer.reporter.leaveCall();
      importer.stack.pop_back();
    }
  } leave{*this};
  frame.returnBlock = newBlock();
  Location loc = getLoc(source);
  if (auto *constructor = llvm::dyn_cast<CXXConstructorDecl>(function)) {
    const CXXRecordDecl *record = constructor->getParent();
    for (const CXXCtorInitializer *init : constructor->inits()) {
      if (init->isBaseInitializer()) {
        unsigned number = 0;
        for (const CXXBaseSpecifier &base : record->bases()) {
          if (ast.hasSameUnqualifiedType(base.getType(),
                                         QualType(init->getBaseClass(), 0)))
            break;
          ++number;
        }
        initialize(self->parts[number], init->getInit());
        continue;
      }
      if (init->isDelegatingInitializer()) {
        initialize(*self, init->getInit());
        continue;
      }
      const FieldDecl *field = init->getMember();
      if (!field)
        continue;
      Object &part =
          self->parts[record->getNumBases() + field->getFieldIndex()];
      if (field->getType()->isReferenceType())
        part = place(init->getInit());
      else
        initialize(part, init->getInit());
    }
  }
  if (function->getBody())
    statement(function->getBody());
  branch(frame.returnBlock, loc);
  startBlock(frame.returnBlock);
  targets = std::move(savedTargets);
  return frame.reference ? *frame.reference : Object();
}
