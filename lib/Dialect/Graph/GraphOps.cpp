//===- GraphOps.cpp - Verifiers and type inference of the ops -------------===//
//
// One verifier or inference an op, in the order of GraphOps.td. Each checks the
// constraints that docs/graph-semantics.md numbers G-<op>-<n> and that types
// alone can decide; what values decide (an index out of range) is the oracle's.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/GraphOps.h"
#include "Poot/Dialect/Graph/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

#define GET_OP_CLASSES
#include "Poot/Dialect/Graph/GraphOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static bool isFloat(Type element) { return isa<FloatType>(element); }
static bool isBool(Type element) { return element.isInteger(1); }
static bool isInteger(Type element) {
  return isa<IntegerType>(element) && !isBool(element);
}

static std::string toString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(shape, stream, [&](int64_t extent) {
    if (ShapedType::isDynamic(extent))
      stream << "?";
    else
      stream << extent;
  });
  stream << "]";
  return text;
}

/// Emits MESSAGE against the op of the given NAME where there is a location.
static LogicalResult inferError(std::optional<Location> location,
                                StringRef name, const Twine &message) {
  return emitOptionalError(location, "'", name, "' op ", message);
}

/// An operand's type during inference, which may run before the operands'
/// types are verified.
static RankedTensorType getTensor(ValueRange operands, unsigned index) {
  if (index >= operands.size() || !isOpenTensor(operands[index].getType()))
    return {};
  return cast<RankedTensorType>(operands[index].getType());
}

static LogicalResult verifyDim(Operation *op, StringRef name, int64_t dim,
                               int64_t rank) {
  if (dim < 0 || dim >= rank)
    return op->emitOpError() << name << " is " << dim << "; it must be 0 to "
                             << rank - 1 << ", the dimensions of the operand";
  return success();
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// Stored values have an element type that files and devices know: not i1.
static LogicalResult verifyStored(Operation *op, Type type, bool allowOpen,
                                  bool allowPacked) {
  if (allowPacked && isa<PackedType>(type))
    return success();
  if ((allowOpen ? isOpenTensor(type) : isTensor(type)) &&
      !isBool(cast<RankedTensorType>(type).getElementType()))
    return success();
  return op->emitOpError()
         << "has type " << type << "; it must be a tensor of i8, i16, i32, "
         << "i64, f16, bf16, f32 or f64 with extents of at least 1"
         << (allowOpen ? ", static but for the outermost" : ", all static")
         << ", and at most 2^48 elements"
         << (allowPacked ? ", or a packed weight" : "");
}

static LogicalResult verifySymbol(Operation *op, StringRef name) {
  if (name.empty())
    return op->emitOpError() << "has an empty name";
  if (!isa_and_nonnull<ModuleOp>(op->getParentOp()))
    return op->emitOpError() << "must stand directly in a module";
  return success();
}

LogicalResult ConstOp::verify() {
  if (failed(verifySymbol(*this, getSymName())))
    return failure();
  return verifyStored(*this, getType(), /*allowOpen=*/false,
                      /*allowPacked=*/true);
}

LogicalResult StateOp::verify() {
  if (failed(verifySymbol(*this, getSymName())))
    return failure();
  return verifyStored(*this, getType(), /*allowOpen=*/true,
                      /*allowPacked=*/false);
}

LogicalResult ComputedOp::verify() {
  if (failed(verifySymbol(*this, getSymName())))
    return failure();
  return verifyStored(*this, getType(), /*allowOpen=*/false,
                      /*allowPacked=*/true);
}

namespace {
/// The states of a session, as one resource of MLIR's effect model.
struct StateResource : SideEffects::Resource::Base<StateResource> {
  StringRef getName() final { return "graph.states"; }
};
} // namespace

void GetOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // A const or computed symbol is only read as well; telling it apart from a
  // state would need a symbol lookup at every query.
  effects.emplace_back(MemoryEffects::Read::get(), StateResource::get());
}

void SetOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), StateResource::get());
}

/// The type of the const, state or computed symbol that OP refers to.
static FailureOr<Type> lookupSymbolType(Operation *op, FlatSymbolRefAttr symbol,
                                        SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(op, symbol.getAttr());
  if (auto constOp = dyn_cast_or_null<ConstOp>(target))
    return constOp.getType();
  if (auto state = dyn_cast_or_null<StateOp>(target))
    return state.getType();
  if (auto computed = dyn_cast_or_null<ComputedOp>(target))
    return computed.getType();
  op->emitOpError() << "refers to " << symbol << ", which is no graph.const, "
                    << "graph.state or graph.computed of this module";
  return failure();
}

