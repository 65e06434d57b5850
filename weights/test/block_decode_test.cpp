// Packed decoding against values of Python's gguf package, bit for bit, and
// the conversions of scalars.

#include "poot/weights/block_decode.h"
#include "poot/weights/mapped_file.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace poot;
using namespace poot::weights;

namespace {

std::string goldenPath(const char *type, const char *suffix) {
  return concat(POOT_SOURCE_DIR, "/weights/test/golden/", type, suffix);
}

class PackedType : public testing::TestWithParam<ElementTypeInfo> {};

TEST_P(PackedType, EqualsReferenceBitForBit) {
  const ElementTypeInfo &info = GetParam();
  auto packed = MappedFile::open(goldenPath(info.name, ".packed"));
  auto expected = MappedFile::open(goldenPath(info.name, ".f32"));
  ASSERT_TRUE(packed) << packed.status().message();
  ASSERT_TRUE(expected) << expected.status().message();
  ASSERT_EQ(packed->size() % info.blockBytes, 0u);
  int64_t count = static_cast<int64_t>(packed->size()) / info.blockBytes *
                  info.blockElements;
  ASSERT_GE(count, 1000);
  ASSERT_EQ(expected->size(), static_cast<size_t>(count) * 4);

  std::vector<float> values(static_cast<size_t>(count));
  convertToF32(info.type, packed->data(), count, values.data());
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t want;
    std::memcpy(&want, expected->data() + 4 * i, 4);
    // One element at a time is the same as whole blocks.
    HostBlock block{packed->data() + i / info.blockElements * info.blockBytes};
    float single = decodeElement(info.type, block,
                                 static_cast<int32_t>(i % info.blockElements));
    bool same = want == f32ToBits(values[static_cast<size_t>(i)]) &&
                want == f32ToBits(single);
    different += !same;
    if (!same && different == 1)
      ADD_FAILURE() << "element " << i << ": " << values[i] << " and " << single
                    << ", must be " << bitsToF32(want);
  }
  EXPECT_EQ(different, 0);
}

std::vector<ElementTypeInfo> packedTypes() {
  std::vector<ElementTypeInfo> types;
  for (const ElementTypeInfo &info : elementTypes)
    if (isPacked(info.type))
      types.push_back(info);
  return types;
}

INSTANTIATE_TEST_SUITE_P(All, PackedType, testing::ValuesIn(packedTypes()),
                         [](const auto &param) {
                           return std::string(param.param.name);
                         });

/// An integer with the operators that a backend must offer and no more; it
/// checks what block_decode.h promises about their operands.
struct CheckedInt {
  int64_t value;

  static CheckedInt make(int64_t value) {
    EXPECT_EQ(value, static_cast<int32_t>(value)) << "overflow";
    return {value};
  }
};
CheckedInt operator+(CheckedInt a, CheckedInt b) {
  return CheckedInt::make(a.value + b.value);
}
CheckedInt operator-(CheckedInt a, CheckedInt b) {
  return CheckedInt::make(a.value - b.value);
}
CheckedInt operator&(CheckedInt a, CheckedInt b) { return {a.value & b.value}; }
CheckedInt operator|(CheckedInt a, CheckedInt b) { return {a.value | b.value}; }
CheckedInt operator<<(CheckedInt a, CheckedInt b) {
  EXPECT_GE(a.value, 0);
  EXPECT_TRUE(b.value >= 0 && b.value < 32);
  return CheckedInt::make(a.value << b.value);
}
CheckedInt operator>>(CheckedInt a, CheckedInt b) {
  EXPECT_GE(a.value, 0);
  EXPECT_TRUE(b.value >= 0 && b.value < 32);
  return {a.value >> b.value};
}
CheckedInt operator+(CheckedInt a, int32_t b) { return a + CheckedInt{b}; }
CheckedInt operator-(CheckedInt a, int32_t b) { return a - CheckedInt{b}; }
CheckedInt operator&(CheckedInt a, int32_t b) { return a & CheckedInt{b}; }
CheckedInt operator<<(CheckedInt a, int32_t b) { return a << CheckedInt{b}; }
CheckedInt operator>>(CheckedInt a, int32_t b) { return a >> CheckedInt{b}; }

