//===- test_vector.cpp - The seeded checks of kernels ---------------------===//
//
// Built with -ffp-contract=off: the formulas are part of the format, so no
// multiply-add of theirs may be fused.
//
//===----------------------------------------------------------------------===//

#include "poot/bundle/test_vector.h"
#include "poot/weights/half.h"
#include "poot/weights/planar.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

using namespace poot;
using namespace poot::bundle;
using weights::ElementType;

namespace {

uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return x;
}

double uniform(double low, double high, uint64_t bits) {
  const double fraction = double(bits >> 11) * 0x1p-53;
  return low + (high - low) * fraction;
}

template <class T> void store(uint8_t *data, uint64_t i, T value) {
  std::memcpy(data + i * sizeof value, &value, sizeof value);
}

template <class T> T load(const uint8_t *data, uint64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof value, sizeof value);
  return value;
}

template <class Int> Int toInteger(double value) {
  const double rounded = std::nearbyint(value);
  // The double above the largest value of Int, exact for every width.
  const double end =
      2.0 * double(Int(1) << (std::numeric_limits<Int>::digits - 1));
  if (!(rounded >= double(std::numeric_limits<Int>::min())))
    return std::numeric_limits<Int>::min();
  if (rounded >= end)
    return std::numeric_limits<Int>::max();
  return Int(rounded);
}

void storeElement(ElementType type, uint8_t *data, uint64_t i, double value) {
  switch (type) {
  case ElementType::F32:
    return store(data, i, float(value));
  case ElementType::F16:
    return store(data, i, weights::f32ToF16(float(value)));
  case ElementType::BF16:
    return store(data, i, weights::f32ToBf16(float(value)));
  case ElementType::F64:
    return store(data, i, value);
  case ElementType::I8:
    return store(data, i, toInteger<int8_t>(value));
  case ElementType::I16:
    return store(data, i, toInteger<int16_t>(value));
  case ElementType::I32:
    return store(data, i, toInteger<int32_t>(value));
  case ElementType::I64:
    return store(data, i, toInteger<int64_t>(value));
  case ElementType::U8:
    return store(data, i, toInteger<uint8_t>(value));
  case ElementType::U16:
    return store(data, i, toInteger<uint16_t>(value));
  case ElementType::U32:
    return store(data, i, toInteger<uint32_t>(value));
  case ElementType::U64:
    return store(data, i, toInteger<uint64_t>(value));
  case ElementType::Bool:
    return store(data, i, uint8_t(std::nearbyint(value) != 0));
  default:
    assert(false && "the verifier admits no such element");
  }
}

/// The fields of a packed block that scale its values: random bits there would
/// be infinite or no number now and then.
struct ScaleFields {
  bool exponent = false; // One E8M0 byte each, else an f16.
  int count = 0;
  int offsets[2] = {};
};

ScaleFields scaleFields(ElementType type) {
  switch (type) {
  case ElementType::Q4_0:
  case ElementType::Q5_0:
  case ElementType::Q8_0:
  case ElementType::IQ4_NL:
    return {false, 1, {0}};
  case ElementType::Q4_1:
  case ElementType::Q5_1:
  case ElementType::Q4_K:
  case ElementType::Q5_K:
    return {false, 2, {0, 2}};
  case ElementType::Q2_K:
    return {false, 2, {80, 82}};
  case ElementType::Q3_K:
    return {false, 1, {108}};
  case ElementType::Q6_K:
    return {false, 1, {208}};
  case ElementType::MXFP4:
    return {true, 1, {0}};
  default:
    return {};
  }
}

void fillScales(const fb::TestInputT &input, ElementType type, uint8_t *data) {
  const ScaleFields fields = scaleFields(type);
  const uint64_t blockBytes = uint64_t(weights::getInfo(type).blockBytes);
  uint64_t number = 0;
  for (uint64_t block = 0; block + blockBytes <= input.bytes;
       block += blockBytes)
    for (int f = 0; f != fields.count; ++f) {
      const double value =
          uniform(input.low, input.high, testRandom(~input.seed, number++));
      uint8_t *field = data + block + fields.offsets[f];
      if (!fields.exponent)
        store(field, 0, weights::f32ToF16(float(value)));
      else if (value > 0)
        *field = uint8_t(std::min(254, std::max(0, 127 + std::ilogb(value))));
      else
        *field = 0;
    }
}

void fillBytes(const fb::TestInputT &input, std::optional<ElementType> type,
               uint8_t *data) {
  for (uint64_t i = 0; i != input.bytes; ++i)
    data[i] = uint8_t(testRandom(input.seed, i / 8) >> (8 * (i % 8)));
  if (type)
    fillScales(input, *type, data);
}

void fillPlanar(const fb::TestInputT &input, ElementType type, uint8_t *data) {
  const weights::ElementTypeInfo &info = weights::getInfo(type);
  const int64_t elements = int64_t(input.planar_row);
  const uint64_t rows =
      input.bytes / uint64_t(weights::planarRow(type, elements).bytes());
  fb::TestInputT blocks = input;
  blocks.bytes = rows * (input.planar_row / uint64_t(info.blockElements)) *
                 uint64_t(info.blockBytes);
  std::vector<uint8_t> bytes(blocks.bytes);
  fillBytes(blocks, type, bytes.data());
  weights::repackPlanar(type, bytes.data(), int64_t(rows), elements, data);
}

