// Each family of ops against values that are computed here another way:
// integers in 128 bits, floats by exact rationals or the C library in f64,
// vectors and memory element by element.

#include "kir_builder.h"

#include "poot/weights/half.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace poot;
using namespace poot::test;
using kir::AttributeKey;
using kir::Opcode;
using Wide = __int128;

namespace {

/// out[i] = op(a[i], b[i]) for each work-item of a workgroup.
template <class T, class R = T>
std::vector<R>
apply(Opcode opcode, const std::string &type, const std::string &result,
      const std::vector<T> &a, const std::vector<T> &b,
      std::vector<kir::Attribute> attributes = {}, bool sanitize = false) {
  KirBuilder k({static_cast<uint32_t>(a.size()), 1, 1});
  auto x = k.argument("buffer<" + type + ", read>");
  auto y = k.argument("buffer<" + type + ", read>");
  const bool isTest = result == "i1";
  auto z = k.argument("buffer<" + (isTest ? "i8" : result) + ", write>");
  auto i = k.localId();
  std::vector<kir::ValueId> operands = {k.load(x, i, type)};
  if (!b.empty())
    operands.push_back(k.load(y, i, type));
  auto value = k.op(opcode, operands, result, std::move(attributes));
  if (isTest)
    value = k.op(Opcode::ArithExtUI, {value}, "i8");
  k.store(value, z, i);
  k.end();
  interp::ProgramOptions options;
  options.sanitize = sanitize;
  auto program = k.program(options);
  Array<T> ins(a), others(b.empty() ? a : b);
  Array<R> outs(a.size());
  if (program)
    run(*program, {ins.argument(), others.argument(), outs.argument()});
  return outs.get();
}

/// All pairs of some values that are near the ends and in the middle.
template <class T> void pairs(std::vector<T> &a, std::vector<T> &b) {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           7,
                           static_cast<T>(-1),
                           static_cast<T>(-2),
                           static_cast<T>(-7),
                           L::min(),
                           L::max(),
                           static_cast<T>(L::max() - 1),
                           static_cast<T>(L::min() + 1),
                           static_cast<T>(L::max() / 3)};
  for (T x : values)
    for (T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
}

template <class T> void checkIntegers(const std::string &type) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  std::vector<T> a, b;
  pairs(a, b);
  struct Case {
    Opcode opcode;
    std::function<Wide(Wide, Wide, Wide, Wide)> expected; // a, b, as unsigned
    std::function<bool(Wide, Wide)> defined;
  };
  auto always = [](Wide, Wide) { return true; };
  auto divides = [](Wide x, Wide y) {
    return y != 0 && !(y == -1 && x == std::numeric_limits<T>::min());
  };
  auto shifts = [](Wide, Wide y) { return y >= 0 && y < Wide(bits); };
  auto floorDiv = [](Wide x, Wide y) {
    Wide q = x / y;
    // The largest q with q * y <= x for y > 0, and >= for y < 0.
    if (y > 0) {
      while (q * y > x)
        --q;
    } else {
      while (q * y < x)
        --q;
    }
    return q;
  };
  const Case cases[] = {
      {Opcode::ArithAddI, [](Wide x, Wide y, Wide, Wide) { return x + y; },
       always},
      {Opcode::ArithSubI, [](Wide x, Wide y, Wide, Wide) { return x - y; },
       always},
      {Opcode::ArithMulI, [](Wide x, Wide y, Wide, Wide) { return x * y; },
       always},
      {Opcode::ArithDivSI, [](Wide x, Wide y, Wide, Wide) { return x / y; },
       divides},
      {Opcode::ArithRemSI, [](Wide x, Wide y, Wide, Wide) { return x % y; },
       divides},
      {Opcode::ArithDivUI, [](Wide, Wide, Wide x, Wide y) { return x / y; },
       [](Wide, Wide y) { return y != 0; }},
      {Opcode::ArithRemUI, [](Wide, Wide, Wide x, Wide y) { return x % y; },
       [](Wide, Wide y) { return y != 0; }},
      {Opcode::ArithCeilDivUI,
       [](Wide, Wide, Wide x, Wide y) { return (x + y - 1) / y; },
       [](Wide, Wide y) { return y != 0; }},
      {Opcode::ArithFloorDivSI,
       [&](Wide x, Wide y, Wide, Wide) { return floorDiv(x, y); }, divides},
      {Opcode::ArithCeilDivSI,
       [&](Wide x, Wide y, Wide, Wide) { return -floorDiv(-x, y); }, divides},
      {Opcode::ArithShLI,
       [](Wide, Wide, Wide x, Wide y) { return x * (Wide(1) << int(y)); },
       shifts},
      {Opcode::ArithShRUI,
       [](Wide, Wide, Wide x, Wide y) { return x / (Wide(1) << int(y)); },
       shifts},
      {Opcode::ArithShRSI,
       [&](Wide x, Wide y, Wide, Wide) {
         return floorDiv(x, Wide(1) << int(y));
       },
       shifts},
      {Opcode::ArithMinSI,
       [](Wide x, Wide y, Wide, Wide) { return std::min(x, y); }, always},
      {Opcode::ArithMaxSI,
       [](Wide x, Wide y, Wide, Wide) { return std::max(x, y); }, always},
      {Opcode::ArithMinUI,
       [](Wide, Wide, Wide x, Wide y) { return std::min(x, y); }, always},
      {Opcode::ArithMaxUI,
       [](Wide, Wide, Wide x, Wide y) { return std::max(x, y); }, always},
      {Opcode::ArithXOrI,
       [](Wide, Wide, Wide x, Wide y) { return x + y - 2 * (x & y); }, always},
  };
  for (const Case &c : cases) {
    std::vector<T> out = apply(c.opcode, type, type, a, b);
    for (size_t i = 0; i != a.size(); ++i) {
      if (!c.defined(a[i], b[i]))
        continue;
      auto expected = static_cast<T>(static_cast<U>(
          c.expected(a[i], b[i], static_cast<U>(a[i]), static_cast<U>(b[i]))));
      ASSERT_EQ(out[i], expected)
          << kir::getInfo(c.opcode).spelling << " " << type << " "
          << int64_t(a[i]) << ", " << int64_t(b[i]);
    }
  }
  std::vector<T> leading = apply(Opcode::MathCtlz, type, type, a, {});
  std::vector<T> trailing = apply(Opcode::MathCttz, type, type, a, {});
  std::vector<T> ones = apply(Opcode::MathCtPop, type, type, a, {});
  for (size_t i = 0; i != a.size(); ++i) {
    unsigned zeros = 0, low = 0, count = 0;
    while (zeros != bits && !(static_cast<U>(a[i]) >> (bits - 1 - zeros) & 1))
      ++zeros;
    while (low != bits && !(static_cast<U>(a[i]) >> low & 1))
      ++low;
    for (unsigned bit = 0; bit != bits; ++bit)
      count += static_cast<U>(a[i]) >> bit & 1;
    EXPECT_EQ(unsigned(leading[i]), zeros);
    EXPECT_EQ(unsigned(trailing[i]), low);
    EXPECT_EQ(unsigned(ones[i]), count);
  }
  for (int p = 0; p != 10; ++p) {
    auto predicate = static_cast<kir::IntPredicate>(p);
    auto out =
        apply<T, uint8_t>(Opcode::ArithCmpI, type, "i1", a, b,
                          {enumerator(AttributeKey::IntPredicate, predicate)});
    for (size_t i = 0; i != a.size(); ++i) {
      auto x = static_cast<U>(a[i]), y = static_cast<U>(b[i]);
      const bool expected[] = {
          a[i] == b[i], a[i] != b[i],      a[i]<b[i], a[i] <= b[i], a[i]> b[i],
          a[i] >= b[i], x<y, x <= y, x> y, x >= y};
      EXPECT_EQ(out[i], expected[p]) << p;
    }
  }
}

