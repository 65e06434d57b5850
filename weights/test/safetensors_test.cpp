// The safetensors reader and the view over both formats: good files, and the
// message for every kind of bad one.

#include "byte_builder.h"
#include "poot/weights/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace poot::weights;
using namespace poot::weights::test;

namespace {

std::string file(const std::string &header, size_t dataSize) {
  return raw<uint64_t>(header.size()) + header + std::string(dataSize, 'd');
}

/// A header with one tensor 'w' of these fields.
std::string one(const std::string &fields, size_t dataSize) {
  return file("{\"w\":{" + fields + "}}", dataSize);
}

const char *goodHeader =
    R"({"__metadata__":{"format":"pt"},)"
    R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
    R"("a\u00e9":{"shape":[],"data_offsets":[0,4],"dtype":"F32"},)"
    R"("none":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]},)"
    R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[16,19]}}    )";

TEST(Safetensors, ReadsTensorsInFileOrder) {
  std::string bytes = file(goodHeader, 19);
  auto result = Safetensors::parse(spanOf(bytes), "good.safetensors");
  ASSERT_TRUE(result) << result.status().message();
  const std::vector<TensorView> &tensors = result->tensors();
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].name, "a\u00e9");
  EXPECT_EQ(tensors[0].type, ElementType::F32);
  EXPECT_EQ(tensors[0].shape, Shape{});
  EXPECT_EQ(tensors[0].data.data, spanOf(bytes).end() - 19);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].type, ElementType::BF16);
  EXPECT_EQ(tensors[1].shape, (Shape{2, 3}));
  EXPECT_EQ(tensors[1].data.size, 12u);
  EXPECT_EQ(tensors[2].name, "none");
  EXPECT_EQ(tensors[2].data.size, 0u);
  EXPECT_EQ(tensors[3].type, ElementType::Bool);
  EXPECT_EQ(tensors[3].data.end(), spanOf(bytes).end());
}

TEST(Safetensors, EmptyFileOfTensors) {
  std::string bytes = file("{}", 0);
  auto result = Safetensors::parse(spanOf(bytes), "empty.safetensors");
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_TRUE(result->tensors().empty());
}

struct BadFile {
  const char *name;
  std::string bytes;
  const char *message; ///< After "bad.safetensors: ".
};

