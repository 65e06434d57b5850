//===- Passes.h - Passes over kernels -------------------------------------===//
//
// What each pass does is written in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_PASSES_H
#define POOT_DIALECT_KERNEL_PASSES_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Pass/Pass.h"

namespace poot::kernel {

#define GEN_PASS_DECL
#include "Poot/Dialect/Kernel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Poot/Dialect/Kernel/Passes.h.inc"

} // namespace poot::kernel

#endif // POOT_DIALECT_KERNEL_PASSES_H
