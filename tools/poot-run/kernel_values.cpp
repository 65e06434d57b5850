//===- kernel_values.cpp - What one kernel is run on ----------------------===//

#include "kernel_values.h"

#include "poot/bundle/test_vector.h"
#include "poot/kir/json.h"
#include "poot/weights/half.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

using namespace poot;
using namespace poot::run;
using weights::concat;
using weights::ElementType;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 36;

template <class... Parts> Status wrong(const Parts &...parts) {
  return makeError(StatusCode::InvalidArgument, parts...);
}

template <class Int> bool parseNumber(std::string_view text, Int &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

std::string elementOf(const kir::Type &type) {
  if (type.isStruct())
    return concat("structures of ", type.structBytes, " bytes");
  kir::Type element;
  element.shape = type.shape;
  return kir::toString(element);
}

/// "4x8" or "32": elements of the buffer.
bool parseShape(std::string_view text, weights::Shape &shape, uint64_t &count) {
  count = 1;
  for (std::string_view part : split(text, 'x')) {
    int64_t extent = 0;
    if (!parseNumber(part, extent) || extent < 1 ||
        static_cast<uint64_t>(extent) > kMostBytes / count)
      return false;
    count *= static_cast<uint64_t>(extent);
    shape.push_back(extent);
  }
  return true;
}

uint64_t nextRandom(uint64_t &state) { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Floats from -1 to 1, integers from 0 to 99, structures leaf by leaf.
void fillRandom(const kir::Type &type, uint64_t seed, Bytes &bytes) {
  uint64_t state = seed;
  auto fill = [&](kir::Element element, uint8_t *at) {
    uint64_t bits = nextRandom(state);
    double value = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    uint64_t out = bits % 100;
    switch (element) {
    case kir::Element::F16:
      out = weights::f32ToF16(static_cast<float>(value));
      break;
    case kir::Element::BF16:
      out = weights::f32ToBf16(static_cast<float>(value));
      break;
    case kir::Element::F32:
      out = weights::f32ToBits(static_cast<float>(value));
      break;
    case kir::Element::F64:
      std::memcpy(&out, &value, sizeof out);
      break;
    default:
      break;
    }
    std::memcpy(at, &out, kir::byteSize(element));
  };
  std::vector<kir::Leaf> leaves = type.leaves;
  if (!type.isStruct())
    leaves = {{type.shape, 1, 0}};
  for (uint64_t base = 0; base != bytes.size; base += type.elementBytes())
    for (const kir::Leaf &leaf : leaves)
      for (uint64_t i = 0; i != leaf.count * leaf.shape.count(); ++i)
        fill(leaf.shape.element, bytes.data + base + leaf.offset +
                                     i * kir::byteSize(leaf.shape.element));
}

Status makeInput(const kir::Type &type, const std::string &option,
                 const std::string &text, Bytes &bytes) {
  auto shaped = [&](std::string_view shape) -> Status {
    uint64_t count = 0;
    if (!parseShape(shape, bytes.shape, count) ||
        count > kMostBytes / type.elementBytes())
      return wrong(option, ": ", shape,
                   " is no shape like 4x8 of at most 64 GiB");
    bytes.allocate(count * type.elementBytes());
    return Status();
  };
  std::vector<std::string_view> parts = split(text, ':');
  if (parts[0] == "zeros" && parts.size() == 2)
    return shaped(parts[1]);
  if (parts[0] == "undefined" && parts.size() == 2) {
    bytes.undefined = true;
    return shaped(parts[1]);
  }
  if (parts[0] == "random" && parts.size() == 3) {
    uint64_t seed = 0;
    if (!parseNumber(parts[1], seed))
      return wrong(option, ": ", parts[1], " is no seed");
    if (Status status = shaped(parts[2]); !status.ok())
      return status;
    fillRandom(type, seed, bytes);
    return Status();
  }
  Expected<weights::NpyArray> array = weights::readNpy(text);
  if (!array)
    return array.status();
  if (!type.isStruct()) {
    std::string_view element = kir::spelling(type.shape.element);
    const bool widened = type.shape.element == kir::Element::BF16;
    if (weights::getName(array->type) != (widened ? "f32" : element))
      return wrong(text, ": holds ", weights::getName(array->type),
                   ", but the buffer ", elementOf(type),
                   widened ? ", which comes as f32" : "");
    if (widened) {
      std::vector<uint8_t> narrow(array->data.size() / 2);
      for (size_t i = 0; i != narrow.size() / 2; ++i) {
        float value;
        std::memcpy(&value, &array->data[4 * i], 4);
        uint16_t bits = weights::f32ToBf16(value);
        std::memcpy(&narrow[2 * i], &bits, 2);
      }
      array->data = std::move(narrow);
    }
  }
  if (array->data.size() % type.elementBytes())
    return wrong(text, ": holds ", array->data.size(),
                 " bytes, and the buffer is of ", elementOf(type), ", ",
                 type.elementBytes(), " bytes each");
  bytes.allocate(array->data.size());
  std::copy(array->data.begin(), array->data.end(), bytes.data);
  bytes.shape = array->shape;
  return Status();
}

/// The buffer that NAME says: its number, or the name that the source has.
int findBuffer(const std::vector<std::string> &names, std::string_view name) {
  for (size_t i = 0; i != names.size(); ++i)
    if (names[i] == name && !name.empty())
      return static_cast<int>(i);
  uint32_t number = 0;
  if (parseNumber(name, number) && number < names.size())
    return static_cast<int>(number);
  return -1;
}

Status parseGrid(const std::string &text, std::array<uint32_t, 3> &grid) {
  std::vector<std::string_view> parts = split(text, ',');
  bool good = parts.size() <= 3;
  for (size_t i = 0; good && i != parts.size(); ++i)
    good = parseNumber(parts[i], grid[i]);
  return good ? Status()
              : wrong("--grid ", text,
                      ": workgroups in x, y and z are needed, like 4,1,1");
}

Status parseMetadata(const LoadedKernel &kernel,
                     const std::vector<std::string> &texts,
                     std::vector<uint32_t> &words) {
  const std::vector<kir::Element> &types = kernel.program->metadata();
  std::vector<std::string> values;
  for (const std::string &text : texts)
    for (std::string_view part : split(text, ','))
      values.emplace_back(part);
  if (values.size() != types.size()) {
    std::string wanted;
    for (size_t i = 0; i != types.size(); ++i)
      wanted += concat(i ? ", " : "", kernel.metadataNames[i],
                       kernel.metadataNames[i].empty() ? "" : " ",
                       kir::spelling(types[i]));
    return wrong("--metadata: ", values.size(),
                 " values are given, and the "
                 "kernel takes ",
                 types.size(), types.empty() ? "" : concat(" (", wanted, ")"));
  }
  for (size_t i = 0; i != types.size(); ++i) {
    const char *text = values[i].c_str();
    if (types[i] == kir::Element::F32) {
      char *end = nullptr;
      float value = std::strtof(text, &end);
      if (end == text || *end)
        return wrong("--metadata: ", values[i], " is no number");
      words.push_back(weights::f32ToBits(value));
      continue;
    }
    int64_t value = 0;
    if (!parseNumber(std::string_view(values[i]), value) || value < INT32_MIN ||
        value > UINT32_MAX)
      return wrong("--metadata: ", values[i], " is no integer of 32 bits");
    words.push_back(static_cast<uint32_t>(value));
  }
  return Status();
}

std::optional<ElementType> fileType(const kir::Type &type) {
  if (type.isStruct())
    return ElementType::U8;
  return weights::elementTypeFromName(kir::spelling(type.shape.element));
}

Status writeBuffer(const kir::Type &type, const Bytes &bytes,
                   const std::string &path) {
  if (type.shape.element == kir::Element::BF16 && !type.isStruct()) {
    std::vector<float> wide(bytes.size / 2);
    for (size_t i = 0; i != wide.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, bytes.data + 2 * i, 2);
      wide[i] = weights::bf16ToF32(bits);
    }
    return weights::writeNpy(path, ElementType::F32,
                             {static_cast<int64_t>(wide.size())}, wide.data());
  }
  std::optional<ElementType> element = fileType(type);
  if (!element)
    return wrong(path, ": .npy files have no ", elementOf(type));
  const uint64_t each = type.isStruct() ? 1 : kir::byteSize(type.shape.element);
  weights::Shape shape = bytes.shape;
  uint64_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<uint64_t>(extent);
  if (count * each != bytes.size)
    shape = {static_cast<int64_t>(bytes.size / each)};
  return weights::writeNpy(path, *element, shape, bytes.data);
}

void printBuffer(const std::string &name, const kir::Type &type,
                 const Bytes &bytes) {
  constexpr uint64_t kMost = 16;
  std::printf("%s (%s):", name.c_str(), elementOf(type).c_str());
  std::optional<ElementType> element = fileType(type);
  const uint64_t count =
      element ? bytes.size /
                    static_cast<uint64_t>(weights::getInfo(*element).blockBytes)
              : 0;
  for (uint64_t i = 0; i != std::min(count, kMost); ++i)
    std::printf(kir::isFloat(type.shape.element) && !type.isStruct() ? " %.9g"
                                                                     : " %.20g",
                bundle::loadElement(*element, bytes.data, i));
  std::printf("%s\n", !element        ? " (no numbers to print)"
                      : count > kMost ? " ..."
                                      : "");
}

} // namespace

