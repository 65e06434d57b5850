// The rules of verify.h. Types first, then functions one by one: their frame,
// the graph of their blocks, and each op against its line in ops.def and the
// rule named there. Everything is linear in the size of the module, but for a
// logarithm in the search for dominators.

#include "poot/kir/verify.h"

#include "attributes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace poot::kir {
namespace {

using weights::Status;
using weights::StatusCode;

template <class... Parts> Status malformed(const Parts &...parts) {
  return weights::makeError(StatusCode::Malformed, parts...);
}

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto byte = [&](size_t at) {
      return at < text.size() ? static_cast<uint8_t>(text[at]) : 0;
    };
    uint8_t first = byte(i);
    unsigned more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    if (first >= 0xF5 || (first >= 0x80 && first < 0xC2))
      return false;
    for (unsigned k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xC0) != 0x80)
        return false;
    uint8_t second = byte(i + 1);
    // Overlong forms, surrogates, and what lies beyond Unicode.
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return false;
    i += more + 1;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isScalarInMemory(Element element) {
  return element != Element::I1 && element != Element::Index;
}

/// What a buffer or workgroup array holds, or a leaf of a structure.
bool isMemoryShape(const Shape &shape) {
  return isScalarInMemory(shape.element) &&
         (shape.lanes == 0 || shape.lanes == 2 || shape.lanes == 4);
}

bool isFragmentShape(const Type &type) {
  auto isExtent = [](uint32_t n) { return n == 8 || n == 16 || n == 32; };
  return isExtent(type.rows) && isExtent(type.columns) &&
         !type.shape.isVector() && isScalarInMemory(type.shape.element);
}

Status verifyStruct(const Type &type) {
  constexpr uint64_t kMaxBytes = uint64_t(1) << 40;
  if (type.leaves.empty() || type.structBytes > kMaxBytes)
    return malformed(toString(type), " has no leaf, or more than 2^40 bytes");
  uint64_t end = 0;
  for (const Leaf &leaf : type.leaves) {
    uint64_t bytes = leaf.shape.bytes();
    if (!isMemoryShape(leaf.shape) || leaf.count < 1 ||
        leaf.count > INT32_MAX || leaf.offset < end ||
        leaf.offset > kMaxBytes || leaf.offset % bytes != 0 ||
        type.structBytes % bytes != 0)
      return malformed(toString(type), " has a leaf at ", leaf.offset,
                       " that is no scalar or vector of 2 or 4, overlaps the "
                       "one before it or isn't aligned to its size");
    end = leaf.offset + leaf.count * bytes;
  }
  if (end > type.structBytes)
    return malformed(toString(type), " has leaves up to byte ", end);
  return {};
}

Status verifyType(const Type &type) {
  auto wrong = [&](std::string_view allowed) {
    return malformed(toString(type), " is no type: ", allowed);
  };
  if (type.isStruct() != !type.leaves.empty() ||
      (type.isStruct() && type.kind != TypeKind::Buffer))
    return wrong("a structure is an element of a buffer");
  switch (type.kind) {
  case TypeKind::Value:
    return {};
  case TypeKind::Buffer:
    if (type.isStruct())
      return verifyStruct(type);
    return isMemoryShape(type.shape)
               ? Status()
               : wrong("a buffer holds scalars of 8 to 64 bits, vectors of 2 "
                       "or 4 of them, or structures");
  case TypeKind::Workgroup:
  case TypeKind::Table:
    if (type.extents.size() != 1 || type.extents[0] < 1 ||
        type.extents[0] > INT32_MAX)
      return wrong("an array has one extent of 1 to 2147483647");
    if (!isMemoryShape(type.shape) ||
        (type.kind == TypeKind::Table && type.shape.isVector()))
      return wrong("an array holds scalars of 8 to 64 bits, and one that isn't "
                   "a table vectors of 2 or 4 of them");
    return {};
  case TypeKind::Var: {
    uint64_t count = 1;
    for (uint64_t extent : type.extents) {
      if (extent < 1 || extent > INT32_MAX / count)
        return wrong("a variable has 1 to 2147483647 elements");
      count *= extent;
    }
    if (type.ofFragments ? !isFragmentShape(type)
                         : type.shape.element == Element::Index)
      return wrong("a variable holds i1, scalars, vectors or fragments");
    return {};
  }
  case TypeKind::Fragment:
    return isFragmentShape(type)
               ? Status()
               : wrong(
                     "a fragment has 8, 16 or 32 rows and columns of scalars");
  }
  return wrong("no such kind");
}

//===----------------------------------------------------------------------===//
// Dominators
//===----------------------------------------------------------------------===//

/// Immediate dominators by the semi-NCA algorithm, then a numbering of the tree
/// in which a question takes two comparisons.
class Dominators {
public:
  explicit Dominators(const Body &body) {
    size_t count = body.blocks.size();
    number.assign(count, kNone);
    depthFirst(body);
    computeTree(body);
  }

  bool isReachable(uint32_t block) const { return number[block] != kNone; }
  /// Of reachable blocks.
  bool dominates(uint32_t a, uint32_t b) const {
    uint32_t i = number[a], j = number[b];
    return first[i] <= first[j] && last[j] <= last[i];
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  static const std::vector<Successor> &successors(const Body &body,
                                                  uint32_t block) {
    return body.blocks[block].ops.back().successors;
  }

  void depthFirst(const Body &body) {
    std::vector<std::pair<uint32_t, size_t>> stack;
    auto enter = [&](uint32_t block, uint32_t from) {
      number[block] = static_cast<uint32_t>(blocks.size());
      blocks.push_back(block);
      parent.push_back(from);
      stack.push_back({block, 0});
    };
    enter(0, 0);
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      const auto &targets = successors(body, block);
      if (next == targets.size()) {
        stack.pop_back();
        continue;
      }
      uint32_t target = targets[next++].block, from = number[block];
      if (number[target] == kNone)
        enter(target, from);
    }
  }

  /// The vertex of least semidominator on the path above V, within what has
  /// been linked; shortens the path.
  uint32_t evaluate(uint32_t v, uint32_t linkedFrom) {
    path.clear();
    while (ancestor[v] >= linkedFrom && ancestor[v] != v) {
      path.push_back(v);
      v = ancestor[v];
    }
    uint32_t top = ancestor[v], best = label[v];
    for (size_t i = path.size(); i-- > 0;) {
      uint32_t u = path[i];
      if (semi[label[u]] <= semi[best])
        best = label[u];
      label[u] = best;
      ancestor[u] = top;
    }
    return best;
  }

