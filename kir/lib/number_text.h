// Elements of constants as JSON values and back, without loss.

#ifndef POOT_KIR_LIB_NUMBER_TEXT_H
#define POOT_KIR_LIB_NUMBER_TEXT_H

#include "poot/kir/kir.h"

namespace poot::kir {

/// The element at DATA (byteSize() bytes, little-endian): true or false, a
/// number, or for what is no finite number its bits, as in "0x7FC00000".
std::string numberText(Element element, const uint8_t *data);

/// Writes the element of that integer, decimal number or text with bits to
/// DATA. False where the element type hasn't exactly this value.
bool fromInteger(Element element, int64_t value, uint8_t *data);
bool fromFloat(Element element, double value, uint8_t *data);
bool fromBits(Element element, std::string_view text, uint8_t *data);

} // namespace poot::kir

#endif // POOT_KIR_LIB_NUMBER_TEXT_H
