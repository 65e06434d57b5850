//===- Findings.cpp - What analyses say of a kernel -----------------------===//

#include "Findings.h"

#include "Poot/Dialect/Kernel/Analysis.h"
#include "Poot/Dialect/Kernel/Transforms.h"

#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"

using namespace poot;
using namespace poot::import;

/// Where LOC is, and the calls that lead there, innermost first.
static llvm::SmallVector<clang::SourceLocation>
findPlaces(mlir::Location loc, clang::SourceManager &sources) {
  llvm::SmallVector<clang::SourceLocation> places;
  while (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    places.append(findPlaces(call.getCallee(), sources));
    loc = call.getCaller();
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    if (!fused.getLocations().empty())
      places.append(findPlaces(fused.getLocations().front(), sources));
    return places;
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    places.append(findPlaces(named.getChildLoc(), sources));
    return places;
  }
  auto place = llvm::dyn_cast<mlir::FileLineColLoc>(loc);
  if (!place)
    return places;
  auto file = sources.getFileManager().getOptionalFileRef(
      place.getFilename().getValue());
  places.push_back(file ? sources.translateFileLineCol(&file->getFileEntry(),
                                                       place.getLine(),
                                                       place.getColumn())
                        : clang::SourceLocation());
  return places;
}

void poot::import::reportFindings(mlir::ModuleOp module, int64_t workgroupLimit,
                                  clang::SourceManager &sources,
                                  Reporter &reporter) {
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  if (!module.getOps<kernel::HookBodyOp>().empty()) {
    copy = module.clone();
    module = *copy;
  }
  for (auto func : module.getOps<kernel::FuncOp>()) {
    if (copy && failed(kernel::fillDefaultHooks(func)))
      continue;
    kernel::analyzeKernel(
        func, workgroupLimit, [&](const kernel::Finding &finding) {
          auto diagnostic = findDiagnostic(getName(finding.kind));
          auto places = findPlaces(finding.loc, sources);
          if (!diagnostic || places.empty())
            return;
          for (clang::SourceLocation call :
               llvm::reverse(llvm::drop_begin(places)))
            reporter.enterCall("", call);
          bool isSaid = reporter.report(*diagnostic, places.front(),
                                        "kernel '" + func.getName() +
                                            "': " + finding.text);
          for (size_t i = 1; i < places.size(); ++i)
            reporter.leaveCall();
          if (!isSaid || !finding.cause)
            return;
          auto cause = findPlaces(*finding.cause, sources);
          if (!cause.empty() && cause.front().isValid())
            reporter.note(cause.front(), finding.causeText);
        });
  }
}