  void computeTree(const Body &body) {
    uint32_t count = static_cast<uint32_t>(blocks.size());
    std::vector<std::vector<uint32_t>> predecessors(count);
    for (uint32_t i = 0; i < count; ++i)
      for (const Successor &successor : successors(body, blocks[i]))
        predecessors[number[successor.block]].push_back(i);
    ancestor = parent;
    semi.resize(count);
    label.resize(count);
    std::vector<uint32_t> dominator = parent;
    for (uint32_t i = 0; i < count; ++i)
      semi[i] = label[i] = i;
    for (uint32_t v = count; v-- > 1;) {
      semi[v] = parent[v];
      for (uint32_t p : predecessors[v]) {
        uint32_t least = p <= v ? p : semi[evaluate(p, v + 1)];
        semi[v] = std::min(semi[v], least);
      }
    }
    for (uint32_t v = 1; v < count; ++v)
      while (dominator[v] > semi[v])
        dominator[v] = dominator[dominator[v]];

    // Children have larger numbers than their parent in the tree.
    std::vector<std::vector<uint32_t>> children(count);
    for (uint32_t v = 1; v < count; ++v)
      children[dominator[v]].push_back(v);
    first.resize(count);
    last.resize(count);
    uint32_t clock = 0;
    std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
    first[0] = clock++;
    while (!stack.empty()) {
      auto &[v, next] = stack.back();
      if (next == children[v].size()) {
        last[v] = clock++;
        stack.pop_back();
        continue;
      }
      uint32_t child = children[v][next++];
      first[child] = clock++;
      stack.push_back({child, 0});
    }
  }

  std::vector<uint32_t> number; ///< Of a block, in depth-first order.
  std::vector<uint32_t> blocks, parent, ancestor, semi, label, first, last;
  std::vector<uint32_t> path;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

class Verifier {
public:
  explicit Verifier(const Module &module) : module(module) {}

  Status verify();

private:
  Status verifyLocations();
  Status verifyFrame(const Function &function);
  Status verifyBody(const Function &function);
  Status verifyShapeOfOp(const Op &op);
  Status verifyAttribute(const Op &op, const Attribute &attribute);
  Status verifyConstant(const Op &op, const Type &type);
  Status verifySuccessors(const Op &op);
  Status verifyTypes(const Op &op);
  Status verifyMemoryAccess(const Op &op, size_t memory, bool reads,
                            bool writes);
  Status verifyElementAccess(const Op &op, size_t memory, const Type &value);
  Status verifyAtomic(const Op &op, bool reads, bool writes);
  Status verifyFragmentMemory(const Op &op, size_t memory,
                              const Type &fragment);
  Status verifyHook(const Op &op);
  Status verifyHookCycles();

  template <class... Parts> Status wrong(const Op &op, const Parts &...parts) {
    return malformed("'", getInfo(op.opcode).spelling, "' ", parts...);
  }

  const Type &operand(const Op &op, size_t i) {
    return module.type(*body, op.operands[i]);
  }
  const Type &result(const Op &op, size_t i = 0) {
    return module.type(*body, op.results[i]);
  }
  bool isI32(const Type &type) {
    return type.isValue() && type.shape == Shape{Element::I32, 0};
  }
  bool isI1(const Type &type) {
    return type.isValue() && type.shape == Shape{Element::I1, 0};
  }
  bool isIndex(const Type &type) {
    return type.isValue() && type.shape == Shape{Element::Index, 0};
  }
  /// What a register holds.
  bool isRegister(const Type &type) {
    return type.isValue() || type.kind == TypeKind::Fragment;
  }
  bool isShared(const Type &type) {
    return type.kind == TypeKind::Buffer || type.kind == TypeKind::Workgroup;
  }
  bool allSame(const Op &op, bool wantFloat) {
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (operand(op, i) != result(op))
        return false;
    for (size_t i = 0; i < op.results.size(); ++i)
      if (result(op, i) != result(op))
        return false;
    return result(op).isValue() &&
           isFloat(result(op).shape.element) == wantFloat;
  }
  /// The operand's lanes, with other elements.
  bool sameLanes(const Type &a, const Type &b) {
    return a.isValue() && b.isValue() && a.shape.lanes == b.shape.lanes;
  }
  std::string signature(const Op &op);

