//===- SplitVectors.cpp - Vectors of the lengths that targets have --------===//
//
// Takes a kernel as a control-flow graph and replaces each value that is a
// vector of more than four elements by several: vectors of four, and what is
// left over. A vector of one element becomes that element. Most operations work
// on such pieces one by one; those that move elements across pieces are taken
// apart into elements and put together again.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/TypeSwitch.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELSPLITVECTORS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

using Values = SmallVector<Value, 8>;

/// The longest vector that is left.
static constexpr int64_t kPiece = 4;

/// The type as a vector that is to be split, else null.
static VectorType getLong(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1 || vector.isScalable())
    return {};
  int64_t size = vector.getDimSize(0);
  return size == 1 || size > kPiece ? vector : VectorType();
}

static Type getPieceType(Type element, int64_t size) {
  return size == 1 ? element : VectorType::get({size}, element);
}

static SmallVector<Type, 4> getPieceTypes(VectorType type) {
  SmallVector<Type, 4> types;
  int64_t size = type.getDimSize(0);
  for (int64_t at = 0; at < size; at += kPiece)
    types.push_back(
        getPieceType(type.getElementType(), std::min(kPiece, size - at)));
  return types;
}

static int64_t getLength(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getDimSize(0) : 1;
}

namespace {
class Splitter {
public:
  explicit Splitter(FuncOp func) : func(func), builder(func.getContext()) {}
  LogicalResult run();

private:
  LogicalResult split(Operation *op);
  LogicalResult splitBranch(Operation *op);
  void splitConstant(arith::ConstantOp op, VectorType type);
  void splitElementwise(Operation *op, unsigned count);
  void splitExtract(vector::ExtractOp op);
  void splitInsert(vector::InsertOp op);
  void splitVarLoad(VarLoadOp op);
  void splitVarStore(VarStoreOp op);
  void dropReplaced();

  Values getPieces(Value value);
  Values getElements(Value value);
  Value getElement(Value vector, int64_t position);
  Value join(ArrayRef<Value> elements);
  Values castElements(ArrayRef<Value> elements, Type to);
  /// Gives an operation's result: one value for each element.
  void setElements(Value result, ArrayRef<Value> elements);
  /// As pieces where the result is to be split.
  void setPieces(Value result, ArrayRef<Value> newPieces);
  Value createIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  FuncOp func;
  OpBuilder builder;
  Location loc = func.getLoc();
  DenseMap<Value, Values> pieces;
  SmallVector<Operation *> dead;
};
} // namespace

//===----------------------------------------------------------------------===//
// Elements and pieces
//===----------------------------------------------------------------------===//

Values Splitter::getPieces(Value value) {
  auto found = pieces.find(value);
  return found == pieces.end() ? Values{value} : found->second;
}

Value Splitter::getElement(Value vector, int64_t position) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  return vector::ExtractOp::create(builder, loc, vector, position);
}

Values Splitter::getElements(Value value) {
  Values elements;
  for (Value piece : getPieces(value))
    for (int64_t i = 0, size = getLength(piece.getType()); i != size; ++i)
      elements.push_back(getElement(piece, i));
  return elements;
}

/// A vector, or the only element.
Value Splitter::join(ArrayRef<Value> elements) {
  if (elements.size() == 1)
    return elements.front();
  // What was just taken apart.
  auto first = elements.front().getDefiningOp<vector::ExtractOp>();
  if (first &&
      getLength(first.getSource().getType()) ==
          static_cast<int64_t>(elements.size()) &&
      llvm::all_of(llvm::enumerate(elements), [&](auto item) {
        auto extract = item.value().template getDefiningOp<vector::ExtractOp>();
        return extract && extract.getSource() == first.getSource() &&
               extract.getMixedPosition().size() == 1 &&
               getConstantIntValue(extract.getMixedPosition()[0]) ==
                   static_cast<int64_t>(item.index());
      }))
    return first.getSource();
  return vector::FromElementsOp::create(
      builder, loc,
      VectorType::get({static_cast<int64_t>(elements.size())},
                      elements.front().getType()),
      elements);
}

void Splitter::setPieces(Value result, ArrayRef<Value> newPieces) {
  if (getLong(result.getType()))
    pieces[result] = Values(newPieces);
  else
    result.replaceAllUsesWith(newPieces.front());
}

