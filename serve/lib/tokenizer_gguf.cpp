// Reads the tokenizer.* keys of a GGUF file.

#include "poot/serve/tokenizer.h"
#include "poot/weights/gguf.h"

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::Gguf;
using weights::Status;

/// Each of these leaves `out` alone when the file has no such key.
template <class T, class Out>
static Status readValue(const Gguf &file, const char *key, Out &out) {
  if (!file.has(key))
    return Status();
  Expected<T> value = file.get<T>(key);
  if (!value)
    return value.status();
  out = Out(*value);
  return Status();
}

template <class T, class Out>
static Status readArray(const Gguf &file, const char *key,
                        std::vector<Out> &out) {
  if (!file.has(key))
    return Status();
  Expected<std::vector<T>> values = file.getArray<T>(key);
  if (!values)
    return values.status();
  out.assign(values->begin(), values->end());
  return Status();
}

Expected<TokenizerData> TokenizerData::read(const Gguf &file) {
  TokenizerData data;
  if (!file.has("tokenizer.ggml.model"))
    return weights::makeError(
        weights::StatusCode::NotFound, file.name(),
        " has no tokenizer: the key tokenizer.ggml.model is missing");
  for (const Status &status : {
           readValue<std::string_view>(file, "tokenizer.ggml.model",
                                       data.model),
           readValue<std::string_view>(file, "tokenizer.ggml.pre",
                                       data.preTokenizer),
           readArray<std::string_view>(file, "tokenizer.ggml.tokens",
                                       data.tokens),
           readArray<int32_t>(file, "tokenizer.ggml.token_type", data.types),
           readArray<float>(file, "tokenizer.ggml.scores", data.scores),
           readArray<std::string_view>(file, "tokenizer.ggml.merges",
                                       data.merges),
           readValue<uint32_t>(file, "tokenizer.ggml.bos_token_id", data.bos),
           readValue<uint32_t>(file, "tokenizer.ggml.eos_token_id", data.eos),
           readValue<uint32_t>(file, "tokenizer.ggml.eot_token_id", data.eot),
           readValue<uint32_t>(file, "tokenizer.ggml.eom_token_id", data.eom),
           readValue<uint32_t>(file, "tokenizer.ggml.unknown_token_id",
                               data.unknown),
           readValue<bool>(file, "tokenizer.ggml.add_bos_token", data.addBos),
           readValue<bool>(file, "tokenizer.ggml.add_eos_token", data.addEos),
           readValue<bool>(file, "tokenizer.ggml.add_space_prefix",
                           data.addSpacePrefix),
           readValue<std::string_view>(file, "tokenizer.chat_template",
                                       data.chatTemplate),
       })
    if (!status.ok())
      return status;
  return data;
}

Expected<Tokenizer> Tokenizer::read(const Gguf &file) {
  Expected<TokenizerData> data = TokenizerData::read(file);
  if (!data)
    return data.status();
  Expected<Tokenizer> tokenizer = create(*std::move(data));
  if (!tokenizer) // create() knows the keys, not the file
    return Status(tokenizer.status().code(),
                  file.name() + ": " + tokenizer.status().message());
  return tokenizer;
}
