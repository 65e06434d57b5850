//===- ContractionKernels.cpp - Bodies of the matrix products -------------===//
//
// Register-blocked products: an invocation computes a small tile of outputs
// and keeps its sums in registers, without workgroup memory or barriers. The
// block follows the shape, so that small products still fill a device.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;

/// Invocations that a block should leave, where the product is large enough.
static constexpr int64_t kWantedInvocations = 512;

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

Block chooseBlock(int64_t batches, int64_t rows, int64_t columns) {
  Block block;
  auto invocations = [&](int64_t r, int64_t c) {
    return batches * static_cast<int64_t>(llvm::divideCeil(rows, r)) *
           static_cast<int64_t>(llvm::divideCeil(columns, c));
  };
  while (block.columns < 4 && columns > block.columns &&
         invocations(block.rows, block.columns * 2) >= kWantedInvocations)
    block.columns *= 2;
  while (block.rows < 8 && rows > block.rows &&
         invocations(block.rows * 2, block.columns) >= kWantedInvocations)
    block.rows *= 2;
  return block;
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
  // Four steps an iteration, then the rest.
  int64_t unroll = depth >= 16 ? 4 : 1;
  int64_t whole = depth / unroll * unroll;
  auto run = [&](int64_t begin, int64_t end, int64_t by) {
    KernelBuilder::Values result =
        k.forLoop(k.i32(begin), k.i32(end), k.i32(by), sums,
                  [&](KValue i, ArrayRef<KValue> carried) {
                    KernelBuilder::Values next(carried);
                    for (int64_t u = 0; u < by; ++u)
                      step(i + u, next);
                    return next;
                  });
    sums.assign(result.begin(), result.end());
  };
  if (whole > 0)
    run(0, whole, unroll);
  if (whole < depth)
    run(whole, depth, 1);
  return sums;
}

/// The index of an operand's element: batch indices, then row and column.
Index matrixIndex(ArrayRef<KValue> batch, KValue row, KValue column) {
  Index index(batch);
  index.push_back(row);
  index.push_back(column);
  return index;
}

} // namespace

void buildMatmul(KernelBody &body) {
  KernelBuilder &k = body.k;
  const OperandLayout &out = body.output();
  size_t rank = out.shape.size();
  int64_t rows = out.shape[rank - 2], columns = out.shape[rank - 1];
  int64_t depth = body.input(0).shape.back();
  Extents grid(out.shape.begin(), out.shape.end() - 2);
  int64_t batches = 1;
  for (int64_t extent : grid)
    batches *= extent;
  Block block = chooseBlock(batches, rows, columns);
  grid.push_back(llvm::divideCeil(rows, block.rows));
  grid.push_back(llvm::divideCeil(columns, block.columns));

  int64_t count = 1;
  for (int64_t extent : grid)
    count *= extent;
  Index id = body.delinearize(body.linearId(count), grid);
  ArrayRef<KValue> batch = ArrayRef<KValue>(id).drop_back(2);
  // Rows and columns beyond the edge repeat the last one and aren't stored.
  auto clamped = [&](KValue blockId, int64_t size, int64_t i, int64_t extent) {
    KValue at = blockId * size + i;
    return extent % size == 0 ? at : k.min(at, k.i32(extent - 1));
  };
  SmallVector<KValue> rowIds, columnIds;
  for (int64_t r = 0; r < block.rows; ++r)
    rowIds.push_back(clamped(id[rank - 2], block.rows, r, rows));
  for (int64_t c = 0; c < block.columns; ++c)
    columnIds.push_back(clamped(id[rank - 1], block.columns, c, columns));

  Type type = accumulator(k, body.input(0).element);
  auto operand = [&](unsigned i, Index index) {
    KValue value = body.load(i, index);
    return value.getType() == type ? value : k.cast(value, type);
  };
  SmallVector<KValue> sums = contract(
      k, block, depth, type,
      [&](int64_t r, KValue i) {
        return operand(0, matrixIndex(batch, rowIds[r], i));
      },
      [&](int64_t c, KValue i) {
        return operand(1, matrixIndex(batch, i, columnIds[c]));
      });

  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.columns; ++c) {
      KValue row = id[rank - 2] * block.rows + r;
      KValue column = id[rank - 1] * block.columns + c;
      auto write = [&] {
        body.store(0, matrixIndex(batch, row, column),
                   body.narrow(0, sums[r * block.columns + c]));
      };
      KValue inside = k.boolean(true);
      if (rows % block.rows != 0)
        inside = inside & (row < rows);
      if (columns % block.columns != 0)
        inside = inside & (column < columns);
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
