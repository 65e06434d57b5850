//===- LowerGraph.cpp - Graph functions become programs -------------------===//
//
// Implements plan-lower-graph and plan-erase-graph. A value of the graph
// becomes a view: a buffer and a layout. View ops change the layout alone; all
// other ops dispatch a kernel from their operands' views into a new buffer.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "KernelTable.h"
#include "LibraryKernels.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Planner/Kernels.h"
#include "Poot/Planner/Passes.h"
#include "Poot/Planner/TargetInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {
#define GEN_PASS_DEF_PLANLOWERGRAPH
#define GEN_PASS_DEF_PLANERASEGRAPH
#include "Poot/Planner/PlannerPasses.h.inc"

namespace {

/// Where a value of the graph lies. Without a buffer it is a literal.
struct View {
  Value buffer;
  OperandLayout layout;
  /// The state whose value at the start of the step this is, if it is one.
  StringRef oldState;
};

/// Lowers one function to one program.
class ProgramLowering {
public:
  ProgramLowering(ModuleOp module, const TargetInfo &target,
                  KernelTable &kernels)
      : module(module), target(target), kernels(kernels),
        builder(module.getContext()) {}

  LogicalResult lower(func::FuncOp function);

private:
  // Buffers.
  Value createBuffer(Location loc, plan::Role role, StringRef name,
                     int64_t bytes, Type type = {});
  Value symbolBuffer(Location loc, plan::Role role, StringRef name, Type type);
  View destination(Value result);
  void assignDestinations(func::FuncOp function);

  // Commands.
  /// `firstRow` is that of KernelRequest, for a part of an iota.
  LogicalResult dispatch(Operation *op, ArrayRef<View> inputs,
                         ArrayRef<View> outputs, int64_t firstRow = 0);
  LogicalResult emitDispatch(Operation *op, Location loc, KernelRequest request,
                             ArrayRef<View> inputs, ArrayRef<View> outputs);
  LogicalResult splitDispatch(Operation *op, ArrayRef<View> inputs,
                              ArrayRef<View> outputs, int64_t firstRow);
  LogicalResult copy(Operation *forOp, const View &from, const View &to);
  FailureOr<View> materialize(Operation *forOp, const View &view);
  bool exceedsBinding(const View &view) const;

  // Ops.
  LogicalResult lowerOp(Operation *op);
  LogicalResult lowerConstant(ConstantOp op);
  LogicalResult lowerGet(GetOp op);
  LogicalResult lowerSet(SetOp op);
  LogicalResult lowerReshape(ReshapeOp op);
  LogicalResult lowerConcat(ConcatOp op);
  LogicalResult lowerScatter(ScatterOp op);
  LogicalResult lowerRope(RopeOp op);
  LogicalResult lowerAttention(AttentionOp op);
  LogicalResult lowerCompute(Operation *op);
  LogicalResult lowerReturn(func::ReturnOp op);

  /// The state that the scatter chain starting at `value` is set to.
  StringRef destinedState(Value value);
  LogicalResult checkOldState(Operation *reader, const View &view);
  LogicalResult keepOldState(Operation *update, StringRef state);

  ModuleOp module;
  const TargetInfo &target;
  KernelTable &kernels;
  OpBuilder builder;
  plan::ProgramOp program;
  Operation *lastBuffer = nullptr;
  llvm::DenseMap<Value, View> views;
  llvm::StringMap<Value> symbolBuffers;
  llvm::DenseMap<Value, Value> destinations;
  SmallVector<Value> outputBuffers;
  /// States updated so far, with the op that did it.
  llvm::StringMap<Operation *> writtenStates;
  /// Ops whose results exist nowhere: rotations that go straight into a cache,
  /// and what reshapes them. By scatter, the rotation.
  llvm::SmallPtrSet<Operation *, 4> skipped;
  llvm::DenseMap<Operation *, RopeOp> rotations;
};

/// The op behind a value, looking through reshapes that nothing else uses.
Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (!reshape.getOperand().hasOneUse())
      break;
    value = reshape.getOperand();
  }
  return value;
}

/// True for the ops that only change a layout.
bool isViewOp(Operation *op) {
  return isa<TransposeOp, ReshapeOp, SliceOp, BroadcastOp>(op);
}

/// True if `op` writes its result to a buffer of its own.
bool hasDestination(Operation *op) {
  return op && !isViewOp(op) && !isa<GetOp, ConstantOp>(op);
}

