//===- LoweringTest.cpp - What kernels are made of, on devices ------------===//
//
// Long vectors, private variables, tables, structures, small and wide types,
// atomics on f32 and i64, arrays that overlay each other, loop hints and
// fragments: each runs on every device that has the features, and is compared
// with the same computation in C++.
//
//===----------------------------------------------------------------------===//

#include "DeviceRunner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

using namespace poot;
using namespace poot::test;
using namespace poot::kernel;

namespace {
using Words = std::vector<uint32_t>;

class Lowering : public testing::Test {
protected:
  Lowering() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<KernelDialect, mlir::arith::ArithDialect,
                        mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                        mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  }

  /// Compiles the kernel of TEXT and runs it on every device that has the
  /// features.
  void run(llvm::StringRef text, llvm::StringRef target,
           std::vector<Words> buffers, std::array<uint32_t, 3> grid,
           Words metadata, llvm::function_ref<void(const Launch &)> check) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    mlir::FailureOr<Launch> launch =
        compileForLaunch(*module->getOps<FuncOp>().begin(), target);
    ASSERT_TRUE(succeeded(launch));
    launch->buffers = std::move(buffers);
    launch->grid = grid;
    launch->metadata = std::move(metadata);
    unsigned ran = 0;
    for (const std::string &id : devicesPresent()) {
      // The interpreter runs KIR, not SPIR-V.
      if (!llvm::StringRef(id).starts_with("vulkan"))
        continue;
      rt::Device device = openDevice(id, /*validation=*/true);
      std::vector<std::string> missing = missingFeatures(device, launch->code);
      if (!missing.empty()) {
        std::cerr << "  lacks " << missing.front() << "\n";
        continue;
      }
      std::vector<Launch> launches = {*launch};
      ASSERT_EQ(runOnDevice(device, launches), "");
      check(launches[0]);
      for (const std::string &message : device.validationMessages())
        ADD_FAILURE() << message;
      ++ran;
    }
    // SwiftShader, which another run of this test has alone, has 32-bit types.
    if (target == "vulkan:base")
      EXPECT_GT(ran, 0u) << "no device to run on";
  }

  mlir::MLIRContext context;
};

uint32_t bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return word;
}

float number(uint32_t word) {
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

uint64_t wide(const Words &words, size_t index) {
  return words[2 * index] | uint64_t(words[2 * index + 1]) << 32;
}
} // namespace

