// Runs workgroups: which work-items go next, what happens at the ends of
// segments, and the threads over workgroups.

#include "program.h"
#include "sanitizer.h"

#include <algorithm>
#include <thread>

using namespace poot;
using namespace poot::interp;
using weights::concat;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

/// What workgroup arrays hold at first, so that their use shows in results.
static constexpr uint8_t kUnwrittenByte = 0xcb;
/// Work-items that loop over an atomic may wait for others of the workgroup:
/// after so many segments, all get their turn.
static constexpr uint64_t kPatience = 1024;

static unsigned lowestBit(uint64_t word) {
  return static_cast<unsigned>(__builtin_ctzll(word));
}

std::string poot::interp::describeItem(const DecodedProgram &program,
                                       uint64_t workgroup,
                                       const std::array<uint32_t, 3> &grid,
                                       uint32_t lane) {
  std::array<uint32_t, 3> size = program.workgroupSize();
  uint64_t row = workgroup / grid[0];
  return concat("work-item (", lane % size[0], ", ", lane / size[0] % size[1],
                ", ", lane / size[0] / size[1], ") of workgroup (",
                workgroup % grid[0], ", ", row % grid[1], ", ", row / grid[1],
                ")");
}

Machine::Machine(RunState &state, Sanitizer *sanitizer)
    : program(*state.program), options(*state.options), san(sanitizer),
      lanes(state.program->workItems), workItems(state.program->workItems),
      state_(state) {
  words_ = (workItems + 63) / 64;
  active.resize(words_);
  waiting_.resize(uint64_t(words_) * program.segments.size());
  parked_.resize(waiting_.size());
  ready_.resize((program.segments.size() + 63) / 64);
  scratch_.resize(workItems);

  // Columns start where vectors of the processor may.
  uint64_t bytes = program.registerBytes * workItems;
  registerStorage_ = std::make_unique<uint8_t[]>(bytes + 64);
  registers_ = registerStorage_.get() +
               (64 - reinterpret_cast<uintptr_t>(registerStorage_.get()) % 64);
  workgroupStorage_ = std::make_unique<uint8_t[]>(program.workgroupBytes + 64);
  workgroupBytes_ =
      workgroupStorage_.get() +
      (64 - reinterpret_cast<uintptr_t>(workgroupStorage_.get()) % 64);

  for (const MemoryInfo &info : program.memories) {
    Memory memory;
    memory.elementBytes = info.elementBytes;
    memory.count = info.count;
    switch (info.kind) {
    case kir::TypeKind::Buffer: {
      const Argument &argument = options.arguments[info.argument];
      memory.data = argument.data;
      // The last element may reach into the slack.
      uint64_t size = argument.size;
      uint64_t rest = size % info.elementBytes;
      memory.count = size / info.elementBytes +
                     (rest && info.elementBytes - rest <= argument.slack);
      break;
    }
    case kir::TypeKind::Workgroup:
      memory.data = workgroupBytes_ + info.offset;
      break;
    default:
      // Tables are only read.
      memory.data = const_cast<uint8_t *>(info.data.data());
      break;
    }
    memories.push_back(memory);
  }

  const std::array<uint32_t, 3> size = program.workgroupSize();
  for (const Constant &constant : program.constants) {
    for (uint32_t k = 0; k != constant.n; ++k)
      for (uint32_t l = 0; l != workItems; ++l) {
        uint32_t value = 0;
        switch (constant.kind) {
        case Constant::Kind::Data: {
          uint8_t *column = at<uint8_t>(constant.reg + k * constant.bytes);
          std::memcpy(column + uint64_t(l) * constant.bytes,
                      constant.data.data() + uint64_t(k) * constant.bytes,
                      constant.bytes);
          continue;
        }
        case Constant::Kind::Metadata:
          value = options.metadata[constant.number];
          break;
        case Constant::Kind::LocalId:
          value = constant.number == 0   ? l % size[0]
                  : constant.number == 1 ? l / size[0] % size[1]
                                         : l / size[0] / size[1];
          break;
        case Constant::Kind::LaneId:
          value = l % program.subgroupSize;
          break;
        case Constant::Kind::SubgroupId:
          value = l / program.subgroupSize;
          break;
        case Constant::Kind::NumWorkgroups:
          value = options.grid[constant.number];
          break;
        case Constant::Kind::WorkgroupId:
          break;
        }
        at<uint32_t>(constant.reg)[l] = value;
      }
  }
}

