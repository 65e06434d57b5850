//===- Spirv.cpp - Compiles a kernel to SPIR-V ----------------------------===//
//
// The targets, the pass pipeline, and the function that runs it on one kernel
// and serializes the result.
//
//===----------------------------------------------------------------------===//

#include "Poot/Target/Spirv.h"

#include "Poot/Dialect/Kernel/Passes.h"
#include "Poot/Target/Passes.h"
#include "poot/bundle/features.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace poot;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static std::optional<SpirvTarget> findTarget(StringRef name) {
  // What SwiftShader and small GPUs have; 128 bytes of push constants and
  // 16 KiB of workgroup memory is what Vulkan guarantees.
  if (name == "vulkan:base")
    return SpirvTarget{name.str(),
                       /*allTypes=*/false,
                       /*products=*/{},
                       /*maxWorkgroupInvocations=*/256,
                       /*maxWorkgroupBytes=*/16384,
                       /*maxMetadataBytes=*/128};
  // CPUs have every type, and SwiftShader no larger workgroups.
  if (name == "vulkan:cpu")
    return SpirvTarget{name.str(),
                       /*allTypes=*/true,
                       /*products=*/{},
                       /*maxWorkgroupInvocations=*/256,
                       /*maxWorkgroupBytes=*/16384,
                       /*maxMetadataBytes=*/128};
  if (name != "vulkan:f16" && name != "vulkan:coopmat")
    return std::nullopt;
  SpirvTarget target{name.str(),
                     /*allTypes=*/true,
                     /*products=*/{},
                     /*maxWorkgroupInvocations=*/1024,
                     /*maxWorkgroupBytes=*/32768,
                     /*maxMetadataBytes=*/128};
  if (name == "vulkan:coopmat")
    target.products = {"16x16x16:f16:f32"};
  return target;
}

FailureOr<SpirvTarget>
SpirvTarget::parse(StringRef name,
                   function_ref<InFlightDiagnostic()> emitError) {
  if (std::optional<SpirvTarget> target = findTarget(name))
    return *target;
  emitError() << "unknown target '" << name
              << "'; available are vulkan:base, vulkan:f16, vulkan:coopmat and "
                 "vulkan:cpu";
  return failure();
}

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

void poot::buildKernelToSpirvPipeline(OpPassManager &manager,
                                      StringRef target) {
  OpPassManager &kernels = manager.nest<kernel::FuncOp>();
  auto cleanUp = [](OpPassManager &passes) {
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  };
  kernels.addPass(kernel::createKernelSimplify());
  kernels.addPass(createCSEPass());
  kernel::KernelExpandFragmentsOptions fragments;
  // An unknown target is the last pass's error.
  if (std::optional<SpirvTarget> known = findTarget(target))
    fragments.products.assign(known->products.begin(), known->products.end());
  kernels.addPass(kernel::createKernelExpandFragments(fragments));
  kernels.addPass(kernel::createKernelSplitVectors());
  kernels.addPass(kernel::createKernelExpandMath());
  kernels.addPass(kernel::createKernelStructurize());
  cleanUp(kernels);
  kernels.addPass(createKernelExpandAtomics());
  kernels.addPass(kernel::createKernelRotateLoops());
  cleanUp(kernels);
  KernelToSpirvOptions options;
  options.target = target.str();
  manager.addPass(createKernelToSpirv(options));
  cleanUp(manager.nest<spirv::ModuleOp>());
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("vulkan:base, vulkan:f16, "
                                            "vulkan:coopmat or vulkan:cpu"),
                             llvm::cl::init("vulkan:f16")};
};
} // namespace

void poot::registerSpirvPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "poot-kernel-to-spirv",
      "from kernel.func with a control-flow graph to spirv.module",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildKernelToSpirvPipeline(manager, options.target);
      });
}

//===----------------------------------------------------------------------===//
// Compiling one kernel
//===----------------------------------------------------------------------===//