TEST(Interpreter, Integers) {
  checkIntegers<int8_t>("i8");
  checkIntegers<int16_t>("i16");
  checkIntegers<int32_t>("i32");
  checkIntegers<int64_t>("i64");
}

TEST(Interpreter, WideProducts) {
  std::vector<int64_t> a, b;
  pairs(a, b);
  for (bool isSigned : {true, false}) {
    KirBuilder k({static_cast<uint32_t>(a.size()), 1, 1});
    auto x = k.argument("buffer<i64, read>"),
         y = k.argument("buffer<i64, read>");
    auto z = k.argument("buffer<i64, write>"),
         w = k.argument("buffer<i64, write>");
    auto i = k.localId();
    auto parts = k.ops(
        isSigned ? Opcode::ArithMulSIExtended : Opcode::ArithMulUIExtended,
        {k.load(x, i, "i64"), k.load(y, i, "i64")}, {"i64", "i64"});
    k.store(parts[0], z, i);
    k.store(parts[1], w, i);
    k.end();
    Array<int64_t> xs(a), ys(b), low(a.size()), high(a.size());
    run(*k.program(),
        {xs.argument(), ys.argument(), low.argument(), high.argument()});
    for (size_t n = 0; n != a.size(); ++n) {
      auto product =
          isSigned
              ? static_cast<unsigned __int128>(Wide(a[n]) * b[n])
              : static_cast<unsigned __int128>(uint64_t(a[n])) * uint64_t(b[n]);
      EXPECT_EQ(low.get()[n], static_cast<int64_t>(product));
      EXPECT_EQ(high.get()[n], static_cast<int64_t>(product >> 64));
    }
  }
}

