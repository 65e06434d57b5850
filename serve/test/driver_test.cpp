// The driver over a fake executor that keeps a cache as a device does: what it
// answers depends on every token written to the row's slots, at its position,
// so a chunk that is cut, padded or placed wrongly changes the text.

#include "poot/serve/driver.h"

#include <gtest/gtest.h>

#include <map>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::Status;
using weights::StatusCode;

static constexpr int32_t vocabulary = 97;

/// The next token after `tokens`: any function of them all.
static int32_t nextOf(const std::vector<int32_t> &tokens) {
  uint64_t hash = 14695981039346656037u;
  for (int32_t token : tokens)
    hash = (hash ^ static_cast<uint64_t>(token + 1)) * 1099511628211u;
  return static_cast<int32_t>((hash >> 20) % vocabulary);
}

namespace {
class FakeExecutor : public Executor {
public:
  FakeExecutor(std::vector<Entry> entries, int32_t rows, int32_t capacity)
      : entryList(std::move(entries)), rowCapacity(capacity),
        cache(static_cast<size_t>(rows) * capacity, -1) {}

  const std::vector<Entry> &entries() const override { return entryList; }
  int32_t capacity() const override { return rowCapacity; }
  int32_t vocabularySize() const override { return vocabulary; }

  Expected<uint64_t> submit(const Entry &entry,
                            const StepSlots &slots) override {
    if (failAt == static_cast<int>(log.size()))
      return Status(StatusCode::DeviceLost, "the device is gone");
    size_t size = static_cast<size_t>(entry.rows) * entry.tokens;
    EXPECT_EQ(slots.token.size(), size);
    EXPECT_EQ(slots.pos.size(), size);
    EXPECT_EQ(slots.writeMap.size(), size);
    EXPECT_EQ(slots.last.size(), static_cast<size_t>(entry.rows));
    std::vector<int32_t> token = slots.token;
    if (slots.tokenFrom != 0) {
      EXPECT_EQ(entry.tokens, 1);
      EXPECT_EQ(slots.tokenFrom, log.size()) << "not the last step";
      token = results.at(slots.tokenFrom);
      EXPECT_EQ(token.size(), size);
    }
    std::vector<int32_t> result(entry.rows, 0);
    int32_t count = 0;
    for (int32_t row = 0; row < entry.rows; ++row) {
      for (int32_t i = 0; i < entry.tokens; ++i) {
        size_t at = static_cast<size_t>(row) * entry.tokens + i;
        int32_t pos = slots.pos[at], slot = slots.writeMap[at];
        EXPECT_EQ(pos < 0, slot < 0);
        if (pos < 0)
          continue;
        EXPECT_EQ(slot, row * rowCapacity + pos);
        EXPECT_LT(pos, entry.capacity);
        cache[slot] = token[at];
        ++count;
      }
      size_t last = static_cast<size_t>(row) * entry.tokens + slots.last[row];
      EXPECT_LT(slots.last[row], entry.tokens);
      int32_t pos = slots.pos[last];
      if (pos >= 0) {
        auto begin = cache.begin() + row * rowCapacity;
        result[row] = nextOf({begin, begin + pos + 1});
      }
    }
    log.push_back({entry.name, count});
    results[log.size()] = result;
    outputs[log.size()] = entry.output;
    return static_cast<uint64_t>(log.size());
  }

  Status readTokens(uint64_t step, std::vector<int32_t> &tokens) override {
    EXPECT_EQ(outputs.at(step), StepOutput::Token);
    EXPECT_GE(step + 1, log.size()) << "older than the two latest";
    tokens = results.at(step);
    if (garbage)
      tokens.assign(tokens.size(), vocabulary);
    return Status();
  }
  Status readLogits(uint64_t step, std::vector<float> &logits) override {
    EXPECT_EQ(outputs.at(step), StepOutput::Logits);
    EXPECT_GE(step + 1, log.size()) << "older than the two latest";
    const std::vector<int32_t> &result = results.at(step);
    logits.assign(result.size() * vocabulary, 0.0f);
    for (size_t row = 0; row < result.size(); ++row)
      logits[row * vocabulary + result[row]] = 10.0f;
    return Status();
  }

