// UTF-8 decoding and a stream that stays valid.

#include "poot/serve/utf8.h"

using namespace poot::serve;

static constexpr const char *replacement = "\xEF\xBF\xBD"; // U+FFFD

Utf8Sequence poot::serve::readUtf8(std::string_view bytes) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned lead = at(0);
  if (lead < 0x80)
    return {Utf8Sequence::Valid, 1};

  // The second byte's range depends on the lead; all later ones are 80..BF.
  size_t length;
  unsigned low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0)
      low = 0xA0; // shorter would be overlong
    if (lead == 0xED)
      high = 0x9F; // above are surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0)
      low = 0x90; // shorter would be overlong
    if (lead == 0xF4)
      high = 0x8F; // above is past U+10FFFF
  } else {
    return {Utf8Sequence::Invalid, 1};
  }

  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size())
      return {Utf8Sequence::Incomplete, i};
    if (at(i) < low || at(i) > high)
      return {Utf8Sequence::Invalid, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Sequence::Valid, length};
}

std::string Utf8Stream::append(std::string_view bytes) {
  pending.append(bytes);
  std::string out;
  size_t position = 0;
  while (position < pending.size()) {
    std::string_view rest = std::string_view(pending).substr(position);
    Utf8Sequence sequence = readUtf8(rest);
    if (sequence.kind == Utf8Sequence::Incomplete)
      break;
    if (sequence.kind == Utf8Sequence::Valid)
      out.append(rest.substr(0, sequence.length));
    else
      out.append(replacement);
    position += sequence.length;
  }
  pending.erase(0, position);
  return out;
}

std::string Utf8Stream::finish() {
  bool cut = !pending.empty();
  pending.clear();
  return cut ? replacement : "";
}
