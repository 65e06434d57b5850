//===- ExpandFragments.cpp - Products of matrices without matrix units ----===//
//
// Takes a kernel as a control-flow graph. Fragments that live beyond a block
// first become variables, so that none is carried by a branch. Where the target
// has the products of a kernel, that is all. Otherwise fragments become arrays
// of the invocations: a lane holds some rows of `a` and of the sum, and all of
// `b`. Which rows, the lanes find out by counting each other, so any number of
// lanes will do that execute a fragment's operations together.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Dialect/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace poot::kernel {
#define GEN_PASS_DEF_KERNELEXPANDFRAGMENTS
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel

using namespace mlir;
using namespace poot::kernel;

//===----------------------------------------------------------------------===//
// What a target has
//===----------------------------------------------------------------------===//

/// One product that a target computes: `16x16x16:f16:f32`.
struct Product {
  int64_t rows, columns, inner;
  StringRef operand, sum;
};

static std::optional<Product> parseProduct(StringRef text) {
  Product product;
  auto [shape, types] = text.split(':');
  std::tie(product.operand, product.sum) = types.split(':');
  SmallVector<StringRef, 3> extents;
  shape.split(extents, 'x');
  if (extents.size() != 3 || extents[0].getAsInteger(10, product.rows) ||
      extents[1].getAsInteger(10, product.columns) ||
      extents[2].getAsInteger(10, product.inner) || product.sum.empty())
    return std::nullopt;
  return product;
}

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether fragments of that type take part in the product.
static bool isPartOf(FragmentType type, const Product &product) {
  auto is = [&](int64_t rows, int64_t columns, StringRef element) {
    return type.getRows() == rows && type.getColumns() == columns &&
           spell(type.getElementType()) == element;
  };
  switch (type.getUse()) {
  case FragmentUse::A:
    return is(product.rows, product.inner, product.operand);
  case FragmentUse::B:
    return is(product.inner, product.columns, product.operand);
  case FragmentUse::Accumulator:
    return is(product.rows, product.columns, product.sum);
  }
  return false;
}

/// The fragment that a value is, or that a variable holds.
static FragmentType getFragment(Type type) {
  if (auto var = dyn_cast<VarType>(type))
    type = var.getElementType();
  return dyn_cast<FragmentType>(type);
}

/// Whether the target has every product and every fragment of the kernel.
static bool isNative(FuncOp func, ArrayRef<Product> products) {
  WalkResult result = func.walk([&](Operation *op) {
    SmallVector<FragmentType> types;
    for (Type type : op->getOperandTypes())
      if (FragmentType fragment = getFragment(type))
        types.push_back(fragment);
    for (Type type : op->getResultTypes())
      if (FragmentType fragment = getFragment(type))
        types.push_back(fragment);
    auto has = [&](const Product &product, ArrayRef<FragmentType> all) {
      return llvm::all_of(
          all, [&](FragmentType type) { return isPartOf(type, product); });
    };
    // The parts of a product belong together.
    bool isKnown =
        isa<FragmentMmaOp>(op)
            ? llvm::any_of(products, [&](auto &p) { return has(p, types); })
            : llvm::all_of(types, [&](FragmentType type) {
                return llvm::any_of(products,
                                    [&](auto &p) { return has(p, type); });
              });
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Fragments beyond a block
//===----------------------------------------------------------------------===//

static VarOp createVar(FuncOp func, Location loc, ArrayRef<int64_t> shape,
                       Type element) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  return VarOp::create(builder, loc,
                       VarType::get(func.getContext(), shape, element));
}

/// A block of its own for one way out of a terminator that has several, so that
/// what is stored on it isn't stored on the others.
static Block *getEdge(Operation *terminator, unsigned successor) {
  if (terminator->getNumSuccessors() == 1)
    return terminator->getBlock();
  Block *to = terminator->getSuccessor(successor);
  auto *edge = new Block;
  to->getParent()->getBlocks().insert(
      std::next(terminator->getBlock()->getIterator()), edge);
  SuccessorOperands operands =
      cast<BranchOpInterface>(terminator).getSuccessorOperands(successor);
  SmallVector<Value> passed(operands.getForwardedOperands());
  OpBuilder builder = OpBuilder::atBlockEnd(edge);
  cf::BranchOp::create(builder, terminator->getLoc(), to, passed);
  operands.erase(0, operands.size());
  terminator->setSuccessor(edge, successor);
  return edge;
}

/// Replaces fragments that blocks take as arguments by variables.
static LogicalResult demoteArguments(FuncOp func) {
  for (Block &block :
       llvm::make_early_inc_range(llvm::drop_begin(func.getBody())))
    for (unsigned i = block.getNumArguments(); i-- != 0;) {
      BlockArgument argument = block.getArgument(i);
      if (!isa<FragmentType>(argument.getType()))
        continue;
      Location loc = argument.getLoc();
      VarOp var = createVar(func, loc, {}, argument.getType());
      SmallVector<std::pair<Operation *, unsigned>> edges;
      for (auto it = block.pred_begin(); it != block.pred_end(); ++it)
        edges.push_back({(*it)->getTerminator(), it.getSuccessorIndex()});
      for (auto [terminator, successor] : edges) {
        if (!isa<BranchOpInterface>(terminator))
          return terminator->emitOpError("can't pass a fragment");
        Block *edge = getEdge(terminator, successor);
        auto branch = cast<cf::BranchOp>(edge->getTerminator());
        OpBuilder builder(branch);
        VarStoreOp::create(builder, loc, branch.getDestOperands()[i], var,
                           ValueRange());
        branch.getDestOperandsMutable().erase(i);
      }
      // Loaded before anything is stored: a branch may exchange two of them.
      OpBuilder builder = OpBuilder::atBlockBegin(&block);
      Value loaded = VarLoadOp::create(builder, loc, var, ValueRange());
      argument.replaceAllUsesWith(loaded);
      block.eraseArgument(i);
    }
  return success();
}

/// Replaces fragments that other blocks use by variables.
static void demoteValues(FuncOp func) {
  SmallVector<Value> values;
  for (Block &block : func.getBody())
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (isa<FragmentType>(result.getType()) &&
            result.isUsedOutsideOfBlock(&block))
          values.push_back(result);
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    VarOp var = createVar(func, op->getLoc(), {}, value.getType());
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      if (use.getOwner()->getBlock() == op->getBlock())
        continue;
      OpBuilder builder(use.getOwner());
      use.set(VarLoadOp::create(builder, op->getLoc(), var, ValueRange()));
    }
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(op);
    VarStoreOp::create(builder, op->getLoc(), value, var, ValueRange());
  }
}

