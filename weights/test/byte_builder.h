// Builds files byte by byte, so that tests can write what no writer would.

#ifndef POOT_WEIGHTS_TEST_BYTE_BUILDER_H
#define POOT_WEIGHTS_TEST_BYTE_BUILDER_H

#include "poot/weights/gguf.h"

#include <cstring>
#include <string>
#include <vector>

namespace poot::weights::test {

inline ByteSpan spanOf(const std::string &bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

/// VALUE as it lies in memory.
template <class T> std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

/// A GGUF string: length, then bytes.
inline std::string ggufString(std::string_view text) {
  return raw<uint64_t>(text.size()) + std::string(text);
}

/// A metadata entry with a value already in bytes.
inline std::string ggufEntry(std::string_view key, GgufValueType type,
                             const std::string &value) {
  return ggufString(key) + raw(static_cast<uint32_t>(type)) + value;
}

/// An array value.
inline std::string ggufArray(uint32_t elementType, uint64_t count,
                             const std::string &elements) {
  return raw(elementType) + raw(count) + elements;
}

/// A tensor record; extents innermost first, as in the file.
inline std::string ggufTensor(std::string_view name,
                              std::vector<uint64_t> extents, uint32_t type,
                              uint64_t offset) {
  std::string out =
      ggufString(name) + raw(static_cast<uint32_t>(extents.size()));
  for (uint64_t extent : extents)
    out += raw(extent);
  return out + raw(type) + raw(offset);
}

/// A whole file. Counts are those of the records unless they are set.
struct GgufBuilder {
  std::string magic = "GGUF";
  uint32_t version = 3;
  int64_t tensorCount = -1;
  int64_t metadataCount = -1;
  std::vector<std::string> metadata;
  std::vector<std::string> tensors;
  size_t alignment = 32;
  std::string data;

  std::string build() const {
    std::string out = magic + raw(version);
    out += raw<uint64_t>(tensorCount < 0 ? tensors.size()
                                         : static_cast<uint64_t>(tensorCount));
    out +=
        raw<uint64_t>(metadataCount < 0 ? metadata.size()
                                        : static_cast<uint64_t>(metadataCount));
    for (const std::string &entry : metadata)
      out += entry;
    for (const std::string &tensor : tensors)
      out += tensor;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data;
  }
};

} // namespace poot::weights::test

#endif // POOT_WEIGHTS_TEST_BYTE_BUILDER_H
