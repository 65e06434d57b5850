//===- Import.cpp - The kernel dialect from plain data --------------------===//
//
// The module has been verified as KIR, so every index is in its table. What
// MLIR's own verifiers say of the result is reported as an error.
//
//===----------------------------------------------------------------------===//

#include "AttributeNames.h"
#include "Poot/Kir/Kir.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace poot {
namespace {

using kir::AttributeKey;

class Importer {
public:
  Importer(const kir::Module &source, MLIRContext *context)
      : source(source), builder(context) {}

  OwningOpRef<ModuleOp> import(Location loc);

private:
  Type getScalar(kir::Element element);
  Type getShape(kir::Shape shape);
  Type getElement(const kir::Type &type);
  Type getType(const kir::Type &type);
  Location getLocation(const kir::Location &location);
  TypedAttr getConstant(const kir::Type &type, ArrayRef<uint8_t> data);
  Attribute getAttribute(const kir::Op &op, const kir::Attribute &attribute);
  void importFunction(const kir::Function &function);
  void importOp(const kir::Op &op);
  void importBranch(const kir::Op &op);
  Value getValue(kir::ValueId id);
  SmallVector<Value> getValues(ArrayRef<kir::ValueId> ids);
  void define(kir::ValueId id, Value value);

  const kir::Module &source;
  OpBuilder builder;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  const kir::Body *body = nullptr;
  SmallVector<Block *> blocks;
  /// Of the function at hand. What is used before its definition has been seen
  /// is a placeholder until then.
  SmallVector<Value> values;
  llvm::DenseMap<kir::ValueId, Operation *> placeholders;
};

Type Importer::getScalar(kir::Element element) {
  switch (element) {
  case kir::Element::I1:
  case kir::Element::I8:
  case kir::Element::I16:
  case kir::Element::I32:
  case kir::Element::I64:
    return builder.getIntegerType(kir::bitWidth(element));
  case kir::Element::Index:
    return builder.getIndexType();
  case kir::Element::F16:
    return builder.getF16Type();
  case kir::Element::BF16:
    return builder.getBF16Type();
  case kir::Element::F32:
    return builder.getF32Type();
  case kir::Element::F64:
    return builder.getF64Type();
  }
  llvm_unreachable("every element type has its case");
}

Type Importer::getShape(kir::Shape shape) {
  Type scalar = getScalar(shape.element);
  return shape.isVector() ? VectorType::get({shape.lanes}, scalar) : scalar;
}

/// The element of a memory or variable.
Type Importer::getElement(const kir::Type &type) {
  MLIRContext *context = builder.getContext();
  if (type.ofFragments || type.kind == kir::TypeKind::Fragment)
    return kernel::FragmentType::get(
        context, type.rows, type.columns, getScalar(type.shape.element),
        static_cast<kernel::FragmentUse>(type.use));
  if (!type.isStruct())
    return getShape(type.shape);
  SmallVector<Type> leaves;
  SmallVector<int64_t> counts, offsets;
  for (const kir::Leaf &leaf : type.leaves) {
    leaves.push_back(getShape(leaf.shape));
    counts.push_back(leaf.count);
    offsets.push_back(leaf.offset);
  }
  return kernel::StructType::get(context, type.structBytes, leaves, counts,
                                 offsets);
}

Type Importer::getType(const kir::Type &type) {
  MLIRContext *context = builder.getContext();
  Type element = getElement(type);
  switch (type.kind) {
  case kir::TypeKind::Value:
  case kir::TypeKind::Fragment:
    return element;
  case kir::TypeKind::Buffer:
    return kernel::BufferType::get(element,
                                   static_cast<kernel::Access>(type.access));
  case kir::TypeKind::Workgroup:
    return kernel::WorkgroupType::get(type.extents[0], element);
  case kir::TypeKind::Table:
    return kernel::TableType::get(context, type.extents[0], element);
  case kir::TypeKind::Var:
    return kernel::VarType::get(
        context, SmallVector<int64_t>(type.extents.begin(), type.extents.end()),
        element);
  }
  llvm_unreachable("every kind has its case");
}

Location Importer::getLocation(const kir::Location &location) {
  MLIRContext *context = builder.getContext();
  auto part = [&](unsigned i) { return locations[location.parts[i]]; };
  switch (location.kind) {
  case kir::LocationKind::Unknown:
    return builder.getUnknownLoc();
  case kir::LocationKind::File:
    return FileLineColRange::get(builder.getStringAttr(location.text),
                                 location.line, location.column,
                                 location.endLine, location.endColumn);
  case kir::LocationKind::Call:
    return CallSiteLoc::get(part(0), part(1));
  case kir::LocationKind::Name:
    return NameLoc::get(builder.getStringAttr(location.text), part(0));
  case kir::LocationKind::Fused: {
    SmallVector<Location> parts;
    for (unsigned i = 0; i < location.parts.size(); ++i)
      parts.push_back(part(i));
    return FusedLoc::get(parts, Attribute(), context);
  }
  }
  llvm_unreachable("every kind has its case");
}

TypedAttr Importer::getConstant(const kir::Type &type, ArrayRef<uint8_t> data) {
  Type scalar = getScalar(type.shape.element);
  unsigned bytes = kir::byteSize(type.shape.element);
  unsigned bits = kir::bitWidth(type.shape.element);
  auto getBits = [&](size_t i) {
    uint64_t word = 0;
    for (unsigned byte = 0; byte < bytes; ++byte)
      word |= uint64_t(data[i * bytes + byte]) << (8 * byte);
    return APInt(bits, word);
  };
  size_t count = data.size() / bytes;
  ShapedType shaped;
  if (type.kind == kir::TypeKind::Table)
    shaped =
        RankedTensorType::get({static_cast<int64_t>(type.extents[0])}, scalar);
  else if (type.shape.isVector())
    shaped = VectorType::get({type.shape.lanes}, scalar);
  if (auto number = dyn_cast<FloatType>(scalar)) {
    auto getNumber = [&](size_t i) {
      return APFloat(number.getFloatSemantics(), getBits(i));
    };
    if (!shaped)
      return FloatAttr::get(scalar, getNumber(0));
    SmallVector<APFloat> numbers;
    for (size_t i = 0; i < count; ++i)
      numbers.push_back(getNumber(i));
    return DenseElementsAttr::get(shaped, numbers);
  }
  if (!shaped)
    return IntegerAttr::get(scalar, getBits(0));
  SmallVector<APInt> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(getBits(i));
  return DenseElementsAttr::get(shaped, numbers);
}

Attribute Importer::getAttribute(const kir::Op &op,
                                 const kir::Attribute &attribute) {
  MLIRContext *context = builder.getContext();
  int64_t number = attribute.number;
  switch (attribute.key) {
  case AttributeKey::Value:
    return getConstant(source.type(*body, op.results[0]), attribute.data);
  case AttributeKey::Overflow:
    return arith::IntegerOverflowFlagsAttr::get(
        context, static_cast<arith::IntegerOverflowFlags>(number));
  case AttributeKey::FastMath:
    return arith::FastMathFlagsAttr::get(
        context, static_cast<arith::FastMathFlags>(number));
  case AttributeKey::Exact:
    return builder.getUnitAttr();
  case AttributeKey::IntPredicate:
    return arith::CmpIPredicateAttr::get(
        context, static_cast<arith::CmpIPredicate>(number));
  case AttributeKey::FloatPredicate:
    return arith::CmpFPredicateAttr::get(
        context, static_cast<arith::CmpFPredicate>(number));
  case AttributeKey::Rounding:
    return arith::RoundingModeAttr::get(
        context, static_cast<arith::RoundingMode>(number));
  case AttributeKey::CombiningKind:
    return vector::CombiningKindAttr::get(
        context, static_cast<vector::CombiningKind>(number));
  case AttributeKey::AtomicKind:
    return kernel::AtomicKindAttr::get(context,
                                       static_cast<kernel::AtomicKind>(number));
  case AttributeKey::Order:
    return kernel::MemoryOrderAttr::get(
        context, static_cast<kernel::MemoryOrder>(number));
  case AttributeKey::Scope:
    return kernel::MemoryScopeAttr::get(
        context, static_cast<kernel::MemoryScope>(number));
  case AttributeKey::ReduceKind:
    return kernel::ReduceKindAttr::get(context,
                                       static_cast<kernel::ReduceKind>(number));
  case AttributeKey::ScanKind:
    return kernel::ScanKindAttr::get(context,
                                     static_cast<kernel::ScanKind>(number));
  case AttributeKey::ShuffleKind:
    return kernel::ShuffleKindAttr::get(
        context, static_cast<kernel::ShuffleKind>(number));
  case AttributeKey::Dim:
    return kernel::DimAttr::get(context, static_cast<kernel::Dim>(number));
  case AttributeKey::Layout:
    return kernel::FragmentLayoutAttr::get(
        context, static_cast<kernel::FragmentLayout>(number));
  case AttributeKey::Unroll:
    return kernel::UnrollAttr::get(context,
                                   static_cast<kernel::Unroll>(number));
  case AttributeKey::Leaf:
  case AttributeKey::Count:
    return builder.getI32IntegerAttr(number);
  case AttributeKey::Offset:
    return builder.getI64ArrayAttr(number);
  case AttributeKey::Position:
  case AttributeKey::Mask:
    return builder.getDenseI64ArrayAttr(attribute.numbers);
  case AttributeKey::Name:
    return builder.getStringAttr(attribute.text);
  case AttributeKey::DefaultBody:
    return FlatSymbolRefAttr::get(context, attribute.text);
  case AttributeKey::Cases:
  case AttributeKey::Weights:
    break;
  }
  llvm_unreachable("branches have theirs in importBranch()");
}

Value Importer::getValue(kir::ValueId id) {
  if (values[id])
    return values[id];
  Operation *&placeholder = placeholders[id];
  if (!placeholder) {
    OperationState state(builder.getUnknownLoc(),
                         UnrealizedConversionCastOp::getOperationName());
    state.addTypes(types[body->values[id].type]);
    placeholder = Operation::create(state);
  }
  return placeholder->getResult(0);
}

SmallVector<Value> Importer::getValues(ArrayRef<kir::ValueId> ids) {
  return llvm::map_to_vector(ids,
                             [&](kir::ValueId id) { return getValue(id); });
}

void Importer::define(kir::ValueId id, Value value) {
  values[id] = value;
  if (auto found = placeholders.find(id); found != placeholders.end()) {
    found->second->getResult(0).replaceAllUsesWith(value);
    found->second->destroy();
    placeholders.erase(found);
  }
}

void Importer::importBranch(const kir::Op &op) {
  Location loc = locations[op.location];
  SmallVector<Block *> targets;
  SmallVector<SmallVector<Value>> passed;
  for (const kir::Successor &successor : op.successors) {
    targets.push_back(blocks[successor.block]);
    passed.push_back(getValues(successor.arguments));
  }
  if (op.opcode == kir::Opcode::CfBr) {
    cf::BranchOp::create(builder, loc, targets[0], passed[0]);
    return;
  }
  Value flag = getValue(op.operands[0]);
  if (op.opcode == kir::Opcode::CfCondBr) {
    auto branch = cf::CondBranchOp::create(builder, loc, flag, targets[0],
                                           passed[0], targets[1], passed[1]);
    if (const kir::Attribute *weights = op.find(AttributeKey::Weights))
      branch.setBranchWeights(SmallVector<int32_t>(weights->numbers.begin(),
                                                   weights->numbers.end()));
    return;
  }
  SmallVector<APInt> cases;
  for (int64_t value : op.find(AttributeKey::Cases)->numbers)
    cases.push_back(APInt(flag.getType().getIntOrFloatBitWidth(), value,
                          /*isSigned=*/true, /*implicitTrunc=*/true));
  DenseIntElementsAttr caseValues;
  if (!cases.empty())
    caseValues = DenseIntElementsAttr::get(
        VectorType::get({static_cast<int64_t>(cases.size())}, flag.getType()),
        cases);
  SmallVector<ValueRange> others(passed.begin() + 1, passed.end());
  cf::SwitchOp::create(builder, loc, flag, targets[0], passed[0], caseValues,
                       ArrayRef(targets).drop_front(), others);
}

void Importer::importOp(const kir::Op &op) {
  const kir::OpInfo &info = kir::getInfo(op.opcode);
  if (info.rule == kir::TypeRule::Branch)
    return importBranch(op);
  StringRef name(info.spelling.data(), info.spelling.size());
  OperationState state(locations[op.location], name);
  state.addOperands(getValues(op.operands));
  for (kir::ValueId id : op.results)
    state.addTypes(types[body->values[id].type]);
  for (const kir::Attribute &attribute : op.attributes)
    state.addAttribute(getAttributeName(op.opcode, attribute.key),
                       getAttribute(op, attribute));
  if (info.rule == kir::TypeRule::VectorExtractSlice) {
    state.addAttribute(
        "sizes",
        builder.getI64ArrayAttr(source.type(*body, op.results[0]).shape.lanes));
    state.addAttribute("strides", builder.getI64ArrayAttr(1));
  }
  if (info.rule == kir::TypeRule::VectorInsertSlice)
    state.addAttribute("strides", builder.getI64ArrayAttr(1));
  Operation *result = builder.create(state);
  for (auto [id, value] : llvm::zip(op.results, result->getResults()))
    define(id, value);
}

void Importer::importFunction(const kir::Function &function) {
  body = &function.body;
  Location loc = locations[function.location];
  SmallVector<Type> inputs, results;
  for (kir::ValueId argument : function.arguments())
    inputs.push_back(types[body->values[argument].type]);
  for (kir::TypeId type : function.results)
    results.push_back(types[type]);
  FunctionType type = builder.getFunctionType(inputs, results);
  Operation *op;
  Region *region;
  if (function.kind == kir::FunctionKind::Kernel) {
    SmallVector<int32_t, 3> workgroupSize(function.workgroupSize.begin(),
                                          function.workgroupSize.end());
    auto func = kernel::FuncOp::create(builder, loc, function.name, type,
                                       workgroupSize);
    if (!function.attributes.empty()) {
      SmallVector<NamedAttribute> entries;
      for (const auto &[key, value] : function.attributes)
        entries.push_back(
            builder.getNamedAttr(key, builder.getStringAttr(value)));
      func->setAttr(kernel::kAttributesAttr,
                    builder.getDictionaryAttr(entries));
    }
    if (!function.fill.empty()) {
      SmallVector<NamedAttribute> entries;
      for (const auto &[hook, name] : function.fill)
        entries.push_back(builder.getNamedAttr(
            hook, FlatSymbolRefAttr::get(builder.getContext(), name)));
      func->setAttr(kernel::kFillAttr, builder.getDictionaryAttr(entries));
    }
    op = func;
    region = &func.getBody();
  } else {
    auto func = kernel::HookBodyOp::create(builder, loc, function.name, type);
    op = func;
    region = &func.getBody();
  }
  if (function.isPrivate)
    SymbolTable::setSymbolVisibility(op, SymbolTable::Visibility::Private);

  values.assign(body->values.size(), Value());
  blocks.clear();
  for (size_t i = 0; i < body->blocks.size(); ++i) {
    Block *block = i == 0 ? &region->front() : &region->emplaceBlock();
    blocks.push_back(block);
    for (auto [at, id] : llvm::enumerate(body->blocks[i].arguments)) {
      Location argumentLoc = locations[body->values[id].location];
      if (i == 0)
        block->getArgument(at).setLoc(argumentLoc);
      else
        block->addArgument(types[body->values[id].type], argumentLoc);
      values[id] = block->getArgument(at);
    }
  }
  OpBuilder::InsertionGuard guard(builder);
  for (size_t i = 0; i < body->blocks.size(); ++i) {
    builder.setInsertionPointToEnd(blocks[i]);
    for (const kir::Op &kirOp : body->blocks[i].ops)
      importOp(kirOp);
  }
}

OwningOpRef<ModuleOp> Importer::import(Location loc) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  for (const kir::Type &type : source.types)
    types.push_back(getType(type));
  for (const kir::Location &location : source.locations)
    locations.push_back(getLocation(location));
  for (const kir::Function &function : source.functions)
    importFunction(function);
  // What KIR and MLIR see differently would be a defect of one of them.
  if (failed(mlir::verify(*module)))
    return {};
  return module;
}

} // namespace

OwningOpRef<ModuleOp> importKir(const kir::Module &module, Location loc) {
  MLIRContext *context = loc.getContext();
  context->loadDialect<kernel::KernelDialect, arith::ArithDialect,
                       cf::ControlFlowDialect, math::MathDialect, ub::UBDialect,
                       vector::VectorDialect>();
  return Importer(module, context).import(loc);
}

} // namespace poot
