//===- GraphComposites.cpp - Verifiers and meaning of the composites ------===//
//
// For each composite op its type rules and its decomposition into primitives,
// which is what the oracle computes (docs/graph-semantics.md, Composites).
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Graph/GraphOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

#include "Poot/Dialect/Graph/GraphInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
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

static SmallVector<int64_t> concat(ArrayRef<int64_t> first,
                                   ArrayRef<int64_t> second) {
  SmallVector<int64_t> all(first);
  llvm::append_range(all, second);
  return all;
}

namespace {
/// Builds primitives at one location.
class Primitives {
public:
  Primitives(OpBuilder &builder, Location location)
      : builder(builder), location(location) {}

  Value cast(Value value, Type element) {
    RankedTensorType type = getType(value);
    if (type.getElementType() == element)
      return value;
    return CastOp::create(builder, location, type.clone(element), value);
  }
  Value toF32(Value value) { return cast(value, builder.getF32Type()); }
  Value unary(UnaryKind kind, Value value) {
    return UnaryOp::create(builder, location, value.getType(), kind, value);
  }
  Value binary(BinaryKind kind, Value lhs, Value rhs) {
    return BinaryOp::create(builder, location, lhs.getType(), kind, lhs, rhs);
  }
  Value binary(BinaryKind kind, Value lhs, APFloat rhs) {
    return binary(kind, lhs, splat(getType(lhs), rhs));
  }
  Value splat(RankedTensorType type, const APFloat &value) {
    return ConstantOp::create(builder, location,
                              DenseElementsAttr::get(type, value));
  }
  Value splat(RankedTensorType type, int32_t value) {
    return ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(type, APInt(32, value, /*isSigned=*/true)));
  }
  Value iota(int64_t count) {
    auto type = RankedTensorType::get(count, builder.getI32Type());
    return IotaOp::create(builder, location, type, 0);
  }
  Value broadcast(Value value, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> dims) {
    auto type = RankedTensorType::get(shape, getType(value).getElementType());
    if (value.getType() == type)
      return value;
    return BroadcastOp::create(builder, location, type, value, dims);
  }
  /// ROWS [..] repeated along a new innermost dimension to SHAPE.
  Value alongInnermost(Value rows, ArrayRef<int64_t> shape) {
    return broadcast(rows, shape,
                     llvm::to_vector(llvm::seq<int64_t>(shape.size() - 1)));
  }
  /// ROW [n] repeated to SHAPE [.., n].
  Value repeatRow(Value row, ArrayRef<int64_t> shape) {
    return broadcast(row, shape, {static_cast<int64_t>(shape.size()) - 1});
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, getType(value).getElementType());
    if (value.getType() == type)
      return value;
    return ReshapeOp::create(builder, location, type, value);
  }
  Value transpose(Value value, ArrayRef<int64_t> permutation) {
    return TransposeOp::create(builder, location, value, permutation);
  }
  Value slice(Value value, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, getType(value).getElementType());
    if (value.getType() == type)
      return value;
    return SliceOp::create(builder, location, type, value, offsets,
                           SmallVector<int64_t>(shape.size(), 1));
  }
  Value concat(ValueRange values, int64_t dim) {
    return ConcatOp::create(builder, location, values, dim);
  }
  Value gather(Value data, Value indices, int64_t dim) {
    return GatherOp::create(builder, location, data, indices, dim);
  }
  /// A reduction over the innermost dimension, repeated to VALUE's shape.
  Value reduceRows(ReduceKind kind, Value value) {
    RankedTensorType type = getType(value);
    Value rows =
        ReduceOp::create(builder, location, kind, value, {type.getRank() - 1});
    return alongInnermost(rows, type.getShape());
  }
  /// The same for the mean of f32 elements.
  Value meanOfRows(Value value) {
    RankedTensorType type = getType(value);
    int64_t last = type.getRank() - 1;
    Value sum =
        ReduceOp::create(builder, location, ReduceKind::Sum, value, {last});
    Value mean = binary(BinaryKind::Mul, sum,
                        APFloat(static_cast<float>(
                            1.0 / static_cast<double>(type.getDimSize(last)))));
    return alongInnermost(mean, type.getShape());
  }
  Value matmul(Value lhs, Value rhs, Type element) {
    SmallVector<int64_t> shape(getType(lhs).getShape());
    shape.back() = getType(rhs).getShape().back();
    return MatmulOp::create(builder, location,
                            RankedTensorType::get(shape, element), lhs, rhs);
  }
  /// Packed or plain weights as tensors of ELEMENT.
  Value decode(Value weights, Type element) {
    auto packed = dyn_cast<PackedType>(weights.getType());
    if (!packed)
      return cast(weights, element);
    return PackedDequantOp::create(
        builder, location, RankedTensorType::get(packed.getShape(), element),
        weights);
  }

