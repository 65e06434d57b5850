// Reads .kir.json in two steps: nlohmann's parser makes a document of the text
// (in time and memory in proportion to it, without recursion, and refusing a
// key that stands twice), then the document becomes a module, key by key: a key
// that is missing or unknown is an error which names its place, as in
// "functions[0].blocks[1].ops[3].operands". What only the whole module shows is
// left to verify().

#include "poot/kir/json.h"
#include "poot/kir/verify.h"

#include "attributes.h"
#include "number_text.h"
#include "poot/weights/mapped_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace poot::kir {
namespace {

using nlohmann::json;
using weights::Status;
using weights::StatusCode;

/// A place in the document, for messages: a key or a number, and what it is in.
struct Place {
  const Place *in = nullptr;
  std::string_view key = {};
  size_t index = 0;

  std::string text() const {
    if (!in)
      return {};
    std::string outer = in->text();
    if (key.empty())
      return outer + "[" + std::to_string(index) + "]";
    return outer + (outer.empty() ? "" : ".") + std::string(key);
  }
};

class Reader {
public:
  Status read(const json &document);

  Module module;

private:
  /// Reports the first error only; always false.
  template <class... Parts> bool fail(const Place &at, const Parts &...parts) {
    if (error.ok()) {
      std::string place = at.text();
      error = weights::makeError(StatusCode::Malformed,
                                 place.empty() ? "" : place + ": ", parts...);
    }
    return false;
  }

  bool isObject(const json &value, const Place &at,
                std::initializer_list<std::string_view> keys);
  const json *member(const json &object, const Place &at, std::string_view key);
  bool isList(const json &value, const Place &at, size_t least = 0,
              size_t most = SIZE_MAX);
  bool readNumber(const json &value, const Place &at, uint32_t &result,
                  uint32_t most = UINT32_MAX);
  bool readText(const json &value, const Place &at, std::string &result);
  bool readType(const json &value, const Place &at, TypeId &result);
  bool readLocationId(const json &value, const Place &at, LocationId &result);
  bool readLocation(const json &value, const Place &at,
                    const std::vector<std::string> &files);
  bool readPairs(const json &object, const Place &at, std::string_view key,
                 std::vector<std::pair<std::string, std::string>> &result);
  bool readFunction(const json &value, const Place &at);
  bool readBlock(const json &value, const Place &at, Body &body);
  bool readOp(const json &value, const Place &at, Body &body, Op &op);
  bool readAttribute(const json &value, const Place &at, const Type *type,
                     Attribute &attribute);
  bool readConstant(const json &value, const Place &at, const Type &type,
                    std::vector<uint8_t> &data);
  bool readDefinition(const json &value, const Place &at, bool hasLocation,
                      LocationId location, Body &body,
                      std::vector<ValueId> &ids);

  std::unordered_map<std::string, TypeId> types;
  Status error;
};

bool Reader::isObject(const json &value, const Place &at,
                      std::initializer_list<std::string_view> keys) {
  if (!value.is_object())
    return fail(at, "is no object");
  for (auto it = value.begin(); it != value.end(); ++it)
    if (std::find(keys.begin(), keys.end(), it.key()) == keys.end()) {
      std::string allowed;
      for (std::string_view key : keys)
        allowed += (allowed.empty() ? "" : ", ") + std::string(key);
      return fail(at, "has the key ", weights::quoted(it.key()),
                  "; allowed are ", allowed);
    }
  return true;
}

const json *Reader::member(const json &object, const Place &at,
                           std::string_view key) {
  auto found = object.find(key);
  if (found == object.end()) {
    fail(at, "lacks the key '", key, "'");
    return nullptr;
  }
  return &*found;
}

bool Reader::isList(const json &value, const Place &at, size_t least,
                    size_t most) {
  if (!value.is_array())
    return fail(at, "is no list");
  if (value.size() < least || value.size() > most)
    return fail(at, "has ", value.size(), " entries; allowed are ", least,
                most == SIZE_MAX ? std::string(" and more")
                                 : " to " + std::to_string(most));
  return true;
}

bool Reader::readNumber(const json &value, const Place &at, uint32_t &result,
                        uint32_t most) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most)
    return fail(at, "is no integer of 0 to ", most);
  result = value.get<uint32_t>();
  return true;
}

bool Reader::readText(const json &value, const Place &at, std::string &result) {
  if (!value.is_string())
    return fail(at, "is no text");
  result = value.get_ref<const std::string &>();
  return true;
}

