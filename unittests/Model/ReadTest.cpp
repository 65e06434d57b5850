//===- ReadTest.cpp - Models from files, good and bad ---------------------===//
//
// examples/tiny.gguf, and checkpoints written here: a GGUF and a safetensors
// folder of one tiny configuration, each of them broken in one way at a time.
//
//===----------------------------------------------------------------------===//

#include "Poot/Model/Family.h"

#include "poot/weights/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace poot;
using namespace poot::model;
using weights::Checkpoint;
using weights::ElementType;
using weights::Shape;
using weights::StatusCode;

namespace {

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

struct TensorSpec {
  ElementType type;
  Shape shape;
};
using Tensors = std::map<std::string, TensorSpec>;

size_t bytesOf(const TensorSpec &spec) {
  return *weights::countBytes(spec.type, spec.shape);
}

/// A GGUF file's bytes, little by little.
class GgufWriter {
public:
  template <class T> void put(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void text(const std::string &value) {
    put<uint64_t>(value.size());
    bytes += value;
  }
  void add(const std::string &key, uint32_t value) {
    text(key), put<uint32_t>(4), put(value);
  }
  void add(const std::string &key, float value) {
    text(key), put<uint32_t>(6), put(value);
  }
  void add(const std::string &key, const std::string &value) {
    text(key), put<uint32_t>(8), text(value);
  }

  std::string bytes;
};

struct GgufFile {
  std::string architecture = "llama";
  std::map<std::string, uint32_t> integers = {
      {"embedding_length", 32},    {"block_count", 1},
      {"attention.head_count", 4}, {"attention.head_count_kv", 2},
      {"feed_forward_length", 64}, {"context_length", 128}};
  std::map<std::string, float> numbers = {
      {"attention.layer_norm_rms_epsilon", 1e-5f}};
  std::map<std::string, std::string> texts;
  Tensors tensors = {{"token_embd.weight", {ElementType::Q8_0, {48, 32}}},
                     {"output_norm.weight", {ElementType::F32, {32}}},
                     {"blk.0.attn_norm.weight", {ElementType::F32, {32}}},
                     {"blk.0.attn_q.weight", {ElementType::F16, {32, 32}}},
                     {"blk.0.attn_k.weight", {ElementType::F16, {16, 32}}},
                     {"blk.0.attn_v.weight", {ElementType::F16, {16, 32}}},
                     {"blk.0.attn_output.weight", {ElementType::F16, {32, 32}}},
                     {"blk.0.ffn_norm.weight", {ElementType::F32, {32}}},
                     {"blk.0.ffn_gate.weight", {ElementType::Q4_0, {64, 32}}},
                     {"blk.0.ffn_up.weight", {ElementType::Q4_0, {64, 32}}},
                     {"blk.0.ffn_down.weight", {ElementType::Q4_0, {32, 64}}}};

  void write(const std::string &path) const {
    GgufWriter w;
    w.bytes = "GGUF";
    w.put<uint32_t>(3);
    w.put<uint64_t>(tensors.size());
    w.put<uint64_t>(1 + integers.size() + numbers.size() + texts.size());
    w.add("general.architecture", architecture);
    for (auto &[key, value] : integers)
      w.add(architecture + "." + key, value);
    for (auto &[key, value] : numbers)
      w.add(architecture + "." + key, value);
    for (auto &[key, value] : texts)
      w.add(architecture + "." + key, value);
    uint64_t offset = 0;
    for (auto &[name, spec] : tensors) {
      w.text(name);
      w.put<uint32_t>(spec.shape.size());
      for (size_t i = spec.shape.size(); i-- > 0;)
        w.put<uint64_t>(spec.shape[i]);
      w.put<uint32_t>(weights::getInfo(spec.type).ggufType);
      w.put<uint64_t>(offset);
      offset += (bytesOf(spec) + 31) / 32 * 32;
    }
    w.bytes.resize((w.bytes.size() + 31) / 32 * 32 + offset);
    std::ofstream(path, std::ios::binary) << w.bytes;
  }
};

struct HuggingFaceFiles {
  std::string config = R"({"model_type": "llama", "vocab_size": 48,
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 64, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 128, "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 64},
    "tie_word_embeddings": false, "attention_bias": false})";
  Tensors tensors = {
      {"model.embed_tokens.weight", {ElementType::BF16, {48, 32}}},
      {"model.norm.weight", {ElementType::BF16, {32}}},
      {"lm_head.weight", {ElementType::BF16, {48, 32}}},
      {"model.layers.0.input_layernorm.weight", {ElementType::BF16, {32}}},
      {"model.layers.0.self_attn.q_proj.weight", {ElementType::BF16, {32, 32}}},
      {"model.layers.0.self_attn.k_proj.weight", {ElementType::BF16, {16, 32}}},
      {"model.layers.0.self_attn.v_proj.weight", {ElementType::BF16, {16, 32}}},
      {"model.layers.0.self_attn.o_proj.weight", {ElementType::BF16, {32, 32}}},
      {"model.layers.0.self_attn.rotary_emb.inv_freq", {ElementType::F32, {4}}},
      {"model.layers.0.post_attention_layernorm.weight",
       {ElementType::BF16, {32}}},
      {"model.layers.0.mlp.gate_proj.weight", {ElementType::BF16, {64, 32}}},
      {"model.layers.0.mlp.up_proj.weight", {ElementType::BF16, {64, 32}}},
      {"model.layers.0.mlp.down_proj.weight", {ElementType::BF16, {32, 64}}}};

