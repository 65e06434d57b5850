// A hostile tokenizer is refused or works: its ids are in range, what it reads
// of valid text comes back, what it writes becomes valid UTF-8.
//
// The input: a byte for model and pre-tokenizer, a byte for the options, then
// three parts that end in a zero byte: tokens, each a digit for its type and
// its text, and merges, one a line, and the text to encode.

#include "poot/serve/tokenizer.h"
#include "poot/serve/utf8.h"

#include <algorithm>
#include <cstdlib>

using namespace poot;
using namespace poot::serve;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static std::string_view takeUntil(std::string_view &text, char end) {
  std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  static const char *const preTokenizers[] = {"smollm", "gpt-2", "llama-bpe",
                                              "qwen2"};
  TokenizerData tokenizer;
  tokenizer.model = data[0] & 1 ? "llama" : "gpt2";
  tokenizer.preTokenizer = preTokenizers[data[0] >> 1 & 3];
  if (data[1] & 1)
    tokenizer.addBos = true;
  if (data[1] & 2)
    tokenizer.addSpacePrefix = false;
  EncodeOptions options;
  options.addSpecial = data[1] & 4;
  options.parseSpecial = data[1] & 8;
  tokenizer.bos = data[1] >> 4;

  std::string_view rest(reinterpret_cast<const char *>(data) + 2, size - 2);
  for (std::string_view tokens = takeUntil(rest, '\0'); !tokens.empty();) {
    std::string_view token = takeUntil(tokens, '\n');
    tokenizer.types.push_back(token.empty() ? 1 : token[0] - '0');
    tokenizer.scores.push_back(-float(tokenizer.types.size() * 7 % 31));
    tokenizer.tokens.emplace_back(token.substr(token.empty() ? 0 : 1));
  }
  for (std::string_view merges = takeUntil(rest, '\0'); !merges.empty();)
    tokenizer.merges.emplace_back(takeUntil(merges, '\n'));

  auto made = Tokenizer::create(std::move(tokenizer));
  if (!made) {
    require(!made.status().message().empty());
    return 0;
  }
  auto ids = made->encode(rest, options);
  if (!ids)
    return 0;
  Utf8Stream stream;
  std::string written;
  for (int32_t id : *ids) {
    require(id >= 0 && id < made->vocabularySize());
    written += stream.append(made->bytes(id));
  }
  written += stream.finish();
  for (std::string_view text = written; !text.empty();) {
    Utf8Sequence sequence = readUtf8(text);
    require(sequence.kind == Utf8Sequence::Valid);
    text.remove_prefix(sequence.length);
  }
  (void)made->decode(*ids, options.parseSpecial);
  return 0;
}
