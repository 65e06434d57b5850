//===- CompareKernels.cpp - Random C++ kernels on every device ------------===//
//
// Runs the kernels that pootc imported from a file of generate.py on every
// device that has the types they use, and compares all they wrote, bit for bit,
// with what the same source computed on the CPU. run.py puts the parts
// together.
//
//   compare-kernels MANIFEST FOLDER HOST_OUTPUT_PREFIX
//
// FOLDER holds NAME.mlir for each kernel; HOST_OUTPUT_PREFIX followed by a
// subgroup size is what the host wrote for subgroups of that size.
//
//===----------------------------------------------------------------------===//

#include "../../unittests/Kernel/DeviceRunner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

using namespace poot;
using namespace poot::test;
using Words = std::vector<uint32_t>;

static std::string manifestPath, folder, hostPrefix;

static Words getWords(const llvm::json::Array &numbers) {
  Words words;
  for (const llvm::json::Value &number : numbers)
    words.push_back(static_cast<uint32_t>(*number.getAsInteger()));
  return words;
}

static Words readWords(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false);
  if (!file)
    return {};
  Words words((*file)->getBufferSize() / 4);
  std::memcpy(words.data(), (*file)->getBufferStart(), words.size() * 4);
  return words;
}

TEST(RandomKernels, DevicesAgreeWithTheHost) {
  auto text = llvm::MemoryBuffer::getFile(manifestPath);
  ASSERT_TRUE(text) << "can't read " << manifestPath;
  auto parsed = llvm::json::parse((*text)->getBuffer());
  ASSERT_TRUE(static_cast<bool>(parsed));
  const llvm::json::Object &manifest = *parsed->getAsObject();
  Words in = getWords(*manifest.getArray("in"));
  Words metadata = getWords(*manifest.getArray("metadata"));
  size_t outWords = *manifest.getInteger("out_words");
  uint32_t grid = *manifest.getInteger("grid");
  const llvm::json::Array &kernels = *manifest.getArray("kernels");

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                      mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                      mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  std::vector<std::string> names;
  std::vector<Launch> launches;
  for (const llvm::json::Value &entry : kernels) {
    std::string name = entry.getAsObject()->getString("name")->str();
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(
        folder + "/" + name + ".mlir", &context);
    ASSERT_TRUE(module) << name;
    auto func = module->lookupSymbol<kernel::FuncOp>(name);
    ASSERT_TRUE(func) << name;
    auto launch = compileForLaunch(func, "vulkan:f16");
    ASSERT_TRUE(succeeded(launch)) << name;
    launch->grid = {grid, 1, 1};
    launch->metadata = metadata;
    launch->buffers = {in, Words(outWords, 0)};
    names.push_back(name);
    launches.push_back(std::move(*launch));
  }

  std::vector<std::string> devices = devicesPresent();
  ASSERT_FALSE(devices.empty()) << "no device to run on";
  for (const std::string &id : devices) {
    rt::Device device = openDevice(id, /*validation=*/false);
    uint32_t lanes = device.info().subgroup_size;
    Words expected = readWords(hostPrefix + std::to_string(lanes));
    ASSERT_EQ(expected.size(), names.size() * outWords)
        << "no host output for subgroups of " << lanes << " lanes";
    std::vector<Launch> possible;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < launches.size(); ++i)
      if (missingFeatures(device, launches[i].code).empty()) {
        possible.push_back(launches[i]);
        numbers.push_back(i);
      }
    ASSERT_EQ(runOnDevice(device, possible), "");
    size_t wrong = 0;
    for (size_t p = 0; p < possible.size(); ++p) {
      const uint32_t *host = &expected[numbers[p] * outWords];
      const Words &words = possible[p].buffers[1];
      for (size_t j = 0; j < outWords; ++j) {
        if (words[j] == host[j])
          continue;
        ++wrong;
        ADD_FAILURE() << names[numbers[p]] << ": word " << j << " is "
                      << words[j] << ", not " << host[j];
        break;
      }
    }
    std::cerr << possible.size() << " of " << names.size() << " kernels on "
              << id << ", " << wrong << " wrong\n";
    EXPECT_FALSE(possible.empty());
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 4) {
    std::cerr << "usage: compare-kernels MANIFEST FOLDER HOST_OUTPUT_PREFIX\n";
    return 2;
  }
  manifestPath = argv[1];
  folder = argv[2];
  hostPrefix = argv[3];
  return RUN_ALL_TESTS();
}