std::vector<BadFile> badFiles() {
  return {
      {"seven bytes", "1234567",
       "truncated: has 7 bytes, must start with a header length of 8"},
      {"header length near 2^64", raw<uint64_t>(~7ull) + "{}",
       "byte 0: declares a header of 18446744073709551608 bytes, may be at "
       "most 100000000"},
      {"header over the limit", raw<uint64_t>(100000001) + "{}",
       "byte 0: declares a header of 100000001 bytes, may be at most "
       "100000000"},
      {"header beyond the file", raw<uint64_t>(3) + "{}",
       "byte 0: declares a header of 3 bytes, but 2 remain"},
      {"no header", raw<uint64_t>(0), "byte 8: the header must start with '{'"},
      {"leading space", file(" {}", 0),
       "byte 8: the header must start with '{'"},
      {"array", file("[]", 0), "byte 8: the header must start with '{'"},
      {"unfinished JSON", file("{\"w\":", 0),
       "byte 13: the header is not valid JSON: syntax error while parsing "
       "value - unexpected end of input; expected '[', '{', or a literal"},
      {"text after JSON", file("{} x", 0),
       "byte 11: the header is not valid JSON: syntax error while parsing "
       "value - invalid literal"},
      {"bad UTF-8", file("{\"\xff\":1}", 0),
       "byte 10: the header is not valid JSON: syntax error while parsing "
       "object key - invalid string: ill-formed UTF-8 byte"},
      {"deep nesting", file("{\"w\":" + std::string(100000, '['), 0),
       "tensor 'w' must be an object, is an array"},
      {"nested objects",
       one(R"("dtype":{"a":{"b":1}},"shape":[],"data_offsets":[0,4])", 4),
       "tensor 'w' has a dtype that must be a string, is an object"},
      {"tensor is a number", file("{\"w\":1}", 0),
       "tensor 'w' must be an object, is the number 1"},
      {"tensor is null", file("{\"w\":null}", 0),
       "tensor 'w' must be an object, is null"},
      {"metadata is a list", file("{\"__metadata__\":[]}", 0),
       "__metadata__ must be an object of strings, holds an array"},
      {"metadata of numbers", file("{\"__metadata__\":{\"a\":1}}", 0),
       "__metadata__ must be an object of strings, holds the number 1"},
      {"duplicate metadata key",
       file("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0),
       "__metadata__ has key 'a' twice"},
      {"unknown dtype",
       one(R"("dtype":"Q4","shape":[1],"data_offsets":[0,4])", 4),
       "tensor 'w' has dtype 'Q4', must be one of F32, F16, BF16, F64, "
       "F8_E4M3, F8_E5M2, I8, I16, I32, I64, U8, U16, U32, U64, BOOL"},
      {"dtype of another case",
       one(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])", 4),
       "tensor 'w' has dtype 'f32', must be one of F32, F16, BF16, F64, "
       "F8_E4M3, F8_E5M2, I8, I16, I32, I64, U8, U16, U32, U64, BOOL"},
      {"dtype is a number", one(R"("dtype":7)", 0),
       "tensor 'w' has a dtype that must be a string, is the number 7"},
      {"missing dtype", one(R"("shape":[1],"data_offsets":[0,4])", 4),
       "tensor 'w' lacks 'dtype'"},
      {"missing shape", one(R"("dtype":"F32","data_offsets":[0,4])", 4),
       "tensor 'w' lacks 'shape'"},
      {"missing offsets", one(R"("dtype":"F32","shape":[1])", 4),
       "tensor 'w' lacks 'data_offsets'"},
      {"unknown field", one(R"("dtype":"F32","strides":[1])", 4),
       "tensor 'w' has the unknown field 'strides', must be 'dtype', 'shape' "
       "or 'data_offsets'"},
      {"field twice", one(R"("dtype":"F32","dtype":"F32")", 4),
       "tensor 'w' has field 'dtype' twice"},
      {"duplicate tensor",
       file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            8),
       "tensor 'w' occurs twice in the header"},
      {"empty name",
       file(R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       "a tensor name is empty"},
      {"negative extent",
       one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4),
       "tensor 'w' has a shape that must hold integers from 0 to 2^63-1, "
       "holds the negative number -1"},
      {"fractional extent", one(R"("dtype":"F32","shape":[1.0])", 4),
       "tensor 'w' has a shape that must hold integers from 0 to 2^63-1, "
       "holds the number '1.0'"},
      {"extent near 2^64", one(R"("shape":[18446744073709551615])", 4),
       "tensor 'w' has extent 18446744073709551615, may be at most 2^63-1"},
      {"seventeen dimensions",
       one(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])", 4),
       "tensor 'w' has more than 16 dimensions"},
      {"shape is a number", one(R"("shape":4)", 4),
       "tensor 'w' has a shape that must be an array, is the number 4"},
      {"product wraps",
       one(R"("dtype":"F32","shape":[4398046511105,4194304],)"
           R"("data_offsets":[0,4])",
           4),
       "tensor 'w': shape 4398046511105x4194304 has more than 2^63-1 "
       "elements"},
      {"bytes wrap",
       one(R"("dtype":"F32","shape":[4611686018427387904],)"
           R"("data_offsets":[0,0])",
           0),
       "tensor 'w': shape 4611686018427387904 of f32 takes more than 2^63-1 "
       "bytes"},
      {"one offset", one(R"("data_offsets":[0])", 4),
       "tensor 'w' has 1 data_offsets, must be 2"},
      {"three offsets", one(R"("data_offsets":[0,4,8])", 4),
       "tensor 'w' has 3 data_offsets, must be 2"},
      {"negative offset", one(R"("data_offsets":[-4,0])", 4),
       "tensor 'w' has data_offsets that must hold two integers from 0 to "
       "2^64-1, holds the negative number -4"},
      {"inverted offsets",
       one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4),
       "tensor 'w' has inverted data_offsets 4, 0"},
      {"offset past the end",
       one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 4),
       "tensor 'w' ends at data offset 8, but the file holds 4 bytes of data"},
      {"offset near 2^64",
       one(R"("dtype":"F32","shape":[1],)"
           R"("data_offsets":[18446744073709551612,18446744073709551615])",
           4),
       "tensor 'w' ends at data offset 18446744073709551615, but the file "
       "holds 4 bytes of data"},
      {"size mismatch",
       one(R"("dtype":"F16","shape":[3],"data_offsets":[0,4])", 4),
       "tensor 'w' of shape 3 and f16 takes 6 bytes, but its data_offsets "
       "span 4"},
      {"gap at the start",
       one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8),
       "a gap before tensor 'w': begins at data offset 4, must be 0"},
      {"gap between",
       file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("v":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})",
            10),
       "a gap before tensor 'v': begins at data offset 6, must be 4"},
      {"overlap",
       file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("v":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
            6),
       "tensor 'v' overlaps the one before it: begins at data offset 2, must "
       "be 4"},
      {"bytes after the last tensor",
       one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 5),
       "the tensors cover 4 of 5 bytes of data, must cover all"},
  };
}