LogicalResult GetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<Type> type = lookupSymbolType(*this, getSymbolAttr(), symbols);
  if (failed(type))
    return failure();
  if (getResult().getType() != *type)
    return emitOpError() << "has result type " << getResult().getType()
                         << ", but " << getSymbolAttr() << " has type "
                         << *type;
  return success();
}

LogicalResult SetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<Type> type = lookupSymbolType(*this, getSymbolAttr(), symbols);
  if (failed(type))
    return failure();
  Operation *target =
      symbols.lookupNearestSymbolFrom(*this, getSymbolAttr().getAttr());
  if (isa<ConstOp>(target))
    return emitOpError() << "sets " << getSymbolAttr()
                         << ", a graph.const, which never changes";
  if (getValue().getType() != *type)
    return emitOpError() << "sets " << getSymbolAttr() << " of type " << *type
                         << " to a value of type " << getValue().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError() << "must have a dense literal; larger values are a "
                            "graph.const";
  return success();
}

LogicalResult UnaryOp::verify() {
  Type element = getType().getElementType();
  switch (getKind()) {
  case UnaryKind::Neg:
  case UnaryKind::Abs:
  case UnaryKind::Sign:
    if (isBool(element))
      return emitOpError() << stringifyUnaryKind(getKind())
                           << " takes integers and floats, not i1";
    return success();
  case UnaryKind::Not:
    if (isFloat(element))
      return emitOpError() << "not takes integers and i1, not " << element;
    return success();
  default:
    if (!isFloat(element))
      return emitOpError() << stringifyUnaryKind(getKind())
                           << " takes floats, not " << element;
    return success();
  }
}

