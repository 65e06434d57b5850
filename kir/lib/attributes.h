// How attributes are spelt in .kir.json, and what values they may have.

#ifndef POOT_KIR_LIB_ATTRIBUTES_H
#define POOT_KIR_LIB_ATTRIBUTES_H

#include "poot/kir/kir.h"

namespace poot::kir {

enum class AttributeForm : uint8_t {
  Constant,
  Mask,       ///< A list of the names of the bits that are set.
  Flag,       ///< true, or absent.
  Enumerator, ///< One of the names.
  Number,     ///< 0 to 2³¹ − 1.
  Numbers,
  Text,
};

struct AttributeInfo {
  std::string_view spelling;
  AttributeForm form;
  /// Of bits and enumerators, from 0 on.
  std::vector<std::string_view> names;
};
const AttributeInfo &getInfo(AttributeKey key);

/// "read", "accumulator".
std::string_view spelling(Access access);
std::string_view spelling(FragmentUse use);

} // namespace poot::kir

#endif // POOT_KIR_LIB_ATTRIBUTES_H
