// A bundle that needs neither kernels nor a compiler: its programs are one copy
// each. Greedy entries choose the last of the tokens put in, which with padding
// is 0; the logits are a const.

#ifndef POOT_SERVE_TEST_COPY_BUNDLE_H
#define POOT_SERVE_TEST_COPY_BUNDLE_H

#include "poot/bundle/writer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace poot::serve::test {

inline std::unique_ptr<bundle::fb::TensorTypeT>
tensorType(const char *element, std::vector<int64_t> shape) {
  auto type = std::make_unique<bundle::fb::TensorTypeT>();
  type->element = element;
  type->shape = std::move(shape);
  return type;
}

struct EntryShape {
  const char *name;
  bundle::fb::Phase phase;
  uint32_t tokens;
  const char *suffix;
  const char *extraSlot = nullptr;
  bundle::fb::CacheLayout cache = bundle::fb::CacheLayout::Contiguous;
  uint32_t capacity = 8;
};

inline const EntryShape decodeGreedy = {"decode_greedy",
                                        bundle::fb::Phase::Decode, 1, "greedy"};
inline const EntryShape decodeLogits = {"decode_logits",
                                        bundle::fb::Phase::Decode, 1, "logits"};
inline const EntryShape prefill = {"prefill", bundle::fb::Phase::Prefill, 4,
                                   "greedy"};

/// The const that the logits are.
struct LogitsConst {
  const char *name;
  std::vector<int64_t> shape;
  int64_t vocabulary;
};

inline std::unique_ptr<bundle::fb::ProgramT> makeProgram(EntryShape shape,
                                                         int64_t vocabulary) {
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

/// Writes a bundle with these entries to `path`.
inline void writeCopyBundle(const std::string &path,
                            const std::vector<EntryShape> &entries,
                            const LogitsConst &logits) {
  using namespace bundle::fb;
  BundleT index;
  index.producer = "copy_bundle";
  auto weight = std::make_unique<ConstT>();
  weight->name = logits.name;
  weight->type = tensorType("f32", logits.shape);
  weight->size = static_cast<uint64_t>(4 * logits.vocabulary);
  index.consts.push_back(std::move(weight));
  auto target = std::make_unique<TargetT>();
  target->name = "vulkan:base";
  for (const EntryShape &shape : entries)
    target->programs.push_back(makeProgram(shape, logits.vocabulary));
  index.targets.push_back(std::move(target));
  weights::Status status = bundle::writeBundle(path, index, {});
  EXPECT_TRUE(status.ok()) << status.message();
}

} // namespace poot::serve::test

#endif // POOT_SERVE_TEST_COPY_BUNDLE_H
