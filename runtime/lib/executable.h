// A bundle on a device: a target, its weights and computed values, and kernels
// as entries need them. Shared by sessions, and safe to use from several
// threads.

#ifndef POOT_RUNTIME_EXECUTABLE_H
#define POOT_RUNTIME_EXECUTABLE_H

#include "bundle_view.h"

#include <functional>
#include <map>
#include <mutex>

namespace poot::runtime {

/// An entry of the target, as the C API shows it.
struct Entry {
  const fb::Program *program = nullptr;
  TensorInfos slots, outputs;
  poot_entry_info info = {};
};

/// Where the buffers of a program lie, by role and index.
struct Placement {
  std::function<Buffer *(fb::BufferRole, uint32_t)> find;
  /// The extents of states, for metadata; -1 where fixed.
  const std::vector<int64_t> *stateExtents = nullptr;
};

class Executable {
public:
  static Error create(std::shared_ptr<Device> device,
                      std::shared_ptr<const BundleView> bundle,
                      const poot_executable_options &options,
                      std::shared_ptr<Executable> &executable);

  Device &device() const { return *device_; }
  const BundleView &bundle() const { return *bundle_; }
  const fb::Target &target() const { return *target_; }
  const std::vector<std::unique_ptr<Entry>> &entries() const {
    return entries_;
  }
  const Entry *findEntry(const std::string &name) const;
  std::vector<std::string> entryNames() const;
  uint64_t memory();

  /// A weight or computed value; null for other roles.
  Buffer *constant(fb::BufferRole role, uint32_t index) const;
  /// The memory of intermediate values, as large as the largest entry needs and
  /// shared by all sessions: steps run one after another, and nothing in it
  /// lives longer than a step.
  Error arena(Buffer *&buffer);
  /// Resolves PROGRAM's commands and loads the kernels they name.
  Error lower(const fb::Program &program, const Placement &placement,
              std::vector<Command> &commands);

private:
  Executable() = default;
  void describeEntries();
  Error bindConsts(const poot_executable_options &options);
  Error findConst(uint32_t index, const poot_executable_options &options,
                  weights::ByteSpan &bytes) const;
  Error runLoadProgram();
  Error kernel(uint32_t index, Kernel *&kernel);
  std::string place(const fb::Program &program, uint32_t command) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<const BundleView> bundle_;
  const fb::Target *target_ = nullptr;
  std::vector<std::unique_ptr<Entry>> entries_;
  uint64_t memory_ = 0;

  std::vector<std::unique_ptr<Buffer>> consts_;   // By index; null: unused.
  std::vector<std::unique_ptr<Buffer>> computed_; // By index.

  std::mutex mutex_; // Guards kernels_ and arena_, which sessions add.
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Buffer> arena_;
};

} // namespace poot::runtime

#endif // POOT_RUNTIME_EXECUTABLE_H
