//===- sample.cpp - A bundle that uses every part of the schema -----------===//

#include "sample.h"
#include "poot/bundle/info.h"
#include "poot/bundle/reader.h"
#include "poot/bundle/test_vector.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

using namespace poot;
using namespace poot::bundle;
using weights::ByteSpan;

namespace {

std::unique_ptr<fb::TensorTypeT>
type(const char *element, std::vector<int64_t> shape, const char *layout = "") {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = element;
  type->layout = layout;
  type->shape = std::move(shape);
  return type;
}

template <class T> T &add(std::vector<std::unique_ptr<T>> &vector) {
  vector.push_back(std::make_unique<T>());
  return *vector.back();
}

template <class T>
T &addValue(std::vector<std::unique_ptr<T>> &vector, const char *name,
            std::unique_ptr<fb::TensorTypeT> type, uint64_t size) {
  T &value = add(vector);
  value.name = name;
  value.type = std::move(type);
  value.size = size;
  return value;
}

void addBuffer(fb::ProgramT &program, fb::BufferRole role, uint32_t index,
               uint64_t size, uint64_t offset = 0) {
  fb::BufferT &buffer = add(program.buffers);
  buffer.role = role;
  buffer.index = index;
  buffer.size = size;
  buffer.offset = offset;
}

void addArgument(fb::DispatchT &dispatch, uint32_t buffer, uint64_t offset,
                 uint64_t size, fb::Access access, int32_t map = -1) {
  fb::ArgumentT &argument = add(dispatch.arguments);
  argument.buffer = buffer;
  argument.offset = offset;
  argument.size = size;
  argument.access = access;
  argument.tensor_map = map;
}

void addCode(fb::KernelT &kernel, fb::CodeFormat format, const char *arch,
             uint32_t section, uint64_t offset, uint64_t size) {
  fb::CodeT &code = add(kernel.code);
  code.format = format;
  code.architecture = arch;
  code.section = section;
  code.offset = offset;
  code.size = size;
  code.entry_point = "main";
}

/// out[i] = x[i] + w[i mod n], as far as a bundle is concerned.
fb::KernelT &addKernel(fb::TargetT &target, const char *name) {
  fb::KernelT &kernel = add(target.kernels);
  kernel.name = name;
  kernel.variant = "x4";
  kernel.workgroup_size = {64, 1, 1};
  kernel.static_workgroup_bytes = 256;
  kernel.arguments = {fb::Access::Read, fb::Access::Read, fb::Access::Write};
  kernel.metadata_words = 2;
  kernel.required_features = {"storage16"};
  kernel.location = "blk.0.attn_norm";

  fb::TestVectorT &test = add(kernel.tests);
  test.grid = {1, 1, 1};
  test.metadata = {16, 1};
  fb::TestInputT &x = add(test.inputs);
  x.argument = 0;
  x.bytes = 64;
  x.element = "f32";
  x.fill = fb::Fill::Uniform;
  x.low = -1;
  x.high = 1;
  x.seed = 7;
  fb::TestInputT &w = add(test.inputs);
  w.argument = 1;
  w.bytes = 288;
  w.element = "q4_k";
  w.fill = fb::Fill::Bytes;
  w.low = 0.001;
  w.high = 0.01;
  w.seed = 8;
  fb::TestInputT &out = add(test.inputs);
  out.argument = 2;
  out.bytes = 64;
  out.element = "f32";
  out.fill = fb::Fill::Zero;
  fb::TestExpectationT &expected = add(test.expected);
  expected.argument = 2;
  expected.element = "f32";
  expected.index = {0, 15};
  expected.value = {0.25, -0.5};
  expected.absolute_tolerance = 1e-5;
  expected.relative_tolerance = 1e-6;

  // The fills of version 2.
  fb::TestVectorT &second = add(kernel.tests);
  second = test;
  fb::TestInputT &indices = *second.inputs[0];
  indices.element = "i32";
  indices.fill = fb::Fill::Permutation;
  indices.high = 14;
  fb::TestInputT &planar = *second.inputs[1];
  planar.bytes = 320;
  planar.planar_row = 256;
  return kernel;
}

fb::CommandT &addDispatch(fb::ProgramT &program, uint32_t kernel,
                          fb::DispatchT *&dispatch) {
  fb::CommandT &command = add(program.commands);
  fb::DispatchT body;
  body.kernel = kernel;
  body.grid = {4, 1, 1};
  body.metadata = {fb::Metadata(fb::MetadataKind::Literal, 16),
                   fb::Metadata(fb::MetadataKind::StateExtent, 0)};
  command.body.Set(std::move(body));
  command.location = "blk.0.attn_norm";
  dispatch = command.body.AsDispatch();
  return command;
}

void addPrograms(fb::TargetT &target) {
  addValue(target.computed, "rope.cos", type("f32", {4, 4}), 64);
  target.load = std::make_unique<fb::ProgramT>();
  fb::ProgramT &load = *target.load;
  load.arena_size = 512;
  addBuffer(load, fb::BufferRole::Const, 0, 64);
  addBuffer(load, fb::BufferRole::Arena, 0, 64, 256);
  addBuffer(load, fb::BufferRole::Computed, 0, 64);
  {
    fb::CopyT copy;
    copy.source = 0;
    copy.destination = 1;
    copy.size = 64;
    add(load.commands).body.Set(std::move(copy));
    fb::DispatchT *dispatch = nullptr;
    fb::CommandT &command = addDispatch(load, 0, dispatch);
    command.waits = {fb::Wait(0, fb::EdgeKind::Full)};
    addArgument(*dispatch, 1, 0, 64, fb::Access::Read);
    addArgument(*dispatch, 0, 0, 64, fb::Access::Read);
    addArgument(*dispatch, 2, 0, 64, fb::Access::Write);
  }

  fb::ProgramT &program = add(target.programs);
  program.entry = "decode.1x1.greedy";
  program.key = std::make_unique<fb::EntryKeyT>();
  program.key->phase = fb::Phase::Decode;
  program.key->rows = 1;
  program.key->tokens = 1;
  program.key->cache = fb::CacheLayout::Contiguous;
  program.key->logits = fb::Logits::Last;
  program.key->suffix = "greedy";
  program.key->activation = program.key->kv = program.key->accumulate = "f32";
  addValue(program.slots, "token", type("i32", {1}), 4);
  addValue(program.outputs, "next", type("i32", {1}), 4);
  program.arena_size = 1024;
  addBuffer(program, fb::BufferRole::Slot, 0, 4);
  addBuffer(program, fb::BufferRole::Const, 1, 288);
  addBuffer(program, fb::BufferRole::State, 0, 128); // Open: a row.
  addBuffer(program, fb::BufferRole::State, 1, 16);
  addBuffer(program, fb::BufferRole::Computed, 0, 64);
  addBuffer(program, fb::BufferRole::Arena, 0, 256, 0);
  addBuffer(program, fb::BufferRole::Arena, 0, 256, 768);
  addBuffer(program, fb::BufferRole::Output, 0, 4);

  fb::FillBufferT fill;
  fill.destination = 5;
  fill.offset = 128;
  fill.size = 128;
  fill.word = 0x7fc00000;
  add(program.commands).body.Set(std::move(fill));
  fb::DispatchT *dispatch = nullptr;
  fb::CommandT *command = &addDispatch(program, 0, dispatch);
  command->waits = {fb::Wait(0, fb::EdgeKind::Full)};
  addArgument(*dispatch, 5, 0, 128, fb::Access::Read);
  addArgument(*dispatch, 1, 144, 144, fb::Access::Read);
  addArgument(*dispatch, 2, 0, 0, fb::Access::Write);
  command = &addDispatch(program, 1, dispatch);
  dispatch->cluster = {2, 1, 1};
  dispatch->dynamic_workgroup_bytes = 1024;
  dispatch->programmatic = true;
  command->waits = {fb::Wait(1, fb::EdgeKind::Programmatic)};
  addArgument(*dispatch, 2, 128, 256, fb::Access::Read, 0);
  addArgument(*dispatch, 4, 0, 64, fb::Access::Read);
  addArgument(*dispatch, 6, 0, 256, fb::Access::Write);
  fb::CopyT copy;
  copy.source = 6;
  copy.source_offset = 4;
  copy.destination = 7;
  copy.size = 4;
  fb::CommandT &last = add(program.commands);
  last.body.Set(std::move(copy));
  last.waits = {fb::Wait(2, fb::EdgeKind::Full)};

  fb::TensorMapT &map = add(program.tensor_maps);
  map.buffer = 2;
  map.element = "f16";
  map.extents = {64, 8};
  map.strides = {128};
  map.box = {64, 8};
  map.swizzle = 128;
}

std::vector<uint8_t> pattern(size_t size, uint8_t first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i != size; ++i)
    bytes[i] = uint8_t(first + i * 7);
  return bytes;
}

} // namespace

