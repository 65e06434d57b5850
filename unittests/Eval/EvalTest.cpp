//===- EvalTest.cpp - The oracle's interface ------------------------------===//
//
// What the compiler relies on beside the values of ops, which test/Eval checks
// against numpy: errors and their places, environments, single ops.
//
//===----------------------------------------------------------------------===//

#include "Poot/Eval/Eval.h"
#include "Poot/Eval/Philox.h"
#include "poot/weights/tensor_view.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sys/resource.h>

using namespace mlir;
using namespace poot;
using namespace poot::eval;

namespace {

class EvalTest : public ::testing::Test {
protected:
  EvalTest()
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
          errors.push_back((place ? std::to_string(place.getLine()) : "?") +
                           ": " + diagnostic.str());
          return success();
        }) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
    context.printOpOnDiagnostic(false);
  }

  /// Parses SOURCE, whose first line is line 1.
  void parse(StringRef source) {
    module = parseSourceString<ModuleOp>(source.ltrim("\n"), &context);
    ASSERT_TRUE(module) << (errors.empty() ? "" : errors.front());
  }
  func::FuncOp function(StringRef name) {
    return module->lookupSymbol<func::FuncOp>(name);
  }
  /// The first op of kind Op in the function NAME.
  template <class Op> Op find(StringRef name) {
    Op result;
    function(name).walk([&](Op op) {
      result = op;
      return WalkResult::interrupt();
    });
    return result;
  }

  Tensor f32(ArrayRef<int64_t> shape, ArrayRef<float> values) {
    FailureOr<Tensor> result =
        Tensor::allocate(Float32Type::get(&context), shape);
    llvm::copy(values, result->mutableData<float>());
    return *result;
  }
  Tensor i32(ArrayRef<int64_t> shape, ArrayRef<int32_t> values) {
    FailureOr<Tensor> result =
        Tensor::allocate(IntegerType::get(&context, 32), shape);
    llvm::copy(values, result->mutableData<int32_t>());
    return *result;
  }
  static std::vector<float> floats(const Tensor &tensor) {
    const float *data = tensor.dataAs<float>();
    return {data, data + tensor.getNumElements()};
  }

  /// A provider for modules without constants.
  static FailureOr<Tensor>
  noConstants(StringRef name, Type,
              llvm::function_ref<InFlightDiagnostic()> emitError) {
    return emitError() << "is not expected here";
  }

  MLIRContext context;
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};

using Strings = std::vector<std::string>;

