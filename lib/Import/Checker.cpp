//===- Checker.cpp - What a kernel may not do -----------------------------===//

#include "Checker.h"
#include "Importer.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprConcepts.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/Stack.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;
using namespace poot::import;
using llvm::dyn_cast;
using llvm::isa;

// The name Diagnostic is clang's, too.
namespace poot::import {
namespace {

/// What is wrong with a type.
struct Complaint {
  Diagnostic diagnostic;
  std::string text;
};

class Checker {
public:
  Checker(ASTContext &ast, Reporter &reporter) : ast(ast), reporter(reporter) {}

  void kernel(const FunctionDecl *function);

private:
  void report(Diagnostic diagnostic, SourceLocation loc,
              const llvm::Twine &what) {
    ++reports;
    reporter.error(diagnostic, loc, what + " in a kernel");
  }

  // Types.
  std::optional<Complaint> complainAbout(QualType type);
  std::optional<Complaint> complainAboutRecord(QualType type,
                                               const CXXRecordDecl *record);
  std::optional<Complaint> complainAboutMembers(QualType type,
                                                const CXXRecordDecl *record);
  std::optional<Complaint> complainAboutElement(QualType type);
  bool isParameter(QualType type);
  bool checkType(QualType type, SourceLocation loc);

  // Functions.
  void kernelParameter(const ParmVarDecl *parameter);
  void workgroupSize(const FunctionDecl *kernel);
  void hookSignature(const FunctionDecl *hook, llvm::StringRef name);
  void body(const FunctionDecl *function);
  void enter(const FunctionDecl *function, SourceLocation loc);
  void call(const CallExpr *expr);
  bool libraryCall(const FunctionDecl *function, const CallExpr *expr);
  void atomic(const CallExpr *expr, llvm::StringRef op);
  void arguments(const CallExpr *expr);

  // Statements and expressions.
  void visit(const Stmt *stmt);
  void children(const Stmt *stmt) {
    for (const Stmt *child : stmt->children())
      visit(child);
  }
  void statement(const Stmt *stmt);
  void expression(const Expr *expr);
  void variable(const VarDecl *variable);
  void use(const ValueDecl *decl, SourceLocation loc);
  void cast(const CastExpr *expr);
  void assignment(const Expr *target);