  struct Logged {
    std::string entry;
    int32_t tokens;
    bool operator==(const Logged &other) const {
      return entry == other.entry && tokens == other.tokens;
    }
  };
  std::vector<Logged> log;
  int failAt = -1;
  bool garbage = false;

private:
  std::vector<Entry> entryList;
  int32_t rowCapacity;
  std::vector<int32_t> cache;
  std::map<uint64_t, std::vector<int32_t>> results;
  std::map<uint64_t, StepOutput> outputs;
};

std::ostream &operator<<(std::ostream &out, const FakeExecutor::Logged &l) {
  return out << l.entry << "(" << l.tokens << ")";
}
} // namespace

using Log = std::vector<FakeExecutor::Logged>;

static constexpr int32_t cap = 64;
static const std::vector<Entry> fullSet = {
    {"d", 1, 1, cap, StepOutput::Token},
    {"dl", 1, 1, cap, StepOutput::Logits},
    {"p4", 1, 4, cap, StepOutput::Token},
    {"p16", 1, 16, cap, StepOutput::Token},
    {"p4l", 1, 4, cap, StepOutput::Logits},
    {"p16l", 1, 16, cap, StepOutput::Logits},
};

static std::vector<int32_t> makePrompt(int32_t count) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < count; ++i)
    prompt.push_back((i * 31 + 7) % vocabulary);
  return prompt;
}

/// What a model without chunks and padding would generate.
static std::vector<int32_t> expectedText(std::vector<int32_t> prompt,
                                         int32_t count) {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < count; ++i) {
    text.push_back(nextOf(prompt));
    prompt.push_back(text.back());
  }
  return text;
}

static Driver makeDriver(Executor &executor) {
  auto driver = Driver::create(executor);
  EXPECT_TRUE(driver) << driver.status().message();
  return *driver;
}

TEST(SmallestCover, TakesTheFewestChunksThenTheLeastPadding) {
  using V = std::vector<int32_t>;
  EXPECT_EQ(smallestCover(1, {1, 4, 16}), (V{1}));
  EXPECT_EQ(smallestCover(2, {1, 4, 16}), (V{4}));
  EXPECT_EQ(smallestCover(16, {1, 4, 16}), (V{16}));
  EXPECT_EQ(smallestCover(17, {16, 1, 4}), (V{16, 1}));
  EXPECT_EQ(smallestCover(20, {4, 16}), (V{16, 4}));
  EXPECT_EQ(smallestCover(24, {4, 16}), (V{16, 16}));
  EXPECT_EQ(smallestCover(128, {16, 64, 96}), (V{64, 64}));
  EXPECT_EQ(smallestCover(5, {1}), (V{1, 1, 1, 1, 1}));
  EXPECT_EQ(smallestCover(0, {1, 4}), V{});
  EXPECT_EQ(smallestCover(-3, {1, 4}), V{});
  EXPECT_EQ(smallestCover(3, {}), V{});
}

TEST(Driver, PromptsOfEveryLengthGiveTheSameText) {
  for (int32_t length = 1; length <= 40; ++length) {
    for (bool logits : {false, true}) {
      FakeExecutor executor(fullSet, 1, cap);
      Driver driver = makeDriver(executor);
      auto sequence = driver.open();
      ASSERT_TRUE(sequence);
      GenerationOptions options;
      options.maxTokens = 10;
      size_t rows = 0;
      if (logits)
        options.onLogits = [&](const float *) { return ++rows, Status(); };
      std::vector<int32_t> streamed;
      options.onToken = [&](int32_t t) { streamed.push_back(t); };
      auto result = generate(driver, *sequence, makePrompt(length), options);
      ASSERT_TRUE(result) << result.status().message();
      EXPECT_EQ(result->tokens, expectedText(makePrompt(length), 10)) << length;
      EXPECT_EQ(streamed, result->tokens);
      EXPECT_EQ(result->reason, Generation::TokenLimit);
      EXPECT_EQ(result->decodeSteps, 9);
      // The tenth token was chosen, not run.
      EXPECT_EQ(driver.length(*sequence), length + 9);
      EXPECT_EQ(rows, logits ? length + 9u : 0u);
    }
  }
}