private:
  OpBuilder &builder;
  Location location;
};
} // namespace

/// The rule of products: a result of the operand's element type or f32.
static LogicalResult verifyResultElement(Operation *op, Type operand,
                                         Type result) {
  if (result == operand || result.isF32())
    return success();
  return op->emitOpError() << "has a result of " << result
                           << " for an operand of " << operand
                           << "; it must be " << operand << " or f32";
}

static LogicalResult verifyResultShape(Operation *op,
                                       ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = getType(op->getResult(0)).getShape();
  if (shape == expected)
    return success();
  return op->emitOpError() << "has a result of shape " << toString(shape)
                           << "; the operands ask for " << toString(expected);
}

//===----------------------------------------------------------------------===//
// packed_contraction
//===----------------------------------------------------------------------===//

LogicalResult PackedContractionOp::verify() {
  RankedTensorType lhs = getLhs().getType();
  ArrayRef<int64_t> weights = getShape(getWeights().getType());
  size_t rank = getIndices() ? 3 : 2;
  if (lhs.getRank() < 1 || weights.size() != rank)
    return emitOpError() << "has operands of rank " << lhs.getRank() << " and "
                         << weights.size() << "; lhs needs at least 1, weights "
                         << "exactly " << rank
                         << (getIndices() ? " with experts" : "");
  if (lhs.getShape().back() != weights.back())
    return emitOpError() << "contracts " << lhs.getShape().back()
                         << " columns of " << lhs << " with " << weights.back()
                         << " columns of " << getWeights().getType();
  ArrayRef<int64_t> rows = lhs.getShape().drop_back();
  if (getIndices() && getIndices().getType().getShape() != rows)
    return emitOpError() << "has indices of shape "
                         << toString(getIndices().getType().getShape())
                         << " for rows of " << toString(rows);
  if (failed(verifyResultElement(*this, lhs.getElementType(),
                                 getType().getElementType())))
    return failure();
  return verifyResultShape(*this, concat(rows, weights[rank - 2]));
}

SmallVector<Value> PackedContractionOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  RankedTensorType lhs = getLhs().getType();
  Value values = p.decode(getWeights(), lhs.getElementType());
  if (getIndices())
    return {IndexedMatmulOp::create(builder, getLoc(), getType(), getLhs(),
                                    p.transpose(values, {0, 2, 1}),
                                    getIndices())};
  int64_t columns = lhs.getShape().back();
  Value rows = p.reshape(getLhs(), {lhs.getNumElements() / columns, columns});
  Value product =
      p.matmul(rows, p.transpose(values, {1, 0}), getType().getElementType());
  return {p.reshape(product, getType().getShape())};
}

//===----------------------------------------------------------------------===//
// packed_row_gather
//===----------------------------------------------------------------------===//

LogicalResult PackedRowGatherOp::verify() {
  ArrayRef<int64_t> weights = getWeights().getType().getShape();
  if (weights.size() != 2)
    return emitOpError() << "has weights of rank " << weights.size()
                         << "; it must be 2";
  return verifyResultShape(
      *this, concat(getIndices().getType().getShape(), weights.back()));
}