/// Every f16 narrowed from f64 is the nearest one, found by search.
TEST(Interpreter, NarrowingRoundsOnce) {
  std::vector<double> values;
  for (uint32_t h = 0; h < 0x7c00; h += 37) {
    double here = weights::f16ToF32(static_cast<uint16_t>(h));
    double next =
        h == 0x7bff ? 65536.0 : weights::f16ToF32(static_cast<uint16_t>(h + 1));
    double middle = (here + next) / 2; // Exact.
    // Just off the middle by less than f32 can tell.
    for (double v : {here, middle, std::nextafter(middle, 0.0),
                     std::nextafter(middle, 1e9)})
      values.push_back(v);
  }
  for (size_t first = 0; first < values.size(); first += 1000) {
    std::vector<double> part(
        values.begin() + static_cast<long>(first),
        values.begin() +
            static_cast<long>(std::min(values.size(), first + 1000)));
    auto out =
        apply<double, uint16_t>(Opcode::ArithTruncF, "f64", "f16", part, {});
    for (size_t i = 0; i != part.size(); ++i) {
      // Candidates: the largest below and the next.
      uint16_t low = 0;
      uint32_t from = 0, to = 0x7c00;
      while (from + 1 < to) {
        uint32_t mid = (from + to) / 2;
        (weights::f16ToF32(static_cast<uint16_t>(mid)) <= part[i] ? from : to) =
            mid;
      }
      low = static_cast<uint16_t>(from);
      double below = weights::f16ToF32(low);
      double above = low == 0x7bff ? 65536.0 : weights::f16ToF32(low + 1);
      double down = part[i] - below, up = above - part[i];
      uint16_t expected = down < up   ? low
                          : up < down ? low + 1
                          : low % 2   ? low + 1
                                      : low;
      ASSERT_EQ(out[i], expected) << part[i];
    }
  }
}

