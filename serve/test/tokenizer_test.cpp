// The tokenizer against the reference implementations on small vocabularies
// (make_tokenizer_golden.py writes the expected values), on metadata that is
// wrong, and on input that is long or is not text.

#include "../lib/nfc.h"
#include "../lib/pre_tokenizer.h"
#include "poot/serve/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <fstream>
#include <random>

using namespace poot;
using namespace poot::serve;
using nlohmann::json;

static const json &golden() {
  static const json value = json::parse(
      std::ifstream(POOT_SOURCE_DIR "/serve/test/tokenizer_golden.json"));
  return value;
}

static TokenizerData bpeData(const std::string &preTokenizer) {
  const json &model = golden()["bpe"][preTokenizer];
  TokenizerData data;
  data.model = "gpt2";
  data.preTokenizer = preTokenizer;
  data.tokens = model["tokens"].get<std::vector<std::string>>();
  data.merges = model["merges"].get<std::vector<std::string>>();
  data.addBos = false;
  return data;
}

static TokenizerData spmData(const json &model, const char *types) {
  TokenizerData data;
  data.model = "llama";
  data.tokens = model["tokens"].get<std::vector<std::string>>();
  data.scores = model["scores"].get<std::vector<float>>();
  data.types = model[types].get<std::vector<int32_t>>();
  data.addSpacePrefix = model["add_space_prefix"].get<bool>();
  data.addBos = false;
  return data;
}

static Tokenizer make(TokenizerData data) {
  weights::Expected<Tokenizer> result = Tokenizer::create(std::move(data));
  if (!result) {
    ADD_FAILURE() << result.status().message();
    abort();
  }
  return *std::move(result);
}

static std::vector<int32_t> encode(const Tokenizer &tokenizer,
                                   std::string_view text,
                                   EncodeOptions options = {},
                                   size_t *dropped = nullptr) {
  auto ids = tokenizer.encode(text, options, dropped);
  EXPECT_TRUE(ids) << ids.status().message();
  return ids ? *ids : std::vector<int32_t>();
}

/// What is left of a text after it went through the tokenizer.
static std::string normalForm(std::string_view preTokenizer,
                              const std::string &text) {
  return preTokenizer == "qwen2" ? normalizeNfc(text) : text;
}

class EachPreTokenizer : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, EachPreTokenizer,
                         testing::Values("gpt-2", "smollm", "llama-bpe",
                                         "qwen2"));

TEST_P(EachPreTokenizer, SplitsLikeTheReference) {
  auto preTokenizer = PreTokenizer::create(GetParam());
  ASSERT_TRUE(preTokenizer) << preTokenizer.status().message();
  const json &strings = golden()["strings"];
  const json &expected = golden()["splits"][GetParam()];
  ASSERT_GE(strings.size(), 40u);
  ASSERT_EQ(strings.size(), expected.size());
  for (size_t i = 0; i < strings.size(); ++i) {
    std::string text = strings[i];
    std::vector<std::string_view> views;
    ASSERT_TRUE(preTokenizer->split(text, views).ok());
    std::vector<std::string> pieces(views.begin(), views.end());
    EXPECT_EQ(pieces, expected[i].get<std::vector<std::string>>()) << text;
  }
}

