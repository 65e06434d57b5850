// Writes .kir.json by hand rather than through a library, so that one op stands
// on one line.

#include "poot/kir/json.h"

#include "attributes.h"
#include "number_text.h"

#include <unordered_map>

namespace poot::kir {
namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20) {
      static const char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class Writer {
public:
  explicit Writer(const Module &module) : module(module) {
    for (const Type &type : module.types)
      types.push_back(quote(toString(type)));
  }

  std::string write();

private:
  template <class List, class Print> void list(const List &items, Print print) {
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i)
        out += ", ";
      print(items[i]);
    }
    out += ']';
  }
  template <class Int> void number(Int value) { out += std::to_string(value); }
  void values(const std::vector<ValueId> &ids) {
    list(ids, [&](ValueId id) { number(id); });
  }
  void pairs(std::string_view key,
             const std::vector<std::pair<std::string, std::string>> &entries);
  void locations();
  void attribute(const Op &op, const Attribute &attribute);
  void writeOp(const Body &body, const Op &op);
  void writeFunction(const Function &function);

  const Module &module;
  std::vector<std::string> types;
  const Body *body = nullptr;
  std::string out;
};

void Writer::pairs(
    std::string_view key,
    const std::vector<std::pair<std::string, std::string>> &entries) {
  if (entries.empty())
    return;
  out += "      \"" + std::string(key) + "\": {";
  for (size_t i = 0; i < entries.size(); ++i)
    out += (i ? ", " : "") + quote(entries[i].first) + ": " +
           quote(entries[i].second);
  out += "},\n";
}

void Writer::locations() {
  std::unordered_map<std::string_view, size_t> numbers;
  std::vector<std::string_view> files;
  for (const Location &location : module.locations)
    if (location.kind == LocationKind::File &&
        numbers.emplace(location.text, files.size()).second)
      files.push_back(location.text);
  out += "  \"files\": ";
  list(files, [&](std::string_view file) { out += quote(file); });
  out += ",\n  \"locations\": [";
  for (size_t i = 0; i < module.locations.size(); ++i) {
    const Location &location = module.locations[i];
    out += i ? ",\n    " : "\n    ";
    switch (location.kind) {
    case LocationKind::Unknown:
      out += "null";
      break;
    case LocationKind::File: {
      std::vector<uint64_t> parts = {numbers[location.text], location.line,
                                     location.column};
      if (location.endLine != location.line ||
          location.endColumn != location.column)
        parts.insert(parts.end(), {location.endLine, location.endColumn});
      list(parts, [&](uint64_t part) { number(part); });
      break;
    }
    case LocationKind::Call:
      out += "{\"callee\": ";
      number(location.parts[0]);
      out += ", \"caller\": ";
      number(location.parts[1]);
      out += '}';
      break;
    case LocationKind::Name:
      out += "{\"name\": " + quote(location.text) + ", \"of\": ";
      number(location.parts[0]);
      out += '}';
      break;
    case LocationKind::Fused:
      out += "{\"fused\": ";
      values(location.parts);
      out += '}';
      break;
    }
  }
  out += module.locations.empty() ? "],\n" : "\n  ],\n";
}