  void replace(const std::string &from, const std::string &to) {
    size_t at = config.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
  }

  void write(const std::string &folder) const {
    std::string header;
    size_t offset = 0;
    for (auto &[name, spec] : tensors) {
      std::string shape;
      for (int64_t extent : spec.shape)
        shape += (shape.empty() ? "" : ",") + std::to_string(extent);
      header += (header.empty() ? "{" : ",") + ("\"" + name) +
                "\":{\"dtype\":\"" + weights::getInfo(spec.type).safetensors +
                "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
                std::to_string(offset) + "," +
                std::to_string(offset + bytesOf(spec)) + "]}";
      offset += bytesOf(spec);
    }
    header += "}";
    uint64_t length = header.size();
    std::ofstream out(folder + "/model.safetensors", std::ios::binary);
    out.write(reinterpret_cast<const char *>(&length), sizeof(length));
    out << header << std::string(offset, '\0');
    if (!config.empty())
      std::ofstream(folder + "/config.json") << config;
  }
};

class ReadTest : public ::testing::Test {
protected:
  ReadTest() {
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder =
        (std::filesystem::temp_directory_path() /
         ("poot-model-test-" + std::to_string(getpid()) + "-" + info->name()))
            .string();
    std::filesystem::create_directories(folder);
  }
  ~ReadTest() override { std::filesystem::remove_all(folder); }

  /// Reads PATH, keeping the checkpoint for the model's lifetime.
  weights::Expected<Model> read(const std::string &path) {
    weights::Expected<Checkpoint> opened = Checkpoint::open(path);
    EXPECT_TRUE(opened) << opened.status().message();
    if (!opened)
      return opened.status();
    return readModel(*opened);
  }

  weights::Expected<Model> read(const GgufFile &file) {
    file.write(folder + "/model.gguf");
    return read(folder + "/model.gguf");
  }
  weights::Expected<Model> read(const HuggingFaceFiles &files) {
    std::filesystem::remove(folder + "/config.json");
    files.write(folder);
    return read(folder);
  }

  template <class Files>
  void expectError(const Files &files, StatusCode code,
                   std::initializer_list<const char *> parts) {
    weights::Expected<Model> model = read(files);
    ASSERT_FALSE(model) << *parts.begin();
    EXPECT_EQ(model.status().code(), code) << model.status().message();
    EXPECT_NE(model.status().message().find(folder), std::string::npos)
        << "the file is named: " << model.status().message();
    for (const char *part : parts)
      EXPECT_NE(model.status().message().find(part), std::string::npos)
          << model.status().message() << " lacks " << part;
  }

  std::string folder;
};

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

TEST_F(ReadTest, TinyExample) {
  auto model = read(std::string(POOT_SOURCE_DIR) + "/examples/tiny.gguf");
  ASSERT_TRUE(model) << model.status().message();
  const ModelConfig &config = model->config;
  EXPECT_EQ(config.source, Source::Gguf);
  EXPECT_EQ(config.vocabSize, 1024);
  EXPECT_EQ(config.hiddenSize, 256);
  EXPECT_EQ(config.layers, 4);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kvHeads, 2);
  EXPECT_EQ(config.headDim, 64);
  EXPECT_EQ(config.contextLength, 512);
  EXPECT_FALSE(config.tiedEmbeddings);
  EXPECT_EQ(model->weights.size(), 39u);
  EXPECT_EQ(model->weights.at("blk.0.attn_output.weight").type,
            (trace::TensorType{ElementType::Q4_K, {256, 256}}));
}