void Machine::fail(Status why) {
  if (failed_)
    return;
  failed_ = true;
  status = std::move(why);
  state_.stop = true;
}

void Machine::fault(Fault fault, uint32_t site, uint32_t lane,
                    std::string message) {
  if (san) {
    san->report(fault, site, lane, std::move(message));
    return;
  }
  if (failed_)
    return;
  Report report;
  report.fault = fault;
  report.kernel = program.name();
  report.message = std::move(message);
  report.path = program.path(site);
  report.notes.push_back({concat("in ", describeItem(program, workgroupNumber,
                                                     options.grid, lane)),
                          {}});
  std::string text = toText(report);
  text.pop_back();
  fail(Status(StatusCode::InvalidArgument, std::move(text)));
  firstFault = std::move(report);
}

void Machine::work() {
  while (!failed_ && !state_.stop) {
    uint64_t number = state_.next++;
    if (number >= state_.workgroups)
      return;
    startWorkgroup(number);
    runWorkgroup();
  }
}

void Machine::startWorkgroup(uint64_t number) {
  const auto &grid = options.grid;
  workgroupNumber = number;
  workgroup = {static_cast<uint32_t>(number % grid[0]),
               static_cast<uint32_t>(number / grid[0] % grid[1]),
               static_cast<uint32_t>(number / grid[0] / grid[1])};
  for (const Constant &constant : program.constants)
    if (constant.kind == Constant::Kind::WorkgroupId)
      std::fill_n(at<uint32_t>(constant.reg), workItems,
                  workgroup[constant.number]);
  std::memset(workgroupBytes_, kUnwrittenByte, program.workgroupBytes);
  for (const VarInfo &var : program.vars)
    if (var.taint != kNone)
      std::memset(at<uint8_t>(var.taint), kUnwritten,
                  var.count * var.columns * workItems);
  std::fill(waiting_.begin(), waiting_.end(), 0);
  std::fill(parked_.begin(), parked_.end(), 0);
  std::fill(ready_.begin(), ready_.end(), 0);
  barriers_.clear();
  ended_ = parkedCount_ = 0;
  segmentsSinceProgress_ = 0;
  sawAtomic = false;
  lastSegment_ = 0;
  uint64_t *first = waiting(0);
  for (uint32_t l = 0; l != workItems; ++l)
    first[l / 64] |= uint64_t(1) << (l % 64);
  ready_[0] |= 1;
  if (san)
    san->startWorkgroup(number);
}

/// The first segment at or after FROM that work-items wait for; kNone for none.
static uint32_t nextReady(const std::vector<uint64_t> &ready, uint32_t from) {
  size_t word = from / 64;
  if (word >= ready.size())
    return kNone;
  uint64_t bits = ready[word] & ~uint64_t(0) << (from % 64);
  while (!bits) {
    if (++word == ready.size())
      return kNone;
    bits = ready[word];
  }
  return static_cast<uint32_t>(word * 64) + lowestBit(bits);
}

/// Whether lanes of the subgroups that wait for SEGMENT are on their way
/// elsewhere, and may still come.
bool Machine::isSubgroupElsewhere(uint32_t segment) {
  std::vector<bool> waits(workItems / program.subgroupSize + 1);
  auto forEachSubgroup = [&](uint32_t of, auto visit) {
    const uint64_t *bits = waiting(of);
    for (uint32_t w = 0; w != words_; ++w)
      for (uint64_t word = bits[w]; word; word &= word - 1)
        if (visit((w * 64 + lowestBit(word)) / program.subgroupSize))
          return true;
    return false;
  };
  forEachSubgroup(segment, [&](uint32_t subgroup) {
    waits[subgroup] = true;
    return false;
  });
  for (uint32_t other = nextReady(ready_, 0); other != kNone;
       other = nextReady(ready_, other + 1))
    if (other != segment && forEachSubgroup(other, [&](uint32_t subgroup) {
          return bool(waits[subgroup]);
        }))
      return true;
  return false;
}

