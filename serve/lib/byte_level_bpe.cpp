// Byte-level BPE, as GPT-2 introduced it: a word is a sequence of bytes, each
// spelt as one printable character, and the pair of neighbours whose merge has
// the lowest rank is merged until none is left. Of equal pairs the leftmost
// goes first.

#include "nfc.h"
#include "pre_tokenizer.h"
#include "subword_model.h"

#include "poot/serve/utf8.h"

#include <array>
#include <queue>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

namespace {

/// The printable character that stands for each byte. Those that print are
/// themselves; the others follow from U+0100 on in their order.
struct ByteAlphabet {
  std::array<std::string, 256> characters;
  std::unordered_map<std::string_view, unsigned char> bytes;

  ByteAlphabet() {
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bool prints = (byte >= 33 && byte <= 126) ||
                    (byte >= 161 && byte <= 172) || byte >= 174;
      unsigned codePoint = prints ? byte : next++;
      std::string &text = characters[byte];
      if (codePoint < 0x80) {
        text = static_cast<char>(codePoint);
      } else {
        text = static_cast<char>(0xC0 | codePoint >> 6);
        text += static_cast<char>(0x80 | (codePoint & 0x3F));
      }
    }
    for (unsigned byte = 0; byte < 256; ++byte)
      bytes.emplace(characters[byte], static_cast<unsigned char>(byte));
  }
};

const ByteAlphabet &byteAlphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

uint64_t pairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

class ByteLevelBpe : public SubwordModel {
public:
  explicit ByteLevelBpe(const Vocabulary &vocabulary)
      : vocabulary(vocabulary) {}

  Status initialize(const TokenizerData &data, bool &addBosByDefault);
  Status encode(std::string_view text, std::vector<int32_t> &out,
                size_t &dropped) const override;
  std::string render(std::string_view token) const override;

private:
  struct Merge {
    int32_t rank;
    int32_t result;
  };
  void encodeWord(std::string_view word, std::vector<int32_t> &out,
                  size_t &dropped) const;

  const Vocabulary &vocabulary;
  std::optional<PreTokenizer> preTokenizer;
  std::array<int32_t, 256> byteTokens;
  std::unordered_map<uint64_t, Merge> merges;
};

} // namespace

Status ByteLevelBpe::initialize(const TokenizerData &data,
                                bool &addBosByDefault) {
  // A file without the key is of the time when there was only one.
  Expected<PreTokenizer> created = PreTokenizer::create(
      data.preTokenizer.empty() ? "gpt-2" : data.preTokenizer);
  if (!created)
    return created.status();
  preTokenizer = *std::move(created);
  addBosByDefault = preTokenizer->addsBosByDefault();

  for (unsigned byte = 0; byte < 256; ++byte)
    byteTokens[byte] = vocabulary.find(byteAlphabet().characters[byte]);

  if (data.merges.empty())
    return makeError(StatusCode::Malformed,
                     "tokenizer.ggml.merges is missing or empty; a tokenizer "
                     "of model gpt2 needs it");
  merges.reserve(data.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < data.merges.size(); ++rank) {
    std::string_view merge = data.merges[rank];
    // Neither side is empty or has a space in it: the alphabet has none.
    size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size() ||
        merge.front() == ' ' || merge.find(' ', space + 1) != merge.npos)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.merges[", rank,
                       "] is ", weights::quoted(merge),
                       "; it must be two tokens with one space between");
    std::string_view left = merge.substr(0, space);
    std::string_view right = merge.substr(space + 1);
    joined.assign(left).append(right);
    int32_t ids[3];
    std::string_view names[3] = {left, right, joined};
    for (int i = 0; i < 3; ++i) {
      ids[i] = vocabulary.find(names[i]);
      if (ids[i] < 0)
        return makeError(StatusCode::Malformed, "tokenizer.ggml.merges[", rank,
                         "] is ", weights::quoted(merge), ", but ",
                         weights::quoted(names[i]),
                         " is not in tokenizer.ggml.tokens");
    }
    bool isNew = merges
                     .emplace(pairKey(ids[0], ids[1]),
                              Merge{static_cast<int32_t>(rank), ids[2]})
                     .second;
    if (!isNew)
      return makeError(StatusCode::Malformed, "tokenizer.ggml.merges[", rank,
                       "] repeats ", weights::quoted(merge));
  }
  return Status();
}

