// SentencePiece's BPE, which GGUF calls model "llama": the text is a sequence
// of characters with U+2581 for each space, and the pair of neighbours whose
// concatenation is the token with the highest score is merged until none is
// left. Of equal pairs the leftmost goes first. A character without a token
// becomes its bytes' tokens.

#include "subword_model.h"

#include "poot/serve/utf8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <queue>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

static constexpr std::string_view spaceMark = "\xE2\x96\x81"; // U+2581

/// The value of a byte token, spelt `<0xNN>`, or -1.
static int parseByteToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>')
    return -1;
  int value = 0;
  for (char c : token.substr(3, 2)) {
    static constexpr char digits[] = "0123456789ABCDEF";
    const char *digit = static_cast<const char *>(memchr(digits, c, 16));
    if (!digit)
      return -1;
    value = value * 16 + static_cast<int>(digit - digits);
  }
  return value;
}

namespace {

class SentencePiece : public SubwordModel {
public:
  explicit SentencePiece(const Vocabulary &vocabulary)
      : vocabulary(vocabulary) {}

  Status initialize();
  Status encode(std::string_view text, std::vector<int32_t> &out,
                size_t &dropped) const override;
  std::string render(std::string_view token) const override;

private:
  /// The token that plain text may become, or -1: control tokens and the like
  /// are not made of characters.
  int32_t findPiece(std::string_view text) const {
    if (text.size() > longestPiece)
      return -1;
    int32_t token = vocabulary.find(text);
    if (token < 0)
      return -1;
    TokenType type = vocabulary.types[token];
    bool isPiece = type == TokenType::Normal || type == TokenType::Unused ||
                   type == TokenType::UserDefined;
    return isPiece ? token : -1;
  }

  const Vocabulary &vocabulary;
  std::array<int32_t, 256> byteTokens;
  size_t longestPiece = 0;
};

} // namespace

Status SentencePiece::initialize() {
  byteTokens.fill(-1);
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string &token = vocabulary.tokens[i];
    longestPiece = std::max(longestPiece, token.size());
    if (vocabulary.types[i] != TokenType::Byte)
      continue;
    int byte = parseByteToken(token);
    if (byte < 0)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.tokens[", i,
                       "] is ", weights::quoted(token),
                       ", but its type says byte; a byte token is spelt <0xNN>"
                       " with two upper-case hexadecimal digits");
    byteTokens[byte] = static_cast<int32_t>(i);
  }
  return Status();
}

Status SentencePiece::encode(std::string_view text, std::vector<int32_t> &out,
                             size_t &dropped) const {
  std::string marked;
  marked.reserve(text.size());
  for (char c : text)
    if (c == ' ')
      marked += spaceMark;
    else
      marked += c;

  // A doubly linked list over the pieces left; a merged-away one has length 0.
  struct Symbol {
    size_t begin, length;
    ptrdiff_t previous, next;
  };
  std::vector<Symbol> symbols;
  symbols.reserve(marked.size());
  std::string_view all = marked;
  for (size_t i = 0; i < all.size();) {
    size_t length = readUtf8(all.substr(i)).length;
    ptrdiff_t index = static_cast<ptrdiff_t>(symbols.size());
    symbols.push_back({i, length, index - 1, index + 1});
    i += length;
  }
  if (symbols.empty())
    return Status();
  symbols.back().next = -1;

  struct Candidate {
    float score;
    ptrdiff_t left;
    size_t length;
    bool operator<(const Candidate &other) const { // the top is the largest
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  std::priority_queue<Candidate> queue;
  // An unused token is a step on the way to others; one that is left over
  // falls apart again into the halves noted here.
  std::unordered_map<int32_t, size_t> leftHalves;
  auto propose = [&](ptrdiff_t left) {
    if (left < 0 || symbols[left].next < 0)
      return;
    const Symbol &a = symbols[left], &b = symbols[a.next];
    size_t length = a.length + b.length;
    int32_t token = findPiece(all.substr(a.begin, length));
    if (token < 0)
      return;
    queue.push({vocabulary.scores[token], left, length});
    if (vocabulary.types[token] == TokenType::Unused)
      leftHalves[token] = a.length;
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    propose(static_cast<ptrdiff_t>(i));

  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    Symbol &left = symbols[best.left];
    if (left.length == 0 || left.next < 0 ||
        left.length + symbols[left.next].length != best.length)
      continue; // one of the two was merged with another since
    Symbol &right = symbols[left.next];
    left.length = best.length;
    right.length = 0;
    left.next = right.next;
    if (left.next >= 0)
      symbols[left.next].previous = best.left;
    propose(left.previous);
    propose(best.left);
  }

  bool afterUnknown = false;
  std::vector<std::string_view> pending;
  for (ptrdiff_t i = 0; i >= 0; i = symbols[i].next) {
    pending.assign(1, all.substr(symbols[i].begin, symbols[i].length));
    while (!pending.empty()) {
      std::string_view piece = pending.back();
      pending.pop_back();
      int32_t token = findPiece(piece);
      if (token >= 0 && vocabulary.types[token] == TokenType::Unused) {
        auto half = leftHalves.find(token);
        if (half != leftHalves.end()) {
          pending.push_back(piece.substr(half->second));
          pending.push_back(piece.substr(0, half->second));
          continue;
        }
        token = -1; // a single character
      }
      if (token >= 0) {
        out.push_back(token);
        afterUnknown = false;
        continue;
      }
      // A single character, or a byte that is none.
      bool hasBytes = std::all_of(piece.begin(), piece.end(), [&](char c) {
        return byteTokens[static_cast<unsigned char>(c)] >= 0;
      });
      if (hasBytes) {
        for (char c : piece)
          out.push_back(byteTokens[static_cast<unsigned char>(c)]);
        afterUnknown = false;
      } else if (vocabulary.unknown >= 0) {
        if (!afterUnknown) // one for a run of them
          out.push_back(vocabulary.unknown);
        afterUnknown = true;
      } else {
        dropped += piece.size();
      }
    }
  }
  return Status();
}

std::string SentencePiece::render(std::string_view token) const {
  int32_t id = vocabulary.find(token);
  if (vocabulary.types[id] == TokenType::Byte)
    return std::string(1, static_cast<char>(parseByteToken(token)));
  std::string out;
  for (size_t i = 0; i < token.size();) {
    if (token.substr(i, spaceMark.size()) == spaceMark) {
      out += ' ';
      i += spaceMark.size();
    } else {
      out += token[i++];
    }
  }
  return out;
}

Expected<std::unique_ptr<SubwordModel>>
poot::serve::createSentencePiece(const Vocabulary &vocabulary) {
  auto model = std::make_unique<SentencePiece>(vocabulary);
  if (Status status = model->initialize(); !status.ok())
    return status;
  return std::unique_ptr<SubwordModel>(std::move(model));
}
