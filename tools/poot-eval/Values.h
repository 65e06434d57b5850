//===- Values.h - Values that the command line gives and gets ---*- C++ -*-===//
//
// Reads the value specifications of poot-eval (a .npy file, a splat, random
// numbers), writes .npy files and prints tensors.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TOOLS_POOT_EVAL_VALUES_H
#define POOT_TOOLS_POOT_EVAL_VALUES_H

#include "Poot/Eval/Eval.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace poot::eval {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The value that SPEC gives to NAME, of TYPE:
///   FILE.npy      the array; bf16 values are stored as f32
///   splat:VALUE   the same number everywhere
///   random:SEED   floats uniform in [-1, 1), integers uniform over their type;
///                 each name gets numbers of its own
/// A relative FILE.npy is looked for in FOLDER. OPEN_EXTENT stands for `?`.
mlir::FailureOr<Tensor> readValue(llvm::StringRef name, llvm::StringRef spec,
                                  mlir::Type type, llvm::StringRef folder,
                                  int64_t openExtent, EmitError emitError);

/// Writes the row-major VALUE to the .npy file PATH; bf16 as f32.
mlir::LogicalResult writeValue(const Tensor &value, llvm::StringRef path,
                               EmitError emitError);

/// Prints NAME, the type and the elements; those of a large tensor in part.
void printValue(llvm::StringRef name, const Tensor &value,
                llvm::raw_ostream &os);

} // namespace poot::eval

#endif