void Splitter::setElements(Value result, ArrayRef<Value> elements) {
  Values joined;
  for (; !elements.empty(); elements = elements.drop_front(
                                std::min<size_t>(kPiece, elements.size())))
    joined.push_back(
        join(elements.take_front(std::min<size_t>(kPiece, elements.size()))));
  setPieces(result, joined);
}

/// The bits of `elements`, one after the other, as elements of type `to`.
Values Splitter::castElements(ArrayRef<Value> elements, Type to) {
  Type from = elements.front().getType();
  int64_t fromBits = from.getIntOrFloatBitWidth();
  int64_t toBits = to.getIntOrFloatBitWidth();
  Values result;
  if (fromBits == toBits) {
    for (Value element : elements)
      result.push_back(from == to
                           ? element
                           : arith::BitcastOp::create(builder, loc, to, element)
                                 .getResult());
    return result;
  }
  // At most four at a time: bytes and 64 bits meet at 32.
  if (std::max(fromBits, toBits) > kPiece * std::min(fromBits, toBits)) {
    Values between = castElements(elements, builder.getI32Type());
    return castElements(between, to);
  }
  auto single = [](Type type) { return VectorType::get({1}, type); };
  if (fromBits > toBits) {
    auto parts = VectorType::get({fromBits / toBits}, to);
    for (Value element : elements) {
      Value whole =
          vector::BroadcastOp::create(builder, loc, single(from), element);
      Value cast = vector::BitCastOp::create(builder, loc, parts, whole);
      for (int64_t i = 0; i != parts.getDimSize(0); ++i)
        result.push_back(getElement(cast, i));
    }
    return result;
  }
  size_t ratio = toBits / fromBits;
  for (; !elements.empty(); elements = elements.drop_front(ratio)) {
    Value cast = vector::BitCastOp::create(builder, loc, single(to),
                                           join(elements.take_front(ratio)));
    result.push_back(getElement(cast, 0));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Splitter::splitConstant(arith::ConstantOp op, VectorType type) {
  auto values = cast<DenseElementsAttr>(op.getValue());
  SmallVector<Attribute> elements(values.getValues<Attribute>());
  ArrayRef<Attribute> rest = elements;
  Values constants;
  for (Type piece : getPieceTypes(type)) {
    size_t size = getLength(piece);
    TypedAttr value;
    if (auto vector = dyn_cast<VectorType>(piece))
      value = DenseElementsAttr::get(vector, rest.take_front(size));
    else
      value = cast<TypedAttr>(rest.front());
    constants.push_back(arith::ConstantOp::create(builder, loc, value));
    rest = rest.drop_front(size);
  }
  setPieces(op.getResult(), constants);
}

/// An operation on each element: a copy for each piece. Operands that are no
/// vectors, like a condition, are the same for all.
void Splitter::splitElementwise(Operation *op, unsigned count) {
  SmallVector<Values> results(op->getNumResults());
  for (unsigned i = 0; i != count; ++i) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getLong(operand.getType()) ? getPieces(operand)[i]
                                                    : operand);
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(getPieceTypes(cast<VectorType>(type))[i]);
    Operation *piece;
    if (auto fma = dyn_cast<vector::FMAOp>(op)) {
      piece = math::FmaOp::create(builder, loc, operands[0], operands[1],
                                  operands[2]);
    } else {
      piece = builder.clone(*op);
      piece->setOperands(operands);
      for (auto [result, type] : llvm::zip(piece->getResults(), types))
        result.setType(type);
    }
    for (auto [list, result] : llvm::zip(results, piece->getResults()))
      list.push_back(result);
  }
  for (auto [result, list] : llvm::zip(op->getResults(), results))
    setPieces(result, list);
}

