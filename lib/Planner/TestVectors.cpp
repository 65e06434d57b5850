//===- TestVectors.cpp - Seeded checks of kernels -------------------------===//

#include "TestVectors.h"
#include "Epilogue.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Eval/Eval.h"
#include "UserKernels.h"
#include "mlir/IR/Matchers.h"
#include "poot/bundle/test_vector.h"
#include "poot/weights/block_decode.h"
#include "poot/weights/planar.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstring>

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

/// True if `request` joins the results of parts of attention (inputs are their
/// values and statistics).
static bool isAttentionJoin(const KernelRequest &request) {
  return isa_and_nonnull<AttentionOp>(request.op) && request.inputs.size() == 2;
}

/// The positions of a row that the cache of an attention holds.
static int64_t attentionCapacity(const KernelRequest &request) {
  return request.inputs.size() == 5
             ? request.inputs[4].shape[1]
             : request.inputs[1].shape[0] / request.inputs[0].shape[0];
}

static bool isProduct(Operation *op) {
  return isa_and_nonnull<MatmulOp, IndexedMatmulOp, PackedContractionOp>(op);
}

/// The matrix product that a request is, or begins with.
static Operation *getProduct(const KernelRequest &request) {
  if (auto fused = dyn_cast_or_null<FusedOp>(request.op))
    return Epilogue::isIn(fused) ? Epilogue(fused).getProduct() : nullptr;
  return isProduct(request.op) ? request.op : nullptr;
}

/// What input `i` of `request` is filled with.
static void chooseFill(const KernelRequest &request, unsigned i,
                       fb::TestInputT &input) {
  const OperandLayout &layout = request.inputs[i];
  Type element = layout.element;
  Operation *op = request.op, *product = getProduct(request);
  if (product && i < product->getNumOperands())
    op = product;
  input.fill = fb::Fill::UniformInt;
  auto range = [&](double low, double high) {
    input.low = low;
    input.high = high;
  };
  if (auto packed = dyn_cast<PackedType>(element)) {
    input.fill = fb::Fill::Bytes;
    if (packed.getLayout() == PackedLayout::Planar)
      input.planar_row = layout.shape.back();
    return range(-1, 1);
  }
  if (element.isInteger(1))
    return range(0, 1);
  // Indices stay inside what they index.
  if (auto gather = dyn_cast_or_null<GatherOp>(op); gather && i == 1)
    return range(0, request.inputs[0].shape[gather.getDim()] - 1);
  if (isa_and_nonnull<PackedRowGatherOp>(op) && i == 1)
    return range(0, request.inputs[0].shape[0] - 1);
  if (isa_and_nonnull<IndexedMatmulOp, PackedContractionOp>(op) && i == 2)
    return range(0, request.inputs[1].shape[0] - 1);
  if (isa_and_nonnull<AttentionOp>(op) && i == 3)
    return range(0, attentionCapacity(request) - 1);
  if (isa_and_nonnull<AttentionOp>(op) && i == 4)
    return range(0, request.inputs[1].shape[0] - 1);
  // Updates of one row would race, so that each has its own, and one is
  // dropped.
  if (isa_and_nonnull<ScatterOp>(op) && i == 0) {
    input.fill = fb::Fill::Permutation;
    return range(-1, request.outputs[0].shape[0] - 1);
  }
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
  // Statistics of parts of attention are a maximum and a sum of exponentials.
  if (isAttentionJoin(request) && i == 1)
    return range(0.5, 4);
  range(-4, 4);
}

namespace {
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};
} // namespace

/// The largest magnitude in a row-major tensor.
static double largestOf(const eval::Tensor &tensor) {
  double largest = 0;
  if (PackedType packed = tensor.getPackedType()) {
    weights::ElementType type = graph::getElementType(packed.getEncoding());
    int64_t row = packed.getShape().back(), count = tensor.getNumElements();
    std::vector<float> values(count);
    if (packed.getLayout() == PackedLayout::Planar)
      weights::dequantizePlanar(type, tensor.getData(), count / row, row,
                                values.data());
    else
      weights::dequantize(type, tensor.getData(), count, values.data());
    for (float value : values)
      largest = std::max(largest, std::abs(double(value)));
    return largest;
  }
  auto type = *graph::getElementType(tensor.getElementType());
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    largest = std::max(
        largest, std::abs(bundle::loadElement(type, tensor.getData(), i)));
  return largest;
}

/// Half a unit in the last place of a half type, relative; 0 for f32.
static double roundingOf(Type element) {
  return element.isF16() ? 0x1p-11 : element.isBF16() ? 0x1p-8 : 0;
}

