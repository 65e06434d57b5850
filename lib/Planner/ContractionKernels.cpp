//===- ContractionKernels.cpp - Bodies of the matrix products -------------===//
//
// Register-blocked products: an invocation computes a small tile of outputs
// and keeps its sums in registers. Batch dimensions that the right operand is
// broadcast along count as rows, so that the query heads of a group share the
// loads of their keys.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;

/// Invocations that a block should leave, where there are as many outputs.
static constexpr int64_t kWantedInvocations = 64;
/// Most outputs of an invocation, which keeps their sums in registers.
static constexpr int64_t kMaxOutputs = 32;

/// The type that sums of `element` are kept in.
static Type accumulator(KernelBuilder &k, Type element) {
  if (element.isF16() || element.isBF16())
    return k.f32Type();
  if (element.isInteger(8))
    return k.i32Type();
  return element;
}

namespace {

/// The outputs of one invocation.
struct Block {
  int64_t rows = 1;
  int64_t columns = 1;
};

/// A product as rows and columns of a batch of matrices.
struct Product {
  /// Batch dimensions of the output that remain, from the outermost.
  size_t batchRank = 0;
  int64_t batches = 1;
  /// The dimensions that count as rows, and their product.
  Extents rowShape;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t depth = 1;
  Block block;
};

Product analyze(const KernelRequest &request) {
  const OperandLayout &left = request.inputs[0], &right = request.inputs[1];
  const OperandLayout &out = request.outputs[0];
  size_t rank = out.shape.size();
  Product product;
  product.columns = out.shape[rank - 1];
  product.depth = left.shape.back();
  product.batchRank = rank - 2;
  while (product.batchRank > 0 && (right.strides[product.batchRank - 1] == 0 ||
                                   out.shape[product.batchRank - 1] == 1))
    --product.batchRank;
  for (size_t dim = 0; dim < product.batchRank; ++dim)
    product.batches *= out.shape[dim];
  for (size_t dim = product.batchRank; dim + 1 < rank; ++dim) {
    product.rowShape.push_back(out.shape[dim]);
    product.rows *= out.shape[dim];
  }

  auto invocations = [&](int64_t rows, int64_t columns) {
    return product.batches * llvm::divideCeilSigned(product.rows, rows) *
           llvm::divideCeilSigned(product.columns, columns);
  };
  // An invocation loads rows + columns elements for rows * columns products;
  // the block with the fewest loads in all wins.
  int64_t wanted = std::min(kWantedInvocations, invocations(1, 1));
  int64_t fewestLoads = std::numeric_limits<int64_t>::max();
  for (int64_t rows = 1; rows <= 8; ++rows) {
    for (int64_t columns = 1; columns <= 8; columns *= 2) {
      int64_t count = invocations(rows, columns);
      int64_t loads = count * (rows + columns);
      if (rows > product.rows || columns >= 2 * product.columns ||
          rows * columns > kMaxOutputs || count < wanted ||
          loads >= fewestLoads)
        continue;
      product.block = {rows, columns};
      fewestLoads = loads;
    }
  }
  return product;
}

/// Emits the sum over `depth` for a block of outputs. `left(r, i)` and
/// `right(c, i)` give the operands' elements at depth i, in the accumulator's
/// type.
SmallVector<KValue>
contract(KernelBuilder &k, Block block, int64_t depth, Type type,
         llvm::function_ref<KValue(int64_t, KValue)> left,
         llvm::function_ref<KValue(int64_t, KValue)> right) {
  KValue zero = isa<FloatType>(type) ? k.constant(type, 0.0)
                                     : k.constant(type, int64_t(0));
  SmallVector<KValue> sums(block.rows * block.columns, zero);
  auto step = [&](KValue i, SmallVectorImpl<KValue> &sums) {
    SmallVector<KValue> columns;
    for (int64_t c = 0; c < block.columns; ++c)
      columns.push_back(right(c, i));
    for (int64_t r = 0; r < block.rows; ++r) {
      KValue row = left(r, i);
      for (int64_t c = 0; c < block.columns; ++c) {
        KValue &sum = sums[r * block.columns + c];
        sum = sum + row * columns[c];
      }
    }
  };
  // Four steps an iteration where they come out even.
  int64_t unroll = depth >= 16 && depth % 4 == 0 ? 4 : 1;
  KernelBuilder::Values result =
      k.forLoop(k.i32(0), k.i32(depth), k.i32(unroll), sums,
                [&](KValue i, ArrayRef<KValue> carried) {
                  KernelBuilder::Values next(carried);
                  for (int64_t u = 0; u < unroll; ++u)
                    step(i + u, next);
                  return next;
                });
  return SmallVector<KValue>(result.begin(), result.end());
}

} // namespace

