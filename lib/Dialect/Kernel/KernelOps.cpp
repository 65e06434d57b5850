//===- KernelOps.cpp - Operations of the kernel dialect -------------------===//
//
// Verifiers, assembly, effects and folders. A verifier's message names what
// was found and what is allowed.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace poot::kernel;

#define GET_OP_CLASSES
#include "Poot/Dialect/Kernel/KernelOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

// A kernel and the body of a hook are written alike.

template <typename OpTy>
static void buildFunction(OpBuilder &builder, OperationState &state,
                          StringRef name, FunctionType type) {
  state.addAttribute(OpTy::getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(OpTy::getFunctionTypeAttrName(state.name),
                     TypeAttr::get(type));
  Block &entry = state.addRegion()->emplaceBlock();
  for (Type input : type.getInputs())
    entry.addArgument(input, state.location);
}

template <typename OpTy>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &state) {
  auto buildType =
      [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag, std::string &) -> Type {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, state, /*allowVariadic=*/false,
      OpTy::getFunctionTypeAttrName(state.name), buildType,
      OpTy::getArgAttrsAttrName(state.name),
      OpTy::getResAttrsAttrName(state.name));
}

template <typename OpTy>
static void printFunction(OpTy op, OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type, ArrayRef<int32_t> workgroupSize) {
  buildFunction<FuncOp>(builder, state, name, type);
  state.addAttribute(getWorkgroupSizeAttrName(state.name),
                     builder.getDenseI32ArrayAttr(workgroupSize));
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction<FuncOp>(parser, state);
}

void FuncOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }

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
  for (Value other : getOverlays())
    if (!other.getDefiningOp<WorkgroupAllocOp>())
      return emitOpError("overlays what no kernel.workgroup_alloc declares");
  return success();
}

/// Checks that a leaf and an element of it are named where there are some.
static LogicalResult verifyLeaf(Operation *op, Type memory,
                                std::optional<uint32_t> leaf, Value element) {
  auto structure = dyn_cast<StructType>(getElementType(memory));
  if (!structure) {
    if (leaf || element)
      return op->emitOpError("names a leaf, but the elements of ")
             << memory << " have none";
    return success();
  }
  if (!leaf || *leaf >= structure.getLeaves().size())
    return op->emitOpError("must name a leaf below ")
           << structure.getLeaves().size() << " of " << structure;
  bool isArray = structure.getCounts()[*leaf] != 1;
  if (isArray != static_cast<bool>(element))
    return op->emitOpError("leaf ")
           << *leaf
           << (isArray ? " is an array: an element is needed"
                       : " is no array: an element can't be named");
  return success();
}

void LoadOp::build(OpBuilder &builder, OperationState &state, Value memory,
                   Value index) {
  build(builder, state, getElementType(memory.getType()), memory, index,
        IntegerAttr(), Value());
}

LogicalResult LoadOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Type type = adaptor.getMemory() ? getLeafType(adaptor.getMemory().getType(),
                                                adaptor.getLeaf())
                                  : Type();
  if (!type)
    return emitOptionalError(loc, "memory has no such leaf");
  types.push_back(type);
  return success();
}

LogicalResult LoadOp::verify() {
  Type memory = getMemory().getType();
  if (failed(verifyAccess(*this, memory, /*reads=*/true, /*writes=*/false)))
    return failure();
  return verifyLeaf(*this, memory, getLeaf(), getElement());
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<TableType>(getMemory().getType()))
    return;
  auto buffer = dyn_cast<BufferType>(getMemory().getType());
  if (!buffer || buffer.isWritable())
    effects.emplace_back(MemoryEffects::Read::get(), &getMemoryMutable(),
                         SideEffects::DefaultResource::get());
}

/// An element of a table at a known index is a constant.
OpFoldResult LoadOp::fold(FoldAdaptor adaptor) {
  auto table = getMemory().getDefiningOp<ConstantTableOp>();
  auto index = dyn_cast_or_null<IntegerAttr>(adaptor.getIndex());
  if (!table || !index)
    return {};
  int64_t at = index.getValue().getSExtValue();
  if (at < 0 || at >= cast<TableType>(table.getType()).getSize())
    return {};
  return cast<DenseElementsAttr>(table.getValue()).getValues<Attribute>()[at];
}

