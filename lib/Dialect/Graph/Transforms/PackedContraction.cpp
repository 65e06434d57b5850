//===- PackedContraction.cpp - Products with weights as they are stored ---===//
//
// The pass graph-packed-contraction. Takes any module; a weight whose decoded
// values all serve products or gathers of rows is no longer decoded as a whole.
//
//===----------------------------------------------------------------------===//

#include "Match.h"
#include "Poot/Dialect/Graph/ElementTypes.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHPACKEDCONTRACTION
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

namespace {

/// The stored weight that OP, a dequantization or a widening cast of a const,
/// gives the values of; null for any other op.
Value getStored(Operation &op) {
  if (auto dequant = dyn_cast<PackedDequantOp>(op))
    return dequant.getOperand();
  auto cast = dyn_cast<CastOp>(op);
  if (!cast || !isDequantTensor(cast.getType()) ||
      !isDequantTensor(cast.getOperand().getType()) ||
      cast.getType().getElementTypeBitWidth() <=
          getTensorType(cast.getOperand()).getElementTypeBitWidth())
    return {};
  auto get = cast.getOperand().getDefiningOp<GetOp>();
  if (!get || !isa_and_nonnull<ConstOp>(SymbolTable::lookupNearestSymbolFrom(
                  get, get.getSymbolAttr())))
    return {};
  return cast.getOperand();
}

/// A slice of whole rows of DECODED, or null.
SliceOp getRowSlice(Value value, Value decoded) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || slice.getOperand() != decoded)
    return {};
  ArrayRef<int64_t> from = getShape(decoded.getType()),
                    to = getShape(value.getType());
  bool isWhole = from.back() == to.back() &&
                 llvm::all_of(slice.getStrides(),
                              [](int64_t stride) { return stride == 1; });
  return isWhole ? slice : SliceOp();
}

/// Whether VALUE is DECODED, or rows of it, whose dimension WANTED[i] runs
/// along its dimension i (-1: none does).
bool isViewOf(Value value, Value decoded, ArrayRef<int64_t> wanted) {
  DimView view = viewDims(value);
  if (view.source != decoded && !getRowSlice(view.source, decoded))
    return false;
  size_t rank = getShape(decoded.getType()).size();
  int64_t last = 0;
  for (int64_t dim : wanted)
    last = std::max(last, dim);
  if (static_cast<size_t>(last) + 1 != rank)
    return false;
  ArrayRef<int64_t> shape = getTensorType(value).getShape();
  for (auto [extent, dim, want] : llvm::zip_equal(shape, view.dims, wanted))
    if (extent != 1 && dim != want)
      return false;
  return true;
}

/// Whether USER can read the stored weight instead of DECODED.
bool isConvertible(Operation *user, Value decoded) {
  if (auto matmul = dyn_cast<MatmulOp>(user)) {
    SmallVector<int64_t> wanted(matmul.getType().getRank(), -1);
    wanted[wanted.size() - 2] = 1;
    wanted[wanted.size() - 1] = 0;
    return isViewOf(matmul.getRhs(), decoded, wanted) &&
           viewDims(matmul.getLhs()).source != decoded;
  }
  if (auto matmul = dyn_cast<IndexedMatmulOp>(user))
    return isViewOf(matmul.getWeights(), decoded, {0, 2, 1});
  if (auto gather = dyn_cast<GatherOp>(user))
    return gather.getDim() == 0 && getShape(decoded.getType()).size() == 2 &&
           (gather.getData() == decoded ||
            getRowSlice(gather.getData(), decoded));
  return false;
}

/// The ops that use VALUE, or a view of it; nothing where a use can't read the
/// stored weight.
bool collectUsers(Value value, Value decoded,
                  llvm::SetVector<Operation *> &users) {
  for (Operation *user : value.getUsers()) {
    if (isa<TransposeOp, BroadcastOp, ReshapeOp>(user) ||
        (isa<SliceOp>(user) && value == decoded &&
         getRowSlice(user->getResult(0), decoded))) {
      if (!collectUsers(user->getResult(0), decoded, users))
        return false;
    } else if (isConvertible(user, decoded)) {
      users.insert(user);
    } else {
      return false;
    }
  }
  return true;
}

/// STORED, or those of its rows that SOURCE, DECODED or a slice of it, holds.
Value getRows(OpBuilder &builder, Value stored, Value source, Value decoded) {
  SliceOp slice = getRowSlice(source, decoded);
  if (!slice)
    return stored;
  ArrayRef<int64_t> shape = getShape(slice.getResult().getType());
  Type type;
  if (auto packed = dyn_cast<PackedType>(stored.getType()))
    type = PackedType::get(builder.getContext(), packed.getEncoding(),
                           packed.getLayout(), shape);
  else
    type = RankedTensorType::get(shape, getTensorType(stored).getElementType());
  return SliceOp::create(builder, slice.getLoc(), type, stored,
                         slice.getOffsets(), slice.getStrides());
}

void convert(Operation *user, Value stored, Value decoded) {
  OpBuilder builder(user);
  Location location = user->getLoc();
  auto rowsOf = [&](Value operand) {
    return getRows(builder, stored, viewDims(operand).source, decoded);
  };
  if (auto matmul = dyn_cast<MatmulOp>(user)) {
    matmul.getResult().replaceAllUsesWith(PackedContractionOp::create(
        builder, location, matmul.getType(), matmul.getLhs(),
        rowsOf(matmul.getRhs()), Value()));
  } else if (auto matmul = dyn_cast<IndexedMatmulOp>(user)) {
    matmul.getResult().replaceAllUsesWith(PackedContractionOp::create(
        builder, location, matmul.getType(), matmul.getLhs(),
        rowsOf(matmul.getWeights()), matmul.getIndices()));
  } else {
    auto gather = cast<GatherOp>(user);
    Value rows = getRows(builder, stored, gather.getData(), decoded);
    Value result;
    if (isa<PackedType>(stored.getType()))
      result = PackedRowGatherOp::create(builder, location, gather.getType(),
                                         rows, gather.getIndices());
    else
      // What few rows there are is widened.
      result = CastOp::create(
          builder, location, gather.getType(),
          GatherOp::create(builder, location, rows, gather.getIndices(), 0));
    gather.getResult().replaceAllUsesWith(result);
  }
}

struct PackedContraction
    : graph::impl::GraphPackedContractionBase<PackedContraction> {
  void runOnOperation() final {
    bool changed = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        for (Operation &op : llvm::make_early_inc_range(block)) {
          Value stored = getStored(op);
          llvm::SetVector<Operation *> users;
          if (!stored || !collectUsers(op.getResult(0), op.getResult(0), users))
            continue;
          for (Operation *user : users)
            convert(user, stored, op.getResult(0));
          changed |= !users.empty();
        }
    if (changed)
      eraseDeadOps(getOperation());
  }
};

} // namespace