sample::Sample sample::make() {
  Sample sample;
  fb::BundleT &index = sample.index;
  index.producer = "poot test";
  fb::KeyValueT &family = add(index.model);
  family.key = "family";
  family.value = "llama";
  fb::KeyValueT &prompt = add(index.model);
  prompt.key = "chat_template";
  prompt.value = "{{ messages }}\n";
  addValue(index.consts, "norm.weight", type("f32", {16}), 64).section = 1;
  addValue(index.consts, "blk.0.attn_q.weight", type("q4_k", {2, 256}, "gguf"),
           288);
  addValue(index.states, "k.0", type("f16", {-1, 64}), 128);
  addValue(index.states, "seen", type("i64", {2}), 16).zeroed = false;

  fb::TargetT &vulkan = add(index.targets);
  vulkan.name = "vulkan:f16";
  vulkan.required_features = {"storage16", "float16"};
  addCode(addKernel(vulkan, "add"), fb::CodeFormat::Spirv, "", 0, 0, 64);
  addCode(addKernel(vulkan, "add_rows"), fb::CodeFormat::Spirv, "", 0, 64, 36);
  addPrograms(vulkan);

  fb::TargetT &cuda = add(index.targets);
  cuda.name = "cuda:sm_90a";
  for (const char *name : {"add", "add_rows"}) {
    fb::KernelT &kernel = addKernel(cuda, name);
    addCode(kernel, fb::CodeFormat::Cubin, "sm_90a", 0, 1, 50);
    addCode(kernel, fb::CodeFormat::Ptx, "sm_90a", 0, 7, 93);
    addCode(kernel, fb::CodeFormat::Kir, "", 2, 0, 33);
  }
  addPrograms(cuda);

  sample.payloads = {pattern(100, 3), pattern(64, 5), pattern(33, 9)};
  const fb::SectionKind kinds[] = {
      fb::SectionKind::Kernel, fb::SectionKind::Weights, fb::SectionKind::Kir};
  for (size_t i = 0; i != sample.payloads.size(); ++i)
    sample.sections.push_back(SectionSource::fromMemory(
        kinds[i], {sample.payloads[i].data(), sample.payloads[i].size()}));
  return sample;
}

