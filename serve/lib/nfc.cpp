// Normalization form C over utf8proc's tables.

#include "nfc.h"

#include "poot/serve/utf8.h"

#include <algorithm>
#include <utf8proc.h>
#include <vector>

using namespace poot::serve;

/// Appends the normal form of valid UTF-8.
static void appendNormalized(std::string_view text, std::string &out) {
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t point;
    i += static_cast<size_t>(utf8proc_iterate(
        reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + i,
        static_cast<utf8proc_ssize_t>(text.size() - i), &point));
    utf8proc_int32_t parts[8]; // a canonical decomposition has at most four
    int boundClass = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        point, parts, 8, UTF8PROC_DECOMPOSE, &boundClass);
    points.insert(points.end(), parts, parts + count);
  }

  // Combining marks in the order of their classes. utf8proc would do it too,
  // in quadratic time.
  auto classOf = [](utf8proc_int32_t point) {
    return utf8proc_get_property(point)->combining_class;
  };
  for (size_t i = 0; i < points.size();) {
    if (classOf(points[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < points.size() && classOf(points[end]) != 0)
      ++end;
    std::stable_sort(points.begin() + i, points.begin() + end,
                     [&](utf8proc_int32_t a, utf8proc_int32_t b) {
                       return classOf(a) < classOf(b);
                     });
    i = end;
  }

  utf8proc_ssize_t count = utf8proc_normalize_utf32(
      points.data(), static_cast<utf8proc_ssize_t>(points.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    utf8proc_ssize_t size = utf8proc_encode_char(points[i], bytes);
    out.append(reinterpret_cast<const char *>(bytes),
               static_cast<size_t>(size));
  }
}

std::string poot::serve::normalizeNfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t plainBegin = 0; // of text that is valid, and not yet in `out`
  for (size_t i = 0; i < text.size();) {
    Utf8Sequence sequence = readUtf8(text.substr(i));
    if (sequence.kind != Utf8Sequence::Valid) {
      appendNormalized(text.substr(plainBegin, i - plainBegin), out);
      out.append(text.substr(i, sequence.length));
      plainBegin = i + sequence.length;
    }
    i += sequence.length;
  }
  appendNormalized(text.substr(plainBegin), out);
  return out;
}
