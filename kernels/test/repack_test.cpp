// Repacking on the CPU, and on devices, gives the words of the host's
// repackPlanar.

#include "../lib/repack.cpp"

#include "library_test.h"

#include <cstring>

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(elements)};
}

namespace {

template <class Weight> void expectRepacked(const char *name) {
  constexpr ElementType type = Weight::Row::type;
  Random random(static_cast<uint32_t>(type));
  constexpr int32_t block = Weight::Row::blockElements;
  sweep(
      {{"rows", rows, 3}, {"elements", elements, 3 * block, block}},
      [] { return int64_t(rows) * elements; },
      [&] {
        std::vector<uint8_t> bytes(rows * (elements / block) *
                                   Weight::Row::blockBytes);
        for (uint8_t &byte : bytes)
          byte = static_cast<uint8_t>(random.bits());
        int64_t rowBytes = weights::planarRow(type, elements).bytes();
        std::vector<uint32_t> expected(rows * rowBytes / 4),
            words((bytes.size() + 3) / 4);
        weights::repackPlanar(type, bytes.data(), rows, elements,
                              reinterpret_cast<uint8_t *>(expected.data()));
        std::memcpy(words.data(), bytes.data(), bytes.size());
        auto wanted = exactly(expected);
        run(invocations(std::string("repack_") + name + "_gguf",
                        static_cast<int64_t>(expected.size())),
            repack<Weight>, in(words), out<uint32_t>(wanted));
      });
}

TEST(Repack, GivesTheHostsWords) {
#define POOT_REPACK(NAME) expectRepacked<NAME##_gguf>(#NAME);
  POOT_REPACK(q4_0)
  POOT_REPACK(q4_1)
  POOT_REPACK(q5_0)
  POOT_REPACK(q5_1)
  POOT_REPACK(q8_0)
  POOT_REPACK(q2_k)
  POOT_REPACK(q3_k)
  POOT_REPACK(q4_k)
  POOT_REPACK(q5_k)
  POOT_REPACK(q6_k)
  POOT_REPACK(iq4_nl)
  POOT_REPACK(mxfp4)
}

} // namespace
