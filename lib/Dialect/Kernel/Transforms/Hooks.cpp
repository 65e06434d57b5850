//===- Hooks.cpp - Fills the hooks of a kernel ----------------------------===//
//
// A call of a hook is replaced in place. A body of one block is spliced in; of
// a body with branches the blocks are, and the block of the call is split.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Dialect/Kernel/Passes.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELFILLHOOKS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

static SmallVector<HookOp> findHooks(FuncOp kernel, StringRef name) {
  SmallVector<HookOp> hooks;
  kernel.walk([&](HookOp hook) {
    if (hook.getName() == name)
      hooks.push_back(hook);
  });
  return hooks;
}

static InFlightDiagnostic noSuchHook(FuncOp kernel, StringRef name) {
  InFlightDiagnostic diagnostic = kernel.emitError("has no hook '")
                                  << name << "'; it has ";
  SmallVector<StringRef> names;
  kernel.walk([&](HookOp hook) {
    if (!llvm::is_contained(names, hook.getName()))
      names.push_back(hook.getName());
  });
  if (names.empty())
    diagnostic << "none";
  llvm::interleaveComma(names, diagnostic,
                        [&](StringRef n) { diagnostic << "'" << n << "'"; });
  return diagnostic;
}

/// Inserts an argument where the interface wants it: a buffer behind the
/// buffers, metadata at the end.
static Value appendArgument(FuncOp kernel, Type type, Location loc) {
  unsigned position =
      isa<BufferType>(type) ? kernel.getNumBuffers() : kernel.getNumArguments();
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs.insert(inputs.begin() + position, type);
  Value argument = kernel.getBody().front().insertArgument(position, type, loc);
  kernel.setFunctionType(FunctionType::get(kernel.getContext(), inputs, {}));
  return argument;
}

/// Replaces `hook` by `body` with these arguments.
static void inlineBody(HookOp hook, HookBodyOp body, ValueRange arguments) {
  FuncOp kernel = hook->getParentOfType<FuncOp>();
  IRMapping mapping;
  Region copy;
  body.getBody().cloneInto(&copy, mapping);
  Location callLoc = hook.getLoc();
  copy.walk([&](Operation *op) {
    op->setLoc(CallSiteLoc::get(op->getLoc(), callLoc));
  });
  for (auto [parameter, argument] :
       llvm::zip(copy.front().getArguments(), arguments))
    parameter.replaceAllUsesWith(argument);
  copy.front().eraseArguments(0, copy.front().getNumArguments());
  // Variables and arrays are declared in the kernel's entry block.
  Block &entry = kernel.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(copy.front()))
    if (isa<VarOp, WorkgroupAllocOp>(op))
      op.moveBefore(&entry, entry.begin());

  Block *block = hook->getBlock();
  if (copy.hasOneBlock()) {
    auto yield = cast<YieldOp>(copy.front().getTerminator());
    hook.replaceAllUsesWith(yield.getOperands());
    yield.erase();
    block->getOperations().splice(hook->getIterator(),
                                  copy.front().getOperations());
    hook.erase();
    return;
  }
  Block *rest = block->splitBlock(hook);
  for (Value result : hook.getResults())
    result.replaceAllUsesWith(rest->addArgument(result.getType(), callLoc));
  hook.erase();
  for (Block &inner : copy)
    if (auto yield = dyn_cast<YieldOp>(inner.getTerminator())) {
      OpBuilder builder(yield);
      cf::BranchOp::create(builder, yield.getLoc(), rest, yield.getOperands());
      yield.erase();
    }
  OpBuilder builder(block, block->end());
  cf::BranchOp::create(builder, callLoc, &copy.front());
  kernel.getBody().getBlocks().splice(rest->getIterator(), copy.getBlocks());
}

/// A hook that is filled needs no more filling; the kernel may have said by
/// what.
static void dropFillEntry(FuncOp kernel, StringRef name) {
  auto attribute = kernel->getAttrOfType<DictionaryAttr>(kFillAttr);
  if (!attribute)
    return;
  NamedAttrList entries(attribute);
  entries.erase(name);
  if (entries.empty())
    kernel->removeAttr(kFillAttr);
  else
    kernel->setAttr(kFillAttr, entries.getDictionary(kernel.getContext()));
}

static LogicalResult fill(FuncOp kernel, StringRef name, HookBodyOp body,
                          MutableArrayRef<HookOp> hooks) {
  if (hooks.empty())
    return noSuchHook(kernel, name);
  ArrayRef<Type> parameters = body.getArgumentTypes();
  for (HookOp hook : hooks) {
    size_t count = hook.getNumOperands();
    if (parameters.size() < count ||
        !llvm::equal(hook.getOperandTypes(), parameters.take_front(count)) ||
        !llvm::equal(hook.getResultTypes(), body.getResultTypes()))
      return hook.emitError("hook '")
             << name << "' of type "
             << FunctionType::get(kernel.getContext(), hook.getOperandTypes(),
                                  hook.getResultTypes())
             << " can't be filled by " << body.getSymNameAttr() << " of type "
             << body.getFunctionType();
  }
  size_t taken = hooks.front()->getNumOperands();
  for (Type type : parameters.drop_front(taken))
    if (!isa<BufferType>(type) && !type.isInteger(32) && !type.isF32())
      return body.emitError("takes ")
             << type << " beyond the operands of hook '" << name
             << "'; allowed are buffers, i32 and f32";
  SmallVector<Value> added;
  for (Type type : parameters.drop_front(taken))
    added.push_back(appendArgument(kernel, type, body.getLoc()));
  for (HookOp hook : hooks) {
    SmallVector<Value> arguments(hook.getOperands());
    arguments.append(added);
    inlineBody(hook, body, arguments);
  }
  dropFillEntry(kernel, name);
  return success();
}

