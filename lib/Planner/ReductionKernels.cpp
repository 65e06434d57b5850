//===- ReductionKernels.cpp - Bodies of reduce, scan and arg_top_k --------===//
//
// A short reduction takes one invocation an output. A long one takes a
// workgroup: each invocation combines a strided part, then the parts combine
// in a tree through a workgroup array.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;

/// Reductions up to this length take one invocation.
static constexpr int64_t kSerialLength = 32;
/// Invocations that share one long reduction.
static constexpr int32_t kGroupSize = 64;

KValue combine(KernelBuilder &k, ReduceKind kind, KValue lhs, KValue rhs) {
  bool isBool = lhs.getType().isInteger(1);
  // No SMax and SMin: spirv-opt, which drivers run, folds them on constants by
  // the type's sign, and ours has none.
  bool isInt = isa<IntegerType>(lhs.getType());
  switch (kind) {
  case ReduceKind::Sum:
    return lhs + rhs;
  case ReduceKind::Prod:
    return lhs * rhs;
  case ReduceKind::Max:
    return isBool  ? lhs | rhs
           : isInt ? k.select(lhs < rhs, rhs, lhs)
                   : k.maximum(lhs, rhs);
  case ReduceKind::Min:
    return isBool  ? lhs & rhs
           : isInt ? k.select(rhs < lhs, rhs, lhs)
                   : k.minimum(lhs, rhs);
  }
  llvm_unreachable("every reduce kind has its case");
}

KValue neutral(KernelBuilder &k, ReduceKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    switch (kind) {
    case ReduceKind::Sum:
      return k.constant(type, 0.0);
    case ReduceKind::Prod:
      return k.constant(type, 1.0);
    case ReduceKind::Max:
      return k.constant(type, -infinity);
    case ReduceKind::Min:
      return k.constant(type, infinity);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case ReduceKind::Sum:
    return k.constant(type, int64_t(0));
  case ReduceKind::Prod:
    return k.constant(type, int64_t(1));
  case ReduceKind::Max:
    return k.constant(type, width == 1 ? 0 : llvm::minIntN(width));
  case ReduceKind::Min:
    return k.constant(type, width == 1 ? 1 : llvm::maxIntN(width));
  }
  llvm_unreachable("every reduce kind has its case");
}

/// A workgroup array for values of `type`, which may be i1.
static KValue allocate(KernelBuilder &k, Type type) {
  return k.workgroupAlloc(kGroupSize, storageType(type));
}
static void put(KernelBuilder &k, KValue array, KValue index, KValue value) {
  if (value.getType().isInteger(1))
    value = k.ucast(value, k.i32Type());
  k.store(array, index, value);
}
static KValue get(KernelBuilder &k, KValue array, KValue index, Type type) {
  KValue value = k.load(array, index);
  return type.isInteger(1) ? value != 0 : value;
}

namespace {

/// The dimensions of a reduction, kept ones and reduced ones apart.
struct ReducedDims {
  SmallVector<int64_t> kept, reduced;
  Extents reducedShape;
  int64_t length = 1;

  explicit ReducedDims(ReduceOp op, ArrayRef<int64_t> shape) {
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim))) {
        kept.push_back(dim);
        continue;
      }
      reduced.push_back(dim);
      reducedShape.push_back(extent);
      length *= extent;
    }
  }
};

} // namespace

int32_t workgroupSizeFor(const KernelRequest &request) {
  if (isa_and_nonnull<MatmulOp>(request.op))
    return matmulWorkgroupSize(request);
  // The bodies that share work through workgroup arrays count on kGroupSize;
  // all others take the same.
  return kGroupSize;
}