/// By how much an error of the sums of a fused product's goes on to the result,
/// where ops only add to them, choose or scale; nothing where they do more.
static std::optional<double> errorGain(FusedOp fused,
                                       ArrayRef<eval::Tensor> operands) {
  // Values that depend on the sums; all others have no error.
  llvm::DenseMap<Value, double> gains;
  auto magnitude = [&](Value value) -> std::optional<double> {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return largestOf(operands[argument.getArgNumber()]);
    DenseElementsAttr literal;
    if (matchPattern(value, m_Constant(&literal)) && literal.isSplat())
      if (auto number = dyn_cast<FloatAttr>(literal.getSplatValue<Attribute>()))
        return std::abs(number.getValueAsDouble());
    return std::nullopt;
  };
  for (Operation &op : fused.getBody().front().without_terminator()) {
    auto gain = [&](unsigned i) { return gains.lookup(op.getOperand(i)); };
    if (isProduct(&op)) {
      gains[op.getResult(0)] = 1;
      continue;
    }
    if (llvm::none_of(op.getOperands(),
                      [&](Value value) { return gains.contains(value); }))
      continue;
    std::optional<double> result;
    auto unary = dyn_cast<UnaryOp>(op);
    auto binary = dyn_cast<BinaryOp>(op);
    bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType()));
    if ((isFloat && isa<ReshapeOp, CastOp>(op)) ||
        (unary &&
         llvm::is_contained({UnaryKind::Neg, UnaryKind::Abs}, unary.getKind())))
      result = gain(0);
    else if (isa<SelectOp>(op))
      result = std::max(gain(1), gain(2));
    else if (binary)
      switch (binary.getKind()) {
      case BinaryKind::Add:
      case BinaryKind::Sub:
        result = gain(0) + gain(1);
        break;
      case BinaryKind::Max:
      case BinaryKind::Min:
        result = std::max(gain(0), gain(1));
        break;
      case BinaryKind::Mul:
        for (unsigned i : {0, 1})
          if (!gains.contains(op.getOperand(1 - i)))
            if (std::optional<double> factor = magnitude(op.getOperand(1 - i)))
              result = gain(i) * *factor;
        break;
      default:
        break;
      }
    if (!result)
      return std::nullopt;
    gains[op.getResult(0)] = *result;
  }
  return gains.lookup(fused.getBody().front().getTerminator()->getOperand(0));
}

