//===- Checker.h - What a kernel may not do ---------------------*- C++ -*-===//
//
// Finds, in all code that a kernel reaches, what it may not do, and reports
// every such place. It follows calls as the importer does: not into what clang
// evaluates, not into branches that `if constexpr` discards, not into classes
// and functions that poot/kernel.h annotates. What depends on where an object
// lies, as with pointers into one of several arrays, the importer finds.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_IMPORT_CHECKER_H
#define POOT_LIB_IMPORT_CHECKER_H

#include "Poot/Import/Diagnostics.h"

namespace clang {
class ASTContext;
class FunctionDecl;
} // namespace clang

namespace poot::import {

/// Reports what is wrong with KERNEL. True if nothing is.
bool checkKernel(clang::ASTContext &ast, const clang::FunctionDecl *kernel,
                 Reporter &reporter);

} // namespace poot::import

#endif // POOT_LIB_IMPORT_CHECKER_H