TEST(Driver, ChoosesTheEntriesThatCoverThePrompt) {
  auto logOf = [](int32_t length, SamplingOptions sampling,
                  std::vector<Entry> entries) {
    FakeExecutor executor(std::move(entries), 1, cap);
    Driver driver = makeDriver(executor);
    GenerationOptions options;
    options.maxTokens = 2;
    options.sampling = sampling;
    std::vector<size_t> progress;
    options.onPrompt = [&](size_t n) { progress.push_back(n); };
    auto result = generate(driver, *driver.open(), makePrompt(length), options);
    EXPECT_TRUE(result) << result.status().message();
    EXPECT_EQ(progress.back(), static_cast<size_t>(length));
    return executor.log;
  };
  EXPECT_EQ(logOf(20, {}, fullSet), (Log{{"p16", 16}, {"p4", 4}, {"d", 1}}));
  EXPECT_EQ(logOf(3, {}, fullSet), (Log{{"p4", 3}, {"d", 1}}));
  EXPECT_EQ(logOf(1, {}, fullSet), (Log{{"d", 1}, {"d", 1}}));
  // Only the last chunk gives the logits that sampling needs.
  SamplingOptions sampling{1.0f};
  EXPECT_EQ(logOf(20, sampling, fullSet),
            (Log{{"p16", 16}, {"p4l", 4}, {"dl", 1}}));
  // Where no chunk has them, the last token runs alone.
  std::vector<Entry> partly = {fullSet[0], fullSet[1], fullSet[3]};
  EXPECT_EQ(logOf(20, sampling, partly),
            (Log{{"p16", 16}, {"p16", 3}, {"dl", 1}, {"dl", 1}}));
  EXPECT_EQ(logOf(17, sampling, partly),
            (Log{{"p16", 16}, {"dl", 1}, {"dl", 1}}));
  // Logits serve a greedy choice too.
  EXPECT_EQ(logOf(2, {}, {fullSet[1]}), (Log{{"dl", 1}, {"dl", 1}, {"dl", 1}}));
}

TEST(Driver, StopsAtAnEndAndDropsTheStepAhead) {
  std::vector<int32_t> prompt = makePrompt(6);
  std::vector<int32_t> text = expectedText(prompt, 20);
  int32_t end = text[5];
  ASSERT_EQ(std::count(text.begin(), text.begin() + 5, end), 0);
  FakeExecutor executor(fullSet, 1, cap);
  Driver driver = makeDriver(executor);
  int32_t sequence = *driver.open();
  GenerationOptions options;
  options.maxTokens = 20;
  options.isEnd = [&](int32_t token) { return token == end; };
  auto result = generate(driver, sequence, prompt, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->reason, Generation::EndToken);
  text.resize(5);
  EXPECT_EQ(result->tokens, text);
  EXPECT_EQ(driver.length(sequence), 6 + 5);

  // The sequence goes on from there as if the step ahead had not been.
  std::vector<int32_t> all = prompt, more = {1, 2, 3};
  all.insert(all.end(), text.begin(), text.end());
  all.insert(all.end(), more.begin(), more.end());
  options.isEnd = nullptr;
  options.maxTokens = 4;
  result = generate(driver, sequence, more, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tokens, expectedText(all, 4));
}

TEST(Driver, StopsAtTheCapacity) {
  for (const std::vector<Entry> &entries :
       {fullSet, std::vector<Entry>{fullSet[1]}}) {
    FakeExecutor executor(entries, 1, cap);
    Driver driver = makeDriver(executor);
    GenerationOptions options;
    options.maxTokens = 100;
    auto result = generate(driver, *driver.open(), makePrompt(60), options);
    ASSERT_TRUE(result) << result.status().message();
    EXPECT_EQ(result->reason, Generation::Capacity);
    // Four more fit; the fifth needs no slot.
    EXPECT_EQ(result->tokens, expectedText(makePrompt(60), 5));
  }
}

TEST(Driver, RunsThePromptAlone) {
  FakeExecutor executor(fullSet, 1, cap);
  Driver driver = makeDriver(executor);
  GenerationOptions options;
  auto result = generate(driver, *driver.open(), makePrompt(5), options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->tokens.empty());
  EXPECT_EQ(executor.log, (Log{{"p16", 5}}));
}