void buildReduce(KernelBody &body) {
  KernelBuilder &k = body.k;
  auto reduce = cast<ReduceOp>(body.request.op);
  ReduceKind kind = reduce.getKind();
  ReducedDims dims(reduce, body.input(0).shape);
  int64_t outputs = body.output().count();

  bool isSerial = dims.length <= kSerialLength;
  KValue id = isSerial ? body.linearId(outputs) : body.linearWorkgroup(outputs);
  Index out = body.delinearize(id, body.output().shape);
  auto element = [&](KValue at) {
    Index inner = body.delinearize(at, dims.reducedShape);
    Index index(body.input(0).shape.size());
    for (auto [dim, i] : llvm::zip(dims.kept, out))
      index[dim] = i;
    for (auto [dim, i] : llvm::zip(dims.reduced, inner))
      index[dim] = i;
    return body.widen(body.load(0, index));
  };
  Type type = body.output().element;
  if (type.isF16() || type.isBF16())
    type = k.f32Type();
  KValue start = neutral(k, kind, type);
  auto sum = [&](KValue first, int64_t step) {
    return k.forLoop(first, k.i32(dims.length), k.i32(step), {start},
                     [&](KValue i, ArrayRef<KValue> sum) {
                       return KernelBuilder::Values{
                           combine(k, kind, sum[0], element(i))};
                     })[0];
  };
  if (isSerial) {
    body.store(0, out, body.narrow(0, sum(k.i32(0), 1)));
    return;
  }

  KValue lane = k.localId(kernel::Dim::X);
  KValue partial = sum(lane, kGroupSize);
  KValue array = allocate(k, type);
  put(k, array, lane, partial);
  k.barrier();
  for (int32_t half = kGroupSize / 2; half >= 1; half /= 2) {
    k.ifThen(lane < half, [&] {
      put(k, array, lane,
          combine(k, kind, get(k, array, lane, type),
                  get(k, array, lane + half, type)));
    });
    k.barrier();
  }
  k.ifThen(lane == 0, [&] {
    body.store(0, out, body.narrow(0, get(k, array, k.i32(0), type)));
  });
}

void buildScan(KernelBody &body) {
  KernelBuilder &k = body.k;
  auto scan = cast<ScanOp>(body.request.op);
  ReduceKind kind = scan.getKind();
  size_t dim = scan.getDim();
  int64_t length = body.output().shape[dim];
  Extents lineShape = body.output().shape;
  lineShape[dim] = 1;

  // One workgroup a line: each invocation combines its chunk, then all chunks
  // before it, then writes its chunk.
  KValue line = body.linearWorkgroup(body.output().count() / length);
  Index base = body.delinearize(line, lineShape);
  KValue lane = k.localId(kernel::Dim::X);
  int64_t chunk = llvm::divideCeil(length, kGroupSize);
  KValue begin = lane * chunk;
  KValue end = k.min(begin + chunk, k.i32(length));
  auto at = [&](KValue i) {
    Index index = base;
    index[dim] = i;
    return index;
  };
  Type type = body.output().element;
  if (type.isF16() || type.isBF16())
    type = k.f32Type();
  KValue start = neutral(k, kind, type);
  KValue own = k.forLoop(
      begin, end, k.i32(1), {start}, [&](KValue i, ArrayRef<KValue> sum) {
        return KernelBuilder::Values{
            combine(k, kind, sum[0], body.widen(body.load(0, at(i))))};
      })[0];
  KValue array = allocate(k, type);
  put(k, array, lane, own);
  k.barrier();
  KValue before = k.forLoop(
      k.i32(0), lane, k.i32(1), {start}, [&](KValue i, ArrayRef<KValue> sum) {
        return KernelBuilder::Values{
            combine(k, kind, sum[0], get(k, array, i, type))};
      })[0];
  k.forLoop(
      begin, end, k.i32(1), {before}, [&](KValue i, ArrayRef<KValue> sum) {
        KValue next = combine(k, kind, sum[0], body.widen(body.load(0, at(i))));
        body.store(0, at(i),
                   body.narrow(0, scan.getExclusive() ? sum[0] : next));
        return KernelBuilder::Values{next};
      });
}

