// What the sanitizer remembers, and how it decides; see sanitizer.h.

#include "sanitizer.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace poot;
using namespace poot::interp;
using weights::concat;

Sanitizer::Sanitizer(const DecodedProgram &program, const RunOptions &options,
                     Findings &findings)
    : program_(program), options_(options), findings_(findings) {}

void Sanitizer::Clock::merge(const Clock &other) {
  for (auto [group, time] : other.groups) {
    uint32_t &own = groups[group];
    own = std::max(own, time);
  }
  for (auto [item, time] : other.items) {
    uint32_t &own = items[item];
    own = std::max(own, time);
  }
}

void Sanitizer::start(Machine &machine) {
  shadows_.resize(program_.memories.size());
  // Buffers whose bytes overlap share a region.
  struct Range {
    uintptr_t begin, end;
    uint32_t memory;
  };
  std::vector<Range> ranges;
  for (uint32_t m = 0; m != program_.memories.size(); ++m) {
    const MemoryInfo &info = program_.memories[m];
    uint64_t bytes = machine.memories[m].count * info.elementBytes;
    if (info.kind == kir::TypeKind::Buffer) {
      if (bytes) {
        auto begin = reinterpret_cast<uintptr_t>(machine.memories[m].data);
        ranges.push_back({begin, begin + bytes, m});
      }
      if (options_.arguments[info.argument].undefined) {
        shadows_[m].written = static_cast<uint32_t>(written_.size());
        written_.emplace_back();
        written_.back().generations.resize(bytes);
      }
    } else if (info.kind == kir::TypeKind::Workgroup) {
      Region region;
      region.isBuffer = false;
      region.granule = std::max<uint64_t>(info.granule, 1);
      region.cells = bytes / region.granule + 1;
      region.pages.resize(region.cells / kPageCells + 1);
      shadows_[m].region = static_cast<uint32_t>(regions_.size());
      shadows_[m].written = static_cast<uint32_t>(written_.size());
      regions_.push_back(std::move(region));
      written_.emplace_back();
      written_.back().generations.resize(bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.memory) < std::tie(b.begin, b.memory);
  });
  for (size_t first = 0; first != ranges.size();) {
    size_t last = first;
    uintptr_t end = ranges[first].end;
    bool writes = false;
    uint64_t granule = 0;
    for (; last != ranges.size() && (last == first || ranges[last].begin < end);
         ++last) {
      const MemoryInfo &info = program_.memories[ranges[last].memory];
      end = std::max(end, ranges[last].end);
      writes |= info.writes;
      granule = std::gcd(granule, info.granule);
      granule =
          std::gcd(granule, uint64_t(ranges[last].begin - ranges[first].begin));
    }
    if (writes) {
      Region region;
      region.granule = std::max<uint64_t>(granule, 1);
      region.cells = (end - ranges[first].begin) / region.granule + 1;
      region.pages.resize(region.cells / kPageCells + 1);
      for (size_t i = first; i != last; ++i) {
        shadows_[ranges[i].memory].region =
            static_cast<uint32_t>(regions_.size());
        shadows_[ranges[i].memory].offset =
            ranges[i].begin - ranges[first].begin;
      }
      regions_.push_back(std::move(region));
    }
    first = last;
  }
}

void Sanitizer::finish() {
  // Workgroups run one after another, so places can't change any more.
  regions_.clear();
}

void Sanitizer::tick() {
  // Times are 32 bits; a run that has more periods starts over, which forgets
  // all older accesses and so may miss races, but finds no false ones.
  if (++now_ != UINT32_MAX)
    return;
  now_ = 1;
  groupStart_ = 1;
  lastBarrier_ = 0;
  for (unsigned kind : {0, 1}) {
    known_[kind] = {};
    learnt_[kind].clear();
  }
  released_.clear();
  atomics_.clear();
  for (Shadow &shadow : shadows_)
    shadow.reads = shadow.writes = {};
  for (Region &region : regions_)
    for (auto &page : region.pages)
      page.reset();
}

