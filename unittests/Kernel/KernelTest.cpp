//===- KernelTest.cpp - Kernels made with the builder, on devices ---------===//
//
// KernelBuilder's folding, and what only a device can show: barriers, workgroup
// arrays, atomics, subgroup operations of whatever size the device has.
//
//===----------------------------------------------------------------------===//

#include "DeviceRunner.h"

#include "Poot/Dialect/Kernel/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <map>
#include <numeric>

using namespace poot;
using namespace poot::test;
using namespace poot::kernel;

namespace {
class Kernels : public testing::Test {
protected:
  Kernels()
      : context(mlir::MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<KernelDialect>();
    module = mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }

  Launch compile(FuncOp func, std::vector<std::vector<uint32_t>> buffers,
                 std::array<uint32_t, 3> grid,
                 std::vector<uint32_t> metadata = {}) {
    EXPECT_TRUE(succeeded(mlir::verify(*module)));
    mlir::FailureOr<Launch> launch = compileForLaunch(func, "vulkan:base");
    EXPECT_TRUE(succeeded(launch));
    if (failed(launch))
      return {};
    launch->buffers = std::move(buffers);
    launch->grid = grid;
    launch->metadata = std::move(metadata);
    return std::move(*launch);
  }

  /// Runs on every device that has the features, and checks each.
  void forEachDevice(const Launch &compiled,
                     llvm::function_ref<void(const Launch &)> check) {
    unsigned ran = 0;
    for (const std::string &id : devicesPresent()) {
      rt::Device device = openDevice(id, /*validation=*/true);
      std::vector<std::string> missing = missingFeatures(device, compiled.code);
      if (!missing.empty()) {
        std::cerr << "  lacks " << missing.front() << "\n";
        continue;
      }
      std::vector<Launch> launches = {compiled};
      ASSERT_EQ(runOnDevice(device, launches), "");
      check(launches[0]);
      for (const std::string &message : device.validationMessages())
        ADD_FAILURE() << message;
      ++ran;
    }
    EXPECT_GT(ran, 0u) << "no device to run on";
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

TEST_F(Kernels, BuilderFoldsIndexArithmetic) {
  KernelBuilder k(builder, builder.getUnknownLoc(), "fold", {64, 1, 1});
  KValue n = k.addMetadata(k.i32Type());
  mlir::Value same = n;
  EXPECT_EQ((n + 0).getValue(), same);
  EXPECT_EQ((n * 1).getValue(), same);
  EXPECT_EQ((1 * n).getValue(), same);
  EXPECT_EQ((n - 0).getValue(), same);
  EXPECT_EQ(k.udiv(n, k.i32(1)).getValue(), same);
  EXPECT_EQ((n * 0).getConstant(), 0);
  EXPECT_EQ(k.urem(n, k.i32(1)).getConstant(), 0);
  EXPECT_EQ((k.i32(6) * 7 + 1).getConstant(), 43);
  EXPECT_EQ((k.i32(-7) / 2).getConstant(), -3);
  EXPECT_EQ((k.i32(5) < 6).getConstant(), 1);
  EXPECT_EQ(k.localId(Dim::Y).getConstant(), 0);
  EXPECT_EQ(k.select(k.boolean(true), n, k.i32(3)).getValue(), same);
  EXPECT_EQ(k.cast(k.i32(-1), k.i8Type()).getConstant(), -1);
  // Divisions by a power of two become shifts and masks.
  EXPECT_TRUE(
      k.udiv(n, k.i32(16)).getValue().getDefiningOp<mlir::arith::ShRUIOp>());
  EXPECT_TRUE(
      k.urem(n, k.i32(16)).getValue().getDefiningOp<mlir::arith::AndIOp>());
  k.finish();
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
}

// A sum over a workgroup: workgroup memory, barriers in a loop, a branch on the
// invocation, a grid in three dimensions and metadata of both types.
TEST_F(Kernels, WorkgroupReduction) {
  KernelBuilder k(builder, builder.getUnknownLoc(), "reduce", {16, 4, 2});
  KValue x = k.addBuffer(k.i32Type(), Access::Read);
  KValue o = k.addBuffer(k.i32Type(), Access::Write);
  KValue n = k.addMetadata(k.i32Type());
  KValue scale = k.addMetadata(k.f32Type());
  KValue tile = k.workgroupAlloc(128, k.i32Type());
  KValue t =
      (k.localId(Dim::Z) * 4 + k.localId(Dim::Y)) * 16 + k.localId(Dim::X);
  KValue group = (k.workgroupId(Dim::Z) * k.numWorkgroups(Dim::Y) +
                  k.workgroupId(Dim::Y)) *
                     k.numWorkgroups(Dim::X) +
                 k.workgroupId(Dim::X);
  KValue sum = k.forLoop(t, n, k.i32(128), {k.i32(0)},
                         [&](KValue i, llvm::ArrayRef<KValue> carried) {
                           return KernelBuilder::Values{
                               carried[0] + k.load(x, group * n + i)};
                         })[0];
  k.store(tile, t, sum);
  k.barrier();
  k.whileLoop(
      {k.i32(64)}, [&](llvm::ArrayRef<KValue> half) { return half[0] > 0; },
      [&](llvm::ArrayRef<KValue> half) {
        k.ifThen(t < half[0], [&] {
          k.store(tile, t, k.load(tile, t) + k.load(tile, t + half[0]));
        });
        k.barrier();
        return KernelBuilder::Values{half[0] >> 1};
      });
  k.returnIf(t != 0);
  KValue total = k.cast(k.load(tile, t), k.f32Type()) * scale;
  k.store(o, group, k.cast(total, k.i32Type()));
  FuncOp func = k.finish();

  constexpr uint32_t kGroups = 3 * 2 * 2, kN = 1000;
  std::vector<uint32_t> input(kGroups * kN);
  for (size_t i = 0; i != input.size(); ++i)
    input[i] = static_cast<uint32_t>(i * 7 % 13);
  float two = 2.0f;
  uint32_t twoBits;
  std::memcpy(&twoBits, &two, 4);
  Launch launch = compile(func, {input, std::vector<uint32_t>(kGroups)},
                          {3, 2, 2}, {kN, twoBits});
  forEachDevice(launch, [&](const Launch &result) {
    for (uint32_t g = 0; g != kGroups; ++g)
      EXPECT_EQ(result.buffers[1][g],
                2 * std::accumulate(input.begin() + g * kN,
                                    input.begin() + (g + 1) * kN, 0u));
  });
}

TEST_F(Kernels, Atomics) {
  KernelBuilder k(builder, builder.getUnknownLoc(), "atomics", {64, 1, 1});
  KValue o = k.addBuffer(k.i32Type(), Access::ReadWrite);
  KValue shared = k.workgroupAlloc(1, k.i32Type());
  KValue t = k.localId(Dim::X);
  k.ifThen(t == 0, [&] { k.store(shared, k.i32(0), k.i32(0)); });
  k.barrier();
  KValue id = k.globalId(Dim::X);
  k.atomicRmw(AtomicKind::Add, o, k.i32(0), id);
  k.atomicRmw(AtomicKind::Max, o, k.i32(1), id - 100);
  k.atomicRmw(AtomicKind::Min, o, k.i32(2), id - 100);
  k.atomicRmw(AtomicKind::UMax, o, k.i32(3), id - 100);
  k.atomicRmw(AtomicKind::UMin, o, k.i32(4), id + 5);
  k.atomicRmw(AtomicKind::Or, o, k.i32(5), k.i32(1) << (id & 31));
  k.atomicRmw(AtomicKind::And, o, k.i32(6), ~(k.i32(1) << (id & 7)));
  k.atomicRmw(AtomicKind::Xor, o, k.i32(7), id);
  k.atomicRmw(AtomicKind::Add, shared, k.i32(0), t, MemoryOrder::AcqRel,
              MemoryScope::Workgroup);
  // Exactly one invocation finds the 0 that it expects.
  KValue old = k.atomicCas(o, k.i32(8), k.i32(0), id + 1);
  k.ifThen(old == 0,
           [&] { k.atomicRmw(AtomicKind::Add, o, k.i32(9), k.i32(1)); });
  k.barrier();
  k.ifThen(t == 0, [&] {
    k.atomicRmw(AtomicKind::Add, o, k.i32(10), k.load(shared, k.i32(0)));
  });
  FuncOp func = k.finish();
  std::vector<uint32_t> initial(11, 0);
  initial[1] = 0x80000000u;
  initial[2] = 0x7fffffffu;
  initial[4] = 0xffffffffu;
  initial[6] = 0xffffffffu;
  Launch launch = compile(func, {initial}, {4, 1, 1});
  forEachDevice(launch, [&](const Launch &result) {
    const std::vector<uint32_t> &o = result.buffers[0];
    EXPECT_EQ(o[0], 256u * 255 / 2);
    EXPECT_EQ(int32_t(o[1]), 155);
    EXPECT_EQ(int32_t(o[2]), -100);
    EXPECT_EQ(o[3], 0xffffffffu);
    EXPECT_EQ(o[4], 5u);
    EXPECT_EQ(o[5], 0xffffffffu);
    EXPECT_EQ(o[6], 0xffffff00u);
    EXPECT_EQ(o[7], 0u);
    EXPECT_TRUE(o[8] >= 1 && o[8] <= 256);
    EXPECT_EQ(o[9], 1u);
    EXPECT_EQ(o[10], 4u * (64 * 63 / 2));
  });
}

// Each invocation writes where it is and what it got; the host groups them.
TEST_F(Kernels, Subgroups) {
  constexpr unsigned kFields = 20, kSize = 64;
  KernelBuilder k(builder, builder.getUnknownLoc(), "subgroups", {kSize, 1, 1});
  KValue o = k.addBuffer(k.i32Type(), Access::Write);
  KValue t = k.localId(Dim::X);
  unsigned field = 0;
  auto write = [&](KValue value) {
    k.store(o, t * kFields + int64_t(field++), value);
  };
  KValue value = (t * 5 + 3) % 11 - 4;
  KValue number = k.cast(value, k.f32Type());
  auto writeFloat = [&](KValue f) { write(k.cast(f, k.i32Type())); };
  write(k.subgroupId());
  write(k.laneId());
  write(k.subgroupSize());
  write(value);
  write(k.subgroupReduce(ReduceKind::Add, value));
  write(k.subgroupReduce(ReduceKind::Min, value));
  write(k.subgroupReduce(ReduceKind::Max, value));
  write(k.subgroupReduce(ReduceKind::UMin, value));
  write(k.subgroupReduce(ReduceKind::UMax, value));
  writeFloat(k.subgroupReduce(ReduceKind::Add, number));
  writeFloat(k.subgroupReduce(ReduceKind::Max, number));
  write(k.subgroupScan(ScanKind::Inclusive, value));
  write(k.subgroupScan(ScanKind::Exclusive, value));
  KValue last = k.subgroupSize() - 1;
  write(k.subgroupShuffle(ShuffleKind::Idx, value, last - k.laneId()));
  write(k.subgroupShuffle(ShuffleKind::Xor, value, k.i32(1)));
  write(k.subgroupBroadcast(value, k.i32(0)));
  write(k.subgroupBroadcast(value, last));
  write(k.cast(k.subgroupAny(value == 5), k.i32Type()));
  write(k.cast(k.subgroupAll(value < 6), k.i32Type()));
  // Over the lanes of a branch alone.
  write(k.ifThenElseValues(
      value > 0,
      [&] {
        return KernelBuilder::Values{k.subgroupReduce(ReduceKind::Add, value)};
      },
      [&] { return KernelBuilder::Values{k.i32(1000)}; })[0]);
  ASSERT_EQ(field, kFields);
  FuncOp func = k.finish();
  Launch launch =
      compile(func, {std::vector<uint32_t>(kSize * kFields)}, {1, 1, 1});
  EXPECT_EQ(launch.code.features,
            (std::vector<std::string>{"subgroup-arithmetic", "subgroup-ballot",
                                      "subgroup-basic", "subgroup-shuffle",
                                      "subgroup-vote"}));
  forEachDevice(launch, [&](const Launch &result) {
    auto get = [&](unsigned t, unsigned field) {
      return static_cast<int32_t>(result.buffers[0][t * kFields + field]);
    };
    std::map<int32_t, std::map<int32_t, unsigned>> subgroups;
    for (unsigned t = 0; t != kSize; ++t) {
      EXPECT_EQ(get(t, 3), static_cast<int32_t>((t * 5 + 3) % 11) - 4);
      subgroups[get(t, 0)][get(t, 1)] = t;
    }
    for (auto &[id, lanes] : subgroups) {
      int32_t size = get(lanes.begin()->second, 2);
      ASSERT_EQ(lanes.size(), static_cast<size_t>(size)) << "all are active";
      std::vector<int32_t> values;
      for (auto &[lane, t] : lanes)
        values.push_back(get(t, 3));
      int32_t sum = std::accumulate(values.begin(), values.end(), 0);
      int32_t least = *std::min_element(values.begin(), values.end());
      int32_t most = *std::max_element(values.begin(), values.end());
      uint32_t uleast = ~0u, umost = 0;
      int32_t positive = 0;
      bool any = false, all = true;
      for (int32_t value : values) {
        uleast = std::min(uleast, static_cast<uint32_t>(value));
        umost = std::max(umost, static_cast<uint32_t>(value));
        positive += value > 0 ? value : 0;
        any |= value == 5;
        all &= value < 6;
      }
      int32_t running = 0;
      for (auto &[lane, t] : lanes) {
        EXPECT_EQ(get(t, 4), sum);
        EXPECT_EQ(get(t, 5), least);
        EXPECT_EQ(get(t, 6), most);
        EXPECT_EQ(static_cast<uint32_t>(get(t, 7)), uleast);
        EXPECT_EQ(static_cast<uint32_t>(get(t, 8)), umost);
        EXPECT_EQ(get(t, 9), sum);
        EXPECT_EQ(get(t, 10), most);
        EXPECT_EQ(get(t, 12), running);
        running += values[lane];
        EXPECT_EQ(get(t, 11), running);
        EXPECT_EQ(get(t, 13), values[size - 1 - lane]);
        EXPECT_EQ(get(t, 14), values[lane ^ 1]);
        EXPECT_EQ(get(t, 15), values[0]);
        EXPECT_EQ(get(t, 16), values[size - 1]);
        EXPECT_EQ(get(t, 17), any);
        EXPECT_EQ(get(t, 18), all);
        EXPECT_EQ(get(t, 19), values[lane] > 0 ? positive : 1000);
      }
    }
  });
}

// Every operation of arith and math on every type that a kernel may have, as a
// scalar and as a vector: it compiles, and the validation layers and the driver
// accept the code.
TEST_F(Kernels, EveryOperationOnEveryType) {
  const char *integerBinary[] = {
      "arith.addi",  "arith.subi",      "arith.muli",      "arith.divsi",
      "arith.divui", "arith.remsi",     "arith.remui",     "arith.andi",
      "arith.ori",   "arith.xori",      "arith.shli",      "arith.shrsi",
      "arith.shrui", "arith.minsi",     "arith.maxsi",     "arith.minui",
      "arith.maxui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"};
  const char *integerUnary[] = {"math.absi", "math.ctlz", "math.ctpop",
                                "math.cttz"};
  const char *floatBinary[] = {
      "arith.addf",    "arith.subf",     "arith.mulf",     "arith.divf",
      "arith.remf",    "arith.minimumf", "arith.maximumf", "arith.minnumf",
      "arith.maxnumf", "math.copysign"};
  const char *floatUnary[] = {"arith.negf", "math.absf",  "math.ceil",
                              "math.floor", "math.round", "math.roundeven",
                              "math.trunc", "math.sqrt",  "math.rsqrt"};
  const char *transcendental[] = {
      "math.acos",  "math.acosh", "math.asin", "math.asinh", "math.atan",
      "math.atanh", "math.cbrt",  "math.cos",  "math.cosh",  "math.erf",
      "math.erfc",  "math.exp",   "math.exp2", "math.expm1", "math.log",
      "math.log10", "math.log1p", "math.log2", "math.sin",   "math.sinh",
      "math.tan",   "math.tanh"};
  const char *predicates[] = {"math.isfinite", "math.isinf", "math.isnan",
                              "math.isnormal"};

  // Each type with the 32-bit ones alone as well, for devices that have no
  // other.
  using Types = std::vector<mlir::Type>;
  const Types baseTypes = {builder.getI32Type(), builder.getF32Type()};
  const Types allTypes = {builder.getI8Type(),  builder.getI16Type(),
                          builder.getI32Type(), builder.getI64Type(),
                          builder.getF16Type(), builder.getBF16Type(),
                          builder.getF32Type(), builder.getF64Type()};
  std::vector<std::pair<mlir::Type, const Types *>> cases;
  for (const Types *types : {&baseTypes, &allTypes})
    for (mlir::Type scalar : *types)
      cases.push_back({scalar, types});

  std::vector<Launch> launches;
  for (auto [scalar, types] : cases)
    for (bool isVector : {false, true}) {
      mlir::Type type = scalar;
      if (isVector)
        type = mlir::VectorType::get({4}, scalar);
      std::string name;
      llvm::raw_string_ostream(name) << "all_" << launches.size();
      KernelBuilder k(builder, builder.getUnknownLoc(), name, {1, 1, 1});
      KValue x = k.addBuffer(type, Access::Read);
      KValue o = k.addBuffer(type, Access::Write);
      KValue a = k.load(x, k.i32(0)), b = k.load(x, k.i32(1));
      int64_t next = 0;
      auto create = [&](llvm::StringRef op,
                        llvm::ArrayRef<mlir::Value> operands,
                        mlir::Type result) {
        mlir::Operation *created = k.getOpBuilder().create(
            k.getLoc(), k.getOpBuilder().getStringAttr(op), operands,
            mlir::TypeRange(result));
        return KValue(k, created->getResult(0));
      };
      auto emit = [&](KValue value) { k.store(o, k.i32(next++), value); };
      auto emitAll = [&](llvm::ArrayRef<const char *> ops,
                         llvm::ArrayRef<mlir::Value> operands) {
        for (const char *op : ops)
          emit(create(op, operands, type));
      };
      auto emitBool = [&](KValue condition) {
        emit(k.select(condition, a, b));
      };
      mlir::Type i1 = builder.getI1Type();
      if (isVector)
        i1 = mlir::VectorType::get({4}, i1);
      if (mlir::isa<mlir::IntegerType>(scalar)) {
        emitAll(integerBinary, {a, b});
        emitAll(integerUnary, {a});
        emitBool(a < b);
        emitBool(k.ult(a, b));
        emit(k.cast(a < b, type));
      } else {
        emitAll(floatBinary, {a, b});
        emitAll(floatUnary, {a});
        emit(k.fma(a, b, b));
        if (!scalar.isF64()) {
          emitAll(transcendental, {a});
          emit(k.pow(a, b));
          emit(k.atan2(a, b));
        }
        for (const char *op : predicates)
          emitBool(create(op, {a}, i1));
        emitBool(a < b);
        emitBool(a != b);
        emitBool(a == b);
      }
      for (mlir::Type other : *types) {
        if (isVector)
          other = mlir::VectorType::get({4}, other);
        emit(k.cast(k.cast(a, other), type));
        emit(k.ucast(k.ucast(a, other), type));
      }
      emit(a * int64_t(3) + int64_t(1));
      if (isVector) {
        KValue element = k.extract(a, 2);
        emit(k.insert(element, b, 1));
        emit(k.splat(element, 4));
        emit(k.fromElements({element, element, k.extract(b, 0), element}));
        KValue sum(k, mlir::vector::ReductionOp::create(
                          k.getOpBuilder(), k.getLoc(),
                          mlir::vector::CombiningKind::ADD, a));
        emit(k.splat(sum, 4));
        if (mlir::isa<mlir::FloatType>(scalar))
          emit(KValue(k, mlir::vector::FMAOp::create(k.getOpBuilder(),
                                                     k.getLoc(), a, b, b)));
      } else if (!scalar.isBF16()) {
        emit(k.subgroupReduce(ReduceKind::Max, a));
        emit(k.subgroupScan(ScanKind::Exclusive, a));
        emit(k.subgroupShuffle(ShuffleKind::Xor, a, k.i32(0)));
        emit(k.subgroupBroadcast(a, k.i32(0)));
      }
      FuncOp func = k.finish();
      ASSERT_TRUE(succeeded(mlir::verify(*module)));
      mlir::FailureOr<Launch> launch = compileForLaunch(func, "vulkan:f16");
      std::string spelt;
      llvm::raw_string_ostream(spelt) << type;
      ASSERT_TRUE(succeeded(launch)) << spelt;
      size_t words = (getElementBytes(type) * next + 3) / 4;
      // Ones of the type, or nearly so: no division by zero.
      launch->buffers = {std::vector<uint32_t>(16, 0x3f803f80),
                         std::vector<uint32_t>(words, 0)};
      launches.push_back(std::move(*launch));
      func.erase();
    }
  unsigned ran = 0;
  for (const std::string &id : devicesPresent()) {
    // The interpreter would report the shifts by these ones, which are beyond
    // the width. What comes out isn't looked at.
    rt::Device device = openDevice(id, /*validation=*/id != "interp:0");
    std::vector<Launch> able;
    for (const Launch &launch : launches)
      if (missingFeatures(device, launch.code).empty())
        able.push_back(launch);
    ran += able.size();
    ASSERT_EQ(runOnDevice(device, able), "");
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << message;
  }
  EXPECT_GT(ran, 0u) << "no device to run on";
}