  const Module &module;
  const Function *function = nullptr;
  const Body *body = nullptr;
  std::unordered_map<std::string_view, const Function *> bodies;
};

std::string Verifier::signature(const Op &op) {
  std::string text = "(";
  for (size_t i = 0; i < op.operands.size(); ++i)
    text += (i ? ", " : "") + toString(operand(op, i));
  text += ") -> (";
  for (size_t i = 0; i < op.results.size(); ++i)
    text += (i ? ", " : "") + toString(result(op, i));
  return text + ")";
}

Status Verifier::verifyLocations() {
  // Whoever walks a location may call itself for each level.
  constexpr uint32_t kMaxDepth = 256;
  std::vector<uint32_t> depths;
  for (size_t i = 0; i < module.locations.size(); ++i) {
    const Location &location = module.locations[i];
    auto wrong = [&](std::string_view what) {
      return malformed("location ", i, " ", what);
    };
    uint32_t depth = 0;
    for (LocationId part : location.parts) {
      if (part >= i)
        return wrong("has a part that doesn't come before it");
      depth = std::max(depth, depths[part] + 1);
    }
    if (depth > kMaxDepth)
      return wrong("has parts in parts more than 256 levels deep");
    depths.push_back(depth);
    size_t parts = location.parts.size();
    bool isFile = location.kind == LocationKind::File;
    switch (location.kind) {
    case LocationKind::Unknown:
    case LocationKind::File:
      if (parts)
        return wrong("is a single place and has parts");
      break;
    case LocationKind::Call:
      if (parts != 2)
        return wrong("is a call without a callee and a caller");
      break;
    case LocationKind::Name:
      if (parts != 1)
        return wrong("is a name for other than one place");
      break;
    case LocationKind::Fused:
      break;
    default:
      return wrong("has no such kind");
    }
    if (!isUtf8(location.text))
      return wrong("has a text that isn't UTF-8");
    if (isFile && (location.endLine < location.line ||
                   (location.endLine == location.line &&
                    location.endColumn < location.column)))
      return wrong("ends before it starts");
  }
  return {};
}

Status Verifier::verifyFrame(const Function &function) {
  if (function.location >= module.locations.size())
    return malformed("has a location that isn't in the table");
  const Body &body = function.body;
  if (body.blocks.empty())
    return malformed("has no block");
  for (const Value &value : body.values)
    if (value.type >= module.types.size() ||
        value.location >= module.locations.size())
      return malformed("has a value whose type or location isn't in the table");

  // The numbering of values, by which every one has exactly one definition.
  ValueId next = 0;
  for (size_t b = 0; b < body.blocks.size(); ++b) {
    const Block &block = body.blocks[b];
    for (ValueId argument : block.arguments)
      if (argument != next++ || next > body.values.size())
        return malformed("block ", b, " defines value ", argument,
                         " out of turn; expected ", next - 1);
    if (block.ops.empty())
      return malformed("block ", b, " is empty; it needs a terminator");
    for (const Op &op : block.ops)
      for (ValueId result : op.results)
        if (result != next++ || next > body.values.size())
          return malformed("block ", b, " defines value ", result,
                           " out of turn; expected ", next - 1);
  }
  if (next != body.values.size())
    return malformed("has ", body.values.size(), " values, of which ", next,
                     " are defined");

  auto isSorted = [](const auto &pairs) {
    for (size_t i = 1; i < pairs.size(); ++i)
      if (pairs[i - 1].first >= pairs[i].first)
        return false;
    return true;
  };
  if (!isSorted(function.attributes) || !isSorted(function.fill))
    return malformed("has attributes or fillings out of order or twice");
  for (const auto &[key, value] : function.attributes)
    if (!isUtf8(key) || !isUtf8(value))
      return malformed("has an attribute that isn't UTF-8");
  for (const auto &[hook, name] : function.fill) {
    if (!isUtf8(hook))
      return malformed("fills a hook whose name isn't UTF-8");
    if (!bodies.count(name))
      return malformed("fills the hook ", weights::quoted(hook), " with ",
                       weights::quoted(name), ", which is no hook body");
  }

  const std::vector<ValueId> &arguments = function.arguments();
  if (function.kind == FunctionKind::Kernel) {
    if (!function.results.empty())
      return malformed("is a kernel with results");
    for (uint32_t extent : function.workgroupSize)
      if (extent < 1 || extent > 65535)
        return malformed("has the workgroup size ", extent,
                         "; allowed are 1 to 65535");
    bool seenMetadata = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Type &type = module.type(body, arguments[i]);
      bool isMetadata = isI32(type) || (type.isValue() &&
                                        type.shape == Shape{Element::F32, 0});
      if (!isMetadata && (type.kind != TypeKind::Buffer || seenMetadata))
        return malformed("has the argument ", i, " of type ", toString(type),
                         "; allowed are buffers, then i32 and f32");
      seenMetadata = isMetadata;
    }
    return {};
  }
  if (!function.attributes.empty() || !function.fill.empty() ||
      function.workgroupSize != std::array<uint32_t, 3>{1, 1, 1})
    return malformed("is a hook body with what only a kernel has");
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = module.type(body, arguments[i]);
    if (!type.isValue() && !isShared(type))
      return malformed("has the argument ", i, " of type ", toString(type),
                       "; allowed are scalars, vectors, buffers and workgroup "
                       "arrays");
  }
  for (TypeId type : function.results)
    if (type >= module.types.size() || !module.types[type].isValue())
      return malformed("has a result that is neither scalar nor vector");
  return {};
}

/// Counts, indices into tables, attributes: what the rest relies on.
Status Verifier::verifyShapeOfOp(const Op &op) {
  const OpInfo &info = getInfo(op.opcode);
  if (op.operands.size() < info.minOperands ||
      op.operands.size() > info.maxOperands)
    return wrong(op, "has ", op.operands.size(), " operands; it takes ",
                 info.minOperands,
                 info.maxOperands == kMany ? std::string(" and more")
                 : info.maxOperands == info.minOperands
                     ? std::string()
                     : " to " + std::to_string(info.maxOperands));
  if (info.results != kMany && op.results.size() != info.results)
    return wrong(op, "has ", op.results.size(), " results; it takes ",
                 info.results);
  if (op.location >= module.locations.size())
    return wrong(op, "has a location that isn't in the table");
  for (ValueId value : op.operands)
    if (value >= body->values.size())
      return wrong(op, "has the operand ", value, ", which is no value");

  // In the order of the table, each at most once.
  size_t next = 0;
  for (const AttributeUse &use : info.attributes) {
    bool present =
        next < op.attributes.size() && op.attributes[next].key == use.key;
    if (present) {
      if (Status status = verifyAttribute(op, op.attributes[next]);
          !status.ok())
        return status;
      ++next;
    } else if (use.required) {
      return wrong(op, "lacks the attribute '", getInfo(use.key).spelling, "'");
    }
  }
  if (next != op.attributes.size())
    return wrong(op, "has attributes that it doesn't take, twice, or out of "
                     "order");
  if (!info.isTerminator() && !op.successors.empty())
    return wrong(op, "has successors and is no terminator");
  return {};
}

Status Verifier::verifyAttribute(const Op &op, const Attribute &attribute) {
  const AttributeInfo &info = getInfo(attribute.key);
  auto outOfRange = [&] {
    return wrong(op, "has the value ", attribute.number, " for '",
                 info.spelling, "'");
  };
  bool isNumber = info.form == AttributeForm::Mask ||
                  info.form == AttributeForm::Enumerator ||
                  info.form == AttributeForm::Number;
  // Each form leaves the other fields alone, so that equal means equal.
  if ((!isNumber && attribute.number != 0) ||
      (info.form != AttributeForm::Numbers && !attribute.numbers.empty()) ||
      (info.form != AttributeForm::Text && !attribute.text.empty()) ||
      (info.form != AttributeForm::Constant && !attribute.data.empty()))
    return wrong(op, "has an attribute '", info.spelling, "' of another form");
  switch (info.form) {
  case AttributeForm::Mask:
    // No bit at all is spelt by the attribute's absence.
    if (attribute.number <= 0 || attribute.number >= int64_t(1)
                                                         << info.names.size())
      return outOfRange();
    break;
  case AttributeForm::Enumerator:
    if (attribute.number < 0 ||
        attribute.number >= static_cast<int64_t>(info.names.size()))
      return outOfRange();
    break;
  case AttributeForm::Number:
    if (attribute.number < 0 || attribute.number > INT32_MAX)
      return outOfRange();
    break;
  case AttributeForm::Text:
    if (!isUtf8(attribute.text))
      return wrong(op, "has a text for '", info.spelling, "' that isn't UTF-8");
    break;
  case AttributeForm::Constant:
  case AttributeForm::Flag:
  case AttributeForm::Numbers:
    break;
  }
  return {};
}

