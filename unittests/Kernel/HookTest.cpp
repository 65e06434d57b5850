//===- HookTest.cpp - Filled hooks, on devices ----------------------------===//
//
// A matrix product with an epilogue hook, filled by its default, by a body with
// buffers of its own, and by code that builds values, and run on every device:
// what comes out is what plain C++ computes.
//
//===----------------------------------------------------------------------===//

#include "DeviceRunner.h"

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

using namespace poot;
using namespace poot::test;
using namespace poot::kernel;

namespace {
constexpr unsigned kRows = 16, kDepth = 24, kColumns = 32;

std::vector<uint32_t> toWords(const std::vector<float> &numbers) {
  std::vector<uint32_t> words(numbers.size());
  std::memcpy(words.data(), numbers.data(), words.size() * 4);
  return words;
}

class Hooks : public testing::Test {
protected:
  Hooks() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<KernelDialect, mlir::arith::ArithDialect,
                        mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                        mlir::vector::VectorDialect>();
    module = mlir::parseSourceFile<mlir::ModuleOp>(
        POOT_KERNEL_INPUTS "/gate-up.mlir", &context);
    for (unsigned i = 0; i != kRows * kDepth; ++i)
      x.push_back(float(int(i * 37 % 17) - 8) / 8);
    for (unsigned i = 0; i != kDepth * kColumns; ++i) {
      gate.push_back(float(int(i * 29 % 13) - 6) / 16);
      up.push_back(float(int(i * 31 % 11) - 5) / 8);
    }
    for (unsigned i = 0; i != kColumns; ++i)
      bias.push_back(float(i) / 4 - 3);
    for (unsigned i = 0; i != kRows; ++i)
      mask.push_back(i % 5 == 3 ? -1 : 1);
  }

  FuncOp getKernel() { return *module->getOps<FuncOp>().begin(); }

  /// The sum of a row of x with a column of w, in the order of the kernel.
  float dot(const std::vector<float> &w, unsigned row, unsigned column) const {
    float sum = 0;
    for (unsigned k = 0; k != kDepth; ++k)
      sum += x[row * kDepth + k] * w[k * kColumns + column];
    return sum;
  }

  /// Compiles the kernel, runs it with these further buffers and metadata and
  /// compares the result.
  void check(std::vector<std::vector<uint32_t>> buffers,
             std::vector<uint32_t> metadata,
             const std::function<float(unsigned, unsigned)> &expected) {
    mlir::PassManager passes(&context);
    buildKernelOptimizePipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    mlir::FailureOr<Launch> launch =
        compileForLaunch(getKernel(), "vulkan:base");
    ASSERT_TRUE(succeeded(launch));
    launch->buffers = {toWords(x), toWords(gate), toWords(up),
                       std::vector<uint32_t>(kRows * kColumns)};
    for (std::vector<uint32_t> &buffer : buffers)
      launch->buffers.push_back(std::move(buffer));
    launch->metadata = {kDepth, kColumns / 2};
    launch->metadata.insert(launch->metadata.end(), metadata.begin(),
                            metadata.end());
    launch->grid = {kColumns / 2 / 8, kRows / 8, 1};
    std::vector<std::string> ids = devicesPresent();
    ASSERT_FALSE(ids.empty()) << "no device to run on";
    for (const std::string &id : ids) {
      rt::Device device = openDevice(id, /*validation=*/true);
      std::vector<Launch> launches = {*launch};
      ASSERT_EQ(runOnDevice(device, launches), "");
      for (unsigned row = 0; row != kRows; ++row)
        for (unsigned column = 0; column != kColumns; ++column) {
          float found;
          std::memcpy(&found, &launches[0].buffers[3][row * kColumns + column],
                      4);
          float exact = expected(row, column);
          ASSERT_NEAR(found, exact, 1e-5f * (1 + std::fabs(exact)))
              << "row " << row << ", column " << column;
        }
      for (const std::string &message : device.validationMessages())
        ADD_FAILURE() << message;
    }
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<float> x, gate, up, bias;
  std::vector<uint32_t> mask;
};
} // namespace

static float silu(float x) { return x / (1 + std::exp(-x)); }

static uint32_t toWord(float number) { return toWords({number})[0]; }

TEST_F(Hooks, Default) {
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(fillDefaultHooks(getKernel())));
  check({}, {},
        [&](unsigned row, unsigned column) { return dot(gate, row, column); });
}

TEST_F(Hooks, BodyWithBuffersOfItsOwn) {
  ASSERT_TRUE(module);
  auto body = module->lookupSymbol<HookBodyOp>("silu_mul");
  ASSERT_TRUE(succeeded(fillHook(getKernel(), "epilogue", body)));
  EXPECT_EQ(getKernel().getNumBuffers(), 6u);
  EXPECT_EQ(getKernel().getNumMetadata(), 3u);
  check({toWords(bias), mask}, {toWord(0.5f)},
        [&](unsigned row, unsigned column) {
          if (mask[row] != 1)
            return 0.0f;
          float product = silu(dot(gate, row, column)) * dot(up, row, column);
          return (product + bias[column]) * 0.5f;
        });
}

