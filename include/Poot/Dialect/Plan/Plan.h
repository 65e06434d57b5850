//===- Plan.h - The plan dialect --------------------------------*- C++ -*-===//
//
// Programs of commands over buffers: what the runtime replays.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_PLAN_PLAN_H
#define POOT_DIALECT_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Poot/Dialect/Plan/PlanDialect.h.inc"
#include "Poot/Dialect/Plan/PlanEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Plan/PlanTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Plan/PlanAttributes.h.inc"

#define GET_OP_CLASSES
#include "Poot/Dialect/Plan/PlanOps.h.inc"

namespace poot::plan {

/// Every argument slice starts at a multiple of this many bytes, which is the
/// largest minStorageBufferOffsetAlignment that Vulkan allows.
inline constexpr int64_t kBufferAlignment = 256;

/// True for the ops that become commands of a bundle.
inline bool isCommand(mlir::Operation *op) {
  return llvm::isa<DispatchOp, CopyOp, FillOp>(op);
}

/// A byte range of a buffer that a command reads or writes.
struct BufferUse {
  BufferOp buffer;
  int64_t offset;
  int64_t bytes;
  bool reads;
  bool writes;
  /// Bytes in the range that are read or written at most.
  int64_t touched;

  bool operator==(const BufferUse &other) const {
    return buffer == other.buffer && offset == other.offset &&
           bytes == other.bytes && reads == other.reads &&
           writes == other.writes && touched == other.touched;
  }
};

/// What a command reads and writes, in operand order. A range that a kernel has
/// several arguments of comes once.
llvm::SmallVector<BufferUse> bufferUses(mlir::Operation *command);

/// Prints every program as a table: commands with kernel, grid, arguments and
/// waits, then buffers by role, arena size and its lower bound, and the bytes
/// that a run reads.
void printPlan(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace poot::plan

#endif
