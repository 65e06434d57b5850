//===- make_sample.cpp - Writes the bundles that the tests keep -----------===//
//
//   poot-bundle-sample-files FOLDER
//
// writes FOLDER/v<kFormatVersion>.poot, which is frozen when a version is
// released, and seeds of the fuzz target, FOLDER/file and FOLDER/index.
//
//===----------------------------------------------------------------------===//

#include "poot/weights/atomic_file.h"
#include "sample.h"

#include <cstdio>

using namespace poot;
using namespace poot::bundle;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  sample::Sample sample = sample::make();
  auto check = [](const weights::Status &status) {
    if (!status.ok())
      std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return status.ok();
  };
  weights::Expected<std::vector<uint8_t>> file =
      encodeBundle(sample.index, sample.sections);
  if (!check(file.status()))
    return 1;
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishBundleBuffer(builder, fb::Bundle::Pack(builder, &sample.index));

  // The fuzz target's first byte chooses what the others are.
  std::vector<uint8_t> fileSeed = {0}, indexSeed = {1};
  fileSeed.insert(fileSeed.end(), file->begin(), file->end());
  indexSeed.insert(indexSeed.end(), builder.GetBufferPointer(),
                   builder.GetBufferPointer() + builder.GetSize());
  const std::string frozen =
      weights::concat(folder, "/v", kFormatVersion, ".poot");
  return check(weights::writeFile(frozen, {file->data(), file->size()})) &&
                 check(weights::writeFile(
                     folder + "/file", {fileSeed.data(), fileSeed.size()})) &&
                 check(weights::writeFile(folder + "/index",
                                          {indexSeed.data(), indexSeed.size()}))
             ? 0
             : 1;
}
