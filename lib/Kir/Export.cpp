//===- Export.cpp - The kernel dialect as plain data ----------------------===//

#include "AttributeNames.h"
#include "Poot/Kir/Kir.h"
#include "poot/kir/verify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace poot {
namespace {

using kir::AttributeKey;

std::optional<kir::Element> getElement(Type type) {
  if (type.isIndex())
    return kir::Element::Index;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (!integer.isSignless())
      return std::nullopt;
    switch (integer.getWidth()) {
    case 1:
      return kir::Element::I1;
    case 8:
      return kir::Element::I8;
    case 16:
      return kir::Element::I16;
    case 32:
      return kir::Element::I32;
    case 64:
      return kir::Element::I64;
    default:
      return std::nullopt;
    }
  }
  return TypeSwitch<Type, std::optional<kir::Element>>(type)
      .Case([](Float16Type) { return kir::Element::F16; })
      .Case([](BFloat16Type) { return kir::Element::BF16; })
      .Case([](Float32Type) { return kir::Element::F32; })
      .Case([](Float64Type) { return kir::Element::F64; })
      .Default(std::nullopt);
}

std::optional<kir::Shape> getShape(Type type) {
  kir::Shape shape;
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.getRank() != 1 || vector.isScalable() ||
        vector.getDimSize(0) > INT32_MAX)
      return std::nullopt;
    shape.lanes = vector.getDimSize(0);
    type = vector.getElementType();
  }
  std::optional<kir::Element> element = getElement(type);
  if (!element)
    return std::nullopt;
  shape.element = *element;
  return shape;
}

/// Sets the element of a memory; false where KIR has none such.
bool setElement(kir::Type &result, Type element) {
  if (auto fragment = dyn_cast<kernel::FragmentType>(element)) {
    std::optional<kir::Element> scalar = getElement(fragment.getElementType());
    result.rows = fragment.getRows();
    result.columns = fragment.getColumns();
    result.use = static_cast<kir::FragmentUse>(fragment.getUse());
    if (scalar)
      result.shape = {*scalar, 0};
    return scalar.has_value();
  }
  auto structure = dyn_cast<kernel::StructType>(element);
  if (!structure) {
    std::optional<kir::Shape> shape = getShape(element);
    result.shape = shape.value_or(kir::Shape());
    return shape.has_value();
  }
  result.structBytes = structure.getSize();
  for (auto [type, count, offset] :
       llvm::zip(structure.getLeaves(), structure.getCounts(),
                 structure.getOffsets())) {
    std::optional<kir::Shape> shape = getShape(type);
    if (!shape)
      return false;
    result.leaves.push_back(
        {*shape, static_cast<uint64_t>(count), static_cast<uint64_t>(offset)});
  }
  return true;
}

std::optional<kir::Type> getType(Type type) {
  kir::Type result;
  bool known =
      TypeSwitch<Type, bool>(type)
          .Case([&](kernel::BufferType buffer) {
            result.kind = kir::TypeKind::Buffer;
            result.access = static_cast<kir::Access>(buffer.getAccess());
            return setElement(result, buffer.getElementType());
          })
          .Case([&](kernel::WorkgroupType array) {
            result.kind = kir::TypeKind::Workgroup;
            result.extents = {static_cast<uint64_t>(array.getSize())};
            return setElement(result, array.getElementType());
          })
          .Case([&](kernel::TableType table) {
            result.kind = kir::TypeKind::Table;
            result.extents = {static_cast<uint64_t>(table.getSize())};
            return setElement(result, table.getElementType());
          })
          .Case([&](kernel::VarType var) {
            result.kind = kir::TypeKind::Var;
            result.extents.assign(var.getShape().begin(), var.getShape().end());
            result.ofFragments =
                isa<kernel::FragmentType>(var.getElementType());
            return setElement(result, var.getElementType());
          })
          .Case([&](kernel::FragmentType) {
            result.kind = kir::TypeKind::Fragment;
            return setElement(result, type);
          })
          .Default([&](Type) { return setElement(result, type); });
  if (!known)
    return std::nullopt;
  return result;
}

/// The number of an enumerator or mask.
std::optional<int64_t> getNumber(Attribute attr) {
  auto number = [](auto enumeration) -> std::optional<int64_t> {
    return static_cast<int64_t>(enumeration.getValue());
  };
  return TypeSwitch<Attribute, std::optional<int64_t>>(attr)
      .Case([](IntegerAttr integer) -> std::optional<int64_t> {
        if (integer.getValue().getSignificantBits() > 64)
          return std::nullopt;
        return integer.getValue().getSExtValue();
      })
      .Case<arith::FastMathFlagsAttr, arith::IntegerOverflowFlagsAttr,
            vector::CombiningKindAttr, kernel::AtomicKindAttr,
            kernel::MemoryOrderAttr, kernel::MemoryScopeAttr,
            kernel::ReduceKindAttr, kernel::ScanKindAttr,
            kernel::ShuffleKindAttr, kernel::DimAttr,
            kernel::FragmentLayoutAttr, kernel::UnrollAttr>(number)
      .Default(std::nullopt);
}