void StoreOp::build(OpBuilder &builder, OperationState &state, Value value,
                    Value memory, Value index) {
  build(builder, state, value, memory, index, IntegerAttr(), Value());
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand value, memory, index, element;
  bool hasElement = false;
  Type i32 = parser.getBuilder().getI32Type(), memoryType;
  std::optional<uint32_t> leaf;
  if (parser.parseOperand(value) || parser.parseComma() ||
      parser.parseOperand(memory) || parser.parseLSquare() ||
      parser.parseOperand(index) || parser.parseRSquare())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("leaf"))) {
    int32_t number;
    if (parser.parseInteger(number))
      return failure();
    leaf = number;
    state.addAttribute(getLeafAttrName(state.name),
                       parser.getBuilder().getI32IntegerAttr(number));
  }
  if (succeeded(parser.parseOptionalLSquare())) {
    hasElement = true;
    if (parser.parseOperand(element) || parser.parseRSquare())
      return failure();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(memoryType))
    return failure();
  Type valueType = getLeafType(memoryType, leaf);
  if (!valueType)
    return parser.emitError(loc) << memoryType << " has no such element";
  if (parser.resolveOperand(value, valueType, state.operands) ||
      parser.resolveOperand(memory, memoryType, state.operands) ||
      parser.resolveOperand(index, i32, state.operands))
    return failure();
  return hasElement ? parser.resolveOperand(element, i32, state.operands)
                    : success();
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue() << ", " << getMemory() << '[' << getIndex()
          << ']';
  if (getLeaf())
    printer << " leaf " << *getLeaf();
  if (getElement())
    printer << '[' << getElement() << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getLeafAttrName()});
  printer << " : " << getMemory().getType();
}

LogicalResult StoreOp::verify() {
  Type memory = getMemory().getType();
  if (failed(verifyAccess(*this, memory, /*reads=*/false, /*writes=*/true)) ||
      failed(verifyLeaf(*this, memory, getLeaf(), getElement())))
    return failure();
  if (getValue().getType() != getLeafType(memory, getLeaf()))
    return emitOpError("stores ") << getValue().getType() << "; the element is "
                                  << getLeafType(memory, getLeaf());
  return success();
}

LogicalResult ConstantTableOp::verify() {
  auto type = cast<TableType>(getType());
  ShapedType value = getValue().getShapedType();
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError("takes its elements as dense<...> only");
  if (value.getRank() != 1 || value.getDimSize(0) != type.getSize() ||
      value.getElementType() != type.getElementType())
    return emitOpError("has the value of type ") << value << " for " << type;
  return success();
}

LogicalResult AtomicRmwOp::verify() {
  if (getValue().getType().isF32() &&
      !llvm::is_contained({AtomicKind::Add, AtomicKind::Min, AtomicKind::Max,
                           AtomicKind::Exchange},
                          getKind()))
    return emitOpError("'") << stringifyAtomicKind(getKind())
                            << "' takes integers; f32 has add, min, max and "
                               "exchange";
  return verifyAccess(*this, getMemory().getType(), true, true);
}

LogicalResult AtomicCasOp::verify() {
  if (getValue().getType().isF32())
    return emitOpError("compares integers; reinterpret the f32 as i32");
  return verifyAccess(*this, getMemory().getType(), true, true);
}

LogicalResult AtomicLoadOp::verify() {
  if (getOrder() != MemoryOrder::Relaxed && getOrder() != MemoryOrder::Acquire)
    return emitOpError("has the order '") << stringifyMemoryOrder(getOrder())
                                          << "'; a load is relaxed or acquire";
  return verifyAccess(*this, getMemory().getType(), true, false);
}

LogicalResult AtomicStoreOp::verify() {
  if (getOrder() != MemoryOrder::Relaxed && getOrder() != MemoryOrder::Release)
    return emitOpError("has the order '") << stringifyMemoryOrder(getOrder())
                                          << "'; a store is relaxed or release";
  return verifyAccess(*this, getMemory().getType(), false, true);
}

//===----------------------------------------------------------------------===//
// Private variables
//===----------------------------------------------------------------------===//

static VarType getVarType(Value var) { return cast<VarType>(var.getType()); }