  ASTContext &ast;
  Reporter &reporter;
  /// Functions whose bodies are being checked, outermost first, and all that
  /// have been.
  std::vector<const FunctionDecl *> stack;
  llvm::DenseSet<const FunctionDecl *> done;
  llvm::DenseMap<const Type *, std::optional<Complaint>> types;
  unsigned reports = 0;
};

} // namespace

static std::string quote(QualType type) {
  PrintingPolicy policy{LangOptions()};
  policy.adjustForCPlusPlus();
  if (auto *vector = type->getAs<clang::VectorType>())
    return "'vec<" +
           vector->getElementType().getUnqualifiedType().getAsString(policy) +
           ", " + std::to_string(vector->getNumElements()) + ">'";
  return "'" + type.getUnqualifiedType().getAsString(policy) + "'";
}

static bool isInStd(const Decl *decl) {
  return decl && decl->isInStdNamespace();
}

/// A class of std by its name.
static llvm::StringRef getStdName(QualType type) {
  auto *record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
  return isInStd(record) && record->getIdentifier() ? record->getName()
                                                    : llvm::StringRef();
}

static bool isStream(QualType type) {
  return llvm::StringSwitch<bool>(getStdName(type.getNonReferenceType()))
      .Cases({"basic_ostream", "basic_istream", "basic_iostream"}, true)
      .Cases({"basic_ofstream", "basic_ifstream", "basic_fstream"}, true)
      .Cases({"basic_ostringstream", "basic_stringstream"}, true)
      .Cases({"basic_istringstream", "ios_base", "basic_ios"}, true)
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Of a class of the standard library, what is inside is nobody's business.
std::optional<Complaint>
Checker::complainAboutRecord(QualType type, const CXXRecordDecl *record) {
  auto complaint = complainAboutMembers(type, record);
  if (!complaint || !isInStd(record))
    return complaint;
  Diagnostic d = complaint->diagnostic;
  if (d == Diagnostic::Union || d == Diagnostic::Virtual ||
      d == Diagnostic::VirtualBase || d == Diagnostic::Destructor ||
      d == Diagnostic::BitField || d == Diagnostic::Container)
    return Complaint{Diagnostic::Container, "object of type " + quote(type)};
  return complaint;
}

std::optional<Complaint>
Checker::complainAboutMembers(QualType type, const CXXRecordDecl *record) {
  auto is = [&](Diagnostic diagnostic, const llvm::Twine &text) {
    return Complaint{diagnostic, text.str()};
  };
  std::string name = quote(type);
  if (!record->hasDefinition())
    return is(Diagnostic::Type, "incomplete type " + name);
  if (getStdName(type).starts_with("atomic"))
    return is(Diagnostic::Atomic, "object of type " + name);
  if (isStream(type))
    return is(Diagnostic::Io, "stream of type " + name);
  if (record->isUnion())
    return is(Diagnostic::Union, "union " + name);
  if (record->isPolymorphic())
    return is(Diagnostic::Virtual, "class " + name + " with virtual functions");
  if (record->getNumVBases() != 0)
    return is(Diagnostic::VirtualBase,
              "class " + name + " with a virtual base");
  for (const CXXBaseSpecifier &base : record->bases())
    if (auto complaint = complainAbout(base.getType()))
      return complaint;
  for (const FieldDecl *field : record->fields()) {
    if (field->isBitField())
      return is(Diagnostic::BitField, "class " + name + " with bit-fields");
    QualType t = field->getType();
    if (getKernelType(t) == "workgroup")
      return is(Diagnostic::WorkgroupArray,
                "class " + name + " with a workgroup array as a member");
    if (!t->isReferenceType())
      if (auto complaint = complainAbout(t))
        return complaint;
  }
  if (!record->hasTrivialDestructor())
    return is(Diagnostic::Destructor, "class " + name + " with a destructor");
  return std::nullopt;
}

/// Of a type that objects of a kernel have; nothing if it may be.
std::optional<Complaint> Checker::complainAbout(QualType type) {
  if (type.isNull() || type->isDependentType())
    return std::nullopt;
  if (type.isVolatileQualified())
    return Complaint{Diagnostic::Volatile, "volatile object"};
  type = type.getCanonicalType().getUnqualifiedType();
  auto [it, isNew] = types.try_emplace(type.getTypePtr());
  if (!isNew) // a class that holds itself does so through a pointer
    return it->second;
  auto remember = [&](std::optional<Complaint> complaint) {
    return types[type.getTypePtr()] = std::move(complaint);
  };
  auto is = [&](Diagnostic diagnostic, const llvm::Twine &text) {
    return remember(Complaint{diagnostic, text.str()});
  };
  if (type->isReferenceType() || type->isVoidType())
    return std::nullopt;
  if (auto *basic = type->getAs<BuiltinType>()) {
    switch (basic->getKind()) {
    case BuiltinType::LongDouble:
    case BuiltinType::Float128:
    case BuiltinType::Ibm128:
    case BuiltinType::Int128:
    case BuiltinType::UInt128:
      return is(Diagnostic::Type, "type " + quote(type));
    default:
      return std::nullopt;
    }
  }
  if (type->isBitIntType() || type->isAnyComplexType() ||
      type->isMemberPointerType() || type->isBlockPointerType() ||
      type->isMatrixType())
    return is(Diagnostic::Type, "type " + quote(type));
  if (type->isAtomicType())
    return is(Diagnostic::Atomic, "object of type " + quote(type));
  if (auto *vector = type->getAs<clang::VectorType>()) {
    unsigned count = vector->getNumElements();
    if (count != 1 && count != 2 && count != 3 && count != 4 && count != 8 &&
        count != 16)
      return is(Diagnostic::VectorWidth,
                "vector of " + llvm::Twine(count) + " elements");
    return remember(complainAbout(vector->getElementType()));
  }
  if (type->isVariableArrayType())
    return is(Diagnostic::Vla, "array of variable extent");
  if (auto *array = ast.getAsConstantArrayType(type)) {
    QualType element = array->getElementType();
    llvm::StringRef special = getKernelType(element);
    if (special == "workgroup")
      return is(Diagnostic::WorkgroupArray, "array of workgroup arrays");
    if (element->isPointerType())
      return is(Diagnostic::Pointer, "array of pointers");
    uint64_t count = array->getZExtSize();
    for (QualType t = element; auto *inner = ast.getAsConstantArrayType(t);
         t = inner->getElementType())
      count = llvm::SaturatingMultiply(count, inner->getZExtSize());
    if (count == 0 || count > (1u << 20))
      return is(Diagnostic::Type,
                "array of " + llvm::Twine(count) + " elements");
    return remember(complainAbout(element));
  }
  if (auto *pointer = type->getAs<clang::PointerType>()) {
    QualType to = pointer->getPointeeType();
    if (to->isPointerType())
      return is(Diagnostic::Pointer, "pointer to a pointer");
    return std::nullopt;
  }
  if (!getKernelType(type).empty())
    return std::nullopt;
  if (auto *record = type->getAsCXXRecordDecl())
    return remember(complainAboutRecord(type, record));
  return std::nullopt;
}

bool Checker::checkType(QualType type, SourceLocation loc) {
  auto complaint = complainAbout(type);
  if (complaint)
    report(complaint->diagnostic, loc, complaint->text);
  return !complaint;
}

/// Of a type that elements of buffers and workgroup arrays have.
std::optional<Complaint> Checker::complainAboutElement(QualType type) {
  if (type->isDependentType())
    return std::nullopt;
  if (auto complaint = complainAbout(type))
    return complaint;
  type = type.getCanonicalType().getUnqualifiedType();
  auto wrong = [&] {
    return Complaint{Diagnostic::BufferElement,
                     "elements of type " + quote(type)};
  };
  if (type->isPointerType() || type->isReferenceType() || type->isVoidType() ||
      !getKernelType(type).empty())
    return wrong();
  if (auto *vector = type->getAs<clang::VectorType>()) {
    unsigned count = vector->getNumElements();
    if ((count != 2 && count != 4) || vector->getElementType()->isBooleanType())
      return wrong();
  }
  if (auto *array = ast.getAsConstantArrayType(type))
    return complainAboutElement(array->getElementType());
  if (auto *record = type->getAsCXXRecordDecl()) {
    if (!record->isTriviallyCopyable())
      return wrong();
    for (const CXXBaseSpecifier &base : record->bases())
      if (auto complaint = complainAboutElement(base.getType()))
        return complaint;
    for (const FieldDecl *field : record->fields())
      if (auto complaint = complainAboutElement(field->getType()))
        return complaint;
  }
  return std::nullopt;
}

/// Whether a parameter of a kernel may have TYPE: scalars, and what is made of
/// them.
bool Checker::isParameter(QualType type) {
  if (auto *array = ast.getAsConstantArrayType(type))
    return isParameter(array->getElementType());
  if (!getKernelType(type).empty())
    return false;
  if (auto *record = type->getAsCXXRecordDecl()) {
    for (const CXXBaseSpecifier &base : record->bases())
      if (!isParameter(base.getType()))
        return false;
    for (const FieldDecl *field : record->fields())
      if (!isParameter(field->getType()))
        return false;
    return true;
  }
  return type->isArithmeticType() || type->isEnumeralType();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Checker::kernelParameter(const ParmVarDecl *parameter) {
  QualType type = parameter->getType();
  SourceLocation loc = parameter->getLocation();
  std::string text = "parameter '" + parameter->getNameAsString() +
                     "' of type '" + type.getAsString() + "'";
  auto wrong = [&](Diagnostic diagnostic) {
    reporter.error(diagnostic, loc, text + " of a kernel");
  };
  llvm::StringRef special = getKernelType(type.getNonReferenceType());
  if (special == "workgroup")
    return wrong(Diagnostic::WorkgroupArray);
  if (type->isPointerType() || type->isReferenceType())
    return wrong(Diagnostic::PointerParameter);
  if (special == "buffer") {
    auto *record =
        dyn_cast<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    if (!record || record->getTemplateArgs().size() == 0)
      return;
    QualType element = record->getTemplateArgs()[0].getAsType();
    if (auto complaint = complainAboutElement(element))
      report(complaint->diagnostic, loc, complaint->text);
    return;
  }
  if (auto complaint = complainAbout(type))
    return report(complaint->diagnostic, loc, complaint->text);
  if (!isParameter(type))
    wrong(Diagnostic::ParameterType);
}

void Checker::workgroupSize(const FunctionDecl *kernel) {
  std::string name = "kernel '" + kernel->getNameAsString() + "'";
  auto wrong = [&](const llvm::Twine &what) {
    reporter.error(Diagnostic::WorkgroupSize, kernel->getLocation(), what);
  };
  auto extents = findAnnotation(kernel, "poot.workgroup_size");
  if (!extents)
    return wrong(name + " has no workgroup size");
  llvm::SmallVector<int64_t, 3> size;
  std::string text;
  int64_t items = 1;
  bool isPossible = extents->size() == 3;
  for (const Expr *extent : *extents) {
    Expr::EvalResult value;
    if (extent->isValueDependent() || !extent->EvaluateAsInt(value, ast))
      return wrong(name + " has a workgroup size that isn't constant");
    int64_t n = value.Val.getInt().isRepresentableByInt64()
                    ? value.Val.getInt().getExtValue()
                    : INT64_MAX;
    text += (text.empty() ? "" : " x ") + std::to_string(n);
    isPossible = isPossible && n >= 1 && n <= 1024;
    items *= isPossible ? n : 1;
  }
  if (!isPossible || items > 1024)
    wrong(name + " has a workgroup of " + text + " work-items");
}

void Checker::kernel(const FunctionDecl *function) {
  SourceLocation loc = function->getLocation();
  std::string name = "kernel '" + function->getNameAsString() + "'";
  if (auto *method = dyn_cast<CXXMethodDecl>(function);
      method && method->isInstance())
    reporter.error(Diagnostic::KernelMember, loc,
                   name + " is a member function");
  if (!function->getReturnType()->isVoidType())
    reporter.error(Diagnostic::ReturnType, loc,
                   name + " returns '" +
                       function->getReturnType().getAsString() + "'");
  if (function->isVariadic())
    reporter.error(Diagnostic::Variadic, loc, name + " is variadic");
  workgroupSize(function);
  for (const ParmVarDecl *parameter : function->parameters())
    kernelParameter(parameter);
  body(function);
}

void Checker::hookSignature(const FunctionDecl *hook, llvm::StringRef name) {
  for (const ParmVarDecl *parameter : hook->parameters()) {
    QualType type = parameter->getType();
    llvm::StringRef special = getKernelType(type.getNonReferenceType());
    bool byReference = type->isReferenceType() &&
                       !type.getNonReferenceType().isConstQualified() &&
                       special != "workgroup";
    if (byReference || type->isPointerType() || special == "fragment" ||
        (special == "workgroup" && !type->isReferenceType()))
      reporter.error(Diagnostic::HookSignature, parameter->getLocation(),
                     "parameter '" + parameter->getNameAsString() +
                         "' of type '" + type.getAsString() + "' of hook '" +
                         name + "'");
  }
  QualType result = hook->getReturnType();
  if (result->isReferenceType() || result->isPointerType() ||
      !getKernelType(result).empty())
    reporter.error(Diagnostic::HookSignature, hook->getLocation(),
                   "hook '" + name + "' returns '" + result.getAsString() +
                       "'");
}

/// The statements of a function that is called or is the kernel.
void Checker::body(const FunctionDecl *function) {
  if (!done.insert(function).second)
    return;
  stack.push_back(function);
  if (auto *constructor = dyn_cast<CXXConstructorDecl>(function))
    for (const CXXCtorInitializer *init : constructor->inits())
      visit(init->getInit());
  if (const Stmt *statements = function->getBody())
    visit(statements);
  stack.pop_back();
}

/// A function that is called at LOC.
void Checker::enter(const FunctionDecl *function, SourceLocation loc) {
  std::string name = function->getNameAsString();
  const FunctionDecl *definition = nullptr;
  if (!function->getBody(definition)) {
    if (function->isDefaulted() || function->isTrivial() ||
        function->getBuiltinID())
      return;
    if (ast.getSourceManager().isInSystemHeader(function->getLocation()))
      report(Diagnostic::Library, loc,
             "call of the library's '" + function->getQualifiedNameAsString() +
                 "'");
    else
      report(Diagnostic::Undefined, loc,
             "call of '" + function->getQualifiedNameAsString() +
                 "', whose body isn't visible,");
    return;
  }
  if (llvm::is_contained(stack, definition))
    return report(Diagnostic::Recursion, loc,
                  "recursive call of '" + name + "'");
  if (function->isVariadic())
    return report(Diagnostic::Variadic, loc,
                  "call of the variadic function '" + name + "'");
  reporter.enterCall(name, loc);
  bool isKnown = done.count(definition);
  if (!isKnown) {
    for (const ParmVarDecl *parameter : definition->parameters()) {
      if (getKernelType(parameter->getType()) == "workgroup")
        report(Diagnostic::WorkgroupArray, parameter->getLocation(),
               "workgroup array as a parameter by value");
      else
        checkType(parameter->getType(), parameter->getLocation());
    }
    checkType(definition->getReturnType(), definition->getLocation());
  }
  body(definition);
  reporter.leaveCall();
}

/// Functions of the C and C++ libraries that stand for what a GPU lacks. False
/// if FUNCTION is none of these.
bool Checker::libraryCall(const FunctionDecl *function, const CallExpr *expr) {
  if (!function->getIdentifier())
    return false;
  llvm::StringRef name = function->getName();
  bool isForeign = function->isExternC() || function->getBuiltinID() ||
                   isInStd(function) || name.starts_with("__builtin_");
  if (!isForeign)
    return false;
  name.consume_front("__builtin_");
  auto diagnostic =
      llvm::StringSwitch<std::optional<Diagnostic>>(name)
          .Cases({"malloc", "calloc", "realloc", "free"}, Diagnostic::Heap)
          .Cases({"aligned_alloc", "alloca", "strdup"}, Diagnostic::Heap)
          .Cases({"alloca_with_align", "posix_memalign"}, Diagnostic::Heap)
          .Cases({"operator_new", "operator_delete"}, Diagnostic::Heap)
          .Cases({"printf", "fprintf", "sprintf", "snprintf"}, Diagnostic::Io)
          .Cases({"vprintf", "vfprintf", "puts", "fputs"}, Diagnostic::Io)
          .Cases({"putchar", "putc", "fputc", "scanf"}, Diagnostic::Io)
          .Cases({"fopen", "fclose", "fread", "fwrite"}, Diagnostic::Io)
          .Cases({"fflush", "perror", "getchar", "gets"}, Diagnostic::Io)
          .Cases({"setjmp", "_setjmp", "__sigsetjmp"}, Diagnostic::LongJump)
          .Cases({"sigsetjmp", "longjmp"}, Diagnostic::LongJump)
          .Cases({"siglongjmp", "_longjmp"}, Diagnostic::LongJump)
          .Cases({"memset", "memcmp", "memchr"}, Diagnostic::MemoryFunction)
          .Cases({"bcopy", "bzero", "mempcpy"}, Diagnostic::MemoryFunction)
          .Cases({"__assert_fail", "__assert"}, Diagnostic::Assert)
          .Cases({"__assert_rtn", "_assert"}, Diagnostic::Assert)
          .Cases({"trap", "abort", "exit", "terminate"}, Diagnostic::Assert)
          .Default(std::nullopt);
  // Whole objects of one type may be copied; the pointers become void here.
  if ((name == "memcpy" || name == "memmove") && expr->getNumArgs() == 3) {
    QualType types[2];
    for (unsigned i = 0; i < 2; ++i) {
      const Expr *pointer = expr->getArg(i)->IgnoreParens();
      while (auto *cast = dyn_cast<CastExpr>(pointer)) {
        if (cast->getCastKind() != CK_BitCast && cast->getCastKind() != CK_NoOp)
          break;
        pointer = cast->getSubExpr()->IgnoreParens();
      }
      visit(pointer);
      types[i] = pointer->getType()->getPointeeType();
    }
    visit(expr->getArg(2));
    if (types[0].isNull() || types[1].isNull() ||
        !ast.hasSameUnqualifiedType(types[0], types[1]))
      report(Diagnostic::ReinterpretCast, expr->getExprLoc(),
             "copy of the bytes of objects of different types");
    return true;
  }
  if (!diagnostic)
    return false;
  if (*diagnostic == Diagnostic::Assert && name.contains("assert"))
    report(*diagnostic, expr->getExprLoc(), "assertion");
  else
    report(*diagnostic, expr->getExprLoc(),
           "call of '" + function->getName() + "'");
  return true;
}

void Checker::arguments(const CallExpr *expr) {
  for (const Expr *argument : expr->arguments())
    visit(argument);
}

void Checker::atomic(const CallExpr *expr, llvm::StringRef op) {
  const Expr *where = expr->getArg(0);
  QualType type = where->getType().getCanonicalType().getUnqualifiedType();
  uint64_t width = ast.getTypeSize(type);
  bool isInteger = (type->isIntegerType() || type->isEnumeralType()) &&
                   !type->isBooleanType() && (width == 32 || width == 64);
  auto *basic = type->getAs<BuiltinType>();
  bool isFloat = basic && basic->getKind() == BuiltinType::Float;
  if (!isInteger && !isFloat)
    report(Diagnostic::AtomicType, where->getExprLoc(),
           "atomic operation on " + quote(type));
  else if (isFloat && op == "kernel.atomic_cas")
    report(Diagnostic::AtomicType, where->getExprLoc(),
           "compare-exchange of float");
}

void Checker::call(const CallExpr *expr) {
  SourceLocation loc = expr->getExprLoc();
  const FunctionDecl *function = expr->getDirectCallee();
  const Expr *callee = expr->getCallee()->IgnoreParens();
  if (!function && !callee->isValueDependent() &&
      callee->getType()->isPointerType()) {
    Expr::EvalResult result;
    if (callee->EvaluateAsRValue(result, ast) && result.Val.isLValue())
      if (auto *named =
              result.Val.getLValueBase().dyn_cast<const ValueDecl *>())
        function = dyn_cast<FunctionDecl>(named);
  }
  if (!function) {
    arguments(expr);
    if (!isa<CXXPseudoDestructorExpr>(callee))
      report(Diagnostic::IndirectCall, loc, "call through a pointer");
    return;
  }
  if (auto annotation = findAnnotation(function, "poot.op")) {
    llvm::StringRef name =
        annotation->empty() ? "" : getText(annotation->front());
    if (name == "null")
      return report(Diagnostic::BufferNull, loc,
                    "comparison of a buffer with null");
    if (expr->getNumArgs() > 0 && name.starts_with("kernel.atomic_"))
      atomic(expr, name);
    if (auto *member = dyn_cast<CXXMemberCallExpr>(expr))
      visit(member->getImplicitObjectArgument());
    for (const Expr *argument : expr->arguments())
      if (!isa<CXXDefaultArgExpr>(argument))
        visit(argument);
    return;
  }
  auto *method = dyn_cast<CXXMethodDecl>(function);
  // Streams hold what only the host has, and so do the operators on them.
  bool isOnStream =
      isStream(function->getReturnType()) ||
      (method && isStream(ast.getCanonicalTagType(method->getParent())));
  if (isOnStream)
    return report(Diagnostic::Io, loc, "use of a stream");
  if (libraryCall(function, expr))
    return;
  if (method && isInStd(method->getParent()) &&
      method->getParent()->getIdentifier() &&
      method->getParent()->getName().contains("atomic"))
    return report(Diagnostic::Atomic, loc,
                  "call of '" + method->getQualifiedNameAsString() + "'");
  if (auto *member = dyn_cast<CXXMemberCallExpr>(expr))
    visit(member->getImplicitObjectArgument());
  arguments(expr);
  if (auto annotation = findAnnotation(function, "poot.hook");
      annotation && annotation->size() == 1) {
    hookSignature(function, getText(annotation->front()));
    if (!function->getDefinition())
      return report(Diagnostic::Undefined, loc,
                    "hook '" + getText(annotation->front()) +
                        "' without a default body");
  }
  if (method) {
    // What is wrong with its class was said where the object is declared.
    if (complainAbout(ast.getCanonicalTagType(method->getParent()))) {
      if (method->isVirtual())
        report(Diagnostic::Virtual, loc,
               "call of the virtual function '" + method->getNameAsString() +
                   "'");
      return;
    }
    if (isa<CXXDestructorDecl>(method))
      return;
    if ((method->isCopyAssignmentOperator() ||
         method->isMoveAssignmentOperator()) &&
        (method->isTrivial() || method->isDefaulted()))
      return;
  }
  enter(function, loc);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void Checker::variable(const VarDecl *variable) {
  SourceLocation loc = variable->getLocation();
  std::string name = "'" + variable->getNameAsString() + "'";
  QualType type = variable->getType();
  if (variable->hasExternalStorage())
    return; // reported where it is used
  bool isConstant = import::isConstant(variable, ast);
  if (variable->getTLSKind() != VarDecl::TLS_None)
    return report(Diagnostic::ThreadLocal, loc,
                  "thread-local variable " + name);
  if (getKernelType(type) == "workgroup") {
    if (variable->isStaticLocal())
      return report(Diagnostic::WorkgroupArray, loc,
                    "static workgroup array " + name);
    auto *record =
        dyn_cast<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    if (record && record->getTemplateArgs().size() > 0)
      if (auto complaint =
              complainAboutElement(record->getTemplateArgs()[0].getAsType()))
        report(complaint->diagnostic, loc, complaint->text);
    return;
  }
  if (variable->isStaticLocal()) {
    if (!isConstant)
      report(Diagnostic::Static, loc, "static variable " + name);
    return;
  }
  if (!checkType(type, loc))
    return;
  if (type->isFunctionPointerType() && !isConstant)
    return report(Diagnostic::IndirectCall, loc,
                  "variable " + name + " that points to a function");
  if (variable->hasAttr<CleanupAttr>())
    report(Diagnostic::Destructor, loc, "cleanup of the variable " + name);
  if (!variable->isConstexpr())
    visit(variable->getInit());
}

/// The use of something that is declared.
void Checker::use(const ValueDecl *decl, SourceLocation loc) {
  auto *variable = dyn_cast<VarDecl>(decl);
  if (!variable || !variable->hasGlobalStorage())
    return;
  std::string name = "'" + variable->getNameAsString() + "'";
  QualType type = variable->getType();
  if (findAnnotation(variable, "poot.spec")) {
    QualType t = type.getCanonicalType().getUnqualifiedType();
    auto *basic = t->getAs<BuiltinType>();
    bool isAllowed =
        basic &&
        (t->isBooleanType() || basic->getKind() == BuiltinType::Float ||
         (basic->isInteger() && ast.getTypeSize(t) == 32));
    Expr::EvalResult result;
    const Expr *init = variable->getAnyInitializer();
    if (!isAllowed || !init || init->isValueDependent() ||
        !init->EvaluateAsRValue(result, ast))
      reporter.error(Diagnostic::Spec, loc,
                     "POOT_SPEC variable " + name + " of type '" +
                         type.getAsString() + "'");
    return;
  }
  if (isConstant(variable, ast))
    return;
  if (variable->getTLSKind() != VarDecl::TLS_None)
    return report(Diagnostic::ThreadLocal, loc,
                  "thread-local variable " + name);
  if (variable->isStaticLocal()) {
    // Said where it is declared, if that is in the kernel.
    auto *owner = dyn_cast<FunctionDecl>(variable->getDeclContext());
    if (!llvm::is_contained(stack, owner))
      report(Diagnostic::Static, loc, "static variable " + name);
    return;
  }
  report(Diagnostic::Global, loc, "use of the variable " + name);
}

/// What is assigned to.
void Checker::assignment(const Expr *target) {
  auto *name = dyn_cast<DeclRefExpr>(target->IgnoreParenImpCasts());
  if (name && findAnnotation(name->getDecl(), "poot.spec"))
    report(Diagnostic::Spec, target->getExprLoc(),
           "change of the POOT_SPEC variable '" +
               name->getDecl()->getNameAsString() + "'");
}

//===----------------------------------------------------------------------===//
// Statements and expressions
//===----------------------------------------------------------------------===//

void Checker::cast(const CastExpr *expr) {
  SourceLocation loc = expr->getExprLoc();
  QualType from = expr->getSubExpr()->getType(), to = expr->getType();
  switch (expr->getCastKind()) {
  case CK_Dynamic:
    report(Diagnostic::Rtti, loc, "dynamic_cast");
    return visit(expr->getSubExpr());
  case CK_BitCast:
    if (!to->isPointerType())
      break; // of the bits of a vector
    if (from->isVoidPointerType()) {
      // As of what malloc gives, which is said alone.
      unsigned before = reports;
      visit(expr->getSubExpr());
      if (reports == before)
        report(Diagnostic::ReinterpretCast, loc,
               "conversion of '" + from.getAsString() + "' to '" +
                   to.getAsString() + "'");
      return;
    }
    [[fallthrough]];
  case CK_LValueBitCast:
  case CK_ReinterpretMemberPointer:
  case CK_PointerToIntegral:
  case CK_IntegralToPointer:
    report(Diagnostic::ReinterpretCast, loc,
           isa<CXXReinterpretCastExpr>(expr)
               ? llvm::Twine("reinterpret_cast")
               : "conversion of '" + from.getAsString() + "' to '" +
                     to.getAsString() + "'");
    return visit(expr->getSubExpr());
  case CK_NullToPointer:
    report(Diagnostic::Pointer, loc, "null pointer");
    return;
  case CK_PointerToBoolean:
    report(Diagnostic::Pointer, loc, "comparison of a pointer with null");
    return visit(expr->getSubExpr());
  case CK_FunctionToPointerDecay:
    return; // called or not, it is no object
  default:
    break;
  }
  // Values of types that there aren't come from conversions, too.
  if (auto complaint = complainAbout(to);
      complaint && !complainAbout(from) &&
      complaint->diagnostic == Diagnostic::Type)
    report(complaint->diagnostic, loc, complaint->text);
  visit(expr->getSubExpr());
}

void Checker::expression(const Expr *expr) {
  SourceLocation loc = expr->getExprLoc();
  QualType type = expr->getType();
  // What clang computes is not checked.
  if (!expr->isValueDependent() && expr->isPRValue() &&
      (type->isArithmeticType() || type->isEnumeralType())) {
    Expr::EvalResult result;
    if (expr->EvaluateAsRValue(result, ast) && !result.HasSideEffects)
      return;
  }
  if (auto *e = dyn_cast<CastExpr>(expr))
    return cast(e);
  if (auto *e = dyn_cast<DeclRefExpr>(expr))
    return use(e->getDecl(), loc);
  if (auto *e = dyn_cast<MemberExpr>(expr)) {
    if (isa<VarDecl>(e->getMemberDecl()))
      return use(e->getMemberDecl(), loc);
    if (e->getMemberDecl()->getType().isVolatileQualified())
      report(Diagnostic::Volatile, loc, "volatile object");
    return visit(e->getBase());
  }
  if (auto *e = dyn_cast<CallExpr>(expr))
    return call(e);
  if (auto *e = dyn_cast<CXXConstructExpr>(expr)) {
    for (const Expr *argument : e->arguments())
      visit(argument);
    if (!getKernelType(type).empty() || !checkType(type, loc))
      return;
    const CXXConstructorDecl *constructor = e->getConstructor();
    if (constructor->isTrivial() ||
        (constructor->isCopyOrMoveConstructor() && constructor->isDefaulted()))
      return;
    return enter(constructor, loc);
  }
  if (auto *e = dyn_cast<CXXInheritedCtorInitExpr>(expr))
    return enter(e->getConstructor(), loc);
  if (auto *e = dyn_cast<LambdaExpr>(expr)) {
    for (const Expr *capture : e->capture_inits())
      visit(capture);
    return;
  }
  if (auto *e = dyn_cast<BinaryOperator>(expr)) {
    if (e->isAssignmentOp())
      assignment(e->getLHS());
    if (e->isPtrMemOp())
      return report(Diagnostic::IndirectCall, loc, "pointer to a member");
    visit(e->getLHS());
    return visit(e->getRHS());
  }
  if (auto *e = dyn_cast<UnaryOperator>(expr)) {
    if (e->isIncrementDecrementOp())
      assignment(e->getSubExpr());
    return visit(e->getSubExpr());
  }
  if (auto *e = dyn_cast<CXXDefaultArgExpr>(expr))
    return visit(e->getExpr());
  if (auto *e = dyn_cast<CXXDefaultInitExpr>(expr))
    return visit(e->getExpr());
  if (auto *e = dyn_cast<OpaqueValueExpr>(expr))
    return visit(e->getSourceExpr());
  if (auto *e = dyn_cast<SubstNonTypeTemplateParmExpr>(expr))
    return visit(e->getReplacement());
  if (auto *e = dyn_cast<CXXRewrittenBinaryOperator>(expr))
    return visit(e->getSemanticForm());
  if (auto *e = dyn_cast<PseudoObjectExpr>(expr))
    return visit(e->getSyntacticForm());
  if (isa<CXXThrowExpr>(expr))
    return report(Diagnostic::Exception, loc, "'throw'");
  if (isa<CXXNewExpr>(expr))
    return report(Diagnostic::Heap, loc, "'new'");
  if (isa<CXXDeleteExpr>(expr))
    return report(Diagnostic::Heap, loc, "'delete'");
  if (isa<CXXTypeidExpr>(expr))
    return report(Diagnostic::Rtti, loc, "'typeid'");
  if (isa<VAArgExpr>(expr))
    return report(Diagnostic::Variadic, loc, "'va_arg'");
  if (isa<AddrLabelExpr>(expr))
    return report(Diagnostic::Goto, loc, "address of a label");
  if (isa<AtomicExpr>(expr))
    return report(Diagnostic::Atomic, loc, "builtin atomic operation");
  if (isa<CoroutineSuspendExpr, DependentCoawaitExpr>(expr))
    return report(Diagnostic::Coroutine, loc, "coroutine");
  // Neither is evaluated.
  if (isa<UnaryExprOrTypeTraitExpr, CXXNoexceptExpr, RequiresExpr>(expr))
    return;
  children(expr);
}

void Checker::statement(const Stmt *stmt) {
  SourceLocation loc = stmt->getBeginLoc();
  if (auto *s = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl *decl : s->decls()) {
      auto *declared = dyn_cast<VarDecl>(decl);
      if (!declared)
        continue;
      variable(declared);
      if (auto *parts = dyn_cast<DecompositionDecl>(declared))
        for (const BindingDecl *binding : parts->bindings())
          if (const VarDecl *holding = binding->getHoldingVar())
            variable(holding);
    }
    return;
  }
  if (auto *s = dyn_cast<IfStmt>(stmt)) {
    if (s->isConstexpr()) {
      visit(s->getInit());
      if (auto taken = s->getNondiscardedCase(ast); taken && *taken)
        visit(*taken);
      return;
    }
    if (s->isConsteval())
      return visit(s->isNegatedConsteval() ? s->getThen() : s->getElse());
  }
  if (auto *s = dyn_cast<CaseStmt>(stmt)) {
    if (s->getRHS())
      report(Diagnostic::CaseRange, s->getCaseLoc(), "range of cases");
    return visit(s->getSubStmt());
  }
  if (auto *s = dyn_cast<GotoStmt>(stmt))
    return report(Diagnostic::Goto, loc,
                  "'goto " + s->getLabel()->getName() + "'");
  if (isa<IndirectGotoStmt>(stmt))
    return report(Diagnostic::Goto, loc, "computed 'goto'");
  if (isa<AsmStmt>(stmt))
    return report(Diagnostic::Assembly, loc, "inline assembly");
  if (auto *s = dyn_cast<CXXTryStmt>(stmt)) {
    report(Diagnostic::Exception, loc, "'try'");
    return visit(s->getTryBlock());
  }
  if (isa<CoroutineBodyStmt, CoreturnStmt>(stmt))
    return report(Diagnostic::Coroutine, loc, "coroutine");
  if (isa<OMPExecutableDirective>(stmt))
    return report(Diagnostic::Statement, loc, "OpenMP directive");
  if (auto *s = dyn_cast<AttributedStmt>(stmt))
    return visit(s->getSubStmt());
  if (auto *s = dyn_cast<CXXForRangeStmt>(stmt)) {
    for (const Stmt *part :
         {s->getInit(), static_cast<const Stmt *>(s->getRangeStmt()),
          static_cast<const Stmt *>(s->getBeginStmt()),
          static_cast<const Stmt *>(s->getEndStmt())})
      visit(part);
    visit(s->getCond());
    visit(s->getInc());
    visit(s->getLoopVarStmt());
    return visit(s->getBody());
  }
  children(stmt);
}

void Checker::visit(const Stmt *stmt) {
  if (!stmt)
    return;
  if (isStackNearlyExhausted())
    return; // clang has warned of it
  if (auto *expr = dyn_cast<Expr>(stmt))
    return expression(expr);
  statement(stmt);
}

bool checkKernel(ASTContext &ast, const FunctionDecl *kernel,
                 Reporter &reporter) {
  reporter.startKernel();
  Checker(ast, reporter).kernel(kernel);
  return !reporter.hasFound();
}

} // namespace poot::import