bool Reader::readType(const json &value, const Place &at, TypeId &result) {
  std::string text;
  if (!readText(value, at, text))
    return false;
  auto [entry, isNew] =
      types.emplace(text, static_cast<TypeId>(module.types.size()));
  if (isNew) {
    weights::Expected<Type> type = parseType(text);
    if (!type)
      return fail(at, type.status().message());
    module.types.push_back(std::move(*type));
  }
  result = entry->second;
  return true;
}

bool Reader::readLocationId(const json &value, const Place &at,
                            LocationId &result) {
  if (module.locations.empty())
    return fail(at, "names a location, of which there are none");
  return readNumber(value, at, result,
                    static_cast<uint32_t>(module.locations.size() - 1));
}

bool Reader::readLocation(const json &value, const Place &at,
                          const std::vector<std::string> &files) {
  Location location;
  auto part = [&](std::string_view key) {
    const json *entry = member(value, at, key);
    return entry && readLocationId(*entry, Place{&at, key},
                                   location.parts.emplace_back());
  };
  if (value.is_null()) {
    // Unknown.
  } else if (value.is_array()) {
    location.kind = LocationKind::File;
    if (value.size() != 3 && value.size() != 5)
      return fail(at, "has ", value.size(),
                  " entries; allowed are [file, line, column] and [file, line, "
                  "column, line, column]");
    uint32_t numbers[5];
    for (size_t i = 0; i < value.size(); ++i)
      if (!readNumber(value[i], Place{&at, {}, i}, numbers[i]))
        return false;
    if (numbers[0] >= files.size())
      return fail(at, "names file ", numbers[0], " of ", files.size());
    location.text = files[numbers[0]];
    location.line = numbers[1];
    location.column = numbers[2];
    bool isRange = value.size() == 5;
    location.endLine = numbers[isRange ? 3 : 1];
    location.endColumn = numbers[isRange ? 4 : 2];
    if (isRange && location.endLine == location.line &&
        location.endColumn == location.column)
      return fail(at, "is a range that ends where it starts; leave the end "
                      "out");
  } else if (value.is_object() && value.contains("callee")) {
    location.kind = LocationKind::Call;
    if (!isObject(value, at, {"callee", "caller"}) || !part("callee") ||
        !part("caller"))
      return false;
  } else if (value.is_object() && value.contains("name")) {
    location.kind = LocationKind::Name;
    if (!isObject(value, at, {"name", "of"}) ||
        !readText(value["name"], Place{&at, "name"}, location.text) ||
        !part("of"))
      return false;
  } else if (value.is_object() && value.contains("fused")) {
    location.kind = LocationKind::Fused;
    Place list{&at, "fused"};
    const json &parts = value["fused"];
    if (!isObject(value, at, {"fused"}) || !isList(parts, list))
      return false;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!readLocationId(parts[i], Place{&list, {}, i},
                          location.parts.emplace_back()))
        return false;
  } else {
    return fail(at,
                "is no location; allowed are null, a list, and objects with "
                "callee, name or fused");
  }
  module.locations.push_back(std::move(location));
  return true;
}

bool Reader::readPairs(
    const json &object, const Place &at, std::string_view key,
    std::vector<std::pair<std::string, std::string>> &result) {
  auto found = object.find(key);
  if (found == object.end())
    return true;
  Place place{&at, key};
  if (!found->is_object() || found->empty())
    return fail(place, "is no object with texts");
  for (auto it = found->begin(); it != found->end(); ++it) {
    std::string text;
    if (!readText(it.value(), Place{&place, it.key()}, text))
      return false;
    result.emplace_back(it.key(), std::move(text));
  }
  std::sort(result.begin(), result.end());
  return true;
}

/// [id, type] of a result, or [id, type, location] of an argument.
bool Reader::readDefinition(const json &value, const Place &at,
                            bool hasLocation, LocationId location, Body &body,
                            std::vector<ValueId> &ids) {
  size_t size = hasLocation ? 3 : 2;
  if (!isList(value, at, size, size))
    return false;
  uint32_t id;
  Value definition;
  definition.location = location;
  if (!readNumber(value[0], Place{&at, {}, 0}, id) ||
      !readType(value[1], Place{&at, {}, 1}, definition.type) ||
      (hasLocation &&
       !readLocationId(value[2], Place{&at, {}, 2}, definition.location)))
    return false;
  if (id != body.values.size())
    return fail(at, "defines value ", id,
                "; values are numbered in the order of their definitions, so "
                "this is ",
                body.values.size());
  ids.push_back(id);
  body.values.push_back(definition);
  return true;
}

