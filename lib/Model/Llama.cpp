//===- Llama.cpp - The Llama family ---------------------------------------===//
//
// Decoders in the form of Llama 1 to 3 and those that share it (SmolLM2,
// TinyLlama): RMS norms before attention and feed-forward, rotary positions,
// grouped key/value heads, SwiGLU, tied or own output matrix.
//
// GGUF files of this family store the rows of Q and K permuted, so that pairs
// which rotate together are adjacent; safetensors have them half a head apart.
// The permutation is the same for Q and K and cancels in their products, so a
// step simply rotates in the form that its source has, and no weight moves.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "Poot/Trace/Ops.h"

#include <cmath>

using namespace poot;
using namespace poot::model;
using namespace poot::trace;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

namespace {

class LlamaFamily : public Family {
public:
  const char *name() const override { return "llama"; }
  Expected<ModelConfig> readGguf(const weights::Gguf &gguf) const override;
  Expected<ModelConfig> readHuggingFace(JsonReader &json) const override;
  std::vector<WeightSpec> weights(const ModelConfig &config) const override;
  void traceStep(const Model &model, const StepShape &shape,
                 trace::Builder &b) const override;
};

} // namespace

const Family &model::getLlamaFamily() {
  static const LlamaFamily family;
  return family;
}

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

static Status unsupported(const std::string &where, const std::string &what) {
  return makeError(StatusCode::Unsupported, where, ": ", what);
}

Expected<ModelConfig> LlamaFamily::readGguf(const weights::Gguf &gguf) const {
  GgufReader keys(gguf, "llama");
  ModelConfig config;
  config.source = Source::Gguf;
  config.hiddenSize = keys.integer("embedding_length");
  config.layers = keys.integer("block_count");
  config.heads = keys.integer("attention.head_count");
  config.kvHeads = keys.integer("attention.head_count_kv", config.heads);
  config.ffnSize = keys.integer("feed_forward_length");
  config.contextLength = keys.integer("context_length");
  config.normEpsilon = keys.number("attention.layer_norm_rms_epsilon");
  int64_t share = config.heads > 0 ? config.hiddenSize / config.heads : 0;
  config.headDim = keys.integer("attention.key_length", share);
  config.rope.dim = keys.integer("rope.dimension_count", config.headDim);
  config.rope.base = keys.number("rope.freq_base", 10000.0);
  // Older files give the vocabulary by the embedding table alone.
  const weights::TensorView *table = gguf.findTensor("token_embd.weight");
  int64_t rows = table && table->shape.size() == 2 ? table->shape[0] : 0;
  config.vocabSize = keys.integer("vocab_size", rows);
  config.tiedEmbeddings = !gguf.findTensor("output.weight");
  config.attentionBias = gguf.findTensor("blk.0.attn_q.bias");
  config.mlpBias = gguf.findTensor("blk.0.ffn_gate.bias");

  std::string scaling = keys.text("rope.scaling.type", "none");
  if (scaling == "linear") {
    config.rope.scaling = RopeScaling::Linear;
    config.rope.factor = keys.number("rope.scaling.factor");
  } else if (scaling != "none") {
    return unsupported(gguf.name(), "rope scaling of type " +
                                        weights::quoted(scaling) +
                                        "; supported are none and linear, and "
                                        "Llama 3's by its rope_freqs.weight");
  } else if (keys.has("rope.scale_linear")) {
    config.rope.scaling = RopeScaling::Linear;
    config.rope.factor = keys.number("rope.scale_linear");
  }
  int64_t valueLength = keys.integer("attention.value_length", config.headDim);
  int64_t experts = keys.integer("expert_count", int64_t(0));
  int64_t window = keys.integer("attention.sliding_window", int64_t(0));
  if (!keys.status().ok())
    return keys.status();
  if (valueLength != config.headDim)
    return unsupported(gguf.name(), "value heads of " +
                                        std::to_string(valueLength) +
                                        " beside key heads of " +
                                        std::to_string(config.headDim));
  if (experts != 0)
    return unsupported(gguf.name(),
                       "a mixture of " + std::to_string(experts) + " experts");
  if (window != 0)
    return unsupported(gguf.name(), "a sliding window of " +
                                        std::to_string(window) + " positions");
  return config;
}

/// rope_scaling of older files, rope_parameters (with the base) of newer ones.
static Status readRope(JsonReader &json, RopeConfig &rope) {
  rope.base = json.number("rope_theta", 10000.0);
  const char *member =
      json.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!json.has(member))
    return {};
  Expected<JsonReader> found = json.object(member);
  if (!found)
    return found.status();
  JsonReader &object = *found;
  rope.base = object.number("rope_theta", rope.base);
  std::string type = object.text("rope_type", object.text("type", "default"));
  if (type == "linear") {
    rope.scaling = RopeScaling::Linear;
    rope.factor = object.number("factor");
  } else if (type == "llama3") {
    rope.scaling = RopeScaling::Llama3;
    rope.factor = object.number("factor");
    rope.lowFrequencyFactor = object.number("low_freq_factor");
    rope.highFrequencyFactor = object.number("high_freq_factor");
    rope.originalContext = object.number("original_max_position_embeddings");
  } else if (type != "default") {
    return unsupported(json.path(), "rope scaling of type " +
                                        weights::quoted(type) +
                                        "; supported are default, linear and "
                                        "llama3");
  }
  return object.status();
}