// Vectors of 8 and 5 through a loop, a branch and variables, with positions
// that only the run knows.
TEST_F(Lowering, LongVectors) {
  Words x;
  for (int i = 0; i != 8; ++i)
    x.push_back(bits(i * 3 % 7 - 2.5f));
  constexpr int kTurns = 3, kSize = 8;
  auto check = [&](const Launch &result) {
    for (int t = 0; t != kSize; ++t) {
      float acc[8];
      for (int i = 0; i != 8; ++i)
        acc[i] = number(x[i]);
      for (int turn = 0; turn != kTurns; ++turn)
        for (int i = 0; i != 8; ++i) {
          float sum = acc[i] + static_cast<float>(turn == 1 ? 7 - i : i);
          acc[i] = sum > static_cast<float>(i) ? sum : static_cast<float>(t);
        }
      float picked = acc[t];
      acc[7 - t] = picked;
      float sum = acc[2];
      for (int i = 3; i != 7; ++i)
        sum = sum + acc[i];
      const float *o =
          reinterpret_cast<const float *>(result.buffers[1].data()) + t * 12;
      for (int i = 0; i != 8; ++i)
        EXPECT_EQ(o[i], acc[7 - i]) << "lane " << t << ", element " << i;
      EXPECT_EQ(o[8], picked);
      EXPECT_EQ(o[9], sum);
      uint32_t mixed = 0;
      for (int i = 0; i != 8; ++i)
        mixed = mixed * 31 + bits(acc[i]);
      EXPECT_EQ(bits(o[10]), mixed);
    }
  };
  std::string text = R"(
kernel.func @vectors(%x: !kernel.buffer<vector<4xf32>, read>,
                     %o: !kernel.buffer<f32, write>, %turns: i32)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c12 = arith.constant 12 : i32
  %t = kernel.local_id x
  %tf = arith.sitofp %t : i32 to f32
  %steps = kernel.var : !kernel.var<3xvector<8xf32>>
  %parts = kernel.var : !kernel.var<8xvector<5xf32>>
  %up = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>
      : vector<8xf32>
  %down = vector.shuffle %up, %up [7, 6, 5, 4, 3, 2, 1, 0]
      : vector<8xf32>, vector<8xf32>
  %c2 = arith.constant 2 : i32
  kernel.var_store %up, %steps[%c0] : !kernel.var<3xvector<8xf32>>
  kernel.var_store %down, %steps[%c1] : !kernel.var<3xvector<8xf32>>
  kernel.var_store %up, %steps[%c2] : !kernel.var<3xvector<8xf32>>
  %v0 = kernel.load %x[%c0] : !kernel.buffer<vector<4xf32>, read>
  %v1 = kernel.load %x[%c1] : !kernel.buffer<vector<4xf32>, read>
  %v = vector.shuffle %v0, %v1 [0, 1, 2, 3, 4, 5, 6, 7]
      : vector<4xf32>, vector<4xf32>
  cf.br ^head(%c0, %v : i32, vector<8xf32>)
^head(%i: i32, %acc: vector<8xf32>):
  %go = arith.cmpi slt, %i, %turns : i32
  cf.cond_br %go, ^body, ^exit
^body:
  %w = kernel.var_load %steps[%i] : !kernel.var<3xvector<8xf32>>
  %s = arith.addf %acc, %w : vector<8xf32>
  %big = arith.cmpf ogt, %s, %up : vector<8xf32>
  %other = vector.broadcast %tf : f32 to vector<8xf32>
  %n = arith.select %big, %s, %other : vector<8xi1>, vector<8xf32>
  %j = arith.addi %i, %c1 : i32
  cf.br ^head(%j, %n : i32, vector<8xf32>)
^exit:
  %p = arith.index_castui %t : i32 to index
  %q32 = arith.subi %c7, %t : i32
  %q = arith.index_castui %q32 : i32 to index
  %e = vector.extract %acc[%p] : f32 from vector<8xf32>
  %f = vector.insert %e, %acc[%q] : f32 into vector<8xf32>
  %five = vector.extract_strided_slice %f
      {offsets = [2], sizes = [5], strides = [1]}
      : vector<8xf32> to vector<5xf32>
  kernel.var_store %five, %parts[%t] : !kernel.var<8xvector<5xf32>>
  %again = kernel.var_load %parts[%t] : !kernel.var<8xvector<5xf32>>
  %sum = vector.reduction <add>, %again : vector<5xf32> into f32
  %back = vector.shuffle %f, %f [7, 6, 5, 4, 3, 2, 1, 0]
      : vector<8xf32>, vector<8xf32>
  %all = vector.insert_strided_slice %back, %back
      {offsets = [0], strides = [1]} : vector<8xf32> into vector<8xf32>
  %base = arith.muli %t, %c12 : i32
)";
  for (int i = 0; i != 8; ++i)
    text += llvm::formatv(R"(
  %at{0} = arith.constant {0} : i32
  %to{0} = arith.addi %base, %at{0} : i32
  %el{0} = vector.extract %all[{0}] : f32 from vector<8xf32>
  kernel.store %el{0}, %o[%to{0}] : !kernel.buffer<f32, write>)",
                          i);
  text += R"(
  %at8 = arith.constant 8 : i32
  %to8 = arith.addi %base, %at8 : i32
  kernel.store %e, %o[%to8] : !kernel.buffer<f32, write>
  %at9 = arith.constant 9 : i32
  %to9 = arith.addi %base, %at9 : i32
  kernel.store %sum, %o[%to9] : !kernel.buffer<f32, write>
  %ints = vector.bitcast %f : vector<8xf32> to vector<8xi32>
  %m0 = arith.constant 0 : i32
  %c31 = arith.constant 31 : i32)";
  for (int i = 0; i != 8; ++i)
    text += llvm::formatv(R"(
  %i{0} = vector.extract %ints[{0}] : i32 from vector<8xi32>
  %n{0} = arith.muli %m{0}, %c31 : i32
  %m{1} = arith.addi %n{0}, %i{0} : i32)",
                          i, i + 1);
  text += R"(
  %mf = arith.bitcast %m8 : i32 to f32
  %at10 = arith.constant 10 : i32
  %to10 = arith.addi %base, %at10 : i32
  kernel.store %mf, %o[%to10] : !kernel.buffer<f32, write>
  kernel.return
})";
  run(text, "vulkan:base", {x, Words(kSize * 12)}, {1, 1, 1}, {kTurns}, check);
}