Value ProgramLowering::createBuffer(Location loc, plan::Role role,
                                    StringRef name, int64_t bytes, Type type) {
  OpBuilder::InsertionGuard guard(builder);
  // Declarations stand together at the program's start.
  if (lastBuffer)
    builder.setInsertionPointAfter(lastBuffer);
  else
    builder.setInsertionPointToStart(&program.getBody().front());
  auto buffer = plan::BufferOp::create(
      builder, loc, plan::BufferType::get(builder.getContext()),
      plan::RoleAttr::get(builder.getContext(), role),
      role == plan::Role::Arena ? StringAttr() : builder.getStringAttr(name),
      builder.getI64IntegerAttr(bytes), type ? TypeAttr::get(type) : TypeAttr(),
      IntegerAttr());
  lastBuffer = buffer;
  return buffer;
}

Value ProgramLowering::symbolBuffer(Location loc, plan::Role role,
                                    StringRef name, Type type) {
  Value &buffer = symbolBuffers[name];
  if (!buffer)
    buffer = createBuffer(loc, role, name, deviceBytes(type));
  return buffer;
}

/// Decides which values are computed straight into an output or a computed
/// symbol.
void ProgramLowering::assignDestinations(func::FuncOp function) {
  for (Operation &op : function.front()) {
    if (auto set = dyn_cast<SetOp>(op)) {
      auto computed = SymbolTable::lookupNearestSymbolFrom<ComputedOp>(
          set, set.getSymbolAttr());
      Value value = skipReshapes(set.getValue());
      if (computed && hasDestination(value.getDefiningOp()))
        destinations.try_emplace(
            value, symbolBuffer(set.getLoc(), plan::Role::Computed,
                                set.getSymbol(), computed.getType()));
    }
  }
  auto returnOp = cast<func::ReturnOp>(function.front().getTerminator());
  for (auto [i, operand] : llvm::enumerate(returnOp.getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    Value buffer = createBuffer(
        function.getLoc(), plan::Role::Output,
        name ? name.getValue() : StringRef("result" + std::to_string(i)),
        deviceBytes(operand.getType()), operand.getType());
    outputBuffers.push_back(buffer);
    Value value = skipReshapes(operand);
    if (hasDestination(value.getDefiningOp()) && destinedState(value).empty())
      destinations.try_emplace(value, buffer);
  }
}

View ProgramLowering::destination(Value result) {
  View view;
  view.layout = OperandLayout::dense(result.getType());
  view.buffer = destinations.lookup(result);
  if (!view.buffer)
    view.buffer = createBuffer(result.getLoc(), plan::Role::Arena, "",
                               deviceBytes(result.getType()));
  return view;
}

/// Where the arguments that a kernel reads an operand by may start: at
/// multiples of this many bytes. Packed weights are read by whole rows.
int64_t argumentAlignment(const OperandLayout &layout) {
  if (!layout.isPacked())
    return plan::kBufferAlignment;
  return std::lcm(plan::kBufferAlignment,
                  getPackedRowBytes(cast<PackedType>(layout.element)));
}

/// Splits a view's offset into the argument's, which is aligned, and what is
/// left for the kernel.
std::pair<int64_t, OperandLayout> bindView(const View &view) {
  OperandLayout layout = view.layout;
  int64_t unit = layout.isPacked() ? 1 : deviceElementBytes(layout.element);
  int64_t start = layout.offset * unit;
  int64_t aligned = llvm::alignDown(start, argumentAlignment(layout));
  layout.offset = (start - aligned) / unit;
  return {aligned, layout};
}

bool ProgramLowering::exceedsBinding(const View &view) const {
  return view.buffer &&
         bindView(view).second.spanBytes() > target.maxBindingBytes;
}

LogicalResult ProgramLowering::checkOldState(Operation *reader,
                                             const View &view) {
  if (view.oldState.empty())
    return success();
  auto it = writtenStates.find(view.oldState);
  if (it == writtenStates.end())
    return success();
  InFlightDiagnostic diagnostic =
      reader->emitError("reads the value that state '@")
      << view.oldState << "' had before its update in place";
  diagnostic.attachNote(it->second->getLoc()) << "updated here";
  return diagnostic;
}

/// Copies the old value of `state` for readers behind `update`. A program has
/// none (graph-verify refuses them), but folding an op away lets its users read
/// the state in its place. Where the extent is open, reading stays an error.
LogicalResult ProgramLowering::keepOldState(Operation *update,
                                            StringRef state) {
  for (Operation &op : *update->getBlock()) {
    if (&op == update)
      break;
    for (Value result : op.getResults()) {
      View view = views.lookup(result);
      if (view.oldState != state || view.layout.openState ||
          llvm::none_of(result.getUsers(), [&](Operation *user) {
            return update->isBeforeInBlock(user);
          }))
        continue;
      FailureOr<View> kept = materialize(update, view);
      if (failed(kept))
        return failure();
      views[result] = *kept;
    }
  }
  return success();
}

/// Bytes of an operand that a kernel reads or writes at most, where these are
/// less than all: rows that are looked up in a table, or updated. Else 0.
int64_t bytesTouched(const KernelRequest &request, unsigned operand) {
  bool isResult = operand == request.inputs.size();
  if (isResult && isa_and_nonnull<ScatterOp>(request.op)) {
    const OperandLayout &updates = request.inputs[1];
    return updates.count() * deviceElementBytes(updates.element);
  }
  if (isResult && isa_and_nonnull<RopeOp>(request.op) &&
      request.updatesOutput())
    return request.inputs[0].count() *
           deviceElementBytes(request.inputs[0].element);
  const OperandLayout &out = request.outputs.front();
  if (operand != 0)
    return 0;
  if (isa_and_nonnull<GatherOp>(request.op))
    return out.count() * deviceElementBytes(out.element);
  if (isa_and_nonnull<PackedRowGatherOp>(request.op))
    return out.count() / out.shape.back() *
           getPackedRowBytes(cast<PackedType>(request.inputs[0].element));
  return 0;
}

LogicalResult ProgramLowering::emitDispatch(Operation *op, Location loc,
                                            KernelRequest request,
                                            ArrayRef<View> inputs,
                                            ArrayRef<View> outputs) {
  for (const View &view : inputs)
    request.inputs.push_back(bindView(view).second);
  for (const View &view : outputs)
    request.outputs.push_back(bindView(view).second);
  FailureOr<GeneratedKernel> kernel = kernels.get(loc, request);
  if (failed(kernel))
    return failure();

  SmallVector<Value> buffers;
  SmallVector<Attribute> arguments, metadata;
  for (auto [i, operand] : llvm::enumerate(kernel->operands)) {
    const View &view = operand < inputs.size()
                           ? inputs[operand]
                           : outputs[operand - inputs.size()];
    auto [offset, layout] = bindView(view);
    auto type =
        dyn_cast<kernel::BufferType>(kernel->func.getArgumentTypes()[i]);
    if (!type) {
      metadata.push_back(
          plan::ExtentAttr::get(builder.getContext(), layout.openState));
      continue;
    }
    plan::Access access = operand < inputs.size()   ? plan::Access::Read
                          : request.updatesOutput() ? plan::Access::ReadWrite
                                                    : plan::Access::Write;
    buffers.push_back(view.buffer);
    int64_t size = layout.spanBytes();
    int64_t touched = bytesTouched(request, operand);
    if (size != -1 && touched >= size)
      touched = 0;
    arguments.push_back(plan::ArgumentAttr::get(builder.getContext(), access,
                                                offset, size, touched));
  }
  plan::DispatchOp::create(
      builder, loc, plan::EventType::get(builder.getContext()),
      FlatSymbolRefAttr::get(kernel->func.getSymNameAttr()),
      builder.getDenseI64ArrayAttr(kernel->grid), buffers,
      builder.getArrayAttr(arguments), builder.getArrayAttr(metadata),
      ValueRange());
  return success();
}

LogicalResult ProgramLowering::dispatch(Operation *op, ArrayRef<View> inputs,
                                        ArrayRef<View> outputs,
                                        int64_t firstRow) {
  for (const View &view : inputs)
    if (failed(checkOldState(op, view)))
      return failure();
  if (llvm::any_of(inputs, [&](const View &v) { return exceedsBinding(v); }) ||
      llvm::any_of(outputs, [&](const View &v) { return exceedsBinding(v); }))
    return splitDispatch(op, inputs, outputs, firstRow);
  KernelRequest request;
  request.op = op;
  request.firstRow = firstRow;
  return emitDispatch(op, op->getLoc(), request, inputs, outputs);
}

/// For a split of `op`'s outputs along dimension `dim`: the dimension of each
/// input that is split with it, -1 where an input stays whole. Nothing if the
/// op can't be split there.
std::optional<SmallVector<int64_t>> splitInputs(Operation *op, int64_t dim) {
  using Dims = SmallVector<int64_t>;
  if (!op || op->hasTrait<OpTrait::Elementwise>())
    return Dims(op ? op->getNumOperands() : 1, dim);
  // One op of rows, or ops that are all element-wise.
  if (auto fused = dyn_cast<FusedOp>(op)) {
    // plan-fuse-products leaves alone what would be split.
    if (Epilogue::isIn(fused))
      return std::nullopt;
    Block &body = fused.getBody().front();
    for (Operation &inner : body)
      if (isa<SoftmaxOp, RmsNormOp, LayerNormOp>(inner))
        return splitInputs(&inner, dim);
    return Dims(op->getNumOperands(), dim);
  }
  return TypeSwitch<Operation *, std::optional<Dims>>(op)
      .Case<IotaOp>([](IotaOp) { return Dims(); })
      .Case<PackedDequantOp>(
          [&](PackedDequantOp dequant) -> std::optional<Dims> {
            if (dim + 1 == dequant.getResult().getType().getRank())
              return std::nullopt;
            return Dims{dim};
          })
      .Case<MatmulOp>([&](MatmulOp matmul) -> std::optional<Dims> {
        int64_t rank = cast<RankedTensorType>(matmul.getType()).getRank();
        if (dim == rank - 2)
          return Dims{dim, -1};
        if (dim == rank - 1)
          return Dims{-1, dim};
        return Dims{dim, dim};
      })
      .Case<PackedContractionOp>([&](PackedContractionOp product) {
        int64_t rank = cast<RankedTensorType>(product.getType()).getRank();
        bool isIndexed = product.getIndices() != nullptr;
        bool isColumns = dim == rank - 1;
        Dims dims = {isColumns ? -1 : dim,
                     isColumns ? static_cast<int64_t>(isIndexed) : -1};
        if (isIndexed)
          dims.push_back(isColumns ? -1 : dim);
        return dims;
      })
      .Case<PackedRowGatherOp>(
          [&](PackedRowGatherOp gather) -> std::optional<Dims> {
            if (dim + 1 == cast<RankedTensorType>(gather.getType()).getRank())
              return std::nullopt;
            return Dims{-1, dim};
          })
      .Case<RepackOp>([&](RepackOp repack) -> std::optional<Dims> {
        if (dim + 1 ==
            static_cast<int64_t>(
                cast<PackedType>(repack.getType()).getShape().size()))
          return std::nullopt;
        return Dims{dim};
      })
      .Case<SoftmaxOp, RmsNormOp, LayerNormOp>(
          [&](Operation *norm) -> std::optional<Dims> {
            Dims dims(norm->getNumOperands(), -1);
            dims[0] = dim;
            int64_t rank =
                cast<RankedTensorType>(norm->getResult(0).getType()).getRank();
            if (dim == rank - 1)
              return std::nullopt;
            return dims;
          })
      .Case<RopeOp>([&](RopeOp rope) -> std::optional<Dims> {
        int64_t rank = cast<RankedTensorType>(rope.getType()).getRank();
        if (dim == rank - 1)
          return std::nullopt;
        int64_t factors = dim == rank - 2 ? -1 : dim;
        return Dims{dim, factors, factors};
      })
      .Case<IndexedMatmulOp>(
          [&](IndexedMatmulOp matmul) -> std::optional<Dims> {
            int64_t rank = cast<RankedTensorType>(matmul.getType()).getRank();
            if (dim == rank - 1)
              return Dims{-1, 2, -1};
            return Dims{dim, -1, dim};
          })
      .Case<ReduceOp>([&](ReduceOp reduce) -> std::optional<Dims> {
        int64_t kept = 0;
        int64_t rank =
            cast<RankedTensorType>(reduce.getOperand().getType()).getRank();
        for (int64_t i = 0; i < rank; ++i)
          if (!llvm::is_contained(reduce.getDims(), i) && kept++ == dim)
            return Dims{i};
        return std::nullopt;
      })
      .Case<ScanOp>([&](ScanOp scan) -> std::optional<Dims> {
        if (dim == static_cast<int64_t>(scan.getDim()))
          return std::nullopt;
        return Dims{dim};
      })
      .Case<ArgTopKOp>([&](ArgTopKOp topK) -> std::optional<Dims> {
        int64_t rank =
            cast<RankedTensorType>(topK.getOperand().getType()).getRank();
        if (dim == rank - 1)
          return std::nullopt;
        return Dims{dim};
      })
      .Case<GatherOp>([&](GatherOp gather) -> std::optional<Dims> {
        int64_t axis = gather.getDim();
        int64_t rank =
            cast<RankedTensorType>(gather.getIndices().getType()).getRank();
        if (dim < axis)
          return Dims{dim, -1};
        if (dim < axis + rank)
          return Dims{-1, dim - axis};
        return Dims{dim - rank + 1, -1};
      })
      .Default([](Operation *) { return std::nullopt; });
}

View sliceAlong(const View &view, int64_t dim, int64_t begin, int64_t extent) {
  View part = view;
  Extents offsets(view.layout.shape.size(), 0),
      steps(view.layout.shape.size(), 1), extents = view.layout.shape;
  offsets[dim] = begin;
  extents[dim] = extent;
  part.layout = view.layout.slice(offsets, steps, extents);
  return part;
}

LogicalResult ProgramLowering::splitDispatch(Operation *op,
                                             ArrayRef<View> inputs,
                                             ArrayRef<View> outputs,
                                             int64_t firstRow) {
  // A table too large for one binding: a dispatch for each part of its rows,
  // which writes the results that lie there. Splitting the results by columns
  // instead would leave a binding of nearly all rows, whatever the column.
  auto gather = dyn_cast_or_null<GatherOp>(op);
  if ((gather || isa_and_nonnull<PackedRowGatherOp>(op)) &&
      exceedsBinding(inputs[0]) && !exceedsBinding(inputs[1]) &&
      !exceedsBinding(outputs[0])) {
    int64_t dim = gather ? gather.getDim() : 0;
    int64_t rows = inputs[0].layout.shape[dim];
    int64_t bytes = bindView(inputs[0]).second.spanBytes();
    int64_t parts = llvm::divideCeil(
        bytes, target.maxBindingBytes - argumentAlignment(inputs[0].layout));
    int64_t step = llvm::divideCeilSigned(rows, parts);
    for (int64_t first = 0; first < rows; first += step) {
      View part =
          sliceAlong(inputs[0], dim, first, std::min(step, rows - first));
      if (exceedsBinding(part))
        break;
      KernelRequest request;
      request.op = op;
      request.firstRow = first;
      request.tableRows = rows;
      if (failed(emitDispatch(op, op->getLoc(), request, {part, inputs[1]},
                              outputs)))
        return failure();
      if (first + step >= rows)
        return success();
    }
  }

  // The outermost output dimension whose split shrinks every operand that is
  // too large, or failing that some.
  int64_t rank = outputs.front().layout.shape.size();
  int64_t best = -1;
  bool bestShrinksAll = false;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (outputs.front().layout.shape[dim] < 2)
      continue;
    std::optional<SmallVector<int64_t>> dims = splitInputs(op, dim);
    if (!dims)
      continue;
    bool shrinksAll = true,
         shrinksSome = llvm::any_of(
             outputs, [&](const View &view) { return exceedsBinding(view); });
    for (auto [view, inputDim] : llvm::zip(inputs, *dims)) {
      if (!exceedsBinding(view))
        continue;
      bool shrinks = inputDim >= 0 && view.layout.strides[inputDim] != 0;
      shrinksAll = shrinksAll && shrinks;
      shrinksSome = shrinksSome || shrinks;
    }
    if (shrinksSome && (best < 0 || (shrinksAll && !bestShrinksAll))) {
      best = dim;
      bestShrinksAll = shrinksAll;
    }
  }

  if (best >= 0) {
    SmallVector<int64_t> dims = *splitInputs(op, best);
    int64_t extent = outputs.front().layout.shape[best];
    int64_t parts = std::min<int64_t>(extent, 2), whole = 1;
    for (const View &view : llvm::concat<const View>(inputs, outputs)) {
      if (!exceedsBinding(view))
        continue;
      // A part's start is aligned down, which may add up to one alignment.
      int64_t alignment = argumentAlignment(view.layout);
      int64_t bytes = bindView(view).second.spanBytes();
      parts = std::clamp<int64_t>(
          llvm::divideCeil(bytes, target.maxBindingBytes - alignment), parts,
          extent);
      // A packed weight that is written has to start where its argument does.
      if (view.layout.isPacked())
        whole = std::lcm(
            whole, alignment / std::gcd(alignment, view.layout.strides[best]));
    }
    int64_t step = llvm::divideCeil(extent, parts);
    if (isa_and_nonnull<RepackOp>(op) && step > whole)
      step = llvm::alignDown(step, whole);
    for (int64_t begin = 0; begin < extent; begin += step) {
      int64_t size = std::min(step, extent - begin);
      SmallVector<View> partInputs, partOutputs;
      for (auto [view, dim] : llvm::zip(inputs, dims))
        partInputs.push_back(dim < 0 ? view
                                     : sliceAlong(view, dim, begin, size));
      for (const View &view : outputs)
        partOutputs.push_back(sliceAlong(view, best, begin, size));
      // An iota along the split dimension goes on where the last part ended.
      auto iota = dyn_cast_or_null<IotaOp>(op);
      bool goesOn = iota && static_cast<int64_t>(iota.getDim()) == best;
      if (failed(dispatch(op, partInputs, partOutputs,
                          firstRow + (goesOn ? begin : 0))))
        return failure();
    }
    return success();
  }

  return op->emitError("needs an operand of more than ")
         << target.maxBindingBytes << " bytes, the most that " << target.name
         << " binds at once, and can't be split";
}

