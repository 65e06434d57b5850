//===- HoistComputed.cpp - Work on constants into the load function -------===//
//
// The pass graph-hoist-computed; Passes.td says what it does. Takes a module
// that graph-verify accepts and keeps it so.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHHOISTCOMPUTED
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

namespace {

/// Ops are equal here when they compute the same value from the same operands.
struct SameComputation : DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *lhs, const Operation *rhs) {
    if (lhs == rhs)
      return true;
    if (lhs == getEmptyKey() || lhs == getTombstoneKey() ||
        rhs == getEmptyKey() || rhs == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(lhs), const_cast<Operation *>(rhs),
        OperationEquivalence::IgnoreLocations);
  }
};

struct HoistComputed : graph::impl::GraphHoistComputedBase<HoistComputed> {
  void runOnOperation() final;

private:
  /// Ops of FUNCTION whose results depend on constants alone.
  void collectConstant(func::FuncOp function);
  /// The values of FUNCTION that become computed, in program order.
  SmallVector<Value> findRoots(func::FuncOp function);
  /// ROOT's computation in the load function, cloned where it isn't there yet.
  Value cloneIntoLoad(Value root, IRMapping &mapping);
  /// The symbol that holds VALUE of the load function.
  ComputedOp getSymbol(Value value);
  std::string makeName(Value value);
  void createLoadFunction();
  void hoist(func::FuncOp function);

  bool isConstant(Value value) {
    return value.getDefiningOp() && constantOps.contains(value.getDefiningOp());
  }

  llvm::DenseSet<Operation *> constantOps;
  llvm::DenseSet<Operation *, SameComputation> cloned;
  llvm::DenseMap<Value, ComputedOp> symbolOf;
  func::FuncOp load;
  std::optional<SymbolTable> symbols;
};

} // namespace

void HoistComputed::collectConstant(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (auto get = dyn_cast<GetOp>(op)) {
      if (isa<ConstOp>(
              SymbolTable::lookupNearestSymbolFrom(get, get.getSymbolAttr())))
        constantOps.insert(&op);
    } else if (op.getNumResults() != 0 && isPure(&op) &&
               llvm::all_of(op.getOperands(), [&](Value operand) {
                 return isConstant(operand);
               })) {
      constantOps.insert(&op);
    }
  }
}

SmallVector<Value> HoistComputed::findRoots(func::FuncOp function) {
  SmallVector<Value> roots, worklist;
  for (Operation &op : function.getBody().front())
    if (!constantOps.contains(&op))
      for (Value operand : op.getOperands())
        if (isConstant(operand))
          worklist.push_back(operand);

  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (isa<GetOp, ConstantOp>(op))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    bool isBool = tensor && tensor.getElementType().isInteger(1);
    if (isView(op) || isBool)
      llvm::append_range(worklist, op->getOperands());
    else
      roots.push_back(value);
  }

  llvm::sort(roots, [](Value a, Value b) {
    if (a.getDefiningOp() == b.getDefiningOp())
      return cast<OpResult>(a).getResultNumber() <
             cast<OpResult>(b).getResultNumber();
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  return roots;
}

Value HoistComputed::cloneIntoLoad(Value root, IRMapping &mapping) {
  // The ops that ROOT needs and that have no clone yet, in program order.
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> worklist = {root};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!mapping.contains(value) && slice.insert(value.getDefiningOp()))
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
  }
  SmallVector<Operation *> ops = slice.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

  OpBuilder builder(load.getBody().front().getTerminator());
  for (Operation *op : ops) {
    Operation *clone = builder.clone(*op, mapping);
    auto [it, inserted] = cloned.insert(clone);
    if (inserted)
      continue;
    mapping.map(op->getResults(), (*it)->getResults());
    clone->erase();
  }
  return mapping.lookup(root);
}

std::string HoistComputed::makeName(Value value) {
  // The first const in operand order, depth first.
  std::string base;
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty() && base.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (auto get = dyn_cast<GetOp>(op))
      base = get.getSymbol().str() + ".";
    for (Value operand : llvm::reverse(op->getOperands()))
      worklist.push_back(operand);
  }
  Operation *op = value.getDefiningOp();
  std::string suffix;
  llvm::raw_string_ostream stream(suffix);
  if (isa<PackedDequantOp, CastOp>(op))
    stream << cast<RankedTensorType>(value.getType()).getElementType();
  else if (auto repack = dyn_cast<RepackOp>(op))
    stream << stringifyPackedLayout(repack.getType().getLayout());
  else if (auto unary = dyn_cast<UnaryOp>(op))
    stream << stringifyUnaryKind(unary.getKind());
  else if (auto binary = dyn_cast<BinaryOp>(op))
    stream << stringifyBinaryKind(binary.getKind());
  else
    stream << op->getName().stripDialect();
  return base + suffix;
}

ComputedOp HoistComputed::getSymbol(Value value) {
  ComputedOp &symbol = symbolOf[value];
  if (symbol)
    return symbol;
  Location location = value.getLoc();
  OpBuilder builder(load);
  symbol =
      ComputedOp::create(builder, location, makeName(value), value.getType());
  symbols->insert(symbol);
  // Set right after its computation, so that the load program needs little
  // memory beside the symbols themselves.
  builder.setInsertionPoint(load.getBody().front().getTerminator());
  SetOp::create(builder, location, FlatSymbolRefAttr::get(symbol), value);
  return symbol;
}

void HoistComputed::createLoadFunction() {
  ModuleOp module = getOperation();
  load = getLoadFunction(module);
  if (load)
    return;
  OpBuilder builder(*module.getOps<func::FuncOp>().begin());
  load = func::FuncOp::create(builder, module.getLoc(), "__load",
                              builder.getFunctionType({}, {}));
  load.setPrivate();
  builder.setInsertionPointToEnd(load.addEntryBlock());
  func::ReturnOp::create(builder, module.getLoc());
  symbols->insert(load);
  module->setAttr(kLoadAttr, FlatSymbolRefAttr::get(load));
}

void HoistComputed::hoist(func::FuncOp function) {
  constantOps.clear();
  collectConstant(function);
  SmallVector<Value> roots = findRoots(function);
  if (roots.empty())
    return;
  if (!load)
    createLoadFunction();

  // All clones first: they read the entry as it was.
  IRMapping mapping;
  SmallVector<ComputedOp> computed;
  for (Value root : roots)
    computed.push_back(getSymbol(cloneIntoLoad(root, mapping)));
  for (auto [root, symbol] : llvm::zip_equal(roots, computed)) {
    OpBuilder builder(root.getDefiningOp());
    root.replaceAllUsesWith(GetOp::create(builder, root.getLoc(),
                                          root.getType(),
                                          FlatSymbolRefAttr::get(symbol)));
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (constantOps.contains(&op) && op.use_empty())
      op.erase();
}

void HoistComputed::runOnOperation() {
  symbols.emplace(getOperation());
  cloned.clear();
  symbolOf.clear();
  load = {};
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (function.isPublic() && llvm::hasSingleElement(function.getBody()))
      hoist(function);
}