LogicalResult BinaryOp::verify() {
  Type element = getType().getElementType();
  switch (getKind()) {
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
    if (isFloat(element))
      return emitOpError() << stringifyBinaryKind(getKind())
                           << " takes integers and i1, not " << element;
    return success();
  case BinaryKind::Shl:
  case BinaryKind::ShrS:
  case BinaryKind::ShrU:
    if (!isInteger(element))
      return emitOpError() << stringifyBinaryKind(getKind())
                           << " takes integers, not " << element;
    return success();
  case BinaryKind::Pow:
    if (!isFloat(element))
      return emitOpError() << "pow takes floats, not " << element;
    return success();
  default:
    if (isBool(element))
      return emitOpError() << stringifyBinaryKind(getKind())
                           << " takes integers and floats, not i1";
    return success();
  }
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &inferred) {
  RankedTensorType type = getTensor(operands, 0);
  if (!type)
    return inferError(location, getOperationName(), "compares tensors only");
  inferred.push_back(type.clone(IntegerType::get(context, 1)));
  return success();
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (failed(verifyDim(*this, "dim", getDim(), getType().getRank())))
    return failure();
  auto element = dyn_cast<IntegerType>(getType().getElementType());
  if (!element || isBool(element))
    return emitOpError() << "has element type " << getType().getElementType()
                         << "; it must be i8, i16, i32 or i64";
  int64_t last = getType().getDimSize(getDim()) - 1;
  if (!llvm::isIntN(element.getWidth(), last))
    return emitOpError() << "counts to " << last << ", which " << element
                         << " does not hold";
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dims = getDims();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "changes the element type from "
                         << from.getElementType() << " to "
                         << to.getElementType();
  if (static_cast<int64_t>(dims.size()) != from.getRank())
    return emitOpError() << "has " << dims.size() << " dims for an operand of "
                         << "rank " << from.getRank();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= to.getRank())
      return emitOpError() << "dims[" << i << "] is " << dim
                           << ", outside a result of rank " << to.getRank();
    if (i > 0 && dim <= dims[i - 1])
      return emitOpError() << "dims " << toString(dims)
                           << " are not strictly increasing";
    int64_t extent = from.getDimSize(i);
    if (extent != 1 && extent != to.getDimSize(dim))
      return emitOpError() << "operand dimension " << i << " has extent "
                           << extent << ", which is neither 1 nor the "
                           << to.getDimSize(dim) << " of result dimension "
                           << dim;
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "changes the element type from "
                         << from.getElementType() << " to "
                         << to.getElementType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "makes " << to.getNumElements() << " elements of "
                         << from.getNumElements();
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, *properties.as<Properties *>(),
                  regions);
  RankedTensorType type = getTensor(operands, 0);
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<int64_t> sorted = llvm::to_vector(permutation);
  llvm::sort(sorted);
  if (!type || !llvm::equal(sorted, llvm::seq<int64_t>(type.getRank())))
    return inferError(location, getOperationName(),
                      toString(permutation) +
                          " is no permutation of the operand's dimensions");
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  inferred.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult SliceOp::verify() {
  Type from = getOperand().getType(), to = getResult().getType();
  ArrayRef<int64_t> fromShape = getShape(from), toShape = getShape(to);
  size_t rank = fromShape.size();
  if (toShape.size() != rank || getOffsets().size() != rank ||
      getStrides().size() != rank)
    return emitOpError() << "operand, result, offsets and strides have ranks "
                         << rank << ", " << toShape.size() << ", "
                         << getOffsets().size() << " and "
                         << getStrides().size() << "; they must agree";
  auto fromPacked = dyn_cast<PackedType>(from);
  auto toPacked = dyn_cast<PackedType>(to);
  if (fromPacked && toPacked) {
    if (fromPacked.getEncoding() != toPacked.getEncoding() ||
        fromPacked.getLayout() != toPacked.getLayout())
      return emitOpError() << "changes the packing from " << from << " to "
                           << to;
    if (fromShape.back() != toShape.back())
      return emitOpError() << "slices a packed weight along its innermost "
                              "dimension";
    if (llvm::any_of(getStrides(), [](int64_t stride) { return stride != 1; }))
      return emitOpError() << "slices a packed weight with strides "
                           << toString(getStrides()) << "; they must be 1";
  } else if (fromPacked || toPacked ||
             cast<RankedTensorType>(from).getElementType() !=
                 cast<RankedTensorType>(to).getElementType()) {
    return emitOpError() << "changes the element type from " << from << " to "
                         << to;
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t offset = getOffsets()[i], stride = getStrides()[i];
    if (offset < 0 || offset >= fromShape[i])
      return emitOpError() << "offset " << offset << " of dimension " << i
                           << " is outside the extent " << fromShape[i];
    if (stride < 1)
      return emitOpError() << "stride " << stride << " of dimension " << i
                           << " must be at least 1";
    // Rearranged so that no product overflows.
    if (toShape[i] - 1 > (fromShape[i] - 1 - offset) / stride)
      return emitOpError() << "takes " << toShape[i] << " elements from "
                           << offset << " with stride " << stride
                           << " in dimension " << i << ", past the extent "
                           << fromShape[i];
  }
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, *properties.as<Properties *>(),
                  regions);
  if (operands.empty())
    return inferError(location, getOperationName(), "joins nothing");
  Type first = operands.front().getType();
  if (!isTensor(first) && !isa<PackedType>(first))
    return inferError(location, getOperationName(),
                      "joins static tensors or packed weights only");
  SmallVector<int64_t> shape = llvm::to_vector(getShape(first));
  int64_t rank = shape.size();
  auto packed = dyn_cast<PackedType>(first);
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= (packed ? rank - 1 : rank))
    return inferError(location, getOperationName(),
                      "cannot join operands of rank " + Twine(rank) +
                          " along dimension " + Twine(dim) +
                          (packed ? " (packed weights are not joined along "
                                    "the innermost)"
                                  : ""));
  for (auto [i, type] : llvm::enumerate(operands.drop_front().getTypes())) {
    bool sameElements;
    if (packed) {
      auto other = dyn_cast<PackedType>(type);
      sameElements = other && other.getEncoding() == packed.getEncoding() &&
                     other.getLayout() == packed.getLayout();
    } else {
      sameElements =
          isTensor(type) && cast<RankedTensorType>(type).getElementType() ==
                                cast<RankedTensorType>(first).getElementType();
    }
    if (!sameElements || static_cast<int64_t>(getShape(type).size()) != rank)
      return inferError(location, getOperationName(),
                        "operand " + Twine(i + 1) +
                            " differs from operand 0 in element type or rank");
    for (int64_t d = 0; d < rank; ++d) {
      int64_t extent = getShape(type)[d];
      if (d == dim)
        shape[d] += extent;
      else if (extent != shape[d])
        return inferError(location, getOperationName(),
                          "operand " + Twine(i + 1) + " has extent " +
                              Twine(extent) + " in dimension " + Twine(d) +
                              ", operand 0 has " + Twine(shape[d]));
    }
    if (!countElements(shape))
      return inferError(location, getOperationName(),
                        "makes a tensor of more than 2^48 elements");
  }
  if (packed)
    inferred.push_back(PackedType::get(context, packed.getEncoding(),
                                       packed.getLayout(), shape));
  else
    inferred.push_back(RankedTensorType::get(
        shape, cast<RankedTensorType>(first).getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Indexed access
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, *properties.as<Properties *>(),
                  regions);
  RankedTensorType data = getTensor(operands, 0);
  RankedTensorType indices = getTensor(operands, 1);
  if (!data || !indices)
    return inferError(location, getOperationName(), "takes tensors only");
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= data.getRank())
    return inferError(location, getOperationName(),
                      "dim is " + Twine(dim) + ", outside data of rank " +
                          Twine(data.getRank()));
  if (!data.hasStaticShape() && dim != 0)
    return inferError(location, getOperationName(),
                      "an open tensor is gathered along dimension 0 only");
  SmallVector<int64_t> shape = llvm::to_vector(data.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, data.getShape().drop_front(dim + 1));
  auto type = RankedTensorType::get(shape, data.getElementType());
  if (!isTensor(type))
    return inferError(location, getOperationName(),
                      "has a result of shape " + toString(shape) +
                          ", beyond rank 8 or 2^48 elements");
  inferred.push_back(type);
  return success();
}