void Splitter::splitExtract(vector::ExtractOp op) {
  Values parts = getPieces(op.getSource());
  SmallVector<OpFoldResult> position = op.getMixedPosition();
  if (position.empty())
    return setPieces(op.getResult(), parts);
  if (std::optional<int64_t> at = getConstantIntValue(position.front())) {
    // Beyond the end the result is poison.
    int64_t size = getLength(op.getSource().getType());
    Values elements = getElements(op.getSource());
    return op.getResult().replaceAllUsesWith(
        elements[*at < 0 || *at >= size ? 0 : *at]);
  }
  // One of each piece, and then the right one.
  Value index = cast<Value>(position.front());
  Value width = createIndex(kPiece);
  Value number = arith::DivUIOp::create(builder, loc, index, width);
  Value within = arith::RemUIOp::create(builder, loc, index, width);
  Value result;
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value isThis = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         number, createIndex(i));
    Value element = part;
    if (isa<VectorType>(part.getType())) {
      Value at = within;
      if (getLength(part.getType()) != kPiece)
        at = arith::SelectOp::create(builder, loc, isThis, within,
                                     createIndex(0));
      element = vector::ExtractOp::create(builder, loc, part, OpFoldResult(at));
    }
    result =
        result ? arith::SelectOp::create(builder, loc, isThis, element, result)
                     .getResult()
               : element;
  }
  op.getResult().replaceAllUsesWith(result);
}

void Splitter::splitInsert(vector::InsertOp op) {
  Values parts = getPieces(op.getDest());
  SmallVector<OpFoldResult> position = op.getMixedPosition();
  if (position.empty())
    return setPieces(op.getResult(), getPieces(op.getValueToStore()));
  Value value = op.getValueToStore();
  if (std::optional<int64_t> at = getConstantIntValue(position.front())) {
    if (*at >= 0 && *at < getLength(op.getDest().getType())) {
      Value &part = parts[*at / kPiece];
      part = isa<VectorType>(part.getType())
                 ? vector::InsertOp::create(builder, loc, value, part,
                                            *at % kPiece)
                       .getResult()
                 : value;
    }
    return setPieces(op.getResult(), parts);
  }
  Value index = cast<Value>(position.front());
  Value width = createIndex(kPiece);
  Value number = arith::DivUIOp::create(builder, loc, index, width);
  Value within = arith::RemUIOp::create(builder, loc, index, width);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value isThis = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         number, createIndex(i));
    Value changed = value;
    if (isa<VectorType>(part.getType())) {
      Value at = within;
      if (getLength(part.getType()) != kPiece)
        at = arith::SelectOp::create(builder, loc, isThis, within,
                                     createIndex(0));
      changed =
          vector::InsertOp::create(builder, loc, value, part, OpFoldResult(at));
    }
    part = arith::SelectOp::create(builder, loc, isThis, changed, part);
  }
  setPieces(op.getResult(), parts);
}

