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

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace poot::import {

enum class Diagnostic {
#define POOT_DIAGNOSTIC(ID, NAME, LEVEL, ABOUT, ADVICE) ID,
#include "Poot/Import/Diagnostics.def"
};

/// What a diagnostic is where the command line doesn't say.
enum class Level { Always, DefaultError, DefaultWarning };

llvm::StringRef getName(Diagnostic diagnostic);
llvm::StringRef getAdvice(Diagnostic diagnostic);
Level getLevel(Diagnostic diagnostic);
std::optional<Diagnostic> findDiagnostic(llvm::StringRef name);

/// What --warn= and --error= make of diagnostics.
class Levels {
public:
  /// NAMES are separated by commas; `all` stands for those that can be changed.
  /// Otherwise what is wrong with them.
  std::optional<std::string> set(llvm::StringRef names, bool isError);
  bool isError(Diagnostic diagnostic) const;

private:
  std::map<Diagnostic, bool> isErrorByName;
};

/// Reports through clang. Each diagnostic is said once at one place, however
/// many kernels come there. What is wrong inside a header of the system is said
/// at the call that leads there.
class Reporter {
public:
  explicit Reporter(clang::DiagnosticsEngine &engine, Levels levels = {})
      : engine(engine), levels(std::move(levels)) {}

  /// An error, or a warning where the levels say so. False if it has been said
  /// before.
  bool report(Diagnostic diagnostic, clang::SourceLocation loc,
              const llvm::Twine &message);
  /// An error that the importer ends at.
  void error(Diagnostic diagnostic, clang::SourceLocation loc,
             const llvm::Twine &message);
  /// What belongs to the report before.
  void note(clang::SourceLocation loc, const llvm::Twine &message);

  /// A kernel has two parts: what the checker finds, and then what the importer
  /// adds to that. Of the latter, what follows from the former isn't said.
  void startKernel();
  void startImport() { isImporting = true; }
  /// Whether the checker has found errors in the kernel.
  bool hasFound() const { return !found.empty(); }

  /// Whoever follows a call says so, and takes it back afterwards. The name may
  /// be empty.
  void enterCall(std::string callee, clang::SourceLocation loc) {
    path.push_back({std::move(callee), loc});
  }
  void leaveCall() { path.pop_back(); }

private:
  struct Call {
    std::string callee;
    clang::SourceLocation loc;
  };
  using Line = std::pair<int, unsigned>;

  bool say(Diagnostic diagnostic, clang::SourceLocation loc,
           const llvm::Twine &message, bool isError);
  Line getLine(clang::SourceLocation loc) const;

  clang::DiagnosticsEngine &engine;
  Levels levels;
  std::vector<Call> path;
  /// What was said, where, and for what depends on its callers, by which calls.
  std::set<std::tuple<Diagnostic, unsigned, size_t>> said;
  bool isImporting = false;
  std::set<Diagnostic> found;
  std::set<Line> lines;
};

} // namespace poot::import

#endif // POOT_IMPORT_DIAGNOSTICS_H
