// Any bytes are a safetensors file whose tensors cover its data, or an error.

#include "poot/weights/safetensors.h"

#include <cstdlib>

using namespace poot::weights;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = Safetensors::parse({data, size}, "fuzz.safetensors");
  if (!file) {
    if (file.status().message().rfind("fuzz.safetensors: ", 0) != 0)
      std::abort();
    return 0;
  }
  const uint8_t *next = nullptr;
  for (const TensorView &tensor : file->tensors()) {
    if (next && tensor.data.begin() != next)
      std::abort();
    next = tensor.data.end();
    if (static_cast<int64_t>(tensor.data.size) !=
        *countBytes(tensor.type, tensor.shape))
      std::abort();
  }
  if (next && next != data + size)
    std::abort();
  return 0;
}
