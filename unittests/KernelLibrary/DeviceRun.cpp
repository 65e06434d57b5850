//===- DeviceRun.cpp - Library kernels on devices -------------------------===//
//
// Linked into the tests of kernels/test, this runs what they run on the CPU on
// every device as well: the kernel as pootc imported it, its hooks filled with
// their defaults and its constants specialized, through Vulkan and by the
// interpreter, whose sanitizer watches. Results are held to what the test wants
// of the CPU. In the end it says what ran where.
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

#include <cstring>
#include <filesystem>
#include <optional>

using namespace poot;
using namespace poot::test;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static mlir::LogicalResult specialize(kernel::FuncOp func,
                                      const std::vector<Spec> &specs) {
  llvm::SmallVector<mlir::NamedAttribute> values;
  mlir::OpBuilder builder(func.getContext());
  mlir::WalkResult result = func.walk([&](kernel::SpecConstantOp constant) {
    auto spec = llvm::find_if(specs, [&](const Spec &spec) {
      return spec.name == constant.getName();
    });
    if (spec == specs.end()) {
      constant.emitError("the test has no value for ") << constant.getName();
      return mlir::WalkResult::interrupt();
    }
    mlir::Type type = constant.getType();
    mlir::Attribute value =
        llvm::isa<mlir::FloatType>(type)
            ? mlir::Attribute(builder.getFloatAttr(type, spec->value))
            : mlir::Attribute(builder.getIntegerAttr(
                  type, static_cast<int64_t>(spec->value)));
    if (llvm::none_of(values, [&](mlir::NamedAttribute known) {
          return known.getName() == spec->name;
        }))
      values.push_back(builder.getNamedAttr(spec->name, value));
    return mlir::WalkResult::advance();
  });
  if (result.wasInterrupted())
    return mlir::failure();
  return kernel::specialize(func, builder.getDictionaryAttr(values));
}

static mlir::FailureOr<Launch> compile(const std::string &kernel,
                                       const std::vector<Spec> &specs) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect,
                      mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                      mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      POOT_LIBRARY_FOLDER "/" + kernel + ".mlir", &context);
  if (!module)
    return mlir::failure();
  auto func = module->lookupSymbol<kernel::FuncOp>(kernel);
  if (!func || mlir::failed(kernel::fillDefaultHooks(func)) ||
      mlir::failed(specialize(func, specs)))
    return mlir::failure();
  mlir::PassManager passes(&context);
  kernel::buildKernelOptimizePipeline(passes);
  if (mlir::failed(passes.run(*module)))
    return mlir::failure();
  return compileForLaunch(func, "vulkan:f16");
}

/// Compiles what LAUNCH needs. Many launches of a kernel that follow each other
/// differ in their grid and memory alone: its last code is kept.
static const mlir::FailureOr<Launch> &codeOf(const DeviceLaunch &launch) {
  struct Kept {
    std::vector<double> values;
    mlir::FailureOr<Launch> code;
  };
  static std::map<std::string, Kept> codes;
  std::vector<double> values;
  for (const Spec &spec : launch.specs)
    values.push_back(spec.value);
  Kept &kept = codes[launch.kernel];
  if (kept.values != values) {
    kept.code = compile(launch.kernel, launch.specs);
    kept.values = values;
  }
  return kept.code;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// Every device, opened once; those of one kind alone where POOT_TEST_DEVICES
/// is "vulkan" or "interp".
static std::vector<rt::Device> &allDevices() {
  static std::vector<rt::Device> devices = [] {
    std::vector<rt::Device> opened;
    const char *kind = std::getenv("POOT_TEST_DEVICES");
    for (const std::string &id : devicesPresent())
      if (!kind || id.rfind(kind, 0) == 0)
        opened.push_back(openDevice(id, /*validation=*/true));
    return opened;
  }();
  return devices;
}

static bool isInterpreter(const std::string &id) {
  return id.rfind("interp", 0) == 0;
}

/// The interpreter's subgroups are of any size.
static bool hasSubgroups(const rt::Device &device, const DeviceLaunch &launch) {
  const poot_device_info *info = poot_device_get_info(device.get());
  return launch.subgroupSize == 0 || isInterpreter(info->id) ||
         info->subgroup_size == launch.subgroupSize;
}

/// On lavapipe all loops of an invocation end, without a word, once they took
/// so many turns in sum: docs/targets.md.
static bool hasTurns(const rt::Device &device, const DeviceLaunch &launch) {
  bool isLimited = llvm::StringRef(poot_device_get_info(device.get())->name)
                       .starts_with("llvmpipe");
  return !isLimited || launch.turns <= 65535;
}

/// What is wrong on DEVICE; nothing if the launch went well.
static std::string runOn(rt::Device &device, const DeviceLaunch &launch,
                         const Launch &prepared) {
  std::vector<Launch> launches = {prepared};
  std::string error = runOnDevice(device, launches);
  // Of Vulkan's layers, or the interpreter's sanitizer.
  for (const std::string &message : device.validationMessages())
    error += message + "\n";
  if (!error.empty())
    return error;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const DeviceLaunch::Memory &memory = launch.buffers[i];
    if (!memory.wanted)
      continue;
    std::string wrong = memory.findWrong(
        reinterpret_cast<const unsigned char *>(launches[0].buffers[i].data()),
        *memory.wanted);
    if (!wrong.empty())
      return "buffer " + std::to_string(i) + ": " + wrong;
  }
  return {};
}