void Sanitizer::startWorkgroup(uint64_t number) {
  tick();
  group_ = static_cast<uint32_t>(number);
  groupStart_ = now_;
  lastBarrier_ = 0;
  for (unsigned kind : {0, 1}) {
    known_[kind] = {};
    learnt_[kind].clear();
  }
  for (uint32_t m = 0; m != shadows_.size(); ++m)
    if (program_.memories[m].kind == kir::TypeKind::Workgroup) {
      ++written_[shadows_[m].written].generation;
      written_[shadows_[m].written].any = false;
    }
  // What was released in workgroup memory is gone with it.
  for (auto it = released_.begin(); it != released_.end();)
    if (!regions_[it->first.first].isBuffer)
      it = released_.erase(it);
    else
      ++it;
}

void Sanitizer::barrier() {
  lastBarrier_ = now_;
  for (unsigned kind : {0, 1}) {
    for (auto &[item, clock] : learnt_[kind])
      known_[kind].merge(clock);
    learnt_[kind].clear();
  }
  tick();
}

void Sanitizer::report(Fault fault, uint32_t site, uint32_t lane,
                       std::string message, std::vector<Report::Note> notes,
                       uint32_t otherSite) {
  auto [found, fresh] = seen_.try_emplace({fault, site, otherSite}, SIZE_MAX);
  if (!fresh) {
    if (found->second == SIZE_MAX)
      ++findings_.dropped;
    else
      ++findings_.reports[found->second].count;
    return;
  }
  if (findings_.reports.size() >= options_.maxReports) {
    ++findings_.dropped;
    return;
  }
  Report report;
  report.fault = fault;
  report.kernel = program_.name();
  report.message = std::move(message);
  report.path = program_.path(site);
  report.notes.push_back(
      {concat("in ", describeItem(program_, group_, options_.grid, lane)), {}});
  for (Report::Note &note : notes)
    report.notes.push_back(std::move(note));
  found->second = findings_.reports.size();
  findings_.reports.push_back(std::move(report));
}

void Sanitizer::checkUse(Machine &machine, uint32_t taint, uint32_t n,
                         uint32_t site, const char *doing) {
  for (uint32_t k = 0; k != n; ++k) {
    const uint8_t *column = machine.at<uint8_t>(taint, k);
    machine.each([&](uint32_t l) {
      uint8_t why = column[l];
      if (!why)
        return;
      if (why & kUnwritten)
        report(Fault::Uninitialized, site, l,
               concat(doing, " a variable that was not written"));
      else if (why & kForeignLane)
        report(Fault::Subgroup, site, l,
               concat(doing, " a value of a lane that is not there"));
      else
        report(Fault::Poison, site, l,
               concat(doing, " an undefined value (poison)"));
    });
  }
}

Sanitizer::Cell &Sanitizer::cell(Region &region, uint64_t number) {
  std::unique_ptr<Page> &page = region.pages[number / kPageCells];
  if (!page)
    page = std::make_unique<Page>();
  return page->cells[number % kPageCells];
}

bool Sanitizer::ordered(const Entry &entry, uint32_t item,
                        bool isBuffer) const {
  if (!entry.time || entry.item == item)
    return true;
  if (!isBuffer && entry.time < groupStart_)
    return true; // Of an earlier workgroup's array.
  uint32_t group = entry.item / program_.workItems;
  if (group == group_ && entry.time <= lastBarrier_)
    return true;
  unsigned kind = !isBuffer;
  auto knows = [&](const Clock &clock) {
    if (auto it = clock.groups.find(group);
        it != clock.groups.end() && entry.time <= it->second)
      return true;
    auto it = clock.items.find(entry.item);
    return it != clock.items.end() && entry.time <= it->second;
  };
  if (knows(known_[kind]))
    return true;
  auto own = learnt_[kind].find(item);
  return own != learnt_[kind].end() && knows(own->second);
}

void Sanitizer::note(Recent &recent, const Entry &entry) {
  uint32_t size = program_.workItems;
  if (!recent.latest.time || recent.latest.item == entry.item) {
    recent.latest = entry;
    return;
  }
  // otherGroup stays the latest from a workgroup other than latest's.
  if (recent.latest.item / size != entry.item / size)
    recent.otherGroup = recent.latest;
  recent.otherItem = recent.latest;
  recent.latest = entry;
}

