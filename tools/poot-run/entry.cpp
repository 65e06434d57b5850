//===- entry.cpp - poot-run --entry and --manifest ------------------------===//
//
// Reads the slots from .npy files, runs an entry, and writes or prints its
// outputs. The runs of a manifest share one session.
//
//===----------------------------------------------------------------------===//

#include "poot-run.h"

#include "poot/bundle/test_vector.h"
#include "poot/weights/checkpoint.h"
#include "poot/weights/half.h"
#include "poot/weights/npy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

using namespace poot;
using namespace poot::run;
using weights::ElementType;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

namespace {

using NameMap = std::map<std::string, std::string>;

/// NAME=VALUE of each of TEXTS.
Expected<NameMap> parseNames(const char *option,
                             const std::vector<std::string> &texts) {
  NameMap names;
  for (const std::string &text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return makeError(StatusCode::InvalidArgument, option, " ", text,
                       ": NAME=FILE.npy is needed");
    if (!names.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      return makeError(StatusCode::InvalidArgument, option, ": ",
                       text.substr(0, equals), " is given twice");
  }
  return names;
}

weights::Shape shapeOf(const poot_tensor_info &tensor) {
  return {tensor.shape, tensor.shape + tensor.rank};
}

std::string describe(const char *element, const weights::Shape &shape) {
  return weights::concat(element, " ", weights::toString(shape));
}

/// "token (i32 1), pos (i32 1)"
std::string describeAll(const poot_tensor_info *tensors, size_t count) {
  std::string text;
  for (size_t i = 0; i != count; ++i)
    text +=
        weights::concat(text.empty() ? "" : ", ", tensors[i].name, " (",
                        describe(tensors[i].element, shapeOf(tensors[i])), ")");
  return text.empty() ? "none" : text;
}

/// Every name of NAMES is one of the COUNT TENSORS.
Status checkNames(const NameMap &names, const char *option, const char *entry,
                  const poot_tensor_info *tensors, size_t count) {
  for (const auto &given : names)
    if (std::none_of(tensors, tensors + count, [&](const auto &tensor) {
          return given.first == tensor.name;
        }))
      return makeError(StatusCode::NotFound, option, ": entry ", entry,
                       " has no ", given.first, "; it has ",
                       describeAll(tensors, count));
  return Status();
}

/// .npy files have no bf16: it is f32 there.
ElementType fileType(ElementType type) {
  return type == ElementType::BF16 ? ElementType::F32 : type;
}

Expected<std::vector<uint8_t>> readSlot(const poot_tensor_info &slot,
                                        const std::string &path) {
  Expected<weights::NpyArray> array = weights::readNpy(path);
  if (!array)
    return array.status();
  const std::optional<ElementType> type =
      weights::elementTypeFromName(slot.element);
  if (!type)
    return makeError(StatusCode::Unsupported, "slot ", slot.name, " is of ",
                     slot.element, ", which this tool doesn't know");
  if (array->type != fileType(*type) || array->shape != shapeOf(slot))
    return makeError(
        StatusCode::InvalidArgument, path, ": holds ",
        describe(weights::getName(array->type), array->shape), ", but slot ",
        slot.name, " takes ",
        describe(weights::getName(fileType(*type)), shapeOf(slot)));
  if (*type != ElementType::BF16)
    return std::move(array->data);
  std::vector<uint8_t> narrow(array->data.size() / 2);
  for (size_t i = 0; i != narrow.size() / 2; ++i) {
    float value;
    std::memcpy(&value, &array->data[4 * i], 4);
    const uint16_t bits = weights::f32ToBf16(value);
    std::memcpy(&narrow[2 * i], &bits, 2);
  }
  return narrow;
}

Status writeOutput(const poot_tensor_info &output, const std::string &path,
                   const std::vector<uint8_t> &bytes) {
  const std::optional<ElementType> type =
      weights::elementTypeFromName(output.element);
  if (!type)
    return makeError(StatusCode::Unsupported, "output ", output.name, " is of ",
                     output.element, ", which this tool doesn't know");
  if (*type != ElementType::BF16)
    return weights::writeNpy(path, *type, shapeOf(output), bytes.data());
  std::vector<float> wide(bytes.size() / 2);
  for (size_t i = 0; i != wide.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * i], 2);
    wide[i] = weights::bf16ToF32(bits);
  }
  return weights::writeNpy(path, ElementType::F32, shapeOf(output),
                           wide.data());
}

