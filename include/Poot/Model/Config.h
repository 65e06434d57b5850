//===- Config.h - What a model's configuration says -----------------------===//
//
// The numbers that a decoder's step is traced from, read from GGUF metadata or
// from a Hugging Face config.json. All values are checked when they are read:
// extents are positive and bounded, heads divide evenly.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_MODEL_CONFIG_H
#define POOT_MODEL_CONFIG_H

#include "poot/weights/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace poot::model {

/// Whose conventions the tensors follow: names, and the order of Q and K rows.
enum class Source { Gguf, HuggingFace };

enum class RopeScaling {
  None,
  Linear, ///< All frequencies divided by `factor`.
  Llama3, ///< Low frequencies divided, with a smooth passage (Llama 3.1).
};

struct RopeConfig {
  double base = 10000;
  int64_t dim = 0; ///< Elements of a head that rotate; even.
  RopeScaling scaling = RopeScaling::None;
  double factor = 1;
  double lowFrequencyFactor = 1;
  double highFrequencyFactor = 4;
  double originalContext = 8192;
};

struct ModelConfig {
  Source source = Source::Gguf;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  int64_t ffnSize = 0;
  int64_t contextLength = 0;
  double normEpsilon = 1e-5;
  RopeConfig rope;
  bool tiedEmbeddings = false; ///< The output matrix is the embedding table.
  bool attentionBias = false;  ///< On Q, K, V and the attention's output.
  bool mlpBias = false;
};

/// Success, or the number that makes no model. WHERE names the configuration.
weights::Status verify(const ModelConfig &config, const std::string &where);

/// Positions of each row that a cache holds where the user asks for no other
/// number: the model's context length, at most 2048.
int64_t defaultCapacity(const ModelConfig &config);

/// Rotation of pair i in radians a position, for i below rope.dim / 2, scaling
/// included: base^(-2i / dim). The Llama-3 scaling is that of the released
/// model's code (llama-models, apply_scaling).
std::vector<float> ropeFrequencies(const RopeConfig &rope);

} // namespace poot::model

#endif // POOT_MODEL_CONFIG_H
