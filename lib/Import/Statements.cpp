//===- Statements.cpp - Control flow becomes blocks -----------------------===//

#include "Importer.h"

#include "clang/AST/Attr.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using mlir::Location;
using mlir::Value;

void Importer::variable(const VarDecl *decl) {
  SourceLocation source = decl->getLocation();
  QualType type = decl->getType();
  if (decl->isStaticLocal()) {
    if (isConstant(decl, ast))
      return; // a constant wherever it is used
    fail(Diagnostic::Static, source,
         "static variable '" + decl->getNameAsString() + "' in a kernel");
  }
  Frame &frame = *stack.back();
  if (getKernelType(type) == "workgroup") {
    auto *record =
        cast<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    auto arguments = record->getTemplateArgs().asArray();
    int64_t count = 1;
    for (const TemplateArgument &extent : arguments[1].pack_elements())
      count *= extent.getAsIntegral().getExtValue();
    // The arrays whose bytes it may take come behind a tag.
    llvm::SmallVector<Value> overlays;
    const Expr *init = decl->getInit();
    if (auto *full = llvm::dyn_cast_or_null<FullExpr>(init))
      init = full->getSubExpr();
    if (auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init))
      for (unsigned i = 1; i < constructed->getNumArgs(); ++i) {
        Object other = place(constructed->getArg(i));
        (void)getMemory(other, source);
        if (!other.isLeaf() ||
            !llvm::isa<kernel::WorkgroupType>(other.memory.getType()))
          fail(Diagnostic::WorkgroupArray, source,
               "overlay of what is no workgroup array");
        overlays.push_back(other.memory);
      }
    frame.variables[decl] =
        allocateWorkgroup(arguments[0].getAsType(), count, overlays, source);
    return;
  }
  if (type->isReferenceType()) {
    const Expr *init = decl->getInit();
    frame.variables[decl] = init->isGLValue() ? place(init) : temporary(init);
    return;
  }
  Object object = allocate(type, source);
  if (decl->getInit()) {
    frame.variables[decl] = object;
    initialize(object, decl->getInit());
  }
  frame.variables[decl] = object;
  if (auto *decomposition = llvm::dyn_cast<DecompositionDecl>(decl))
    for (const BindingDecl *binding : decomposition->bindings())
      if (const VarDecl *holding = binding->getHoldingVar())
        variable(holding);
}

void Importer::returnStatement(const ReturnStmt *stmt) {
  Frame &frame = *stack.back();
  if (const Expr *value = stmt->getRetValue()) {
    if (frame.returnsReference) {
      Object object = value->isGLValue() ? place(value) : temporary(value);
      if (frame.reference && !isSamePlace(*frame.reference, object))
        fail(Diagnostic::ReferenceReturn, stmt->getReturnLoc(),
             "references to different objects returned in a kernel");
      frame.reference = object;
    } else if (value->getType()->isVoidType()) {
      discard(value);
    } else if (frame.result) {
      // What is bound at import is the same whichever return is taken.
      std::optional<Object> before;
      if (frame.hasReturned && holdsBuffers(value->getType()))
        before = *frame.result;
      initialize(*frame.result, value);
      if (before && !isSamePlace(*before, *frame.result))
        fail(Diagnostic::BufferSelect, stmt->getReturnLoc(),
             "one of several buffers returned in a kernel");
      frame.hasReturned = true;
    }
  }
  branch(frame.returnBlock, getLoc(stmt->getReturnLoc()));
}

void Importer::ifStatement(const IfStmt *stmt) {
  if (stmt->isConstexpr()) {
    if (stmt->getInit())
      statement(stmt->getInit());
    if (auto taken = stmt->getNondiscardedCase(ast); taken && *taken)
      statement(*taken);
    return;
  }
  if (stmt->isConsteval()) { // nothing of a kernel is evaluated by clang
    statement(stmt->isNegatedConsteval() ? stmt->getThen() : stmt->getElse());
    return;
  }
  Location loc = getLoc(stmt->getIfLoc());
  if (stmt->getInit())
    statement(stmt->getInit());
  if (const VarDecl *decl = stmt->getConditionVariable())
    variable(decl);
  Value condition = scalar(stmt->getCond());
  Block *then = newBlock(), *end = newBlock();
  Block *otherwise = stmt->getElse() ? newBlock() : end;
  branchIf(condition, then, otherwise, loc);
  startBlock(then);
  statement(stmt->getThen());
  branch(end, loc);
  if (stmt->getElse()) {
    startBlock(otherwise);
    statement(stmt->getElse());
    branch(end, loc);
  }
  startBlock(end);
}

