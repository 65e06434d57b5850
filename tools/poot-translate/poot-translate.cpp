//===- poot-translate.cpp - Between .mlir files and other formats ---------===//
//
// Runs one registered translation from a file to a file.
//
//===----------------------------------------------------------------------===//

#include "Poot/InitAll.h"
#include "Poot/Support/Files.h"
#include "Poot/Support/InitTool.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
namespace cl = llvm::cl;

int main(int argc, char **argv) {
  poot::InitTool init(argc, argv);
  poot::registerAllTranslations();
  static cl::list<const Translation *, bool, TranslationParser> translations(
      "", cl::desc("Translation to perform"));
  static cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                                    cl::init("-"));
  static cl::opt<std::string> output("o", cl::desc("Output filename"),
                                     cl::value_desc("filename"), cl::init("-"));
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerTranslationCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "poot's translator");

  auto fail = [](const std::string &message) {
    llvm::errs() << "poot-translate: error: " << message << "\n";
    return 1;
  };
  if (translations.size() != 1)
    return fail("give exactly one translation; --help lists them");
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      poot::openNestedFile(input, message);
  if (!file)
    return fail(message);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), {});
  MLIRContext context;
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler diagnostics(*sources, &context);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed((*translations.front())(sources, stream, &context)))
    return 1;
  if (failed(poot::writeOutput(output, bytes, message)))
    return fail(message);
  return 0;
}
