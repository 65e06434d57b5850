//===- AssignArena.cpp - Places of arena buffers --------------------------===//
//
// Implements plan-assign-arena: lifetimes from command order, then placement
// largest first in the lowest gap.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Plan/PlanPasses.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace poot::plan {
#define GEN_PASS_DEF_PLANASSIGNARENA
#include "Poot/Dialect/Plan/PlanPasses.h.inc"

namespace {

struct Lifetime {
  BufferOp buffer;
  int64_t bytes; // rounded up to the alignment
  int64_t first; // indices of commands, both inclusive
  int64_t last;
  int64_t offset = 0;

  bool overlaps(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct AssignArena : impl::PlanAssignArenaBase<AssignArena> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<Lifetime> lifetimes;
    llvm::DenseMap<Operation *, size_t> indexOf;
    int64_t time = 0;
    for (Operation &op : program.getBody().front()) {
      if (!isCommand(&op))
        continue;
      for (BufferUse use : bufferUses(&op)) {
        if (use.buffer.getRole() != Role::Arena)
          continue;
        auto [it, isNew] =
            indexOf.try_emplace(use.buffer.getOperation(), lifetimes.size());
        if (isNew)
          lifetimes.push_back({use.buffer,
                               static_cast<int64_t>(llvm::alignTo(
                                   use.buffer.getBytes(), kBufferAlignment)),
                               time, time});
        lifetimes[it->second].last = time;
      }
      ++time;
    }

    SmallVector<size_t> order(lifetimes.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::stable_sort(order, [&](size_t a, size_t b) {
      return lifetimes[a].bytes > lifetimes[b].bytes;
    });

    int64_t arenaSize = 0;
    SmallVector<const Lifetime *> placed;
    for (size_t index : order) {
      Lifetime &current = lifetimes[index];
      SmallVector<const Lifetime *> alive;
      for (const Lifetime *other : placed)
        if (other->overlaps(current))
          alive.push_back(other);
      llvm::sort(alive, [](const Lifetime *a, const Lifetime *b) {
        return a->offset < b->offset;
      });
      int64_t offset = 0;
      for (const Lifetime *other : alive) {
        if (offset + current.bytes <= other->offset)
          break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      current.offset = offset;
      placed.push_back(&current);
      arenaSize = std::max(arenaSize, offset + current.bytes);
    }

    // The most bytes alive at one command.
    SmallVector<int64_t> delta(time + 1, 0);
    for (const Lifetime &lifetime : lifetimes) {
      delta[lifetime.first] += lifetime.bytes;
      delta[lifetime.last + 1] -= lifetime.bytes;
    }
    int64_t live = 0, lowerBound = 0;
    for (int64_t change : delta)
      lowerBound = std::max(lowerBound, live += change);

    for (Lifetime &lifetime : lifetimes)
      lifetime.buffer.setOffset(lifetime.offset);
    program.setArenaSize(arenaSize);
    program.setArenaLowerBound(lowerBound);
  }
};

} // namespace
} // namespace poot::plan
