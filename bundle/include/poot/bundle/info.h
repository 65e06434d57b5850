//===- info.h - What a bundle holds, for people and programs --------------===//
//
// The text behind `poot-run --info` and its JSON form. Both take a bundle that
// the reader has accepted. Text of the file is escaped where it isn't
// printable.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_INFO_H
#define POOT_BUNDLE_INFO_H

#include "poot/bundle/reader.h"

#include <string>
#include <string_view>

namespace poot::bundle {

/// Tables, in plain text, that end with a line end.
std::string infoText(const BundleFile &file);

/// An object with the keys file, version, size, producer, model, consts,
/// states, sections and targets. Sizes are in bytes. Invalid UTF-8 in strings
/// is replaced by U+FFFD.
std::string infoJson(const BundleFile &file);

/// "f32 2x64", "q4_k gguf 4096x14336", "f16 ?x64".
std::string toString(const fb::TensorType &type);

/// TEXT on one line of a terminal: as it is, or quoted where it is longer than
/// 80 bytes or holds anything but printable ASCII.
std::string printable(std::string_view text);

/// "17 B", "3.2 KiB", "1.5 MiB", ...
std::string formatBytes(uint64_t bytes);

} // namespace poot::bundle

#endif // POOT_BUNDLE_INFO_H
