// Sessions: states, steps in flight, and where their time went.

#include "session.h"

#include <algorithm>
#include <cstring>

using namespace poot;
using namespace poot::runtime;

static constexpr uint32_t kDefaultStepsInFlight = 4;
static constexpr uint32_t kMostStepsInFlight = 1024;
static constexpr uint64_t kFrameAlignment = 16;

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Error Session::create(std::shared_ptr<Executable> executable,
                      const poot_session_options &options,
                      std::unique_ptr<Session> &result) {
  std::unique_ptr<Session> session(new Session);
  session->executable_ = std::move(executable);
  session->profiled_ = options.profile;
  uint32_t frames =
      options.steps_in_flight ? options.steps_in_flight : kDefaultStepsInFlight;
  if (frames > kMostStepsInFlight)
    return makeError(POOT_INVALID_ARGUMENT, "steps_in_flight is ", frames,
                     "; at most ", kMostStepsInFlight, " are allowed");
  session->frames_.resize(frames);
  if (Error e = session->setExtents(options))
    return e;
  if (Error e = session->createStates())
    return e;
  result = std::move(session);
  return success();
}

Session::~Session() {
  // Buffers and recordings must outlive the steps; where waiting fails, the
  // device is lost and nothing runs any more.
  if (executable_)
    (void)executable_->device().waitForever(lastTicket_);
}

Error Session::setExtents(const poot_session_options &options) {
  const auto &states = executable_->bundle().states().all();
  std::vector<std::string> open;
  for (const poot_tensor_info &state : states)
    if (state.rank && state.shape[0] < 0)
      open.push_back(state.name);
  for (size_t i = 0; i != options.extent_count; ++i) {
    const poot_state_extent &given = options.extents[i];
    if (!given.state ||
        std::find(open.begin(), open.end(), given.state) == open.end())
      return makeError(POOT_NOT_FOUND, "an extent was given for ",
                       weights::quoted(given.state ? given.state : ""),
                       "; states with an open extent: ", formatNames(open));
  }
  extents_.assign(states.size(), -1);
  for (size_t i = 0; i != states.size(); ++i) {
    if (!states[i].rank || states[i].shape[0] >= 0)
      continue;
    int64_t extent = options.default_extent;
    for (size_t k = 0; k != options.extent_count; ++k)
      if (std::strcmp(options.extents[k].state, states[i].name) == 0)
        extent = options.extents[k].extent;
    if (extent < 1)
      return makeError(
          POOT_INVALID_ARGUMENT, "state ", weights::quoted(states[i].name),
          " leaves its outermost extent open, and the session gives ", extent,
          "; set default_extent (or the state's own) to at least 1");
    if (states[i].size &&
        static_cast<uint64_t>(extent) > INT64_MAX / states[i].size)
      return makeError(POOT_INVALID_ARGUMENT, "state ",
                       weights::quoted(states[i].name), " with an extent of ",
                       extent, " is larger than any memory");
    extents_[i] = extent;
  }
  return success();
}

Error Session::createStates() {
  Device &device = executable_->device();
  const auto &states = executable_->bundle().states().all();
  std::vector<Command> zero;
  for (size_t i = 0; i != states.size(); ++i) {
    uint64_t size = states[i].size;
    if (extents_[i] >= 0)
      size *= static_cast<uint64_t>(extents_[i]);
    std::unique_ptr<Buffer> buffer;
    if (Error e = device.allocate(
            size, Memory::Device,
            weights::concat("the state '", states[i].name, "'"), buffer))
      return e;
    memory_ += size;
    if (executable_->bundle().index().states()->Get(i)->zeroed()) {
      Command fill;
      fill.kind = Command::Kind::Fill;
      fill.destination = {buffer.get(), 0, alignUp(size, 4)};
      zero.push_back(fill);
    }
    states_.push_back(std::move(buffer));
  }
  if (!zero.empty())
    if (Error e = device.record(zero, /*timed=*/false, zeroing_))
      return e;
  return reset();
}

