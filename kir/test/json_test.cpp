// .kir.json: what is written is read back to the same bytes, constants lose no
// bit, and what breaks a rule is refused with its place.

#include "poot/kir/json.h"
#include "poot/kir/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace {

using namespace poot::kir;

/// A kernel with a loop: out[i] = in[i] + in[i] for all i below n.
const char *const kLoop = R"({
  "format": "poot-kir",
  "version": 1,
  "files": ["k.cpp"],
  "locations": [
    null,
    [0, 3, 7],
    [0, 9, 1, 9, 12],
    {"callee": 1, "caller": 2},
    {"name": "n", "of": 0},
    {"fused": [1, 4]}
  ],
  "functions": [
    {
      "kernel": "loop",
      "workgroup_size": [1, 1, 1],
      "attributes": {"key": "value"},
      "loc": 1,
      "blocks": [
        {
          "arguments": [[0, "buffer<f32, read>", 0], [1, "buffer<f32, write>", 0], [2, "i32", 4]],
          "ops": [
            {"op": "arith.constant", "value": 0, "results": [[3, "i32"]], "loc": 0},
            {"op": "arith.constant", "value": 1, "results": [[4, "i32"]], "loc": 0},
            {"op": "cf.br", "successors": [[1, 3]], "loc": 0}
          ]
        },
        {
          "arguments": [[5, "i32", 0]],
          "ops": [
            {"op": "arith.cmpi", "predicate": "slt", "operands": [5, 2], "results": [[6, "i1"]], "loc": 3},
            {"op": "cf.cond_br", "operands": [6], "successors": [[2], [3]], "loc": 3}
          ]
        },
        {
          "arguments": [],
          "ops": [
            {"op": "kernel.load", "operands": [0, 5], "results": [[7, "f32"]], "loc": 5},
            {"op": "arith.addf", "fastmath": ["nnan", "contract"], "operands": [7, 7], "results": [[8, "f32"]], "loc": 5},
            {"op": "kernel.store", "operands": [8, 1, 5], "loc": 5},
            {"op": "arith.addi", "overflow": ["nsw"], "operands": [5, 4], "results": [[9, "i32"]], "loc": 5},
            {"op": "cf.br", "successors": [[1, 9]], "loc": 0}
          ]
        },
        {
          "arguments": [],
          "ops": [
            {"op": "kernel.return", "loc": 0}
          ]
        }
      ]
    }
  ]
}
)";

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

/// The message that reading TEXT gives, without the name.
std::string errorOf(const std::string &text) {
  auto module = readJson(text, "k");
  EXPECT_FALSE(module);
  std::string message = module.status().message();
  EXPECT_EQ(message.substr(0, 3), "k: ");
  return message.substr(message.size() < 3 ? message.size() : 3);
}

TEST(Json, KeepsItsBytes) {
  auto module = readJson(kLoop, "k");
  ASSERT_TRUE(module) << module.status().message();
  EXPECT_EQ(writeJson(*module), kLoop);

  const Function *kernel = module->findKernel("loop");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(module->findHookBody("loop"), nullptr);
  EXPECT_EQ(countBuffers(*module, *kernel), 2u);
  const Op &add = kernel->body.blocks[2].ops[1];
  EXPECT_EQ(add.opcode, Opcode::ArithAddF);
  EXPECT_EQ(add.number(AttributeKey::FastMath), NoNaN | Contract);

  std::vector<Frame> path =
      callPath(*module, kernel->body.blocks[1].ops[0].location);
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].line, 3u);
  EXPECT_EQ(path[0].column, 7u);
  EXPECT_EQ(path[1].line, 9u);
  EXPECT_EQ(path[1].file, "k.cpp");
}