/// Copies `from` to `to`, which have one shape.
LogicalResult ProgramLowering::copy(Operation *forOp, const View &from,
                                    const View &to) {
  if (failed(checkOldState(forOp, from)))
    return failure();
  int64_t unit =
      from.layout.isPacked() ? 1 : deviceElementBytes(from.layout.element);
  if (from.buffer && from.layout.isDense() && to.layout.isDense() &&
      !from.layout.openState) {
    int64_t bytes = from.layout.spanBytes() - from.layout.offset * unit;
    plan::CopyOp::create(builder, forOp->getLoc(),
                         plan::EventType::get(builder.getContext()),
                         from.buffer, from.layout.offset * unit, to.buffer,
                         to.layout.offset * unit, bytes, ValueRange());
    return success();
  }
  if (from.layout.isPacked()) {
    // Whole blocks move as bytes, in runs of rows that follow each other.
    int64_t dim = 0;
    while (from.layout.shape[dim] == 1)
      ++dim;
    for (int64_t i = 0; i < from.layout.shape[dim]; ++i)
      if (failed(copy(forOp, sliceAlong(from, dim, i, 1),
                      sliceAlong(to, dim, i, 1))))
        return failure();
    return success();
  }
  if (exceedsBinding(from) || exceedsBinding(to)) {
    // Split by the outermost dimension that has an extent.
    for (size_t dim = 0; dim < to.layout.shape.size(); ++dim) {
      int64_t extent = to.layout.shape[dim];
      if (extent < 2)
        continue;
      int64_t half = extent / 2;
      if (failed(copy(forOp, sliceAlong(from, dim, 0, half),
                      sliceAlong(to, dim, 0, half))))
        return failure();
      return copy(forOp, sliceAlong(from, dim, half, extent - half),
                  sliceAlong(to, dim, half, extent - half));
    }
  }
  return emitDispatch(nullptr, forOp->getLoc(), KernelRequest(), {from}, {to});
}

