// The part of a tokenizer that both models share: checks of the metadata,
// special tokens within text, tokens at the ends, decoding.

#include "poot/serve/tokenizer.h"

#include "subword_model.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

/// Control tokens that end a turn or a text in some family, by name, for files
/// whose eos token is another of them.
static constexpr std::string_view endTokens[] = {
    "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>",    "<|eom_id|>",
    "<|im_end|>",    "<|end|>",         "<end_of_turn>", "<EOT>",
};

struct Tokenizer::TrieNode {
  std::map<unsigned char, int32_t> children;
  int32_t token = -1;
};

Tokenizer::Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) = default;
Tokenizer::~Tokenizer() = default;

/// Checks what both models need and moves it into `vocabulary`.
static Status fillVocabulary(TokenizerData &data, Vocabulary &vocabulary) {
  size_t count = data.tokens.size();
  if (count == 0)
    return makeError(StatusCode::Malformed,
                     "tokenizer.ggml.tokens is missing or empty");
  if (count > INT32_MAX)
    return makeError(StatusCode::Malformed, "tokenizer.ggml.tokens has ", count,
                     " tokens; at most ", INT32_MAX, " are allowed");
  if (!data.types.empty() && data.types.size() != count)
    return makeError(StatusCode::Malformed, "tokenizer.ggml.token_type has ",
                     data.types.size(), " entries for ", count, " tokens");
  if (!data.scores.empty() && data.scores.size() != count)
    return makeError(StatusCode::Malformed, "tokenizer.ggml.scores has ",
                     data.scores.size(), " entries for ", count, " tokens");
  for (size_t i = 0; i < data.scores.size(); ++i)
    if (!std::isfinite(data.scores[i]))
      return makeError(StatusCode::Malformed, "tokenizer.ggml.scores[", i,
                       "] is not a finite number");

  vocabulary.types.assign(count, TokenType::Normal);
  for (size_t i = 0; i < data.types.size(); ++i) {
    if (data.types[i] < 1 || data.types[i] > 6)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.token_type[", i,
                       "] is ", data.types[i],
                       "; allowed are 1 (normal) to 6 (byte)");
    vocabulary.types[i] = static_cast<TokenType>(data.types[i]);
  }

  vocabulary.tokens = std::move(data.tokens);
  vocabulary.scores = std::move(data.scores);
  vocabulary.ids.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    auto [entry, isNew] =
        vocabulary.ids.emplace(vocabulary.tokens[i], static_cast<int32_t>(i));
    if (!isNew)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.tokens[", i,
                       "] repeats ", weights::quoted(vocabulary.tokens[i]),
                       ", which is token ", entry->second);
  }
  return Status();
}

