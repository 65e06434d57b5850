// States, weights, computed values, and buffers beyond a device's ranges.

#include "conformance.h"

#include <cstring>

using namespace poot;
using namespace poot::test;

using StatesTest = Conformance;
POOT_FOR_EVERY_DEVICE(StatesTest);

/// Each step adds x to a state, and gives the sum.
static TestBundle accumulator() {
  TestBundle bundle;
  uint32_t state = bundle.addState("total", {64});
  Program entry = bundle.addEntry("step");
  uint32_t x = entry.slot("x", 64), y = entry.output("y", 64);
  uint32_t total = entry.state(bundle, state);
  uint32_t sum = entry.dispatch(bundle.add(), 64,
                                {in(x), in(total, 0, 256), out(y)}, {64});
  entry.copy(y, 0, total, 0, 256, {sum});
  return bundle;
}

TEST_P(StatesTest, StatesLastAcrossSteps) {
  TestBundle bundle = accumulator();
  rt::Executable executable = load(bundle);
  auto first = rt::Session::create(executable);
  auto second = rt::Session::create(executable);
  ASSERT_TRUE(first && second);
  for (int i = 1; i <= 5; ++i) {
    // States start as zeros, and each session has its own.
    poot_step a = submit(*first, "step", {rt::slot("x", Ints(64, 10))});
    poot_step b = submit(*second, "step", {rt::slot("x", Ints(64, 1))});
    EXPECT_EQ(read(*first, a, "y", 64), Ints(64, 10 * i));
    EXPECT_EQ(read(*second, b, "y", 64), Ints(64, i));
  }
  rt::Error error = first->reset();
  ASSERT_FALSE(error) << error.message();
  poot_step a = submit(*first, "step", {rt::slot("x", Ints(64, 3))});
  poot_step b = submit(*second, "step", {rt::slot("x", Ints(64, 3))});
  EXPECT_EQ(read(*first, a, "y", 64), Ints(64, 3));
  EXPECT_EQ(read(*second, b, "y", 64), Ints(64, 8));
}

TEST_P(StatesTest, StatesAreReadAndWritten) {
  TestBundle bundle = accumulator();
  rt::Session session = start(bundle);
  EXPECT_EQ(poot_session_state_size(session.get(), "total"), 256u);
  EXPECT_EQ(poot_session_state_size(session.get(), "other"), 0u);
  submit(session, "step", {rt::slot("x", iota(64, 100))});
  Ints part = {-5, -6};
  rt::Error error = session.writeState("total", 8, part.data(), 8);
  ASSERT_FALSE(error) << error.message();
  Ints values(64);
  error = session.readState("total", 0, values.data(), 256);
  ASSERT_FALSE(error) << error.message();
  Ints expected = iota(64, 100);
  expected[2] = -5;
  expected[3] = -6;
  EXPECT_EQ(values, expected);
  poot_step step = submit(session, "step", {rt::slot("x", Ints(64, 1))});
  for (int32_t &value : expected)
    ++value;
  EXPECT_EQ(read(session, step, "y", 64), expected);

  EXPECT_TRUE(says(session.readState("total", 252, values.data(), 8),
                   POOT_INVALID_ARGUMENT, {"252", "'total'", "256 bytes"}));
  EXPECT_TRUE(says(session.writeState("k", 0, values.data(), 8), POOT_NOT_FOUND,
                   {"'k'", "states: 'total'"}));
}

/// Rows of 64 are appended to a state of open extent, then summed up.
static TestBundle journal() {
  TestBundle bundle;
  uint32_t state = bundle.addState("rows", {-1, 64});
  Program append = bundle.addEntry("append");
  append.dispatch(bundle.append(), 64,
                  {in(append.slot("row", 64)), in(append.slot("at", 1)),
                   inout(append.state(bundle, state))},
                  {64, Word::extentOf(state)});
  Program sum = bundle.addEntry("sum");
  sum.dispatch(bundle.sumRows(), 64,
               {in(sum.state(bundle, state)), out(sum.output("sum", 64))},
               {64, Word::extentOf(state)});
  return bundle;
}