SmallVector<Value> PackedRowGatherOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  return {p.gather(p.decode(getWeights(), getType().getElementType()),
                   getIndices(), 0)};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  auto query = operands.size() > 2
                   ? dyn_cast<RankedTensorType>(operands[0].getType())
                   : RankedTensorType();
  auto values = query ? dyn_cast<RankedTensorType>(operands[2].getType())
                      : RankedTensorType();
  if (!values || query.getRank() != 4 || values.getRank() != 3)
    return emitOptionalError(
        location, "'", getOperationName(),
        "' op takes a query of rank 4 and keys and values of rank 3");
  SmallVector<int64_t> shape(query.getShape());
  shape.back() = values.getShape().back();
  inferred.push_back(RankedTensorType::get(shape, query.getElementType()));
  return success();
}

int64_t AttentionOp::getCapacity() {
  if (getSlots())
    return getSlots().getType().getDimSize(1);
  return getKeys().getType().getDimSize(0) / getQuery().getType().getDimSize(0);
}

LogicalResult AttentionOp::verify() {
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType(),
                   values = getValues().getType();
  ArrayRef<int64_t> positions = getPositions().getType().getShape();
  if (query.getRank() != 4 || keys.getRank() != 3 || values.getRank() != 3)
    return emitOpError()
           << "takes a query of rank 4 and keys and values of rank 3";
  for (RankedTensorType cache : {keys, values})
    if (!isa<Float16Type, BFloat16Type, Float32Type>(cache.getElementType()))
      return emitOpError() << "has a cache of " << cache.getElementType()
                           << "; it must be f16, bf16 or f32";
  if (keys.getElementType() != values.getElementType() ||
      keys.getShape().drop_back() != values.getShape().drop_back())
    return emitOpError() << "has keys " << keys << " and values " << values
                         << "; they may differ in the innermost extent alone";
  if (keys.getDimSize(2) != query.getDimSize(3))
    return emitOpError() << "has query heads of " << query.getDimSize(3)
                         << " elements and key heads of " << keys.getDimSize(2);
  if (query.getDimSize(2) % keys.getDimSize(1) != 0)
    return emitOpError() << "has " << query.getDimSize(2)
                         << " query heads, which is no multiple of the "
                         << keys.getDimSize(1) << " key heads";
  if (positions != query.getShape().take_front(2))
    return emitOpError() << "has positions of shape " << toString(positions)
                         << " for a query of shape "
                         << toString(query.getShape());
  int64_t rows = query.getDimSize(0);
  if (getSlots()) {
    ArrayRef<int64_t> slots = getSlots().getType().getShape();
    if (slots.size() != 2 || slots.front() != rows)
      return emitOpError() << "has slots of shape " << toString(slots)
                           << "; it must be [" << rows << ", capacity]";
  } else if (!keys.hasStaticShape() || keys.getDimSize(0) % rows != 0) {
    return emitOpError() << "has a cache of shape " << toString(keys.getShape())
                         << " without slots; its outermost extent must be a "
                            "multiple of the "
                         << rows << " rows";
  }
  if (!getScale().isFinite())
    return emitOpError() << "has a scale that is not finite";
  return success();
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  RankedTensorType query = getQuery().getType();
  Type element = query.getElementType();
  int64_t rows = query.getDimSize(0), tokens = query.getDimSize(1),
          heads = query.getDimSize(2), width = query.getDimSize(3);
  int64_t capacity = getCapacity(), kvHeads = getKeys().getType().getDimSize(1),
          group = heads / kvHeads;

  // [rows, kvHeads, capacity, d], then repeated for the heads of a group.
  auto readCache = [&](Value cache) {
    Value view = getSlots()
                     ? p.gather(cache, getSlots(), 0)
                     : p.reshape(cache, {rows, capacity, kvHeads,
                                         ::getType(cache).getShape().back()});
    return p.transpose(p.cast(view, element), {0, 2, 1, 3});
  };
  auto repeat = [&](Value view) {
    ArrayRef<int64_t> shape = ::getType(view).getShape();
    return p.broadcast(view, {rows, kvHeads, group, shape[2], shape[3]},
                       {0, 1, 3, 4});
  };
  Value grouped =
      p.transpose(p.reshape(getQuery(), {rows, tokens, kvHeads, group, width}),
                  {0, 2, 3, 1, 4});
  Value keys = repeat(p.transpose(readCache(getKeys()), {0, 1, 3, 2}));
  Value scores = p.matmul(grouped, keys, builder.getF32Type());
  RankedTensorType scoreType = ::getType(scores);
  scores = p.binary(BinaryKind::Mul, scores, getScale());

  SmallVector<int64_t> maskShape = {rows, tokens, capacity};
  Value own = p.binary(BinaryKind::Max, getPositions(),
                       p.splat(getPositions().getType(), 0));
  Value visible =
      CompareOp::create(builder, getLoc(), ComparePredicate::Le,
                        p.broadcast(p.iota(capacity), maskShape, {2}),
                        p.broadcast(own, maskShape, {0, 1}));
  visible = p.broadcast(visible, scoreType.getShape(), {0, 3, 4});
  // Finite, so that no difference of two is NaN; exp of it is 0 beside any
  // visible score.
  scores = SelectOp::create(builder, getLoc(), scoreType, visible, scores,
                            p.splat(scoreType, APFloat(-1e30f)));
  Value weights = SoftmaxOp::create(builder, getLoc(), scoreType, scores);
  Value result = p.matmul(p.cast(weights, element),
                          repeat(readCache(getValues())), element);
  return {
      p.reshape(p.transpose(result, {0, 3, 1, 2, 4}), getType().getShape())};
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  RankedTensorType type = getType(), angles = getCos().getType();
  if (type.getRank() < 2 || angles.getRank() != type.getRank() - 1 ||
      angles.getShape().drop_back() != type.getShape().drop_back(2))
    return emitOpError() << "has angles of shape "
                         << toString(angles.getShape())
                         << " for an operand of shape "
                         << toString(type.getShape())
                         << "; they must be [B.., r] and [B.., heads, d]";
  int64_t rotated = angles.getShape().back();
  if (rotated % 2 != 0 || rotated > type.getShape().back())
    return emitOpError() << "rotates " << rotated
                         << " elements; it must be an even number up to "
                         << type.getShape().back();
  return success();
}

