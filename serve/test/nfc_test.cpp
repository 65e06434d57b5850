// Normalization form C against Hugging Face tokenizers.

#include "../lib/nfc.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>

using namespace poot::serve;

TEST(Nfc, EqualsTheReference) {
  auto golden = nlohmann::json::parse(
      std::ifstream(POOT_SOURCE_DIR "/serve/test/tokenizer_golden.json"));
  size_t changed = 0;
  for (size_t i = 0; i < golden["strings"].size(); ++i) {
    std::string text = golden["strings"][i];
    EXPECT_EQ(normalizeNfc(text), golden["nfc"][i].get<std::string>()) << text;
    changed += golden["strings"][i] != golden["nfc"][i];
  }
  EXPECT_GE(changed, 2u); // else nothing above tests it
}

TEST(Nfc, BytesThatAreNotUtf8PartTheText) {
  EXPECT_EQ(normalizeNfc("e\u0301\xFF"
                         "e\xFF\u0301\xC3"),
            "\u00E9\xFF"
            "e\xFF\u0301\xC3");
  EXPECT_EQ(normalizeNfc(""), "");
}

TEST(Nfc, ManyMarksTakeNoLonger) {
  // Marks of two classes by turns: each must pass half of those before it.
  std::string text = "a", below, above;
  for (int i = 0; i < 200000; ++i) {
    text += "\u0301\u0323"; // above, below
    below += "\u0323";
    above += "\u0301";
  }
  auto begin = std::chrono::steady_clock::now();
  std::string normal = normalizeNfc(text);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(normal, "\u1EA1" + below.substr(2) + above);
  EXPECT_LT(seconds.count(), 10);
}