FailureOr<View> ProgramLowering::materialize(Operation *forOp,
                                             const View &view) {
  View dense;
  auto type = RankedTensorType::get(view.layout.shape, view.layout.element);
  dense.layout = OperandLayout::dense(type);
  dense.buffer =
      createBuffer(forOp->getLoc(), plan::Role::Arena, "", deviceBytes(type));
  if (failed(copy(forOp, view, dense)))
    return failure();
  return dense;
}

LogicalResult ProgramLowering::lowerConstant(ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  View view;
  if (elements.isSplat()) {
    view.layout =
        OperandLayout::splat(op.getType(), elements.getSplatValue<TypedAttr>());
  } else {
    view.layout = OperandLayout::dense(op.getType());
    StringAttr name = kernels.getData(op.getLoc(), elements);
    view.buffer = symbolBuffer(op.getLoc(), plan::Role::Const, name.getValue(),
                               op.getType());
  }
  views[op.getResult()] = view;
  return success();
}

LogicalResult ProgramLowering::lowerGet(GetOp op) {
  Operation *symbol =
      SymbolTable::lookupNearestSymbolFrom(op, op.getSymbolAttr());
  View view;
  view.layout = OperandLayout::dense(op.getType());
  plan::Role role = isa<ConstOp>(symbol)   ? plan::Role::Const
                    : isa<StateOp>(symbol) ? plan::Role::State
                                           : plan::Role::Computed;
  view.buffer = symbolBuffer(op.getLoc(), role, op.getSymbol(), op.getType());
  if (role == plan::Role::State) {
    view.oldState = op.getSymbol();
    if (ShapedType::isDynamic(
            view.layout.shape.empty() ? 0 : view.layout.shape.front()))
      view.layout.openState = op.getSymbolAttr();
  }
  views[op.getResult()] = view;
  return success();
}

