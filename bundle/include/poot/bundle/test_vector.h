//===- test_vector.h - The seeded checks of kernels -----------------------===//
//
// A bundle carries checks of its kernels that need no model: inputs are
// generated from a seed, outputs are compared at sampled elements. The compiler
// evaluates its oracle on the same inputs that the runtime fills, so the
// generator is a fixed formula, part of the format:
//
//   mix(x):  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9,
//            x ^= x >> 27, x *= 0x94d049bb133111eb, x ^= x >> 31
//   random(seed, i) = mix(mix(seed) + (i + 1) * 0x9e3779b97f4a7c15)
//
// modulo 2^64: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", 2014), by counter. Element i of a buffer is
//
//   Uniform     low + (high - low) * ((random(seed, i) >> 11) * 2^-53), in
//               double precision without fused multiply-adds
//   UniformInt  low + random(seed, i) mod n, with n = high - low + 1
//   Permutation low + (start + i * step) mod n, with start = random(seed, 0)
//               mod n and step the first number from 1 + random(seed, 1) mod n
//               on that shares no divisor with n: each number once, then again
//   Bytes       byte i is bits 8 * (i mod 8) to +7 of random(seed, i / 8). In a
//               packed encoding every scale field is then replaced by a Uniform
//               value v, whose seed is the complement of this one and whose i
//               counts the scale fields from the start of the buffer: an f16
//               by v, an E8M0 exponent by 127 + floor(log2(v)), 0 unless v > 0.
//               With a planar_row, these are the blocks of as many whole rows,
//               which then are brought to the layout of poot/weights/planar.h
//   Zero        0
//
// A value becomes an f16 or bf16 by way of f32, and an integer of the type's
// range by clamping; every rounding is to nearest, ties to even.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_TEST_VECTOR_H
#define POOT_BUNDLE_TEST_VECTOR_H

#include "poot/bundle/bundle_generated.h"
#include "poot/weights/element_type.h"
#include "poot/weights/mapped_file.h"

#include <cstdint>
#include <string>

namespace poot::bundle {

/// The generator's 64 bits for element I.
uint64_t testRandom(uint64_t seed, uint64_t i);

/// Fills INPUT.bytes bytes at DATA, little-endian. INPUT keeps the rules that
/// the reader checks.
void fillTestInput(const fb::TestInputT &input, uint8_t *data);
void fillTestInput(const fb::TestInput &input, uint8_t *data);

/// Element I of scalars of TYPE at DATA, as a double. 64-bit integers are
/// rounded to what a double can hold.
double loadElement(weights::ElementType type, const uint8_t *data, uint64_t i);

/// What the comparison of one argument with its expectation found.
struct TestComparison {
  uint64_t compared = 0;
  uint64_t failed = 0;
  /// The largest |actual - expected| over all elements; infinite where one of
  /// the two is no finite number and they aren't equal.
  double largestError = 0;
  /// Of the first element that failed.
  uint64_t index = 0;
  double expected = 0;
  double actual = 0;

  bool passed() const { return failed == 0; }
  /// "element 12 is 3.5, expected 3.25 (7 of 64 differ)"; empty when passed.
  std::string message() const;
};

/// Compares an argument's bytes with what the oracle expects. An element passes
/// when |actual - expected| <= absolute_tolerance + relative_tolerance *
/// |expected|, when both are NaN, or when they are the same infinity. An index
/// outside of ACTUAL fails.
TestComparison compareExpectation(const fb::TestExpectationT &expectation,
                                  weights::ByteSpan actual);
TestComparison compareExpectation(const fb::TestExpectation &expectation,
                                  weights::ByteSpan actual);

} // namespace poot::bundle

#endif // POOT_BUNDLE_TEST_VECTOR_H
