// A decoded kernel and the machine that runs it; inside the interpreter only.
//
// Registers. A value of N elements has a register of N columns, and a column
// holds one element of every work-item of the workgroup, one after the other.
// An instruction runs over the columns for the work-items that are at it. Names
// of registers are bytes of one work-item: column K of register R with elements
// of S bytes starts at (R + K * S) * W, W the work-items of a workgroup.
//
// A sanitizing program has a second register for values that may be undefined,
// with a byte for each element: 0, or why it is undefined (Taint).
//
// Control. Blocks are cut at barriers into segments, which are in an order such
// that a loop stands together and what follows a branch comes after it. The
// machine always runs the first segment that work-items wait for.

#ifndef POOT_INTERP_PROGRAM_H
#define POOT_INTERP_PROGRAM_H

#include "poot/interp/interpreter.h"

#include <cstring>
#include <optional>

namespace poot::interp {

class Machine;
class Sanitizer;
struct Inst;
using Handler = void (*)(Machine &, const Inst &);

inline constexpr uint32_t kNone = UINT32_MAX;

/// Why an element is undefined.
enum Taint : uint8_t {
  kPoison = 1,      ///< An operation's result.
  kUnwritten = 2,   ///< A variable that was not written.
  kForeignLane = 4, ///< From a lane that isn't there.
};

struct Inst {
  Handler run = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0; ///< Registers.
  uint32_t n = 1;                      ///< Columns.
  uint32_t x = 0, y = 0, z = 0;        ///< As the handler needs.
  uint32_t site = 0;                   ///< Into DecodedProgram::sites.
};

/// Where an instruction came from.
struct Site {
  kir::LocationId location = 0;
  uint32_t parent = kNone; ///< The site of the hook that it was put in for.
};

struct Move {
  uint32_t source, destination;
  uint32_t bytes, n;
};

struct Edge {
  uint32_t segment = 0;
  uint32_t firstMove = 0, moves = 0;
};

enum class Exit : uint8_t { Jump, Branch, Switch, Barrier, End, Unreachable };

struct Segment {
  uint32_t firstInst = 0, insts = 0;
  Exit exit = Exit::End;
  uint32_t firstEdge = 0, edges = 0;
  uint32_t condition = 0, conditionBytes = 1, conditionTaint = kNone;
  uint32_t firstCase = 0;
  uint32_t site = 0;
  /// Lanes of a subgroup exchange values in it.
  bool meets = false;
};

/// Bytes that work-items share: a buffer, a workgroup array, a table.
struct MemoryInfo {
  kir::TypeKind kind = kir::TypeKind::Buffer;
  uint64_t elementBytes = 0;
  uint64_t count = 0;             ///< Workgroup, Table.
  uint32_t argument = 0;          ///< Buffer.
  std::vector<uint8_t> data;      ///< Table.
  uint64_t offset = 0;            ///< Workgroup: into the workgroup's bytes.
  std::vector<uint32_t> overlaid; ///< Workgroup: arrays that may share bytes.
  bool writes = false;            ///< Some instruction writes it.
  uint64_t granule = 0;           ///< All accesses are multiples of it.
  std::string name;               ///< "buffer 1": in messages.
};

/// How an instruction reaches into memory.
struct AccessInfo {
  uint32_t memory = 0;
  uint32_t offset = 0; ///< Of the leaf in a structure.
  uint32_t bytes = 0;  ///< Of all columns.
  uint64_t leafCount = 1;
  uint32_t leafIndex = kNone; ///< The register of the index into the leaf.
};

/// A variable: a register that is written more than once.
struct VarInfo {
  uint32_t reg = 0, taint = kNone;
  uint32_t elementBytes = 0, columns = 0; ///< Of one element.
  std::vector<uint64_t> extents;
  uint64_t count = 1;
};

/// A register that holds the same value during a run.
struct Constant {
  enum class Kind : uint8_t {
    Data,
    Metadata,
    LocalId,
    LaneId,
    SubgroupId,
    NumWorkgroups,
    WorkgroupId, ///< Set anew for each workgroup.
  };
  Kind kind = Kind::Data;
  uint32_t reg = 0, bytes = 4, n = 1;
  uint32_t number = 0;       ///< Dimension, or which metadata.
  std::vector<uint8_t> data; ///< n elements.
};

class DecodedProgram final : public Program {
public:
  weights::Status run(const RunOptions &options,
                      Findings *findings) const override;

  Path path(uint32_t site) const;

  std::shared_ptr<const kir::Module> module;
  uint32_t subgroupSize = 32;
  uint32_t workItems = 1;

