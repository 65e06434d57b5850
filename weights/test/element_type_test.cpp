// The table of stored types and the size computation.

#include "poot/weights/element_type.h"

#include <gtest/gtest.h>
#include <set>

using namespace poot::weights;

namespace {

TEST(ElementType, TableIsConsistent) {
  std::set<std::string> names;
  std::set<int32_t> numbers;
  for (int i = 0; i < elementTypeCount; ++i) {
    const ElementTypeInfo &info = elementTypes[i];
    EXPECT_EQ(static_cast<int>(info.type), i);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    if (info.ggufType >= 0) {
      EXPECT_TRUE(numbers.insert(info.ggufType).second) << info.name;
      EXPECT_EQ(elementTypeFromGguf(static_cast<uint32_t>(info.ggufType)),
                info.type);
    }
    EXPECT_EQ(elementTypeFromName(info.name), info.type);
    if (info.safetensors)
      EXPECT_EQ(elementTypeFromSafetensors(info.safetensors), info.type);
    if (info.npy)
      EXPECT_EQ(elementTypeFromNpy(info.npy), info.type);
    EXPECT_EQ(info.blockElements & (info.blockElements - 1), 0) << info.name;
  }
  EXPECT_EQ(elementTypeFromName("q9_9"), std::nullopt);
  EXPECT_EQ(elementTypeFromGguf(0xffffffff), std::nullopt);
  EXPECT_EQ(elementTypeFromGguf(4), std::nullopt);
}

TEST(ElementType, CountBytes) {
  EXPECT_EQ(*countBytes(ElementType::F32, {}), 4);
  EXPECT_EQ(*countBytes(ElementType::F16, {3, 5}), 30);
  EXPECT_EQ(*countBytes(ElementType::F32, {3, 0}), 0);
  EXPECT_EQ(*countBytes(ElementType::Q4_K, {2, 512}), 4 * 144);
  EXPECT_EQ(*countBytes(ElementType::Q8_0, {7, 1, 32}), 7 * 34);
}

std::string message(ElementType type, const Shape &shape) {
  Expected<int64_t> bytes = countBytes(type, shape);
  return bytes ? concat("no error: ", *bytes) : bytes.status().message();
}

TEST(ElementType, CountBytesErrors) {
  EXPECT_EQ(message(ElementType::F32, {2, -1}),
            "shape 2x-1 has a negative extent");
  EXPECT_EQ(message(ElementType::I8, {int64_t(1) << 32, int64_t(1) << 31}),
            "shape 4294967296x2147483648 has more than 2^63-1 elements");
  EXPECT_EQ(message(ElementType::F32, {int64_t(1) << 61}),
            "shape 2305843009213693952 of f32 takes more than 2^63-1 bytes");
  EXPECT_EQ(message(ElementType::Q4_K, {256, 128}),
            "shape 256x128 has rows of 128 elements, must be a multiple of "
            "256, the block of q4_k");
  EXPECT_EQ(message(ElementType::Q8_0, {}),
            "shape scalar has rows of 1 elements, must be a multiple of 32, "
            "the block of q8_0");
}

TEST(Status, QuotedIsPrintableAndBounded) {
  EXPECT_EQ(poot::weights::quoted("a.b"), "'a.b'");
  EXPECT_EQ(poot::weights::quoted(std::string("\n\0\xff", 3)),
            "'\\x0a\\x00\\xff'");
  EXPECT_EQ(poot::weights::quoted(std::string(1000, 'x')).size(), 80u + 2 + 3);
}

} // namespace
