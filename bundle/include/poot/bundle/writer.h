//===- writer.h - Writing a .poot file ------------------------------------===//
//
// Takes the index as FlatBuffers objects, and the bytes of its sections from
// memory or from files. The same input gives the same bytes. An index that the
// reader would refuse is not written: the error lists what is wrong with it.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_WRITER_H
#define POOT_BUNDLE_WRITER_H

#include "poot/bundle/bundle_generated.h"
#include "poot/weights/mapped_file.h"
#include "poot/weights/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace poot::bundle {

/// The bytes of one section: memory that outlives the call, or a part of a
/// file, which is streamed. PATH decides: empty for memory.
struct SectionSource {
  fb::SectionKind kind = fb::SectionKind::Kernel;
  weights::ByteSpan bytes;
  std::string path;
  uint64_t fileOffset = 0;
  uint64_t fileSize = 0;

  static SectionSource fromMemory(fb::SectionKind kind,
                                  weights::ByteSpan bytes) {
    SectionSource source;
    source.kind = kind;
    source.bytes = bytes;
    return source;
  }
  static SectionSource fromFile(fb::SectionKind kind, std::string path,
                                uint64_t offset, uint64_t size) {
    SectionSource source;
    source.kind = kind;
    source.path = std::move(path);
    source.fileOffset = offset;
    source.fileSize = size;
    return source;
  }
};

/// Writes INDEX with SECTIONS to the file PATH, through a temporary name.
/// Fills in INDEX.version and INDEX.sections (section i is SECTIONS[i]); the
/// rest of INDEX refers to sections by that number. Errors: an index that
/// contradicts itself (InvalidArgument, with all messages), a section file that
/// can't be read, a target that can't be written.
weights::Status writeBundle(const std::string &path, fb::BundleT &index,
                            const std::vector<SectionSource> &sections);

/// The same into memory: the bytes that writeBundle would write.
weights::Expected<std::vector<uint8_t>>
encodeBundle(fb::BundleT &index, const std::vector<SectionSource> &sections);

/// Header and index alone, up to the start of the data area, for an INDEX whose
/// sections are described already. The reader accepts it once the sections
/// follow. For whoever lays out the data area itself.
weights::Expected<std::vector<uint8_t>> encodeIndex(const fb::BundleT &index);

} // namespace poot::bundle

#endif // POOT_BUNDLE_WRITER_H
