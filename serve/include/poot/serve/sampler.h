// Chooses the next token from the logits of a step, on the host.

#ifndef POOT_SERVE_SAMPLER_H
#define POOT_SERVE_SAMPLER_H

#include "poot/weights/status.h"

#include <cstdint>
#include <random>
#include <vector>

namespace poot::serve {

struct SamplingOptions {
  float temperature = 0; ///< 0: greedy, and the rest has no effect
  int32_t topK = 0;      ///< only the k likeliest tokens; 0: all
  float topP = 1;        ///< only the likeliest that together reach p
  uint64_t seed = 0;

  bool isGreedy() const { return temperature == 0; }
};

/// The index of the largest logit, the first of equals. An error if a logit is
/// not a number.
weights::Expected<int32_t> argMax(const float *logits, int64_t count);

/// Samples softmax(logits / temperature), cut to the top k, then to the top p
/// of what is left. The same seed and logits give the same tokens.
class Sampler {
public:
  /// Checks the options: temperature ≥ 0, topK ≥ 0, 0 < topP ≤ 1.
  static weights::Expected<Sampler> create(const SamplingOptions &options);

  /// An error if a logit is NaN or positive infinity, or all are negative
  /// infinity (which excludes a token).
  weights::Expected<int32_t> sample(const float *logits, int64_t count);

private:
  explicit Sampler(const SamplingOptions &options)
      : options(options), random(options.seed) {}

  SamplingOptions options;
  std::mt19937_64 random;
  std::vector<int32_t> order;        // reused between calls
  std::vector<double> probabilities; // likewise
};

} // namespace poot::serve

#endif // POOT_SERVE_SAMPLER_H
