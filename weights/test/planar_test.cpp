// The planar layout against the blocks of the golden files: the same values bit
// for bit, whatever the extent of a row and wherever rows begin.

#include "poot/weights/mapped_file.h"
#include "poot/weights/planar.h"

#include <gtest/gtest.h>
#include <random>

using namespace poot;
using namespace poot::weights;

namespace {

class PlanarType : public testing::TestWithParam<ElementTypeInfo> {
protected:
  const ElementTypeInfo &info = GetParam();

  /// BLOCKS blocks, from the golden file over and over.
  std::vector<uint8_t> goldenBlocks(int64_t blocks) {
    auto file = MappedFile::open(
        concat(POOT_SOURCE_DIR, "/weights/test/golden/", info.name, ".packed"));
    EXPECT_TRUE(file) << file.status().message();
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < blocks * info.blockBytes; ++i)
      bytes.push_back(file->data()[static_cast<size_t>(i) % file->size()]);
    return bytes;
  }

  void compare(const std::vector<uint8_t> &blocks, int64_t rows,
               int64_t elements) {
    PlanarRow planes = planarRow(info.type, elements);
    auto count = static_cast<size_t>(rows * elements);
    // What no field covers must be written as well.
    std::vector<uint8_t> planar(static_cast<size_t>(rows * planes.bytes()),
                                0xAA);
    std::vector<float> expected(count), got(count);
    repackPlanar(info.type, blocks.data(), rows, elements, planar.data());
    dequantize(info.type, blocks.data(), rows * elements, expected.data());
    dequantizePlanar(info.type, planar.data(), rows, elements, got.data());
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(f32ToBits(got[i]), f32ToBits(expected[i]))
          << "element " << i << " of " << rows << " rows of " << elements;
    // Padding is zero: equal weights have equal bytes.
    std::vector<uint8_t> again(planar.size(), 0x55);
    repackPlanar(info.type, blocks.data(), rows, elements, again.data());
    EXPECT_EQ(planar, again);
  }
};

TEST_P(PlanarType, HoldsTheValuesOfTheBlocks) {
  for (int64_t blocks : {1, 2, 3, 5, 8, 18}) {
    SCOPED_TRACE(blocks);
    compare(goldenBlocks(3 * blocks), 3, blocks * info.blockElements);
  }
}

TEST_P(PlanarType, HoldsTheValuesOfAnyBytes) {
  std::mt19937 random(static_cast<uint32_t>(info.type));
  std::vector<uint8_t> blocks(static_cast<size_t>(info.blockBytes) * 64);
  for (uint8_t &byte : blocks)
    byte = static_cast<uint8_t>(random());
  // Infinite and NaN scales have no bits to compare: take them out.
  std::vector<float> values(static_cast<size_t>(info.blockElements));
  for (int64_t i = 0; i < 64; ++i) {
    uint8_t *block = blocks.data() + i * info.blockBytes;
    auto isFinite = [&] {
      dequantize(info.type, block, info.blockElements, values.data());
      for (float value : values)
        if ((f32ToBits(value) & 0x7F800000) == 0x7F800000)
          return false;
      return true;
    };
    while (!isFinite())
      for (int64_t j = 0; j < info.blockBytes; ++j)
        block[j] = static_cast<uint8_t>(random());
  }
  compare(blocks, 4, 16 * info.blockElements);
}

/// Planes follow each other without overlap, rows are aligned for 16-byte
/// loads, and the layout takes little more than the file's.
TEST_P(PlanarType, RowsAreAligned) {
  for (int64_t blocks : {1, 3, 7, 18, 128}) {
    int64_t elements = blocks * info.blockElements;
    PlanarFields fields = planarFields(info.type);
    PlanarRow row = planarRow(info.type, elements);
    EXPECT_EQ(row.quants, 0);
    EXPECT_EQ(row.high * 32, elements * fields.quants);
    EXPECT_EQ((row.groups - row.high) * 32, elements * fields.high);
    EXPECT_GE((row.blocks - row.groups) * 32,
              elements / groupSizeOf(info.type) * fields.groups);
    EXPECT_GE((row.words - row.blocks) * 32, elements / 256 * fields.blocks);
    EXPECT_EQ(row.words % 4, 0);
    int64_t fileBytes = blocks * info.blockBytes;
    EXPECT_GE(row.bytes(), fileBytes);
    // What kernels count in gives the same.
    auto narrow =
        planarRowOf<int32_t>(info.type, static_cast<int32_t>(elements));
    EXPECT_EQ(narrow.high, row.high);
    EXPECT_EQ(narrow.groups, row.groups);
    EXPECT_EQ(narrow.blocks, row.blocks);
    EXPECT_EQ(narrow.words, row.words);
    EXPECT_LE(row.bytes(), fileBytes + fileBytes / 20 + 24);
    EXPECT_EQ(planar_detail::blockBytesOf(info.type), info.blockBytes);
    EXPECT_EQ(planar_detail::blockElementsOf(info.type), info.blockElements);
  }
}

std::vector<ElementTypeInfo> packedTypes() {
  std::vector<ElementTypeInfo> types;
  for (const ElementTypeInfo &info : elementTypes)
    if (isPacked(info.type))
      types.push_back(info);
  return types;
}

INSTANTIATE_TEST_SUITE_P(All, PlanarType, testing::ValuesIn(packedTypes()),
                         [](const auto &param) {
                           return std::string(param.param.name);
                         });

} // namespace