/// The next segment behind the last, where all get their turn. Lanes don't
/// exchange values before the others of their subgroup had the chance to come.
uint32_t Machine::nextInTurn() {
  uint32_t next = nextReady(ready_, lastSegment_ + 1);
  while (next != kNone && program.segments[next].meets &&
         isSubgroupElsewhere(next))
    next = nextReady(ready_, next + 1);
  return next;
}

void Machine::runWorkgroup() {
  while (!failed_) {
    bool fair = sawAtomic && segmentsSinceProgress_ > kPatience;
    uint32_t next = fair ? nextInTurn() : kNone;
    if (next == kNone)
      next = nextReady(ready_, 0);
    if (next == kNone) {
      if (ended_ == workItems)
        return;
      if (barriers_.size() != 1 || ended_)
        divergentBarrier();
      if (!failed_)
        releaseBarrier();
      continue;
    }
    ready_[next / 64] &= ~(uint64_t(1) << (next % 64));
    lastSegment_ = next;
    ++segmentsSinceProgress_;
    runSegment(next);
  }
}

void Machine::select(const uint64_t *bits) {
  count = 0;
  for (uint32_t w = 0; w != words_; ++w) {
    active[w] = bits[w];
    for (uint64_t word = bits[w]; word; word &= word - 1)
      lanes[count++] = w * 64 + lowestBit(word);
  }
  dense = lanes[count - 1] - lanes[0] == count - 1;
}

void Machine::runSegment(uint32_t number) {
  const Segment &segment = program.segments[number];
  uint64_t *bits = waiting(number);
  select(bits);
  std::fill_n(bits, words_, 0);
  if (options.stepLimit) {
    uint64_t steps = uint64_t(segment.insts + 1) * count;
    if (state_.steps.fetch_add(steps, std::memory_order_relaxed) + steps >
        options.stepLimit)
      return fail(makeError(StatusCode::ResourceExhausted, "kernel '",
                            program.name(), "' was given up after ",
                            options.stepLimit,
                            " steps; it may never end, or needs a higher "
                            "limit"));
  } else if (state_.stop.load(std::memory_order_relaxed)) {
    failed_ = true; // Another machine has the error.
    return;
  }
  const Inst *inst = program.insts.data() + segment.firstInst;
  for (const Inst *end = inst + segment.insts; inst != end; ++inst) {
    inst->run(*this, *inst);
    if (failed_)
      return;
  }
  leave(segment);
}

/// Runs the moves of an edge for some of the current work-items, which then
/// wait for its segment. The first COUNT of scratch_ from FIRST are they.
void Machine::takeEdge(const Edge &edge, uint32_t first, uint32_t number) {
  const uint32_t *chosen = scratch_.data() + first;
  bool contiguous = chosen[number - 1] - chosen[0] == number - 1;
  for (uint32_t m = 0; m != edge.moves; ++m) {
    const Move &move = program.moves[edge.firstMove + m];
    auto copy = [&](auto element) {
      using T = decltype(element);
      for (uint32_t k = 0; k != move.n; ++k) {
        const T *from = at<T>(move.source, k);
        T *to = at<T>(move.destination, k);
        if (contiguous)
          std::memcpy(to + chosen[0], from + chosen[0], number * sizeof(T));
        else
          for (uint32_t i = 0; i != number; ++i)
            to[chosen[i]] = from[chosen[i]];
      }
    };
    switch (move.bytes) {
    case 1:
      copy(uint8_t());
      break;
    case 2:
      copy(uint16_t());
      break;
    case 4:
      copy(uint32_t());
      break;
    default:
      copy(uint64_t());
      break;
    }
  }
  uint64_t *bits = waiting(edge.segment);
  for (uint32_t i = 0; i != number; ++i)
    bits[chosen[i] / 64] |= uint64_t(1) << (chosen[i] % 64);
  ready_[edge.segment / 64] |= uint64_t(1) << (edge.segment % 64);
}

