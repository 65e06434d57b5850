//===- RowNorms.cpp - Softmax and norms out of reductions over rows -------===//
//
// The pass graph-row-norms. Takes any module; leaves it as it is but for rows
// that it recognizes.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHROWNORMS
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

namespace {

/// A norm, or softmax, from an op of its own on: the values that stand for its
/// operand and its result, widening as more of it is recognized.
struct Rows {
  Value operand, scale, bias, result;
  float epsilon = 0;
  bool isCentred = false;
};

/// Where the operand has just been widened to f32 and the result is rounded
/// back, both casts belong to the op.
std::optional<Rows> withCasts(const Rows &rows) {
  auto widen = rows.operand.getDefiningOp<CastOp>();
  auto narrow = onlyUser<CastOp>(rows.result);
  if (!widen || !narrow || widen.getOperand().getType() != narrow.getType() ||
      !isDequantTensor(narrow.getType()))
    return std::nullopt;
  Rows wider = rows;
  wider.operand = widen.getOperand();
  wider.result = narrow.getResult();
  return wider;
}

bool isClosed(const Rows &rows) {
  SmallVector<Value> inputs = {rows.operand};
  for (Value value : {rows.scale, rows.bias})
    if (value)
      inputs.push_back(viewDims(value, /*casts=*/1).source);
  return graph::isClosed(rows.result.getDefiningOp(), inputs);
}

/// The operand whose rows VALUE holds the means of; null where it holds none.
Value matchMean(Value value) {
  auto op = definitionAs<BinaryOp>(value);
  if (!op)
    return {};
  std::optional<SplatOperand> match = matchSplat(op);
  if (!match)
    return {};
  ReduceOp sum = matchRowReduce(match->other, ReduceKind::Sum);
  if (!sum)
    return {};
  auto count =
      static_cast<double>(getTensorType(sum.getOperand()).getShape().back());
  if (op.getKind() == BinaryKind::Mul &&
      match->splat.bitwiseIsEqual(APFloat(static_cast<float>(1.0 / count))))
    return sum.getOperand();
  if (op.getKind() == BinaryKind::Div && match->other == op.getLhs() &&
      match->splat.bitwiseIsEqual(APFloat(static_cast<float>(count))))
    return sum.getOperand();
  return {};
}

/// The operand of rsqrt(mean(x · x) + epsilon), and epsilon.
Value matchRoot(Value value, float &epsilon) {
  auto rsqrt = definitionAs<UnaryOp>(value);
  if (!rsqrt || rsqrt.getKind() != UnaryKind::Rsqrt)
    return {};
  auto add = definitionAs<BinaryOp>(rsqrt.getOperand());
  if (!add || add.getKind() != BinaryKind::Add)
    return {};
  std::optional<SplatOperand> match = matchSplat(add);
  if (!match || !match->splat.isFinite() || match->splat.isNegative())
    return {};
  Value squares = matchMean(match->other);
  auto square = squares ? squares.getDefiningOp<BinaryOp>() : BinaryOp();
  if (!square || square.getKind() != BinaryKind::Mul ||
      square.getLhs() != square.getRhs())
    return {};
  epsilon = match->splat.convertToFloat();
  return square.getLhs();
}

/// The operand of OP that varies along the innermost dimension alone, if the
/// other one is RESULT.
Value matchPerElement(BinaryOp op, Value result) {
  Value value = op.getLhs() == result ? op.getRhs() : op.getLhs();
  DimView view = viewDims(value);
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (value == result || shape.back() == 1 || view.dims.back() < 0 ||
      llvm::any_of(ArrayRef(view.dims).drop_back(),
                   [](int64_t dim) { return dim >= 0; }))
    return {};
  return value;
}

struct RowNorms : graph::impl::GraphRowNormsBase<RowNorms> {
  void runOnOperation() final;

private:
  bool rewriteSoftmax(BinaryOp op);
  bool rewriteNorm(BinaryOp op);
};

} // namespace

