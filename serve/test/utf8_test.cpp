// Streamed output is valid UTF-8 whatever the bytes and however they are cut.

#include "poot/serve/utf8.h"

#include <gtest/gtest.h>

#include <random>

using namespace poot::serve;

static std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string out = stream.append(bytes);
  return out + stream.finish();
}

TEST(Utf8Stream, KeepsValidText) {
  std::string text = "a\u00e9\u20ac\U0001F642 \uFFFD end";
  EXPECT_EQ(whole(text), text);
}

TEST(Utf8Stream, HoldsBackACutSequence) {
  Utf8Stream stream;
  EXPECT_EQ(stream.append("x\xF0\x9F"), "x");
  EXPECT_EQ(stream.append("\x99"), "");
  EXPECT_EQ(stream.append("\x82y"), "\U0001F642y");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.append("\xE2\x82"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

// Expected values: Python's bytes.decode("utf-8", "replace").
TEST(Utf8Stream, ReplacesEachMaximalInvalidPart) {
  const char *r = "\uFFFD";
  auto times = [&](int n) {
    std::string out;
    for (int i = 0; i < n; ++i)
      out += r;
    return out;
  };
  EXPECT_EQ(whole("\x80"), times(1));
  EXPECT_EQ(whole("\xFF\xFE"), times(2));
  EXPECT_EQ(whole("\xC0\x80"), times(2));               // overlong
  EXPECT_EQ(whole("\xE0\x80\x80"), times(3));           // overlong
  EXPECT_EQ(whole("\xED\xA0\x80"), times(3));           // surrogate
  EXPECT_EQ(whole("\xF4\x90\x80\x80"), times(4));       // above U+10FFFF
  EXPECT_EQ(whole("\xF0\x9F\x99\x41"), times(1) + "A"); // cut by ASCII
  EXPECT_EQ(whole("\xE2\x82\xE2\x82\xAC"), times(1) + "\u20ac");
}

// The output does not depend on where the bytes were cut, and each piece of it
// is valid by itself.
TEST(Utf8Stream, RandomBytesInRandomPieces) {
  std::mt19937 random(7);
  // Bytes that begin, continue and break sequences.
  static constexpr unsigned char alphabet[] = {
      0x41, 0x80, 0xBF, 0x9F, 0xA0, 0xC2, 0xC1, 0xE0,
      0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0x90, 0x8F};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (unsigned i = random() % 24; i > 0; --i)
      bytes += static_cast<char>(alphabet[random() % sizeof(alphabet)]);
    Utf8Stream stream;
    std::string joined;
    auto take = [&](std::string piece) {
      for (size_t i = 0; i < piece.size();) {
        Utf8Sequence s = readUtf8(std::string_view(piece).substr(i));
        ASSERT_EQ(s.kind, Utf8Sequence::Valid);
        i += s.length;
      }
      joined += piece;
    };
    for (size_t i = 0; i < bytes.size();) {
      size_t n = std::min<size_t>(1 + random() % 3, bytes.size() - i);
      take(stream.append(std::string_view(bytes).substr(i, n)));
      i += n;
    }
    take(stream.finish());
    EXPECT_EQ(joined, whole(bytes));
  }
}
