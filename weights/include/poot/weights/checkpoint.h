// One view over a model's weights, whatever files they are stored in.

#ifndef POOT_WEIGHTS_CHECKPOINT_H
#define POOT_WEIGHTS_CHECKPOINT_H

#include "poot/weights/gguf.h"
#include "poot/weights/safetensors.h"

#include <memory>
#include <unordered_map>

namespace poot::weights {

class Checkpoint {
public:
  /// Opens PATH:
  ///  - a GGUF file (by its magic) that is not one part of several;
  ///  - a .safetensors file;
  ///  - a file named *.index.json, which maps tensors to .safetensors files
  ///    beside it;
  ///  - a folder that holds model.safetensors.index.json or model.safetensors.
  /// Errors: those of the readers; an index that disagrees with its shards.
  static Expected<Checkpoint> open(const std::string &path);

  /// What was opened, for messages.
  const std::string &path() const { return path_; }

  const std::vector<TensorView> &tensors() const {
    return gguf_ ? gguf_->tensors() : tensors_;
  }
  /// Null when there is none.
  const TensorView *find(std::string_view name) const;

  /// The GGUF reader with its metadata; null for safetensors.
  const Gguf *gguf() const { return gguf_.get(); }

private:
  Status openIndex(const std::string &path);
  Status addShard(const std::string &path);

  std::string path_;
  std::unique_ptr<Gguf> gguf_;
  std::vector<Safetensors> shards_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string, size_t> index_;
};

} // namespace poot::weights

#endif // POOT_WEIGHTS_CHECKPOINT_H