bool RowNorms::rewriteSoftmax(BinaryOp op) {
  Value operand = matchSoftmax(op.getResult());
  if (!operand)
    return false;
  Rows rows;
  rows.operand = operand;
  rows.result = op.getResult();
  if (std::optional<Rows> wider = withCasts(rows); wider && isClosed(*wider))
    rows = *wider;
  else if (!isClosed(rows))
    return false;
  OpBuilder builder(rows.result.getDefiningOp());
  rows.result.replaceAllUsesWith(SoftmaxOp::create(
      builder, op.getLoc(), rows.operand.getType(), rows.operand));
  return true;
}

bool RowNorms::rewriteNorm(BinaryOp op) {
  if (op.getKind() != BinaryKind::Mul || !isF32(op.getResult()))
    return false;
  // x · root, in either order.
  Rows rows;
  for (auto [x, root] : {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
                         std::pair<Value, Value>(op.getRhs(), op.getLhs())}) {
    DimView view = viewDims(root);
    if (isRowBroadcast(view, op.getType().getShape()) &&
        matchRoot(view.source, rows.epsilon) == x)
      rows.operand = x;
  }
  if (!rows.operand)
    return false;
  rows.result = op.getResult();

  // From the least to the most that is recognized.
  SmallVector<Rows> candidates = {rows};
  auto extend = [&](const Rows &more) {
    candidates.push_back(more);
    rows = more;
  };
  if (auto centred = rows.operand.getDefiningOp<BinaryOp>();
      centred && centred.getKind() == BinaryKind::Sub) {
    DimView view = viewDims(centred.getRhs());
    if (isRowBroadcast(view, centred.getType().getShape()) &&
        matchMean(view.source) == centred.getLhs()) {
      Rows more = rows;
      more.operand = centred.getLhs();
      more.isCentred = true;
      extend(more);
    }
  }
  if (auto scaled = onlyUser<BinaryOp>(rows.result);
      scaled && scaled.getKind() == BinaryKind::Mul) {
    if (Value scale = matchPerElement(scaled, rows.result)) {
      Rows more = rows;
      more.scale = scale;
      more.result = scaled.getResult();
      extend(more);
    }
  }
  if (auto shifted = onlyUser<BinaryOp>(rows.result);
      shifted && shifted.getKind() == BinaryKind::Add && rows.isCentred) {
    if (Value bias = matchPerElement(shifted, rows.result)) {
      Rows more = rows;
      more.bias = bias;
      more.result = shifted.getResult();
      extend(more);
    }
  }
  if (std::optional<Rows> wider = withCasts(rows))
    extend(*wider);

  for (Rows &match : llvm::reverse(candidates)) {
    if (!isClosed(match))
      continue;
    OpBuilder builder(match.result.getDefiningOp());
    Location location = op.getLoc();
    int64_t extent = getTensorType(match.operand).getShape().back();
    auto perElement = [&](Value value) -> Value {
      if (!value)
        return value;
      DimView view = viewDims(value);
      return rebuild(builder, location, view.source, {view.dims.back()},
                     {extent});
    };
    Value scale = perElement(match.scale), bias = perElement(match.bias);
    APFloat epsilon(match.epsilon);
    Value norm;
    if (match.isCentred)
      norm = LayerNormOp::create(builder, location, match.operand.getType(),
                                 match.operand, scale, bias, epsilon);
    else
      norm = RmsNormOp::create(builder, location, match.operand.getType(),
                               match.operand, scale, epsilon);
    match.result.replaceAllUsesWith(norm);
    return true;
  }
  return false;
}

void RowNorms::runOnOperation() {
  bool changed = false;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      SmallVector<BinaryOp> ops(block.getOps<BinaryOp>());
      for (BinaryOp op : ops)
        changed |= rewriteSoftmax(op) || rewriteNorm(op);
    }
  if (changed)
    eraseDeadOps(getOperation());
}
