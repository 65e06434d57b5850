// Starts poot-llm on a bundle of copies with the tokenizer and the weights of
// examples/tiny.gguf, and looks at its output and exit code. The device is
// whatever "vulkan" is here.

#include "../../../serve/test/copy_bundle.h"
#include "poot/weights/gguf.h"
#include "poot/weights/npy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

using namespace poot;
using namespace poot::serve::test;

static const char *const model = POOT_SOURCE_DIR "/examples/tiny.gguf";
static const char *const constName = "output_norm.weight";
static constexpr int64_t width = 256; // of that tensor, here the vocabulary

namespace {
struct Result {
  int code;
  std::string out, err;
};
} // namespace

static std::string read(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

static std::string temporary(const char *name) {
  return testing::TempDir() + "poot_llm_test_" + name;
}

/// Runs poot-llm with these arguments, as the shell splits them.
static Result run(const std::string &arguments) {
  std::string out = temporary("out"), err = temporary("err");
  std::string command = std::string(POOT_LLM) + " " + arguments;
  if (command.find('>') == command.npos)
    command += " >" + out;
  int status = system((command + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(out), read(err)};
}

static std::string makeBundle(std::vector<EntryShape> entries) {
  std::string path = temporary("m.poot");
  writeCopyBundle(path, entries, {constName, {width}, width});
  return path;
}

static std::string common() {
  return makeBundle({decodeGreedy, decodeLogits, prefill}) + " --weights " +
         model;
}

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos) << "text: " << (text)

TEST(PootLlm, StreamsTextAndReportsRates) {
  Result result = run(common() + " --raw --prompt '!?!?' -n 3 --greedy");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "???\n");
  EXPECT_HAS(result.err, "device: vulkan:");
  EXPECT_HAS(result.err, "prompt: ");
  EXPECT_HAS(result.err, "decode: 2 tokens in ");
  EXPECT_HAS(result.err, " tokens/s");
  EXPECT_EQ(result.err.find('\r'), std::string::npos); // no terminal
}

TEST(PootLlm, StopsAtTheCapacity) {
  Result result = run(common() + " --raw --prompt '!!!!!!' -n 90 --greedy");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_HAS(result.err, "stopped: the bundle's capacity of 8 tokens is full");
}

TEST(PootLlm, ReadsThePromptFromStandardInput) {
  std::string input = temporary("in");
  std::ofstream(input) << "?\n";
  Result result = run(makeBundle({decodeGreedy}) + " --weights " + model +
                      " --raw --prompt - -n 1 --greedy <" + input);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "\n\n"); // the prompt's line break, and poot-llm's own
}

TEST(PootLlm, WritesTeacherForcedLogits) {
  std::string tokens = temporary("tokens.npy"),
              logits = temporary("logits.npy");
  std::vector<int32_t> ids = {5, 6, 7, 8, 9};
  ASSERT_TRUE(
      weights::writeNpy(tokens, weights::ElementType::I32, {5}, ids.data())
          .ok());
  Result result =
      run(common() + " --tokens " + tokens + " -n 0 --logits " + logits);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  auto array = weights::readNpy(logits);
  ASSERT_TRUE(array) << array.status().message();
  EXPECT_EQ(array->shape, (weights::Shape{5, width}));
  auto file = weights::Gguf::open(model);
  ASSERT_TRUE(file) << file.status().message();
  weights::ByteSpan expected = file->findTensor(constName)->data;
  ASSERT_EQ(array->data.size(), 5 * expected.size);
  for (int row = 0; row < 5; ++row)
    EXPECT_EQ(memcmp(array->data.data() + row * expected.size, expected.data,
                     expected.size),
              0);
  // Generated tokens that are run have rows too.
  result = run(common() + " --tokens " + tokens + " -n 3 --greedy --logits " +
               logits);
  EXPECT_EQ(result.code, 0) << result.err;
  array = weights::readNpy(logits);
  ASSERT_TRUE(array) << array.status().message();
  EXPECT_EQ(array->shape, (weights::Shape{7, width}));
}

TEST(PootLlm, SamplesWithASeed) {
  std::string arguments =
      common() + " --raw --prompt '!' -n 6 --temperature 1 --top-k 200 --seed ";
  Result one = run(arguments + "1"), same = run(arguments + "1"),
         two = run(arguments + "2");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, same.out);
  EXPECT_NE(one.out, two.out);
}

TEST(PootLlm, FailsWithAReason) {
  using Entries = std::vector<EntryShape>;
  const Entries all = {decodeGreedy, decodeLogits, prefill};
  struct {
    Entries entries;
    std::string arguments, message;
  } cases[] = {
      {all, "--raw --prompt '!!!!!!!!!!!!!!!!!' --greedy",
       "don't fit into the bundle's capacity of 8; compile it with a larger "
       "--capacity"},
      {all, "--raw --prompt ! --greedy >/dev/full",
       "standard output can't be written"},
      {all, "--raw --prompt ! -n 0 --logits /dev/full", "/dev/full"},
      {all, "--raw --prompt ! --device vulkan:99", "vulkan:99"},
      {all, "--raw --prompt ! --device abacus", "abacus"},
      {{decodeGreedy},
       "--raw --prompt !",
       "no entry with logits as its output"},
      {{prefill}, "--raw --prompt !", "no entry that decodes one token"},
  };
  for (const auto &test : cases) {
    Result result = run(makeBundle(test.entries) + " --weights " + model + " " +
                        test.arguments);
    EXPECT_EQ(result.code, 1) << test.arguments;
    EXPECT_HAS(result.err, "poot-llm: error: ");
    EXPECT_HAS(result.err, test.message);
  }
}

TEST(PootLlm, LinksNoCompiler) {
  std::string out = temporary("ldd");
  ASSERT_EQ(system(("ldd " POOT_LLM " >" + out).c_str()), 0);
  std::string libraries = read(out);
  EXPECT_HAS(libraries, "libpoot-runtime.so");
  for (const char *compiler : {"LLVM", "MLIR", "clang"})
    EXPECT_EQ(libraries.find(compiler), std::string::npos) << libraries;
}
