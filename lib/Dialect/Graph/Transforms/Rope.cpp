//===- Rope.cpp - Rotations of pairs of elements --------------------------===//
//
// The pass graph-rope. Recognizes part · cos + swapped · sin, where swapped is
// part with the elements of each pair exchanged.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHROPE
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

namespace {

/// A rectangular part of a value that slices of stride 1 take.
struct Part {
  Value base;
  SmallVector<int64_t> offsets;
};

Part partOf(Value value) {
  Part part = {value, SmallVector<int64_t>(getTensorType(value).getRank(), 0)};
  while (auto slice = part.base.getDefiningOp<SliceOp>()) {
    if (llvm::any_of(slice.getStrides(),
                     [](int64_t stride) { return stride != 1; }))
      break;
    for (auto [offset, more] :
         llvm::zip_equal(part.offsets, slice.getOffsets()))
      offset += more;
    part.base = slice.getOperand();
  }
  return part;
}

/// Whether FIRST and SECOND, of one shape, lie DISTANCE apart along the
/// innermost dimension of one value, FIRST behind.
bool areApart(const Part &first, const Part &second, int64_t distance) {
  return first.base == second.base &&
         llvm::equal(ArrayRef(first.offsets).drop_back(),
                     ArrayRef(second.offsets).drop_back()) &&
         first.offsets.back() == second.offsets.back() + distance;
}

/// Whether SWAPPED is PART with the elements of each pair exchanged, and which
/// pairs these are.
std::optional<RopePairs> matchSwap(Value swapped, Value part) {
  int64_t rank = getTensorType(part).getRank(),
          rotated = getTensorType(part).getShape().back();
  auto concat = stripReshapes(swapped).getDefiningOp<ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 || rotated % 2 != 0)
    return std::nullopt;
  Value first = concat.getInputs()[0], second = concat.getInputs()[1];
  if (first.getType() != second.getType() ||
      !isa<RankedTensorType>(first.getType()))
    return std::nullopt;
  ArrayRef<int64_t> shape = getTensorType(first).getShape();
  int64_t innermost = static_cast<int64_t>(shape.size()) - 1;
  if (static_cast<int64_t>(concat.getDim()) != innermost)
    return std::nullopt;
  Part behind = partOf(first), before = partOf(second);
  if (concat.getType() == part.getType() && innermost == rank - 1) {
    Part whole = partOf(part);
    if (areApart(behind, before, rotated / 2) && before.base == whole.base &&
        before.offsets == whole.offsets)
      return RopePairs::Halves;
    return std::nullopt;
  }
  // [.., r / 2, 2], of which every element is taken.
  SmallVector<int64_t> pairs(shape);
  if (pairs.back() != 1)
    return std::nullopt;
  pairs.back() = 2;
  if (getTensorType(before.base).getShape() != ArrayRef<int64_t>(pairs) ||
      !areApart(behind, before, 1) ||
      llvm::any_of(before.offsets, [](int64_t offset) { return offset != 0; }))
    return std::nullopt;
  // Pairs along the innermost dimension: the same elements in the same order.
  if (stripReshapes(before.base) != stripReshapes(part))
    return std::nullopt;
  return RopePairs::Adjacent;
}

/// What a rotation takes and gives, as far as it is recognized.
struct Rotation {
  RopePairs pairs;
  Value part, operand, cos, sin, result;
};

std::optional<Rotation> matchRotation(BinaryOp add) {
  if (add.getKind() != BinaryKind::Add || !isF32(add.getResult()) ||
      add.getType().getRank() < 2)
    return std::nullopt;
  auto left = add.getLhs().getDefiningOp<BinaryOp>(),
       right = add.getRhs().getDefiningOp<BinaryOp>();
  if (!left || !right || left.getKind() != BinaryKind::Mul ||
      right.getKind() != BinaryKind::Mul)
    return std::nullopt;
  for (auto [plain, turned] : {std::pair(left, right), std::pair(right, left)})
    for (unsigned i : {0u, 1u})
      for (unsigned j : {0u, 1u}) {
        Value part = plain->getOperand(i), swapped = turned->getOperand(j);
        if (std::optional<RopePairs> pairs = matchSwap(swapped, part))
          return Rotation{*pairs,
                          part,
                          part,
                          plain->getOperand(1 - i),
                          turned->getOperand(1 - j),
                          add.getResult()};
      }
  return std::nullopt;
}

