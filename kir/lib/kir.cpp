// The tables of ops, attributes and element types, and the small questions that
// everybody asks of a module.

#include "poot/kir/kir.h"

#include "attributes.h"

#include <cassert>
#include <unordered_map>

namespace poot::kir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
struct ElementInfo {
  std::string_view spelling;
  uint8_t bits, bytes;
  bool isFloat;
};
constexpr ElementInfo kElements[] = {
    {"i1", 1, 1, false},   {"i8", 8, 1, false},   {"i16", 16, 2, false},
    {"i32", 32, 4, false}, {"i64", 64, 8, false}, {"index", 64, 8, false},
    {"f16", 16, 2, true},  {"bf16", 16, 2, true}, {"f32", 32, 4, true},
    {"f64", 64, 8, true},
};
const ElementInfo &info(Element element) {
  return kElements[static_cast<unsigned>(element)];
}

std::string toString(const Shape &shape) {
  std::string element(spelling(shape.element));
  if (!shape.isVector())
    return element;
  return "vector<" + std::to_string(shape.lanes) + "x" + element + ">";
}

std::string fragmentText(const Type &type) {
  return "fragment<" + std::to_string(type.rows) + "x" +
         std::to_string(type.columns) + "x" +
         std::string(spelling(type.shape.element)) + ", " +
         std::string(spelling(type.use)) + ">";
}

/// The element of a memory: a value, a structure or a fragment.
std::string elementText(const Type &type) {
  if (type.ofFragments)
    return fragmentText(type);
  if (!type.isStruct())
    return toString(type.shape);
  std::string text = "struct<" + std::to_string(type.structBytes) + ": ";
  for (size_t i = 0; i < type.leaves.size(); ++i) {
    const Leaf &leaf = type.leaves[i];
    text += (i ? ", " : "") + toString(leaf.shape);
    if (leaf.count != 1)
      text += " x " + std::to_string(leaf.count);
    text += " at " + std::to_string(leaf.offset);
  }
  return text + ">";
}
} // namespace

bool isFloat(Element element) { return info(element).isFloat; }
unsigned bitWidth(Element element) { return info(element).bits; }
unsigned byteSize(Element element) { return info(element).bytes; }
std::string_view spelling(Element element) { return info(element).spelling; }

std::string_view spelling(Access access) {
  switch (access) {
  case Access::Read:
    return "read";
  case Access::Write:
    return "write";
  case Access::ReadWrite:
    return "read_write";
  }
  return "";
}

std::string_view spelling(FragmentUse use) {
  switch (use) {
  case FragmentUse::A:
    return "a";
  case FragmentUse::B:
    return "b";
  case FragmentUse::Accumulator:
    return "accumulator";
  }
  return "";
}

uint64_t Type::elementCount() const {
  uint64_t count = 1;
  for (uint64_t extent : extents)
    count *= extent;
  return count;
}

bool Type::operator==(const Type &other) const {
  return kind == other.kind && shape == other.shape && leaves == other.leaves &&
         structBytes == other.structBytes && access == other.access &&
         extents == other.extents && rows == other.rows &&
         columns == other.columns && use == other.use &&
         ofFragments == other.ofFragments;
}

