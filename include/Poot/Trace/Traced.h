//===- Traced.h - Handles on values of a graph under construction ---------===//
//
// What a model family sees of a value: its element type and shape. The value
// itself stays with the Builder that made it. No MLIR here: element types are
// those of the one table in weights/.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TRACE_TRACED_H
#define POOT_TRACE_TRACED_H

#include "poot/weights/element_type.h"

namespace poot::trace {

using weights::ElementType;
using weights::Shape;

/// Stands for the outermost extent of a state that a session decides on.
inline constexpr int64_t kOpenExtent = -1;

/// Element type (i1 is `Bool`; packed encodings included) and extents.
struct TensorType {
  ElementType element = ElementType::F32;
  Shape shape;

  bool operator==(const TensorType &other) const {
    return element == other.element && shape == other.shape;
  }
  bool operator!=(const TensorType &other) const { return !(*this == other); }
};

/// "f32[2, 64]"; an open extent is "?".
std::string toString(const TensorType &type);

/// A value of the graph that a Builder records; falsy after an error. Copied
/// freely; valid as long as its builder.
class Traced {
public:
  Traced() = default;

  explicit operator bool() const { return handle; }
  const TensorType &type() const { return tensorType; }
  ElementType element() const { return tensorType.element; }
  const Shape &shape() const { return tensorType.shape; }
  int64_t rank() const { return static_cast<int64_t>(tensorType.shape.size()); }

  /// Extent of dimension I; negative I counts from the innermost, -1. Only for
  /// I within the rank.
  int64_t dim(int64_t i) const {
    return tensorType.shape[static_cast<size_t>(i < 0 ? i + rank() : i)];
  }

private:
  friend class Builder;
  Traced(const void *handle, TensorType type)
      : handle(handle), tensorType(std::move(type)) {}

  const void *handle = nullptr; ///< mlir::Value, opaque.
  TensorType tensorType;
};

} // namespace poot::trace

#endif // POOT_TRACE_TRACED_H