void Sanitizer::race(const Entry &earlier, const char *earlierWas,
                     std::string message, uint32_t lane, uint32_t site) {
  uint32_t items = program_.workItems;
  std::vector<Report::Note> notes;
  notes.push_back({concat("the other access, ", earlierWas, ", by ",
                          describeItem(program_, earlier.item / items,
                                       options_.grid, earlier.item % items)),
                   program_.path(earlier.site)});
  report(Fault::Race, site, lane, concat("data race: ", message),
         std::move(notes), earlier.site);
}

/// An access of an array which shares bytes with others, compared with what was
/// done to those. False where they race.
bool Sanitizer::accessOverlaid(uint32_t memory, bool writes, uint32_t lane,
                               uint32_t site) {
  const uint32_t item = itemOf(lane);
  auto check = [&](uint32_t other, const Recent &recent, const char *was) {
    for (const Entry *earlier :
         {&recent.latest, &recent.otherItem, &recent.otherGroup})
      if (!ordered(*earlier, item, /*isBuffer=*/false)) {
        race(*earlier, was,
             concat(writes ? "a write of " : "a read of ",
                    program_.memories[memory].name, " is not ordered with ",
                    was, " of ", program_.memories[other].name,
                    ", which may share its bytes"),
             lane, site);
        return false;
      }
    return true;
  };
  Shadow &own = shadows_[memory];
  note(writes ? own.writes : own.reads, {now_, item, site});
  for (uint32_t other : program_.memories[memory].overlaid)
    if (!check(other, shadows_[other].writes, "a write") ||
        (writes && !check(other, shadows_[other].reads, "a read")))
      return false;
  return true;
}

void Sanitizer::access(uint32_t memory, uint64_t at, uint64_t bytes, Kind kind,
                       kir::Scope scope, uint32_t lane, uint32_t site) {
  const Shadow &shadow = shadows_[memory];
  const bool writes = kind == Kind::Write || kind == Kind::AtomicWrite;
  const bool atomic = kind == Kind::AtomicRead || kind == Kind::AtomicWrite;
  if (shadow.written != kNone) {
    Written &written = written_[shadow.written];
    uint32_t *from = written.generations.data() + at;
    if (writes) {
      std::fill_n(from, bytes, written.generation);
      written.any = true;
      for (uint32_t other : program_.memories[memory].overlaid) {
        Written &content = written_[shadows_[other].written];
        if (content.any) {
          ++content.generation;
          content.any = false;
        }
      }
    } else if (std::any_of(from, from + bytes, [&](uint32_t generation) {
                 return generation != written.generation;
               })) {
      const MemoryInfo &info = program_.memories[memory];
      report(Fault::Uninitialized, site, lane,
             concat("element ", at / info.elementBytes, " of ", info.name,
                    " is read, and was not written"));
    }
  }
  if (shadow.region == kNone)
    return;
  if (!program_.memories[memory].overlaid.empty() &&
      !accessOverlaid(memory, writes, lane, site))
    return;
  Region &region = regions_[shadow.region];
  const uint32_t item = itemOf(lane);
  const Entry entry = {now_, item, site};
  const uint64_t first = (shadow.offset + at) / region.granule;
  const uint64_t last = (shadow.offset + at + bytes - 1) / region.granule;
  const char *doing = atomic   ? writes ? "an atomic update" : "an atomic read"
                      : writes ? "a write"
                               : "a read";
  for (uint64_t c = first; c <= last; ++c) {
    Cell &found = cell(region, c);
    auto check = [&](const Entry &earlier, const char *was) {
      if (ordered(earlier, item, region.isBuffer))
        return true;
      const MemoryInfo &info = program_.memories[memory];
      race(earlier, was,
           concat(doing, " of element ", at / info.elementBytes, " of ",
                  info.name, " is not ordered with ", was, " of it"),
           lane, site);
      return false;
    };
    auto checkAll = [&](const Recent &recent, const char *was) {
      return check(recent.latest, was) && check(recent.otherItem, was) &&
             check(recent.otherGroup, was);
    };
    // Two atomics don't race where each one's scope reaches the other.
    auto checkAtomics = [&](const Recent &recent, const char *was) {
      for (const Entry *earlier :
           {&recent.latest, &recent.otherItem, &recent.otherGroup}) {
        kir::Scope narrow = std::min(scope, recent.scope);
        uint32_t items = program_.workItems, size = program_.subgroupSize;
        bool sameGroup = earlier->item / items == group_;
        bool sameSubgroup =
            sameGroup && earlier->item % items / size == lane / size;
        bool reaches = narrow == kir::Scope::Device ||
                       (narrow == kir::Scope::Workgroup && sameGroup) ||
                       sameSubgroup;
        if (!reaches && !check(*earlier, was))
          return false;
      }
      return true;
    };
    bool clean = check(found.write, "a write");
    if (writes && clean)
      clean = checkAll(found.reads, "a read");
    if (found.atomics != kNone && clean) {
      const Atomics &others = atomics_[found.atomics];
      if (!atomic) {
        clean = checkAll(others.writes, "an atomic update");
        if (writes && clean)
          clean = checkAll(others.reads, "an atomic read");
      } else {
        clean = checkAtomics(others.writes, "an atomic update");
        if (writes && clean)
          clean = checkAtomics(others.reads, "an atomic read");
      }
    }
    if (atomic) {
      if (found.atomics == kNone) {
        found.atomics = static_cast<uint32_t>(atomics_.size());
        atomics_.emplace_back();
      }
      Recent &recent = writes ? atomics_[found.atomics].writes
                              : atomics_[found.atomics].reads;
      note(recent, entry);
      recent.scope = std::min(recent.scope, scope);
    } else if (writes) {
      found.write = entry;
    } else {
      note(found.reads, entry);
    }
    if (!clean)
      return; // One report an access.
  }
}