TEST_P(StatesTest, ExtentsAreFixedBySessions) {
  TestBundle bundle = journal();
  rt::Executable executable = load(bundle);
  for (int64_t extent : {1, 3, 700}) {
    poot_session_options options = POOT_SESSION_OPTIONS_INIT;
    options.default_extent = extent;
    auto session = rt::Session::create(executable, &options);
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_EQ(poot_session_state_size(session->get(), "rows"), 256u * extent);
    // Rows beyond the extent are dropped by the kernel, which knows it.
    int32_t expected = 0;
    for (int32_t at : {0, 1, 2, 650, 699, 700}) {
      submit(*session, "append",
             {rt::slot("row", Ints(64, at + 1)), rt::slot("at", Ints{at})});
      if (at < extent)
        expected += at + 1;
    }
    poot_step step = submit(*session, "sum", {});
    EXPECT_EQ(read(*session, step, "sum", 64), Ints(64, expected)) << extent;
  }

  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  auto none = rt::Session::create(executable, &options);
  EXPECT_TRUE(says(none.error(), POOT_INVALID_ARGUMENT,
                   {"'rows'", "open", "default_extent"}));
  poot_state_extent wrong = {"columns", 5};
  options.extents = &wrong;
  options.extent_count = 1;
  auto unknown = rt::Session::create(executable, &options);
  EXPECT_TRUE(says(unknown.error(), POOT_NOT_FOUND, {"'columns'", "'rows'"}));
  poot_state_extent named = {"rows", 2};
  options.extents = &named;
  options.default_extent = 9;
  auto two = rt::Session::create(executable, &options);
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_EQ(poot_session_state_size(two->get(), "rows"), 512u);
  poot_state_extent huge = {"rows", int64_t(1) << 60};
  options.extents = &huge;
  auto never = rt::Session::create(executable, &options);
  EXPECT_TRUE(says(never.error(), POOT_INVALID_ARGUMENT, {"'rows'"}));
  poot_state_extent large = {"rows", int64_t(1) << 45};
  options.extents = &large;
  auto tooLarge = rt::Session::create(executable, &options);
  EXPECT_TRUE(says(tooLarge.error(), POOT_DEVICE_LIMIT,
                   {"the state 'rows'", "maxMemoryAllocationSize"}));
  EXPECT_EQ(tooLarge.error().detail("limit"), "maxMemoryAllocationSize");
}

TEST_P(StatesTest, SlicesOfOpenStatesAreChecked) {
  TestBundle bundle;
  uint32_t state = bundle.addState("rows", {-1, 64});
  Program entry = bundle.addEntry("fifth");
  entry.copy(entry.state(bundle, state), 4 * 256, entry.output("row", 64), 0,
             256);
  entry.get().commands[0]->location = "layer 2";
  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  options.default_extent = 5;
  rt::Session session = start(bundle, options);
  poot_step step = submit(session, "fifth", {});
  EXPECT_EQ(read(session, step, "row", 64), Ints(64, 0));
  options.default_extent = 4;
  rt::Session small = start(bundle, options);
  EXPECT_TRUE(says(small.prepare("fifth"), POOT_INVALID_ARGUMENT,
                   {"'fifth'", "layer 2", "'rows'", "extent of 4", "larger"}));
}

namespace {
/// Weights by name, for the provider.
struct Weights {
  std::vector<std::pair<std::string, Ints>> values;
  std::vector<std::string> asked;
  const char *element = "i32";
  std::vector<std::pair<uint64_t, uint64_t>> progress;

