// Any bytes are a .npy file with the data that its shape takes, or an error.

#include "poot/weights/npy.h"

#include <cstdlib>

using namespace poot::weights;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto array = parseNpy({data, size}, "fuzz.npy");
  if (!array) {
    if (array.status().message().rfind("fuzz.npy: ", 0) != 0)
      std::abort();
    return 0;
  }
  if (static_cast<int64_t>(array->data.size()) !=
      *countBytes(array->type, array->shape))
    std::abort();
  return 0;
}
