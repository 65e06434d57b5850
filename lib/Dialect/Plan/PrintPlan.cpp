//===- PrintPlan.cpp - Plans as tables ------------------------------------===//
//
// poot::plan::printPlan: what `poot-compile --print-plan` shows.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace poot::plan;

namespace {

/// Bytes with a binary unit, at most 10 columns.
std::string formatBytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  unsigned unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

/// How a table names a buffer: its role's letter and number for the arena,
/// role and name otherwise.
std::string bufferName(BufferOp buffer,
                       const llvm::DenseMap<Operation *, unsigned> &numbers) {
  if (buffer.getRole() == Role::Arena)
    return "%" + std::to_string(numbers.lookup(buffer));
  return (stringifyRole(buffer.getRole()) + ":" + *buffer.getName()).str();
}

void printProgram(ProgramOp program, llvm::raw_ostream &os) {
  os << "program " << program.getSymName() << " on " << program.getTarget();
  if (program.getEntry())
    os << ", entry " << *program.getEntry();
  os << "\n";

  llvm::DenseMap<Operation *, unsigned> numbers, commandNumbers;
  llvm::MapVector<Role, std::pair<unsigned, uint64_t>> totals;
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (buffer.getRole() == Role::Arena)
      numbers.try_emplace(buffer, numbers.size());
    auto &[count, bytes] = totals[buffer.getRole()];
    ++count;
    bytes += buffer.getBytes();
  }

  // Memory that a run reads, and of the states as much as there may be: which
  // part of a cache attention reads depends on the position.
  uint64_t bytesRead = 0, statesRead = 0;
  os << llvm::format("  %4s  %-44s %-16s %s\n", "#", "command", "grid",
                     "arguments");
  for (Operation &op : program.getBody().front()) {
    if (!isCommand(&op))
      continue;
    unsigned number = commandNumbers.size();
    commandNumbers[&op] = number;
    std::string what, grid;
    OperandRange waits(nullptr, 0);
    if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      what = dispatch.getKernel().str();
      llvm::raw_string_ostream(grid)
          << dispatch.getGrid()[0] << "x" << dispatch.getGrid()[1] << "x"
          << dispatch.getGrid()[2];
      waits = dispatch.getWaits();
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      what = "copy";
      waits = copy.getWaits();
    } else {
      what = "fill";
      waits = cast<FillOp>(op).getWaits();
    }
    os << llvm::format("  %4u  %-44s %-16s", number, what.c_str(),
                       grid.c_str());
    for (BufferUse use : bufferUses(&op)) {
      os << (use.reads && use.writes ? " *"
             : use.writes            ? " ="
                                     : " ")
         << bufferName(use.buffer, numbers);
      if (use.offset)
        os << "+" << use.offset;
      if (!use.reads)
        continue;
      if (use.buffer.getRole() == Role::State)
        statesRead += std::min<uint64_t>(use.touched, use.buffer.getBytes());
      else
        bytesRead += use.touched;
    }
    if (!waits.empty()) {
      os << "  after";
      for (Value wait : waits)
        os << " " << commandNumbers.lookup(wait.getDefiningOp());
    }
    os << "\n";
  }

  os << "  " << commandNumbers.size() << " commands;";
  for (const auto &[role, total] : totals)
    os << " " << total.first << " " << stringifyRole(role) << " buffers ("
       << formatBytes(total.second) << ");";
  if (program.getArenaSize())
    os << " arena " << formatBytes(*program.getArenaSize()) << ", at least "
       << formatBytes(*program.getArenaLowerBound()) << " needed";
  os << "; reads " << formatBytes(bytesRead);
  if (statesRead)
    os << " and at most " << formatBytes(statesRead) << " of states";
  os << "\n\n";
}

} // namespace

void poot::plan::printPlan(ModuleOp module, llvm::raw_ostream &os) {
  for (auto program : module.getOps<ProgramOp>())
    printProgram(program, os);
}
