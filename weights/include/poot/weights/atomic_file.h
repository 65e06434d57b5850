// An output file that appears whole or not at all.
//
// Bytes go to a temporary file beside the target, which replaces the target
// when everything has reached the disk. Whatever fails (no such folder, no
// space, an I/O error that only close reports), the error names the target, and
// neither a partial target nor the temporary file is left. Every output file of
// the deployment half is written through this.
//
// A target that exists and is not a regular file (/dev/null, /dev/stdout, a
// pipe) is written directly: replacing a device by a file would be absurd.

#ifndef POOT_WEIGHTS_ATOMIC_FILE_H
#define POOT_WEIGHTS_ATOMIC_FILE_H

#include "poot/weights/mapped_file.h"

namespace poot::weights {

class AtomicFile {
public:
  /// Starts writing what will become PATH. A symbolic link is followed.
  static Expected<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  AtomicFile(const AtomicFile &) = delete;
  /// Without commit, removes the temporary file.
  ~AtomicFile();

  /// Appends SIZE bytes.
  Status write(const void *data, size_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }

  /// Appends zeros until the file is a multiple of ALIGNMENT bytes long.
  Status padTo(uint64_t alignment);

  /// Bytes written so far.
  uint64_t size() const { return size_; }

  /// Makes the file appear under its name. Nothing may be written afterwards.
  Status commit();

private:
  AtomicFile() = default;
  Status fail(std::string_view action);

  std::string path_;      // As the caller spelt it, for messages.
  std::string target_;    // With links resolved.
  std::string temporary_; // Empty: written directly, or done.
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// Writes BYTES to PATH in one go.
Status writeFile(const std::string &path, ByteSpan bytes);

} // namespace poot::weights

#endif // POOT_WEIGHTS_ATOMIC_FILE_H
