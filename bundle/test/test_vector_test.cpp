//===- test_vector_test.cpp - The generator and the comparison ------------===//

#include "poot/bundle/test_vector.h"
#include "poot/weights/block_decode.h"
#include "poot/weights/half.h"
#include "poot/weights/planar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace poot;
using namespace poot::bundle;
using weights::ElementType;

namespace {

std::vector<uint8_t> filled(const char *element, fb::Fill fill, double low,
                            double high, uint64_t bytes, uint64_t seed = 1,
                            uint64_t planarRow = 0) {
  fb::TestInputT input;
  input.element = element;
  input.fill = fill;
  input.low = low;
  input.high = high;
  input.bytes = bytes;
  input.seed = seed;
  input.planar_row = planarRow;
  std::vector<uint8_t> data(bytes, 0xaa);
  fillTestInput(input, data.data());
  return data;
}

/// Worked out from the formula by test/test_vector_reference.py. A change here
/// breaks every bundle that exists.
TEST(TestVector, GeneratorIsFrozen) {
  EXPECT_EQ(testRandom(0u, 0u), 0xe220a8397b1dcdafu);
  EXPECT_EQ(testRandom(1u, 0u), 0xbfef8030ddc2d772u);
  EXPECT_EQ(testRandom(1u, 1u), 0x5f552ce482f2aa47u);
  EXPECT_EQ(testRandom(18446744073709551615u, 1099511627776u),
            0x83e0ad93349e6601u);
  EXPECT_EQ(filled("f32", fb::Fill::Uniform, -3, 0.7, 12, 5),
            (std::vector<uint8_t>{0xeb, 0xa0, 0xba, 0xbf, 0xca, 0xfe, 0x81,
                                  0xbf, 0xcf, 0x54, 0xd0, 0xbd}));
  EXPECT_EQ(filled("f16", fb::Fill::Uniform, -3, 0.7, 6, 5),
            (std::vector<uint8_t>{0xd5, 0xbd, 0x10, 0xbc, 0x83, 0xae}));
  EXPECT_EQ(
      filled("f64", fb::Fill::Uniform, -3, 0.7, 8, 5),
      (std::vector<uint8_t>{0xb7, 0x21, 0x04, 0x6a, 0x1d, 0x54, 0xf7, 0xbf}));
  EXPECT_EQ(filled("i16", fb::Fill::UniformInt, -300, 800, 6, 5),
            (std::vector<uint8_t>{0x19, 0x00, 0xb5, 0x02, 0xe4, 0x00}));
  EXPECT_EQ(filled("", fb::Fill::Bytes, 0, 0, 11, 9),
            (std::vector<uint8_t>{0xf2, 0xc0, 0x28, 0x88, 0x03, 0x8e, 0xb8,
                                  0x34, 0x3e, 0x42, 0xa5}));
  EXPECT_EQ(filled("q4_0", fb::Fill::Bytes, 0.25, 0.5, 36, 9),
            (std::vector<uint8_t>{
                0x62, 0x36, 0x28, 0x88, 0x03, 0x8e, 0xb8, 0x34, 0x3e,
                0x42, 0xa5, 0xd8, 0x96, 0x97, 0x44, 0x7e, 0x54, 0x0d,
                0x7f, 0x35, 0x3f, 0xfc, 0xd0, 0xf2, 0x41, 0xc6, 0x0b,
                0x49, 0xc1, 0x47, 0x33, 0x92, 0x49, 0x8c, 0x16, 0xe4}));
  EXPECT_EQ(
      filled("i16", fb::Fill::Permutation, -1, 10, 24, 8),
      (std::vector<uint8_t>{0x01, 0x00, 0x06, 0x00, 0xff, 0xff, 0x04, 0x00,
                            0x09, 0x00, 0x02, 0x00, 0x07, 0x00, 0x00, 0x00,
                            0x05, 0x00, 0x0a, 0x00, 0x03, 0x00, 0x08, 0x00}));
  EXPECT_EQ(
      filled("q4_0", fb::Fill::Bytes, 0.25, 0.5, 64, 9, 32),
      (std::vector<uint8_t>{
          0x88, 0xe3, 0x48, 0x2e, 0x85, 0x76, 0xe4, 0xd4, 0x82, 0x80, 0x3b,
          0x43, 0xda, 0x99, 0x74, 0x05, 0x62, 0x36, 0x00, 0x00, 0x00, 0x00,
          0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xcf,
          0x20, 0x61, 0x9b, 0x71, 0x23, 0xc9, 0x46, 0xf3, 0xfd, 0xc4, 0x40,
          0x4c, 0x93, 0x84, 0xe1, 0x7f, 0x35, 0x00, 0x00, 0x00, 0x00, 0x00,
          0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}));
}

TEST(TestVector, UniformStaysInRange) {
  for (const char *element : {"f32", "f16", "bf16", "f64"}) {
    const ElementType type = *weights::elementTypeFromName(element);
    const uint64_t size = uint64_t(weights::getInfo(type).blockBytes);
    const auto data = filled(element, fb::Fill::Uniform, -2, 6, 4000 * size);
    double sum = 0, least = 9, most = -9;
    for (uint64_t i = 0; i != 4000; ++i) {
      const double value = loadElement(type, data.data(), i);
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    EXPECT_GE(least, -2) << element;
    EXPECT_LE(most, 6) << element;
    // The mean of 4000 such values has a deviation of 0.037.
    EXPECT_NEAR(sum / 4000, 2, 0.2) << element;
    EXPECT_LT(least, -1.9);
    EXPECT_GT(most, 5.9);
  }
}

TEST(TestVector, IntegersCoverTheirRange) {
  const auto data = filled("i32", fb::Fill::UniformInt, -1, 2, 400 * 4);
  int count[4] = {};
  for (uint64_t i = 0; i != 400; ++i) {
    const double value = loadElement(ElementType::I32, data.data(), i);
    ASSERT_TRUE(value >= -1 && value <= 2);
    ++count[int(value) + 1];
  }
  for (int c : count)
    EXPECT_GT(c, 60);
}

TEST(TestVector, PermutationsHoldEachNumberOnce) {
  for (int n : {1, 2, 12, 97, 360})
    for (uint64_t seed : {1, 2, 3}) {
      const auto data = filled("i32", fb::Fill::Permutation, -1, n - 2,
                               uint64_t(n + 1) * 4, seed);
      std::vector<bool> seen(size_t(n), false);
      for (int i = 0; i != n; ++i) {
        const double value =
            loadElement(ElementType::I32, data.data(), uint64_t(i));
        ASSERT_TRUE(value >= -1 && value <= n - 2);
        EXPECT_FALSE(seen[size_t(value + 1)]) << value << " of " << n;
        seen[size_t(value + 1)] = true;
      }
      EXPECT_EQ(loadElement(ElementType::I32, data.data(), uint64_t(n)),
                loadElement(ElementType::I32, data.data(), 0));
    }
}

TEST(TestVector, NumbersAreClampedToIntegerTypes) {
  EXPECT_EQ(loadElement(ElementType::I8,
                        filled("i8", fb::Fill::Uniform, 500, 501, 1).data(), 0),
            127);
  EXPECT_EQ(loadElement(ElementType::I8,
                        filled("i8", fb::Fill::Uniform, -501, -500, 1).data(),
                        0),
            -128);
  EXPECT_EQ(loadElement(ElementType::U64,
                        filled("u64", fb::Fill::Uniform, -2, -1, 8).data(), 0),
            0);
  const auto most = filled("i64", fb::Fill::Uniform, 1e30, 1e30, 8);
  int64_t value;
  std::memcpy(&value, most.data(), 8);
  EXPECT_EQ(value, std::numeric_limits<int64_t>::max());
}

TEST(TestVector, ZeroAndBytes) {
  for (uint8_t byte : filled("f32", fb::Fill::Zero, 0, 0, 64))
    EXPECT_EQ(byte, 0);
  // Bytes follow the seed, not the element.
  EXPECT_EQ(filled("i8", fb::Fill::Bytes, 0, 0, 37),
            filled("", fb::Fill::Bytes, 0, 0, 37));
  EXPECT_NE(filled("", fb::Fill::Bytes, 0, 0, 37, 1),
            filled("", fb::Fill::Bytes, 0, 0, 37, 2));
}

/// Whatever the bytes, a packed block decodes to numbers of the scale's range.
TEST(TestVector, PackedBlocksHoldNumbers) {
  int packed = 0;
  for (const weights::ElementTypeInfo &info : weights::elementTypes) {
    if (!weights::isPacked(info.type))
      continue;
    ++packed;
    const int64_t blocks = 2000;
    const auto data = filled(info.name, fb::Fill::Bytes, 0.001, 0.01,
                             uint64_t(blocks * info.blockBytes));
    std::vector<float> values(size_t(blocks * info.blockElements));
    weights::dequantize(info.type, data.data(), int64_t(values.size()),
                        values.data());
    double largest = 0;
    for (float value : values) {
      ASSERT_TRUE(std::isfinite(value)) << info.name;
      largest = std::max(largest, std::fabs(double(value)));
    }
    // Scale times the largest sub-scale and quant of any type, 128 * 32.
    EXPECT_LT(largest, 0.01 * 128 * 33) << info.name;
    EXPECT_GT(largest, 0.001) << info.name;
  }
  EXPECT_EQ(packed, 12);
}

/// Planar rows hold the numbers of the blocks.
TEST(TestVector, PlanarRowsHoldTheBlocks) {
  for (const weights::ElementTypeInfo &info : weights::elementTypes) {
    if (!weights::isPacked(info.type))
      continue;
    const int64_t rows = 3, elements = 3 * info.blockElements;
    const auto blocks = filled(info.name, fb::Fill::Bytes, -1, 1,
                               uint64_t(rows * 3 * info.blockBytes));
    const auto planar =
        filled(info.name, fb::Fill::Bytes, -1, 1,
               uint64_t(rows * weights::planarRow(info.type, elements).bytes()),
               1, uint64_t(elements));
    std::vector<float> expected(size_t(rows * elements)), got = expected;
    weights::dequantize(info.type, blocks.data(), rows * elements,
                        expected.data());
    weights::dequantizePlanar(info.type, planar.data(), rows, elements,
                              got.data());
    EXPECT_EQ(got, expected) << info.name;
  }
}

fb::TestExpectationT expectation(std::vector<uint64_t> index,
                                 std::vector<double> value, double absolute,
                                 double relative) {
  fb::TestExpectationT expected;
  expected.element = "f32";
  expected.index = std::move(index);
  expected.value = std::move(value);
  expected.absolute_tolerance = absolute;
  expected.relative_tolerance = relative;
  return expected;
}

TestComparison compare(const fb::TestExpectationT &expected,
                       std::vector<float> actual) {
  return compareExpectation(expected,
                            {reinterpret_cast<const uint8_t *>(actual.data()),
                             actual.size() * sizeof(float)});
}

TEST(TestVector, ComparisonUsesBothTolerances) {
  const auto expected = expectation({0, 2}, {1, -100}, 0.5, 0.01);
  EXPECT_TRUE(compare(expected, {1.5, 77, -101.5}).passed());
  EXPECT_EQ(compare(expected, {1.5, 77, -101.5}).largestError, 1.5);
  const TestComparison failed = compare(expected, {1.52f, 77, -101.52f});
  EXPECT_EQ(failed.failed, 2u);
  EXPECT_EQ(failed.message(),
            "element 0 is 1.51999998, expected 1 (2 of 2 differ)");
  EXPECT_FALSE(compare(expected, {1, 0}).passed()) << "element 2 is missing";
}

TEST(TestVector, ComparisonOfSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto special = expectation({0, 1, 2}, {inf, -inf, nan}, 1, 1);
  EXPECT_TRUE(compare(special, {HUGE_VALF, -HUGE_VALF, NAN}).passed());
  EXPECT_EQ(compare(special, {-HUGE_VALF, 3, 3}).failed, 3u);
  const auto number = expectation({0}, {1}, 1, 1);
  EXPECT_FALSE(compare(number, {NAN}).passed());
  EXPECT_FALSE(compare(number, {HUGE_VALF}).passed());
  EXPECT_EQ(compare(number, {NAN}).largestError, inf);
}

TEST(TestVector, ComparisonOfIntegersIsExact) {
  fb::TestExpectationT expected = expectation({1}, {-7}, 0, 0);
  expected.element = "i16";
  const int16_t actual[] = {0, -7};
  const weights::ByteSpan bytes = {reinterpret_cast<const uint8_t *>(actual),
                                   4};
  EXPECT_TRUE(compareExpectation(expected, bytes).passed());
  expected.value = {-6};
  EXPECT_FALSE(compareExpectation(expected, bytes).passed());
}

} // namespace
