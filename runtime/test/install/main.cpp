// A program of an outside project: the C++ wrapper and an error of it.
#include <poot/runtime.hpp>

#include <cstdio>

int main() {
  auto bundle = poot::rt::Bundle::open("no-such-file.poot");
  if (bundle || bundle.error().code() != POOT_FILE_ERROR)
    return 1;
  std::printf("poot-runtime %s: %s\n", poot_version(),
              bundle.error().message().c_str());
  return 0;
}
