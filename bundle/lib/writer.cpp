//===- writer.cpp - Writing a .poot file ----------------------------------===//
//
// Sections are read twice, once for their hashes, which the index in front of
// them holds, and once for the copy; nothing but the index is kept in memory. A
// section file that changes in between is noticed.
//
//===----------------------------------------------------------------------===//

#include "poot/bundle/writer.h"
#include "poot/bundle/reader.h"
#include "poot/weights/atomic_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <unistd.h>

using namespace poot;
using namespace poot::bundle;
using weights::ByteSpan;
using weights::Expected;
using weights::Status;
using weights::StatusCode;

namespace {

/// Where bytes go, in order.
using Sink = std::function<Status(ByteSpan)>;

Status invalid(std::string text) {
  return Status(StatusCode::InvalidArgument, std::move(text));
}

//===----------------------------------------------------------------------===//
// The index
//===----------------------------------------------------------------------===//

/// Finds what FlatBuffers would trip over: absent objects that the schema
/// requires. The place of the first goes to PLACE.
class AbsentObject {
public:
  explicit AbsentObject(std::string &place) : place(place) {}

  bool in(const fb::BundleT &index) {
    return any("model", index.model, [](auto &) { return false; }) ||
           typed("consts", index.consts) || typed("states", index.states) ||
           any("sections", index.sections, [](auto &) { return false; }) ||
           any("targets", index.targets,
               [&](const fb::TargetT &target) { return in(target); });
  }

private:
  bool in(const fb::TargetT &target) {
    return any("kernels", target.kernels,
               [&](const fb::KernelT &kernel) { return in(kernel); }) ||
           typed("computed", target.computed) ||
           (target.load && within("load", in(*target.load))) ||
           any("programs", target.programs,
               [&](const fb::ProgramT &program) { return in(program); });
  }

  bool in(const fb::KernelT &kernel) {
    return any("code", kernel.code, [](auto &) { return false; }) ||
           any("tests", kernel.tests, [&](const fb::TestVectorT &test) {
             return any("inputs", test.inputs, [](auto &) { return false; }) ||
                    any("expected", test.expected,
                        [](auto &) { return false; });
           });
  }

  bool in(const fb::ProgramT &program) {
    return typed("slots", program.slots) || typed("outputs", program.outputs) ||
           any("buffers", program.buffers, [](auto &) { return false; }) ||
           any("tensor_maps", program.tensor_maps,
               [](auto &) { return false; }) ||
           any("commands", program.commands,
               [&](const fb::CommandT &command) { return in(command); });
  }

  bool in(const fb::CommandT &command) {
    if (!command.body.value)
      return within("body", true);
    const fb::DispatchT *dispatch = command.body.AsDispatch();
    return dispatch &&
           any("arguments", dispatch->arguments, [](auto &) { return false; });
  }

  /// Elements that have a type.
  template <class T>
  bool typed(const char *field, const std::vector<std::unique_ptr<T>> &values) {
    return any(field, values,
               [&](const T &value) { return within("type", !value.type); });
  }

  /// Whether an element is absent, or FUNCTION finds something in it.
  template <class T, class F>
  bool any(const char *field, const std::vector<std::unique_ptr<T>> &values,
           F function) {
    for (size_t i = 0; i != values.size(); ++i)
      if (!values[i] || function(*values[i]))
        return within(weights::concat(field, '[', i, ']'), true);
    return false;
  }

  bool within(const std::string &step, bool found) {
    if (found)
      place = place.empty() ? step : step + '.' + place;
    return found;
  }

  std::string &place;
};

/// Header and index up to the start of the data area, which will be DATA_SIZE
/// bytes.
Expected<std::vector<uint8_t>> encode(const fb::BundleT &index,
                                      uint64_t dataSize) {
  std::string place;
  if (AbsentObject(place).in(index))
    return invalid(weights::concat("the bundle's index lacks ", place));

  // FlatBuffers aborts beyond 2 GiB, and doubles its memory as it grows. No
  // index comes near that.
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishBundleBuffer(builder, fb::Bundle::Pack(builder, &index));
  const ByteSpan packed = {builder.GetBufferPointer(), builder.GetSize()};

  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.headerSize = sizeof header;
  header.indexSize = packed.size;
  header.indexHash = XXH3_64bits(packed.data, packed.size);
  header.dataStart = alignToSection(sizeof header + packed.size);
  header.dataSize = dataSize;

  const fb::Bundle &finished = *fb::GetBundle(packed.data);
  std::vector<std::string> messages =
      verifyIndex(finished, packed.size, dataSize);
  if (!messages.empty()) {
    std::string text = "the bundle's index contradicts itself";
    for (const std::string &message : messages)
      text += "\n  " + message;
    return invalid(text);
  }

  std::vector<uint8_t> bytes(header.dataStart);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, packed.data, packed.size);
  return bytes;
}

