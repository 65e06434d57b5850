// Unicode normalization form C, for the tokenizers of models that were trained
// on it.

#ifndef POOT_SERVE_LIB_NFC_H
#define POOT_SERVE_LIB_NFC_H

#include <string>
#include <string_view>

namespace poot::serve {

/// `text` in normalization form C. Bytes that are not UTF-8 stay as they are
/// and part the text around them. Takes time n log n at most, however many
/// combining marks follow one another.
std::string normalizeNfc(std::string_view text);

} // namespace poot::serve

#endif // POOT_SERVE_LIB_NFC_H
