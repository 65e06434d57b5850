//===- Translations.cpp - KIR on the command line -------------------------===//

#include "Poot/Kir/Kir.h"
#include "poot/kir/json.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

OwningOpRef<ModuleOp> poot::parseKirJson(const llvm::MemoryBuffer &buffer,
                                         MLIRContext *context) {
  StringRef text = buffer.getBuffer(), name = buffer.getBufferIdentifier();
  auto loc = FileLineColLoc::get(context, name, 0, 0);
  weights::Expected<kir::Module> module =
      kir::readJson({text.data(), text.size()}, name.str());
  if (module)
    return importKir(*module, loc);
  llvm::errs() << "error: " << module.status().message() << "\n";
  return {};
}

void poot::registerKirTranslations() {
  static TranslateFromMLIRRegistration toJson(
      "kernel-to-kir-json", "kernels and hook bodies to .kir.json",
      [](ModuleOp module, raw_ostream &output) -> LogicalResult {
        FailureOr<kir::Module> exported = exportKir(module);
        if (failed(exported))
          return failure();
        output << kir::writeJson(*exported);
        return success();
      },
      [](DialectRegistry &registry) {
        registry.insert<kernel::KernelDialect, arith::ArithDialect,
                        cf::ControlFlowDialect, math::MathDialect,
                        ub::UBDialect, vector::VectorDialect>();
      });

  static TranslateToMLIRRegistration fromJson(
      "kir-json-to-kernel", ".kir.json to kernels and hook bodies",
      [](llvm::SourceMgr &sources,
         MLIRContext *context) -> OwningOpRef<Operation *> {
        OwningOpRef<ModuleOp> result = parseKirJson(
            *sources.getMemoryBuffer(sources.getMainFileID()), context);
        if (!result)
          return {};
        return OwningOpRef<Operation *>(result.release().getOperation());
      });
}
