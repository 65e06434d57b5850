// Every value of f16, bf16 and f32 is a double, so a decimal is read as a
// double and must then be a value of the type, with one exception: the shortest
// decimal that names an f32 is nearer to it than to any other f32, but no f32
// itself. So numbers are rounded to the type when they are read, and the writer
// makes sure that what it writes rounds back.

#include "number_text.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace poot::kir {
namespace {

uint64_t load(Element element, const uint8_t *data) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < byteSize(element); ++i)
    bits |= uint64_t(data[i]) << (8 * i);
  return bits;
}

void store(Element element, uint64_t bits, uint8_t *data) {
  for (unsigned i = 0; i < byteSize(element); ++i)
    data[i] = static_cast<uint8_t>(bits >> (8 * i));
}

/// Bits of the significand that are stored, and of the exponent.
struct Format {
  unsigned significand, exponent;
  unsigned bits() const { return 1 + exponent + significand; }
};
Format format(Element element) {
  switch (element) {
  case Element::F16:
    return {10, 5};
  case Element::BF16:
    return {7, 8};
  case Element::F32:
    return {23, 8};
  default:
    return {52, 11};
  }
}

bool isFinite(Element element, uint64_t bits) {
  Format f = format(element);
  uint64_t exponent =
      (bits >> f.significand) & ((uint64_t(1) << f.exponent) - 1);
  return exponent != (uint64_t(1) << f.exponent) - 1;
}

/// Of a finite number.
double toDouble(Element element, uint64_t bits) {
  Format f = format(element);
  uint64_t significand = bits & ((uint64_t(1) << f.significand) - 1);
  int exponent = (bits >> f.significand) & ((uint64_t(1) << f.exponent) - 1);
  bool negative = (bits >> (f.bits() - 1)) & 1;
  int bias = (1 << (f.exponent - 1)) - 1;
  if (exponent == 0)
    exponent = 1;
  else
    significand |= uint64_t(1) << f.significand;
  double magnitude = std::ldexp(static_cast<double>(significand),
                                exponent - bias - int(f.significand));
  return negative ? -magnitude : magnitude;
}

/// The number of the type that is nearest to VALUE, ties to even; nothing where
/// that is infinite.
std::optional<uint64_t> round(Element element, double value) {
  Format f = format(element);
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (f.bits() - 1) : 0;
  double magnitude = std::fabs(value);
  if (!std::isfinite(magnitude))
    return std::nullopt;
  if (magnitude == 0)
    return sign;
  int bias = (1 << (f.exponent - 1)) - 1;
  int exponent; // magnitude = fraction · 2^exponent with fraction in [½, 1)
  std::frexp(magnitude, &exponent);
  // The unit in the last place, not below that of subnormal numbers.
  int unit = std::max(exponent - 1, 1 - bias) - int(f.significand);
  double scaled = std::nearbyint(std::ldexp(magnitude, -unit));
  uint64_t units = static_cast<uint64_t>(scaled);
  // Rounding up to the next power of two carries into the exponent by itself.
  uint64_t bits = units;
  if (units >= uint64_t(1) << f.significand)
    bits += uint64_t(unit + int(f.significand) + bias - 1) << f.significand;
  if (bits >> f.significand >= (uint64_t(1) << f.exponent) - 1)
    return std::nullopt;
  return sign | bits;
}

template <class Float> std::string shortest(Float value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end);
  // JSON tells integers from other numbers by their spelling, and -0 is one.
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

} // namespace

std::string numberText(Element element, const uint8_t *data) {
  uint64_t bits = load(element, data);
  if (element == Element::I1)
    return bits ? "true" : "false";
  if (isInteger(element)) {
    unsigned shift = 64 - bitWidth(element);
    return std::to_string(static_cast<int64_t>(bits << shift) >> shift);
  }
  if (!isFinite(element, bits)) {
    static const char digits[] = "0123456789ABCDEF";
    std::string text = "\"0x";
    for (int i = 2 * byteSize(element) - 1; i >= 0; --i)
      text += digits[(bits >> (4 * i)) & 15];
    return text + "\"";
  }
  double value = toDouble(element, bits);
  if (element != Element::F64) {
    std::string text = shortest(static_cast<float>(value));
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (round(element, read) == bits)
      return text;
  }
  return shortest(value);
}

bool fromInteger(Element element, int64_t value, uint8_t *data) {
  unsigned bits = bitWidth(element);
  if (!isInteger(element) || bits == 1)
    return false;
  if (bits < 64 && (value < -(int64_t(1) << (bits - 1)) ||
                    value >= int64_t(1) << (bits - 1)))
    return false;
  store(element, static_cast<uint64_t>(value), data);
  return true;
}

bool fromFloat(Element element, double value, uint8_t *data) {
  if (!isFloat(element))
    return false;
  std::optional<uint64_t> bits = round(element, value);
  if (bits)
    store(element, *bits, data);
  return bits.has_value();
}

bool fromBits(Element element, std::string_view text, uint8_t *data) {
  if (!isFloat(element) || text.size() != 2 + 2 * byteSize(element) ||
      text.substr(0, 2) != "0x")
    return false;
  uint64_t bits = 0;
  for (char c : text.substr(2)) {
    unsigned digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'A' && c <= 'F')
      digit = 10 + (c - 'A');
    else
      return false;
    bits = bits << 4 | digit;
  }
  // A finite number has its decimal spelling.
  if (isFinite(element, bits))
    return false;
  store(element, bits, data);
  return true;
}

} // namespace poot::kir
