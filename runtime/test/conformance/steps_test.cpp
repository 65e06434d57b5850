// Commands, waits, slots, outputs and steps in flight.

#include "conformance.h"

#include <thread>

using namespace poot;
using namespace poot::test;

using StepsTest = Conformance;
POOT_FOR_EVERY_DEVICE(StepsTest);

TEST_P(StepsTest, CopiesAndFills) {
  TestBundle bundle;
  Program entry = bundle.addEntry("shuffle");
  uint32_t x = entry.slot("x", 100), y = entry.output("y", 100);
  uint32_t middle = entry.arena(400);
  uint32_t all = entry.fill(y, 0, 400, 7);
  uint32_t first = entry.copy(x, 0, middle, 0, 400);
  // y = 7 ..., with x[10..30) at 50, and 9 at 98.
  entry.copy(middle, 40, y, 200, 80, {all, first});
  entry.fill(y, 392, 4, 9, {all});
  rt::Session session = start(bundle);
  poot_step step = submit(session, "shuffle", {rt::slot("x", iota(100, 1000))});
  Ints expected(100, 7);
  for (int i = 0; i != 20; ++i)
    expected[50 + i] = 1010 + i;
  expected[98] = 9;
  EXPECT_EQ(read(session, step, "y", 100), expected);
}

TEST_P(StepsTest, DispatchWithMetadata) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 1000), y = entry.output("y", 1000);
  uint32_t filled = entry.fill(y, 0, 4000, 0x80000000u);
  // n is a word of metadata too: the last 10 elements stay as they are.
  entry.dispatch(bundle.affine(), 1000, {in(x), out(y)}, {990, -3, 17},
                 {filled});
  rt::Session session = start(bundle);
  poot_step step = submit(session, "run", {rt::slot("x", iota(1000))});
  Ints expected(1000);
  for (int i = 0; i != 1000; ++i)
    expected[i] = i < 990 ? -3 * i + 17 : INT32_MIN;
  EXPECT_EQ(read(session, step, "y", 1000), expected);
}

TEST_P(StepsTest, ArgumentsAreSlices) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 192), y = entry.output("y", 192);
  uint32_t clear = entry.fill(y, 0, 768, 0);
  // y[128..192) = x[0..64) + x[64..128).
  entry.dispatch(bundle.add(), 64,
                 {in(x, 0, 256), in(x, 256, 256), out(y, 512)}, {64}, {clear});
  rt::Session session = start(bundle);
  poot_step step = submit(session, "run", {rt::slot("x", iota(192))});
  Ints expected(192, 0);
  for (int i = 0; i != 64; ++i)
    expected[128 + i] = i + (64 + i);
  EXPECT_EQ(read(session, step, "y", 192), expected);
}

/// 60 dispatches, each over the result of the one before, in two buffers.
static void addChain(TestBundle &bundle, int64_t elements) {
  Program entry = bundle.addEntry("chain");
  uint32_t x = entry.slot("x", elements), y = entry.output("y", elements);
  uint32_t bytes = static_cast<uint32_t>(elements) * 4;
  uint32_t ping[2] = {entry.arena(bytes), entry.arena(bytes)};
  int n = static_cast<int>(elements);
  uint32_t last = entry.dispatch(bundle.affine(), elements,
                                 {in(x), out(ping[0])}, {n, 1, 0});
  for (int i = 0; i != 60; ++i)
    last = entry.dispatch(bundle.affine(), elements,
                          {in(ping[i % 2]), out(ping[1 - i % 2])}, {n, 3, i},
                          {last});
  entry.copy(ping[0], 0, y, 0, bytes, {last});
}

static Ints chainReference(Ints values) {
  for (int32_t &value : values)
    for (uint32_t i = 0; i != 60; ++i)
      value = static_cast<int32_t>(static_cast<uint32_t>(value) * 3 + i);
  return values;
}

TEST_P(StepsTest, WaitsOrderCommands) {
  TestBundle bundle;
  addChain(bundle, 5000);
  rt::Session session = start(bundle);
  poot_step step = submit(session, "chain", {rt::slot("x", iota(5000))});
  EXPECT_EQ(read(session, step, "y", 5000), chainReference(iota(5000)));
}

