// What the two kinds of tokenizer have in common: a vocabulary, and a model
// that turns text without special tokens into ids.

#ifndef POOT_SERVE_LIB_SUBWORD_MODEL_H
#define POOT_SERVE_LIB_SUBWORD_MODEL_H

#include "poot/serve/tokenizer.h"

#include <unordered_map>

namespace poot::serve {

struct Vocabulary {
  std::vector<std::string> tokens; ///< as the file spells them
  std::vector<TokenType> types;
  std::vector<float> scores;
  std::unordered_map<std::string_view, int32_t> ids; ///< views into `tokens`
  int32_t unknown = -1;

  int32_t find(std::string_view token) const {
    auto found = ids.find(token);
    return found == ids.end() ? -1 : found->second;
  }
};

class SubwordModel {
public:
  virtual ~SubwordModel() = default;
  /// Appends the ids of `text`, and adds to `dropped` the number of bytes that
  /// the vocabulary can't express.
  virtual weights::Status encode(std::string_view text,
                                 std::vector<int32_t> &out,
                                 size_t &dropped) const = 0;
  /// The text that a normal token stands for, given as the file spells it.
  virtual std::string render(std::string_view token) const = 0;
};

/// Both keep a reference to `vocabulary`.
weights::Expected<std::unique_ptr<SubwordModel>>
createByteLevelBpe(const Vocabulary &vocabulary, const TokenizerData &data,
                   bool &addBosByDefault);
weights::Expected<std::unique_ptr<SubwordModel>>
createSentencePiece(const Vocabulary &vocabulary);

} // namespace poot::serve

#endif // POOT_SERVE_LIB_SUBWORD_MODEL_H
