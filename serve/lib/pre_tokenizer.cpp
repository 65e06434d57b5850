// Splits text into words before BPE.

#include "pre_tokenizer.h"

#include "poot/serve/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

// The expressions write \s and \S out: PCRE2's \s has U+180E, which is no
// white space since Unicode 6.3 and none for the tokenizers to agree with.
#define SPACES                                                                 \
  "\\t-\\r\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
  "\\x{202f}\\x{205f}\\x{3000}"
#define SPACE "[" SPACES "]"
#define NOT_SPACE "[^" SPACES "]"

#define GPT2                                                                   \
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"                                \
  "| ?[^" SPACES "\\p{L}\\p{N}]+|" SPACE "+(?!" NOT_SPACE ")|" SPACE "+"
// Llama 3 and Qwen 2 differ in how many digits make a piece.
#define LLAMA3(DIGITS)                                                         \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS         \
  "| ?[^" SPACES "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" SPACE          \
  "+(?!" NOT_SPACE ")|" SPACE "+"

namespace {
struct Definition {
  const char *name;
  const char *stages[2];
  bool nfc;
  bool ignoreMerges;
  bool addBos;
};
} // namespace

static const Definition definitions[] = {
    {"gpt-2", {GPT2, nullptr}, false, false, false},
    {"smollm", {"\\p{N}", GPT2}, false, false, false},
    {"llama-bpe", {LLAMA3("\\p{N}{1,3}"), nullptr}, false, true, true},
    {"qwen2", {LLAMA3("\\p{N}"), nullptr}, true, false, false},
};

void PreTokenizer::FreeCode::operator()(pcre2_code *code) const {
  pcre2_code_free(code);
}

Expected<PreTokenizer> PreTokenizer::create(std::string_view name) {
  const Definition *definition = nullptr;
  std::string known;
  for (const Definition &candidate : definitions) {
    if (candidate.name == name)
      definition = &candidate;
    known += known.empty() ? "" : ", ";
    known += candidate.name;
  }
  if (!definition)
    return makeError(StatusCode::Unsupported, "unknown pre-tokenizer ",
                     weights::quoted(name),
                     " in tokenizer.ggml.pre; known are ", known);

  PreTokenizer result;
  result.nfc = definition->nfc;
  result.ignoreMerges = definition->ignoreMerges;
  result.addBos = definition->addBos;
  for (const char *expression : definition->stages) {
    if (!expression)
      continue;
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *code = pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(expression), PCRE2_ZERO_TERMINATED,
        PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    if (!code)
      return makeError(StatusCode::Unsupported,
                       "PCRE2 rejects the pre-tokenizer expression of ", name,
                       " at offset ", offset, " (error ", error,
                       "); it must be built with Unicode support");
    result.stages.emplace_back(code);
    // A PCRE2 without a just-in-time compiler interprets; that is slower and
    // otherwise the same.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  return result;
}

namespace {
/// What one split needs of PCRE2, freed together.
struct MatchState {
  pcre2_match_data *data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context *context = pcre2_match_context_create(nullptr);
  ~MatchState() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};
} // namespace

/// Appends the matches of `code` in `text`, and what lies between them. `text`
/// is valid UTF-8.
static Status splitBy(const pcre2_code *code, std::string_view text,
                      MatchState &state,
                      std::vector<std::string_view> &pieces) {
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t done = 0;
  while (done < text.size()) {
    int count = pcre2_match(code, subject, text.size(), done,
                            PCRE2_NO_UTF_CHECK, state.data, state.context);
    if (count == PCRE2_ERROR_NOMATCH)
      break;
    if (count < 0)
      return makeError(StatusCode::ResourceExhausted,
                       "PCRE2 failed with error ", count,
                       " while splitting the text at byte ", done);
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(state.data);
    if (range[0] > done)
      pieces.push_back(text.substr(done, range[0] - done));
    // No expression matches the empty string, so this advances.
    pieces.push_back(text.substr(range[0], range[1] - range[0]));
    done = range[1];
  }
  if (done < text.size())
    pieces.push_back(text.substr(done));
  return Status();
}

Status PreTokenizer::split(std::string_view text,
                           std::vector<std::string_view> &pieces) const {
  MatchState state;
  if (!state.data || !state.context)
    return makeError(StatusCode::ResourceExhausted,
                     "out of memory while splitting the text");
  // The expressions are linear, so a long text is no reason to give up.
  pcre2_set_match_limit(state.context, UINT32_MAX);

  std::vector<std::string_view> current, next;
  size_t position = 0;
  while (position < text.size()) {
    // The longest run that is all valid or all invalid.
    size_t begin = position;
    bool valid = readUtf8(text.substr(begin)).kind == Utf8Sequence::Valid;
    while (position < text.size()) {
      Utf8Sequence sequence = readUtf8(text.substr(position));
      if ((sequence.kind == Utf8Sequence::Valid) != valid)
        break;
      position += sequence.length;
    }
    std::string_view run = text.substr(begin, position - begin);
    if (!valid) {
      pieces.push_back(run);
      continue;
    }

    current.assign(1, run);
    for (const auto &stage : stages) {
      next.clear();
      for (std::string_view piece : current)
        if (Status status = splitBy(stage.get(), piece, state, next);
            !status.ok())
          return status;
      current.swap(next);
    }
    pieces.insert(pieces.end(), current.begin(), current.end());
  }
  return Status();
}