TEST(Interpreter, FloatArithmetic) {
  const float inf = INFINITY, nan = NAN;
  std::vector<float> values = {0.0f,   -0.0f,  1.0f, -1.5f, 3.1f, 1e30f,
                               1e-40f, -7.25f, inf,  -inf,  nan,  0.3f};
  std::vector<float> a, b;
  for (float x : values)
    for (float y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  auto same = [](float x, float y) {
    return (x != x && y != y) || weights::f32ToBits(x) == weights::f32ToBits(y);
  };
  // f64 has twice the places and two more, so rounding its result is exact.
  auto check = [&](Opcode opcode, auto expected) {
    std::vector<float> out = apply(opcode, "f32", "f32", a, b);
    for (size_t i = 0; i != a.size(); ++i)
      EXPECT_TRUE(same(
          out[i], static_cast<float>(expected(double(a[i]), double(b[i])))))
          << kir::getInfo(opcode).spelling << " " << a[i] << ", " << b[i]
          << ": " << out[i];
  };
  check(Opcode::ArithAddF, [](double x, double y) { return x + y; });
  check(Opcode::ArithSubF, [](double x, double y) { return x - y; });
  check(Opcode::ArithMulF, [](double x, double y) { return x * y; });
  check(Opcode::ArithDivF, [](double x, double y) { return x / y; });
  check(Opcode::ArithMaximumF, [](double x, double y) {
    if (x != x || y != y)
      return double(NAN);
    return x > y || (x == y && !std::signbit(x)) ? x : y;
  });
  check(Opcode::ArithMinNumF, [](double x, double y) {
    if (x != x || y != y)
      return x != x ? y : x;
    return x < y || (x == y && std::signbit(x)) ? x : y;
  });
  // -NaN and payloads: signs are bits.
  check(Opcode::MathCopySign,
        [](double x, double y) { return std::copysign(x, y); });
  for (int p = 0; p != 16; ++p) {
    auto out = apply<float, uint8_t>(Opcode::ArithCmpF, "f32", "i1", a, b,
                                     {number(AttributeKey::FloatPredicate, p)});
    for (size_t i = 0; i != a.size(); ++i) {
      // Bits 1, 2, 4: equal, greater, less; 8: unordered.
      int which = a[i] == b[i] ? 1 : a[i] > b[i] ? 2 : a[i] < b[i] ? 4 : 8;
      int holds = p < 8 || p == 15 ? p : p == 14 ? 8 : p + 1;
      EXPECT_EQ(out[i], (holds & which) != 0)
          << p << " " << a[i] << " " << b[i];
    }
  }
}

TEST(Interpreter, MathFunctions) {
  std::vector<double> a;
  for (int i = -40; i != 60; ++i)
    a.push_back(i * 0.173 + 0.05);
  struct Case {
    Opcode opcode;
    double (*function)(double);
  };
  const Case cases[] = {
      {Opcode::MathExp, [](double x) { return std::pow(M_E, x); }},
      {Opcode::MathExp2, [](double x) { return std::pow(2, x); }},
      {Opcode::MathTanh,
       [](double x) { return (std::exp(2 * x) - 1) / (std::exp(2 * x) + 1); }},
      {Opcode::MathSin, [](double x) { return std::cos(x - M_PI / 2); }},
      {Opcode::MathTan, [](double x) { return std::sin(x) / std::cos(x); }},
      {Opcode::MathCbrt,
       [](double x) {
         return std::copysign(std::pow(std::fabs(x), 1.0 / 3), x);
       }},
      {Opcode::MathErfc, [](double x) { return 1 - std::erf(x); }},
      {Opcode::MathRsqrt, [](double x) { return std::pow(x, -0.5); }},
      {Opcode::MathLog2, [](double x) { return std::log(x) / std::log(2.0); }},
      {Opcode::MathSqrt, [](double x) { return std::pow(x, 0.5); }},
      {Opcode::MathExpM1, [](double x) { return std::exp(x) - 1; }},
      {Opcode::MathSinh,
       [](double x) { return (std::exp(x) - std::exp(-x)) / 2; }},
  };
  std::vector<float> narrow(a.begin(), a.end());
  for (const Case &c : cases) {
    auto out = apply(c.opcode, "f64", "f64", a, {});
    auto outs = apply(c.opcode, "f32", "f32", narrow, {});
    for (size_t i = 0; i != a.size(); ++i) {
      double expected = c.function(a[i]);
      if (expected != expected) {
        EXPECT_TRUE(std::isnan(out[i])) << a[i];
        continue;
      }
      EXPECT_NEAR(out[i], expected, 1e-12 * std::max(1.0, std::fabs(expected)))
          << kir::getInfo(c.opcode).spelling << " " << a[i];
      EXPECT_NEAR(outs[i], c.function(narrow[i]),
                  4e-7 * std::max(1.0, std::fabs(expected)))
          << kir::getInfo(c.opcode).spelling << " " << a[i];
    }
  }
  const std::vector<float> halves = {-2.5f, -1.5f, -0.5f, 0.5f,
                                     1.5f,  2.5f,  2.4f};
  EXPECT_EQ(apply(Opcode::MathRound, "f32", "f32", halves, {}),
            (std::vector<float>{-3, -2, -1, 1, 2, 3, 2}));
  EXPECT_EQ(apply(Opcode::MathRoundEven, "f32", "f32", halves, {}),
            (std::vector<float>{-2, -2, -0.f, 0, 2, 2, 2}));
}

TEST(Interpreter, Conversions) {
  const std::vector<float> a = {1.9f, -1.9f, 3e9f, -3e9f, NAN, 127.5f, -128.9f};
  EXPECT_EQ((apply<float, int32_t>(Opcode::ArithFPToSI, "f32", "i32", a, {})),
            (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, 127, -128}));
  EXPECT_EQ((apply<float, uint8_t>(Opcode::ArithFPToUI, "f32", "i8", a, {})),
            (std::vector<uint8_t>{1, 0, 255, 0, 0, 127, 0}));
  const std::vector<int64_t> big = {
      (int64_t(1) << 24) + 1, -3, INT64_MAX, 2049, 65519, 65520};
  EXPECT_EQ((apply<int64_t, float>(Opcode::ArithSIToFP, "i64", "f32", big, {})),
            (std::vector<float>{16777216.0f, -3, 9223372036854775808.0f, 2049,
                                65519, 65520}));
  auto half =
      apply<int64_t, uint16_t>(Opcode::ArithSIToFP, "i64", "f16", big, {});
  EXPECT_EQ(half[3], weights::f32ToF16(2048));
  EXPECT_EQ(half[4], 0x7bff); // Below the middle of 65504 and 65536.
  EXPECT_EQ(half[5], 0x7c00);
  const std::vector<int8_t> small = {-1, 5, -128};
  EXPECT_EQ(
      (apply<int8_t, int32_t>(Opcode::ArithExtSI, "i8", "i32", small, {})),
      (std::vector<int32_t>{-1, 5, -128}));
  EXPECT_EQ(
      (apply<int8_t, int32_t>(Opcode::ArithExtUI, "i8", "i32", small, {})),
      (std::vector<int32_t>{255, 5, 128}));
  // 1 + 2^-12 lies between the f16s 1 and 1 + 2^-10.
  const std::vector<float> between = {1 + 0x1p-12f, -1 - 0x1p-12f};
  struct Mode {
    kir::Rounding rounding;
    uint16_t up, down;
  };
  for (Mode mode : {Mode{kir::Rounding::Upward, 0x3c01, 0xbc00},
                    Mode{kir::Rounding::Downward, 0x3c00, 0xbc01},
                    Mode{kir::Rounding::TowardZero, 0x3c00, 0xbc00},
                    Mode{kir::Rounding::ToNearestEven, 0x3c00, 0xbc00}})
    EXPECT_EQ((apply<float, uint16_t>(
                  Opcode::ArithTruncF, "f32", "f16", between, {},
                  {enumerator(AttributeKey::Rounding, mode.rounding)})),
              (std::vector<uint16_t>{mode.up, mode.down}));
}

