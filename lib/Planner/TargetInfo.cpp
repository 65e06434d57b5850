//===- TargetInfo.cpp - What the planner knows of a target ----------------===//

#include "Poot/Planner/TargetInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace poot::planner {

static constexpr int64_t kVulkanBindingBytes = int64_t(1) << 27;
/// Large GPUs have about 130 processors, each with room for some.
static constexpr int64_t kGpuWorkgroups = 64;

static constexpr TargetInfo kTargets[] = {
    {"vulkan:base", "Vulkan 1.2 with 32-bit types alone", kVulkanBindingBytes,
     /*hasSmallAndWideTypes=*/false, /*isCpu=*/false, /*hasFragments=*/false,
     kGpuWorkgroups, ""},
    {"vulkan:f16", "Vulkan 1.2 with 8, 16 and 64-bit types where used",
     kVulkanBindingBytes, true, false, false, kGpuWorkgroups, ""},
    {"vulkan:coopmat", "Vulkan 1.3 with products of matrices by subgroups",
     kVulkanBindingBytes, true, false, true, kGpuWorkgroups, ""},
    {"vulkan:cpu", "Vulkan 1.2 on a CPU, with the types that are used",
     kVulkanBindingBytes, true, true, false, 1, "cpu"},
    // Bytes are counted in signed 32-bit numbers in places.
    {kInterpTarget.data(), "the kernel interpreter, on the CPU",
     int64_t(1) << 30, true, true, false, 1, ""},
};

ArrayRef<TargetInfo> getTargets() { return kTargets; }

/// True if a value of `type` is held in 32-bit words on a device. Packed
/// weights are read as words.
static bool isBaseType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  Type element = tensor.getElementType();
  return element.isInteger(1) || element.isInteger(32) || element.isF32();
}

FailureOr<const TargetInfo *> findTarget(StringRef name, ModuleOp module) {
  for (const TargetInfo &target : kTargets)
    if (name == target.name)
      return &target;
  if (name == "vulkan") {
    bool isBase = true;
    module.walk([&](Operation *op) {
      isBase = isBase && llvm::all_of(op->getResultTypes(), isBaseType) &&
               llvm::all_of(op->getOperandTypes(), isBaseType);
    });
    return &kTargets[isBase ? 0 : 1];
  }
  InFlightDiagnostic diagnostic = module.emitError("unknown target '")
                                  << name << "'; known are vulkan";
  for (const TargetInfo &target : kTargets)
    diagnostic << ", " << target.name;
  return diagnostic;
}

} // namespace poot::planner
