//===- RowKernels.cpp - Reductions, scans, norms and arg_top_k ------------===//
//
// Fills the library's kernels over rows (kernels/lib/rows.cpp and top_k.cpp): a
// row is what is reduced or normalized together, wherever its dimensions stand.
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"
#include "Variants.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;
using Values = SmallVector<KValue>;

namespace {

/// The dimensions of a tensor in two groups, of which one numbers rows and the
/// other one the elements of a row.
struct Rows {
  SmallVector<int64_t> rowDims, elementDims;
  Extents rowShape, elementShape;
  int64_t count = 1, length = 1;

  Rows(ArrayRef<int64_t> shape, ArrayRef<int64_t> inRow) {
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      bool isElement = llvm::is_contained(inRow, static_cast<int64_t>(dim));
      (isElement ? elementDims : rowDims).push_back(dim);
      (isElement ? elementShape : rowShape).push_back(extent);
      (isElement ? length : count) *= extent;
    }
  }

  /// Rows along the innermost dimension.
  static Rows innermost(ArrayRef<int64_t> shape) {
    return Rows(shape, {static_cast<int64_t>(shape.size()) - 1});
  }

  Index index(OperandAccess &at, KValue row, KValue element) const {
    Index result(rowDims.size() + elementDims.size());
    for (auto [dim, i] : llvm::zip(rowDims, at.delinearize(row, rowShape)))
      result[dim] = i;
    for (auto [dim, i] :
         llvm::zip(elementDims, at.delinearize(element, elementShape)))
      result[dim] = i;
    return result;
  }
};

/// A combination of two values as a reduction of `kind` does.
KValue combine(KernelBuilder &k, ReduceKind kind, KValue lhs, KValue rhs) {
  // No SMax and SMin: spirv-opt, which drivers run, folds them on constants by
  // the type's sign, and ours has none.
  bool isInt = isa<IntegerType>(lhs.getType());
  switch (kind) {
  case ReduceKind::Sum:
    return lhs + rhs;
  case ReduceKind::Prod:
    return lhs * rhs;
  case ReduceKind::Max:
    return isInt ? k.select(lhs < rhs, rhs, lhs) : k.maximum(lhs, rhs);
  case ReduceKind::Min:
    return isInt ? k.select(rhs < lhs, rhs, lhs) : k.minimum(lhs, rhs);
  }
  llvm_unreachable("every reduce kind has its case");
}

/// The neutral element of `kind` among those of `element`, in `type`.
KValue neutral(KernelBuilder &k, ReduceKind kind, Type element, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  unsigned width = element.getIntOrFloatBitWidth();
  auto choose = [&](double real, int64_t integer) {
    return isa<FloatType>(type) ? k.constant(type, real)
                                : k.constant(type, integer);
  };
  switch (kind) {
  case ReduceKind::Sum:
    return choose(0, 0);
  case ReduceKind::Prod:
    return choose(1, 1);
  case ReduceKind::Max:
    return choose(-infinity, llvm::minIntN(width));
  case ReduceKind::Min:
    return choose(infinity, llvm::maxIntN(width));
  }
  llvm_unreachable("every reduce kind has its case");
}

/// Fills what row_reduce and row_scan have in common.
void fillCombination(LibraryKernel &kernel, ReduceKind kind, const Rows &rows,
                     Type element, Type accumulator) {
  kernel.set("rows", rows.count);
  kernel.set("length", rows.length);
  kernel.fill("load", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{
        convert(at.k, at.load(0, rows.index(at, i[0], i[1])), accumulator)};
  });
  kernel.fill("combine", [&](OperandAccess &at, ArrayRef<KValue> v) {
    return Values{combine(at.k, kind, v[0], v[1])};
  });
  kernel.fill("neutral", [&](OperandAccess &at, ArrayRef<KValue>) {
    return Values{neutral(at.k, kind, element, accumulator)};
  });
}

/// Launches an invocation or a workgroup a row, by the kernel's form.
void launchRows(LibraryKernel &kernel, StringRef variant, int64_t rows) {
  if (variant.ends_with("_lane"))
    kernel.launchInvocations(rows);
  else
    kernel.launchWorkgroups(rows);
}

} // namespace