//===----------------------------------------------------------------------===//
// Fragments as arrays
//===----------------------------------------------------------------------===//

namespace {
class Expander {
public:
  explicit Expander(FuncOp func) : func(func) {}
  LogicalResult run();

private:
  using ElementFn =
      llvm::function_ref<void(KernelBuilder &, KValue row, KValue column)>;
  LogicalResult expand(Operation *op);
  void build(Operation *op, llvm::function_ref<void(KernelBuilder &)> buildFn);
  void forLoop(KernelBuilder &k, KValue from, KValue to, KValue step,
               llvm::function_ref<void(KValue)> body);
  void forRows(KernelBuilder &k, FragmentType type,
               llvm::function_ref<void(KValue row)> body);
  void forElements(KernelBuilder &k, FragmentType type, ElementFn body);
  void multiply(KernelBuilder &k, FragmentMmaOp op, Value result);

  /// A variable that holds a fragment, [rows][columns].
  Value createArray(Operation *op, FragmentType type) {
    SmallVector<Value> &unused = pool[getArrayType(type)];
    return unused.empty() ? createVar(func, op->getLoc(),
                                      {type.getRows(), type.getColumns()},
                                      type.getElementType())
                                .getResult()
                          : unused.pop_back_val();
  }
  static VarType getArrayType(FragmentType type) {
    return VarType::get(type.getContext(), {type.getRows(), type.getColumns()},
                        type.getElementType());
  }
  static KValue read(KernelBuilder &k, Value array, ArrayRef<KValue> indices);
  static void write(KernelBuilder &k, KValue value, Value array,
                    ArrayRef<KValue> indices);

  FuncOp func;
  DenseMap<Value, Value> arrays;
  /// Arrays that no fragment is in any more: drivers have little memory for
  /// them. A fragment lives within a block, up to its last use.
  DenseMap<Type, SmallVector<Value>> pool;
  DenseMap<Value, Operation *> lastUses;
  /// Which of how many lanes an invocation is.
  Value lane, lanes;
};
} // namespace

static SmallVector<Value> getValues(ArrayRef<KValue> values) {
  SmallVector<Value> result;
  for (KValue value : values)
    result.push_back(value.getValue());
  return result;
}

KValue Expander::read(KernelBuilder &k, Value array, ArrayRef<KValue> indices) {
  return {k, VarLoadOp::create(k.getOpBuilder(), k.getLoc(), array,
                               getValues(indices))};
}

void Expander::write(KernelBuilder &k, KValue value, Value array,
                     ArrayRef<KValue> indices) {
  VarStoreOp::create(k.getOpBuilder(), k.getLoc(), value.getValue(), array,
                     getValues(indices));
}

