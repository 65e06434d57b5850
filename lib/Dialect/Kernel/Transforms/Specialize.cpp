//===- Specialize.cpp - Numbers for specialization constants --------------===//
//
// Replaces a kernel's specialization constants, and builds the pipeline that
// folds what is known then.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELSPECIALIZE
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

LogicalResult poot::kernel::specialize(FuncOp kernel, DictionaryAttr values) {
  llvm::SmallDenseSet<StringAttr> used;
  WalkResult result = kernel.walk([&](SpecConstantOp op) {
    Attribute value = values.get(op.getNameAttr());
    if (!value)
      return WalkResult::advance();
    auto typed = dyn_cast<TypedAttr>(value);
    if (!typed || typed.getType() != op.getType()) {
      op.emitError("specialization constant ")
          << op.getNameAttr() << " of type " << op.getType() << " can't be "
          << value;
      return WalkResult::interrupt();
    }
    used.insert(op.getNameAttr());
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        arith::ConstantOp::create(builder, op.getLoc(), typed).getResult());
    op.erase();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (NamedAttribute value : values)
    if (!used.contains(value.getName()))
      return kernel.emitError("has no specialization constant ")
             << value.getName();
  return success();
}

void poot::kernel::specializeToDefaults(FuncOp kernel) {
  kernel.walk([](SpecConstantOp op) {
    OpBuilder builder(op);
    auto value = arith::ConstantOp::create(builder, op.getLoc(),
                                           op.getDefaultValueAttr());
    op.replaceAllUsesWith(value.getResult());
    op.erase();
  });
}

/// Variables become values, and what is known of these is folded.
static void addPromotion(OpPassManager &passes) {
  passes.addPass(createSROA());
  passes.addPass(createMem2Reg());
  passes.addPass(createKernelPropagateConstants());
  passes.addPass(createKernelSimplify());
}

void poot::kernel::buildKernelOptimizePipeline(OpPassManager &manager,
                                               bool unrolls) {
  OpPassManager &bodies = manager.nest<HookBodyOp>();
  bodies.addPass(createKernelSimplify());
  addPromotion(bodies);
  bodies.addPass(createCSEPass());

  OpPassManager &kernels = manager.nest<FuncOp>();
  kernels.addPass(createKernelSimplify());
  addPromotion(kernels);
  if (unrolls) {
    kernels.addPass(createKernelUnrollLoops());
    // Arrays that a loop indexed are indexed by constants now.
    addPromotion(kernels);
  }
  kernels.addPass(createCSEPass());
}

void poot::kernel::registerKernelPipelines() {
  PassPipelineRegistration<>(
      "poot-kernel-optimize",
      "Makes values of variables, folds what is known, and unrolls loops",
      [](OpPassManager &manager) { buildKernelOptimizePipeline(manager); });
}

namespace {
struct Specialize : poot::kernel::impl::KernelSpecializeBase<Specialize> {
  using KernelSpecializeBase::KernelSpecializeBase;

  void runOnOperation() override {
    FuncOp kernel = getOperation();
    // A value takes the type of the constant that it is for.
    llvm::StringMap<Type> types;
    kernel.walk([&](SpecConstantOp op) { types[op.getName()] = op.getType(); });
    Builder builder(&getContext());
    NamedAttrList numbers;
    for (const std::string &text : values) {
      auto [name, number] = StringRef(text).split('=');
      Type type = types.lookup(name);
      TypedAttr value;
      int64_t integer;
      double real;
      if (type && type.isF32() && !number.getAsDouble(real))
        value = builder.getF32FloatAttr(real);
      else if (type && type.isInteger(1) && (number == "true" || number == "1"))
        value = builder.getBoolAttr(true);
      else if (type && type.isInteger(1) &&
               (number == "false" || number == "0"))
        value = builder.getBoolAttr(false);
      else if (type && type.isInteger(32) && !number.getAsInteger(0, integer) &&
               llvm::isInt<32>(integer))
        value = builder.getI32IntegerAttr(integer);
      if (!type)
        kernel.emitError("has no specialization constant '") << name << "'";
      else if (!value)
        kernel.emitError("specialization constant '")
            << name << "' of type " << type << " can't be '" << number << "'";
      if (!value)
        return signalPassFailure();
      numbers.set(name, value);
    }
    if (failed(specialize(kernel, numbers.getDictionary(&getContext()))))
      return signalPassFailure();
    if (defaults)
      specializeToDefaults(kernel);
  }
};
} // namespace
