//===- FuseProducts.cpp - Element-wise ops become part of products --------===//
//
// Implements plan-fuse-products, and what a fused op computes of the sums.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "KernelBody.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Planner/Passes.h"
#include "Poot/Planner/TargetInfo.h"
#include "Variants.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {
#define GEN_PASS_DEF_PLANFUSEPRODUCTS
#include "Poot/Planner/PlannerPasses.h.inc"

static bool isProduct(Operation *op) {
  return isa<MatmulOp, IndexedMatmulOp, PackedContractionOp>(op);
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

bool Epilogue::isIn(FusedOp op) {
  return llvm::any_of(op.getBody().front(),
                      [](Operation &inner) { return isProduct(&inner); });
}

Epilogue::Epilogue(FusedOp op) : op(op) {
  for (Operation &inner : op.getBody().front())
    if (isProduct(&inner))
      products.push_back(&inner);
  auto weightOf = [](Operation *product) {
    return cast<BlockArgument>(product->getOperand(1)).getArgNumber();
  };
  // The one whose operands come first is the first.
  llvm::sort(products, [&](Operation *a, Operation *b) {
    return weightOf(a) < weightOf(b);
  });
  if (products.size() == 2)
    secondWeight = weightOf(products[1]);
}

KValue Epilogue::compute(OperandAccess &at, KValue number,
                         ArrayRef<KValue> sums) const {
  kernel::KernelBuilder &k = at.k;
  Block &body = const_cast<FusedOp &>(op).getBody().front();
  llvm::DenseMap<Value, KValue> elements;
  auto elementOf = [&](Value value) {
    KValue &element = elements[value];
    if (!element)
      element =
          at.loadElement(cast<BlockArgument>(value).getArgNumber(), number);
    return element;
  };
  for (Operation &inner : body.without_terminator()) {
    Value result = inner.getResult(0);
    Type type = getElementTypeOrSelf(result.getType());
    auto product = llvm::find(products, &inner);
    DenseElementsAttr literal;
    if (product != products.end()) {
      elements[result] = convert(k, sums[product - products.begin()], type);
    } else if (matchPattern(&inner, m_Constant(&literal))) {
      elements[result] = k.constant(literal.getSplatValue<TypedAttr>());
    } else if (isa<ReshapeOp>(inner)) {
      elements[result] = elementOf(inner.getOperand(0));
    } else {
      SmallVector<KValue> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(elementOf(operand));
      elements[result] = computeElement(k, &inner, operands);
    }
  }
  return elementOf(cast<YieldOp>(body.getTerminator()).getOperand());
}

//===----------------------------------------------------------------------===//
// Fusing
//===----------------------------------------------------------------------===//

namespace {

using Ops = llvm::SetVector<Operation *>;

/// Element-wise ops, and what only gives elements another index.
bool isPointwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<ReshapeOp>(op);
}

/// True if nothing outside of `ops` uses a result of theirs but that of `last`.
bool isClosed(const Ops &ops, Operation *last) {
  return llvm::all_of(ops, [&](Operation *op) {
    return op == last || llvm::all_of(op->getUsers(), [&](Operation *user) {
             return ops.contains(user);
           });
  });
}

/// Whether every target binds `value` at once, or what it is a view of.
bool fitsBinding(Value value) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const TargetInfo &target : getTargets())
    most = std::min(most, target.maxBindingBytes);
  Operation *view = value.getDefiningOp();
  while (isa_and_nonnull<SliceOp, TransposeOp, BroadcastOp>(view)) {
    value = view->getOperand(0);
    view = value.getDefiningOp();
  }
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (tensor && !tensor.hasStaticShape())
    return false;
  // A reshape is a view or a copy.
  return deviceBytes(value.getType()) < most &&
         (!isa_and_nonnull<ReshapeOp>(view) ||
          fitsBinding(view->getOperand(0)));
}

/// An op that is split where an operand exceeds what a target binds is left
/// alone: its parts are none of a fused op's result.
bool fitsBindings(Operation *op) {
  return llvm::all_of(op->getOperands(), fitsBinding) &&
         llvm::all_of(op->getResults(), fitsBinding);
}

/// Whether a kernel computes both products at once: of few rows with
/// weights alike, which begin where their buffers do.
bool isPair(Operation *one, Operation *other) {
  auto a = dyn_cast<PackedContractionOp>(one),
       b = dyn_cast<PackedContractionOp>(other);
  if (!a || !b || a.getIndices() || b.getIndices() ||
      a.getLhs() != b.getLhs() || a.getWeights() == b.getWeights() ||
      a.getWeights().getType() != b.getWeights().getType() ||
      a.getType() != b.getType())
    return false;
  ArrayRef<int64_t> shape = getShape(a.getWeights().getType());
  auto packed = dyn_cast<PackedType>(a.getWeights().getType());
  bool hasForm = packed ? packed.getLayout() == PackedLayout::Planar
                        : shape.back() % 4 == 0;
  return hasForm && a.getWeights().getDefiningOp<GetOp>() &&
         b.getWeights().getDefiningOp<GetOp>() &&
         a.getResult().getType().getNumElements() / shape[0] <= kFewRows;
}

