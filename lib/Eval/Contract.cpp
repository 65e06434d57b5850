//===- Contract.cpp - Matrix products and packed weights ------------------===//
//
// f16 and bf16 operands widen to f32 first. Products and sums are in the
// accumulator: f32 for floats up to f32 (or f64, by EvalOptions), f64 for f64,
// and 64-bit wrapping integers, whose low bits are those of any narrower
// wrapping sum. The result rounds once, from the accumulator. Sums run over
// `kLanes` interleaved parts when both operands are contiguous along K, else in
// order: the semantics leave the order open (G-matmul-3).
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include "Ops.h"

#include "Poot/Dialect/Graph/ElementTypes.h"
#include "poot/weights/planar.h"

#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace poot;
using namespace poot::eval;
using namespace poot::graph;

namespace {

constexpr int64_t kLanes = 16;

/// Products below this are not worth waking another thread.
constexpr int64_t kParallelWork = 1 << 18;

/// Calls BODY(begin, end) on parts of [0, COUNT), each a multiple of GRAIN long
/// but for the last; in parallel when WORK, the operations of all of them, is
/// large. Parts must not depend on each other.
template <class Body>
void parallelParts(int64_t count, int64_t grain, int64_t work, Body &&body) {
  int64_t parts = llvm::divideCeil(count, grain);
  auto part = [&](int64_t i) {
    body(i * grain, std::min(count, (i + 1) * grain));
  };
  if (work < kParallelWork)
    for (int64_t i = 0; i < parts; ++i)
      part(i);
  else
    llvm::parallelFor(0, parts, part);
}

/// sum_k a[k] * b[k].
template <class Acc, class In>
Acc dot(const In *a, const In *b, int64_t length) {
  Acc lanes[kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= length; k += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += Acc(a[k + lane]) * Acc(b[k + lane]);
  for (; k < length; ++k)
    lanes[k % kLanes] += Acc(a[k]) * Acc(b[k]);
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t lane = 0; lane < width; ++lane)
      lanes[lane] += lanes[lane + width];
  return lanes[0];
}

/// Stores accumulators as OUT's element type.
template <class Out, class Acc> Out store(Acc value) {
  if constexpr (isSmallFloat<Out>)
    return Out(static_cast<float>(value));
  else
    return static_cast<Out>(value);
}

/// One matrix product: A is [M, K] row-major, B [K, N] with one stride of 1,
/// OUT [M, N] row-major.
template <class In, class Acc, class Out> struct Product {
  const In *a, *b;
  Out *out;
  int64_t m, n, k;
  int64_t bStrideK, bStrideN;

  /// Columns BEGIN to END, which nobody else writes.
  void columns(int64_t begin, int64_t end) const {
    if (bStrideK == 1) {
      // Columns of B are contiguous: one dot product an element.
      for (int64_t column = begin; column < end; ++column)
        for (int64_t row = 0; row < m; ++row)
          out[row * n + column] =
              store<Out>(dot<Acc>(a + row * k, b + column * bStrideN, k));
      return;
    }
    // Rows of B are contiguous: add them up, weighted, a stretch at a time.
    constexpr int64_t stretch = 256;
    Acc sums[stretch];
    for (int64_t first = begin; first < end; first += stretch) {
      int64_t width = std::min(stretch, end - first);
      for (int64_t row = 0; row < m; ++row) {
        std::fill_n(sums, width, Acc(0));
        for (int64_t i = 0; i < k; ++i) {
          Acc weight = a[row * k + i];
          const In *bRow = b + i * bStrideK + first;
          for (int64_t j = 0; j < width; ++j)
            sums[j] += weight * Acc(bRow[j]);
        }
        for (int64_t j = 0; j < width; ++j)
          out[row * n + first + j] = store<Out>(sums[j]);
      }
    }
  }

  /// All of it, in parallel when it is large.
  void run() const {
    parallelParts(n, std::max<int64_t>(64, n / 8), m * n * k,
                  [&](int64_t begin, int64_t end) { columns(begin, end); });
  }
};

/// f16 and bf16 operands as f32, in row-major order; others as they are.
Result widen(Operation *op, const Tensor &tensor) {
  Type type = tensor.getElementType();
  if (!type.isF16() && !type.isBF16())
    return tensor;
  Result source = rowMajorFor(op, tensor);
  Result result =
      allocateResult(op, Float32Type::get(op->getContext()), tensor.getShape());
  if (failed(source) || failed(result))
    return failure();
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (isSmallFloat<T>)
      std::transform(
          source->dataAs<T>(), source->dataAs<T>() + source->getNumElements(),
          result->mutableData<float>(), [](T x) { return float(x); });
  });
  return result;
}