// Bits between elements of all widths, in both directions.
TEST_F(Lowering, VectorBitcasts) {
  Words x = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c};
  run(R"(
kernel.func @bitcasts(%x: !kernel.buffer<vector<4xi32>, read>,
                      %o: !kernel.buffer<vector<4xi32>, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %v = kernel.load %x[%c0] : !kernel.buffer<vector<4xi32>, read>
  %b = vector.bitcast %v : vector<4xi32> to vector<16xi8>
  %back = vector.shuffle %b, %b
      [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
      : vector<16xi8>, vector<16xi8>
  %q = vector.bitcast %back : vector<16xi8> to vector<2xi64>
  %one = arith.constant dense<1> : vector<2xi64>
  %q1 = arith.addi %q, %one : vector<2xi64>
  %r = vector.bitcast %q1 : vector<2xi64> to vector<4xi32>
  kernel.store %r, %o[%c0] : !kernel.buffer<vector<4xi32>, write>
  %h = vector.bitcast %back : vector<16xi8> to vector<8xi16>
  %twice = arith.addi %h, %h : vector<8xi16>
  %s = vector.bitcast %twice : vector<8xi16> to vector<4xi32>
  kernel.store %s, %o[%c1] : !kernel.buffer<vector<4xi32>, write>
  %bytes = vector.bitcast %q1 : vector<2xi64> to vector<16xi8>
  %wide = arith.extui %bytes : vector<16xi8> to vector<16xi32>
  %low = vector.extract_strided_slice %wide
      {offsets = [0], sizes = [4], strides = [1]}
      : vector<16xi32> to vector<4xi32>
  kernel.store %low, %o[%c2] : !kernel.buffer<vector<4xi32>, write>
  %four = vector.extract_strided_slice %b
      {offsets = [4], sizes = [4], strides = [1]}
      : vector<16xi8> to vector<4xi8>
  %single = vector.bitcast %four : vector<4xi8> to vector<1xi32>
  %w = vector.extract %single[0] : i32 from vector<1xi32>
  %splat = vector.broadcast %w : i32 to vector<4xi32>
  kernel.store %splat, %o[%c3] : !kernel.buffer<vector<4xi32>, write>
  kernel.return
})",
      "vulkan:f16", {x, Words(16)}, {1, 1, 1}, {}, [&](const Launch &result) {
        const Words &o = result.buffers[1];
        EXPECT_EQ(Words(o.begin(), o.begin() + 4),
                  (Words{0x0c0d0e10, 0x08090a0b, 0x04050608, 0x00010203}));
        EXPECT_EQ(Words(o.begin() + 4, o.begin() + 8),
                  (Words{0x181a1c1e, 0x10121416, 0x080a0c0e, 0x00020406}));
        EXPECT_EQ(Words(o.begin() + 8, o.begin() + 12),
                  (Words{0x10, 0x0e, 0x0d, 0x0c}));
        EXPECT_EQ(Words(o.begin() + 12, o.begin() + 16), Words(4, 0x07060504));
      });
}

// Arrays of an invocation with indices of the run, tables, and conditions that
// are kept in memory.
TEST_F(Lowering, VariablesAndTables) {
  run(R"(
kernel.func @variables(%o: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %t = kernel.local_id x
  %table = kernel.constant_table dense<[3, 1, 4, 1, 5, 9, 2, 6]> : tensor<8xi32>
      -> !kernel.table<8xi32>
  %grid = kernel.var : !kernel.var<4x8xi32>
  %odd = kernel.var : !kernel.var<8xi1>
  cf.br ^fill(%c0 : i32)
^fill(%i: i32):
  kernel.loop_hint nounroll
  %c8 = arith.constant 8 : i32
  %more = arith.cmpi slt, %i, %c8 : i32
  cf.cond_br %more, ^body, ^read
^body:
  %v = kernel.load %table[%i] : !kernel.table<8xi32>
  %bit = arith.andi %v, %c1 : i32
  %isOdd = arith.cmpi eq, %bit, %c1 : i32
  kernel.var_store %isOdd, %odd[%i] : !kernel.var<8xi1>
  %row = arith.andi %i, %c3 : i32
  %vt = arith.muli %v, %t : i32
  kernel.var_store %vt, %grid[%row, %i] : !kernel.var<4x8xi32>
  %j = arith.addi %i, %c1 : i32
  cf.br ^fill(%j : i32)
^read:
  %c7 = arith.constant 7 : i32
  %at = arith.andi %t, %c7 : i32
  %r = arith.andi %at, %c3 : i32
  %g = kernel.var_load %grid[%r, %at] : !kernel.var<4x8xi32>
  %is = kernel.var_load %odd[%at] : !kernel.var<8xi1>
  %neg = arith.subi %c0, %g : i32
  %out = arith.select %is, %g, %neg : i32
  kernel.store %out, %o[%t] : !kernel.buffer<i32, write>
  kernel.return
})",
      "vulkan:base", {Words(16)}, {1, 1, 1}, {}, [&](const Launch &result) {
        const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
        for (int t = 0; t != 16; ++t) {
          int v = table[t & 7];
          EXPECT_EQ(int(result.buffers[0][t]), v % 2 ? v * t : -v * t);
        }
      });
}