/// The rotation with the casts around it.
std::optional<Rotation> withCasts(Rotation rotation) {
  auto widen = rotation.operand.getDefiningOp<CastOp>();
  auto narrow = onlyUser<CastOp>(rotation.result);
  if (!widen || !narrow ||
      getTensorType(widen.getOperand()).getElementType() !=
          narrow.getType().getElementType() ||
      !isDequantTensor(narrow.getType()))
    return std::nullopt;
  rotation.operand = widen.getOperand();
  rotation.result = narrow.getResult();
  return rotation;
}

/// The rotation of the first elements of rows whose others pass.
std::optional<Rotation> withRest(Rotation rotation) {
  auto concat = onlyUser<ConcatOp>(rotation.result);
  auto slice = rotation.operand.getDefiningOp<SliceOp>();
  if (!concat || !slice || concat.getInputs().size() != 2 ||
      concat.getInputs()[0] != rotation.result ||
      concat.getType() != slice.getOperand().getType())
    return std::nullopt;
  Part part = partOf(rotation.operand), rest = partOf(concat.getInputs()[1]);
  Part whole = partOf(slice.getOperand());
  int64_t rotated = getTensorType(rotation.operand).getShape().back();
  if (!areApart(rest, part, rotated) || part.base != whole.base ||
      part.offsets != whole.offsets)
    return std::nullopt;
  rotation.operand = slice.getOperand();
  rotation.result = concat.getResult();
  return rotation;
}

struct Rope : graph::impl::GraphRopeBase<Rope> {
  void runOnOperation() final;
};

bool rewrite(BinaryOp add) {
  std::optional<Rotation> match = matchRotation(add);
  if (!match)
    return false;
  SmallVector<Rotation> candidates = {*match};
  if (std::optional<Rotation> more = withCasts(candidates.back()))
    candidates.push_back(*more);
  if (std::optional<Rotation> more = withRest(candidates.back()))
    candidates.push_back(*more);
  DimView cos = viewDims(match->cos), sin = viewDims(match->sin);
  for (Rotation &rotation : llvm::reverse(candidates)) {
    SmallVector<Value> inputs = {rotation.operand, cos.source, sin.source};
    for (Value value : {rotation.operand, partOf(rotation.operand).base})
      inputs.push_back(stripReshapes(value));
    if (rotation.operand == match->part)
      inputs.push_back(partOf(match->part).base);
    if (!isClosed(rotation.result.getDefiningOp(), inputs))
      continue;
    OpBuilder builder(rotation.result.getDefiningOp());
    Location location = add.getLoc();
    // Angles without the dimension of heads, along which they repeat.
    ArrayRef<int64_t> shape = getTensorType(match->part).getShape();
    size_t heads = shape.size() - 2;
    SmallVector<int64_t> angleShape(shape);
    angleShape.erase(angleShape.begin() + heads);
    auto angles = [&](DimView view) -> Value {
      if (view.dims[heads] >= 0)
        return {};
      view.dims.erase(view.dims.begin() + heads);
      return rebuild(builder, location, view.source, view.dims, angleShape);
    };
    Value cosines = angles(cos), sines = angles(sin);
    if (!cosines || !sines || cosines.getType() != sines.getType() ||
        !isDequantTensor(cosines.getType()))
      return false;
    rotation.result.replaceAllUsesWith(
        RopeOp::create(builder, location, rotation.operand.getType(),
                       rotation.pairs, rotation.operand, cosines, sines));
    return true;
  }
  return false;
}

} // namespace

void Rope::runOnOperation() {
  bool changed = false;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      SmallVector<BinaryOp> ops(block.getOps<BinaryOp>());
      for (BinaryOp op : ops)
        changed |= rewrite(op);
    }
  if (changed)
    eraseDeadOps(getOperation());
}
