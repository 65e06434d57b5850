// Sequences over entries, and the token loop.

#include "poot/serve/driver.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <functional>
#include <numeric>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

std::vector<int32_t>
poot::serve::smallestCover(int32_t count, const std::vector<int32_t> &sizes) {
  if (count <= 0 || sizes.empty())
    return {};
  // best[n]: chunks and tokens of the best cover of n, and its largest chunk.
  struct Cover {
    int32_t chunks = 0;
    int64_t tokens = 0;
    int32_t first = 0;
  };
  std::vector<Cover> best(static_cast<size_t>(count) + 1);
  for (int32_t n = 1; n <= count; ++n) {
    best[n].chunks = INT32_MAX;
    for (int32_t size : sizes) {
      const Cover &rest = best[std::max(0, n - size)];
      Cover cover{rest.chunks + 1, rest.tokens + size, size};
      if (cover.chunks < best[n].chunks ||
          (cover.chunks == best[n].chunks && cover.tokens < best[n].tokens))
        best[n] = cover;
    }
  }
  std::vector<int32_t> cover;
  for (int32_t n = count; n > 0; n -= best[n].first)
    cover.push_back(best[n].first);
  // So that the order does not depend on that of the sizes.
  std::sort(cover.begin(), cover.end(), std::greater<>());
  return cover;
}

Expected<Driver> Driver::create(Executor &executor) {
  Driver driver(executor);
  int32_t rows = 0;
  for (const Entry &entry : executor.entries())
    if (entry.tokens == 1)
      rows = std::max(rows, entry.rows);
  if (rows == 0)
    return makeError(StatusCode::Unsupported,
                     "the bundle has no entry that decodes one token, so no "
                     "text can be generated with it");
  driver.sequences.resize(rows);
  return driver;
}

Expected<int32_t> Driver::open() {
  for (size_t row = 0; row < sequences.size(); ++row)
    if (!sequences[row].isOpen) {
      sequences[row] = Sequence();
      sequences[row].isOpen = true;
      return static_cast<int32_t>(row);
    }
  return makeError(StatusCode::ResourceExhausted, "all ", sequences.size(),
                   " rows of the bundle are in use");
}

void Driver::release(int32_t sequence) { sequences[sequence].isOpen = false; }

int32_t Driver::length(int32_t sequence) const {
  return sequences[sequence].committed + sequences[sequence].pending;
}

void Driver::commit(int32_t sequence, int32_t count) {
  Sequence &state = sequences[sequence];
  assert(count >= 0 && count <= state.pending && "commits tokens never run");
  state.committed += count;
  state.pending = 0;
}

/// The smallest entry of exactly `tokens` tokens that reaches `row` and has
/// room up to position `end`, or null.
const Entry *Driver::find(int32_t row, int64_t end, int32_t tokens,
                          StepOutput output) const {
  const Entry *best = nullptr;
  for (const Entry &entry : executor->entries()) {
    if (entry.tokens != tokens || entry.output != output || entry.rows <= row ||
        entry.capacity < end)
      continue;
    if (!best || entry.rows < best->rows ||
        (entry.rows == best->rows && entry.capacity < best->capacity))
      best = &entry;
  }
  return best;
}

/// The steps that run `count` tokens up to position `end`: the fewest, and of
/// these the ones with the least padding. Empty when the entries can't.
std::vector<Driver::Chunk> Driver::plan(int32_t row, int32_t count, int64_t end,
                                        StepOutput output) const {
  // The last step must give `output`; the ones before may give anything.
  auto findLast = [&](int32_t tokens) {
    const Entry *entry = find(row, end, tokens, output);
    if (!entry && output == StepOutput::Token)
      entry = find(row, end, tokens, StepOutput::Logits);
    return entry;
  };
  auto findAny = [&](int32_t tokens) {
    const Entry *entry = find(row, end, tokens, StepOutput::Token);
    return entry ? entry : find(row, end, tokens, StepOutput::Logits);
  };
  std::vector<int32_t> sizes;
  for (const Entry &entry : executor->entries())
    if (findAny(entry.tokens))
      sizes.push_back(entry.tokens);

  std::vector<int32_t> best;
  int64_t bestTokens = 0;
  for (int32_t size : sizes) {
    if (!findLast(size))
      continue;
    std::vector<int32_t> cover = smallestCover(count - size, sizes);
    cover.push_back(size);
    int64_t tokens = std::accumulate(cover.begin(), cover.end(), int64_t(0));
    if (best.empty() || cover.size() < best.size() ||
        (cover.size() == best.size() && tokens < bestTokens)) {
      best = std::move(cover);
      bestTokens = tokens;
    }
  }

  if (best.empty())
    return {};
  // The last step is full where it can be; the padding is in those before.
  std::vector<Chunk> chunks;
  int32_t before = std::max(0, count - best.back());
  for (size_t i = 0; i + 1 < best.size(); ++i) {
    int32_t taken = std::min(best[i], before);
    chunks.push_back({findAny(best[i]), taken});
    before -= taken;
  }
  chunks.push_back({findLast(best.back()), std::min(count, best.back())});
  return chunks;
}

