// One stored tensor of a mapped file: what every reader of weights returns.

#ifndef POOT_WEIGHTS_TENSOR_VIEW_H
#define POOT_WEIGHTS_TENSOR_VIEW_H

#include "poot/weights/element_type.h"
#include "poot/weights/mapped_file.h"

#include <string>

namespace poot::weights {

struct TensorView {
  std::string name;
  ElementType type;
  Shape shape; ///< Outermost first, row-major.
  /// Exactly countBytes(type, shape) bytes, valid as long as the reader that
  /// returned the view. Not necessarily aligned: safetensors allows any offset.
  ByteSpan data;
};

} // namespace poot::weights

#endif // POOT_WEIGHTS_TENSOR_VIEW_H