bool Reader::readConstant(const json &value, const Place &at, const Type &type,
                          std::vector<uint8_t> &data) {
  Element element = type.shape.element;
  size_t each = byteSize(element);
  auto readElement = [&](const json &entry, const Place &place) {
    data.resize(data.size() + each);
    uint8_t *to = data.data() + data.size() - each;
    bool fits = false;
    if (element == Element::I1) {
      fits = entry.is_boolean();
      *to = fits && entry.get<bool>();
    } else if (entry.is_number_integer()) {
      bool isSigned = !entry.is_number_unsigned() ||
                      entry.get<uint64_t>() <= uint64_t(INT64_MAX);
      fits = isSigned && fromInteger(element, entry.get<int64_t>(), to);
    } else if (entry.is_number_float()) {
      fits = fromFloat(element, entry.get<double>(), to);
    } else if (entry.is_string()) {
      fits = fromBits(element, entry.get_ref<const std::string &>(), to);
    }
    return fits || fail(place, "is no ", spelling(element),
                        "; allowed are true and false for i1, signed integers "
                        "in range, numbers with a point or exponent for "
                        "floating point, and for what is not finite its bits "
                        "as in \"0x7FC00000\"");
  };
  if (type.kind != TypeKind::Table && !type.shape.isVector())
    return readElement(value, at);
  uint64_t count =
      type.kind == TypeKind::Table ? type.elementCount() : type.shape.count();
  if (!isList(value, at))
    return false;
  if (value.size() != 1 && value.size() != count)
    return fail(at, "has ", value.size(), " elements; allowed are ", count,
                ", or 1 for all");
  for (size_t i = 0; i < value.size(); ++i)
    if (!readElement(value[i], Place{&at, {}, i}))
      return false;
  return true;
}

bool Reader::readAttribute(const json &value, const Place &at, const Type *type,
                           Attribute &attribute) {
  const AttributeInfo &info = getInfo(attribute.key);
  auto indexOf = [&](const json &name, const Place &place, int64_t &index) {
    std::string text;
    if (!readText(name, place, text))
      return false;
    auto found = std::find(info.names.begin(), info.names.end(), text);
    index = found - info.names.begin();
    if (found != info.names.end())
      return true;
    std::string allowed;
    for (std::string_view known : info.names)
      allowed += (allowed.empty() ? "" : ", ") + std::string(known);
    return fail(place, "is ", weights::quoted(text), "; allowed are ", allowed);
  };
  switch (info.form) {
  case AttributeForm::Constant:
    if (!type)
      return fail(at, "belongs to an op with a result");
    return readConstant(value, at, *type, attribute.data);
  case AttributeForm::Mask: {
    if (!isList(value, at, 1, info.names.size()))
      return false;
    for (size_t i = 0; i < value.size(); ++i) {
      int64_t bit;
      if (!indexOf(value[i], Place{&at, {}, i}, bit))
        return false;
      // In the order of the bits, each once.
      if (attribute.number >> bit)
        return fail(at, "has a name twice or out of order");
      attribute.number |= int64_t(1) << bit;
    }
    return true;
  }
  case AttributeForm::Flag:
    if (value != json(true))
      return fail(at, "is a flag: true, or left out");
    return true;
  case AttributeForm::Enumerator:
    return indexOf(value, at, attribute.number);
  case AttributeForm::Number: {
    uint32_t number;
    if (!readNumber(value, at, number, INT32_MAX))
      return false;
    attribute.number = number;
    return true;
  }
  case AttributeForm::Numbers:
    if (!isList(value, at))
      return false;
    for (size_t i = 0; i < value.size(); ++i) {
      const json &entry = value[i];
      bool isDynamic =
          attribute.key == AttributeKey::Position && entry == json("dynamic");
      bool fits = entry.is_number_integer() &&
                  (!entry.is_number_unsigned() ||
                   entry.get<uint64_t>() <= uint64_t(INT64_MAX)) &&
                  (attribute.key != AttributeKey::Position ||
                   entry.get<int64_t>() != kDynamic);
      if (!isDynamic && !fits)
        return fail(Place{&at, {}, i}, "is no integer of 64 bits");
      attribute.numbers.push_back(isDynamic ? kDynamic : entry.get<int64_t>());
    }
    return true;
  case AttributeForm::Text:
    return readText(value, at, attribute.text);
  }
  return fail(at, "has no such form");
}