// A structure of mixed leaves, of which each invocation changes one element.
TEST_F(Lowering, Structures) {
  Words x;
  for (uint32_t i = 0; i != 8; ++i)
    x.insert(x.end(), {bits(i), i * 10, 0x40003c00u, 0x44004200u});
  run(R"(
!part = !kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>
kernel.func @structures(%x: !kernel.buffer<!part, read_write>)
    attributes {workgroup_size = array<i32: 8, 1, 1>} {
  %c3 = arith.constant 3 : i32
  %t = kernel.local_id x
  %j = arith.andi %t, %c3 : i32
  %f = kernel.load %x[%t] leaf 0 : !kernel.buffer<!part, read_write>
  %i = kernel.load %x[%t] leaf 1 : !kernel.buffer<!part, read_write>
  %h = kernel.load %x[%t] leaf 2[%j] : !kernel.buffer<!part, read_write>
  %hf = arith.extf %h : f16 to f32
  %s = arith.addf %f, %hf : f32
  %n = arith.addi %i, %t : i32
  %sh = arith.truncf %s : f32 to f16
  kernel.store %s, %x[%t] leaf 0 : !kernel.buffer<!part, read_write>
  kernel.store %n, %x[%t] leaf 1 : !kernel.buffer<!part, read_write>
  kernel.store %sh, %x[%t] leaf 2[%j] : !kernel.buffer<!part, read_write>
  kernel.return
})",
      "vulkan:f16", {x}, {1, 1, 1}, {}, [&](const Launch &result) {
        for (uint32_t t = 0; t != 8; ++t) {
          const uint32_t *part = result.buffers[0].data() + t * 4;
          float sum = static_cast<float>(t + (t & 3) + 1);
          EXPECT_EQ(number(part[0]), sum);
          EXPECT_EQ(part[1], t * 11);
          _Float16 halves[4] = {1, 2, 3, 4}, got[4];
          halves[t & 3] = static_cast<_Float16>(sum);
          std::memcpy(got, part + 2, sizeof(got));
          for (int i = 0; i != 4; ++i)
            EXPECT_EQ(float(got[i]), float(halves[i]));
        }
      });
}

