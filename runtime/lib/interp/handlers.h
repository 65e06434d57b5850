// What the handlers of instructions share, and how the decoder finds them.

#ifndef POOT_INTERP_HANDLERS_H
#define POOT_INTERP_HANDLERS_H

#include "program.h"
#include "sanitizer.h"

#include "poot/weights/half.h"

namespace poot::interp {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Integers of B bits, kept zero-extended.
template <unsigned B> struct Int;
template <> struct Int<1> {
  using Storage = uint8_t;
  static constexpr unsigned bits = 1;
  static uint8_t wrap(uint64_t value) { return value & 1; }
  static int64_t sign(uint8_t value) { return -int64_t(value & 1); }
};
#define POOT_INT(Bits)                                                         \
  template <> struct Int<Bits> {                                               \
    using Storage = uint##Bits##_t;                                            \
    static constexpr unsigned bits = Bits;                                     \
    static Storage wrap(uint64_t value) {                                      \
      return static_cast<Storage>(value);                                      \
    }                                                                          \
    static int64_t sign(Storage value) {                                       \
      return static_cast<int##Bits##_t>(value);                                \
    }                                                                          \
  };
POOT_INT(8)
POOT_INT(16)
POOT_INT(32)
POOT_INT(64)
#undef POOT_INT

/// To odd: what is inexact gets a last place of 1, so that rounding again to a
/// narrower type rounds as if once.
inline float roundToOdd(double value) {
  float narrow = static_cast<float>(value);
  if (!(static_cast<double>(narrow) != value) || value != value)
    return narrow;
  uint32_t bits = weights::f32ToBits(narrow);
  double magnitude = narrow < 0 ? -static_cast<double>(narrow) : narrow;
  if (magnitude > (value < 0 ? -value : value))
    --bits;
  return weights::bitsToF32(bits | 1);
}

struct F16 {
  using Storage = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return weights::f16ToF32(bits); }
  static uint16_t store(float value) { return weights::f32ToF16(value); }
  static uint16_t narrow(double value) {
    return weights::f32ToF16(roundToOdd(value));
  }
};
struct BF16 {
  using Storage = uint16_t;
  using Compute = float;
  static float load(uint16_t bits) { return weights::bf16ToF32(bits); }
  static uint16_t store(float value) { return weights::f32ToBf16(value); }
  static uint16_t narrow(double value) {
    return weights::f32ToBf16(roundToOdd(value));
  }
};
struct F32 {
  using Storage = float;
  using Compute = float;
  static float load(float value) { return value; }
  static float store(float value) { return value; }
  static float narrow(double value) { return static_cast<float>(value); }
};
struct F64 {
  using Storage = double;
  using Compute = double;
  static double load(double value) { return value; }
  static double store(double value) { return value; }
  static double narrow(double value) { return value; }
};

/// Calls BODY with the type of ELEMENT, Int<B> or a float above.
template <class F> auto withInt(kir::Element element, F body) {
  switch (element) {
  case kir::Element::I1:
    return body(Int<1>());
  case kir::Element::I8:
    return body(Int<8>());
  case kir::Element::I16:
    return body(Int<16>());
  case kir::Element::I32:
    return body(Int<32>());
  default: // i64, index
    return body(Int<64>());
  }
}
template <class F> auto withFloat(kir::Element element, F body) {
  switch (element) {
  case kir::Element::F16:
    return body(F16());
  case kir::Element::BF16:
    return body(BF16());
  case kir::Element::F32:
    return body(F32());
  default:
    return body(F64());
  }
}
template <class F> auto withBytes(uint32_t bytes, F body) {
  switch (bytes) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  default:
    return body(uint64_t());
  }
}

//===----------------------------------------------------------------------===//
// Finding handlers
//===----------------------------------------------------------------------===//

/// For ops that work on each element alone; null for others. FROM and TO are
/// the elements of the first operand and of the result. Registers: a, b, c to
/// d, with a second result in z.
Handler findElementwise(const kir::Op &op, kir::Element from, kir::Element to);

/// d[k] of all n columns gets the taints of a, b, c (kNone: none).
void mergeTaints(Machine &m, const Inst &i);
/// Taints of the choice: d from x, a's value decides between taints b and c.
void selectTaints(Machine &m, const Inst &i);
/// After op: adds poison where flags y of opcode x don't hold. Element z.
void checkIntFlags(Machine &m, const Inst &i);
/// Poison where a NaN or an infinity stands against the flags y; element z.
void checkFloatFlags(Machine &m, const Inst &i);
/// Poison where the float a (element z) doesn't fit y bits; x: signed.
void checkFloatToInt(Machine &m, const Inst &i);
/// Reports taints of a: x names what is done with the value.
void checkUse(Machine &m, const Inst &i);
enum UseText : uint32_t {
  kIndexIs,
  kStores,
  kAtomicTakes,
  kLaneIs,
  kShareIs,
};

/// Column by column; y bytes an element.
Handler findCopy(uint32_t bytes);
/// d's columns from those in the list at x (registers; kNone: zero).
Handler findGather(uint32_t bytes);
/// One column into all of d's.
Handler findSplat(uint32_t bytes);
/// d = a[b], a of n columns; taint register of d in z.
Handler findExtract(uint32_t bytes);
/// d = a with b at the position c; taint register of d in z.
Handler findInsert(uint32_t bytes);
/// d = a's bits, x and y the bits of an element; n columns of a.
void bitcastVector(Machine &m, const Inst &i);
/// d = the combination of a's columns, from b on unless kNone.
Handler findReduction(kir::CombiningKind kind, kir::Element element);

/// Memory: access x; index in a; value in d (load) or b (store).
Handler findLoad(uint32_t bytes);
Handler findStore(uint32_t bytes);
/// x access, a index, b value, d result; y kind, z order | scope << 8.
Handler findAtomicRmw(kir::AtomicKind kind, kir::Element element);
/// As above, with the expected value in c.
Handler findAtomicCas(kir::Element element);
Handler findAtomicLoad(kir::Element element);
Handler findAtomicStore(kir::Element element);
/// Variable x, list y of its index registers; n columns of d (load), b (store);
/// taints in z.
Handler findVarLoad(uint32_t bytes);
Handler findVarStore(uint32_t bytes);

/// Subgroups: value a, lane b, result d; y the kind, taint of d in z.
Handler findSubgroupReduce(kir::ReduceKind kind, kir::Element element);
Handler findSubgroupScan(kir::ScanKind kind, kir::Element element);
Handler findSubgroupShuffle(kir::ShuffleKind kind, uint32_t bytes);
Handler findSubgroupBroadcast(uint32_t bytes);
void subgroupAny(Machine &m, const Inst &i);
void subgroupAll(Machine &m, const Inst &i);
/// d's taint is set for all lanes of a subgroup where any has it in a.
void spreadTaints(Machine &m, const Inst &i);

/// How a fragment is laid out: element e is in column e / lanes of lane e %
/// lanes of its subgroup.
struct FragmentShape {
  uint32_t rows, columns;
};
/// Access x, index a, stride b, fragment d or c; y rows | columns << 16, z 1
/// for columns first. n columns.
Handler findFragmentLoad(uint32_t bytes);
Handler findFragmentStore(uint32_t bytes);
/// d = a * b + c; list x: rows, columns, inner.
Handler findFragmentMma(kir::Element input, kir::Element accumulator);

} // namespace poot::interp

#endif // POOT_INTERP_HANDLERS_H
