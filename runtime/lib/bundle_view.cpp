// Opens bundles, translates refusals, and chooses the target for a device.

#include "bundle_view.h"

#include "poot/bundle/features.h"

#include <cstring>
#include <set>
#include <utility>

using namespace poot;
using namespace poot::runtime;

static const char *text(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

void TensorInfos::add(const char *name, const fb::TensorType &type,
                      uint64_t size) {
  shapes_.push_back(std::make_unique<std::vector<int64_t>>(
      type.shape()->begin(), type.shape()->end()));
  poot_tensor_info info = {};
  info.name = name;
  info.element = text(type.element());
  info.layout = text(type.layout());
  info.rank = shapes_.back()->size();
  info.shape = shapes_.back()->data();
  info.size = size;
  infos_.push_back(info);
}

const poot_tensor_info *TensorInfos::find(const std::string &name) const {
  for (const poot_tensor_info &info : infos_)
    if (name == info.name)
      return &info;
  return nullptr;
}

std::vector<std::string> TensorInfos::names() const {
  std::vector<std::string> names;
  for (const poot_tensor_info &info : infos_)
    names.push_back(info.name);
  return names;
}

std::string runtime::formatType(const char *element, const char *layout,
                                const int64_t *shape, size_t rank) {
  std::string result = element;
  if (layout && *layout)
    result += weights::concat(' ', layout);
  for (size_t i = 0; shape && i != rank; ++i)
    result += weights::concat(i ? "x" : " ",
                              shape[i] < 0 ? "?" : std::to_string(shape[i]));
  return result;
}

Error BundleView::view(weights::Expected<bundle::BundleFile> file,
                       bundle::Refusal refusal,
                       std::shared_ptr<const BundleView> &result) {
  if (!file) {
    poot_code code = POOT_CORRUPT_BUNDLE;
    switch (refusal) {
    case bundle::Refusal::Unreadable:
      code = POOT_FILE_ERROR;
      break;
    case bundle::Refusal::NotABundle:
      code = POOT_NOT_A_BUNDLE;
      break;
    case bundle::Refusal::TooOld:
    case bundle::Refusal::TooNew:
      code = POOT_BUNDLE_VERSION;
      break;
    default:
      break;
    }
    return makeError(code, file.status().message())
        .with("refusal", bundle::refusalName(refusal));
  }
  auto view = std::make_shared<BundleView>();
  view->file_ = std::make_unique<bundle::BundleFile>(std::move(*file));
  const fb::Bundle &index = view->index();
  if (index.consts())
    for (const fb::Const *value : *index.consts())
      view->consts_.add(text(value->name()), *value->type(), value->size());
  if (index.states())
    for (const fb::State *value : *index.states())
      view->states_.add(text(value->name()), *value->type(), value->size());
  result = std::move(view);
  return success();
}

Error BundleView::open(const std::string &path,
                       std::shared_ptr<const BundleView> &result) {
  bundle::Refusal refusal = bundle::Refusal::None;
  auto file = bundle::BundleFile::open(path, &refusal);
  return view(std::move(file), refusal, result);
}

Error BundleView::openMemory(const void *data, size_t size,
                             std::shared_ptr<const BundleView> &result) {
  bundle::Refusal refusal = bundle::Refusal::None;
  auto file = bundle::BundleFile::openMemory(
      {static_cast<const uint8_t *>(data), size}, "bundle in memory", &refusal);
  return view(std::move(file), refusal, result);
}

/// Why DEVICE can't run TARGET; empty when it can.
static std::string unfit(const Device &device, const fb::Target &target) {
  std::set<std::string> lacking;
  bool codeFits = true;
  if (target.required_features())
    for (const auto *feature : *target.required_features())
      if (!device.hasFeature(feature->str()))
        lacking.insert(feature->str());
  if (target.kernels())
    for (const fb::Kernel *kernel : *target.kernels()) {
      bool accepted = false;
      for (const fb::Code *code : *kernel->code())
        accepted |= device.acceptsCode(*code);
      codeFits &= accepted;
    }
  if (!codeFits)
    return weights::concat("holds no code for ", device.info().api, " devices");
  if (lacking.empty())
    return "";
  return weights::concat("requires ",
                         formatNames({lacking.begin(), lacking.end()}),
                         ", which the device lacks");
}

/// How well a target suits a device that it fits: one for the device's kind
/// goes before all others, else the more features it uses the better.
static std::pair<bool, size_t> suitability(const fb::Target &target) {
  if (!target.required_features())
    return {false, 0};
  bool isForKind = false;
  for (const auto *feature : *target.required_features())
    isForKind |= feature->str() == bundle::featureName(bundle::Feature::Cpu);
  return {isForKind, target.required_features()->size()};
}

Error BundleView::chooseTarget(const Device &device, const std::string &name,
                               const fb::Target *&target) const {
  target = nullptr;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> reasons;
  if (index().targets())
    for (const fb::Target *candidate : *index().targets()) {
      names.push_back(candidate->name()->str());
      if (!name.empty() && name != names.back())
        continue;
      std::string reason = unfit(device, *candidate);
      if (!reason.empty()) {
        reasons.emplace_back(names.back(), reason);
        continue;
      }
      if (!target || suitability(*candidate) > suitability(*target))
        target = candidate;
    }
  if (target)
    return success();
  if (!name.empty() && reasons.empty())
    return makeError(POOT_NOT_FOUND, file().name(), ": there is no target ",
                     weights::quoted(name), "; the bundle has ",
                     formatNames(names));
  std::string message =
      weights::concat(file().name(), ": no target fits ", device.describe());
  for (const auto &[candidate, reason] : reasons)
    message += weights::concat("; '", candidate, "' ", reason);
  if (names.empty())
    message += "; the bundle has no targets";
  Error error = makeError(
      POOT_NO_TARGET, message,
      "; compile the bundle for this device or choose another device");
  for (const auto &[candidate, reason] : reasons)
    error->details.emplace_back(weights::concat("target:", candidate), reason);
  return error;
}

Error BundleView::checkCode(const fb::Target &target) const {
  std::set<uint32_t> sections;
  if (target.kernels())
    for (const fb::Kernel *kernel : *target.kernels())
      for (const fb::Code *code : *kernel->code())
        sections.insert(code->section());
  for (uint32_t i : sections)
    if (!file().isIntact(i))
      return makeError(POOT_CORRUPT_BUNDLE, file().name(), ": section ", i,
                       ", which holds kernels, differs from its hash; copy or "
                       "compile the bundle anew");
  return success();
}
