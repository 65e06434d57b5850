// One user's states, and the steps that change them.
//
// An entry gets slot and output buffers and its recording when it is first
// used; their addresses never change, so the recording is submitted again and
// again. What differs between steps goes around it: each step in flight has a
// frame of host memory, from which its slots are copied before the recording
// and into which the outputs that the host wants are copied after it.

#ifndef POOT_RUNTIME_SESSION_H
#define POOT_RUNTIME_SESSION_H

#include "executable.h"

namespace poot::runtime {

class Session {
public:
  static Error create(std::shared_ptr<Executable> executable,
                      const poot_session_options &options,
                      std::unique_ptr<Session> &session);
  ~Session();

  Error prepare(const std::string &entry);
  Error submit(const std::string &entry, const poot_slot_value *values,
               size_t valueCount, const char *const *outputs,
               size_t outputCount, poot_step &step);
  Error wait(poot_step step, uint64_t timeoutNs);
  Error readOutput(poot_step step, const std::string &output, void *data,
                   uint64_t size);

  Error reset();
  uint64_t stateSize(const std::string &state) const;
  Error readState(const std::string &state, uint64_t offset, void *data,
                  uint64_t size);
  Error writeState(const std::string &state, uint64_t offset, const void *data,
                   uint64_t size);
  uint64_t memory() const { return memory_; }
  Error profile(const poot_profile_row *&rows, size_t &count);

private:
  struct EntryState {
    const Entry *entry = nullptr;
    std::vector<std::unique_ptr<Buffer>> slots, outputs;
    std::unique_ptr<Recording> recording;
    poot_step last = 0; ///< The last step submitted of this entry.
    std::vector<double> ms;
    uint64_t runs = 0;
  };
  struct Frame {
    std::unique_ptr<Buffer> upload, readback;
    uint64_t ticket = 0;
    poot_step step = 0;
    const EntryState *entry = nullptr;
    /// By output: its offset in readback, or kNotRead.
    std::vector<uint64_t> outputOffsets;
  };
  static constexpr uint64_t kNotRead = UINT64_MAX;

  Session() = default;
  Error setExtents(const poot_session_options &options);
  Error createStates();
  Error find(const std::string &entry, EntryState *&state);
  Error bindSlots(EntryState &target, const poot_slot_value *values,
                  size_t count, std::vector<const poot_slot_value *> &bySlot,
                  std::vector<CopyRegion> &links);
  Error checkStep(poot_step step) const;
  Error reserve(std::unique_ptr<Buffer> &buffer, uint64_t size, Memory memory);
  Error accumulate(EntryState &state);
  Error findState(const std::string &name, uint64_t offset, uint64_t size,
                  Slice &slice) const;

  std::shared_ptr<Executable> executable_;
  bool profiled_ = false;
  uint64_t memory_ = 0;
  uint64_t lastTicket_ = 0;
  poot_step lastStep_ = 0;

  std::vector<int64_t> extents_; // By state; -1 where the type fixes it.
  std::vector<std::unique_ptr<Buffer>> states_;
  std::unique_ptr<Recording> zeroing_;
  std::map<std::string, std::unique_ptr<EntryState>> entries_;
  std::vector<Frame> frames_; // Step s uses frame s modulo their number.
  std::vector<poot_profile_row> rows_;
};

} // namespace poot::runtime

#endif // POOT_RUNTIME_SESSION_H
