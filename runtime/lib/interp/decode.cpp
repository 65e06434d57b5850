// From KIR to a program: registers for values, instructions for operations,
// hooks filled in place, blocks cut at barriers and put in order. Everything
// that a sanitizing program watches is decided here.
//
// The module has been verified; what is left to refuse are sizes.

#include "handlers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace poot;
using namespace poot::interp;
using kir::AttributeKey;
using kir::Element;
using kir::Opcode;
using kir::TypeKind;
using weights::concat;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

static constexpr uint64_t kMostRegisterBytes = uint64_t(1) << 30;
static constexpr uint64_t kMostWorkgroupBytes = uint64_t(1) << 24;
static constexpr uint64_t kMostTableBytes = uint64_t(1) << 26;
static constexpr size_t kMostInsts = size_t(1) << 20;
static constexpr uint64_t kMostValues = uint64_t(1) << 26;
static constexpr unsigned kDeepestHook = 64;

namespace {

/// Where a value is.
struct Value {
  uint32_t reg = kNone;
  uint32_t taint = kNone; ///< None: never undefined.
  uint32_t memory = kNone;
  uint32_t var = kNone;
};

/// A column: a register and its taint.
struct Column {
  uint32_t reg = kNone, taint = kNone;
};

struct BlockEdge {
  uint32_t block = 0;
  std::vector<Move> moves;
};

struct DecodedBlock {
  std::vector<Inst> insts;
  Exit exit = Exit::End;
  std::vector<BlockEdge> edges;
  std::vector<int64_t> cases;
  uint32_t condition = 0, conditionBytes = 1, conditionTaint = kNone;
  uint32_t site = 0;
  bool meets = false;
};

class Decoder {
public:
  Decoder(std::shared_ptr<const kir::Module> module,
          const kir::Function &kernel, const ProgramOptions &options)
      : module_(*module), kernel_(kernel), options_(options),
        sanitize_(options.sanitize),
        program_(std::make_shared<DecodedProgram>()) {
    program_->module = std::move(module);
  }

  Expected<std::shared_ptr<const Program>> decode();

private:
  /// Where a hook's body goes on: into the block CONTINUATION with RESULTS, or,
  /// a body of one block, in the same block.
  struct Return {
    uint32_t continuation = kNone;
    std::vector<Value> results;
  };

  template <class... Parts> void fail(const Parts &...parts) {
    if (status_.ok())
      status_ = makeError(StatusCode::Unsupported, "kernel '", kernel_.name,
                          "': ", parts...);
  }
  bool failed() const { return !status_.ok(); }

  // Registers.
  uint32_t allocate(uint32_t bytes, uint64_t count);
  uint32_t columns(const kir::Type &type) const;
  Value fresh(const kir::Type &type, bool mayTaint);
  uint32_t taintOf(const Value &value, uint32_t n);
  uint32_t zeroTaint(uint32_t n);
  uint32_t constantTaint(Taint taint, uint32_t n);
  Value undefined(const kir::Type &type, Taint why);
  Value constant(const kir::Type &type, const std::vector<uint8_t> &data);
  Value special(Constant::Kind kind, uint32_t number);

  // Instructions.
  Inst &emit(Handler run, uint32_t d, uint32_t a, uint32_t n);
  void emitUse(const Value &value, uint32_t n, UseText text);
  void mergeInto(uint32_t taint, uint32_t n, std::vector<uint32_t> from);
  uint32_t mergedTaint(uint32_t n, std::vector<uint32_t> from);
  Value fromColumns(const kir::Type &type, const std::vector<Column> &columns);
  Column column(const Value &value, const kir::Type &type, uint32_t k) const;
  uint32_t addAccess(const kir::Op &op, uint32_t memory, const kir::Type &type,
                     uint32_t bytes, bool writes, uint32_t leafIndex);

  // Code.
  std::vector<Value> emitBody(const kir::Function &function,
                              std::vector<Value> arguments, uint32_t parent,
                              unsigned depth, const Return *back);
  void emitOp(const kir::Op &op);
  void emitElementwise(const kir::Op &op, Handler handler);
  void emitVector(const kir::Op &op);
  void emitMemory(const kir::Op &op);
  void emitSubgroup(const kir::Op &op);
  void emitFragment(const kir::Op &op);
  void emitHook(const kir::Op &op, unsigned depth);
  void emitTerminator(const kir::Op &op, const std::vector<uint32_t> &blocks,
                      const std::vector<std::vector<Value>> &parameters,
                      const Return *back, std::vector<Value> &yielded);
  BlockEdge edge(uint32_t block, const std::vector<Value> &from,
                 const std::vector<Value> &to,
                 const std::vector<const kir::Type *> &types);
  uint32_t newBlock() {
    blocks_.emplace_back();
    return static_cast<uint32_t>(blocks_.size() - 1);
  }

  const kir::Type &type(kir::ValueId value) const {
    return module_.type(*body_, value);
  }
  Value &value(kir::ValueId id) { return (*values_)[id]; }

  void prepareFills();
  void finish();

  const kir::Module &module_;
  const kir::Function &kernel_;
  const ProgramOptions &options_;
  const bool sanitize_;
  std::shared_ptr<DecodedProgram> program_;
  Status status_;

  std::vector<DecodedBlock> blocks_;
  uint32_t current_ = 0;
  size_t instCount_ = 0;
  uint64_t valueCount_ = 0;
  uint64_t registerBytes_ = 0;
  uint32_t zeroTaint_ = kNone, zeroTaints_ = 0;
  std::map<Taint, std::pair<uint32_t, uint32_t>> constantTaints_;
  std::map<std::pair<unsigned, uint32_t>, Value> specials_;
  uint32_t smallestSubgroup_ = 1;

  struct Fill {
    const kir::Function *body;
    std::vector<Value> extra;
    bool used = false;
  };
  std::map<std::string, Fill, std::less<>> fills_;
  std::vector<bool> constantUsed_;