TEST(Safetensors, RejectsEveryMalformedFile) {
  std::vector<BadFile> files = badFiles();
  EXPECT_GE(files.size(), 15u);
  for (const BadFile &bad : files) {
    auto result = Safetensors::parse(spanOf(bad.bytes), "bad.safetensors");
    EXPECT_EQ(result ? "no error" : result.status().message(),
              concat("bad.safetensors: ", bad.message))
        << bad.name;
  }
}

TEST(Safetensors, RejectsEveryTruncation) {
  std::string good = file(goodHeader, 19);
  for (size_t size = 0; size < good.size(); ++size) {
    std::string cut = good.substr(0, size);
    EXPECT_FALSE(Safetensors::parse(spanOf(cut), "cut.safetensors")) << size;
  }
}

/// A folder of its own for each test.
class CheckpointTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        concat("poot-checkpoint-", ::getpid(), "-",
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string &name, const std::string &bytes) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  /// The message of opening PATH, with the folder cut out of it.
  std::string messageOf(const std::string &path) {
    auto result = Checkpoint::open(path);
    std::string text = result ? "no error" : result.status().message();
    std::string folder = folder_.string();
    for (size_t at; (at = text.find(folder)) != std::string::npos;)
      text.erase(at, folder.size());
    return text;
  }

  std::filesystem::path folder_;
};

std::string shard(const std::string &tensor, char value) {
  std::string bytes = file("{\"" + tensor +
                               "\":{\"dtype\":\"U8\",\"shape\":[1],"
                               "\"data_offsets\":[0,1]}}",
                           1);
  bytes.back() = value;
  return bytes;
}

TEST_F(CheckpointTest, OpensGguf) {
  GgufBuilder b;
  b.tensors = {ggufTensor("w", {2, 3}, 1, 0)};
  b.data = std::string(12, 'x');
  // The extension doesn't matter, the magic does.
  auto result = Checkpoint::open(write("model.bin", b.build()));
  ASSERT_TRUE(result) << result.status().message();
  ASSERT_TRUE(result->gguf());
  EXPECT_EQ(result->tensors().size(), 1u);
  EXPECT_EQ(result->find("w")->shape, (Shape{3, 2}));
  EXPECT_EQ(result->find("v"), nullptr);
}

TEST_F(CheckpointTest, RejectsOnePartOfASplitGguf) {
  GgufBuilder b;
  b.metadata = {ggufEntry("split.count", GgufValueType::U16, raw<uint16_t>(3))};
  EXPECT_EQ(messageOf(write("m-00001-of-00003.gguf", b.build())),
            "/m-00001-of-00003.gguf: is one of 3 parts of a split model; merge "
            "them first, with llama-gguf-split --merge");
  b.metadata = {ggufEntry("split.count", GgufValueType::U16, raw<uint16_t>(1))};
  EXPECT_TRUE(Checkpoint::open(write("whole.gguf", b.build())).ok());
}

TEST_F(CheckpointTest, OpensSafetensorsByFileAndByFolder) {
  std::string path = write("model.safetensors", shard("w", 7));
  for (const std::string &name :
       {path, folder_.string(), folder_.string() + "/"}) {
    auto result = Checkpoint::open(name);
    ASSERT_TRUE(result) << result.status().message();
    EXPECT_EQ(result->gguf(), nullptr);
    ASSERT_TRUE(result->find("w"));
    EXPECT_EQ(*result->find("w")->data.data, 7);
  }
}

