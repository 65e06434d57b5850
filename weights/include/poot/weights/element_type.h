// The one table of stored element types: plain scalars and packed blocks.
//
// Every reader, writer, decoder and bundle section takes names, numbers and
// sizes from here. A packed type stores blocks of `blockElements` elements in
// `blockBytes` bytes; a scalar is a block of one element. Rows (the innermost
// extent) always hold whole blocks.

#ifndef POOT_WEIGHTS_ELEMENT_TYPE_H
#define POOT_WEIGHTS_ELEMENT_TYPE_H

#include "poot/weights/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poot::weights {

/// Extents, outermost first. Rank 0 is a scalar.
using Shape = std::vector<int64_t>;

enum class ElementType : uint8_t {
  F32,
  F16,
  BF16,
  F64,
  F8E4M3,
  F8E5M2,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool,
  // Packed blocks.
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  MXFP4,
};
inline constexpr int elementTypeCount =
    static_cast<int>(ElementType::MXFP4) + 1;

struct ElementTypeInfo {
  ElementType type;
  const char *name;        ///< poot's own spelling: "f32", "q4_k".
  int32_t ggufType;        ///< Number in a GGUF tensor record; -1: has none.
  const char *safetensors; ///< dtype in safetensors; null: has none.
  const char *npy;         ///< descr in .npy, little-endian; null: has none.
  int32_t blockElements;   ///< 1 for scalars, else a power of two.
  int32_t blockBytes;
};

/// All types, in the order of the enumeration.
extern const ElementTypeInfo elementTypes[elementTypeCount];

inline const ElementTypeInfo &getInfo(ElementType type) {
  return elementTypes[static_cast<int>(type)];
}
inline const char *getName(ElementType type) { return getInfo(type).name; }
inline bool isPacked(ElementType type) {
  return getInfo(type).blockElements > 1;
}

std::optional<ElementType> elementTypeFromName(std::string_view name);
std::optional<ElementType> elementTypeFromGguf(uint32_t number);
std::optional<ElementType> elementTypeFromSafetensors(std::string_view dtype);
std::optional<ElementType> elementTypeFromNpy(std::string_view descr);

/// "2x576x64", "scalar" for rank 0: how messages write a shape.
std::string toString(const Shape &shape);

/// Product of the extents. Errors: a negative extent, more than 2^63-1
/// elements.
Expected<int64_t> countElements(const Shape &shape);

/// Bytes that a tensor of SHAPE takes when stored densely as TYPE: the one size
/// computation of poot. Errors: those of countElements, rows that are not whole
/// blocks, more than 2^63-1 bytes. They name neither file nor tensor; the
/// caller does.
Expected<int64_t> countBytes(ElementType type, const Shape &shape);

} // namespace poot::weights

#endif // POOT_WEIGHTS_ELEMENT_TYPE_H
