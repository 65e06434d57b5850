//===- Eval.cpp - Evaluation of functions and ops -------------------------===//

#include "Poot/Eval/Eval.h"
#include "Ops.h"
#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot;
using namespace poot::eval;
using namespace poot::graph;

using Results = FailureOr<SmallVector<Tensor>>;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static InFlightDiagnostic tooLarge(Operation *op, Type elementType,
                                   ArrayRef<int64_t> shape) {
  return op->emitOpError()
         << "needs a value of type "
         << RankedTensorType::get(shape, elementType)
         << ", for which there is no memory (the oracle holds values of up to "
         << (Tensor::kMaxBytes >> 30) << " GiB)";
}

Result eval::allocateResult(Operation *op, Type elementType,
                            ArrayRef<int64_t> shape) {
  Result result = Tensor::allocate(elementType, shape);
  if (failed(result))
    return tooLarge(op, elementType, shape);
  return result;
}

Result eval::allocateResult(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return allocateResult(op, type.getElementType(), type.getShape());
}

Result eval::rowMajorFor(Operation *op, const Tensor &tensor) {
  Result result = rowMajor(tensor);
  if (failed(result))
    return tooLarge(op, tensor.getElementType(), tensor.getShape());
  return result;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Whether TENSOR is a value of TYPE. An open extent may have any value.
static bool hasType(const Tensor &tensor, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || tensor.isPacked())
    return tensor.getType() == type;
  return ranked.getElementType() == tensor.getElementType() &&
         succeeded(verifyCompatibleShape(ranked.getShape(), tensor.getShape()));
}

static Results evaluateOp(Operation *op, ArrayRef<Tensor> operands,
                          const EvalOptions &options);

/// Evaluates a composite by its decomposition, which is built in a function of
/// its own and dropped again.
static Results evaluateComposite(CompositeOpInterface op,
                                 ArrayRef<Tensor> operands,
                                 const EvalOptions &options) {
  Location location = op.getLoc();
  OpBuilder builder(op.getContext());
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      location, op->getName().getStringRef(),
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  Block *block = function->addEntryBlock();
  builder.setInsertionPointToEnd(block);
  IRMapping mapping;
  mapping.map(op->getOperands(), block->getArguments());
  auto clone = cast<CompositeOpInterface>(builder.clone(*op, mapping));
  // An operand that the op has twice is one value of the mapping.
  for (auto [operand, argument] :
       llvm::zip_equal(clone->getOpOperands(), block->getArguments()))
    operand.set(argument);
  SmallVector<Value> values = clone.decompose(builder);
  clone->erase();

  llvm::DenseMap<Value, Tensor> known;
  llvm::DenseMap<Value, int64_t> usesLeft;
  for (auto [argument, operand] :
       llvm::zip_equal(block->getArguments(), operands))
    known[argument] = operand;
  for (Operation &primitive : *block) {
    SmallVector<Tensor> inputs;
    for (Value input : primitive.getOperands())
      inputs.push_back(known.lookup(input));
    // What nothing later reads is freed before the result takes memory too.
    for (Value input : primitive.getOperands()) {
      auto [left, isNew] = usesLeft.try_emplace(input, 0);
      if (isNew)
        left->second = std::distance(input.use_begin(), input.use_end());
      if (--left->second == 0 && !llvm::is_contained(values, input))
        known.erase(input);
    }
    Results results = evaluateOp(&primitive, inputs, options);
    if (failed(results))
      return failure();
    for (auto [value, tensor] :
         llvm::zip_equal(primitive.getResults(), *results))
      known[value] = std::move(tensor);
  }
  SmallVector<Tensor> results;
  for (Value value : values)
    results.push_back(known.lookup(value));
  return results;
}

/// Evaluates an op without symbols; results may be views.
static Results evaluateOp(Operation *op, ArrayRef<Tensor> operands,
                          const EvalOptions &options) {
  SmallVector<Tensor> prepared(operands);
  if (!isa<BroadcastOp, TransposeOp, SliceOp, ConcatOp, ReduceOp, ScanOp,
           MatmulOp, CompositeOpInterface>(op)) {
    for (Tensor &operand : prepared) {
      Result rows = rowMajorFor(op, operand);
      if (failed(rows))
        return failure();
      operand = *rows;
    }
  }
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<ConstantOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp, IotaOp,
            BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp, GatherOp,
            ScatterOp, ReduceOp, ScanOp, MatmulOp, IndexedMatmulOp,
            PackedDequantOp, RepackOp, RandomBitsOp>([&](auto op) -> Results {
        Result result = evaluate(op, prepared, options);
        if (failed(result))
          return failure();
        return SmallVector<Tensor>{*result};
      })
      .Case([&](ArgTopKOp op) { return evaluate(op, prepared, options); })
      .Case([&](CompositeOpInterface op) {
        return evaluateComposite(op, operands, options);
      })
      .Default([](Operation *op) -> Results {
        return op->emitOpError()
               << "isn't an op that the oracle evaluates by itself";
      });
}