// Arithmetic that wraps around in 8 and 16 bits, a counter of 64, f64.
TEST_F(Lowering, SmallAndWideTypes) {
  run(R"(
kernel.func @types(%o: !kernel.buffer<i32, write>,
                   %d: !kernel.buffer<f64, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %t = kernel.local_id x
  %c4 = arith.constant 4 : i32
  %base = arith.muli %t, %c4 : i32
  %t8 = arith.trunci %t : i32 to i8
  %c7 = arith.constant 7 : i8
  %c100 = arith.constant 100 : i8
  %p8 = arith.muli %t8, %c7 : i8
  %s8 = arith.addi %p8, %c100 : i8
  %r8 = arith.extsi %s8 : i8 to i32
  kernel.store %r8, %o[%base] : !kernel.buffer<i32, write>
  %t16 = arith.trunci %t : i32 to i16
  %c1031 = arith.constant 1031 : i16
  %p16 = arith.muli %t16, %c1031 : i16
  %c3 = arith.constant 3 : i16
  %q16 = arith.shrsi %p16, %c3 : i16
  %r16 = arith.extsi %q16 : i16 to i32
  %c1 = arith.constant 1 : i32
  %i1 = arith.addi %base, %c1 : i32
  kernel.store %r16, %o[%i1] : !kernel.buffer<i32, write>
  %t64 = arith.extui %t : i32 to i64
  %n64 = arith.extui %n : i32 to i64
  %c30 = arith.constant 30 : i64
  %from = arith.shli %t64, %c30 : i64
  %to = arith.addi %from, %n64 : i64
  %step = arith.constant 3 : i64
  %zero = arith.constant 0 : i64
  cf.br ^head(%from, %zero : i64, i64)
^head(%i: i64, %sum: i64):
  %go = arith.cmpi slt, %i, %to : i64
  cf.cond_br %go, ^body, ^exit
^body:
  %sum1 = arith.addi %sum, %i : i64
  %next = arith.addi %i, %step : i64
  cf.br ^head(%next, %sum1 : i64, i64)
^exit:
  %lo = arith.trunci %sum : i64 to i32
  %c32 = arith.constant 32 : i64
  %hi64 = arith.shrui %sum, %c32 : i64
  %hi = arith.trunci %hi64 : i64 to i32
  %c2 = arith.constant 2 : i32
  %i2 = arith.addi %base, %c2 : i32
  kernel.store %lo, %o[%i2] : !kernel.buffer<i32, write>
  %three = arith.constant 3 : i32
  %i3 = arith.addi %base, %three : i32
  kernel.store %hi, %o[%i3] : !kernel.buffer<i32, write>
  %f = arith.sitofp %t64 : i64 to f64
  %third = arith.constant 3.0 : f64
  %g = arith.divf %f, %third : f64
  kernel.store %g, %d[%t] : !kernel.buffer<f64, write>
  kernel.return
})",
      "vulkan:f16", {Words(256), Words(128)}, {1, 1, 1}, {20},
      [&](const Launch &result) {
        for (int t = 0; t != 64; ++t) {
          const uint32_t *o = result.buffers[0].data() + t * 4;
          EXPECT_EQ(int32_t(o[0]), int8_t(t * 7 + 100));
          EXPECT_EQ(int32_t(o[1]), int16_t(t * 1031) >> 3);
          uint64_t sum = 0;
          for (int64_t i = int64_t(t) << 30; i < (int64_t(t) << 30) + 20;
               i += 3)
            sum += i;
          EXPECT_EQ(o[2] | uint64_t(o[3]) << 32, sum);
          double quotient = t / 3.0;
          uint64_t expected;
          std::memcpy(&expected, &quotient, 8);
          EXPECT_EQ(wide(result.buffers[1], t), expected);
        }
      });
}

TEST_F(Lowering, FloatAtomics) {
  constexpr uint32_t kAll = 256;
  Words x(6, 0);
  x[1] = bits(-1e30f);
  x[2] = bits(1e30f);
  run(R"(
kernel.func @atomics(%x: !kernel.buffer<f32, read_write>,
                     %old: !kernel.buffer<f32, write>,
                     %r: !kernel.buffer<f32, read>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %hundred = arith.constant 100.0 : f32
  %t = kernel.local_id x
  %g = kernel.workgroup_id x
  %g64 = arith.muli %g, %c64 : i32
  %id = arith.addi %g64, %t : i32
  %f = arith.sitofp %id : i32 to f32
  %shared = kernel.workgroup_alloc : !kernel.workgroup<2xf32>
  %first = arith.cmpi eq, %t, %c0 : i32
  cf.cond_br %first, ^clear, ^start
^clear:
  kernel.store %zero, %shared[%c1] : !kernel.workgroup<2xf32>
  cf.br ^start
^start:
  kernel.barrier
  %tf = arith.sitofp %t : i32 to f32
  %s0 = kernel.atomic_rmw add acq_rel workgroup %shared[%c1], %tf
      : !kernel.workgroup<2xf32>
  %a0 = kernel.atomic_rmw add relaxed device %x[%c0], %f
      : !kernel.buffer<f32, read_write>
  %less = arith.subf %f, %hundred : f32
  %a1 = kernel.atomic_rmw max relaxed device %x[%c1], %less
      : !kernel.buffer<f32, read_write>
  %a2 = kernel.atomic_rmw min relaxed device %x[%c2], %less
      : !kernel.buffer<f32, read_write>
  %v = kernel.atomic_load acquire device %r[%c1] : !kernel.buffer<f32, read>
  %a3 = kernel.atomic_rmw exchange relaxed device %x[%c3], %v
      : !kernel.buffer<f32, read_write>
  %a4 = kernel.atomic_rmw add relaxed device %x[%c4], %one
      : !kernel.buffer<f32, read_write>
  kernel.store %a4, %old[%id] : !kernel.buffer<f32, write>
  kernel.barrier
  cf.cond_br %first, ^sum, ^done
^sum:
  %total = kernel.load %shared[%c1] : !kernel.workgroup<2xf32>
  %a5 = kernel.atomic_rmw add relaxed device %x[%c5], %total
      : !kernel.buffer<f32, read_write>
  cf.br ^done
^done:
  kernel.return
})",
      "vulkan:base", {x, Words(kAll), {bits(7), bits(2.5f)}}, {4, 1, 1}, {},
      [&](const Launch &result) {
        const Words &o = result.buffers[0];
        EXPECT_EQ(number(o[0]), 256.0f * 255 / 2);
        EXPECT_EQ(number(o[1]), 155.0f);
        EXPECT_EQ(number(o[2]), -100.0f);
        EXPECT_EQ(number(o[3]), 2.5f);
        EXPECT_EQ(number(o[4]), 256.0f);
        EXPECT_EQ(number(o[5]), 4.0f * (64 * 63 / 2));
        // Each addition saw another number.
        std::vector<float> seen;
        for (uint32_t word : result.buffers[1])
          seen.push_back(number(word));
        llvm::sort(seen);
        for (uint32_t i = 0; i != kAll; ++i)
          EXPECT_EQ(seen[i], static_cast<float>(i));
      });
}