LogicalResult VarOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (isa_and_present<FuncOp, HookBodyOp>(parent) &&
      (*this)->getBlock() == &parent->getRegion(0).front())
    return success();
  return emitOpError("must stand in the entry block of a kernel.func or "
                     "kernel.hook_body");
}

/// A variable that nothing reads.
LogicalResult VarOp::canonicalize(VarOp op, PatternRewriter &rewriter) {
  if (!llvm::all_of(op->getUsers(),
                    [](Operation *user) { return isa<VarStoreOp>(user); }))
    return failure();
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    rewriter.eraseOp(user);
  rewriter.eraseOp(op);
  return success();
}

SmallVector<MemorySlot> VarOp::getPromotableSlots() {
  if (!getVarType(getResult()).getShape().empty())
    return {};
  return {MemorySlot{getResult(), getVarType(getResult()).getElementType()}};
}

Value VarOp::getDefaultValue(const MemorySlot &slot, OpBuilder &builder) {
  return UnwrittenOp::create(builder, getLoc(), slot.elemType);
}

void VarOp::handleBlockArgument(const MemorySlot &, BlockArgument,
                                OpBuilder &) {}

std::optional<PromotableAllocationOpInterface>
VarOp::handlePromotionComplete(const MemorySlot &, Value defaultValue,
                               OpBuilder &) {
  if (defaultValue && defaultValue.use_empty())
    defaultValue.getDefiningOp()->erase();
  erase();
  return std::nullopt;
}

/// Each element of an array is a slot of its own, named by its indices.
SmallVector<DestructurableMemorySlot> VarOp::getDestructurableSlots() {
  // Larger arrays stay in memory: as values they would not fit registers.
  constexpr int64_t kMaxElements = 4096;
  VarType type = getVarType(getResult());
  int64_t count = 1;
  for (int64_t extent : type.getShape())
    count *= extent;
  if (type.getShape().empty() || count > kMaxElements)
    return {};
  Builder builder(getContext());
  DenseMap<Attribute, Type> elements;
  for (int64_t linear = 0; linear < count; ++linear) {
    SmallVector<int64_t> index(type.getShape().size());
    int64_t rest = linear;
    for (size_t dim = index.size(); dim-- > 0;) {
      index[dim] = rest % type.getShape()[dim];
      rest /= type.getShape()[dim];
    }
    elements[builder.getI64ArrayAttr(index)] = type.getElementType();
  }
  return {DestructurableMemorySlot{{getResult(), type}, std::move(elements)}};
}

DenseMap<Attribute, MemorySlot> VarOp::destructure(
    const DestructurableMemorySlot &slot,
    const SmallPtrSetImpl<Attribute> &usedIndices, OpBuilder &builder,
    SmallVectorImpl<DestructurableAllocationOpInterface> &newAllocators) {
  builder.setInsertionPointAfter(*this);
  Type element = getVarType(getResult()).getElementType();
  auto single = VarType::get(getContext(), {}, element);
  // In the order of the indices, so that equal input gives equal output.
  SmallVector<ArrayAttr> order;
  for (Attribute index : usedIndices)
    order.push_back(cast<ArrayAttr>(index));
  auto values = [](ArrayAttr index) {
    return llvm::map_to_vector(index.getAsRange<IntegerAttr>(),
                               [](IntegerAttr i) { return i.getInt(); });
  };
  llvm::sort(order,
             [&](ArrayAttr a, ArrayAttr b) { return values(a) < values(b); });
  DenseMap<Attribute, MemorySlot> slots;
  for (ArrayAttr index : order) {
    auto var = VarOp::create(builder, getLoc(), single);
    newAllocators.push_back(var);
    slots[index] = {var.getResult(), element};
  }
  return slots;
}

std::optional<DestructurableAllocationOpInterface>
VarOp::handleDestructuringComplete(const DestructurableMemorySlot &,
                                   OpBuilder &) {
  erase();
  return std::nullopt;
}

LogicalResult VarLoadOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(getVarType(adaptor.getVar()).getElementType());
  return success();
}

static LogicalResult verifyIndices(Operation *op, VarType type,
                                   OperandRange indices) {
  if (indices.size() == type.getShape().size())
    return success();
  return op->emitOpError("has ") << indices.size() << " indices for " << type
                                 << ", which takes " << type.getShape().size();
}
LogicalResult VarLoadOp::verify() {
  return verifyIndices(*this, getVarType(getVar()), getIndices());
}
LogicalResult VarStoreOp::verify() {
  return verifyIndices(*this, getVarType(getVar()), getIndices());
}

