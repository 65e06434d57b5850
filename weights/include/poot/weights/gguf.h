// Reader of GGUF files, versions 2 and 3, little-endian.
//
// The file is mapped and checked as a whole when it is opened: afterwards every
// tensor's bytes lie inside it, no two overlap, and every metadata value can be
// read. Nothing is allocated on the word of a count that the file's length does
// not bear out. Strings and arrays stay in the mapping; a string_view from here
// lives as long as the reader.
//
// Format: ggml/docs/gguf.md of llama.cpp. poot's limits beyond it: alignment
// from 8 bytes to 1 MiB, at most four extents, tensor names of 1 to 64 bytes.

#ifndef POOT_WEIGHTS_GGUF_H
#define POOT_WEIGHTS_GGUF_H

#include "poot/weights/tensor_view.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace poot::weights {

/// Types of metadata values, with their numbers in the file.
enum class GgufValueType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};

/// "u32", "string", "array".
const char *getName(GgufValueType type);

/// One metadata entry; Gguf::get and Gguf::getArray read its value.
struct GgufMetadata {
  std::string_view key;
  GgufValueType type;
  GgufValueType elementType; ///< Of an array; otherwise the same as type.
  uint64_t count;            ///< Elements of an array; otherwise 1.
  size_t offset;             ///< Of the (first) value in the file.
};

class Gguf {
public:
  /// Opens and checks the file at PATH. Every error names the file, the place
  /// (byte offset, key or tensor) and what is allowed.
  static Expected<Gguf> open(const std::string &path);

  /// The same over bytes that the caller keeps alive; NAME stands in messages.
  static Expected<Gguf> parse(ByteSpan bytes, std::string name);

  const std::string &name() const { return name_; }
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }

  /// In the order of the file.
  const std::vector<GgufMetadata> &metadata() const { return metadata_; }
  const std::vector<TensorView> &tensors() const { return tensors_; }

  /// Null when there is none.
  const GgufMetadata *findMetadata(std::string_view key) const;
  const TensorView *findTensor(std::string_view name) const;
  bool has(std::string_view key) const { return findMetadata(key); }

  /// The value of KEY. T is bool, a fixed-width integer, float, double or
  /// std::string_view, and the file must hold exactly that type. Errors: the
  /// key is missing (NotFound), has another type (Malformed).
  template <class T> Expected<T> get(std::string_view key) const;

  /// The same, but FALLBACK when the key is missing. A value of another type is
  /// still an error.
  template <class T> Expected<T> getOr(std::string_view key, T fallback) const {
    return has(key) ? get<T>(key) : Expected<T>(std::move(fallback));
  }

  /// All elements of the array KEY; T as for get, except bool.
  template <class T>
  Expected<std::vector<T>> getArray(std::string_view key) const;

private:
  Status load(ByteSpan bytes);

  MappedFile file_;
  ByteSpan bytes_;
  std::string name_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::vector<GgufMetadata> metadata_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, size_t> metadataIndex_;
  std::unordered_map<std::string_view, size_t> tensorIndex_;
};

} // namespace poot::weights

#endif // POOT_WEIGHTS_GGUF_H
