//===- Spirv.h - Kernels to SPIR-V for Vulkan -----------------------------===//
//
// Compiles one kernel to a SPIR-V 1.5 module for Vulkan 1.2 and later. Every
// failure is a diagnostic at the location of what can't be compiled.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TARGET_SPIRV_H
#define POOT_TARGET_SPIRV_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace poot {

/// A level of Vulkan, what it allows, and what it has.
struct SpirvTarget {
  /// `vulkan:base`, `vulkan:f16`, `vulkan:coopmat` or `vulkan:cpu`.
  std::string name;
  /// Whether 8, 16 and 64-bit types may be used.
  bool allTypes;
  /// Products of fragments that the level computes itself, as the option of
  /// kernel-expand-fragments names them. It has those that one bundle feature
  /// stands for, so that a device is known to have all or none.
  std::vector<std::string> products;
  /// Limits that every device of the level has.
  uint32_t maxWorkgroupInvocations;
  uint32_t maxWorkgroupBytes;
  uint32_t maxMetadataBytes;

  /// Parses a target's name. On failure `emitError` gets the reason, with the
  /// names that are allowed.
  static mlir::FailureOr<SpirvTarget>
  parse(llvm::StringRef name,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
};

struct SpirvKernel {
  /// The SPIR-V module; its entry point has the kernel's name.
  std::vector<uint32_t> words;
  /// Names of poot/bundle/features.h, sorted: what a device must have.
  std::vector<std::string> features;
  std::string entryPoint;
  uint32_t workgroupSize[3];
  /// Bindings 0 to numBuffers - 1 of set 0.
  uint32_t numBuffers;
  /// Bytes of push constants: four for each metadata argument.
  uint32_t metadataBytes;
};

/// Adds the passes from a kernel.func with a control-flow graph to a
/// spirv.module: the pipeline `poot-kernel-to-spirv`.
void buildKernelToSpirvPipeline(mlir::OpPassManager &manager,
                                llvm::StringRef target);
void registerSpirvPipelines();

/// Compiles `func`, which stays as it is.
mlir::FailureOr<SpirvKernel> compileToSpirv(kernel::FuncOp func,
                                            const SpirvTarget &target);

/// Registers `--kernel-to-spirv` and `--spirv-to-mlir` with poot-translate.
void registerSpirvTranslations();

} // namespace poot

#endif // POOT_TARGET_SPIRV_H