/// Kernels that the sanitizer has watched on an extent that is odd.
static std::set<std::string> &oddlySanitized() {
  static std::set<std::string> kernels;
  return kernels;
}

/// Whether a constant or a number of LAUNCH is odd and no flag.
static bool hasOddExtent(const DeviceLaunch &launch) {
  auto isOdd = [](double value) {
    return value > 1 && value < 1 << 20 && std::fmod(value, 2) == 1;
  };
  return llvm::any_of(launch.specs,
                      [&](const Spec &spec) { return isOdd(spec.value); }) ||
         llvm::any_of(launch.metadata, isOdd);
}

static void runLaunch(const DeviceLaunch &launch) {
  std::vector<rt::Device *> devices;
  for (rt::Device &device : allDevices())
    if (hasSubgroups(device, launch) && hasTurns(device, launch))
      devices.push_back(&device);
  if (devices.empty())
    return;
  const mlir::FailureOr<Launch> &code = codeOf(launch);
  if (mlir::failed(code)) {
    ADD_FAILURE() << launch.kernel << " doesn't compile";
    return;
  }
  Launch prepared = *code;
  ASSERT_EQ(prepared.code.numBuffers, launch.buffers.size());
  for (const DeviceLaunch::Memory &memory : launch.buffers) {
    // Buffers are whole words of a size that every element type divides.
    std::vector<uint32_t> words((memory.before.size() + 15) / 16 * 4);
    std::memcpy(words.data(), memory.before.data(), memory.before.size());
    prepared.buffers.push_back(std::move(words));
  }
  prepared.metadata = launch.metadata;
  prepared.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  prepared.subgroupSize = launch.subgroupSize;
  for (rt::Device *device : devices) {
    if (!missingFeatures(*device, prepared.code).empty())
      continue;
    std::string id = poot_device_get_info(device->get())->id;
    ++launchCounts()[launch.kernel][id];
    if (isInterpreter(id) && hasOddExtent(launch))
      oddlySanitized().insert(launch.kernel);
    std::string error = runOn(*device, launch, prepared);
    if (!error.empty())
      ADD_FAILURE() << launch.kernel << " on " << id << ": " << error;
  }
}

//===----------------------------------------------------------------------===//
// What ran
//===----------------------------------------------------------------------===//

namespace {
/// Prints how many launches there were, and fails where all tests were run and
/// yet some kernel of the family had none, or none under the sanitizer that had
/// an odd extent.
class Coverage : public testing::Environment {
public:
  void TearDown() override {
    std::map<std::string, unsigned> kernels, launches;
    for (const auto &[kernel, counts] : launchCounts())
      for (const auto &[device, count] : counts) {
        ++kernels[device];
        launches[device] += count;
      }
    for (const auto &[device, count] : launches)
      std::cerr << device << ": " << count << " launches of " << kernels[device]
                << " kernels\n";
    const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count() ||
        testing::Test::HasFailure())
      return;
    for (const auto &file :
         std::filesystem::directory_iterator(POOT_LIBRARY_FOLDER)) {
      std::string kernel = file.path().stem().string();
      EXPECT_NE(launchCounts()[kernel]["cpu"], 0u)
          << kernel << " was never launched";
      if (launches["interp:0"] != 0)
        EXPECT_EQ(oddlySanitized().count(kernel), 1u)
            << kernel << " was never sanitized with an odd extent";
    }
  }
};
} // namespace

[[maybe_unused]] static const bool installed = [] {
  runOnDevices = runLaunch;
  testing::AddGlobalTestEnvironment(new Coverage);
  return true;
}();
