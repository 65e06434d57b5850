// Builds kernels of KIR in a few lines, for the tests of the interpreter.

#ifndef POOT_RUNTIME_KIR_BUILDER_H
#define POOT_RUNTIME_KIR_BUILDER_H

#include "poot/interp/interpreter.h"
#include "poot/kir/json.h"
#include "poot/kir/verify.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace poot::test {

inline kir::Attribute number(kir::AttributeKey key, int64_t value) {
  kir::Attribute attribute;
  attribute.key = key;
  attribute.number = value;
  return attribute;
}
template <class Enum>
kir::Attribute enumerator(kir::AttributeKey key, Enum value) {
  return number(key, static_cast<int64_t>(value));
}
inline kir::Attribute numbers(kir::AttributeKey key,
                              std::vector<int64_t> values) {
  kir::Attribute attribute;
  attribute.key = key;
  attribute.numbers = std::move(values);
  return attribute;
}

/// One kernel. Values are numbered as they are made, block after block.
class KirBuilder {
public:
  explicit KirBuilder(std::array<uint32_t, 3> workgroup = {1, 1, 1}) {
    module_.locations.emplace_back();
    module_.functions.emplace_back();
    function().name = "k";
    function().workgroupSize = workgroup;
    function().body.blocks.emplace_back();
  }

  /// Of the kernel, or of the block begun last.
  kir::ValueId argument(const std::string &type) {
    kir::ValueId value = newValue(type);
    function().body.blocks.back().arguments.push_back(value);
    return value;
  }
  void block() { function().body.blocks.emplace_back(); }

  std::vector<kir::ValueId> ops(kir::Opcode opcode,
                                const std::vector<kir::ValueId> &operands,
                                const std::vector<std::string> &results,
                                std::vector<kir::Attribute> attributes = {},
                                std::vector<kir::Successor> successors = {}) {
    kir::Op op;
    op.opcode = opcode;
    op.operands = operands;
    op.attributes = std::move(attributes);
    op.successors = std::move(successors);
    for (const std::string &type : results)
      op.results.push_back(newValue(type));
    std::vector<kir::ValueId> values = op.results;
    function().body.blocks.back().ops.push_back(std::move(op));
    return values;
  }
  kir::ValueId op(kir::Opcode opcode, const std::vector<kir::ValueId> &operands,
                  const std::string &result,
                  std::vector<kir::Attribute> attributes = {}) {
    return ops(opcode, operands, {result}, std::move(attributes))[0];
  }
  template <class T> kir::ValueId constant(const std::string &type, T value) {
    kir::Attribute attribute;
    attribute.key = kir::AttributeKey::Value;
    attribute.data.resize(sizeof value);
    std::memcpy(attribute.data.data(), &value, sizeof value);
    return op(kir::Opcode::ArithConstant, {}, type, {attribute});
  }
  kir::ValueId localId() {
    return op(kir::Opcode::KernelLocalId, {}, "i32",
              {number(kir::AttributeKey::Dim, 0)});
  }
  kir::ValueId load(kir::ValueId memory, kir::ValueId index,
                    const std::string &type) {
    return op(kir::Opcode::KernelLoad, {memory, index}, type);
  }
  void store(kir::ValueId value, kir::ValueId memory, kir::ValueId index) {
    ops(kir::Opcode::KernelStore, {value, memory, index}, {});
  }
  void end() { ops(kir::Opcode::KernelReturn, {}, {}); }

  kir::Module &module() { return module_; }
  kir::Function &function() { return module_.functions.front(); }

  std::shared_ptr<const interp::Program>
  program(interp::ProgramOptions options = {}) {
    weights::Status valid = kir::verify(module_);
    EXPECT_TRUE(valid.ok()) << valid.message();
    auto made = interp::Program::create(
        std::make_shared<const kir::Module>(module_), "k", options);
    EXPECT_TRUE(made) << made.status().message();
    return made ? *made : nullptr;
  }

private:
  kir::TypeId typeId(const std::string &text) {
    auto type = kir::parseType(text);
    EXPECT_TRUE(type) << type.status().message();
    for (size_t i = 0; i != module_.types.size(); ++i)
      if (module_.types[i] == *type)
        return static_cast<kir::TypeId>(i);
    module_.types.push_back(*type);
    return static_cast<kir::TypeId>(module_.types.size() - 1);
  }
  kir::ValueId newValue(const std::string &type) {
    kir::Body &body = function().body;
    body.values.push_back({typeId(type), 0});
    return static_cast<kir::ValueId>(body.values.size() - 1);
  }

  kir::Module module_;
};

/// A buffer of Ts, aligned as the interpreter wants.
template <class T> class Array {
public:
  explicit Array(std::vector<T> values) : size_(values.size()) {
    storage_.resize(size_ * sizeof(T) + 64);
    std::memcpy(bytes(), values.data(), size_ * sizeof(T));
  }
  explicit Array(size_t size) : Array(std::vector<T>(size)) {}

  std::vector<T> get() const {
    std::vector<T> values(size_);
    std::memcpy(values.data(), bytes(), size_ * sizeof(T));
    return values;
  }
  interp::Argument argument() {
    interp::Argument result;
    result.data = bytes();
    result.size = size_ * sizeof(T);
    return result;
  }

private:
  uint8_t *bytes() const {
    auto *start = const_cast<uint8_t *>(storage_.data());
    return start + (16 - reinterpret_cast<uintptr_t>(start) % 16);
  }
  size_t size_;
  std::vector<uint8_t> storage_;
};

/// Runs to the end, and fails the test where that fails.
inline interp::Findings run(const interp::Program &program,
                            std::vector<interp::Argument> arguments,
                            std::vector<uint32_t> metadata = {},
                            std::array<uint32_t, 3> grid = {1, 1, 1},
                            unsigned threads = 1) {
  interp::RunOptions options;
  options.arguments = std::move(arguments);
  options.metadata = std::move(metadata);
  options.grid = grid;
  options.threads = threads;
  interp::Findings findings;
  weights::Status status = program.run(options, &findings);
  EXPECT_TRUE(status.ok()) << status.message();
  return findings;
}

} // namespace poot::test

#endif // POOT_RUNTIME_KIR_BUILDER_H