  poot_executable_options options() {
    poot_executable_options options = POOT_EXECUTABLE_OPTIONS_INIT;
    options.provider = [](void *user, const poot_tensor_info *expected,
                          poot_const_data *found) -> poot_error * {
      auto &self = *static_cast<Weights *>(user);
      self.asked.push_back(expected->name);
      for (auto &[name, ints] : self.values)
        if (name == expected->name) {
          found->data = ints.data();
          found->size = ints.size() * 4;
          found->element = self.element;
          self.shape = static_cast<int64_t>(ints.size());
          found->rank = 1;
          found->shape = &self.shape;
        }
      return self.failure ? poot_error_create(POOT_FILE_ERROR, self.failure)
                          : nullptr;
    };
    options.provider_user = this;
    options.progress = [](void *user, const char *what, uint64_t done,
                          uint64_t total) {
      EXPECT_STREQ(what, "weights");
      static_cast<Weights *>(user)->progress.emplace_back(done, total);
    };
    options.progress_user = this;
    return options;
  }

  const char *failure = nullptr;
  int64_t shape = 0;
};
} // namespace

/// y = x + (3 w + 1) + b, where the load program computes what is in brackets,
/// b is in the bundle and nothing uses "unused".
static TestBundle weighted(int64_t n) {
  TestBundle bundle;
  int words = static_cast<int>(n);
  uint32_t w = bundle.addConst("w", n);
  uint32_t b = bundle.addConst("b", iota(static_cast<size_t>(n), 5));
  bundle.addConst("unused", 8);
  uint32_t merged = bundle.addComputed("merged", n);
  Program load = bundle.loadProgram();
  uint32_t middle = load.arena(static_cast<uint64_t>(n) * 4);
  uint32_t scaled =
      load.dispatch(bundle.affine(), n,
                    {in(load.constant(bundle, w)), out(middle)}, {words, 3, 1});
  load.copy(middle, 0, load.computed(bundle, merged), 0,
            static_cast<uint64_t>(n) * 4, {scaled});
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", n), y = entry.output("y", n);
  uint32_t sum = entry.arena(static_cast<uint64_t>(n) * 4);
  uint32_t first = entry.dispatch(
      bundle.add(), n, {in(x), in(entry.computed(bundle, merged)), out(sum)},
      {words});
  entry.dispatch(bundle.add(), n,
                 {in(sum), in(entry.constant(bundle, b)), out(y)}, {words},
                 {first});
  bundle.addEntry("nothing").slot("x", 1);
  return bundle;
}

TEST_P(StatesTest, LoadProgramComputesFromWeights) {
  constexpr int n = 1000;
  TestBundle bundle = weighted(n);
  Weights weights;
  weights.values = {{"w", iota(n, -7)}};
  poot_executable_options options = weights.options();
  rt::Executable executable = load(bundle, &options);
  // What is in the bundle, or is not used, is not asked for.
  EXPECT_EQ(weights.asked, std::vector<std::string>{"w"});
  ASSERT_GE(weights.progress.size(), 2u);
  EXPECT_EQ(weights.progress.front(),
            std::make_pair(uint64_t(0), uint64_t(8000)));
  EXPECT_EQ(weights.progress.back(),
            std::make_pair(uint64_t(8000), uint64_t(8000)));
  // "w" went with the load program; "b" and "merged" stay.
  EXPECT_EQ(poot_executable_memory(executable.get()), 8000u);
  auto session = rt::Session::create(executable);
  ASSERT_TRUE(session) << session.error().message();
  Ints expected(n);
  for (int i = 0; i != n; ++i)
    expected[i] = i + (3 * (i - 7) + 1) + (i + 5);
  for (int i = 0; i != 2; ++i) {
    poot_step step = submit(*session, "run", {rt::slot("x", iota(n))});
    EXPECT_EQ(read(*session, step, "y", n), expected);
  }
  poot_step nothing = submit(*session, "nothing", {rt::slot("x", Ints(1))});
  EXPECT_FALSE(session->wait(nothing));
}