TEST_F(Hooks, CodeThatBuildsValues) {
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(fillHook(
      getKernel(), "epilogue",
      [](KernelBuilder &k,
         HookOp hook) -> mlir::FailureOr<llvm::SmallVector<mlir::Value>> {
        KValue g(k, hook.getOperand(2)), u(k, hook.getOperand(3));
        KValue row(k, hook.getOperand(0));
        mlir::Value sum = k.select(row > 3, g + u, g - u);
        return llvm::SmallVector<mlir::Value>{sum};
      })));
  check({}, {}, [&](unsigned row, unsigned column) {
    float g = dot(gate, row, column), u = dot(up, row, column);
    return row > 3 ? g + u : g - u;
  });
}

// Branches, a buffer and metadata, appended as a body's would be; the hook is
// called twice, and both calls share them.
TEST_F(Hooks, CodeThatBranches) {
  ASSERT_TRUE(module);
  HookOp hook;
  getKernel().walk([&](HookOp op) { hook = op; });
  mlir::OpBuilder builder(hook);
  mlir::Operation *second = builder.clone(*hook);
  second->setOperand(2, hook.getOperand(3));
  second->setOperand(3, hook.getOperand(2));
  mlir::Value sum = mlir::arith::AddFOp::create(
      builder, hook.getLoc(), second->getResult(0), hook.getResult(0));
  sum.getDefiningOp()->moveAfter(hook);
  hook.getResult(0).replaceAllUsesExcept(sum, sum.getDefiningOp());

  mlir::Value biases, scale;
  ASSERT_TRUE(succeeded(fillHook(
      getKernel(), "epilogue",
      [&](KernelBuilder &k,
          HookOp hook) -> mlir::FailureOr<llvm::SmallVector<mlir::Value>> {
        if (!biases) {
          biases = k.addBuffer(k.vectorType(2, k.f32Type()), Access::Read);
          scale = k.addMetadata(k.f32Type());
        }
        KValue row(k, hook.getOperand(0)), column(k, hook.getOperand(1));
        KValue g(k, hook.getOperand(2)), u(k, hook.getOperand(3));
        mlir::Value value = k.ifThenElseValues(
            row < 5,
            [&] {
              KValue b = k.load(KValue(k, biases), column);
              KValue scales = k.splat(KValue(k, scale), 2);
              return KernelBuilder::Values{g * scales + b};
            },
            [&] { return KernelBuilder::Values{g - u}; })[0];
        return llvm::SmallVector<mlir::Value>{value};
      })));
  EXPECT_EQ(getKernel().getNumBuffers(), 5u);
  EXPECT_EQ(getKernel().getNumMetadata(), 3u);
  check({toWords(bias)}, {toWord(0.25f)}, [&](unsigned row, unsigned column) {
    float g = dot(gate, row, column), u = dot(up, row, column);
    return row < 5 ? (g + u) * 0.25f + 2 * bias[column] : 0.0f;
  });
}

// The default reads the first product alone: the second one and its buffer go.
TEST_F(Hooks, UnusedArgumentsGo) {
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(fillDefaultHooks(getKernel())));
  // The tile in workgroup memory is filled as long as it is there.
  getKernel().walk([&](StoreOp store) {
    auto load = store.getValue().getDefiningOp<LoadOp>();
    if (load && load.getMemory() == getKernel().getArgument(2))
      store.erase();
  });
  mlir::PassManager passes(&context);
  buildKernelOptimizePipeline(passes);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  llvm::BitVector erased = eraseUnusedArguments(getKernel());
  EXPECT_EQ(erased.count(), 1u);
  EXPECT_TRUE(erased.test(2));
  EXPECT_EQ(getKernel().getNumBuffers(), 3u);
  EXPECT_EQ(getKernel().getNumMetadata(), 2u);
  EXPECT_TRUE(succeeded(compileForLaunch(getKernel(), "vulkan:base")));
}

TEST_F(Hooks, WrongTypesAreErrors) {
  ASSERT_TRUE(module);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          message = diagnostic.str();
                                          return mlir::success();
                                        });
  EXPECT_TRUE(failed(fillHook(getKernel(), "prologue",
                              module->lookupSymbol<HookBodyOp>("gate"))));
  EXPECT_EQ(message, "has no hook 'prologue'; it has 'epilogue'");
  EXPECT_TRUE(failed(fillHook(
      getKernel(), "epilogue",
      [](KernelBuilder &,
         HookOp hook) -> mlir::FailureOr<llvm::SmallVector<mlir::Value>> {
        return llvm::SmallVector<mlir::Value>{hook.getOperand(0)};
      })));
  EXPECT_EQ(message, "hook 'epilogue' was filled with values of other types");
  mlir::Builder builder(&context);
  EXPECT_TRUE(failed(
      specialize(getKernel(), builder.getDictionaryAttr(builder.getNamedAttr(
                                  "rows", builder.getI32IntegerAttr(3))))));
  EXPECT_EQ(message, "has no specialization constant \"rows\"");
}