struct CheckedFloat {
  float value;
};
CheckedFloat operator+(CheckedFloat a, CheckedFloat b) {
  return {a.value + b.value};
}
CheckedFloat operator-(CheckedFloat a, CheckedFloat b) {
  return {a.value - b.value};
}
CheckedFloat operator*(CheckedFloat a, CheckedFloat b) {
  return {a.value * b.value};
}

/// A backend other than the host's, which also records the bytes that are read.
struct CheckedBlock {
  using I32 = CheckedInt;
  using F32 = CheckedFloat;

  const std::vector<uint8_t> &bytes;
  std::vector<bool> seen = std::vector<bool>(bytes.size());

  int32_t at(int64_t p) {
    seen.at(static_cast<size_t>(p)) = true;
    return bytes.at(static_cast<size_t>(p));
  }
  I32 byte(I32 p) { return {at(p.value)}; }
  I32 signedByte(I32 p) { return {static_cast<int8_t>(at(p.value))}; }
  F32 f16(int32_t p) {
    return {f16ToF32(static_cast<uint16_t>(at(p) | at(p + 1) << 8))};
  }
  I32 constant(int32_t value) { return {value}; }
  I32 selectLess(I32 x, int32_t limit, I32 a, I32 c) {
    return x.value < limit ? a : c;
  }
  I32 lookup(const int8_t (&table)[16], I32 index) {
    EXPECT_TRUE(index.value >= 0 && index.value < 16);
    return {table[index.value & 15]};
  }
  F32 toF32(I32 x) {
    EXPECT_LE(std::abs(x.value), 255);
    return {static_cast<float>(x.value)};
  }
  F32 bitsToF32(I32 x) {
    EXPECT_GE(x.value, 0);
    return {weights::bitsToF32(static_cast<uint32_t>(x.value))};
  }
};

TEST(BlockDecode, AnyBackendKeepsToTheBlockAndTheContract) {
  std::mt19937 random(3);
  for (const ElementTypeInfo &info : packedTypes()) {
    for (int round = 0; round < 20; ++round) {
      std::vector<uint8_t> bytes(static_cast<size_t>(info.blockBytes));
      for (uint8_t &byte : bytes)
        byte = static_cast<uint8_t>(random());
      CheckedBlock checked{bytes};
      HostBlock host{bytes.data()};
      for (int32_t i = 0; i < info.blockElements; ++i) {
        float got = decodeElement(info.type, checked, {i}).value;
        float want = decodeElement(info.type, host, i);
        ASSERT_TRUE(f32ToBits(got) == f32ToBits(want) ||
                    (std::isnan(got) && std::isnan(want)))
            << info.name << " element " << i;
      }
      for (size_t p = 0; p < bytes.size(); ++p)
        EXPECT_TRUE(checked.seen[p]) << info.name << " never reads byte " << p;
    }
  }
}

TEST(Half, WideningMatchesTheCompilerForEveryPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    _Float16 reference;
    std::memcpy(&reference, &half, 2);
    float want = static_cast<float>(reference);
    float got = f16ToF32(half);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got)) << bits;
    else
      ASSERT_EQ(f32ToBits(got), f32ToBits(want)) << bits;
    if (!std::isnan(want))
      ASSERT_EQ(f32ToF16(got), half) << bits;
    else
      ASSERT_TRUE(std::isnan(f16ToF32(f32ToF16(got)))) << bits;
  }
}

TEST(Half, NarrowingRoundsToNearestEven) {
  std::mt19937 random(1);
  auto check = [](uint32_t bits) {
    float value = bitsToF32(bits);
    if (std::isnan(value))
      return;
    _Float16 reference = static_cast<_Float16>(value);
    uint16_t want;
    std::memcpy(&want, &reference, 2);
    ASSERT_EQ(f32ToF16(value), want) << std::hexfloat << value;
  };
  for (int i = 0; i < 1000000; ++i)
    check(static_cast<uint32_t>(random()));
  // Every f16, the midpoint above it, and that midpoint's neighbours.
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    float here = f16ToF32(static_cast<uint16_t>(half));
    float next =
        half == 0x7bff ? 65536.0f : f16ToF32(static_cast<uint16_t>(half + 1));
    float middle = here + (next - here) / 2;
    for (float value :
         {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      check(f32ToBits(value));
      check(f32ToBits(-value));
    }
  }
}