TEST(Interpreter, VectorsAndStructures) {
  KirBuilder k({4, 1, 1});
  auto in = k.argument("buffer<vector<4xi32>, read>");
  auto record =
      k.argument("buffer<struct<16: f32 at 0, i16 x 4 at 8>, read_write>");
  auto out = k.argument("buffer<vector<4xi32>, write>");
  auto i = k.localId();
  auto v = k.load(in, i, "vector<4xi32>");
  auto reversed = k.op(Opcode::VectorShuffle, {v, v}, "vector<4xi32>",
                       {numbers(AttributeKey::Mask, {3, 6, 1, 4})});
  auto at = k.op(Opcode::ArithIndexCast, {i}, "index");
  auto own = k.op(Opcode::VectorExtract, {v, at}, "i32",
                  {numbers(AttributeKey::Position, {kir::kDynamic})});
  auto sum =
      k.op(Opcode::VectorReduction, {v}, "i32",
           {enumerator(AttributeKey::CombiningKind, kir::CombiningKind::Add)});
  auto mixed = k.op(Opcode::VectorInsert, {own, reversed, at}, "vector<4xi32>",
                    {numbers(AttributeKey::Position, {kir::kDynamic})});
  auto first = k.op(Opcode::VectorInsert, {sum, mixed}, "vector<4xi32>",
                    {numbers(AttributeKey::Position, {0})});
  k.store(first, out, i);
  auto leaf = number(AttributeKey::Leaf, 1);
  auto short_ = k.op(Opcode::KernelLoad, {record, i, i}, "i16", {leaf});
  auto doubled = k.op(Opcode::ArithAddI, {short_, short_}, "i16");
  k.ops(Opcode::KernelStore, {doubled, record, i, i}, {}, {leaf});
  k.end();
  std::vector<int32_t> values(16);
  std::iota(values.begin(), values.end(), 10);
  std::vector<uint16_t> records(32);
  std::iota(records.begin(), records.end(), 100);
  for (bool sanitize : {false, true}) {
    interp::ProgramOptions options;
    options.sanitize = sanitize;
    Array<int32_t> ins(values), outs(16);
    Array<uint16_t> table(records);
    auto findings = run(*k.program(options),
                        {ins.argument(), table.argument(), outs.argument()});
    EXPECT_TRUE(findings.reports.empty());
    std::vector<uint16_t> expectedRecords = records;
    for (int n = 0; n != 4; ++n) {
      const int32_t *e = &values[static_cast<size_t>(n) * 4];
      std::vector<int32_t> expected = {e[3], e[2], e[1], e[0]};
      expected[static_cast<size_t>(n)] = e[n];
      expected[0] = e[0] + e[1] + e[2] + e[3];
      for (int c = 0; c != 4; ++c)
        EXPECT_EQ(outs.get()[static_cast<size_t>(n * 4 + c)],
                  expected[static_cast<size_t>(c)]);
      expectedRecords[static_cast<size_t>(n * 8 + 4 + n)] *= 2;
    }
    EXPECT_EQ(table.get(), expectedRecords);
  }
}

