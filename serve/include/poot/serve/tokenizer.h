// Text to token ids and back, as the metadata of a GGUF file describes it:
// byte-level BPE (model "gpt2") and SentencePiece's scored merges (model
// "llama"). A tokenizer never changes after it is made and may be used from
// several threads.

#ifndef POOT_SERVE_TOKENIZER_H
#define POOT_SERVE_TOKENIZER_H

#include "poot/weights/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poot::weights {
class Gguf;
}

namespace poot::serve {

struct Vocabulary;
class SubwordModel;

/// tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,     ///< steers the model; never the result of plain text
  UserDefined = 4, ///< found in text before anything else
  Unused = 5,
  Byte = 6, ///< `<0xNN>`: one byte of a character that has no token
};

/// What a file says about its tokenizer, not yet checked for consistency.
/// Token ids are -1 where the file has none.
struct TokenizerData {
  std::string model;
  std::string preTokenizer; ///< empty: the file has no tokenizer.ggml.pre
  std::vector<std::string> tokens;
  std::vector<int32_t> types; ///< TokenType values, or empty: all normal
  std::vector<float> scores;
  std::vector<std::string> merges; ///< "left right", by rank
  int64_t bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1;
  std::optional<bool> addBos, addEos, addSpacePrefix;
  std::string chatTemplate;

  /// Reads the tokenizer.* keys. A missing list or a value of another type
  /// than its key's is an error.
  static weights::Expected<TokenizerData> read(const weights::Gguf &file);
};

struct EncodeOptions {
  /// Put the tokens at the ends that the file asks for (add_bos_token,
  /// add_eos_token).
  bool addSpecial = true;
  /// Recognize control tokens written out in the text. Text that a stranger
  /// wrote is encoded without, so that it can't steer the model.
  bool parseSpecial = false;
};

class Tokenizer {
public:
  /// Checks `data`: tokens are distinct, each merge names tokens, lists have
  /// equal lengths, ids are in range, model and pre-tokenizer are known.
  static weights::Expected<Tokenizer> create(TokenizerData data);
  /// The same from a file; messages name it.
  static weights::Expected<Tokenizer> read(const weights::Gguf &file);

  Tokenizer(Tokenizer &&);
  Tokenizer &operator=(Tokenizer &&);
  ~Tokenizer();

  /// Takes any bytes. Those that are not UTF-8 are encoded as bytes, apart
  /// from the text around them. A byte that the vocabulary can't express is
  /// left out, as the reference implementations do; `droppedBytes`, if given,
  /// is set to their number. Takes time n log n at most, also for a text
  /// without a single space.
  weights::Expected<std::vector<int32_t>>
  encode(std::string_view text, EncodeOptions options = {},
         size_t *droppedBytes = nullptr) const;

  /// The text of a whole sequence. Control tokens are left out unless
  /// `renderSpecial`. The bytes need not be UTF-8 if the tokens aren't those
  /// of a text; Utf8Stream repairs that.
  std::string decode(const std::vector<int32_t> &tokens,
                     bool renderSpecial = false) const;
  /// The bytes that a token adds to text before it: decode() of one token,
  /// but for the space that decode() removes at the front. Empty for an id out
  /// of range.
  std::string_view bytes(int32_t token, bool renderSpecial = false) const;

  /// The id of a token by the text that the file has for it, or -1.
  int32_t find(std::string_view token) const;
  /// Whether generation ends at this token: the file's eos, eot and eom
  /// tokens, and control tokens that are known to end a turn.
  bool endsGeneration(int32_t token) const;
  int32_t vocabularySize() const;
  int32_t bosToken() const { return bos; } ///< or -1
  const std::string &chatTemplate() const { return chatTemplateText; }

private:
  Tokenizer();
  /// The node of a byte trie over the tokens that are looked for in text.
  struct TrieNode;

  std::unique_ptr<Vocabulary> vocabulary;
  std::unique_ptr<SubwordModel> model;
  std::vector<std::string> renderings; ///< bytes of each token
  std::vector<TrieNode> trie;
  std::vector<int32_t> stopTokens;
  int32_t bos = -1, eos = -1;
  bool addBos = false, addEos = false;
  /// SPM: a space goes before text at the start and after special tokens.
  bool addSpacePrefix = false;
  std::string chatTemplateText;
};

} // namespace poot::serve

#endif // POOT_SERVE_TOKENIZER_H
