//===- OpsTest.cpp - Composite helpers against their formulas -------------===//
//
// Each helper is traced, evaluated by the oracle, and compared with the
// formula in double precision.
//
//===----------------------------------------------------------------------===//

#include "Poot/Trace/Ops.h"
#include "Poot/Eval/Eval.h"

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace poot;
using namespace poot::trace;

namespace {

using Floats = std::vector<float>;

/// COUNT values in [-SCALE, SCALE), the same for a SEED.
Floats noise(size_t count, uint32_t seed, float scale = 1) {
  Floats values(count);
  for (float &value : values) {
    seed = seed * 1664525 + 1013904223;
    value = scale * (static_cast<float>(seed >> 8) / float(1 << 23) - 1);
  }
  return values;
}

/// Traces an entry by RECORD and evaluates it on SLOTS, f32 or i32 as they are
/// declared. Gives the first output.
Floats evaluate(const std::function<void(Builder &)> &record,
                const std::vector<Floats> &slots) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  Builder b(*module);
  b.beginEntry("entry");
  record(b);
  b.endEntry();
  EXPECT_FALSE(b.error()) << b.error()->toString();
  EXPECT_TRUE(succeeded(graph::verifyModule(*module)));
  if (b.error())
    return {};

  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  llvm::SmallVector<eval::Tensor> tensors;
  for (auto [type, values] :
       llvm::zip_equal(function.getArgumentTypes(), slots)) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    auto tensor = *eval::Tensor::allocate(tensorType.getElementType(),
                                          tensorType.getShape());
    for (size_t i = 0; i < values.size(); ++i) {
      if (tensorType.getElementType().isF32())
        tensor.mutableData<float>()[i] = values[i];
      else
        tensor.mutableData<int32_t>()[i] = static_cast<int32_t>(values[i]);
    }
    tensors.push_back(tensor);
  }
  eval::Environment environment(
      [](llvm::StringRef, mlir::Type,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError)
          -> mlir::FailureOr<eval::Tensor> {
        return emitError() << "no constants here";
      });
  auto results = eval::evalFunction(function, tensors, environment);
  EXPECT_TRUE(succeeded(results));
  if (failed(results))
    return {};
  const eval::Tensor &result = (*results)[0];
  return Floats(result.dataAs<float>(),
                result.dataAs<float>() + result.getNumElements());
}

void expectNear(const Floats &actual, const std::vector<double> &expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

TensorType f32(Shape shape) { return {ElementType::F32, std::move(shape)}; }
TensorType i32(Shape shape) { return {ElementType::I32, std::move(shape)}; }

TEST(Ops, Linear) {
  Floats x = noise(6, 1), w = noise(12, 2), bias = noise(4, 3);
  Floats y = evaluate(
      [](Builder &b) {
        Traced x = b.input("x", f32({1, 2, 3})), w = b.input("w", f32({4, 3}));
        b.output("y",
                 linear(b, x, w, ElementType::F32, b.input("bias", f32({4}))));
      },
      {x, w, bias});
  std::vector<double> expected;
  for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 4; ++n) {
      double sum = bias[n];
      for (int k = 0; k < 3; ++k)
        sum += double(x[m * 3 + k]) * w[n * 3 + k];
      expected.push_back(sum);
    }
  expectNear(y, expected, 1e-6);
}

TEST(Ops, Norms) {
  Floats x = noise(10, 4, 3), w = noise(5, 5), bias = noise(5, 6);
  Floats rms = evaluate(
      [](Builder &b) {
        Traced x = b.input("x", f32({2, 5})), w = b.input("w", f32({5}));
        b.output("y", rmsNorm(b, x, w, 1e-3));
      },
      {x, w});
  Floats layer = evaluate(
      [](Builder &b) {
        Traced x = b.input("x", f32({2, 5})), w = b.input("w", f32({5}));
        b.output("y", layerNorm(b, x, w, b.input("b", f32({5})), 1e-3));
      },
      {x, w, bias});
  std::vector<double> expectedRms, expectedLayer;
  for (int r = 0; r < 2; ++r) {
    double squares = 0, mean = 0, variance = 0;
    for (int i = 0; i < 5; ++i) {
      squares += double(x[r * 5 + i]) * x[r * 5 + i] / 5;
      mean += x[r * 5 + i] / 5.0;
    }
    for (int i = 0; i < 5; ++i)
      variance += std::pow(x[r * 5 + i] - mean, 2) / 5;
    for (int i = 0; i < 5; ++i) {
      expectedRms.push_back(x[r * 5 + i] / std::sqrt(squares + 1e-3) * w[i]);
      expectedLayer.push_back(
          (x[r * 5 + i] - mean) / std::sqrt(variance + 1e-3) * w[i] + bias[i]);
    }
  }
  expectNear(rms, expectedRms, 2e-6);
  expectNear(layer, expectedLayer, 2e-6);
}

