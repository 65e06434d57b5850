// Reader and writer of .kir.json; docs/kir-json.md describes the format.
//
// The writer is deterministic, and what it writes is read back to the same
// bytes. The reader refuses whatever it doesn't know, and never takes memory
// out of proportion to the text.

#ifndef POOT_KIR_JSON_H
#define POOT_KIR_JSON_H

#include "poot/kir/kir.h"
#include "poot/weights/status.h"

namespace poot::kir {

/// The version that is written, and the only one that is read. It counts up
/// whenever a file of the old kind could be read wrongly or not at all: a file
/// is made and read by builds of one release, as bundles carry KIR only for the
/// interpreter, so there is no older version to keep reading. An op or
/// attribute that is added changes no version: builds that lack it say so by
/// its name.
inline constexpr int kJsonVersion = 1;

/// Longest text that is read.
inline constexpr uint64_t kMaxJsonBytes = uint64_t(1) << 28;

/// The module as text, which ends in a newline. It must be verified.
std::string writeJson(const Module &module);

/// Reads and verifies. Messages begin with NAME, the file's.
weights::Expected<Module> readJson(std::string_view text,
                                   std::string_view name);

/// Opens, reads and verifies the file at PATH.
weights::Expected<Module> readJsonFile(const std::string &path);

/// A type as toString() spells it, and only so.
weights::Expected<Type> parseType(std::string_view text);

} // namespace poot::kir

#endif // POOT_KIR_JSON_H
