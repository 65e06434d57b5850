//===- Move.cpp - Ops that move elements without changing them ------------===//
//
// Most are views. Packed weights move as rows of bytes, by the same code.
//
//===----------------------------------------------------------------------===//

#include "Element.h"
#include "Ops.h"

#include <cstring>

using namespace mlir;
using namespace poot;
using namespace poot::eval;
using namespace poot::graph;

/// Operand dimension i becomes dims[i]; all others, and those of extent 1 that
/// grow, repeat with a stride of zero (G-broadcast-2).
Result eval::evaluate(BroadcastOp op, Operands operands, const EvalOptions &) {
  const Tensor &operand = operands[0];
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  SmallVector<int64_t> strides(shape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    if (operand.getShape()[i] != 1)
      strides[dim] = operand.getStrides()[i];
  return operand.view(shape, strides);
}

/// The same row-major order (G-reshape-2).
Result eval::evaluate(ReshapeOp op, Operands operands, const EvalOptions &) {
  return operands[0].reshape(
      cast<RankedTensorType>(op.getResult().getType()).getShape());
}

/// Result dimension i is operand dimension permutation[i] (G-transpose-2).
Result eval::evaluate(TransposeOp op, Operands operands, const EvalOptions &) {
  return operands[0].transpose(op.getPermutation());
}

/// result[i..] = operand[offset + i * stride..] (G-slice-3).
Result eval::evaluate(SliceOp op, Operands operands, const EvalOptions &) {
  auto sliceOf = [&](const Tensor &operand, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> strides(operand.getStrides());
    int64_t start = 0;
    for (auto [i, offset] : llvm::enumerate(op.getOffsets())) {
      start += offset * strides[i];
      strides[i] *= op.getStrides()[i];
    }
    return operand.view(shape, strides, start);
  };
  Type type = op.getResult().getType();
  if (!operands[0].isPacked())
    return sliceOf(operands[0], cast<RankedTensorType>(type).getShape());
  // The innermost dimension is whole, so it may as well count bytes.
  auto packed = cast<PackedType>(type);
  Tensor bytes = operands[0].asBytes();
  SmallVector<int64_t> shape(packed.getShape());
  shape.back() = bytes.getShape().back();
  Result rows = rowMajorFor(op, sliceOf(bytes, shape));
  if (failed(rows))
    return failure();
  return rows->asPacked(packed);
}

namespace {

/// Tensors of one element type joined along DIM.
Result join(Operation *op, ArrayRef<Tensor> inputs, int64_t dim) {
  SmallVector<int64_t> shape(inputs[0].getShape());
  shape[dim] = 0;
  for (const Tensor &input : inputs)
    shape[dim] += input.getShape()[dim];
  Type elementType = inputs[0].getElementType();
  Result result = allocateResult(op, elementType, shape);
  if (failed(result))
    return failure();
  int64_t outer = 1, inner = elementBytes(elementType);
  for (auto [i, extent] : llvm::enumerate(shape))
    if (int64_t(i) != dim)
      (int64_t(i) < dim ? outer : inner) *= extent;
  uint8_t *out = result->mutableData();
  int64_t pitch = shape[dim] * inner;
  for (const Tensor &input : inputs) {
    Result source = rowMajorFor(op, input);
    if (failed(source))
      return failure();
    int64_t bytes = input.getShape()[dim] * inner;
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(out + i * pitch, source->getData() + i * bytes, bytes);
    out += bytes;
  }
  return result;
}

} // namespace

/// The inputs one after another along dim (G-concat-2).
Result eval::evaluate(ConcatOp op, Operands operands, const EvalOptions &) {
  if (!operands[0].isPacked())
    return join(op, operands, op.getDim());
  SmallVector<Tensor> rows;
  for (const Tensor &operand : operands)
    rows.push_back(operand.asBytes());
  Result joined = join(op, rows, op.getDim());
  if (failed(joined))
    return failure();
  return joined->asPacked(cast<PackedType>(op.getResult().getType()));
}

/// result[a.., i.., b..] = data[a.., indices[i..], b..] (G-gather-2); an index
/// outside the extent is an error or clamped (G-gather-3).
Result eval::evaluate(GatherOp op, Operands operands,
                      const EvalOptions &options) {
  const Tensor &data = operands[0], &indices = operands[1];
  int64_t dim = op.getDim(), extent = data.getShape()[dim];
  SmallVector<int64_t> shape(data.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, data.getShape().drop_front(dim + 1));
  Result result = allocateResult(op, data.getElementType(), shape);
  if (failed(result))
    return failure();

  int64_t count = indices.getNumElements();
  SmallVector<int64_t> rows(ArrayRef(indices.dataAs<int32_t>(), count));
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (row >= 0 && row < extent)
      continue;
    if (options.strict)
      return op.emitOpError() << "index " << row << " at element " << i
                              << " is outside of [0, " << extent << ")";
    row = std::clamp<int64_t>(row, 0, extent - 1);
  }
  int64_t outer = 1, inner = elementBytes(data.getElementType());
  for (int64_t i : data.getShape().take_front(dim))
    outer *= i;
  for (int64_t i : data.getShape().drop_front(dim + 1))
    inner *= i;
  uint8_t *out = result->mutableData();
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t row : rows) {
      std::memcpy(out, data.getData() + (i * extent + row) * inner, inner);
      out += inner;
    }
  return result;
}

/// result[indices[i..], ..] = updates[i.., ..], other rows are data's
/// (G-scatter-2). Index -1 drops its row (G-scatter-3); any other outside the
/// extent (G-scatter-4), and a duplicate (G-scatter-5), is an error.
Result eval::evaluate(ScatterOp op, Operands operands,
                      const EvalOptions &options) {
  const Tensor &data = operands[0], &indices = operands[1],
               &updates = operands[2];
  Result result = allocateResult(op, data.getElementType(), data.getShape());
  if (failed(result))
    return failure();
  uint8_t *out = result->mutableData();
  std::memcpy(out, data.getData(), data.getNumBytes());

  int64_t extent = data.getShape()[0];
  int64_t rowBytes = data.getNumBytes() / extent;
  // Which element of the indices wrote a row.
  llvm::DenseMap<int32_t, int64_t> writers;
  for (int64_t i = 0, e = indices.getNumElements(); i < e; ++i) {
    int32_t row = indices.dataAs<int32_t>()[i];
    if (row == -1)
      continue;
    if (row < 0 || row >= extent) {
      if (options.strict)
        return op.emitOpError()
               << "index " << row << " at element " << i
               << " is outside of [0, " << extent << ") and not -1";
      continue;
    }
    auto [writer, isNew] = writers.try_emplace(row, i);
    if (!isNew && options.strict)
      return op.emitOpError() << "index " << row << " stands at element "
                              << writer->second << " and again at " << i;
    std::memcpy(out + row * rowBytes, updates.getData() + i * rowBytes,
                rowBytes);
  }
  return result;
}