/// The bytes of a constant of that type, which is a value or a table.
Status Verifier::verifyConstant(const Op &op, const Type &type) {
  const std::vector<uint8_t> &data = op.find(AttributeKey::Value)->data;
  uint64_t each = byteSize(type.shape.element);
  uint64_t count =
      type.kind == TypeKind::Table ? type.elementCount() : type.shape.count();
  if (data.size() != each && data.size() != count * each)
    return wrong(op, "has ", data.size() / each, " elements for ",
                 toString(type));
  if (type.shape.element == Element::I1)
    for (uint8_t byte : data)
      if (byte > 1)
        return wrong(op, "has an i1 that is neither 0 nor 1");
  if (data.size() > each) {
    bool allEqual = std::equal(data.begin() + each, data.end(), data.begin());
    if (allEqual)
      return wrong(op, "repeats one element; it is given once");
  }
  return {};
}

Status Verifier::verifySuccessors(const Op &op) {
  size_t wanted = 0;
  if (op.opcode == Opcode::CfBr)
    wanted = 1;
  else if (op.opcode == Opcode::CfCondBr)
    wanted = 2;
  else if (op.opcode == Opcode::CfSwitch)
    wanted = 1 + op.find(AttributeKey::Cases)->numbers.size();
  if (op.successors.size() != wanted)
    return wrong(op, "has ", op.successors.size(), " successors; it takes ",
                 wanted);
  for (const Successor &successor : op.successors) {
    if (successor.block == 0 || successor.block >= body->blocks.size())
      return wrong(op, "leads to block ", successor.block,
                   "; allowed are 1 to ", body->blocks.size() - 1,
                   ", since none leads to the entry");
    const Block &block = body->blocks[successor.block];
    if (successor.arguments.size() != block.arguments.size())
      return wrong(op, "passes ", successor.arguments.size(),
                   " values to block ", successor.block, ", which takes ",
                   block.arguments.size());
    for (size_t i = 0; i < successor.arguments.size(); ++i) {
      if (successor.arguments[i] >= body->values.size())
        return wrong(op, "passes ", successor.arguments[i],
                     ", which is no value");
      const Type &given = module.type(*body, successor.arguments[i]);
      const Type &taken = module.type(*body, block.arguments[i]);
      if (given != taken)
        return wrong(op, "passes ", toString(given), " to block ",
                     successor.block, ", which takes ", toString(taken));
    }
  }
  return {};
}

Status Verifier::verifyMemoryAccess(const Op &op, size_t memory, bool reads,
                                    bool writes) {
  const Type &type = operand(op, memory);
  bool isRead = type.access != Access::Write;
  bool isWritten = type.access != Access::Read;
  if (type.kind == TypeKind::Buffer &&
      ((reads && !isRead) || (writes && !isWritten)))
    return wrong(op, reads && !isRead ? "reads from " : "writes to ",
                 toString(type));
  return {};
}

/// A load or store: VALUE is what the element, or the leaf named, must be.
Status Verifier::verifyElementAccess(const Op &op, size_t memory,
                                     const Type &value) {
  const Type &type = operand(op, memory);
  for (size_t i = memory + 1; i < op.operands.size(); ++i)
    if (!isI32(operand(op, i)))
      return wrong(op, "has an index of type ", toString(operand(op, i)),
                   "; indices are i32");
  const Attribute *leaf = op.find(AttributeKey::Leaf);
  bool hasElement = op.operands.size() == memory + 3;
  Shape shape = type.shape;
  if (type.isStruct()) {
    if (!leaf || leaf->number >= static_cast<int64_t>(type.leaves.size()))
      return wrong(op, "must name a leaf below ", type.leaves.size(), " of ",
                   toString(type));
    const Leaf &part = type.leaves[leaf->number];
    if (hasElement != (part.count != 1))
      return wrong(op, "must have an index into the leaf where it is an array, "
                       "and only there");
    shape = part.shape;
  } else if (leaf || hasElement) {
    return wrong(op, "names a leaf, but the elements of ", toString(type),
                 " have none");
  }
  if (!value.isValue() || value.shape != shape)
    return wrong(op, "moves ", toString(value), " from or to ", toString(type));
  return {};
}

/// Operands from the memory on: memory, index, then values of the element type,
/// which the result has too.
Status Verifier::verifyAtomic(const Op &op, bool reads, bool writes) {
  const Type &type = operand(op, 0);
  Element element = type.shape.element;
  if (!isShared(type) || type.isStruct() || type.shape.isVector() ||
      (element != Element::I32 && element != Element::I64 &&
       element != Element::F32))
    return wrong(op, "works on ", toString(type),
                 "; allowed are buffers and workgroup arrays of i32, i64, f32");
  if (!isI32(operand(op, 1)))
    return wrong(op, "has an index of type ", toString(operand(op, 1)),
                 "; indices are i32");
  auto isElement = [&](const Type &value) {
    return value.isValue() && value.shape == type.shape;
  };
  for (size_t i = 2; i < op.operands.size(); ++i)
    if (!isElement(operand(op, i)))
      return wrong(op, "has a value of type ", toString(operand(op, i)),
                   " for ", toString(type));
  if (!op.results.empty() && !isElement(result(op)))
    return wrong(op, "gives ", toString(result(op)), " for ", toString(type));
  return verifyMemoryAccess(op, 0, reads, writes);
}

Status Verifier::verifyFragmentMemory(const Op &op, size_t memory,
                                      const Type &fragment) {
  const Type &type = operand(op, memory);
  if (fragment.kind != TypeKind::Fragment || !isShared(type) ||
      type.isStruct() || type.shape != fragment.shape)
    return wrong(op, "moves ", toString(fragment), " from or to ",
                 toString(type), "; their elements are equal scalars");
  if (!isI32(operand(op, memory + 1)) || !isI32(operand(op, memory + 2)))
    return wrong(op, "has an index or stride that isn't i32");
  return {};
}