/// The bytes of a constant; false where it is of no kind that KIR holds.
bool getData(Attribute attr, std::vector<uint8_t> &data) {
  auto append = [&](const APInt &bits) {
    unsigned bytes = llvm::divideCeil(bits.getBitWidth(), 8);
    for (unsigned i = 0; i < bytes; ++i)
      data.push_back(bits.extractBitsAsZExtValue(
          std::min(8u, bits.getBitWidth() - 8 * i), 8 * i));
  };
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    append(integer.getValue());
    return true;
  }
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    append(number.getValue().bitcastToAPInt());
    return true;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || dense.empty())
    return false;
  if (isa<FloatType>(dense.getElementType())) {
    if (dense.isSplat()) {
      append(dense.getSplatValue<APFloat>().bitcastToAPInt());
      return true;
    }
    for (const APFloat &value : dense.getValues<APFloat>())
      append(value.bitcastToAPInt());
    return true;
  }
  if (!dense.getElementType().isIntOrIndex())
    return false;
  if (dense.isSplat()) {
    append(dense.getSplatValue<APInt>());
    return true;
  }
  for (const APInt &value : dense.getValues<APInt>())
    append(value);
  return true;
}

class Exporter {
public:
  LogicalResult exportFunction(FunctionOpInterface func);
  kir::Module module;

private:
  kir::LocationId getLocation(Location loc);
  FailureOr<kir::TypeId> getTypeId(Operation *op, Type type);
  LogicalResult exportSignature(FunctionOpInterface func,
                                kir::Function &function);
  LogicalResult exportOp(Operation &op, kir::Body &body, kir::Op &result);
  LogicalResult exportAttributes(Operation &op, kir::Op &result);
  LogicalResult exportAttribute(Operation &op, StringRef name, Attribute attr,
                                const kir::AttributeUse &use, kir::Op &result);

  llvm::DenseMap<Location, kir::LocationId> locations;
  llvm::DenseMap<Type, kir::TypeId> types;
  llvm::DenseMap<Value, kir::ValueId> values;
  llvm::DenseMap<Block *, uint32_t> blocks;
};

kir::LocationId Exporter::getLocation(Location loc) {
  if (auto found = locations.find(loc); found != locations.end())
    return found->second;
  kir::Location result;
  if (auto file = dyn_cast<FileLineColRange>(loc)) {
    result.kind = kir::LocationKind::File;
    result.text = file.getFilename().str();
    result.line = file.getStartLine();
    result.column = file.getStartColumn();
    result.endLine = file.getEndLine();
    result.endColumn = file.getEndColumn();
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    result.kind = kir::LocationKind::Call;
    result.parts = {getLocation(call.getCallee()),
                    getLocation(call.getCaller())};
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    result.kind = kir::LocationKind::Name;
    result.text = name.getName().str();
    result.parts = {getLocation(name.getChildLoc())};
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    result.kind = kir::LocationKind::Fused;
    for (Location part : fused.getLocations())
      result.parts.push_back(getLocation(part));
  }
  module.locations.push_back(std::move(result));
  return locations[loc] = module.locations.size() - 1;
}

FailureOr<kir::TypeId> Exporter::getTypeId(Operation *op, Type type) {
  if (auto found = types.find(type); found != types.end())
    return found->second;
  std::optional<kir::Type> result = getType(type);
  if (!result)
    return op->emitError("has a value of type ")
           << type << ", which KIR doesn't hold";
  module.types.push_back(std::move(*result));
  return types[type] = module.types.size() - 1;
}