TEST(Json, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(errorOf("{"), "is no JSON: wrong at byte 2");
  EXPECT_EQ(errorOf("[]"), "is no KIR; its \"format\" would be \"poot-kir\"");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"version\": 1", "\"version\": 2")),
            "has version 2 of KIR; this build reads 1");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"loc\": 1,", "\"loc\": 1, \"a\": 1,")),
            "functions[0]: has the key 'a'; allowed are kernel, private, "
            "workgroup_size, attributes, fill, loc, blocks");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"loc\": 1,", "\"loc\": 1, \"loc\": 2,")),
            "the key 'loc' stands twice in an object");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"slt\"", "\"lt\"")),
            "functions[0].blocks[1].ops[0].predicate: is 'lt'; allowed are eq, "
            "ne, slt, sle, sgt, sge, ult, ule, ugt, uge");
  EXPECT_EQ(errorOf(replaced(kLoop, "arith.addi", "arith.addj")),
            "functions[0].blocks[2].ops[3]: has the op 'arith.addj', which KIR "
            "doesn't have");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"overflow\": [\"nsw\"]", "\"x\": 0")),
            "functions[0].blocks[2].ops[3]: has a key that 'arith.addi' "
            "doesn't take; allowed are op, operands, results, successors, loc, "
            "overflow");
  EXPECT_EQ(errorOf(replaced(kLoop, "[9, \"i32\"]", "[10, \"i32\"]")),
            "functions[0].blocks[2].ops[3].results[0]: defines value 10; "
            "values are numbered in the order of their definitions, so this is "
            "9");
  EXPECT_EQ(errorOf(replaced(kLoop, "buffer<f32, read>", "buffer<f32,read>")),
            "functions[0].blocks[0].arguments[0][1]: 'buffer<f32,read>' is no "
            "type; types are spelt as in f32, vector<4xf16>, buffer<f32, "
            "read>, workgroup<64xf32>, table<4xi32>, var<2x3xf32>, "
            "fragment<16x16xf16, a>");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"value\": 1,", "\"value\": 2147483648,")),
            "functions[0].blocks[0].ops[1].value: is no i32; allowed are true "
            "and false for i1, signed integers in range, numbers with a point "
            "or exponent for floating point, and for what is not finite its "
            "bits as in \"0x7FC00000\"");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"callee\": 1", "\"callee\": 3")),
            "locations[3].callee: is no integer of 0 to 2");
}

/// Each entry of a long list costs the same.
TEST(Json, TakesTimeInProportion) {
  std::string locations;
  for (int i = 0; i < 200000; ++i)
    locations += R"({"callee": 1, "caller": 2}, )";
  auto module = readJson(replaced(kLoop, R"({"name": "n", "of": 0},)",
                                  locations + R"({"name": "n", "of": 0},)"),
                         "k");
  // The last location fuses what is a call now.
  ASSERT_TRUE(module) << module.status().message();
}

TEST(Json, RefusesWhatIsNoKernel) {
  EXPECT_EQ(
      errorOf(replaced(kLoop, "\"operands\": [5, 2]", "\"operands\": [5, 8]")),
      "kernel 'loop': block 1, op 0: 'arith.cmpi' has the type (i32, "
      "f32) -> (i1); two equal types of integers give i1");
  EXPECT_EQ(
      errorOf(replaced(kLoop, "\"operands\": [5, 2]", "\"operands\": [5, 9]")),
      "kernel 'loop': block 1, op 0: 'arith.cmpi' uses value 9, which "
      "isn't defined on every way here");
  EXPECT_EQ(errorOf(replaced(kLoop, "[[2], [3]]", "[[2], [0]]")),
            "kernel 'loop': block 1, op 1: 'cf.cond_br' leads to block 0; "
            "allowed are 1 to 3, since none leads to the entry");
  EXPECT_EQ(errorOf(replaced(kLoop, "[8, 1, 5]", "[8, 0, 5]")),
            "kernel 'loop': block 2, op 2: 'kernel.store' writes to "
            "buffer<f32, read>");
  EXPECT_EQ(errorOf(replaced(kLoop, "\"op\": \"kernel.return\"",
                             "\"op\": \"kernel.barrier\"")),
            "kernel 'loop': block 3, op 0: 'kernel.barrier' is no terminator "
            "and ends a block");
  EXPECT_EQ(errorOf(replaced(kLoop, "[1, 1, 1]", "[1, 0, 1]")),
            "kernel 'loop': has the workgroup size 0; allowed are 1 to 65535");
}

/// A kernel whose only op beside its return is a constant of that type.
std::string withConstant(const std::string &type, const std::string &value) {
  std::string op =
      type.rfind("table", 0) == 0 ? "kernel.constant_table" : "arith.constant";
  return R"({"format": "poot-kir", "version": 1, "files": [],
"locations": [null], "functions": [{"kernel": "k", "workgroup_size": [1, 1, 1],
"loc": 0, "blocks": [{"arguments": [], "ops": [{"op": ")" +
         op + R"(", "value": )" + value + R"(, "results": [[0, ")" + type +
         R"("]], "loc": 0}, {"op": "kernel.return", "loc": 0}]}]}]})";
}

