//===- Tensor.h - Tensors in host memory ------------------------*- C++ -*-===//
//
// The values that the oracle computes with: an element type and a shape, or a
// packed type, over bytes that are shared (owned by every copy) or borrowed (a
// mapped checkpoint is never copied). Elements stand by strides, so that
// transposes, broadcasts, slices and splats cost nothing; `rowMajor` gives the
// dense order that files and devices use. Bytes don't change once a tensor has
// been copied.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_EVAL_TENSOR_H
#define POOT_EVAL_TENSOR_H

#include "Poot/Dialect/Graph/GraphOps.h"

#include "llvm/ADT/SmallVector.h"

#include <cassert>
#include <cstdint>
#include <memory>

namespace poot::eval {

/// Bytes of one element in memory: an i1 takes a byte, 0 or 1; a packed type
/// has none.
int64_t elementBytes(mlir::Type elementType);

class Tensor {
public:
  /// A value larger than this is refused instead of exhausting the machine.
  static constexpr int64_t kMaxBytes = int64_t(1) << 34;

  Tensor() = default;

  /// A row-major tensor of unspecified contents, for the caller to fill in
  /// through `mutableData` before copying it. Fails (without a message) when
  /// it exceeds kMaxBytes or memory is out.
  static mlir::FailureOr<Tensor> allocate(mlir::Type elementType,
                                          llvm::ArrayRef<int64_t> shape);
  /// The same, zero. Pages that nobody writes take no memory.
  static mlir::FailureOr<Tensor> zeros(mlir::Type elementType,
                                       llvm::ArrayRef<int64_t> shape);
  /// Every element is the one at BYTES, which is copied.
  static Tensor splat(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                      const void *bytes);
  /// Row-major elements that the caller keeps alive and unchanged.
  static Tensor borrow(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                       const void *bytes);
  /// The blocks of packed weights; the caller keeps them alive and unchanged.
  static Tensor borrowPacked(graph::PackedType type, const void *bytes);
  /// Packed weights of unspecified contents, for the caller to fill in.
  static mlir::FailureOr<Tensor> allocatePacked(graph::PackedType type);

  explicit operator bool() const { return data != nullptr; }

  bool isPacked() const { return static_cast<bool>(packedType); }
  graph::PackedType getPackedType() const { return packedType; }
  /// The element type; null for a packed tensor.
  mlir::Type getElementType() const { return elementType; }
  /// Extents in elements, outermost first.
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const;
  /// A ranked tensor type, or the packed type.
  mlir::Type getType() const;
  /// Bytes of the row-major form.
  int64_t getNumBytes() const;

  /// Distances in elements; of a packed tensor, those of the row-major order.
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  bool isRowMajor() const;

  /// Where element [0, 0, …] stands. For `isRowMajor` tensors getNumBytes()
  /// bytes follow.
  const uint8_t *getData() const { return data; }
  llvm::ArrayRef<uint8_t> bytes() const {
    assert(isRowMajor() && "only row-major tensors are plain bytes");
    return {data, static_cast<size_t>(getNumBytes())};
  }
  template <class T> const T *dataAs() const {
    return reinterpret_cast<const T *>(data);
  }
  /// For whoever allocated the tensor, before it is copied.
  template <class T = uint8_t> T *mutableData() {
    assert(storage.use_count() == 1 && "shared bytes don't change");
    return reinterpret_cast<T *>(const_cast<uint8_t *>(data));
  }

  /// The same elements under other extents and strides, from OFFSET elements
  /// on.
  Tensor view(llvm::ArrayRef<int64_t> newShape,
              llvm::ArrayRef<int64_t> newStrides, int64_t offset = 0) const;
  /// Result dimension i is dimension permutation[i].
  Tensor transpose(llvm::ArrayRef<int64_t> permutation) const;
  /// Row-major tensors only: the same elements under another shape.
  Tensor reshape(llvm::ArrayRef<int64_t> newShape) const;
  /// Packed tensors only: the blocks as a tensor of i8, whose innermost extent
  /// is the bytes of a row.
  Tensor asBytes() const;
  /// The reverse of `asBytes`: the i8 elements as TYPE, whose outer extents
  /// they have.
  Tensor asPacked(graph::PackedType type) const;

private:
  // Null for borrowed bytes.
  std::shared_ptr<void> storage;
  const uint8_t *data = nullptr;
  mlir::Type elementType;
  graph::PackedType packedType;
  llvm::SmallVector<int64_t, 4> shape, strides;
};

/// TENSOR itself when it is row-major, else a copy that is. Fails like
/// `Tensor::allocate`.
mlir::FailureOr<Tensor> rowMajor(const Tensor &tensor);

} // namespace poot::eval

#endif