SmallVector<Value> RopeOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  RankedTensorType type = getType();
  int64_t last = type.getRank() - 1,
          rotated = getCos().getType().getDimSize(last - 1);
  SmallVector<int64_t> shape(type.getShape()), offsets(last + 1, 0);
  shape[last] = rotated;
  Value part = p.toF32(p.slice(getOperand(), offsets, shape));

  // The two elements of every pair exchanged.
  Value swapped;
  if (getPairs() == RopePairs::Halves) {
    SmallVector<int64_t> half = shape, second = offsets;
    half[last] = second[last] = rotated / 2;
    swapped = p.concat(
        {p.slice(part, second, half), p.slice(part, offsets, half)}, last);
  } else {
    SmallVector<int64_t> pairs = shape, first(last + 2, 0), second = first;
    pairs[last] = rotated / 2;
    pairs.push_back(2);
    SmallVector<int64_t> single = pairs;
    single.back() = second.back() = 1;
    Value paired = p.reshape(part, pairs);
    swapped = p.reshape(p.concat({p.slice(paired, second, single),
                                  p.slice(paired, first, single)},
                                 last + 1),
                        shape);
  }
  // Angles repeat over heads, the dimension before the innermost.
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(last - 1));
  dims.push_back(last);
  Value cos = p.broadcast(p.toF32(getCos()), shape, dims);
  Value sin = p.broadcast(p.toF32(getSin()), shape, dims);
  Value result =
      p.cast(p.binary(BinaryKind::Add, p.binary(BinaryKind::Mul, part, cos),
                      p.binary(BinaryKind::Mul, swapped, sin)),
             type.getElementType());
  if (rotated == type.getDimSize(last))
    return {result};
  offsets[last] = rotated;
  shape[last] = type.getDimSize(last) - rotated;
  return {p.concat({result, p.slice(getOperand(), offsets, shape)}, last)};
}