Expected<kir::Module> run::readKir(const bundle::BundleFile &file,
                                   std::string &name) {
  std::string names;
  if (file.index().targets())
    for (const auto *target : *file.index().targets()) {
      if (!target->kernels())
        continue;
      for (const auto *kernel : *target->kernels())
        for (const auto *code : *kernel->code()) {
          if (code->format() != bundle::fb::CodeFormat::Kir)
            continue;
          if (kernel->name()->string_view() != name) {
            names += concat(names.empty() ? "" : ", ",
                            kernel->name()->string_view());
            continue;
          }
          name = code->entry_point()->str();
          weights::ByteSpan bytes = file.code(*code);
          return kir::readJson(
              {reinterpret_cast<const char *>(bytes.data), bytes.size},
              concat(file.name(), ": kernel ", name));
        }
    }
  return makeError(
      StatusCode::NotFound, file.name(), ": has no KIR of a kernel ",
      weights::quoted(name), "; it has that of ",
      names.empty() ? "none: poot-compile --target interp adds it" : names);
}

Expected<LoadedKernel> run::loadKernel(kir::Module read, std::string name,
                                       const std::string &file,
                                       const interp::ProgramOptions &options) {
  auto module = std::make_shared<const kir::Module>(std::move(read));
  if (name.empty()) {
    // One kernel needs no name.
    for (const kir::Function &function : module->functions)
      if (function.kind == kir::FunctionKind::Kernel) {
        if (!name.empty())
          return makeError(StatusCode::InvalidArgument,
                           "--kernel is needed: ", file,
                           " has more than one kernel, the first being ", name);
        name = function.name;
      }
  }
  auto program = interp::Program::create(module, name, options);
  if (!program)
    return makeError(program.status().code(), file, ": ",
                     program.status().message());
  LoadedKernel loaded;
  loaded.program = std::move(*program);
  const kir::Function &kernel = *module->findKernel(name);
  for (kir::ValueId argument : kernel.arguments()) {
    const kir::Value &value = kernel.body.values[argument];
    const kir::Location &location = module->locations[value.location];
    const bool isBuffer =
        module->types[value.type].kind == kir::TypeKind::Buffer;
    (isBuffer ? loaded.bufferNames : loaded.metadataNames)
        .push_back(location.kind == kir::LocationKind::Name ? location.text
                                                            : "");
  }
  // What filled hooks take stands behind these.
  loaded.bufferNames.resize(loaded.program->buffers().size());
  loaded.metadataNames.resize(loaded.program->metadata().size());
  return loaded;
}