TEST_P(EachPreTokenizer, EncodesLikeTheReferenceAndBack) {
  Tokenizer tokenizer = make(bpeData(GetParam()));
  const json &strings = golden()["strings"];
  const json &expected = golden()["bpe"][GetParam()]["ids"];
  for (size_t i = 0; i < strings.size(); ++i) {
    std::string text = strings[i];
    size_t dropped = 1;
    std::vector<int32_t> ids = encode(tokenizer, text, {}, &dropped);
    EXPECT_EQ(ids, expected[i].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(tokenizer.decode(ids), normalForm(GetParam(), text));
    EXPECT_EQ(dropped, 0u);
  }
}

TEST_P(EachPreTokenizer, TakesBytesThatAreNotUtf8) {
  Tokenizer tokenizer = make(bpeData(GetParam()));
  for (std::string text :
       {std::string("ab\xFF\xFE cd"), std::string("\xC3"), std::string("\x80"),
        std::string("a\xE2\x82"), std::string("\xED\xA0\x80 12"),
        std::string("\0\xF8\0", 3)}) {
    std::vector<int32_t> ids = encode(tokenizer, text);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  // The text around them is split as if they were not there.
  std::vector<int32_t> ids = encode(tokenizer, "world\xFF world");
  std::vector<int32_t> left = encode(tokenizer, "world");
  std::vector<int32_t> right = encode(tokenizer, " world");
  ASSERT_EQ(ids.size(), left.size() + 1 + right.size());
  EXPECT_TRUE(std::equal(left.begin(), left.end(), ids.begin()));
  EXPECT_TRUE(std::equal(right.rbegin(), right.rend(), ids.rbegin()));
}

TEST_P(EachPreTokenizer, RandomBytesComeBack) {
  TokenizerData data = bpeData(GetParam());
  data.types.assign(data.tokens.size(), 1);
  for (const char *token : {"<|a|>", "<|a|>b", "<|"}) {
    data.tokens.push_back(token);
    data.types.push_back(4);
  }
  Tokenizer tokenizer = make(std::move(data));
  std::mt19937 random(3);
  static const std::string_view parts[] = {
      "<|",     "a|>",    "b",    " ",    "\n",   "\r\n", "1",
      "é",      "\u3000", "\x80", "\xF0", "\xE2", "'s",   "ſ",
      "\u0301", "🙂",     "\xFF", "word", "!?",   "\t"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (unsigned i = random() % 30; i > 0; --i)
      text += parts[random() % std::size(parts)];
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text)),
              normalForm(GetParam(), text));
  }
}

/// Texts without a word boundary, with a few patterns that provoke regular
/// expressions, merges and lists to be quadratic.
static void expectFast(const Tokenizer &tokenizer) {
  const size_t size = 1 << 20;
  std::string mixed;
  for (unsigned i = 0; mixed.size() < size; ++i)
    mixed += "aeionrst"[(i * i + i / 7) % 8];
  std::vector<std::string> texts = {std::string(size, 'a'), mixed};
  for (char c : {' ', '\n', '!', '1', '\xFF', '<'})
    texts.push_back(std::string(size / 4, c));
  for (const std::string &text : texts) {
    auto begin = std::chrono::steady_clock::now();
    std::vector<int32_t> ids =
        encode(tokenizer, text, {/*addSpecial=*/false, /*parseSpecial=*/true});
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(tokenizer.decode(ids), text);
    // Ten times what the slowest takes in a sanitizer build; a quadratic
    // algorithm takes minutes.
    EXPECT_LT(seconds.count(), 20) << text.substr(0, 8);
  }
}

TEST_P(EachPreTokenizer, TakesALongWord) {
  expectFast(make(bpeData(GetParam())));
}

TEST(SentencePiece, EncodesLikeTheReferenceAndBack) {
  ASSERT_EQ(golden()["sentence_piece"].size(), 3u);
  for (const json &model : golden()["sentence_piece"]) {
    Tokenizer tokenizer = make(spmData(model, "types"));
    bool hasBytes = tokenizer.find("<0x00>") >= 0;
    for (size_t i = 0; i < model["texts"].size(); ++i) {
      std::string text = model["texts"][i];
      std::vector<int32_t> ids = encode(tokenizer, text);
      EXPECT_EQ(ids, model["ids"][i].get<std::vector<int32_t>>()) << text;
      if (hasBytes) {
        EXPECT_EQ(tokenizer.decode(ids), model["decoded"][i]);
      }
    }
  }
}

TEST(SentencePiece, SplitsUnusedTokensAgain) {
  size_t differing = 0;
  for (const json &model : golden()["sentence_piece"]) {
    Tokenizer tokenizer = make(spmData(model, "unused_types"));
    for (size_t i = 0; i < model["texts"].size(); ++i) {
      std::string text = model["texts"][i];
      EXPECT_EQ(encode(tokenizer, text),
                model["unused_ids"][i].get<std::vector<int32_t>>())
          << text;
      differing += model["ids"][i] != model["unused_ids"][i];
    }
  }
  EXPECT_GT(differing, 100u); // else the case above does not test it
}

