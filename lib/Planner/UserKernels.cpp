//===- UserKernels.cpp - Kernels of the user's serve ops ------------------===//
//
// Implements plan-use-kernels, and the specialization of a kernel that it chose
// an op for.
//
//===----------------------------------------------------------------------===//

#include "UserKernels.h"
#include "Pattern.h"
#include "Poot/Kir/Kir.h"
#include "Poot/Planner/Passes.h"
#include "Poot/Support/Files.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {
#define GEN_PASS_DEF_PLANUSEKERNELS
#include "Poot/Planner/PlannerPasses.h.inc"

/// The attributes of a kernel that are read here.
static constexpr StringLiteral kImplements = "implements",
                               kToleranceName = "tolerance";

static StringRef getAttribute(kernel::FuncOp func, StringRef name) {
  auto all = func->getAttrOfType<DictionaryAttr>(kernel::kAttributesAttr);
  auto value = all ? all.getAs<StringAttr>(name) : StringAttr();
  return value ? value.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Whether a kernel's buffer of `stored` can stand for a tensor of `element`:
/// hooks widen f16 and bf16 to f32, and round back.
static bool holds(Type stored, Type element) {
  return stored == element ||
         (stored.isF32() && (element.isF16() || element.isBF16()));
}

/// Whether the buffers of `func`, one for each operand and one for the result,
/// can stand for tensors of these types.
static bool serves(kernel::FuncOp func, TypeRange operands, Type result) {
  SmallVector<Type> types(operands);
  types.push_back(result);
  return types.size() == func.getNumBuffers() &&
         llvm::all_of(llvm::enumerate(types), [&](auto it) {
           return holds(func.getBufferType(it.index()).getElementType(),
                        getElementTypeOrSelf(it.value()));
         });
}

/// Whether there are operands that both serve.
static bool overlap(kernel::FuncOp a, kernel::FuncOp b) {
  for (unsigned i = 0; i < a.getNumBuffers(); ++i) {
    Type one = a.getBufferType(i).getElementType(),
         other = b.getBufferType(i).getElementType();
    if (!holds(one, other) && !holds(other, one))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Reading and checking kernels
//===----------------------------------------------------------------------===//

namespace {
struct UserKernel {
  kernel::FuncOp func;
  Pattern pattern;
};
} // namespace

/// The module that the file at `path` holds.
static OwningOpRef<ModuleOp> readKernels(MLIRContext *context, StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openNestedFile(path, message);
  if (!file) {
    emitError(FileLineColLoc::get(context, path, 0, 0)) << message;
    return {};
  }
  if (path.ends_with(".json"))
    return parseKirJson(*file, context);
  OwningOpRef<ModuleOp> module;
  runParser(path, [&] {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
    module = parseSourceFile<ModuleOp>(sources, context);
  });
  return module;
}

/// A place of `func` in its source, or in a file without such places, the file.
static Location placeOf(kernel::FuncOp func, Location loc) {
  return isa<UnknownLoc>(loc) ? func->getParentOp()->getLoc() : loc;
}

static InFlightDiagnostic errorAt(kernel::FuncOp func, Location loc) {
  return emitError(placeOf(func, loc))
         << "kernel '" << func.getSymName() << "' ";
}
static InFlightDiagnostic errorAt(kernel::FuncOp func) {
  return errorAt(func, func.getLoc());
}

/// Checks a call of hook load or store on buffer `number`.
static LogicalResult checkAccess(kernel::FuncOp func, kernel::HookOp call,
                                 unsigned number) {
  bool isStore = number + 1 == func.getNumBuffers();
  StringRef name = isStore ? "store" : "load";
  TypeRange parameters = call.getOperandTypes(),
            results = call.getResultTypes();
  unsigned numValues = isStore ? 1 : 0;
  bool fits =
      call.getName() == name && call.getOperand(0) == func.getArgument(number);
  if (fits) {
    TypeRange indices = parameters.drop_front();
    fits = indices.size() == 1 + numValues || indices.size() == 2 + numValues;
    if (fits && isStore) {
      fits = results.empty() &&
             holds(indices.back(), func.getBufferType(number).getElementType());
      indices = indices.drop_back();
    } else if (fits) {
      fits = results.size() == 1 &&
             holds(results[0], func.getBufferType(number).getElementType());
    }
    fits = fits &&
           llvm::all_of(indices, [](Type type) { return type.isInteger(32); });
  }
  if (fits)
    return success();
  return errorAt(func, call.getLoc())
         << "passes buffer " << number << " to a hook '" << call.getName()
         << "' of type "
         << FunctionType::get(func.getContext(), parameters, results)
         << "; it can only be passed to '" << name << "', which takes it and "
         << "32-bit numbers, an element's or a row's and an element's of it, "
         << (isStore ? "and a value" : "and gives a value")
         << " of its element type";
}

/// Checks that `func` keeps to what a kernel for a pattern of this many
/// operands has to be.
static LogicalResult checkKernel(kernel::FuncOp func, const Pattern &pattern) {
  unsigned wanted = pattern.getNumOperands() + 1;
  if (func.getNumBuffers() != wanted || func.getNumMetadata() != 0)
    return errorAt(func) << "has " << func.getNumBuffers() << " buffers and "
                         << func.getNumMetadata()
                         << " words of scalars; one that implements '"
                         << getAttribute(func, kImplements) << "' has "
                         << wanted
                         << " buffers, the operands and the result, and knows "
                            "extents by specialization constants";
  if (func.getWorkgroupSize()[1] != 1 || func.getWorkgroupSize()[2] != 1)
    return errorAt(func) << "has workgroups of more than one dimension; one "
                            "that implements an op has workgroups along x";
  for (unsigned i = 0; i < wanted; ++i) {
    Type element = func.getBufferType(i).getElementType();
    if (!isElementType(element))
      return errorAt(func) << "has a buffer of " << element
                           << "; one that implements an op has buffers of "
                              "scalars";
    for (Operation *user : func.getArgument(i).getUsers()) {
      auto call = dyn_cast<kernel::HookOp>(user);
      if (!call)
        return errorAt(func, user->getLoc())
               << "reads or writes buffer " << i
               << " by itself; one that implements an op does so in the hook '"
               << (i + 1 == wanted ? "store" : "load")
               << "', whose place the addresses of tensors take";
      if (failed(checkAccess(func, call, i)))
        return failure();
    }
  }
  if (func.getArgument(wanted - 1).use_empty())
    return errorAt(func) << "stores nothing: it never calls the hook 'store'";
  StringRef tolerance = getAttribute(func, kToleranceName);
  double number;
  if (!tolerance.empty() &&
      (tolerance.getAsDouble(number) || !(number >= 0 && number < 1e30)))
    return errorAt(func) << "has the tolerance '" << tolerance
                         << "'; a number such as 0.01 can be one";
  return success();
}

/// The kernels of `file` that say what they implement, checked.
static LogicalResult collectKernels(ModuleOp file,
                                    SmallVectorImpl<UserKernel> &kernels) {
  bool hasAny = false;
  for (Operation &op : *file.getBody()) {
    auto func = dyn_cast<kernel::FuncOp>(op);
    if (!func && !isa<kernel::HookBodyOp>(op))
      return op.emitError("'")
             << op.getName()
             << "' does not belong in a file of kernels; only kernel.func and "
                "kernel.hook_body do";
    StringRef text = func ? getAttribute(func, kImplements) : StringRef();
    if (!func || text.empty())
      continue;
    hasAny = true;
    FailureOr<Pattern> pattern = Pattern::parse(
        text, [&]() -> InFlightDiagnostic { return errorAt(func); });
    if (failed(pattern) || failed(checkKernel(func, *pattern)))
      return failure();
    for (UserKernel &other : kernels)
      if (other.pattern.str() == pattern->str() && overlap(other.func, func)) {
        InFlightDiagnostic diagnostic =
            errorAt(func) << "implements '" << text << "', as kernel '"
                          << other.func.getSymName() << "' does";
        diagnostic.attachNote(placeOf(other.func, other.func.getLoc()))
            << "which is here";
        return diagnostic;
      }
    kernels.push_back({func, std::move(*pattern)});
  }
  if (!hasAny)
    return file.emitError("holds no kernel that says what it implements; "
                          "POOT_IMPLEMENTS(\"PATTERN\") does in C++");
  return success();
}

kernel::FuncOp findUserKernel(FusedOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  for (auto file : module.getOps<ModuleOp>())
    for (auto func : file.getOps<kernel::FuncOp>())
      if (getAttribute(func, kImplements) == op.getPattern() &&
          serves(func, op.getOperandTypes(), op.getType()))
        return func;
  return {};
}

std::optional<double> getTolerance(kernel::FuncOp func) {
  double number;
  StringRef text = getAttribute(func, kToleranceName);
  return text.empty() || text.getAsDouble(number) ? std::nullopt
                                                  : std::optional(number);
}

//===----------------------------------------------------------------------===//
// Finding ops for kernels
//===----------------------------------------------------------------------===//

/// The cast between f32 and a smaller float that `op` is, if it is one.
static bool isHalfCast(Operation *op, bool widens) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  if (!cast)
    return false;
  Type narrow = getElementTypeOrSelf(widens ? cast.getOperand().getType()
                                            : cast.getType());
  Type wide = getElementTypeOrSelf(widens ? cast.getType()
                                          : cast.getOperand().getType());
  return wide.isF32() && (narrow.isF16() || narrow.isBF16());
}

/// Moves `match` into a `graph.fused` that `kernel` computes, if its types
/// allow it. What widens operands and rounds the result becomes part of it. The
/// ops that are gone are added to `erased`.
static bool fuse(const UserKernel &kernel, const Pattern::Match &match,
                 llvm::SmallPtrSetImpl<Operation *> &erased) {
  SmallVector<Value> operands;
  SmallVector<Operation *> ops;
  for (Value operand : match.operands) {
    Operation *cast = operand.getDefiningOp();
    bool isCast = isHalfCast(cast, /*widens=*/true);
    operands.push_back(isCast ? cast->getOperand(0) : operand);
    if (isCast && !llvm::is_contained(ops, cast))
      ops.push_back(cast);
  }
  size_t numCasts = ops.size();
  llvm::append_range(ops, match.ops);
  Operation *last = ops.back();
  if (Value result = last->getResult(0);
      result.hasOneUse() && isHalfCast(*result.user_begin(), /*widens=*/false))
    ops.push_back(last = *result.user_begin());
  Type type = last->getResult(0).getType();
  if (!serves(kernel.func, ValueRange(operands).getTypes(), type))
    return false;

  OpBuilder builder(last);
  SmallVector<Location> locs;
  for (Operation *op : ops)
    locs.push_back(op->getLoc());
  auto fused =
      FusedOp::create(builder, builder.getFusedLoc(locs), type,
                      getAttribute(kernel.func, kImplements), operands);
  Block *body = builder.createBlock(
      &fused.getBody(), {}, ValueRange(operands).getTypes(),
      SmallVector<Location>(operands.size(), fused.getLoc()));
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      // What is neither an operand nor computed here is a number.
      if (mapping.contains(operand))
        continue;
      auto tensor = cast<RankedTensorType>(operand.getType());
      Operation *literal = operand.getDefiningOp();
      while (!isa<ConstantOp>(literal))
        literal = literal->getOperand(0).getDefiningOp();
      auto splat = cast<DenseElementsAttr>(cast<ConstantOp>(literal).getValue())
                       .resizeSplat(tensor);
      mapping.map(operand,
                  ConstantOp::create(builder, op->getLoc(), splat).getResult());
    }
    builder.clone(*op, mapping);
  }
  YieldOp::create(builder, last->getLoc(), mapping.lookup(last->getResult(0)));
  last->getResult(0).replaceAllUsesWith(fused.getResult());
  // A cast of an operand may have other users.
  for (size_t i = ops.size(); i-- > 0;)
    if (i >= numCasts || ops[i]->use_empty()) {
      erased.insert(ops[i]);
      ops[i]->erase();
    }
  return true;
}

