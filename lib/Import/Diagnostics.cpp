//===- Diagnostics.cpp - Named diagnostics of kernels ---------------------===//

#include "Poot/Import/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

using namespace poot::import;

namespace {
struct Row {
  const char *name, *advice;
};
} // namespace

static constexpr Row kRows[] = {
#define POOT_DIAGNOSTIC(ID, NAME, ADVICE) {NAME, ADVICE},
#include "Poot/Import/Diagnostics.def"
};

llvm::StringRef poot::import::getName(Diagnostic diagnostic) {
  return kRows[static_cast<unsigned>(diagnostic)].name;
}

llvm::StringRef poot::import::getAdvice(Diagnostic diagnostic) {
  return kRows[static_cast<unsigned>(diagnostic)].advice;
}

void Reporter::error(Diagnostic diagnostic, clang::SourceLocation loc,
                     const llvm::Twine &message) {
  ++errors;
  if (!said.insert({static_cast<unsigned>(diagnostic), loc.getRawEncoding()})
           .second)
    return;
  using Engine = clang::DiagnosticsEngine;
  engine.Report(
      loc, engine.getCustomDiagID(Engine::Error, "%0; %1 [poot-kernel-%2]"))
      << message.str() << getAdvice(diagnostic) << getName(diagnostic);
  for (const Call &call : llvm::reverse(path))
    engine.Report(call.loc,
                  engine.getCustomDiagID(Engine::Note,
                                         "reached through this call of '%0'"))
        << call.callee;
}
