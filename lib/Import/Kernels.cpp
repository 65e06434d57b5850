//===- Kernels.cpp - Finds, names and imports kernels ---------------------===//
//
// A kernel's parameters become its interface: buffers in the order of the
// source, then the scalars as 32-bit words. A structure is its scalars, one
// behind the other; what is narrower than a word is widened, what is wider
// takes two, the low one first.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "Importer.h"
#include "Poot/Dialect/Kernel/Transforms.h"
#include "Poot/Import/Import.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using mlir::Location;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Finding and naming
//===----------------------------------------------------------------------===//

static void appendWord(std::string &name, llvm::StringRef text) {
  name += '_';
  for (char c : text)
    if (llvm::isAlnum(c))
      name += c;
    else if (!llvm::StringRef(name).ends_with("_"))
      name += c == '-' ? 'm' : '_';
  while (llvm::StringRef(name).ends_with("_"))
    name.pop_back();
}

static std::string describeType(QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (auto *basic = type->getAs<BuiltinType>()) {
    switch (basic->getKind()) {
    case BuiltinType::Float16:
      return "f16";
    case BuiltinType::BFloat16:
      return "bf16";
    case BuiltinType::Float:
      return "f32";
    case BuiltinType::Double:
      return "f64";
    case BuiltinType::Int:
      return "i32";
    case BuiltinType::UInt:
      return "u32";
    case BuiltinType::Long:
    case BuiltinType::LongLong:
      return "i64";
    case BuiltinType::ULong:
    case BuiltinType::ULongLong:
      return "u64";
    default:
      break;
    }
  }
  if (auto *record = type->getAsCXXRecordDecl())
    return record->getNameAsString();
  return type.getAsString();
}

static void appendArgument(std::string &name,
                           const TemplateArgument &argument) {
  switch (argument.getKind()) {
  case TemplateArgument::Type:
    return appendWord(name, describeType(argument.getAsType()));
  case TemplateArgument::Integral:
    return appendWord(name, llvm::toString(argument.getAsIntegral(), 10));
  case TemplateArgument::Pack:
    for (const TemplateArgument &element : argument.pack_elements())
      appendArgument(name, element);
    return;
  default:
    return appendWord(name, "x");
  }
}

static std::string getKernelName(const FunctionDecl *function) {
  std::string name = function->getNameAsString();
  if (const TemplateArgumentList *arguments =
          function->getTemplateSpecializationArgs())
    for (const TemplateArgument &argument : arguments->asArray())
      appendArgument(name, argument);
  return name;
}

namespace {
struct Finder : RecursiveASTVisitor<Finder> {
  std::vector<const FunctionDecl *> found;
  bool shouldVisitTemplateInstantiations() const { return true; }
  bool VisitFunctionDecl(FunctionDecl *function) {
    if (!function->isDependentContext() &&
        function->isThisDeclarationADefinition() &&
        findAnnotation(function, "poot.kernel"))
      found.push_back(function);
    return true;
  }
};
} // namespace

