// The kernel interpreter: runs a kernel of a KIR module on the CPU as its
// definition says, and, when asked, watches it for everything that the
// definition leaves undefined.
//
// A kernel is decoded once to a Program, which any number of threads may run at
// a time. The work-items of a workgroup run in step where they take the same
// way, and meet again where their ways do. What can't be executed (an access
// out of bounds, a barrier that not all reach) ends a run with an error. A
// sanitizing program goes on instead and reports.

#ifndef POOT_INTERP_INTERPRETER_H
#define POOT_INTERP_INTERPRETER_H

#include "poot/kir/kir.h"
#include "poot/weights/status.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poot::interp {

/// What a kernel can do wrong. Each has a name, used in messages as
/// [poot-sanitize-NAME]; docs/interpreter.md describes them.
enum class Fault : uint8_t {
  OutOfBounds,      ///< An index outside of a buffer, array, table, variable.
  Race,             ///< Two unordered accesses, one of them a write.
  Uninitialized,    ///< Use of memory or of a variable that nobody wrote.
  Poison,           ///< Use of a value that an operation left undefined.
  DivergentBarrier, ///< Not all of the workgroup come to a barrier.
  Division,         ///< Integer division by zero, or the lowest number by -1.
  Shift,            ///< A shift by as many bits as the value has, or more.
  Subgroup,    ///< A subgroup operation that names a lane that isn't there.
  Unreachable, ///< Control came where the kernel says it never does.
};
inline constexpr unsigned kFaults = 9;
/// "out-of-bounds", "race", ...
std::string_view getName(Fault fault);

/// A place of the source: a file position, or the name of a graph op. Both
/// empty: unknown.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string name;
};
/// The place, then the calls that led there, innermost first.
using Path = std::vector<Place>;

struct Report {
  struct Note {
    std::string message;
    Path path;
  };
  Fault fault = Fault::OutOfBounds;
  std::string kernel;
  std::string message;
  Path path;
  std::vector<Note> notes;
  /// How often it was seen there.
  uint64_t count = 1;
};

/// As a compiler prints it, lines end with '\n':
///   a.cpp:7:5: error: ... [poot-sanitize-race]
///   a.cpp:9:3: note: called from here
std::string toText(const Report &report);

struct ProgramOptions {
  /// Lanes of a subgroup: a power of two up to 128.
  uint32_t subgroupSize = 32;
  bool sanitize = false;
  /// Specialization constants by name; others have their defaults.
  std::vector<std::pair<std::string, double>> constants;
};

/// Most work-items that a workgroup may have.
inline constexpr uint32_t kMostWorkItems = 1024;

/// Bytes that a kernel reads and writes.
struct Argument {
  uint8_t *data = nullptr; ///< Aligned to 16.
  uint64_t size = 0;
  /// Bytes behind them that may be touched: an element that starts within the
  /// size may end there.
  uint64_t slack = 0;
  /// The content is undefined until the kernel writes it.
  bool undefined = false;
};

struct RunOptions {
  std::array<uint32_t, 3> grid = {1, 1, 1}; ///< In workgroups.
  std::vector<Argument> arguments;
  /// Bits of i32 and f32.
  std::vector<uint32_t> metadata;
  /// Threads over workgroups; a sanitizing program uses one.
  unsigned threads = 1;
  /// Operations of single work-items after which the run is given up; 0: none.
  uint64_t stepLimit = 0;
  /// Most different reports; more are only counted.
  uint32_t maxReports = 100;
};

/// What a sanitizing run found.
struct Findings {
  std::vector<Report> reports;
  uint64_t dropped = 0; ///< Beyond RunOptions::maxReports.
};

/// A decoded kernel.
class Program {
public:
  virtual ~Program() = default;

  /// MODULE has been verified (poot/kir/verify.h) and may be shared.
  static weights::Expected<std::shared_ptr<const Program>>
  create(std::shared_ptr<const kir::Module> module, std::string_view kernel,
         const ProgramOptions &options = {});

  const std::string &name() const { return name_; }
  bool sanitizes() const { return sanitizes_; }
  std::array<uint32_t, 3> workgroupSize() const { return workgroupSize_; }
  /// Of the buffers, those of filled hooks included.
  const std::vector<kir::Type> &buffers() const { return buffers_; }
  /// Of the metadata: i32 or f32.
  const std::vector<kir::Element> &metadata() const { return metadata_; }

  /// Runs the grid to its end. An error says why it could not be; a sanitizing
  /// program adds what it saw to FINDINGS.
  virtual weights::Status run(const RunOptions &options,
                              Findings *findings = nullptr) const = 0;

protected:
  std::string name_;
  bool sanitizes_ = false;
  std::array<uint32_t, 3> workgroupSize_ = {1, 1, 1};
  std::vector<kir::Type> buffers_;
  std::vector<kir::Element> metadata_;
};

} // namespace poot::interp

#endif // POOT_INTERP_INTERPRETER_H
