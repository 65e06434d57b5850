//===- ConfigTest.cpp - Configurations, registry, presets -----------------===//

#include "Poot/Model/Family.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace poot;
using namespace poot::model;
using weights::ElementType;
using weights::StatusCode;

namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.vocabSize = 32;
  config.hiddenSize = 16;
  config.layers = 1;
  config.heads = 4;
  config.kvHeads = 2;
  config.headDim = 4;
  config.ffnSize = 24;
  config.contextLength = 64;
  config.rope.dim = 4;
  return config;
}

TEST(Config, Rules) {
  EXPECT_TRUE(verify(tiny(), "x").ok()) << verify(tiny(), "x").message();
  auto expectMessage = [](auto change, const char *part) {
    ModelConfig config = tiny();
    change(config);
    weights::Status status = verify(config, "FILE");
    EXPECT_EQ(status.code(), StatusCode::Malformed);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().rfind("FILE: ", 0), 0u) << status.message();
  };
  expectMessage([](ModelConfig &c) { c.heads = 0; }, "number of heads is 0");
  expectMessage([](ModelConfig &c) { c.layers = 1000000; },
                "number of layers is 1000000; it must be 1 to 4096");
  expectMessage([](ModelConfig &c) { c.kvHeads = 3; },
                "4 heads do not divide among 3 key/value heads");
  expectMessage([](ModelConfig &c) { c.rope.dim = 3; }, "3 rotating elements");
  expectMessage([](ModelConfig &c) { c.rope.dim = 6; }, "6 rotating elements");
  expectMessage([](ModelConfig &c) { c.normEpsilon = 0; }, "norm epsilon");
  expectMessage([](ModelConfig &c) { c.rope.base = NAN; }, "rope base");
}

TEST(Config, RopeFrequencies) {
  RopeConfig rope;
  rope.dim = 8;
  std::vector<float> plain = ropeFrequencies(rope);
  ASSERT_EQ(plain.size(), 4u);
  for (int i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(plain[i], std::pow(10000.0, -i / 4.0));
  rope.scaling = RopeScaling::Linear;
  rope.factor = 4;
  std::vector<float> linear = ropeFrequencies(rope);
  for (int i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(linear[i], plain[i] / 4);
}

/// Values of transformers' _compute_llama3_parameters for Llama 3.2 1B: base
/// 500000, dim 64, factor 32, low 1, high 4, original context 8192.
TEST(Config, Llama3Scaling) {
  RopeConfig rope;
  rope.base = 500000;
  rope.dim = 64;
  rope.scaling = RopeScaling::Llama3;
  rope.factor = 32;
  std::vector<float> frequencies = ropeFrequencies(rope);
  ASSERT_EQ(frequencies.size(), 32u);
  EXPECT_NEAR(frequencies[0] / 1, 1, 1e-6);
  EXPECT_NEAR(frequencies[5] / 0.128687382, 1, 1e-6);
  EXPECT_NEAR(frequencies[13] / 0.00483942125, 1, 1e-6);
  EXPECT_NEAR(frequencies[14] / 0.00321144611, 1, 1e-6);
  EXPECT_NEAR(frequencies[15] / 0.00129054801, 1, 1e-6);
  EXPECT_NEAR(frequencies[16] / 0.000429556705, 1, 1e-6);
  EXPECT_NEAR(frequencies[17] / 9.70828623e-05, 1, 1e-6);
  EXPECT_NEAR(frequencies[18] / 1.94616387e-05, 1, 1e-6);
  EXPECT_NEAR(frequencies[20] / 8.57025589e-06, 1, 1e-6);
  EXPECT_NEAR(frequencies[31] / 9.41830649e-08, 1, 1e-6);
}

TEST(Registry, ListsKnownFamilies) {
  auto family = findFamily("llama", "FILE");
  ASSERT_TRUE(family);
  EXPECT_STREQ((*family)->name(), "llama");
  auto unknown = findFamily("mamba", "FILE");
  EXPECT_EQ(unknown.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(unknown.status().message(),
            "FILE: the model family 'mamba' is unknown; known are llama");
}

TEST(Presets, HaveTheirPublishedSizes) {
  // Parameters in all, from the models' own pages.
  const std::pair<const char *, int64_t> counts[] = {
      {"smollm2-135m", 134515008},  {"smollm2-360m", 361821120},
      {"smollm2-1.7b", 1711376384}, {"tinyllama-1.1b", 1100048384},
      {"llama2-7b", 6738415616},    {"llama3-8b", 8030261248},
      {"llama3.1-8b", 8030261248},  {"llama3.1-70b", 70553706496},
      {"llama3.2-1b", 1235814400},  {"llama3.2-3b", 3212749824}};
  EXPECT_EQ(std::size(counts), presetNames().size());
  for (auto [name, count] : counts) {
    auto model = presetModel(name, ElementType::BF16);
    ASSERT_TRUE(model) << model.status().message();
    int64_t sum = 0;
    for (auto &[role, weight] : model->weights)
      sum += *weights::countElements(weight.type.shape);
    EXPECT_EQ(sum, count) << name;
  }
}

TEST(Presets, Errors) {
  auto unknown = presetModel("llama9-1t", ElementType::BF16);
  EXPECT_EQ(unknown.status().code(), StatusCode::NotFound);
  EXPECT_NE(unknown.status().message().find("'llama9-1t' is unknown; known are "
                                            "smollm2-135m, "),
            std::string::npos);
  auto blocks = presetModel("smollm2-135m", ElementType::Q4_K);
  EXPECT_EQ(blocks.status().code(), StatusCode::InvalidArgument)
      << "rows of 576 are not whole blocks of 256";
  auto type = presetModel("smollm2-135m", ElementType::I8);
  EXPECT_EQ(type.status().code(), StatusCode::Unsupported);
  EXPECT_TRUE(presetModel("llama3-8b", ElementType::Q4_K));
}

} // namespace