/// What a device may differ by. Vulkan promises little for the transcendental
/// functions; the figures are those that GPUs keep in practice. Sums of `n`
/// terms of a magnitude differ by their order: by about the magnitude and the
/// root of `n`.
static Tolerance tolerance(const KernelRequest &request, Type element,
                           ArrayRef<eval::Tensor> operands) {
  Operation *op = request.op;
  Tolerance result;
  if (!op || !isa<FloatType>(element) ||
      isa<GatherOp, ScatterOp, SelectOp, ArgTopKOp, IotaOp>(op))
    return result;
  // Also of norms and rotations: a few roundings and a root, of numbers whose
  // products are at most 16.
  result = {1e-5, 2e-5};
  if (isa<PackedDequantOp, PackedRowGatherOp, CastOp>(op))
    result = {1e-6, 1e-6};
  if (auto binary = dyn_cast<BinaryOp>(op);
      binary && binary.getKind() == BinaryKind::Pow)
    result = {1e-4, 1e-4};
  // Its author may have a reason to be off by more.
  auto fused = dyn_cast<FusedOp>(op);
  bool isFusedProduct = fused && Epilogue::isIn(fused);
  if (fused && !isFusedProduct) {
    double own = getTolerance(findUserKernel(fused)).value_or(1e-4);
    result = {own, own};
  }
  // Quotients of exponentials may all be small.
  if (isa<SoftmaxOp>(op))
    result = {1e-7, 2e-5};
  int64_t terms = 1;
  double magnitude = 16;
  Operation *product = getProduct(request);
  bool isPacked = isa_and_nonnull<PackedContractionOp>(product);
  unsigned second = isFusedProduct ? Epilogue(fused).getSecondWeight() : 0;
  if (product)
    terms = request.inputs[0].shape.back();
  else if (isa<ReduceOp>(op))
    terms = request.inputs[0].count();
  else if (auto scan = dyn_cast<ScanOp>(op))
    terms = request.outputs[0].shape[scan.getDim()];
  // Weights may be far larger than their scales.
  if (isPacked)
    magnitude = largestOf(operands[0]) *
                std::max(largestOf(operands[1]),
                         second ? largestOf(operands[second]) : 0);
  if (terms > 1)
    result = {1e-6 * magnitude * std::sqrt(double(terms)), 1e-4};
  // The oracle rounds weights to the type of the left operand, a device need
  // not.
  if (isPacked && request.inputs[1].element != request.inputs[0].element)
    result.absolute += roundingOf(request.inputs[0].element) * magnitude *
                       std::sqrt(double(terms));
  // A device may take a scale below the normal numbers for zero. mxfp4 has such
  // ones, and elements of up to 12 scales.
  if (isPacked)
    result.absolute += 12 * 0x1p-126 * largestOf(operands[0]) * double(terms);
  // An error goes on times another factor: a sum, an operand, or for an
  // exponential the result, which then is no larger than these.
  std::optional<double> gain;
  if (isFusedProduct)
    gain = errorGain(fused, operands);
  if (gain) {
    // A rounding to a half type may go the other way.
    for (Operation &inner : fused.getBody().front().without_terminator())
      result.absolute +=
          2 * roundingOf(getElementTypeOrSelf(inner.getResult(0).getType())) *
          magnitude * std::sqrt(double(terms));
    result.absolute *= *gain;
  } else if (isFusedProduct) {
    double factor = 1 + magnitude * std::sqrt(double(terms));
    for (unsigned i = product->getNumOperands(); i < operands.size(); ++i)
      if (i != second)
        factor = std::max(factor, largestOf(operands[i]));
    result.absolute *= factor;
  }
  if (auto attention = dyn_cast<AttentionOp>(op);
      attention && !isAttentionJoin(request)) {
    // Errors of scores, which are sums of products of at most 16, are relative
    // ones of their exponentials and of the exponentials' sum, beside those of
    // exp itself. The result is a mean of values of at most 4. The oracle
    // rounds keys, values and weights to the query's type, a device need not.
    const OperandLayout &query = request.inputs[0];
    double rounding = roundingOf(query.element);
    double cached = request.inputs[1].element == query.element ? 0 : rounding;
    double score = (1e-6 + cached) * 16 *
                   std::sqrt(double(query.shape.back())) *
                   std::abs(attention.getScale().convertToDouble());
    result = {4 * (2 * score + 1e-5 + rounding + cached), 2e-5};
  }
  if (element.isF16())
    result.relative += 1e-3;
  if (element.isBF16())
    result.relative += 8e-3;
  return result;
}

