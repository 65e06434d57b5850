//===- poot-translate.cpp - Between .mlir files and other formats ---------===//

#include "Poot/InitAll.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  poot::registerAllTranslations();
  return failed(mlir::mlirTranslateMain(argc, argv, "poot's translator"));
}
