//===- DeviceRunner.h - Runs compiled kernels on a device -----------------===//
//
// What tests of kernels share: puts compiled kernels into a bundle in memory
// and runs them through the runtime, as a user's program would. The interpreter
// is one of the devices: it gets the kernels as they are.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_UNITTESTS_KERNEL_DEVICERUNNER_H
#define POOT_UNITTESTS_KERNEL_DEVICERUNNER_H

#include "Poot/Target/Spirv.h"

#include "poot/runtime.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace poot::test {

/// One kernel and what it is run on. Buffer i is binding i; a buffer that the
/// kernel writes begins with the words given.
struct Launch {
  SpirvKernel code;
  /// The kernel before anything is expanded: .kir.json, for the interpreter.
  std::string kir;
  std::vector<kernel::Access> access;
  std::vector<std::vector<uint32_t>> buffers;
  std::vector<uint32_t> metadata;
  std::array<uint32_t, 3> grid;
  /// Lanes of a subgroup that the kernel needs; 0: any.
  uint32_t subgroupSize = 0;
};

/// What spirv-val says against CODE; nothing if it is valid. Code with
/// cooperative matrices, which Debian 12's doesn't know, isn't looked at.
std::string validateCode(const SpirvKernel &code);

/// Compiles FUNC for a level of Vulkan. Invalid code is an error at FUNC.
mlir::FailureOr<Launch> compileForLaunch(kernel::FuncOp func,
                                         llvm::StringRef target);

std::vector<std::string> devicesPresent();

/// Opens a device; fails the running test where that fails.
rt::Device openDevice(const std::string &id, bool validation);

/// The names of features that DEVICE lacks and CODE needs.
std::vector<std::string> missingFeatures(const rt::Device &device,
                                         const SpirvKernel &code);

/// Runs LAUNCHES in one step and replaces the content of every buffer that is
/// written. Returns an error's message, else nothing.
std::string runOnDevice(rt::Device &device, std::vector<Launch> &launches);

} // namespace poot::test

#endif // POOT_UNITTESTS_KERNEL_DEVICERUNNER_H
