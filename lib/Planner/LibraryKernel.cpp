//===- LibraryKernel.cpp - Kernels of the library serve requests ----------===//

#include "LibraryKernel.h"
#include "Poot/Dialect/Kernel/Transforms.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace poot::planner {

/// All kernels, each behind a line `// kernel NAME`.
static constexpr char kLibraryText[] = {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
#embed POOT_KERNEL_LIBRARY
#pragma clang diagnostic pop
    , '\0'};

/// Where the texts of the kernels begin and end.
static const llvm::StringMap<StringRef> &libraryTexts() {
  static const llvm::StringMap<StringRef> texts = [] {
    constexpr StringLiteral mark = "// kernel ";
    llvm::StringMap<StringRef> found;
    StringRef rest(kLibraryText, sizeof kLibraryText - 1);
    assert(rest.starts_with(mark) && "made by kernels/join_kernels.cmake");
    while (rest.consume_front(mark)) {
      auto [name, text] = rest.split('\n');
      size_t end = ("\n" + text).str().find(("\n" + mark).str());
      found[name] = text.take_front(end);
      rest = text.substr(std::min(end, text.size()));
    }
    return found;
  }();
  return texts;
}

OwningOpRef<ModuleOp> KernelLibrary::instantiate(MLIRContext *context,
                                                 StringRef name) {
  OwningOpRef<ModuleOp> &module = modules[name];
  if (!module) {
    StringRef text = libraryTexts().lookup(name);
    if (text.empty())
      return {};
    module = parseSourceString<ModuleOp>(text, context);
    if (!module)
      return {};
  }
  return module->clone();
}

LibraryKernel::LibraryKernel(KernelLibrary &library, Location loc,
                             StringRef name, const KernelRequest &request)
    : LibraryKernel(library.instantiate(loc.getContext(), name), loc, name,
                    request) {}

LibraryKernel::LibraryKernel(OwningOpRef<ModuleOp> source, Location loc,
                             StringRef name, const KernelRequest &request)
    : loc(loc), module(std::move(source)), request(request) {
  if (module)
    func = module->lookupSymbol<kernel::FuncOp>(name);
  if (!func) {
    emitError(loc) << "the kernel library has no kernel '" << name << "'";
    failed = true;
    return;
  }
  unsigned numBuffers = func.getNumBuffers();
  for (BlockArgument argument : func.getArguments())
    (argument.getArgNumber() < numBuffers ? ownBuffers : ownMetadata)
        .push_back(argument);
  kernel::KernelBuilder builder(&func.getBody().front().front());
  arguments = KernelArguments::append(builder, request);
}

bool LibraryKernel::hasHook(StringRef hook) {
  return !failed && func.walk([&](kernel::HookOp op) {
                          return op.getName() == hook ? WalkResult::interrupt()
                                                      : WalkResult::advance();
                        })
                        .wasInterrupted();
}

void LibraryKernel::fill(StringRef hook, Filler filler) {
  fillCalls(hook, [&](OperandAccess &operands, kernel::HookOp call) {
    SmallVector<KValue> numbers;
    for (Value operand : call.getOperands())
      if (!isa<kernel::BufferType>(operand.getType()))
        numbers.push_back({operands.k, operand});
    return filler(operands, numbers);
  });
}

void LibraryKernel::fillCalls(StringRef hook, CallFiller filler) {
  if (failed)
    return;
  auto fillCall = [&](kernel::KernelBuilder &k,
                      kernel::HookOp call) -> FailureOr<SmallVector<Value>> {
    OperandAccess operands(k, request, arguments);
    SmallVector<Value> results;
    for (KValue value : filler(operands, call))
      results.push_back(value);
    return results;
  };
  failed = mlir::failed(kernel::fillHook(func, hook, fillCall));
}

void LibraryKernel::set(StringRef constant, double value) {
  if (failed)
    return;
  func.walk([&](kernel::SpecConstantOp op) {
    if (op.getName() != constant)
      return;
    OpBuilder builder(op);
    auto number =
        isa<FloatType>(op.getType())
            ? TypedAttr(builder.getFloatAttr(op.getType(), value))
            : builder.getIntegerAttr(op.getType(), static_cast<int64_t>(value));
    op.replaceAllUsesWith(
        arith::ConstantOp::create(builder, op.getLoc(), number).getResult());
    op.erase();
  });
}

void LibraryKernel::bind(unsigned i, unsigned operand) {
  if (!failed)
    bound[ownBuffers[i]] = operand;
}

void LibraryKernel::compute(unsigned i,
                            function_ref<KValue(OperandAccess &)> value) {
  if (failed)
    return;
  kernel::KernelBuilder builder(&func.getBody().front().front());
  OperandAccess operands(builder, request, arguments);
  ownMetadata[i].replaceAllUsesWith(value(operands));
}

void LibraryKernel::requireSubgroupSize(int32_t size) {
  if (!failed)
    func->setAttr(kernel::kSubgroupSizeAttr,
                  Builder(func.getContext()).getI32IntegerAttr(size));
}

void LibraryKernel::launchInvocations(int64_t count) {
  if (!failed)
    launchWorkgroups(
        llvm::divideCeilSigned(count, func.getWorkgroupSize().front()));
}

void LibraryKernel::launchWorkgroups(int64_t count) {
  grid = linearGrid(count);
}

/// Puts the buffers of a kernel into the order of their operands, which
/// `operands` gives for each argument.
static void sortBuffers(kernel::FuncOp func,
                        SmallVectorImpl<unsigned> &operands) {
  unsigned count = func.getNumBuffers();
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq(0u, count));
  llvm::stable_sort(
      order, [&](unsigned a, unsigned b) { return operands[a] < operands[b]; });
  Block &entry = func.getBody().front();
  SmallVector<Type> types;
  SmallVector<unsigned> sorted;
  for (unsigned i : order) {
    BlockArgument old = entry.getArgument(i);
    types.push_back(old.getType());
    sorted.push_back(operands[i]);
    old.replaceAllUsesWith(entry.insertArgument(count + types.size() - 1,
                                                old.getType(), old.getLoc()));
  }
  entry.eraseArguments(0, count);
  llvm::append_range(types, func.getArgumentTypes().drop_front(count));
  llvm::copy(sorted, operands.begin());
  func.setFunctionType(FunctionType::get(func.getContext(), types, {}));
}

FailureOr<GeneratedKernel> LibraryKernel::finish(OpBuilder &builder,
                                                 StringRef name) {
  if (failed || mlir::failed(kernel::fillDefaultHooks(func)))
    return failure();
  kernel::specializeToDefaults(func);
  // Operands by the arguments' order, which passes keep.
  SmallVector<unsigned> operands;
  for (BlockArgument argument : func.getArguments()) {
    auto it = bound.find(argument);
    operands.push_back(it == bound.end() ? arguments.operandOf(argument)
                                         : it->second);
  }
  PassManager passes(builder.getContext());
  kernel::buildKernelOptimizePipeline(passes);
  if (mlir::failed(passes.run(*module)))
    return emitError(loc) << "the kernel '" << func.getSymName()
                          << "' of the library can't be optimized";
  llvm::BitVector unused = kernel::eraseUnusedArguments(func);
  GeneratedKernel kernel{func, grid, {}};
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!unused[i]) {
      assert(operand != KernelArguments::kNone && "every argument is bound");
      kernel.operands.push_back(operand);
    }
  sortBuffers(func, kernel.operands);
  func->setAttr(kVariantAttr, func.getSymNameAttr());
  func.setSymName(name);
  func->remove();
  builder.insert(func);
  return kernel;
}

} // namespace poot::planner