Expected<ModelConfig> LlamaFamily::readHuggingFace(JsonReader &json) const {
  ModelConfig config;
  config.source = Source::HuggingFace;
  config.vocabSize = json.integer("vocab_size");
  config.hiddenSize = json.integer("hidden_size");
  config.layers = json.integer("num_hidden_layers");
  config.heads = json.integer("num_attention_heads");
  config.kvHeads = json.integer("num_key_value_heads", config.heads);
  int64_t share = config.heads > 0 ? config.hiddenSize / config.heads : 0;
  config.headDim = json.integer("head_dim", share);
  config.ffnSize = json.integer("intermediate_size");
  config.contextLength = json.integer("max_position_embeddings", 2048);
  config.normEpsilon = json.number("rms_norm_eps", 1e-6);
  config.tiedEmbeddings = json.boolean("tie_word_embeddings", false);
  config.attentionBias = json.boolean("attention_bias", false);
  config.mlpBias = json.boolean("mlp_bias", false);
  config.rope.dim = config.headDim;
  std::string activation = json.text("hidden_act", "silu");
  if (Status status = readRope(json, config.rope); !status.ok())
    return status;
  if (!json.status().ok())
    return json.status();
  if (activation != "silu")
    return unsupported(json.path(), "hidden_act " +
                                        weights::quoted(activation) +
                                        "; the family llama has silu");
  return config;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::vector<WeightSpec> LlamaFamily::weights(const ModelConfig &config) const {
  int64_t hidden = config.hiddenSize, ffn = config.ffnSize;
  int64_t queries = config.heads * config.headDim;
  int64_t keys = config.kvHeads * config.headDim;

  std::vector<WeightSpec> specs = {
      {"token_embd.weight",
       "model.embed_tokens.weight",
       {config.vocabSize, hidden}},
      {"output_norm.weight", "model.norm.weight", {hidden}},
      // Divisors of the rotation frequencies: Llama 3's scaling in GGUF.
      {"rope_freqs.weight", "", {config.rope.dim / 2}, /*optional=*/true},
  };
  // Some files hold the tied matrix twice; the embedding table serves then.
  specs.push_back({"output.weight",
                   "lm_head.weight",
                   {config.vocabSize, hidden},
                   config.tiedEmbeddings});

  struct LayerWeight {
    const char *role, *huggingFace;
    weights::Shape shape;
    bool hasBias;
  };
  const LayerWeight layer[] = {
      {"attn_norm", "input_layernorm", {hidden}, false},
      {"attn_q", "self_attn.q_proj", {queries, hidden}, config.attentionBias},
      {"attn_k", "self_attn.k_proj", {keys, hidden}, config.attentionBias},
      {"attn_v", "self_attn.v_proj", {keys, hidden}, config.attentionBias},
      {"attn_output",
       "self_attn.o_proj",
       {hidden, queries},
       config.attentionBias},
      {"ffn_norm", "post_attention_layernorm", {hidden}, false},
      {"ffn_gate", "mlp.gate_proj", {ffn, hidden}, config.mlpBias},
      {"ffn_up", "mlp.up_proj", {ffn, hidden}, config.mlpBias},
      {"ffn_down", "mlp.down_proj", {hidden, ffn}, config.mlpBias},
  };
  for (int64_t i = 0; i < config.layers; ++i) {
    std::string blk = "blk." + std::to_string(i) + ".";
    std::string layers = "model.layers." + std::to_string(i) + ".";
    for (const LayerWeight &weight : layer) {
      specs.push_back({blk + weight.role + ".weight",
                       layers + weight.huggingFace + ".weight", weight.shape});
      if (weight.hasBias)
        specs.push_back({blk + weight.role + ".bias",
                         layers + weight.huggingFace + ".bias",
                         {weight.shape[0]}});
    }
  }
  return specs;
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

namespace {

/// One step under construction.
class Step {
public:
  Step(const Model &model, const StepShape &shape, trace::Builder &b)
      : model(model), config(model.config), shape(shape), b(b),
        activation(shape.numerics.activation) {}

  void trace();

private:
  /// The tensor of ROLE; falsy, without an error, where there is none.
  Traced weight(const std::string &role) {
    auto it = model.weights.find(role);
    return it == model.weights.end()
               ? Traced()
               : b.weight(it->second.name, it->second.type);
  }
  Traced project(Traced x, const std::string &role) {
    return linear(b, x, weight(role + ".weight"), activation,
                  weight(role + ".bias"));
  }
  Traced frequencies();
  CacheView cacheView();
  /// Writes VALUE [rows, tokens, kvHeads, d] into the state NAME and reads all
  /// positions back.
  Traced updateCache(const std::string &name, Traced value);
  Traced attend(Traced x, const std::string &blk, int64_t layer);
  Traced feedForward(Traced x, const std::string &blk);
  void finish(Traced x);

  const Model &model;
  const ModelConfig &config;
  const StepShape &shape;
  trace::Builder &b;
  ElementType activation;

  // Shared by all layers.
  Traced writeMap, last, bias;
  RopeAngles angles;
  CacheView view;
};

} // namespace

Traced Step::frequencies() {
  Traced base = b.literal(ropeFrequencies(config.rope), {config.rope.dim / 2});
  Traced divisors = weight("rope_freqs.weight");
  if (!divisors)
    return base;
  return b.binary("div", base, weightValues(b, divisors, ElementType::F32));
}

CacheView Step::cacheView() {
  if (shape.cache == CacheLayout::Contiguous)
    return {shape.rows, shape.capacity, {}};
  Traced table =
      b.input("block_table", {ElementType::I32,
                              {shape.rows, shape.capacity / shape.blockSize}});
  return pagedView(b, table, shape.blockSize);
}

Traced Step::updateCache(const std::string &name, Traced value) {
  int64_t slots = shape.cache == CacheLayout::Paged
                      ? kOpenExtent
                      : shape.rows * shape.capacity;
  Traced old = b.state(
      name, {shape.numerics.kv, {slots, config.kvHeads, config.headDim}});
  Traced updated = b.scatter(old, writeMap, b.cast(value, shape.numerics.kv));
  b.setState(name, updated);
  return readCache(b, updated, view);
}

Traced Step::attend(Traced x, const std::string &blk, int64_t layer) {
  trace::Builder::Scope scope(b, "attention");
  auto heads = [&](Traced value, int64_t count) {
    return b.reshape(value, {shape.rows, shape.tokens, count, config.headDim});
  };
  Traced h =
      rmsNorm(b, x, weight(blk + "attn_norm.weight"), config.normEpsilon);
  Traced q = rope(b, heads(project(h, blk + "attn_q"), config.heads), angles);
  Traced k = rope(b, heads(project(h, blk + "attn_k"), config.kvHeads), angles);
  Traced v = heads(project(h, blk + "attn_v"), config.kvHeads);
  std::string index = std::to_string(layer);
  Traced keys = updateCache("k." + index, k);
  Traced values = updateCache("v." + index, v);
  Traced y = attention(b, q, keys, values, bias,
                       1 / std::sqrt(static_cast<double>(config.headDim)));
  return b.binary("add", x, project(y, blk + "attn_output"));
}

Traced Step::feedForward(Traced x, const std::string &blk) {
  trace::Builder::Scope scope(b, "feed_forward");
  Traced h = rmsNorm(b, x, weight(blk + "ffn_norm.weight"), config.normEpsilon);
  Traced y =
      swiglu(b, project(h, blk + "ffn_gate"), project(h, blk + "ffn_up"));
  return b.binary("add", x, project(y, blk + "ffn_down"));
}

void Step::finish(Traced x) {
  trace::Builder::Scope scope(b, "output");
  if (shape.logits == LogitsRows::Last) {
    // Only each row's last real token goes through the output matrix.
    Traced rows = b.reshape(x, {shape.rows * shape.tokens, config.hiddenSize});
    Traced first = b.binary("mul", b.iota({ElementType::I32, {shape.rows}}, 0),
                            static_cast<double>(shape.tokens));
    x = b.gather(rows, b.binary("add", first, b.binary("max", last, 0.0)), 0);
  }
  x = rmsNorm(b, x, weight("output_norm.weight"), config.normEpsilon);
  Traced matrix =
      weight(config.tiedEmbeddings ? "token_embd.weight" : "output.weight");
  Traced logits = linear(b, x, matrix, ElementType::F32);
  if (shape.suffix == Suffix::Logits)
    return b.output("logits", logits);
  b.output("next_token", b.reshape(b.argTopK(logits, 1).indices, {shape.rows}));
}

void Step::trace() {
  TensorType perToken = {ElementType::I32, {shape.rows, shape.tokens}};
  Traced token = b.input("token", perToken);
  Traced pos = b.input("pos", perToken);
  writeMap = b.input("write_map", perToken);
  if (shape.logits == LogitsRows::Last)
    last = b.input("last", {ElementType::I32, {shape.rows}});
  view = cacheView();
  angles = ropeAngles(b, pos, frequencies(), shape.capacity,
                      config.source == Source::Gguf ? RopeForm::AdjacentPair
                                                    : RopeForm::HalfSplit);
  bias = causalBias(b, pos, shape.capacity);

  Traced x = embedding(b, token, weight("token_embd.weight"), activation);
  for (int64_t i = 0; i < config.layers && !b.error(); ++i) {
    std::string name = "blk." + std::to_string(i);
    trace::Builder::Scope scope(b, name);
    x = attend(x, name + ".", i);
    x = feedForward(x, name + ".");
  }
  finish(x);
}

void LlamaFamily::traceStep(const Model &model, const StepShape &shape,
                            trace::Builder &b) const {
  Step(model, shape, b).trace();
}
