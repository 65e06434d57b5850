// Products with packed weights and rows of them, in both layouts and of every
// type, against what the decoders of weights/ give on the host.

#include "../lib/packed.cpp"

#include "library_test.h"

#include <cstring>

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(rows), POOT_TEST_SPEC(columns), POOT_TEST_SPEC(depth),
          POOT_TEST_SPEC(block_rows), POOT_TEST_SPEC(source_rows)};
}

namespace {

constexpr ElementType packedTypes[] = {
    ElementType::Q4_0, ElementType::Q4_1,   ElementType::Q5_0,
    ElementType::Q5_1, ElementType::Q8_0,   ElementType::Q2_K,
    ElementType::Q3_K, ElementType::Q4_K,   ElementType::Q5_K,
    ElementType::Q6_K, ElementType::IQ4_NL, ElementType::MXFP4};

/// A weight of [count, elements] in both layouts, and as numbers.
struct Weight {
  std::vector<uint32_t> gguf, planar;
  std::vector<float> values;

  Weight(ElementType type, int32_t count, int32_t elements, Random &random) {
    int32_t blockElements = weights::planar_detail::blockElementsOf(type);
    int32_t blockBytes = weights::planar_detail::blockBytesOf(type);
    int32_t position = weights::planar_detail::halfPosition(type);
    int64_t blocks = int64_t(count) * elements / blockElements;
    std::vector<uint8_t> bytes(blocks * blockBytes);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random.bits());
    // Scales of a sensible size; one block has a subnormal one.
    for (int64_t b = 0; b < blocks; ++b) {
      uint8_t *block = bytes.data() + b * blockBytes;
      if (type == ElementType::MXFP4) {
        block[0] = static_cast<uint8_t>(118 + random.bits() % 4);
        continue;
      }
      for (int i = 0; i < 2; ++i) {
        uint16_t half = static_cast<uint16_t>(
            (blockElements == 256 ? 0x0c00 : 0x2000) + random.bits() % 0x400);
        if (b == 1)
          half = 0x0123;
        // Types without a minimum have other bytes behind the scale.
        if (i == 0 || hasMinimum(type))
          std::memcpy(block + position + 2 * i, &half, 2);
      }
    }
    values.resize(int64_t(count) * elements);
    weights::dequantize(type, bytes.data(), int64_t(values.size()),
                        values.data());
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

/// x times the transpose of rows FIRST to FIRST + columns of W, one after the
/// other for each row of x.
std::vector<double> reference(const std::vector<float> &activations,
                              const std::vector<float> &values) {
  std::vector<double> result;
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int32_t k = 0; k < depth; ++k)
        sum += double(activations[r * depth + k]) * values[n * depth + k];
      result.push_back(sum);
    }
  return result;
}

class Packed : public testing::TestWithParam<ElementType> {};

TEST_P(Packed, FewRows) {
  Random random(1);
  struct Case {
    int32_t rows, columns, depth, block;
  };
  for (Case c : {Case{1, 17, 512, 1},
                 {3, 5, 256, 2},
                 {17, 3, 256, 8},
                 {8, 1, 1024, 8}}) {
    rows = c.rows;
    columns = c.columns;
    depth = c.depth;
    block_rows = c.block;
    Weight weight(GetParam(), columns, depth, random);
    Weight other(GetParam(), columns, depth, random);
    auto activations = random.vector<float>(rows * depth);
    auto expected = reference(activations, weight.values);
    auto upper = reference(activations, other.values);
    std::vector<double> pairs;
    for (size_t i = 0; i < expected.size(); ++i) {
      pairs.push_back(expected[i]);
      pairs.push_back(upper[i]);
    }
    int64_t work = int64_t(divide_up(rows, block_rows)) * columns;
    std::vector<float> result(rows * columns), both(2 * rows * columns);
    auto clear = [&] {
      std::fill(result.begin(), result.end(), NAN);
      std::fill(both.begin(), both.end(), NAN);
    };
    visit(GetParam(), [&](auto gguf, auto planar, const std::string &name) {
      using Gguf = decltype(gguf);
      using Planar = decltype(planar);
      clear();
      run(invocations("packed_lane_" + name + "_gguf", work), packed_lane<Gguf>,
          in<4>(activations), words(weight.gguf), quads(weight.gguf),
          out(result));
      expectNear(result, expected, 2e-5);
      clear();
      run(invocations("packed_lane_" + name + "_planar", work),
          packed_lane<Planar>, in<4>(activations), words(weight.planar),
          quads(weight.planar), out(result));
      expectNear(result, expected, 2e-5);
      run(invocations("packed_gated_lane_" + name + "_planar", work),
          packed_gated_lane<Planar>, in<4>(activations), words(weight.planar),
          quads(weight.planar), words(other.planar), quads(other.planar),
          out(both));
      expectNear(both, pairs, 2e-5);
      for (uint32_t lanes : {4u, 8u, 32u}) {
        clear();
        run({"packed_subgroup_" + name + "_planar", divide_up(work, 64 / lanes),
             64, lanes},
            packed_subgroup<Planar>, in<4>(activations), words(weight.planar),
            quads(weight.planar), out(result));
        expectNear(result, expected, 2e-5);
        run({"packed_gated_subgroup_" + name + "_planar",
             divide_up(work, 64 / lanes), 64, lanes},
            packed_gated_subgroup<Planar>, in<4>(activations),
            words(weight.planar), quads(weight.planar), words(other.planar),
            quads(other.planar), out(both));
        expectNear(both, pairs, 2e-5);
      }
    });
  }
}