TEST_P(StepsTest, ValidationSeesAMissingWait) {
  if (!validationWanted())
    GTEST_SKIP() << "runs without validation layers";
  TestBundle bundle;
  Program entry = bundle.addEntry("race");
  uint32_t x = entry.slot("x", 64), y = entry.output("y", 64);
  uint32_t middle = entry.arena(256);
  entry.copy(x, 0, middle, 0, 256);
  entry.copy(middle, 0, y, 0, 256); // Should wait for the copy before it.
  rt::Session session = start(bundle);
  rt::Error error = session.prepare("race");
  ASSERT_FALSE(error) << error.message();
  expectsMessages = true;
  ASSERT_FALSE(device.validationMessages().empty());
  const char *said =
      GetParam() == "interp:0" ? "doesn't wait" : "READ_AFTER_WRITE";
  EXPECT_NE(device.validationMessages()[0].find(said), std::string::npos)
      << device.validationMessages()[0];
}

TEST_P(StepsTest, SeveralStepsInFlight) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 64), y = entry.output("y", 64);
  entry.dispatch(bundle.affine(), 64, {in(x), out(y)}, {64, 2, 1});
  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  options.steps_in_flight = 3;
  rt::Session session = start(bundle, options);
  std::vector<poot_step> steps;
  for (int i = 0; i != 20; ++i) {
    // The slot is copied at submission: what happens to it later is no matter.
    Ints values = iota(64, i * 100);
    steps.push_back(submit(session, "run", {rt::slot("x", values)}));
    std::fill(values.begin(), values.end(), -1);
    if (i < 2)
      continue;
    // Three steps are kept; the oldest of them is read now.
    Ints expected = iota(64, (i - 2) * 100);
    for (int32_t &value : expected)
      value = 2 * value + 1;
    EXPECT_EQ(read(session, steps[i - 2], "y", 64), expected) << i;
  }
  Ints values(64);
  EXPECT_TRUE(says(session.readOutput(steps[16], "y", values.data(), 256),
                   POOT_GONE, {"step 17", "last 3 steps", "steps_in_flight"}));
  EXPECT_FALSE(session.wait(steps[0]));
}

TEST_P(StepsTest, OutputsFeedSlots) {
  TestBundle bundle;
  Program twice = bundle.addEntry("twice");
  uint32_t x = twice.slot("x", 64), k = twice.slot("k", 64);
  uint32_t y = twice.output("y", 64);
  uint32_t middle = twice.arena(256);
  uint32_t first =
      twice.dispatch(bundle.affine(), 64, {in(x), out(middle)}, {64, 2, 0});
  twice.dispatch(bundle.add(), 64, {in(middle), in(k), out(y)}, {64}, {first});
  Program negate = bundle.addEntry("negate");
  uint32_t a = negate.slot("a", 64), b = negate.output("b", 64);
  negate.dispatch(bundle.affine(), 64, {in(a), out(b)}, {64, -1, 0});
  Program narrow = bundle.addEntry("narrow");
  narrow.copy(narrow.slot("c", 32), 0, narrow.output("d", 32), 0, 128);

  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  options.steps_in_flight = 2;
  rt::Session session = start(bundle, options);
  poot_step step = submit(
      session, "twice", {rt::slot("x", iota(64)), rt::slot("k", Ints(64, 1))});
  for (int i = 0; i != 9; ++i)
    step = submit(session, "twice",
                  {rt::link("x", step, "y"), rt::slot("k", Ints(64, 1))});
  poot_step negated = submit(session, "negate", {rt::link("a", step, "y")});
  Ints expected(64);
  for (int i = 0; i != 64; ++i)
    expected[i] = -(1024 * i + 1023);
  EXPECT_EQ(read(session, negated, "b", 64), expected);

  // A step whose entry ran again has been overwritten.
  auto stale = session.submit("negate", {rt::link("a", step - 1, "y")});
  EXPECT_TRUE(says(stale.error(), POOT_GONE,
                   {"'a'", "step 9", "has run again", "last step"}));
  auto future = session.submit("negate", {rt::link("a", 99, "y")});
  EXPECT_TRUE(says(future.error(), POOT_INVALID_ARGUMENT,
                   {"no step 99", "submitted 11"}));
  auto unknown = session.submit("negate", {rt::link("a", step, "z")});
  EXPECT_TRUE(says(unknown.error(), POOT_NOT_FOUND, {"'z'", "outputs: 'y'"}));
  auto wrong = session.submit("narrow", {rt::link("c", step, "y")});
  EXPECT_TRUE(
      says(wrong.error(), POOT_INVALID_ARGUMENT, {"'c'", "i32 32", "i32 64"}));
}

