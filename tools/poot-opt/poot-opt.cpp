//===- poot-opt.cpp - Runs passes and pipelines over an .mlir file --------===//

#include "Poot/InitAll.h"
#include "Poot/Support/Files.h"
#include "Poot/Support/InitTool.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  poot::InitTool init(argc, argv);
  mlir::DialectRegistry registry;
  poot::registerAllDialects(registry);
  poot::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "poot's pass driver\n", registry);
  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();
  auto fail = [](const std::string &message) {
    llvm::errs() << "poot-opt: error: " << message << "\n";
    return 1;
  };
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file;
  // Listings need no input, and don't wait for any.
  if (config.shouldShowDialects() || config.shouldListPasses())
    file = llvm::MemoryBuffer::getMemBuffer("");
  else
    file = poot::openNestedFile(input, message);
  if (!file)
    return fail(message);
  // Read once in advance, since nothing that a pass does may look like damage.
  if (mlir::isBytecode(file->getMemBufferRef()))
    poot::runParser(input, [&] {
      mlir::MLIRContext context(registry);
      context.allowUnregisteredDialects(
          config.shouldAllowUnregisteredDialects());
      mlir::ScopedDiagnosticHandler silence(
          &context, [](mlir::Diagnostic &) { return mlir::success(); });
      mlir::parseSourceString<mlir::ModuleOp>(file->getBuffer(),
                                              mlir::ParserConfig(&context));
    });
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(mlir::MlirOptMain(stream, std::move(file), registry, config)))
    return 1;
  if (failed(poot::writeOutput(output, text, message)))
    return fail(message);
  return 0;
}
