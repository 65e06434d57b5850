//===- Plan.cpp - The plan dialect ----------------------------------------===//
//
// Registration and verifiers of the plan dialect.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Plan/Plan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot::plan;

#include "Poot/Dialect/Plan/PlanDialect.cpp.inc"
#include "Poot/Dialect/Plan/PlanEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Plan/PlanTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Plan/PlanAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "Poot/Dialect/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Poot/Dialect/Plan/PlanTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Poot/Dialect/Plan/PlanAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Poot/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

LogicalResult BufferOp::verify() {
  bool named = getRole() != Role::Arena;
  if (named != getName().has_value())
    return emitOpError() << "of role '" << stringifyRole(getRole())
                         << (named ? "' needs a name" : "' takes no name");
  bool typed = getRole() == Role::Slot || getRole() == Role::Output;
  if (typed != getType().has_value())
    return emitOpError("has a type exactly when it is a slot or an output");
  if (getOffset() && getRole() != Role::Arena)
    return emitOpError("has a place only in the arena");
  if (getOffset() && (*getOffset() < 0 || *getOffset() % kBufferAlignment))
    return emitOpError("starts at ")
           << *getOffset() << ", not a multiple of " << kBufferAlignment;
  if (static_cast<int64_t>(getBytes()) <= 0)
    return emitOpError("needs at least one byte");
  return success();
}

/// Checks that [offset, offset + bytes) lies in `buffer`. States may be larger
/// than one row, so only their lower end is checked.
static LogicalResult verifyRange(Operation *op, Value value, int64_t offset,
                                 int64_t bytes) {
  auto buffer = value.getDefiningOp<BufferOp>();
  if (!buffer)
    return op->emitOpError("operand is not a plan.buffer");
  bool open = bytes == -1;
  if (open && buffer.getRole() != Role::State)
    return op->emitOpError("only a state's slice may be open");
  if (offset < 0 || (!open && bytes <= 0))
    return op->emitOpError("slice is empty or starts before its buffer");
  if (!open && bytes > static_cast<int64_t>(buffer.getBytes()) - offset)
    return op->emitOpError("slice [")
           << offset << ", " << offset + bytes << ") exceeds its buffer of "
           << buffer.getBytes() << " bytes";
  return success();
}

LogicalResult DispatchOp::verify() {
  if (getGrid().size() != 3 ||
      llvm::any_of(getGrid(), [](int64_t n) { return n < 1; }))
    return emitOpError("grid needs three extents of at least 1");
  if (getArguments().size() != getBuffers().size())
    return emitOpError("has ") << getBuffers().size() << " buffers but "
                               << getArguments().size() << " arguments";
  for (auto [buffer, attr] : llvm::zip(getBuffers(), getArguments())) {
    auto argument = dyn_cast<ArgumentAttr>(attr);
    if (!argument)
      return emitOpError("arguments must be #plan.arg");
    if (argument.getOffset() % kBufferAlignment)
      return emitOpError("argument starts at ")
             << argument.getOffset() << ", not a multiple of "
             << kBufferAlignment;
    if (failed(verifyRange(*this, buffer, argument.getOffset(),
                           argument.getSize())))
      return failure();
  }
  for (Attribute word : getMetadata()) {
    auto integer = dyn_cast<IntegerAttr>(word);
    auto number = dyn_cast<FloatAttr>(word);
    if (!isa<ExtentAttr>(word) &&
        !(integer && integer.getType().isInteger(32)) &&
        !(number && number.getType().isF32()))
      return emitOpError("metadata must be i32, f32 or #plan.extent");
  }
  return success();
}

LogicalResult CopyOp::verify() {
  if (failed(verifyRange(*this, getSource(), getSourceOffset(), getBytes())))
    return failure();
  return verifyRange(*this, getDestination(), getDestinationOffset(),
                     getBytes());
}

LogicalResult FillOp::verify() {
  if (getOffset() % 4 || getBytes() % 4)
    return emitOpError("fills whole 32-bit words");
  return verifyRange(*this, getDestination(), getOffset(), getBytes());
}

SmallVector<BufferUse> poot::plan::bufferUses(Operation *command) {
  SmallVector<BufferUse> uses;
  auto add = [&](Value value, int64_t offset, int64_t bytes, Access access,
                 int64_t touched = 0) {
    auto buffer = value.getDefiningOp<BufferOp>();
    if (bytes == -1)
      bytes = INT64_MAX - offset;
    BufferUse use = {buffer,
                     offset,
                     bytes,
                     access != Access::Write,
                     access != Access::Read,
                     touched ? touched : bytes};
    if (!llvm::is_contained(uses, use))
      uses.push_back(use);
  };
  if (auto dispatch = dyn_cast<DispatchOp>(command)) {
    for (auto [buffer, attr] :
         llvm::zip(dispatch.getBuffers(), dispatch.getArguments())) {
      auto argument = cast<ArgumentAttr>(attr);
      add(buffer, argument.getOffset(), argument.getSize(),
          argument.getAccess(), argument.getTouched());
    }
  } else if (auto copy = dyn_cast<CopyOp>(command)) {
    add(copy.getSource(), copy.getSourceOffset(), copy.getBytes(),
        Access::Read);
    add(copy.getDestination(), copy.getDestinationOffset(), copy.getBytes(),
        Access::Write);
  } else if (auto fill = dyn_cast<FillOp>(command)) {
    add(fill.getDestination(), fill.getOffset(), fill.getBytes(),
        Access::Write);
  }
  return uses;
}