Expected<Step> Driver::submit(int32_t row, Chunk chunk, const int32_t *tokens,
                              uint64_t tokenFrom) {
  const Entry &entry = *chunk.entry;
  Sequence &sequence = sequences[row];
  size_t size = static_cast<size_t>(entry.rows) * entry.tokens;
  StepSlots slots;
  slots.token.assign(size, 0);
  slots.pos.assign(size, -1);
  slots.writeMap.assign(size, -1);
  slots.last.assign(entry.rows, 0);
  slots.tokenFrom = tokenFrom;
  size_t base = static_cast<size_t>(row) * entry.tokens;
  int32_t begin = length(row);
  for (int32_t i = 0; i < chunk.count; ++i) {
    if (tokens)
      slots.token[base + i] = tokens[i];
    slots.pos[base + i] = begin + i;
    slots.writeMap[base + i] = row * capacity() + begin + i;
  }
  slots.last[row] = chunk.count - 1;
  Expected<uint64_t> id = executor->submit(entry, slots);
  if (!id)
    return id.status();
  sequence.pending += chunk.count;
  return Step{*id, entry.output};
}

Expected<Step> Driver::step(int32_t sequence,
                            const std::vector<int32_t> &tokens,
                            StepOutput output,
                            const std::function<void(size_t)> &progress) {
  if (tokens.empty())
    return makeError(StatusCode::InvalidArgument, "a step needs a token");
  for (int32_t token : tokens)
    if (token < 0 || token >= vocabularySize())
      return makeError(StatusCode::InvalidArgument, "token ", token,
                       " is outside of the bundle's vocabulary of ",
                       vocabularySize(), "; do the weights belong to it?");
  int64_t begin = length(sequence);
  int64_t end = begin + static_cast<int64_t>(tokens.size());
  if (end > capacity())
    return makeError(StatusCode::ResourceExhausted, tokens.size(),
                     " tokens after ", begin,
                     " don't fit into the bundle's capacity of ", capacity(),
                     "; compile it with a larger --capacity");

  std::vector<Chunk> chunks =
      plan(sequence, static_cast<int32_t>(tokens.size()), end, output);
  if (chunks.empty())
    return makeError(StatusCode::Unsupported, "the bundle has no entry with ",
                     output == StepOutput::Token ? "tokens" : "logits",
                     " as its output for position ", end - 1, " of row ",
                     sequence);
  Step last{};
  size_t done = 0;
  for (Chunk chunk : chunks) {
    Expected<Step> step = submit(sequence, chunk, tokens.data() + done, 0);
    if (!step)
      return step;
    last = *step;
    done += static_cast<size_t>(chunk.count);
    if (progress)
      progress(done);
  }
  return last;
}

bool Driver::canStepAhead(int32_t sequence, Step previous) const {
  return previous.output == StepOutput::Token &&
         find(sequence, int64_t(length(sequence)) + 1, 1, StepOutput::Token);
}

Expected<Step> Driver::stepAhead(int32_t sequence, Step previous) {
  assert(canStepAhead(sequence, previous));
  const Entry *entry =
      find(sequence, int64_t(length(sequence)) + 1, 1, StepOutput::Token);
  return submit(sequence, {entry, 1}, nullptr, previous.id);
}

