//===- InitTool.h - How every tool of the compiler starts -------*- C++ -*-===//

#ifndef POOT_SUPPORT_INITTOOL_H
#define POOT_SUPPORT_INITTOOL_H

#include "llvm/Support/InitLLVM.h"
#include <csignal>

namespace poot {

/// LLVM's start of a program, less its handling of a file that grows too large:
/// there the write fails, and the tool says which file it was.
class InitTool {
public:
  InitTool(int &argc, char **&argv) : init(argc, argv) {
    std::signal(SIGXFSZ, SIG_IGN);
  }

private:
  llvm::InitLLVM init;
};

} // namespace poot

#endif
