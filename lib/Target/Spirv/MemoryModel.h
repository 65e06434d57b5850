//===- MemoryModel.h - Scopes and orders of kernels in SPIR-V ---*- C++ -*-===//

#ifndef POOT_TARGET_SPIRV_MEMORYMODEL_H
#define POOT_TARGET_SPIRV_MEMORYMODEL_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVEnums.h"

namespace poot {

inline mlir::spirv::Scope getScope(kernel::MemoryScope scope) {
  switch (scope) {
  case kernel::MemoryScope::Subgroup:
    return mlir::spirv::Scope::Subgroup;
  case kernel::MemoryScope::Workgroup:
    return mlir::spirv::Scope::Workgroup;
  case kernel::MemoryScope::Device:
    return mlir::spirv::Scope::Device;
  }
  llvm_unreachable("unknown scope");
}

/// `memory` is the type of what the atomic operation touches.
inline mlir::spirv::MemorySemantics getSemantics(kernel::MemoryOrder order,
                                                 mlir::Type memory) {
  // Vulkan wants no memory named when nothing is ordered.
  if (order == kernel::MemoryOrder::Relaxed)
    return mlir::spirv::MemorySemantics::None;
  auto which = mlir::isa<kernel::WorkgroupType>(memory)
                   ? mlir::spirv::MemorySemantics::WorkgroupMemory
                   : mlir::spirv::MemorySemantics::UniformMemory;
  switch (order) {
  case kernel::MemoryOrder::Acquire:
    return mlir::spirv::MemorySemantics::Acquire | which;
  case kernel::MemoryOrder::Release:
    return mlir::spirv::MemorySemantics::Release | which;
  default:
    return mlir::spirv::MemorySemantics::AcquireRelease | which;
  }
}

} // namespace poot

#endif // POOT_TARGET_SPIRV_MEMORYMODEL_H