Error Session::reset() {
  if (!zeroing_)
    return success();
  Submission submission;
  submission.recording = zeroing_.get();
  return executable_->device().submit(submission, lastTicket_);
}

Error Session::find(const std::string &name, EntryState *&result) {
  auto found = entries_.find(name);
  if (found != entries_.end()) {
    result = found->second.get();
    return success();
  }
  Device &device = executable_->device();
  const Entry *entry = executable_->findEntry(name);
  if (!entry)
    return makeError(POOT_NOT_FOUND, "there is no entry ",
                     weights::quoted(name),
                     "; entries: ", formatNames(executable_->entryNames()))
        .with("entry", name);
  auto state = std::make_unique<EntryState>();
  state->entry = entry;
  uint64_t bytes = 0;
  auto allocate = [&](const TensorInfos &infos, const char *what,
                      std::vector<std::unique_ptr<Buffer>> &buffers) -> Error {
    for (const poot_tensor_info &info : infos.all()) {
      buffers.emplace_back();
      if (Error e =
              device.allocate(info.size, Memory::Device,
                              weights::concat("the ", what, " '", info.name,
                                              "' of entry '", name, "'"),
                              buffers.back()))
        return e;
      bytes += info.size;
    }
    return success();
  };
  if (Error e = allocate(entry->slots, "slot", state->slots))
    return e;
  if (Error e = allocate(entry->outputs, "output", state->outputs))
    return e;
  Buffer *arena = nullptr;
  if (Error e = executable_->arena(arena))
    return e;

  Placement placement;
  placement.stateExtents = &extents_;
  placement.find = [&](fb::BufferRole role, uint32_t index) -> Buffer * {
    switch (role) {
    case fb::BufferRole::State:
      return states_[index].get();
    case fb::BufferRole::Slot:
      return state->slots[index].get();
    case fb::BufferRole::Output:
      return state->outputs[index].get();
    case fb::BufferRole::Arena:
      return arena;
    default:
      return executable_->constant(role, index);
    }
  };
  std::vector<Command> commands;
  if (Error e = executable_->lower(*entry->program, placement, commands))
    return e;
  if (Error e = device.record(commands, profiled_, state->recording))
    return e;
  state->ms.resize(commands.size());
  memory_ += bytes;
  result = state.get();
  entries_[name] = std::move(state);
  return success();
}

Error Session::prepare(const std::string &entry) {
  EntryState *state = nullptr;
  return find(entry, state);
}