TEST_F(CheckpointTest, MergesShards) {
  write("model-1.safetensors", shard("a", 1));
  write("model-2.safetensors", shard("b", 2));
  write("model.safetensors.index.json",
        R"({"metadata":{"total_size":2,"deep":[[[{"x":[]}]]]},)"
        R"("weight_map":{"b":"model-2.safetensors",)"
        R"("a":"model-1.safetensors"}})");
  auto opened = Checkpoint::open(folder_.string());
  ASSERT_TRUE(opened) << opened.status().message();
  Checkpoint result = std::move(*opened);
  EXPECT_EQ(result.tensors().size(), 2u);
  EXPECT_EQ(*result.find("a")->data.data, 1);
  EXPECT_EQ(*result.find("b")->data.data, 2);
}

TEST_F(CheckpointTest, Errors) {
  EXPECT_EQ(messageOf((folder_ / "none.gguf").string()),
            "/none.gguf: cannot open: no such file or directory");
  EXPECT_EQ(messageOf(folder_.string()),
            ": the folder holds neither model.safetensors.index.json nor "
            "model.safetensors; name a .gguf file directly");
  EXPECT_EQ(messageOf(write("empty.gguf", "")), "/empty.gguf: is empty");
  EXPECT_EQ(messageOf(write("text.txt", "hello, I am a text")),
            "/text.txt: neither GGUF (must start with 'GGUF') nor safetensors "
            "(must hold a JSON header from byte 8)");
  write("a.safetensors", shard("a", 1));
  write("b.safetensors", shard("a", 1));
  auto index = [&](const std::string &text) {
    return messageOf(write("x.index.json", text));
  };
  EXPECT_EQ(index("{"), "/x.index.json: is not valid JSON");
  EXPECT_EQ(index(std::string(1000000, '[')),
            "/x.index.json: is not valid JSON");
  std::string needsMap = "/x.index.json: must be an object with 'weight_map', "
                         "an object that maps tensors to files";
  EXPECT_EQ(index("[]"), needsMap);
  EXPECT_EQ(index("{}"), needsMap);
  EXPECT_EQ(index(R"([{"weight_map":{}},{"a":1}])"), needsMap);
  EXPECT_EQ(index(R"({"weight_map":[]})"), needsMap);
  EXPECT_EQ(index(R"({"weight_map":{"a":1}})"),
            "/x.index.json: weight_map of tensor 'a' must be a file name");
  // Not each entry after all that came before it.
  std::string many;
  for (int i = 0; i < 100000; ++i)
    many += (i ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  EXPECT_EQ(index(R"({"weight_map":{)" + many + "}}"),
            "/x.index.json: weight_map of tensor '0' must be a file name");
  EXPECT_EQ(index(R"({"metadata":{)" + many + "}}"), needsMap);
  EXPECT_EQ(index(R"({"weight_map":{"a":"../a.safetensors"}})"),
            "/x.index.json: weight_map of tensor 'a' is '../a.safetensors', "
            "must be a .safetensors file in the same folder");
  EXPECT_EQ(index(R"({"weight_map":{"a":"c.safetensors"}})"),
            "/c.safetensors: cannot open: no such file or directory");
  EXPECT_EQ(index(R"({"weight_map":{"z":"a.safetensors"}})"),
            "/x.index.json: tensor 'z' should be in a.safetensors, which "
            "lacks it");
  EXPECT_EQ(index(R"({"weight_map":{"a":"a.safetensors",)"
                  R"("z":"b.safetensors"}})"),
            "/b.safetensors: tensor 'a' is in another shard as well");
}

TEST_F(CheckpointTest, MappedFileErrors) {
  EXPECT_EQ(MappedFile::open("/dev/zero").status().message(),
            "/dev/zero: is not a regular file");
  EXPECT_EQ(MappedFile::open("/").status().message(),
            "/: is a directory, must be a regular file");
  // A pipe without a writer must not block.
  std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).status().message(),
            pipe + ": is not a regular file");
}

} // namespace
