//===- KernelOps.cpp - Operations of the kernel dialect -------------------===//
//
// Verifiers, assembly, effects and folders. A verifier's message names what
// was found and what is allowed.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace poot::kernel;

#define GET_OP_CLASSES
#include "Poot/Dialect/Kernel/KernelOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type, ArrayRef<int32_t> workgroupSize) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addAttribute(getWorkgroupSizeAttrName(state.name),
                     builder.getDenseI32ArrayAttr(workgroupSize));
  Block &entry = state.addRegion()->emplaceBlock();
  for (Type input : type.getInputs())
    entry.addArgument(input, state.location);
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  auto buildType =
      [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag, std::string &) -> Type {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, state, /*allowVariadic=*/false,
      getFunctionTypeAttrName(state.name), buildType,
      getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (getBody().empty())
    return emitOpError("has no body; a kernel can't be declared only");
  if (!getResultTypes().empty())
    return emitOpError("has results; a kernel returns nothing");

  ArrayRef<int32_t> size = getWorkgroupSize();
  if (size.size() != 3)
    return emitOpError("'workgroup_size' has ")
           << size.size() << " entries; it needs 3: x, y, z";
  // The product of three must fit too, so that no target check overflows.
  for (int32_t extent : size)
    if (extent < 1 || extent > 65535)
      return emitOpError("'workgroup_size' has the entry ")
             << extent << "; allowed are 1 to 65535";

  bool seenMetadata = false;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (isa<BufferType>(type)) {
      if (seenMetadata)
        return emitOpError("argument #")
               << index << " is a buffer after metadata; buffers come first";
    } else if (type.isInteger(32) || type.isF32()) {
      seenMetadata = true;
    } else {
      return emitOpError("argument #")
             << index << " has type " << type
             << "; allowed are !kernel.buffer, then i32 and f32";
    }
  }
  return success();
}

unsigned FuncOp::getNumBuffers() {
  return llvm::count_if(getArgumentTypes(),
                        [](Type type) { return isa<BufferType>(type); });
}

BufferType FuncOp::getBufferType(unsigned binding) {
  return cast<BufferType>(getArgumentTypes()[binding]);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccess(Operation *op, Type memory, bool reads,
                                  bool writes) {
  auto buffer = dyn_cast<BufferType>(memory);
  if (!buffer)
    return success();
  if (reads && !buffer.isReadable())
    return op->emitOpError("reads from ")
           << buffer << "; its access must be read or read_write";
  if (writes && !buffer.isWritable())
    return op->emitOpError("writes to ")
           << buffer << "; its access must be write or read_write";
  return success();
}

LogicalResult WorkgroupAllocOp::verify() {
  auto func = dyn_cast_if_present<FuncOp>((*this)->getParentOp());
  if (!func || (*this)->getBlock() != &func.getBody().front())
    return emitOpError("must stand in the entry block of a kernel.func");
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getMemory().getType(), /*reads=*/true,
                      /*writes=*/false);
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  auto buffer = dyn_cast<BufferType>(getMemory().getType());
  if (!buffer || buffer.isWritable())
    effects.emplace_back(MemoryEffects::Read::get(), &getMemoryMutable(),
                         SideEffects::DefaultResource::get());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getMemory().getType(), /*reads=*/false,
                      /*writes=*/true);
}

LogicalResult AtomicRmwOp::verify() {
  return verifyAccess(*this, getMemory().getType(), true, true);
}

LogicalResult AtomicCasOp::verify() {
  return verifyAccess(*this, getMemory().getType(), true, true);
}

//===----------------------------------------------------------------------===//
// Identifiers and subgroups
//===----------------------------------------------------------------------===//

OpFoldResult LocalIdOp::fold(FoldAdaptor) {
  auto func = (*this)->getParentOfType<FuncOp>();
  if (!func || func.getWorkgroupSize()[static_cast<unsigned>(getDim())] != 1)
    return {};
  return IntegerAttr::get(getType(), 0);
}

LogicalResult SubgroupReduceOp::verify() {
  bool isUnsigned =
      getKind() == ReduceKind::UMin || getKind() == ReduceKind::UMax;
  if (isUnsigned && isa<FloatType>(getValue().getType()))
    return emitOpError("'")
           << stringifyReduceKind(getKind())
           << "' takes integers; for floating point use min or max";
  return success();
}
