//===- Kir.h - Kernels between MLIR and plain data --------------*- C++ -*-===//
//
// The kernel dialect as poot::kir::Module and back. Nothing is lost on the way:
// a module that has gone there and back is equal to what it was, locations
// included. What KIR doesn't hold is an error that names it, with these
// exceptions: attributes that other dialects put on a kernel, and the metadata
// of fused locations, are left behind.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KIR_TRANSLATION_H
#define POOT_KIR_TRANSLATION_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "poot/kir/kir.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace poot {

/// All kernels and hook bodies of the module, in its order; other operations at
/// its top are left out. The result is verified.
mlir::FailureOr<kir::Module> exportKir(mlir::ModuleOp module);

/// One kernel with the hook bodies that it reaches.
mlir::FailureOr<kir::Module> exportKir(kernel::FuncOp func);

/// The kernels and hook bodies of `module`, which is verified. Null with an
/// error at `loc` where MLIR refuses it.
mlir::OwningOpRef<mlir::ModuleOp> importKir(const kir::Module &module,
                                            mlir::Location loc);

/// The module that the text of a .kir.json file holds. Null after an error that
/// names the buffer.
mlir::OwningOpRef<mlir::ModuleOp> parseKirJson(const llvm::MemoryBuffer &text,
                                               mlir::MLIRContext *context);

/// --kernel-to-kir-json and --kir-json-to-kernel.
void registerKirTranslations();

} // namespace poot

#endif // POOT_KIR_TRANSLATION_H
