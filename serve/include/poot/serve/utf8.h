// One decoder for the tokenizer and for streamed output. Well-formed means
// what the Unicode standard's table 3-7 says: no overlong forms, no
// surrogates, nothing above U+10FFFF.

#ifndef POOT_SERVE_UTF8_H
#define POOT_SERVE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace poot::serve {

/// What stands at the front of a byte string.
struct Utf8Sequence {
  /// Valid: one well-formed sequence. Invalid: a maximal prefix of a sequence
  /// that no further byte can complete. Incomplete: the string ends inside a
  /// sequence that is well-formed so far.
  enum Kind { Valid, Invalid, Incomplete } kind;
  /// Bytes it takes, at least 1.
  size_t length;
};

/// Reads the sequence at the front of `bytes`, which must not be empty.
Utf8Sequence readUtf8(std::string_view bytes);

/// Turns bytes that arrive in pieces, such as those of generated tokens, into
/// pieces that are valid UTF-8 each. A sequence cut by the end of a piece is
/// held back until it is complete; each maximal invalid part becomes one
/// U+FFFD, as the Unicode standard recommends.
class Utf8Stream {
public:
  /// Takes more bytes, returns what can be written now.
  std::string append(std::string_view bytes);
  /// Returns what is left: U+FFFD if the stream ends inside a sequence.
  std::string finish();

private:
  std::string pending; // at most three bytes
};

} // namespace poot::serve

#endif // POOT_SERVE_UTF8_H
