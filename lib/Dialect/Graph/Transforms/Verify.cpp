//===- Verify.cpp - Rules that concern a whole module ---------------------===//
//
// The pass graph-verify: G-entry, G-load and G-state of
// docs/graph-semantics.md. Takes a module whose ops verify one by one; after
// it a step is known to be one straight line of graph ops whose states can be
// updated in place.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHVERIFY
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

bool graph::isView(Operation *op) {
  return isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp>(op);
}

func::FuncOp graph::getLoadFunction(ModuleOp module) {
  auto symbol = module->getAttrOfType<FlatSymbolRefAttr>(kLoadAttr);
  return symbol ? module.lookupSymbol<func::FuncOp>(symbol.getAttr())
                : func::FuncOp();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// One block of graph ops, ended by a return.
static LogicalResult verifyBody(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError()
           << "must have one block: a step is one straight line of graph ops";
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op) ||
        (isa<GraphDialect>(op.getDialect()) && !isa<SymbolOpInterface>(op)))
      continue;
    return op.emitOpError() << "does not belong in a function of a graph "
                               "module; only graph ops and the return do";
  }
  return success();
}

/// A slot or output: a tensor without i1, with a name.
static LogicalResult verifyBorder(func::FuncOp function, StringRef what,
                                  unsigned index, Type type, Attribute name) {
  if (!isTensor(type) ||
      cast<RankedTensorType>(type).getElementType().isInteger(1))
    return function.emitOpError()
           << what << " " << index << " has type " << type
           << "; it must be a static tensor of i8, i16, i32, i64, f16, bf16, "
              "f32 or f64 with extents of at least 1 and at most 2^48 elements";
  if (!name)
    return function.emitOpError()
           << what << " " << index << " of an entry has no '" << kNameAttr
           << "'";
  return success();
}

static LogicalResult verifyEntry(func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(verifyBorder(function, "argument", i, type,
                            function.getArgAttr(i, kNameAttr))))
      return failure();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(verifyBorder(function, "result", i, type,
                            function.getResultAttr(i, kNameAttr))))
      return failure();
  for (Operation &op : function.getBody().front()) {
    auto set = dyn_cast<SetOp>(op);
    if (set && isa<ComputedOp>(SymbolTable::lookupNearestSymbolFrom(
                   set, set.getSymbolAttr())))
      return set.emitOpError()
             << "sets the computed symbol " << set.getSymbolAttr()
             << " in an entry; only the load function does";
  }
  return success();
}

