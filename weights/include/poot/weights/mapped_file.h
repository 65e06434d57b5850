// A file mapped read-only into memory.
//
// Weights are read through this: pages arrive when they are touched and the
// kernel may drop them again, so a 40 GB file costs no memory of ours. The file
// must not be truncated while it is mapped (reading a page that is gone raises
// SIGBUS, as for every mapping).

#ifndef POOT_WEIGHTS_MAPPED_FILE_H
#define POOT_WEIGHTS_MAPPED_FILE_H

#include "poot/weights/status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace poot::weights {

/// Bytes that someone else owns.
struct ByteSpan {
  const uint8_t *data = nullptr;
  size_t size = 0;

  const uint8_t *begin() const { return data; }
  const uint8_t *end() const { return data + size; }
  /// LENGTH bytes from OFFSET; the caller has checked that they are inside.
  ByteSpan slice(size_t offset, size_t length) const {
    assert(offset <= size && length <= size - offset && "slice out of range");
    return {data + offset, length};
  }
};

class MappedFile {
public:
  /// Maps the whole of the regular file PATH. Errors, each with the path: it
  /// does not exist, may not be read, is a directory or a device, is empty.
  static Expected<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// Stable for the life of this object and of whatever it is moved into;
  /// aligned to a page.
  ByteSpan bytes() const { return bytes_; }
  const uint8_t *data() const { return bytes_.data; }
  size_t size() const { return bytes_.size; }
  const std::string &path() const { return path_; }

private:
  ByteSpan bytes_;
  std::string path_;
};

} // namespace poot::weights

#endif // POOT_WEIGHTS_MAPPED_FILE_H
