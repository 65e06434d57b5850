//===- ImportTest.cpp - Imported kernels compute what C++ computes --------===//
//
// Every kernel of SuiteKernels.cpp runs on the CPU, as clang compiled it, and
// on the devices that have what it needs, as pootc imported it.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"

#include "../Kernel/DeviceRunner.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "poot/host.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>

using namespace poot;
using namespace poot::test;

namespace {

constexpr uint32_t kGroups = 4, kItems = 64;

class Imported : public testing::TestWithParam<SuiteCase> {
protected:
  Imported() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                        mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                        mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  }

  /// What pootc wrote, with every hook's default in its place.
  Launch load(const SuiteCase &test) {
    module = mlir::parseSourceFile<mlir::ModuleOp>(
        POOT_SUITE_FOLDER "/" + test.name + ".mlir", &context);
    auto func = module ? module->lookupSymbol<kernel::FuncOp>(test.name)
                       : kernel::FuncOp();
    EXPECT_TRUE(func);
    if (!func)
      return {};
    EXPECT_TRUE(succeeded(kernel::fillDefaultHooks(func)));
    mlir::PassManager passes(&context);
    kernel::buildKernelOptimizePipeline(passes);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    mlir::FailureOr<Launch> launch = compileForLaunch(func, test.target);
    EXPECT_TRUE(succeeded(launch));
    if (failed(launch))
      return {};
    launch->buffers = test.buffers;
    launch->metadata = test.metadata;
    launch->grid = {kGroups, 1, 1};
    return std::move(*launch);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::vector<Words> runOnHost(const SuiteCase &test) {
  std::vector<Words> buffers = test.buffers;
  host::result result = host::launch({kGroups, 1, 1}, {kItems, 1, 1},
                                     [&] { test.call(buffers); });
  EXPECT_TRUE(result) << result.error;
  return buffers;
}

/// What functions of the library differ by, on devices that keep to Vulkan's
/// precision.
bool isNear(uint32_t left, uint32_t right) {
  float a, b;
  std::memcpy(&a, &left, 4);
  std::memcpy(&b, &right, 4);
  if (left == right || (std::isnan(a) && std::isnan(b)))
    return true;
  return std::fabs(a - b) <= 2e-5f * std::max(1.0f, std::fabs(b));
}

} // namespace

TEST_P(Imported, ComputesWhatTheHostComputes) {
  const SuiteCase &test = GetParam();
  Launch compiled = load(test);
  if (HasFailure())
    return;
  ASSERT_EQ(compiled.metadata.size() * 4, compiled.code.metadataBytes);
  ASSERT_EQ(compiled.buffers.size(), compiled.code.numBuffers);
  std::vector<Words> expected = runOnHost(test);
  unsigned ran = 0;
  for (const std::string &id : devicesPresent()) {
    if (id.rfind("vulkan", 0) != 0) // runs other code than SPIR-V
      continue;
    rt::Device device = openDevice(id, /*validation=*/true);
    std::vector<std::string> missing = missingFeatures(device, compiled.code);
    if (!missing.empty()) {
      std::cerr << "  lacks " << missing.front() << "\n";
      continue;
    }
    std::vector<Launch> launches = {compiled};
    ASSERT_EQ(runOnDevice(device, launches), "");
    unsigned wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      for (size_t j = 0; j < expected[i].size() && wrong < 8; ++j) {
        uint32_t left = launches[0].buffers[i][j], right = expected[i][j];
        bool same = test.isExact[i] ? left == right : isNear(left, right);
        wrong += !same;
        EXPECT_TRUE(same) << "buffer " << i << ", word " << j << ": device 0x"
                          << std::hex << left << ", host 0x" << right;
      }
    ++ran;
  }
  if (ran == 0)
    GTEST_SKIP() << "no device has what this kernel needs";
}

INSTANTIATE_TEST_SUITE_P(Suite, Imported, testing::ValuesIn(makeSuite()),
                         [](const auto &info) { return info.param.name; });