/// The type of a variable of long vectors: an array of vectors of four where
/// that goes, else of the elements.
static VarType getSplitVar(VarType type) {
  VectorType vector = getLong(type.getElementType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = vector.getDimSize(0);
  int64_t piece = size % kPiece == 0 ? kPiece : 1;
  if (size != piece)
    shape.push_back(size / piece);
  return VarType::get(type.getContext(), shape,
                      getPieceType(vector.getElementType(), piece));
}

void Splitter::splitVarLoad(VarLoadOp op) {
  int64_t size = getLength(op.getType());
  int64_t piece =
      getLength(cast<VarType>(op.getVar().getType()).getElementType());
  Values loaded;
  for (int64_t at = 0; at != size / piece; ++at) {
    SmallVector<Value> indices(op.getIndices());
    if (size != piece)
      indices.push_back(
          arith::ConstantIntOp::create(builder, loc, at, /*width=*/32));
    loaded.push_back(VarLoadOp::create(builder, loc, op.getVar(), indices));
  }
  if (piece != 1)
    setPieces(op.getResult(), loaded);
  else
    setElements(op.getResult(), loaded);
}

void Splitter::splitVarStore(VarStoreOp op) {
  int64_t size = getLength(op.getValue().getType());
  int64_t piece =
      getLength(cast<VarType>(op.getVar().getType()).getElementType());
  Values parts =
      piece != 1 ? getPieces(op.getValue()) : getElements(op.getValue());
  for (auto [at, part] : llvm::enumerate(parts)) {
    SmallVector<Value> indices(op.getIndices());
    if (size != piece)
      indices.push_back(
          arith::ConstantIntOp::create(builder, loc, at, /*width=*/32));
    VarStoreOp::create(builder, loc, part, op.getVar(), indices);
  }
}

/// Passes the pieces of what a branch passes, beside it.
LogicalResult Splitter::splitBranch(Operation *op) {
  auto branch = cast<BranchOpInterface>(op);
  for (unsigned i = 0; i != op->getNumSuccessors(); ++i) {
    SuccessorOperands operands = branch.getSuccessorOperands(i);
    if (operands.getProducedOperandCount() != 0)
      return op->emitOpError("passes values that it makes itself");
    SmallVector<Value> added;
    for (Value operand : operands.getForwardedOperands())
      if (getLong(operand.getType()))
        llvm::append_range(added, getPieces(operand));
    operands.append(added);
  }
  return success();
}

LogicalResult Splitter::split(Operation *op) {
  auto isLong = [](Type type) { return static_cast<bool>(getLong(type)); };
  if (auto var = dyn_cast<VarOp>(op)) {
    auto type = cast<VarType>(var.getType());
    if (isLong(type.getElementType()))
      var.getResult().setType(getSplitVar(type));
    return success();
  }
  VectorType type;
  for (Type candidate :
       llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                          SmallVector<Type>(op->getResultTypes())))
    if (isLong(candidate))
      type = cast<VectorType>(candidate);
  if (!type)
    return success();
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  if (isa<BranchOpInterface>(op))
    return splitBranch(op);

  // Results as elements of the operands, one after the other.
  auto move = [&](Value result, ArrayRef<int64_t> from, ArrayRef<Value> all) {
    Values elements;
    for (int64_t at : from)
      elements.push_back(
          at >= 0 ? all[at]
                  : ub::PoisonOp::create(builder, loc, all[0].getType(), {})
                        .getResult());
    setElements(result, elements);
  };
  bool isKnown = true;
  TypeSwitch<Operation *>(op)
      .Case([&](arith::ConstantOp constant) {
        isKnown = isa<DenseElementsAttr>(constant.getValue());
        if (isKnown)
          splitConstant(constant, type);
      })
      .Case([&](ub::PoisonOp poison) {
        Values parts;
        for (Type piece : getPieceTypes(type))
          parts.push_back(
              ub::PoisonOp::create(builder, loc, piece, poison.getValue()));
        setPieces(poison.getResult(), parts);
      })
      .Case([&](UnwrittenOp unwritten) {
        Values parts;
        for (Type piece : getPieceTypes(type))
          parts.push_back(UnwrittenOp::create(builder, loc, piece));
        setPieces(unwritten.getResult(), parts);
      })
      .Case([&](VarLoadOp load) { splitVarLoad(load); })
      .Case([&](VarStoreOp store) { splitVarStore(store); })
      .Case([&](vector::BitCastOp cast) {
        setElements(cast.getResult(),
                    castElements(getElements(cast.getSource()),
                                 cast.getResultVectorType().getElementType()));
      })
      .Case([&](vector::BroadcastOp broadcast) {
        Value source = getElements(broadcast.getSource()).front();
        Values parts;
        VectorType resultType = broadcast.getResultVectorType();
        if (!isLong(resultType)) {
          parts.push_back(
              vector::BroadcastOp::create(builder, loc, resultType, source));
        } else if (getLength(broadcast.getSource().getType()) != 1) {
          parts = getPieces(broadcast.getSource());
        } else {
          for (Type piece : getPieceTypes(resultType))
            parts.push_back(
                isa<VectorType>(piece)
                    ? vector::BroadcastOp::create(builder, loc, piece, source)
                          .getResult()
                    : source);
        }
        setPieces(broadcast.getResult(), parts);
      })
      .Case([&](vector::ExtractOp extract) { splitExtract(extract); })
      .Case([&](vector::InsertOp insert) { splitInsert(insert); })
      .Case([&](vector::FromElementsOp from) {
        setElements(from.getResult(), Values(from.getElements()));
      })
      .Case([&](vector::ToElementsOp to) {
        for (auto [result, element] :
             llvm::zip(to.getResults(), getElements(to.getSource())))
          result.replaceAllUsesWith(element);
      })
      .Case([&](vector::ShuffleOp shuffle) {
        Values all = getElements(shuffle.getV1());
        llvm::append_range(all, getElements(shuffle.getV2()));
        move(shuffle.getResult(), shuffle.getMask(), all);
      })
      .Case([&](vector::InterleaveOp interleave) {
        Values elements;
        for (auto [left, right] : llvm::zip(getElements(interleave.getLhs()),
                                            getElements(interleave.getRhs())))
          elements.append({left, right});
        setElements(interleave.getResult(), elements);
      })
      .Case([&](vector::DeinterleaveOp deinterleave) {
        Values sides[2];
        for (auto [i, element] :
             llvm::enumerate(getElements(deinterleave.getSource())))
          sides[i % 2].push_back(element);
        setElements(deinterleave.getRes1(), sides[0]);
        setElements(deinterleave.getRes2(), sides[1]);
      })
      .Case([&](vector::ExtractStridedSliceOp slice) {
        int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
        Values all = getElements(slice.getSource());
        setElements(slice.getResult(), ArrayRef<Value>(all).slice(
                                           offset, getLength(slice.getType())));
      })
      .Case([&](vector::InsertStridedSliceOp slice) {
        int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
        Values all = getElements(slice.getDest());
        for (auto [i, element] :
             llvm::enumerate(getElements(slice.getValueToStore())))
          all[offset + i] = element;
        setElements(slice.getResult(), all);
      })
      .Case([&](vector::ReductionOp reduction) {
        Value result = reduction.getAcc();
        for (Value element : getElements(reduction.getVector()))
          result = result ? vector::makeArithReduction(
                                builder, loc, reduction.getKind(), result,
                                element, reduction.getFastmathAttr())
                          : element;
        reduction.getResult().replaceAllUsesWith(result);
      })
      .Default([&](Operation *other) {
        isKnown = other->getNumRegions() == 0 &&
                  (OpTrait::hasElementwiseMappableTraits(other) ||
                   isa<vector::FMAOp>(other));
        if (isKnown)
          splitElementwise(other, getPieceTypes(type).size());
      });
  if (!isKnown)
    return op->emitOpError("takes or gives ")
           << type << "; vectors of more than " << kPiece
           << " elements must be computed with arith, math and vector and "
              "carried by branches";
  dead.push_back(op);
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Drops what was replaced: first what branches pass, then the operations that
/// made it or used it, then the arguments.
void Splitter::dropReplaced() {
  auto forEachArgument = [&](llvm::function_ref<void(Block &, unsigned)> drop) {
    for (Block &block : llvm::drop_begin(func.getBody()))
      for (unsigned i = block.getNumArguments(); i-- != 0;)
        if (getLong(block.getArgument(i).getType()))
          drop(block, i);
  };
  forEachArgument([](Block &block, unsigned i) {
    for (auto it = block.pred_begin(); it != block.pred_end(); ++it)
      cast<BranchOpInterface>((*it)->getTerminator())
          .getSuccessorOperands(it.getSuccessorIndex())
          .erase(i);
  });
  for (Operation *op : llvm::reverse(dead))
    op->erase();
  forEachArgument([](Block &block, unsigned i) { block.eraseArgument(i); });
}

LogicalResult Splitter::run() {
  for (Block &block : llvm::drop_begin(func.getBody()))
    for (BlockArgument argument : llvm::to_vector(block.getArguments()))
      if (VectorType type = getLong(argument.getType()))
        for (Type piece : getPieceTypes(type))
          pieces[argument].push_back(
              block.addArgument(piece, argument.getLoc()));

  // Definitions come before uses.
  SmallVector<Operation *> ops;
  llvm::ReversePostOrderTraversal<Block *> blocks(&func.getBody().front());
  for (Block *block : blocks)
    for (Operation &op : *block)
      op.walk<WalkOrder::PreOrder>(
          [&](Operation *inner) { ops.push_back(inner); });
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        if (getLong(type))
          return op->emitOpError("carries ")
                 << type << "; allowed are vectors of 2 to " << kPiece;
    if (failed(split(op)))
      return failure();
  }
  dropReplaced();
  return success();
}

namespace {
struct SplitVectors
    : public poot::kernel::impl::KernelSplitVectorsBase<SplitVectors> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    (void)eraseUnreachableBlocks(rewriter, getOperation()->getRegions());
    if (failed(Splitter(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
