//===- Philox.h - Philox4x32-10 on the host ---------------------*- C++ -*-===//
//
// The counter-based generator of `graph.random_bits` (Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random
// words as a pure function of a key and a counter.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_EVAL_PHILOX_H
#define POOT_EVAL_PHILOX_H

#include <array>
#include <cstdint>

namespace poot::eval {

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key,
                                          std::array<uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57) * counter[2];
    counter = {
        uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
        uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    // The Weyl sequence of the key: golden ratio and sqrt(3) - 1.
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

} // namespace poot::eval

#endif
