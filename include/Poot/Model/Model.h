//===- Model.h - A configuration, its weights and its family --------------===//
//
// From a checkpoint (or a preset without weights) to the steps of a model. The
// weights' bytes are never read here: a Model holds names, types and shapes.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_MODEL_MODEL_H
#define POOT_MODEL_MODEL_H

#include "Poot/Model/Config.h"
#include "Poot/Trace/Builder.h"
#include "Poot/Trace/StepShape.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace poot::weights {
class Checkpoint;
}

namespace poot::model {

class Family;

/// A tensor of the checkpoint.
struct Weight {
  std::string name;
  trace::TensorType type;
};

struct Model {
  const Family *family = nullptr;
  ModelConfig config;
  /// By role, which is the name that the tensor has in a GGUF file.
  std::map<std::string, Weight> weights;
};

/// The model in CHECKPOINT: family and configuration from the GGUF metadata, or
/// from config.json beside the safetensors files; every tensor that the family
/// asks for present with its shape. Errors: an unknown family (Unsupported; the
/// message lists the known ones), a feature that the family does not cover
/// (Unsupported), a missing, mis-shaped or unexpected tensor (Malformed; the
/// message names it, the expected and the found).
weights::Expected<Model> readModel(const weights::Checkpoint &checkpoint);

/// The model of a named shape, as if its matrices were stored as WEIGHTTYPE
/// (f32, f16, bf16 or packed) in a GGUF file. Errors: no such name (NotFound;
/// the message lists them), rows that are not whole blocks of WEIGHTTYPE.
weights::Expected<Model> presetModel(std::string_view name,
                                     weights::ElementType weightType);

/// "llama3-8b", ...
std::vector<std::string> presetNames();

/// Traces one entry, named getEntryName(shape), into B's module.
///
/// Slots: `token`, `pos` (-1 is padding) and `write_map` (the cache slot that a
/// token is written to; -1 drops it) i32 [rows, tokens]; `last` i32 [rows],
/// each row's last real token within this step, unless all logits return;
/// paged: `block_table` i32 [rows, capacity / blockSize]. Outputs: `next_token`
/// i32 [rows], or `logits` f32 [rows, vocab] or [rows, tokens, vocab]. States:
/// `k.N` and `v.N`, [rows * capacity, kvHeads, headDim]; paged with an open
/// outermost extent.
weights::Status traceStep(const Model &model, const trace::StepShape &shape,
                          trace::Builder &b);

} // namespace poot::model

#endif // POOT_MODEL_MODEL_H
