//===- file_test.cpp - Writing, reading and refusing whole files ----------===//

#include "poot/bundle/info.h"
#include "poot/bundle/reader.h"
#include "sample.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace poot;
using namespace poot::bundle;
using weights::ByteSpan;
using weights::StatusCode;

namespace {

ByteSpan span(const std::vector<uint8_t> &bytes) {
  return {bytes.data(), bytes.size()};
}

std::vector<uint8_t> encodeSample() {
  sample::Sample sample = sample::make();
  Expected<std::vector<uint8_t>> bytes =
      encodeBundle(sample.index, sample.sections);
  EXPECT_TRUE(bytes) << bytes.status().message();
  return bytes ? *bytes : std::vector<uint8_t>();
}

std::vector<uint8_t> readBytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in),
                              std::istreambuf_iterator<char>());
}

/// A folder that goes away with the test.
class BundleFileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("poot-bundle-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) { return (folder / name).string(); }

  std::filesystem::path folder;
};

/// The message of opening BYTES, which must fail with REFUSAL.
std::string refused(const std::vector<uint8_t> &bytes, Refusal refusal) {
  Refusal found = Refusal::None;
  Expected<BundleFile> file =
      BundleFile::openMemory(span(bytes), "m.poot", &found);
  EXPECT_FALSE(file);
  EXPECT_STREQ(refusalName(found), refusalName(refusal));
  return file.status().message();
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(contains(text, part)) << text

//===----------------------------------------------------------------------===//
// Round trip
//===----------------------------------------------------------------------===//

TEST_F(BundleFileTest, RoundTripKeepsIndexAndSections) {
  sample::Sample sample = sample::make();
  ASSERT_TRUE(writeBundle(path("m.poot"), sample.index, sample.sections).ok());
  Expected<BundleFile> file = BundleFile::open(path("m.poot"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->name(), path("m.poot"));
  EXPECT_EQ(file->fileSize(), std::filesystem::file_size(path("m.poot")));
  for (uint32_t i = 0; i != sample.payloads.size(); ++i) {
    const ByteSpan bytes = file->section(i);
    EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()),
              sample.payloads[i]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data) % kSectionAlignment, 0u);
  }
  EXPECT_TRUE(file->verifySections().ok());

  // Unpacking and packing again gives the same index, so nothing was lost.
  fb::BundleT objects;
  file->index().UnPackTo(&objects);
  Expected<std::vector<uint8_t>> again = encodeBundle(objects, sample.sections);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, readBytes(path("m.poot")));
  EXPECT_EQ(objects.targets[0]->kernels[1]->name, "add_rows");
  EXPECT_EQ(objects.targets[1]->programs[0]->tensor_maps[0]->swizzle, 128u);
  const ByteSpan code = file->code(
      *file->index().targets()->Get(1)->kernels()->Get(0)->code()->Get(1));
  EXPECT_EQ(code.size, 93u);
  EXPECT_EQ(code.data[0], sample.payloads[0][7]);
}

TEST_F(BundleFileTest, SameInputSameBytes) {
  const std::vector<uint8_t> first = encodeSample();
  EXPECT_EQ(first, encodeSample());
  sample::Sample sample = sample::make();
  ASSERT_TRUE(writeBundle(path("m.poot"), sample.index, sample.sections).ok());
  EXPECT_EQ(first, readBytes(path("m.poot")));
}

TEST_F(BundleFileTest, SectionsAreStreamedFromFiles) {
  sample::Sample sample = sample::make();
  // Larger than the writer's block, and not at the start of its file.
  std::vector<uint8_t> weights(3 * (1 << 20) + 64);
  for (size_t i = 0; i != weights.size(); ++i)
    weights[i] = uint8_t(i * i >> 7);
  std::ofstream(path("weights"), std::ios::binary)
      .write(reinterpret_cast<const char *>(weights.data()),
             std::streamsize(weights.size()));
  sample.index.consts[0]->type->shape = {(3 << 20) / 4};
  sample.index.consts[0]->size = 3 << 20;
  for (auto &target : sample.index.targets)
    target->load->buffers[0]->size = 3 << 20;

  const ByteSpan middle = {weights.data() + 64, 3 << 20};
  sample.sections[1] =
      SectionSource::fromMemory(fb::SectionKind::Weights, middle);
  Expected<std::vector<uint8_t>> fromMemory =
      encodeBundle(sample.index, sample.sections);
  ASSERT_TRUE(fromMemory) << fromMemory.status().message();
  sample.sections[1] = SectionSource::fromFile(fb::SectionKind::Weights,
                                               path("weights"), 64, 3 << 20);
  ASSERT_TRUE(writeBundle(path("m.poot"), sample.index, sample.sections).ok());
  EXPECT_EQ(*fromMemory, readBytes(path("m.poot")));
}