namespace {
struct UseKernels : impl::PlanUseKernelsBase<UseKernels> {
  using PlanUseKernelsBase::PlanUseKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (const std::string &path : files) {
      OwningOpRef<ModuleOp> file = readKernels(&getContext(), path);
      if (!file)
        return signalPassFailure();
      module.push_back(file.release());
    }
    SmallVector<UserKernel> kernels;
    for (auto file : module.getOps<ModuleOp>())
      if (failed(collectKernels(file, kernels)))
        return signalPassFailure();
    // The largest pattern first, where several fit.
    llvm::stable_sort(kernels, [](const UserKernel &a, const UserKernel &b) {
      return a.pattern.getNumOps() > b.pattern.getNumOps();
    });
    SmallVector<bool> isUsed(kernels.size());
    for (auto function : module.getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        useIn(block, kernels, isUsed);
    for (auto [kernel, used] : llvm::zip_equal(kernels, isUsed))
      if (!used)
        emitWarning(placeOf(kernel.func, kernel.func.getLoc()))
            << "kernel '" << kernel.func.getSymName() << "' implements '"
            << getAttribute(kernel.func, kImplements)
            << "', which the graph has nowhere in types that it serves";
  }

private:
  /// Backwards, so that what uses a result is part of a match before it is one
  /// by itself.
  void useIn(Block &block, ArrayRef<UserKernel> kernels,
             MutableArrayRef<bool> isUsed) {
    SmallVector<Operation *> ops(llvm::make_pointer_range(block));
    llvm::SmallPtrSet<Operation *, 16> erased;
    for (Operation *op : llvm::reverse(ops))
      for (auto [i, kernel] : llvm::enumerate(kernels)) {
        if (erased.contains(op))
          break;
        std::optional<Pattern::Match> match = kernel.pattern.match(op);
        if (match && fuse(kernel, *match, erased))
          isUsed[i] = true;
      }
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Specializing a kernel
//===----------------------------------------------------------------------===//

/// Where an element of a tensor lies: at its number in row-major order, or with
/// two indices, at the number of its row and its own in the row.
static KValue position(OperandAccess &at, const OperandLayout &layout,
                       ArrayRef<KValue> indices) {
  if (indices.size() == 1)
    return at.elementPosition(layout, indices[0]);
  if (layout.shape.empty())
    return at.position(layout, {});
  OperandLayout rows = layout;
  int64_t stride = rows.strides.pop_back_val();
  rows.shape.pop_back();
  return at.elementPosition(rows, indices[0]) + indices[1] * stride;
}

FailureOr<GeneratedKernel> makeFused(const LibraryRequest &r) {
  auto fused = cast<FusedOp>(r.request.op);
  kernel::FuncOp func = findUserKernel(fused);
  if (!func)
    return emitError(r.loc) << "no kernel implements '" << fused.getPattern()
                            << "' for these types";
  LibraryKernel kernel(cast<ModuleOp>(func->getParentOp()).clone(), r.loc,
                       func.getSymName(), r.request);
  auto indices = [](OperandAccess &at, ValueRange values) {
    SmallVector<KValue> numbers;
    for (Value value : values)
      numbers.push_back({at.k, value});
    return numbers;
  };
  if (kernel.hasHook("load"))
    kernel.fillCalls("load", [&](OperandAccess &at, kernel::HookOp call) {
      unsigned i = cast<BlockArgument>(call.getOperand(0)).getArgNumber();
      const OperandLayout &layout = at.input(i);
      KValue value =
          layout.literal
              ? at.k.constant(layout.literal)
              : at.loadAt(
                    i, position(at, layout,
                                indices(at, call.getOperands().drop_front())));
      return SmallVector<KValue>{
          convert(at.k, value, call.getResult(0).getType())};
    });
  kernel.fillCalls("store", [&](OperandAccess &at, kernel::HookOp call) {
    const OperandLayout &layout = at.output();
    OperandRange values = call.getOperands().drop_front();
    at.k.store(at.outputBuffer(),
               position(at, layout, indices(at, values.drop_back())),
               convert(at.k, {at.k, values.back()}, layout.element));
    return SmallVector<KValue>();
  });

  const OperandLayout &out = r.request.outputs[0];
  int64_t count = out.count(),
          length = out.shape.empty() ? 1 : out.shape.back();
  kernel.set("count", count);
  kernel.set("rows", count / length);
  kernel.set("length", length);
  bool isRows = false;
  for (Operation &op : fused.getBody().front()) {
    isRows |= isa<SoftmaxOp, RmsNormOp, LayerNormOp>(op);
    if (auto norm = dyn_cast<RmsNormOp>(op))
      kernel.set("epsilon", norm.getEpsilon().convertToDouble());
    if (auto norm = dyn_cast<LayerNormOp>(op))
      kernel.set("epsilon", norm.getEpsilon().convertToDouble());
  }
  if (isRows)
    kernel.launchWorkgroups(count / length);
  else
    kernel.launchInvocations(count);
  return r.finish(kernel);
}

} // namespace poot::planner