std::vector<KernelDecl> poot::import::findKernels(CompilerInstance &clang,
                                                  Reporter &reporter) {
  Finder finder;
  finder.TraverseDecl(clang.getASTContext().getTranslationUnitDecl());
  std::vector<KernelDecl> kernels;
  std::map<std::string, const FunctionDecl *> names;
  for (const FunctionDecl *function : finder.found) {
    std::string name = getKernelName(function);
    auto [it, isNew] = names.try_emplace(name, function);
    if (!isNew) {
      if (it->second->getCanonicalDecl() != function->getCanonicalDecl())
        reporter.error(Diagnostic::KernelName, function->getLocation(),
                       "two kernels are named '" + name + "'");
      continue;
    }
    kernels.push_back({function, name});
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

/// A kernel's arguments bear the names of their parameters, for who gives them
/// values.
Location Importer::getNamedLoc(const ParmVarDecl *parameter) {
  Location loc = getLoc(parameter->getLocation());
  if (parameter->getName().empty())
    return loc;
  return mlir::NameLoc::get(builder.getStringAttr(parameter->getName()), loc);
}

void Importer::bindMetadata(const Object &object,
                            const ParmVarDecl *parameter) {
  Location loc = func.getLoc();
  SourceLocation source = parameter->getLocation();
  mlir::Type i32 = builder.getI32Type();
  auto append = [&](mlir::Type type) -> Value {
    llvm::SmallVector<mlir::Type> inputs(func.getArgumentTypes());
    inputs.push_back(type);
    func.setFunctionType(builder.getFunctionType(inputs, {}));
    return entry->addArgument(type, getNamedLoc(parameter));
  };
  forEachElement(
      object,
      [&](const Object &element) {
        mlir::Type type = scalarType(element.type, source);
        if (element.isPointer || !type || !type.isIntOrFloat())
          fail(Diagnostic::ParameterType, source,
               "parameter of type '" + element.type.getAsString() +
                   "' of a kernel");
        unsigned width = type.getIntOrFloatBitWidth();
        bool isReal = llvm::isa<mlir::FloatType>(type);
        Value value;
        if (width == 32) {
          value = append(type);
        } else if (width < 32) {
          value = append(i32);
          mlir::Type narrow = builder.getIntegerType(width);
          value = mlir::arith::TruncIOp::create(builder, loc, narrow, value);
          if (isReal)
            value = mlir::arith::BitcastOp::create(builder, loc, type, value);
        } else {
          mlir::Type i64 = builder.getI64Type();
          Value low = append(i32), high = append(i32);
          low = mlir::arith::ExtUIOp::create(builder, loc, i64, low);
          high = mlir::arith::ExtUIOp::create(builder, loc, i64, high);
          high = mlir::arith::ShLIOp::create(builder, loc, high,
                                             number(32, loc, 64));
          value = mlir::arith::OrIOp::create(builder, loc, low, high);
          if (isReal)
            value = mlir::arith::BitcastOp::create(builder, loc, type, value);
        }
        store(value, element, loc);
      },
      source);
}

void Importer::bindParameters(const FunctionDecl *function) {
  Frame &frame = *stack.back();
  for (const ParmVarDecl *parameter : function->parameters()) {
    QualType type = parameter->getType();
    SourceLocation source = parameter->getLocation();
    std::string text = "parameter '" + parameter->getNameAsString() +
                       "' of type '" + type.getAsString() + "' of a kernel";
    if (type->isPointerType() || type->isReferenceType())
      fail(Diagnostic::PointerParameter, source, text);
    if (getKernelType(type) != "buffer")
      continue;
    auto *record =
        cast<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    QualType element = record->getTemplateArgs()[0].getAsType();
    auto access = element.isConstQualified() ? kernel::Access::Read
                                             : kernel::Access::ReadWrite;
    auto buffer = kernel::BufferType::get(elementType(element, source), access);
    llvm::SmallVector<mlir::Type> inputs(func.getArgumentTypes());
    inputs.push_back(buffer);
    func.setFunctionType(builder.getFunctionType(inputs, {}));
    Object handle;
    handle.type = type;
    handle.memory = entry->addArgument(buffer, getNamedLoc(parameter));
    frame.variables[parameter] = handle;
  }
  for (const ParmVarDecl *parameter : function->parameters()) {
    if (frame.variables.count(parameter))
      continue;
    llvm::StringRef special = getKernelType(parameter->getType());
    if (!special.empty())
      fail(Diagnostic::ParameterType, parameter->getLocation(),
           "parameter '" + parameter->getNameAsString() + "' of type '" +
               parameter->getType().getAsString() + "' of a kernel");
    Object object = allocate(parameter->getType(), parameter->getLocation());
    bindMetadata(object, parameter);
    frame.variables[parameter] = object;
  }
}

/// A buffer that may be written is read_write; write alone is known once all is
/// imported. Buffers that a hook takes keep what the hook's body says.
void Importer::narrowAccess() {
  llvm::SmallVector<mlir::Type> inputs(func.getArgumentTypes());
  for (mlir::BlockArgument argument : func.getArguments()) {
    auto buffer = llvm::dyn_cast<kernel::BufferType>(argument.getType());
    if (!buffer || buffer.getAccess() != kernel::Access::ReadWrite)
      continue;
    bool reads = false, writes = false;
    for (mlir::Operation *user : argument.getUsers()) {
      bool stores = llvm::isa<kernel::StoreOp, kernel::FragmentStoreOp>(user);
      writes |= !llvm::isa<kernel::LoadOp, kernel::FragmentLoadOp>(user);
      reads |= !stores;
    }
    if (reads && writes)
      continue;
    auto access = reads ? kernel::Access::Read : kernel::Access::Write;
    if (!reads && !writes)
      access = kernel::Access::Read;
    auto narrow = kernel::BufferType::get(buffer.getElementType(), access);
    argument.setType(narrow);
    inputs[argument.getArgNumber()] = narrow;
  }
  func.setFunctionType(builder.getFunctionType(inputs, {}));
}

bool Importer::importKernel(const FunctionDecl *function,
                            llvm::StringRef name) {
  try {
    SourceLocation source = function->getLocation();
    if (!function->getReturnType()->isVoidType())
      fail(Diagnostic::ReturnType, source,
           "kernel '" + function->getNameAsString() + "' returns '" +
               function->getReturnType().getAsString() + "'");
    llvm::SmallVector<int32_t, 3> size;
    if (auto extents = findAnnotation(function, "poot.workgroup_size"))
      for (const Expr *extent : *extents) {
        Expr::EvalResult value;
        if (!extent->isValueDependent() && extent->EvaluateAsInt(value, ast))
          size.push_back(value.Val.getInt().getExtValue());
      }
    int64_t items = 1;
    bool isSize = size.size() == 3;
    for (int32_t extent : size) {
      isSize = isSize && extent >= 1 && extent <= 1024;
      items *= isSize ? extent : 1;
    }
    if (!isSize || items > 1024)
      fail(Diagnostic::WorkgroupSize, source,
           "kernel '" + function->getNameAsString() +
               "' has no workgroup size, or an impossible one");

    builder.setInsertionPointToEnd(module.getBody());
    func = kernel::FuncOp::create(builder, getLoc(source), name,
                                  builder.getFunctionType({}, {}), size);
    llvm::SmallVector<mlir::NamedAttribute> attributes;
    for (auto *attribute : function->specific_attrs<AnnotateAttr>())
      if (attribute->getAnnotation() == "poot.attribute" &&
          attribute->args_size() == 2)
        attributes.emplace_back(
            builder.getStringAttr(getText(attribute->args_begin()[0])),
            builder.getStringAttr(getText(attribute->args_begin()[1])));
    if (!attributes.empty())
      func->setAttr(kernel::kAttributesAttr,
                    builder.getDictionaryAttr(attributes));

    region = &func.getBody();
    entry = &region->front();
    Frame frame(func.getLoc());
    frame.function = function;
    stack.push_back(&frame);
    Block *start = newBlock();
    startBlock(start);
    bindParameters(function);
    frame.returnBlock = newBlock();
    statement(function->getBody());
    branch(frame.returnBlock, func.getLoc());
    startBlock(frame.returnBlock);
    kernel::ReturnOp::create(builder, func.getLoc());
    startBlock(entry);
    branch(start, func.getLoc());
    finishBody(*region,
               [&] { kernel::ReturnOp::create(builder, func.getLoc()); });
    stack.pop_back();
    narrowAccess();
    return true;
  } catch (Failure &) {
    stack.clear();
    return false;
  }
}

mlir::OwningOpRef<mlir::ModuleOp>
poot::import::importKernel(CompilerInstance &clang, mlir::MLIRContext &context,
                           const KernelDecl &kernel, Reporter &reporter) {
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                      mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                      mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  checkKernel(clang.getASTContext(), kernel.function, reporter);
  // A kernel that fails is imported none the less, for what comes up only then.
  reporter.startImport();
  Importer importer(clang, *module, reporter);
  if (!importer.importKernel(kernel.function, kernel.name) ||
      reporter.hasFound())
    return nullptr;
  mlir::PassManager passes(&context);
  kernel::buildKernelOptimizePipeline(passes, /*unrolls=*/false);
  // The bodies of hooks are kernels in small.
  mlir::OpPassManager &bodies = passes.nest<kernel::HookBodyOp>();
  bodies.addPass(mlir::createCanonicalizerPass());
  bodies.addPass(mlir::createSROA());
  bodies.addPass(mlir::createMem2Reg());
  bodies.addPass(mlir::createCanonicalizerPass());
  bodies.addPass(mlir::createCSEPass());
  // A defect of the importer, not of the kernel; it must not pass unseen.
  if (failed(mlir::verify(*module)) || failed(passes.run(*module)))
    return nullptr;
  return module;
}