Expected<int32_t> Driver::readToken(int32_t sequence, Step step) {
  if (step.output == StepOutput::Logits) {
    Expected<const float *> logits = readLogits(sequence, step);
    if (!logits)
      return logits.status();
    return argMax(*logits, vocabularySize());
  }
  if (Status s = executor->readTokens(step.id, tokenBuffer); !s.ok())
    return s;
  int32_t token = tokenBuffer[sequence];
  if (token < 0 || token >= vocabularySize())
    return makeError(StatusCode::Internal, "a step chose token ", token,
                     ", which is outside of the vocabulary of ",
                     vocabularySize());
  return token;
}

Expected<const float *> Driver::readLogits(int32_t sequence, Step step) {
  assert(step.output == StepOutput::Logits);
  if (Status s = executor->readLogits(step.id, logitBuffer); !s.ok())
    return s;
  return logitBuffer.data() +
         static_cast<size_t>(sequence) * static_cast<size_t>(vocabularySize());
}

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Expected<Generation> poot::serve::generate(Driver &driver, int32_t sequence,
                                           const std::vector<int32_t> &prompt,
                                           const GenerationOptions &options) {
  Expected<Sampler> sampler = Sampler::create(options.sampling);
  if (!sampler)
    return sampler.status();
  bool wantsLogits = bool(options.onLogits) || !options.sampling.isGreedy();
  StepOutput output = wantsLogits ? StepOutput::Logits : StepOutput::Token;
  auto reportLogits = [&](Step step) -> Status {
    if (!options.onLogits)
      return Status();
    Expected<const float *> logits = driver.readLogits(sequence, step);
    return logits ? options.onLogits(*logits) : logits.status();
  };

  Generation result;
  Clock::time_point begin = Clock::now();
  Expected<Step> step = Step{};
  if (options.onLogits) {
    // Every position's logits are wanted, and a step gives its last one's.
    for (size_t i = 0; i < prompt.size(); ++i) {
      step = driver.step(sequence, {prompt[i]}, output);
      if (!step)
        return step.status();
      if (Status s = reportLogits(*step); !s.ok())
        return s;
      if (options.onPrompt)
        options.onPrompt(i + 1);
    }
  } else {
    step = driver.step(sequence, prompt, output, options.onPrompt);
    if (!step)
      return step.status();
  }

  result.reason = Generation::TokenLimit;
  while (static_cast<int32_t>(result.tokens.size()) < options.maxTokens) {
    // The device need not wait for the host: start on the next token before
    // this one is known. At an end, that step was for nothing and is dropped.
    bool isLast =
        static_cast<int32_t>(result.tokens.size()) + 1 == options.maxTokens;
    bool isFull = driver.length(sequence) == driver.capacity();
    bool goesAhead = !wantsLogits && !isLast && !isFull &&
                     driver.canStepAhead(sequence, *step);
    Expected<Step> next = *step;
    if (goesAhead) {
      next = driver.stepAhead(sequence, *step);
      if (!next)
        return next.status();
    }

    Expected<int32_t> token = 0;
    if (options.sampling.isGreedy()) {
      token = driver.readToken(sequence, *step);
    } else {
      Expected<const float *> logits = driver.readLogits(sequence, *step);
      if (!logits)
        return logits.status();
      token = sampler->sample(*logits, driver.vocabularySize());
    }
    if (!token)
      return token.status();
    if (result.tokens.empty())
      result.promptSeconds = secondsSince(begin);
    else
      ++result.decodeSteps;

    if (options.isEnd && options.isEnd(*token)) {
      result.reason = Generation::EndToken;
      break;
    }
    result.tokens.push_back(*token);
    if (options.onToken)
      options.onToken(*token);
    if (isLast)
      break;
    if (isFull) {
      result.reason = Generation::Capacity;
      break;
    }
    if (!goesAhead) {
      next = driver.step(sequence, {*token}, output);
      if (!next)
        return next.status();
      if (Status s = reportLogits(*next); !s.ok())
        return s;
    }
    step = next;
  }
  if (options.maxTokens <= 0) {
    // Nothing else waits for the prompt, or sees that a step of it failed.
    if (Expected<int32_t> token = driver.readToken(sequence, *step); !token)
      return token.status();
    result.promptSeconds = secondsSince(begin);
  }
  result.decodeSeconds = secondsSince(begin) - result.promptSeconds;

  // The last token of a text that did not end by itself was never run.
  size_t kept = result.tokens.size();
  if (result.reason != Generation::EndToken && kept > 0)
    --kept;
  driver.commit(sequence, static_cast<int32_t>(prompt.size() + kept));
  return result;
}