/// The key of the element that constant `indices` name; null where one is no
/// constant, or out of bounds.
static ArrayAttr constantIndices(VarType type, OperandRange indices) {
  SmallVector<int64_t> numbers;
  for (auto [index, extent] : llvm::zip(indices, type.getShape())) {
    APInt number;
    if (!matchPattern(index, m_ConstantInt(&number)) || number.isNegative() ||
        number.getSExtValue() >= extent)
      return {};
    numbers.push_back(number.getSExtValue());
  }
  return Builder(type.getContext()).getI64ArrayAttr(numbers);
}

bool VarLoadOp::loadsFrom(const MemorySlot &slot) {
  return getVar() == slot.ptr;
}
bool VarLoadOp::storesTo(const MemorySlot &) { return false; }
Value VarLoadOp::getStored(const MemorySlot &, OpBuilder &, Value,
                           const DataLayout &) {
  llvm_unreachable("a load stores nothing");
}
bool VarLoadOp::canUsesBeRemoved(const MemorySlot &slot,
                                 const SmallPtrSetImpl<OpOperand *> &uses,
                                 SmallVectorImpl<OpOperand *> &,
                                 const DataLayout &) {
  return uses.size() == 1 && (*uses.begin())->get() == slot.ptr &&
         getIndices().empty();
}
DeletionKind VarLoadOp::removeBlockingUses(const MemorySlot &,
                                           const SmallPtrSetImpl<OpOperand *> &,
                                           OpBuilder &,
                                           Value reachingDefinition,
                                           const DataLayout &) {
  getResult().replaceAllUsesWith(reachingDefinition);
  return DeletionKind::Delete;
}
LogicalResult VarLoadOp::ensureOnlySafeAccesses(const MemorySlot &slot,
                                                SmallVectorImpl<MemorySlot> &,
                                                const DataLayout &) {
  return success(getVar() != slot.ptr ||
                 constantIndices(getVarType(getVar()), getIndices()));
}
bool VarLoadOp::canRewire(const DestructurableMemorySlot &slot,
                          SmallPtrSetImpl<Attribute> &usedIndices,
                          SmallVectorImpl<MemorySlot> &, const DataLayout &) {
  ArrayAttr index = constantIndices(getVarType(getVar()), getIndices());
  if (getVar() != slot.ptr || !index)
    return false;
  usedIndices.insert(index);
  return true;
}
DeletionKind VarLoadOp::rewire(const DestructurableMemorySlot &,
                               DenseMap<Attribute, MemorySlot> &subslots,
                               OpBuilder &, const DataLayout &) {
  ArrayAttr index = constantIndices(getVarType(getVar()), getIndices());
  getVarMutable().assign(subslots.at(index).ptr);
  getIndicesMutable().clear();
  return DeletionKind::Keep;
}

bool VarStoreOp::loadsFrom(const MemorySlot &) { return false; }
bool VarStoreOp::storesTo(const MemorySlot &slot) {
  return getVar() == slot.ptr;
}
Value VarStoreOp::getStored(const MemorySlot &, OpBuilder &, Value,
                            const DataLayout &) {
  return getValue();
}
bool VarStoreOp::canUsesBeRemoved(const MemorySlot &slot,
                                  const SmallPtrSetImpl<OpOperand *> &uses,
                                  SmallVectorImpl<OpOperand *> &,
                                  const DataLayout &) {
  return uses.size() == 1 && (*uses.begin())->get() == slot.ptr &&
         getIndices().empty();
}
DeletionKind
VarStoreOp::removeBlockingUses(const MemorySlot &,
                               const SmallPtrSetImpl<OpOperand *> &,
                               OpBuilder &, Value, const DataLayout &) {
  return DeletionKind::Delete;
}
LogicalResult VarStoreOp::ensureOnlySafeAccesses(const MemorySlot &slot,
                                                 SmallVectorImpl<MemorySlot> &,
                                                 const DataLayout &) {
  return success(getVar() != slot.ptr ||
                 constantIndices(getVarType(getVar()), getIndices()));
}
bool VarStoreOp::canRewire(const DestructurableMemorySlot &slot,
                           SmallPtrSetImpl<Attribute> &usedIndices,
                           SmallVectorImpl<MemorySlot> &, const DataLayout &) {
  ArrayAttr index = constantIndices(getVarType(getVar()), getIndices());
  if (getVar() != slot.ptr || !index)
    return false;
  usedIndices.insert(index);
  return true;
}
DeletionKind VarStoreOp::rewire(const DestructurableMemorySlot &,
                                DenseMap<Attribute, MemorySlot> &subslots,
                                OpBuilder &, const DataLayout &) {
  ArrayAttr index = constantIndices(getVarType(getVar()), getIndices());
  getVarMutable().assign(subslots.at(index).ptr);
  getIndicesMutable().clear();
  return DeletionKind::Keep;
}

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