Error Session::bindSlots(EntryState &target, const poot_slot_value *values,
                         size_t count,
                         std::vector<const poot_slot_value *> &bySlot,
                         std::vector<CopyRegion> &links) {
  const TensorInfos &slots = target.entry->slots;
  const char *entry = target.entry->info.name;
  bySlot.assign(slots.all().size(), nullptr);
  for (size_t i = 0; i != count; ++i) {
    const poot_slot_value &value = values[i];
    const poot_tensor_info *slot =
        value.slot ? slots.find(value.slot) : nullptr;
    if (!slot)
      return makeError(POOT_NOT_FOUND, "entry ", weights::quoted(entry),
                       " has no slot ",
                       weights::quoted(value.slot ? value.slot : ""),
                       "; its slots: ", formatNames(slots.names()))
          .with("slot", value.slot ? value.slot : "");
    size_t index = static_cast<size_t>(slot - slots.all().data());
    if (bySlot[index])
      return makeError(POOT_INVALID_ARGUMENT, "slot ",
                       weights::quoted(slot->name), " of entry ",
                       weights::quoted(entry), " was given two values")
          .with("slot", slot->name);
    bySlot[index] = &value;
    std::string type =
        formatType(slot->element, slot->layout, slot->shape, slot->rank);
    if (!value.output) {
      if (!value.data || value.size != slot->size)
        return makeError(POOT_INVALID_ARGUMENT, "slot ",
                         weights::quoted(slot->name), " of entry ",
                         weights::quoted(entry), " is ", type, " of ",
                         slot->size, " bytes, and ", value.size,
                         value.data ? " bytes were given"
                                    : " bytes at NULL were given")
            .with("slot", slot->name);
      continue;
    }
    // An output of an earlier step; still there unless its entry ran again.
    if (Error e = checkStep(value.step))
      return e;
    const EntryState *source = nullptr;
    for (const auto &[name, candidate] : entries_)
      if (candidate->last == value.step)
        source = candidate.get();
    if (!source)
      return makeError(POOT_GONE, "slot ", weights::quoted(slot->name),
                       " of entry ", weights::quoted(entry),
                       " takes an output of step ", value.step,
                       ", whose entry has run again since; feed a step from "
                       "the last step of an entry");
    const poot_tensor_info *output = source->entry->outputs.find(value.output);
    if (!output)
      return makeError(
                 POOT_NOT_FOUND, "step ", value.step, " of entry ",
                 weights::quoted(source->entry->info.name), " has no output ",
                 weights::quoted(value.output),
                 "; its outputs: ", formatNames(source->entry->outputs.names()))
          .with("output", value.output);
    if (output->size != slot->size ||
        std::strcmp(output->element, slot->element) != 0)
      return makeError(POOT_INVALID_ARGUMENT, "slot ",
                       weights::quoted(slot->name), " of entry ",
                       weights::quoted(entry), " is ", type, ", and output ",
                       weights::quoted(output->name), " of step ", value.step,
                       " is ",
                       formatType(output->element, output->layout,
                                  output->shape, output->rank))
          .with("slot", slot->name);
    size_t from =
        static_cast<size_t>(output - source->entry->outputs.all().data());
    links.push_back({source->outputs[from].get(), 0, target.slots[index].get(),
                     0, slot->size});
  }
  for (size_t i = 0; i != bySlot.size(); ++i)
    if (!bySlot[i])
      return makeError(POOT_INVALID_ARGUMENT, "slot ",
                       weights::quoted(slots.all()[i].name), " of entry ",
                       weights::quoted(entry),
                       " was given no value; each step sets all of ",
                       formatNames(slots.names()))
          .with("slot", slots.all()[i].name);
  return success();
}

Error Session::reserve(std::unique_ptr<Buffer> &buffer, uint64_t size,
                       Memory memory) {
  if (size == 0 || (buffer && buffer->size() >= size))
    return success();
  buffer.reset();
  return executable_->device().allocate(
      size, memory, "the slots and outputs of a step", buffer);
}

