//===- MathTest.cpp - How exact the expanded mathematics is ---------------===//
//
// Runs every operation that kernel-expand-math writes out on every device
// present and compares it with double precision. The bounds, in units in the
// last place, are those of the table in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "DeviceRunner.h"

#include "Poot/Dialect/Kernel/KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <random>

using namespace poot;
using namespace poot::test;
using namespace poot::kernel;

namespace {

constexpr unsigned kSamples = 1 << 15;

float toFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

using Expression = std::function<KValue(KernelBuilder &, KValue, KValue)>;

class Math : public testing::Test {
protected:
  Math() : context(mlir::MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<KernelDialect>();
    module = mlir::ModuleOp::create(builder.getUnknownLoc());
  }

  /// A kernel that computes z[i] = EXPRESSION(x[i], y[i]) on 32-bit elements.
  Launch compile(llvm::StringRef name, mlir::Type type, Expression expression,
                 std::vector<uint32_t> x, std::vector<uint32_t> y,
                 llvm::StringRef target = "vulkan:base") {
    builder.setInsertionPointToEnd(module->getBody());
    KernelBuilder k(builder, builder.getUnknownLoc(), name, {64, 1, 1});
    KValue a = k.addBuffer(type, Access::Read);
    KValue b = k.addBuffer(type, Access::Read);
    KValue c = k.addBuffer(type, Access::Write);
    KValue i = k.globalId(Dim::X);
    k.store(c, i, expression(k, k.load(a, i), k.load(b, i)));
    mlir::FailureOr<Launch> launch = compileForLaunch(k.finish(), target);
    EXPECT_TRUE(succeeded(launch)) << name.str();
    if (failed(launch))
      return {};
    unsigned perVector = 1;
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      perVector = vector.getNumElements();
    launch->grid = {static_cast<uint32_t>(x.size() / 64 / perVector), 1, 1};
    launch->buffers = {x, y, std::vector<uint32_t>(x.size(), 0)};
    return std::move(*launch);
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Numbers of every magnitude up to LARGEST, many of them from LOW to HIGH, and
/// the special ones.
std::vector<uint32_t> getSamples(unsigned seed, float low, float high,
                                 float largest) {
  std::mt19937 engine(seed);
  std::vector<uint32_t> samples;
  const float inf = std::numeric_limits<float>::infinity();
  for (float special : {0.0f,        1.0f,
                        0.5f,        2.0f,
                        3.0f,        1e-30f,
                        1e-10f,      0.25f,
                        1.5f,        8.0f,
                        1e10f,       3e38f,
                        inf,         std::numeric_limits<float>::quiet_NaN(),
                        0.999999f,   1.000001f,
                        100.0f,      127.5f,
                        88.0f,       89.0f,
                        0.78539816f, 1.5707964f,
                        3.1415927f,  10.1f,
                        17.0f,       1.17549435e-38f}) {
    samples.push_back(toBits(special));
    samples.push_back(toBits(-special));
  }
  while (samples.size() < kSamples) {
    uint32_t random = static_cast<uint32_t>(engine());
    if (samples.size() % 2) {
      float part = (random >> 8) * 0x1p-24f;
      samples.push_back(toBits(low + (high - low) * part));
      continue;
    }
    float value = toFloat(random);
    if (std::fabs(value) <= largest && std::fabs(value) >= 0x1p-120f)
      samples.push_back(random);
  }
  return samples;
}

/// The distance in units in the last place of an f32 of EXACT's magnitude; 0
/// where both are NaN, or both flushed or too small for a normal number.
double getUlps(float result, double exact) {
  if (std::isnan(exact))
    return std::isnan(result) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isinf(static_cast<float>(exact)) || std::isinf(result)) {
    // Rounding to infinity may differ for the very largest numbers.
    if (std::isinf(result) && std::fabs(exact) > 3.4028e38)
      return std::signbit(result) == std::signbit(exact) ? 0 : 1e9;
    if (std::fabs(result) > 3.4028e38f && std::fabs(exact) > 3.4028e38)
      return 0;
    return std::numeric_limits<double>::infinity();
  }
  if (std::fabs(exact) < 0x1p-125)
    return std::fabs(result) <= 0x1p-124f ? 0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(result - exact) / std::ldexp(1.0, exponent - 24);
}

struct Case {
  const char *name;
  Expression expression;
  std::function<double(double, double)> reference;
  double bound;
  float low, high, largest; // for x
  float low2, high2, largest2;
};

KValue unary(mlir::Value value, KernelBuilder &k) { return {k, value}; }

const float kHuge = std::numeric_limits<float>::max();

std::vector<Case> getCases() {
  using B = KernelBuilder;
  auto op = [](auto tag) {
    return [](B &k, KValue x, KValue) {
      return unary(
          decltype(tag)::create(k.getOpBuilder(), k.getLoc(), x.getValue()), k);
    };
  };
  auto from = [](double (*f)(double)) {
    return [f](double x, double) { return f(x); };
  };
  auto op2 = [](auto tag) {
    return [](B &k, KValue x, KValue y) {
      return unary(decltype(tag)::create(k.getOpBuilder(), k.getLoc(),
                                         x.getValue(), y.getValue()),
                   k);
    };
  };
  namespace m = mlir::math;
  return {
      {"erf", op(m::ErfOp()), from(std::erf), 2, -4, 4, kHuge, 0, 0, 0},
      {"erfc", op(m::ErfcOp()), from(std::erfc), 4, -3, 10, kHuge, 0, 0, 0},
      {"expm1", op(m::ExpM1Op()), from(std::expm1), 2, -2, 89, kHuge, 0, 0, 0},
      {"log1p", op(m::Log1pOp()), from(std::log1p), 2, -1, 2, kHuge, 0, 0, 0},
      {"tanh", op(m::TanhOp()), from(std::tanh), 3, -9, 9, kHuge, 0, 0, 0},
      {"cbrt", op(m::CbrtOp()), from(std::cbrt), 1, -9, 9, kHuge, 0, 0, 0},
      {"sin", op(m::SinOp()), from(std::sin), 2, -20, 20, kHuge, 0, 0, 0},
      {"cos", op(m::CosOp()), from(std::cos), 2, -20, 20, kHuge, 0, 0, 0},
      {"tan", op(m::TanOp()), from(std::tan), 4, -20, 20, kHuge, 0, 0, 0},
      {"atan", op(m::AtanOp()), from(std::atan), 3, -4, 4, kHuge, 0, 0, 0},
      {"atan2", op2(m::Atan2Op()),
       [](double y, double x) { return std::atan2(y, x); }, 3, -4, 4, 1e15f, -4,
       4, 1e15f},
      {"pow", op2(m::PowFOp()),
       [](double x, double y) { return std::pow(x, y); }, 4, 0, 4, kHuge, -30,
       30, kHuge},
      {"trunc", op(m::TruncOp()), from(std::trunc), 0, -4, 4, kHuge, 0, 0, 0},
      {"round", op(m::RoundOp()), from(std::round), 0, -4, 4, kHuge, 0, 0, 0},
      {"copysign", op2(m::CopySignOp()),
       [](double x, double y) { return std::copysign(x, y); }, 0, -4, 4, kHuge,
       -4, 4, kHuge},
  };
}

} // namespace

TEST_F(Math, ExpandedOperationsKeepTheirBounds) {
  std::vector<Case> cases = getCases();
  std::vector<Launch> compiled;
  for (const Case &c : cases) {
    compiled.push_back(compile(
        c.name, builder.getF32Type(), c.expression,
        getSamples(1, c.low, c.high, c.largest),
        getSamples(2, c.low2, c.high2, c.largest2 > 0 ? c.largest2 : 1)));
    // Pairs of special values too, in every combination.
    std::vector<uint32_t> &y = compiled.back().buffers[1];
    if (c.largest2 > 0) {
      std::mt19937 engine(3);
      std::shuffle(y.begin(), y.end(), engine);
      for (unsigned i = 0; i != 52 * 52; ++i) {
        y[kSamples - 1 - i] = getSamples(2, 0, 1, 1)[i % 52];
        compiled.back().buffers[0][kSamples - 1 - i] =
            compiled.back().buffers[0][i / 52];
      }
    }
  }
  std::vector<std::string> ids = devicesPresent();
  ASSERT_FALSE(ids.empty()) << "no device to run on";
  for (const std::string &id : ids) {
    rt::Device device = openDevice(id, /*validation=*/true);
    std::vector<Launch> launches = compiled;
    ASSERT_EQ(runOnDevice(device, launches), "");
    for (size_t i = 0; i != cases.size(); ++i) {
      double worst = 0;
      float worstX = 0, worstY = 0, worstResult = 0;
      for (unsigned j = 0; j != kSamples; ++j) {
        float x = toFloat(launches[i].buffers[0][j]);
        float y = toFloat(launches[i].buffers[1][j]);
        float result = toFloat(launches[i].buffers[2][j]);
        double ulps = getUlps(result, cases[i].reference(x, y));
        if (ulps > worst) {
          worst = ulps;
          worstX = x;
          worstY = y;
          worstResult = result;
        }
      }
      std::cerr << "  " << cases[i].name << ": " << worst << " ulp at "
                << worstX << " " << worstY << "\n";
      EXPECT_LE(worst, cases[i].bound)
          << cases[i].name << "(" << worstX << ", " << worstY
          << ") = " << worstResult << ", not "
          << cases[i].reference(worstX, worstY);
    }
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << message;
  }
}

// The sign of zero, which units in the last place don't see.
TEST_F(Math, ZeroKeepsItsSign) {
  std::vector<uint32_t> zeros(64, toBits(0.0f));
  for (unsigned i = 0; i != 64; i += 2)
    zeros[i] = toBits(-0.0f);
  std::vector<Launch> compiled;
  std::vector<std::string> names;
  for (const Case &c : getCases())
    if (c.largest2 == 0 && std::string(c.name) != "cos" &&
        std::string(c.name) != "erfc") {
      compiled.push_back(
          compile(c.name, builder.getF32Type(), c.expression, zeros, zeros));
      names.push_back(c.name);
    }
  for (const std::string &id : devicesPresent()) {
    rt::Device device = openDevice(id, /*validation=*/false);
    std::vector<Launch> launches = compiled;
    ASSERT_EQ(runOnDevice(device, launches), "");
    for (size_t i = 0; i != launches.size(); ++i)
      EXPECT_EQ(launches[i].buffers[2], zeros) << names[i];
  }
}

TEST_F(Math, VectorsAreComputedByElement) {
  std::vector<uint32_t> samples = getSamples(5, -4, 4, 100);
  auto sine = [](KernelBuilder &k, KValue x, KValue) { return k.sin(x); };
  std::vector<Launch> compiled;
  compiled.push_back(
      compile("scalar", builder.getF32Type(), sine, samples, samples));
  compiled.push_back(compile("vector",
                             mlir::VectorType::get({4}, builder.getF32Type()),
                             sine, samples, samples));
  for (const std::string &id : devicesPresent()) {
    rt::Device device = openDevice(id, /*validation=*/false);
    std::vector<Launch> launches = compiled;
    ASSERT_EQ(runOnDevice(device, launches), "");
    for (unsigned i = 0; i != kSamples; ++i) {
      uint32_t a = launches[0].buffers[2][i], b = launches[1].buffers[2][i];
      // Payloads of NaN may differ.
      if (!std::isnan(toFloat(a)) || !std::isnan(toFloat(b))) {
        ASSERT_EQ(a, b) << "sin(" << toFloat(samples[i]) << ")";
      }
    }
  }
}

TEST_F(Math, IntegersAreExact) {
  std::mt19937 engine(7);
  std::vector<uint32_t> x, y;
  for (unsigned i = 0; i != 4096; ++i) {
    uint32_t value = static_cast<uint32_t>(engine());
    x.push_back(i < 33 ? (i < 32 ? 1u << i : 0) : value >> (i % 32));
    uint32_t divisor = static_cast<uint32_t>(engine()) >> (i % 31);
    // Neither zero nor the overflowing -1.
    y.push_back(divisor == 0 || divisor == 0xffffffff ? 3 : divisor);
  }
  struct IntCase {
    const char *name;
    Expression expression;
    std::function<uint32_t(uint32_t, uint32_t)> reference;
  };
  auto create = [](auto tag) {
    return [](KernelBuilder &k, KValue a, KValue b) {
      return KValue(k, decltype(tag)::create(k.getOpBuilder(), k.getLoc(),
                                             a.getValue(), b.getValue()));
    };
  };
  auto floorQuotient = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(std::floor(double(a) / double(b)));
  };
  std::vector<IntCase> cases = {
      {"popcount",
       [](KernelBuilder &k, KValue a, KValue) { return k.popcount(a); },
       [](uint32_t a, uint32_t) { return __builtin_popcount(a); }},
      {"ctlz",
       [](KernelBuilder &k, KValue a, KValue) {
         return k.countLeadingZeros(a);
       },
       [](uint32_t a, uint32_t) { return a ? __builtin_clz(a) : 32; }},
      {"cttz",
       [](KernelBuilder &k, KValue a, KValue) {
         return k.countTrailingZeros(a);
       },
       [](uint32_t a, uint32_t) { return a ? __builtin_ctz(a) : 32; }},
      {"ceildivui", create(mlir::arith::CeilDivUIOp()),
       [](uint32_t a, uint32_t b) {
         return uint32_t((uint64_t(a) + b - 1) / b);
       }},
      {"ceildivsi", create(mlir::arith::CeilDivSIOp()),
       [&](uint32_t a, uint32_t b) {
         return uint32_t(-floorQuotient(-int64_t(int32_t(a)), int32_t(b)));
       }},
      {"floordivsi", create(mlir::arith::FloorDivSIOp()),
       [&](uint32_t a, uint32_t b) {
         return uint32_t(floorQuotient(int32_t(a), int32_t(b)));
       }},
      {"remsi", create(mlir::arith::RemSIOp()),
       [](uint32_t a, uint32_t b) {
         return uint32_t(int64_t(int32_t(a)) % int64_t(int32_t(b)));
       }},
  };
  std::vector<Launch> compiled;
  for (const IntCase &c : cases)
    compiled.push_back(
        compile(c.name, builder.getI32Type(), c.expression, x, y));
  for (const std::string &id : devicesPresent()) {
    rt::Device device = openDevice(id, /*validation=*/true);
    std::vector<Launch> launches = compiled;
    ASSERT_EQ(runOnDevice(device, launches), "");
    for (size_t i = 0; i != cases.size(); ++i)
      for (size_t j = 0; j != x.size(); ++j)
        ASSERT_EQ(launches[i].buffers[2][j], cases[i].reference(x[j], y[j]))
            << cases[i].name << "(" << x[j] << ", " << y[j] << ")";
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << message;
  }
}

