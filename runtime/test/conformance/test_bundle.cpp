// Builds small bundles in memory; see test_bundle.h.

#include "test_bundle.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace poot;
using namespace poot::test;

static std::unique_ptr<fb::TensorTypeT>
intType(const std::vector<int64_t> &shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = "i32";
  type->shape = shape;
  return type;
}

uint32_t Program::buffer(fb::BufferRole role, uint32_t index, uint64_t size,
                         uint64_t offset) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->role = role;
  buffer->index = index;
  buffer->size = size;
  buffer->offset = offset;
  program_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program_.buffers.size() - 1);
}

uint32_t Program::slot(const std::string &name, int64_t elements) {
  auto slot = std::make_unique<fb::SlotT>();
  slot->name = name;
  slot->type = intType({elements});
  slot->size = static_cast<uint64_t>(elements) * 4;
  program_.slots.push_back(std::move(slot));
  return buffer(fb::BufferRole::Slot,
                static_cast<uint32_t>(program_.slots.size() - 1),
                program_.slots.back()->size);
}

uint32_t Program::output(const std::string &name, int64_t elements) {
  auto output = std::make_unique<fb::OutputT>();
  output->name = name;
  output->type = intType({elements});
  output->size = static_cast<uint64_t>(elements) * 4;
  program_.outputs.push_back(std::move(output));
  return buffer(fb::BufferRole::Output,
                static_cast<uint32_t>(program_.outputs.size() - 1),
                program_.outputs.back()->size);
}

uint32_t Program::state(const TestBundle &bundle, uint32_t index) {
  return buffer(fb::BufferRole::State, index, bundle.index.states[index]->size);
}

uint32_t Program::constant(const TestBundle &bundle, uint32_t index) {
  return buffer(fb::BufferRole::Const, index, bundle.index.consts[index]->size);
}

uint32_t Program::computed(const TestBundle &bundle, uint32_t index) {
  return buffer(fb::BufferRole::Computed, index,
                bundle.index.targets[0]->computed[index]->size);
}

uint32_t Program::arena(uint64_t bytes) {
  uint64_t offset = (program_.arena_size + 255) / 256 * 256;
  program_.arena_size = offset + bytes;
  return buffer(fb::BufferRole::Arena, 0, bytes, offset);
}

fb::CommandT &Program::command(const std::vector<uint32_t> &waits) {
  program_.commands.push_back(std::make_unique<fb::CommandT>());
  for (uint32_t wait : waits)
    program_.commands.back()->waits.emplace_back(wait, fb::EdgeKind::Full);
  return *program_.commands.back();
}

uint32_t Program::dispatch(uint32_t kernel, int64_t elements,
                           const std::vector<Arg> &arguments,
                           const std::vector<Word> &metadata,
                           const std::vector<uint32_t> &waits) {
  fb::DispatchT dispatch;
  dispatch.kernel = kernel;
  dispatch.grid = {static_cast<uint32_t>((elements + 63) / 64), 1, 1};
  for (const Arg &arg : arguments) {
    auto argument = std::make_unique<fb::ArgumentT>();
    argument->buffer = arg.buffer;
    argument->access = arg.access;
    argument->offset = arg.offset;
    argument->size = arg.size;
    const fb::BufferT &buffer = *program_.buffers[arg.buffer];
    // A state may have an open extent: 0 then stands for all of it.
    if (!arg.size && buffer.role != fb::BufferRole::State)
      argument->size = buffer.size - arg.offset;
    dispatch.arguments.push_back(std::move(argument));
  }
  for (const Word &word : metadata)
    dispatch.metadata.emplace_back(word.kind, word.value);
  command(waits).body.Set(std::move(dispatch));
  return static_cast<uint32_t>(program_.commands.size() - 1);
}

uint32_t Program::fill(uint32_t buffer, uint64_t offset, uint64_t size,
                       uint32_t word, const std::vector<uint32_t> &waits) {
  fb::FillBufferT fill;
  fill.destination = buffer;
  fill.offset = offset;
  fill.size = size;
  fill.word = word;
  command(waits).body.Set(std::move(fill));
  return static_cast<uint32_t>(program_.commands.size() - 1);
}