LogicalResult ProgramLowering::lowerSet(SetOp op) {
  const View &view = views[op.getValue()];
  auto it = symbolBuffers.find(op.getSymbol());
  // Computed in place already: a scatter chain, or a value whose destination
  // is the symbol itself.
  if (it != symbolBuffers.end() && it->second == view.buffer &&
      view.oldState.empty() && view.layout.isDense())
    return success();
  Operation *symbol =
      SymbolTable::lookupNearestSymbolFrom(op, op.getSymbolAttr());
  bool isState = isa<StateOp>(symbol);
  View to;
  to.layout = OperandLayout::dense(op.getValue().getType());
  to.buffer = symbolBuffer(op.getLoc(),
                           isState ? plan::Role::State : plan::Role::Computed,
                           op.getSymbol(), op.getValue().getType());
  // Setting a state to a view of itself would read and write it at once.
  View from = view;
  if (from.buffer == to.buffer) {
    FailureOr<View> dense = materialize(op, from);
    if (failed(dense))
      return failure();
    from = *dense;
  }
  if (isState && failed(keepOldState(op, op.getSymbol())))
    return failure();
  if (failed(copy(op, from, to)))
    return failure();
  if (isState)
    writtenStates[op.getSymbol()] = op;
  return success();
}

LogicalResult ProgramLowering::lowerReshape(ReshapeOp op) {
  View view = views[op.getOperand()];
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  std::optional<OperandLayout> layout = view.layout.reshape(shape);
  if (!layout) {
    FailureOr<View> dense = materialize(op, view);
    if (failed(dense))
      return failure();
    view = *dense;
    layout = view.layout.reshape(shape);
  }
  view.layout = *layout;
  views[op.getResult()] = view;
  return success();
}

