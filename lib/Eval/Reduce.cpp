//===- Reduce.cpp - Reductions, scans and top-k ---------------------------===//
//
// Sums and products accumulate in the order of the elements: f16, bf16 and f32
// in f32 (or in f64, by EvalOptions), f64 in f64, integers wrapping
// (G-reduce-2). Maxima and minima are NaN when an element is (G-reduce-3).
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include "Ops.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace poot;
using namespace poot::eval;
using namespace poot::graph;

namespace {

/// Calls BODY with a zero of the type that elements of T accumulate in.
template <class T, class Body>
void withAccumulator(const EvalOptions &options, Body &&body) {
  if constexpr (isSmallFloat<T> || std::is_same_v<T, float>) {
    if (options.accumulate == EvalOptions::Accumulate::F64)
      return body(double());
    return body(float());
  } else {
    return body(T());
  }
}

/// T from its accumulator: f16 and bf16 round from f32.
template <class T, class Acc> T narrow(Acc value) {
  if constexpr (isSmallFloat<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class Acc> Acc neutral(ReduceKind kind) {
  using Limits = std::numeric_limits<Acc>;
  switch (kind) {
  case ReduceKind::Sum:
    return Acc(0);
  case ReduceKind::Prod:
    return Acc(1);
  case ReduceKind::Max:
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  case ReduceKind::Min:
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  llvm_unreachable("all kinds are handled");
}

template <class Acc> Acc combine(ReduceKind kind, Acc a, Acc b) {
  constexpr bool integer = isInteger<Acc>;
  switch (kind) {
  case ReduceKind::Sum:
    if constexpr (integer)
      return wrapAdd(a, b);
    else
      return a + b;
  case ReduceKind::Prod:
    if constexpr (integer)
      return wrapMul(a, b);
    else
      return a * b;
  case ReduceKind::Max:
    return maximum(a, b);
  case ReduceKind::Min:
    return minimum(a, b);
  }
  llvm_unreachable("all kinds are handled");
}

/// The permutation of RANK dimensions that moves DIMS behind the others.
SmallVector<int64_t> moveLast(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> permutation;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(dims, i))
      permutation.push_back(i);
  llvm::append_range(permutation, dims);
  return permutation;
}

} // namespace

Result eval::evaluate(ReduceOp op, Operands operands,
                      const EvalOptions &options) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  Result rows = rowMajorFor(
      op, operands[0].transpose(moveLast(operands[0].getRank(), op.getDims())));
  if (failed(rows))
    return failure();
  int64_t count = result->getNumElements();
  int64_t length = rows->getNumElements() / count;
  dispatch(result->getElementType(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = rows->dataAs<T>();
    T *out = result->mutableData<T>();
    withAccumulator<T>(options, [&](auto accumulatorZero) {
      using Acc = decltype(accumulatorZero);
      for (int64_t i = 0; i < count; ++i) {
        Acc acc = neutral<Acc>(op.getKind());
        for (int64_t j = 0; j < length; ++j)
          acc = combine<Acc>(op.getKind(), acc, Acc(*in++));
        out[i] = narrow<T>(acc);
      }
    });
  });
  return result;
}

/// Inclusive: element i combines those up to i. Exclusive: those before i
/// (G-scan-2).
Result eval::evaluate(ScanOp op, Operands operands,
                      const EvalOptions &options) {
  int64_t rank = operands[0].getRank();
  SmallVector<int64_t> order = moveLast(rank, op.getDim());
  Result rows = rowMajorFor(op, operands[0].transpose(order));
  if (failed(rows))
    return failure();
  Result result = allocateResult(op, rows->getElementType(), rows->getShape());
  if (failed(result))
    return failure();
  int64_t length = rows->getShape().back();
  int64_t count = rows->getNumElements() / length;
  dispatch(result->getElementType(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = rows->dataAs<T>();
    T *out = result->mutableData<T>();
    withAccumulator<T>(options, [&](auto accumulatorZero) {
      using Acc = decltype(accumulatorZero);
      for (int64_t i = 0; i < count; ++i) {
        Acc acc = neutral<Acc>(op.getKind());
        for (int64_t j = 0; j < length; ++j) {
          Acc next = combine<Acc>(op.getKind(), acc, Acc(*in++));
          *out++ = narrow<T>(op.getExclusive() ? acc : next);
          acc = next;
        }
      }
    });
  });
  SmallVector<int64_t> inverse(rank);
  for (auto [i, from] : llvm::enumerate(order))
    inverse[from] = i;
  return result->transpose(inverse);
}

/// Descending; of equals the lower index first; NaN counts as largest
/// (G-arg_top_k-2).
FailureOr<SmallVector<Tensor>> eval::evaluate(ArgTopKOp op, Operands operands,
                                              const EvalOptions &) {
  const Tensor &operand = operands[0];
  int64_t k = op.getK(), length = operand.getShape().back();
  int64_t count = operand.getNumElements() / length;
  SmallVector<int64_t> shape(operand.getShape());
  shape.back() = k;
  Result values = allocateResult(op, operand.getElementType(), shape);
  Result indices =
      allocateResult(op, IntegerType::get(op.getContext(), 32), shape);
  if (failed(values) || failed(indices))
    return failure();
  dispatch(operand.getElementType(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<int32_t> order(length);
    for (int64_t i = 0; i < count; ++i) {
      const T *row = operand.dataAs<T>() + i * length;
      auto before = [&](int32_t a, int32_t b) {
        Compute<T> x = row[a], y = row[b];
        if (x != x || y != y) {
          if ((x != x) != (y != y))
            return x != x;
          return a < b;
        }
        return x != y ? x > y : a < b;
      };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      for (int64_t j = 0; j < k; ++j) {
        indices->mutableData<int32_t>()[i * k + j] = order[j];
        values->mutableData<T>()[i * k + j] = row[order[j]];
      }
    }
  });
  return SmallVector<Tensor>{*values, *indices};
}