TEST_F(Lowering, WideAtomics) {
  Words y(8, 0);
  y[4] = y[5] = 0xffffffffu; // -1
  run(R"(
kernel.func @atomics(%y: !kernel.buffer<i64, read_write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %t = kernel.local_id x
  %t64 = arith.extui %t : i32 to i64
  %c33 = arith.constant 33 : i64
  %big = arith.shli %t64, %c33 : i64
  %shared = kernel.workgroup_alloc : !kernel.workgroup<1xi64>
  %first = arith.cmpi eq, %t, %c0 : i32
  cf.cond_br %first, ^clear, ^start
^clear:
  kernel.store %zero, %shared[%c0] : !kernel.workgroup<1xi64>
  cf.br ^start
^start:
  kernel.barrier
  %a = kernel.atomic_rmw add relaxed device %y[%c0], %big
      : !kernel.buffer<i64, read_write>
  %b = kernel.atomic_rmw umax relaxed device %y[%c1], %big
      : !kernel.buffer<i64, read_write>
  %c = kernel.atomic_rmw max relaxed device %y[%c2], %big
      : !kernel.buffer<i64, read_write>
  %d = kernel.atomic_rmw add acq_rel workgroup %shared[%c0], %big
      : !kernel.workgroup<1xi64>
  kernel.barrier
  %sum = kernel.load %shared[%c0] : !kernel.workgroup<1xi64>
  %e = kernel.atomic_cas relaxed device %y[%c3], %zero, %sum
      : !kernel.buffer<i64, read_write>
  kernel.return
})",
      "vulkan:f16", {y}, {1, 1, 1}, {}, [&](const Launch &result) {
        const Words &o = result.buffers[0];
        uint64_t sum = uint64_t(64 * 63 / 2) << 33;
        EXPECT_EQ(wide(o, 0), sum);
        EXPECT_EQ(wide(o, 1), uint64_t(63) << 33);
        EXPECT_EQ(wide(o, 2), uint64_t(63) << 33);
        EXPECT_EQ(wide(o, 3), sum);
      });
}