TEST(SentencePiece, PutsOneSpaceAfterSpecialTokens) {
  Tokenizer tokenizer = make(spmData(golden()["sentence_piece"][0], "types"));
  int32_t turn = tokenizer.find("<|turn|>"); // user-defined: always found
  ASSERT_GE(turn, 0);
  std::vector<int32_t> ids = encode(tokenizer, "a<|turn|>a");
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[1], turn);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_EQ(tokenizer.decode(ids), "a<|turn|>a");
  EXPECT_EQ(tokenizer.decode(encode(tokenizer, " a<|turn|>  b ")),
            " a<|turn|>  b ");
}

TEST(SentencePiece, TextNeverBecomesAControlToken) {
  TokenizerData data = spmData(golden()["sentence_piece"][0], "types");
  // Give merges a path to "</s>" and a byte token, with the best scores.
  for (const char *piece : {"</", "</s", "<0", "<0x", "<0x4", "<0x41"}) {
    auto known = std::find(data.tokens.begin(), data.tokens.end(), piece);
    if (known != data.tokens.end()) {
      data.scores[known - data.tokens.begin()] = 1;
      continue;
    }
    data.tokens.push_back(piece);
    data.scores.push_back(1);
    data.types.push_back(1);
  }
  Tokenizer tokenizer = make(std::move(data));
  for (int32_t id : encode(tokenizer, "</s> <0x41>")) {
    EXPECT_NE(id, tokenizer.find("</s>"));
    EXPECT_NE(id, tokenizer.find("<0x41>"));
  }
  std::vector<int32_t> parsed =
      encode(tokenizer, "</s>", {true, /*parseSpecial=*/true});
  EXPECT_EQ(parsed, std::vector<int32_t>{tokenizer.find("</s>")});
}

TEST(SentencePiece, TakesBytesThatAreNotUtf8) {
  Tokenizer tokenizer = make(spmData(golden()["sentence_piece"][0], "types"));
  for (std::string text : {"ab\xFF\xFE cd", "\xC3", "\x80", "a\xE2\x82"})
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text)), text);
  // Without byte tokens a run of them is one unknown token.
  Tokenizer unknown = make(spmData(golden()["sentence_piece"][2], "types"));
  std::vector<int32_t> ids = encode(unknown, "ab\xFF\xFE");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 0), 1);
}

TEST(SentencePiece, TakesALongWord) {
  expectFast(make(spmData(golden()["sentence_piece"][0], "types")));
}

//===--- Special tokens ---------------------------------------------------===//

/// The smollm vocabulary with special tokens of overlapping spellings.
static TokenizerData withSpecials() {
  TokenizerData data = bpeData("smollm");
  data.types.assign(data.tokens.size(), 1);
  auto add = [&](const char *token, TokenType type) {
    data.tokens.push_back(token);
    data.types.push_back(static_cast<int32_t>(type));
    return static_cast<int64_t>(data.tokens.size()) - 1;
  };
  add("<|im|>", TokenType::Control);
  add("<|im|>x", TokenType::Control);
  data.eos = add("<|im_end|>", TokenType::Control);
  data.bos = add("<s>", TokenType::Control);
  add("<user>", TokenType::UserDefined);
  return data;
}

TEST(SpecialTokens, TheLongestIsFoundWhereParsed) {
  Tokenizer tokenizer = make(withSpecials());
  EncodeOptions parse{false, true};
  EXPECT_EQ(
      encode(tokenizer, "<|im|>xx", parse),
      (std::vector<int32_t>{tokenizer.find("<|im|>x"), tokenizer.find("x")}));
  EXPECT_EQ(encode(tokenizer, "<|im|><|im_end|>", parse),
            (std::vector<int32_t>{tokenizer.find("<|im|>"),
                                  tokenizer.find("<|im_end|>")}));
  // A prefix of one that another follows.
  EXPECT_EQ(encode(tokenizer, "<|im<|im|>", parse).back(),
            tokenizer.find("<|im|>"));
}

