//===- reader.cpp - Opening a .poot file ----------------------------------===//

#include "poot/bundle/reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

using namespace poot;
using namespace poot::bundle;
using weights::StatusCode;

const char *bundle::refusalName(Refusal refusal) {
  switch (refusal) {
  case Refusal::None:
    return "None";
  case Refusal::Unreadable:
    return "Unreadable";
  case Refusal::NotABundle:
    return "NotABundle";
  case Refusal::TooOld:
    return "TooOld";
  case Refusal::TooNew:
    return "TooNew";
  case Refusal::Truncated:
    return "Truncated";
  case Refusal::Damaged:
    return "Damaged";
  case Refusal::Inconsistent:
    return "Inconsistent";
  }
  return "None";
}

namespace {

/// A table is entered through a 4-byte offset and starts with one, and our
/// writer shares none: more tables than this mean that the index refers to the
/// same ones many times.
uint32_t maxTables(uint64_t indexSize) { return uint32_t(indexSize / 8 + 1); }

using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

/// Enters TABLE's field FIELD, a vector. False when it leaves the buffer; null
/// in VECTOR when it is absent.
template <class V>
bool enterVector(flatbuffers::Verifier &verifier,
                 const flatbuffers::Table *table, uint16_t field,
                 const V *&vector) {
  if (!table->VerifyOffset(verifier, field))
    return false;
  vector = table->GetPointer<const V *>(field);
  return verifier.VerifyVector(vector);
}

/// The FlatBuffers verifier bounds the number of tables it visits, but not that
/// of the strings in vectors of strings, so that a small file could keep it
/// busy for hours. There are such vectors in two places; this proves that they
/// hold no more strings than the index has room for.
bool stringVectorsAreBounded(const uint8_t *data, size_t size) {
  flatbuffers::Verifier verifier(data, size, /*max_depth=*/64, maxTables(size));
  uint64_t left = size / sizeof(flatbuffers::uoffset_t);
  auto enterTable = [&](const flatbuffers::Table *table) {
    return table->VerifyTableStart(verifier) && verifier.EndTable();
  };
  auto countStrings = [&](const flatbuffers::Table *table, uint16_t field) {
    const Strings *strings = nullptr;
    if (!enterVector(verifier, table, field, strings))
      return false;
    const uint64_t count = strings ? strings->size() : 0;
    if (count > left)
      return false;
    left -= count;
    return true;
  };

  const flatbuffers::uoffset_t root = verifier.VerifyOffset(0);
  if (root == 0)
    return false;
  const auto *index = reinterpret_cast<const flatbuffers::Table *>(data + root);
  const Tables *targets = nullptr;
  if (!enterTable(index) ||
      !enterVector(verifier, index, fb::Bundle::VT_TARGETS, targets))
    return false;
  for (uint32_t t = 0; targets && t != targets->size(); ++t) {
    const flatbuffers::Table *target = targets->Get(t);
    const Tables *kernels = nullptr;
    if (!enterTable(target) ||
        !countStrings(target, fb::Target::VT_REQUIRED_FEATURES) ||
        !enterVector(verifier, target, fb::Target::VT_KERNELS, kernels))
      return false;
    for (uint32_t k = 0; kernels && k != kernels->size(); ++k)
      if (!enterTable(kernels->Get(k)) ||
          !countStrings(kernels->Get(k), fb::Kernel::VT_REQUIRED_FEATURES))
        return false;
  }
  return true;
}

std::string hex(uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[value >> shift & 15];
  return digits;
}

std::string supportedVersions() {
  return kOldestFormatVersion == kFormatVersion
             ? weights::concat("version ", kFormatVersion)
             : weights::concat("versions ", kOldestFormatVersion, " to ",
                               kFormatVersion);
}

/// What a failed check of the file says.
struct Problem {
  Refusal refusal;
  std::string text;
};

template <class... Parts>
std::optional<Problem> problem(Refusal refusal, const Parts &...parts) {
  return Problem{refusal, weights::concat(parts...)};
}

std::optional<Problem> checkHeader(ByteSpan bytes, FileHeader &header) {
  const size_t known = std::min(bytes.size, sizeof kMagic);
  // "POOT", but not the bytes that a transfer of text changes.
  if (known == sizeof kMagic && std::memcmp(bytes.data, kMagic, known) != 0 &&
      std::memcmp(bytes.data + 1, kMagic + 1, 4) == 0)
    return problem(Refusal::NotABundle,
                   "not a poot bundle, but may have been one: line ends or "
                   "high bits differ, as after a transfer as text; transfer it "
                   "again, as binary");
  if (known == 0 || std::memcmp(bytes.data, kMagic, known) != 0)
    return problem(Refusal::NotABundle,
                   "not a poot bundle: it doesn't start with the bytes of one");
  // The version is read before anything whose place may change with it.
  constexpr size_t kVersionEnd = offsetof(FileHeader, headerSize);
  if (bytes.size >= kVersionEnd) {
    std::memcpy(&header.version, bytes.data + offsetof(FileHeader, version),
                sizeof header.version);
    if (header.version > kFormatVersion)
      return problem(Refusal::TooNew, "a bundle of version ", header.version,
                     ", but this build reads ", supportedVersions(),
                     "; compile the model again with this release, or use a "
                     "newer runtime");
    if (header.version < kOldestFormatVersion)
      return problem(Refusal::TooOld, "a bundle of version ", header.version,
                     ", but this build reads ", supportedVersions(),
                     "; compile the model again");
  }
  if (bytes.size < sizeof header)
    return problem(Refusal::Truncated,
                   "the file ends inside its header, after ", bytes.size,
                   " of ", sizeof header, " bytes");
  std::memcpy(&header, bytes.data, sizeof header);
  if (header.headerSize != sizeof header)
    return problem(Refusal::Damaged, "the header claims a size of ",
                   header.headerSize, " bytes; version ", header.version,
                   " has ", sizeof header);
  if (header.reserved[0] != 0 || header.reserved[1] != 0)
    return problem(Refusal::Damaged,
                   "the header's reserved fields are not zero");
  if (header.indexSize < 8 || header.indexSize > kMaxIndexSize)
    return problem(Refusal::Damaged, "the header claims an index of ",
                   header.indexSize, " bytes; allowed are 8 to ",
                   kMaxIndexSize);
  const uint64_t dataStart = alignToSection(sizeof header + header.indexSize);
  if (header.dataStart != dataStart)
    return problem(Refusal::Damaged, "the header claims that data start at ",
                   header.dataStart, "; behind this index they start at ",
                   dataStart);
  if (header.dataSize > kMaxFileSize)
    return problem(Refusal::Damaged, "the header claims data of ",
                   header.dataSize, " bytes; at most ", kMaxFileSize,
                   " are allowed");
  const uint64_t fileSize = header.dataStart + header.dataSize;
  if (bytes.size < fileSize)
    return problem(Refusal::Truncated, "the file has ", bytes.size, " of ",
                   fileSize, " bytes: it was cut, or is still being copied");
  if (bytes.size > fileSize)
    return problem(Refusal::Damaged, "the file has ", bytes.size,
                   " bytes, but the header says ", fileSize);
  for (uint64_t i = sizeof header + header.indexSize; i != dataStart; ++i)
    if (bytes.data[i] != 0)
      return problem(Refusal::Damaged, "byte ", i,
                     " between the index and the data is not zero");
  return std::nullopt;
}

std::optional<Problem> checkIndex(ByteSpan bytes, const FileHeader &header,
                                  const fb::Bundle *&index) {
  const uint8_t *data = bytes.data + sizeof header;
  const size_t size = header.indexSize;
  const uint64_t hash = XXH3_64bits(data, size);
  if (hash != header.indexHash)
    return problem(Refusal::Damaged, "the index is damaged: its hash is ",
                   hex(hash), ", the header says ", hex(header.indexHash));
  if (!fb::BundleBufferHasIdentifier(data))
    return problem(Refusal::Damaged,
                   "the index is damaged: it is no FlatBuffer of a bundle");
  flatbuffers::Verifier verifier(data, size, /*max_depth=*/64, maxTables(size));
  if (!stringVectorsAreBounded(data, size) || !fb::VerifyBundleBuffer(verifier))
    return problem(Refusal::Damaged,
                   "the index is damaged: it points outside itself");
  index = fb::GetBundle(data);
  if (index->version() != header.version)
    return problem(Refusal::Damaged, "the index is of version ",
                   index->version(), ", but the header of ", header.version);
  std::vector<std::string> messages =
      verifyIndex(*index, size, header.dataSize);
  if (messages.empty())
    return std::nullopt;
  std::string text = "the index contradicts itself";
  for (const std::string &message : messages)
    text += "\n  " + message;
  return Problem{Refusal::Inconsistent, text};
}

StatusCode statusCode(Refusal refusal) {
  return refusal == Refusal::TooOld || refusal == Refusal::TooNew
             ? StatusCode::Unsupported
             : StatusCode::Malformed;
}

} // namespace