/// An integer that orders as arg_top_k does: NaN above everything, -0 equal to
/// +0.
static KValue orderKey(KernelBuilder &k, KValue value) {
  Type type = value.getType();
  if (isa<IntegerType>(type))
    return type.isInteger(1) ? k.ucast(value, k.i32Type()) : value;
  Type bitsType = type.isF64() ? k.i64Type() : k.i32Type();
  unsigned width = type.isF64() ? 64 : 32;
  KValue isZero = value == 0.0;
  KValue bits = k.bitcast(value, bitsType);
  KValue magnitudeMask = k.constant(bitsType, llvm::maxIntN(width));
  // Negative numbers order by falling magnitude.
  KValue key = bits ^ ((bits >> (width - 1)) & magnitudeMask);
  key = k.select(isZero, k.constant(bitsType, int64_t(0)), key);
  return k.select(k.isnan(value), magnitudeMask, key);
}

void buildArgTopK(KernelBody &body) {
  KernelBuilder &k = body.k;
  auto topK = cast<ArgTopKOp>(body.request.op);
  const OperandLayout &in = body.input(0);
  int64_t length = in.shape.back();
  Extents rowShape(in.shape.begin(), in.shape.end() - 1);
  int64_t rows = 1;
  for (int64_t extent : rowShape)
    rows *= extent;

  KValue row = body.linearWorkgroup(rows);
  Index base = body.delinearize(row, rowShape);
  auto at = [&](KValue i) {
    Index index = base;
    index.push_back(i);
    return index;
  };
  auto keyAt = [&](KValue i) {
    return orderKey(k, body.widen(body.load(0, at(i))));
  };

  // Pick the largest that comes after the last pick, k times. The tree keeps
  // (key, index) pairs; `isBetter` is arg_top_k's order.
  KValue lane = k.localId(kernel::Dim::X);
  Type keyType = body.input(0).element;
  if (isa<FloatType>(keyType))
    keyType = keyType.isF64() ? k.i64Type() : k.i32Type();
  else if (keyType.isInteger(1))
    keyType = k.i32Type();
  unsigned width = keyType.getIntOrFloatBitWidth();
  KValue lowest = k.constant(keyType, llvm::minIntN(width));
  KValue highest = k.constant(keyType, llvm::maxIntN(width));
  KValue noIndex = k.i32(std::numeric_limits<int32_t>::max());
  auto isBetter = [&](KValue key, KValue index, KValue than, KValue thanIndex) {
    return (key > than) | ((key == than) & (index < thanIndex));
  };

  KValue keys = k.workgroupAlloc(kGroupSize, keyType);
  KValue indices = k.workgroupAlloc(kGroupSize, k.i32Type());
  k.forLoop(k.i32(0), k.i32(topK.getK()), k.i32(1), {highest, k.i32(-1)},
            [&](KValue pick, ArrayRef<KValue> last) {
              auto best = k.forLoop(
                  lane, k.i32(length), k.i32(kGroupSize), {lowest, noIndex},
                  [&](KValue i, ArrayRef<KValue> best) {
                    KValue key = keyAt(i);
                    KValue takes = isBetter(last[0], last[1], key, i) &
                                   isBetter(key, i, best[0], best[1]);
                    return KernelBuilder::Values{k.select(takes, key, best[0]),
                                                 k.select(takes, i, best[1])};
                  });
              k.store(keys, lane, best[0]);
              k.store(indices, lane, best[1]);
              k.barrier();
              for (int32_t half = kGroupSize / 2; half >= 1; half /= 2) {
                k.ifThen(lane < half, [&] {
                  KValue key = k.load(keys, lane),
                         index = k.load(indices, lane);
                  KValue otherKey = k.load(keys, lane + half);
                  KValue otherIndex = k.load(indices, lane + half);
                  KValue takes = isBetter(otherKey, otherIndex, key, index);
                  k.store(keys, lane, k.select(takes, otherKey, key));
                  k.store(indices, lane, k.select(takes, otherIndex, index));
                });
                k.barrier();
              }
              KValue key = k.load(keys, k.i32(0));
              KValue index = k.load(indices, k.i32(0));
              // The next round overwrites the arrays.
              k.barrier();
              k.ifThen(lane == 0, [&] {
                body.store(0, at(pick), body.load(0, at(index)));
                body.store(1, at(pick), index);
              });
              return KernelBuilder::Values{key, index};
            });
}

} // namespace poot::planner
