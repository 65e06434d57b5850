//===- GraphDialect.cpp - Dialect, types and attributes -------------------===//
//
// Registers the graph dialect and verifies what belongs to no single op: its
// types, the entry key, and the discardable attributes graph.name, graph.entry
// and graph.load. Rules that need a whole module are in VerifyModule.cpp.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Graph/GraphOps.h"
#include "poot/weights/planar.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool graph::isElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

std::optional<int64_t> graph::countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > kMaxElements / count)
      return std::nullopt;
    count *= extent;
  }
  return count;
}

static bool isTensorOfShape(Type type, bool allowOpen) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getEncoding() || tensor.getRank() > kMaxRank ||
      !isElementType(tensor.getElementType()))
    return false;
  ArrayRef<int64_t> shape = tensor.getShape();
  if (allowOpen && !shape.empty() && ShapedType::isDynamic(shape.front()))
    shape = shape.drop_front();
  return countElements(shape).has_value();
}

bool graph::isTensor(Type type) { return isTensorOfShape(type, false); }
bool graph::isOpenTensor(Type type) { return isTensorOfShape(type, true); }

bool graph::isI32Tensor(Type type) {
  return isTensor(type) &&
         cast<RankedTensorType>(type).getElementType().isInteger(32);
}

bool graph::isBoolTensor(Type type) {
  return isTensor(type) &&
         cast<RankedTensorType>(type).getElementType().isInteger(1);
}

bool graph::isDequantTensor(Type type) {
  return isTensor(type) && isa<Float16Type, BFloat16Type, Float32Type>(
                               cast<RankedTensorType>(type).getElementType());
}

/// `4096x14336`, without blanks or a trailing `x`.
static ParseResult parsePackedShape(AsmParser &parser,
                                    SmallVectorImpl<int64_t> &shape) {
  return parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                   /*withTrailingX=*/false);
}

static void printPackedShape(AsmPrinter &printer, ArrayRef<int64_t> shape) {
  printer.printDimensionList(shape);
}

#include "Poot/Dialect/Graph/GraphDialect.cpp.inc"
#include "Poot/Dialect/Graph/GraphEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Graph/GraphTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Graph/GraphAttributes.cpp.inc"

int64_t PackedType::getNumElements() const {
  return *countElements(getShape());
}

LogicalResult PackedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 PackedEncoding encoding, PackedLayout layout,
                                 ArrayRef<int64_t> shape) {
  if (shape.empty() || static_cast<int64_t>(shape.size()) > kMaxRank)
    return emitError() << "packed weight has rank " << shape.size()
                       << "; the rank must be 1 to " << kMaxRank;
  if (!countElements(shape))
    return emitError() << "packed weight must have extents of at least 1 and "
                          "at most 2^48 elements";
  int64_t block = weights::getInfo(getElementType(encoding)).blockElements;
  if (shape.back() % block != 0)
    return emitError() << "innermost extent " << shape.back()
                       << " is not a multiple of the block of "
                       << stringifyPackedEncoding(encoding) << ", " << block
                       << " elements";
  return success();
}

weights::ElementType graph::getElementType(PackedEncoding encoding) {
  switch (encoding) {
  case PackedEncoding::Q4_0:
    return weights::ElementType::Q4_0;
  case PackedEncoding::Q4_1:
    return weights::ElementType::Q4_1;
  case PackedEncoding::Q5_0:
    return weights::ElementType::Q5_0;
  case PackedEncoding::Q5_1:
    return weights::ElementType::Q5_1;
  case PackedEncoding::Q8_0:
    return weights::ElementType::Q8_0;
  case PackedEncoding::Q2_K:
    return weights::ElementType::Q2_K;
  case PackedEncoding::Q3_K:
    return weights::ElementType::Q3_K;
  case PackedEncoding::Q4_K:
    return weights::ElementType::Q4_K;
  case PackedEncoding::Q5_K:
    return weights::ElementType::Q5_K;
  case PackedEncoding::Q6_K:
    return weights::ElementType::Q6_K;
  case PackedEncoding::IQ4_NL:
    return weights::ElementType::IQ4_NL;
  case PackedEncoding::MXFP4:
    return weights::ElementType::MXFP4;
  }
  llvm_unreachable("every encoding is listed");
}

std::optional<weights::ElementType> graph::getElementType(Type element) {
  if (!isElementType(element))
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    switch (integer.getWidth()) {
    case 1:
      return weights::ElementType::Bool;
    case 8:
      return weights::ElementType::I8;
    case 16:
      return weights::ElementType::I16;
    case 32:
      return weights::ElementType::I32;
    default:
      return weights::ElementType::I64;
    }
  }
  if (element.isF16())
    return weights::ElementType::F16;
  if (element.isBF16())
    return weights::ElementType::BF16;
  return element.isF32() ? weights::ElementType::F32
                         : weights::ElementType::F64;
}

/// The dialect's element type for a stored scalar; null where it has none.
static Type getScalarType(MLIRContext *context, weights::ElementType type) {
  Builder builder(context);
  switch (type) {
  case weights::ElementType::F32:
    return builder.getF32Type();
  case weights::ElementType::F16:
    return builder.getF16Type();
  case weights::ElementType::BF16:
    return builder.getBF16Type();
  case weights::ElementType::F64:
    return builder.getF64Type();
  case weights::ElementType::I8:
    return builder.getI8Type();
  case weights::ElementType::I16:
    return builder.getI16Type();
  case weights::ElementType::I32:
    return builder.getI32Type();
  case weights::ElementType::I64:
    return builder.getI64Type();
  default:
    return Type();
  }
}