Status Verifier::verifyHook(const Op &op) {
  const std::string &name = op.find(AttributeKey::DefaultBody)->text;
  auto found = bodies.find(name);
  if (found == bodies.end())
    return wrong(op, "has the default ", weights::quoted(name),
                 ", which is no hook body");
  const Function &target = *found->second;
  bool fits = target.arguments().size() == op.operands.size() &&
              target.results.size() == op.results.size();
  for (size_t i = 0; fits && i < op.operands.size(); ++i)
    fits = operand(op, i) == module.type(target.body, target.arguments()[i]);
  for (size_t i = 0; fits && i < op.results.size(); ++i)
    fits = result(op, i) == module.types[target.results[i]];
  if (!fits)
    return wrong(op, "has the type ", signature(op), ", but its default ",
                 weights::quoted(name), " another");
  return {};
}

Status Verifier::verifyTypes(const Op &op) {
  auto mismatch = [&](std::string_view allowed) {
    return wrong(op, "has the type ", signature(op), "; ", allowed);
  };
  auto require = [&](bool holds, std::string_view allowed) {
    return holds ? Status() : mismatch(allowed);
  };
  auto bits = [](const Type &type) { return bitWidth(type.shape.element); };
  auto isInt = [](const Type &type) {
    return type.isValue() && isInteger(type.shape.element);
  };
  auto isNumber = [&](const Type &type) {
    return isInt(type) && type.shape.element != Element::Index;
  };
  auto isReal = [](const Type &type) {
    return type.isValue() && isFloat(type.shape.element);
  };
  auto isTest = [&](const Type &type, const Type &of) {
    return sameLanes(type, of) && type.shape.element == Element::I1;
  };
  auto isVector = [](const Type &type) {
    return type.isValue() && type.shape.isVector();
  };
  auto scalarOf = [](const Type &type) { return Shape{type.shape.element, 0}; };
  auto isShape = [](const Type &type, const Shape &shape) {
    return type.isValue() && type.shape == shape;
  };
  auto lanes = [](const Type &type) { return type.shape.lanes; };

  switch (getInfo(op.opcode).rule) {
  case TypeRule::Constant:
    if (!result(op).isValue())
      return mismatch("a constant is a scalar or vector");
    return verifyConstant(op, result(op));
  case TypeRule::Register:
    return require(isRegister(result(op)),
                   "allowed are scalars, vectors and fragments");
  case TypeRule::IntSame:
    return require(allSame(op, false), "all types are one, of integers");
  case TypeRule::AddExtended:
    return require(isInt(result(op)) && operand(op, 0) == result(op) &&
                       operand(op, 1) == result(op) &&
                       isTest(result(op, 1), result(op)),
                   "the sum is as its operands, the carry i1");
  case TypeRule::IntCompare:
    return require(isInt(operand(op, 0)) && operand(op, 1) == operand(op, 0) &&
                       isTest(result(op), operand(op, 0)),
                   "two equal types of integers give i1");
  case TypeRule::FloatSame:
    return require(allSame(op, true) &&
                       (op.opcode != Opcode::VectorFma || isVector(result(op))),
                   "all types are one, of floating point");
  case TypeRule::FloatCompare:
    return require(isReal(operand(op, 0)) && operand(op, 1) == operand(op, 0) &&
                       isTest(result(op), operand(op, 0)),
                   "two equal types of floating point give i1");
  case TypeRule::FloatTest:
    return require(isReal(operand(op, 0)) && isTest(result(op), operand(op, 0)),
                   "floating point gives i1");
  case TypeRule::Select:
    return require(
        isRegister(result(op)) && operand(op, 1) == result(op) &&
            operand(op, 2) == result(op) &&
            (isI1(operand(op, 0)) ||
             (isVector(result(op)) && isTest(operand(op, 0), result(op)))),
        "i1, or a vector of as many, chooses of two equal types of "
        "values or fragments");
  case TypeRule::IntWiden:
    return require(isNumber(operand(op, 0)) && isNumber(result(op)) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       bits(operand(op, 0)) < bits(result(op)),
                   "integers become wider ones");
  case TypeRule::IntNarrow:
    return require(isNumber(operand(op, 0)) && isNumber(result(op)) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       bits(operand(op, 0)) > bits(result(op)),
                   "integers become narrower ones");
  case TypeRule::FloatWiden:
    return require(isReal(operand(op, 0)) && isReal(result(op)) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       bits(operand(op, 0)) < bits(result(op)),
                   "floating point becomes wider");
  case TypeRule::FloatNarrow:
    return require(isReal(operand(op, 0)) && isReal(result(op)) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       bits(operand(op, 0)) > bits(result(op)),
                   "floating point becomes narrower");
  case TypeRule::FloatToInt:
    return require(isReal(operand(op, 0)) && isNumber(result(op)) &&
                       sameLanes(operand(op, 0), result(op)),
                   "floating point becomes integers");
  case TypeRule::IntToFloat:
    return require(isNumber(operand(op, 0)) && isReal(result(op)) &&
                       sameLanes(operand(op, 0), result(op)),
                   "integers become floating point");
  case TypeRule::Bitcast:
    return require((isNumber(operand(op, 0)) || isReal(operand(op, 0))) &&
                       (isNumber(result(op)) || isReal(result(op))) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       bits(operand(op, 0)) == bits(result(op)),
                   "elements of equal size");
  case TypeRule::IndexCast:
    return require(isInt(operand(op, 0)) && isInt(result(op)) &&
                       sameLanes(operand(op, 0), result(op)) &&
                       (operand(op, 0).shape.element == Element::Index) !=
                           (result(op).shape.element == Element::Index),
                   "an index becomes an integer, or an integer an index");
  case TypeRule::VectorBitcast:
    return require(isVector(operand(op, 0)) && isVector(result(op)) &&
                       operand(op, 0).shape.element != Element::Index &&
                       result(op).shape.element != Element::Index &&
                       uint64_t(lanes(operand(op, 0))) * bits(operand(op, 0)) ==
                           uint64_t(lanes(result(op))) * bits(result(op)),
                   "vectors of equal size");
  case TypeRule::VectorBroadcast:
    return require(
        isVector(result(op)) && operand(op, 0).isValue() &&
            operand(op, 0).shape.element == result(op).shape.element &&
            (lanes(operand(op, 0)) <= 1 || operand(op, 0) == result(op)),
        "a scalar or a vector of one element fills a vector");
  case TypeRule::VectorExtract:
  case TypeRule::VectorInsert: {
    bool isInsert = op.opcode == Opcode::VectorInsert;
    size_t whole = isInsert ? 1 : 0;
    const Type &vector = operand(op, whole);
    const Type &part = isInsert ? operand(op, 0) : result(op);
    const auto &position = op.find(AttributeKey::Position)->numbers;
    bool isDynamic = position.size() == 1 && position[0] == kDynamic;
    if (position.size() > 1 || op.operands.size() != whole + 1 + isDynamic)
      return wrong(op,
                   "takes one position at most, and an operand for it where "
                   "it is dynamic");
    if (!isVector(vector) || (isInsert && result(op) != vector) ||
        !(position.empty() ? part == vector
                           : isShape(part, scalarOf(vector))) ||
        (isDynamic && !isIndex(operand(op, whole + 1))))
      return mismatch("an element of a vector, at an index");
    // -1 is MLIR's element that doesn't exist: poison.
    if (position.size() == 1 && !isDynamic &&
        (position[0] < -1 || position[0] >= int64_t(lanes(vector))))
      return wrong(op, "has the position ", position[0], " in ",
                   toString(vector));
    return {};
  }
  case TypeRule::VectorFromElements: {
    bool fits = isVector(result(op)) && op.operands.size() == lanes(result(op));
    for (size_t i = 0; fits && i < op.operands.size(); ++i)
      fits = isShape(operand(op, i), scalarOf(result(op)));
    return require(fits, "as many scalars as the vector has elements");
  }
  case TypeRule::VectorToElements: {
    bool fits =
        isVector(operand(op, 0)) && op.results.size() == lanes(operand(op, 0));
    for (size_t i = 0; fits && i < op.results.size(); ++i)
      fits = isShape(result(op, i), scalarOf(operand(op, 0)));
    return require(fits, "as many scalars as the vector has elements");
  }
  case TypeRule::VectorShuffle: {
    const auto &mask = op.find(AttributeKey::Mask)->numbers;
    if (!isVector(operand(op, 0)) || !isVector(operand(op, 1)) ||
        !isVector(result(op)) ||
        operand(op, 0).shape.element != result(op).shape.element ||
        operand(op, 1).shape.element != result(op).shape.element ||
        mask.size() != lanes(result(op)))
      return mismatch("vectors of one element type, and a mask of the result's "
                      "length");
    int64_t count =
        int64_t(lanes(operand(op, 0))) + int64_t(lanes(operand(op, 1)));
    for (int64_t at : mask)
      if (at < -1 || at >= count)
        return wrong(op, "has ", at, " in its mask; allowed are -1 to ",
                     count - 1);
    return {};
  }
  case TypeRule::VectorInterleave:
    return require(
        isVector(operand(op, 0)) && operand(op, 1) == operand(op, 0) &&
            isVector(result(op)) &&
            scalarOf(result(op)) == scalarOf(operand(op, 0)) &&
            uint64_t(lanes(result(op))) == 2 * uint64_t(lanes(operand(op, 0))),
        "two equal vectors give one of twice the length");
  case TypeRule::VectorDeinterleave:
    return require(isVector(operand(op, 0)) && isVector(result(op)) &&
                       result(op, 1) == result(op) &&
                       scalarOf(result(op)) == scalarOf(operand(op, 0)) &&
                       uint64_t(lanes(operand(op, 0))) ==
                           2 * uint64_t(lanes(result(op))),
                   "a vector gives two of half the length");
  case TypeRule::VectorExtractSlice:
  case TypeRule::VectorInsertSlice: {
    bool isInsert = op.opcode == Opcode::VectorInsertStridedSlice;
    const Type &whole = isInsert ? operand(op, 1) : operand(op, 0);
    const Type &part = isInsert ? operand(op, 0) : result(op);
    return require(isVector(whole) && isVector(part) &&
                       scalarOf(whole) == scalarOf(part) &&
                       (!isInsert || result(op) == whole) &&
                       uint64_t(op.number(AttributeKey::Offset)) +
                               lanes(part) <=
                           lanes(whole),
                   "a part of a vector that lies within it");
  }
  case TypeRule::VectorReduction: {
    auto kind = op.get<CombiningKind>(AttributeKey::CombiningKind);
    bool takesFloat =
        kind <= CombiningKind::Mul || kind == CombiningKind::MinNumF ||
        kind == CombiningKind::MaxNumF || kind >= CombiningKind::MinimumF;
    bool takesInt = kind <= CombiningKind::MinSI ||
                    kind == CombiningKind::MaxUI ||
                    kind == CombiningKind::MaxSI ||
                    (kind >= CombiningKind::And && kind <= CombiningKind::Xor);
    return require(
        isVector(operand(op, 0)) &&
            isShape(result(op), scalarOf(operand(op, 0))) &&
            (op.operands.size() == 1 || operand(op, 1) == result(op)) &&
            (isReal(result(op)) ? takesFloat : takesInt),
        "a vector gives one element, by a kind for its type");
  }
  case TypeRule::Branch:
    if (op.opcode == Opcode::CfCondBr) {
      if (!isI1(operand(op, 0)))
        return mismatch("the condition is i1");
      const Attribute *weights = op.find(AttributeKey::Weights);
      if (weights &&
          (weights->numbers.size() != 2 || weights->numbers[0] < 0 ||
           weights->numbers[1] < 0 || weights->numbers[0] > INT32_MAX ||
           weights->numbers[1] > INT32_MAX))
        return wrong(op, "has other than two weights of 0 to 2147483647");
    }
    if (op.opcode == Opcode::CfSwitch) {
      if (!isNumber(operand(op, 0)) || operand(op, 0).shape.isVector())
        return mismatch("the flag is an integer");
      unsigned width = bits(operand(op, 0));
      std::unordered_set<int64_t> seen;
      for (int64_t value : op.find(AttributeKey::Cases)->numbers) {
        bool fits = width == 64 || (width == 1 && (value == 0 || value == 1)) ||
                    (width > 1 && value >= -(int64_t(1) << (width - 1)) &&
                     value < int64_t(1) << (width - 1));
        if (!fits || !seen.insert(value).second)
          return wrong(op, "has the case ", value,
                       " twice, or outside of its flag's type");
      }
    }
    return {};
  case TypeRule::Return:
    if (function->kind != FunctionKind::Kernel)
      return wrong(op, "ends a kernel; a hook body ends in 'kernel.yield'");
    return {};
  case TypeRule::Yield: {
    if (function->kind != FunctionKind::HookBody)
      return wrong(op, "ends a hook body; a kernel ends in 'kernel.return'");
    bool fits = op.operands.size() == function->results.size();
    for (size_t i = 0; fits && i < op.operands.size(); ++i)
      fits = operand(op, i) == module.types[function->results[i]];
    return require(fits, "the function gives other results");
  }
  case TypeRule::Unreachable:
  case TypeRule::Nothing:
    return {};
  case TypeRule::WorkgroupAlloc:
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (operand(op, i).kind != TypeKind::Workgroup)
        return mismatch("a workgroup array may overlay others");
    return require(result(op).kind == TypeKind::Workgroup,
                   "the result is a workgroup array");
  case TypeRule::Load: {
    const Type &memory = operand(op, 0);
    if (!isShared(memory) && memory.kind != TypeKind::Table)
      return mismatch("memory is a buffer, workgroup array or table");
    if (Status status = verifyElementAccess(op, 0, result(op)); !status.ok())
      return status;
    return verifyMemoryAccess(op, 0, true, false);
  }
  case TypeRule::Store:
    if (!isShared(operand(op, 1)))
      return mismatch("memory is a buffer or workgroup array");
    if (Status status = verifyElementAccess(op, 1, operand(op, 0));
        !status.ok())
      return status;
    return verifyMemoryAccess(op, 1, false, true);
  case TypeRule::Table:
    if (result(op).kind != TypeKind::Table)
      return mismatch("the result is a table");
    return verifyConstant(op, result(op));
  case TypeRule::AtomicRmw: {
    auto kind = op.get<AtomicKind>(AttributeKey::AtomicKind);
    if (operand(op, 0).shape.element == Element::F32 &&
        kind != AtomicKind::Add && kind != AtomicKind::Min &&
        kind != AtomicKind::Max && kind != AtomicKind::Exchange)
      return wrong(op, "takes f32 for add, min, max and exchange only");
    return verifyAtomic(op, true, true);
  }
  case TypeRule::AtomicCas:
    if (operand(op, 0).shape.element == Element::F32)
      return wrong(op, "compares integers, not f32");
    return verifyAtomic(op, true, true);
  case TypeRule::AtomicLoad: {
    auto order = op.get<Order>(AttributeKey::Order);
    if (order != Order::Relaxed && order != Order::Acquire)
      return wrong(op, "is relaxed or acquire");
    return verifyAtomic(op, true, false);
  }
  case TypeRule::AtomicStore: {
    auto order = op.get<Order>(AttributeKey::Order);
    if (order != Order::Relaxed && order != Order::Release)
      return wrong(op, "is relaxed or release");
    return verifyAtomic(op, false, true);
  }
  case TypeRule::Var:
    return require(result(op).kind == TypeKind::Var,
                   "the result is a variable");
  case TypeRule::VarLoad:
  case TypeRule::VarStore: {
    size_t var = op.opcode == Opcode::KernelVarStore ? 1 : 0;
    const Type &type = operand(op, var);
    const Type &value = var ? operand(op, 0) : result(op);
    if (type.kind != TypeKind::Var)
      return mismatch("the memory is a variable");
    if (op.operands.size() - var - 1 != type.extents.size())
      return wrong(op, "has ", op.operands.size() - var - 1, " indices for ",
                   toString(type));
    for (size_t i = var + 1; i < op.operands.size(); ++i)
      if (!isI32(operand(op, i)))
        return mismatch("indices are i32");
    bool fits = type.ofFragments
                    ? value.kind == TypeKind::Fragment &&
                          value.rows == type.rows &&
                          value.columns == type.columns &&
                          value.use == type.use && value.shape == type.shape
                    : isShape(value, type.shape);
    return require(fits, "the value is what the variable holds");
  }
  case TypeRule::SpecConstant: {
    const Type &type = result(op);
    bool fits = isI1(type) || isI32(type) || isShape(type, {Element::F32, 0});
    return fits ? verifyConstant(op, type)
                : mismatch("allowed are i1, i32, f32");
  }
  case TypeRule::Hook:
    return verifyHook(op);
  case TypeRule::LoopHint: {
    bool isCount = op.get<Unroll>(AttributeKey::Unroll) == Unroll::Count;
    const Attribute *count = op.find(AttributeKey::Count);
    if (isCount != (count != nullptr) || (count && count->number < 2))
      return wrong(op, "'unroll' takes a count of at least 2, the others none");
    return {};
  }
  case TypeRule::I32:
    return require(isI32(result(op)), "the result is i32");
  case TypeRule::SubgroupSame:
  case TypeRule::SubgroupLane: {
    const Type &type = result(op);
    bool isUnsigned = false;
    if (const Attribute *kind = op.find(AttributeKey::ReduceKind))
      isUnsigned = static_cast<ReduceKind>(kind->number) >= ReduceKind::UMin;
    return require(
        operand(op, 0) == type && type.isValue() && !type.shape.isVector() &&
            isScalarInMemory(type.shape.element) &&
            type.shape.element != Element::BF16 &&
            (!isUnsigned || isInteger(type.shape.element)) &&
            (op.operands.size() == 1 || isI32(operand(op, 1))),
        "a scalar of i8, i16, i32, i64, f16, f32 or f64 (integers for umin and "
        "umax) keeps its type; a lane is i32");
  }
  case TypeRule::Vote:
    return require(isI1(operand(op, 0)) && isI1(result(op)), "i1 gives i1");
  case TypeRule::FragmentFill:
    return require(result(op).kind == TypeKind::Fragment &&
                       isShape(operand(op, 0), result(op).shape),
                   "a scalar fills a fragment of its type");
  case TypeRule::FragmentLoad:
    if (Status status = verifyFragmentMemory(op, 0, result(op)); !status.ok())
      return status;
    return verifyMemoryAccess(op, 0, true, false);
  case TypeRule::FragmentStore:
    if (Status status = verifyFragmentMemory(op, 1, operand(op, 0));
        !status.ok())
      return status;
    return verifyMemoryAccess(op, 1, false, true);
  case TypeRule::FragmentMma: {
    const Type &a = operand(op, 0), &b = operand(op, 1), &c = operand(op, 2);
    auto isUse = [](const Type &type, FragmentUse use) {
      return type.kind == TypeKind::Fragment && type.use == use;
    };
    return require(isUse(a, FragmentUse::A) && isUse(b, FragmentUse::B) &&
                       isUse(c, FragmentUse::Accumulator) && result(op) == c &&
                       a.columns == b.rows && a.rows == c.rows &&
                       b.columns == c.columns,
                   "fragments for a, b and accumulator whose extents fit");
  }
  }
  return wrong(op, "has no such rule");
}