void Importer::loop(const Expr *condition, const Stmt *body,
                    const Expr *increment, bool testsAtEnd,
                    SourceLocation source, const Stmt *loopVariable,
                    const VarDecl *conditionVariable) {
  Location loc = getLoc(source);
  auto hint = std::exchange(loopHint, std::nullopt);
  Block *head = newBlock(), *inner = newBlock(), *latch = newBlock(),
        *end = newBlock();
  // The back edge leads to `header`.
  Block *header = testsAtEnd ? inner : head;
  branch(header, loc);
  auto addHint = [&](Block *block) {
    if (!hint || block != header)
      return;
    auto [unroll, count] = *hint;
    kernel::LoopHintOp::create(builder, loc, unroll,
                               unroll == kernel::Unroll::Count
                                   ? builder.getI32IntegerAttr(count)
                                   : mlir::IntegerAttr());
  };
  startBlock(head);
  addHint(head);
  if (conditionVariable)
    variable(conditionVariable);
  Value test = condition ? scalar(condition) : number(1, loc, 1);
  branchIf(test, inner, end, loc);
  startBlock(inner);
  addHint(inner);
  targets.push_back({end, testsAtEnd ? head : latch});
  if (loopVariable)
    statement(loopVariable);
  statement(body);
  targets.pop_back();
  branch(testsAtEnd ? head : latch, loc);
  startBlock(latch);
  if (increment)
    discard(increment);
  branch(testsAtEnd ? inner : head, loc);
  startBlock(end);
}

void Importer::switchStatement(const SwitchStmt *stmt) {
  Location loc = getLoc(stmt->getSwitchLoc());
  if (stmt->getInit())
    statement(stmt->getInit());
  if (const VarDecl *decl = stmt->getConditionVariable())
    variable(decl);
  Value value = scalar(stmt->getCond());
  auto type = llvm::cast<mlir::IntegerType>(value.getType());
  Block *end = newBlock(), *otherwise = end;
  llvm::SmallVector<llvm::APInt> numbers;
  llvm::SmallVector<Block *> blocks;
  for (const SwitchCase *label = stmt->getSwitchCaseList(); label;
       label = label->getNextSwitchCase()) {
    Block *block = newBlock();
    cases[label] = block;
    auto *constant = llvm::dyn_cast<CaseStmt>(label);
    if (!constant) {
      otherwise = block;
      continue;
    }
    if (constant->getRHS())
      fail(Diagnostic::CaseRange, constant->getCaseLoc(),
           "range of cases in a kernel");
    numbers.push_back(constant->getLHS()->EvaluateKnownConstInt(ast).extOrTrunc(
        type.getWidth()));
    blocks.push_back(block);
  }
  if (blocks.empty()) {
    branch(otherwise, loc);
  } else {
    llvm::SmallVector<mlir::ValueRange> none(blocks.size());
    mlir::cf::SwitchOp::create(
        builder, loc, value, otherwise, mlir::ValueRange(),
        mlir::DenseIntElementsAttr::get(
            mlir::VectorType::get({int64_t(numbers.size())}, type), numbers),
        blocks, none);
  }
  targets.push_back({end, nullptr});
  startBlock(newBlock()); // what stands before the first label
  statement(stmt->getBody());
  targets.pop_back();
  branch(end, loc);
  startBlock(end);
}

/// Every statement is imported, also behind one that failed, so that a run
/// reports all that is wrong.
void Importer::statements(const CompoundStmt *stmt) {
  bool failed = false;
  for (const Stmt *inner : stmt->body()) {
    try {
      statement(inner);
    } catch (Failure &) {
      failed = true;
      // What was declared stays unknown: what uses it would be reported too.
      if (llvm::isa<DeclStmt>(inner))
        throw;
      startBlock(newBlock());
    }
  }
  if (failed)
    throw Failure();
}