LogicalResult ProgramLowering::lowerConcat(ConcatOp op) {
  View whole = destination(op.getResult());
  int64_t dim = op.getDim(), begin = 0;
  for (Value input : op.getInputs()) {
    const View &from = views[input];
    int64_t extent = from.layout.shape[dim];
    if (failed(copy(op, from, sliceAlong(whole, dim, begin, extent))))
      return failure();
    begin += extent;
  }
  views[op.getResult()] = whole;
  return success();
}

StringRef ProgramLowering::destinedState(Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto set = dyn_cast<SetOp>(user))
      if (SymbolTable::lookupNearestSymbolFrom<StateOp>(set,
                                                        set.getSymbolAttr()))
        return set.getSymbol();
    auto scatter = dyn_cast<ScatterOp>(user);
    if (scatter && scatter.getData() == value && value.hasOneUse())
      return destinedState(scatter.getResult());
  }
  return {};
}

LogicalResult ProgramLowering::lowerScatter(ScatterOp op) {
  const View &indices = views[op.getIndices()];
  const View &updates = views[op.getUpdates()];
  View data = views[op.getData()];
  StringRef state = destinedState(op.getResult());
  bool inPlace = !state.empty() && symbolBuffers.lookup(state) == data.buffer &&
                 data.buffer && data.layout.isDense();
  if (!inPlace) {
    if (data.layout.openState)
      return op.emitError("a state with an open extent can only be updated "
                          "in place: set the state to this value");
    View copyOf = destination(op.getResult());
    if (failed(copy(op, data, copyOf)))
      return failure();
    data = copyOf;
  } else if (failed(checkOldState(op, data)) ||
             failed(keepOldState(op, state))) {
    return failure();
  }
  data.oldState = {};
  if (RopeOp rope = rotations.lookup(op)) {
    if (failed(dispatch(rope,
                        {views[rope.getOperand()], views[rope.getCos()],
                         views[rope.getSin()], indices},
                        {data})))
      return failure();
  } else if (failed(dispatch(op, {indices, updates}, {data}))) {
    return failure();
  }
  if (inPlace)
    writtenStates[state] = op;
  views[op.getResult()] = data;
  return success();
}

