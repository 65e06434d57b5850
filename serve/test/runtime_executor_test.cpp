// The runtime's executor on a real device, with a bundle of copies in place of
// a model.

#include "copy_bundle.h"
#include "poot/serve/runtime_executor.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

using namespace poot;
using namespace poot::serve;
using namespace poot::serve::test;
using weights::Status;

static constexpr int64_t vocabulary = 11;

/// Writes a bundle and returns its path.
static std::string makeBundle(const std::vector<EntryShape> &entries) {
  std::string path = testing::TempDir() + "runtime_executor_test.poot";
  writeCopyBundle(path, entries, {"bias", {1, vocabulary}, vocabulary});
  return path;
}

/// A GGUF file with one f32 tensor, whose largest value is at `peak`.
static std::string makeGguf(const char *name, int64_t peak,
                            int64_t count = vocabulary) {
  std::string bytes;
  auto put = [&](auto value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  bytes += "GGUF";
  put(uint32_t(3));
  put(uint64_t(1)); // tensors
  put(uint64_t(0)); // metadata
  put(uint64_t(strlen(name)));
  bytes += name;
  put(uint32_t(2));
  put(uint64_t(count));
  put(uint64_t(1));
  put(uint32_t(0)); // f32
  put(uint64_t(0)); // offset
  bytes.resize((bytes.size() + 31) / 32 * 32);
  for (int64_t i = 0; i < count; ++i)
    put(i == peak ? 5.0f : float(i) * 0.25f);
  bytes.resize((bytes.size() + 31) / 32 * 32);
  return bytes;
}

static weights::Gguf parse(const std::string &bytes) {
  auto file = weights::Gguf::parse(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "w");
  EXPECT_TRUE(file) << file.status().message();
  return *std::move(file);
}

static std::string errorOf(const RuntimeOptions &options) {
  auto executor = RuntimeExecutor::open(options);
  return executor ? "" : executor.status().message();
}

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos) << "message: " << (text)

TEST(RuntimeExecutor, RunsTheTokenLoop) {
  std::string bytes = makeGguf("bias", 7);
  weights::Gguf file = parse(bytes);
  RuntimeOptions options;
  options.bundle = makeBundle({decodeGreedy, decodeLogits, prefill});
  options.weights = &file;
  auto executor = RuntimeExecutor::open(options);
  ASSERT_TRUE(executor) << executor.status().message();
  EXPECT_EQ((*executor)->entries().size(), 3u);
  EXPECT_EQ((*executor)->capacity(), 8);
  EXPECT_EQ((*executor)->vocabularySize(), vocabulary);
  EXPECT_HAS((*executor)->description(), "vulkan:base");

  auto driver = Driver::create(**executor);
  ASSERT_TRUE(driver);
  GenerationOptions generation;
  generation.maxTokens = 10;
  // Greedy: each step's token is passed on by the device.
  auto result = generate(*driver, *driver->open(), {1, 2, 3, 9}, generation);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ(result->tokens, std::vector<int32_t>(5, 9));
  EXPECT_EQ(result->reason, Generation::Capacity);
  driver->release(0);
  // Through logits, which are the weights.
  std::vector<float> row;
  generation.onLogits = [&](const float *logits) {
    row.assign(logits, logits + vocabulary);
    return Status();
  };
  generation.maxTokens = 2;
  result = generate(*driver, *driver->open(), {1, 2}, generation);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ(result->tokens, (std::vector<int32_t>{7, 7}));
  ASSERT_EQ(row.size(), static_cast<size_t>(vocabulary));
  EXPECT_EQ(row[7], 5.0f);
  EXPECT_EQ(row[10], 2.5f);
}

TEST(RuntimeExecutor, LeavesOutEntriesOfOtherDrivers) {
  std::string bytes = makeGguf("bias", 7);
  weights::Gguf file = parse(bytes);
  RuntimeOptions options;
  options.weights = &file;
  EntryShape unknownSlot = decodeGreedy;
  unknownSlot.name = "unknown_slot";
  unknownSlot.extraSlot = "image";
  EntryShape paged = decodeGreedy;
  paged.name = "paged";
  paged.cache = bundle::fb::CacheLayout::Paged;
  EntryShape smaller = decodeGreedy;
  smaller.name = "smaller";
  smaller.capacity = 4;
  options.bundle = makeBundle({smaller, decodeGreedy, unknownSlot, paged});
  auto executor = RuntimeExecutor::open(options);
  ASSERT_TRUE(executor) << executor.status().message();
  ASSERT_EQ((*executor)->entries().size(), 1u);
  EXPECT_EQ((*executor)->entries()[0].name, "decode_greedy");

  options.bundle = makeBundle({unknownSlot, paged});
  EXPECT_HAS(errorOf(options), "no entry can generate text: ");
  EXPECT_HAS(errorOf(options),
             "entry unknown_slot has an unknown slot 'image'");
  EXPECT_HAS(errorOf(options), "entry paged has a paged cache");
}

TEST(RuntimeExecutor, WeightsThatDoNotMatch) {
  RuntimeOptions options;
  options.bundle = makeBundle({decodeGreedy, decodeLogits});
  std::string other = makeGguf("other", 7);
  weights::Gguf otherFile = parse(other);
  options.weights = &otherFile;
  EXPECT_HAS(errorOf(options), "bias");
  std::string longer = makeGguf("bias", 7, vocabulary + 1);
  weights::Gguf longerFile = parse(longer);
  options.weights = &longerFile;
  EXPECT_HAS(errorOf(options), "1x12");
  EXPECT_HAS(errorOf(options), "1x11");
  options.weights = nullptr;
  EXPECT_HAS(errorOf(options), "bias");
}

TEST(RuntimeExecutor, MissingBundleOrDevice) {
  RuntimeOptions options;
  options.bundle = "/nonexistent/m.poot";
  EXPECT_HAS(errorOf(options), "/nonexistent/m.poot");
  options.bundle = makeBundle({decodeGreedy});
  options.device = "vulkan:99";
  EXPECT_HAS(errorOf(options), "vulkan:99");
  options.device = "abacus";
  EXPECT_HAS(errorOf(options), "abacus");
}