int32_t matmulWorkgroupSize(const KernelRequest &request) {
  Product product = analyze(request);
  // Small products spread better in small workgroups.
  int64_t blocks =
      product.batches *
      llvm::divideCeilSigned(product.rows, product.block.rows) *
      llvm::divideCeilSigned(product.columns, product.block.columns);
  return blocks <= 1024 ? 32 : 64;
}

void buildMatmul(KernelBody &body) {
  KernelBuilder &k = body.k;
  Product product = analyze(body.request);
  Block block = product.block;
  const OperandLayout &out = body.output();
  Extents grid(out.shape.begin(), out.shape.begin() + product.batchRank);
  grid.push_back(llvm::divideCeilSigned(product.rows, block.rows));
  grid.push_back(llvm::divideCeilSigned(product.columns, block.columns));
  int64_t count = 1;
  for (int64_t extent : grid)
    count *= extent;

  Index id = body.delinearize(body.linearId(count), grid);
  KValue columnBlock = id.pop_back_val();
  KValue rowBlock = id.pop_back_val();
  // Rows and columns beyond the edge repeat the last one and aren't stored.
  auto clamp = [&](KValue at, int64_t size, int64_t extent) {
    return extent % size == 0 ? at : k.min(at, k.i32(extent - 1));
  };
  SmallVector<KValue> rows, columns;
  SmallVector<Index> rowIndices; // the batch and row part of an index
  for (int64_t r = 0; r < block.rows; ++r) {
    rows.push_back(rowBlock * block.rows + r);
    Index index = id;
    llvm::append_range(
        index, body.delinearize(clamp(rows[r], block.rows, product.rows),
                                product.rowShape));
    rowIndices.push_back(index);
  }
  SmallVector<KValue> columnIds;
  for (int64_t c = 0; c < block.columns; ++c) {
    columns.push_back(columnBlock * block.columns + c);
    columnIds.push_back(clamp(columns[c], block.columns, product.columns));
  }

  Type type = accumulator(k, body.input(0).element);
  auto operand = [&](unsigned i, Index index) {
    KValue value = body.load(i, index);
    return value.getType() == type ? value : k.cast(value, type);
  };
  auto left = [&](int64_t r, KValue i) {
    Index index = rowIndices[r];
    index.push_back(i);
    return operand(0, index);
  };
  auto right = [&](int64_t c, KValue i) {
    // The batch dimensions that count as rows don't move the right operand.
    Index index(rowIndices[0]);
    index.back() = i;
    index.push_back(columnIds[c]);
    return operand(1, index);
  };
  SmallVector<KValue> sums =
      contract(k, block, product.depth, type, left, right);

  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.columns; ++c) {
      auto write = [&] {
        Index index = rowIndices[r];
        index.push_back(columnIds[c]);
        body.store(0, index, body.narrow(0, sums[r * block.columns + c]));
      };
      KValue inside = k.boolean(true);
      if (product.rows % block.rows != 0)
        inside = inside & (rows[r] < product.rows);
      if (product.columns % block.columns != 0)
        inside = inside & (columns[c] < product.columns);
      if (inside.getConstant() == 1)
        write();
      else
        k.ifThen(inside, write);
    }
  }
}

void buildIndexedMatmul(KernelBody &body) {
  KernelBuilder &k = body.k;
  int64_t depth = body.input(0).shape.back();
  KValue id = body.linearId(body.output().count());
  Index out = body.delinearize(id, body.output().shape);
  Index where(out.begin(), out.end() - 1);
  // An index outside the stack is clamped, so that no access leaves it.
  KValue expert = k.max(
      k.min(body.load(2, where), k.i32(body.input(1).shape[0] - 1)), k.i32(0));
  Type type = accumulator(k, body.input(0).element);
  auto operand = [&](unsigned i, Index index) {
    KValue value = body.load(i, index);
    return value.getType() == type ? value : k.cast(value, type);
  };
  SmallVector<KValue> sums = contract(
      k, Block(), depth, type,
      [&](int64_t, KValue i) {
        Index index = where;
        index.push_back(i);
        return operand(0, index);
      },
      [&](int64_t, KValue i) { return operand(1, {expert, i, out.back()}); });
  body.store(0, out, body.narrow(0, sums[0]));
}

} // namespace poot::planner
