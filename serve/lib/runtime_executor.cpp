// Steps on the runtime.

#include "poot/serve/runtime_executor.h"

#include <algorithm>
#include <cstring>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

static StatusCode toStatusCode(poot_code code) {
  switch (code) {
  case POOT_OK:
    return StatusCode::Ok;
  case POOT_INVALID_ARGUMENT:
    return StatusCode::InvalidArgument;
  case POOT_NOT_FOUND:
  case POOT_NO_DEVICE:
  case POOT_MISSING_CONST:
    return StatusCode::NotFound;
  case POOT_FILE_ERROR:
    return StatusCode::IoError;
  case POOT_NOT_A_BUNDLE:
  case POOT_CORRUPT_BUNDLE:
  case POOT_CONST_MISMATCH:
    return StatusCode::Malformed;
  case POOT_BUNDLE_VERSION:
  case POOT_NO_TARGET:
    return StatusCode::Unsupported;
  case POOT_DEVICE_LIMIT:
  case POOT_OUT_OF_MEMORY:
    return StatusCode::ResourceExhausted;
  case POOT_DEVICE_LOST:
    return StatusCode::DeviceLost;
  default:
    return StatusCode::Internal;
  }
}

Status poot::serve::takeError(poot_error *error) {
  if (!error)
    return Status();
  Status status(toStatusCode(poot_error_code(error)),
                poot_error_message(error));
  poot_error_free(error);
  return status;
}

/// Answers the runtime's question for a const with a tensor of the file.
static poot_error *provideConst(void *user, const poot_tensor_info *expected,
                                poot_const_data *found) {
  const auto *file = static_cast<const weights::Gguf *>(user);
  const weights::TensorView *tensor = file->findTensor(expected->name);
  if (!tensor)
    return nullptr; // the runtime names what is missing
  found->data = tensor->data.data;
  found->size = tensor->data.size;
  found->element = weights::getName(tensor->type);
  found->layout = weights::isPacked(tensor->type) ? "gguf" : "";
  found->rank = tensor->shape.size();
  found->shape = tensor->shape.data();
  return nullptr;
}

static void passProgress(void *user, const char *what, uint64_t done,
                         uint64_t total) {
  static_cast<const RuntimeOptions *>(user)->progress(what, done, total);
}

Expected<std::unique_ptr<RuntimeExecutor>>
RuntimeExecutor::open(const RuntimeOptions &options) {
  std::unique_ptr<RuntimeExecutor> result(new RuntimeExecutor);
  poot_bundle *bundle = nullptr;
  if (Status s = takeError(poot_bundle_open(options.bundle.c_str(), &bundle));
      !s.ok())
    return s;
  result->bundle.reset(bundle);

  poot_device *device = nullptr;
  if (Status s =
          takeError(poot_device_open(options.device.c_str(), nullptr, &device));
      !s.ok())
    return s;
  result->device.reset(device);

  poot_executable_options executableOptions = POOT_EXECUTABLE_OPTIONS_INIT;
  if (options.weights) {
    executableOptions.provider = provideConst;
    executableOptions.provider_user =
        const_cast<weights::Gguf *>(options.weights);
  }
  if (options.progress) {
    executableOptions.progress = passProgress;
    executableOptions.progress_user = const_cast<RuntimeOptions *>(&options);
  }
  poot_executable *executable = nullptr;
  if (Status s = takeError(poot_executable_create(
          device, bundle, &executableOptions, &executable));
      !s.ok())
    return s;
  result->executable.reset(executable);
  if (Status s = result->chooseEntries(); !s.ok())
    return Status(s.code(), options.bundle + ": " + s.message());

  poot_session *session = nullptr;
  if (Status s = takeError(poot_session_create(executable, nullptr, &session));
      !s.ok())
    return s;
  result->session.reset(session);
  return result;
}

static bool hasType(const poot_tensor_info &tensor, const char *element,
                    std::initializer_list<int64_t> shape) {
  return !strcmp(tensor.element, element) && tensor.rank == shape.size() &&
         std::equal(shape.begin(), shape.end(), tensor.shape);
}