TEST_F(ReadTest, Gguf) {
  GgufFile file;
  auto model = read(file);
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_TRUE(model->config.tiedEmbeddings);
  EXPECT_FALSE(model->config.attentionBias);
  EXPECT_EQ(model->config.vocabSize, 48);
  EXPECT_EQ(model->config.headDim, 8);
  EXPECT_EQ(model->config.rope.base, 10000);

  file.tensors["output.weight"] = {ElementType::Q8_0, {48, 32}};
  file.tensors["rope_freqs.weight"] = {ElementType::F32, {4}};
  for (const char *name : {"q", "k", "v", "output"})
    file.tensors["blk.0.attn_" + std::string(name) + ".bias"] = {
        ElementType::F32, {name[0] == 'k' || name[0] == 'v' ? 16 : 32}};
  file.texts["rope.scaling.type"] = "linear";
  file.numbers["rope.scaling.factor"] = 2;
  model = read(file);
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_FALSE(model->config.tiedEmbeddings);
  EXPECT_TRUE(model->config.attentionBias);
  EXPECT_EQ(model->config.rope.scaling, RopeScaling::Linear);
  EXPECT_EQ(model->config.rope.factor, 2);
  EXPECT_TRUE(model->weights.count("rope_freqs.weight"));
}

TEST_F(ReadTest, HuggingFace) {
  HuggingFaceFiles files;
  auto model = read(files);
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_EQ(model->config.source, Source::HuggingFace);
  EXPECT_EQ(model->config.rope.scaling, RopeScaling::Llama3);
  EXPECT_EQ(model->config.rope.base, 500000);
  EXPECT_EQ(model->config.rope.originalContext, 64);
  EXPECT_EQ(model->weights.at("blk.0.ffn_down.weight").name,
            "model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(model->weights.size(), 12u) << "inv_freq is no weight";
}

/// Newer files hold the base and the scaling in rope_parameters.
TEST_F(ReadTest, RopeParameters) {
  HuggingFaceFiles files;
  files.replace("\"rope_theta\": 500000.0,", "");
  files.replace("\"rope_scaling\": {",
                "\"rope_parameters\": {\"rope_theta\": 1000.0, ");
  auto model = read(files);
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_EQ(model->config.rope.base, 1000);
  EXPECT_EQ(model->config.rope.scaling, RopeScaling::Llama3);
}

TEST_F(ReadTest, BadGguf) {
  auto expect = [&](auto change, StatusCode code,
                    std::initializer_list<const char *> parts) {
    GgufFile file;
    change(file);
    expectError(file, code, parts);
  };
  expect([](GgufFile &f) { f.architecture = "mamba"; }, StatusCode::Unsupported,
         {"'mamba' is unknown; known are llama"});
  expect([](GgufFile &f) { f.integers.erase("block_count"); },
         StatusCode::NotFound, {"llama.block_count"});
  expect(
      [](GgufFile &f) {
        f.integers.erase("block_count");
        f.texts["block_count"] = "1";
      },
      StatusCode::Malformed, {"llama.block_count"});
  expect([](GgufFile &f) { f.integers["attention.head_count"] = 0; },
         StatusCode::Malformed, {"number of heads is 0"});
  expect([](GgufFile &f) { f.integers["attention.head_count_kv"] = 3; },
         StatusCode::Malformed, {"4 heads do not divide among 3"});
  expect([](GgufFile &f) { f.integers["block_count"] = 4000000000u; },
         StatusCode::Malformed, {"number of layers is 4000000000"});
  // One layer more than the file has, and one less.
  expect([](GgufFile &f) { f.integers["block_count"] = 2; },
         StatusCode::Malformed,
         {"'blk.1.attn_norm.weight' is missing", "asks for shape 32"});
  expect(
      [](GgufFile &f) {
        f.tensors["blk.1.attn_norm.weight"] = {ElementType::F32, {32}};
      },
      StatusCode::Malformed,
      {"'blk.1.attn_norm.weight' of shape 32 has no place", "1 layers"});
  expect([](GgufFile &f) { f.tensors.erase("output_norm.weight"); },
         StatusCode::Malformed, {"'output_norm.weight' is missing"});
  expect([](GgufFile &f) { f.tensors["blk.0.attn_k.weight"].shape = {32, 32}; },
         StatusCode::Malformed,
         {"'blk.0.attn_k.weight' has shape 32x32", "asks for 16x32"});
  expect(
      [](GgufFile &f) {
        f.tensors["blk.0.attn_q.weight"].type = ElementType::I16;
      },
      StatusCode::Unsupported, {"'blk.0.attn_q.weight' is stored as i16"});
  expect(
      [](GgufFile &f) {
        f.tensors["blk.0.attn_q_norm.weight"] = {ElementType::F32, {8}};
      },
      StatusCode::Malformed, {"'blk.0.attn_q_norm.weight'", "has no place"});
  expect([](GgufFile &f) { f.integers["vocab_size"] = 49; },
         StatusCode::Malformed,
         {"'token_embd.weight' has shape 48x32", "49x32"});
  expect([](GgufFile &f) { f.texts["rope.scaling.type"] = "yarn"; },
         StatusCode::Unsupported, {"'yarn'"});
  expect([](GgufFile &f) { f.integers["expert_count"] = 8; },
         StatusCode::Unsupported, {"8 experts"});
  expect([](GgufFile &f) { f.integers["attention.sliding_window"] = 64; },
         StatusCode::Unsupported, {"sliding window"});
  expect([](GgufFile &f) { f.integers["attention.value_length"] = 16; },
         StatusCode::Unsupported, {"value heads of 16"});
  expect([](GgufFile &f) { f.integers["rope.dimension_count"] = 7; },
         StatusCode::Malformed, {"7 rotating elements"});
  expect(
      [](GgufFile &f) {
        f.tensors["rope_freqs.weight"] = {ElementType::F32, {8}};
      },
      StatusCode::Malformed, {"'rope_freqs.weight' has shape 8", "asks for 4"});
}

TEST_F(ReadTest, BadHuggingFace) {
  auto expect = [&](auto change, StatusCode code,
                    std::initializer_list<const char *> parts) {
    HuggingFaceFiles files;
    change(files);
    expectError(files, code, parts);
  };
  using Files = HuggingFaceFiles;
  expect([](Files &f) { f.config.clear(); }, StatusCode::NotFound,
         {"config.json"});
  expect([](Files &f) { f.config = "{\"model_type\": "; },
         StatusCode::Malformed, {"config.json", "does not hold a JSON object"});
  expect([](Files &f) { f.config = std::string(100000, '['); },
         StatusCode::Malformed, {"does not hold a JSON object"});
  expect([](Files &f) { f.config = "[]"; }, StatusCode::Malformed,
         {"does not hold a JSON object"});
  expect([](Files &f) { f.config = "{}"; }, StatusCode::Unsupported,
         {"model family '' is unknown; known are llama"});
  expect([](Files &f) { f.replace("\"llama\"", "\"qwen3\""); },
         StatusCode::Unsupported, {"'qwen3' is unknown; known are llama"});
  expect([](Files &f) { f.replace("\"llama\"", "7"); }, StatusCode::Malformed,
         {"'model_type' must be a string"});
  expect([](Files &f) { f.replace("\"hidden_size\": 32,", ""); },
         StatusCode::NotFound, {"'hidden_size' is missing"});
  expect([](Files &f) { f.replace("48", "48.5"); }, StatusCode::Malformed,
         {"'vocab_size' must be an integer"});
  expect([](Files &f) { f.replace("48", "18446744073709551615"); },
         StatusCode::Malformed, {"'vocab_size' must be an integer"});
  expect([](Files &f) { f.replace("48", "-48"); }, StatusCode::Malformed,
         {"vocabulary size is -48"});
  expect(
      [](Files &f) {
        f.replace("\"rope_scaling\": {", "\"rope_scaling\": 3,"
                                         "\"x\": {");
      },
      StatusCode::Malformed, {"'rope_scaling' must be an object"});
  expect([](Files &f) { f.replace("\"llama3\"", "\"yarn\""); },
         StatusCode::Unsupported, {"'yarn'"});
  expect([](Files &f) { f.replace("\"factor\": 8.0,", ""); },
         StatusCode::NotFound, {"rope_scaling", "'factor' is missing"});
  expect([](Files &f) { f.replace("false}", "true}"); }, StatusCode::Malformed,
         {"q_proj.bias' is missing"});
  expect([](Files &f) { f.replace("false", "\"no\""); }, StatusCode::Malformed,
         {"must be true or false"});
  expect([](Files &f) { f.replace("}", "}, \"hidden_act\": \"relu\""); },
         StatusCode::Unsupported, {"hidden_act 'relu'"});
  expect([](Files &f) { f.tensors.erase("lm_head.weight"); },
         StatusCode::Malformed, {"'lm_head.weight' is missing"});
  expect(
      [](Files &f) {
        f.tensors["model.layers.0.mlp.up_proj.weight"].shape = {32, 64};
      },
      StatusCode::Malformed,
      {"up_proj.weight' has shape 32x64", "asks for 64x32"});
}

} // namespace