TEST(Ops, Activations) {
  Floats x = {-100, -3, -0.5, 0, 0.25, 2, 90};
  auto run = [&](std::function<Traced(Builder &, Traced)> helper) {
    return evaluate(
        [&](Builder &b) { b.output("y", helper(b, b.input("x", f32({7})))); },
        {x});
  };
  std::vector<double> silus, gelus, tanhs, softmaxes;
  double sum = 0;
  for (double v : x) {
    silus.push_back(v / (1 + std::exp(-v)));
    gelus.push_back(v * 0.5 * (1 + std::erf(v * M_SQRT1_2)));
    tanhs.push_back(
        v * 0.5 *
        (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    sum += std::exp(v - 90);
  }
  for (double v : x)
    softmaxes.push_back(std::exp(v - 90) / sum);
  expectNear(run(silu), silus, 1e-6);
  expectNear(run([](Builder &b, Traced x) { return gelu(b, x, false); }), gelus,
             1e-6);
  expectNear(run([](Builder &b, Traced x) { return gelu(b, x, true); }), tanhs,
             1e-6);
  expectNear(run(softmax), softmaxes, 1e-6);
  std::vector<double> gated;
  for (size_t i = 0; i < x.size(); ++i)
    gated.push_back(silus[i] * x[i]);
  expectNear(run([](Builder &b, Traced x) { return swiglu(b, x, x); }), gated,
             2e-3);
}

/// Rotations at far positions: f32 angles, exactly reduced.
TEST(Ops, Rope) {
  constexpr int d = 8, r = 6;
  for (RopeForm form : {RopeForm::HalfSplit, RopeForm::AdjacentPair}) {
    Floats pos = {0, 3, -1, 100000}, frequency = {1, 0.25, 0.001f};
    Floats x = noise(4 * 2 * d, 7);
    Floats y = evaluate(
        [&](Builder &b) {
          Traced x = b.input("x", f32({2, 2, 2, d}));
          Traced pos = b.input("pos", i32({2, 2}));
          RopeAngles angles = ropeAngles(
              b, pos, b.input("frequency", f32({r / 2})), 100001, form);
          b.output("y", rope(b, x, angles));
        },
        {x, pos, frequency});
    std::vector<double> expected(x.begin(), x.end());
    for (int t = 0; t < 4; ++t)
      for (int h = 0; h < 2; ++h)
        for (int i = 0; i < r / 2; ++i) {
          bool half = form == RopeForm::HalfSplit;
          size_t at = (t * 2 + h) * d;
          size_t a = at + (half ? i : 2 * i);
          size_t b = at + (half ? i + r / 2 : 2 * i + 1);
          // The angle itself is an f32 product.
          double angle = std::max(pos[t], 0.0f) * frequency[i];
          expected[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
          expected[b] = x[b] * std::cos(angle) + x[a] * std::sin(angle);
        }
    expectNear(y, expected, 2e-6);
  }
}

TEST(Ops, Embedding) {
  Floats y = evaluate(
      [](Builder &b) {
        Traced ids = b.input("ids", i32({1, 2}));
        Traced table = b.input("table", f32({3, 2}));
        b.output("y", embedding(b, ids, table, ElementType::F32));
      },
      {{2, 0}, {1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(y, (Floats{5, 6, 1, 2}));
}

/// Two rows with grouped heads over a cache that is contiguous or paged with
/// scattered blocks, a padding token included.
TEST(Ops, AttentionOverCaches) {
  constexpr int rows = 2, tokens = 2, heads = 4, kvHeads = 2, d = 3;
  constexpr int capacity = 6, block = 2, slots = 14;
  const double scale = 0.7;
  Floats q = noise(rows * tokens * heads * d, 8, 2);
  Floats pos = {0, 4, 2, -1};
  Floats table = {5, 0, 3, 6, 2, -1};
  Floats keys = noise(slots * kvHeads * d, 9, 2);
  Floats values = noise(slots * kvHeads * d, 10, 2);
  for (bool paged : {false, true}) {
    int extent = paged ? slots : rows * capacity;
    auto cut = [&](const Floats &all) {
      return Floats(all.begin(), all.begin() + extent * kvHeads * d);
    };
    Floats y = evaluate(
        [&](Builder &b) {
          Traced q = b.input("q", f32({rows, tokens, heads, d}));
          Traced pos = b.input("pos", i32({rows, tokens}));
          Traced k = b.input("k", f32({extent, kvHeads, d}));
          Traced v = b.input("v", f32({extent, kvHeads, d}));
          Traced table = b.input("table", i32({rows, capacity / block}));
          CacheView view = paged ? pagedView(b, table, block)
                                 : CacheView{rows, capacity, {}};
          b.output("y",
                   attention(b, q, readCache(b, k, view), readCache(b, v, view),
                             causalBias(b, pos, capacity), scale));
        },
        {q, pos, cut(keys), cut(values), table});
    std::vector<double> expected;
    for (int r = 0; r < rows; ++r)
      for (int t = 0; t < tokens; ++t)
        for (int h = 0; h < heads; ++h) {
          // The padding token sees position 0.
          int visible = std::max(0, int(pos[r * tokens + t])) + 1;
          auto at = [&](int p) {
            int slot = r * capacity + p;
            if (paged)
              slot = std::max(0, int(table[r * 3 + p / block])) * block +
                     p % block;
            return (slot * kvHeads + h / (heads / kvHeads)) * d;
          };
          std::vector<double> weights;
          double sum = 0;
          for (int p = 0; p < visible; ++p) {
            double score = 0;
            for (int i = 0; i < d; ++i)
              score += q[((r * tokens + t) * heads + h) * d + i] *
                       double(keys[at(p) + i]);
            weights.push_back(std::exp(score * scale));
            sum += weights.back();
          }
          for (int i = 0; i < d; ++i) {
            double value = 0;
            for (int p = 0; p < visible; ++p)
              value += weights[p] / sum * values[at(p) + i];
            expected.push_back(value);
          }
        }
    expectNear(y, expected, 3e-6);
  }
}

} // namespace