LogicalResult ScatterOp::verify() {
  RankedTensorType data = getData().getType();
  RankedTensorType indices = getIndices().getType();
  RankedTensorType updates = getUpdates().getType();
  if (data.getRank() < 1)
    return emitOpError() << "writes rows of data, which needs a dimension";
  if (data.getElementType() != updates.getElementType())
    return emitOpError() << "writes " << updates.getElementType()
                         << " into data of " << data.getElementType();
  SmallVector<int64_t> expected = llvm::to_vector(indices.getShape());
  llvm::append_range(expected, data.getShape().drop_front());
  if (updates.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "has updates of shape "
                         << toString(updates.getShape()) << "; indices and "
                         << "data ask for " << toString(expected);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, *properties.as<Properties *>(),
                  regions);
  RankedTensorType type = getTensor(operands, 0);
  if (!type || isBool(type.getElementType()))
    return inferError(location, getOperationName(),
                      "reduces tensors of integers and floats only");
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (dims.empty())
    return inferError(location, getOperationName(), "reduces no dimension");
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= type.getRank() || (i > 0 && dim <= dims[i - 1]))
      return inferError(location, getOperationName(),
                        "dims " + toString(dims) +
                            " must be strictly increasing dimensions of an "
                            "operand of rank " +
                            Twine(type.getRank()));
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(type.getDimSize(d));
  inferred.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult ScanOp::verify() {
  if (isBool(getType().getElementType()))
    return emitOpError() << "takes integers and floats, not i1";
  return verifyDim(*this, "dim", getDim(), getType().getRank());
}