/// Reads the constant's bytes and what is written of it again.
std::pair<std::vector<uint8_t>, std::string>
constantOf(const std::string &type, const std::string &value) {
  auto module = readJson(withConstant(type, value), "k");
  EXPECT_TRUE(module) << module.status().message();
  if (!module)
    return {};
  std::string text = writeJson(*module);
  size_t from = text.find("\"value\": ") + 9, to = text.find(", \"results\"");
  auto again = readJson(text, "k");
  EXPECT_TRUE(again);
  EXPECT_EQ(writeJson(*again), text);
  return {module->functions[0].body.blocks[0].ops[0].attributes[0].data,
          text.substr(from, to - from)};
}

template <class T> std::vector<uint8_t> bytesOf(std::vector<T> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Json, KeepsEveryBitOfConstants) {
  auto expect = [](const std::string &type, const std::string &value,
                   const std::vector<uint8_t> &bytes, std::string again = {}) {
    auto [data, text] = constantOf(type, value);
    EXPECT_EQ(data, bytes) << type << " " << value;
    EXPECT_EQ(text, again.empty() ? value : again) << type;
  };
  expect("i1", "true", {1});
  expect("i8", "-128", {0x80});
  expect("i16", "-2", {0xFE, 0xFF});
  expect("i64", "-9223372036854775808", bytesOf<int64_t>({INT64_MIN}));
  expect("index", "7", bytesOf<int64_t>({7}));
  expect("f32", "-0.0", bytesOf<float>({-0.0f}));
  expect("f32", "0.1", bytesOf<float>({0.1f}));
  expect("f32", "1e-45", bytesOf<float>({1e-45f}));
  expect("f32", "\"0x7FC00001\"", bytesOf<uint32_t>({0x7FC00001}));
  expect("f64", "0.1", bytesOf<double>({0.1}));
  expect("f64", "5e-324", bytesOf<double>({5e-324}));
  expect("f64", "1.7976931348623157e+308",
         bytesOf<double>({std::numeric_limits<double>::max()}));
  expect("f16", "65504.0", bytesOf<uint16_t>({0x7BFF}));
  expect("f16", "\"0xFC00\"", bytesOf<uint16_t>({0xFC00}));
  // Half of the smallest number rounds to even, which is zero.
  expect("f16", "2.98023223876953125e-8", bytesOf<uint16_t>({0}), "0.0");
  expect("bf16", "1.0", bytesOf<uint16_t>({0x3F80}));
  expect("vector<2xf32>", "[1.0, 2.5]", bytesOf<float>({1, 2.5f}));
  expect("vector<4xi8>", "[3]", {3});
  expect("vector<2xi1>", "[true, false]", {1, 0});
  expect("table<3xi16>", "[1, 2, -3]", bytesOf<int16_t>({1, 2, -3}));

  auto refused = [](const std::string &type, const std::string &value) {
    EXPECT_FALSE(readJson(withConstant(type, value), "k")) << type << value;
  };
  refused("i1", "1");
  refused("i8", "128");
  refused("i32", "1.0");
  refused("i64", "9223372036854775808");
  refused("f32", "1");
  refused("f32", "1e39");
  refused("f16", "65520.0");
  refused("f32", "\"0x3F800000\""); // Finite: it has a decimal spelling.
  refused("f32", "\"0x7fc00000\"");
  refused("vector<2xf32>", "1.0");
  refused("vector<3xf32>", "[1.0, 2.0]");
  refused("vector<2xf32>", "[1.0, 1.0]"); // Given once.
  refused("table<2147483648xf32>", "[1.0]");
  refused("buffer<f32, read>", "[1.0]");
}

TEST(Json, EveryHalfAndBfloatKeepsItsBits) {
  for (const char *type : {"f16", "bf16"}) {
    std::string list = "[";
    std::vector<uint16_t> bits;
    for (unsigned i = 0; i < 0x10000; ++i) {
      char text[16];
      snprintf(text, sizeof(text), "\"0x%04X\"", i);
      unsigned infinity = type[0] == 'f' ? 0x7C00 : 0x7F80;
      if ((i & infinity) != infinity)
        continue;
      list += (list.size() > 1 ? ", " : "") + std::string(text);
      bits.push_back(static_cast<uint16_t>(i));
    }
    auto [data, text] = constantOf(
        "table<" + std::to_string(bits.size()) + "x" + type + ">", list + "]");
    EXPECT_EQ(data, bytesOf(bits));
    EXPECT_EQ(text, list + "]");

    // The finite ones, through a module made by hand.
    auto module = readJson(
        withConstant("table<2x" + std::string(type) + ">", "[1.0, 2.0]"), "k");
    ASSERT_TRUE(module);
    bits.clear();
    for (unsigned i = 0; i < 0x10000; ++i)
      bits.push_back(static_cast<uint16_t>(i));
    module->types[0].extents[0] = bits.size();
    module->functions[0].body.blocks[0].ops[0].attributes[0].data =
        bytesOf(bits);
    std::string written = writeJson(*module);
    auto again = readJson(written, "k");
    ASSERT_TRUE(again) << again.status().message();
    EXPECT_EQ(again->functions[0].body.blocks[0].ops[0].attributes[0].data,
              bytesOf(bits));
  }
}

