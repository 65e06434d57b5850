//===- Translation.cpp - Kernels to SPIR-V on the command line ------------===//

#include "Poot/Support/Files.h"
#include "Poot/Target/Spirv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/SPIRV/Deserialization.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace poot;

/// The kernel called `name`, or the only one if the name is empty.
static FailureOr<kernel::FuncOp> findKernel(ModuleOp module, StringRef name) {
  SmallVector<kernel::FuncOp> kernels(module.getOps<kernel::FuncOp>());
  auto listNames = [&](InFlightDiagnostic &&diag) {
    llvm::interleaveComma(
        kernels, diag, [&](kernel::FuncOp func) { diag << func.getSymName(); });
    return failure();
  };
  if (kernels.empty())
    return module.emitError("the file has no kernel.func");
  if (name.empty()) {
    if (kernels.size() == 1)
      return kernels.front();
    return listNames(
        module.emitError("the file has several kernels; choose one with "
                         "--kernel: "));
  }
  for (kernel::FuncOp func : kernels)
    if (func.getSymName() == name)
      return func;
  return listNames(module.emitError("the file has no kernel '")
                   << name << "'; it has: ");
}

void poot::registerSpirvTranslations() {
  static llvm::cl::opt<std::string> kernelName(
      "kernel", llvm::cl::desc("Kernel to translate, if there are several"),
      llvm::cl::value_desc("name"));
  static llvm::cl::opt<std::string> targetName(
      "target",
      llvm::cl::desc("vulkan:base, vulkan:f16, vulkan:coopmat or vulkan:cpu"),
      llvm::cl::init("vulkan:f16"));

  static TranslateFromMLIRRegistration toSpirv(
      "kernel-to-spirv", "kernel.func to a SPIR-V binary",
      [](ModuleOp module, raw_ostream &output) -> LogicalResult {
        FailureOr<SpirvTarget> target =
            SpirvTarget::parse(targetName, [&] { return module.emitError(); });
        if (failed(target))
          return failure();
        FailureOr<kernel::FuncOp> func = findKernel(module, kernelName);
        if (failed(func))
          return failure();
        FailureOr<SpirvKernel> compiled = compileToSpirv(*func, *target);
        if (failed(compiled))
          return failure();
        output.write(reinterpret_cast<const char *>(compiled->words.data()),
                     compiled->words.size() * sizeof(uint32_t));
        return success();
      },
      [](DialectRegistry &registry) {
        registry.insert<kernel::KernelDialect, arith::ArithDialect,
                        cf::ControlFlowDialect, math::MathDialect,
                        scf::SCFDialect, vector::VectorDialect>();
      });

  static TranslateToMLIRRegistration fromSpirv(
      "spirv-to-mlir", "SPIR-V binary to a spirv.module",
      [](llvm::SourceMgr &sources,
         MLIRContext *context) -> OwningOpRef<Operation *> {
        const llvm::MemoryBuffer *buffer =
            sources.getMemoryBuffer(sources.getMainFileID());
        auto loc =
            FileLineColLoc::get(context, buffer->getBufferIdentifier(), 0, 0);
        if (buffer->getBufferSize() % sizeof(uint32_t) != 0) {
          emitError(loc) << "a SPIR-V binary is a multiple of 4 bytes; this "
                            "one has "
                         << buffer->getBufferSize();
          return {};
        }
        // The buffer need not be aligned.
        std::vector<uint32_t> words(buffer->getBufferSize() / sizeof(uint32_t));
        std::memcpy(words.data(), buffer->getBufferStart(),
                    buffer->getBufferSize());
        context->loadDialect<spirv::SPIRVDialect>();
        OwningOpRef<spirv::ModuleOp> module;
        runParser(buffer->getBufferIdentifier(),
                  [&] { module = spirv::deserialize(words, context); });
        if (!module) {
          emitError(loc) << "is no SPIR-V module that can be read";
          return {};
        }
        OwningOpRef<ModuleOp> result = ModuleOp::create(loc);
        result->push_back(module.release());
        return OwningOpRef<Operation *>(result.release().getOperation());
      },
      [](DialectRegistry &registry) {
        registry.insert<spirv::SPIRVDialect>();
      });
}
