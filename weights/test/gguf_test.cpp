// The GGUF reader: what it returns for good files, and its message for every
// kind of bad one.

#include "byte_builder.h"

#include <gtest/gtest.h>

using namespace poot::weights;
using namespace poot::weights::test;

namespace {

using Type = GgufValueType;

std::string u32Entry(std::string_view key, uint32_t value) {
  return ggufEntry(key, Type::U32, raw(value));
}

GgufBuilder goodFile() {
  GgufBuilder b;
  b.metadata = {
      ggufEntry("general.architecture", Type::String, ggufString("llama")),
      u32Entry("llama.block_count", 2),
      ggufEntry("llama.rope.freq_base", Type::F32, raw(10000.0f)),
      ggufEntry("tokenizer.ggml.add_bos_token", Type::Bool, raw<uint8_t>(1)),
      ggufEntry(
          "tokenizer.ggml.tokens", Type::Array,
          ggufArray(8, 3,
                    ggufString("a") + ggufString("") + ggufString("\xff\n"))),
      ggufEntry("tokenizer.ggml.token_type", Type::Array,
                ggufArray(5, 2, raw<int32_t>(1) + raw<int32_t>(-3))),
      ggufEntry("a.u8", Type::U8, raw<uint8_t>(200)),
      ggufEntry("a.i8", Type::I8, raw<int8_t>(-2)),
      ggufEntry("a.u16", Type::U16, raw<uint16_t>(60000)),
      ggufEntry("a.i16", Type::I16, raw<int16_t>(-3)),
      ggufEntry("a.i32", Type::I32, raw<int32_t>(-4)),
      ggufEntry("a.u64", Type::U64, raw<uint64_t>(1ull << 63)),
      ggufEntry("a.i64", Type::I64, raw<int64_t>(-5)),
      ggufEntry("a.f64", Type::F64, raw(0.1)),
      ggufEntry("a.empty", Type::Array, ggufArray(6, 0, "")),
  };
  b.tensors = {ggufTensor("w", {32, 3}, 8, 0), // q8_0: 102 bytes
               ggufTensor("s", {}, 0, 160), ggufTensor("b", {5}, 1, 128)};
  b.data = std::string(164, '\x11');
  return b;
}

TEST(Gguf, ReadsMetadata) {
  std::string bytes = goodFile().build();
  auto file = Gguf::parse(spanOf(bytes), "good.gguf");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->alignment(), 32u);
  EXPECT_EQ(file->metadata().size(), 15u);
  EXPECT_EQ(file->metadata()[1].key, "llama.block_count");
  EXPECT_EQ(*file->get<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(*file->get<uint32_t>("llama.block_count"), 2u);
  EXPECT_EQ(*file->get<float>("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(*file->get<bool>("tokenizer.ggml.add_bos_token"), true);
  EXPECT_EQ(*file->getArray<std::string_view>("tokenizer.ggml.tokens"),
            (std::vector<std::string_view>{"a", "", "\xff\n"}));
  EXPECT_EQ(*file->getArray<int32_t>("tokenizer.ggml.token_type"),
            (std::vector<int32_t>{1, -3}));
  EXPECT_EQ(*file->get<uint8_t>("a.u8"), 200);
  EXPECT_EQ(*file->get<int8_t>("a.i8"), -2);
  EXPECT_EQ(*file->get<uint16_t>("a.u16"), 60000);
  EXPECT_EQ(*file->get<int16_t>("a.i16"), -3);
  EXPECT_EQ(*file->get<int32_t>("a.i32"), -4);
  EXPECT_EQ(*file->get<uint64_t>("a.u64"), 1ull << 63);
  EXPECT_EQ(*file->get<int64_t>("a.i64"), -5);
  EXPECT_EQ(*file->get<double>("a.f64"), 0.1);
  EXPECT_TRUE(file->getArray<float>("a.empty")->empty());
  EXPECT_EQ(*file->getOr<uint32_t>("llama.expert_count", 7), 7u);
  EXPECT_EQ(*file->getOr<uint32_t>("llama.block_count", 7), 2u);
  EXPECT_FALSE(file->has("llama.expert_count"));
}

TEST(Gguf, ReadsTensorsOutermostFirst) {
  std::string bytes = goodFile().build();
  auto file = Gguf::parse(spanOf(bytes), "good.gguf");
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  const TensorView *w = file->findTensor("w");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->type, ElementType::Q8_0);
  EXPECT_EQ(w->shape, (Shape{3, 32}));
  EXPECT_EQ(w->data.size, 102u);
  EXPECT_EQ(w->data.data, spanOf(bytes).end() - 164);
  EXPECT_EQ(file->findTensor("s")->shape, Shape{});
  EXPECT_EQ(file->findTensor("s")->data.end(), spanOf(bytes).end());
  EXPECT_EQ(file->findTensor("nope"), nullptr);
}

TEST(Gguf, ReadsVersion2AndOtherAlignments) {
  GgufBuilder b = goodFile();
  b.version = 2;
  b.metadata = {u32Entry("general.alignment", 8)};
  b.tensors = {ggufTensor("w", {2}, 0, 8)};
  b.alignment = 8;
  b.data = std::string(16, 'x');
  std::string bytes = b.build();
  auto file = Gguf::parse(spanOf(bytes), "v2.gguf");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->alignment(), 8u);
  EXPECT_EQ(file->findTensor("w")->data.data, spanOf(bytes).end() - 8);
}

TEST(Gguf, SurvivesMoves) {
  std::string bytes = goodFile().build();
  auto file = Gguf::parse(spanOf(bytes), "good.gguf");
  ASSERT_TRUE(file);
  Gguf moved = std::move(*file);
  Gguf again = std::move(moved);
  EXPECT_EQ(*again.get<uint32_t>("llama.block_count"), 2u);
  EXPECT_EQ(again.findTensor("b")->shape, Shape{5});
}

TEST(Gguf, GettersNameKeyAndTypes) {
  std::string bytes = goodFile().build();
  auto file = Gguf::parse(spanOf(bytes), "m.gguf");
  ASSERT_TRUE(file);
  auto missing = file->get<uint32_t>("llama.context_length");
  EXPECT_EQ(missing.status().code(), StatusCode::NotFound);
  EXPECT_EQ(missing.status().message(),
            "m.gguf: key 'llama.context_length' is missing, must be present "
            "as u32");
  EXPECT_EQ(file->get<float>("llama.block_count").status().message(),
            "m.gguf: byte 98: key 'llama.block_count' has type u32, must be "
            "f32");
  EXPECT_EQ(file->getOr<float>("llama.block_count", 1).status().code(),
            StatusCode::Malformed);
  EXPECT_EQ(file->getArray<float>("tokenizer.ggml.tokens").status().message(),
            "m.gguf: byte 224: key 'tokenizer.ggml.tokens' has type array of "
            "string, must be array of f32");
  EXPECT_EQ(file->get<uint32_t>("tokenizer.ggml.tokens").status().message(),
            "m.gguf: byte 224: key 'tokenizer.ggml.tokens' has type array of "
            "string, must be u32");
}

struct BadFile {
  const char *name;
  std::string bytes;
  const char *message; ///< After "bad.gguf: ".
};

/// A file with one tensor record and SIZE bytes of data.
std::string withTensors(std::vector<std::string> tensors, size_t size) {
  GgufBuilder b;
  b.tensors = std::move(tensors);
  b.data = std::string(size, 'd');
  return b.build();
}

std::string withMetadata(std::vector<std::string> metadata,
                         std::string tail = std::string(64, 't')) {
  GgufBuilder b;
  b.metadata = std::move(metadata);
  b.data = std::move(tail);
  return b.build();
}

template <class Change> std::string changed(Change change) {
  GgufBuilder b = goodFile();
  change(b);
  return b.build();
}

std::vector<BadFile> badFiles() {
  const uint64_t huge = 1ull << 62;
  std::string good = goodFile().build();
  return {
      {"magic", "GGML" + good.substr(4),
       "byte 0: not a GGUF file: starts with 'GGML', must start with 'GGUF'"},
      {"three bytes", "GGU",
       "byte 0: truncated: the magic takes 4 bytes, but 3 remain"},
      {"magic alone", "GGUF",
       "byte 4: truncated: the version takes 4 bytes, but 0 remain"},
      {"version 0", changed([](auto &b) { b.version = 0; }),
       "byte 4: GGUF version 0 is not supported, must be 2 or 3"},
      {"version 1", changed([](auto &b) { b.version = 1; }),
       "byte 4: GGUF version 1 is not supported, must be 2 or 3"},
      {"version 4", changed([](auto &b) { b.version = 4; }),
       "byte 4: GGUF version 4 is not supported, must be 2 or 3"},
      {"big-endian", changed([](auto &b) { b.version = 0x03000000; }),
       "byte 4: a big-endian GGUF file (version 3); only little-endian files "
       "are read"},
      {"no counts", good.substr(0, 12),
       "byte 8: truncated: the tensor count takes 8 bytes, but 4 remain"},
      {"no metadata count", good.substr(0, 20),
       "byte 16: truncated: the metadata count takes 8 bytes, but 4 remain"},
      {"tensor count", changed([](auto &b) { b.tensorCount = 1 << 30; }),
       "byte 8: declares 1073741824 tensors, but only 748 bytes follow the "
       "header"},
      {"tensor count near 2^64",
       good.substr(0, 8) + raw<uint64_t>(~0ull) + good.substr(16),
       "byte 8: declares 18446744073709551615 tensors, but only 748 bytes "
       "follow the header"},
      {"metadata count", changed([](auto &b) { b.metadataCount = 1 << 30; }),
       "byte 16: declares 1073741824 metadata entries, but only 748 bytes "
       "follow the header"},
      {"one tensor too many",
       withTensors({ggufTensor("w", {8}, 0, 0)}, 32)
           .replace(8, 8, raw<uint64_t>(2)),
       "byte 57: a tensor name declares 7205759403792793600 bytes, but 31 "
       "remain"},
      {"empty key", withMetadata({u32Entry("", 1)}),
       "byte 24: a metadata key is empty"},
      {"long key", withMetadata({u32Entry(std::string(65536, 'k'), 1)}),
       "byte 24: a metadata key has 65536 bytes, may have 65535"},
      {"duplicate key", withMetadata({u32Entry("k", 1), u32Entry("k", 1)}),
       "byte 41: key 'k' occurs twice"},
      {"key of 1 GiB in a small file",
       withMetadata({raw<uint64_t>(1 << 30) + "key"}),
       "byte 24: a metadata key declares 1073741824 bytes, but 96 remain"},
      {"unprintable key",
       withMetadata({u32Entry("\n\xff", 1), u32Entry("\n\xff", 1)}),
       "byte 42: key '\\x0a\\xff' occurs twice"},
      {"string of 1 GiB in a small file",
       withMetadata(
           {ggufEntry("k", Type::String, raw<uint64_t>(1 << 30) + "abc")}),
       "byte 37: the value of key 'k' declares 1073741824 bytes, but 83 "
       "remain"},
      {"string length near 2^64",
       withMetadata({ggufEntry("k", Type::String, raw<uint64_t>(~7ull))}),
       "byte 37: the value of key 'k' declares 18446744073709551608 bytes, "
       "but 83 remain"},
      {"value type", withMetadata({ggufString("k") + raw<uint32_t>(13)}),
       "byte 33: the value of key 'k' has type 13, must be 0 to 12"},
      {"bool of 2", withMetadata({ggufEntry("k", Type::Bool, raw<uint8_t>(2))}),
       "byte 37: the value of key 'k' is a bool of value 2, must be 0 or 1"},
      {"bool of 255 in an array",
       withMetadata({ggufEntry("k", Type::Array,
                               ggufArray(7, 3, std::string("\0\1\xff", 3)))}),
       "byte 51: the value of key 'k' is a bool of value 255, must be 0 or 1"},
      {"nested array",
       withMetadata({ggufEntry("k", Type::Array, ggufArray(9, 1, ""))}),
       "byte 37: the value of key 'k' is an array of arrays; elements must be "
       "scalars or strings"},
      {"array element type",
       withMetadata({ggufEntry("k", Type::Array, ggufArray(99, 1, ""))}),
       "byte 37: the value of key 'k' has element type 99, must be 0 to 12"},
      {"array count",
       withMetadata({ggufEntry("k", Type::Array, ggufArray(4, 1000, ""))}),
       "byte 41: the value of key 'k' declares 1000 elements of u32, but 79 "
       "bytes remain"},
      {"array count whose bytes wrap",
       withMetadata({ggufEntry("k", Type::Array, ggufArray(10, huge, ""))}),
       "byte 41: the value of key 'k' declares 4611686018427387904 elements "
       "of u64, but 79 bytes remain"},
      {"string array count",
       withMetadata({ggufEntry("k", Type::Array, ggufArray(8, 1 << 20, ""))}),
       "byte 41: the value of key 'k' declares 1048576 elements of string, "
       "but 79 bytes remain"},
      {"string in an array too long",
       withMetadata(
           {ggufEntry("k", Type::Array,
                      ggufArray(8, 2, ggufString("a") + raw<uint64_t>(9999)))}),
       "byte 58: the value of key 'k' declares 9999 bytes, but 94 remain"},
      {"truncated value", withMetadata({u32Entry("k", 1)}).substr(0, 39),
       "byte 37: truncated: the value of key 'k' takes 4 bytes, but 2 "
       "remain"},
      {"alignment of another type",
       withMetadata(
           {ggufEntry("general.alignment", Type::U64, raw<uint64_t>(32))}),
       "byte 53: key 'general.alignment' has type u64, must be u32"},
      {"alignment 0", withMetadata({u32Entry("general.alignment", 0)}),
       "byte 53: general.alignment is 0, must be a power of two from 8 to "
       "1048576"},
      {"alignment 24", withMetadata({u32Entry("general.alignment", 24)}),
       "byte 53: general.alignment is 24, must be a power of two from 8 to "
       "1048576"},
      {"alignment 1", withMetadata({u32Entry("general.alignment", 1)}),
       "byte 53: general.alignment is 1, must be a power of two from 8 to "
       "1048576"},
      {"alignment 2^30", withMetadata({u32Entry("general.alignment", 1 << 30)}),
       "byte 53: general.alignment is 1073741824, must be a power of two from "
       "8 to 1048576"},
      {"empty tensor name", withTensors({ggufTensor("", {8}, 0, 0)}, 32),
       "byte 24: a tensor name is empty"},
      {"long tensor name",
       withTensors({ggufTensor(std::string(65, 'n'), {8}, 0, 0)}, 32),
       "byte 24: tensor name "
       "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn' "
       "has "
       "65 bytes, may have 64"},
      {"tensor name of 1 GiB",
       withTensors({raw<uint64_t>(1 << 30) + std::string(30, 'n')}, 32),
       "byte 24: a tensor name declares 1073741824 bytes, but 64 remain"},
      {"duplicate tensor",
       withTensors({ggufTensor("w", {8}, 0, 0), ggufTensor("w", {8}, 0, 32)},
                   64),
       "tensor 'w' occurs twice"},
      {"five dimensions",
       withTensors({ggufTensor("w", {8, 1, 1, 1, 1}, 0, 0)}, 32),
       "byte 33: tensor 'w' has 5 dimensions, may have 4"},
      {"dimension count near 2^32",
       withTensors({ggufString("w") + raw<uint32_t>(~0u)}, 32),
       "byte 33: tensor 'w' has 4294967295 dimensions, may have 4"},
      {"zero dimension in 88 bytes",
       withTensors({ggufTensor("w", {8, 0}, 0, 0)}, 88 - 96 + 32).substr(0, 88),
       "byte 45: tensor 'w' has dimension 1 of extent 0, must be at least 1"},
      {"negative dimension", withTensors({ggufTensor("w", {~0ull}, 0, 0)}, 32),
       "byte 37: tensor 'w' has dimension 0 of extent 18446744073709551615 "
       "(negative), may be at most 2^63-1"},
      {"product wraps",
       withTensors({ggufTensor("w", {(1ull << 42) + 1, 1ull << 22}, 0, 0)}, 32),
       "byte 24: tensor 'w': shape 4194304x4398046511105 has more than 2^63-1 "
       "elements"},
      {"bytes wrap", withTensors({ggufTensor("w", {1ull << 61}, 0, 0)}, 32),
       "byte 24: tensor 'w': shape 2305843009213693952 of f32 takes more than "
       "2^63-1 bytes"},
      {"row not of whole blocks",
       withTensors({ggufTensor("w", {128, 2}, 12, 0)}, 144),
       "byte 24: tensor 'w': shape 2x128 has rows of 128 elements, must be a "
       "multiple of 256, the block of q4_k"},
      {"tensor type", withTensors({ggufTensor("w", {256}, 16, 0)}, 66),
       "byte 45: tensor 'w' has type 16, which poot can't decode; it can: f32 "
       "(0), f16 (1), bf16 (30), f64 (28), i8 (24), i16 (25), i32 (26), i64 "
       "(27), q4_0 (2), q4_1 (3), q5_0 (6), q5_1 (7), q8_0 (8), q2_k (10), "
       "q3_k (11), q4_k (12), q5_k (13), q6_k (14), iq4_nl (20), mxfp4 (39)"},
      {"removed tensor type", withTensors({ggufTensor("w", {32}, 4, 0)}, 32),
       "byte 45: tensor 'w' has type 4, which poot can't decode; it can: f32 "
       "(0), f16 (1), bf16 (30), f64 (28), i8 (24), i16 (25), i32 (26), i64 "
       "(27), q4_0 (2), q4_1 (3), q5_0 (6), q5_1 (7), q8_0 (8), q2_k (10), "
       "q3_k (11), q4_k (12), q5_k (13), q6_k (14), iq4_nl (20), mxfp4 (39)"},
      {"misaligned offset", withTensors({ggufTensor("w", {4}, 0, 16)}, 64),
       "byte 49: tensor 'w' has data offset 16, must be a multiple of the "
       "alignment 32"},
      {"offset beyond the file", withTensors({ggufTensor("w", {8}, 0, 64)}, 32),
       "byte 49: tensor 'w' takes 32 bytes at data offset 64, but the file "
       "holds 32 bytes of data"},
      {"offset near 2^64", withTensors({ggufTensor("w", {8}, 0, ~31ull)}, 32),
       "byte 49: tensor 'w' takes 32 bytes at data offset "
       "18446744073709551584, but the file holds 32 bytes of data"},
      {"end beyond the file", withTensors({ggufTensor("w", {9}, 0, 0)}, 32),
       "byte 49: tensor 'w' takes 36 bytes at data offset 0, but the file "
       "holds 32 bytes of data"},
      {"cut in the data", good.substr(0, good.size() - 1),
       "byte 565: tensor 's' takes 4 bytes at data offset 160, but the file "
       "holds 163 bytes of data"},
      {"cut before the data",
       withTensors({ggufTensor("w", {8}, 0, 0)}, 0).substr(0, 58),
       "byte 49: tensor 'w' takes 32 bytes at data offset 0, but the file "
       "holds 0 bytes of data"},
      {"overlap",
       withTensors({ggufTensor("a", {16}, 0, 0), ggufTensor("b", {8}, 0, 32)},
                   64),
       "tensors 'a' and 'b' overlap at data offset 32"},
      {"same place",
       withTensors({ggufTensor("a", {8}, 0, 0), ggufTensor("b", {8}, 0, 0)},
                   64),
       "tensors 'a' and 'b' overlap at data offset 0"},
      {"truncated tensor record",
       withTensors({ggufTensor("w", {8}, 0, 0)}, 0).substr(0, 50),
       "byte 49: truncated: tensor 'w' takes 8 bytes, but 1 remain"},
  };
}

TEST(Gguf, RejectsEveryMalformedFile) {
  std::vector<BadFile> files = badFiles();
  EXPECT_GE(files.size(), 30u);
  for (const BadFile &bad : files) {
    auto file = Gguf::parse(spanOf(bad.bytes), "bad.gguf");
    EXPECT_EQ(file ? "no error" : file.status().message(),
              concat("bad.gguf: ", bad.message))
        << bad.name;
  }
}

TEST(Gguf, RejectsEveryTruncation) {
  std::string good = goodFile().build();
  for (size_t size = 0; size < good.size(); ++size) {
    std::string cut = good.substr(0, size);
    EXPECT_FALSE(Gguf::parse(spanOf(cut), "cut.gguf")) << size;
  }
}

TEST(Gguf, AnyFlippedBitIsReadOrRejected) {
  // Reads all that a changed file offers: ASan and UBSan watch in their build.
  std::string good = goodFile().build();
  size_t accepted = 0;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    auto file = Gguf::parse(spanOf(bytes), "flipped.gguf");
    if (!file)
      continue;
    ++accepted;
    for (const GgufMetadata &entry : file->metadata())
      if (auto strings = file->getArray<std::string_view>(entry.key))
        for (std::string_view text : *strings)
          ASSERT_LE(text.size(), good.size());
    for (const TensorView &tensor : file->tensors()) {
      ASSERT_GE(tensor.data.begin(), spanOf(bytes).begin());
      ASSERT_LE(tensor.data.end(), spanOf(bytes).end());
    }
  }
  EXPECT_GT(accepted, 0u);
}

} // namespace
