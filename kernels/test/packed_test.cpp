// Products with packed weights and rows of them, in both layouts and of every
// type, against what the decoders of weights/ give on the host.

#include "../lib/packed.cpp"

#include "library_test.h"

#include <cstring>

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows),          POOT_TEST_SPEC(columns),
          POOT_TEST_SPEC(depth),         POOT_TEST_SPEC(block_rows),
          POOT_TEST_SPEC(block_columns), POOT_TEST_SPEC(source_rows)};
}

namespace {

constexpr ElementType packedTypes[] = {
    ElementType::Q4_0, ElementType::Q4_1,   ElementType::Q5_0,
    ElementType::Q5_1, ElementType::Q8_0,   ElementType::Q2_K,
    ElementType::Q3_K, ElementType::Q4_K,   ElementType::Q5_K,
    ElementType::Q6_K, ElementType::IQ4_NL, ElementType::MXFP4};

/// A weight of [count, elements] in both layouts, and as numbers: whose product
/// with x are sums of scale * code * x and of offset * x.
struct Weight {
  std::vector<uint32_t> gguf, planar;
  std::vector<float> values, products, offsets;

  Weight(ElementType type, int32_t count, int32_t elements, Random &random) {
    int32_t blockElements = weights::planar_detail::blockElementsOf(type);
    int32_t blockBytes = weights::planar_detail::blockBytesOf(type);
    int32_t position = weights::planar_detail::halfPosition(type);
    int64_t blocks = int64_t(count) * elements / blockElements;
    std::vector<uint8_t> bytes(blocks * blockBytes);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random.bits());
    // Scales of a sensible size, the second block's subnormal. Of long rows
    // they are powers of two, so that sums don't round.
    bool rounds = elements <= mostRoundedTerms;
    for (int64_t b = 0; b < blocks; ++b) {
      uint8_t *block = bytes.data() + b * blockBytes;
      if (type == ElementType::MXFP4) {
        block[0] = static_cast<uint8_t>(118 + random.bits() % 4);
        continue;
      }
      for (int i = 0; i < 2; ++i) {
        uint16_t half = blockElements == 256 ? 0x0c00 : 0x2000;
        if (rounds)
          half += b == 1 ? 0x0123 - half : random.bits() % 0x400;
        // Types without a minimum have other bytes behind the scale.
        if (i == 0 || hasMinimum(type))
          std::memcpy(block + position + 2 * i, &half, 2);
      }
    }
    values.resize(int64_t(count) * elements);
    weights::dequantize(type, bytes.data(), int64_t(values.size()),
                        values.data());
    weights::visitDecoder(type, [&](auto decoder) {
      using Decoder = decltype(decoder);
      for (size_t i = 0; i < values.size(); ++i) {
        weights::HostBlock block = {bytes.data() +
                                    i / blockElements * blockBytes};
        int32_t element = static_cast<int32_t>(i % blockElements);
        int32_t group = element / Decoder::groupSize;
        products.push_back(Decoder::scale(block, group) *
                           static_cast<float>(Decoder::quant(block, element)));
        offsets.push_back(weights::decodeOffset<Decoder>(block, group));
      }
    });
    int64_t rowBytes = weights::planarRow(type, elements).bytes();
    planar.resize(count * rowBytes / 4);
    weights::repackPlanar(type, bytes.data(), count, elements,
                          reinterpret_cast<uint8_t *>(planar.data()));
    gguf.resize((bytes.size() + 3) / 4);
    std::memcpy(gguf.data(), bytes.data(), bytes.size());
  }

  static bool hasMinimum(ElementType type) {
    return weights::visitDecoder(type, [](auto decoder) {
      return decltype(decoder)::offsetKind != OffsetKind::None;
    });
  }
};

/// A weight's two arguments.
Arg<const uint32_t> words(const std::vector<uint32_t> &memory) {
  return in(memory);
}
Arg<const vec<uint32_t, 4>> quads(const std::vector<uint32_t> &memory) {
  return in<4>(memory);
}

