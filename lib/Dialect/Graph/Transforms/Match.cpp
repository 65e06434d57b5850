//===- Match.cpp - What rewrites of the graph have in common --------------===//

#include "Match.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

/// Extents above 1, and where they stand.
static SmallVector<int64_t> nonUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (extent != 1)
      dims.push_back(i);
  return dims;
}

/// Whether OP adds and drops extents of 1 alone.
static bool isUnitReshape(ReshapeOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape(),
                    to = op.getType().getShape();
  SmallVector<int64_t> fromDims = nonUnitDims(from), toDims = nonUnitDims(to);
  return fromDims.size() == toDims.size() &&
         llvm::all_of(llvm::zip_equal(fromDims, toDims), [&](auto pair) {
           auto [a, b] = pair;
           return from[a] == to[b];
         });
}

SmallVector<int64_t> graph::compose(ArrayRef<int64_t> outer,
                                    ArrayRef<int64_t> inner) {
  SmallVector<int64_t> dims;
  for (int64_t dim : outer)
    dims.push_back(dim < 0 ? -1 : inner[dim]);
  return dims;
}

DimView graph::viewDims(Value value, int casts) {
  auto identity = [](Value value) {
    SmallVector<int64_t> dims;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (auto [i, extent] : llvm::enumerate(type.getShape()))
        dims.push_back(extent == 1 ? -1 : i);
    return dims;
  };
  DimView view = {value, identity(value)};
  while (Operation *op = view.source.getDefiningOp()) {
    SmallVector<int64_t> step;
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      step = llvm::to_vector(transpose.getPermutation());
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      step.assign(getTensorType(broadcast).getRank(), -1);
      for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
        if (getTensorType(broadcast.getOperand()).getDimSize(i) != 1)
          step[dim] = i;
    } else if (auto reshape = dyn_cast<ReshapeOp>(op);
               reshape && isUnitReshape(reshape)) {
      step.assign(reshape.getType().getRank(), -1);
      for (auto [to, from] : llvm::zip_equal(
               nonUnitDims(reshape.getType().getShape()),
               nonUnitDims(getTensorType(reshape.getOperand()).getShape())))
        step[to] = from;
    } else if (auto cast = dyn_cast<CastOp>(op);
               cast && casts > 0 &&
               isa<FloatType>(
                   getTensorType(cast.getOperand()).getElementType()) &&
               isa<FloatType>(cast.getType().getElementType())) {
      --casts;
      step = llvm::to_vector(llvm::seq<int64_t>(cast.getType().getRank()));
    } else {
      break;
    }
    view.dims = compose(view.dims, step);
    view.source = op->getOperand(0);
  }
  return view;
}

Value graph::rebuild(OpBuilder &builder, Location location, Value source,
                     ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  RankedTensorType type = getTensorType(source);
  auto wanted = RankedTensorType::get(shape, type.getElementType());
  SmallVector<int64_t> needed = nonUnitDims(type.getShape()), kept, targets;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim >= 0) {
      kept.push_back(dim);
      targets.push_back(i);
    }
  // In order, and all of them.
  if (kept != needed)
    return {};
  for (auto [dim, target] : llvm::zip_equal(kept, targets))
    if (type.getDimSize(dim) != shape[target])
      return {};
  if (type == wanted)
    return source;
  SmallVector<int64_t> extents;
  for (int64_t dim : kept)
    extents.push_back(type.getDimSize(dim));
  auto dense = RankedTensorType::get(extents, type.getElementType());
  if (dense != type)
    source = ReshapeOp::create(builder, location, dense, source);
  if (dense == wanted)
    return source;
  return BroadcastOp::create(builder, location, wanted, source, targets);
}

Value graph::stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

Operation *graph::definition(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (!isUnitReshape(reshape))
      break;
    value = reshape.getOperand();
  }
  return value.getDefiningOp();
}

std::optional<APFloat> graph::getSplat(Value value) {
  auto constant = viewDims(value).source.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>();
}

std::optional<SplatOperand> graph::matchSplat(BinaryOp op) {
  if (std::optional<APFloat> splat = getSplat(op.getRhs()))
    return SplatOperand{op.getLhs(), *splat};
  if (std::optional<APFloat> splat = getSplat(op.getLhs()))
    return SplatOperand{op.getRhs(), *splat};
  return std::nullopt;
}

bool graph::isRowBroadcast(const DimView &view, ArrayRef<int64_t> shape) {
  if (shape.empty() || shape.back() == 1 || view.dims.back() != -1)
    return false;
  int64_t last = -1;
  for (auto [extent, dim] : llvm::drop_end(llvm::zip_equal(shape, view.dims))) {
    if (extent == 1)
      continue;
    if (dim <= last)
      return false;
    last = dim;
  }
  return true;
}

ReduceOp graph::matchRowReduce(Value value, ReduceKind kind) {
  auto reduce = definitionAs<ReduceOp>(value);
  if (!reduce || reduce.getKind() != kind || !isF32(reduce.getOperand()))
    return {};
  int64_t last = getTensorType(reduce.getOperand()).getRank() - 1;
  return reduce.getDims() == ArrayRef<int64_t>(last) ? reduce : ReduceOp();
}

/// The reduction of KIND of which VALUE repeats the rows.
static ReduceOp matchRepeatedReduce(Value value, ReduceKind kind) {
  DimView view = viewDims(value);
  if (!isRowBroadcast(view, getTensorType(value).getShape()))
    return {};
  return matchRowReduce(view.source, kind);
}

Value graph::matchSoftmax(Value value) {
  if (auto softmax = value.getDefiningOp<SoftmaxOp>())
    return isF32(value) ? softmax.getOperand() : Value();
  auto quotient = value.getDefiningOp<BinaryOp>();
  if (!quotient || quotient.getKind() != BinaryKind::Div)
    return {};
  Value powers = quotient.getLhs();
  ReduceOp sum = matchRepeatedReduce(quotient.getRhs(), ReduceKind::Sum);
  auto exp = powers.getDefiningOp<UnaryOp>();
  if (!sum || sum.getOperand() != powers || !exp ||
      exp.getKind() != UnaryKind::Exp)
    return {};
  auto shifted = exp.getOperand().getDefiningOp<BinaryOp>();
  if (!shifted || shifted.getKind() != BinaryKind::Sub)
    return {};
  ReduceOp maximum = matchRepeatedReduce(shifted.getRhs(), ReduceKind::Max);
  if (!maximum || maximum.getOperand() != shifted.getLhs())
    return {};
  return shifted.getLhs();
}

bool graph::isClosed(Operation *root, ArrayRef<Value> inputs) {
  // Patterns have far fewer ops; more means that it isn't one.
  constexpr size_t kMostOps = 64;
  llvm::SmallSetVector<Operation *, 16> inside;
  inside.insert(root);
  for (size_t i = 0; i < inside.size(); ++i)
    for (Value operand : inside[i]->getOperands()) {
      Value source = viewDims(operand, /*casts=*/1).source;
      if (llvm::is_contained(inputs, operand) ||
          llvm::is_contained(inputs, source) ||
          isa_and_nonnull<ConstantOp>(source.getDefiningOp()))
        continue;
      if (!operand.getDefiningOp() || inside.size() == kMostOps)
        return false;
      inside.insert(operand.getDefiningOp());
    }
  return llvm::all_of(inside, [&](Operation *op) {
    return op == root || llvm::all_of(op->getUsers(), [&](Operation *user) {
             return inside.contains(user);
           });
  });
}

void graph::eraseDeadOps(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
}
