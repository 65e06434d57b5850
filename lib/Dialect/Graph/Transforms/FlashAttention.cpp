//===- FlashAttention.cpp - Attention out of products and a softmax -------===//
//
// The pass graph-flash-attention. Starts from the product of probabilities and
// values and works backwards. In comments R is rows, T tokens, C the positions
// of the cache, H query heads, K key heads, G = H / K.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHFLASHATTENTION
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

namespace {

/// The dimensions of scores: [R, K, G, T, C] or, with G = 1, [R, H, T, C].
struct ScoreDims {
  int64_t rank;
  int64_t row() const { return 0; }
  int64_t head() const { return 1; }
  bool isGrouped() const { return rank == 5; }
  int64_t token() const { return rank - 2; }
  int64_t position() const { return rank - 1; }
};

/// Keys or values: the cache that holds them, and the slots where it is paged.
struct Cache {
  Value tensor, slots;
  /// What the products read them from, for the use check.
  Value source;
};

struct Mask {
  Value scores, positions, source;
};

/// Values of the composite's operands.
struct Match {
  Value query, scores, product;
  Cache keys, values;
  Mask mask;
  float scale = 1;
};

} // namespace

static bool isAtMost(const std::optional<APFloat> &value, double limit) {
  if (!value || value->isNaN())
    return false;
  APFloat wide = *value;
  bool losesInfo;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return wide.convertToDouble() <= limit;
}

/// The x of max(x, 0), integers.
static Value matchAtLeastZero(Value value) {
  auto op = value.getDefiningOp<BinaryOp>();
  if (!op || op.getKind() != BinaryKind::Max)
    return {};
  for (auto [x, zero] : {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
                         std::pair<Value, Value>(op.getRhs(), op.getLhs())}) {
    auto constant = viewDims(zero).source.getDefiningOp<ConstantOp>();
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                             : DenseElementsAttr();
    if (elements && elements.isSplat() && isI32Tensor(elements.getType()) &&
        elements.getSplatValue<APInt>().isZero())
      return x;
  }
  return {};
}

/// The positions of queries where VISIBLE, whose dimension i is DIMS[i] of the
/// scores' view of it, says that a key's position is at most the query's.
/// INVERTED: that it is beyond.
static Value matchCausal(OpBuilder &builder, Value visible,
                         ArrayRef<int64_t> dims, ScoreDims score,
                         ArrayRef<int64_t> shape, bool inverted) {
  auto compare = visible.getDefiningOp<CompareOp>();
  if (!compare)
    return {};
  Value key = compare.getLhs(), query = compare.getRhs();
  // As key <= query, or key > query.
  ComparePredicate predicate = compare.getPredicate();
  if (predicate == ComparePredicate::Ge || predicate == ComparePredicate::Lt) {
    std::swap(key, query);
    predicate = predicate == ComparePredicate::Ge ? ComparePredicate::Le
                                                  : ComparePredicate::Gt;
  }
  if (predicate != (inverted ? ComparePredicate::Gt : ComparePredicate::Le))
    return {};
  DimView keyView = viewDims(key), queryView = viewDims(query);
  SmallVector<int64_t> keyDims = compose(dims, keyView.dims),
                       queryDims = compose(dims, queryView.dims);
  auto iota = keyView.source.getDefiningOp<IotaOp>();
  Value positions = matchAtLeastZero(queryView.source);
  if (!iota || !positions ||
      keyDims[score.position()] != static_cast<int64_t>(iota.getDim()) ||
      !isI32Tensor(positions.getType()))
    return {};
  for (auto [i, dim] : llvm::enumerate(queryDims))
    if (dim >= 0 && static_cast<int64_t>(i) != score.row() &&
        static_cast<int64_t>(i) != score.token())
      return {};
  return rebuild(builder, visible.getLoc(), positions,
                 {queryDims[score.row()], queryDims[score.token()]},
                 {shape[score.row()], shape[score.token()]});
}