Error Session::submit(const std::string &name, const poot_slot_value *values,
                      size_t valueCount, const char *const *outputs,
                      size_t outputCount, poot_step &step) {
  EntryState *state = nullptr;
  if (Error e = find(name, state))
    return e;
  const auto &slotInfos = state->entry->slots.all();
  const TensorInfos &outputInfos = state->entry->outputs;
  Submission submission;
  submission.recording = state->recording.get();
  std::vector<const poot_slot_value *> bySlot;
  if (Error e =
          bindSlots(*state, values, valueCount, bySlot, submission.before))
    return e;

  std::vector<uint64_t> outputOffsets(outputInfos.all().size(), kNotRead);
  uint64_t readbackSize = 0;
  auto keep = [&](size_t i) {
    if (outputOffsets[i] != kNotRead)
      return;
    outputOffsets[i] = readbackSize;
    readbackSize =
        alignUp(readbackSize + outputInfos.all()[i].size, kFrameAlignment);
  };
  for (size_t i = 0; !outputs && i != outputOffsets.size(); ++i)
    keep(i);
  for (size_t i = 0; outputs && i != outputCount; ++i) {
    const poot_tensor_info *output =
        outputs[i] ? outputInfos.find(outputs[i]) : nullptr;
    if (!output)
      return makeError(POOT_NOT_FOUND, "entry ", weights::quoted(name),
                       " has no output ",
                       weights::quoted(outputs[i] ? outputs[i] : ""),
                       "; its outputs: ", formatNames(outputInfos.names()))
          .with("output", outputs[i] ? outputs[i] : "");
    keep(static_cast<size_t>(output - outputInfos.all().data()));
  }

  Device &device = executable_->device();
  Frame &frame = frames_[(lastStep_ + 1) % frames_.size()];
  if (Error e = device.waitForever(frame.ticket))
    return e;
  frame.step = 0; // From here on its outputs are gone.
  uint64_t uploadSize = 0;
  for (size_t i = 0; i != bySlot.size(); ++i)
    if (!bySlot[i]->output)
      uploadSize = alignUp(uploadSize + slotInfos[i].size, kFrameAlignment);
  if (Error e = reserve(frame.upload, uploadSize, Memory::Upload))
    return e;
  if (Error e = reserve(frame.readback, readbackSize, Memory::Readback))
    return e;

  uint64_t at = 0;
  for (size_t i = 0; i != bySlot.size(); ++i) {
    if (bySlot[i]->output)
      continue;
    uint64_t size = slotInfos[i].size;
    std::memcpy(frame.upload->host() + at, bySlot[i]->data, size);
    submission.before.push_back(
        {frame.upload.get(), at, state->slots[i].get(), 0, size});
    at = alignUp(at + size, kFrameAlignment);
  }
  for (size_t i = 0; i != outputOffsets.size(); ++i)
    if (outputOffsets[i] != kNotRead)
      submission.after.push_back({state->outputs[i].get(), 0,
                                  frame.readback.get(), outputOffsets[i],
                                  outputInfos.all()[i].size});
  if (Error e = device.submit(submission, frame.ticket))
    return e;
  lastTicket_ = frame.ticket;
  step = frame.step = state->last = ++lastStep_;
  frame.entry = state;
  frame.outputOffsets = std::move(outputOffsets);
  return profiled_ ? accumulate(*state) : success();
}

Error Session::accumulate(EntryState &state) {
  Device &device = executable_->device();
  if (Error e = device.waitForever(lastTicket_))
    return e;
  std::vector<double> ms;
  if (Error e = device.readTimes(*state.recording, ms))
    return e;
  for (size_t i = 0; i != ms.size(); ++i)
    state.ms[i] += ms[i];
  ++state.runs;
  return success();
}

Error Session::checkStep(poot_step step) const {
  if (step >= 1 && step <= lastStep_)
    return success();
  return makeError(POOT_INVALID_ARGUMENT, "there is no step ", step,
                   "; this session has submitted ", lastStep_, " steps");
}

Error Session::wait(poot_step step, uint64_t timeoutNs) {
  if (Error e = checkStep(step))
    return e;
  const Frame &frame = frames_[step % frames_.size()];
  if (frame.step != step)
    return success(); // A later step took its frame once it had finished.
  bool finished = false;
  if (Error e = executable_->device().wait(frame.ticket, timeoutNs, finished))
    return e;
  if (!finished)
    return makeError(POOT_TIMEOUT, "step ", step, " did not finish within ",
                     timeoutNs / 1000000, " ms; it is still running");
  return success();
}