void Machine::leave(const Segment &segment) {
  const Edge *edges = program.edges.data() + segment.firstEdge;
  switch (segment.exit) {
  case Exit::Jump:
    std::copy_n(lanes.begin(), count, scratch_.begin());
    takeEdge(edges[0], 0, count);
    return;
  case Exit::Branch: {
    const uint8_t *condition = at<uint8_t>(segment.condition);
    if (segment.conditionTaint != kNone)
      san->checkUse(*this, segment.conditionTaint, 1, segment.site,
                    "a branch depends on");
    // Those who go the first way to the front, the others behind them.
    uint32_t first = 0;
    for (uint32_t i = 0; i != count; ++i)
      first += condition[lanes[i]] & 1;
    uint32_t yes = 0, no = first;
    for (uint32_t i = 0; i != count; ++i)
      scratch_[condition[lanes[i]] & 1 ? yes++ : no++] = lanes[i];
    if (first)
      takeEdge(edges[0], 0, first);
    if (first != count)
      takeEdge(edges[1], first, count - first);
    return;
  }
  case Exit::Switch: {
    if (segment.conditionTaint != kNone)
      san->checkUse(*this, segment.conditionTaint, 1, segment.site,
                    "a branch depends on");
    // One way after the other, the default last; lanes not yet gone stay in
    // rest.
    std::vector<uint32_t> rest(lanes.begin(), lanes.begin() + count), stay;
    auto value = [&](uint32_t l) -> int64_t {
      switch (segment.conditionBytes) {
      case 1:
        return at<int8_t>(segment.condition)[l];
      case 2:
        return at<int16_t>(segment.condition)[l];
      case 4:
        return at<int32_t>(segment.condition)[l];
      default:
        return at<int64_t>(segment.condition)[l];
      }
    };
    for (uint32_t e = 1; e < segment.edges && !rest.empty(); ++e) {
      int64_t wanted = program.cases[segment.firstCase + e - 1];
      uint32_t taken = 0;
      stay.clear();
      for (uint32_t l : rest) {
        if (value(l) == wanted)
          scratch_[taken++] = l;
        else
          stay.push_back(l);
      }
      if (taken)
        takeEdge(edges[e], 0, taken);
      rest.swap(stay);
    }
    if (!rest.empty()) {
      std::copy(rest.begin(), rest.end(), scratch_.begin());
      takeEdge(edges[0], 0, static_cast<uint32_t>(rest.size()));
    }
    return;
  }
  case Exit::Barrier: {
    uint32_t target = edges[0].segment;
    uint64_t *bits = parked_.data() + uint64_t(target) * words_;
    if (std::find(barriers_.begin(), barriers_.end(), target) ==
        barriers_.end())
      barriers_.push_back(target);
    for (uint32_t w = 0; w != words_; ++w)
      bits[w] |= active[w];
    parkedCount_ += count;
    segmentsSinceProgress_ = 0;
    return;
  }
  case Exit::Unreachable:
    fault(Fault::Unreachable, segment.site, lanes[0],
          "control comes where the kernel says it never does");
    [[fallthrough]];
  case Exit::End:
    ended_ += count;
    segmentsSinceProgress_ = 0;
    return;
  }
}

void Machine::divergentBarrier() {
  // The barrier that is left behind first is the one to speak of.
  std::sort(barriers_.begin(), barriers_.end());
  auto find = [&](uint32_t barrier, uint32_t &number) {
    const uint64_t *bits = parked_.data() + uint64_t(barrier) * words_;
    uint32_t lane = kNone;
    number = 0;
    for (uint32_t w = 0; w != words_; ++w) {
      if (bits[w] && lane == kNone)
        lane = w * 64 + lowestBit(bits[w]);
      number += static_cast<uint32_t>(__builtin_popcountll(bits[w]));
    }
    return lane;
  };
  auto site = [&](uint32_t barrier) {
    for (const Segment &segment : program.segments)
      if (segment.exit == Exit::Barrier &&
          program.edges[segment.firstEdge].segment == barrier)
        return segment.site;
    return uint32_t(0);
  };
  uint32_t here = 0;
  uint32_t lane = find(barriers_.front(), here);
  std::string message =
      concat("only ", here, " of ", workItems,
             " work-items of the workgroup come to this barrier; ");
  uint32_t elsewhere = parkedCount_ - here;
  if (elsewhere)
    message += concat(elsewhere, elsewhere == 1 ? " waits" : " wait",
                      " at another barrier", ended_ ? " and " : "");
  if (ended_)
    message += concat(ended_, ended_ == 1 ? " has ended" : " have ended");
  uint32_t place = site(barriers_.front());
  if (!san) {
    fault(Fault::DivergentBarrier, place, lane, std::move(message));
    return;
  }
  std::vector<Report::Note> notes;
  for (size_t i = 1; i != barriers_.size(); ++i) {
    uint32_t number = 0;
    uint32_t other = find(barriers_[i], number);
    notes.push_back(
        {concat("the other barrier, where ",
                describeItem(program, workgroupNumber, options.grid, other),
                " waits"),
         program.path(site(barriers_[i]))});
  }
  san->report(Fault::DivergentBarrier, place, lane, std::move(message),
              std::move(notes));
}

