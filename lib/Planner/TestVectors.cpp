//===- TestVectors.cpp - Seeded checks of kernels -------------------------===//

#include "TestVectors.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Eval/Eval.h"
#include "poot/bundle/test_vector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <deque>

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

namespace fb = poot::bundle::fb;

/// Operands larger than this get no test vector: a compiler must not spend
/// seconds on one, nor a device gigabytes.
static constexpr int64_t kMaxBytes = int64_t(16) << 20;
/// Multiplications that the oracle may spend on one vector.
static constexpr double kMaxWork = 2e8;
/// Elements compared per output.
static constexpr int64_t kSamples = 16;

static std::string elementName(Type element) {
  if (auto packed = dyn_cast<PackedType>(element))
    return stringifyPackedEncoding(packed.getEncoding()).str();
  if (element.isInteger(1))
    return "i32";
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return name;
}

/// What input `i` of `request` is filled with.
static void chooseFill(const KernelRequest &request, unsigned i,
                       fb::TestInputT &input) {
  const OperandLayout &layout = request.inputs[i];
  Type element = layout.element;
  Operation *op = request.op;
  input.fill = fb::Fill::UniformInt;
  auto range = [&](double low, double high) {
    input.low = low;
    input.high = high;
  };
  if (isa<PackedType>(element)) {
    input.fill = fb::Fill::Bytes;
    return range(-1, 1);
  }
  if (element.isInteger(1))
    return range(0, 1);
  // Indices stay inside what they index.
  if (auto gather = dyn_cast_or_null<GatherOp>(op); gather && i == 1)
    return range(0, request.inputs[0].shape[gather.getDim()] - 1);
  if (isa_and_nonnull<ScatterOp>(op) && i == 0)
    return range(-1, request.outputs[0].shape[0] - 1);
  if (isa_and_nonnull<IndexedMatmulOp>(op) && i == 2)
    return range(0, request.inputs[1].shape[0] - 1);
  if (auto binary = dyn_cast_or_null<BinaryOp>(op);
      binary && i == 1 &&
      (binary.getKind() == BinaryKind::Shl ||
       binary.getKind() == BinaryKind::ShrS ||
       binary.getKind() == BinaryKind::ShrU))
    return range(0, element.getIntOrFloatBitWidth() - 1);
  if (isa<IntegerType>(element))
    return element.isInteger(8) ? range(-128, 127) : range(-1000, 1000);
  input.fill = fb::Fill::Uniform;
  // A product of many factors stays finite when they are near 1.
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op);
      reduce && reduce.getKind() == ReduceKind::Prod)
    return range(0.9, 1.1);
  if (auto scan = dyn_cast_or_null<ScanOp>(op);
      scan && scan.getKind() == ReduceKind::Prod)
    return range(0.9, 1.1);
  range(-4, 4);
}

namespace {
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};
} // namespace

/// What a device may differ by. Vulkan promises little for the transcendental
/// functions; the figures are those that GPUs keep in practice. Sums of `n`
/// products of magnitude 16 differ by their order.
static Tolerance tolerance(const KernelRequest &request, Type element) {
  Operation *op = request.op;
  Tolerance result;
  if (!op || !isa<FloatType>(element) ||
      isa<GatherOp, ScatterOp, SelectOp, ArgTopKOp, IotaOp>(op))
    return result;
  result = {1e-5, 2e-5};
  if (isa<PackedDequantOp, CastOp>(op))
    result = {1e-6, 1e-6};
  if (auto binary = dyn_cast<BinaryOp>(op);
      binary && binary.getKind() == BinaryKind::Pow)
    result = {1e-4, 1e-4};
  int64_t terms = 1;
  if (isa<MatmulOp, IndexedMatmulOp>(op))
    terms = request.inputs[0].shape.back();
  else if (isa<ReduceOp>(op))
    terms = request.inputs[0].count();
  else if (auto scan = dyn_cast<ScanOp>(op))
    terms = request.outputs[0].shape[scan.getDim()];
  if (terms > 1)
    result = {1e-6 * 16 * std::sqrt(double(terms)), 1e-4};
  if (element.isF16())
    result.relative += 1e-3;
  if (element.isBF16())
    result.relative += 8e-3;
  return result;
}

/// A literal operand, row-major.
static FailureOr<eval::Tensor> readLiteral(const OperandLayout &layout) {
  auto scalar = RankedTensorType::get({}, layout.element);
  auto value = DenseElementsAttr::get(scalar, Attribute(layout.literal));
  // A DenseElementsAttr packs i1 in bits, a tensor holds a byte for each.
  uint8_t boolean = layout.element.isInteger(1) &&
                    cast<IntegerAttr>(layout.literal).getValue().isOne();
  const void *bytes = layout.element.isInteger(1)
                          ? static_cast<const void *>(&boolean)
                          : value.getRawData().data();
  return eval::rowMajor(
      eval::Tensor::splat(layout.element, layout.shape, bytes));
}

