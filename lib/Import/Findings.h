//===- Findings.h - What analyses say of a kernel ---------------*- C++ -*-===//
//
// Runs the analyses of the kernel dialect over a kernel that has been imported
// and reports what they find as the checker does, at the place in the source.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_IMPORT_FINDINGS_H
#define POOT_LIB_IMPORT_FINDINGS_H

#include "Poot/Import/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"

namespace clang {
class SourceManager;
} // namespace clang

namespace poot::import {

/// Of the kernel in MODULE. Its hooks are taken as filled by their defaults.
void reportFindings(mlir::ModuleOp module, int64_t workgroupLimit,
                    clang::SourceManager &sources, Reporter &reporter);

} // namespace poot::import

#endif // POOT_LIB_IMPORT_FINDINGS_H