void Importer::statement(const Stmt *stmt) {
  using namespace llvm;
  if (!stmt)
    return;
  SourceLocation source = stmt->getBeginLoc();
  if (auto *label = dyn_cast<SwitchCase>(stmt)) {
    Block *block = cases[label];
    branch(block, getLoc(source));
    startBlock(block);
    return statement(label->getSubStmt());
  }
  // What stands behind a return or break is reached by labels at most.
  if (isTerminated())
    startBlock(newBlock());
  if (auto *s = dyn_cast<Expr>(stmt))
    return discard(s);
  if (auto *s = dyn_cast<CompoundStmt>(stmt))
    return statements(s);
  if (isa<NullStmt>(stmt))
    return;
  if (auto *s = dyn_cast<AttributedStmt>(stmt)) {
    for (const Attr *attribute : s->getAttrs()) {
      auto *hint = dyn_cast<LoopHintAttr>(attribute);
      if (!hint)
        continue;
      if (hint->getOption() == LoopHintAttr::UnrollCount && hint->getValue()) {
        Expr::EvalResult count;
        if (hint->getValue()->EvaluateAsInt(count, ast)) {
          uint64_t n = count.Val.getInt().getZExtValue();
          loopHint = n < 2 ? std::pair(kernel::Unroll::None, 0u)
                           : std::pair(kernel::Unroll::Count,
                                       static_cast<uint32_t>(n));
        }
      } else if (hint->getOption() == LoopHintAttr::Unroll) {
        loopHint = {hint->getState() == LoopHintAttr::Disable
                        ? kernel::Unroll::None
                        : kernel::Unroll::Full,
                    0u};
      }
    }
    statement(s->getSubStmt());
    loopHint = std::nullopt;
    return;
  }
  if (auto *s = dyn_cast<DeclStmt>(stmt)) {
    for (const Decl *decl : s->decls())
      if (auto *v = dyn_cast<VarDecl>(decl))
        variable(v);
    return;
  }
  if (auto *s = dyn_cast<ReturnStmt>(stmt))
    return returnStatement(s);
  if (auto *s = dyn_cast<IfStmt>(stmt))
    return ifStatement(s);
  if (auto *s = dyn_cast<ForStmt>(stmt)) {
    auto hint = std::exchange(loopHint, std::nullopt);
    statement(s->getInit());
    loopHint = hint;
    return loop(s->getCond(), s->getBody(), s->getInc(), false, s->getForLoc(),
                nullptr, s->getConditionVariable());
  }
  if (auto *s = dyn_cast<WhileStmt>(stmt))
    return loop(s->getCond(), s->getBody(), nullptr, false, s->getWhileLoc(),
                nullptr, s->getConditionVariable());
  if (auto *s = dyn_cast<DoStmt>(stmt))
    return loop(s->getCond(), s->getBody(), nullptr, true, s->getDoLoc());
  if (auto *s = dyn_cast<CXXForRangeStmt>(stmt)) {
    auto hint = std::exchange(loopHint, std::nullopt);
    statement(s->getInit());
    statement(s->getRangeStmt());
    statement(s->getBeginStmt());
    statement(s->getEndStmt());
    loopHint = hint;
    return loop(s->getCond(), s->getBody(), s->getInc(), false, s->getForLoc(),
                s->getLoopVarStmt());
  }
  if (isa<BreakStmt>(stmt))
    return branch(targets.back().onBreak, getLoc(source));
  if (isa<ContinueStmt>(stmt)) {
    for (const Target &target : llvm::reverse(targets))
      if (target.onContinue)
        return branch(target.onContinue, getLoc(source));
    return;
  }
  if (auto *s = dyn_cast<SwitchStmt>(stmt))
    return switchStatement(s);
  if (isa<GotoStmt, IndirectGotoStmt, LabelStmt>(stmt))
    fail(Diagnostic::Goto, source, "'goto' or a label in a kernel");
  if (isa<AsmStmt>(stmt))
    fail(Diagnostic::Assembly, source, "inline assembly in a kernel");
  if (isa<CXXTryStmt>(stmt))
    fail(Diagnostic::Exception, source, "'try' in a kernel");
  if (isa<CoreturnStmt, CoroutineBodyStmt>(stmt))
    fail(Diagnostic::Coroutine, source, "coroutine in a kernel");
  fail(Diagnostic::Statement, source,
       Twine("statement of kind ") + stmt->getStmtClassName() + " in a kernel");
}