/// The type and the first elements.
void printOutput(const poot_tensor_info &output,
                 const std::vector<uint8_t> &bytes) {
  std::printf("%s (%s):", output.name,
              describe(output.element, shapeOf(output)).c_str());
  const std::optional<ElementType> type =
      weights::elementTypeFromName(output.element);
  constexpr uint64_t kMost = 16;
  const bool printable = type && !weights::isPacked(*type) &&
                         *type != ElementType::F8E4M3 &&
                         *type != ElementType::F8E5M2;
  const uint64_t count =
      printable ? bytes.size() / size_t(weights::getInfo(*type).blockBytes) : 0;
  for (uint64_t i = 0; i != std::min(count, kMost); ++i)
    // Integers in full, f32 so that it reads back.
    std::printf(output.element[0] == 'i' ? " %.20g" : " %.9g",
                bundle::loadElement(*type, bytes.data(), i));
  std::printf("%s\n", !printable      ? " (no numbers to print)"
                      : count > kMost ? " ..."
                                      : "");
}

poot_error *provideConst(void *user, const poot_tensor_info *expected,
                         poot_const_data *found) {
  const auto *file = static_cast<const weights::Checkpoint *>(user);
  const weights::TensorView *tensor = file->find(expected->name);
  if (!tensor)
    return nullptr; // The runtime names what is missing.
  found->data = tensor->data.data;
  found->size = tensor->data.size;
  found->element = weights::getName(tensor->type);
  found->layout = weights::isPacked(tensor->type) ? "gguf" : "";
  found->rank = tensor->shape.size();
  found->shape = tensor->shape.data();
  return nullptr;
}

/// The values of --state-extent. The names live in TEXTS.
struct StateExtents {
  int64_t others = 0;
  std::vector<std::string> names;
  std::vector<poot_state_extent> named;
};

Expected<StateExtents> parseExtents(const std::vector<std::string> &texts) {
  StateExtents extents;
  extents.names.reserve(texts.size()); // c_str() below must stay in place.
  for (const std::string &text : texts) {
    const size_t equals = text.rfind('=');
    const size_t start = equals == std::string::npos ? 0 : equals + 1;
    int64_t extent = 0;
    const char *end = text.data() + text.size();
    const auto [stop, error] =
        std::from_chars(text.data() + start, end, extent);
    if (error != std::errc() || stop != end || extent < 1)
      return makeError(StatusCode::InvalidArgument, "--state-extent ", text,
                       ": N or NAME=N is needed, N at least 1");
    if (start == 0) {
      extents.others = extent;
      continue;
    }
    extents.names.push_back(text.substr(0, equals));
    extents.named.push_back({extents.names.back().c_str(), extent});
  }
  return extents;
}

int printProfile(rt::Session &session) {
  rt::Result<std::vector<poot_profile_row>> rows = session.profile();
  if (!rows)
    return fail(rows.error());
  double total = 0;
  for (const poot_profile_row &row : *rows)
    total += row.total_ms;
  std::vector<std::vector<std::string>> table = {
      {"ms", "share", "runs", "command", "kernel", "variant", "location"}};
  std::stable_sort(
      rows->begin(), rows->end(),
      [](const auto &a, const auto &b) { return a.total_ms > b.total_ms; });
  for (const poot_profile_row &row : *rows) {
    char ms[32], share[32];
    std::snprintf(ms, sizeof ms, "%.3f", row.total_ms);
    std::snprintf(share, sizeof share, "%.1f%%",
                  total > 0 ? 100 * row.total_ms / total : 0);
    table.push_back({ms, share, std::to_string(row.runs),
                     std::to_string(row.command), row.kernel, row.variant,
                     row.location});
  }
  std::printf("%.3f ms on the device\n", total);
  printTable(table);
  return kSuccess;
}

std::string entryNames(rt::Executable &executable) {
  std::string names;
  for (size_t i = 0; i != executable.entryCount(); ++i)
    names += weights::concat(i ? ", " : "", executable.entry(i).name);
  return names.empty() ? "none" : names;
}

