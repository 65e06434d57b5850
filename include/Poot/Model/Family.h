//===- Family.h - What a model family provides ----------------------------===//
//
// A family reads its configuration, names the tensors it needs and traces a
// step. Adding one is a class and a line in Registry.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_MODEL_FAMILY_H
#define POOT_MODEL_FAMILY_H

#include "Poot/Model/ConfigReader.h"
#include "Poot/Model/Model.h"

namespace poot::model {

/// A tensor that a family asks of a checkpoint.
struct WeightSpec {
  std::string role;        ///< Its name in a GGUF file.
  std::string huggingFace; ///< Its name in safetensors; empty: never there.
  weights::Shape shape;    ///< Outermost first.
  bool optional = false;
};

class Family {
public:
  virtual ~Family() = default;

  /// general.architecture in GGUF, model_type in config.json.
  virtual const char *name() const = 0;

  virtual weights::Expected<ModelConfig>
  readGguf(const weights::Gguf &gguf) const = 0;
  /// JSON, read from the file PATH.
  virtual weights::Expected<ModelConfig>
  readHuggingFace(JsonReader &json) const = 0;

  virtual std::vector<WeightSpec> weights(const ModelConfig &config) const = 0;

  /// Traces the ops, slots and outputs of a step; errors stay in B.
  virtual void traceStep(const Model &model, const trace::StepShape &shape,
                         trace::Builder &b) const = 0;
};

/// All families, in the order that messages list them.
const std::vector<const Family *> &families();

/// The family of that name. The error lists the known ones; WHERE names the
/// file.
weights::Expected<const Family *> findFamily(std::string_view name,
                                             const std::string &where);

} // namespace poot::model

#endif // POOT_MODEL_FAMILY_H
