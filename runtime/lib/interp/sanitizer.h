// Watches a run for what kernels leave undefined.
//
// Races. Every piece of memory that a kernel writes has a cell with its last
// accesses: the work-item, the instruction, and a time. Times count periods
// between synchronizations. Two accesses are ordered if one work-item made
// both; if a barrier of their workgroup lies between; or if the first one's
// work-item released to a place that the second one's acquired from, with
// scopes that include both, directly or through others. What a work-item knows
// of others is a clock: for workgroups and for single work-items, the time up
// to which their accesses come before.

#ifndef POOT_INTERP_SANITIZER_H
#define POOT_INTERP_SANITIZER_H

#include "program.h"

#include <map>
#include <tuple>
#include <unordered_map>

namespace poot::interp {

class Sanitizer {
public:
  Sanitizer(const DecodedProgram &program, const RunOptions &options,
            Findings &findings);

  void start(Machine &machine);
  void finish();
  void startWorkgroup(uint64_t number);
  void barrier();

  void report(Fault fault, uint32_t site, uint32_t lane, std::string message,
              std::vector<Report::Note> notes = {}, uint32_t otherSite = kNone);

  /// The N columns of TAINT are used by SITE as DOING says ("an index is").
  void checkUse(Machine &machine, uint32_t taint, uint32_t n, uint32_t site,
                const char *doing);

  enum class Kind : uint8_t { Read, Write, AtomicRead, AtomicWrite };
  /// An access in bounds: BYTES at AT of MEMORY by LANE.
  void access(uint32_t memory, uint64_t at, uint64_t bytes, Kind kind,
              kir::Scope scope, uint32_t lane, uint32_t site);
  /// The orders of atomics; to be called before and after the access.
  void release(uint32_t memory, uint64_t at, kir::Order order, kir::Scope scope,
               bool readsToo, uint32_t lane);
  void acquire(uint32_t memory, uint64_t at, kir::Order order, kir::Scope scope,
               uint32_t lane);

private:
  struct Entry {
    uint32_t time = 0; ///< 0: none.
    uint32_t item = 0;
    uint32_t site = 0;
  };
  /// The latest access, the latest by another work-item, the latest from
  /// another workgroup than these.
  struct Recent {
    Entry latest, otherItem, otherGroup;
    /// Narrowest scope among them, for atomics.
    kir::Scope scope = kir::Scope::Device;
  };
  struct Atomics {
    Recent reads, writes;
  };
  struct Cell {
    Entry write;
    Recent reads;
    uint32_t atomics = kNone; ///< Into atomics_.
  };
  static constexpr uint64_t kPageCells = 1024;
  struct Page {
    Cell cells[kPageCells];
  };
  /// Bytes with cells: one or more overlapping arguments, or a workgroup array.
  struct Region {
    bool isBuffer = true;
    uint64_t granule = 1;
    uint64_t cells = 0;
    std::vector<std::unique_ptr<Page>> pages;
  };
  struct Shadow {
    uint32_t region = kNone;  ///< None: never written, so no races.
    uint64_t offset = 0;      ///< Of the memory in the region.
    uint32_t written = kNone; ///< Into written_; none: all is initialized.
    /// Of any elements, where other arrays may share its bytes: which elements
    /// would meet depends on the target.
    Recent reads, writes;
  };
  /// Which bytes were written; cleared by raising the generation.
  struct Written {
    std::vector<uint32_t> generations;
    uint32_t generation = 1;
    bool any = false;
  };

  struct Clock {
    std::map<uint32_t, uint32_t> groups, items;
    void merge(const Clock &other);
  };
  struct Released {
    uint32_t group, subgroup;
    kir::Scope scope;
    Clock clock;
  };

  Cell &cell(Region &region, uint64_t number);
  bool ordered(const Entry &entry, uint32_t item, bool isBuffer) const;
  void note(Recent &recent, const Entry &entry);
  void race(const Entry &earlier, const char *earlierWas, std::string message,
            uint32_t lane, uint32_t site);
  bool accessOverlaid(uint32_t memory, bool writes, uint32_t lane,
                      uint32_t site);
  void tick();
  uint32_t itemOf(uint32_t lane) const {
    return group_ * program_.workItems + lane;
  }

  const DecodedProgram &program_;
  const RunOptions &options_;
  Findings &findings_;

  std::vector<Region> regions_;
  std::vector<Shadow> shadows_; ///< For each memory.
  std::vector<Written> written_;
  std::vector<Atomics> atomics_;

  uint32_t group_ = 0;
  uint32_t now_ = 1;
  uint32_t groupStart_ = 1;  ///< Workgroup memory: older cells are stale.
  uint32_t lastBarrier_ = 0; ///< Of the running workgroup.
  /// What the workgroup knew at its last barrier, and what its work-items have
  /// learnt since; for buffers and for workgroup memory.
  Clock known_[2];
  std::unordered_map<uint32_t, Clock> learnt_[2];
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Released>> released_;

  struct Key {
    Fault fault;
    uint32_t site, other;
    bool operator<(const Key &key) const {
      return std::tie(fault, site, other) <
             std::tie(key.fault, key.site, key.other);
    }
  };
  std::map<Key, size_t> seen_; ///< Into findings_.reports; SIZE_MAX: dropped.
};

} // namespace poot::interp

#endif // POOT_INTERP_SANITIZER_H