Expected<BundleFile> BundleFile::openMemory(ByteSpan bytes,
                                            const std::string &name,
                                            Refusal *refusal) {
  if (refusal)
    *refusal = Refusal::None;
  if (reinterpret_cast<uintptr_t>(bytes.data) % 8 != 0)
    return weights::makeError(
        StatusCode::InvalidArgument, name,
        ": the bundle's memory is not aligned to 8 bytes");
  BundleFile file;
  file.bytes_ = bytes;
  file.name_ = name;
  std::optional<Problem> found = checkHeader(bytes, file.header_);
  if (!found)
    found = checkIndex(bytes, file.header_, file.index_);
  if (!found)
    return file;
  if (refusal)
    *refusal = found->refusal;
  return weights::makeError(statusCode(found->refusal), name, ": ",
                            found->text);
}

Expected<BundleFile> BundleFile::open(const std::string &path,
                                      Refusal *refusal) {
  Expected<weights::MappedFile> mapping = weights::MappedFile::open(path);
  if (!mapping) {
    if (refusal)
      *refusal = Refusal::Unreadable;
    return mapping.status();
  }
  Expected<BundleFile> file = openMemory(mapping->bytes(), path, refusal);
  if (file)
    file->mapping_ = std::move(*mapping);
  return file;
}

ByteSpan BundleFile::section(uint32_t i) const {
  const fb::Section &section = *index_->sections()->Get(i);
  return bytes_.slice(header_.dataStart + section.offset(), section.size());
}

ByteSpan BundleFile::code(const fb::Code &code) const {
  return section(code.section()).slice(code.offset(), code.size());
}

bool BundleFile::isIntact(uint32_t i) const {
  const ByteSpan bytes = section(i);
  return XXH3_64bits(bytes.data, bytes.size) ==
         index_->sections()->Get(i)->hash();
}

Status BundleFile::verifySections() const {
  std::string text;
  const uint32_t count = index_->sections() ? index_->sections()->size() : 0;
  for (uint32_t i = 0; i != count; ++i) {
    const ByteSpan bytes = section(i);
    const uint64_t hash = XXH3_64bits(bytes.data, bytes.size);
    const uint64_t expected = index_->sections()->Get(i)->hash();
    if (hash != expected)
      text += weights::concat("\n  sections[", i, "]: its hash is ", hex(hash),
                              ", the index says ", hex(expected));
  }
  if (text.empty())
    return Status();
  return weights::makeError(StatusCode::Malformed, name_,
                            ": sections are damaged", text);
}
