//===- Presets.cpp - Named model shapes without weights -------------------===//
//
// For compiling and measuring a model's shape without its file. The numbers are
// those of the models' published configurations.
//
//===----------------------------------------------------------------------===//

#include "Poot/Model/Family.h"

using namespace poot;
using namespace poot::model;
using weights::ElementType;
using weights::Expected;
using weights::makeError;
using weights::StatusCode;

namespace {
struct Preset {
  const char *name;
  const char *family;
  int64_t vocabSize, hiddenSize, layers, heads, kvHeads, headDim, ffnSize,
      contextLength;
  double ropeBase;
  double llama3Factor; ///< 0: frequencies are not scaled.
  bool tiedEmbeddings;
};
} // namespace

static constexpr Preset kPresets[] = {
    // clang-format off
    // name            family   vocab   hidden layers heads kv head   ffn  context    base  scale  tied
    {"smollm2-135m",  "llama",  49152,   576,  30,    9,   3,  64,  1536,   8192, 100000,     0, true},
    {"smollm2-360m",  "llama",  49152,   960,  32,   15,   5,  64,  2560,   8192, 100000,     0, true},
    {"smollm2-1.7b",  "llama",  49152,  2048,  24,   32,  32,  64,  8192,   8192, 130000,     0, true},
    {"tinyllama-1.1b","llama",  32000,  2048,  22,   32,   4,  64,  5632,   2048,  10000,     0, false},
    {"llama2-7b",     "llama",  32000,  4096,  32,   32,  32, 128, 11008,   4096,  10000,     0, false},
    {"llama3-8b",     "llama", 128256,  4096,  32,   32,   8, 128, 14336,   8192, 500000,     0, false},
    {"llama3.1-8b",   "llama", 128256,  4096,  32,   32,   8, 128, 14336, 131072, 500000,     8, false},
    {"llama3.1-70b",  "llama", 128256,  8192,  80,   64,   8, 128, 28672, 131072, 500000,     8, false},
    {"llama3.2-1b",   "llama", 128256,  2048,  16,   32,   8,  64,  8192, 131072, 500000,    32, true},
    {"llama3.2-3b",   "llama", 128256,  3072,  28,   24,   8, 128,  8192, 131072, 500000,    32, true},
    // clang-format on
};

std::vector<std::string> model::presetNames() {
  std::vector<std::string> names;
  for (const Preset &preset : kPresets)
    names.push_back(preset.name);
  return names;
}

Expected<Model> model::presetModel(std::string_view name,
                                   ElementType weightType) {
  const Preset *found = nullptr;
  std::string known;
  for (const Preset &preset : kPresets) {
    if (name == preset.name)
      found = &preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  if (!found)
    return makeError(StatusCode::NotFound, "the model shape ",
                     weights::quoted(name), " is unknown; known are ", known);
  if (!weights::isPacked(weightType) && weightType != ElementType::F32 &&
      weightType != ElementType::F16 && weightType != ElementType::BF16)
    return makeError(StatusCode::Unsupported, "weights of type ",
                     weights::getName(weightType),
                     "; allowed are f32, f16, bf16 and the packed types");

  Model model;
  Expected<const Family *> family = findFamily(found->family, found->name);
  if (!family)
    return family.status();
  model.family = *family;
  ModelConfig &config = model.config;
  config.source = Source::Gguf;
  config.vocabSize = found->vocabSize;
  config.hiddenSize = found->hiddenSize;
  config.layers = found->layers;
  config.heads = found->heads;
  config.kvHeads = found->kvHeads;
  config.headDim = found->headDim;
  config.ffnSize = found->ffnSize;
  config.contextLength = found->contextLength;
  config.rope.base = found->ropeBase;
  config.rope.dim = found->headDim;
  config.tiedEmbeddings = found->tiedEmbeddings;
  if (found->llama3Factor != 0) {
    config.rope.scaling = RopeScaling::Llama3;
    config.rope.factor = found->llama3Factor;
  }
  if (weights::Status status = verify(config, found->name); !status.ok())
    return status;
  for (const WeightSpec &spec : model.family->weights(config)) {
    if (spec.optional)
      continue;
    bool isMatrix = spec.shape.size() == 2;
    trace::TensorType type = {isMatrix ? weightType : ElementType::F32,
                              spec.shape};
    if (Expected<int64_t> bytes = weights::countBytes(type.element, type.shape);
        !bytes)
      return makeError(StatusCode::InvalidArgument, found->name, ": ",
                       spec.role, ": ", bytes.status().message());
    model.weights[spec.role] = {spec.role, type};
  }
  return model;
}
