//===- operands.h - The operands of a kernel that implements an op --------===//
//
// What a kernel with POOT_IMPLEMENTS is written with: extents, and hooks that
// read and write elements of tensors. A compiler that puts the kernel in an
// op's place gives the extents their values and fills the hooks with the
// addresses of the op's operands, whatever views they are, and conversions to
// and from their element types. docs/own-kernels.md has the rules.
//
// On the CPU the constants are assigned by a test, and the hooks address dense
// row-major buffers.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_OPERANDS_H
#define POOT_OPERANDS_H

#include "poot/kernel.h"

namespace poot {

/// Elements of the result.
POOT_SPEC inline int32_t count = 1;
/// Elements of a row, the innermost extent of the result, and how many rows the
/// result has.
POOT_SPEC inline int32_t length = 1;
POOT_SPEC inline int32_t rows = 1;
/// What a norm adds to the mean square.
POOT_SPEC inline float epsilon = 1e-5f;

/// Element I of an operand, in row-major order.
template <class T>
POOT_HOOK("load")
inline T load(buffer<const T> operand, int32_t i) {
  return operand[i];
}
/// Element I of row ROW of an operand.
template <class T>
POOT_HOOK("load")
inline T load(buffer<const T> operand, int32_t row, int32_t i) {
  return operand[row * length + i];
}

/// Sets element I of the result.
template <class T>
POOT_HOOK("store")
inline void store(buffer<T> result, int32_t i, host::same_t<T> value) {
  result[i] = value;
}
/// Sets element I of row ROW of the result.
template <class T>
POOT_HOOK("store")
inline void store(buffer<T> result, int32_t row, int32_t i,
                  host::same_t<T> value) {
  result[row * length + i] = value;
}

} // namespace poot

#endif // POOT_OPERANDS_H