/// Calls VISITOR with the names of TYPE's instances, GGUF blocks and planes.
template <class Visitor> void visit(ElementType type, Visitor visitor) {
  switch (type) {
#define POOT_CASE(TYPE, NAME)                                                  \
  case ElementType::TYPE:                                                      \
    return visitor(NAME##_gguf(), NAME##_planar(), std::string(#NAME));
    POOT_CASE(Q4_0, q4_0)
    POOT_CASE(Q4_1, q4_1)
    POOT_CASE(Q5_0, q5_0)
    POOT_CASE(Q5_1, q5_1)
    POOT_CASE(Q8_0, q8_0)
    POOT_CASE(Q2_K, q2_k)
    POOT_CASE(Q3_K, q3_k)
    POOT_CASE(Q4_K, q4_k)
    POOT_CASE(Q5_K, q5_k)
    POOT_CASE(Q6_K, q6_k)
    POOT_CASE(IQ4_NL, iq4_nl)
    POOT_CASE(MXFP4, mxfp4)
#undef POOT_CASE
  default:
    FAIL() << "not a packed type";
  }
}

/// x times the transpose of WEIGHT.
std::vector<Wanted> product(const std::vector<float> &activations,
                            const Weight &weight) {
  std::vector<Wanted> result;
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t n = 0; n < columns; ++n) {
      Sum<float> sum, size;
      for (int32_t k = 0; k < depth; ++k) {
        double x = activations[r * depth + k];
        sum.add(x, weight.values[n * depth + k]);
        // Products and offsets are added up apart, or are rounded to a value
        // first.
        size.add(std::fabs(x), std::fabs(weight.products[n * depth + k]) +
                                   std::fabs(weight.offsets[n * depth + k]));
      }
      result.push_back({sum.wanted().value, size.wanted(4).bound});
    }
  return result;
}

/// The same where both are rounded to f16 first.
std::vector<Wanted> productOfHalves(const std::vector<float> &activations,
                                    const Weight &weight) {
  std::vector<Wanted> result;
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t n = 0; n < columns; ++n) {
      Sum<float> sum;
      for (int32_t k = 0; k < depth; ++k)
        sum.add(
            static_cast<double>(static_cast<f16>(activations[r * depth + k])),
            static_cast<double>(
                static_cast<f16>(weight.values[n * depth + k])));
      result.push_back(sum.wanted());
    }
  return result;
}

/// As Random::operands. A code has up to 8 bits, its scale up to 6.
std::vector<float> activationsOf(Random &random) {
  auto result = random.operands<float>(rows * depth, depth);
  if (depth > mostRoundedTerms)
    for (float &value : result)
      value = std::round(value * 2) / 2;
  return result;
}

int64_t operations() { return int64_t(rows) * columns * depth; }

class Packed : public testing::TestWithParam<ElementType> {
protected:
  int32_t blockElements() const {
    return weights::planar_detail::blockElementsOf(GetParam());
  }
};

TEST_P(Packed, FewRows) {
  Random random(1);
  sweep(
      {{"rows", rows, 3},
       {"columns", columns, 3},
       {"depth", depth, 2 * blockElements(), blockElements()},
       {"block_rows", block_rows, 2, 1, 8},
       {"block_columns", block_columns, 2, 1, 8}},
      operations, [&] {
        Weight weight(GetParam(), columns, depth, random);
        Weight other(GetParam(), columns, depth, random);
        auto activations = activationsOf(random);
        auto wanted = product(activations, weight);
        auto upper = product(activations, other);
        std::vector<Wanted> pairs;
        for (size_t i = 0; i < wanted.size(); ++i) {
          pairs.push_back(wanted[i]);
          pairs.push_back(upper[i]);
        }
        int64_t work = int64_t(divide_up(rows, block_rows)) *
                       divide_up(columns, block_columns);
        visit(GetParam(), [&](auto gguf, auto planar, const std::string &name) {
          using Gguf = decltype(gguf);
          using Planar = decltype(planar);
          run(invocations("packed_lane_" + name + "_gguf", work),
              packed_lane<Gguf>, in<4>(activations), words(weight.gguf),
              quads(weight.gguf), out<float>(wanted));
          run(invocations("packed_lane_" + name + "_planar", work),
              packed_lane<Planar>, in<4>(activations), words(weight.planar),
              quads(weight.planar), out<float>(wanted));
          run(invocations("packed_gated_lane_" + name + "_planar", work),
              packed_gated_lane<Planar>, in<4>(activations),
              words(weight.planar), quads(weight.planar), words(other.planar),
              quads(other.planar), out<float>(pairs));
          for (uint32_t lanes : subgroupSizes(operations())) {
            int64_t groups = divide_up(work, std::max(64 / lanes, 1u));
            run({"packed_subgroup_" + name + "_planar", groups, 64, lanes},
                packed_subgroup<Planar>, in<4>(activations),
                words(weight.planar), quads(weight.planar), out<float>(wanted));
            run({"packed_gated_subgroup_" + name + "_planar", groups, 64,
                 lanes},
                packed_gated_subgroup<Planar>, in<4>(activations),
                words(weight.planar), quads(weight.planar), words(other.planar),
                quads(other.planar), out<float>(pairs));
          }
        });
      });
}

