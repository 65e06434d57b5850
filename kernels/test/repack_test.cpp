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
  SCOPED_TRACE(name);
  Random random(static_cast<uint32_t>(type));
  constexpr int32_t block = Weight::Row::blockElements;
  for (auto [r, blocks] :
       {std::array{1, 1}, {3, 1}, {5, 3}, {2, 7}, {17, 2}, {1, 18}}) {
    rows = r;
    elements = blocks * block;
    std::vector<uint8_t> bytes(rows * blocks * Weight::Row::blockBytes);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random.bits());
    int64_t rowBytes = weights::planarRow(type, elements).bytes();
    std::vector<uint32_t> expected(rows * rowBytes / 4),
        result(expected.size(), 0xdeadbeef), words((bytes.size() + 3) / 4);
    weights::repackPlanar(type, bytes.data(), rows, elements,
                          reinterpret_cast<uint8_t *>(expected.data()));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    run(invocations(std::string("repack_") + name + "_gguf",
                    static_cast<int64_t>(result.size())),
        repack<Weight>, in(words), out(result));
    ASSERT_EQ(result, expected) << rows << " rows of " << elements;
  }
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
