//===- Values.cpp - Values that the command line gives and gets -----------===//

#include "Values.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Eval/Philox.h"

#include "poot/weights/half.h"
#include "poot/weights/npy.h"
#include "poot/weights/tensor_view.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <charconv>

using namespace mlir;
using namespace poot;
using namespace poot::eval;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static FailureOr<Tensor> readFile(StringRef path, RankedTensorType type,
                                  EmitError emitError) {
  weights::Expected<weights::NpyArray> array = weights::readNpy(path.str());
  if (!array)
    return emitError() << array.status().message();
  weights::TensorView view{path.str(),
                           array->type,
                           array->shape,
                           {array->data.data(), array->data.size()}};
  // bf16 has no .npy type: its values travel as f32.
  bool isBF16 = type.getElementType().isBF16();
  Type storedType = type;
  if (isBF16)
    storedType = type.clone(Float32Type::get(type.getContext()));
  FailureOr<Tensor> borrowed = fromStored(view, storedType, emitError);
  if (failed(borrowed))
    return failure();
  FailureOr<Tensor> value =
      Tensor::allocate(type.getElementType(), borrowed->getShape());
  if (failed(value))
    return emitError() << "doesn't fit into memory";
  if (!isBF16) {
    llvm::copy(borrowed->bytes(), value->mutableData());
    return value;
  }
  for (int64_t i = 0, e = value->getNumElements(); i < e; ++i)
    value->mutableData<uint16_t>()[i] =
        weights::f32ToBf16(borrowed->dataAs<float>()[i]);
  return value;
}

static FailureOr<Tensor> splat(StringRef number, RankedTensorType type,
                               EmitError emitError) {
  Type elementType = type.getElementType();
  uint64_t bits = 0;
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat value(floatType.getFloatSemantics());
    auto status = value.convertFromString(number, APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return emitError() << "can't be 'splat:" << number
                         << "'; a number such as 'splat:1.5' can";
    }
    bits = value.bitcastToAPInt().getZExtValue();
  } else {
    int64_t value, width = elementType.getIntOrFloatBitWidth();
    bool parsed = !number.getAsInteger(10, value);
    if (!parsed ||
        !(width == 1 ? (value == 0 || value == 1) : llvm::isIntN(width, value)))
      return emitError() << "can't be 'splat:" << number
                         << "'; an integer that fits into " << elementType
                         << " can";
    bits = value;
  }
  return Tensor::splat(elementType, type.getShape(), &bits);
}

static FailureOr<Tensor> random(StringRef name, StringRef seedText,
                                RankedTensorType type, EmitError emitError) {
  uint64_t seed;
  if (seedText.getAsInteger(10, seed))
    return emitError() << "can't be 'random:" << seedText
                       << "'; 'random:SEED' with a non-negative integer can";
  Type elementType = type.getElementType();
  FailureOr<Tensor> value = Tensor::allocate(elementType, type.getShape());
  if (failed(value))
    return emitError() << "doesn't fit into memory";
  uint64_t stream = llvm::xxh3_64bits(name);
  int64_t bytes = elementBytes(elementType);
  for (int64_t i = 0, e = value->getNumElements(); i < e; ++i) {
    auto words = philox4x32({uint32_t(seed), uint32_t(seed >> 32)},
                            {uint32_t(i), uint32_t(i >> 32), uint32_t(stream),
                             uint32_t(stream >> 32)});
    uint64_t bits = words[0] | uint64_t(words[1]) << 32;
    if (auto floatType = dyn_cast<FloatType>(elementType)) {
      // 24 bits are exact in f32.
      APFloat number(float(words[0] >> 8) * 0x1p-23f - 1);
      bool inexact;
      number.convert(floatType.getFloatSemantics(),
                     APFloat::rmNearestTiesToEven, &inexact);
      bits = number.bitcastToAPInt().getZExtValue();
    } else if (elementType.isInteger(1)) {
      bits &= 1;
    }
    std::memcpy(value->mutableData() + i * bytes, &bits, bytes);
  }
  return value;
}

