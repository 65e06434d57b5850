// A conversation as the token ids that a chat model expects. Known is ChatML,
// the form with <|im_start|> and <|im_end|>, as SmolLM2 and Qwen use it.

#ifndef POOT_SERVE_CHAT_H
#define POOT_SERVE_CHAT_H

#include "poot/serve/tokenizer.h"

#include <string>
#include <vector>

namespace poot::serve {

struct ChatMessage {
  std::string role; ///< "system", "user", "assistant"
  std::string content;
};

/// Encodes the messages and the start of the assistant's answer. A template
/// that spells out a default system message gets it when the first message is
/// none. Control tokens within a message stay text. An error when the
/// tokenizer's chat template is missing or not ChatML.
weights::Expected<std::vector<int32_t>>
encodeChat(const Tokenizer &tokenizer,
           const std::vector<ChatMessage> &messages);

} // namespace poot::serve

#endif // POOT_SERVE_CHAT_H
