//===- repack.cpp - Packed weights into the planar layout -----------------===//
//
// The load program's kernel for graph.repack: a weight of [rows, elements] in
// the blocks of a GGUF file becomes planar, a word an invocation. The layout is
// that of weights/; here is nothing but the bytes it is made of.
//
//   repack   Work number: row * words of a planar row + word.
//
//===----------------------------------------------------------------------===//

#include "packed.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
/// A multiple of 32, of 256 for types with blocks of 256.
POOT_SPEC inline int32_t elements = 256;

/// Bytes of a row that starts at byte START of a buffer of words.
struct RowBytes {
  words_t words;
  int32_t start;

  int32_t byte(int32_t p) const {
    uint32_t position = static_cast<uint32_t>(start + p);
    return static_cast<int32_t>(words[position >> 2] >> ((position & 3) << 3) &
                                255);
  }
};

template <class Weight>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void repack(words_t blocks,
                                                      buffer<uint32_t> out) {
  constexpr ElementType type = Weight::Row::type;
  weights::PlanarRowOf<int32_t> planes =
      weights::planarRowOf<int32_t>(type, elements);
  int32_t id = linear_id();
  if (id >= rows * planes.words)
    return;
  int32_t rowBytes =
      elements / Weight::Row::blockElements * Weight::Row::blockBytes;
  RowBytes row = {blocks, id / planes.words * rowBytes};
  out[id] = weights::planarWord<type>(row, planes, elements, id % planes.words);
}

template void repack<q4_0_gguf>(words_t, buffer<uint32_t>);
template void repack<q4_1_gguf>(words_t, buffer<uint32_t>);
template void repack<q5_0_gguf>(words_t, buffer<uint32_t>);
template void repack<q5_1_gguf>(words_t, buffer<uint32_t>);
template void repack<q8_0_gguf>(words_t, buffer<uint32_t>);
template void repack<q2_k_gguf>(words_t, buffer<uint32_t>);
template void repack<q3_k_gguf>(words_t, buffer<uint32_t>);
template void repack<q4_k_gguf>(words_t, buffer<uint32_t>);
template void repack<q5_k_gguf>(words_t, buffer<uint32_t>);
template void repack<q6_k_gguf>(words_t, buffer<uint32_t>);
template void repack<iq4_nl_gguf>(words_t, buffer<uint32_t>);
template void repack<mxfp4_gguf>(words_t, buffer<uint32_t>);

} // namespace poot::library
