//===- poot_run_test.cpp - The tool from outside --------------------------===//
//
// Starts poot-run on a small bundle and on mistakes, and looks at its output
// and exit status. The device is whatever "vulkan" is here.
//
//===----------------------------------------------------------------------===//

#include "poot/bundle/test_vector.h"
#include "poot/bundle/writer.h"
#include "poot/weights/atomic_file.h"
#include "poot/weights/npy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace poot;
using namespace poot::bundle;
using weights::ElementType;

namespace {

std::unique_ptr<fb::TensorTypeT> type(const char *element,
                                      std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = element;
  type->shape = std::move(shape);
  return type;
}

template <class T> T &add(std::vector<std::unique_ptr<T>> &vector) {
  vector.push_back(std::make_unique<T>());
  return *vector.back();
}

template <class T>
void addValue(std::vector<std::unique_ptr<T>> &vector, const char *name,
              std::vector<int64_t> shape, uint64_t size) {
  T &value = add(vector);
  value.name = name;
  value.type = type("i32", std::move(shape));
  value.size = size;
}

/// Commands wait for the one before.
void addCommand(fb::ProgramT &program, fb::CommandBodyUnion body) {
  fb::CommandT &command = add(program.commands);
  command.body = std::move(body);
  command.location = "here";
  if (program.commands.size() > 1)
    command.waits = {
        fb::Wait(uint32_t(program.commands.size() - 2), fb::EdgeKind::Full)};
}

/// BUFFERS[2] = BUFFERS[0] + BUFFERS[1], six elements each.
void addSum(fb::ProgramT &program, std::vector<uint32_t> buffers) {
  fb::DispatchT dispatch;
  dispatch.grid = {1, 1, 1};
  dispatch.metadata = {fb::Metadata(fb::MetadataKind::Literal, 6)};
  for (size_t i = 0; i != 3; ++i) {
    fb::ArgumentT &argument = add(dispatch.arguments);
    argument.buffer = buffers[i];
    argument.size = 24;
    argument.access = i == 2 ? fb::Access::Write : fb::Access::Read;
  }
  fb::CommandBodyUnion body;
  body.Set(std::move(dispatch));
  addCommand(program, std::move(body));
}

/// Entry "forward": y = x + w, and a state that sums up x: total += x. With an
/// expected value that is WRONG, or right.
void writeBundleFile(const std::string &path, bool wrong) {
  std::ifstream in(POOT_TEST_KERNEL, std::ios::binary);
  const std::vector<uint8_t> code((std::istreambuf_iterator<char>(in)),
                                  std::istreambuf_iterator<char>());
  fb::BundleT index;
  index.producer = "poot-run test";
  addValue(index.consts, "w", {2, 3}, 24);
  addValue(index.states, "sum", {-1, 6}, 24);
  fb::TargetT &target = add(index.targets);
  target.name = "vulkan:base";
  fb::KernelT &kernel = add(target.kernels);
  kernel.name = "add_i32";
  kernel.workgroup_size = {64, 1, 1};
  kernel.arguments = {fb::Access::Read, fb::Access::Read, fb::Access::Write};
  kernel.metadata_words = 1;
  fb::CodeT &stored = add(kernel.code);
  stored.size = code.size();
  stored.entry_point = "main";

  fb::TestVectorT &test = add(kernel.tests);
  test.grid = {1, 1, 1};
  test.metadata = {40};
  std::vector<int32_t> values[2];
  for (uint32_t i = 0; i != 3; ++i) {
    fb::TestInputT &input = add(test.inputs);
    input.argument = i;
    input.bytes = 160;
    input.element = "i32";
    input.fill = i == 2 ? fb::Fill::Zero : fb::Fill::UniformInt;
    input.low = -1000;
    input.high = 1000;
    input.seed = i;
    if (i < 2) {
      values[i].resize(40);
      fillTestInput(input, reinterpret_cast<uint8_t *>(values[i].data()));
    }
  }
  fb::TestExpectationT &expected = add(test.expected);
  expected.argument = 2;
  expected.element = "i32";
  for (uint64_t i : {0, 17, 39}) {
    expected.index.push_back(i);
    expected.value.push_back(values[0][i] + values[1][i] + wrong);
  }

  fb::ProgramT &program = add(target.programs);
  program.entry = "forward";
  addValue(program.slots, "x", {2, 3}, 24);
  addValue(program.outputs, "y", {2, 3}, 24);
  addValue(program.outputs, "total", {6}, 24);
  const std::pair<fb::BufferRole, uint32_t> buffers[] = {
      {fb::BufferRole::Slot, 0},   {fb::BufferRole::Const, 0},
      {fb::BufferRole::Output, 0}, {fb::BufferRole::State, 0},
      {fb::BufferRole::Output, 1},
  };
  for (auto [role, number] : buffers) {
    fb::BufferT &buffer = add(program.buffers);
    buffer.role = role;
    buffer.index = number;
    buffer.size = 24;
  }
  addSum(program, {0, 1, 2});
  addSum(program, {3, 0, 3});
  fb::CopyT copy;
  copy.source = 3;
  copy.destination = 4;
  copy.size = 24;
  fb::CommandBodyUnion body;
  body.Set(std::move(copy));
  addCommand(program, std::move(body));

  const weights::Status status =
      writeBundle(path, index,
                  {SectionSource::fromMemory(fb::SectionKind::Kernel,
                                             {code.data(), code.size()})});
  ASSERT_TRUE(status.ok()) << status.message();
}

struct Outcome {
  int status;
  std::string text; // Both streams.
};

class PootRun : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("poot-run-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    writeBundleFile(path("m.poot"), /*wrong=*/false);
    writeArray("x.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
    // A safetensors file: length of the header, header, data.
    const std::string header =
        R"({"w":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]}})";
    const uint64_t length = header.size();
    std::string file(reinterpret_cast<const char *>(&length), 8);
    file += header;
    for (int32_t value : {10, 20, 30, 40, 50, 60})
      file.append(reinterpret_cast<const char *>(&value), 4);
    std::ofstream(path("w.safetensors"), std::ios::binary) << file;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) { return (folder / name).string(); }

  void writeArray(const char *name, weights::Shape shape,
                  std::vector<int32_t> values) {
    const weights::Status status =
        weights::writeNpy(path(name), ElementType::I32, shape, values.data());
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::vector<int32_t> readArray(const char *name, weights::Shape shape) {
    weights::Expected<weights::NpyArray> array = weights::readNpy(path(name));
    EXPECT_TRUE(array) << array.status().message();
    if (!array)
      return {};
    EXPECT_EQ(array->type, ElementType::I32);
    EXPECT_EQ(array->shape, shape);
    std::vector<int32_t> values(array->data.size() / 4);
    std::memcpy(values.data(), array->data.data(), array->data.size());
    return values;
  }

  /// Runs the tool in the folder, as a user would.
  Outcome run(const std::string &arguments, const char *streams = "2>&1") {
    const std::string command = "cd '" + folder.string() +
                                "' && '" POOT_RUN "' " + arguments + ' ' +
                                streams;
    std::FILE *pipe = ::popen(command.c_str(), "r");
    std::string text;
    char block[4096];
    while (size_t got = std::fread(block, 1, sizeof block, pipe))
      text.append(block, got);
    const int status = ::pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
  }

  /// The exit status and a part of the output.
  void expectRun(const std::string &arguments, int status,
                 const std::string &part) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << '\n' << outcome.text;
    EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << '\n'
                                                          << outcome.text;
  }

  std::filesystem::path folder;
};

const char *const kForward = "m.poot --entry forward --weights w.safetensors "
                             "--state-extent 1 ";

TEST_F(PootRun, WritesOutputs) {
  const Outcome outcome =
      run(std::string(kForward) +
          "--input x=x.npy --output y=y.npy --output total=t.npy --steps 3");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(readArray("y.npy", {2, 3}),
            (std::vector<int32_t>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(readArray("t.npy", {6}),
            (std::vector<int32_t>{3, 6, 9, 12, 15, 18}));
}

TEST_F(PootRun, PrintsOutputsAndProfile) {
  const Outcome outcome =
      run(std::string(kForward) + "--input x=x.npy --profile");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text.rfind("y (i32 2x3): 11 22 33 44 55 66\n"
                               "total (i32 6): 1 2 3 4 5 6\n",
                               0),
            0u)
      << outcome.text;
  EXPECT_NE(outcome.text.find("add_i32"), std::string::npos) << outcome.text;
}

TEST_F(PootRun, MistakesAreNamed) {
  const std::string forward = kForward;
  writeArray("flat.npy", {6}, {1, 2, 3, 4, 5, 6});
  expectRun("m.poot --entry backward --weights w.safetensors --state-extent 1",
            1,
            "m.poot: has no entry backward for target vulkan:base; entries: "
            "forward");
  expectRun(forward, 1,
            "slot x has no value; give --input x=FILE.npy with i32 2x3");
  expectRun(forward + "--input x=flat.npy", 1,
            "flat.npy: holds i32 6, but slot x takes i32 2x3");
  expectRun(forward + "--input x=none.npy", 1, "none.npy: ");
  expectRun(forward + "--input z=x.npy", 1,
            "--input: entry forward has no z; it has x (i32 2x3)");
  expectRun(forward + "--input x=x.npy --output z=z.npy", 1,
            "--output: entry forward has no z; it has y (i32 2x3), total "
            "(i32 6)");
  expectRun(forward + "--input x=x.npy --input x=x.npy", 1,
            "--input: x is given twice");
  expectRun(forward + "--input x", 1, "--input x: NAME=FILE.npy is needed");
  expectRun(forward + "--input x=x.npy --output y=none/y.npy", 1,
            "none/y.npy: ");
  expectRun("m.poot --entry forward --input x=x.npy", 1, "--weights");
  expectRun("m.poot --entry forward --weights w.safetensors --input x=x.npy", 1,
            "'sum'");
  expectRun(forward + "--input x=x.npy --state-extent many", 1,
            "--state-extent many: N or NAME=N is needed");
  expectRun(forward + "--input x=x.npy --device vulkan:77", 1, "vulkan:77");
  expectRun("none.poot --info", 1, "none.poot: ");
  expectRun("x.npy --info", 1, "x.npy: not a poot bundle");
  EXPECT_FALSE(std::filesystem::exists(path("y.npy")));
}

TEST_F(PootRun, MisuseHasItsOwnStatus) {
  expectRun("m.poot", 2, "exactly one of --info, --entry");
  expectRun("m.poot --info --self-check", 2, "exactly one of --info, --entry");
  expectRun("--info", 2, "the bundle's file name is missing");
  expectRun("m.poot --list-devices", 2, "--list-devices takes no bundle");
  expectRun("m.poot --info --input x=x.npy", 2, "--entry");
  expectRun("m.poot --json --verify", 2, "--json goes with");
  expectRun("m.poot --entry forward --steps 0", 2, "--steps");
  expectRun("m.poot --inof", 2, "--inof");
  expectRun("--help", 0, "Exit status:");
  expectRun("--version", 0, "poot ");
}

TEST_F(PootRun, FullDisk) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  const Outcome outcome = run("m.poot --info", "2>&1 >/dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.text, "poot-run: error: standard output can't be written: "
                          "no space left on device\n");
  expectRun(std::string(kForward) + "--input x=x.npy --output y=/dev/full", 1,
            "no space left on device");
}

TEST_F(PootRun, Info) {
  expectRun("m.poot --info", 0, "target vulkan:base");
  const auto json = nlohmann::json::parse(run("m.poot --json").text);
  EXPECT_EQ(json["targets"][0]["programs"][0]["entry"], "forward");
}

TEST_F(PootRun, VerifyReadsEverySection) {
  expectRun("m.poot --verify", 0, "every section is intact");
  std::fstream file(path("m.poot"),
                    std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  expectRun("m.poot --verify", 1, "sections[0]: its hash is");
}

/// The deployment half stays free of the compiler.
TEST_F(PootRun, ListDevices) {
  const auto json = nlohmann::json::parse(run("--list-devices --json").text);
  ASSERT_FALSE(json["devices"].empty());
  EXPECT_EQ(json["devices"][0]["id"], "vulkan:0");
  expectRun("--list-devices", 0, json["devices"][0]["name"]);
}

TEST_F(PootRun, SelfCheck) {
  expectRun("m.poot --self-check", 0, "1 of 1 test vectors passed");
  writeBundleFile(path("wrong.poot"), /*wrong=*/true);
  expectRun("wrong.poot --self-check", 1, "WRONG");
  expectRun("wrong.poot --self-check", 1, "0 of 1 test vectors passed");
  expectRun("wrong.poot --self-check", 1, "(3 of 3 differ)");
  const Outcome outcome = run("wrong.poot --self-check --json");
  EXPECT_EQ(outcome.status, 1);
  const auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["results"][0]["kernel"], "add_i32");
  EXPECT_EQ(json["results"][0]["largest_error"], 1.0);
  expectRun("m.poot --self-check --target cuda:sm_90a", 1, "cuda:sm_90a");
}

} // namespace