/// The tensor that a kernel sees at `bytes` by `layout`, row-major. It may
/// borrow `bytes`.
static FailureOr<eval::Tensor> readOperand(const OperandLayout &layout,
                                           const std::vector<uint8_t> &bytes) {
  if (auto packed = dyn_cast<PackedType>(layout.element)) {
    auto type = PackedType::get(packed.getContext(), packed.getEncoding(),
                                packed.getLayout(), layout.shape);
    if (!layout.isDense() || layout.offset != 0)
      return failure();
    return eval::Tensor::borrowPacked(type, bytes.data());
  }
  bool isBool = layout.element.isInteger(1);
  Type stored = isBool ? IntegerType::get(layout.element.getContext(), 32)
                       : layout.element;
  int64_t count = bytes.size() / deviceElementBytes(layout.element);
  FailureOr<eval::Tensor> tensor =
      eval::rowMajor(eval::Tensor::borrow(stored, {count}, bytes.data())
                         .view(layout.shape, layout.strides, layout.offset));
  if (failed(tensor) || !isBool)
    return tensor;
  FailureOr<eval::Tensor> booleans =
      eval::Tensor::allocate(layout.element, layout.shape);
  if (failed(booleans))
    return failure();
  for (int64_t i = 0, e = layout.count(); i < e; ++i)
    booleans->mutableData()[i] = tensor->dataAs<int32_t>()[i] != 0;
  return booleans;
}

/// Evaluates `request.op` on operands of the request's shapes, which may be
/// parts of the op's own.
static FailureOr<SmallVector<eval::Tensor>>
evaluate(Location loc, const KernelRequest &request,
         ArrayRef<eval::Tensor> operands) {
  if (!request.op)
    return SmallVector<eval::Tensor>{operands[0]};
  Block block;
  OperationState state(loc, request.op->getName());
  state.addAttributes(request.op->getAttrs());
  if (Attribute properties = request.op->getPropertiesAsAttribute())
    state.propertiesAttr = properties;
  for (const eval::Tensor &operand : operands)
    state.addOperands(block.addArgument(operand.getType(), loc));
  for (const OperandLayout &layout : request.outputs)
    state.addTypes(RankedTensorType::get(layout.shape, layout.element));
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&block);
  Operation *op = builder.create(state);
  eval::EvalOptions options;
  options.strict = false;
  return eval::evalOp(op, operands, options);
}

static double work(const KernelRequest &request) {
  double work = 0;
  for (const OperandLayout &layout : request.outputs)
    work += double(layout.count());
  if (isa_and_nonnull<MatmulOp, IndexedMatmulOp>(request.op))
    work *= double(request.inputs[0].shape.back());
  if (auto topK = dyn_cast_or_null<ArgTopKOp>(request.op))
    work += double(request.inputs[0].count());
  return work;
}