Status ByteLevelBpe::encode(std::string_view text, std::vector<int32_t> &out,
                            size_t &dropped) const {
  std::string normalized;
  if (preTokenizer->normalizesNfc()) {
    normalized = normalizeNfc(text);
    text = normalized;
  }
  std::vector<std::string_view> words;
  if (Status status = preTokenizer->split(text, words); !status.ok())
    return status;
  for (std::string_view word : words)
    encodeWord(word, out, dropped);
  return Status();
}

void ByteLevelBpe::encodeWord(std::string_view word, std::vector<int32_t> &out,
                              size_t &dropped) const {
  if (preTokenizer->ignoresMerges()) {
    std::string spelling;
    for (char byte : word)
      spelling += byteAlphabet().characters[static_cast<unsigned char>(byte)];
    if (int32_t token = vocabulary.find(spelling); token >= 0) {
      out.push_back(token);
      return;
    }
  }

  // A doubly linked list over the symbols left; a merged-away one is -1.
  struct Symbol {
    int32_t token;
    ptrdiff_t previous, next;
  };
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (char byte : word) {
    int32_t token = byteTokens[static_cast<unsigned char>(byte)];
    if (token < 0) {
      ++dropped;
      continue;
    }
    ptrdiff_t index = static_cast<ptrdiff_t>(symbols.size());
    symbols.push_back({token, index - 1, index + 1});
  }
  if (symbols.empty())
    return;
  symbols.back().next = -1;

  struct Candidate {
    int32_t rank;
    ptrdiff_t position;
    int32_t left, right, result;
    bool operator<(const Candidate &other) const { // the top is the largest
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  std::priority_queue<Candidate> queue;
  auto propose = [&](ptrdiff_t left) {
    if (left < 0 || symbols[left].next < 0)
      return;
    int32_t a = symbols[left].token, b = symbols[symbols[left].next].token;
    auto merge = merges.find(pairKey(a, b));
    if (merge != merges.end())
      queue.push({merge->second.rank, left, a, b, merge->second.result});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    propose(static_cast<ptrdiff_t>(i));

  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    Symbol &left = symbols[best.position];
    if (left.token != best.left || left.next < 0 ||
        symbols[left.next].token != best.right)
      continue; // one of the two was merged with another since
    Symbol &right = symbols[left.next];
    left.token = best.result;
    right.token = -1;
    left.next = right.next;
    if (left.next >= 0)
      symbols[left.next].previous = best.position;
    propose(left.previous);
    propose(best.position);
  }

  for (ptrdiff_t i = 0; i >= 0; i = symbols[i].next)
    out.push_back(symbols[i].token);
}

std::string ByteLevelBpe::render(std::string_view token) const {
  std::string out;
  for (size_t i = 0; i < token.size();) {
    Utf8Sequence sequence = readUtf8(token.substr(i));
    auto byte = byteAlphabet().bytes.find(token.substr(i, sequence.length));
    // A token with a character outside the alphabet was not made from bytes:
    // it stands for itself.
    if (byte == byteAlphabet().bytes.end())
      return std::string(token);
    out += static_cast<char>(byte->second);
    i += sequence.length;
  }
  return out;
}

Expected<std::unique_ptr<SubwordModel>>
poot::serve::createByteLevelBpe(const Vocabulary &vocabulary,
                                const TokenizerData &data,
                                bool &addBosByDefault) {
  auto model = std::make_unique<ByteLevelBpe>(vocabulary);
  if (Status status = model->initialize(data, addBosByDefault); !status.ok())
    return status;
  return std::unique_ptr<SubwordModel>(std::move(model));
}