Error Session::readOutput(poot_step step, const std::string &name, void *data,
                          uint64_t size) {
  if (Error e = checkStep(step))
    return e;
  const Frame &frame = frames_[step % frames_.size()];
  if (frame.step != step)
    return makeError(POOT_GONE, "the outputs of step ", step,
                     " are gone: the session keeps those of the last ",
                     frames_.size(),
                     " steps; read them sooner or raise steps_in_flight");
  const Entry &entry = *frame.entry->entry;
  const poot_tensor_info *output = entry.outputs.find(name);
  if (!output)
    return makeError(POOT_NOT_FOUND, "step ", step, " of entry ",
                     weights::quoted(entry.info.name), " has no output ",
                     weights::quoted(name),
                     "; its outputs: ", formatNames(entry.outputs.names()))
        .with("output", name);
  if (size != output->size)
    return makeError(
        POOT_INVALID_ARGUMENT, "output ", weights::quoted(name), " is ",
        formatType(output->element, output->layout, output->shape,
                   output->rank),
        " of ", output->size, " bytes, and room for ", size, " was given");
  uint64_t offset = frame.outputOffsets[static_cast<size_t>(
      output - entry.outputs.all().data())];
  if (offset == kNotRead)
    return makeError(POOT_INVALID_ARGUMENT, "output ", weights::quoted(name),
                     " of step ", step,
                     " was not among the outputs that its submission named");
  if (Error e = wait(step, POOT_FOREVER))
    return e;
  std::memcpy(data, frame.readback->host() + offset, size);
  return success();
}

uint64_t Session::stateSize(const std::string &name) const {
  const TensorInfos &states = executable_->bundle().states();
  const poot_tensor_info *state = states.find(name);
  return state
             ? states_[static_cast<size_t>(state - states.all().data())]->size()
             : 0;
}

Error Session::findState(const std::string &name, uint64_t offset,
                         uint64_t size, Slice &slice) const {
  const TensorInfos &states = executable_->bundle().states();
  const poot_tensor_info *state = states.find(name);
  if (!state)
    return makeError(POOT_NOT_FOUND, "there is no state ",
                     weights::quoted(name),
                     "; states: ", formatNames(states.names()))
        .with("state", name);
  Buffer *buffer =
      states_[static_cast<size_t>(state - states.all().data())].get();
  if (offset > buffer->size() || size > buffer->size() - offset)
    return makeError(POOT_INVALID_ARGUMENT, "bytes ", offset, " to +", size,
                     " are not inside state ", weights::quoted(name), " of ",
                     buffer->size(), " bytes");
  slice = {buffer, offset, size};
  return success();
}

Error Session::readState(const std::string &name, uint64_t offset, void *data,
                         uint64_t size) {
  Slice slice;
  if (Error e = findState(name, offset, size, slice))
    return e;
  return Transfer(executable_->device()).download(slice, data, lastTicket_);
}

Error Session::writeState(const std::string &name, uint64_t offset,
                          const void *data, uint64_t size) {
  Slice slice;
  if (Error e = findState(name, offset, size, slice))
    return e;
  // Where the host reaches the state, it must not overtake the steps.
  if (Error e = executable_->device().waitForever(lastTicket_))
    return e;
  Transfer transfer(executable_->device());
  if (Error e = transfer.upload(slice, data))
    return e;
  return transfer.finish();
}

Error Session::profile(const poot_profile_row *&rows, size_t &count) {
  if (!profiled_)
    return makeError(POOT_INVALID_ARGUMENT,
                     "this session does not time its commands; create it with "
                     "poot_session_options.profile");
  rows_.clear();
  const fb::Target &target = executable_->target();
  for (const auto &[name, state] : entries_) {
    const fb::Program &program = *state->entry->program;
    for (uint32_t i = 0; i != state->ms.size(); ++i) {
      const fb::Command &command = *program.commands()->Get(i);
      poot_profile_row row = {};
      row.entry = state->entry->info.name;
      row.command = i;
      row.variant = "";
      if (const fb::Dispatch *dispatch = command.body_as_Dispatch()) {
        const fb::Kernel &kernel = *target.kernels()->Get(dispatch->kernel());
        row.kernel = kernel.name()->c_str();
        if (kernel.variant())
          row.variant = kernel.variant()->c_str();
      } else {
        row.kernel = command.body_as_FillBuffer() ? "fill" : "copy";
      }
      row.location = command.location() ? command.location()->c_str() : "";
      row.runs = state->runs;
      row.total_ms = state->ms[i];
      rows_.push_back(row);
    }
  }
  rows = rows_.data();
  count = rows_.size();
  return success();
}
