//===- Passes.h - Passes that lower kernels to a target -------------------===//
//
// What each pass does is written in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TARGET_PASSES_H
#define POOT_TARGET_PASSES_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace poot {

#define GEN_PASS_DECL
#include "Poot/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Poot/Target/Passes.h.inc"

} // namespace poot

#endif // POOT_TARGET_PASSES_H