/// The features that a device must have for a module with this capability.
static std::optional<bundle::Feature> getFeature(spirv::Capability capability) {
  using C = spirv::Capability;
  using F = bundle::Feature;
  switch (capability) {
  case C::StorageBuffer8BitAccess:
    return F::Storage8;
  case C::StorageBuffer16BitAccess:
    return F::Storage16;
  case C::Int8:
    return F::Int8;
  case C::Int16:
    return F::Int16;
  case C::Int64:
    return F::Int64;
  case C::CooperativeMatrixKHR:
    return F::CooperativeMatrix;
  case C::Float16:
    return F::Float16;
  case C::Float64:
    return F::Float64;
  case C::GroupNonUniform:
    return F::SubgroupBasic;
  case C::GroupNonUniformVote:
    return F::SubgroupVote;
  case C::GroupNonUniformArithmetic:
    return F::SubgroupArithmetic;
  case C::GroupNonUniformBallot:
    return F::SubgroupBallot;
  case C::GroupNonUniformShuffle:
    return F::SubgroupShuffle;
  case C::GroupNonUniformShuffleRelative:
    return F::SubgroupShuffleRelative;
  default:
    return std::nullopt;
  }
}

/// Subgroup operations on other types than i1, i32 and f32 are a feature that
/// no capability expresses.
static bool usesExtendedSubgroupTypes(spirv::ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (!op->getName().stripDialect().starts_with("GroupNonUniform"))
      return WalkResult::advance();
    Type type = op->getResult(0).getType();
    return type.isInteger(1) || type.getIntOrFloatBitWidth() == 32
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// One capability stands for 64-bit atomics on both kinds of memory; devices
/// may have either.
static void addAtomicFeatures(spirv::ModuleOp module,
                              std::vector<std::string> &features) {
  bool inBuffers = false, inWorkgroup = false;
  module.walk([&](Operation *op) {
    if (!op->getName().stripDialect().starts_with("Atomic") ||
        !op->getResult(0).getType().isInteger(64))
      return;
    auto pointer = cast<spirv::PointerType>(op->getOperand(0).getType());
    (pointer.getStorageClass() == spirv::StorageClass::Workgroup ? inWorkgroup
                                                                 : inBuffers) =
        true;
  });
  if (inBuffers)
    features.push_back(bundle::featureName(bundle::Feature::Int64Atomics));
  if (inWorkgroup)
    features.push_back(
        bundle::featureName(bundle::Feature::Int64WorkgroupAtomics));
}

static std::vector<std::string> getFeatures(spirv::ModuleOp module) {
  std::vector<std::string> features;
  for (spirv::Capability capability : module.getVceTriple()->getCapabilities())
    if (std::optional<bundle::Feature> feature = getFeature(capability))
      features.push_back(bundle::featureName(*feature));
  if (usesExtendedSubgroupTypes(module))
    features.push_back(
        bundle::featureName(bundle::Feature::SubgroupExtendedTypes));
  addAtomicFeatures(module, features);
  llvm::sort(features);
  return features;
}

FailureOr<SpirvKernel> poot::compileToSpirv(kernel::FuncOp func,
                                            const SpirvTarget &target) {
  MLIRContext *context = func.getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(func.getLoc());
  module->push_back(func->clone());

  PassManager manager(context, ModuleOp::getOperationName());
  buildKernelToSpirvPipeline(manager, target.name);
  if (failed(manager.run(*module)))
    return failure();

  auto spirvModule = *module->getOps<spirv::ModuleOp>().begin();
  SmallVector<uint32_t, 0> words;
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  options.emitDebugInfo = false;
  if (failed(spirv::serialize(spirvModule, words, options)))
    return func.emitError("can't be serialized to SPIR-V");

  SpirvKernel kernel;
  kernel.words.assign(words.begin(), words.end());
  kernel.features = getFeatures(spirvModule);
  kernel.entryPoint = func.getSymName().str();
  llvm::copy(func.getWorkgroupSize(), kernel.workgroupSize);
  kernel.numBuffers = func.getNumBuffers();
  kernel.metadataBytes = func.getNumMetadata() * 4;
  return kernel;
}