TEST_P(Packed, ManyRows) {
  Random random(2);
  sweep(
      {{"rows", rows, 5},
       {"columns", columns, 7},
       {"depth", depth, 256, blockElements()}},
      operations, [&] {
        Weight weight(GetParam(), columns, depth, random);
        auto activations = activationsOf(random);
        auto wanted = product(activations, weight);
        auto ofHalves = productOfHalves(activations, weight);
        int64_t tiles = int64_t(divide_up(rows, 64)) * divide_up(columns, 64);
        visit(GetParam(), [&](auto, auto planar, const std::string &name) {
          using Planar = decltype(planar);
          run({"packed_tiled_" + name + "_planar", tiles, 256},
              packed_tiled<Planar>, in<4>(activations), words(weight.planar),
              quads(weight.planar), out<float>(wanted));
          run({"packed_fragment_" + name + "_planar_32", tiles, 128, 32, 8},
              packed_fragment<Planar, 32>, in<4>(activations),
              words(weight.planar), quads(weight.planar), out<float>(ofHalves));
          run({"packed_fragment_" + name + "_planar_64", tiles, 128, 64, 8},
              packed_fragment<Planar, 64>, in<4>(activations),
              words(weight.planar), quads(weight.planar), out<float>(ofHalves));
        });
      });
}

/// Some indices are outside of the weight, and count as the nearest inside.
TEST_P(Packed, RowsAreTheHostsBitForBit) {
  Random random(3);
  sweep(
      {{"rows", rows, 5},
       {"depth", depth, 2 * blockElements(), blockElements()},
       {"source_rows", source_rows, 4}},
      [] { return int64_t(rows) * depth + int64_t(source_rows) * depth; },
      [&] {
        Weight weight(GetParam(), source_rows, depth, random);
        std::vector<int32_t> indices(rows);
        std::vector<uint32_t> bits;
        for (int32_t &index : indices) {
          index = random.integer(-2, source_rows + 1);
          int32_t row = std::clamp(index, 0, source_rows - 1);
          for (int32_t k = 0; k < depth; ++k)
            bits.push_back(bit_cast<uint32_t>(weight.values[row * depth + k]));
        }
        auto wanted = exactly(bits);
        visit(GetParam(), [&](auto gguf, auto planar, const std::string &name) {
          run(invocations("packed_rows_" + name + "_gguf",
                          int64_t(rows) * depth / 8),
              packed_rows<decltype(gguf)>, words(weight.gguf),
              quads(weight.gguf), in(indices), out<float, uint32_t>(wanted));
          run(invocations("packed_rows_" + name + "_planar",
                          int64_t(rows) * depth / 8),
              packed_rows<decltype(planar)>, words(weight.planar),
              quads(weight.planar), in(indices), out<float, uint32_t>(wanted));
        });
      });
}

INSTANTIATE_TEST_SUITE_P(Types, Packed, testing::ValuesIn(packedTypes));

} // namespace
