//===- info.cpp - What a bundle holds, for people and programs ------------===//

#include "poot/bundle/info.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>

using namespace poot;
using namespace poot::bundle;

namespace {

std::string_view view(const flatbuffers::String *text) {
  return text ? std::string_view(text->data(), text->size())
              : std::string_view();
}

template <class V> uint32_t length(const V *vector) {
  return vector ? vector->size() : 0;
}

/// A text of the file, fit for a terminal.
std::string shown(const flatbuffers::String *text) {
  return bundle::printable(view(text));
}

/// "8x8x1" of a vector of extents.
template <class V> std::string extents(const V *vector) {
  std::string text;
  for (uint32_t i = 0; i != length(vector); ++i)
    text += weights::concat(text.empty() ? "" : "x", vector->Get(i));
  return text;
}

/// Rows of texts, printed with aligned columns. Column 0 and those that hold
/// a text are flush left, columns of numbers flush right.
class Table {
public:
  explicit Table(std::vector<std::string> titles) { add(std::move(titles)); }

  /// Long cells are cut: every row is as wide as the widest.
  void add(std::vector<std::string> row) {
    for (std::string &cell : row)
      if (cell.size() > 400)
        cell = cell.substr(0, 397) + "...";
    rows.push_back(std::move(row));
  }
  bool empty() const { return rows.size() == 1; }

