// Sampling: each option cuts what it says, frequencies follow the softmax, and
// broken logits are errors.

#include "poot/serve/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace poot;
using namespace poot::serve;

static const std::vector<float> logits = {1.0f, 3.0f, -INFINITY, 2.0f,
                                          3.0f, 0.0f, -2.0f};

/// How often each token comes in 20000 draws.
static std::map<int32_t, double> frequencies(const SamplingOptions &options) {
  auto sampler = Sampler::create(options);
  EXPECT_TRUE(sampler);
  std::map<int32_t, double> counts;
  for (int i = 0; i < 20000; ++i) {
    auto token = sampler->sample(logits.data(), logits.size());
    EXPECT_TRUE(token);
    counts[*token] += 1.0 / 20000;
  }
  return counts;
}

/// Softmax over the given tokens alone.
static void expectSoftmax(const std::map<int32_t, double> &measured,
                          std::vector<int32_t> tokens, double temperature) {
  double total = 0;
  for (int32_t token : tokens)
    total += std::exp(logits[token] / temperature);
  EXPECT_EQ(measured.size(), tokens.size());
  for (int32_t token : tokens) {
    auto found = measured.find(token);
    ASSERT_NE(found, measured.end()) << token;
    // Five standard deviations of the worst case.
    EXPECT_NEAR(found->second, std::exp(logits[token] / temperature) / total,
                0.018);
  }
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  auto sampler = Sampler::create({});
  auto token = sampler->sample(logits.data(), logits.size());
  ASSERT_TRUE(token);
  EXPECT_EQ(*token, 1);
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  expectSoftmax(frequencies({1.0f, 0, 1.0f, 1}), {0, 1, 3, 4, 5, 6}, 1.0);
  expectSoftmax(frequencies({2.5f, 0, 1.0f, 2}), {0, 1, 3, 4, 5, 6}, 2.5);
}

TEST(Sampler, TopKKeepsTheLikeliest) {
  expectSoftmax(frequencies({1.0f, 3, 1.0f, 3}), {1, 3, 4}, 1.0);
  // Of equals the first.
  expectSoftmax(frequencies({1.0f, 1, 1.0f, 4}), {1}, 1.0);
  expectSoftmax(frequencies({1.0f, 100, 1.0f, 5}), {0, 1, 3, 4, 5, 6}, 1.0);
}

TEST(Sampler, TopPKeepsTheLikeliestThatReachIt) {
  // Probabilities: tokens 1 and 4 have 0.394 each, 3 has 0.145, 0 has 0.053.
  expectSoftmax(frequencies({1.0f, 0, 0.3f, 6}), {1}, 1.0);
  expectSoftmax(frequencies({1.0f, 0, 0.7f, 7}), {1, 4}, 1.0);
  expectSoftmax(frequencies({1.0f, 0, 0.9f, 8}), {1, 3, 4}, 1.0);
  // After top-k it is a share of what is left: 0.7 of 0.933 with three.
  expectSoftmax(frequencies({1.0f, 3, 0.84f, 9}), {1, 4}, 1.0);
}

TEST(Sampler, TheSeedDecides) {
  auto draw = [](uint64_t seed) {
    auto sampler = Sampler::create({1.0f, 0, 1.0f, seed});
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; ++i)
      tokens.push_back(*sampler->sample(logits.data(), logits.size()));
    return tokens;
  };
  EXPECT_EQ(draw(11), draw(11));
  EXPECT_NE(draw(11), draw(12));
}

TEST(Sampler, RejectsOptionsOutOfRange) {
  auto messageOf = [](SamplingOptions options) {
    auto sampler = Sampler::create(options);
    return sampler ? "" : sampler.status().message();
  };
  EXPECT_NE(messageOf({-1.0f}), "");
  EXPECT_NE(messageOf({NAN}), "");
  EXPECT_NE(messageOf({INFINITY}), "");
  EXPECT_NE(messageOf({1.0f, -1}), "");
  EXPECT_NE(messageOf({1.0f, 0, 0.0f}), "");
  EXPECT_NE(messageOf({1.0f, 0, 1.5f}), "");
  EXPECT_NE(messageOf({1.0f, 0, NAN}), "");
}

TEST(Sampler, RejectsLogitsThatAreNoNumbers) {
  auto sampler = Sampler::create({1.0f});
  auto messageOf = [&](std::vector<float> broken) {
    auto token = sampler->sample(broken.data(), broken.size());
    return token ? "" : token.status().message();
  };
  EXPECT_NE(messageOf({0, NAN}).find("logit 1 is not a number"),
            std::string::npos);
  EXPECT_NE(messageOf({NAN, 0}).find("logit 0"), std::string::npos);
  EXPECT_NE(messageOf({0, INFINITY}).find("infinite"), std::string::npos);
  EXPECT_NE(messageOf({-INFINITY, -INFINITY}).find("excluded"),
            std::string::npos);
}