TEST(Driver, SequencesHaveRowsOfTheirOwn) {
  std::vector<Entry> entries = {{"d", 3, 1, cap, StepOutput::Token},
                                {"dl", 3, 1, cap, StepOutput::Logits},
                                {"p4", 3, 4, cap, StepOutput::Token}};
  FakeExecutor executor(entries, 3, cap);
  Driver driver = makeDriver(executor);
  GenerationOptions options;
  options.maxTokens = 6;
  std::vector<int32_t> open;
  for (int i = 0; i < 3; ++i) {
    auto sequence = driver.open();
    ASSERT_TRUE(sequence);
    open.push_back(*sequence);
  }
  auto full = driver.open();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.status().message(), "all 3 rows of the bundle are in use");
  for (int32_t i = 2; i >= 0; --i) {
    options.sampling.temperature = i == 1 ? 0.01f : 0; // through logits
    auto result = generate(driver, open[i], makePrompt(3 + i), options);
    ASSERT_TRUE(result) << result.status().message();
    EXPECT_EQ(result->tokens, expectedText(makePrompt(3 + i), 6));
  }
  driver.release(open[1]);
  auto again = driver.open();
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, open[1]);
  EXPECT_EQ(driver.length(*again), 0);
}

TEST(Driver, ErrorsSayWhatIsWrong) {
  FakeExecutor executor(fullSet, 1, cap);
  Driver driver = makeDriver(executor);
  int32_t sequence = *driver.open();
  GenerationOptions options;
  auto messageOf = [&](const std::vector<int32_t> &prompt) {
    auto result = generate(driver, sequence, prompt, options);
    return result ? "" : result.status().message();
  };
  EXPECT_EQ(messageOf({}), "a step needs a token");
  EXPECT_EQ(messageOf(makePrompt(65)),
            "65 tokens after 0 don't fit into the bundle's capacity of 64; "
            "compile it with a larger --capacity");
  EXPECT_EQ(messageOf({3, vocabulary}),
            "token 97 is outside of the bundle's vocabulary of 97; do the "
            "weights belong to it?");
  EXPECT_EQ(messageOf({-1}),
            "token -1 is outside of the bundle's vocabulary of 97; do the "
            "weights belong to it?");
  options.sampling.temperature = -1;
  EXPECT_NE(messageOf({3}), "");
  options.sampling.temperature = 0;
  executor.garbage = true;
  options.maxTokens = 2;
  EXPECT_EQ(messageOf({3}), "a step chose token 97, which is outside of the "
                            "vocabulary of 97");
  EXPECT_TRUE(executor.log.size() > 0);

  FakeExecutor failing(fullSet, 1, cap);
  failing.failAt = 2;
  Driver failingDriver = makeDriver(failing);
  auto result = generate(failingDriver, *failingDriver.open(), makePrompt(3),
                         {/*maxTokens=*/9});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(), "the device is gone");

  FakeExecutor greedyOnly({fullSet[0], fullSet[2]}, 1, cap);
  Driver greedyDriver = makeDriver(greedyOnly);
  options.sampling.temperature = 1;
  result = generate(greedyDriver, *greedyDriver.open(), makePrompt(3), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(),
            "the bundle has no entry with logits as its output for position 2 "
            "of row 0");

  FakeExecutor prefillOnly({fullSet[2]}, 1, cap);
  auto none = Driver::create(prefillOnly);
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().message().find("no entry that decodes one token"),
            std::string::npos);
}

TEST(Driver, AnErrorOfTheLogitsReceiverEndsTheGeneration) {
  FakeExecutor executor(fullSet, 1, cap);
  Driver driver = makeDriver(executor);
  GenerationOptions options;
  options.maxTokens = 5;
  int calls = 0;
  options.onLogits = [&](const float *) {
    return ++calls < 3 ? Status() : Status(StatusCode::IoError, "disk full");
  };
  auto result = generate(driver, *driver.open(), makePrompt(4), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(), "disk full");
  EXPECT_EQ(calls, 3);
}