TEST(Half, Bf16RoundsToNearestEven) {
  EXPECT_EQ(f32ToBf16(1.0f), 0x3f80);
  EXPECT_EQ(f32ToBf16(bitsToF32(0x3f808000)), 0x3f80); // Tie to even: down.
  EXPECT_EQ(f32ToBf16(bitsToF32(0x3f818000)), 0x3f82); // Tie to even: up.
  EXPECT_EQ(f32ToBf16(bitsToF32(0x3f808001)), 0x3f81);
  EXPECT_EQ(f32ToBf16(bitsToF32(0x7f7fffff)), 0x7f80); // Overflows.
  EXPECT_EQ(f32ToBf16(bitsToF32(0x7f800001)), 0x7fc0); // A NaN stays one.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = bf16ToF32(static_cast<uint16_t>(bits));
    if (!std::isnan(value))
      ASSERT_EQ(f32ToBf16(value), bits);
  }
}

template <class Scalar>
std::vector<float> convert(ElementType type, std::vector<Scalar> values) {
  // One byte off: input needs no alignment.
  std::vector<uint8_t> bytes(values.size() * sizeof(Scalar) + 1);
  std::memcpy(bytes.data() + 1, values.data(), bytes.size() - 1);
  std::vector<float> out(values.size());
  convertToF32(type, bytes.data() + 1, static_cast<int64_t>(values.size()),
               out.data());
  return out;
}

using Floats = std::vector<float>;

TEST(ConvertToF32, Scalars) {
  EXPECT_EQ(convert<float>(ElementType::F32, {1.5f, -0.25f}),
            (Floats{1.5f, -0.25f}));
  EXPECT_EQ(convert<double>(ElementType::F64, {0.1, -3}), (Floats{0.1f, -3}));
  EXPECT_EQ(convert<uint16_t>(ElementType::F16, {0x3c00, 0x0001, 0xc000}),
            (Floats{1, 0x1p-24f, -2}));
  EXPECT_EQ(convert<uint16_t>(ElementType::BF16, {0x3f80, 0xc040}),
            (Floats{1, -3}));
  EXPECT_EQ(convert<int8_t>(ElementType::I8, {-128, 127}), (Floats{-128, 127}));
  EXPECT_EQ(convert<int16_t>(ElementType::I16, {-32768, 5}),
            (Floats{-32768, 5}));
  EXPECT_EQ(convert<int32_t>(ElementType::I32, {-7, 1 << 30}),
            (Floats{-7, 0x1p30f}));
  EXPECT_EQ(convert<int64_t>(ElementType::I64, {-7, int64_t(1) << 40}),
            (Floats{-7, 0x1p40f}));
  EXPECT_EQ(convert<uint8_t>(ElementType::U8, {255}), (Floats{255}));
  EXPECT_EQ(convert<uint16_t>(ElementType::U16, {65535}), (Floats{65535}));
  EXPECT_EQ(convert<uint32_t>(ElementType::U32, {1u << 31}), (Floats{0x1p31f}));
  EXPECT_EQ(convert<uint64_t>(ElementType::U64, {uint64_t(1) << 63}),
            (Floats{0x1p63f}));
  EXPECT_EQ(convert<uint8_t>(ElementType::Bool, {0, 1}), (Floats{0, 1}));
}

TEST(ConvertToF32, F8) {
  // Values of the OCP 8-bit floating point specification, tables 2 and 3.
  EXPECT_EQ(convert<uint8_t>(ElementType::F8E4M3,
                             {0x00, 0x01, 0x07, 0x08, 0x38, 0x7e, 0xfe}),
            (Floats{0, 0x1p-9f, 7 * 0x1p-9f, 0x1p-6f, 1, 448, -448}));
  EXPECT_EQ(convert<uint8_t>(ElementType::F8E5M2,
                             {0x01, 0x03, 0x04, 0x3c, 0x7b, 0xfb}),
            (Floats{0x1p-16f, 3 * 0x1p-16f, 0x1p-14f, 1, 57344, -57344}));
  EXPECT_TRUE(std::isnan(convert<uint8_t>(ElementType::F8E4M3, {0x7f})[0]));
  EXPECT_TRUE(std::isnan(convert<uint8_t>(ElementType::F8E5M2, {0x7d})[0]));
  EXPECT_EQ(convert<uint8_t>(ElementType::F8E5M2, {0xfc})[0],
            -std::numeric_limits<float>::infinity());
}

} // namespace
