// Token ids for SmolLM2 against Hugging Face tokenizers. Needs the model that
// scripts/fetch_smollm2.sh gets; without it exits with 77, which ctest reports
// as skipped.

#include "poot/serve/chat.h"
#include "poot/serve/tokenizer.h"
#include "poot/weights/gguf.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

using namespace poot;
using namespace poot::serve;

static const char *const modelPath =
    POOT_BINARY_DIR "/models/SmolLM2-135M-Instruct.Q4_1.gguf";

TEST(SmolLM2, TokensEqualTheReference) {
  auto file = weights::Gguf::open(modelPath);
  ASSERT_TRUE(file) << file.status().message();
  auto tokenizer = Tokenizer::read(*file);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->vocabularySize(), 49152);
  EXPECT_TRUE(tokenizer->endsGeneration(tokenizer->find("<|im_end|>")));

  auto cases = nlohmann::json::parse(
      std::ifstream(POOT_SOURCE_DIR "/serve/test/smollm2_tokens.json"));
  ASSERT_GE(cases.size(), 80u);
  for (const auto &test : cases) {
    std::string text = test["text"];
    EncodeOptions options;
    options.parseSpecial = test["special"];
    size_t dropped = 0;
    auto ids = tokenizer->encode(text, options, &dropped);
    ASSERT_TRUE(ids) << ids.status().message();
    EXPECT_EQ(*ids, test["ids"].get<std::vector<int32_t>>())
        << text << (options.parseSpecial ? " (special)" : "");
    if (dropped == 0) {
      EXPECT_EQ(tokenizer->decode(*ids, /*renderSpecial=*/true), text);
    }
  }
}

// The prompt that transformers makes of this question with the model's own
// template.
TEST(SmolLM2, ChatPromptEqualsTheReference) {
  auto file = weights::Gguf::open(modelPath);
  ASSERT_TRUE(file) << file.status().message();
  auto tokenizer = Tokenizer::read(*file);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  auto ids =
      encodeChat(*tokenizer, {{"user", "What is the capital of France?"}});
  ASSERT_TRUE(ids) << ids.status().message();
  auto expected = nlohmann::json::parse(std::ifstream(
      POOT_SOURCE_DIR "/test/reference/expected/smollm2-capital-greedy.json"));
  EXPECT_EQ(*ids, expected["prompt_ids"].get<std::vector<int32_t>>());
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (FILE *model = fopen(modelPath, "rb")) {
    fclose(model);
    return RUN_ALL_TESTS();
  }
  fprintf(stderr, "skipped: %s is missing; scripts/fetch_smollm2.sh gets it\n",
          modelPath);
  return 77;
}