  // Of the body being decoded.
  const kir::Body *body_ = nullptr;
  std::vector<Value> *values_ = nullptr;
  uint32_t site_ = 0;
};

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

uint32_t Decoder::allocate(uint32_t bytes, uint64_t count) {
  uint64_t start = (registerBytes_ + bytes - 1) / bytes * bytes;
  uint64_t most = kMostRegisterBytes / program_->workItems;
  if (count > most || start + count * bytes > most) {
    fail("its values take more than ", kMostRegisterBytes >> 20,
         " MiB for a workgroup");
    return 0;
  }
  registerBytes_ = start + count * bytes;
  return static_cast<uint32_t>(start);
}

uint32_t Decoder::columns(const kir::Type &type) const {
  if (type.kind == TypeKind::Fragment || type.ofFragments)
    return (type.rows * type.columns + smallestSubgroup_ - 1) /
           smallestSubgroup_;
  return type.shape.count();
}

/// With a taint register of its own where the value MAYTAINT.
Value Decoder::fresh(const kir::Type &type, bool mayTaint) {
  Value value;
  uint32_t n = columns(type);
  value.reg = allocate(kir::byteSize(type.shape.element), n);
  if (sanitize_ && mayTaint)
    value.taint = allocate(1, n);
  return value;
}

uint32_t Decoder::zeroTaint(uint32_t n) {
  if (n > zeroTaints_) {
    zeroTaint_ = allocate(1, n);
    zeroTaints_ = n;
  }
  return zeroTaint_;
}

/// A register whose N columns are TAINT.
uint32_t Decoder::constantTaint(Taint taint, uint32_t n) {
  auto &[reg, columns] = constantTaints_[taint];
  if (n > columns) {
    reg = allocate(1, n);
    columns = n;
    if (failed())
      return reg;
    Constant constant;
    constant.reg = reg;
    constant.bytes = 1;
    constant.n = n;
    constant.data.assign(n, taint);
    program_->constants.push_back(std::move(constant));
  }
  return reg;
}

/// A register with the taints of VALUE, also where it has none.
uint32_t Decoder::taintOf(const Value &value, uint32_t n) {
  return value.taint == kNone ? zeroTaint(n) : value.taint;
}

Value Decoder::undefined(const kir::Type &type, Taint why) {
  Value value = fresh(type, false);
  if (sanitize_)
    value.taint = constantTaint(why, columns(type));
  return value;
}

Value Decoder::constant(const kir::Type &type,
                        const std::vector<uint8_t> &data) {
  Value value = fresh(type, false);
  if (failed())
    return value;
  Constant constant;
  constant.reg = value.reg;
  constant.bytes = kir::byteSize(type.shape.element);
  constant.n = columns(type);
  while (constant.data.size() < uint64_t(constant.n) * constant.bytes)
    constant.data.insert(constant.data.end(), data.begin(), data.end());
  program_->constants.push_back(std::move(constant));
  return value;
}

Value Decoder::special(Constant::Kind kind, uint32_t number) {
  auto [found, isNew] =
      specials_.try_emplace({static_cast<unsigned>(kind), number});
  if (isNew) {
    found->second.reg = allocate(4, 1);
    Constant constant;
    constant.kind = kind;
    constant.reg = found->second.reg;
    constant.number = number;
    program_->constants.push_back(std::move(constant));
  }
  return found->second;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Inst &Decoder::emit(Handler run, uint32_t d, uint32_t a, uint32_t n) {
  if (++instCount_ > kMostInsts)
    fail("it has more than ", kMostInsts, " operations with its hooks");
  Inst inst;
  inst.run = run;
  inst.d = d;
  inst.a = a;
  inst.n = n;
  inst.b = inst.c = inst.z = kNone;
  inst.site = site_;
  blocks_[current_].insts.push_back(inst);
  return blocks_[current_].insts.back();
}

void Decoder::emitUse(const Value &value, uint32_t n, UseText text) {
  if (value.taint != kNone)
    emit(checkUse, 0, value.taint, n).x = text;
}

/// TAINT becomes the union of FROM.
void Decoder::mergeInto(uint32_t taint, uint32_t n,
                        std::vector<uint32_t> from) {
  from.erase(std::remove(from.begin(), from.end(), kNone), from.end());
  from.resize(3, kNone);
  Inst &inst = emit(mergeTaints, taint, from[0], n);
  inst.b = from[1];
  inst.c = from[2];
}

/// A register with the union of at most three taints; none if all are none.
uint32_t Decoder::mergedTaint(uint32_t n, std::vector<uint32_t> from) {
  from.erase(std::remove(from.begin(), from.end(), kNone), from.end());
  if (from.empty())
    return kNone;
  if (from.size() == 1)
    return from[0];
  uint32_t taint = allocate(1, n);
  mergeInto(taint, n, std::move(from));
  return taint;
}

Column Decoder::column(const Value &value, const kir::Type &type,
                       uint32_t k) const {
  return {value.reg + k * kir::byteSize(type.shape.element),
          value.taint == kNone ? kNone : value.taint + k};
}

/// A value of these columns: where they already stand together, just there.
Value Decoder::fromColumns(const kir::Type &type,
                           const std::vector<Column> &columns) {
  const uint32_t bytes = kir::byteSize(type.shape.element);
  const auto n = static_cast<uint32_t>(columns.size());
  bool together = true, clean = true;
  for (uint32_t k = 0; k != n; ++k) {
    const Column &first = columns[0], &own = columns[k];
    together &= own.reg != kNone && own.reg == first.reg + k * bytes;
    together &= first.taint == kNone ? own.taint == kNone
                                     : own.taint == first.taint + k;
    clean &= own.taint == kNone;
  }
  Value value;
  if (together) {
    value.reg = columns[0].reg;
    value.taint = columns[0].taint;
    return value;
  }
  value.reg = allocate(bytes, n);
  std::vector<uint32_t> &lists = program_->lists;
  auto list = static_cast<uint32_t>(lists.size());
  for (const Column &own : columns)
    lists.push_back(own.reg);
  Inst &inst = emit(findGather(bytes), value.reg, 0, n);
  inst.x = list;
  inst.y = 0;
  if (clean)
    return value;
  value.taint = allocate(1, n);
  list = static_cast<uint32_t>(lists.size());
  for (const Column &own : columns)
    lists.push_back(own.taint);
  Inst &taints = emit(findGather(1), value.taint, 0, n);
  taints.x = list;
  taints.y = 0;
  return value;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Decoder::emitElementwise(const kir::Op &op, Handler handler) {
  const kir::Type &to = type(op.results[0]);
  const kir::Type &from = type(op.operands[0]);
  const uint32_t n = columns(to);
  const Element element =
      op.opcode == Opcode::ArithSelect ? to.shape.element : from.shape.element;
  Value result = fresh(to, false);
  Value second;
  if (op.results.size() == 2)
    second = fresh(type(op.results[1]), false);
  std::vector<uint32_t> taints;
  for (kir::ValueId operand : op.operands)
    taints.push_back(value(operand).taint);

  const bool eachOwn = from.shape.isVector();
  Inst &inst = emit(handler, result.reg, value(op.operands[0]).reg, n);
  if (op.operands.size() > 1)
    inst.b = value(op.operands[1]).reg;
  if (op.operands.size() > 2)
    inst.c = value(op.operands[2]).reg;
  inst.z = second.reg;
  // Handlers read as many operands as they have, and never through kNone.
  if (inst.b == kNone)
    inst.b = inst.a;
  if (inst.c == kNone)
    inst.c = inst.a;
  inst.x = eachOwn;
  const Inst data = inst;

  if (sanitize_) {
    if (op.opcode == Opcode::ArithSelect) {
      if (std::any_of(taints.begin(), taints.end(),
                      [](uint32_t t) { return t != kNone; })) {
        result.taint = allocate(1, n);
        uint32_t own = taintOf(value(op.operands[0]), eachOwn ? n : 1);
        uint32_t yes = taintOf(value(op.operands[1]), n);
        uint32_t no = taintOf(value(op.operands[2]), n);
        Inst &choice = emit(selectTaints, result.taint, data.a, n);
        choice.b = yes;
        choice.c = no;
        choice.x = own;
        choice.y = eachOwn;
      }
    } else {
      auto overflow = static_cast<uint32_t>(op.number(AttributeKey::Overflow));
      if (op.has(AttributeKey::Exact))
        overflow |= 256;
      auto fast = static_cast<uint32_t>(op.number(AttributeKey::FastMath)) &
                  (kir::NoNaN | kir::NoInf);
      const bool toInt =
          op.opcode == Opcode::ArithFPToSI || op.opcode == Opcode::ArithFPToUI;
      if (overflow || fast || toInt) {
        result.taint = allocate(1, n);
        mergeInto(result.taint, n, taints);
      } else {
        result.taint = mergedTaint(n, taints);
      }
      if (overflow) {
        Inst &check = emit(checkIntFlags, result.taint, data.a, n);
        check.b = data.b;
        check.x = static_cast<uint32_t>(op.opcode);
        check.y = overflow;
        check.z = static_cast<uint32_t>(element) |
                  static_cast<uint32_t>(to.shape.element) << 8;
      }
      if (fast) {
        // Operands and result.
        for (unsigned round : {0u, 1u}) {
          const bool isTest = !kir::isFloat(to.shape.element);
          if (round && (isTest || to.shape.element != element))
            break;
          Inst &check = emit(checkFloatFlags, result.taint,
                             round ? result.reg : data.a, n);
          if (!round && op.operands.size() > 1)
            check.b = data.b;
          if (!round && op.operands.size() > 2)
            check.c = data.c;
          check.y = fast;
          check.z = static_cast<uint32_t>(element);
        }
      }
      if (toInt) {
        Inst &check = emit(checkFloatToInt, result.taint, data.a, n);
        check.x = op.opcode == Opcode::ArithFPToSI;
        check.y = kir::bitWidth(to.shape.element);
        check.z = static_cast<uint32_t>(element);
      }
    }
  }
  value(op.results[0]) = result;
  if (op.results.size() == 2) {
    second.taint = result.taint;
    value(op.results[1]) = second;
  }
}

void Decoder::emitVector(const kir::Op &op) {
  const kir::Type &to = type(op.results[0]);
  const uint32_t bytes = kir::byteSize(to.shape.element);
  auto columnOf = [&](unsigned operand, uint32_t k) {
    return column(value(op.operands[operand]), type(op.operands[operand]), k);
  };
  auto lanes = [&](unsigned operand) {
    return type(op.operands[operand]).shape.count();
  };
  std::vector<Column> out;
  // What would not fit is refused before lists of it are made.
  for (kir::ValueId result : op.results)
    if (uint64_t(columns(type(result))) >
        kMostRegisterBytes / program_->workItems)
      return fail("a vector of ", columns(type(result)),
                  " elements is too long");

  switch (op.opcode) {
  case Opcode::VectorBroadcast: {
    const Value &from = value(op.operands[0]);
    if (type(op.operands[0]) == to) {
      value(op.results[0]) = from;
      return;
    }
    Value result = fresh(to, from.taint != kNone);
    emit(findSplat(bytes), result.reg, from.reg, columns(to));
    if (from.taint != kNone)
      emit(findSplat(1), result.taint, from.taint, columns(to));
    value(op.results[0]) = result;
    return;
  }
  case Opcode::VectorExtract: {
    const auto &position = op.find(AttributeKey::Position)->numbers;
    Value from = value(op.operands[0]);
    const uint32_t n = lanes(0);
    if (position.empty()) {
      value(op.results[0]) = from;
    } else if (position[0] == -1) {
      value(op.results[0]) = undefined(to, kPoison);
    } else if (position[0] != kir::kDynamic) {
      out = {columnOf(0, static_cast<uint32_t>(position[0]))};
      value(op.results[0]) = fromColumns(to, out);
    } else {
      Value at = value(op.operands[1]);
      Value result = fresh(to, true);
      uint32_t taints = 0, atTaint = 0;
      if (sanitize_) {
        taints = taintOf(from, n);
        atTaint = taintOf(at, 1);
      }
      Inst &inst = emit(findExtract(bytes), result.reg, from.reg, n);
      inst.b = at.reg;
      inst.c = taints;
      inst.y = atTaint;
      inst.z = result.taint;
      value(op.results[0]) = result;
    }
    return;
  }
  case Opcode::VectorInsert: {
    const auto &position = op.find(AttributeKey::Position)->numbers;
    const uint32_t n = lanes(1);
    if (position.empty()) {
      value(op.results[0]) = value(op.operands[0]);
    } else if (position[0] == -1) {
      value(op.results[0]) = undefined(to, kPoison);
    } else if (position[0] != kir::kDynamic) {
      for (uint32_t k = 0; k != n; ++k)
        out.push_back(k == position[0] ? columnOf(0, 0) : columnOf(1, k));
      value(op.results[0]) = fromColumns(to, out);
    } else {
      Value element = value(op.operands[0]), whole = value(op.operands[1]);
      Value at = value(op.operands[2]);
      Value result = fresh(to, true);
      auto list = static_cast<uint32_t>(program_->lists.size());
      if (sanitize_) {
        uint32_t taints[] = {taintOf(whole, n), taintOf(element, 1),
                             taintOf(at, 1)};
        program_->lists.insert(program_->lists.end(), taints, taints + 3);
      }
      Inst &inst = emit(findInsert(bytes), result.reg, whole.reg, n);
      inst.b = element.reg;
      inst.c = at.reg;
      inst.x = list;
      inst.z = result.taint;
      value(op.results[0]) = result;
    }
    return;
  }
  case Opcode::VectorFromElements:
    for (unsigned i = 0; i != op.operands.size(); ++i)
      out.push_back(columnOf(i, 0));
    break;
  case Opcode::VectorToElements:
    for (unsigned i = 0; i != op.results.size(); ++i)
      value(op.results[i]) = fromColumns(to, {columnOf(0, i)});
    return;
  case Opcode::VectorShuffle: {
    const auto &mask = op.find(AttributeKey::Mask)->numbers;
    const uint32_t first = lanes(0);
    for (int64_t at : mask) {
      if (at < 0)
        out.push_back({kNone, sanitize_ ? constantTaint(kPoison, 1) : kNone});
      else if (at < first)
        out.push_back(columnOf(0, static_cast<uint32_t>(at)));
      else
        out.push_back(columnOf(1, static_cast<uint32_t>(at - first)));
    }
    break;
  }
  case Opcode::VectorInterleave:
    for (uint32_t k = 0; k != lanes(0); ++k) {
      out.push_back(columnOf(0, k));
      out.push_back(columnOf(1, k));
    }
    break;
  case Opcode::VectorDeinterleave:
    for (unsigned part : {0u, 1u}) {
      out.clear();
      for (uint32_t k = part; k < lanes(0); k += 2)
        out.push_back(columnOf(0, k));
      value(op.results[part]) = fromColumns(to, out);
    }
    return;
  case Opcode::VectorExtractStridedSlice: {
    auto offset = static_cast<uint32_t>(op.number(AttributeKey::Offset));
    for (uint32_t k = 0; k != columns(to); ++k)
      out.push_back(columnOf(0, offset + k));
    break;
  }
  case Opcode::VectorInsertStridedSlice: {
    auto offset = static_cast<uint32_t>(op.number(AttributeKey::Offset));
    for (uint32_t k = 0; k != columns(to); ++k)
      out.push_back(k >= offset && k - offset < lanes(0)
                        ? columnOf(0, k - offset)
                        : columnOf(1, k));
    break;
  }
  case Opcode::ArithBitcast:
  case Opcode::VectorBitCast: {
    const kir::Type &from = type(op.operands[0]);
    Value source = value(op.operands[0]);
    if (kir::bitWidth(from.shape.element) == kir::bitWidth(to.shape.element)) {
      value(op.results[0]) = source;
      return;
    }
    Value result = fresh(to, source.taint != kNone);
    Inst &inst = emit(bitcastVector, result.reg, source.reg, lanes(0));
    inst.x = kir::bitWidth(from.shape.element);
    inst.y = kir::bitWidth(to.shape.element);
    inst.z = columns(to);
    inst.b = source.taint;
    inst.c = result.taint;
    value(op.results[0]) = result;
    return;
  }
  case Opcode::VectorReduction: {
    Value from = value(op.operands[0]);
    Value start = op.operands.size() > 1 ? value(op.operands[1]) : Value();
    Value result = fresh(to, false);
    Inst &inst = emit(
        findReduction(op.get<kir::CombiningKind>(AttributeKey::CombiningKind),
                      to.shape.element),
        result.reg, from.reg, lanes(0));
    inst.b = start.reg;
    if (from.taint != kNone || start.taint != kNone) {
      result.taint = allocate(1, 1);
      mergeInto(result.taint, 1, {start.taint});
      for (uint32_t k = 0; from.taint != kNone && k != lanes(0); ++k)
        mergeInto(result.taint, 1, {result.taint, from.taint + k});
    }
    value(op.results[0]) = result;
    return;
  }
  default:
    return fail("no instruction for ", kir::getInfo(op.opcode).spelling);
  }
  value(op.results[0]) = fromColumns(to, out);
}

uint32_t Decoder::addAccess(const kir::Op &op, uint32_t memory,
                            const kir::Type &type, uint32_t bytes, bool writes,
                            uint32_t leafIndex) {
  AccessInfo access;
  access.memory = memory;
  access.bytes = bytes;
  if (const kir::Attribute *leaf = op.find(AttributeKey::Leaf)) {
    const kir::Leaf &part = type.leaves[leaf->number];
    if (part.offset > UINT32_MAX)
      fail("a structure of ", type.structBytes, " bytes is too large");
    access.offset = static_cast<uint32_t>(part.offset);
    access.leafCount = part.count;
  }
  access.leafIndex = leafIndex;
  MemoryInfo &info = program_->memories[memory];
  info.writes |= writes;
  info.granule = std::gcd(
      info.granule,
      std::gcd(info.elementBytes, std::gcd<uint64_t>(access.offset, bytes)));
  program_->accesses.push_back(access);
  return static_cast<uint32_t>(program_->accesses.size() - 1);
}

void Decoder::emitMemory(const kir::Op &op) {
  auto operand = [&](size_t i) -> Value & { return value(op.operands[i]); };
  switch (op.opcode) {
  case Opcode::KernelWorkgroupAlloc: {
    const kir::Type &own = type(op.results[0]);
    MemoryInfo info;
    info.kind = TypeKind::Workgroup;
    info.elementBytes = own.elementBytes();
    info.count = own.elementCount();
    info.offset = (program_->workgroupBytes + 15) / 16 * 16;
    auto number = static_cast<uint32_t>(program_->memories.size());
    uint32_t before = 0;
    for (const MemoryInfo &other : program_->memories)
      before += other.kind == TypeKind::Workgroup;
    info.name = concat("workgroup array ", before);
    uint64_t bytes = info.elementBytes * info.count;
    if (info.offset + bytes > kMostWorkgroupBytes)
      return fail("its workgroup arrays take more than ",
                  kMostWorkgroupBytes >> 20, " MiB");
    program_->workgroupBytes = info.offset + bytes;
    for (kir::ValueId other : op.operands) {
      uint32_t memory = value(other).memory;
      info.overlaid.push_back(memory);
      program_->memories[memory].overlaid.push_back(number);
    }
    program_->memories.push_back(std::move(info));
    value(op.results[0]).memory = number;
    return;
  }
  case Opcode::KernelConstantTable: {
    const kir::Type &own = type(op.results[0]);
    MemoryInfo info;
    info.kind = TypeKind::Table;
    info.elementBytes = own.elementBytes();
    info.count = own.elementCount();
    info.name = concat("a table");
    const std::vector<uint8_t> &data = op.find(AttributeKey::Value)->data;
    if (info.elementBytes * info.count > kMostTableBytes)
      return fail("a table takes more than ", kMostTableBytes >> 20, " MiB");
    while (info.data.size() < info.elementBytes * info.count)
      info.data.insert(info.data.end(), data.begin(), data.end());
    value(op.results[0]).memory =
        static_cast<uint32_t>(program_->memories.size());
    program_->memories.push_back(std::move(info));
    return;
  }
  case Opcode::KernelLoad: {
    const kir::Type &memory = type(op.operands[0]);
    const kir::Type &to = type(op.results[0]);
    Value index = operand(1);
    Value leaf = op.operands.size() > 2 ? operand(2) : Value();
    emitUse(index, 1, kIndexIs);
    emitUse(leaf, 1, kIndexIs);
    Value result = fresh(to, false);
    uint32_t access =
        addAccess(op, operand(0).memory, memory,
                  static_cast<uint32_t>(to.shape.bytes()), false, leaf.reg);
    emit(findLoad(kir::byteSize(to.shape.element)), result.reg, index.reg,
         columns(to))
        .x = access;
    value(op.results[0]) = result;
    return;
  }
  case Opcode::KernelStore: {
    const kir::Type &memory = type(op.operands[1]);
    const kir::Type &from = type(op.operands[0]);
    Value stored = operand(0), index = operand(2);
    Value leaf = op.operands.size() > 3 ? operand(3) : Value();
    emitUse(index, 1, kIndexIs);
    emitUse(leaf, 1, kIndexIs);
    emitUse(stored, columns(from), kStores);
    uint32_t access =
        addAccess(op, operand(1).memory, memory,
                  static_cast<uint32_t>(from.shape.bytes()), true, leaf.reg);
    Inst &inst = emit(findStore(kir::byteSize(from.shape.element)), 0,
                      index.reg, columns(from));
    inst.b = stored.reg;
    inst.x = access;
    return;
  }
  case Opcode::KernelAtomicRmw:
  case Opcode::KernelAtomicCas:
  case Opcode::KernelAtomicLoad:
  case Opcode::KernelAtomicStore: {
    const kir::Type &memory = type(op.operands[0]);
    const Element element = memory.shape.element;
    Value index = operand(1);
    emitUse(index, 1, kIndexIs);
    for (size_t i = 2; i != op.operands.size(); ++i)
      emitUse(operand(i), 1, kAtomicTakes);
    Value result;
    if (!op.results.empty())
      result = fresh(type(op.results[0]), false);
    const bool writes = op.opcode != Opcode::KernelAtomicLoad;
    uint32_t access = addAccess(op, operand(0).memory, memory,
                                kir::byteSize(element), writes, kNone);
    Handler handler;
    uint32_t b = kNone, c = kNone;
    const auto kind = op.get<kir::AtomicKind>(AttributeKey::AtomicKind);
    if (op.opcode == Opcode::KernelAtomicRmw) {
      handler = findAtomicRmw(kind, element);
      b = operand(2).reg;
    } else if (op.opcode == Opcode::KernelAtomicCas) {
      handler = findAtomicCas(element);
      c = operand(2).reg;
      b = operand(3).reg;
    } else if (op.opcode == Opcode::KernelAtomicLoad) {
      handler = findAtomicLoad(element);
    } else {
      handler = findAtomicStore(element);
      b = operand(2).reg;
    }
    Inst &inst = emit(handler, result.reg, index.reg, 1);
    inst.b = b;
    inst.c = c;
    inst.x = access;
    inst.y = static_cast<uint32_t>(kind);
    inst.z = static_cast<uint32_t>(op.number(AttributeKey::Order)) |
             static_cast<uint32_t>(op.number(AttributeKey::Scope)) << 8;
    if (!op.results.empty())
      value(op.results[0]) = result;
    return;
  }
  case Opcode::KernelVar: {
    const kir::Type &own = type(op.results[0]);
    VarInfo var;
    var.columns = columns(own);
    var.elementBytes = kir::byteSize(own.shape.element);
    var.extents = own.extents;
    for (uint64_t extent : own.extents)
      var.count *= extent;
    if (var.count > kMostRegisterBytes)
      return fail("a variable of ", var.count, " elements is too large");
    var.reg = allocate(var.elementBytes, var.count * var.columns);
    if (sanitize_)
      var.taint = allocate(1, var.count * var.columns);
    value(op.results[0]).var = static_cast<uint32_t>(program_->vars.size());
    program_->vars.push_back(std::move(var));
    return;
  }
  case Opcode::KernelVarLoad:
  case Opcode::KernelVarStore: {
    const bool stores = op.opcode == Opcode::KernelVarStore;
    const size_t at = stores ? 1 : 0;
    const kir::Type &moved = type(stores ? op.operands[0] : op.results[0]);
    const uint32_t number = operand(at).var;
    auto list = static_cast<uint32_t>(program_->lists.size());
    for (size_t i = at + 1; i != op.operands.size(); ++i) {
      emitUse(operand(i), 1, kIndexIs);
      program_->lists.push_back(operand(i).reg);
    }
    const uint32_t bytes = kir::byteSize(moved.shape.element);
    if (stores) {
      Value stored = operand(0);
      uint32_t taint = sanitize_ ? taintOf(stored, columns(moved)) : kNone;
      Inst &inst = emit(findVarStore(bytes), 0, 0, columns(moved));
      inst.b = stored.reg;
      inst.x = number;
      inst.y = list;
      inst.z = taint;
    } else {
      Value result = fresh(moved, true);
      Inst &inst = emit(findVarLoad(bytes), result.reg, 0, columns(moved));
      inst.x = number;
      inst.y = list;
      inst.z = result.taint;
      value(op.results[0]) = result;
    }
    return;
  }
  default:
    return fail("no instruction for ", kir::getInfo(op.opcode).spelling);
  }
}

void Decoder::emitSubgroup(const kir::Op &op) {
  blocks_[current_].meets = true;
  const kir::Type &to = type(op.results[0]);
  const uint32_t bytes = kir::byteSize(to.shape.element);
  Value from = value(op.operands[0]);
  Value lane = op.operands.size() > 1 ? value(op.operands[1]) : Value();
  Value result = fresh(to, false);
  auto spread = [&] {
    if (from.taint == kNone)
      return;
    result.taint = allocate(1, 1);
    emit(spreadTaints, result.taint, from.taint, 1);
  };
  switch (op.opcode) {
  case Opcode::KernelSubgroupReduce:
    emit(findSubgroupReduce(op.get<kir::ReduceKind>(AttributeKey::ReduceKind),
                            to.shape.element),
         result.reg, from.reg, 1);
    spread();
    break;
  case Opcode::KernelSubgroupScan:
    emit(findSubgroupScan(op.get<kir::ScanKind>(AttributeKey::ScanKind),
                          to.shape.element),
         result.reg, from.reg, 1);
    spread();
    break;
  case Opcode::KernelSubgroupShuffle: {
    if (sanitize_)
      result.taint = allocate(1, 1);
    uint32_t own = sanitize_ ? taintOf(from, 1) : kNone;
    uint32_t lanes = sanitize_ ? taintOf(lane, 1) : kNone;
    Inst &inst =
        emit(findSubgroupShuffle(
                 op.get<kir::ShuffleKind>(AttributeKey::ShuffleKind), bytes),
             result.reg, from.reg, 1);
    inst.b = lane.reg;
    inst.c = lanes;
    inst.y = own;
    inst.z = result.taint;
    break;
  }
  case Opcode::KernelSubgroupBroadcast: {
    emitUse(lane, 1, kLaneIs);
    if (from.taint != kNone)
      result.taint = allocate(1, 1);
    Inst &inst = emit(findSubgroupBroadcast(bytes), result.reg, from.reg, 1);
    inst.b = lane.reg;
    inst.y = from.taint;
    inst.z = result.taint;
    break;
  }
  case Opcode::KernelSubgroupAny:
    emit(subgroupAny, result.reg, from.reg, 1);
    spread();
    break;
  default:
    emit(subgroupAll, result.reg, from.reg, 1);
    spread();
    break;
  }
  value(op.results[0]) = result;
}

void Decoder::emitFragment(const kir::Op &op) {
  auto operand = [&](size_t i) -> Value & { return value(op.operands[i]); };
  switch (op.opcode) {
  case Opcode::KernelFragmentFill: {
    const kir::Type &to = type(op.results[0]);
    Value from = operand(0);
    Value result = fresh(to, from.taint != kNone);
    emit(findSplat(kir::byteSize(to.shape.element)), result.reg, from.reg,
         columns(to));
    if (from.taint != kNone)
      emit(findSplat(1), result.taint, from.taint, columns(to));
    value(op.results[0]) = result;
    return;
  }
  case Opcode::KernelFragmentLoad:
  case Opcode::KernelFragmentStore: {
    const bool stores = op.opcode == Opcode::KernelFragmentStore;
    const size_t at = stores ? 1 : 0;
    const kir::Type &moved = type(stores ? op.operands[0] : op.results[0]);
    const uint32_t bytes = kir::byteSize(moved.shape.element);
    Value index = operand(at + 1), stride = operand(at + 2);
    emitUse(index, 1, kIndexIs);
    emitUse(stride, 1, kIndexIs);
    uint32_t access = addAccess(op, operand(at).memory, type(op.operands[at]),
                                bytes, stores, kNone);
    Value result;
    if (stores)
      emitUse(operand(0), columns(moved), kStores);
    else
      result = fresh(moved, false);
    Inst &inst =
        emit(stores ? findFragmentStore(bytes) : findFragmentLoad(bytes),
             result.reg, index.reg, columns(moved));
    inst.b = stride.reg;
    inst.c = stores ? operand(0).reg : kNone;
    inst.x = access;
    inst.y = moved.rows | moved.columns << 16;
    inst.z = op.get<kir::Layout>(AttributeKey::Layout) == kir::Layout::Column;
    if (!stores)
      value(op.results[0]) = result;
    return;
  }
  default: {
    const kir::Type &a = type(op.operands[0]), &b = type(op.operands[1]);
    const kir::Type &to = type(op.results[0]);
    Handler handler = nullptr;
    if (a.shape == b.shape)
      handler = findFragmentMma(a.shape.element, to.shape.element);
    if (!handler)
      return fail("no product of fragments of ", kir::spelling(a.shape.element),
                  " and ", kir::spelling(b.shape.element), " in ",
                  kir::spelling(to.shape.element));
    for (kir::ValueId id : op.operands)
      emitUse(value(id), columns(type(id)), kShareIs);
    Value result = fresh(to, false);
    auto list = static_cast<uint32_t>(program_->lists.size());
    uint32_t shape[] = {to.rows, to.columns, a.columns};
    program_->lists.insert(program_->lists.end(), shape, shape + 3);
    Inst &inst = emit(handler, result.reg, operand(0).reg, columns(to));
    inst.b = operand(1).reg;
    inst.c = operand(2).reg;
    inst.x = list;
    value(op.results[0]) = result;
    return;
  }
  }
}

void Decoder::emitOp(const kir::Op &op) {
  switch (op.opcode) {
  case Opcode::ArithConstant:
    value(op.results[0]) =
        constant(type(op.results[0]), op.find(AttributeKey::Value)->data);
    return;
  case Opcode::UbPoison:
    value(op.results[0]) = undefined(type(op.results[0]), kPoison);
    return;
  case Opcode::KernelUnwritten:
    value(op.results[0]) = undefined(type(op.results[0]), kUnwritten);
    return;
  case Opcode::KernelSpecConstant: {
    const kir::Type &own = type(op.results[0]);
    std::vector<uint8_t> data = op.find(AttributeKey::Value)->data;
    const std::string &name = op.find(AttributeKey::Name)->text;
    for (size_t i = 0; i != options_.constants.size(); ++i) {
      if (options_.constants[i].first != name)
        continue;
      constantUsed_[i] = true;
      const double given = options_.constants[i].second;
      if (own.shape.element == Element::F32) {
        auto number = static_cast<float>(given);
        std::memcpy(data.data(), &number, 4);
        continue;
      }
      const bool isBool = own.shape.element == Element::I1;
      const double lowest = isBool ? 0 : INT32_MIN;
      const double highest = isBool ? 1 : UINT32_MAX;
      if (!(given >= lowest && given <= highest) || given != std::trunc(given))
        return fail("the constant '", name, "' is ",
                    isBool ? "0 or 1" : "an integer of 32 bits");
      auto bits = static_cast<uint32_t>(static_cast<int64_t>(given));
      std::memcpy(data.data(), &bits, isBool ? 1 : 4);
    }
    value(op.results[0]) = constant(own, data);
    return;
  }
  case Opcode::KernelLoopHint:
    return;
  case Opcode::KernelBarrier: {
    uint32_t next = newBlock();
    DecodedBlock &block = blocks_[current_];
    block.exit = Exit::Barrier;
    block.site = site_;
    block.edges.push_back({next, {}});
    current_ = next;
    return;
  }
  case Opcode::KernelLocalId:
    value(op.results[0]) =
        special(Constant::Kind::LocalId,
                static_cast<uint32_t>(op.number(AttributeKey::Dim)));
    return;
  case Opcode::KernelWorkgroupId:
    value(op.results[0]) =
        special(Constant::Kind::WorkgroupId,
                static_cast<uint32_t>(op.number(AttributeKey::Dim)));
    return;
  case Opcode::KernelNumWorkgroups:
    value(op.results[0]) =
        special(Constant::Kind::NumWorkgroups,
                static_cast<uint32_t>(op.number(AttributeKey::Dim)));
    return;
  case Opcode::KernelLaneId:
    value(op.results[0]) = special(Constant::Kind::LaneId, 0);
    return;
  case Opcode::KernelSubgroupId:
    value(op.results[0]) = special(Constant::Kind::SubgroupId, 0);
    return;
  case Opcode::KernelSubgroupSize: {
    uint32_t size = program_->subgroupSize;
    std::vector<uint8_t> data(4);
    std::memcpy(data.data(), &size, 4);
    value(op.results[0]) = constant(type(op.results[0]), data);
    return;
  }
  case Opcode::KernelWorkgroupAlloc:
  case Opcode::KernelConstantTable:
  case Opcode::KernelLoad:
  case Opcode::KernelStore:
  case Opcode::KernelAtomicRmw:
  case Opcode::KernelAtomicCas:
  case Opcode::KernelAtomicLoad:
  case Opcode::KernelAtomicStore:
  case Opcode::KernelVar:
  case Opcode::KernelVarLoad:
  case Opcode::KernelVarStore:
    return emitMemory(op);
  case Opcode::KernelSubgroupReduce:
  case Opcode::KernelSubgroupScan:
  case Opcode::KernelSubgroupShuffle:
  case Opcode::KernelSubgroupBroadcast:
  case Opcode::KernelSubgroupAny:
  case Opcode::KernelSubgroupAll:
    return emitSubgroup(op);
  case Opcode::KernelFragmentFill:
  case Opcode::KernelFragmentLoad:
  case Opcode::KernelFragmentStore:
  case Opcode::KernelFragmentMma:
    return emitFragment(op);
  default:
    break;
  }
  const kir::Type &to = type(op.results[0]);
  const kir::Type &from = op.operands.empty() ? to : type(op.operands[0]);
  const bool selects = op.opcode == Opcode::ArithSelect;
  if (Handler handler =
          findElementwise(op, selects ? to.shape.element : from.shape.element,
                          to.shape.element))
    return emitElementwise(op, handler);
  emitVector(op);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Moves of an edge happen at once: where one would overwrite what another
/// reads, all go through registers between.
BlockEdge Decoder::edge(uint32_t block, const std::vector<Value> &from,
                        const std::vector<Value> &to,
                        const std::vector<const kir::Type *> &types) {
  BlockEdge edge;
  edge.block = block;
  auto add = [&](uint32_t source, uint32_t destination, uint32_t bytes,
                 uint32_t n) {
    if (source != destination)
      edge.moves.push_back({source, destination, bytes, n});
  };
  for (size_t i = 0; i != from.size(); ++i) {
    const uint32_t n = columns(*types[i]);
    add(from[i].reg, to[i].reg, kir::byteSize(types[i]->shape.element), n);
    if (to[i].taint != kNone)
      add(taintOf(from[i], n), to[i].taint, 1, n);
  }
  std::map<uint32_t, uint32_t> written; // Begin to end.
  for (const Move &move : edge.moves)
    written[move.destination] = move.destination + move.bytes * move.n;
  bool overlap = false;
  for (const Move &move : edge.moves) {
    auto after = written.lower_bound(move.source + move.bytes * move.n);
    overlap |=
        after != written.begin() && std::prev(after)->second > move.source;
  }
  if (overlap && edge.moves.size() > 1) {
    std::vector<Move> second;
    for (Move &move : edge.moves) {
      uint32_t between = allocate(move.bytes, move.n);
      second.push_back({between, move.destination, move.bytes, move.n});
      move.destination = between;
    }
    edge.moves.insert(edge.moves.end(), second.begin(), second.end());
  }
  return edge;
}

void Decoder::emitHook(const kir::Op &op, unsigned depth) {
  const std::string &name = op.find(AttributeKey::Name)->text;
  const kir::Function *target = nullptr;
  std::vector<Value> arguments;
  for (kir::ValueId operand : op.operands)
    arguments.push_back(value(operand));
  if (auto fill = fills_.find(name); fill != fills_.end()) {
    target = fill->second.body;
    fill->second.used = true;
    bool fits = target->arguments().size() ==
                    op.operands.size() + fill->second.extra.size() &&
                target->results.size() == op.results.size();
    for (size_t i = 0; fits && i != op.operands.size(); ++i)
      fits = type(op.operands[i]) ==
             module_.type(target->body, target->arguments()[i]);
    for (size_t i = 0; fits && i != op.results.size(); ++i)
      fits = type(op.results[i]) == module_.types[target->results[i]];
    if (!fits)
      return fail("hook '", name, "' can't be filled by '", target->name,
                  "', which takes or gives other types");
    arguments.insert(arguments.end(), fill->second.extra.begin(),
                     fill->second.extra.end());
  } else {
    target = module_.findHookBody(op.find(AttributeKey::DefaultBody)->text);
  }
  if (depth == kDeepestHook)
    return fail("hooks within hooks go deeper than ", kDeepestHook);

  // The body is decoded in the middle of this one.
  const kir::Body *body = body_;
  std::vector<Value> *values = values_;
  const uint32_t site = site_;
  Return back;
  const bool isFlat = target->body.blocks.size() == 1;
  if (!isFlat) {
    for (kir::ValueId result : op.results)
      back.results.push_back(fresh(type(result), true));
    back.continuation = newBlock();
  }
  std::vector<Value> results =
      emitBody(*target, std::move(arguments), site, depth + 1, &back);
  body_ = body;
  values_ = values;
  site_ = site;
  if (!isFlat) {
    current_ = back.continuation;
    results = back.results;
  }
  if (failed())
    return;
  // A body that never yields gives nothing, and what follows is never reached.
  results.resize(op.results.size());
  for (size_t i = 0; i != op.results.size(); ++i)
    value(op.results[i]) = results[i].reg == kNone
                               ? undefined(type(op.results[i]), kPoison)
                               : results[i];
}

void Decoder::emitTerminator(const kir::Op &op,
                             const std::vector<uint32_t> &blocks,
                             const std::vector<std::vector<Value>> &parameters,
                             const Return *back, std::vector<Value> &yielded) {
  auto successor = [&](const kir::Successor &to) {
    std::vector<Value> from;
    std::vector<const kir::Type *> types;
    for (kir::ValueId id : to.arguments) {
      from.push_back(value(id));
      types.push_back(&type(id));
    }
    return edge(blocks[to.block], from, parameters[to.block], types);
  };
  std::vector<BlockEdge> edges;
  for (const kir::Successor &to : op.successors)
    edges.push_back(successor(to));
  DecodedBlock &block = blocks_[current_];
  block.site = site_;
  block.edges = std::move(edges);
  auto condition = [&] {
    const Value &flag = value(op.operands[0]);
    block.condition = flag.reg;
    block.conditionBytes = kir::byteSize(type(op.operands[0]).shape.element);
    block.conditionTaint = flag.taint;
  };
  switch (op.opcode) {
  case Opcode::CfBr:
    block.exit = Exit::Jump;
    return;
  case Opcode::CfCondBr:
    block.exit = Exit::Branch;
    condition();
    return;
  case Opcode::CfSwitch:
    block.exit = Exit::Switch;
    block.cases = op.find(AttributeKey::Cases)->numbers;
    condition();
    return;
  case Opcode::KernelYield: {
    std::vector<const kir::Type *> types;
    for (kir::ValueId id : op.operands) {
      yielded.push_back(value(id));
      types.push_back(&type(id));
    }
    if (back->continuation == kNone)
      return; // The code goes on in this block.
    BlockEdge out = edge(back->continuation, yielded, back->results, types);
    blocks_[current_].exit = Exit::Jump;
    blocks_[current_].edges.push_back(std::move(out));
    return;
  }
  case Opcode::UbUnreachable:
    block.exit = Exit::Unreachable;
    if (back && back->continuation == kNone) {
      // What follows in the hook's block has no way in.
      uint32_t next = newBlock();
      current_ = next;
    }
    return;
  default:
    block.exit = Exit::End;
    return;
  }
}

/// Decodes a function into the current block and new ones. Of a hook's body
/// of one block, the values that it yields.
std::vector<Value> Decoder::emitBody(const kir::Function &function,
                                     std::vector<Value> arguments,
                                     uint32_t parent, unsigned depth,
                                     const Return *back) {
  const kir::Body &body = function.body;
  valueCount_ += body.values.size();
  if (valueCount_ > kMostValues || program_->sites.size() > kMostInsts) {
    fail("it is too large with its hooks");
    return {};
  }
  std::vector<Value> values(body.values.size());
  body_ = &body;
  values_ = &values;
  std::vector<Value> yielded;
  for (size_t i = 0; i != arguments.size(); ++i)
    values[body.blocks[0].arguments[i]] = arguments[i];

  // Definitions before uses: reverse postorder.
  std::vector<uint32_t> order;
  {
    std::vector<bool> seen(body.blocks.size());
    std::vector<std::pair<uint32_t, size_t>> stack = {{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      const auto &successors = body.blocks[block].ops.back().successors;
      if (next == successors.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      uint32_t to = successors[next++].block;
      if (!seen[to]) {
        seen[to] = true;
        stack.push_back({to, 0});
      }
    }
    std::reverse(order.begin(), order.end());
  }
  std::vector<uint32_t> blocks(body.blocks.size(), kNone);
  std::vector<std::vector<Value>> parameters(body.blocks.size());
  for (uint32_t b : order) {
    blocks[b] = b == 0 ? current_ : newBlock();
    if (b == 0)
      continue;
    for (kir::ValueId argument : body.blocks[b].arguments) {
      values[argument] = fresh(type(argument), true);
      parameters[b].push_back(values[argument]);
    }
  }
  for (uint32_t b : order) {
    current_ = blocks[b];
    for (const kir::Op &op : body.blocks[b].ops) {
      if (failed())
        return yielded;
      program_->sites.push_back({op.location, parent});
      site_ = static_cast<uint32_t>(program_->sites.size() - 1);
      if (op.opcode == Opcode::KernelHook)
        emitHook(op, depth);
      else if (kir::getInfo(op.opcode).isTerminator())
        emitTerminator(op, blocks, parameters, back, yielded);
      else
        emitOp(op);
    }
  }
  return yielded;
}

/// What fills hooks may take more buffers and metadata, which the kernel then
/// takes behind its own.
void Decoder::prepareFills() {
  for (const auto &[hook, name] : kernel_.fill)
    fills_[hook].body = module_.findHookBody(name);
  for (auto &[hook, fill] : fills_) {
    // How many operands the hook has, its uses say: the first one found.
    size_t operands = SIZE_MAX;
    for (const kir::Function &function : module_.functions)
      for (const kir::Block &block : function.body.blocks)
        for (const kir::Op &op : block.ops)
          if (operands == SIZE_MAX && op.opcode == Opcode::KernelHook &&
              op.find(AttributeKey::Name)->text == hook)
            operands = op.operands.size();
    const auto &taken = fill.body->arguments();
    for (size_t i = operands; i < taken.size(); ++i) {
      const kir::Type &extra = module_.type(fill.body->body, taken[i]);
      Value value;
      if (extra.kind == TypeKind::Buffer) {
        MemoryInfo info;
        info.elementBytes = extra.elementBytes();
        info.argument = static_cast<uint32_t>(program_->buffers().size());
        info.name = concat("buffer ", info.argument);
        value.memory = static_cast<uint32_t>(program_->memories.size());
        program_->memories.push_back(std::move(info));
        program_->addBuffer(extra);
      } else if (extra.isValue() && !extra.shape.isVector() &&
                 (extra.shape.element == Element::I32 ||
                  extra.shape.element == Element::F32)) {
        value = special(Constant::Kind::Metadata,
                        static_cast<uint32_t>(program_->metadata().size()));
        program_->addMetadata(extra.shape.element);
      } else {
        fail("hook '", hook, "' is filled by '", fill.body->name,
             "', which takes more than the hook's operands, buffers, i32 and "
             "f32");
      }
      fill.extra.push_back(value);
    }
  }
}

void Decoder::finish() {
  std::vector<std::vector<uint32_t>> successors(blocks_.size());
  for (size_t b = 0; b != blocks_.size(); ++b)
    for (const BlockEdge &edge : blocks_[b].edges)
      successors[b].push_back(edge.block);
  std::vector<uint32_t> order = scheduleOrder(successors);
  std::vector<uint32_t> number(blocks_.size(), kNone);
  for (uint32_t i = 0; i != order.size(); ++i)
    number[order[i]] = i;

  DecodedProgram &program = *program_;
  for (uint32_t b : order) {
    DecodedBlock &block = blocks_[b];
    Segment segment;
    segment.firstInst = static_cast<uint32_t>(program.insts.size());
    segment.insts = static_cast<uint32_t>(block.insts.size());
    program.insts.insert(program.insts.end(), block.insts.begin(),
                         block.insts.end());
    segment.exit = block.exit;
    segment.firstEdge = static_cast<uint32_t>(program.edges.size());
    segment.edges = static_cast<uint32_t>(block.edges.size());
    for (const BlockEdge &edge : block.edges) {
      program.edges.push_back({number[edge.block],
                               static_cast<uint32_t>(program.moves.size()),
                               static_cast<uint32_t>(edge.moves.size())});
      program.moves.insert(program.moves.end(), edge.moves.begin(),
                           edge.moves.end());
    }
    segment.firstCase = static_cast<uint32_t>(program.cases.size());
    program.cases.insert(program.cases.end(), block.cases.begin(),
                         block.cases.end());
    // i1 is kept as 0 or 1, and cases of one bit are too.
    segment.condition = block.condition;
    segment.conditionBytes = block.conditionBytes;
    segment.conditionTaint = block.conditionTaint;
    segment.site = block.site;
    segment.meets = block.meets;
    program.segments.push_back(segment);
  }
  program.registerBytes = (registerBytes_ + 63) / 64 * 64;
}

Expected<std::shared_ptr<const Program>> Decoder::decode() {
  DecodedProgram &program = *program_;
  program.setInterface(kernel_, sanitize_);
  program.subgroupSize = options_.subgroupSize;
  uint64_t items = 1;
  for (uint32_t extent : kernel_.workgroupSize)
    items *= extent;
  if (items > kMostWorkItems) {
    fail("its workgroups have ", items, " work-items; the interpreter runs ",
         kMostWorkItems, " at most");
    return status_;
  }
  program.workItems = static_cast<uint32_t>(items);
  uint32_t rest = program.workItems % program.subgroupSize;
  smallestSubgroup_ = rest ? rest : program.subgroupSize;
  constantUsed_.resize(options_.constants.size());

  std::vector<Value> arguments;
  for (kir::ValueId id : kernel_.arguments()) {
    const kir::Type &type = module_.type(kernel_.body, id);
    Value value;
    if (type.kind == TypeKind::Buffer) {
      MemoryInfo info;
      info.elementBytes = type.elementBytes();
      info.argument = static_cast<uint32_t>(program.buffers().size());
      info.name = concat("buffer ", info.argument);
      value.memory = static_cast<uint32_t>(program.memories.size());
      program.memories.push_back(std::move(info));
      program.addBuffer(type);
    } else {
      value = special(Constant::Kind::Metadata,
                      static_cast<uint32_t>(program.metadata().size()));
      program.addMetadata(type.shape.element);
    }
    arguments.push_back(value);
  }
  prepareFills();
  current_ = newBlock();
  if (!failed())
    emitBody(kernel_, std::move(arguments), kNone, 0, nullptr);
  for (const auto &[hook, fill] : fills_)
    if (!fill.used)
      fail("has no hook '", hook, "', which is to be filled by '",
           fill.body->name, "'");
  for (size_t i = 0; i != constantUsed_.size(); ++i)
    if (!constantUsed_[i])
      fail("has no specialization constant '", options_.constants[i].first,
           "'");
  if (!failed())
    finish();
  if (failed())
    return status_;
  return std::shared_ptr<const Program>(std::move(program_));
}

} // namespace

void DecodedProgram::setInterface(const kir::Function &kernel, bool sanitize) {
  name_ = kernel.name;
  sanitizes_ = sanitize;
  workgroupSize_ = kernel.workgroupSize;
}

Expected<std::shared_ptr<const Program>>
Program::create(std::shared_ptr<const kir::Module> module,
                std::string_view kernel, const ProgramOptions &options) {
  const kir::Function *function = module->findKernel(kernel);
  if (!function) {
    std::string names;
    for (const kir::Function &other : module->functions)
      if (other.kind == kir::FunctionKind::Kernel)
        names += concat(names.empty() ? "" : ", ", other.name);
    return names.empty()
               ? makeError(StatusCode::NotFound, "holds no kernel")
               : makeError(StatusCode::NotFound, "there is no kernel ",
                           weights::quoted(kernel), "; there is ", names);
  }
  uint32_t size = options.subgroupSize;
  if (size == 0 || size > 128 || (size & (size - 1)))
    return makeError(StatusCode::InvalidArgument, "subgroups of ", size,
                     " lanes; allowed are powers of two up to 128");
  return Decoder(module, *function, options).decode();
}