/// How far an element, counted in row-major order, lies from the argument's
/// start, in the unit of `layout`'s strides.
static int64_t positionOf(const OperandLayout &layout, ArrayRef<int64_t> shape,
                          int64_t linear) {
  int64_t position = layout.offset;
  for (size_t dim = shape.size(); dim-- > 0; linear /= shape[dim])
    position += linear % shape[dim] * layout.strides[dim];
  return position;
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

/// The type of a packed operand, which may be a part of the graph's.
static PackedType packedTypeOf(const OperandLayout &layout) {
  auto packed = cast<PackedType>(layout.element);
  return PackedType::get(packed.getContext(), packed.getEncoding(),
                         packed.getLayout(), layout.shape);
}

/// The tensor that a kernel sees at `bytes` by `layout`, row-major. It may
/// borrow `bytes`.
static FailureOr<eval::Tensor> readOperand(const OperandLayout &layout,
                                           const std::vector<uint8_t> &bytes) {
  if (auto packed = dyn_cast<PackedType>(layout.element)) {
    FailureOr<eval::Tensor> rows =
        eval::Tensor::allocatePacked(packedTypeOf(layout));
    if (failed(rows))
      return failure();
    int64_t rowBytes = getPackedRowBytes(packed);
    ArrayRef<int64_t> outer = ArrayRef(layout.shape).drop_back();
    for (int64_t row = 0, e = layout.count() / layout.shape.back(); row < e;
         ++row)
      std::memcpy(rows->mutableData() + row * rowBytes,
                  bytes.data() + positionOf(layout, outer, row), rowBytes);
    return rows;
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

/// What joining parts of attention gives, from values [.., parts, size], each
/// the sum of a part's values by its exponentials, and statistics [.., parts,
/// 2], what a part's exponents are relative to and the sum of its exponentials.
static FailureOr<eval::Tensor> joinAttention(const KernelRequest &request,
                                             ArrayRef<eval::Tensor> operands) {
  const OperandLayout &out = request.outputs[0];
  FailureOr<eval::Tensor> result = eval::Tensor::allocate(
      Float64Type::get(out.element.getContext()), out.shape);
  if (failed(result))
    return failure();
  int64_t size = out.shape.back(), parts = request.inputs[1].shape[3];
  for (int64_t i = 0, e = out.count(); i < e; ++i) {
    double value = 0, sum = 0;
    for (int64_t part = i / size * parts, end = part + parts; part < end;
         ++part) {
      const float *statistics = operands[1].dataAs<float>() + part * 2;
      double weight = std::exp(double(statistics[0]));
      value += weight * operands[0].dataAs<float>()[part * size + i % size];
      sum += weight * statistics[1];
    }
    result->mutableData<double>()[i] = value / sum;
  }
  return result;
}

/// Evaluates `request.op` on operands of the request's shapes, which may be
/// parts of the op's own.
static FailureOr<SmallVector<eval::Tensor>>
evaluate(Location loc, const KernelRequest &request,
         ArrayRef<eval::Tensor> operands) {
  if (!request.op)
    return SmallVector<eval::Tensor>{operands[0]};
  if (isAttentionJoin(request)) {
    FailureOr<eval::Tensor> joined = joinAttention(request, operands);
    if (failed(joined))
      return failure();
    return SmallVector<eval::Tensor>{*joined};
  }
  Block block;
  OperationState state(loc, request.op->getName());
  state.addAttributes(request.op->getAttrs());
  if (Attribute properties = request.op->getPropertiesAsAttribute())
    state.propertiesAttr = properties;
  for (const eval::Tensor &operand : operands)
    state.addOperands(block.addArgument(operand.getType(), loc));
  for (Region &region : request.op->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  for (const OperandLayout &layout : request.outputs)
    state.addTypes(layout.isPacked() ? Type(packedTypeOf(layout))
                                     : Type(RankedTensorType::get(
                                           layout.shape, layout.element)));
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
  if (getProduct(request))
    work *= double(request.inputs[0].shape.back());
  // Scores take as long as values.
  if (isa_and_nonnull<AttentionOp>(request.op) && !isAttentionJoin(request))
    work *= 2 * double(attentionCapacity(request));
  if (auto topK = dyn_cast_or_null<ArgTopKOp>(request.op))
    work += double(request.inputs[0].count());
  return work;
}

/// True if two of a scatter's updates go to one row.
static bool updatesCollide(const eval::Tensor &indices) {
  llvm::DenseSet<int32_t> rows;
  for (int64_t i = 0, e = indices.getNumElements(); i < e; ++i) {
    int32_t row = indices.dataAs<int32_t>()[i];
    if (row >= 0 && !rows.insert(row).second)
      return true;
  }
  return false;
}

/// What the oracle expects of an output, at a few of its elements. A packed
/// one is compared as 32-bit words.
static DictionaryAttr expectation(Builder &builder, const OperandLayout &layout,
                                  const eval::Tensor &result, int64_t argument,
                                  uint64_t seed, Tolerance allowed) {
  constexpr int64_t wordBytes = 4;
  bool isPacked = layout.isPacked();
  std::string element = isPacked ? "u32" : elementName(layout.element);
  auto type = isPacked ? weights::ElementType::U32
                       : *graph::getElementType(result.getElementType());
  int64_t count = isPacked ? result.getNumBytes() / wordBytes : layout.count();
  int64_t samples = std::min(count, kSamples);
  SmallVector<int64_t> index;
  SmallVector<double> value;
  for (int64_t sample = 0; sample < samples; ++sample) {
    // First and last element, and others in between.
    int64_t at = sample == 0             ? 0
                 : sample + 1 == samples ? count - 1
                 : count <= kSamples ? sample
                                     : bundle::testRandom(seed, sample) % count;
    index.push_back(isPacked ? layout.offset / wordBytes + at
                             : positionOf(layout, layout.shape, at));
    value.push_back(bundle::loadElement(type, result.getData(), at));
  }
  return builder.getDictionaryAttr({
      builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument)),
      builder.getNamedAttr("element", builder.getStringAttr(element)),
      builder.getNamedAttr("index", builder.getDenseI64ArrayAttr(index)),
      builder.getNamedAttr("value", builder.getDenseF64ArrayAttr(value)),
      builder.getNamedAttr("absolute_tolerance",
                           builder.getF64FloatAttr(allowed.absolute)),
      builder.getNamedAttr("relative_tolerance",
                           builder.getF64FloatAttr(allowed.relative)),
  });
}

DictionaryAttr makeTestVector(Location loc, const KernelRequest &request,
                              const GeneratedKernel &kernel) {
  // A part of a table or of attention, or an open extent, has no meaning of
  // its own; nor has a rotation together with the scatter behind it.
  if (request.firstRow != 0 || request.tableRows >= 0 ||
      (isa_and_nonnull<RopeOp>(request.op) && request.updatesOutput()) ||
      (isa_and_nonnull<AttentionOp>(request.op) && request.outputs.size() == 2))
    return {};
  for (const OperandLayout &layout :
       llvm::concat<const OperandLayout>(request.inputs, request.outputs))
    if (layout.openState || (!layout.literal && layout.spanBytes() > kMaxBytes))
      return {};
  if (work(request) > kMaxWork)
    return {};
  // What centring leaves of a row of equal numbers are its rounding errors.
  if (isa_and_nonnull<LayerNormOp>(request.op) &&
      (request.inputs[0].literal || request.inputs[0].strides.back() == 0))
    return {};

  Builder builder(loc.getContext());
  // Seeds follow from the request, so that equal inputs give equal bundles.
  uint64_t seed = llvm::xxh3_64bits(StringRef(request.key()));
  unsigned numInputs = request.inputs.size();
  bool isScatter = isa_and_nonnull<ScatterOp>(request.op);
  // What each operand's memory holds; nothing for a literal.
  SmallVector<DictionaryAttr> contents;
  std::vector<std::vector<uint8_t>> buffers;
  for (auto [i, layout] : llvm::enumerate(llvm::concat<const OperandLayout>(
           request.inputs, request.outputs))) {
    fb::TestInputT input;
    input.fill = fb::Fill::Zero;
    if (layout.literal) {
      contents.push_back({});
      buffers.emplace_back();
      continue;
    }
    if (i < numInputs) {
      chooseFill(request, i, input);
    } else if (isScatter && isa<FloatType>(layout.element)) {
      input.fill = fb::Fill::Uniform;
      input.low = -4;
      input.high = 4;
    }
    input.bytes = layout.spanBytes();
    input.element = i >= numInputs && layout.isPacked()
                        ? "u32"
                        : elementName(layout.element);
    // JSON and attributes hold 63 bits.
    input.seed = (seed + i * 0x9E3779B97F4A7C15ull) >> 1;
    buffers.emplace_back(input.bytes);
    bundle::fillTestInput(input, buffers.back().data());
    auto integer = [&](StringRef name, int64_t number) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
    };
    contents.push_back(builder.getDictionaryAttr({
        integer("bytes", input.bytes),
        builder.getNamedAttr("element", builder.getStringAttr(input.element)),
        builder.getNamedAttr(
            "fill", builder.getStringAttr(fb::EnumNameFill(input.fill))),
        builder.getNamedAttr("low", builder.getF64FloatAttr(input.low)),
        builder.getNamedAttr("high", builder.getF64FloatAttr(input.high)),
        integer("seed", input.seed),
        integer("planar_row", input.planar_row),
    }));
  }

  SmallVector<eval::Tensor> operands;
  for (auto [i, layout] : llvm::enumerate(request.inputs)) {
    FailureOr<eval::Tensor> operand =
        layout.literal ? readLiteral(layout) : readOperand(layout, buffers[i]);
    if (failed(operand))
      return {};
    operands.push_back(*operand);
  }
  if (isScatter) {
    if (updatesCollide(operands[0]))
      return {};
    // The oracle's scatter has its data first.
    FailureOr<eval::Tensor> data =
        readOperand(request.outputs[0], buffers[numInputs]);
    if (failed(data))
      return {};
    operands.insert(operands.begin(), *data);
  }
  FailureOr<SmallVector<eval::Tensor>> results =
      evaluate(loc, request, operands);
  if (failed(results))
    return {};

  SmallVector<Attribute> inputs, expected;
  for (unsigned operand : kernel.operands)
    inputs.push_back(contents[operand]);
  for (auto [o, layout] : llvm::enumerate(request.outputs)) {
    auto argument = llvm::find(kernel.operands, numInputs + o);
    assert(llvm::count(kernel.operands, numInputs + o) == 1 &&
           "an output is one argument");
    FailureOr<eval::Tensor> dense = eval::rowMajor((*results)[o]);
    if (failed(dense))
      return {};
    expected.push_back(
        expectation(builder, layout, *dense, argument - kernel.operands.begin(),
                    seed, tolerance(request, layout.element, operands)));
  }
  return builder.getDictionaryAttr({
      builder.getNamedAttr("grid", builder.getDenseI64ArrayAttr(kernel.grid)),
      builder.getNamedAttr("metadata", builder.getDenseI64ArrayAttr({})),
      builder.getNamedAttr("inputs", builder.getArrayAttr(inputs)),
      builder.getNamedAttr("expected", builder.getArrayAttr(expected)),
  });
}

} // namespace poot::planner