/// One run of one entry.
struct Task {
  std::string entry;
  NameMap inputs;
  NameMap outputs;
  uint64_t steps = 1;
};

Expected<Task> taskFromOptions(const Options &options) {
  Task task;
  Expected<NameMap> inputs = parseNames("--input", options.inputs);
  if (!inputs)
    return inputs.status();
  Expected<NameMap> outputs = parseNames("--output", options.outputs);
  if (!outputs)
    return outputs.status();
  task.entry = options.entry;
  task.inputs = std::move(*inputs);
  task.outputs = std::move(*outputs);
  task.steps = options.steps;
  return task;
}

/// The file names of a run's "inputs" or "outputs".
Status readFiles(const nlohmann::json &files, const std::string &folder,
                 const std::string &where, NameMap &names) {
  if (!files.is_object())
    return makeError(StatusCode::InvalidArgument, where,
                     ": an object of file names is needed");
  for (const auto &[name, file] : files.items()) {
    if (!file.is_string() || file.get_ref<const std::string &>().empty())
      return makeError(StatusCode::InvalidArgument, where, ".", name,
                       ": a file name is needed");
    const auto &path = file.get_ref<const std::string &>();
    names[name] = path[0] == '/' ? path : folder + path;
  }
  return Status();
}

Expected<std::vector<Task>> tasksFromManifest(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return makeError(StatusCode::NotFound, path, ": can't be opened");
  const nlohmann::json manifest =
      nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("runs") ||
      !manifest["runs"].is_array() || manifest.size() != 1)
    return makeError(StatusCode::InvalidArgument, path,
                     ": a JSON object with the array \"runs\" alone is needed");
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::vector<Task> tasks;
  for (const nlohmann::json &run : manifest["runs"]) {
    const std::string where =
        weights::concat(path, ": runs[", tasks.size(), "]");
    if (!run.is_object() || !run.contains("entry"))
      return makeError(StatusCode::InvalidArgument, where,
                       ": an object with an \"entry\" is needed");
    Task task;
    for (const auto &[key, value] : run.items()) {
      const std::string place = where + "." + key;
      Status status;
      if (key == "entry" && value.is_string())
        task.entry = value.get<std::string>();
      else if (key == "steps" && value.is_number_unsigned() &&
               value.get<uint64_t>() >= 1)
        task.steps = value.get<uint64_t>();
      else if (key == "inputs")
        status = readFiles(value, folder, place, task.inputs);
      else if (key == "outputs")
        status = readFiles(value, folder, place, task.outputs);
      else
        status = makeError(StatusCode::InvalidArgument, place,
                           ": keys of a run are entry (a string), inputs, "
                           "outputs (objects) and steps (a number above 0)");
      if (!status.ok())
        return status;
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// What the bundle says against TASK, before anything runs.
Status checkTask(const Options &options, const Task &task,
                 rt::Executable &executable) {
  const poot_entry_info *entry = executable.findEntry(task.entry);
  if (!entry)
    return makeError(StatusCode::NotFound, options.bundle, ": has no entry ",
                     task.entry, " for target ", executable.target(),
                     "; entries: ", entryNames(executable));
  for (Status status : {checkNames(task.inputs, "--input", entry->name,
                                   entry->slots, entry->slot_count),
                        checkNames(task.outputs, "--output", entry->name,
                                   entry->outputs, entry->output_count)})
    if (!status.ok())
      return status;
  for (size_t i = 0; i != entry->slot_count; ++i) {
    const poot_tensor_info &slot = entry->slots[i];
    if (!task.inputs.count(slot.name))
      return makeError(StatusCode::InvalidArgument, "slot ", slot.name,
                       " has no value; give --input ", slot.name,
                       "=FILE.npy with ", describe(slot.element, shapeOf(slot)),
                       " (slots of ", entry->name, ": ",
                       describeAll(entry->slots, entry->slot_count), ")");
  }
  return Status();
}

int runTask(const Task &task, const poot_entry_info *entry,
            rt::Session &session) {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<poot_slot_value> values;
  for (size_t i = 0; i != entry->slot_count; ++i) {
    const poot_tensor_info &slot = entry->slots[i];
    Expected<std::vector<uint8_t>> value =
        readSlot(slot, task.inputs.at(slot.name));
    if (!value)
      return fail(value.status().message());
    bytes.push_back(std::move(*value));
    values.push_back(
        rt::slot(slot.name, bytes.back().data(), bytes.back().size()));
  }

  poot_step last = 0;
  for (uint64_t step = 0; step != task.steps; ++step) {
    rt::Result<poot_step> submitted = session.submit(task.entry, values);
    if (!submitted)
      return fail(submitted.error());
    last = *submitted;
  }
  for (size_t i = 0; i != entry->output_count; ++i) {
    const poot_tensor_info &output = entry->outputs[i];
    auto file = task.outputs.find(output.name);
    if (file == task.outputs.end() && !task.outputs.empty())
      continue;
    std::vector<uint8_t> value(output.size);
    if (rt::Error error =
            session.readOutput(last, output.name, value.data(), value.size()))
      return fail(error);
    if (file == task.outputs.end()) {
      printOutput(output, value);
      continue;
    }
    if (Status status = writeOutput(output, file->second, value); !status.ok())
      return fail(status.message());
  }
  // An entry may have no outputs; its failure shall still be seen.
  if (rt::Error error = session.wait(last))
    return fail(error);
  return kSuccess;
}

} // namespace

int run::runEntries(const Options &options) {
  // What can be wrong without a device comes first.
  std::vector<Task> tasks;
  if (options.manifest.empty()) {
    Expected<Task> task = taskFromOptions(options);
    if (!task)
      return fail(task.status().message());
    tasks.push_back(std::move(*task));
  } else {
    Expected<std::vector<Task>> listed = tasksFromManifest(options.manifest);
    if (!listed)
      return fail(listed.status().message());
    tasks = std::move(*listed);
  }
  Expected<StateExtents> extents = parseExtents(options.stateExtents);
  if (!extents)
    return fail(extents.status().message());
  rt::Result<rt::Bundle> bundle = rt::Bundle::open(options.bundle);
  if (!bundle)
    return fail(bundle.error());
  std::optional<weights::Checkpoint> checkpoint;
  if (!options.weights.empty()) {
    Expected<weights::Checkpoint> opened =
        weights::Checkpoint::open(options.weights);
    if (!opened)
      return fail(opened.status().message());
    checkpoint = std::move(*opened);
  }

  rt::Device device;
  if (int opened = openDevice(options, device); opened != kSuccess)
    return opened;
  poot_executable_options executableOptions = POOT_EXECUTABLE_OPTIONS_INIT;
  if (checkpoint) {
    executableOptions.provider = provideConst;
    executableOptions.provider_user = &*checkpoint;
  }
  if (!options.target.empty())
    executableOptions.target = options.target.c_str();
  rt::Result<rt::Executable> executable =
      rt::Executable::create(device, *bundle, &executableOptions);
  if (!executable && !checkpoint &&
      executable.error().code() == POOT_MISSING_CONST)
    return fail(executable.error().message() +
                "; name the file that has it with --weights");
  if (!executable)
    return fail(executable.error());
  for (const Task &task : tasks)
    if (Status status = checkTask(options, task, *executable); !status.ok())
      return fail(status.message());

  poot_session_options sessionOptions = POOT_SESSION_OPTIONS_INIT;
  sessionOptions.extents = extents->named.data();
  sessionOptions.extent_count = extents->named.size();
  sessionOptions.default_extent = extents->others;
  sessionOptions.profile = options.profile;
  rt::Result<rt::Session> session =
      rt::Session::create(*executable, &sessionOptions);
  if (!session && session.error().code() == POOT_INVALID_ARGUMENT)
    return fail(session.error().message() + "; here that is --state-extent");
  if (!session)
    return fail(session.error());
  int status = kSuccess;
  for (const Task &task : tasks)
    if (runTask(task, executable->findEntry(task.entry), *session) !=
        kSuccess) {
      status = kFailure;
      if (!options.manifest.empty())
        fail(weights::concat(options.manifest, ": the run of ", task.entry,
                             " failed"));
    }
  status = printMessages(options, device, status);
  if (status != kSuccess)
    return status;
  return options.profile ? printProfile(*session) : kSuccess;
}
