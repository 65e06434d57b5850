//===- AddEdges.cpp - Waits between commands ------------------------------===//
//
// Implements plan-add-edges: each command waits for the earlier commands whose
// bytes it depends on, less those that other waits imply.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Plan/PlanPasses.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace poot::plan {
#define GEN_PASS_DEF_PLANADDEDGES
#include "Poot/Dialect/Plan/PlanPasses.h.inc"

namespace {

/// One earlier access to a range of one memory space.
struct Record {
  int64_t begin;
  int64_t end;
  unsigned command;
  bool writes;
};

/// Ranges compare within a space: the arena is one, every other buffer is its
/// own by role and name.
using Space = std::pair<Role, StringRef>;

struct AddEdges : impl::PlanAddEdgesBase<AddEdges> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<Operation *> commands;
    llvm::MapVector<Space, SmallVector<Record>> spaces;
    // Commands that each one is ordered after, directly or not.
    SmallVector<llvm::BitVector> ordered;

    for (Operation &op : program.getBody().front()) {
      if (!isCommand(&op))
        continue;
      unsigned now = commands.size();
      llvm::BitVector needed(now);
      for (BufferUse use : bufferUses(&op)) {
        BufferOp buffer = use.buffer;
        bool arena = buffer.getRole() == Role::Arena;
        if (arena && !buffer.getOffset()) {
          buffer.emitOpError("has no place yet; run plan-assign-arena first");
          return signalPassFailure();
        }
        int64_t begin = use.offset + (arena ? *buffer.getOffset() : 0);
        int64_t end =
            use.bytes > INT64_MAX - begin ? INT64_MAX : begin + use.bytes;
        auto &records =
            spaces[{buffer.getRole(), arena ? StringRef() : *buffer.getName()}];
        SmallVector<Record> kept;
        for (const Record &record : records) {
          bool overlap = record.begin < end && begin < record.end;
          if (overlap && (use.writes || record.writes) && record.command != now)
            needed.set(record.command);
          // A write hides what it covers completely: whoever comes later waits
          // for the write, which waited for what it hides.
          bool hidden = use.writes && record.command != now &&
                        begin <= record.begin && record.end <= end;
          if (!hidden)
            kept.push_back(record);
        }
        kept.push_back({begin, end, now, use.writes});
        records = std::move(kept);
      }

      // Latest first: what a wait is ordered after needs no wait of its own.
      SmallVector<Value> waits;
      llvm::BitVector after(now);
      for (int index = static_cast<int>(now) - 1; index >= 0; --index) {
        if (!needed.test(index) || after.test(index))
          continue;
        waits.push_back(commands[index]->getResult(0));
        after.set(index);
        llvm::BitVector implied = ordered[index];
        implied.resize(now);
        after |= implied;
      }
      std::reverse(waits.begin(), waits.end());
      if (auto dispatch = dyn_cast<DispatchOp>(op))
        dispatch.getWaitsMutable().assign(waits);
      else if (auto copy = dyn_cast<CopyOp>(op))
        copy.getWaitsMutable().assign(waits);
      else
        cast<FillOp>(op).getWaitsMutable().assign(waits);
      commands.push_back(&op);
      ordered.push_back(std::move(after));
    }
  }
};

} // namespace
} // namespace poot::plan