/// Scores masked by adding a large negative number or by a choice.
static std::optional<Mask> matchMask(OpBuilder &builder, Value masked,
                                     ScoreDims score) {
  ArrayRef<int64_t> shape = getTensorType(masked).getShape();
  // CHOICE picks ZERO, or the scores, where a key is visible. SCORES stands for
  // what remains of MASKED.
  auto match = [&](SelectOp choice, ArrayRef<int64_t> dims,
                   function_ref<Value(Value)> visibleSide) -> Mask {
    for (bool inverted : {false, true}) {
      Value shown = inverted ? choice.getFalseValue() : choice.getTrueValue();
      Value hidden = inverted ? choice.getTrueValue() : choice.getFalseValue();
      Value scores = visibleSide(shown);
      if (!scores || !isAtMost(getSplat(hidden), -1e29))
        continue;
      DimView view = viewDims(choice.getCondition());
      if (Value positions =
              matchCausal(builder, view.source, compose(dims, view.dims), score,
                          shape, inverted))
        return {scores, positions, view.source};
    }
    return {};
  };
  if (auto choice = masked.getDefiningOp<SelectOp>()) {
    SmallVector<int64_t> dims = viewDims(masked).dims;
    Mask mask = match(choice, dims, [](Value shown) { return shown; });
    return mask.scores ? std::optional(mask) : std::nullopt;
  }
  auto sum = masked.getDefiningOp<BinaryOp>();
  if (!sum || sum.getKind() != BinaryKind::Add)
    return std::nullopt;
  for (auto [scores, bias] :
       {std::pair<Value, Value>(sum.getLhs(), sum.getRhs()),
        std::pair<Value, Value>(sum.getRhs(), sum.getLhs())}) {
    DimView view = viewDims(bias);
    auto choice = view.source.getDefiningOp<SelectOp>();
    if (!choice)
      continue;
    Value rest = scores;
    Mask mask = match(choice, view.dims, [&](Value shown) {
      std::optional<APFloat> zero = getSplat(shown);
      return zero && zero->isZero() ? rest : Value();
    });
    if (mask.scores) {
      mask.source = choice.getResult();
      return mask;
    }
  }
  return std::nullopt;
}

/// The cache that OPERAND, the right operand of a product of scores' batch
/// dimensions and [.., ALONG POSITION.., ALONG WIDTH], holds for all positions.
static std::optional<Cache> matchCache(OpBuilder &builder, Value operand,
                                       ScoreDims score, int64_t position,
                                       int64_t width) {
  DimView view = viewDims(operand, /*casts=*/1);
  ArrayRef<int64_t> shape = getTensorType(operand).getShape();
  auto type = dyn_cast<RankedTensorType>(view.source.getType());
  if (!type || !type.hasStaticShape() || !isDequantTensor(type) ||
      shape[position] == 1)
    return std::nullopt;
  // [R, C, K, d], or [C, K, d] for one row, whose unit dimension is seen
  // through.
  int64_t shift = type.getRank() == 4 ? 0 : -1;
  if (type.getRank() + shift != 4 + 2 * shift ||
      (shift < 0 && shape[score.row()] != 1))
    return std::nullopt;
  auto runsAlong = [&](int64_t dim, int64_t wanted) {
    return shape[dim] == 1 || view.dims[dim] == wanted + shift;
  };
  if (!runsAlong(score.row(), 0) || !runsAlong(position, 1) ||
      !runsAlong(width, 3) || (score.isGrouped() && view.dims[2] >= 0))
    return std::nullopt;
  // Heads: each its own, or one for all.
  int64_t heads = type.getDimSize(2 + shift);
  if (!runsAlong(score.head(), 2) && heads != 1)
    return std::nullopt;

  Cache cache;
  cache.source = view.source;
  auto gather = view.source.getDefiningOp<GatherOp>();
  if (gather && gather.getDim() == 0 &&
      getTensorType(gather.getIndices()).getRank() == 2 &&
      getTensorType(gather.getData()).getRank() == 3) {
    cache.tensor = gather.getData();
    cache.slots = gather.getIndices();
    return cache;
  }
  auto flat = RankedTensorType::get(
      {shape[score.row()] * shape[position], heads, type.getShape().back()},
      type.getElementType());
  if (flat.getNumElements() != type.getNumElements())
    return std::nullopt;
  cache.tensor = stripReshapes(view.source);
  if (cache.tensor.getType() != flat)
    cache.tensor =
        ReshapeOp::create(builder, operand.getLoc(), flat, cache.tensor);
  return cache;
}

/// Whether CACHE, if it is the value of a state, still is at OP.
static bool isReadableAt(Value cache, Operation *op) {
  Value value = stripReshapes(cache);
  for (Operation *user : value.getUsers())
    if (auto scatter = dyn_cast<ScatterOp>(user);
        scatter && scatter.getData() == value && scatter->isBeforeInBlock(op))
      return false;
  Value old = value;
  while (auto scatter = old.getDefiningOp<ScatterOp>())
    old = scatter.getData();
  auto get = old.getDefiningOp<GetOp>();
  if (!get)
    return true;
  for (auto set : op->getBlock()->getOps<SetOp>())
    if (set.getSymbolAttr() == get.getSymbolAttr() && set.getValue() != value &&
        set->isBeforeInBlock(op) && value.getDefiningOp()->isBeforeInBlock(set))
      return false;
  return true;
}