FailureOr<Tensor> eval::readValue(StringRef name, StringRef spec, Type type,
                                  StringRef folder, int64_t openExtent,
                                  EmitError emitError) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return emitError() << "has type " << type
                       << ", whose values come from --weights alone";
  if (ranked.hasRank() && !ranked.hasStaticShape() && openExtent > 0) {
    SmallVector<int64_t> shape(ranked.getShape());
    llvm::replace(shape, ShapedType::kDynamic, openExtent);
    if (!graph::countElements(shape))
      return emitError() << "has " << openExtent
                         << " rows by --open-extent; a tensor may have at most "
                         << graph::kMaxElements << " elements";
    ranked = ranked.clone(shape);
  }
  bool isSplat = spec.consume_front("splat:");
  bool isRandom = !isSplat && spec.consume_front("random:");
  if (!isSplat && !isRandom) {
    SmallString<128> path(spec);
    if (llvm::sys::path::is_relative(path)) {
      path = folder;
      llvm::sys::path::append(path, spec);
    }
    return readFile(path, ranked, emitError);
  }
  if (!ranked.hasStaticShape())
    return emitError() << "has an open extent; give --open-extent";
  return isSplat ? splat(spec, ranked, emitError)
                 : random(name, spec, ranked, emitError);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// bf16 widened to f32; other values as they are.
static FailureOr<Tensor> widenBF16(const Tensor &value) {
  if (value.isPacked() || !value.getElementType().isBF16())
    return value;
  FailureOr<Tensor> wide = Tensor::allocate(
      Float32Type::get(value.getElementType().getContext()), value.getShape());
  if (failed(wide))
    return failure();
  for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
    wide->mutableData<float>()[i] =
        weights::bf16ToF32(value.dataAs<uint16_t>()[i]);
  return wide;
}

LogicalResult eval::writeValue(const Tensor &value, StringRef path,
                               EmitError emitError) {
  FailureOr<Tensor> wide = widenBF16(value);
  if (failed(wide))
    return emitError() << "doesn't fit into memory";
  if (wide->isPacked())
    return emitError() << "has type " << wide->getType()
                       << ", which .npy files can't hold";
  ArrayRef<int64_t> shape = wide->getShape();
  weights::Status status = weights::writeNpy(
      path.str(), *graph::getElementType(wide->getElementType()),
      {shape.begin(), shape.end()}, wide->getData());
  if (!status.ok())
    return emitError() << status.message();
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Tensors with more elements are printed in part.
static constexpr int64_t kPrintAll = 1000;
/// How many leading and trailing entries of a dimension are printed then.
static constexpr int64_t kPrintEdge = 3;

/// The shortest decimal that reads back as the element at BYTES.
static void printElement(Type type, const uint8_t *bytes, raw_ostream &os) {
  char text[64];
  auto print = [&](auto value) {
    auto [end, error] = std::to_chars(text, text + sizeof text, value);
    os << StringRef(text, end - text);
  };
  auto load = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  if (type.isF64())
    return print(load(double()));
  if (type.isF32())
    return print(load(float()));
  if (type.isF16())
    return print(weights::f16ToF32(load(uint16_t())));
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    os << (load(uint8_t()) ? "true" : "false");
    return;
  case 8:
    return print(int(load(int8_t())));
  case 16:
    return print(load(int16_t()));
  case 32:
    return print(load(int32_t()));
  default:
    return print(load(int64_t()));
  }
}

/// The elements from DATA on, under SHAPE; DEPTH brackets are open.
static void printElements(Type type, ArrayRef<int64_t> shape,
                          const uint8_t *data, bool inPart, int depth,
                          raw_ostream &os) {
  if (shape.empty())
    return printElement(type, data, os);
  int64_t bytes = elementBytes(type);
  for (int64_t extent : shape.drop_front())
    bytes *= extent;
  bool isRow = shape.size() == 1;
  os << '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) {
      os << (isRow ? ", " : ",\n");
      if (!isRow)
        os.indent(depth + 1);
    }
    if (inPart && i == kPrintEdge && shape[0] > 2 * kPrintEdge) {
      os << "...";
      i = shape[0] - kPrintEdge - 1;
      continue;
    }
    printElements(type, shape.drop_front(), data + i * bytes, inPart, depth + 1,
                  os);
  }
  os << ']';
}

void eval::printValue(StringRef name, const Tensor &value, raw_ostream &os) {
  os << name << " : " << value.getType() << "\n";
  FailureOr<Tensor> wide = widenBF16(value);
  if (failed(wide) || wide->isPacked())
    return;
  printElements(wide->getElementType(), wide->getShape(), wide->getData(),
                wide->getNumElements() > kPrintAll, 0, os);
  os << "\n";
}