void fillPermutation(const fb::TestInputT &input, ElementType type,
                     uint64_t count, uint8_t *data) {
  const uint64_t n = uint64_t(input.high - input.low) + 1;
  uint64_t step = 1 + testRandom(input.seed, 1) % n;
  while (std::gcd(step, n) != 1)
    ++step;
  uint64_t value = testRandom(input.seed, 0) % n;
  for (uint64_t i = 0; i != count; ++i) {
    storeElement(type, data, i, input.low + double(value));
    value = (value + step) % n;
  }
}

} // namespace

uint64_t bundle::testRandom(uint64_t seed, uint64_t i) {
  return mix(mix(seed) + (i + 1) * 0x9e3779b97f4a7c15);
}

void bundle::fillTestInput(const fb::TestInputT &input, uint8_t *data) {
  const std::optional<ElementType> type =
      weights::elementTypeFromName(input.element);
  switch (input.fill) {
  case fb::Fill::Zero:
    std::memset(data, 0, input.bytes);
    return;
  case fb::Fill::Bytes:
    return input.planar_row ? fillPlanar(input, *type, data)
                            : fillBytes(input, type, data);
  case fb::Fill::Uniform:
  case fb::Fill::UniformInt:
  case fb::Fill::Permutation:
    break;
  }
  assert(type && "the verifier asks for an element");
  const uint64_t count =
      input.bytes / uint64_t(weights::getInfo(*type).blockBytes);
  if (input.fill == fb::Fill::Uniform) {
    for (uint64_t i = 0; i != count; ++i)
      storeElement(*type, data, i,
                   uniform(input.low, input.high, testRandom(input.seed, i)));
    return;
  }
  if (input.fill == fb::Fill::Permutation)
    return fillPermutation(input, *type, count, data);
  const uint64_t choices = uint64_t(input.high - input.low) + 1;
  for (uint64_t i = 0; i != count; ++i)
    storeElement(*type, data, i,
                 input.low + double(testRandom(input.seed, i) % choices));
}

void bundle::fillTestInput(const fb::TestInput &input, uint8_t *data) {
  fb::TestInputT object;
  input.UnPackTo(&object);
  fillTestInput(object, data);
}

double bundle::loadElement(ElementType type, const uint8_t *data, uint64_t i) {
  switch (type) {
  case ElementType::F32:
    return load<float>(data, i);
  case ElementType::F16:
    return weights::f16ToF32(load<uint16_t>(data, i));
  case ElementType::BF16:
    return weights::bf16ToF32(load<uint16_t>(data, i));
  case ElementType::F64:
    return load<double>(data, i);
  case ElementType::I8:
    return load<int8_t>(data, i);
  case ElementType::I16:
    return load<int16_t>(data, i);
  case ElementType::I32:
    return load<int32_t>(data, i);
  case ElementType::I64:
    return double(load<int64_t>(data, i));
  case ElementType::U8:
  case ElementType::Bool:
    return load<uint8_t>(data, i);
  case ElementType::U16:
    return load<uint16_t>(data, i);
  case ElementType::U32:
    return load<uint32_t>(data, i);
  case ElementType::U64:
    return double(load<uint64_t>(data, i));
  default:
    assert(false && "the verifier admits no such element");
    return 0;
  }
}

std::string TestComparison::message() const {
  if (passed())
    return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "element %llu is %.9g, expected %.9g (%llu of %llu differ)",
                static_cast<unsigned long long>(index), actual, expected,
                static_cast<unsigned long long>(failed),
                static_cast<unsigned long long>(compared));
  return text;
}

TestComparison
bundle::compareExpectation(const fb::TestExpectationT &expectation,
                           weights::ByteSpan actual) {
  TestComparison result;
  const std::optional<ElementType> type =
      weights::elementTypeFromName(expectation.element);
  assert(type && "the verifier asks for an element");
  const uint64_t elements =
      actual.size / uint64_t(weights::getInfo(*type).blockBytes);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (size_t k = 0; k != expectation.index.size(); ++k) {
    const uint64_t index = expectation.index[k];
    const double expected = expectation.value[k];
    const double found =
        index < elements ? loadElement(*type, actual.data, index) : nan;
    const bool same =
        found == expected ||
        (std::isnan(found) && std::isnan(expected) && index < elements);
    double error = same ? 0 : std::fabs(found - expected);
    if (!std::isfinite(error))
      error = std::numeric_limits<double>::infinity();
    const double allowed = expectation.absolute_tolerance +
                           expectation.relative_tolerance * std::fabs(expected);
    ++result.compared;
    result.largestError = std::max(result.largestError, error);
    // An infinite expectation makes `allowed` infinite or no number.
    const bool passed = same || (std::isfinite(error) && error <= allowed);
    if (!passed && result.failed++ == 0) {
      result.index = index;
      result.expected = expected;
      result.actual = found;
    }
  }
  return result;
}

TestComparison
bundle::compareExpectation(const fb::TestExpectation &expectation,
                           weights::ByteSpan actual) {
  fb::TestExpectationT object;
  expectation.UnPackTo(&object);
  return compareExpectation(object, actual);
}
