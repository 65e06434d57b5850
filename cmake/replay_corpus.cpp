// Runs a libFuzzer entry point over every file of a corpus folder, without
// libFuzzer: the regression test for a fuzz target. Fails when the folder is
// missing or empty, so that the test can't pass by running nothing.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  size_t count = 0;
  std::error_code error;
  for (const auto &entry :
       std::filesystem::directory_iterator(argv[1], error)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++count;
  }
  if (error || count == 0) {
    std::fprintf(stderr, "%s: no corpus files\n", argv[1]);
    return 1;
  }
  std::printf("%zu corpus files replayed\n", count);
  return 0;
}
