//===- bundle_fuzzer.cpp - Hostile bundles never harm the reader
//------------===//
//
// The first byte chooses whether the others are a file, or an index that gets
// a right header, hash and data area, so that the hash keeps nobody out. What
// the reader accepts is then used in full.
//
//===----------------------------------------------------------------------===//

#include "sample.h"

using namespace poot;
using namespace poot::bundle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  // The data area that the sample's sections fill.
  constexpr size_t kDataSize = 2 * kSectionAlignment + 33;
  const std::vector<uint8_t> bytes =
      data[0] % 2 == 0 ? std::vector<uint8_t>(data + 1, data + size)
                       : sample::frame(weights::ByteSpan{data + 1, size - 1},
                                       std::vector<uint8_t>(kDataSize));
  sample::useAll({bytes.data(), bytes.size()});
  return 0;
}