/// Adds the second product behind `value`, and what reshapes it, to `ops`, if
/// there is one of `first` and nothing else uses it.
void joinPair(Operation *first, Value value, Ops &ops) {
  SmallVector<Operation *> found;
  for (Operation *op = value.getDefiningOp(); op && op->hasOneUse();
       op = op->getOperand(0).getDefiningOp()) {
    found.push_back(op);
    if (isa<ReshapeOp>(op))
      continue;
    if (op != first && isPair(first, op) && fitsBindings(op))
      ops.insert(found.begin(), found.end());
    return;
  }
}

/// The product and the most ops behind it that one kernel can compute with it,
/// in the order of the block; none if there are none.
Ops findFusion(Operation *product) {
  Ops ops, best;
  ops.insert(product);
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode()) {
    // A state may be another one behind its update, which a scatter does in
    // place.
    if (isa<SetOp, ScatterOp>(op))
      break;
    if (llvm::none_of(op->getOperands(), [&](Value operand) {
          return ops.contains(operand.getDefiningOp());
        }))
      continue;
    if (!isPointwise(op) || !fitsBindings(op))
      break;
    for (Value operand : op->getOperands())
      if (!ops.contains(operand.getDefiningOp()) &&
          llvm::count_if(ops, isProduct) == 1)
        joinPair(product, operand, ops);
    ops.insert(op);
    if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())) &&
        isClosed(ops, op) && !isa<ReshapeOp>(op))
      best = ops;
  }
  SmallVector<Operation *> sorted = best.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return Ops(sorted.begin(), sorted.end());
}

/// The literal of which every element of `value` is one, if it is such.
DenseElementsAttr getSplat(Value value) {
  DenseElementsAttr literal;
  return matchPattern(value, m_Constant(&literal)) && literal.isSplat()
             ? literal
             : DenseElementsAttr();
}

void fuse(Operation *product, const Ops &ops) {
  Operation *last = ops.back();
  // The product's own operands come first, then a second weight. What
  // element-wise ops take is an operand of its own even where it is one of
  // these: a kernel sees a matrix as its product needs it.
  SmallVector<Value> operands(product->getOperands());
  llvm::SetVector<Value> elements;
  std::string pattern = "product";
  for (Operation *op : ops) {
    if (isProduct(op)) {
      if (op != product)
        operands.push_back(op->getOperand(1));
      continue;
    }
    if (!isa<ReshapeOp>(op))
      pattern += ("_" + getKindName(op)).str();
    for (Value operand : op->getOperands())
      if (!ops.contains(operand.getDefiningOp()) && !getSplat(operand))
        elements.insert(operand);
  }
  size_t numOfProducts = operands.size();
  llvm::append_range(operands, elements);

  OpBuilder builder(last);
  SmallVector<Location> locs;
  for (Operation *op : ops)
    locs.push_back(op->getLoc());
  auto fused = FusedOp::create(builder, builder.getFusedLoc(locs),
                               last->getResult(0).getType(), pattern, operands);
  Block *body = builder.createBlock(
      &fused.getBody(), {}, ValueRange(operands).getTypes(),
      SmallVector<Location>(operands.size(), fused.getLoc()));
  ValueRange arguments = body->getArguments();
  IRMapping ofProducts, mapping;
  ofProducts.map(ArrayRef(operands).take_front(numOfProducts),
                 arguments.take_front(numOfProducts));
  mapping.map(elements.getArrayRef(), arguments.drop_front(numOfProducts));
  for (Operation *op : ops) {
    if (isProduct(op)) {
      mapping.map(op->getResult(0),
                  builder.clone(*op, ofProducts)->getResult(0));
      continue;
    }
    for (Value operand : op->getOperands())
      if (DenseElementsAttr literal = getSplat(operand);
          literal && !mapping.contains(operand))
        mapping.map(
            operand,
            ConstantOp::create(builder, operand.getLoc(), literal).getResult());
    builder.clone(*op, mapping);
  }
  YieldOp::create(builder, last->getLoc(), mapping.lookup(last->getResult(0)));
  last->getResult(0).replaceAllUsesWith(fused.getResult());
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

struct FuseProducts : impl::PlanFuseProductsBase<FuseProducts> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody()) {
        // A product may be part of another one's fusion.
        for (Operation *op = block.empty() ? nullptr : &block.front(); op;) {
          Operation *next = op->getNextNode();
          if (isProduct(op) && fitsBindings(op))
            if (Ops ops = findFusion(op); !ops.empty()) {
              Operation *last = ops.back();
              next = last->getNextNode();
              // Ops in between that aren't part of it are looked at again.
              for (Operation *between = op->getNextNode(); between != last;
                   between = between->getNextNode())
                if (!ops.contains(between)) {
                  next = between;
                  break;
                }
              fuse(op, ops);
            }
          op = next;
        }
      }
  }
};

} // namespace
} // namespace poot::planner