Expected<Tokenizer> Tokenizer::create(TokenizerData data) {
  Tokenizer result;
  result.vocabulary = std::make_unique<Vocabulary>();
  Vocabulary &vocabulary = *result.vocabulary;
  if (Status status = fillVocabulary(data, vocabulary); !status.ok())
    return status;

  bool isSentencePiece = data.model == "llama";
  if (isSentencePiece) {
    // What SentencePiece itself assumes of a file that does not say.
    data.bos = data.bos < 0 ? 1 : data.bos;
    data.eos = data.eos < 0 ? 2 : data.eos;
    data.unknown = data.unknown < 0 ? 0 : data.unknown;
  }
  int64_t count = result.vocabularySize();
  struct {
    const char *key;
    int64_t id;
  } ids[] = {{"bos", data.bos},
             {"eos", data.eos},
             {"eot", data.eot},
             {"eom", data.eom},
             {"unknown", data.unknown}};
  for (auto [key, id] : ids)
    if (id >= count)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.", key,
                       "_token_id is ", id, ", but tokenizer.ggml.tokens has ",
                       count, " tokens");
  vocabulary.unknown = static_cast<int32_t>(data.unknown);
  result.bos = static_cast<int32_t>(data.bos);
  result.eos = static_cast<int32_t>(data.eos);

  bool addBosByDefault = isSentencePiece;
  if (data.model == "gpt2") {
    auto model = createByteLevelBpe(vocabulary, data, addBosByDefault);
    if (!model)
      return model.status();
    result.model = *std::move(model);
  } else if (isSentencePiece) {
    if (vocabulary.scores.empty())
      return makeError(StatusCode::Malformed,
                       "tokenizer.ggml.scores is missing or empty; a tokenizer "
                       "of model llama needs it");
    auto model = createSentencePiece(vocabulary);
    if (!model)
      return model.status();
    result.model = *std::move(model);
  } else {
    return makeError(StatusCode::Unsupported, "unknown tokenizer model ",
                     weights::quoted(data.model),
                     " in tokenizer.ggml.model; known are gpt2 (byte-level "
                     "BPE) and llama (SentencePiece)");
  }

  result.addBos = data.addBos.value_or(addBosByDefault);
  result.addEos = data.addEos.value_or(false);
  result.addSpacePrefix = isSentencePiece && data.addSpacePrefix.value_or(true);
  if (result.addBos && result.bos < 0)
    return makeError(StatusCode::Malformed,
                     "tokenizer.ggml.bos_token_id is missing, but "
                     "tokenizer.ggml.add_bos_token asks for the token");
  if (result.addEos && result.eos < 0)
    return makeError(StatusCode::Malformed,
                     "tokenizer.ggml.eos_token_id is missing, but "
                     "tokenizer.ggml.add_eos_token asks for the token");
  result.chatTemplateText = std::move(data.chatTemplate);

  result.trie.emplace_back();
  result.renderings.reserve(vocabulary.tokens.size());
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string &token = vocabulary.tokens[i];
    TokenType type = vocabulary.types[i];
    bool isSpecial = type == TokenType::Control || type == TokenType::Unknown ||
                     type == TokenType::UserDefined;
    if (!isSpecial) {
      result.renderings.push_back(result.model->render(token));
      continue;
    }
    result.renderings.push_back(token);
    if (token.empty())
      continue; // would be found everywhere
    int32_t node = 0;
    for (char c : token) {
      int32_t next = static_cast<int32_t>(result.trie.size());
      auto [child, isNew] = result.trie[node].children.emplace(
          static_cast<unsigned char>(c), next);
      node = child->second;
      if (isNew)
        result.trie.emplace_back();
    }
    result.trie[node].token = static_cast<int32_t>(i);
  }

  for (int64_t id : {data.eos, data.eot, data.eom})
    if (id >= 0)
      result.stopTokens.push_back(static_cast<int32_t>(id));
  for (std::string_view name : endTokens) {
    int32_t id = vocabulary.find(name);
    if (id >= 0 && vocabulary.types[id] == TokenType::Control)
      result.stopTokens.push_back(id);
  }
  return result;
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                                 EncodeOptions options,
                                                 size_t *droppedBytes) const {
  std::vector<int32_t> out;
  size_t dropped = 0;
  if (options.addSpecial && addBos)
    out.push_back(bos);

  bool afterSpecial = true; // so is the start
  std::string prefixed;
  auto encodePlain = [&](std::string_view plain) -> Status {
    if (plain.empty())
      return Status();
    if (addSpacePrefix && afterSpecial) {
      prefixed.assign(1, ' ').append(plain);
      plain = prefixed;
    }
    afterSpecial = false;
    return model->encode(plain, out, dropped);
  };

  // Plain text runs from `plainBegin` to the next special token, the longest
  // of those that begin at the leftmost place.
  size_t plainBegin = 0;
  for (size_t i = 0; i < text.size();) {
    int32_t node = 0, found = -1;
    size_t foundEnd = i;
    for (size_t end = i; end < text.size();) {
      const auto &children = trie[node].children;
      auto child = children.find(static_cast<unsigned char>(text[end]));
      if (child == children.end())
        break;
      node = child->second;
      ++end;
      int32_t token = trie[node].token;
      if (token >= 0 && (options.parseSpecial ||
                         vocabulary->types[token] == TokenType::UserDefined)) {
        found = token;
        foundEnd = end;
      }
    }
    if (found < 0) {
      ++i;
      continue;
    }
    if (Status status = encodePlain(text.substr(plainBegin, i - plainBegin));
        !status.ok())
      return status;
    out.push_back(found);
    afterSpecial = true;
    plainBegin = i = foundEnd;
  }
  if (Status status = encodePlain(text.substr(plainBegin)); !status.ok())
    return status;

  if (options.addSpecial && addEos)
    out.push_back(eos);
  if (droppedBytes)
    *droppedBytes = dropped;
  return out;
}

std::string_view Tokenizer::bytes(int32_t token, bool renderSpecial) const {
  if (token < 0 || token >= vocabularySize())
    return {};
  TokenType type = vocabulary->types[token];
  bool isHidden = type == TokenType::Control || type == TokenType::Unknown;
  if (isHidden && !renderSpecial)
    return {};
  return renderings[token];
}

std::string Tokenizer::decode(const std::vector<int32_t> &tokens,
                              bool renderSpecial) const {
  std::string out;
  // encode() put a space before text at the start and after special tokens.
  bool afterSpecial = true;
  for (int32_t token : tokens) {
    if (token < 0 || token >= vocabularySize())
      continue;
    std::string_view text = bytes(token, renderSpecial);
    TokenType type = vocabulary->types[token];
    bool isSpecial =
        type == TokenType::Control || type == TokenType::UserDefined;
    if (addSpacePrefix && afterSpecial && !isSpecial && !text.empty() &&
        text.front() == ' ')
      text.remove_prefix(1);
    afterSpecial = isSpecial;
    out += text;
  }
  return out;
}

int32_t Tokenizer::find(std::string_view token) const {
  return vocabulary->find(token);
}

bool Tokenizer::endsGeneration(int32_t token) const {
  return std::find(stopTokens.begin(), stopTokens.end(), token) !=
         stopTokens.end();
}

int32_t Tokenizer::vocabularySize() const {
  return static_cast<int32_t>(vocabulary->tokens.size());
}