TEST_P(Packed, ManyRows) {
  Random random(2);
  for (auto [m, n] : {std::array{65, 17}, {3, 65}}) {
    rows = m;
    columns = n;
    depth = 256;
    Weight weight(GetParam(), columns, depth, random);
    auto activations = random.vector<float>(rows * depth);
    auto expected = reference(activations, weight.values);
    int64_t tiles = int64_t(divide_up(rows, 64)) * divide_up(columns, 64);
    std::vector<float> result(rows * columns);
    visit(GetParam(), [&](auto, auto planar, const std::string &name) {
      using Planar = decltype(planar);
      run({"packed_tiled_" + name + "_planar", tiles, 256},
          packed_tiled<Planar>, in<4>(activations), words(weight.planar),
          quads(weight.planar), out(result));
      expectNear(result, expected, 2e-5);
      // Every lane does a fragment's arithmetic on the host: once.
      if (rows != 3 || GetParam() != ElementType::Q4_K)
        return;
      std::fill(result.begin(), result.end(), NAN);
      run({"packed_fragment_" + name + "_planar_32", tiles, 128, 32, true},
          packed_fragment<Planar, 32>, in<4>(activations), words(weight.planar),
          quads(weight.planar), out(result));
      // Both operands are rounded to f16: 256 products within 2^-10 of theirs.
      expectNear(result, expected, 2e-2);
    });
  }
}

TEST_P(Packed, RowsAreTheHostsBitForBit) {
  Random random(3);
  depth = 512;
  source_rows = 7;
  Weight weight(GetParam(), source_rows, depth, random);
  std::vector<int32_t> indices = {3, -1, 6, 0, 100, 3, 5, 1, 2, 4, 0, 6, 3};
  rows = static_cast<int32_t>(indices.size());
  std::vector<float> expected;
  for (int32_t index : indices)
    expected.insert(expected.end(),
                    &weight.values[std::clamp(index, 0, 6) * depth],
                    &weight.values[std::clamp(index, 0, 6) * depth] + depth);
  visit(GetParam(), [&](auto gguf, auto planar, const std::string &name) {
    std::vector<float> result(rows * depth);
    run(invocations("packed_rows_" + name + "_gguf", int64_t(rows) * depth / 8),
        packed_rows<decltype(gguf)>, words(weight.gguf), quads(weight.gguf),
        in(indices), out(result));
    EXPECT_EQ(std::memcmp(result.data(), expected.data(), 4 * result.size()),
              0);
    std::fill(result.begin(), result.end(), NAN);
    run(invocations("packed_rows_" + name + "_planar",
                    int64_t(rows) * depth / 8),
        packed_rows<decltype(planar)>, words(weight.planar),
        quads(weight.planar), in(indices), out(result));
    EXPECT_EQ(std::memcmp(result.data(), expected.data(), 4 * result.size()),
              0);
  });
}

INSTANTIATE_TEST_SUITE_P(Types, Packed, testing::ValuesIn(packedTypes));

} // namespace
