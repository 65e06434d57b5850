//===- Kernel.h - The kernel dialect --------------------------------------===//
//
// One GPU kernel as a control-flow graph: dialect, types and operations. Their
// meaning is written in KernelBase.td and KernelOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_KERNEL_H
#define POOT_DIALECT_KERNEL_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/MemorySlotInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace poot::kernel {

/// What the invocations that run together see of each other; see the comment
/// on Kernel_ConvergenceResource.
struct ConvergenceResource
    : public mlir::SideEffects::Resource::Base<ConvergenceResource> {
  llvm::StringRef getName() final { return "kernel.convergence"; }
};

/// Attribute of a kernel.func: a dictionary from hooks to the symbols of the
/// bodies that kernel-fill-hooks fills them with.
inline constexpr llvm::StringLiteral kFillAttr = "kernel.fill";
/// Attribute of a kernel.func: a dictionary of what its author says of it.
inline constexpr llvm::StringLiteral kAttributesAttr = "kernel.attributes";

/// Attribute of a kernel.func: the one subgroup size that it is right with, an
/// i32. Any size is without.
inline constexpr llvm::StringLiteral kSubgroupSizeAttr = "kernel.subgroup_size";

/// The element type of a buffer, workgroup array or table, else null.
mlir::Type getElementType(mlir::Type memory);

/// The bytes that an element takes in memory.
unsigned getElementBytes(mlir::Type element);

/// The type of what a load of that leaf reads: the element itself where there
/// is no leaf. Null where an element has no such leaf.
mlir::Type getLeafType(mlir::Type memory, std::optional<uint32_t> leaf);

} // namespace poot::kernel

#include "Poot/Dialect/Kernel/KernelDialect.h.inc"
#include "Poot/Dialect/Kernel/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Kernel/KernelAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Kernel/KernelTypes.h.inc"

#define GET_OP_CLASSES
#include "Poot/Dialect/Kernel/KernelOps.h.inc"

#endif // POOT_DIALECT_KERNEL_KERNEL_H