void Writer::attribute(const Op &op, const Attribute &attribute) {
  const AttributeInfo &info = getInfo(attribute.key);
  out += ", \"" + std::string(info.spelling) + "\": ";
  switch (info.form) {
  case AttributeForm::Constant: {
    const Type &type = module.types[body->values[op.results[0]].type];
    Element element = type.shape.element;
    size_t each = byteSize(element), count = attribute.data.size() / each;
    bool isList = type.kind == TypeKind::Table || type.shape.isVector();
    out += isList ? "[" : "";
    for (size_t i = 0; i < count; ++i)
      out += (i ? ", " : "") +
             numberText(element, attribute.data.data() + i * each);
    out += isList ? "]" : "";
    break;
  }
  case AttributeForm::Mask: {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < info.names.size(); ++i)
      if (attribute.number >> i & 1)
        names.push_back(info.names[i]);
    list(names, [&](std::string_view name) { out += quote(name); });
    break;
  }
  case AttributeForm::Flag:
    out += "true";
    break;
  case AttributeForm::Enumerator:
    out += quote(info.names[attribute.number]);
    break;
  case AttributeForm::Number:
    number(attribute.number);
    break;
  case AttributeForm::Numbers:
    list(attribute.numbers, [&](int64_t value) {
      if (attribute.key == AttributeKey::Position && value == kDynamic)
        out += "\"dynamic\"";
      else
        number(value);
    });
    break;
  case AttributeForm::Text:
    out += quote(attribute.text);
    break;
  }
}

void Writer::writeOp(const Body &body, const Op &op) {
  out += "            {\"op\": \"" + std::string(getInfo(op.opcode).spelling) +
         "\"";
  for (const Attribute &entry : op.attributes)
    attribute(op, entry);
  if (!op.operands.empty()) {
    out += ", \"operands\": ";
    values(op.operands);
  }
  if (!op.results.empty()) {
    out += ", \"results\": ";
    list(op.results, [&](ValueId id) {
      out += '[';
      number(id);
      out += ", " + types[body.values[id].type] + "]";
    });
  }
  if (!op.successors.empty()) {
    out += ", \"successors\": ";
    list(op.successors, [&](const Successor &successor) {
      out += '[';
      number(successor.block);
      for (ValueId id : successor.arguments) {
        out += ", ";
        number(id);
      }
      out += ']';
    });
  }
  out += ", \"loc\": ";
  number(op.location);
  out += '}';
}

void Writer::writeFunction(const Function &function) {
  bool isKernel = function.kind == FunctionKind::Kernel;
  body = &function.body;
  out +=
      isKernel ? "    {\n      \"kernel\": " : "    {\n      \"hook_body\": ";
  out += quote(function.name) + ",\n";
  if (function.isPrivate)
    out += "      \"private\": true,\n";
  if (isKernel) {
    out += "      \"workgroup_size\": ";
    list(function.workgroupSize, [&](uint32_t extent) { number(extent); });
    out += ",\n";
    pairs("attributes", function.attributes);
    pairs("fill", function.fill);
  } else {
    out += "      \"results\": ";
    list(function.results, [&](TypeId type) { out += types[type]; });
    out += ",\n";
  }
  out += "      \"loc\": ";
  number(function.location);
  out += ",\n      \"blocks\": [\n";
  for (size_t b = 0; b < body->blocks.size(); ++b) {
    const Block &block = body->blocks[b];
    out += "        {\n          \"arguments\": ";
    list(block.arguments, [&](ValueId id) {
      const Value &value = body->values[id];
      out += '[';
      number(id);
      out += ", " + types[value.type] + ", ";
      number(value.location);
      out += ']';
    });
    out += ",\n          \"ops\": [\n";
    for (size_t i = 0; i < block.ops.size(); ++i) {
      writeOp(*body, block.ops[i]);
      out += i + 1 < block.ops.size() ? ",\n" : "\n";
    }
    out += b + 1 < body->blocks.size() ? "          ]\n        },\n"
                                       : "          ]\n        }\n";
  }
  out += "      ]\n    }";
}

std::string Writer::write() {
  out = "{\n  \"format\": \"poot-kir\",\n  \"version\": " +
        std::to_string(kJsonVersion) + ",\n";
  locations();
  out += "  \"functions\": [";
  for (size_t i = 0; i < module.functions.size(); ++i) {
    out += i ? ",\n" : "\n";
    writeFunction(module.functions[i]);
  }
  out += module.functions.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return std::move(out);
}

} // namespace

std::string writeJson(const Module &module) { return Writer(module).write(); }

} // namespace poot::kir