TEST(Json, TypesHaveOneSpelling) {
  for (const char *text :
       {"i1", "index", "bf16", "vector<3xi64>", "vector<1xf16>",
        "buffer<vector<4xf16>, read_write>",
        "buffer<struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read>",
        "workgroup<64xvector<2xf32>>", "table<16xi8>", "var<f32>",
        "var<4x8xvector<3xi1>>", "var<2xfragment<16x16xf16, a>>",
        "fragment<8x32xf32, accumulator>"}) {
    auto type = parseType(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(toString(*type), text);
  }
  for (const char *text :
       {"", "i2", "vector<0xf32>", "vector<04xf32>", "vector<4 x f32>",
        "buffer<f32>", "buffer<struct<0: f32 at 0>, read>",
        "buffer<struct<4: f32 x 1 at 0>, read>", "f32 ",
        "workgroup<99999999999999999999xf32>", "fragment<8x8xf32, c>"})
    EXPECT_FALSE(parseType(text)) << text;
}

/// The dominators are right: compared with reachability without a block, on
/// graphs of up to 12 blocks with values that are used everywhere.
TEST(Verify, DominanceEqualsReachability) {
  uint64_t state = 1;
  auto next = [&](uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33) % below;
  };
  int agreed[2] = {0, 0};
  for (int round = 0; round < 3000; ++round) {
    uint32_t count = 2 + next(11);
    Module module;
    module.types = {*parseType("i1")};
    module.locations.emplace_back();
    Function &function = module.functions.emplace_back();
    function.name = "k";
    Body &body = function.body;
    body.blocks.resize(count);
    // Block 1 + i defines value i; some block uses one of another.
    std::vector<std::vector<uint32_t>> targets(count);
    auto constant = [&](uint32_t block) {
      Op op;
      op.opcode = Opcode::UbPoison;
      op.results = {static_cast<ValueId>(body.values.size())};
      body.values.emplace_back();
      body.blocks[block].ops.push_back(op);
    };
    uint32_t from = next(count), to = next(count);
    for (uint32_t b = 0; b < count; ++b) {
      if (b == to && b != from) {
        Op use;
        use.opcode = Opcode::KernelSubgroupAny;
        use.operands = {from < to ? from : from + 1};
        use.results = {static_cast<ValueId>(body.values.size())};
        body.values.emplace_back();
        body.blocks[b].ops.push_back(use);
      }
      constant(b);
      Op end;
      uint32_t ways = next(3);
      end.opcode = ways == 0   ? Opcode::KernelReturn
                   : ways == 1 ? Opcode::CfBr
                               : Opcode::CfCondBr;
      if (ways == 2)
        end.operands = {body.blocks[b].ops.back().results[0]};
      for (uint32_t w = 0; w < ways; ++w) {
        targets[b].push_back(1 + next(count - 1));
        end.successors.push_back({targets[b].back(), {}});
      }
      body.blocks[b].ops.push_back(end);
    }
    // Values before the use in block order keep their number, those after it
    // are one higher; the use itself is value `to`.
    auto reaches = [&](uint32_t without, bool block) {
      std::vector<bool> seen(count);
      std::vector<uint32_t> stack;
      if (!block || without != 0)
        stack.push_back(0);
      while (!stack.empty()) {
        uint32_t b = stack.back();
        stack.pop_back();
        if (seen[b] || (block && b == without))
          continue;
        seen[b] = true;
        for (uint32_t t : targets[b])
          stack.push_back(t);
      }
      return static_cast<bool>(seen[to]);
    };
    bool expected = from == to || !reaches(0, false) || !reaches(from, true);
    auto status = verify(module);
    EXPECT_EQ(status.ok(), expected) << status.message() << "\n" << round;
    ++agreed[expected];
  }
  EXPECT_GT(agreed[0], 100);
  EXPECT_GT(agreed[1], 100);
}

} // namespace
