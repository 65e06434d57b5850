//===- Files.h - What the tools read and write ----------------------------===//
//
// Every tool that reads .mlir files opens them here, and those that write text
// or bytes of unknown origin write them here, so that no input can exhaust the
// parser's stack and no failure leaves a partial file.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_SUPPORT_FILES_H
#define POOT_SUPPORT_FILES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace poot {

/// The deepest nesting of brackets of any kind that an .mlir file may have.
/// MLIR's parser calls itself for each level and knows no limit of its own.
/// What poot writes stays below 20.
inline constexpr unsigned kMaxNesting = 256;

/// Opens PATH, or standard input for "-": an .mlir file, text or bytecode, or
/// JSON, whose parser in LLVM recurses as well. Null with a MESSAGE, which
/// names the file, when it can't be read or nests deeper than kMaxNesting.
std::unique_ptr<llvm::MemoryBuffer> openNestedFile(llvm::StringRef path,
                                                   std::string &message);

/// Writes BYTES to PATH, which holds either all of them or what it held
/// before; "-" is standard output. The MESSAGE of a failure names the file.
mlir::LogicalResult writeOutput(llvm::StringRef path, llvm::StringRef bytes,
                                std::string &message);

/// Runs READ, a parser of LLVM's on the contents of PATH. Those of bytecode and
/// SPIR-V trust what they read. Where one crashes, this says that the file is
/// damaged and ends the process with status 1: what the parser touched can't be
/// used or freed any more.
void runParser(llvm::StringRef path, llvm::function_ref<void()> read);

/// Whether what went to llvm::outs() so far reached standard output. Without
/// this question LLVM ends the process with a message of its own.
mlir::LogicalResult flushOutput(std::string &message);

} // namespace poot

#endif // POOT_SUPPORT_FILES_H