LogicalResult ArgTopKOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, *properties.as<Properties *>(),
                  regions);
  RankedTensorType type = getTensor(operands, 0);
  if (!type || type.getRank() < 1 || isBool(type.getElementType()))
    return inferError(location, getOperationName(),
                      "takes a tensor of integers or floats of rank 1 or more");
  SmallVector<int64_t> shape = llvm::to_vector(type.getShape());
  int64_t k = adaptor.getK();
  if (k < 1 || k > shape.back())
    return inferError(location, getOperationName(),
                      "k is " + Twine(k) + "; it must be 1 to " +
                          Twine(shape.back()) + ", the innermost extent");
  if (!llvm::isInt<32>(shape.back()))
    return inferError(location, getOperationName(),
                      "has an innermost extent beyond i32 indices");
  shape.back() = k;
  inferred.push_back(RankedTensorType::get(shape, type.getElementType()));
  inferred.push_back(
      RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// The rules that matmul and indexed_matmul share: one operand element type,
/// and a result of the same or of the type that its sums accumulate in.
static LogicalResult verifyContractedTypes(Operation *op, Type lhs, Type rhs,
                                           Type result) {
  if (isBool(lhs))
    return op->emitOpError() << "takes integers and floats, not i1";
  if (lhs != rhs)
    return op->emitOpError() << "has operands of " << lhs << " and " << rhs
                             << "; their element types must agree";
  if (result == lhs || ((lhs.isF16() || lhs.isBF16()) && result.isF32()) ||
      (lhs.isInteger(8) && result.isInteger(32)))
    return success();
  auto diagnostic = op->emitOpError()
                    << "has a result of " << result << " for operands of "
                    << lhs << "; it must be " << lhs;
  if (lhs.isF16() || lhs.isBF16())
    diagnostic << " or f32";
  if (lhs.isInteger(8))
    diagnostic << " or i32";
  return diagnostic;
}

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank)
    return emitOpError() << "has operands of rank " << rank << " and "
                         << rhs.getRank()
                         << "; both must have the same rank of at least 2";
  if (failed(verifyContractedTypes(*this, lhs.getElementType(),
                                   rhs.getElementType(),
                                   getType().getElementType())))
    return failure();
  for (int64_t d = 0; d < rank - 2; ++d)
    if (lhs.getDimSize(d) != rhs.getDimSize(d))
      return emitOpError() << "batch dimension " << d << " has extents "
                           << lhs.getDimSize(d) << " and " << rhs.getDimSize(d)
                           << "; broadcasts must be explicit";
  if (lhs.getDimSize(rank - 1) != rhs.getDimSize(rank - 2))
    return emitOpError() << "contracts " << lhs.getDimSize(rank - 1)
                         << " columns of " << lhs << " with "
                         << rhs.getDimSize(rank - 2) << " rows of " << rhs;
  SmallVector<int64_t> expected = llvm::to_vector(lhs.getShape().drop_back());
  expected.push_back(rhs.getShape().back());
  if (getType().getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "has a result of shape "
                         << toString(getType().getShape()) << "; the operands "
                         << "ask for " << toString(expected);
  return success();
}

LogicalResult IndexedMatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), weights = getWeights().getType();
  RankedTensorType indices = getIndices().getType();
  if (lhs.getRank() < 1 || weights.getRank() != 3)
    return emitOpError() << "has operands of rank " << lhs.getRank() << " and "
                         << weights.getRank()
                         << "; lhs needs at least 1, weights exactly 3";
  if (failed(verifyContractedTypes(*this, lhs.getElementType(),
                                   weights.getElementType(),
                                   getType().getElementType())))
    return failure();
  if (indices.getShape() != lhs.getShape().drop_back())
    return emitOpError() << "has indices of shape "
                         << toString(indices.getShape()) << " for rows of "
                         << toString(lhs.getShape().drop_back());
  if (lhs.getShape().back() != weights.getDimSize(1))
    return emitOpError() << "contracts " << lhs.getShape().back()
                         << " columns of " << lhs << " with "
                         << weights.getDimSize(1) << " rows of " << weights;
  SmallVector<int64_t> expected = llvm::to_vector(indices.getShape());
  expected.push_back(weights.getDimSize(2));
  if (getType().getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "has a result of shape "
                         << toString(getType().getShape()) << "; the operands "
                         << "ask for " << toString(expected);
  return success();
}

LogicalResult PackedDequantOp::verify() {
  if (getType().getShape() != getOperand().getType().getShape())
    return emitOpError() << "has a result of shape "
                         << toString(getType().getShape())
                         << " for a packed weight of "
                         << toString(getOperand().getType().getShape());
  return success();
}

LogicalResult RepackOp::verify() {
  PackedType from = getOperand().getType(), to = getType();
  if (from.getEncoding() != to.getEncoding() ||
      from.getShape() != to.getShape())
    return emitOpError() << "makes " << to << " of " << from
                         << "; only the layout may differ";
  if (to.getLayout() == PackedLayout::Gguf &&
      from.getLayout() != PackedLayout::Gguf)
    return emitOpError() << "makes the layout 'gguf' of '"
                         << stringifyPackedLayout(from.getLayout())
                         << "'; only the reverse is there";
  return success();
}

LogicalResult RandomBitsOp::verify() {
  ArrayRef<int64_t> shape = getSeed().getType().getShape();
  if (shape.size() != 1 || shape[0] != 4)
    return emitOpError() << "has a seed of shape " << toString(shape)
                         << "; it must be [4]";
  return success();
}
