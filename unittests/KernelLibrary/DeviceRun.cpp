//===- DeviceRun.cpp - Library kernels on devices -------------------------===//
//
// Linked into the tests of kernels/test, this runs what they run on the CPU on
// every device as well: the kernel as pootc imported it, its hooks filled with
// their defaults and its constants specialized, through Vulkan and by the
// interpreter, whose sanitizer watches. Results are those of the CPU within the
// launch's tolerance.
//
//===----------------------------------------------------------------------===//

#include "../../kernels/test/library_test.h"
#include "../Kernel/DeviceRunner.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <cstring>
#include <map>

using namespace poot;
using namespace poot::test;

/// Launches of one kernel that run on devices: compiling dominates, and the CPU
/// runs all of them. Of the kernels that are there for each packed type one.
static unsigned mostLaunches(const std::string &kernel) {
  return kernel.rfind("packed_", 0) == 0 ? 1 : 3;
}

static void specialize(kernel::FuncOp func, const std::vector<Spec> &specs) {
  llvm::SmallVector<mlir::NamedAttribute> values;
  mlir::OpBuilder builder(func.getContext());
  func.walk([&](kernel::SpecConstantOp constant) {
    for (const Spec &spec : specs) {
      if (spec.name != constant.getName())
        continue;
      mlir::Type type = constant.getType();
      mlir::Attribute value =
          llvm::isa<mlir::FloatType>(type)
              ? mlir::Attribute(builder.getFloatAttr(type, spec.value))
              : mlir::Attribute(builder.getIntegerAttr(
                    type, static_cast<int64_t>(spec.value)));
      if (llvm::none_of(values, [&](mlir::NamedAttribute known) {
            return known.getName() == spec.name;
          }))
        values.push_back(builder.getNamedAttr(spec.name, value));
      return;
    }
    ADD_FAILURE() << "the test has no value for " << constant.getName().str();
  });
  EXPECT_TRUE(mlir::succeeded(
      kernel::specialize(func, builder.getDictionaryAttr(values))));
}

/// Compares memory of one scalar type. Reports the first element that differs.
template <class T>
static void compare(const DeviceLaunch &launch, const std::string &id,
                    size_t buffer, const std::vector<uint32_t> &words,
                    size_t count) {
  auto *bytes = reinterpret_cast<const unsigned char *>(words.data());
  for (size_t i = 0; i < count; ++i) {
    T device, host;
    std::memcpy(&device, bytes + i * sizeof(T), sizeof(T));
    std::memcpy(&host, launch.buffers[buffer].after + i * sizeof(T), sizeof(T));
    bool same = device == host || (device != device && host != host);
    if (!same && !std::is_integral_v<T>)
      same = std::fabs(double(device) - double(host)) <=
             launch.tolerance * std::max(1.0, std::fabs(double(host)));
    if (!same) {
      ADD_FAILURE() << launch.kernel << ", buffer " << buffer << ", element "
                    << i << ": " << id << " has " << device << ", the CPU "
                    << host;
      return;
    }
  }
}

/// Every device, opened once.
static std::vector<rt::Device> &allDevices() {
  static std::vector<rt::Device> devices = [] {
    std::vector<rt::Device> opened;
    for (const std::string &id : devicesPresent())
      opened.push_back(openDevice(id, /*validation=*/true));
    return opened;
  }();
  return devices;
}

static bool hasSubgroups(const rt::Device &device, const DeviceLaunch &launch) {
  uint32_t size = poot_device_get_info(device.get())->subgroup_size;
  return launch.isExactSubgroup ? size == launch.subgroupSize
                                : size <= launch.subgroupSize;
}

static void runLaunch(const DeviceLaunch &launch) {
  static std::map<std::string, unsigned> launched;
  if (testing::Test::HasFailure() ||
      llvm::none_of(allDevices(), [&](const rt::Device &device) {
        return hasSubgroups(device, launch);
      }))
    return;
  if (++launched[launch.kernel] > mostLaunches(launch.kernel))
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                      mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                      mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      POOT_LIBRARY_FOLDER "/" + launch.kernel + ".mlir", &context);
  ASSERT_TRUE(module);
  auto func = module->lookupSymbol<kernel::FuncOp>(launch.kernel);
  ASSERT_TRUE(func);
  ASSERT_TRUE(mlir::succeeded(kernel::fillDefaultHooks(func)));
  specialize(func, launch.specs);
  mlir::PassManager passes(&context);
  kernel::buildKernelOptimizePipeline(passes);
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  mlir::FailureOr<Launch> compiled = compileForLaunch(func, "vulkan:f16");
  ASSERT_TRUE(mlir::succeeded(compiled));
  ASSERT_EQ(compiled->code.numBuffers, launch.buffers.size());
  for (const DeviceLaunch::Memory &memory : launch.buffers) {
    // Buffers are whole words of a size that every element type divides.
    std::vector<uint32_t> words((memory.before.size() + 15) / 16 * 4);
    std::memcpy(words.data(), memory.before.data(), memory.before.size());
    compiled->buffers.push_back(std::move(words));
  }
  compiled->metadata = launch.metadata;
  compiled->grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  for (rt::Device &device : allDevices()) {
    if (!hasSubgroups(device, launch) ||
        !missingFeatures(device, compiled->code).empty())
      continue;
    std::string id = poot_device_get_info(device.get())->id;
    std::vector<Launch> launches = {*compiled};
    ASSERT_EQ(runOnDevice(device, launches), "") << launch.kernel;
    // Of Vulkan's layers, or the interpreter's sanitizer.
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << launch.kernel << " on " << id << ": " << message;
    if (testing::Test::HasFailure())
      return;
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const DeviceLaunch::Memory &memory = launch.buffers[i];
      if (!memory.after)
        continue;
      size_t bytes = memory.before.size();
      const std::vector<uint32_t> &words = launches[0].buffers[i];
      if (memory.scalar == Scalar::Float)
        compare<float>(launch, id, i, words, bytes / 4);
      else if (memory.scalar == Scalar::Double)
        compare<double>(launch, id, i, words, bytes / 8);
      else
        compare<int32_t>(launch, id, i, words, bytes / 4);
    }
  }
}

[[maybe_unused]] static const bool installed = [] {
  runOnDevices = runLaunch;
  return true;
}();