/// Calls BODY with zeros of the types of operand, accumulator and result for
/// widened operands of INPUT and results of OUTPUT.
template <class Body>
void withTypes(Type input, Type output, const EvalOptions &options,
               Body &&body) {
  dispatch(input, [&](auto inZero) {
    using In = decltype(inZero);
    dispatch(output, [&](auto outZero) {
      using Out = decltype(outZero);
      if constexpr (std::is_same_v<In, float> &&
                    (isSmallFloat<Out> || std::is_same_v<Out, float>)) {
        if (options.accumulate == EvalOptions::Accumulate::F64)
          return body(inZero, double(), outZero);
        return body(inZero, float(), outZero);
      } else if constexpr (std::is_same_v<In, double> &&
                           std::is_same_v<Out, double>) {
        return body(inZero, double(), outZero);
      } else if constexpr (isInteger<In> && isInteger<Out>) {
        return body(inZero, uint64_t(), outZero);
      }
    });
  });
}

} // namespace

/// result[b.., m, n] = sum_k lhs[b.., m, k] * rhs[b.., k, n] (G-matmul-3).
Result eval::evaluate(MatmulOp op, Operands operands,
                      const EvalOptions &options) {
  Result result = allocateResult(op);
  Result lhs = widen(op, operands[0]), rhs = widen(op, operands[1]);
  if (failed(result) || failed(lhs) || failed(rhs))
    return failure();
  lhs = rowMajorFor(op, *lhs);
  int64_t rank = rhs->getRank();
  // A transposed right operand (as the weights of a linear layer are) is read
  // where it stands.
  if (rhs->getStrides()[rank - 2] != 1 && rhs->getStrides()[rank - 1] != 1)
    rhs = rowMajorFor(op, *rhs);
  if (failed(lhs) || failed(rhs))
    return failure();

  int64_t m = lhs->getShape()[rank - 2], k = lhs->getShape()[rank - 1];
  int64_t n = rhs->getShape()[rank - 1];
  int64_t batches = result->getNumElements() / (m * n);
  // Where each matrix of the right operand begins.
  SmallVector<int64_t> starts(batches, 0);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t rest = batch, i = rank - 3; i >= 0; --i) {
      starts[batch] += rest % rhs->getShape()[i] * rhs->getStrides()[i];
      rest /= rhs->getShape()[i];
    }
  withTypes(lhs->getElementType(), result->getElementType(), options,
            [&](auto inZero, auto accZero, auto outZero) {
              using In = decltype(inZero);
              using Acc = decltype(accZero);
              using Out = decltype(outZero);
              for (int64_t batch = 0; batch < batches; ++batch)
                Product<In, Acc, Out>{lhs->dataAs<In>() + batch * m * k,
                                      rhs->dataAs<In>() + starts[batch],
                                      result->mutableData<Out>() +
                                          batch * m * n,
                                      m,
                                      n,
                                      k,
                                      rhs->getStrides()[rank - 2],
                                      rhs->getStrides()[rank - 1]}
                    .run();
            });
  return result;
}