TEST(SpecialTokens, ControlTokensInPlainTextAreText) {
  Tokenizer tokenizer = make(withSpecials());
  std::string text = "a<|im|>b<|im_end|><s>";
  std::vector<int32_t> ids = encode(tokenizer, text);
  EXPECT_EQ(tokenizer.decode(ids), text); // decode leaves control tokens out
  // User-defined tokens are found all the same.
  ids = encode(tokenizer, "<user>");
  EXPECT_EQ(ids, std::vector<int32_t>{tokenizer.find("<user>")});
}

TEST(SpecialTokens, DecodeSkipsOrRendersThem) {
  Tokenizer tokenizer = make(withSpecials());
  std::string text = "a<|im|>b<user><|im_end|>";
  std::vector<int32_t> ids = encode(tokenizer, text, {false, true});
  EXPECT_EQ(tokenizer.decode(ids), "ab<user>");
  EXPECT_EQ(tokenizer.decode(ids, /*renderSpecial=*/true), text);
  EXPECT_EQ(tokenizer.bytes(-1), "");
  EXPECT_EQ(tokenizer.bytes(tokenizer.vocabularySize()), "");
}

TEST(SpecialTokens, EndsAreAddedAsTheFileAsks) {
  TokenizerData data = withSpecials();
  data.addBos = data.addEos = true;
  Tokenizer tokenizer = make(data);
  std::vector<int32_t> ids = encode(tokenizer, "x");
  EXPECT_EQ(ids,
            (std::vector<int32_t>{tokenizer.find("<s>"), tokenizer.find("x"),
                                  tokenizer.find("<|im_end|>")}));
  EXPECT_EQ(encode(tokenizer, "x", {/*addSpecial=*/false, false}).size(), 1u);
  EXPECT_EQ(encode(tokenizer, "").size(), 2u);

  // Where the file does not say, the family decides.
  data.addBos.reset();
  data.addEos.reset();
  EXPECT_EQ(encode(make(data), "x").size(), 1u);
  data.preTokenizer = "llama-bpe";
  EXPECT_EQ(encode(make(data), "x").size(), 2u);
}

TEST(SpecialTokens, GenerationEndsAtTheFilesTokensAndKnownNames) {
  TokenizerData data = withSpecials();
  data.tokens.push_back("<|endoftext|>");
  data.types.push_back(3);
  data.tokens.push_back("<|eot_id|>"); // by that name, but not control
  data.types.push_back(1);
  data.eot = 7;
  Tokenizer tokenizer = make(data);
  EXPECT_TRUE(tokenizer.endsGeneration(tokenizer.find("<|im_end|>")));
  EXPECT_TRUE(tokenizer.endsGeneration(tokenizer.find("<|endoftext|>")));
  EXPECT_TRUE(tokenizer.endsGeneration(7));
  EXPECT_FALSE(tokenizer.endsGeneration(tokenizer.find("<|eot_id|>")));
  EXPECT_FALSE(tokenizer.endsGeneration(-1));
}

TEST(ByteLevelBpe, CountsBytesWithoutAToken) {
  TokenizerData data = bpeData("gpt-2");
  // The byte 0xFF is spelt U+00FF; rename it away.
  auto token = std::find(data.tokens.begin(), data.tokens.end(), "\u00FF");
  ASSERT_NE(token, data.tokens.end());
  *token = "gone";
  Tokenizer tokenizer = make(data);
  size_t dropped = 0;
  std::vector<int32_t> ids = encode(tokenizer, "a\xFF\xFE\xFF", {}, &dropped);
  EXPECT_EQ(dropped, 2u);
  EXPECT_EQ(tokenizer.decode(ids), "a\xFE");
}

//===--- Wrong metadata ---------------------------------------------------===//

static std::string errorOf(TokenizerData data) {
  weights::Expected<Tokenizer> result = Tokenizer::create(std::move(data));
  return result ? "" : result.status().message();
}

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos) << "message: " << (text)

TEST(BadMetadata, UnknownKindsListTheKnown) {
  TokenizerData data = bpeData("gpt-2");
  data.preTokenizer = "tekken";
  EXPECT_EQ(errorOf(data), "unknown pre-tokenizer 'tekken' in "
                           "tokenizer.ggml.pre; known are gpt-2, smollm, "
                           "llama-bpe, qwen2");
  data.model = "rwkv";
  EXPECT_EQ(errorOf(data),
            "unknown tokenizer model 'rwkv' in tokenizer.ggml.model; known are "
            "gpt2 (byte-level BPE) and llama (SentencePiece)");
}