/// The scatter that alone takes a rotation, whole rows of heads, into the value
/// that a symbol has; nothing if there is none. What is between them goes to
/// `path`.
ScatterOp findCacheWrite(RopeOp op, SmallVectorImpl<Operation *> &path) {
  Operation *at = op;
  while (at->hasOneUse() && isa<ReshapeOp>(*at->user_begin()))
    path.push_back(at = *at->user_begin());
  auto scatter =
      at->hasOneUse() ? dyn_cast<ScatterOp>(*at->user_begin()) : ScatterOp();
  if (!scatter || scatter.getUpdates() != at->getResult(0) ||
      !scatter.getData().getDefiningOp<GetOp>())
    return {};
  ArrayRef<int64_t> heads = op.getType().getShape().take_back(2);
  auto data = cast<RankedTensorType>(scatter.getData().getType());
  bool takesHeads =
      data.getRank() == 3 && data.getShape().drop_front() == heads;
  return takesHeads ? scatter : ScatterOp();
}

LogicalResult ProgramLowering::lowerRope(RopeOp op) {
  SmallVector<Operation *> path;
  ScatterOp scatter = findCacheWrite(op, path);
  // Its operands are read where the scatter stands, and bound whole.
  bool fits = scatter &&
              destinedState(scatter.getResult()) ==
                  scatter.getData().getDefiningOp<GetOp>().getSymbol() &&
              !exceedsBinding(views[scatter.getData()]) &&
              llvm::all_of(op->getOperands(), [&](Value operand) {
                const View &view = views[operand];
                return view.oldState.empty() && !exceedsBinding(view);
              });
  if (!fits)
    return lowerCompute(op);
  skipped.insert(path.begin(), path.end());
  rotations[scatter] = op;
  return success();
}

LogicalResult ProgramLowering::lowerAttention(AttentionOp op) {
  int64_t splits = chooseAttentionSplits(op, target);
  if (splits == 1)
    return lowerCompute(op);
  SmallVector<View> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(views[operand]);
  auto createPart = [&](int64_t innermost) {
    SmallVector<int64_t> shape(op.getResult().getType().getShape());
    shape.back() = splits;
    shape.push_back(innermost);
    auto type = RankedTensorType::get(shape, builder.getF32Type());
    View view;
    view.layout = OperandLayout::dense(type);
    view.buffer =
        createBuffer(op.getLoc(), plan::Role::Arena, "", deviceBytes(type));
    return view;
  };
  View values = createPart(op.getResult().getType().getShape().back());
  View statistics = createPart(2);
  View result = destination(op.getResult());
  if (failed(dispatch(op, inputs, {values, statistics})) ||
      failed(dispatch(op, {values, statistics}, {result})))
    return failure();
  views[op.getResult()] = result;
  return success();
}