Status Verifier::verifyBody(const Function &function) {
  this->function = &function;
  body = &function.body;
  size_t blockCount = body->blocks.size();
  auto at = [&](size_t block, size_t op, const Status &status) {
    return Status(status.code(), weights::concat("block ", block, ", op ", op,
                                                 ": ", status.message()));
  };

  // First what the search for dominators relies on.
  for (size_t b = 0; b < blockCount; ++b) {
    const std::vector<Op> &ops = body->blocks[b].ops;
    for (ValueId argument : body->blocks[b].arguments)
      if (b != 0 && !isRegister(module.type(*body, argument)))
        return malformed("block ", b, " takes ",
                         toString(module.type(*body, argument)),
                         "; only scalars, vectors and fragments are passed on");
    for (size_t i = 0; i < ops.size(); ++i) {
      Status status = verifyShapeOfOp(ops[i]);
      bool isLast = i + 1 == ops.size();
      if (status.ok() && getInfo(ops[i].opcode).isTerminator() != isLast)
        status = wrong(ops[i], isLast ? "is no terminator and ends a block"
                                      : "is a terminator and ends no block");
      if (status.ok())
        status = verifySuccessors(ops[i]);
      if (status.ok())
        status = verifyTypes(ops[i]);
      if (status.ok() && ops[i].opcode == Opcode::KernelWorkgroupAlloc &&
          (b != 0 || function.kind != FunctionKind::Kernel))
        status = wrong(ops[i], "stands in the entry block of a kernel only");
      if (!status.ok())
        return at(b, i, status);
    }
  }

  // Where each value is defined: its block, and its op's place there.
  struct Place {
    uint32_t block = 0, op = 0; // op 0: an argument; else one more than it.
    bool isAlloc = false;
  };
  std::vector<Place> places(body->values.size());
  for (size_t b = 0; b < blockCount; ++b) {
    const Block &block = body->blocks[b];
    for (ValueId argument : block.arguments)
      places[argument] = {static_cast<uint32_t>(b), 0, false};
    for (size_t i = 0; i < block.ops.size(); ++i)
      for (ValueId result : block.ops[i].results)
        places[result] = {static_cast<uint32_t>(b),
                          static_cast<uint32_t>(i + 1),
                          block.ops[i].opcode == Opcode::KernelWorkgroupAlloc};
  }
  Dominators dominators(*body);
  for (size_t b = 0; b < blockCount; ++b) {
    if (!dominators.isReachable(static_cast<uint32_t>(b)))
      continue;
    const std::vector<Op> &ops = body->blocks[b].ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      auto check = [&](ValueId value) -> Status {
        const Place &place = places[value];
        bool dominates = place.block == b
                             ? place.op <= i
                             : dominators.isReachable(place.block) &&
                                   dominators.dominates(
                                       place.block, static_cast<uint32_t>(b));
        if (!dominates)
          return wrong(ops[i], "uses value ", value,
                       ", which isn't defined on every way here");
        if (ops[i].opcode == Opcode::KernelWorkgroupAlloc && !place.isAlloc)
          return wrong(ops[i], "overlays what no 'kernel.workgroup_alloc' "
                               "declares");
        return {};
      };
      for (ValueId value : ops[i].operands)
        if (Status status = check(value); !status.ok())
          return at(b, i, status);
      for (const Successor &successor : ops[i].successors)
        for (ValueId value : successor.arguments)
          if (Status status = check(value); !status.ok())
            return at(b, i, status);
    }
  }
  return {};
}

