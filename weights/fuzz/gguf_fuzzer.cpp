// Any bytes are a GGUF file that is read to its last value, or an error.

#include "poot/weights/block_decode.h"
#include "poot/weights/gguf.h"

#include <algorithm>
#include <cstdlib>

using namespace poot::weights;

namespace {

/// Reads KEY as T and as an array of T; each must fail or give what the entry
/// says.
template <class T> void readAs(const Gguf &file, const GgufMetadata &entry) {
  auto values = file.getArray<T>(entry.key);
  if (values && values->size() != entry.count)
    std::abort();
  auto value = file.get<T>(entry.key);
  if (value && values)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = Gguf::parse({data, size}, "fuzz.gguf");
  if (!file) {
    if (file.status().message().rfind("fuzz.gguf: ", 0) != 0)
      std::abort();
    return 0;
  }
  for (const GgufMetadata &entry : file->metadata()) {
    readAs<uint8_t>(*file, entry);
    readAs<int8_t>(*file, entry);
    readAs<uint16_t>(*file, entry);
    readAs<int16_t>(*file, entry);
    readAs<uint32_t>(*file, entry);
    readAs<int32_t>(*file, entry);
    readAs<uint64_t>(*file, entry);
    readAs<int64_t>(*file, entry);
    readAs<float>(*file, entry);
    readAs<double>(*file, entry);
    readAs<std::string_view>(*file, entry);
    (void)file->get<bool>(entry.key);
  }
  for (const TensorView &tensor : file->tensors()) {
    if (file->findTensor(tensor.name) != &tensor)
      std::abort();
    const ElementTypeInfo &info = getInfo(tensor.type);
    int64_t count = *countElements(tensor.shape);
    count = std::min<int64_t>(count,
                              4096 / info.blockElements * info.blockElements);
    std::vector<float> values(static_cast<size_t>(count));
    convertToF32(tensor.type, tensor.data.data, count, values.data());
  }
  return 0;
}