LogicalResult ProgramLowering::lowerCompute(Operation *op) {
  SmallVector<View> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(views[operand]);
  for (Value result : op->getResults())
    outputs.push_back(destination(result));
  if (failed(dispatch(op, inputs, outputs)))
    return failure();
  for (auto [result, view] : llvm::zip(op->getResults(), outputs))
    views[result] = view;
  return success();
}

LogicalResult ProgramLowering::lowerReturn(func::ReturnOp op) {
  for (auto [operand, buffer] : llvm::zip(op.getOperands(), outputBuffers)) {
    const View &view = views[operand];
    if (view.buffer == buffer && view.layout.isDense())
      continue;
    View output;
    output.layout = OperandLayout::dense(operand.getType());
    output.buffer = buffer;
    if (failed(copy(op, view, output)))
      return failure();
  }
  return success();
}

LogicalResult ProgramLowering::lowerOp(Operation *op) {
  if (skipped.contains(op))
    return success();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ConstantOp>([&](auto o) { return lowerConstant(o); })
      .Case<GetOp>([&](auto o) { return lowerGet(o); })
      .Case<SetOp>([&](auto o) { return lowerSet(o); })
      .Case<ReshapeOp>([&](auto o) { return lowerReshape(o); })
      .Case<TransposeOp>([&](TransposeOp o) {
        View view = views[o.getOperand()];
        view.layout = view.layout.transpose(o.getPermutation());
        views[o.getResult()] = view;
        return success();
      })
      .Case<BroadcastOp>([&](BroadcastOp o) {
        View view = views[o.getOperand()];
        view.layout = view.layout.broadcast(
            o.getDims(), cast<RankedTensorType>(o.getType()).getShape());
        views[o.getResult()] = view;
        return success();
      })
      .Case<SliceOp>([&](SliceOp o) {
        View view = views[o.getOperand()];
        OperandLayout result = OperandLayout::dense(o.getType());
        view.layout =
            view.layout.slice(o.getOffsets(), o.getStrides(), result.shape);
        views[o.getResult()] = view;
        return success();
      })
      .Case<ConcatOp>([&](auto o) { return lowerConcat(o); })
      .Case<ScatterOp>([&](auto o) { return lowerScatter(o); })
      .Case<RopeOp>([&](auto o) { return lowerRope(o); })
      .Case<AttentionOp>([&](auto o) { return lowerAttention(o); })
      .Case<func::ReturnOp>([&](auto o) { return lowerReturn(o); })
      .Default([&](Operation *o) -> LogicalResult {
        if (!isa<GraphDialect>(o->getDialect()))
          return o->emitError("'")
                 << o->getName() << "' has no place in a graph function";
        return lowerCompute(o);
      });
}

LogicalResult ProgramLowering::lower(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("a graph function has exactly one block");
  auto load = module->getAttrOfType<FlatSymbolRefAttr>(kLoadAttr);
  bool isLoad = load && load.getValue() == function.getSymName();

  builder.setInsertionPointToEnd(module.getBody());
  std::string name = (function.getSymName() + "." + target.name).str();
  program = plan::ProgramOp::create(
      builder, function.getLoc(), builder.getStringAttr(name),
      builder.getStringAttr(target.name),
      isLoad ? StringAttr() : function.getSymNameAttr(),
      isLoad ? Attribute() : function->getAttr(kEntryAttr), IntegerAttr(),
      IntegerAttr());
  builder.createBlock(&program.getBody());

  for (BlockArgument argument : function.getArguments()) {
    auto slot = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kNameAttr);
    View view;
    view.layout = OperandLayout::dense(argument.getType());
    view.buffer = createBuffer(
        argument.getLoc(), plan::Role::Slot,
        slot ? slot.getValue()
             : StringRef("arg" + std::to_string(argument.getArgNumber())),
        deviceBytes(argument.getType()), argument.getType());
    views[argument] = view;
  }
  assignDestinations(function);
  builder.setInsertionPointToEnd(&program.getBody().front());
  for (Operation &op : function.front())
    if (failed(lowerOp(&op)))
      return failure();
  return success();
}

struct LowerGraph : impl::PlanLowerGraphBase<LowerGraph> {
  using PlanLowerGraphBase::PlanLowerGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<const TargetInfo *> info = findTarget(target, module);
    if (failed(info))
      return signalPassFailure();
    KernelTable kernels(module, **info, testVectors);
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      ProgramLowering lowering(module, **info, kernels);
      if (failed(lowering.lower(function)))
        return signalPassFailure();
    }
  }
};

struct EraseGraph : impl::PlanEraseGraphBase<EraseGraph> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      function.erase();
    for (auto kernels :
         llvm::make_early_inc_range(getOperation().getOps<ModuleOp>()))
      kernels.erase();
    getOperation()->removeAttr(kLoadAttr);
  }
};

} // namespace
} // namespace poot::planner
