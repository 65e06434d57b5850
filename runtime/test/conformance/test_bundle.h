// Builds small bundles in memory for the conformance suite. All tensors are
// i32; kernels are the SPIR-V assembly and the KIR of kernels/, so that no
// compiler takes part.

#ifndef POOT_RUNTIME_TEST_BUNDLE_H
#define POOT_RUNTIME_TEST_BUNDLE_H

#include "poot/bundle/bundle_generated.h"
#include "poot/bundle/writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace poot::test {

namespace fb = bundle::fb;

/// A slice of a buffer as a kernel argument; size 0 means all of the buffer.
struct Arg {
  uint32_t buffer;
  fb::Access access;
  uint64_t offset = 0;
  uint64_t size = 0;
};
inline Arg in(uint32_t buffer, uint64_t offset = 0, uint64_t size = 0) {
  return {buffer, fb::Access::Read, offset, size};
}
inline Arg out(uint32_t buffer, uint64_t offset = 0, uint64_t size = 0) {
  return {buffer, fb::Access::Write, offset, size};
}
inline Arg inout(uint32_t buffer, uint64_t offset = 0, uint64_t size = 0) {
  return {buffer, fb::Access::ReadWrite, offset, size};
}

/// A word of metadata: a literal, or the extent of a state.
struct Word {
  Word(uint32_t value) : value(value) {}
  Word(int value) : value(static_cast<uint32_t>(value)) {}
  static Word extentOf(uint32_t state) {
    Word word(state);
    word.kind = fb::MetadataKind::StateExtent;
    return word;
  }
  fb::MetadataKind kind = fb::MetadataKind::Literal;
  uint32_t value;
};

class TestBundle;

/// Adds to one program, which stays where it is.
class Program {
public:
  explicit Program(fb::ProgramT &program) : program_(program) {}

  // Each returns the number of the program's buffer.
  uint32_t slot(const std::string &name, int64_t elements);
  uint32_t output(const std::string &name, int64_t elements);
  uint32_t state(const TestBundle &bundle, uint32_t index);
  uint32_t constant(const TestBundle &bundle, uint32_t index);
  uint32_t computed(const TestBundle &bundle, uint32_t index);
  uint32_t arena(uint64_t bytes);

  // Each returns the number of the command.
  uint32_t dispatch(uint32_t kernel, int64_t elements,
                    const std::vector<Arg> &arguments,
                    const std::vector<Word> &metadata,
                    const std::vector<uint32_t> &waits = {});
  uint32_t fill(uint32_t buffer, uint64_t offset, uint64_t size, uint32_t word,
                const std::vector<uint32_t> &waits = {});
  uint32_t copy(uint32_t source, uint64_t sourceOffset, uint32_t destination,
                uint64_t destinationOffset, uint64_t size,
                const std::vector<uint32_t> &waits = {});

  fb::ProgramT &get() { return program_; }

private:
  uint32_t buffer(fb::BufferRole role, uint32_t index, uint64_t size,
                  uint64_t offset = 0);
  fb::CommandT &command(const std::vector<uint32_t> &waits);

  fb::ProgramT &program_;
};

class TestBundle {
public:
  TestBundle();

  /// The kernels of kernels/, added when first asked for.
  uint32_t affine() { return kernel("affine", {R, W}, 3); }
  uint32_t add() { return kernel("add", {R, R, W}, 1); }
  uint32_t append() { return kernel("append", {R, R, RW}, 2); }
  uint32_t sumRows() { return kernel("sum_rows", {R, W}, 2); }
  uint32_t iterate() { return kernel("iterate", {R, W}, 2); }

  uint32_t addConst(const std::string &name, int64_t elements);
  uint32_t addConst(const std::string &name, const std::vector<int32_t> &bytes);
  uint32_t addComputed(const std::string &name, int64_t elements);
  /// SHAPE's outermost extent may be -1.
  uint32_t addState(const std::string &name, const std::vector<int64_t> &shape);

  Program addEntry(const std::string &name);
  Program loadProgram();
  fb::TargetT &target() { return *index.targets[0]; }

  /// The bytes of the file, or a failure of the running test.
  std::vector<uint8_t> encode();

  fb::BundleT index;

private:
  static constexpr fb::Access R = fb::Access::Read, W = fb::Access::Write,
                              RW = fb::Access::ReadWrite;
  uint32_t kernel(const std::string &name,
                  const std::vector<fb::Access> &arguments, uint32_t words);

  std::vector<std::vector<uint8_t>> sections_;
  std::vector<fb::SectionKind> kinds_;
};

} // namespace poot::test

#endif // POOT_RUNTIME_TEST_BUNDLE_H