/// Work-items leave a loop one after another and meet behind it.
TEST(Interpreter, DivergentLoopsMeetAgain) {
  KirBuilder k({64, 1, 1});
  auto out = k.argument("buffer<i32, write>");
  auto i = k.localId();
  auto zero = k.constant<int32_t>("i32", 0),
       one = k.constant<int32_t>("i32", 1);
  k.ops(Opcode::CfBr, {}, {}, {}, {{1, {zero, zero}}});
  k.block(); // 1: the loop
  auto count = k.argument("i32"), sum = k.argument("i32");
  auto more =
      k.op(Opcode::ArithCmpI, {count, i}, "i1",
           {enumerator(AttributeKey::IntPredicate, kir::IntPredicate::Slt)});
  k.ops(Opcode::CfCondBr, {more}, {}, {}, {{2, {}}, {3, {}}});
  k.block(); // 2: its body
  auto nextSum = k.op(Opcode::ArithAddI, {sum, count}, "i32");
  auto next = k.op(Opcode::ArithAddI, {count, one}, "i32");
  k.ops(Opcode::CfBr, {}, {}, {}, {{1, {next, nextSum}}});
  k.block(); // 3: behind it
  auto all = k.op(Opcode::KernelSubgroupReduce, {sum}, "i32",
                  {enumerator(AttributeKey::ReduceKind, kir::ReduceKind::Add)});
  k.store(all, out, i);
  k.end();
  for (uint32_t size : {4u, 32u, 64u}) {
    interp::ProgramOptions options;
    options.subgroupSize = size;
    Array<int32_t> outs(64);
    run(*k.program(options), {outs.argument()});
    for (uint32_t l = 0; l != 64; ++l) {
      int32_t expected = 0;
      for (uint32_t other = l / size * size; other != (l / size + 1) * size;
           ++other)
        expected += static_cast<int32_t>(other * (other - 1) / 2);
      EXPECT_EQ(outs.get()[l], expected) << size << " " << l;
    }
  }
}