void Sanitizer::release(uint32_t memory, uint64_t at, kir::Order order,
                        kir::Scope scope, bool readsToo, uint32_t lane) {
  const Shadow &shadow = shadows_[memory];
  if (shadow.region == kNone)
    return;
  const std::pair<uint32_t, uint64_t> place = {shadow.region,
                                               shadow.offset + at};
  const bool releases =
      order == kir::Order::Release || order == kir::Order::AcqRel;
  // A plain store ends what was released before; an update goes on with it.
  if (!readsToo)
    released_.erase(place);
  if (!releases)
    return;
  const unsigned kind = !regions_[shadow.region].isBuffer;
  const uint32_t item = itemOf(lane);
  Clock clock = known_[kind];
  if (auto own = learnt_[kind].find(item); own != learnt_[kind].end())
    clock.merge(own->second);
  if (lastBarrier_) {
    uint32_t &group = clock.groups[group_];
    group = std::max(group, lastBarrier_);
  }
  clock.items[item] = now_;
  const uint32_t subgroup = lane / program_.subgroupSize;
  std::vector<Released> &all = released_[place];
  for (Released &one : all)
    if (one.group == group_ && one.subgroup == subgroup && one.scope == scope) {
      one.clock.merge(clock);
      tick();
      return;
    }
  all.push_back({group_, subgroup, scope, std::move(clock)});
  tick();
}

void Sanitizer::acquire(uint32_t memory, uint64_t at, kir::Order order,
                        kir::Scope scope, uint32_t lane) {
  if (order != kir::Order::Acquire && order != kir::Order::AcqRel)
    return;
  const Shadow &shadow = shadows_[memory];
  if (shadow.region == kNone)
    return;
  auto found = released_.find({shadow.region, shadow.offset + at});
  if (found == released_.end())
    return;
  const unsigned kind = !regions_[shadow.region].isBuffer;
  for (const Released &one : found->second) {
    kir::Scope narrow = std::min(one.scope, scope);
    bool sameGroup = one.group == group_;
    bool sameSubgroup =
        sameGroup && one.subgroup == lane / program_.subgroupSize;
    if (narrow == kir::Scope::Device ||
        (narrow == kir::Scope::Workgroup && sameGroup) || sameSubgroup)
      learnt_[kind][itemOf(lane)].merge(one.clock);
  }
}