// Conversion to bf16 and back, against rounding to nearest even in integers.
TEST_F(Math, Bf16RoundsToNearestEven) {
  std::vector<uint32_t> samples = getSamples(9, -4, 4, kHuge);
  for (unsigned i = 0; i != 1024; ++i) // ties and their neighbours
    samples[100 + i] = 0x3f800000u + (i / 4 << 16) + 0x7fff + i % 4;
  Launch compiled = compile(
      "bf16", builder.getF32Type(),
      [](KernelBuilder &k, KValue x, KValue) {
        return k.cast(k.cast(x, k.bf16Type()), k.f32Type());
      },
      samples, samples, "vulkan:f16");
  unsigned ran = 0;
  for (const std::string &id : devicesPresent()) {
    rt::Device device = openDevice(id, /*validation=*/true);
    if (!missingFeatures(device, compiled.code).empty())
      continue;
    ++ran;
    std::vector<Launch> launches = {compiled};
    ASSERT_EQ(runOnDevice(device, launches), "");
    for (unsigned i = 0; i != kSamples; ++i) {
      uint32_t x = samples[i], result = launches[0].buffers[2][i];
      if (std::isnan(toFloat(x))) {
        EXPECT_TRUE(std::isnan(toFloat(result)));
        continue;
      }
      uint32_t expected = (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000u;
      ASSERT_EQ(result, expected) << toFloat(x);
    }
    for (const std::string &message : device.validationMessages())
      ADD_FAILURE() << message;
  }
  if (ran == 0)
    GTEST_SKIP() << "no device here has 16-bit integers";
}