TEST(Interpreter, Subgroups) {
  const uint32_t size = 8, items = 20; // The last subgroup has four lanes.
  for (int kind = 0; kind != 4; ++kind) {
    KirBuilder k({items, 1, 1});
    auto in = k.argument("buffer<i32, read>");
    auto shuffled = k.argument("buffer<i32, write>"),
         scanned = k.argument("buffer<i32, write>");
    auto i = k.localId();
    auto v = k.load(in, i, "i32");
    auto lane = k.constant<int32_t>("i32", 3);
    k.store(k.op(Opcode::KernelSubgroupShuffle, {v, lane}, "i32",
                 {number(AttributeKey::ShuffleKind, kind)}),
            shuffled, i);
    k.store(k.op(Opcode::KernelSubgroupScan, {v}, "i32",
                 {number(AttributeKey::ScanKind, kind % 2)}),
            scanned, i);
    k.end();
    std::vector<int32_t> values(items);
    for (uint32_t l = 0; l != items; ++l)
      values[l] = static_cast<int32_t>(l * l + 1);
    interp::ProgramOptions options;
    options.subgroupSize = size;
    Array<int32_t> ins(values), outs(items), sums(items);
    run(*k.program(options),
        {ins.argument(), outs.argument(), sums.argument()});
    for (uint32_t l = 0; l != items; ++l) {
      int self = static_cast<int>(l % size), base = static_cast<int>(l) - self;
      int from = kind == 0   ? 3
                 : kind == 1 ? self ^ 3
                 : kind == 2 ? self - 3
                             : self + 3;
      if (from >= 0 && from < int(size) && base + from < int(items))
        EXPECT_EQ(outs.get()[l], values[static_cast<size_t>(base + from)])
            << kind;
      int32_t sum = 0;
      for (int p = base; p < int(l) + (kind % 2 == 0); ++p)
        sum += values[static_cast<size_t>(p)];
      EXPECT_EQ(sums.get()[l], sum);
    }
  }
}

TEST(Interpreter, FragmentsMultiply) {
  for (uint32_t size : {32u, 4u}) {
    KirBuilder k({32, 1, 1});
    auto a = k.argument("buffer<f16, read>"),
         b = k.argument("buffer<f16, read>");
    auto out = k.argument("buffer<f32, write>");
    auto zero = k.constant<int32_t>("i32", 0),
         stride = k.constant<int32_t>("i32", 16);
    auto half = k.constant<float>("f32", 0.5f);
    auto row = enumerator(AttributeKey::Layout, kir::Layout::Row);
    auto column = enumerator(AttributeKey::Layout, kir::Layout::Column);
    auto fa = k.op(Opcode::KernelFragmentLoad, {a, zero, stride},
                   "fragment<8x16xf16, a>", {row});
    auto fb = k.op(Opcode::KernelFragmentLoad, {b, zero, stride},
                   "fragment<16x16xf16, b>", {column});
    auto c = k.op(Opcode::KernelFragmentFill, {half},
                  "fragment<8x16xf32, accumulator>");
    auto d = k.op(Opcode::KernelFragmentMma, {fa, fb, c},
                  "fragment<8x16xf32, accumulator>");
    k.ops(Opcode::KernelFragmentStore, {d, out, zero, stride}, {}, {row});
    k.end();
    std::vector<uint16_t> as(128), bs(256);
    auto value = [](size_t n) {
      return static_cast<float>(int(n * 7 % 13) - 6);
    };
    for (size_t n = 0; n != as.size(); ++n)
      as[n] = weights::f32ToF16(value(n));
    for (size_t n = 0; n != bs.size(); ++n)
      bs[n] = weights::f32ToF16(value(n + 5));
    interp::ProgramOptions options;
    options.subgroupSize = size;
    Array<uint16_t> left(as), right(bs);
    Array<float> outs(128);
    run(*k.program(options),
        {left.argument(), right.argument(), outs.argument()});
    for (size_t r = 0; r != 8; ++r)
      for (size_t col = 0; col != 16; ++col) {
        float sum = 0.5f;
        for (size_t n = 0; n != 16; ++n)
          sum += value(r * 16 + n) * value(col * 16 + n + 5);
        EXPECT_EQ(outs.get()[r * 16 + col], sum);
      }
  }
}