uint64_t dataSizeOf(const fb::BundleT &index) {
  if (index.sections.empty() || !index.sections.back())
    return 0;
  return index.sections.back()->offset + index.sections.back()->size;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

class FileDescriptor {
public:
  explicit FileDescriptor(int number) : number(number) {}
  ~FileDescriptor() {
    if (number >= 0)
      ::close(number);
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;

  const int number;
};

/// Passes the bytes of SOURCE to SINK, and their hash to HASH.
Status stream(const SectionSource &source, const Sink &sink, uint64_t &hash) {
  if (source.path.empty()) {
    hash = XXH3_64bits(source.bytes.data, source.bytes.size);
    return sink(source.bytes);
  }
  // Read, not mapped: a file that shrinks meanwhile is an error, not a signal.
  auto failed = [&](const std::string &why) {
    return weights::makeError(StatusCode::IoError, source.path, ": ", why);
  };
  FileDescriptor file(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0)
    return failed("can't be opened: " + weights::systemError(errno));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::vector<uint8_t> block(size_t(1) << 20);
  for (uint64_t done = 0; done != source.fileSize;) {
    const size_t wanted =
        size_t(std::min<uint64_t>(block.size(), source.fileSize - done));
    const ssize_t got = ::pread(file.number, block.data(), wanted,
                                off_t(source.fileOffset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failed("can't be read: " + weights::systemError(errno));
    if (got == 0)
      return failed(weights::concat("ends before byte ",
                                    source.fileOffset + source.fileSize));
    XXH3_64bits_update(&state, block.data(), size_t(got));
    if (Status status = sink({block.data(), size_t(got)}); !status.ok())
      return status;
    done += uint64_t(got);
  }
  hash = XXH3_64bits_digest(&state);
  return Status();
}

uint64_t sizeOf(const SectionSource &source) {
  return source.path.empty() ? source.bytes.size : source.fileSize;
}

/// Describes SECTIONS in INDEX.
Status describe(fb::BundleT &index,
                const std::vector<SectionSource> &sections) {
  index.version = kFormatVersion;
  index.sections.clear();
  uint64_t end = 0;
  for (const SectionSource &source : sections) {
    auto section = std::make_unique<fb::SectionT>();
    section->kind = source.kind;
    section->offset = alignToSection(end);
    section->size = sizeOf(source);
    if (section->size > kMaxFileSize - section->offset)
      return invalid(weights::concat("the sections take more than ",
                                     kMaxFileSize, " bytes"));
    end = section->offset + section->size;
    uint64_t hash = 0;
    Status status = stream(source, [](ByteSpan) { return Status(); }, hash);
    if (!status.ok())
      return status;
    section->hash = hash;
    index.sections.push_back(std::move(section));
  }
  return Status();
}

/// Passes the whole file to SINK.
Status writeAll(fb::BundleT &index, const std::vector<SectionSource> &sections,
                const Sink &sink) {
  if (Status status = describe(index, sections); !status.ok())
    return status;
  const uint64_t dataSize = dataSizeOf(index);
  Expected<std::vector<uint8_t>> front = encode(index, dataSize);
  if (!front)
    return front.status();
  if (Status status = sink({front->data(), front->size()}); !status.ok())
    return status;

  static const uint8_t zeros[kSectionAlignment] = {};
  uint64_t end = 0;
  for (size_t i = 0; i != sections.size(); ++i) {
    const fb::SectionT &section = *index.sections[i];
    if (Status status = sink({zeros, size_t(section.offset - end)});
        !status.ok())
      return status;
    uint64_t hash = 0;
    if (Status status = stream(sections[i], sink, hash); !status.ok())
      return status;
    if (hash != section.hash)
      return weights::makeError(StatusCode::IoError, sections[i].path,
                                ": changed while it was copied");
    end = section.offset + section.size;
  }
  return Status();
}

} // namespace

Status bundle::writeBundle(const std::string &path, fb::BundleT &index,
                           const std::vector<SectionSource> &sections) {
  Expected<weights::AtomicFile> file = weights::AtomicFile::create(path);
  if (!file)
    return file.status();
  Status status = writeAll(index, sections, [&](ByteSpan part) {
    return file->write(part.data, part.size);
  });
  return status.ok() ? file->commit() : status;
}

Expected<std::vector<uint8_t>>
bundle::encodeBundle(fb::BundleT &index,
                     const std::vector<SectionSource> &sections) {
  std::vector<uint8_t> bytes;
  Status status = writeAll(index, sections, [&](ByteSpan part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Status();
  });
  if (!status.ok())
    return status;
  return bytes;
}

Expected<std::vector<uint8_t>> bundle::encodeIndex(const fb::BundleT &index) {
  return encode(index, dataSizeOf(index));
}