// The second array may lie where the first does: once it is written, the first
// is not read any more. The third may overlay the second only.
TEST_F(Lowering, Overlays) {
  run(R"(
kernel.func @overlays(%o: !kernel.buffer<i32, write>)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %c3 = arith.constant 3 : i32
  %c63 = arith.constant 63 : i32
  %t = kernel.local_id x
  %rev = arith.subi %c63, %t : i32
  %a = kernel.workgroup_alloc : !kernel.workgroup<64xi32>
  %b = kernel.workgroup_alloc overlays(%a : !kernel.workgroup<64xi32>)
      : !kernel.workgroup<128xi32>
  %c = kernel.workgroup_alloc overlays(%b : !kernel.workgroup<128xi32>)
      : !kernel.workgroup<64xi32>
  %v = arith.muli %t, %c3 : i32
  kernel.store %v, %a[%t] : !kernel.workgroup<64xi32>
  kernel.store %t, %c[%t] : !kernel.workgroup<64xi32>
  kernel.barrier
  %x = kernel.load %a[%rev] : !kernel.workgroup<64xi32>
  %y = kernel.load %c[%rev] : !kernel.workgroup<64xi32>
  %s = arith.addi %x, %y : i32
  kernel.barrier
  %c64 = arith.constant 64 : i32
  %far = arith.addi %t, %c64 : i32
  kernel.store %s, %b[%far] : !kernel.workgroup<128xi32>
  kernel.barrier
  %farRev = arith.addi %rev, %c64 : i32
  %z = kernel.load %b[%farRev] : !kernel.workgroup<128xi32>
  kernel.store %z, %o[%t] : !kernel.buffer<i32, write>
  kernel.return
})",
      "vulkan:base", {Words(64)}, {1, 1, 1}, {}, [&](const Launch &result) {
        for (uint32_t t = 0; t != 64; ++t)
          EXPECT_EQ(result.buffers[0][t], 4 * t);
      });
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

namespace {
/// Small numbers as elements of some type, packed.
struct Packer {
  explicit Packer(llvm::StringRef type) : type(type) {}
  void add(int value) {
    char raw[4];
    size_t size = 4;
    if (type == "i8") {
      raw[0] = static_cast<char>(value);
      size = 1;
    } else if (type == "f16") {
      _Float16 half = static_cast<_Float16>(value);
      std::memcpy(raw, &half, size = 2);
    } else {
      float single = static_cast<float>(value);
      // The upper half of an f32 is a bf16.
      bool isShort = type == "bf16";
      size = isShort ? 2 : 4;
      std::memcpy(raw, reinterpret_cast<char *>(&single) + (isShort ? 2 : 0),
                  size);
    }
    bytes.append(raw, size);
  }
  Words words() const {
    Words result((bytes.size() + 3) / 4);
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  std::string type, bytes;
};

struct FragmentCase {
  const char *operand, *sum, *target;
  int rows, columns, inner;
};

constexpr int kMaxSubgroups = 16, kSteps = 3;

/// Each subgroup multiplies its own rows of x by y. Two sums change places in
/// every turn of the loop, and two more stand in an array; the parts of y are
/// read by columns, and the second sum is written by columns.
std::string spellFragments(const FragmentCase &c) {
  return llvm::formatv(R"(
!a = !kernel.fragment<{2}x{4}x{0}, a>
!b = !kernel.fragment<{4}x{3}x{0}, b>
!c = !kernel.fragment<{2}x{3}x{1}, accumulator>
kernel.func @tiles(%x: !kernel.buffer<{0}, read>, %y: !kernel.buffer<{0}, read>,
                   %z: !kernel.buffer<{1}, write>,
                   %size: !kernel.buffer<i32, write>, %k: i32)
    attributes {{workgroup_size = array<i32: 64, 1, 1>} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %inner = arith.constant {4} : i32
  %rows = arith.constant {2} : i32
  %columns = arith.constant {3} : i32
  %tile = arith.constant {5} : i32
  %tiles = arith.constant {6} : i32
  %s = kernel.subgroup_id
  %width = kernel.subgroup_size
  kernel.store %width, %size[%c0] : !kernel.buffer<i32, write>
  %rowBase = arith.muli %s, %rows : i32
  %base = arith.muli %rowBase, %k : i32
  %to = arith.muli %s, %tiles : i32
  %zero = arith.constant {7} : {1}
  %both = kernel.var : !kernel.var<2x!c>
  %none = kernel.fragment_fill %zero : !c
  kernel.var_store %none, %both[%c0] : !kernel.var<2x!c>
  kernel.var_store %none, %both[%c1] : !kernel.var<2x!c>
  cf.br ^head(%c0, %c0, %none, %none : i32, i32, !c, !c)
^head(%i: i32, %turn: i32, %p: !c, %q: !c):
  %go = arith.cmpi slt, %i, %k : i32
  cf.cond_br %go, ^body, ^exit
^body:
  %from = arith.addi %base, %i : i32
  %a = kernel.fragment_load row %x[%from], %k : !kernel.buffer<{0}, read> -> !a
  %b = kernel.fragment_load column %y[%i], %k : !kernel.buffer<{0}, read> -> !b
  %d = kernel.fragment_mma %a, %b, %p : !a, !b -> !c
  %which = arith.andi %turn, %c1 : i32
  %old = kernel.var_load %both[%which] : !kernel.var<2x!c>
  %new = kernel.fragment_mma %a, %b, %old : !a, !b -> !c
  kernel.var_store %new, %both[%which] : !kernel.var<2x!c>
  %j = arith.addi %i, %inner : i32
  %turn1 = arith.addi %turn, %c1 : i32
  cf.br ^head(%j, %turn1, %q, %d : i32, i32, !c, !c)
^exit:
  kernel.fragment_store row %p, %z[%to], %columns
      : !c, !kernel.buffer<{1}, write>
  %to1 = arith.addi %to, %tile : i32
  kernel.fragment_store column %q, %z[%to1], %rows
      : !c, !kernel.buffer<{1}, write>
  %to2 = arith.addi %to1, %tile : i32
  %even = kernel.var_load %both[%c0] : !kernel.var<2x!c>
  kernel.fragment_store row %even, %z[%to2], %columns
      : !c, !kernel.buffer<{1}, write>
  kernel.return
})",
                       c.operand, c.sum, c.rows, c.columns, c.inner,
                       c.rows * c.columns, 3 * c.rows * c.columns,
                       c.sum[0] == 'i' ? "0" : "0.0")
      .str();
}
} // namespace

