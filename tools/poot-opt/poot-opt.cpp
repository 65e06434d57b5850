//===- poot-opt.cpp - Runs passes and pipelines over an .mlir file --------===//

#include "Poot/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  poot::registerAllDialects(registry);
  poot::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "poot's pass driver\n", registry));
}