LogicalResult Exporter::exportAttribute(Operation &op, StringRef name,
                                        Attribute attr,
                                        const kir::AttributeUse &use,
                                        kir::Op &result) {
  kir::Attribute attribute{use.key, 0, {}, {}, {}};
  auto wrong = [&] {
    return op.emitError("has the attribute '")
           << name << "' of a form that KIR doesn't hold";
  };
  switch (use.key) {
  case AttributeKey::Value:
    if (!getData(attr, attribute.data))
      return wrong();
    break;
  case AttributeKey::Exact:
    break;
  case AttributeKey::Offset: {
    auto list = dyn_cast<ArrayAttr>(attr);
    if (!list || list.size() != 1)
      return wrong();
    attribute.number = cast<IntegerAttr>(list[0]).getInt();
    break;
  }
  case AttributeKey::Position:
  case AttributeKey::Mask:
    attribute.numbers.assign(cast<DenseI64ArrayAttr>(attr).asArrayRef().begin(),
                             cast<DenseI64ArrayAttr>(attr).asArrayRef().end());
    break;
  case AttributeKey::Weights:
    attribute.numbers.assign(cast<DenseI32ArrayAttr>(attr).asArrayRef().begin(),
                             cast<DenseI32ArrayAttr>(attr).asArrayRef().end());
    break;
  case AttributeKey::Cases:
    for (const APInt &value :
         cast<DenseIntElementsAttr>(attr).getValues<APInt>())
      attribute.numbers.push_back(value.getBitWidth() == 1
                                      ? value.getZExtValue()
                                      : value.getSExtValue());
    break;
  case AttributeKey::Name:
    attribute.text = cast<StringAttr>(attr).str();
    break;
  case AttributeKey::DefaultBody:
    attribute.text = cast<FlatSymbolRefAttr>(attr).getValue().str();
    break;
  case AttributeKey::Overflow:
  case AttributeKey::FastMath: {
    std::optional<int64_t> mask = getNumber(attr);
    if (!mask)
      return wrong();
    // None is spelt by the attribute's absence.
    if (*mask == 0)
      return success();
    attribute.number = *mask;
    break;
  }
  default: {
    std::optional<int64_t> number = getNumber(attr);
    if (!number)
      return wrong();
    attribute.number = *number;
    break;
  }
  }
  result.attributes.push_back(std::move(attribute));
  return success();
}

LogicalResult Exporter::exportAttributes(Operation &op, kir::Op &result) {
  DictionaryAttr attributes = op.getAttrDictionary();
  unsigned known = 0;
  for (const kir::AttributeUse &use : kir::getInfo(result.opcode).attributes) {
    StringRef name = getAttributeName(result.opcode, use.key);
    Attribute attr = attributes.get(name);
    known += static_cast<bool>(attr);
    if (attr) {
      if (failed(exportAttribute(op, name, attr, use, result)))
        return failure();
    } else if (use.key == AttributeKey::Cases) {
      result.attributes.push_back({use.key, 0, {}, {}, {}});
    } else if (use.required) {
      return op.emitError("lacks the attribute '") << name << "'";
    }
  }
  // What follows from the rest of the op.
  for (StringRef name : {"operandSegmentSizes", "case_operand_segments"})
    known += attributes.contains(name);
  if (isa<vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp>(op)) {
    for (Attribute stride : op.getAttrOfType<ArrayAttr>("strides"))
      if (cast<IntegerAttr>(stride).getInt() != 1)
        return op.emitError("has a stride other than 1, which KIR doesn't "
                            "hold");
    known += 1 + attributes.contains("sizes");
  }
  if (result.opcode == kir::Opcode::UbPoison)
    known += attributes.contains("value");
  if (known == attributes.size())
    return success();
  for (NamedAttribute attr : attributes)
    if (!op.getName().getAttributeNames().empty() &&
        llvm::none_of(op.getName().getAttributeNames(),
                      [&](StringAttr name) { return name == attr.getName(); }))
      return op.emitError("has the attribute '")
             << attr.getName().getValue() << "', which KIR doesn't hold";
  return op.emitError("has attributes that KIR doesn't hold");
}

LogicalResult Exporter::exportOp(Operation &op, kir::Body &body,
                                 kir::Op &result) {
  const kir::OpInfo *info = kir::findOp(op.getName().getStringRef());
  if (!info)
    return op.emitError("is no operation of KIR");
  result.opcode = info->opcode;
  result.location = getLocation(op.getLoc());
  if (failed(exportAttributes(op, result)))
    return failure();
  size_t operands = op.getNumOperands();
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    // Values for successors are the last operands.
    for (unsigned i = 0; i < op.getNumSuccessors(); ++i) {
      kir::Successor &successor = result.successors.emplace_back();
      successor.block = blocks.lookup(op.getSuccessor(i));
      OperandRange passed =
          branch.getSuccessorOperands(i).getForwardedOperands();
      for (Value value : passed)
        successor.arguments.push_back(values.lookup(value));
      operands -= passed.size();
    }
  }
  for (Value value : op.getOperands().take_front(operands))
    result.operands.push_back(values.lookup(value));
  for (Value value : op.getResults())
    result.results.push_back(values.lookup(value));
  return success();
}

