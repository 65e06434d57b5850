// The driver: runs sequences through the entries of a bundle. It knows neither
// model families nor devices, only the keys of entries and what their slots
// mean.
//
// An entry runs `tokens` new tokens for each of `rows` rows. Its slots:
//   token      i32[rows, tokens]  the tokens
//   pos        i32[rows, tokens]  position of each in its sequence; -1: padding
//   write_map  i32[rows, tokens]  cache slot that each is written to; -1: none.
//                                 Row r owns the slots from r * capacity on
//   last       i32[rows]          index of each row's last token in this step
// and it has one of two outputs, by its suffix:
//   greedy     next_token  i32[rows]           the likeliest next token
//   logits     logits      f32[rows, vocab]    of the next token
// both at each row's `last` token.

#ifndef POOT_SERVE_DRIVER_H
#define POOT_SERVE_DRIVER_H

#include "poot/serve/sampler.h"
#include "poot/weights/status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace poot::serve {

/// What a step gives for each row.
enum class StepOutput { Token, Logits };

struct Entry {
  std::string name;
  int32_t rows;
  int32_t tokens;
  int32_t capacity; ///< tokens that a row's sequence may have
  StepOutput output;
};

/// The values of an entry's slots for one step.
struct StepSlots {
  std::vector<int32_t> token, pos, writeMap, last;
  /// Not 0: instead of `token`, the next_token of this earlier step, which the
  /// device passes on without the host.
  uint64_t tokenFrom = 0;
};

/// What runs the steps: the runtime, or a fake one in tests.
class Executor {
public:
  virtual ~Executor() = default;
  virtual const std::vector<Entry> &entries() const = 0;
  /// Cache slots of a row.
  virtual int32_t capacity() const = 0;
  /// Tokens that logits are given for, and below which next_token lies.
  virtual int32_t vocabularySize() const = 0;
  /// Starts a step. Steps run in this order; at least two may be unfinished.
  /// Steps count from 1.
  virtual weights::Expected<uint64_t> submit(const Entry &entry,
                                             const StepSlots &slots) = 0;
  /// Waits for one of the two latest steps and fetches its output, which has a
  /// value, or a row of logits, for each of the entry's rows.
  virtual weights::Status readTokens(uint64_t step,
                                     std::vector<int32_t> &tokens) = 0;
  virtual weights::Status readLogits(uint64_t step,
                                     std::vector<float> &logits) = 0;
};

/// A step that was started.
struct Step {
  uint64_t id;
  StepOutput output;
};

class Driver {
public:
  /// `executor` outlives the driver. An error when it has no entry that steps
  /// one token.
  static weights::Expected<Driver> create(Executor &executor);

  /// Starts an empty sequence. An error when every row has one.
  weights::Expected<int32_t> open();
  /// Ends it; its row is free again.
  void release(int32_t sequence);

  /// Runs `tokens` as the continuation of a sequence, in as few steps as the
  /// entries allow, and returns the last one. It gives what `output` says;
  /// Logits also serve where a Token is wanted. `progress`, if any, is told
  /// after each step how many of the tokens are started. An error when the
  /// tokens exceed the capacity.
  weights::Expected<Step>
  step(int32_t sequence, const std::vector<int32_t> &tokens, StepOutput output,
       const std::function<void(size_t)> &progress = nullptr);
  /// Runs the token that `previous`, this sequence's last step and the last of
  /// its entry, is about to choose, without waiting for it.
  weights::Expected<Step> stepAhead(int32_t sequence, Step previous);
  /// Whether that can be: `previous` gives a token, and there is an entry that
  /// takes it.
  bool canStepAhead(int32_t sequence, Step previous) const;

  /// Keeps the first `count` of the tokens run since the last commit and
  /// forgets the rest, which the next step writes over.
  void commit(int32_t sequence, int32_t count);

  /// Waits for one of the two latest steps and reads this sequence's outcome.
  weights::Expected<int32_t> readToken(int32_t sequence, Step step);
  /// The logits stay until the next read.
  weights::Expected<const float *> readLogits(int32_t sequence, Step step);

  /// Tokens of a sequence, those not committed included.
  int32_t length(int32_t sequence) const;
  int32_t capacity() const { return executor->capacity(); }
  int32_t vocabularySize() const { return executor->vocabularySize(); }

private:
  struct Sequence {
    bool isOpen = false;
    int32_t committed = 0;
    int32_t pending = 0;
  };
  struct Chunk {
    const Entry *entry;
    int32_t count; ///< tokens in it; the rest is padding
  };
  explicit Driver(Executor &executor) : executor(&executor) {}
  const Entry *find(int32_t row, int64_t end, int32_t tokens,
                    StepOutput output) const;
  std::vector<Chunk> plan(int32_t row, int32_t count, int64_t end,
                          StepOutput output) const;
  weights::Expected<Step> submit(int32_t row, Chunk chunk,
                                 const int32_t *tokens, uint64_t tokenFrom);

  Executor *executor;
  std::vector<Sequence> sequences; ///< one a row
  std::vector<int32_t> tokenBuffer;
  std::vector<float> logitBuffer;
};

/// The fewest chunks of the given sizes that cover `count` tokens, and of
/// these the choice with the least padding; the largest chunk comes first.
/// Empty for a count of at most 0 or without sizes.
std::vector<int32_t> smallestCover(int32_t count,
                                   const std::vector<int32_t> &sizes);

struct GenerationOptions {
  int32_t maxTokens = 0;
  SamplingOptions sampling;
  /// Whether a token ends the text. It is the last one counted.
  std::function<bool(int32_t)> isEnd;
  /// Told of each generated token but an end.
  std::function<void(int32_t)> onToken;
  /// Told how many of the prompt's tokens are submitted.
  std::function<void(size_t)> onPrompt;
  /// Wants the logits after each token of the prompt and each generated token
  /// that is run, in order. The prompt then runs token by token. An error ends
  /// the generation.
  std::function<weights::Status(const float *)> onLogits;
};

struct Generation {
  enum Reason { EndToken, TokenLimit, Capacity } reason;
  std::vector<int32_t> tokens; ///< generated, without the end
  double promptSeconds = 0;    ///< until the first token was known
  double decodeSeconds = 0;    ///< from there to the last
  int32_t decodeSteps = 0;     ///< whose results decodeSeconds waited for
};

/// Runs the prompt (at least one token) in an open sequence, then chooses and
/// runs tokens until an end. With maxTokens 0 it runs the prompt alone.
weights::Expected<Generation> generate(Driver &driver, int32_t sequence,
                                       const std::vector<int32_t> &prompt,
                                       const GenerationOptions &options);

} // namespace poot::serve

#endif // POOT_SERVE_DRIVER_H