Status run::readValues(const Options &options, const LoadedKernel &kernel,
                       KernelValues &values) {
  if (Status status = parseGrid(options.grid, values.grid); !status.ok())
    return status;
  if (Status status = parseMetadata(kernel, options.metadata, values.metadata);
      !status.ok())
    return status;
  const std::vector<kir::Type> &types = kernel.program->buffers();
  const std::vector<std::string> &names = kernel.bufferNames;
  std::string known;
  for (size_t i = 0; i != types.size(); ++i)
    known += concat(i ? ", " : "", i, names[i].empty() ? "" : " or ", names[i],
                    " (", kir::toString(types[i]), ")");
  values.buffers.resize(types.size());
  values.outputs.resize(types.size());
  for (const bool isInput : {true, false})
    for (const std::string &text : isInput ? options.inputs : options.outputs) {
      std::string option = concat(isInput ? "--input " : "--output ", text);
      size_t equals = text.find('=');
      if (equals == std::string::npos || equals + 1 == text.size())
        return wrong(option, ": BUFFER=VALUE is needed");
      int found = findBuffer(names, text.substr(0, equals));
      if (found < 0)
        return wrong(option, ": the kernel has no such buffer; it has ",
                     known.empty() ? "none" : known);
      auto b = static_cast<size_t>(found);
      if (isInput ? values.buffers[b].given : !values.outputs[b].empty())
        return wrong(option, ": this buffer is given twice");
      if (!isInput) {
        values.outputs[b] = text.substr(equals + 1);
        continue;
      }
      values.buffers[b].given = true;
      if (Status status = makeInput(types[b], option, text.substr(equals + 1),
                                    values.buffers[b]);
          !status.ok())
        return status;
    }
  for (size_t i = 0; i != types.size(); ++i)
    if (!values.buffers[i].given)
      return wrong("buffer ", i, " needs a value; give --input ", i,
                   "=FILE.npy, zeros:N, random:SEED:N or undefined:N; the "
                   "kernel has ",
                   known);
  return Status();
}

Status run::writeValues(const LoadedKernel &kernel,
                        const KernelValues &values) {
  const std::vector<kir::Type> &types = kernel.program->buffers();
  const bool anyFile =
      std::any_of(values.outputs.begin(), values.outputs.end(),
                  [](const std::string &path) { return !path.empty(); });
  for (size_t i = 0; i != types.size(); ++i) {
    const std::string &name = kernel.bufferNames[i];
    if (!values.outputs[i].empty()) {
      if (Status status =
              writeBuffer(types[i], values.buffers[i], values.outputs[i]);
          !status.ok())
        return status;
    } else if (!anyFile && types[i].access != kir::Access::Read) {
      printBuffer(name.empty() ? concat("buffer ", i) : name, types[i],
                  values.buffers[i]);
    }
  }
  return Status();
}
