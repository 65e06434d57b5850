//===- Config.cpp - What a model's configuration says ---------------------===//

#include "Poot/Model/Config.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace poot;
using namespace poot::model;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

Status model::verify(const ModelConfig &config, const std::string &where) {
  // Bounds far beyond any model, so that no later product overflows.
  struct Bound {
    const char *name;
    int64_t value, limit;
  };
  for (const Bound &bound :
       {Bound{"vocabulary size", config.vocabSize, int64_t(1) << 24},
        Bound{"hidden size", config.hiddenSize, int64_t(1) << 20},
        Bound{"number of layers", config.layers, 4096},
        Bound{"number of heads", config.heads, 4096},
        Bound{"number of key/value heads", config.kvHeads, 4096},
        Bound{"head size", config.headDim, int64_t(1) << 16},
        Bound{"feed-forward size", config.ffnSize, int64_t(1) << 22},
        Bound{"context length", config.contextLength, int64_t(1) << 24}})
    if (bound.value < 1 || bound.value > bound.limit)
      return makeError(StatusCode::Malformed, where, ": the ", bound.name,
                       " is ", bound.value, "; it must be 1 to ", bound.limit);
  if (config.heads % config.kvHeads != 0)
    return makeError(StatusCode::Malformed, where, ": ", config.heads,
                     " heads do not divide among ", config.kvHeads,
                     " key/value heads");
  if (config.rope.dim < 2 || config.rope.dim % 2 != 0 ||
      config.rope.dim > config.headDim)
    return makeError(StatusCode::Malformed, where, ": ", config.rope.dim,
                     " rotating elements of a head of ", config.headDim,
                     "; the number must be even, at least 2 and at most the "
                     "head size");
  for (auto [name, value] :
       {std::pair{"norm epsilon", config.normEpsilon},
        {"rope base", config.rope.base},
        {"rope scaling factor", config.rope.factor},
        {"rope low frequency factor", config.rope.lowFrequencyFactor},
        {"rope high frequency factor", config.rope.highFrequencyFactor},
        {"original context length", config.rope.originalContext}})
    if (!(value > 0) || !std::isfinite(value))
      return makeError(StatusCode::Malformed, where, ": the ", name, " is ",
                       std::to_string(value), "; it must be above 0");
  if (config.rope.scaling == RopeScaling::Llama3 &&
      !(config.rope.highFrequencyFactor > config.rope.lowFrequencyFactor))
    return makeError(StatusCode::Malformed, where,
                     ": the rope high frequency factor must exceed the low "
                     "one");
  return {};
}

int64_t model::defaultCapacity(const ModelConfig &config) {
  return std::min<int64_t>(config.contextLength, 2048);
}

std::vector<float> model::ropeFrequencies(const RopeConfig &rope) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < rope.dim / 2; ++i) {
    double frequency = std::pow(rope.base, -2.0 * static_cast<double>(i) /
                                               static_cast<double>(rope.dim));
    if (rope.scaling == RopeScaling::Linear) {
      frequency /= rope.factor;
    } else if (rope.scaling == RopeScaling::Llama3) {
      // Turns of this pair over the original context.
      double turns = rope.originalContext * frequency / (2 * M_PI);
      double smooth = (turns - rope.lowFrequencyFactor) /
                      (rope.highFrequencyFactor - rope.lowFrequencyFactor);
      if (turns < rope.lowFrequencyFactor)
        frequency /= rope.factor;
      else if (turns <= rope.highFrequencyFactor)
        frequency *= (1 - smooth) / rope.factor + smooth;
    }
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}
