//===- Importer.cpp - Annotations, reports, blocks ------------------------===//

#include "Importer.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;
using namespace poot::import;
using mlir::Location;

std::optional<llvm::SmallVector<const Expr *, 4>>
poot::import::findAnnotation(const Decl *decl, llvm::StringRef key) {
  if (!decl)
    return std::nullopt;
  for (const Decl *redeclaration : decl->redecls())
    for (auto *attribute : redeclaration->specific_attrs<AnnotateAttr>())
      if (attribute->getAnnotation() == key)
        return llvm::SmallVector<const Expr *, 4>(attribute->args());
  if (auto *function = llvm::dyn_cast<FunctionDecl>(decl))
    if (auto *pattern = function->getTemplateInstantiationPattern();
        pattern && pattern != function)
      return findAnnotation(pattern, key);
  if (auto *record = llvm::dyn_cast<ClassTemplateSpecializationDecl>(decl))
    return findAnnotation(record->getSpecializedTemplate()->getTemplatedDecl(),
                          key);
  return std::nullopt;
}

bool poot::import::isConstant(const VarDecl *variable,
                              const ASTContext &context) {
  if (variable->isConstexpr() ||
      variable->isUsableInConstantExpressions(context))
    return true;
  QualType element = context.getBaseElementType(variable->getType());
  const Expr *init = variable->getAnyInitializer();
  return variable->hasGlobalStorage() && element.isConstQualified() &&
         !element.isVolatileQualified() && !element->isReferenceType() &&
         init && !init->isValueDependent() && variable->evaluateValue();
}

llvm::StringRef poot::import::getText(const Expr *argument) {
  argument = argument->IgnoreParenImpCasts();
  if (auto *constant = llvm::dyn_cast<ConstantExpr>(argument))
    argument = constant->getSubExpr()->IgnoreParenImpCasts();
  auto *literal = llvm::dyn_cast<StringLiteral>(argument);
  return literal ? literal->getString() : llvm::StringRef();
}

llvm::StringRef poot::import::getKernelType(QualType type) {
  auto *record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
  auto arguments = findAnnotation(record, "poot.type");
  return arguments && arguments->size() == 1 ? getText(arguments->front())
                                             : llvm::StringRef();
}

Importer::Importer(CompilerInstance &clang, mlir::ModuleOp module,
                   Reporter &reporter)
    : clang(clang), ast(clang.getASTContext()), module(module),
      reporter(reporter), builder(module.getContext()) {}

void Importer::fail(Diagnostic diagnostic, SourceLocation loc,
                    const llvm::Twine &message) {
  reporter.error(diagnostic, loc, message);
  throw Failure();
}

Location Importer::getLoc(SourceLocation loc) {
  if (loc.isValid())
    lastPlace = loc;
  SourceManager &sources = ast.getSourceManager();
  PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(loc));
  mlir::MLIRContext *context = module.getContext();
  Location result =
      place.isInvalid()
          ? Location(mlir::UnknownLoc::get(context))
          : mlir::FileLineColLoc::get(context, place.getFilename(),
                                      place.getLine(), place.getColumn());
  if (stack.size() > 1)
    return mlir::CallSiteLoc::get(result, stack.back()->callLoc);
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

mlir::Block *Importer::newBlock() { return &region->emplaceBlock(); }

bool Importer::isTerminated() const {
  Block *block = builder.getInsertionBlock();
  return !block->empty() &&
         block->back().hasTrait<mlir::OpTrait::IsTerminator>();
}

void Importer::branch(Block *to, Location loc, mlir::ValueRange values) {
  if (!isTerminated())
    mlir::cf::BranchOp::create(builder, loc, to, values);
}

void Importer::branchIf(Value condition, Block *then, Block *otherwise,
                        Location loc) {
  mlir::cf::CondBranchOp::create(builder, loc, condition, then, otherwise);
}

/// Ends the blocks that fall off the end. Nothing reaches them.
void Importer::finishBody(mlir::Region &body,
                          llvm::function_ref<void()> addEnd) {
  for (Block &block : body)
    if (block.empty() ||
        !block.back().hasTrait<mlir::OpTrait::IsTerminator>()) {
      startBlock(&block);
      addEnd();
    }
}
