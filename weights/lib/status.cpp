// Text helpers of error messages.

#include "poot/weights/status.h"

#include <cctype>
#include <system_error>

namespace poot::weights {

std::string quoted(std::string_view text) {
  constexpr size_t limit = 80;
  std::string out = "'";
  for (unsigned char c : text.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else {
      const char *digits = "0123456789abcdef";
      out += "\\x";
      out += digits[c >> 4];
      out += digits[c & 15];
    }
  }
  out += '\'';
  if (text.size() > limit)
    out += "...";
  return out;
}

std::string systemError(int errorNumber) {
  std::string text = std::generic_category().message(errorNumber);
  // "Is a directory" reads well after a colon in lower case, "I/O error"
  // doesn't.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

} // namespace poot::weights
