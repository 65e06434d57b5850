//===- AttributeNames.h - How MLIR's ops call their attributes --*- C++ -*-===//

#ifndef POOT_LIB_KIR_ATTRIBUTENAMES_H
#define POOT_LIB_KIR_ATTRIBUTENAMES_H

#include "poot/kir/kir.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

namespace poot {

/// What MLIR calls an attribute of that key, on an op of that kind.
inline llvm::StringRef getAttributeName(kir::Opcode opcode,
                                        kir::AttributeKey key) {
  switch (key) {
  case kir::AttributeKey::Value:
    return opcode == kir::Opcode::KernelSpecConstant ? "default_value"
                                                     : "value";
  case kir::AttributeKey::Overflow:
    return "overflowFlags";
  case kir::AttributeKey::FastMath:
    return "fastmath";
  case kir::AttributeKey::Exact:
    return "isExact";
  case kir::AttributeKey::IntPredicate:
  case kir::AttributeKey::FloatPredicate:
    return "predicate";
  case kir::AttributeKey::Rounding:
    return "roundingmode";
  case kir::AttributeKey::CombiningKind:
  case kir::AttributeKey::AtomicKind:
  case kir::AttributeKey::ReduceKind:
  case kir::AttributeKey::ScanKind:
  case kir::AttributeKey::ShuffleKind:
    return "kind";
  case kir::AttributeKey::Order:
    return "order";
  case kir::AttributeKey::Scope:
    return "scope";
  case kir::AttributeKey::Dim:
    return "dim";
  case kir::AttributeKey::Layout:
    return "layout";
  case kir::AttributeKey::Unroll:
    return "unroll";
  case kir::AttributeKey::Leaf:
    return "leaf";
  case kir::AttributeKey::Count:
    return "count";
  case kir::AttributeKey::Offset:
    return "offsets";
  case kir::AttributeKey::Position:
    return "static_position";
  case kir::AttributeKey::Mask:
    return "mask";
  case kir::AttributeKey::Cases:
    return "case_values";
  case kir::AttributeKey::Weights:
    return "branch_weights";
  case kir::AttributeKey::Name:
    return "name";
  case kir::AttributeKey::DefaultBody:
    return "default_body";
  }
  llvm_unreachable("every key has its name");
}

} // namespace poot

#endif // POOT_LIB_KIR_ATTRIBUTENAMES_H
