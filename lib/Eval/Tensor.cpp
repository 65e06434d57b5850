//===- Tensor.cpp - Tensors in host memory --------------------------------===//

#include "Poot/Eval/Tensor.h"

#include "Poot/Dialect/Graph/ElementTypes.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace poot;
using namespace poot::eval;

namespace {

SmallVector<int64_t, 4> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

/// Memory for BYTES bytes, zero when ZERO; null when it can't be had.
std::shared_ptr<void> allocateBytes(int64_t bytes, bool zero) {
  if (bytes > Tensor::kMaxBytes)
    return nullptr;
  size_t size = std::max<int64_t>(bytes, 1);
  void *memory = zero ? std::calloc(size, 1) : std::malloc(size);
  return memory ? std::shared_ptr<void>(memory, std::free) : nullptr;
}

/// Writes the elements from SOURCE on, which stand by STRIDES, to OUT in
/// row-major order, and returns the end. T has the size of an element.
template <class T>
T *copyStrided(const T *source, ArrayRef<int64_t> shape,
               ArrayRef<int64_t> strides, T *out) {
  if (shape.empty()) {
    *out = *source;
    return out + 1;
  }
  int64_t extent = shape[0], stride = strides[0];
  if (shape.size() > 1) {
    for (int64_t i = 0; i < extent; ++i)
      out = copyStrided(source + i * stride, shape.drop_front(),
                        strides.drop_front(), out);
    return out;
  }
  if (stride == 1) {
    std::memcpy(out, source, extent * sizeof(T));
    return out + extent;
  }
  for (int64_t i = 0; i < extent; ++i)
    out[i] = source[i * stride];
  return out + extent;
}

} // namespace

int64_t eval::elementBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

FailureOr<Tensor> Tensor::allocate(Type elementType, ArrayRef<int64_t> shape) {
  // An open extent comes from the user, whatever it is.
  if (!graph::countElements(shape))
    return failure();
  Tensor result;
  result.storage =
      allocateBytes(product(shape) * elementBytes(elementType), /*zero=*/false);
  if (!result.storage)
    return failure();
  result.data = static_cast<const uint8_t *>(result.storage.get());
  result.elementType = elementType;
  result.shape.assign(shape.begin(), shape.end());
  result.strides = rowMajorStrides(shape);
  return result;
}

FailureOr<Tensor> Tensor::zeros(Type elementType, ArrayRef<int64_t> shape) {
  if (!graph::countElements(shape))
    return failure();
  Tensor result = borrow(elementType, shape, nullptr);
  result.storage = allocateBytes(result.getNumBytes(), /*zero=*/true);
  if (!result.storage)
    return failure();
  result.data = static_cast<const uint8_t *>(result.storage.get());
  return result;
}

Tensor Tensor::splat(Type elementType, ArrayRef<int64_t> shape,
                     const void *bytes) {
  FailureOr<Tensor> element = allocate(elementType, {});
  if (failed(element))
    llvm::report_bad_alloc_error("one element");
  std::memcpy(element->mutableData(), bytes, elementBytes(elementType));
  return element->view(shape, SmallVector<int64_t>(shape.size(), 0));
}

Tensor Tensor::borrow(Type elementType, ArrayRef<int64_t> shape,
                      const void *bytes) {
  Tensor result;
  result.data = static_cast<const uint8_t *>(bytes);
  result.elementType = elementType;
  result.shape.assign(shape.begin(), shape.end());
  result.strides = rowMajorStrides(shape);
  return result;
}

Tensor Tensor::borrowPacked(graph::PackedType type, const void *bytes) {
  Tensor result;
  result.data = static_cast<const uint8_t *>(bytes);
  result.packedType = type;
  result.shape.assign(type.getShape().begin(), type.getShape().end());
  result.strides = rowMajorStrides(result.shape);
  return result;
}

FailureOr<Tensor> Tensor::allocatePacked(graph::PackedType type) {
  Tensor result = borrowPacked(type, nullptr);
  result.storage = allocateBytes(graph::getPackedBytes(type), /*zero=*/false);
  if (!result.storage)
    return failure();
  result.data = static_cast<const uint8_t *>(result.storage.get());
  return result;
}

int64_t Tensor::getNumElements() const { return product(shape); }

Type Tensor::getType() const {
  if (isPacked())
    return packedType;
  return RankedTensorType::get(shape, elementType);
}

int64_t Tensor::getNumBytes() const {
  return isPacked() ? graph::getPackedBytes(packedType)
                    : getNumElements() * elementBytes(elementType);
}

bool Tensor::isRowMajor() const {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    if (shape[i] != 1 && strides[i] != stride)
      return false;
  return true;
}

Tensor Tensor::view(ArrayRef<int64_t> newShape, ArrayRef<int64_t> newStrides,
                    int64_t offset) const {
  assert(!isPacked() && newShape.size() == newStrides.size());
  Tensor result = *this;
  result.data += offset * elementBytes(elementType);
  result.shape.assign(newShape.begin(), newShape.end());
  result.strides.assign(newStrides.begin(), newStrides.end());
  return result;
}

Tensor Tensor::transpose(ArrayRef<int64_t> permutation) const {
  Tensor result = *this;
  for (auto [i, from] : llvm::enumerate(permutation)) {
    result.shape[i] = shape[from];
    result.strides[i] = strides[from];
  }
  return result;
}

Tensor Tensor::reshape(ArrayRef<int64_t> newShape) const {
  assert(isRowMajor() && product(newShape) == getNumElements());
  return view(newShape, rowMajorStrides(newShape));
}

Tensor Tensor::asBytes() const {
  assert(isPacked() && "plain tensors have elements");
  Tensor result = *this;
  result.packedType = {};
  result.elementType = IntegerType::get(packedType.getContext(), 8);
  result.shape.back() =
      getNumBytes() / product(ArrayRef<int64_t>(shape).drop_back());
  result.strides = rowMajorStrides(result.shape);
  return result;
}

Tensor Tensor::asPacked(graph::PackedType type) const {
  assert(isRowMajor() && getNumBytes() == graph::getPackedBytes(type));
  Tensor result = borrowPacked(type, data);
  result.storage = storage;
  return result;
}

FailureOr<Tensor> eval::rowMajor(const Tensor &tensor) {
  if (tensor.isRowMajor())
    return tensor;
  FailureOr<Tensor> result =
      Tensor::allocate(tensor.getElementType(), tensor.getShape());
  if (failed(result))
    return failure();
  auto copy = [&](auto size) {
    using T = decltype(size);
    copyStrided(tensor.dataAs<T>(), tensor.getShape(), tensor.getStrides(),
                result->mutableData<T>());
  };
  switch (elementBytes(tensor.getElementType())) {
  case 1:
    copy(uint8_t());
    break;
  case 2:
    copy(uint16_t());
    break;
  case 4:
    copy(uint32_t());
    break;
  default:
    copy(uint64_t());
    break;
  }
  return result;
}
