// Byte-level BPE never merges across the words that its pre-tokenizer makes.
// Each pre-tokenizer is a list of regular expressions applied one after the
// other: every match becomes a piece, and so does the text between matches.

#ifndef POOT_SERVE_LIB_PRE_TOKENIZER_H
#define POOT_SERVE_LIB_PRE_TOKENIZER_H

#include "poot/weights/status.h"

#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace poot::serve {

class PreTokenizer {
public:
  /// `name` is the value of tokenizer.ggml.pre. An unknown one is an error
  /// that lists those known.
  static weights::Expected<PreTokenizer> create(std::string_view name);

  /// Appends the pieces of `text` to `pieces`, in order; together they are
  /// `text`. Bytes that are not UTF-8 form pieces of their own, one for each
  /// run of them. Takes time linear in the text. Safe to call from several
  /// threads.
  weights::Status split(std::string_view text,
                        std::vector<std::string_view> &pieces) const;

  /// The text is brought into normalization form C before it is split.
  bool normalizesNfc() const { return nfc; }
  /// A word that is a token as a whole stays one, even where merges would
  /// not produce it.
  bool ignoresMerges() const { return ignoreMerges; }
  /// What add_bos_token is when the file does not say.
  bool addsBosByDefault() const { return addBos; }

private:
  struct FreeCode {
    void operator()(pcre2_real_code_8 *code) const;
  };
  std::vector<std::unique_ptr<pcre2_real_code_8, FreeCode>> stages;
  bool nfc = false;
  bool ignoreMerges = false;
  bool addBos = false;
};

} // namespace poot::serve

#endif // POOT_SERVE_LIB_PRE_TOKENIZER_H