uint32_t Program::copy(uint32_t source, uint64_t sourceOffset,
                       uint32_t destination, uint64_t destinationOffset,
                       uint64_t size, const std::vector<uint32_t> &waits) {
  fb::CopyT copy;
  copy.source = source;
  copy.source_offset = sourceOffset;
  copy.destination = destination;
  copy.destination_offset = destinationOffset;
  copy.size = size;
  command(waits).body.Set(std::move(copy));
  return static_cast<uint32_t>(program_.commands.size() - 1);
}

TestBundle::TestBundle() {
  index.producer = "conformance suite";
  index.targets.push_back(std::make_unique<fb::TargetT>());
  target().name = "vulkan:base";
}

uint32_t TestBundle::kernel(const std::string &name,
                            const std::vector<fb::Access> &arguments,
                            uint32_t words) {
  for (size_t i = 0; i != target().kernels.size(); ++i)
    if (target().kernels[i]->name == name)
      return static_cast<uint32_t>(i);

  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = name;
  kernel->workgroup_size = {64, 1, 1};
  kernel->arguments = arguments;
  kernel->metadata_words = words;
  auto add = [&](fb::CodeFormat format, fb::SectionKind kind,
                 const std::string &path, const std::string &entryPoint) {
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_FALSE(bytes.empty()) << "no kernel " << path;
    auto code = std::make_unique<fb::CodeT>();
    code->format = format;
    code->section = static_cast<uint32_t>(sections_.size());
    code->size = bytes.size();
    code->entry_point = entryPoint;
    kernel->code.push_back(std::move(code));
    sections_.push_back(std::move(bytes));
    kinds_.push_back(kind);
  };
  add(fb::CodeFormat::Spirv, fb::SectionKind::Kernel,
      std::string(POOT_KERNEL_DIR "/") + name + ".spv", "main");
  add(fb::CodeFormat::Kir, fb::SectionKind::Kir,
      std::string(POOT_SOURCE_DIR "/runtime/test/conformance/kernels/") + name +
          ".kir.json",
      name);
  target().kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(target().kernels.size() - 1);
}

uint32_t TestBundle::addConst(const std::string &name, int64_t elements) {
  auto value = std::make_unique<fb::ConstT>();
  value->name = name;
  value->type = intType({elements});
  value->size = static_cast<uint64_t>(elements) * 4;
  index.consts.push_back(std::move(value));
  return static_cast<uint32_t>(index.consts.size() - 1);
}

uint32_t TestBundle::addConst(const std::string &name,
                              const std::vector<int32_t> &values) {
  uint32_t i = addConst(name, static_cast<int64_t>(values.size()));
  index.consts[i]->section = static_cast<int32_t>(sections_.size());
  const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  sections_.emplace_back(bytes, bytes + values.size() * 4);
  kinds_.push_back(fb::SectionKind::Weights);
  return i;
}

uint32_t TestBundle::addComputed(const std::string &name, int64_t elements) {
  auto value = std::make_unique<fb::ComputedT>();
  value->name = name;
  value->type = intType({elements});
  value->size = static_cast<uint64_t>(elements) * 4;
  target().computed.push_back(std::move(value));
  return static_cast<uint32_t>(target().computed.size() - 1);
}

uint32_t TestBundle::addState(const std::string &name,
                              const std::vector<int64_t> &shape) {
  auto state = std::make_unique<fb::StateT>();
  state->name = name;
  state->type = intType(shape);
  state->size = 4;
  for (int64_t extent : shape)
    state->size *= extent < 0 ? 1 : static_cast<uint64_t>(extent);
  state->zeroed = true;
  index.states.push_back(std::move(state));
  return static_cast<uint32_t>(index.states.size() - 1);
}

Program TestBundle::addEntry(const std::string &name) {
  target().programs.push_back(std::make_unique<fb::ProgramT>());
  target().programs.back()->entry = name;
  return Program(*target().programs.back());
}

Program TestBundle::loadProgram() {
  target().load = std::make_unique<fb::ProgramT>();
  return Program(*target().load);
}

std::vector<uint8_t> TestBundle::encode() {
  std::vector<bundle::SectionSource> sources;
  for (size_t i = 0; i != sections_.size(); ++i)
    sources.push_back(bundle::SectionSource::fromMemory(
        kinds_[i], {sections_[i].data(), sections_[i].size()}));
  auto bytes = bundle::encodeBundle(index, sources);
  EXPECT_TRUE(bytes) << bytes.status().message();
  return bytes ? std::move(*bytes) : std::vector<uint8_t>();
}
