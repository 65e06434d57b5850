//===- KernelTable.cpp - The kernels of one target ------------------------===//

#include "KernelTable.h"
#include "TestVectors.h"

using namespace mlir;

namespace poot::planner {

KernelTable::KernelTable(ModuleOp module, const TargetInfo &target,
                         bool testVectors)
    : module(module), target(target), testVectors(testVectors),
      symbols(module) {
  for (auto literal : module.getOps<plan::DataOp>())
    data[literal.getValue()] = literal.getSymNameAttr();
}

std::string KernelTable::uniqueName(StringRef name) {
  if (!symbols.lookup(name))
    return name.str();
  for (unsigned suffix = 1;; ++suffix) {
    std::string candidate = (name + "." + Twine(suffix)).str();
    if (!symbols.lookup(candidate))
      return candidate;
  }
}

/// True if `type` needs no more than 32-bit arithmetic and storage.
static bool isBaseElement(Type type) {
  return isa<graph::PackedType>(type) || type.isInteger(1) ||
         type.isInteger(32) || type.isF32();
}

/// Refuses operands that no kernel of `target` can have.
static LogicalResult checkOperands(Location loc, const KernelRequest &request,
                                   const TargetInfo &target) {
  for (const OperandLayout &layout :
       llvm::concat<const OperandLayout>(request.inputs, request.outputs)) {
    if (!target.hasSmallAndWideTypes && !isBaseElement(layout.element))
      return emitError(loc)
             << "element type " << layout.element << " is beyond "
             << target.name << "; vulkan:f16 has it";
    // Only one that repeats elements can be so large. Packed weights are
    // numbered by rows.
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (!layout.isPacked() && !layout.openState && layout.count() > most)
      return emitError(loc) << "has an operand of " << layout.count()
                            << " elements; kernels number at most " << most;
  }
  return success();
}

FailureOr<GeneratedKernel> KernelTable::get(Location loc,
                                            const KernelRequest &request) {
  auto [it, isNew] = kernels.try_emplace(request.key());
  if (!isNew)
    return it->second;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  FailureOr<GeneratedKernel> kernel = failure();
  if (succeeded(checkOperands(loc, request, target)))
    kernel = generateKernel(builder, loc, uniqueName(request.name()), request,
                            library, target);
  if (failed(kernel)) {
    kernels.erase(it);
    return failure();
  }
  symbols.insert(kernel->func);
  if (testVectors)
    if (Attribute vector = makeTestVector(loc, request, *kernel))
      kernel->func->setAttr(kTestVectorAttr, vector);
  it->second = *kernel;
  return *kernel;
}

StringAttr KernelTable::getData(Location loc, DenseElementsAttr elements) {
  StringAttr &name = data[elements];
  if (!name) {
    OpBuilder builder(module.getContext());
    builder.setInsertionPointToStart(module.getBody());
    auto literal = plan::DataOp::create(
        builder, loc, builder.getStringAttr(uniqueName("literal")), elements);
    symbols.insert(literal);
    name = literal.getSymNameAttr();
  }
  return name;
}

} // namespace poot::planner
