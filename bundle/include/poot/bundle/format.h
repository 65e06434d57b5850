//===- format.h - The layout of a .poot file ------------------------------===//
//
// The numbers of the file around the FlatBuffers index; docs/bundle-format.md
// says the same in prose. All integers are little-endian, all offsets 64-bit:
//
//   0          FileHeader
//   64         index: a FlatBuffer of bundle/schema/bundle.fbs
//   dataStart  sections, each at a multiple of 4096 from dataStart
//
// dataStart is the first multiple of 4096 behind the index, and a section's
// offset counts from it, so that the index doesn't depend on its own size.
// Everything between index, sections and end of file is zero.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_FORMAT_H
#define POOT_BUNDLE_FORMAT_H

#include <cstddef>
#include <cstdint>

namespace poot::bundle {

/// The version that this build writes, and the newest that it reads. Version 2
/// has test inputs in the planar layout, and permutations.
///
/// The promise: a build reads every version from kOldestFormatVersion to
/// kFormatVersion, and a bundle of each released version stays in
/// bundle/test/frozen, where a test loads it. Within a version the schema only
/// grows by optional fields at the end of a table, which an older reader may
/// ignore without doing anything wrong. Whatever an older reader would get
/// wrong (a new command, enumerator, or meaning of a field) raises the version.
/// A version leaves the range only with a major release of poot, and the
/// message of the reader then names the range that would do.
inline constexpr uint32_t kFormatVersion = 2;
inline constexpr uint32_t kOldestFormatVersion = 1;

/// The first eight bytes. The high bit, the two line ends and the end-of-file
/// character reveal a transfer that took the file for text.
inline constexpr uint8_t kMagic[8] = {0x89, 'P',  'O',  'O',
                                      'T',  '\r', '\n', 0x1a};

/// The start of the data area and every section in it are aligned to this, so
/// that sections can be mapped, and registered with a device, by the page.
inline constexpr uint64_t kSectionAlignment = 4096;

/// The index is no larger than FlatBuffers can address.
inline constexpr uint64_t kMaxIndexSize = (uint64_t(1) << 31) - 1;

/// No file is larger than this, which keeps every sum of offsets in range.
inline constexpr uint64_t kMaxFileSize = uint64_t(1) << 62;

/// The longest string of the index, in bytes.
inline constexpr uint64_t kMaxStringLength = 64 * 1024;

/// The most bytes that one test vector's buffers hold together.
inline constexpr uint64_t kMaxTestVectorBytes = uint64_t(256) << 20;

/// As it lies at offset 0 of the file.
struct FileHeader {
  uint8_t magic[8];
  uint32_t version;
  uint32_t headerSize;  ///< sizeof(FileHeader); the index follows.
  uint64_t indexSize;   ///< Bytes of the index, from headerSize on.
  uint64_t indexHash;   ///< XXH3-64 of the index.
  uint64_t dataStart;   ///< The index's end, rounded up to kSectionAlignment.
  uint64_t dataSize;    ///< dataStart + dataSize is the size of the file.
  uint64_t reserved[2]; ///< Zero.
};
static_assert(sizeof(FileHeader) == 64, "the header is part of the format");

inline constexpr uint64_t alignToSection(uint64_t size) {
  return (size + kSectionAlignment - 1) & ~(kSectionAlignment - 1);
}

} // namespace poot::bundle

#endif // POOT_BUNDLE_FORMAT_H