/// result[i.., n] = sum_k lhs[i.., k] * weights[indices[i..], k, n]
/// (G-indexed_matmul-2); an index outside [0, E) is an error or clamped
/// (G-indexed_matmul-3).
Result eval::evaluate(IndexedMatmulOp op, Operands operands,
                      const EvalOptions &options) {
  Result result = allocateResult(op);
  Result lhs = widen(op, operands[0]), weights = widen(op, operands[1]);
  if (failed(result) || failed(lhs) || failed(weights))
    return failure();
  const int32_t *indices = operands[2].dataAs<int32_t>();
  int64_t experts = weights->getShape()[0], k = weights->getShape()[1],
          n = weights->getShape()[2];
  for (int64_t i = 0, rows = operands[2].getNumElements(); i < rows; ++i) {
    int64_t expert = indices[i];
    if (expert < 0 || expert >= experts) {
      if (options.strict)
        return op.emitOpError() << "index " << expert << " at element " << i
                                << " is outside of [0, " << experts << ")";
      expert = std::clamp<int64_t>(expert, 0, experts - 1);
    }
    withTypes(lhs->getElementType(), result->getElementType(), options,
              [&](auto inZero, auto accZero, auto outZero) {
                using In = decltype(inZero);
                using Acc = decltype(accZero);
                using Out = decltype(outZero);
                Product<In, Acc, Out>{lhs->dataAs<In>() + i * k,
                                      weights->dataAs<In>() + expert * k * n,
                                      result->mutableData<Out>() + i * n,
                                      1,
                                      n,
                                      k,
                                      n,
                                      1}
                    .run();
              });
  }
  return result;
}

/// Exact in f32, by the block decoders of weights/; rounded in f16 and bf16
/// (G-packed_dequant-2).
Result eval::evaluate(PackedDequantOp op, Operands operands,
                      const EvalOptions &) {
  const Tensor &operand = operands[0];
  PackedType type = operand.getPackedType();
  weights::ElementType element = getElementType(type.getEncoding());

  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  int64_t count = result->getNumElements(), row = type.getShape().back();
  int64_t rowBytes = operand.asBytes().getShape().back();
  int64_t grain = std::max<int64_t>(1, (1 << 16) / row);
  dispatch(result->getElementType(), [&](auto zero) {
    using T = decltype(zero);
    T *out = result->mutableData<T>();
    parallelParts(count / row, grain, count, [&](int64_t begin, int64_t end) {
      const uint8_t *blocks = operand.getData() + begin * rowBytes;
      int64_t elements = (end - begin) * row;
      auto decode = [&](float *values) {
        if (type.getLayout() == PackedLayout::Planar)
          weights::dequantizePlanar(element, blocks, end - begin, row, values);
        else
          weights::dequantize(element, blocks, elements, values);
      };
      if constexpr (std::is_same_v<T, float>) {
        decode(out + begin * row);
      } else if constexpr (isSmallFloat<T>) {
        std::vector<float> exact(elements);
        decode(exact.data());
        std::transform(exact.begin(), exact.end(), out + begin * row,
                       [](float x) { return T(x); });
      }
    });
  });
  return result;
}

/// The same values in the planar layout (G-repack-2).
Result eval::evaluate(RepackOp op, Operands operands, const EvalOptions &) {
  const Tensor &operand = operands[0];
  PackedType from = operand.getPackedType(), to = op.getType();
  if (from == to)
    return operand;
  Result result = Tensor::allocatePacked(to);
  if (failed(result))
    return op.emitOpError() << "needs " << getPackedBytes(to)
                            << " bytes, for which there is no memory";
  weights::ElementType element = getElementType(from.getEncoding());
  int64_t row = from.getShape().back(), count = from.getNumElements();
  int64_t grain = std::max<int64_t>(1, (1 << 16) / row);
  int64_t fromBytes = getPackedRowBytes(from), toBytes = getPackedRowBytes(to);
  uint8_t *out = result->mutableData();
  parallelParts(count / row, grain, count, [&](int64_t begin, int64_t end) {
    weights::repackPlanar(element, operand.getData() + begin * fromBytes,
                          end - begin, row, out + begin * toBytes);
  });
  return result;
}