static std::optional<Match> matchAttention(OpBuilder &builder, MatmulOp root) {
  int64_t rank = root.getType().getRank();
  if (rank != 4 && rank != 5)
    return std::nullopt;
  ScoreDims score = {rank};
  Match match;
  // Probabilities, perhaps rounded to the values' type.
  Value probabilities = root.getLhs();
  if (auto cast = probabilities.getDefiningOp<CastOp>())
    probabilities = cast.getOperand();
  Value masked = matchSoftmax(probabilities);
  if (!masked)
    return std::nullopt;
  std::optional<Mask> mask = matchMask(builder, masked, score);
  if (!mask)
    return std::nullopt;
  match.mask = *mask;
  Value scores = mask->scores;
  if (auto scaled = scores.getDefiningOp<BinaryOp>();
      scaled && scaled.getKind() == BinaryKind::Mul) {
    std::optional<SplatOperand> scale = matchSplat(scaled);
    if (!scale || !scale->splat.isFinite())
      return std::nullopt;
    match.scale = scale->splat.convertToFloat();
    scores = scale->other;
  } else if (scaled && scaled.getKind() == BinaryKind::Div) {
    std::optional<APFloat> divisor = getSplat(scaled.getRhs());
    if (!divisor || !divisor->isFinite() || divisor->isZero())
      return std::nullopt;
    match.scale = 1 / divisor->convertToFloat();
    scores = scaled.getLhs();
  }
  auto product = scores.getDefiningOp<MatmulOp>();
  if (!product || !isF32(scores))
    return std::nullopt;
  match.query = product.getLhs();
  if (!isDequantTensor(match.query.getType()) ||
      getTensorType(match.query).getElementType() !=
          root.getType().getElementType())
    return std::nullopt;
  std::optional<Cache> keys =
      matchCache(builder, product.getRhs(), score, rank - 1, rank - 2);
  std::optional<Cache> values =
      matchCache(builder, root.getRhs(), score, rank - 2, rank - 1);
  if (!keys || !values || keys->slots != values->slots)
    return std::nullopt;
  RankedTensorType keyType = getTensorType(keys->tensor),
                   valueType = getTensorType(values->tensor);
  if (keyType.getElementType() != valueType.getElementType() ||
      keyType.getShape().drop_back() != valueType.getShape().drop_back() ||
      !isReadableAt(keys->tensor, root) || !isReadableAt(values->tensor, root))
    return std::nullopt;
  match.keys = *keys;
  match.values = *values;
  if (!isClosed(root,
                {match.query, keys->source, values->source, match.mask.source}))
    return std::nullopt;
  return match;
}

static bool rewrite(MatmulOp root) {
  OpBuilder builder(root);
  std::optional<Match> match = matchAttention(builder, root);
  if (!match)
    return false;
  Location location = root.getLoc();
  auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    auto type =
        RankedTensorType::get(shape, getTensorType(value).getElementType());
    if (value.getType() == type)
      return value;
    return ReshapeOp::create(builder, location, type, value);
  };
  auto transpose = [&](Value value, ArrayRef<int64_t> permutation) -> Value {
    return TransposeOp::create(builder, location, value, permutation);
  };
  ArrayRef<int64_t> shape = root.getType().getShape();
  bool isGrouped = shape.size() == 5;
  int64_t rows = shape[0], tokens = shape[shape.size() - 2];
  int64_t heads = isGrouped ? shape[1] * shape[2] : shape[1];
  int64_t width = getTensorType(match->query).getShape().back();
  SmallVector<int64_t> order = isGrouped ? SmallVector<int64_t>{0, 3, 1, 2, 4}
                                         : SmallVector<int64_t>{0, 2, 1, 3};
  Value query =
      reshape(transpose(match->query, order), {rows, tokens, heads, width});
  Value result = AttentionOp::create(
      builder, location, query, match->keys.tensor, match->values.tensor,
      match->mask.positions, match->keys.slots, APFloat(match->scale));
  if (isGrouped)
    result = transpose(
        reshape(result, {rows, tokens, shape[1], shape[2], shape.back()}),
        {0, 2, 3, 1, 4});
  else
    result = transpose(result, {0, 2, 1, 3});
  root.getResult().replaceAllUsesWith(result);
  return true;
}

namespace {
struct FlashAttention : graph::impl::GraphFlashAttentionBase<FlashAttention> {
  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody()) {
        SmallVector<MatmulOp> ops(block.getOps<MatmulOp>());
        for (MatmulOp op : ops)
          rewrite(op);
      }
    // Also what a match that failed half-way has left.
    eraseDeadOps(getOperation());
  }
};
} // namespace
