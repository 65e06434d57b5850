// Runs examples/run_bundle as a user would.

#include "conformance/conformance.h"

#include <cstdio>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

using namespace poot;
using namespace poot::test;

namespace {
struct Output {
  std::string text;
  int status;
};
} // namespace

static Output run(const std::string &arguments) {
  std::string command = std::string(POOT_EXAMPLE) + arguments + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  Output output;
  char buffer[256];
  while (size_t size = std::fread(buffer, 1, sizeof buffer, pipe))
    output.text.append(buffer, size);
  output.status = WEXITSTATUS(pclose(pipe));
  return output;
}

TEST(Example, RunsABundle) {
  TestBundle bundle;
  Program entry = bundle.addEntry("go");
  uint32_t x = entry.slot("x", 64), y = entry.output("y", 64);
  entry.dispatch(bundle.affine(), 64, {in(x), out(y)}, {64, 1, 42});
  std::vector<uint8_t> bytes = bundle.encode();
  std::string path = testing::TempDir() + "/poot-example-" +
                     std::to_string(::getpid()) + ".poot";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));

  Output devices = run("");
  EXPECT_EQ(devices.status, 0);
  EXPECT_NE(devices.text.find("vulkan:0: "), std::string::npos) << devices.text;
  Output entries = run(" " + path);
  EXPECT_EQ(entries.text, "go\n");
  Output result = run(" " + path + " go");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text, "y (i32, 256 bytes): 42 42 42 42 42 42 42 42\n");
  Output wrong = run(" " + path + " stop");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.text.find("no entry 'stop'"), std::string::npos);
  std::remove(path.c_str());
  Output gone = run(" " + path);
  EXPECT_EQ(gone.status, 1);
  EXPECT_NE(gone.text.find("file-error: "), std::string::npos) << gone.text;
}