/// Why an entry is none of the driver's; "" if it is one.
static std::string whyUnusable(const poot_entry_info &info) {
  if (info.phase == POOT_PHASE_NONE)
    return "is not a step of a model";
  if (info.cache == POOT_CACHE_PAGED)
    return "has a paged cache";
  if (info.logits == POOT_LOGITS_ALL)
    return "returns the logits of all positions";
  if (info.capacity == 0 || info.capacity > INT32_MAX / 2)
    return "has no fixed capacity";
  // The key says what the slots must be. A bundle whose slots differ is not
  // wrong, but made for another driver.
  int64_t rows = info.rows, tokens = info.tokens;
  unsigned seen = 0;
  for (size_t i = 0; i < info.slot_count; ++i) {
    const poot_tensor_info &slot = info.slots[i];
    static constexpr const char *wide[] = {"token", "pos", "write_map"};
    if (!strcmp(slot.name, "last")) {
      if (!hasType(slot, "i32", {rows}))
        return "has a slot 'last' that is not i32[rows]";
      continue;
    }
    auto name =
        std::find_if(std::begin(wide), std::end(wide),
                     [&](const char *n) { return !strcmp(slot.name, n); });
    if (name == std::end(wide))
      return std::string("has an unknown slot '") + slot.name + "'";
    if (!hasType(slot, "i32", {rows, tokens}))
      return std::string("has a slot '") + slot.name +
             "' that is not i32[rows, tokens]";
    seen |= 1u << (name - wide);
  }
  if (seen != 7)
    return "lacks one of the slots token, pos and write_map";
  bool isGreedy = !strcmp(info.suffix, "greedy");
  if (!isGreedy && strcmp(info.suffix, "logits") != 0)
    return std::string("has the unknown suffix '") + info.suffix + "'";
  for (size_t i = 0; i < info.output_count; ++i) {
    const poot_tensor_info &output = info.outputs[i];
    if (isGreedy && !strcmp(output.name, "next_token") &&
        hasType(output, "i32", {rows}))
      return "";
    if (!isGreedy && !strcmp(output.name, "logits") && output.rank == 2 &&
        output.shape[1] > 0 && output.shape[1] <= INT32_MAX &&
        hasType(output, "f32", {rows, output.shape[1]}))
      return "";
  }
  return isGreedy ? "lacks the output next_token, i32[rows]"
                  : "lacks the output logits, f32[rows, vocabulary]";
}

Status RuntimeExecutor::chooseEntries() {
  std::string reasons;
  std::vector<const poot_entry_info *> candidates;
  for (size_t i = 0; i < poot_executable_entry_count(executable.get()); ++i) {
    const poot_entry_info &info = *poot_executable_entry(executable.get(), i);
    std::string reason = whyUnusable(info);
    if (reason.empty())
      candidates.push_back(&info);
    else
      reasons += weights::concat(reasons.empty() ? "" : "; ", "entry ",
                                 info.name, " ", reason);
  }
  if (candidates.empty())
    return makeError(StatusCode::Unsupported, "no entry can generate text: ",
                     reasons.empty() ? "there is none" : reasons);

  // Entries of another capacity lay the cache out in another way, so that a
  // sequence can't pass between them: keep those with the longest rows.
  for (const poot_entry_info *info : candidates)
    rowCapacity = std::max(rowCapacity, static_cast<int32_t>(info->capacity));
  vocabulary = INT32_MAX; // unknown unless an entry gives logits
  for (const poot_entry_info *info : candidates) {
    if (static_cast<int32_t>(info->capacity) != rowCapacity)
      continue;
    bool isGreedy = !strcmp(info->suffix, "greedy");
    for (size_t o = 0; o < info->output_count && !isGreedy; ++o)
      if (!strcmp(info->outputs[o].name, "logits"))
        vocabulary = static_cast<int32_t>(info->outputs[o].shape[1]);
    usable.push_back({info->name, static_cast<int32_t>(info->rows),
                      static_cast<int32_t>(info->tokens), rowCapacity,
                      isGreedy ? StepOutput::Token : StepOutput::Logits});
  }
  return Status();
}

Expected<uint64_t> RuntimeExecutor::submit(const Entry &entry,
                                           const StepSlots &slots) {
  const poot_entry_info *info =
      poot_executable_find_entry(executable.get(), entry.name.c_str());
  poot_slot_value values[4] = {};
  size_t count = 0;
  for (size_t i = 0; i < info->slot_count; ++i) {
    const char *name = info->slots[i].name;
    const std::vector<int32_t> &data = !strcmp(name, "token") ? slots.token
                                       : !strcmp(name, "pos") ? slots.pos
                                       : !strcmp(name, "write_map")
                                           ? slots.writeMap
                                           : slots.last;
    poot_slot_value &value = values[count++];
    value.slot = name;
    if (slots.tokenFrom != 0 && !strcmp(name, "token")) {
      value.step = slots.tokenFrom;
      value.output = "next_token";
    } else {
      value.data = data.data();
      value.size = data.size() * sizeof(int32_t);
    }
  }
  poot_step step = 0;
  if (Status s = takeError(poot_session_submit(
          session.get(), info->name, values, count, nullptr, 0, &step));
      !s.ok())
    return s;
  latestRows[step % 2] = entry.rows;
  return step;
}

Status RuntimeExecutor::readTokens(uint64_t step,
                                   std::vector<int32_t> &tokens) {
  tokens.resize(latestRows[step % 2]);
  return takeError(poot_session_read_output(session.get(), step, "next_token",
                                            tokens.data(),
                                            tokens.size() * sizeof(int32_t)));
}

Status RuntimeExecutor::readLogits(uint64_t step, std::vector<float> &logits) {
  logits.resize(static_cast<size_t>(latestRows[step % 2]) * vocabulary);
  return takeError(poot_session_read_output(session.get(), step, "logits",
                                            logits.data(),
                                            logits.size() * sizeof(float)));
}

std::string RuntimeExecutor::description() const {
  const poot_device_info *info = poot_device_get_info(device.get());
  return weights::concat(info->id, " (", info->name, ", ", info->driver,
                         "), target ",
                         poot_executable_target(executable.get()));
}