TEST_F(EvalTest, PhiloxKnownAnswers) {
  // kat_vectors of Random123.
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0xa4093822, 0x299f31d0},
                       {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST_F(EvalTest, OneOpOnExplicitOperands) {
  parse(R"(
func.func private @f(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = graph.transpose %a [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
})");
  auto op = find<graph::TransposeOp>("f");
  auto results = evalOp(op, f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(succeeded(results));
  // Row-major, though the oracle transposes by a view.
  EXPECT_TRUE(results->front().isRowMajor());
  EXPECT_EQ(floats(results->front()), (std::vector<float>{1, 4, 2, 5, 3, 6}));

  EXPECT_TRUE(failed(evalOp(op, {})));
  EXPECT_TRUE(failed(evalOp(op, f32({3, 2}, {1, 2, 3, 4, 5, 6}))));
  EXPECT_EQ(errors,
            (Strings{"2: 'graph.transpose' op has 1 operands but was given 0",
                     "2: 'graph.transpose' op operand 0 has type "
                     "'tensor<2x3xf32>' but was given 'tensor<3x2xf32>'"}));
}

TEST_F(EvalTest, OpsWithSymbolsNeedAFunction) {
  parse(R"(
graph.const @w : tensor<f32>
func.func private @f() -> tensor<f32> {
  %0 = graph.get @w : tensor<f32>
  return %0 : tensor<f32>
})");
  EXPECT_TRUE(failed(evalOp(find<graph::GetOp>("f"), {})));
  EXPECT_EQ(errors, Strings{"3: 'graph.get' op isn't an op that the oracle "
                            "evaluates by itself"});
}

TEST_F(EvalTest, SlotsAreChecked) {
  parse(R"(
func.func @f(%a: tensor<2xf32> {graph.name = "a"}) {
  return
})");
  Environment environment(noConstants);
  EXPECT_TRUE(failed(evalFunction(function("f"), {}, environment)));
  EXPECT_TRUE(
      failed(evalFunction(function("f"), f32({3}, {1, 2, 3}), environment)));
  EXPECT_TRUE(
      failed(evalFunction(function("f"), i32({2}, {1, 2}), environment)));
  EXPECT_EQ(errors,
            (Strings{"1: 'func.func' op takes 1 slots but was given 0",
                     "1: 'func.func' op slot 0 has type 'tensor<2xf32>' but "
                     "was given 'tensor<3xf32>'",
                     "1: 'func.func' op slot 0 has type 'tensor<2xf32>' but "
                     "was given 'tensor<2xi32>'"}));
}

TEST_F(EvalTest, ErrorsStandAtTheOp) {
  parse(R"(
func.func private @f(%a: tensor<3xi32>, %i: tensor<2xi32>) -> tensor<2xi32> {
  %0 = graph.binary div %a, %a : tensor<3xi32>
  %1 = graph.gather %0, %i dim 0
      : tensor<3xi32>, tensor<2xi32> -> tensor<2xi32>
  return %1 : tensor<2xi32>
})");
  Environment environment(noConstants);
  auto run = [&](ArrayRef<int32_t> a, ArrayRef<int32_t> i, bool strict) {
    EvalOptions options;
    options.strict = strict;
    return evalFunction(function("f"), {i32({3}, a), i32({2}, i)}, environment,
                        options);
  };
  EXPECT_TRUE(succeeded(run({1, 2, 3}, {0, 2}, true)));
  EXPECT_TRUE(failed(run({1, 2, 0}, {0, 2}, true)));
  EXPECT_TRUE(failed(run({1, 2, 3}, {0, 3}, true)));
  EXPECT_EQ(errors,
            (Strings{"2: 'graph.binary' op divides 0 by zero at element 2",
                     "3: 'graph.gather' op index 3 at element 1 is outside of "
                     "[0, 3)"}));

  auto lenient = run({5, 7, 0}, {0, 9}, false);
  ASSERT_TRUE(succeeded(lenient));
  EXPECT_EQ(lenient->front().dataAs<int32_t>()[0], 1);
  EXPECT_EQ(lenient->front().dataAs<int32_t>()[1], 0);
}

TEST_F(EvalTest, OnlyGraphOps) {
  parse(R"(
func.func private @f(%a: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g() -> tensor<f32>)");
  Environment environment(noConstants);
  EXPECT_TRUE(
      failed(evalFunction(function("f"), f32({}, {1.0f}), environment)));
  EXPECT_TRUE(failed(evalFunction(function("g"), {}, environment)));
  EXPECT_EQ(errors,
            (Strings{"2: 'func.call' op isn't an op that the oracle evaluates",
                     "5: 'func.func' op has no body to evaluate"}));
}

TEST_F(EvalTest, AFailedStepLeavesTheStates) {
  parse(R"(
graph.state @s : tensor<2xi32>
func.func @f(%a: tensor<2xi32> {graph.name = "a"}) {
  %0 = graph.get @s : tensor<2xi32>
  %1 = graph.binary add %0, %a : tensor<2xi32>
  graph.set @s, %1 : tensor<2xi32>
  %2 = graph.binary div %a, %a : tensor<2xi32>
  return
})");
  Environment environment(noConstants);
  auto state = [&] {
    auto op = module->lookupSymbol<graph::StateOp>("s");
    const int32_t *values = environment.getState(op)->dataAs<int32_t>();
    return std::vector<int32_t>{values[0], values[1]};
  };
  auto step = [&](int32_t a, int32_t b) {
    return succeeded(
        evalFunction(function("f"), i32({2}, {a, b}), environment));
  };
  EXPECT_EQ(state(), (std::vector<int32_t>{0, 0}));
  EXPECT_TRUE(step(1, 2));
  EXPECT_TRUE(step(1, 2));
  EXPECT_EQ(state(), (std::vector<int32_t>{2, 4}));
  EXPECT_FALSE(step(5, 0));
  EXPECT_EQ(state(), (std::vector<int32_t>{2, 4}));
}

TEST_F(EvalTest, TheLoadFunctionRunsOnce) {
  parse(R"(
module attributes {graph.load = @load} {
graph.const @w : tensor<2xf32>
graph.computed @twice : tensor<2xf32>
func.func private @load() {
  %0 = graph.get @w : tensor<2xf32>
  %1 = graph.binary add %0, %0 : tensor<2xf32>
  graph.set @twice, %1 : tensor<2xf32>
  return
}
func.func @f() -> (tensor<2xf32> {graph.name = "y"}) {
  %0 = graph.get @twice : tensor<2xf32>
  return %0 : tensor<2xf32>
}
})");
  int asked = 0;
  Environment environment([&](StringRef name, Type, auto) {
    EXPECT_EQ(name, "w");
    ++asked;
    return f32({2}, {1.5f, -3.0f});
  });
  for (int step = 0; step < 3; ++step) {
    auto results = evalFunction(function("f"), {}, environment);
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ(floats(results->front()), (std::vector<float>{3, -6}));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(environment.findComputed("twice"));
}

TEST_F(EvalTest, AccumulationType) {
  parse(R"(
func.func private @f(%a: tensor<1x3xf32>, %b: tensor<3x1xf32>)
    -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1x3xf32>) {
  %0 = graph.matmul %a, %b : tensor<1x3xf32>, tensor<3x1xf32> -> tensor<1x1xf32>
  %1 = graph.reduce sum %a dims [1] : tensor<1x3xf32> -> tensor<1xf32>
  %2 = graph.scan sum %a dim 1 : tensor<1x3xf32>
  return %0, %1, %2 : tensor<1x1xf32>, tensor<1xf32>, tensor<1x3xf32>
})");
  // 1 is lost beside 1e8 in f32, and kept in f64.
  SmallVector<Tensor> slots = {f32({1, 3}, {1e8f, 1, -1e8f}),
                               f32({3, 1}, {1, 1, 1})};
  Environment environment(noConstants);
  EvalOptions options;
  for (auto [accumulate, sum] :
       {std::pair(EvalOptions::Accumulate::F32, 0.0f),
        std::pair(EvalOptions::Accumulate::F64, 1.0f)}) {
    options.accumulate = accumulate;
    auto results = evalFunction(function("f"), slots, environment, options);
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((*results)[1].dataAs<float>()[0], sum);
    EXPECT_EQ((*results)[2].dataAs<float>()[2], sum);
    if (accumulate == EvalOptions::Accumulate::F64)
      EXPECT_EQ((*results)[0].dataAs<float>()[0], 1.0f);
  }
}

TEST_F(EvalTest, LargeProductsAreTheSameEveryTime) {
  parse(R"(
func.func private @f(%a: tensor<4x300xf32>, %b: tensor<1000x300xf32>)
    -> tensor<4x1000xf32> {
  %0 = graph.transpose %b [1, 0] : tensor<1000x300xf32> -> tensor<300x1000xf32>
  %1 = graph.matmul %a, %0
      : tensor<4x300xf32>, tensor<300x1000xf32> -> tensor<4x1000xf32>
  return %1 : tensor<4x1000xf32>
})");
  std::vector<float> a(4 * 300), b(1000 * 300);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::sin(float(i));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = std::cos(float(3 * i));
  SmallVector<Tensor> slots = {f32({4, 300}, a), f32({1000, 300}, b)};
  Environment environment(noConstants);
  auto first = evalFunction(function("f"), slots, environment);
  ASSERT_TRUE(succeeded(first));
  std::vector<float> expected = floats(first->front());
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 1000; column += 37) {
      double sum = 0;
      for (int64_t k = 0; k < 300; ++k)
        sum += double(a[row * 300 + k]) * b[column * 300 + k];
      EXPECT_NEAR(expected[row * 1000 + column], sum, 1e-4);
    }
  for (int run = 0; run < 5; ++run) {
    auto again = evalFunction(function("f"), slots, environment);
    ASSERT_TRUE(succeeded(again));
    EXPECT_EQ(floats(again->front()), expected);
  }
}

TEST_F(EvalTest, ValuesAreFreedAfterTheirLastUse) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer keeps freed memory";
#endif
  // 40 values of 32 MiB, two of which live at a time.
  constexpr int count = 40, mebibytes = 32;
  std::string type = "tensor<" + std::to_string(mebibytes << 20) + "xi8>";
  std::string source;
  llvm::raw_string_ostream os(source);
  os << "func.func private @f(%v0: " << type << ") -> " << type << " {\n";
  for (int i = 1; i <= count; ++i)
    os << "  %v" << i << " = graph.unary not %v" << i - 1 << " : " << type
       << "\n";
  os << "  return %v" << count << " : " << type << "\n}\n";
  parse(source);
  auto peak = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  long before = peak();
  Environment environment(noConstants);
  FailureOr<Tensor> slot =
      Tensor::zeros(IntegerType::get(&context, 8), {int64_t(mebibytes) << 20});
  auto results = evalFunction(function("f"), *slot, environment);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(results->front().getData()[12345], 0);
  EXPECT_LT(peak() - before, 5 * mebibytes);
}

TEST_F(EvalTest, StoredTensors) {
  Location place = FileLineColLoc::get(&context, "here", 7, 1);
  auto report = [&] { return emitError(place) << "'w' "; };
  auto parsed = [&](StringRef text) { return parseType(text, &context); };
  alignas(4) uint8_t bytes[64] = {0, 0, 0, 0, 0, 0, 128, 63, 2, 0, 1};
  weights::TensorView view{"w", weights::ElementType::F32, {2}, {bytes, 8}};

  // Aligned bytes are borrowed, others copied.
  auto borrowed = fromStored(view, parsed("tensor<2xf32>"), report);
  ASSERT_TRUE(succeeded(borrowed));
  EXPECT_EQ(borrowed->getData(), bytes);
  EXPECT_EQ(floats(*borrowed), (std::vector<float>{0, 1}));
  std::memmove(bytes + 1, bytes, 8);
  view.data = {bytes + 1, 8};
  auto copied = fromStored(view, parsed("tensor<?xf32>"), report);
  ASSERT_TRUE(succeeded(copied));
  EXPECT_EQ(floats(*copied), (std::vector<float>{0, 1}));

  // i1 is 0 or 1, whatever the file holds.
  uint8_t flags[3] = {2, 0, 1};
  view.type = weights::ElementType::Bool;
  view.shape = {3};
  view.data = {flags, 3};
  auto bools = fromStored(view, parsed("tensor<3xi1>"), report);
  ASSERT_TRUE(succeeded(bools));
  EXPECT_EQ(bools->bytes(), (ArrayRef<uint8_t>{1, 0, 1}));

  view.type = weights::ElementType::Q4_0;
  view.shape = {2, 32};
  view.data = {bytes, 36};
  auto packed =
      fromStored(view, parsed("!graph.packed<q4_0, gguf, 2x32>"), report);
  ASSERT_TRUE(succeeded(packed));
  EXPECT_EQ(packed->getNumBytes(), 36);

  EXPECT_TRUE(errors.empty());
  for (StringRef type :
       {"tensor<2x32xf32>", "!graph.packed<q4_0, gguf, 1x64>",
        "!graph.packed<q8_0, gguf, 2x32>", "!graph.packed<q4_0, planar, 2x32>"})
    EXPECT_TRUE(failed(fromStored(view, parsed(type), report))) << type.str();
  EXPECT_EQ(errors[0], "7: 'w' has type 'tensor<2x32xf32>' but 'w' holds q4_0 "
                       "of shape 2x32");
  EXPECT_EQ(errors.size(), 4u);
}

TEST_F(EvalTest, TheLayoutOfPackedWeightsChangesNoValue) {
  parse(R"(
func.func private @f(%w: !graph.packed<q6_k, gguf, 3x512>) -> (tensor<3x512xf16>, tensor<3x512xf16>) {
  %0 = graph.repack %w : !graph.packed<q6_k, gguf, 3x512> -> !graph.packed<q6_k, planar, 3x512>
  %1 = graph.packed_dequant %0 : !graph.packed<q6_k, planar, 3x512> -> tensor<3x512xf16>
  %2 = graph.packed_dequant %w : !graph.packed<q6_k, gguf, 3x512> -> tensor<3x512xf16>
  return %1, %2 : tensor<3x512xf16>, tensor<3x512xf16>
})");
  auto repack = find<graph::RepackOp>("f");
  auto weights = *Tensor::allocatePacked(repack.getOperand().getType());
  ASSERT_EQ(weights.getNumBytes(), 6 * 210);
  for (int64_t i = 0; i < weights.getNumBytes(); ++i)
    // The f16 scale at the end of a block stays finite.
    weights.mutableData()[i] = i % 210 == 209 ? 0x31 : uint8_t(i * 37 + i / 7);
  Environment environment([](StringRef, Type, auto) { return failure(); });
  auto results = evalFunction(function("f"), weights, environment);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].bytes(), (*results)[1].bytes());
  EXPECT_NE((*results)[0].bytes(),
            ArrayRef<uint8_t>(std::vector<uint8_t>(3 * 512 * 2, 0)));
}

TEST_F(EvalTest, ConstantsOfAnotherTypeAreRefused) {
  parse(R"(
graph.const @w : tensor<2xf32>
func.func @f() -> (tensor<2xf32> {graph.name = "y"}) {
  %0 = graph.get @w : tensor<2xf32>
  return %0 : tensor<2xf32>
})");
  Environment environment(
      [&](StringRef, Type, auto) { return f32({3}, {1, 2, 3}); });
  EXPECT_TRUE(failed(evalFunction(function("f"), {}, environment)));
  EXPECT_EQ(errors, Strings{"1: 'graph.const' op has type 'tensor<2xf32>' but "
                            "was given 'tensor<3xf32>'"});
}

} // namespace