/// A hook body that reaches itself through defaults would never end.
Status Verifier::verifyHookCycles() {
  enum class Mark : uint8_t { New, Open, Done };
  std::unordered_map<const Function *, Mark> marks;
  std::unordered_map<const Function *, std::vector<const Function *>> calls;
  for (const Function &function : module.functions)
    for (const Block &block : function.body.blocks)
      for (const Op &op : block.ops)
        if (op.opcode == Opcode::KernelHook)
          calls[&function].push_back(
              bodies.at(op.find(AttributeKey::DefaultBody)->text));
  for (const Function &root : module.functions) {
    if (marks[&root] != Mark::New)
      continue;
    std::vector<std::pair<const Function *, size_t>> stack = {{&root, 0}};
    marks[&root] = Mark::Open;
    while (!stack.empty()) {
      auto &[at, next] = stack.back();
      const auto &targets = calls[at];
      if (next == targets.size()) {
        marks[at] = Mark::Done;
        stack.pop_back();
        continue;
      }
      const Function *target = targets[next++];
      Mark &mark = marks[target];
      if (mark == Mark::Open)
        return malformed("the hook body ", weights::quoted(target->name),
                         " is its own default");
      if (mark == Mark::New) {
        mark = Mark::Open;
        stack.push_back({target, 0});
      }
    }
  }
  return {};
}