TEST_P(StepsTest, OnlyNamedOutputsAreKept) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 64);
  entry.copy(x, 0, entry.output("a", 64), 0, 256);
  entry.copy(x, 0, entry.output("b", 64), 0, 256);
  rt::Session session = start(bundle);
  auto step = session.submit("run", {rt::slot("x", iota(64))}, {"b"});
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ(read(session, *step, "b", 64), iota(64));
  Ints values(64);
  EXPECT_TRUE(says(session.readOutput(*step, "a", values.data(), 256),
                   POOT_INVALID_ARGUMENT, {"'a'", "not among the outputs"}));
  auto none = session.submit("run", {rt::slot("x", iota(64, 5))},
                             std::vector<const char *>());
  ASSERT_TRUE(none) << none.error().message();
  // Not for the host, but still there for a later step.
  auto next = session.submit("run", {rt::link("x", *none, "a")});
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(read(session, *next, "b", 64), iota(64, 5));
  EXPECT_TRUE(
      says(session.submit("run", {rt::slot("x", iota(64))}, {"c"}).error(),
           POOT_NOT_FOUND, {"'c'", "'a' and 'b'"}));
}

TEST_P(StepsTest, WaitingCanTimeOut) {
  TestBundle bundle;
  Program entry = bundle.addEntry("slow");
  uint32_t x = entry.slot("x", 64 * 64), y = entry.output("y", 64 * 64);
  uint32_t last = entry.dispatch(bundle.iterate(), 64 * 64, {in(x), out(y)},
                                 {64 * 64, 20000});
  for (int i = 0; i != 4; ++i)
    last = entry.dispatch(bundle.iterate(), 64 * 64, {in(x), out(y)},
                          {64 * 64, 20000}, {last});
  rt::Session session = start(bundle);
  poot_step step = submit(session, "slow", {rt::slot("x", Ints(64 * 64, 1))});
  rt::Error early = session.wait(step, 0);
  // A device may be done at once; it must not say otherwise then.
  if (early)
    EXPECT_TRUE(says(early, POOT_TIMEOUT, {"step 1", "still running"}));
  rt::Error late = session.wait(step);
  EXPECT_FALSE(late) << late.message();
  EXPECT_FALSE(session.wait(step, 0));
  uint32_t expected = 1;
  for (int i = 0; i != 20000; ++i)
    expected = expected * 5 + 3;
  EXPECT_EQ(read(session, step, "y", 64 * 64),
            Ints(64 * 64, static_cast<int32_t>(expected)));
}

TEST_P(StepsTest, SessionsOfOneExecutableRunInThreads) {
  TestBundle bundle;
  addChain(bundle, 300);
  rt::Executable executable = load(bundle);
  auto work = [&](int seed) {
    auto session = rt::Session::create(executable);
    ASSERT_TRUE(session) << session.error().message();
    for (int i = 0; i != 8; ++i) {
      Ints values = iota(300, seed + i);
      poot_step step = submit(*session, "chain", {rt::slot("x", values)});
      EXPECT_EQ(read(*session, step, "y", 300), chainReference(values));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 3; ++i)
    threads.emplace_back(work, 1000 * i);
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(StepsTest, ProfileTimesEveryCommand) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 6400), y = entry.output("y", 6400);
  uint32_t a = entry.fill(y, 0, 25600, 0);
  uint32_t b = entry.dispatch(bundle.iterate(), 6400, {in(x), out(y)},
                              {6400, 2000}, {a});
  entry.dispatch(bundle.iterate(), 6400, {in(x), out(y)}, {6400, 10}, {b});
  entry.get().commands[b]->location = "layer 3";
  bundle.target().kernels[0]->variant = "plain";
  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  options.profile = true;
  rt::Session session = start(bundle, options);
  poot_step step = 0;
  for (int i = 0; i != 3; ++i)
    step = submit(session, "run", {rt::slot("x", Ints(6400, 1))});
  uint32_t expected = 1;
  for (int i = 0; i != 10; ++i)
    expected = expected * 5 + 3;
  EXPECT_EQ(read(session, step, "y", 6400),
            Ints(6400, static_cast<int32_t>(expected)));
  auto rows = session.profile();
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_STREQ((*rows)[0].kernel, "fill");
  EXPECT_STREQ((*rows)[1].kernel, "iterate");
  EXPECT_STREQ((*rows)[1].variant, "plain");
  EXPECT_STREQ((*rows)[1].location, "layer 3");
  EXPECT_STREQ((*rows)[1].entry, "run");
  for (const poot_profile_row &row : *rows)
    EXPECT_EQ(row.runs, 3u);
  EXPECT_GT((*rows)[1].total_ms, (*rows)[2].total_ms);
  EXPECT_LT((*rows)[1].total_ms, 60e3);

  rt::Session plain = start(bundle);
  EXPECT_TRUE(says(plain.profile().error(), POOT_INVALID_ARGUMENT,
                   {"poot_session_options.profile"}));
}
