// ChatML prompts.

#include "poot/serve/chat.h"

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

static constexpr std::string_view startToken = "<|im_start|>";
static constexpr std::string_view endToken = "<|im_end|>";

/// The system message that a template inserts by itself, or "". It stands in
/// the template as one literal: <|im_start|>system, a line break (possibly as
/// an escape), the text, <|im_end|>.
static std::string_view defaultSystemMessage(std::string_view chatTemplate) {
  static constexpr std::string_view opening = "<|im_start|>system";
  size_t at = chatTemplate.find(opening);
  for (; at != chatTemplate.npos; at = chatTemplate.find(opening, at + 1)) {
    std::string_view rest = chatTemplate.substr(at + opening.size());
    if (rest.substr(0, 1) == "\n")
      rest.remove_prefix(1);
    else if (rest.substr(0, 2) == "\\n")
      rest.remove_prefix(2);
    else
      continue;
    size_t end = rest.find(endToken);
    if (end == rest.npos)
      continue;
    std::string_view text = rest.substr(0, end);
    // Where code interrupts the literal, the message is not the template's.
    if (text.find_first_of("'\"{}\\") == text.npos)
      return text;
  }
  return {};
}

Expected<std::vector<int32_t>>
poot::serve::encodeChat(const Tokenizer &tokenizer,
                        const std::vector<ChatMessage> &messages) {
  std::string_view chatTemplate = tokenizer.chatTemplate();
  if (chatTemplate.find(startToken) == chatTemplate.npos)
    return makeError(
        StatusCode::Unsupported,
        chatTemplate.empty()
            ? "the model has no tokenizer.chat_template, so it is not a chat "
              "model"
            : "the model's tokenizer.chat_template is of an unknown form; "
              "known is ChatML (<|im_start|>)",
        "; give it a raw prompt instead");
  int32_t start = tokenizer.find(startToken), end = tokenizer.find(endToken);
  if (start < 0 || end < 0)
    return makeError(StatusCode::Malformed,
                     "the model's tokenizer.chat_template is ChatML, but "
                     "tokenizer.ggml.tokens lacks ",
                     start < 0 ? startToken : endToken);

  std::vector<int32_t> ids;
  if (chatTemplate.find("bos_token") != chatTemplate.npos &&
      tokenizer.bosToken() >= 0)
    ids.push_back(tokenizer.bosToken());
  // Each special token cuts the text, so encoding what lies between gives what
  // encoding the whole would, save that nothing in it acts as a special token.
  auto appendText = [&](const std::string &text) -> Status {
    auto plain = tokenizer.encode(text, {/*addSpecial=*/false, false});
    if (!plain)
      return plain.status();
    ids.insert(ids.end(), plain->begin(), plain->end());
    return Status();
  };
  auto appendMessage = [&](const ChatMessage &message) -> Status {
    ids.push_back(start);
    if (Status s = appendText(message.role + "\n" + message.content); !s.ok())
      return s;
    ids.push_back(end);
    return appendText("\n");
  };

  std::string_view system = defaultSystemMessage(chatTemplate);
  bool hasSystem = !messages.empty() && messages.front().role == "system";
  if (!system.empty() && !hasSystem)
    if (Status s = appendMessage({"system", std::string(system)}); !s.ok())
      return s;
  for (const ChatMessage &message : messages)
    if (Status s = appendMessage(message); !s.ok())
      return s;
  ids.push_back(start);
  if (Status s = appendText("assistant\n"); !s.ok())
    return s;
  return ids;
}
