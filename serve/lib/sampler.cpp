// Sampling from logits.

#include "poot/serve/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

Expected<int32_t> poot::serve::argMax(const float *logits, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(logits[i]))
      return makeError(StatusCode::Internal, "logit ", i,
                       " is not a number; the step's result is unusable");
    if (logits[i] > logits[best])
      best = i;
  }
  return static_cast<int32_t>(best);
}

Expected<Sampler> Sampler::create(const SamplingOptions &options) {
  auto bad = [](const char *what) {
    return Status(StatusCode::InvalidArgument, what);
  };
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    return bad("the temperature must be 0 (greedy) or a positive number");
  if (options.topK < 0)
    return bad("top-k must be 0 (all tokens) or a positive number");
  if (!(options.topP > 0) || options.topP > 1)
    return bad("top-p must be above 0 and at most 1");
  return Sampler(options);
}

Expected<int32_t> Sampler::sample(const float *logits, int64_t count) {
  Expected<int32_t> likeliest = argMax(logits, count);
  if (!likeliest || options.isGreedy())
    return likeliest;
  float largest = logits[*likeliest];
  if (std::isinf(largest))
    return makeError(StatusCode::Internal,
                     largest > 0 ? "a logit is infinite"
                                 : "every token is excluded",
                     "; the step's result is unusable");

  // A total order, so that the result does not depend on the sort.
  auto likelier = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  if (options.topK > 0 && options.topK < count) {
    std::nth_element(order.begin(), order.begin() + options.topK, order.end(),
                     likelier);
    order.resize(options.topK);
  }
  std::sort(order.begin(), order.end(), likelier);

  probabilities.resize(order.size());
  double total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    double scaled =
        (double(logits[order[i]]) - double(largest)) / options.temperature;
    total += probabilities[i] = std::exp(scaled);
  }
  double kept = 0;
  size_t size = 0;
  while (size < order.size() && probabilities[size] > 0 &&
         (size == 0 || kept < options.topP * total))
    kept += probabilities[size++];

  // 53 random bits as a fraction in [0, 1): the standard fixes the engine's
  // sequence, but not that of its distributions.
  double target = double(random() >> 11) * 0x1p-53 * kept;
  size_t chosen = 0;
  while (chosen + 1 < size && target >= probabilities[chosen])
    target -= probabilities[chosen++];
  return order[chosen];
}
