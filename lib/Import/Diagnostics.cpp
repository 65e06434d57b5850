//===- Diagnostics.cpp - Named diagnostics of kernels ---------------------===//

#include "Poot/Import/Diagnostics.h"

#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace poot::import;

namespace {
struct Row {
  const char *name;
  Level level;
  const char *advice;
};
} // namespace

static constexpr Row kRows[] = {
#define POOT_DIAGNOSTIC(ID, NAME, LEVEL, ABOUT, ADVICE)                        \
  {NAME, Level::LEVEL, ADVICE},
#include "Poot/Import/Diagnostics.def"
};

static const Row &getRow(Diagnostic diagnostic) {
  return kRows[static_cast<unsigned>(diagnostic)];
}

llvm::StringRef poot::import::getName(Diagnostic diagnostic) {
  return getRow(diagnostic).name;
}

llvm::StringRef poot::import::getAdvice(Diagnostic diagnostic) {
  return getRow(diagnostic).advice;
}

Level poot::import::getLevel(Diagnostic diagnostic) {
  return getRow(diagnostic).level;
}

std::optional<Diagnostic> poot::import::findDiagnostic(llvm::StringRef name) {
  for (auto [i, row] : llvm::enumerate(kRows))
    if (name == row.name)
      return static_cast<Diagnostic>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

std::optional<std::string> Levels::set(llvm::StringRef names, bool isError) {
  llvm::SmallVector<llvm::StringRef> parts;
  names.split(parts, ',');
  for (llvm::StringRef name : parts) {
    if (name == "all") {
      for (size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].level != Level::Always)
          isErrorByName[static_cast<Diagnostic>(i)] = isError;
      continue;
    }
    std::optional<Diagnostic> diagnostic = findDiagnostic(name);
    if (!diagnostic)
      return ("there is no diagnostic '" + name + "'").str();
    if (getLevel(*diagnostic) == Level::Always) {
      if (isError)
        continue;
      std::string possible;
      for (const Row &row : kRows)
        if (row.level != Level::Always)
          possible += (possible.empty() ? "" : ", ") + std::string(row.name);
      return ("'" + name +
              "' can't be a warning: what it is about can't be compiled; only "
              "these can: " +
              possible)
          .str();
    }
    isErrorByName[*diagnostic] = isError;
  }
  return std::nullopt;
}

bool Levels::isError(Diagnostic diagnostic) const {
  if (auto it = isErrorByName.find(diagnostic); it != isErrorByName.end())
    return it->second;
  return getLevel(diagnostic) != Level::DefaultWarning;
}

//===----------------------------------------------------------------------===//
// Reporter
//===----------------------------------------------------------------------===//

void Reporter::startKernel() {
  isImporting = false;
  found.clear();
  lines.clear();
}

Reporter::Line Reporter::getLine(clang::SourceLocation loc) const {
  if (!engine.hasSourceManager() || loc.isInvalid())
    return {0, 0};
  clang::SourceManager &sources = engine.getSourceManager();
  auto [file, offset] = sources.getDecomposedExpansionLoc(loc);
  return {static_cast<int>(file.getHashValue()),
          sources.getLineNumber(file, offset)};
}

bool Reporter::report(Diagnostic diagnostic, clang::SourceLocation loc,
                      const llvm::Twine &message) {
  return say(diagnostic, loc, message, levels.isError(diagnostic));
}

void Reporter::note(clang::SourceLocation loc, const llvm::Twine &message) {
  using Engine = clang::DiagnosticsEngine;
  engine.Report(loc, engine.getCustomDiagID(Engine::Note, "%0"))
      << message.str();
}

void Reporter::error(Diagnostic diagnostic, clang::SourceLocation loc,
                     const llvm::Twine &message) {
  say(diagnostic, loc, message, /*isError=*/true);
}

bool Reporter::say(Diagnostic diagnostic, clang::SourceLocation loc,
                   const llvm::Twine &message, bool isError) {
  // Where the checker found something, the importer meets it again, perhaps
  // under another name, and can't name expressions that depend on it.
  if (isImporting && !found.empty() &&
      (diagnostic == Diagnostic::Expression || lines.count(getLine(loc)) ||
       (diagnostic == Diagnostic::Goto && found.count(diagnostic))))
    return false;
  if (!isImporting && isError) {
    found.insert(diagnostic);
    lines.insert(getLine(loc));
  }
  // Of what is in a header of the system, the author sees the call.
  auto isForeign = [&](clang::SourceLocation place) {
    return engine.hasSourceManager() && place.isValid() &&
           engine.getSourceManager().isInSystemHeader(place);
  };
  clang::SourceLocation inner;
  size_t calls = path.size();
  if (isForeign(loc)) {
    while (calls > 0 && isForeign(path[calls - 1].loc))
      --calls;
    if (calls > 0) {
      inner = loc;
      loc = path[--calls].loc;
      if (!isImporting && isError)
        lines.insert(getLine(loc));
    }
  }
  // An analysis may find something in one place for each way there.
  llvm::hash_code way = 0;
  if (getLevel(diagnostic) != Level::Always)
    for (const Call &call : path)
      way = llvm::hash_combine(way, call.loc.getRawEncoding());
  if (!said.insert({diagnostic, loc.getRawEncoding(), way}).second)
    return false;
  using Engine = clang::DiagnosticsEngine;
  auto level = isError ? Engine::Error : Engine::Warning;
  if (inner.isValid())
    engine.Report(loc, engine.getCustomDiagID(level, "%0, inside '%1'; %2 "
                                                     "[poot-kernel-%3]"))
        << message.str() << path[calls].callee << getAdvice(diagnostic)
        << getName(diagnostic);
  else
    engine.Report(loc, engine.getCustomDiagID(level, "%0; %1 [poot-kernel-%2]"))
        << message.str() << getAdvice(diagnostic) << getName(diagnostic);
  if (inner.isValid())
    engine.Report(inner, engine.getCustomDiagID(Engine::Note, "it is here"));
  while (calls > 0) {
    const Call &call = path[--calls];
    unsigned text =
        call.callee.empty()
            ? engine.getCustomDiagID(Engine::Note, "reached through this call")
            : engine.getCustomDiagID(Engine::Note,
                                     "reached through this call of '%0'");
    auto note = engine.Report(call.loc, text);
    if (!call.callee.empty())
      note << call.callee;
  }
  return true;
}