LogicalResult poot::kernel::fillHook(FuncOp kernel, StringRef name,
                                     HookBodyOp body) {
  SmallVector<HookOp> hooks = findHooks(kernel, name);
  return fill(kernel, name, body, hooks);
}

LogicalResult poot::kernel::fillHook(FuncOp kernel, StringRef name,
                                     HookFiller filler) {
  SmallVector<HookOp> hooks = findHooks(kernel, name);
  if (hooks.empty())
    return noSuchHook(kernel, name);
  for (HookOp hook : hooks) {
    // What is built may end the block.
    Block *block = hook->getBlock(), *rest = block->splitBlock(hook);
    KernelBuilder builder(hook);
    builder.getOpBuilder().setInsertionPointToEnd(block);
    FailureOr<SmallVector<Value>> values = filler(builder, hook);
    Block *end = builder.getOpBuilder().getInsertionBlock();
    if (end == block) {
      block->getOperations().splice(block->end(), rest->getOperations());
      rest->erase();
    } else {
      cf::BranchOp::create(builder.getOpBuilder(), hook.getLoc(), rest);
    }
    if (failed(values))
      return failure();
    if (!llvm::equal(ValueRange(*values).getTypes(), hook.getResultTypes()))
      return hook.emitError("hook '")
             << name << "' was filled with values of other types";
    hook.replaceAllUsesWith(*values);
    hook.erase();
  }
  dropFillEntry(kernel, name);
  return success();
}

static HookBodyOp getDefaultBody(HookOp hook) {
  return SymbolTable::lookupNearestSymbolFrom<HookBodyOp>(
      hook, hook.getDefaultBodyAttr());
}

/// Checks that the hooks in `region` have bodies, and that none of them comes
/// to call itself. `callers` are the bodies that lead here.
static LogicalResult checkDefaults(Region &region,
                                   SmallVectorImpl<HookBodyOp> &callers,
                                   DenseSet<Operation *> &checked) {
  WalkResult result = region.walk([&](HookOp hook) {
    HookBodyOp body = getDefaultBody(hook);
    if (!body) {
      hook.emitError("hook '")
          << hook.getName() << "' has no body " << hook.getDefaultBodyAttr();
      return WalkResult::interrupt();
    }
    if (llvm::is_contained(callers, body)) {
      hook.emitError("hook '")
          << hook.getName() << "' has a default that calls itself";
      return WalkResult::interrupt();
    }
    if (checked.contains(body))
      return WalkResult::advance();
    constexpr size_t kMaxDepth = 64;
    if (callers.size() == kMaxDepth) {
      hook.emitError("hook '") << hook.getName() << "' is called more than "
                               << kMaxDepth << " hooks deep";
      return WalkResult::interrupt();
    }
    callers.push_back(body);
    if (failed(checkDefaults(body.getBody(), callers, checked)))
      return WalkResult::interrupt();
    callers.pop_back();
    checked.insert(body);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult poot::kernel::fillDefaultHooks(FuncOp kernel) {
  SmallVector<HookBodyOp> callers;
  DenseSet<Operation *> checked;
  if (failed(checkDefaults(kernel.getBody(), callers, checked)))
    return failure();
  // A body that calls the next one twice, and so on, would fill the memory.
  constexpr unsigned kMaxOps = 65536;
  unsigned ops = 0;
  SmallVector<HookOp> hooks;
  do {
    // A body's hooks come up once it stands in the kernel.
    hooks.clear();
    kernel.walk([&](HookOp hook) { hooks.push_back(hook); });
    for (HookOp hook : hooks) {
      HookBodyOp body = getDefaultBody(hook);
      body.walk([&](Operation *) { ++ops; });
      if (ops > kMaxOps)
        return hook.emitError("the defaults of the kernel's hooks come to more "
                              "than ")
               << kMaxOps << " operations";
      inlineBody(hook, body, hook.getOperands());
    }
  } while (!hooks.empty());
  kernel->removeAttr(kFillAttr);
  return success();
}

llvm::BitVector poot::kernel::eraseUnusedArguments(FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  llvm::BitVector unused(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  if (unused.any())
    (void)kernel.eraseArguments(unused);
  return unused;
}

namespace {
struct FillHooks : poot::kernel::impl::KernelFillHooksBase<FillHooks> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernel : module.getOps<FuncOp>()) {
      auto attribute = kernel->getAttrOfType<DictionaryAttr>(kFillAttr);
      ArrayRef<NamedAttribute> entries =
          attribute ? attribute.getValue() : ArrayRef<NamedAttribute>();
      // All are found before any is filled: what bodies call takes its default,
      // in whatever order they come.
      SmallVector<SmallVector<HookOp>> hooks;
      for (NamedAttribute entry : entries)
        hooks.push_back(findHooks(kernel, entry.getName()));
      for (auto [entry, calls] : llvm::zip(entries, hooks)) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>(entry.getValue());
        auto body = symbol ? module.lookupSymbol<HookBodyOp>(symbol.getAttr())
                           : HookBodyOp();
        if (!body) {
          kernel.emitError("fills hook '")
              << entry.getName().getValue() << "' with " << entry.getValue()
              << ", which is no kernel.hook_body of the module";
          return signalPassFailure();
        }
        if (failed(fill(kernel, entry.getName(), body, calls)))
          return signalPassFailure();
      }
      if (failed(fillDefaultHooks(kernel)))
        return signalPassFailure();
    }
    for (auto body : llvm::make_early_inc_range(module.getOps<HookBodyOp>()))
      body.erase();
  }
};
} // namespace