static bool isHookValue(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type scalar = vector ? vector.getElementType() : type;
  return scalar.isIntOrFloat();
}

LogicalResult HookOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto body =
      symbols.lookupNearestSymbolFrom<HookBodyOp>(*this, getDefaultBodyAttr());
  if (!body)
    return emitOpError("has the default ")
           << getDefaultBodyAttr() << ", which is no kernel.hook_body";
  if (!llvm::equal(body.getResultTypes(), getResultTypes()) ||
      !llvm::equal(body.getArgumentTypes(), getOperandTypes()))
    return emitOpError("has the type ")
           << FunctionType::get(getContext(), getOperandTypes(),
                                getResultTypes())
           << ", but its default " << body.getFunctionType();
  return success();
}

void HookBodyOp::build(OpBuilder &builder, OperationState &state,
                       StringRef name, FunctionType type) {
  buildFunction<HookBodyOp>(builder, state, name, type);
}

ParseResult HookBodyOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction<HookBodyOp>(parser, state);
}

void HookBodyOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }

LogicalResult HookBodyOp::verify() {
  if (getBody().empty())
    return emitOpError("has no body");
  for (Type type : getArgumentTypes())
    if (!isHookValue(type) && !isa<BufferType, WorkgroupType>(type))
      return emitOpError("takes ")
             << type
             << "; allowed are scalars, vectors, buffers and workgroup "
                "arrays";
  for (Type type : getResultTypes())
    if (!isHookValue(type))
      return emitOpError("gives ")
             << type << "; allowed are scalars and vectors";
  return success();
}

LogicalResult YieldOp::verify() {
  auto body = cast<HookBodyOp>((*this)->getParentOp());
  if (!llvm::equal(body.getResultTypes(), getOperandTypes()))
    return emitOpError("yields other types than its kernel.hook_body gives");
  return success();
}

LogicalResult LoopHintOp::verify() {
  bool isCount = getUnroll() == Unroll::Count;
  if (isCount != getCount().has_value() || (isCount && *getCount() < 2))
    return emitOpError("'unroll' takes a count of at least 2, the others none");
  return success();
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

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

static LogicalResult verifyFragmentMemory(Operation *op, Type memory,
                                          FragmentType fragment) {
  if (getElementType(memory) == fragment.getElementType())
    return success();
  return op->emitOpError("moves ") << fragment << " from or to " << memory
                                   << "; the element types differ";
}

LogicalResult FragmentLoadOp::verify() {
  Type memory = getMemory().getType();
  if (failed(verifyAccess(*this, memory, /*reads=*/true, /*writes=*/false)))
    return failure();
  return verifyFragmentMemory(*this, memory, getType());
}

LogicalResult FragmentStoreOp::verify() {
  Type memory = getMemory().getType();
  if (failed(verifyAccess(*this, memory, /*reads=*/false, /*writes=*/true)))
    return failure();
  return verifyFragmentMemory(*this, memory, getValue().getType());
}

LogicalResult FragmentMmaOp::verify() {
  FragmentType a = getA().getType(), b = getB().getType(), c = getC().getType();
  if (a.getUse() != FragmentUse::A || b.getUse() != FragmentUse::B ||
      c.getUse() != FragmentUse::Accumulator)
    return emitOpError("takes fragments for a, b and accumulator, in order");
  if (a.getColumns() != b.getRows() || a.getRows() != c.getRows() ||
      b.getColumns() != c.getColumns())
    return emitOpError("multiplies ") << a << " and " << b << " into " << c;
  return success();
}