  std::string print(const char *indent) const {
    const size_t columns = rows.front().size();
    std::vector<size_t> width(columns);
    std::vector<bool> number(columns, true);
    for (size_t r = 0; r != rows.size(); ++r)
      for (size_t c = 0; c != columns; ++c) {
        const std::string &cell = rows[r][c];
        width[c] = std::max(width[c], cell.size());
        if (r != 0 && !cell.empty() && (cell[0] < '0' || cell[0] > '9'))
          number[c] = false;
      }
    std::string text;
    for (const std::vector<std::string> &row : rows) {
      std::string line = indent;
      for (size_t c = 0; c != columns; ++c) {
        const std::string padding(width[c] - row[c].size(), ' ');
        line += c == 0 ? "" : "  ";
        line += number[c] ? padding + row[c] : row[c] + padding;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> rows;
};

std::string number(uint64_t value) { return std::to_string(value); }

template <class V> std::string joined(const V *strings) {
  std::string text;
  for (uint32_t i = 0; i != length(strings); ++i)
    text += (text.empty() ? "" : ", ") + shown(strings->Get(i));
  return text;
}

template <class V> uint64_t totalSize(const V *values) {
  uint64_t total = 0;
  for (uint32_t i = 0; i != length(values); ++i)
    total += values->Get(i)->size();
  return total;
}

uint64_t codeSize(const fb::Kernel &kernel) { return totalSize(kernel.code()); }

uint32_t dispatchCount(const fb::Program &program) {
  uint32_t count = 0;
  for (uint32_t i = 0; i != length(program.commands()); ++i)
    count +=
        program.commands()->Get(i)->body_type() == fb::CommandBody::Dispatch;
  return count;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string codeFormats(const fb::Kernel &kernel) {
  std::string text;
  for (uint32_t i = 0; i != length(kernel.code()); ++i) {
    const fb::Code &code = *kernel.code()->Get(i);
    text += text.empty() ? "" : ", ";
    text += fb::EnumNameCodeFormat(code.format());
    if (!view(code.architecture()).empty())
      text += ' ' + shown(code.architecture());
  }
  return text;
}

template <class V> std::string valueNames(const V *values) {
  std::string text;
  for (uint32_t i = 0; i != length(values); ++i) {
    text += text.empty() ? "" : ", ";
    text += shown(values->Get(i)->name()) + " (" +
            toString(*values->Get(i)->type()) + ')';
  }
  return text;
}

void addProgram(Table &table, const fb::Program &program, const char *name) {
  const fb::EntryKey *key = program.key();
  table.add({name ? name : shown(program.entry()),
             key ? fb::EnumNamePhase(key->phase()) : "-",
             key ? number(key->rows()) : "-", key ? number(key->tokens()) : "-",
             key ? key->capacity() ? number(key->capacity()) : "open" : "-",
             key ? fb::EnumNameCacheLayout(key->cache()) : "-",
             key ? fb::EnumNameLogits(key->logits()) : "-",
             key && key->suffix() ? shown(key->suffix()) : "-",
             number(length(program.commands())), number(dispatchCount(program)),
             formatBytes(program.arena_size())});
}

void printTarget(std::string &out, const fb::Target &target) {
  out += "\ntarget " + shown(target.name()) + '\n';
  out += "  requires  " +
         (length(target.required_features())
              ? joined(target.required_features())
              : std::string("nothing beyond the baseline")) +
         '\n';
  uint64_t code = 0, tests = 0;
  for (uint32_t i = 0; i != length(target.kernels()); ++i) {
    code += codeSize(*target.kernels()->Get(i));
    tests += length(target.kernels()->Get(i)->tests());
  }
  out += weights::concat("  kernels   ", length(target.kernels()), ", ",
                         formatBytes(code), " of code, ", tests,
                         " test vectors\n");
  out += weights::concat("  computed  ", length(target.computed()), ", ",
                         formatBytes(totalSize(target.computed())), "\n");

  Table programs({"entry", "phase", "rows", "tokens", "capacity", "cache",
                  "logits", "suffix", "commands", "dispatches", "arena"});
  if (target.load())
    addProgram(programs, *target.load(), "(load)");
  for (uint32_t i = 0; i != length(target.programs()); ++i)
    addProgram(programs, *target.programs()->Get(i), nullptr);
  if (!programs.empty())
    out += '\n' + programs.print("  ");
  for (uint32_t i = 0; i != length(target.programs()); ++i) {
    const fb::Program &program = *target.programs()->Get(i);
    out += "\n  entry " + shown(program.entry()) + '\n';
    if (length(program.slots()))
      out += "    slots    " + valueNames(program.slots()) + '\n';
    if (length(program.outputs()))
      out += "    outputs  " + valueNames(program.outputs()) + '\n';
  }

  Table kernels({"kernel", "variant", "code", "format", "workgroup",
                 "arguments", "metadata", "tests", "requires"});
  for (uint32_t i = 0; i != length(target.kernels()); ++i) {
    const fb::Kernel &kernel = *target.kernels()->Get(i);
    kernels.add(
        {shown(kernel.name()), shown(kernel.variant()),
         number(codeSize(kernel)), codeFormats(kernel),
         extents(kernel.workgroup_size()), number(length(kernel.arguments())),
         number(kernel.metadata_words()), number(length(kernel.tests())),
         joined(kernel.required_features())});
  }
  if (!kernels.empty())
    out += '\n' + kernels.print("  ");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

using Json = nlohmann::ordered_json;

Json json(const flatbuffers::String *text) { return std::string(view(text)); }

template <class V, class F> Json list(const V *vector, F function) {
  Json array = Json::array();
  for (uint32_t i = 0; i != length(vector); ++i)
    array.push_back(function(vector->Get(i)));
  return array;
}

template <class V> Json strings(const V *vector) {
  return list(vector,
              [](const flatbuffers::String *text) { return json(text); });
}

template <class V> Json numbers(const V *vector) {
  return list(vector, [](auto value) { return value; });
}

template <class T> Json value(const T &value) {
  return {{"name", json(value.name())},
          {"element", json(value.type()->element())},
          {"layout", json(value.type()->layout())},
          {"shape", numbers(value.type()->shape())},
          {"size", value.size()}};
}

Json keyJson(const fb::EntryKey *key) {
  if (!key)
    return nullptr;
  return {{"phase", fb::EnumNamePhase(key->phase())},
          {"rows", key->rows()},
          {"tokens", key->tokens()},
          {"capacity", key->capacity()},
          {"cache", fb::EnumNameCacheLayout(key->cache())},
          {"logits", fb::EnumNameLogits(key->logits())},
          {"suffix", json(key->suffix())},
          {"activation", json(key->activation())},
          {"kv", json(key->kv())},
          {"accumulate", json(key->accumulate())}};
}

Json programJson(const fb::Program &program) {
  auto values = [](const auto *vector) {
    return list(vector, [](const auto *element) { return value(*element); });
  };
  return {{"entry", json(program.entry())},
          {"key", keyJson(program.key())},
          {"slots", values(program.slots())},
          {"outputs", values(program.outputs())},
          {"commands", length(program.commands())},
          {"dispatches", dispatchCount(program)},
          {"buffers", length(program.buffers())},
          {"arena", program.arena_size()}};
}

Json kernelJson(const fb::Kernel &kernel) {
  return {{"name", json(kernel.name())},
          {"variant", json(kernel.variant())},
          {"workgroup_size", numbers(kernel.workgroup_size())},
          {"static_workgroup_bytes", kernel.static_workgroup_bytes()},
          {"arguments", length(kernel.arguments())},
          {"metadata_words", kernel.metadata_words()},
          {"required_features", strings(kernel.required_features())},
          {"subgroup_size", kernel.subgroup_size()},
          {"tests", length(kernel.tests())},
          {"location", json(kernel.location())},
          {"code", list(kernel.code(), [](const fb::Code *code) -> Json {
             return {{"format", fb::EnumNameCodeFormat(code->format())},
                     {"architecture", json(code->architecture())},
                     {"entry_point", json(code->entry_point())},
                     {"size", code->size()}};
           })}};
}

Json targetJson(const fb::Target &target) {
  return {{"name", json(target.name())},
          {"required_features", strings(target.required_features())},
          {"kernels",
           list(target.kernels(),
                [](const fb::Kernel *kernel) { return kernelJson(*kernel); })},
          {"computed",
           list(target.computed(),
                [](const fb::Computed *computed) { return value(*computed); })},
          {"load", target.load() ? programJson(*target.load()) : Json(nullptr)},
          {"programs", list(target.programs(), [](const fb::Program *program) {
             return programJson(*program);
           })}};
}

} // namespace

std::string bundle::printable(std::string_view text) {
  const bool plain = text.size() <= 80 &&
                     std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= 0x20 && c < 0x7f; });
  return plain ? std::string(text) : weights::quoted(text);
}

std::string bundle::toString(const fb::TensorType &type) {
  std::string text = shown(type.element());
  if (!view(type.layout()).empty())
    text += ' ' + shown(type.layout());
  std::string shape;
  for (uint32_t i = 0; i != length(type.shape()); ++i) {
    const int64_t extent = type.shape()->Get(i);
    shape += shape.empty() ? "" : "x";
    shape += extent == -1 ? std::string("?") : std::to_string(extent);
  }
  return shape.empty() ? text : text + ' ' + shape;
}

std::string bundle::formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return weights::concat(bytes, " B");
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 and above would print as 1024.0.
  for (; value >= 1023.95 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

std::string bundle::infoText(const BundleFile &file) {
  const fb::Bundle &index = file.index();
  std::string out = file.name() + '\n';
  out += weights::concat("  format    version ", index.version(), ", ",
                         formatBytes(file.fileSize()), ", index ",
                         formatBytes(file.header().indexSize), "\n");
  if (!view(index.producer()).empty())
    out += "  producer  " + shown(index.producer()) + '\n';

  uint64_t embedded = 0, open = 0;
  for (uint32_t i = 0; i != length(index.consts()); ++i)
    embedded += index.consts()->Get(i)->section() >= 0;
  for (uint32_t i = 0; i != length(index.states()); ++i)
    open += isOpen(*index.states()->Get(i)->type());
  out += weights::concat("  consts    ", length(index.consts()), ", ",
                         formatBytes(totalSize(index.consts())), ", ", embedded,
                         " of them in this file\n");
  out += weights::concat("  states    ", length(index.states()), ", ",
                         formatBytes(totalSize(index.states())));
  if (open)
    out += weights::concat(", ", open,
                           " of them with an open extent, counted "
                           "as one row");
  out += '\n';

  if (length(index.model())) {
    Table model({"model", "value"});
    for (uint32_t i = 0; i != length(index.model()); ++i)
      model.add({shown(index.model()->Get(i)->key()),
                 shown(index.model()->Get(i)->value())});
    out += '\n' + model.print("  ");
  }
  Table sections({"section", "kind", "offset", "bytes"});
  for (uint32_t i = 0; i != length(index.sections()); ++i) {
    const fb::Section &section = *index.sections()->Get(i);
    sections.add({number(i), fb::EnumNameSectionKind(section.kind()),
                  number(file.header().dataStart + section.offset()),
                  number(section.size())});
  }
  if (!sections.empty())
    out += '\n' + sections.print("  ");
  for (uint32_t i = 0; i != length(index.targets()); ++i)
    printTarget(out, *index.targets()->Get(i));
  return out;
}

std::string bundle::infoJson(const BundleFile &file) {
  const fb::Bundle &index = file.index();
  // The keys are known to differ: no search for each.
  Json::object_t model;
  for (uint32_t i = 0; i != length(index.model()); ++i)
    model.emplace_back(std::string(view(index.model()->Get(i)->key())),
                       json(index.model()->Get(i)->value()));
  Json object = {
      {"file", file.name()},
      {"version", index.version()},
      {"size", file.fileSize()},
      {"producer", json(index.producer())},
      {"model", model},
      {"consts", list(index.consts(),
                      [](const fb::Const *constant) {
                        Json object = value(*constant);
                        if (constant->section() >= 0)
                          object["section"] = constant->section();
                        return object;
                      })},
      {"states", list(index.states(),
                      [](const fb::State *state) {
                        Json object = value(*state);
                        object["zeroed"] = state->zeroed();
                        return object;
                      })},
      {"sections",
       list(index.sections(),
            [&](const fb::Section *section) -> Json {
              return {{"kind", fb::EnumNameSectionKind(section->kind())},
                      {"offset", file.header().dataStart + section->offset()},
                      {"size", section->size()}};
            })},
      {"targets", list(index.targets(), [](const fb::Target *target) {
         return targetJson(*target);
       })}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}
