//===- RandomCfgTest.cpp - Random kernels on every device -----------------===//
//
// Compiles random kernels through the whole pipeline, runs them on every device
// present and compares all they wrote, exactly, with the reference.
//
//   random-cfg-test --seed=N --count=N    which kernels (default 1, 300)
//                   --validate            under the validation layers
//                   --print               the kernels as .mlir, nothing run
//
//===----------------------------------------------------------------------===//

#include "RandomCfg.h"
#include "DeviceRunner.h"

#include "Poot/Dialect/Kernel/Transforms.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>

using namespace poot;
using namespace poot::test;

static uint64_t firstSeed = 1;
static uint64_t count = 300;
static bool validate = false;
/// Kernels of one bundle.
static constexpr size_t kBatch = 25;
/// Seeds that once came out wrong, or crashed a pass, run beside those asked
/// for.
static constexpr uint64_t kOnceWrong[] = {12242, 12561, 17625, 5709};

static std::vector<uint64_t> getSeeds() {
  std::vector<uint64_t> seeds(std::begin(kOnceWrong), std::end(kOnceWrong));
  for (uint64_t i = 0; i != count; ++i)
    seeds.push_back(firstSeed + i);
  return seeds;
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Writes out the loops of a kernel, up to a number of trips; gives out how
/// many were.
static unsigned optimize(mlir::ModuleOp module) {
  auto countHints = [&] {
    unsigned hints = 0;
    module.walk([&](kernel::LoopHintOp) { ++hints; });
    return hints;
  };
  mlir::PassManager passes(module.getContext());
  // Unreachable loops aren't unrolled ones.
  kernel::buildKernelOptimizePipeline(passes, /*unrolls=*/false);
  EXPECT_TRUE(succeeded(passes.run(module)));
  unsigned before = countHints();
  mlir::PassManager unrolling(module.getContext());
  kernel::buildKernelOptimizePipeline(unrolling);
  EXPECT_TRUE(succeeded(unrolling.run(module)));
  unsigned after = countHints();
  return before > after ? before - after : 0;
}

/// Compiles these kernels, runs them on all devices and compares.
static void runKernels(const std::vector<uint64_t> &seeds, bool unrolls) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect>();
  mlir::OpBuilder builder(&context);
  unsigned unrolled = 0;

  std::vector<rt::Device> devices;
  for (const std::string &id : devicesPresent())
    devices.push_back(openDevice(id, validate));
  ASSERT_FALSE(devices.empty()) << "no device to run on";

  double compileSeconds = 0, runSeconds = 0;
  uint64_t words = 0, wrong = 0;
  for (size_t begin = 0; begin < seeds.size(); begin += kBatch) {
    size_t end = std::min(begin + kBatch, seeds.size());
    std::vector<Launch> launches;
    std::vector<std::vector<uint32_t>> expected;
    for (size_t i = begin; i != end; ++i) {
      uint64_t seed = seeds[i];
      RandomCfg cfg(seed);
      mlir::OwningOpRef<mlir::ModuleOp> module =
          mlir::ModuleOp::create(builder.getUnknownLoc());
      builder.setInsertionPointToEnd(module->getBody());
      kernel::FuncOp func = cfg.emit(builder, unrolls ? 40 : 0);
      ASSERT_TRUE(succeeded(mlir::verify(*module))) << "seed " << seed;
      if (unrolls)
        unrolled += optimize(*module);
      std::clock_t start = std::clock();
      mlir::FailureOr<Launch> launch = compileForLaunch(func, "vulkan:base");
      compileSeconds += double(std::clock() - start) / CLOCKS_PER_SEC;
      ASSERT_TRUE(succeeded(launch)) << "seed " << seed;
      launch->grid = {RandomCfg::kInvocations / 64, 1, 1};
      expected.push_back(cfg.run());
      launch->buffers = {cfg.getInput(),
                         std::vector<uint32_t>(expected.back().size(), 0)};
      words += launch->code.words.size();
      launches.push_back(std::move(*launch));
    }
    for (rt::Device &device : devices) {
      std::vector<Launch> results = launches;
      auto start = std::chrono::steady_clock::now();
      ASSERT_EQ(runOnDevice(device, results), "");
      runSeconds += secondsSince(start);
      for (size_t i = 0; i != results.size(); ++i) {
        if (results[i].buffers[1] == expected[i])
          continue;
        ++wrong;
        for (size_t j = 0; j != expected[i].size(); ++j)
          if (results[i].buffers[1][j] != expected[i][j]) {
            ADD_FAILURE() << "seed " << seeds[begin + i] << ": word "
                          << j % RandomCfg::kWordsPerInvocation
                          << " of invocation "
                          << j / RandomCfg::kWordsPerInvocation << " is "
                          << results[i].buffers[1][j] << ", not "
                          << expected[i][j];
            break;
          }
      }
    }
  }
  for (rt::Device &device : devices)
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << message;
  std::cerr << seeds.size() << " kernels on " << devices.size()
            << " device(s): " << wrong << " wrong; compilation "
            << compileSeconds * 1000 / seeds.size() << " ms and "
            << words * 4 / seeds.size() << " bytes a kernel, runs "
            << runSeconds << " s, " << unrolled << " loops unrolled\n";
  // The test would prove nothing.
  if (unrolls && seeds.size() >= 100) {
    EXPECT_GT(unrolled, seeds.size() / 10);
  }
}

TEST(RandomCfg, DevicesAgreeWithTheReference) {
  runKernels(getSeeds(), /*unrolls=*/false);
}

// Their loops end when the fuel does: many have a trip count that folding
// finds, and exits that depend on data beside it.
TEST(RandomCfg, UnrolledLoopsComputeTheSame) {
  runKernels(getSeeds(), /*unrolls=*/true);
}

static void printKernels() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect>();
  mlir::OpBuilder builder(&context);
  for (uint64_t seed = firstSeed; seed != firstSeed + count; ++seed) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    RandomCfg(seed).emit(builder);
    module->print(llvm::outs());
    llvm::outs() << "\n";
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  bool print = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strncmp(argv[i], "--seed=", 7)) {
      firstSeed = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (!std::strncmp(argv[i], "--count=", 8)) {
      count = std::strtoull(argv[i] + 8, nullptr, 10);
    } else if (!std::strcmp(argv[i], "--validate")) {
      validate = true;
    } else if (!std::strcmp(argv[i], "--print")) {
      print = true;
    } else {
      std::cerr << "unknown option " << argv[i]
                << "; allowed are --seed=N, --count=N, --validate, --print\n";
      return 2;
    }
  }
  if (print) {
    printKernels();
    return 0;
  }
  return RUN_ALL_TESTS();
}
