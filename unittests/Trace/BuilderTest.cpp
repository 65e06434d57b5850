//===- BuilderTest.cpp - What a builder records and refuses ---------------===//

#include "Poot/Trace/Builder.h"
#include "Poot/Trace/Ops.h"

#include "Poot/Dialect/Graph/Passes.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace poot::trace;
using Kind = TraceError::Kind;

namespace {

class BuilderTest : public ::testing::Test {
protected:
  BuilderTest()
      : module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))) {}

  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  }

  void expectValid(const Builder &b) {
    ASSERT_FALSE(b.error()) << b.error()->toString();
    EXPECT_TRUE(succeeded(mlir::verify(*module)));
    EXPECT_TRUE(succeeded(poot::graph::verifyModule(*module)));
  }

  /// The error has KIND, comes from HELPER and mentions each of PARTS.
  void expectError(const Builder &b, Kind kind, const std::string &helper,
                   std::initializer_list<const char *> parts) {
    ASSERT_TRUE(b.error());
    EXPECT_EQ(b.error()->kind, kind) << b.error()->toString();
    EXPECT_EQ(b.error()->helper, helper) << b.error()->toString();
    for (const char *part : parts)
      EXPECT_NE(b.error()->toString().find(part), std::string::npos)
          << b.error()->toString() << " lacks " << part;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TensorType f32(Shape shape) { return {ElementType::F32, std::move(shape)}; }
TensorType i32(Shape shape) { return {ElementType::I32, std::move(shape)}; }

TEST_F(BuilderTest, RecordsEveryPrimitive) {
  Builder b(*module);
  StepShape key;
  key.capacity = 8;
  b.beginEntry("entry", &key);
  Traced x = b.input("x", f32({2, 3}));
  Traced n = b.input("n", i32({4}));
  Traced w = b.weight("w", {ElementType::Q8_0, {4, 32}});
  Traced s = b.state("s", {ElementType::F32, {kOpenExtent, 3}});
  Traced y = b.binary("add", b.unary("exp", x), b.splat(1.5, x.type()));
  y = b.select(b.compare("lt", x, y), x, b.binary("mul", y, 2.0));
  y = b.cast(b.cast(y, ElementType::BF16), ElementType::F32);
  Traced wide = b.broadcast(y, {2, 5, 3}, {0, 2});
  Traced moved = b.transpose(wide, {2, 0, 1});
  Traced part = b.slice(moved, {0, 1, 0}, {1, 1, 2}, {3, 1, 3});
  Traced joined = b.concat({b.reshape(part, {3, 3}), x}, 0);
  EXPECT_EQ(joined.type(), f32({5, 3}));
  Traced rows = b.gather(joined, n, 0);
  Traced updated = b.scatter(s, n, rows);
  b.setState("s", updated);
  Traced back = b.gather(updated, n, 0);
  Traced sum = b.reduce("sum", b.scan("max", back, 1, /*exclusive=*/true), {1});
  EXPECT_EQ(sum.type(), f32({4}));
  Builder::TopK top = b.argTopK(joined, 2);
  EXPECT_EQ(top.values.type(), f32({5, 2}));
  EXPECT_EQ(top.indices.type(), i32({5, 2}));
  Traced dense = b.packedDequant(w, ElementType::F16);
  Traced product =
      b.matmul(dense, b.transpose(dense, {1, 0}), ElementType::F32);
  EXPECT_EQ(product.type(), f32({4, 4}));
  Traced experts = b.reshape(product, {1, 4, 4});
  Traced chosen = b.indexedMatmul(product, experts, n, ElementType::F32);
  Traced bits = b.randomBits(n, {3});
  Traced index = b.iota(i32({3}), 0);
  Traced table = b.literal(std::vector<int32_t>{1, 2, 3}, {3});
  Traced real = b.literal(std::vector<float>{1, 2, 3, 4}, {4});
  b.output("sum", b.binary("add", sum, real));
  b.output("chosen", chosen);
  b.output("bits", b.binary("xor", b.binary("add", bits, index), table));
  b.output("top", top.indices);
  b.endEntry();
  expectValid(b);

  std::string text = print();
  for (const char *part :
       {"graph.const @w : !graph.packed<q8_0, gguf, 4x32>",
        "graph.state @s : tensor<?x3xf32>",
        "graph.entry = #graph.entry<phase = decode, rows = 1, tokens = 1, "
        "capacity = 8, cache = contiguous, logits = last, suffix = \"greedy\", "
        "activation = f32, kv = f32, accumulate = f32>",
        "%arg0: tensor<2x3xf32> {graph.name = \"x\"}",
        "(tensor<4xf32> {graph.name = \"sum\"}, tensor<4x4xf32>",
        "graph.slice %12 offsets [0, 1, 0] strides [1, 1, 2]",
        "dim 1 exclusive", "graph.set @s,"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(BuilderTest, EntriesShareSymbols) {
  Builder b(*module);
  for (const char *name : {"first", "second"}) {
    b.beginEntry(name);
    b.output("w",
             b.binary("add", b.weight("w", f32({2})), b.state("s", f32({2}))));
    b.endEntry();
  }
  expectValid(b);
  EXPECT_EQ(llvm::range_size(module->getOps<poot::graph::ConstOp>()), 1u);
  EXPECT_EQ(llvm::range_size(module->getOps<poot::graph::StateOp>()), 1u);
}

TEST_F(BuilderTest, FirstErrorSticks) {
  Builder b(*module);
  b.beginEntry("entry");
  Traced x = b.input("x", f32({2, 3}));
  {
    Builder::Scope block(b, "blk.7");
    Builder::Scope attention(b, "attention");
    Traced bad = b.matmul(x, x, ElementType::F32);
    EXPECT_FALSE(bad);
    EXPECT_FALSE(b.unary("exp", bad));
    EXPECT_FALSE(b.unary("exp", x)) << "nothing is recorded after an error";
  }
  b.output("y", x);
  b.endEntry();
  expectError(
      b, Kind::Shape, "matmul",
      {"blk.7/attention: matmul: ", "tensor<2x3xf32>", "contracts 3 columns"});
}

TEST_F(BuilderTest, OpsCarryTheirScope) {
  Builder b(*module);
  b.beginEntry("entry");
  {
    Builder::Scope scope(b, "blk.0");
    b.output("y", b.unary("exp", b.input("x", f32({1}))));
  }
  b.endEntry();
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto location = llvm::dyn_cast<mlir::NameLoc>(
      function.getBody().front().front().getLoc());
  ASSERT_TRUE(location);
  EXPECT_EQ(location.getName(), "blk.0");
}

struct BadCall {
  const char *name;
  Kind kind;
  const char *helper;
  std::vector<const char *> parts;
  void (*call)(Builder &b, Traced x, Traced n);
};

class BadCallTest : public BuilderTest,
                    public ::testing::WithParamInterface<BadCall> {};

TEST_P(BadCallTest, IsATypedError) {
  Builder b(*module);
  b.beginEntry("entry");
  Traced x = b.input("x", f32({2, 3}));
  Traced n = b.input("n", i32({4}));
  GetParam().call(b, x, n);
  ASSERT_TRUE(b.error());
  EXPECT_EQ(b.error()->kind, GetParam().kind) << b.error()->toString();
  EXPECT_EQ(b.error()->helper, GetParam().helper) << b.error()->toString();
  for (const char *part : GetParam().parts)
    EXPECT_NE(b.error()->message.find(part), std::string::npos)
        << b.error()->toString() << " lacks " << part;
}

const BadCall kBadCalls[] = {
    {"UnaryKind",
     Kind::Argument,
     "unary",
     {"'frobnicate'"},
     [](Builder &b, Traced x, Traced) { b.unary("frobnicate", x); }},
    {"UnaryElement",
     Kind::Shape,
     "exp",
     {"takes floats", "i32"},
     [](Builder &b, Traced, Traced n) { b.unary("exp", n); }},
    {"BinaryTypes",
     Kind::Shape,
     "add",
     {"f32[2, 3]", "i32[4]"},
     [](Builder &b, Traced x, Traced n) { b.binary("add", x, n); }},
    {"SelectCondition",
     Kind::Shape,
     "select",
     {"i32[4]", "f32[2, 3]"},
     [](Builder &b, Traced x, Traced n) { b.select(n, x, x); }},
    {"SplatRange",
     Kind::Argument,
     "splat",
     {"is no value of i8"},
     [](Builder &b, Traced, Traced) { b.splat(128, {ElementType::I8, {2}}); }},
    {"SplatFraction",
     Kind::Argument,
     "splat",
     {"is no value of i32"},
     [](Builder &b, Traced, Traced n) { b.splat(0.5, n.type()); }},
    {"LiteralCount",
     Kind::Shape,
     "literal",
     {"3 values for f32[2]"},
     [](Builder &b, Traced, Traced) {
       b.literal(std::vector<float>{1, 2, 3}, {2});
     }},
    {"NegativeExtent",
     Kind::Shape,
     "reshape",
     {"f32[-2, -3]"},
     [](Builder &b, Traced x, Traced) { b.reshape(x, {-2, -3}); }},
    {"ReshapeCount",
     Kind::Shape,
     "reshape",
     {"7 elements of 6"},
     [](Builder &b, Traced x, Traced) { b.reshape(x, {7}); }},
    {"Rank",
     Kind::Shape,
     "broadcast",
     {"is no type"},
     [](Builder &b, Traced x, Traced) {
       b.broadcast(x, {1, 1, 1, 1, 1, 1, 1, 2, 3}, {7, 8});
     }},
    {"Permutation",
     Kind::Shape,
     "transpose",
     {"no permutation"},
     [](Builder &b, Traced x, Traced) { b.transpose(x, {5, 5}); }},
    {"SliceBounds",
     Kind::Shape,
     "slice",
     {"past the extent"},
     [](Builder &b, Traced x, Traced) { b.slice(x, {1, 1}, {2, 2}); }},
    {"ConcatNothing",
     Kind::Argument,
     "concat",
     {"0 inputs"},
     [](Builder &b, Traced, Traced) { b.concat({}, 0); }},
    {"ConcatRanks",
     Kind::Shape,
     "concat",
     {"f32[2, 3]", "i32[4]"},
     [](Builder &b, Traced x, Traced n) { b.concat({x, n}, 0); }},
    {"GatherDim",
     Kind::Argument,
     "gather",
     {"dimension 2"},
     [](Builder &b, Traced x, Traced n) { b.gather(x, n, 2); }},
    {"TopK",
     Kind::Argument,
     "argTopK",
     {"k 4 of f32[2, 3]"},
     [](Builder &b, Traced x, Traced) { b.argTopK(x, 4); }},
    {"MatmulRank",
     Kind::Shape,
     "matmul",
     {"i32[4]"},
     [](Builder &b, Traced, Traced n) { b.matmul(n, n, ElementType::I32); }},
    {"PackedRows",
     Kind::Shape,
     "weight",
     {"q4_k[4, 100]"},
     [](Builder &b, Traced, Traced) {
       b.weight("w", {ElementType::Q4_K, {4, 100}});
     }},
    {"WeightType",
     Kind::Symbol,
     "weight",
     {"'w'"},
     [](Builder &b, Traced, Traced) {
       b.weight("w", f32({2}));
       b.weight("w", f32({3}));
     }},
    {"StateNamedLikeWeight",
     Kind::Symbol,
     "state",
     {"'w'"},
     [](Builder &b, Traced, Traced) {
       b.weight("w", f32({2}));
       b.state("w", f32({2}));
     }},
    {"StateTwice",
     Kind::Sequence,
     "setState",
     {"once"},
     [](Builder &b, Traced, Traced) {
       b.setState("s", b.state("s", f32({2})));
       b.setState("s", b.splat(0, f32({2})));
     }},
    {"StateUnknown",
     Kind::Symbol,
     "setState",
     {"no state 's'"},
     [](Builder &b, Traced x, Traced) { b.setState("s", x); }},
    {"SlotTwice",
     Kind::Symbol,
     "input",
     {"slot 'x'"},
     [](Builder &b, Traced, Traced) { b.input("x", f32({2})); }},
    {"SlotOfBool",
     Kind::Argument,
     "input",
     {"bool[2]"},
     [](Builder &b, Traced, Traced) {
       b.input("c", {ElementType::Bool, {2}});
     }},
    {"OutputTwice",
     Kind::Symbol,
     "output",
     {"output 'y'"},
     [](Builder &b, Traced x, Traced) {
       b.output("y", x);
       b.output("y", x);
     }},
    {"EntryWithin",
     Kind::Sequence,
     "beginEntry",
     {"has not ended"},
     [](Builder &b, Traced, Traced) { b.beginEntry("other"); }},
    {"OpOutside",
     Kind::Sequence,
     "exp",
     {"no entry"},
     [](Builder &b, Traced x, Traced) {
       b.endEntry();
       b.unary("exp", x);
     }},
    {"EntryTwice",
     Kind::Symbol,
     "beginEntry",
     {"'entry'"},
     [](Builder &b, Traced, Traced) {
       b.endEntry();
       b.beginEntry("entry");
     }},
    {"Linear",
     Kind::Shape,
     "linear",
     {"f32[2, 3]", "f32[5, 4]"},
     [](Builder &b, Traced x, Traced) {
       linear(b, x, b.weight("w", f32({5, 4})), ElementType::F32);
     }},
    {"RmsNorm",
     Kind::Shape,
     "rmsNorm",
     {"f32[2, 3]", "f32[4]"},
     [](Builder &b, Traced x, Traced) {
       rmsNorm(b, x, b.weight("w", f32({4})), 1e-5);
     }},
    {"LayerNorm",
     Kind::Shape,
     "layerNorm",
     {"f32[2, 3]", "f32[2]"},
     [](Builder &b, Traced x, Traced) {
       layerNorm(b, x, b.weight("w", f32({3})), b.weight("b", f32({2})), 1e-5);
     }},
    {"Swiglu",
     Kind::Shape,
     "swiglu",
     {"f32[2, 3]", "i32[4]"},
     [](Builder &b, Traced x, Traced n) { swiglu(b, x, n); }},
    {"Embedding",
     Kind::Shape,
     "embedding",
     {"f32[2, 3]"},
     [](Builder &b, Traced x, Traced) {
       embedding(b, x, x, ElementType::F32);
     }},
    {"Softmax",
     Kind::Shape,
     "softmax",
     {"scalar"},
     [](Builder &b, Traced, Traced) { softmax(b, b.splat(1, f32({}))); }},
    {"BroadcastTo",
     Kind::Shape,
     "broadcastTo",
     {"f32[2, 3]", "f32[2, 4]"},
     [](Builder &b, Traced x, Traced) { broadcastTo(b, x, {2, 4}); }},
    {"Rope",
     Kind::Shape,
     "rope",
     {"f32[1, 2, 3, 6]", "f32[1, 2, 8]"},
     [](Builder &b, Traced x, Traced n) {
       Traced pos = b.reshape(b.slice(n, {0}, {2}), {1, 2});
       RopeAngles angles =
           ropeAngles(b, pos, b.splat(1, f32({4})), 16, RopeForm::HalfSplit);
       rope(b, b.splat(0, f32({1, 2, 3, 6})), angles);
     }},
    {"Attention",
     Kind::Shape,
     "attention",
     {"f32[1, 1, 3, 8]", "f32[1, 4, 2, 8]"},
     [](Builder &b, Traced, Traced) {
       Traced q = b.splat(0, f32({1, 1, 3, 8}));
       Traced k = b.splat(0, f32({1, 4, 2, 8}));
       attention(b, q, k, k, b.splat(0, f32({1, 1, 4})), 1);
     }},
};

INSTANTIATE_TEST_SUITE_P(Calls, BadCallTest, ::testing::ValuesIn(kBadCalls),
                         [](const auto &info) { return info.param.name; });

TEST_F(BuilderTest, LimitsOps) {
  TraceLimits limits;
  limits.maxOps = 10;
  Builder b(*module, limits);
  b.beginEntry("entry");
  Traced x = b.input("x", f32({2}));
  for (int i = 0; i < 100; ++i)
    x = b.unary("exp", x);
  expectError(b, Kind::Limit, "exp", {"more than 10 ops", "maxOps"});
  unsigned ops = 0;
  module->walk([&](poot::graph::UnaryOp) { ++ops; });
  EXPECT_LT(ops, 10u);
}

TEST_F(BuilderTest, LimitsBytes) {
  TraceLimits limits;
  limits.maxValueBytes = 1000;
  Builder b(*module, limits);
  b.beginEntry("entry");
  Traced x = b.input("x", f32({1, 250}));
  EXPECT_TRUE(x);
  b.broadcast(x, {2, 250}, {0, 1});
  expectError(b, Kind::Limit, "broadcast", {"f32[2, 250]", "1000 bytes"});
}

TEST_F(BuilderTest, LimitsLiterals) {
  TraceLimits limits;
  limits.maxLiteralBytes = 1000;
  Builder b(*module, limits);
  b.beginEntry("entry");
  EXPECT_TRUE(b.splat(1, f32({1000}))) << "a splat is one element";
  EXPECT_TRUE(b.literal(std::vector<float>(200), {200}));
  b.literal(std::vector<float>(200), {200});
  expectError(b, Kind::Limit, "literal", {"1000 bytes", "maxLiteralBytes"});
}

TEST_F(BuilderTest, HugeShapes) {
  Builder b(*module);
  b.beginEntry("entry");
  b.input("x", f32({int64_t(1) << 40, int64_t(1) << 40}));
  expectError(b, Kind::Shape, "input", {"is no type of a graph value"});
}

TEST(StepShape, Names) {
  StepShape shape;
  shape.phase = Phase::Prefill;
  shape.tokens = 32;
  shape.capacity = 1024;
  EXPECT_EQ(getEntryName(shape), "prefill_r1_t32_c1024_greedy");
  shape = {};
  shape.capacity = 1024;
  shape.suffix = Suffix::Logits;
  EXPECT_EQ(getEntryName(shape), "decode_r1_c1024_logits");
  shape.rows = 4;
  shape.cache = CacheLayout::Paged;
  shape.logits = LogitsRows::All;
  EXPECT_EQ(getEntryName(shape), "decode_r4_c1024_paged_all_logits");
}

TEST(StepShape, Rules) {
  auto message = [](auto change) {
    StepShape shape;
    shape.capacity = 64;
    change(shape);
    return verify(shape).message();
  };
  EXPECT_EQ(message([](StepShape &) {}), "");
  EXPECT_NE(message([](StepShape &s) { s.rows = 0; }).find("rows is 0"),
            std::string::npos);
  EXPECT_NE(message([](StepShape &s) { s.tokens = 65; }).find("65 tokens"),
            std::string::npos);
  EXPECT_NE(message([](StepShape &s) {
              s.cache = CacheLayout::Paged;
              s.blockSize = 48;
            }).find("block size is 48"),
            std::string::npos);
  EXPECT_NE(
      message([](StepShape &s) { s.logits = LogitsRows::All; }).find("greedy"),
      std::string::npos);
  EXPECT_NE(message([](StepShape &s) {
              s.numerics.kv = ElementType::Q8_0;
            }).find("kv type is q8_0"),
            std::string::npos);
}

} // namespace