TEST_F(BundleFileTest, WriterRefusesAndLeavesNothing) {
  sample::Sample sample = sample::make();
  sample.sections[1] =
      SectionSource::fromFile(fb::SectionKind::Weights, path("weights"), 0, 64);
  Status status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_EQ(status.code(), StatusCode::IoError);
  EXPECT_CONTAINS(status.message(), "weights: can't be opened: no such file");

  std::ofstream(path("weights"), std::ios::binary) << "short";
  status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_CONTAINS(status.message(), "weights: ends before byte 64");

  sample = sample::make();
  sample.index.targets[0]->programs[0]->commands[1]->body.AsDispatch()->kernel =
      9;
  status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_CONTAINS(status.message(),
                  "targets[0].programs[0].commands[1]: kernel 9 is out of "
                  "range; there are 2");

  sample = sample::make();
  sample.index.targets[1]->programs[0]->slots[0]->type.reset();
  status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_CONTAINS(status.message(),
                  "lacks targets[1].programs[0].slots[0].type");
  sample = sample::make();
  sample.index.targets[1]->load->commands[1]->body.Reset();
  status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_CONTAINS(status.message(), "lacks targets[1].load.commands[1].body");
  sample = sample::make();
  sample.index.targets[0]->kernels[0]->tests[0]->inputs[2].reset();
  status = writeBundle(path("m.poot"), sample.index, sample.sections);
  EXPECT_CONTAINS(status.message(),
                  "lacks targets[0].kernels[0].tests[0].inputs[2]");

  std::filesystem::remove(path("weights"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  sample = sample::make();
  status = writeBundle(path("none/m.poot"), sample.index, sample.sections);
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  if (std::filesystem::exists("/dev/full")) {
    status = writeBundle("/dev/full", sample.index, sample.sections);
    EXPECT_CONTAINS(status.message(), "no space left on device");
  }
}

/// A file of 6 GiB, of which only a few pages exist.
TEST_F(BundleFileTest, SectionsBeyondFourGiB) {
  sample::Sample sample = sample::make();
  ASSERT_TRUE(encodeBundle(sample.index, sample.sections));
  constexpr uint64_t kGiB = uint64_t(1) << 30;
  auto &sections = sample.index.sections;
  sections[1]->offset = 3 * kGiB - kSectionAlignment;
  sample.index.consts[0]->size = 2 * kGiB + 4096;
  sample.index.consts[0]->type->shape = {int64_t(kGiB / 2 + 1024)};
  sections[1]->size = sample.index.consts[0]->size;
  sections[2]->offset = 6 * kGiB;
  for (auto &target : sample.index.targets)
    target->load->buffers[0]->size = sections[1]->size;
  Expected<std::vector<uint8_t>> front = encodeIndex(sample.index);
  ASSERT_TRUE(front) << front.status().message();

  const int file = ::open(path("m.poot").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  const uint64_t start = front->size();
  ASSERT_EQ(::pwrite(file, front->data(), start, 0), ssize_t(start));
  ASSERT_EQ(::pwrite(file, "end", 3, off_t(start + 6 * kGiB + 30)), 3);
  ASSERT_EQ(::pwrite(file, "w", 1, off_t(start + 5 * kGiB - 1)), 1);
  ::close(file);

  Expected<BundleFile> bundle = BundleFile::open(path("m.poot"));
  ASSERT_TRUE(bundle) << bundle.status().message();
  EXPECT_EQ(bundle->fileSize(), start + 6 * kGiB + 33);
  EXPECT_EQ(std::memcmp(bundle->section(2).data + 30, "end", 3), 0);
  EXPECT_EQ(bundle->section(1).data[2 * kGiB + 4096 - 1], 'w');
  EXPECT_CONTAINS(infoText(*bundle), "6.0 GiB");
}

//===----------------------------------------------------------------------===//
// Files that are refused
//===----------------------------------------------------------------------===//

TEST_F(BundleFileTest, Versions) {
  std::vector<uint8_t> bytes = encodeSample();
  bytes[offsetof(FileHeader, version)] = kFormatVersion + 1;
  std::string message = refused(bytes, Refusal::TooNew);
  EXPECT_CONTAINS(message,
                  "m.poot: a bundle of version 3, but this build reads "
                  "versions 1 to 2;");
  bytes[offsetof(FileHeader, version)] = 0;
  EXPECT_CONTAINS(refused(bytes, Refusal::TooOld),
                  "a bundle of version 0, but this build reads "
                  "versions 1 to 2;");
  // A newer version may have another header, so nothing else is looked at.
  bytes[offsetof(FileHeader, version)] = 77;
  bytes.resize(16);
  EXPECT_CONTAINS(refused(bytes, Refusal::TooNew), "version 77");
  Expected<BundleFile> file = BundleFile::openMemory(span(bytes), "m.poot");
  EXPECT_EQ(file.status().code(), StatusCode::Unsupported);
}

TEST_F(BundleFileTest, NotABundle) {
  for (const char *text :
       {"GGUF\3\0\0\0and so on and so on", "POOT", "\x89POOX",
        "\x89POOT\n\x1a too short after a text transfer"}) {
    const std::vector<uint8_t> bytes(text, text + std::strlen(text));
    EXPECT_CONTAINS(refused(bytes, Refusal::NotABundle), "not a poot bundle");
  }
  Refusal refusal = Refusal::None;
  EXPECT_FALSE(BundleFile::open(path("missing.poot"), &refusal));
  EXPECT_EQ(refusal, Refusal::Unreadable);
  EXPECT_FALSE(BundleFile::open(folder.string(), &refusal));
  EXPECT_EQ(refusal, Refusal::Unreadable);
}

TEST_F(BundleFileTest, CutAnywhere) {
  const std::vector<uint8_t> whole = encodeSample();
  for (size_t size = 1; size < whole.size(); ++size) {
    // A copy of just this size: sanitizers see reads beyond it.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + size);
    Refusal refusal = Refusal::None;
    Expected<BundleFile> file =
        BundleFile::openMemory(span(cut), "m.poot", &refusal);
    ASSERT_FALSE(file) << size;
    ASSERT_EQ(refusal, Refusal::Truncated) << size << file.status().message();
  }
  std::vector<uint8_t> half(whole.begin(), whole.begin() + whole.size() / 2);
  EXPECT_CONTAINS(refused(half, Refusal::Truncated),
                  "it was cut, or is still being copied");
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  refused(longer, Refusal::Damaged);
}

/// Every byte in front of the data is covered by a rule or a hash.
TEST_F(BundleFileTest, EveryFlipIsNoticed) {
  const std::vector<uint8_t> whole = encodeSample();
  FileHeader header;
  std::memcpy(&header, whole.data(), sizeof header);
  std::vector<uint8_t> bytes = whole;
  for (size_t i = 0; i != whole.size(); ++i) {
    const uint8_t flip = uint8_t(1 << (i % 8));
    bytes[i] ^= flip;
    Expected<BundleFile> file = BundleFile::openMemory(span(bytes), "m.poot");
    if (i < header.dataStart)
      ASSERT_FALSE(file) << "byte " << i;
    else
      ASSERT_TRUE(file) << "byte " << i;
    bytes[i] ^= flip;
  }
  bytes[header.dataStart + kSectionAlignment + 5] ^= 1;
  Expected<BundleFile> file = BundleFile::openMemory(span(bytes), "m.poot");
  ASSERT_TRUE(file);
  const Status status = file->verifySections();
  EXPECT_CONTAINS(status.message(), "sections[1]: its hash is ");
  EXPECT_FALSE(contains(status.message(), "sections[0]"));
}

TEST_F(BundleFileTest, MisalignedMemory) {
  std::vector<uint8_t> bytes = encodeSample();
  bytes.insert(bytes.begin(), 0);
  Expected<BundleFile> file =
      BundleFile::openMemory({bytes.data() + 1, bytes.size() - 1}, "m.poot");
  EXPECT_EQ(file.status().code(), StatusCode::InvalidArgument);
}

/// Damage behind a hash that was made to fit: whatever the index says then, the
/// reader refuses it, or what it accepts can be used.
TEST_F(BundleFileTest, DamagedIndexNeverCrashes) {
  const std::vector<uint8_t> whole = encodeSample();
  FileHeader header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::vector<uint8_t> index(whole.begin() + sizeof header,
                                   whole.begin() + sizeof header +
                                       header.indexSize);
  const std::vector<uint8_t> data(whole.begin() + header.dataStart,
                                  whole.end());
  uint64_t used = 0;
  // Every byte once, at its edges, ...
  for (size_t i = 0; i != index.size(); ++i)
    for (uint8_t byte : {0x01, 0xff}) {
      std::vector<uint8_t> changed = index;
      changed[i] = byte;
      used += sample::useAll(span(sample::frame(span(changed), data)));
    }
  EXPECT_NE(used, 0u);
  // ... then several at random.
  EXPECT_TRUE(rc::check("random damage", [&] {
    std::vector<uint8_t> changed = index;
    const int count = *rc::gen::inRange(1, 16);
    for (int i = 0; i != count; ++i) {
      const size_t at = *rc::gen::inRange<size_t>(0, changed.size());
      changed[at] = *rc::gen::arbitrary<uint8_t>();
    }
    if (*rc::gen::inRange(0, 4) == 0)
      changed.resize(*rc::gen::inRange<size_t>(0, changed.size()));
    sample::useAll(span(sample::frame(span(changed), data)));
  }));
}

/// Offsets that share data make a small index look huge.
TEST_F(BundleFileTest, SharedDataIsNoEndlessWork) {
  // Kernels that are all one, with one long list of features.
  flatbuffers::FlatBufferBuilder builder;
  const uint32_t count = 20000;
  auto name = builder.CreateString("int8");
  auto features = builder.CreateVector(
      std::vector<flatbuffers::Offset<flatbuffers::String>>(count, name));
  auto code =
      builder.CreateVector(std::vector<flatbuffers::Offset<fb::Code>>());
  auto size = builder.CreateVector(std::vector<uint32_t>{1, 1, 1});
  fb::KernelBuilder kernel(builder);
  kernel.add_name(name);
  kernel.add_code(code);
  kernel.add_workgroup_size(size);
  kernel.add_required_features(features);
  auto kernels = builder.CreateVector(
      std::vector<flatbuffers::Offset<fb::Kernel>>(count, kernel.Finish()));
  fb::TargetBuilder target(builder);
  target.add_name(name);
  target.add_kernels(kernels);
  auto targets = builder.CreateVector(
      std::vector<flatbuffers::Offset<fb::Target>>(1, target.Finish()));
  fb::BundleBuilder bundle(builder);
  bundle.add_version(kFormatVersion);
  bundle.add_targets(targets);
  fb::FinishBundleBuffer(builder, bundle.Finish());
  const std::vector<uint8_t> bytes = sample::frame(
      ByteSpan{builder.GetBufferPointer(), builder.GetSize()}, {});
  EXPECT_CONTAINS(refused(bytes, Refusal::Damaged), "points outside itself");
}

/// The same with long vectors of numbers, which FlatBuffers does not look into.
TEST_F(BundleFileTest, SharedNumbersAreNoEndlessWork) {
  flatbuffers::FlatBufferBuilder builder;
  auto name = builder.CreateString("x");
  auto element = builder.CreateString("f32");
  auto shape = builder.CreateVector(std::vector<int64_t>(100000, 1));
  std::vector<flatbuffers::Offset<fb::State>> list;
  for (int i = 0; i != 10000; ++i) {
    fb::TensorTypeBuilder type(builder);
    type.add_element(element);
    type.add_shape(shape);
    auto finished = type.Finish();
    fb::StateBuilder state(builder);
    state.add_name(name);
    state.add_type(finished);
    state.add_size(4);
    list.push_back(state.Finish());
  }
  auto states = builder.CreateVector(list);
  fb::BundleBuilder bundle(builder);
  bundle.add_version(kFormatVersion);
  bundle.add_states(states);
  fb::FinishBundleBuffer(builder, bundle.Finish());
  const std::vector<uint8_t> bytes = sample::frame(
      ByteSpan{builder.GetBufferPointer(), builder.GetSize()}, {});
  EXPECT_CONTAINS(refused(bytes, Refusal::Inconsistent),
                  "refers to the same data over and over");
}

//===----------------------------------------------------------------------===//
// Frozen bundles and information
//===----------------------------------------------------------------------===//

/// The promise beside kFormatVersion: bundles of every released version load.
TEST_F(BundleFileTest, FrozenVersionsLoad) {
  for (uint32_t version = kOldestFormatVersion; version <= kFormatVersion;
       ++version) {
    const std::string path = weights::concat(
        POOT_SOURCE_DIR "/bundle/test/frozen/v", version, ".poot");
    Expected<BundleFile> file = BundleFile::open(path);
    ASSERT_TRUE(file) << file.status().message();
    EXPECT_EQ(file->index().version(), version);
    EXPECT_TRUE(file->verifySections().ok());
    EXPECT_EQ(file->index().targets()->size(), 2u);
    const fb::Program &program =
        *file->index().targets()->Get(0)->programs()->Get(0);
    EXPECT_EQ(program.entry()->str(), "decode.1x1.greedy");
    EXPECT_EQ(program.commands()->size(), 4u);
    const std::vector<uint8_t> bytes = readBytes(path);
    EXPECT_NE(sample::useAll(span(bytes)), 0u);
  }
}

TEST_F(BundleFileTest, InfoText) {
  const std::vector<uint8_t> bytes = encodeSample();
  Expected<BundleFile> file = BundleFile::openMemory(span(bytes), "m.poot");
  ASSERT_TRUE(file);
  const std::string text = infoText(*file);
  for (const char *part :
       {"m.poot\n  format    version 2, 20.0 KiB",
        "consts    2, 352 B, 1 of them", "'{{ messages }}\\x0a'",
        "target vulkan:f16\n  requires  storage16, float16",
        "kernels   2, 100 B of code, 4 test vectors", "(load)",
        "decode.1x1.greedy  Decode", "slots    token (i32 1)",
        "outputs  next (i32 1)", "Cubin sm_90a, Ptx sm_90a, Kir"})
    EXPECT_CONTAINS(text, part);
}

TEST_F(BundleFileTest, InfoJson) {
  sample::Sample sample = sample::make();
  sample.index.producer = "bad \xff text";
  Expected<std::vector<uint8_t>> bytes =
      encodeBundle(sample.index, sample.sections);
  ASSERT_TRUE(bytes);
  Expected<BundleFile> file = BundleFile::openMemory(span(*bytes), "m.poot");
  ASSERT_TRUE(file);
  const auto json = nlohmann::json::parse(infoJson(*file));
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["size"], file->fileSize());
  EXPECT_EQ(json["producer"], "bad \xef\xbf\xbd text");
  EXPECT_EQ(json["model"]["family"], "llama");
  EXPECT_EQ(json["consts"][0]["section"], 1);
  EXPECT_FALSE(json["consts"][1].contains("section"));
  EXPECT_EQ(json["states"][0]["shape"], (std::vector<int>{-1, 64}));
  const auto &target = json["targets"][1];
  EXPECT_EQ(target["name"], "cuda:sm_90a");
  EXPECT_EQ(target["programs"][0]["key"]["phase"], "Decode");
  EXPECT_EQ(target["programs"][0]["dispatches"], 2);
  EXPECT_EQ(target["kernels"][0]["code"][0]["architecture"], "sm_90a");
}

/// Names of a hostile bundle reach no terminal as they are, and don't make
/// every row of a table as wide as they are.
TEST_F(BundleFileTest, InfoTextIsPrintable) {
  sample::Sample sample = sample::make();
  fb::KernelT &kernel = *sample.index.targets[0]->kernels[0];
  kernel.name = "\x1b[31mred\n";
  kernel.required_features.assign(1000, "storage16");
  Expected<std::vector<uint8_t>> bytes =
      encodeBundle(sample.index, sample.sections);
  ASSERT_TRUE(bytes) << bytes.status().message();
  Expected<BundleFile> file = BundleFile::openMemory(span(*bytes), "m.poot");
  ASSERT_TRUE(file);
  const std::string text = infoText(*file);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_CONTAINS(text, "'\\x1b[31mred\\x0a'");
  EXPECT_LT(text.size(), 5000u);
}

TEST(FormatBytes, Units) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1.0 KiB");
  EXPECT_EQ(formatBytes(1048575), "1.0 MiB");
  EXPECT_EQ(formatBytes(UINT64_MAX), "16.0 EiB");
}

} // namespace