std::vector<uint8_t> sample::frame(ByteSpan index,
                                   const std::vector<uint8_t> &data) {
  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.headerSize = sizeof header;
  header.indexSize = index.size;
  header.indexHash = XXH3_64bits(index.data, index.size);
  header.dataStart = alignToSection(sizeof header + index.size);
  header.dataSize = data.size();
  std::vector<uint8_t> bytes(header.dataStart + data.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (index.size)
    std::memcpy(bytes.data() + sizeof header, index.data, index.size);
  if (!data.empty())
    std::memcpy(bytes.data() + header.dataStart, data.data(), data.size());
  return bytes;
}

std::vector<uint8_t> sample::frame(const fb::BundleT &index,
                                   const std::vector<uint8_t> &data) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishBundleBuffer(builder, fb::Bundle::Pack(builder, &index));
  return frame(ByteSpan{builder.GetBufferPointer(), builder.GetSize()}, data);
}

uint64_t sample::useAll(ByteSpan bytes) {
  weights::Expected<BundleFile> file = BundleFile::openMemory(bytes, "memory");
  if (!file)
    return file.status().message().size();
  uint64_t sum = infoText(*file).size() + infoJson(*file).size();
  sum += file->verifySections().message().size();
  fb::BundleT objects;
  file->index().UnPackTo(&objects);
  for (uint32_t i = 0; i != objects.sections.size(); ++i)
    for (uint8_t byte : file->section(i))
      sum += byte;
  const auto *targets = file->index().targets();
  for (uint32_t t = 0; targets && t != targets->size(); ++t) {
    const auto *kernels = targets->Get(t)->kernels();
    for (uint32_t k = 0; kernels && k != kernels->size(); ++k) {
      for (const fb::Code *code : *kernels->Get(k)->code())
        for (uint8_t byte : file->code(*code))
          sum += byte;
      const auto *tests = kernels->Get(k)->tests();
      for (uint32_t v = 0; tests && v != tests->size(); ++v) {
        const fb::TestVector &test = *tests->Get(v);
        uint64_t total = 0;
        for (uint32_t i = 0; test.inputs() && i != test.inputs()->size(); ++i)
          total += test.inputs()->Get(i)->bytes();
        if (total > 65536) // Valid, but slow to fill for a fuzzer.
          continue;
        std::vector<std::vector<uint8_t>> buffers;
        for (uint32_t i = 0; test.inputs() && i != test.inputs()->size(); ++i) {
          const fb::TestInput &input = *test.inputs()->Get(i);
          buffers.emplace_back(input.bytes());
          fillTestInput(input, buffers.back().data());
        }
        for (uint32_t i = 0; test.expected() && i != test.expected()->size();
             ++i) {
          const fb::TestExpectation &expected = *test.expected()->Get(i);
          const std::vector<uint8_t> &actual = buffers[expected.argument()];
          sum += compareExpectation(expected, {actual.data(), actual.size()})
                     .message()
                     .size();
        }
      }
    }
  }
  return sum;
}