std::string toString(const Type &type) {
  std::string extents;
  for (uint64_t extent : type.extents)
    extents += std::to_string(extent) + "x";
  switch (type.kind) {
  case TypeKind::Value:
    return toString(type.shape);
  case TypeKind::Buffer:
    return "buffer<" + elementText(type) + ", " +
           std::string(spelling(type.access)) + ">";
  case TypeKind::Workgroup:
    return "workgroup<" + extents + elementText(type) + ">";
  case TypeKind::Table:
    return "table<" + extents + elementText(type) + ">";
  case TypeKind::Var:
    return "var<" + extents + elementText(type) + ">";
  case TypeKind::Fragment:
    return fragmentText(type);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Attributes and ops
//===----------------------------------------------------------------------===//

const AttributeInfo &getInfo(AttributeKey key) {
  using Form = AttributeForm;
  // In the order of AttributeKey.
  static const AttributeInfo table[] = {
      {"value", Form::Constant, {}},
      {"overflow", Form::Mask, {"nsw", "nuw"}},
      {"fastmath",
       Form::Mask,
       {"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"}},
      {"exact", Form::Flag, {}},
      {"predicate",
       Form::Enumerator,
       {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}},
      {"predicate",
       Form::Enumerator,
       {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
        "uge", "ult", "ule", "une", "uno", "true"}},
      {"rounding",
       Form::Enumerator,
       {"to_nearest_even", "downward", "upward", "toward_zero",
        "to_nearest_away"}},
      {"kind",
       Form::Enumerator,
       {"add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf",
        "and", "or", "xor", "minimumf", "maximumf"}},
      {"kind",
       Form::Enumerator,
       {"add", "min", "max", "umin", "umax", "and", "or", "xor", "exchange"}},
      {"order", Form::Enumerator, {"relaxed", "acquire", "release", "acq_rel"}},
      {"scope", Form::Enumerator, {"subgroup", "workgroup", "device"}},
      {"kind", Form::Enumerator, {"add", "mul", "min", "max", "umin", "umax"}},
      {"kind", Form::Enumerator, {"inclusive", "exclusive"}},
      {"kind", Form::Enumerator, {"idx", "xor", "up", "down"}},
      {"dim", Form::Enumerator, {"x", "y", "z"}},
      {"layout", Form::Enumerator, {"row", "column"}},
      {"unroll", Form::Enumerator, {"nounroll", "unroll_full", "unroll"}},
      {"leaf", Form::Number, {}},
      {"count", Form::Number, {}},
      {"offset", Form::Number, {}},
      {"position", Form::Numbers, {}},
      {"mask", Form::Numbers, {}},
      {"cases", Form::Numbers, {}},
      {"weights", Form::Numbers, {}},
      {"name", Form::Text, {}},
      {"default", Form::Text, {}},
  };
  static_assert(sizeof(table) / sizeof(*table) ==
                static_cast<size_t>(AttributeKey::DefaultBody) + 1);
  return table[static_cast<unsigned>(key)];
}

/// The lines of ops.def.
static std::vector<OpInfo> makeOps() {
  std::vector<OpInfo> ops;
#define Required(Key) AttributeUse{AttributeKey::Key, true}
#define Optional(Key) AttributeUse{AttributeKey::Key, false}
#define POOT_KIR_OP(Code, Spelling, Min, Max, Results, Rule, ...)              \
  ops.push_back({Opcode::Code,                                                 \
                 Spelling,                                                     \
                 Min,                                                          \
                 Max,                                                          \
                 Results,                                                      \
                 TypeRule::Rule,                                               \
                 {__VA_ARGS__}});
#include "poot/kir/ops.def"
#undef Required
#undef Optional
  return ops;
}

static const std::vector<OpInfo> &ops() {
  static const std::vector<OpInfo> table = makeOps();
  return table;
}

bool OpInfo::isTerminator() const {
  return rule == TypeRule::Branch || rule == TypeRule::Return ||
         rule == TypeRule::Yield || rule == TypeRule::Unreachable;
}

const OpInfo &getInfo(Opcode opcode) {
  return ops()[static_cast<unsigned>(opcode)];
}

const OpInfo *findOp(std::string_view spelling) {
  static const std::unordered_map<std::string_view, const OpInfo *> table = [] {
    std::unordered_map<std::string_view, const OpInfo *> result;
    for (const OpInfo &op : ops())
      result.emplace(op.spelling, &op);
    return result;
  }();
  auto found = table.find(spelling);
  return found == table.end() ? nullptr : found->second;
}

const Attribute *Op::find(AttributeKey key) const {
  for (const Attribute &attribute : attributes)
    if (attribute.key == key)
      return &attribute;
  return nullptr;
}

int64_t Op::number(AttributeKey key, int64_t otherwise) const {
  const Attribute *attribute = find(key);
  return attribute ? attribute->number : otherwise;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static const Function *findFunction(const Module &module, FunctionKind kind,
                                    std::string_view name) {
  for (const Function &function : module.functions)
    if (function.kind == kind && function.name == name)
      return &function;
  return nullptr;
}

const Function *Module::findKernel(std::string_view name) const {
  return findFunction(*this, FunctionKind::Kernel, name);
}

const Function *Module::findHookBody(std::string_view name) const {
  return findFunction(*this, FunctionKind::HookBody, name);
}

unsigned countBuffers(const Module &module, const Function &kernel) {
  unsigned count = 0;
  for (ValueId argument : kernel.arguments())
    count += module.type(kernel.body, argument).kind == TypeKind::Buffer;
  return count;
}

bool Location::operator==(const Location &other) const {
  return kind == other.kind && text == other.text && line == other.line &&
         column == other.column && endLine == other.endLine &&
         endColumn == other.endColumn && parts == other.parts;
}

/// The position or name that stands for LOCATION without its callers.
static Frame placeOf(const Module &module, LocationId id) {
  Frame named;
  // Parts come before the whole, so this ends.
  while (true) {
    const Location &location = module.locations[id];
    switch (location.kind) {
    case LocationKind::Unknown:
      return named;
    case LocationKind::File:
      return {location.text, location.line, location.column, named.name};
    case LocationKind::Name:
      if (named.name.empty())
        named.name = location.text;
      id = location.parts[0];
      break;
    case LocationKind::Call:
      id = location.parts[0];
      break;
    case LocationKind::Fused:
      if (location.parts.empty())
        return named;
      id = location.parts[0];
      break;
    }
  }
}

std::vector<Frame> callPath(const Module &module, LocationId location) {
  constexpr size_t kMaxFrames = 64;
  std::vector<Frame> frames;
  // A place in a callee may be a call itself: the callers still to come.
  std::vector<LocationId> rest = {location};
  while (!rest.empty() && frames.size() < kMaxFrames) {
    LocationId id = rest.back();
    rest.pop_back();
    // Down to the innermost place; what called it comes after it.
    while (true) {
      const Location &at = module.locations[id];
      if (at.kind == LocationKind::Call) {
        rest.push_back(at.parts[1]);
        id = at.parts[0];
      } else if ((at.kind == LocationKind::Name &&
                  module.locations[at.parts[0]].kind == LocationKind::Call) ||
                 (at.kind == LocationKind::Fused && !at.parts.empty())) {
        id = at.parts[0];
      } else {
        break;
      }
    }
    Frame frame = placeOf(module, id);
    if (!frame.file.empty() || !frame.name.empty())
      frames.push_back(frame);
  }
  return frames;
}

} // namespace poot::kir