FailureOr<GeneratedKernel> makeReduce(const LibraryRequest &r) {
  auto reduce = cast<ReduceOp>(r.request.op);
  Rows rows(r.request.inputs[0].shape, reduce.getDims());
  Type element = r.request.outputs[0].element;
  Type accumulator = accumulatorOf(element);
  StringRef variant =
      chooseVariant({Family::Reduce, r.target, rows.count, rows.length});
  LibraryKernel kernel = r.instantiate(variant, accumulator);
  fillCombination(kernel, reduce.getKind(), rows, element, accumulator);
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    at.store(0, at.delinearize(v[0], at.output().shape),
             convert(at.k, v[1], at.output().element));
    return Values{};
  });
  launchRows(kernel, variant, rows.count);
  return r.finish(kernel);
}

FailureOr<GeneratedKernel> makeScan(const LibraryRequest &r) {
  auto scan = cast<ScanOp>(r.request.op);
  Rows rows(r.request.inputs[0].shape, {static_cast<int64_t>(scan.getDim())});
  Type element = r.request.outputs[0].element;
  Type accumulator = accumulatorOf(element);
  StringRef variant =
      chooseVariant({Family::Scan, r.target, rows.count, rows.length});
  LibraryKernel kernel = r.instantiate(variant, accumulator);
  kernel.set("exclusive", scan.getExclusive());
  fillCombination(kernel, scan.getKind(), rows, element, accumulator);
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    at.store(0, rows.index(at, v[0], v[1]),
             convert(at.k, v[2], at.output().element));
    return Values{};
  });
  launchRows(kernel, variant, rows.count);
  return r.finish(kernel);
}

FailureOr<GeneratedKernel> makeArgTopK(const LibraryRequest &r) {
  auto topK = cast<ArgTopKOp>(r.request.op);
  Rows rows = Rows::innermost(r.request.inputs[0].shape);
  Type type = accumulatorOf(r.request.inputs[0].element);
  StringRef variant =
      chooseVariant({Family::TopK, r.target, rows.count, rows.length});
  LibraryKernel kernel = r.instantiate(variant, type);
  kernel.set("rows", rows.count);
  kernel.set("length", rows.length);
  kernel.set("count", topK.getK());
  kernel.fill("load", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{convert(at.k, at.load(0, rows.index(at, i[0], i[1])), type)};
  });
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    Index index = rows.index(at, v[0], v[1]);
    at.store(0, index, convert(at.k, v[2], at.output(0).element));
    at.store(1, index, v[3]);
    return Values{};
  });
  launchRows(kernel, variant, rows.count);
  return r.finish(kernel);
}

/// Softmax and norms: rows along the innermost dimension, in f32.
static FailureOr<GeneratedKernel> makeNormalized(const LibraryRequest &r,
                                                 Family family, double epsilon,
                                                 Value scale, Value bias) {
  Rows rows = Rows::innermost(r.request.outputs[0].shape);
  StringRef variant =
      chooseVariant({family, r.target, rows.count, rows.length});
  LibraryKernel kernel = r.instantiate(variant);
  kernel.set("rows", rows.count);
  kernel.set("length", rows.length);
  kernel.set("epsilon", epsilon);
  kernel.fill("load", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.widen(at.load(0, rows.index(at, i[0], i[1])))};
  });
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    at.store(0, rows.index(at, v[0], v[1]), at.narrow(0, v[2]));
    return Values{};
  });
  // What isn't there multiplies by one and adds nothing.
  auto fillFactor = [&](StringRef hook, Value factor, unsigned operand,
                        double missing) {
    kernel.fill(hook, [&](OperandAccess &at, ArrayRef<KValue> i) {
      return Values{factor ? at.widen(at.load(operand, {i[0]}))
                           : at.k.f32(missing)};
    });
  };
  if (family != Family::Softmax)
    fillFactor("scale", scale, 1, 1.0);
  if (family == Family::LayerNorm)
    fillFactor("bias", bias, scale ? 2 : 1, 0.0);
  launchRows(kernel, variant, rows.count);
  return r.finish(kernel);
}

FailureOr<GeneratedKernel> makeSoftmax(const LibraryRequest &r) {
  return makeNormalized(r, Family::Softmax, 0, {}, {});
}

FailureOr<GeneratedKernel> makeRmsNorm(const LibraryRequest &r) {
  auto norm = cast<RmsNormOp>(r.request.op);
  return makeNormalized(r, Family::RmsNorm, norm.getEpsilon().convertToDouble(),
                        norm.getScale(), {});
}

FailureOr<GeneratedKernel> makeLayerNorm(const LibraryRequest &r) {
  auto norm = cast<LayerNormOp>(r.request.op);
  return makeNormalized(r, Family::LayerNorm,
                        norm.getEpsilon().convertToDouble(), norm.getScale(),
                        norm.getBias());
}

} // namespace poot::planner
