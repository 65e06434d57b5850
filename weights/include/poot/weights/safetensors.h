// Reader of safetensors files.
//
// The file is mapped and checked as a whole when it is opened: the header is
// the JSON that the format prescribes and nothing else, every dtype is known,
// every tensor has the bytes that its shape takes, and the tensors cover the
// data without gap or overlap. Format: safetensors/src/tensor.rs.

#ifndef POOT_WEIGHTS_SAFETENSORS_H
#define POOT_WEIGHTS_SAFETENSORS_H

#include "poot/weights/tensor_view.h"

#include <vector>

namespace poot::weights {

class Safetensors {
public:
  /// Opens and checks the file at PATH. Every error names the file, the place
  /// (byte offset or tensor) and what is allowed.
  static Expected<Safetensors> open(const std::string &path);

  /// The same over bytes that the caller keeps alive; NAME stands in messages.
  static Expected<Safetensors> parse(ByteSpan bytes, const std::string &name);

  /// By position in the file. Data may have any alignment; a tensor with an
  /// extent of 0 has no data.
  const std::vector<TensorView> &tensors() const { return tensors_; }

private:
  MappedFile file_;
  std::vector<TensorView> tensors_;
};

} // namespace poot::weights

#endif // POOT_WEIGHTS_SAFETENSORS_H