TEST(Interpreter, AtomicsOverThreads) {
  KirBuilder k({64, 1, 1});
  auto sums = k.argument("buffer<i32, read_write>"),
       floats = k.argument("buffer<f32, read_write>");
  auto zero = k.constant<int32_t>("i32", 0),
       one = k.constant<int32_t>("i32", 1);
  auto quarter = k.constant<float>("f32", 0.25f);
  auto kind = enumerator(AttributeKey::AtomicKind, kir::AtomicKind::Add);
  auto order = enumerator(AttributeKey::Order, kir::Order::Relaxed);
  auto scope = enumerator(AttributeKey::Scope, kir::Scope::Device);
  k.op(Opcode::KernelAtomicRmw, {sums, zero, one}, "i32", {kind, order, scope});
  k.op(Opcode::KernelAtomicRmw, {floats, zero, quarter}, "f32",
       {kind, order, scope});
  k.end();
  Array<int32_t> total(1);
  Array<float> fraction(1);
  run(*k.program(), {total.argument(), fraction.argument()}, {}, {40, 5, 2}, 4);
  EXPECT_EQ(total.get()[0], 64 * 400);
  EXPECT_EQ(fraction.get()[0], 16.0f * 400);
}

/// A work-item holds a lock that the others of its workgroup spin on.
TEST(Interpreter, SpinningWorkItemsGetTheirTurn) {
  KirBuilder k({8, 1, 1});
  auto lock = k.argument("buffer<i32, read_write>"),
       count = k.argument("buffer<i32, read_write>");
  auto zero = k.constant<int32_t>("i32", 0),
       one = k.constant<int32_t>("i32", 1);
  auto order = enumerator(AttributeKey::Order, kir::Order::AcqRel);
  auto scope = enumerator(AttributeKey::Scope, kir::Scope::Device);
  k.ops(Opcode::CfBr, {}, {}, {}, {{1, {}}});
  k.block();
  auto old = k.op(Opcode::KernelAtomicCas, {lock, zero, zero, one}, "i32",
                  {order, scope});
  auto got =
      k.op(Opcode::ArithCmpI, {old, zero}, "i1",
           {enumerator(AttributeKey::IntPredicate, kir::IntPredicate::Eq)});
  k.ops(Opcode::CfCondBr, {got}, {}, {}, {{2, {}}, {1, {}}});
  k.block();
  auto value = k.load(count, zero, "i32");
  k.store(k.op(Opcode::ArithAddI, {value, one}, "i32"), count, zero);
  k.ops(Opcode::KernelAtomicStore, {lock, zero, zero}, {},
        {enumerator(AttributeKey::Order, kir::Order::Release), scope});
  k.end();
  for (bool sanitize : {false, true}) {
    interp::ProgramOptions options;
    options.sanitize = sanitize;
    Array<int32_t> locks(1), counts(1);
    auto findings = run(*k.program(options),
                        {locks.argument(), counts.argument()}, {}, {3, 1, 1});
    EXPECT_EQ(counts.get()[0], 24);
    for (const auto &report : findings.reports)
      ADD_FAILURE() << toText(report);
  }
}

TEST(Interpreter, RefusesWhatItCannotRun) {
  KirBuilder k({1024, 2, 1});
  k.end();
  auto made = interp::Program::create(
      std::make_shared<const kir::Module>(k.module()), "k");
  ASSERT_FALSE(made);
  EXPECT_NE(made.status().message().find("2048 work-items"), std::string::npos);
  auto none = interp::Program::create(
      std::make_shared<const kir::Module>(k.module()), "other");
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().message().find("there is k"), std::string::npos);

  KirBuilder small;
  small.argument("buffer<i32, read>");
  small.end();
  weights::Status status = small.program()->run({});
  EXPECT_NE(status.message().find("takes 1 buffers"), std::string::npos);
  interp::ProgramOptions options;
  options.constants = {{"width", 3}};
  auto unknown = interp::Program::create(
      std::make_shared<const kir::Module>(small.module()), "k", options);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.status().message().find("'width'"), std::string::npos);
}

} // namespace