TEST_P(StatesTest, LargeWeightsGoThroughTheStagingBuffer) {
  // Several times the staging buffer, and not a multiple of it.
  constexpr int n = (37 << 20) / 4 + 3;
  TestBundle bundle;
  uint32_t w = bundle.addConst("w", n);
  Program entry = bundle.addEntry("run");
  uint32_t weights = entry.constant(bundle, w);
  uint32_t y = entry.output("y", n);
  entry.copy(weights, 0, y, 0, uint64_t(n) * 4);
  Weights given;
  given.values = {{"w", iota(n, 11)}};
  poot_executable_options options = given.options();
  rt::Executable executable = load(bundle, &options);
  auto session = rt::Session::create(executable);
  ASSERT_TRUE(session) << session.error().message();
  poot_step step = submit(*session, "run", {});
  EXPECT_TRUE(read(*session, step, "y", n) == given.values[0].second);
}

TEST_P(StatesTest, WeightsMustFit) {
  TestBundle bundle = weighted(100);
  rt::Bundle opened = open(bundle);
  auto none = rt::Executable::create(device, opened);
  EXPECT_TRUE(says(none.error(), POOT_MISSING_CONST,
                   {"'w'", "i32 100", "does not hold its weights"}));
  EXPECT_EQ(none.error().detail("const"), "w");
  Weights weights;
  poot_executable_options options = weights.options();
  auto missing = rt::Executable::create(device, opened, &options);
  EXPECT_TRUE(
      says(missing.error(), POOT_MISSING_CONST, {"'w'", "compiled from"}));
  weights.values = {{"w", iota(99)}};
  auto small = rt::Executable::create(device, opened, &options);
  EXPECT_TRUE(
      says(small.error(), POOT_CONST_MISMATCH, {"'w'", "i32 99", "i32 100"}));
  EXPECT_EQ(small.error().detail("expected"), "i32 100");
  EXPECT_EQ(small.error().detail("found"), "i32 99");
  weights.values = {{"w", iota(100)}};
  weights.element = "f32";
  auto other = rt::Executable::create(device, opened, &options);
  EXPECT_TRUE(says(other.error(), POOT_CONST_MISMATCH, {"f32 100", "i32 100"}));
  weights.failure = "model.gguf: truncated";
  auto failed = rt::Executable::create(device, opened, &options);
  EXPECT_TRUE(says(failed.error(), POOT_FILE_ERROR, {"model.gguf: truncated"}));
}

TEST_P(StatesTest, BuffersMayExceedTheArgumentRange) {
  const uint64_t range = device.info().max_argument_range;
  const uint64_t beyond = (range + (1 << 20)) / 256 * 256;
  // Some devices have no buffer larger than the range; slices work all the
  // same.
  const bool canExceed = beyond <= device.info().max_allocation &&
                         beyond <= device.info().memory / 3;
  const uint64_t size = canExceed ? beyond : uint64_t(128) << 20;
  auto make = [&](uint64_t first, uint64_t bytes) {
    TestBundle bundle;
    Program entry = bundle.addEntry("run");
    uint32_t x = entry.slot("x", 64), y = entry.output("y", 64);
    uint32_t large = entry.arena(size);
    uint32_t last = entry.copy(x, 0, large, size - 256, 256);
    entry.dispatch(bundle.affine(), 64, {in(large, first, bytes), out(y)},
                   {64, 1, 1}, {last});
    return bundle;
  };
  TestBundle tail = make(size - 256, 256);
  rt::Session session = start(tail);
  poot_step step = submit(session, "run", {rt::slot("x", iota(64))});
  EXPECT_EQ(read(session, step, "y", 64), iota(64, 1));
  if (!canExceed)
    return;
  TestBundle whole = make(0, size);
  rt::Session refused = start(whole);
  EXPECT_TRUE(says(refused.prepare("run"), POOT_DEVICE_LIMIT,
                   {"argument 0", "'affine'", "maxStorageBufferRange",
                    std::to_string(size)}));
}