bool Reader::readOp(const json &value, const Place &at, Body &body, Op &op) {
  if (!value.is_object())
    return fail(at, "is no object");
  std::string name;
  const json *entry = member(value, at, "op");
  if (!entry || !readText(*entry, Place{&at, "op"}, name))
    return false;
  const OpInfo *info = findOp(name);
  if (!info)
    return fail(at, "has the op ", weights::quoted(name),
                ", which KIR doesn't have");
  op.opcode = info->opcode;

  if (!(entry = member(value, at, "loc")) ||
      !readLocationId(*entry, Place{&at, "loc"}, op.location))
    return false;
  size_t known = 2;
  auto optionalList = [&](std::string_view key, auto read) {
    auto found = value.find(key);
    if (found == value.end())
      return true;
    ++known;
    Place place{&at, key};
    // Nothing is spelt by leaving the key out.
    if (!isList(*found, place, 1))
      return false;
    for (size_t i = 0; i < found->size(); ++i)
      if (!read((*found)[i], Place{&place, {}, i}))
        return false;
    return true;
  };
  bool ok =
      optionalList("operands",
                   [&](const json &id, const Place &place) {
                     return readNumber(id, place, op.operands.emplace_back());
                   }) &&
      optionalList("results",
                   [&](const json &definition, const Place &place) {
                     return readDefinition(definition, place, false,
                                           op.location, body, op.results);
                   }) &&
      optionalList("successors", [&](const json &list, const Place &place) {
        if (!isList(list, place, 1))
          return false;
        Successor &successor = op.successors.emplace_back();
        if (!readNumber(list[0], Place{&place, {}, 0}, successor.block))
          return false;
        for (size_t i = 1; i < list.size(); ++i)
          if (!readNumber(list[i], Place{&place, {}, i},
                          successor.arguments.emplace_back()))
            return false;
        return true;
      });
  if (!ok)
    return false;
  const Type *type = nullptr;
  if (!op.results.empty())
    type = &module.types[body.values[op.results[0]].type];
  for (const AttributeUse &use : info->attributes) {
    std::string_view key = getInfo(use.key).spelling;
    auto found = value.find(key);
    if (found == value.end()) {
      if (use.required)
        return fail(at, "lacks the key '", key, "', which '", name, "' needs");
      continue;
    }
    ++known;
    Attribute attribute{use.key, 0, {}, {}, {}};
    if (!readAttribute(*found, Place{&at, key}, type, attribute))
      return false;
    op.attributes.push_back(std::move(attribute));
  }
  if (known != value.size()) {
    std::string allowed = "op, operands, results, successors, loc";
    for (const AttributeUse &use : info->attributes)
      allowed += ", " + std::string(getInfo(use.key).spelling);
    return fail(at, "has a key that '", name, "' doesn't take; allowed are ",
                allowed);
  }
  return true;
}

bool Reader::readBlock(const json &value, const Place &at, Body &body) {
  const json *arguments, *ops;
  Place argumentsAt{&at, "arguments"}, opsAt{&at, "ops"};
  if (!isObject(value, at, {"arguments", "ops"}) ||
      !(arguments = member(value, at, "arguments")) ||
      !(ops = member(value, at, "ops")) || !isList(*arguments, argumentsAt) ||
      !isList(*ops, opsAt))
    return false;
  Block &block = body.blocks.emplace_back();
  for (size_t i = 0; i < arguments->size(); ++i)
    if (!readDefinition((*arguments)[i], Place{&argumentsAt, {}, i}, true, 0,
                        body, block.arguments))
      return false;
  for (size_t i = 0; i < ops->size(); ++i)
    if (!readOp((*ops)[i], Place{&opsAt, {}, i}, body,
                block.ops.emplace_back()))
      return false;
  return true;
}

bool Reader::readFunction(const json &value, const Place &at) {
  if (!value.is_object())
    return fail(at, "is no object");
  Function &function = module.functions.emplace_back();
  bool isKernel = value.contains("kernel");
  std::string_view nameKey = isKernel ? "kernel" : "hook_body";
  bool knownKeys =
      isKernel ? isObject(value, at,
                          {"kernel", "private", "workgroup_size", "attributes",
                           "fill", "loc", "blocks"})
               : isObject(value, at,
                          {"hook_body", "private", "results", "loc", "blocks"});
  const json *entry = knownKeys ? member(value, at, nameKey) : nullptr;
  if (!entry || !readText(*entry, Place{&at, nameKey}, function.name))
    return false;
  if (auto found = value.find("private"); found != value.end()) {
    if (*found != json(true))
      return fail(Place{&at, "private"}, "is a flag: true, or left out");
    function.isPrivate = true;
  }
  if (isKernel) {
    Place place{&at, "workgroup_size"};
    if (!(entry = member(value, at, "workgroup_size")) ||
        !isList(*entry, place, 3, 3))
      return false;
    for (size_t i = 0; i < 3; ++i)
      if (!readNumber((*entry)[i], Place{&place, {}, i},
                      function.workgroupSize[i], 65535))
        return false;
    if (!readPairs(value, at, "attributes", function.attributes) ||
        !readPairs(value, at, "fill", function.fill))
      return false;
  } else {
    function.kind = FunctionKind::HookBody;
    Place place{&at, "results"};
    if (!(entry = member(value, at, "results")) || !isList(*entry, place))
      return false;
    for (size_t i = 0; i < entry->size(); ++i)
      if (!readType((*entry)[i], Place{&place, {}, i},
                    function.results.emplace_back()))
        return false;
  }
  if (!(entry = member(value, at, "loc")) ||
      !readLocationId(*entry, Place{&at, "loc"}, function.location))
    return false;
  Place place{&at, "blocks"};
  if (!(entry = member(value, at, "blocks")) || !isList(*entry, place, 1))
    return false;
  for (size_t i = 0; i < entry->size(); ++i)
    if (!readBlock((*entry)[i], Place{&place, {}, i}, function.body))
      return false;
  return true;
}