//===----------------------------------------------------------------------===//
// softmax, rms_norm, layer_norm
//===----------------------------------------------------------------------===//

static LogicalResult verifyRows(Operation *op, RankedTensorType type,
                                ArrayRef<Value> perElement) {
  if (type.getRank() < 1)
    return op->emitOpError() << "takes rows of a tensor; the operand is a "
                                "scalar";
  for (Value value : perElement)
    if (value && getType(value).getShape() != type.getShape().take_back())
      return op->emitOpError()
             << "has a scale or bias of shape "
             << toString(getType(value).getShape()) << "; it must be "
             << toString(type.getShape().take_back());
  return success();
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.isFinite() && !epsilon.isNegative())
    return success();
  return op->emitOpError() << "has an epsilon that is negative or not finite";
}

LogicalResult SoftmaxOp::verify() { return verifyRows(*this, getType(), {}); }

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value wide = p.toF32(getOperand());
  Value shifted =
      p.binary(BinaryKind::Sub, wide, p.reduceRows(ReduceKind::Max, wide));
  Value powers = p.unary(UnaryKind::Exp, shifted);
  Value quotients =
      p.binary(BinaryKind::Div, powers, p.reduceRows(ReduceKind::Sum, powers));
  return {p.cast(quotients, getType().getElementType())};
}

/// WIDE · 1 / sqrt(mean of its square + EPSILON), times SCALE where there is
/// one.
static Value normalize(Primitives &p, Value wide, const APFloat &epsilon,
                       Value scale) {
  Value square = p.binary(BinaryKind::Mul, wide, wide);
  RankedTensorType type = getType(wide);
  Value mean = p.meanOfRows(square);
  Value root =
      p.unary(UnaryKind::Rsqrt, p.binary(BinaryKind::Add, mean, epsilon));
  Value result = p.binary(BinaryKind::Mul, wide, root);
  if (!scale)
    return result;
  return p.binary(BinaryKind::Mul, result,
                  p.repeatRow(p.toF32(scale), type.getShape()));
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyRows(*this, getType(), {getScale()})))
    return failure();
  return verifyEpsilon(*this, getEpsilon());
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  return {p.cast(normalize(p, p.toF32(getOperand()), getEpsilon(), getScale()),
                 getType().getElementType())};
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyRows(*this, getType(), {getScale(), getBias()})))
    return failure();
  return verifyEpsilon(*this, getEpsilon());
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value wide = p.toF32(getOperand());
  Value centred = p.binary(BinaryKind::Sub, wide, p.meanOfRows(wide));
  Value result = normalize(p, centred, getEpsilon(), getScale());
  if (getBias())
    result = p.binary(BinaryKind::Add, result,
                      p.repeatRow(p.toF32(getBias()), getType().getShape()));
  return {p.cast(result, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// fused
//===----------------------------------------------------------------------===//

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "has a body that takes other types than those of "
                            "the operands";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperand().getType() != getType())
    return emitOpError() << "has a body that doesn't yield " << getType();
  for (Operation &op : block.without_terminator())
    if (!isa<GraphDialect>(op.getDialect()) || !isPure(&op) ||
        op.getNumRegions() != 0)
      return op.emitOpError() << "does not belong in a fused computation; only "
                                 "graph ops that compute values do";
  return success();
}

SmallVector<Value> FusedOp::decompose(OpBuilder &builder) {
  Block &block = getBody().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), getOperands());
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return {mapping.lookup(cast<YieldOp>(block.getTerminator()).getOperand())};
}
