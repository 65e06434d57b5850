//===- Suite.h - Kernels that run on the CPU and on devices -----*- C++ -*-===//
//
// The table of SuiteKernels.cpp, which pootc compiles: the object file holds
// the kernels for the CPU, and beside it lies one .mlir for each of them.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_UNITTESTS_IMPORT_SUITE_H
#define POOT_UNITTESTS_IMPORT_SUITE_H

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace poot::test {

using Words = std::vector<uint32_t>;

struct SuiteCase {
  /// The kernel's name, which is also that of its file.
  std::string name;
  std::string target;
  /// What a launch begins with: four workgroups of 64 work-items.
  std::vector<Words> buffers;
  Words metadata;
  /// Calls the kernel as a work-item of a host launch.
  void (*call)(std::vector<Words> &buffers);
  /// Of the words of the buffers, those that are integers or are compared bit
  /// by bit; of the others floats are compared with a tolerance.
  std::vector<bool> isExact;
};

/// What GoogleTest calls a case.
inline void PrintTo(const SuiteCase &test, std::ostream *os) {
  *os << test.name;
}

std::vector<SuiteCase> makeSuite();

} // namespace poot::test

#endif // POOT_UNITTESTS_IMPORT_SUITE_H
