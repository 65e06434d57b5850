//===- Diagnostics.h - Named diagnostics of kernels -------------*- C++ -*-===//
//
// One table of what a kernel may not do, and a reporter that says it at its
// place with the calls that lead there from the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_IMPORT_DIAGNOSTICS_H
#define POOT_IMPORT_DIAGNOSTICS_H

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace poot::import {

enum class Diagnostic {
#define POOT_DIAGNOSTIC(ID, NAME, ADVICE) ID,
#include "Poot/Import/Diagnostics.def"
};

llvm::StringRef getName(Diagnostic diagnostic);
llvm::StringRef getAdvice(Diagnostic diagnostic);

/// Reports through clang. Each diagnostic is said once at one place, however
/// many kernels come there.
class Reporter {
public:
  explicit Reporter(clang::DiagnosticsEngine &engine) : engine(engine) {}

  void error(Diagnostic diagnostic, clang::SourceLocation loc,
             const llvm::Twine &message);
  bool hasErrors() const { return errors != 0; }

  /// Whoever follows a call says so, and takes it back afterwards.
  void enterCall(std::string callee, clang::SourceLocation loc) {
    path.push_back({std::move(callee), loc});
  }
  void leaveCall() { path.pop_back(); }

private:
  struct Call {
    std::string callee;
    clang::SourceLocation loc;
  };
  clang::DiagnosticsEngine &engine;
  std::vector<Call> path;
  llvm::DenseSet<std::pair<unsigned, unsigned>> said;
  unsigned errors = 0;
};

} // namespace poot::import

#endif // POOT_IMPORT_DIAGNOSTICS_H
