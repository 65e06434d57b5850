//===- reader.h - Opening a .poot file ------------------------------------===//
//
// Opens a bundle by mapping it, and proves it fit for use before anything of it
// is used: header, FlatBuffers structure, then meaning (every index in range,
// every slice inside its buffer, sizes that agree with types, ...). Whoever
// holds a BundleFile may follow every index of bundle.fbs without a check. Only
// what depends on the device (features, limits) and on the open extent of a
// state is left to the runtime. No input crashes or hangs the reader, and it
// allocates no more than a fixed multiple of the size of the index.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_READER_H
#define POOT_BUNDLE_READER_H

#include "poot/bundle/bundle_generated.h"
#include "poot/bundle/format.h"
#include "poot/weights/mapped_file.h"
#include "poot/weights/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace poot::bundle {

using weights::ByteSpan;
using weights::Expected;
using weights::Status;

/// Why a bundle could not be opened, for a program. The Status beside it says
/// it to a person.
enum class Refusal : uint8_t {
  None,
  Unreadable,   ///< The operating system could not open or map the file.
  NotABundle,   ///< It doesn't start with the magic bytes.
  TooOld,       ///< Its version is below kOldestFormatVersion.
  TooNew,       ///< Its version is above kFormatVersion.
  Truncated,    ///< It ends early.
  Damaged,      ///< Header, hash or index structure are broken.
  Inconsistent, ///< The index is readable but contradicts itself.
};

/// The name of a Refusal, as in the enumeration: "TooNew".
const char *refusalName(Refusal refusal);

/// A message for each violation of the rules of bundle.fbs in an index that
/// has passed the FlatBuffers verifier; empty when there is none. Each starts
/// with its place, such as
/// "targets[0].programs[2].commands[17].arguments[1]: ...". INDEX_SIZE is the
/// size of the index in bytes, DATA_SIZE that of the data area. At most
/// MAX_MESSAGES are given, then one that says how many more there are.
std::vector<std::string> verifyIndex(const fb::Bundle &index,
                                     uint64_t indexSize, uint64_t dataSize,
                                     size_t maxMessages = 20);

/// Whether the outermost extent of a type is fixed by the session only.
bool isOpen(const fb::TensorType &type);

class BundleFile {
public:
  /// Maps and verifies the file PATH. Where that fails and REFUSAL is given,
  /// *REFUSAL tells a program why.
  static Expected<BundleFile> open(const std::string &path,
                                   Refusal *refusal = nullptr);

  /// The same for BYTES in memory, which must stay alive, and start at a
  /// multiple of 8. NAME stands in messages where the path would.
  static Expected<BundleFile> openMemory(ByteSpan bytes,
                                         const std::string &name,
                                         Refusal *refusal = nullptr);

  /// The path or name that this was opened by.
  const std::string &name() const { return name_; }
  const FileHeader &header() const { return header_; }
  const fb::Bundle &index() const { return *index_; }
  uint64_t fileSize() const { return bytes_.size; }

  /// The bytes of section I of the index.
  ByteSpan section(uint32_t i) const;
  /// The bytes of one stored form of a kernel.
  ByteSpan code(const fb::Code &code) const;

  /// Whether section I has the hash that the index says.
  bool isIntact(uint32_t i) const;

  /// Compares every section with its hash, which reads the whole file. The
  /// message names each section that differs.
  Status verifySections() const;

private:
  BundleFile() = default;

  weights::MappedFile mapping_; // Empty for openMemory.
  ByteSpan bytes_;
  std::string name_;
  FileHeader header_ = {};
  const fb::Bundle *index_ = nullptr;
};

} // namespace poot::bundle

#endif // POOT_BUNDLE_READER_H