Status Reader::read(const json &document) {
  Place root;
  const json *entry;
  // Before all else, so that a file of another kind or time is called so.
  if (!document.is_object() || !document.contains("format") ||
      document["format"] != json("poot-kir")) {
    fail(root, "is no KIR; its \"format\" would be \"poot-kir\"");
    return error;
  }
  if (!(entry = member(document, root, "version")))
    return error;
  if (*entry != json(kJsonVersion)) {
    fail(root, "has version ", entry->dump(), " of KIR; this build reads ",
         kJsonVersion);
    return error;
  }
  if (!isObject(document, root,
                {"format", "version", "files", "locations", "functions"}))
    return error;
  auto list = [&](std::string_view key, auto read) {
    Place place{&root, key};
    if (!(entry = member(document, root, key)) || !isList(*entry, place))
      return false;
    const json &items = *entry;
    for (size_t i = 0; i < items.size(); ++i)
      if (!read(items[i], Place{&place, {}, i}))
        return false;
    return true;
  };
  std::vector<std::string> files;
  bool ok = list("files",
                 [&](const json &value, const Place &at) {
                   return readText(value, at, files.emplace_back());
                 }) &&
            list("locations",
                 [&](const json &value, const Place &at) {
                   return readLocation(value, at, files);
                 }) &&
            list("functions", [&](const json &value, const Place &at) {
              return readFunction(value, at);
            });
  return ok ? Status() : error;
}

/// Goes through a text for what a document doesn't show any more: where it
/// stops being JSON, and a key that stands twice in an object.
class TextCheck : public nlohmann::json_sax<json> {
public:
  std::string error;

  bool key(string_t &name) override {
    if (keys.back().insert(name).second)
      return true;
    error = "the key " + weights::quoted(name) + " stands twice in an object";
    return false;
  }
  bool start_object(size_t) override {
    keys.emplace_back();
    return true;
  }
  bool end_object() override {
    keys.pop_back();
    return true;
  }
  bool parse_error(size_t byte, const std::string &,
                   const json::exception &) override {
    error = "is no JSON: wrong at byte " + std::to_string(byte);
    return false;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }

private:
  std::vector<std::set<std::string>> keys; // Of the objects that are open.
};

/// A document, or the reason in ERROR. Not by json::parse with a callback,
/// which looks through all of a list again at each object in it.
json parseDocument(std::string_view text, std::string &error) {
  TextCheck check;
  (void)json::sax_parse(text.begin(), text.end(), &check);
  error = std::move(check.error);
  return error.empty() ? json::parse(text.begin(), text.end()) : json();
}

} // namespace

weights::Expected<Module> readJson(std::string_view text,
                                   std::string_view name) {
  auto fail = [&](StatusCode code, const std::string &what) {
    return weights::makeError(code, name, ": ", what);
  };
  if (text.size() > kMaxJsonBytes)
    return fail(StatusCode::Unsupported, "has " + std::to_string(text.size()) +
                                             " bytes; KIR has at most " +
                                             std::to_string(kMaxJsonBytes));
  std::string error;
  json document = parseDocument(text, error);
  if (!error.empty())
    return fail(StatusCode::Malformed, error);
  Reader reader;
  Status status = reader.read(document);
  if (status.ok())
    status = verify(reader.module);
  if (!status.ok())
    return fail(status.code(), status.message());
  return std::move(reader.module);
}

weights::Expected<Module> readJsonFile(const std::string &path) {
  weights::Expected<weights::MappedFile> file = weights::MappedFile::open(path);
  if (!file)
    return file.status();
  return readJson({reinterpret_cast<const char *>(file->data()), file->size()},
                  path);
}

} // namespace poot::kir