/// All that this program compiles is shown to spirv-val.
TEST_F(Lowering, InvalidCodeIsRefused) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
kernel.func @k(%x: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1.0 : f32
  kernel.store %one, %x[%zero] : !kernel.buffer<f32, write>
  kernel.return
})",
                                                        &context);
  ASSERT_TRUE(module);
  auto launch =
      compileForLaunch(*module->getOps<FuncOp>().begin(), "vulkan:base");
  ASSERT_TRUE(succeeded(launch));
  EXPECT_EQ(validateCode(launch->code), "");
  launch->code.words.pop_back();
  EXPECT_NE(validateCode(launch->code), "");
}

TEST_F(Lowering, Fragments) {
  const FragmentCase cases[] = {
      {"f32", "f32", "vulkan:base", 8, 8, 16},
      {"f16", "f32", "vulkan:f16", 16, 16, 16},
      {"f16", "f32", "vulkan:coopmat", 16, 16, 16},
      {"bf16", "f32", "vulkan:coopmat", 16, 16, 16},
      {"i8", "i32", "vulkan:f16", 16, 32, 8},
  };
  for (const FragmentCase &c : cases) {
    SCOPED_TRACE(
        llvm::formatv("{0} -> {1}, {2}", c.operand, c.sum, c.target).str());
    int inner = kSteps * c.inner;
    auto x = [](int i) { return i * 7 % 11 - 5; };
    auto y = [](int i) { return i * 5 % 7 - 3; };
    Packer left(c.operand), right(c.operand);
    for (int i = 0; i != kMaxSubgroups * c.rows * inner; ++i)
      left.add(x(i));
    for (int i = 0; i != c.columns * inner; ++i)
      right.add(y(i));
    int tile = c.rows * c.columns;
    run(spellFragments(c), c.target,
        {left.words(), right.words(), Words(kMaxSubgroups * 3 * tile),
         Words(1)},
        {1, 1, 1}, {static_cast<uint32_t>(inner)}, [&](const Launch &result) {
          int subgroups = 64 / static_cast<int>(result.buffers[3][0]);
          ASSERT_GE(subgroups, 1);
          ASSERT_LE(subgroups, kMaxSubgroups);
          for (int s = 0; s != subgroups; ++s)
            for (int row = 0; row != c.rows; ++row)
              for (int column = 0; column != c.columns; ++column) {
                int sums[2] = {0, 0};
                for (int k = 0; k != inner; ++k)
                  sums[k / c.inner % 2] +=
                      x((s * c.rows + row) * inner + k) * y(column * inner + k);
                const uint32_t *z = result.buffers[2].data() + s * 3 * tile;
                auto get = [&](uint32_t word) {
                  return c.sum[0] == 'i' ? static_cast<int>(word)
                                         : static_cast<int>(number(word));
                };
                // After three turns the sums have changed places.
                ASSERT_EQ(get(z[row * c.columns + column]), sums[1]);
                ASSERT_EQ(get(z[tile + column * c.rows + row]), sums[0]);
                ASSERT_EQ(get(z[2 * tile + row * c.columns + column]), sums[0]);
              }
        });
  }
}