TEST(BadMetadata, Tokens) {
  TokenizerData data = bpeData("gpt-2");
  data.tokens.clear();
  EXPECT_HAS(errorOf(data), "tokenizer.ggml.tokens is missing or empty");
  data = bpeData("gpt-2");
  data.tokens[300] = data.tokens[5];
  EXPECT_HAS(errorOf(data), "tokens[300] repeats");
  EXPECT_HAS(errorOf(data), "which is token 5");
}

TEST(BadMetadata, Lengths) {
  TokenizerData data = bpeData("gpt-2");
  data.types.assign(3, 1);
  EXPECT_HAS(errorOf(data), "token_type has 3 entries for ");
  data.types.assign(data.tokens.size(), 1);
  data.types[9] = 7;
  EXPECT_HAS(errorOf(data), "token_type[9] is 7; allowed are 1");
  data.types.clear();
  data.scores.assign(2, 0);
  EXPECT_HAS(errorOf(data), "scores has 2 entries for ");
  data.scores.assign(data.tokens.size(), 0);
  data.scores[4] = NAN;
  EXPECT_HAS(errorOf(data), "scores[4] is not a finite number");
}

TEST(BadMetadata, Merges) {
  TokenizerData data = bpeData("gpt-2");
  data.merges.clear();
  EXPECT_HAS(errorOf(data), "merges is missing or empty");
  struct {
    const char *merge, *message;
  } cases[] = {
      {"a qqqq", "'qqqq' is not in tokenizer.ggml.tokens"},
      {"qqqq a", "'qqqq' is not in tokenizer.ggml.tokens"},
      {"q q", "'qq' is not in tokenizer.ggml.tokens"},
      {"ab", "two tokens with one space between"},
      {"", "two tokens with one space between"},
      {" a", "two tokens with one space between"},
      {"a ", "two tokens with one space between"},
      {"a b c", "two tokens with one space between"},
  };
  for (auto [merge, message] : cases) {
    data = bpeData("gpt-2");
    data.merges[7] = merge;
    EXPECT_HAS(errorOf(data), "tokenizer.ggml.merges[7]");
    EXPECT_HAS(errorOf(data), message);
  }
  data = bpeData("gpt-2");
  data.merges[7] = data.merges[3];
  EXPECT_HAS(errorOf(data), "merges[7] repeats");
}

TEST(BadMetadata, Ids) {
  TokenizerData data = bpeData("gpt-2");
  int64_t count = static_cast<int64_t>(data.tokens.size());
  for (int64_t TokenizerData::*id :
       {&TokenizerData::bos, &TokenizerData::eos, &TokenizerData::eot,
        &TokenizerData::eom, &TokenizerData::unknown}) {
    TokenizerData bad = data;
    bad.*id = count;
    EXPECT_HAS(errorOf(bad), "_token_id is " + std::to_string(count) +
                                 ", but tokenizer.ggml.tokens has");
  }
  data.addBos = true;
  EXPECT_HAS(errorOf(data), "bos_token_id is missing");
  data.addBos = false;
  data.addEos = true;
  EXPECT_HAS(errorOf(data), "eos_token_id is missing");
}

TEST(BadMetadata, SentencePiece) {
  const json &model = golden()["sentence_piece"][0];
  TokenizerData data = spmData(model, "types");
  data.scores.clear();
  EXPECT_HAS(errorOf(data), "scores is missing or empty");
  data = spmData(model, "types");
  data.tokens[4] = "<0xG0>";
  EXPECT_HAS(errorOf(data), "tokens[4] is '<0xG0>', but its type says byte");
  // A vocabulary smaller than the default end-of-text id.
  data = TokenizerData();
  data.model = "llama";
  data.tokens = {"<unk>", "a"};
  data.types = {2, 1};
  data.scores = {0, 0};
  EXPECT_HAS(errorOf(data), "eos_token_id is 2, but tokenizer.ggml.tokens has "
                            "2 tokens");
}
