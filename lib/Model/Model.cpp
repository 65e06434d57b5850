//===- Model.cpp - From a checkpoint to a model ---------------------------===//
//
// Finds family and configuration, and matches the checkpoint's tensors with
// those that the family asks for. A tensor that the family does not know is an
// error too: it may change the result.
//
//===----------------------------------------------------------------------===//

#include "Poot/Model/Family.h"

#include "poot/weights/checkpoint.h"

#include <filesystem>
#include <set>

using namespace poot;
using namespace poot::model;
using weights::Checkpoint;
using weights::ElementType;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;
using weights::TensorView;

/// Larger than any config.json by far.
static constexpr size_t kMaxConfigBytes = size_t(1) << 24;

/// config.json of a safetensors checkpoint: in the folder, or beside the file.
static Expected<JsonReader> readConfigJson(const std::string &checkpoint) {
  std::error_code error;
  std::filesystem::path folder(checkpoint);
  if (!std::filesystem::is_directory(folder, error))
    folder = folder.parent_path();
  std::string path = (folder / "config.json").string();
  Expected<weights::MappedFile> file = weights::MappedFile::open(path);
  if (!file)
    return file.status();
  weights::ByteSpan bytes = file->bytes();
  if (bytes.size > kMaxConfigBytes)
    return makeError(StatusCode::Malformed, path, ": ", bytes.size,
                     " bytes are too many for a configuration; at most ",
                     kMaxConfigBytes);
  return JsonReader::parse(
      std::string_view(reinterpret_cast<const char *>(bytes.data), bytes.size),
      path);
}

/// Fills in family and configuration.
static Status readConfig(const Checkpoint &checkpoint, Model &model) {
  std::string where = checkpoint.path();
  std::string name;
  Expected<ModelConfig> config = ModelConfig();
  if (const weights::Gguf *gguf = checkpoint.gguf()) {
    Expected<std::string_view> architecture =
        gguf->get<std::string_view>("general.architecture");
    if (!architecture)
      return architecture.status();
    Expected<const Family *> family = findFamily(*architecture, where);
    if (!family)
      return family.status();
    model.family = *family;
    config = model.family->readGguf(*gguf);
  } else {
    Expected<JsonReader> json = readConfigJson(where);
    if (!json)
      return json.status();
    where = json->path();
    Expected<const Family *> family =
        findFamily(json->text("model_type", ""), where);
    if (!json->status().ok())
      return json->status();
    if (!family)
      return family.status();
    model.family = *family;
    config = model.family->readHuggingFace(*json);
  }
  if (!config)
    return config.status();
  model.config = *config;
  return verify(model.config, where);
}

/// Tensors that checkpoints hold beside the weights and that no step reads.
static bool isIgnored(const std::string &name) {
  // Rotation frequencies, which follow from the configuration.
  constexpr std::string_view suffix = ".rotary_emb.inv_freq";
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

static Status matchWeights(const Checkpoint &checkpoint, Model &model) {
  bool isGguf = model.config.source == Source::Gguf;
  std::set<std::string> expected;
  for (const WeightSpec &spec : model.family->weights(model.config)) {
    const std::string &name = isGguf ? spec.role : spec.huggingFace;
    if (name.empty())
      continue;
    expected.insert(name);
    const TensorView *tensor = checkpoint.find(name);
    if (!tensor) {
      if (spec.optional)
        continue;
      return makeError(StatusCode::Malformed, checkpoint.path(), ": tensor ",
                       weights::quoted(name),
                       " is missing; the configuration asks for shape ",
                       weights::toString(spec.shape));
    }
    if (tensor->shape != spec.shape)
      return makeError(StatusCode::Malformed, checkpoint.path(), ": tensor ",
                       weights::quoted(name), " has shape ",
                       weights::toString(tensor->shape),
                       "; the configuration asks for ",
                       weights::toString(spec.shape));
    bool isFloat = tensor->type == ElementType::F32 ||
                   tensor->type == ElementType::F16 ||
                   tensor->type == ElementType::BF16;
    if (!isFloat && !weights::isPacked(tensor->type))
      return makeError(StatusCode::Unsupported, checkpoint.path(), ": tensor ",
                       weights::quoted(name), " is stored as ",
                       weights::getName(tensor->type),
                       "; weights are f32, f16, bf16 or packed");
    model.weights[spec.role] = {name, {tensor->type, tensor->shape}};
  }
  for (const TensorView &tensor : checkpoint.tensors())
    if (!expected.count(tensor.name) && !isIgnored(tensor.name))
      return makeError(StatusCode::Malformed, checkpoint.path(), ": tensor ",
                       weights::quoted(tensor.name), " of shape ",
                       weights::toString(tensor.shape),
                       " has no place in a model of family ",
                       model.family->name(), " with ", model.config.layers,
                       " layers");
  return {};
}

Expected<Model> model::readModel(const Checkpoint &checkpoint) {
  Model model;
  if (Status status = readConfig(checkpoint, model); !status.ok())
    return status;
  if (Status status = matchWeights(checkpoint, model); !status.ok())
    return status;
  return model;
}

Status model::traceStep(const Model &model, const trace::StepShape &shape,
                        trace::Builder &b) {
  if (Status status = trace::verify(shape); !status.ok())
    return status;
  if (shape.capacity > model.config.contextLength)
    return makeError(StatusCode::InvalidArgument, "a capacity of ",
                     shape.capacity, " exceeds the model's context of ",
                     model.config.contextLength, " positions");
  b.beginEntry(trace::getEntryName(shape), &shape);
  model.family->traceStep(model, shape, b);
  b.endEntry();
  if (const trace::TraceError *error = b.error()) {
    StatusCode code = error->kind == trace::TraceError::Kind::Limit
                          ? StatusCode::ResourceExhausted
                          : StatusCode::InvalidArgument;
    return makeError(code, trace::getEntryName(shape), ": ", error->toString());
  }
  return {};
}