  std::vector<Inst> insts;
  std::vector<Segment> segments;
  std::vector<Edge> edges;
  std::vector<Move> moves;
  std::vector<int64_t> cases;
  std::vector<Site> sites;
  std::vector<MemoryInfo> memories;
  std::vector<AccessInfo> accesses;
  std::vector<VarInfo> vars;
  std::vector<Constant> constants;
  std::vector<uint32_t> lists; ///< Lists of registers and numbers.
  uint64_t registerBytes = 0;  ///< Of one work-item.
  uint64_t workgroupBytes = 0;

  void setInterface(const kir::Function &kernel, bool sanitize);
  void addBuffer(const kir::Type &type) { buffers_.push_back(type); }
  void addMetadata(kir::Element element) { metadata_.push_back(element); }
};

/// The order of a graph's nodes in which the machine prefers them; nodes that
/// 0 doesn't reach are left out. In order.cpp.
std::vector<uint32_t>
scheduleOrder(const std::vector<std::vector<uint32_t>> &successors);

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

struct Memory {
  uint8_t *data = nullptr;
  uint64_t count = 0;
  uint64_t elementBytes = 1;
};

/// What all machines of a run share.
struct RunState {
  const DecodedProgram *program = nullptr;
  const RunOptions *options = nullptr;
  uint64_t workgroups = 0;
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> steps{0};
  std::atomic<bool> stop{false};
};

/// Runs workgroups one after another.
class Machine {
public:
  Machine(RunState &state, Sanitizer *sanitizer);
  /// Runs workgroups until there are none left, or a failure.
  void work();

  const DecodedProgram &program;
  const RunOptions &options;
  Sanitizer *const san; ///< Null when the program doesn't sanitize.

  // The work-items that the current instruction runs for.
  uint32_t count = 0;
  bool dense = false; ///< They are lanes[0], lanes[0] + 1, ...
  std::vector<uint32_t> lanes;
  std::vector<uint64_t> active; ///< The same as bits.

  uint32_t workItems = 0;
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint64_t workgroupNumber = 0;
  std::vector<Memory> memories;
  bool sawAtomic = false;

  template <class T> T *at(uint32_t reg, uint32_t column = 0) {
    return reinterpret_cast<T *>(
        registers_ +
        (uint64_t(reg) + uint64_t(column) * sizeof(T)) * workItems);
  }
  template <class F> void each(F body) const {
    if (dense) {
      for (uint32_t l = lanes[0], end = lanes[0] + count; l != end; ++l)
        body(l);
    } else {
      for (uint32_t i = 0; i != count; ++i)
        body(lanes[i]);
    }
  }
  bool isActive(uint32_t lane) const {
    return lane < workItems && (active[lane / 64] >> (lane % 64) & 1);
  }

  /// Something undefined happened at INST. Without a sanitizer this ends the
  /// run.
  void fault(Fault fault, uint32_t site, uint32_t lane, std::string message);
  void fail(weights::Status status);
  bool failed() const { return failed_; }

  std::optional<Report> firstFault;
  weights::Status status;

private:
  void startWorkgroup(uint64_t number);
  void runWorkgroup();
  uint32_t nextInTurn();
  bool isSubgroupElsewhere(uint32_t segment);
  void runSegment(uint32_t segment);
  void leave(const Segment &segment);
  void takeEdge(const Edge &edge, uint32_t first, uint32_t count);
  void divergentBarrier();
  void releaseBarrier();
  void select(const uint64_t *bits);
  void fill(const Constant &constant, const uint32_t (&values)[3]);
  uint64_t *waiting(uint32_t segment) {
    return waiting_.data() + uint64_t(segment) * words_;
  }

  RunState &state_;
  std::unique_ptr<uint8_t[]> registerStorage_;
  uint8_t *registers_ = nullptr;
  std::unique_ptr<uint8_t[]> workgroupStorage_;
  uint8_t *workgroupBytes_ = nullptr;
  std::vector<uint64_t> waiting_;  ///< words_ for each segment.
  std::vector<uint64_t> ready_;    ///< Bits of segments with work-items.
  std::vector<uint64_t> parked_;   ///< As waiting_, at barriers.
  std::vector<uint32_t> barriers_; ///< Segments of parked_ in use.
  std::vector<uint32_t> scratch_;
  uint32_t words_ = 1;
  uint32_t ended_ = 0, parkedCount_ = 0;
  uint64_t segmentsSinceProgress_ = 0;
  uint32_t lastSegment_ = 0;
  bool failed_ = false;
};

/// "work-item (3, 0, 0) of workgroup (1, 0, 0)".
std::string describeItem(const DecodedProgram &program, uint64_t workgroup,
                         const std::array<uint32_t, 3> &grid, uint32_t lane);

} // namespace poot::interp

#endif // POOT_INTERP_PROGRAM_H
