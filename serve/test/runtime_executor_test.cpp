// The runtime's executor on a real device, with a bundle of a handful of copies
// in place of a model: next_token is the token that was put in, and the logits
// are a tensor of the weights.

#include "poot/bundle/writer.h"
#include "poot/serve/runtime_executor.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

using namespace poot;
using namespace poot::serve;
using weights::Status;

static constexpr int64_t vocabulary = 11;
static constexpr uint32_t capacity = 8;

static std::unique_ptr<bundle::fb::TensorTypeT>
tensorType(const char *element, std::vector<int64_t> shape) {
  auto type = std::make_unique<bundle::fb::TensorTypeT>();
  type->element = element;
  type->shape = std::move(shape);
  return type;
}

namespace {
struct EntryShape {
  const char *name;
  bundle::fb::Phase phase;
  uint32_t tokens;
  const char *suffix;
  const char *extraSlot = nullptr;
  bundle::fb::CacheLayout cache = bundle::fb::CacheLayout::Contiguous;
  uint32_t capacity = ::capacity;
};
} // namespace

static std::unique_ptr<bundle::fb::ProgramT> makeProgram(EntryShape shape) {
  using namespace bundle::fb;
  auto program = std::make_unique<ProgramT>();
  program->entry = shape.name;
  program->key = std::make_unique<EntryKeyT>();
  program->key->phase = shape.phase;
  program->key->rows = 1;
  program->key->tokens = shape.tokens;
  program->key->capacity = shape.capacity;
  program->key->cache = shape.cache;
  program->key->logits = Logits::Last;
  program->key->suffix = shape.suffix;
  auto addSlot = [&](const char *name, std::vector<int64_t> extents) {
    auto slot = std::make_unique<SlotT>();
    slot->name = name;
    slot->size = 4;
    for (int64_t extent : extents)
      slot->size *= static_cast<uint64_t>(extent);
    slot->type = tensorType("i32", std::move(extents));
    program->slots.push_back(std::move(slot));
  };
  int64_t tokens = shape.tokens;
  // Not in the order in which the driver names them.
  addSlot("last", {1});
  addSlot("token", {1, tokens});
  addSlot("write_map", {1, tokens});
  addSlot("pos", {1, tokens});
  if (shape.extraSlot)
    addSlot(shape.extraSlot, {1});

  bool isGreedy = !strcmp(shape.suffix, "greedy");
  auto output = std::make_unique<OutputT>();
  output->name = isGreedy ? "next_token" : "logits";
  output->size = isGreedy ? 4 : 4 * vocabulary;
  output->type =
      isGreedy ? tensorType("i32", {1}) : tensorType("f32", {1, vocabulary});
  uint64_t size = output->size;
  program->outputs.push_back(std::move(output));

  auto addBuffer = [&](BufferRole role, uint32_t index, uint64_t bytes) {
    auto buffer = std::make_unique<BufferT>();
    buffer->role = role;
    buffer->index = index;
    buffer->size = bytes;
    program->buffers.push_back(std::move(buffer));
  };
  if (isGreedy)
    addBuffer(BufferRole::Slot, 1, 4 * shape.tokens);
  else
    addBuffer(BufferRole::Const, 0, size);
  addBuffer(BufferRole::Output, 0, size);
  CopyT copy;
  copy.source = 0;
  copy.source_offset = isGreedy ? 4 * (shape.tokens - 1) : 0;
  copy.destination = 1;
  copy.size = size;
  auto command = std::make_unique<CommandT>();
  command->body.Set(std::move(copy));
  program->commands.push_back(std::move(command));
  return program;
}

static const EntryShape decodeGreedy = {"decode_greedy",
                                        bundle::fb::Phase::Decode, 1, "greedy"};
static const EntryShape decodeLogits = {"decode_logits",
                                        bundle::fb::Phase::Decode, 1, "logits"};
static const EntryShape prefill = {"prefill", bundle::fb::Phase::Prefill, 4,
                                   "greedy"};

/// Writes a bundle and returns its path.
static std::string makeBundle(const std::vector<EntryShape> &entries) {
  using namespace bundle::fb;
  BundleT index;
  index.producer = "runtime_executor_test";
  auto weight = std::make_unique<ConstT>();
  weight->name = "bias";
  weight->type = tensorType("f32", {1, vocabulary});
  weight->size = 4 * vocabulary;
  index.consts.push_back(std::move(weight));
  auto target = std::make_unique<TargetT>();
  target->name = "vulkan:base";
  for (const EntryShape &shape : entries)
    target->programs.push_back(makeProgram(shape));
  index.targets.push_back(std::move(target));
  std::string path = testing::TempDir() + "runtime_executor_test.poot";
  Status status = bundle::writeBundle(path, index, {});
  EXPECT_TRUE(status.ok()) << status.message();
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
  EXPECT_EQ((*executor)->capacity(), static_cast<int32_t>(capacity));
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
  options.bundle = makeBundle({decodeGreedy, unknownSlot, paged, smaller});
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