/// Builds control flow in place of `op`, whose block goes on after it.
void Expander::build(Operation *op,
                     llvm::function_ref<void(KernelBuilder &)> buildFn) {
  Block *before = op->getBlock();
  KernelBuilder k(op);
  // Sums are those of the operations one by one, as on the host.
  k.setContraction(false);
  Block *after = before->splitBlock(op);
  k.getOpBuilder().setInsertionPointToEnd(before);
  buildFn(k);
  cf::BranchOp::create(k.getOpBuilder(), op->getLoc(), after);
}

/// A loop that stays one: written out, the code of a product takes drivers
/// seconds to compile.
void Expander::forLoop(KernelBuilder &k, KValue from, KValue to, KValue step,
                       llvm::function_ref<void(KValue)> body) {
  k.forLoop(from, to, step, [&](KValue index) {
    Block *header = k.getOpBuilder().getBlock()->getSinglePredecessor();
    OpBuilder builder = OpBuilder::atBlockBegin(header);
    LoopHintOp::create(builder, k.getLoc(), Unroll::None, IntegerAttr());
    body(index);
  });
}

/// The rows of a fragment that this lane holds.
void Expander::forRows(KernelBuilder &k, FragmentType type,
                       llvm::function_ref<void(KValue row)> body) {
  bool isShared = type.getUse() != FragmentUse::B;
  forLoop(k, isShared ? KValue(k, lane) : k.i32(0), k.i32(type.getRows()),
          isShared ? KValue(k, lanes) : k.i32(1), body);
}

void Expander::forElements(KernelBuilder &k, FragmentType type,
                           ElementFn body) {
  forRows(k, type, [&](KValue row) {
    forLoop(k, k.i32(0), k.i32(type.getColumns()), k.i32(1),
            [&](KValue column) { body(k, row, column); });
  });
}

/// result[row][column] = c[row][column] + sum over k of a[row][k] *
/// b[k][column]
void Expander::multiply(KernelBuilder &k, FragmentMmaOp op, Value result) {
  Value a = arrays.at(op.getA()), b = arrays.at(op.getB());
  Value c = arrays.at(op.getC());
  FragmentType type = op.getType();
  Type element = type.getElementType();
  forRows(k, type, [&](KValue row) {
    SmallVector<KValue> lefts;
    for (int64_t i = 0; i != op.getA().getType().getColumns(); ++i)
      lefts.push_back(k.cast(read(k, a, {row, k.i32(i)}), element));
    forLoop(
        k, k.i32(0), k.i32(type.getColumns()), k.i32(1), [&](KValue column) {
          KValue sum = read(k, c, {row, column});
          for (auto [i, left] : llvm::enumerate(lefts))
            sum = sum + left * k.cast(read(k, b, {k.i32(i), column}), element);
          write(k, sum, result, {row, column});
        });
  });
}

LogicalResult Expander::expand(Operation *op) {
  auto getIndex = [](KernelBuilder &k, auto access, KValue row, KValue column) {
    bool isRow = access.getLayout() == FragmentLayout::Row;
    KValue stride(k, access.getStride());
    return KValue(k, access.getIndex()) + (isRow ? row : column) * stride +
           (isRow ? column : row);
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](VarOp var) {
        auto type = cast<VarType>(var.getType());
        FragmentType fragment = getFragment(type);
        SmallVector<int64_t> shape(type.getShape());
        shape.append({fragment.getRows(), fragment.getColumns()});
        var.getResult().setType(
            VarType::get(func.getContext(), shape, fragment.getElementType()));
        return success();
      })
      .Case([&](VarLoadOp load) {
        auto type = cast<FragmentType>(load.getType());
        Value array = arrays[load] = createArray(op, type);
        build(op, [&](KernelBuilder &k) {
          forElements(k, type, [&](KernelBuilder &, KValue row, KValue column) {
            SmallVector<KValue> indices;
            for (Value index : load.getIndices())
              indices.push_back(KValue(k, index));
            indices.append({row, column});
            write(k, read(k, load.getVar(), indices), array, {row, column});
          });
        });
        return success();
      })
      .Case([&](VarStoreOp store) {
        Value array = arrays.at(store.getValue());
        auto type = cast<FragmentType>(store.getValue().getType());
        build(op, [&](KernelBuilder &k) {
          forElements(k, type, [&](KernelBuilder &, KValue row, KValue column) {
            SmallVector<KValue> indices;
            for (Value index : store.getIndices())
              indices.push_back(KValue(k, index));
            indices.append({row, column});
            write(k, read(k, array, {row, column}), store.getVar(), indices);
          });
        });
        return success();
      })
      .Case([&](FragmentFillOp fill) {
        Value array = arrays[fill] = createArray(op, fill.getType());
        build(op, [&](KernelBuilder &k) {
          forElements(k, fill.getType(),
                      [&](KernelBuilder &, KValue row, KValue column) {
                        write(k, KValue(k, fill.getValue()), array,
                              {row, column});
                      });
        });
        return success();
      })
      .Case<ub::PoisonOp, UnwrittenOp>([&](auto undefined) {
        arrays[undefined] =
            createArray(op, cast<FragmentType>(undefined.getType()));
        return success();
      })
      .Case([&](FragmentLoadOp load) {
        Value array = arrays[load] = createArray(op, load.getType());
        build(op, [&](KernelBuilder &k) {
          forElements(k, load.getType(),
                      [&](KernelBuilder &, KValue row, KValue column) {
                        KValue at = getIndex(k, load, row, column);
                        write(k, k.load(KValue(k, load.getMemory()), at), array,
                              {row, column});
                      });
        });
        return success();
      })
      .Case([&](FragmentStoreOp store) {
        Value array = arrays.at(store.getValue());
        FragmentType type = store.getValue().getType();
        if (type.getUse() == FragmentUse::B) {
          // All lanes hold it; they store a part each.
          type = FragmentType::get(func.getContext(), type.getRows(),
                                   type.getColumns(), type.getElementType(),
                                   FragmentUse::A);
        }
        build(op, [&](KernelBuilder &k) {
          forElements(k, type, [&](KernelBuilder &, KValue row, KValue column) {
            k.store(KValue(k, store.getMemory()),
                    getIndex(k, store, row, column),
                    read(k, array, {row, column}));
          });
        });
        return success();
      })
      .Case([&](FragmentMmaOp product) {
        // In place, where it is the last use of what was summed up before.
        Value array = lastUses.lookup(product.getC()) == op
                          ? arrays.at(product.getC())
                          : createArray(op, product.getType());
        arrays[product] = array;
        build(op, [&](KernelBuilder &k) { multiply(k, product, array); });
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("can't take or give a fragment");
      });
}