Type graph::getConstType(MLIRContext *context, weights::ElementType type,
                         ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank || !countElements(shape))
    return Type();
  if (!weights::isPacked(type)) {
    Type element = getScalarType(context, type);
    return element ? RankedTensorType::get(shape, element) : Type();
  }
  if (shape.empty() || shape.back() % weights::getInfo(type).blockElements != 0)
    return Type();
  std::optional<PackedEncoding> encoding =
      symbolizePackedEncoding(weights::getName(type));
  return encoding
             ? PackedType::get(context, *encoding, PackedLayout::Gguf, shape)
             : Type();
}

weights::ElementType graph::getStoredType(Type type) {
  if (auto packed = dyn_cast<PackedType>(type))
    return getElementType(packed.getEncoding());
  return *getElementType(cast<RankedTensorType>(type).getElementType());
}

int64_t graph::getPackedRowBytes(PackedType type) {
  weights::ElementType element = getElementType(type.getEncoding());
  int64_t elements = type.getShape().back();
  if (type.getLayout() == PackedLayout::Planar)
    return weights::planarRow(element, elements).bytes();
  const weights::ElementTypeInfo &info = weights::getInfo(element);
  return elements / info.blockElements * info.blockBytes;
}

int64_t graph::getPackedBytes(PackedType type) {
  return type.getNumElements() / type.getShape().back() *
         getPackedRowBytes(type);
}

ArrayRef<int64_t> graph::getShape(Type type) {
  if (auto packed = dyn_cast<PackedType>(type))
    return packed.getShape();
  return cast<RankedTensorType>(type).getShape();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult EntryAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Phase phase, int64_t rows, int64_t tokens,
                                int64_t capacity, CacheLayout cache,
                                LogitsRows logits, StringRef suffix,
                                Type activation, Type kv, Type accumulate) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"rows", rows},
                             {"tokens", tokens},
                             {"capacity", capacity}})
    if (value < 1)
      return emitError() << "entry key: " << name << " is " << value
                         << "; it must be at least 1";
  if (suffix.empty())
    return emitError() << "entry key: the suffix is empty";
  for (auto [name, type] :
       {std::pair<StringRef, Type>{"activation", activation},
        {"kv", kv},
        {"accumulate", accumulate}})
    if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
      return emitError() << "entry key: " << name << " type is " << type
                         << "; it must be f16, bf16, f32 or f64";
  return success();
}

/// The non-empty string under graph.name.
static FailureOr<StringRef> verifyName(Operation *op, Attribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute);
  if (!name || name.empty()) {
    op->emitOpError() << "'" << kNameAttr << "' must be a non-empty string";
    return failure();
  }
  return name.getValue();
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kEntryAttr) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || !function.isPublic())
      return op->emitOpError()
             << "'" << kEntryAttr << "' belongs on a public function";
    if (!isa<EntryAttr>(attribute.getValue()))
      return op->emitOpError()
             << "'" << kEntryAttr << "' must be a #graph.entry";
    return success();
  }
  if (name == kLoadAttr) {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      return op->emitOpError() << "'" << kLoadAttr << "' belongs on a module";
    auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
    if (!symbol)
      return op->emitOpError()
             << "'" << kLoadAttr << "' must name a function, such as @__load";
    auto function = module.lookupSymbol<func::FuncOp>(symbol.getAttr());
    if (!function || !function.isPrivate())
      return op->emitOpError() << "'" << kLoadAttr << "' names " << symbol
                               << ", which is no private function";
    return success();
  }
  if (name == kNameAttr)
    return op->emitOpError()
           << "'" << kNameAttr
           << "' belongs on a function's arguments and results";
  return op->emitOpError() << "has the unknown attribute '" << name
                           << "'; known are graph.entry, graph.load and "
                              "graph.name";
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || attribute.getName() != kNameAttr)
    return op->emitOpError()
           << "argument " << argIndex << " has the unknown attribute '"
           << attribute.getName().getValue() << "'";
  FailureOr<StringRef> name = verifyName(op, attribute.getValue());
  if (failed(name))
    return failure();
  for (unsigned i = 0; i < argIndex; ++i) {
    auto other =
        dyn_cast_or_null<StringAttr>(function.getArgAttr(i, kNameAttr));
    if (other && other.getValue() == *name)
      return op->emitOpError() << "arguments " << i << " and " << argIndex
                               << " are both named '" << *name << "'";
  }
  return success();
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                          unsigned resultIndex,
                                          NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || attribute.getName() != kNameAttr)
    return op->emitOpError()
           << "result " << resultIndex << " has the unknown attribute '"
           << attribute.getName().getValue() << "'";
  FailureOr<StringRef> name = verifyName(op, attribute.getValue());
  if (failed(name))
    return failure();
  for (unsigned i = 0; i < resultIndex; ++i) {
    auto other =
        dyn_cast_or_null<StringAttr>(function.getResultAttr(i, kNameAttr));
    if (other && other.getValue() == *name)
      return op->emitOpError() << "results " << i << " and " << resultIndex
                               << " are both named '" << *name << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location location) {
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, location, type, elements);
}

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Poot/Dialect/Graph/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Poot/Dialect/Graph/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Poot/Dialect/Graph/GraphOps.cpp.inc"
      >();
}