/// Everything but the blocks.
LogicalResult Exporter::exportSignature(FunctionOpInterface func,
                                        kir::Function &function) {
  auto kernel = dyn_cast<kernel::FuncOp>(func.getOperation());
  function.name = func.getName().str();
  function.location = getLocation(func.getLoc());
  function.isPrivate = func.isPrivate();
  if (func.isNested())
    return func.emitError("has nested visibility, which KIR doesn't hold");
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (!func.getArgAttrs(i).empty())
      return func.emitError("has an attribute on argument #")
             << i << ", which KIR doesn't hold";
  if (kernel) {
    llvm::copy(kernel.getWorkgroupSize(), function.workgroupSize.begin());
  } else {
    function.kind = kir::FunctionKind::HookBody;
    for (Type type : func.getResultTypes()) {
      FailureOr<kir::TypeId> id = getTypeId(func, type);
      if (failed(id))
        return failure();
      function.results.push_back(*id);
    }
  }
  for (NamedAttribute attr : func->getDiscardableAttrs()) {
    auto dictionary = dyn_cast<DictionaryAttr>(attr.getValue());
    if (kernel && dictionary && attr.getName() == kernel::kAttributesAttr) {
      for (NamedAttribute entry : dictionary) {
        auto text = dyn_cast<StringAttr>(entry.getValue());
        if (!text)
          return func.emitError("has a kernel attribute that is no text");
        function.attributes.emplace_back(entry.getName().str(), text.str());
      }
    } else if (kernel && dictionary && attr.getName() == kernel::kFillAttr) {
      for (NamedAttribute entry : dictionary) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>(entry.getValue());
        if (!symbol)
          return func.emitError("fills a hook with what is no symbol");
        function.fill.emplace_back(entry.getName().str(),
                                   symbol.getValue().str());
      }
    } else if (attr.getNameDialect() == func->getDialect() ||
               !attr.getName().getValue().contains('.')) {
      return func.emitError("has the attribute '")
             << attr.getName().getValue() << "', which KIR doesn't hold";
    }
  }
  return success();
}

LogicalResult Exporter::exportFunction(FunctionOpInterface func) {
  kir::Function function;
  if (failed(exportSignature(func, function)))
    return failure();
  kir::Body &body = function.body;
  auto define = [&](Value value, Operation *op) -> LogicalResult {
    FailureOr<kir::TypeId> type = getTypeId(op, value.getType());
    if (failed(type))
      return failure();
    values[value] = body.values.size();
    body.values.push_back({*type, getLocation(value.getLoc())});
    return success();
  };
  // All values first, since blocks may stand in any order.
  for (auto [i, block] : llvm::enumerate(func.getFunctionBody())) {
    blocks[&block] = i;
    for (BlockArgument argument : block.getArguments())
      if (failed(define(argument, func)))
        return failure();
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (failed(define(result, &op)))
          return failure();
  }
  for (Block &block : func.getFunctionBody()) {
    kir::Block &result = body.blocks.emplace_back();
    for (BlockArgument argument : block.getArguments())
      result.arguments.push_back(values.lookup(argument));
    for (Operation &op : block)
      if (failed(exportOp(op, body, result.ops.emplace_back())))
        return failure();
  }
  module.functions.push_back(std::move(function));
  return success();
}

FailureOr<kir::Module> exportFunctions(Operation *op,
                                       ArrayRef<FunctionOpInterface> funcs) {
  Exporter exporter;
  for (FunctionOpInterface func : funcs)
    if (failed(exporter.exportFunction(func)))
      return failure();
  if (weights::Status status = kir::verify(exporter.module); !status.ok())
    return op->emitError("can't become KIR: ") << status.message();
  return std::move(exporter.module);
}

} // namespace

FailureOr<kir::Module> exportKir(ModuleOp module) {
  SmallVector<FunctionOpInterface> funcs;
  for (Operation &op : *module.getBody())
    if (isa<kernel::FuncOp, kernel::HookBodyOp>(op))
      funcs.push_back(cast<FunctionOpInterface>(op));
  return exportFunctions(module, funcs);
}

FailureOr<kir::Module> exportKir(kernel::FuncOp func) {
  llvm::SetVector<Operation *> reached;
  reached.insert(func);
  auto reach = [&](FlatSymbolRefAttr name) {
    if (Operation *body = SymbolTable::lookupNearestSymbolFrom(func, name))
      reached.insert(body);
  };
  if (auto fill = func->getAttrOfType<DictionaryAttr>(kernel::kFillAttr))
    for (NamedAttribute entry : fill)
      if (auto name = dyn_cast<FlatSymbolRefAttr>(entry.getValue()))
        reach(name);
  for (size_t i = 0; i < reached.size(); ++i)
    reached[i]->walk(
        [&](kernel::HookOp hook) { reach(hook.getDefaultBodyAttr()); });
  SmallVector<FunctionOpInterface> funcs;
  for (Operation *op : reached)
    if (auto body = dyn_cast<FunctionOpInterface>(op))
      funcs.push_back(body);
  return exportFunctions(func, funcs);
}

} // namespace poot