Status Verifier::verify() {
  std::unordered_set<std::string> typeTexts;
  for (const Type &type : module.types) {
    if (Status status = verifyType(type); !status.ok())
      return status;
    if (!typeTexts.insert(toString(type)).second)
      return malformed("the type ", toString(type), " is in the table twice");
  }
  if (Status status = verifyLocations(); !status.ok())
    return status;
  std::unordered_set<std::string_view> names;
  for (const Function &function : module.functions) {
    if (function.name.empty() || !isUtf8(function.name))
      return malformed("a function has an empty name or one that isn't UTF-8");
    if (!names.insert(function.name).second)
      return malformed("two functions are called ",
                       weights::quoted(function.name));
    if (function.kind == FunctionKind::HookBody)
      bodies.emplace(function.name, &function);
  }
  // Frames first: a hook is compared with the frame of another function.
  for (auto part : {&Verifier::verifyFrame, &Verifier::verifyBody})
    for (const Function &function : module.functions)
      if (Status status = (this->*part)(function); !status.ok())
        return Status(status.code(),
                      weights::concat(function.kind == FunctionKind::Kernel
                                          ? "kernel "
                                          : "hook body ",
                                      weights::quoted(function.name), ": ",
                                      status.message()));
  return verifyHookCycles();
}

} // namespace

weights::Status verify(const Module &module) {
  return Verifier(module).verify();
}

} // namespace poot::kir
