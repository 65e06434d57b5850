// Whole tensors to and from the planar layout on the host.

#include "poot/weights/planar.h"

#include <cstring>

namespace poot::weights {

namespace {

struct BlockBytes {
  const uint8_t *row;
  int32_t byte(int64_t position) const { return row[position]; }
};

} // namespace

void repackPlanar(ElementType type, const uint8_t *data, int64_t rows,
                  int64_t elements, uint8_t *out) {
  const ElementTypeInfo &info = getInfo(type);
  assert(elements % info.blockElements == 0 && "not whole blocks");
  PlanarRow planes = planarRow(type, elements);
  int64_t rowBytes = elements / info.blockElements * info.blockBytes;
  visitPlanarDecoder(type, [&](auto decoder) {
    for (int64_t row = 0; row < rows; ++row, data += rowBytes)
      for (int64_t word = 0; word < planes.words; ++word, out += 4) {
        uint32_t value = planarWord<decltype(decoder)::type>(
            BlockBytes{data}, planes, elements, word);
        for (int32_t i = 0; i < 4; ++i)
          out[i] = static_cast<uint8_t>(value >> (8 * i));
      }
  });
}

void dequantizePlanar(ElementType type, const uint8_t *data, int64_t rows,
                      int64_t elements, float *out) {
  PlanarRow planes = planarRow(type, elements);
  visitPlanarDecoder(type, [&](auto decoder) {
    using Decoder = decltype(decoder);
    using Block = BlockDecoder<Decoder::type>;
    constexpr int32_t groupSize = Decoder::groupSize;
    for (int64_t row = 0; row < rows; ++row, data += planes.bytes()) {
      HostPlanarRow b{{data}};
      for (int64_t first = 0; first < elements; first += groupSize) {
        int32_t group = static_cast<int32_t>(first / groupSize);
        float scale = Decoder::scale(b, planes, group);
        float offset = Decoder::offset(b, planes, group);
        for (int32_t i = 0; i < groupSize; ++i)
          *out++ =
              combine<Block>(scale,
                             b.toF32(Decoder::quant(
                                 b, planes, static_cast<int32_t>(first) + i)),
                             offset);
      }
    }
  });
}

} // namespace poot::weights
