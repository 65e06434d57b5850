//===- sample.h - A bundle that uses every part of the schema -------------===//
//
// Small and valid, for the tests: two targets, a load program, an entry with
// slots, outputs, a fill, a copy and dispatches, all roles of buffers, an open
// state, metadata of both kinds, tensor maps, edges of both kinds, test
// vectors.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_TEST_SAMPLE_H
#define POOT_BUNDLE_TEST_SAMPLE_H

#include "poot/bundle/format.h"
#include "poot/bundle/writer.h"

#include <string>
#include <vector>

namespace poot::bundle::sample {

/// The sections' bytes and the index that refers to them.
struct Sample {
  fb::BundleT index;
  std::vector<std::vector<uint8_t>> payloads;
  std::vector<SectionSource> sections;
};

/// Section 0 holds kernels, 1 weights, 2 KIR.
Sample make();

/// The file of INDEX as it is, sections included, without asking whether it
/// makes sense: header, hash and padding are right. The data area is DATA.
/// Aligned to 8 bytes, as everything a vector allocates.
std::vector<uint8_t> frame(const fb::BundleT &index,
                           const std::vector<uint8_t> &data);

/// The same around an index that is packed already.
std::vector<uint8_t> frame(weights::ByteSpan index,
                           const std::vector<uint8_t> &data);

/// Uses everything a reader offers: each section, each code, information in
/// both forms, each test vector. Returns a number that depends on all of it.
uint64_t useAll(weights::ByteSpan bytes);

} // namespace poot::bundle::sample

#endif // POOT_BUNDLE_TEST_SAMPLE_H