LogicalResult Expander::run() {
  SmallVector<Operation *> ops;
  WalkResult result = func.walk([&](Operation *op) {
    auto isFragment = [](Type type) {
      return static_cast<bool>(getFragment(type));
    };
    if (llvm::none_of(op->getOperandTypes(), isFragment) &&
        llvm::none_of(op->getResultTypes(), isFragment))
      return WalkResult::advance();
    if (op->getParentOp() != func.getOperation()) {
      op->emitOpError("stands within ")
          << op->getParentOp()->getName()
          << "; fragments are expanded in control-flow graphs";
      return WalkResult::interrupt();
    }
    // Variables first: what is read of them has their type.
    ops.insert(isa<VarOp>(op) ? ops.begin() : ops.end(), op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (ops.empty())
    return success();

  // Where the kernel starts all invocations of a subgroup are there.
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  Value one = arith::ConstantIntOp::create(builder, loc, 1, /*width=*/32);
  lane = SubgroupScanOp::create(builder, loc, ScanKind::Exclusive, one);
  lanes = SubgroupReduceOp::create(builder, loc, ReduceKind::Add, one);
  // Within its block a fragment comes before its uses.
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      lastUses[operand] = op;
  for (Operation *op : ops) {
    if (failed(expand(op)))
      return failure();
    auto release = [&](Value value) {
      if (auto type = dyn_cast<FragmentType>(value.getType()))
        pool[getArrayType(type)].push_back(arrays.at(value));
    };
    auto product = dyn_cast<FragmentMmaOp>(op);
    for (Value operand :
         llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end()))
      if (lastUses[operand] == op && !(product && operand == product.getC()))
        release(operand);
    for (Value result : op->getResults())
      if (result.use_empty())
        release(result);
  }
  for (Operation *op : llvm::reverse(ops))
    if (!isa<VarOp>(op)) {
      op->dropAllUses();
      op->erase();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ExpandFragments
    : public poot::kernel::impl::KernelExpandFragmentsBase<ExpandFragments> {
  using KernelExpandFragmentsBase::KernelExpandFragmentsBase;
  void runOnOperation() override;
};
} // namespace

void ExpandFragments::runOnOperation() {
  FuncOp func = getOperation();
  SmallVector<Product> known;
  for (const std::string &text : products) {
    std::optional<Product> product = parseProduct(text);
    if (!product) {
      func.emitError("'") << text
                          << "' is no product of fragments; expected one as in "
                             "16x16x16:f16:f32";
      return signalPassFailure();
    }
    known.push_back(*product);
  }
  IRRewriter rewriter(&getContext());
  (void)eraseUnreachableBlocks(rewriter, func->getRegions());
  if (failed(demoteArguments(func)))
    return signalPassFailure();
  demoteValues(func);
  if (!isNative(func, known) && failed(Expander(func).run()))
    signalPassFailure();
}