DictionaryAttr makeTestVector(Location loc, const KernelRequest &request,
                              const GeneratedKernel &kernel) {
  // A part of a table, or an open extent, has no meaning of its own.
  if (request.firstRow != 0 || request.tableRows >= 0)
    return {};
  for (const OperandLayout &layout :
       llvm::concat<const OperandLayout>(request.inputs, request.outputs))
    if (layout.openState || (!layout.literal && layout.spanBytes() > kMaxBytes))
      return {};
  if (work(request) > kMaxWork)
    return {};

  Builder builder(loc.getContext());
  // Seeds follow from the request, so that equal inputs give equal bundles.
  uint64_t seed = llvm::xxh3_64bits(StringRef(request.key()));
  SmallVector<Attribute> inputs;
  // A deque: tensors borrow the buffers while more are added.
  std::deque<std::vector<uint8_t>> buffers;
  auto addArgument = [&](const OperandLayout &layout, fb::TestInputT &input) {
    input.argument = inputs.size();
    input.bytes = layout.spanBytes();
    input.element = elementName(layout.element);
    // JSON and attributes hold 63 bits.
    input.seed = (seed + inputs.size() * 0x9E3779B97F4A7C15ull) >> 1;
    buffers.emplace_back(input.bytes);
    bundle::fillTestInput(input, buffers.back().data());
    inputs.push_back(builder.getDictionaryAttr({
        builder.getNamedAttr("bytes", builder.getI64IntegerAttr(input.bytes)),
        builder.getNamedAttr("element", builder.getStringAttr(input.element)),
        builder.getNamedAttr(
            "fill", builder.getStringAttr(fb::EnumNameFill(input.fill))),
        builder.getNamedAttr("low", builder.getF64FloatAttr(input.low)),
        builder.getNamedAttr("high", builder.getF64FloatAttr(input.high)),
        builder.getNamedAttr("seed", builder.getI64IntegerAttr(input.seed)),
    }));
  };

  SmallVector<eval::Tensor> operands;
  for (unsigned i = 0; i < request.inputs.size(); ++i) {
    const OperandLayout &layout = request.inputs[i];
    if (!layout.literal) {
      fb::TestInputT input;
      chooseFill(request, i, input);
      addArgument(layout, input);
    }
    FailureOr<eval::Tensor> operand = layout.literal
                                          ? readLiteral(layout)
                                          : readOperand(layout, buffers.back());
    if (failed(operand))
      return {};
    operands.push_back(*operand);
  }
  unsigned firstOutput = inputs.size();
  bool isScatter = isa_and_nonnull<ScatterOp>(request.op);
  for (const OperandLayout &layout : request.outputs) {
    fb::TestInputT input;
    input.fill = isScatter && isa<FloatType>(layout.element) ? fb::Fill::Uniform
                                                             : fb::Fill::Zero;
    input.low = -4;
    input.high = 4;
    addArgument(layout, input);
  }
  // The oracle's scatter has its data first; duplicates among the indices
  // leave their rows open, so those rows aren't compared.
  llvm::DenseMap<int64_t, unsigned> rowWrites;
  if (isScatter) {
    FailureOr<eval::Tensor> data =
        readOperand(request.outputs[0], buffers[firstOutput]);
    if (failed(data))
      return {};
    for (int64_t i = 0, e = operands[0].getNumElements(); i < e; ++i)
      ++rowWrites[operands[0].dataAs<int32_t>()[i]];
    operands.insert(operands.begin(), *data);
  }

  FailureOr<SmallVector<eval::Tensor>> results =
      evaluate(loc, request, operands);
  if (failed(results))
    return {};

  SmallVector<Attribute> expected;
  for (auto [o, layout] : llvm::enumerate(request.outputs)) {
    const eval::Tensor &result = (*results)[o];
    FailureOr<eval::Tensor> dense = eval::rowMajor(result);
    if (failed(dense))
      return {};
    auto type = *graph::getElementType(layout.element);
    SmallVector<int64_t> index;
    SmallVector<double> value;
    int64_t count = layout.count();
    int64_t samples = std::min(count, kSamples);
    for (int64_t sample = 0; sample < samples; ++sample) {
      // First and last element, and others in between.
      int64_t at = sample == 0             ? 0
                   : sample + 1 == samples ? count - 1
                   : count <= kSamples
                       ? sample
                       : bundle::testRandom(seed, sample) % count;
      int64_t rest = at, position = layout.offset, row = 0;
      for (size_t dim = layout.shape.size(); dim-- > 0;) {
        row = rest % layout.shape[dim];
        position += row * layout.strides[dim];
        rest /= layout.shape[dim];
      }
      if (isScatter && rowWrites.lookup(row) > 1)
        continue;
      double number = layout.element.isInteger(1)
                          ? double(dense->getData()[at])
                          : bundle::loadElement(type, dense->getData(), at);
      index.push_back(position);
      value.push_back(number);
    }
    if (index.empty())
      continue;
    Tolerance allowed = tolerance(request, layout.element);
    expected.push_back(builder.getDictionaryAttr({
        builder.getNamedAttr("argument",
                             builder.getI64IntegerAttr(firstOutput + o)),
        builder.getNamedAttr(
            "element", builder.getStringAttr(elementName(layout.element))),
        builder.getNamedAttr("index", builder.getDenseI64ArrayAttr(index)),
        builder.getNamedAttr("value", builder.getDenseF64ArrayAttr(value)),
        builder.getNamedAttr("absolute_tolerance",
                             builder.getF64FloatAttr(allowed.absolute)),
        builder.getNamedAttr("relative_tolerance",
                             builder.getF64FloatAttr(allowed.relative)),
    }));
  }
  if (expected.empty())
    return {};
  return builder.getDictionaryAttr({
      builder.getNamedAttr("grid", builder.getDenseI64ArrayAttr(kernel.grid)),
      builder.getNamedAttr("metadata", builder.getDenseI64ArrayAttr({})),
      builder.getNamedAttr("inputs", builder.getArrayAttr(inputs)),
      builder.getNamedAttr("expected", builder.getArrayAttr(expected)),
  });
}

} // namespace poot::planner