Results eval::evalOp(Operation *op, ArrayRef<Tensor> operands,
                     const EvalOptions &options) {
  if (operands.size() != op->getNumOperands())
    return op->emitOpError() << "has " << op->getNumOperands()
                             << " operands but was given " << operands.size();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!hasType(operands[i], operand.getType()))
      return op->emitOpError()
             << "operand " << i << " has type " << operand.getType()
             << " but was given " << operands[i].getType();
  Results results = evaluateOp(op, operands, options);
  if (failed(results))
    return failure();
  for (Tensor &result : *results) {
    Result rows = rowMajorFor(op, result);
    if (failed(rows))
      return failure();
    result = *rows;
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Environment
//===----------------------------------------------------------------------===//

Result Environment::getConst(ConstOp op) {
  StringRef name = op.getSymName();
  if (auto it = consts.find(name); it != consts.end())
    return it->second;
  Type type = op.getType();
  Result value = provider(name, type, [&] { return op.emitOpError(); });
  if (failed(value))
    return failure();
  if (!hasType(*value, type))
    return op.emitOpError()
           << "has type " << type << " but was given " << value->getType();
  consts[name] = *value;
  return value;
}

Result Environment::getState(StateOp op) {
  StringRef name = op.getSymName();
  if (auto it = states.find(name); it != states.end())
    return it->second;
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = openExtent;
  if (llvm::is_contained(shape, 0))
    return op.emitOpError() << "has an open extent, and no extent for it was "
                               "given";
  Result value = Tensor::zeros(type.getElementType(), shape);
  if (failed(value))
    return tooLarge(op, type.getElementType(), shape);
  states[name] = *value;
  return value;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {

/// One run of one function.
class Run {
public:
  Run(func::FuncOp function, Environment &environment,
      const EvalOptions &options)
      : function(function), environment(environment), options(options),
        symbols(function->getParentOfType<ModuleOp>()) {}

  Results run(ArrayRef<Tensor> slots);

private:
  Result get(GetOp op);
  LogicalResult set(SetOp op);
  /// The value of VALUE, which is dropped after its last use.
  Tensor use(Value value);

  func::FuncOp function;
  Environment &environment;
  const EvalOptions &options;
  SymbolTable symbols;

  struct LiveValue {
    Tensor tensor;
    int64_t usesLeft;
  };
  DenseMap<Value, LiveValue> live;
  /// New values of states and computed symbols.
  SmallVector<std::pair<SetOp, Tensor>> sets;
};

} // namespace

Tensor Run::use(Value value) {
  auto it = live.find(value);
  if (--it->second.usesLeft > 0)
    return it->second.tensor;
  Tensor tensor = std::move(it->second.tensor);
  live.erase(it);
  return tensor;
}

Result Run::get(GetOp op) {
  Operation *symbol = symbols.lookup(op.getSymbol());
  return llvm::TypeSwitch<Operation *, Result>(symbol)
      .Case([&](ConstOp decl) { return environment.getConst(decl); })
      .Case([&](StateOp decl) { return environment.getState(decl); })
      .Case([&](ComputedOp decl) -> Result {
        if (const Tensor *value = environment.findComputed(decl.getSymName()))
          return *value;
        return op.emitOpError() << "reads '" << decl.getSymName()
                                << "', which the load function has not set";
      });
}

LogicalResult Run::set(SetOp op) {
  Result value = rowMajorFor(op, use(op.getValue()));
  if (failed(value))
    return failure();
  sets.emplace_back(op, *value);
  return success();
}

Results Run::run(ArrayRef<Tensor> slots) {
  if (function.isExternal())
    return function.emitOpError() << "has no body to evaluate";
  if (slots.size() != function.getNumArguments())
    return function.emitOpError() << "takes " << function.getNumArguments()
                                  << " slots but was given " << slots.size();
  auto define = [&](Value value, Tensor tensor) {
    int64_t uses = std::distance(value.use_begin(), value.use_end());
    if (uses > 0)
      live[value] = {std::move(tensor), uses};
  };
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (!hasType(slots[i], argument.getType()))
      return function.emitOpError()
             << "slot " << i << " has type " << argument.getType()
             << " but was given " << slots[i].getType();
    define(argument, slots[i]);
  }

  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto setOp = dyn_cast<SetOp>(op)) {
      if (failed(set(setOp)))
        return failure();
      continue;
    }
    if (auto getOp = dyn_cast<GetOp>(op)) {
      Result value = get(getOp);
      if (failed(value))
        return failure();
      define(getOp.getResult(), *value);
      continue;
    }
    if (op.getDialect() != op.getContext()->getLoadedDialect<GraphDialect>())
      return op.emitOpError() << "isn't an op that the oracle evaluates";
    SmallVector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(use(operand));
    Results results = evaluateOp(&op, operands, options);
    if (failed(results))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
      define(value, std::move(tensor));
  }

  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Tensor> results;
  for (Value operand : terminator->getOperands()) {
    Result rows = rowMajorFor(terminator, use(operand));
    if (failed(rows))
      return failure();
    results.push_back(*rows);
  }
  for (auto &[op, value] : sets) {
    if (isa<StateOp>(symbols.lookup(op.getSymbol())))
      environment.setState(op.getSymbol(), std::move(value));
    else
      environment.setComputed(op.getSymbol(), std::move(value));
  }
  return results;
}

Results eval::evalFunction(func::FuncOp function, ArrayRef<Tensor> slots,
                           Environment &environment,
                           const EvalOptions &options) {
  auto module = function->getParentOfType<ModuleOp>();
  func::FuncOp load = getLoadFunction(module);
  if (load && !environment.loaded) {
    if (failed(Run(load, environment, options).run({})))
      return failure();
    environment.loaded = true;
  }
  return Run(function, environment, options).run(slots);
}