static LogicalResult verifyLoadFunction(ModuleOp module,
                                        func::FuncOp function) {
  if (function.getNumArguments() != 0 || function.getNumResults() != 0)
    return function.emitOpError()
           << "is the load function, which has no arguments and no results";
  llvm::SmallDenseMap<StringAttr, SetOp> sets;
  for (Operation &op : function.getBody().front()) {
    if (auto get = dyn_cast<GetOp>(op)) {
      if (!isa<ConstOp>(
              SymbolTable::lookupNearestSymbolFrom(get, get.getSymbolAttr())))
        return get.emitOpError()
               << "gets " << get.getSymbolAttr()
               << " in the load function, which may get consts only";
    } else if (auto set = dyn_cast<SetOp>(op)) {
      if (!isa<ComputedOp>(
              SymbolTable::lookupNearestSymbolFrom(set, set.getSymbolAttr())))
        return set.emitOpError()
               << "sets " << set.getSymbolAttr()
               << " in the load function, which may set computed symbols only";
      auto [it, inserted] = sets.insert({set.getSymbolAttr().getAttr(), set});
      if (!inserted) {
        auto diagnostic = set.emitOpError()
                          << "sets " << set.getSymbolAttr() << " a second time";
        diagnostic.attachNote(it->second.getLoc()) << "first set here";
        return diagnostic;
      }
    }
  }
  for (ComputedOp computed : module.getOps<ComputedOp>())
    if (!sets.count(computed.getSymNameAttr()))
      return computed.emitOpError()
             << "is never set by the load function @" << function.getName();
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Reports readers of VALUE, directly or through views, that do not stand
/// before OVERWRITER, other than the chain's own edge into it.
static LogicalResult verifyReaders(Value value, FlatSymbolRefAttr state,
                                   Operation *overwriter) {
  SmallVector<Value> worklist = {value};
  llvm::SmallDenseSet<Value> seen = {value};
  while (!worklist.empty()) {
    Value alias = worklist.pop_back_val();
    for (OpOperand &use : alias.getUses()) {
      Operation *reader = use.getOwner();
      if (isView(reader)) {
        if (seen.insert(reader->getResult(0)).second)
          worklist.push_back(reader->getResult(0));
        continue;
      }
      if (reader->isBeforeInBlock(overwriter))
        continue;
      auto scatter = dyn_cast<ScatterOp>(reader);
      if (reader == overwriter && scatter && alias == value &&
          use.getOperandNumber() == scatter.getDataMutable().getOperandNumber())
        continue;
      auto diagnostic = reader->emitOpError()
                        << "reads the old value of state " << state
                        << (reader == overwriter ? " while overwriting it"
                                                 : " after its update");
      diagnostic.attachNote(overwriter->getLoc())
          << "overwritten here; move the reader before it, or read the new "
             "value";
      return diagnostic;
    }
  }
  return success();
}

/// G-state-1 to G-state-3 for the one state that SET sets.
static LogicalResult verifySet(SetOp set, ArrayRef<GetOp> gets) {
  FlatSymbolRefAttr state = set.getSymbolAttr();
  // The scatters from the old value to the one set, last first.
  SmallVector<ScatterOp> chain;
  Value value = set.getValue();
  while (auto scatter = value.getDefiningOp<ScatterOp>()) {
    chain.push_back(scatter);
    value = scatter.getData();
  }
  auto source = value.getDefiningOp<GetOp>();
  if (!source || source.getSymbolAttr() != state)
    chain.clear();

  Operation *overwriter =
      chain.empty() ? set.getOperation() : chain.back().getOperation();
  for (GetOp get : gets) {
    if (!get->isBeforeInBlock(overwriter)) {
      auto diagnostic = get.emitOpError() << "reads the old value of state "
                                          << state << " after its update";
      diagnostic.attachNote(overwriter->getLoc()) << "overwritten here";
      return diagnostic;
    }
    if (failed(verifyReaders(get.getResult(), state, overwriter)))
      return failure();
  }
  for (size_t i = chain.size(); i-- > 1;)
    if (failed(verifyReaders(chain[i].getResult(), state, chain[i - 1])))
      return failure();
  return success();
}

static LogicalResult verifyStates(func::FuncOp function) {
  llvm::MapVector<StringAttr, SetOp> sets;
  llvm::SmallDenseMap<StringAttr, SmallVector<GetOp>> gets;
  for (Operation &op : function.getBody().front()) {
    if (auto get = dyn_cast<GetOp>(op)) {
      gets[get.getSymbolAttr().getAttr()].push_back(get);
    } else if (auto set = dyn_cast<SetOp>(op)) {
      auto [it, inserted] = sets.insert({set.getSymbolAttr().getAttr(), set});
      if (!inserted) {
        auto diagnostic = set.emitOpError()
                          << "sets state " << set.getSymbolAttr()
                          << " a second time; a function sets a state at most "
                             "once";
        diagnostic.attachNote(it->second.getLoc()) << "first set here";
        return diagnostic;
      }
    }
  }
  for (auto &[name, set] : sets)
    if (failed(verifySet(set, gets[name])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

LogicalResult graph::verifyModule(ModuleOp module) {
  func::FuncOp load = getLoadFunction(module);
  llvm::SmallDenseMap<Attribute, func::FuncOp> keys;
  for (Operation &op : *module.getBody()) {
    if (auto computed = dyn_cast<ComputedOp>(op); computed && !load)
      return computed.emitOpError()
             << "needs a load function that sets it; the module has no '"
             << kLoadAttr << "'";
    if (isa<ConstOp, StateOp, ComputedOp>(op))
      continue;
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return op.emitOpError() << "does not belong in a graph module; only "
                                 "graph.const, graph.state, graph.computed and "
                                 "functions do";
    if (failed(verifyBody(function)))
      return failure();
    if (function == load) {
      if (failed(verifyLoadFunction(module, function)))
        return failure();
      continue;
    }
    if (!function.isPublic())
      return function.emitOpError()
             << "is private and not the load function; entries are public";
    if (failed(verifyEntry(function)) || failed(verifyStates(function)))
      return failure();
    if (Attribute key = function->getAttr(kEntryAttr)) {
      auto [it, inserted] = keys.insert({key, function});
      if (!inserted)
        return function.emitOpError()
               << "has the same key as @" << it->second.getName();
    }
  }
  return success();
}

namespace {
struct Verify : graph::impl::GraphVerifyBase<Verify> {
  void runOnOperation() final {
    if (failed(graph::verifyModule(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