void Machine::releaseBarrier() {
  for (uint32_t barrier : barriers_) {
    uint64_t *bits = parked_.data() + uint64_t(barrier) * words_;
    uint64_t *to = waiting(barrier);
    for (uint32_t w = 0; w != words_; ++w) {
      to[w] |= bits[w];
      bits[w] = 0;
    }
    ready_[barrier / 64] |= uint64_t(1) << (barrier % 64);
  }
  barriers_.clear();
  parkedCount_ = 0;
  sawAtomic = false;
  if (san)
    san->barrier();
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

static Status checkRun(const DecodedProgram &program,
                       const RunOptions &options) {
  auto wrong = [&](auto &&...parts) {
    return makeError(StatusCode::InvalidArgument, "kernel '", program.name(),
                     "' ", parts...);
  };
  if (options.arguments.size() != program.buffers().size() ||
      options.metadata.size() != program.metadata().size())
    return wrong("takes ", program.buffers().size(), " buffers and ",
                 program.metadata().size(), " words of metadata, and is given ",
                 options.arguments.size(), " and ", options.metadata.size());
  for (size_t i = 0; i != options.arguments.size(); ++i)
    if (reinterpret_cast<uintptr_t>(options.arguments[i].data) % 16)
      return wrong("needs buffers that are aligned to 16 bytes; buffer ", i,
                   " is not");
  uint64_t workgroups = 1;
  for (uint32_t extent : options.grid) {
    if (extent && workgroups > UINT64_MAX / 2048 / extent)
      return wrong("can't run a grid of ", options.grid[0], "x",
                   options.grid[1], "x", options.grid[2], " workgroups");
    workgroups *= extent;
  }
  if (program.sanitizes() && workgroups > UINT32_MAX / program.workItems)
    return wrong("can't be sanitized over more than ", UINT32_MAX,
                 " work-items");
  return Status();
}

Status DecodedProgram::run(const RunOptions &options,
                           Findings *findings) const {
  if (Status status = checkRun(*this, options); !status.ok())
    return status;
  RunState state;
  state.program = this;
  state.options = &options;
  state.workgroups =
      uint64_t(options.grid[0]) * options.grid[1] * options.grid[2];
  if (!state.workgroups)
    return Status();
  if (sanitizes()) {
    Findings own;
    Sanitizer sanitizer(*this, options, findings ? *findings : own);
    Machine machine(state, &sanitizer);
    sanitizer.start(machine);
    machine.work();
    sanitizer.finish();
    return machine.status;
  }
  uint64_t threads = std::clamp<uint64_t>(
      std::min<uint64_t>(options.threads, state.workgroups), 1, 256);
  std::vector<std::unique_ptr<Machine>> machines;
  for (uint64_t t = 0; t != threads; ++t)
    machines.push_back(std::make_unique<Machine>(state, nullptr));
  std::vector<std::thread> others;
  for (uint64_t t = 1; t != threads; ++t)
    others.emplace_back([machine = machines[t].get()] { machine->work(); });
  machines[0]->work();
  for (std::thread &thread : others)
    thread.join();
  for (const auto &machine : machines)
    if (!machine->status.ok())
      return machine->status;
  return Status();
}
