// Puts a bundle on a device.

#include "executable.h"

#include <algorithm>
#include <cstring>

using namespace poot;
using namespace poot::runtime;

template <class V> static uint32_t length(const V *vector) {
  return vector ? vector->size() : 0;
}
static const char *text(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

Error Executable::create(std::shared_ptr<Device> device,
                         std::shared_ptr<const BundleView> bundle,
                         const poot_executable_options &options,
                         std::shared_ptr<Executable> &result) {
  std::shared_ptr<Executable> executable(new Executable);
  executable->device_ = std::move(device);
  executable->bundle_ = std::move(bundle);
  const BundleView &view = *executable->bundle_;
  if (Error e = view.chooseTarget(*executable->device_,
                                  options.target ? options.target : "",
                                  executable->target_))
    return e;
  if (Error e = view.checkCode(*executable->target_))
    return e;
  executable->kernels_.resize(length(executable->target_->kernels()));
  executable->describeEntries();
  if (Error e = executable->bindConsts(options))
    return e;
  if (Error e = executable->runLoadProgram())
    return e;
  result = std::move(executable);
  return success();
}

void Executable::describeEntries() {
  for (uint32_t i = 0; i != length(target_->programs()); ++i) {
    auto entry = std::make_unique<Entry>();
    const fb::Program &program = *target_->programs()->Get(i);
    entry->program = &program;
    for (uint32_t k = 0; k != length(program.slots()); ++k) {
      const fb::Slot &slot = *program.slots()->Get(k);
      entry->slots.add(text(slot.name()), *slot.type(), slot.size());
    }
    for (uint32_t k = 0; k != length(program.outputs()); ++k) {
      const fb::Output &output = *program.outputs()->Get(k);
      entry->outputs.add(text(output.name()), *output.type(), output.size());
    }
    poot_entry_info &info = entry->info;
    info.name = text(program.entry());
    info.suffix = info.activation = info.kv = info.accumulate = "";
    if (const fb::EntryKey *key = program.key()) {
      info.phase = static_cast<poot_phase>(key->phase());
      info.rows = key->rows();
      info.tokens = key->tokens();
      info.capacity = key->capacity();
      info.cache = static_cast<poot_cache_layout>(key->cache());
      info.logits = static_cast<poot_logits>(key->logits());
      info.suffix = text(key->suffix());
      info.activation = text(key->activation());
      info.kv = text(key->kv());
      info.accumulate = text(key->accumulate());
    }
    info.slot_count = entry->slots.all().size();
    info.slots = entry->slots.all().data();
    info.output_count = entry->outputs.all().size();
    info.outputs = entry->outputs.all().data();
    info.command_count = length(program.commands());
    entries_.push_back(std::move(entry));
  }
}

const Entry *Executable::findEntry(const std::string &name) const {
  for (const auto &entry : entries_)
    if (name == entry->info.name)
      return entry.get();
  return nullptr;
}

std::vector<std::string> Executable::entryNames() const {
  std::vector<std::string> names;
  for (const auto &entry : entries_)
    names.push_back(entry->info.name);
  return names;
}

/// Calls VISIT(role, index) for every buffer of PROGRAM.
template <class F> static void eachBuffer(const fb::Program *program, F visit) {
  for (uint32_t i = 0; program && i != length(program->buffers()); ++i) {
    const fb::Buffer &buffer = *program->buffers()->Get(i);
    visit(buffer.role(), buffer.index());
  }
}

Error Executable::findConst(uint32_t index,
                            const poot_executable_options &options,
                            weights::ByteSpan &bytes) const {
  const fb::Const &value = *bundle_->index().consts()->Get(index);
  if (value.section() >= 0) {
    bytes = bundle_->file().section(static_cast<uint32_t>(value.section()));
    return success();
  }
  const poot_tensor_info &expected = bundle_->consts().all()[index];
  std::string expectedType = formatType(expected.element, expected.layout,
                                        expected.shape, expected.rank);
  poot_const_data found = {};
  if (options.provider)
    if (poot_error *error =
            options.provider(options.provider_user, &expected, &found))
      return Error(std::unique_ptr<poot_error>(error));
  if (!found.data)
    return makeError(POOT_MISSING_CONST, bundle_->file().name(),
                     ": no weights for const ", weights::quoted(expected.name),
                     " (", expectedType, "); ",
                     options.provider
                         ? "give the weights that this bundle was compiled from"
                         : "the bundle does not hold its weights: give them")
        .with("const", expected.name)
        .with("expected", expectedType);

  bool same = found.size == expected.size;
  if (found.element)
    same &= std::strcmp(found.element, expected.element) == 0;
  if (found.layout)
    same &= std::strcmp(found.layout, expected.layout) == 0;
  if (found.shape)
    same &= found.rank == expected.rank &&
            std::equal(found.shape, found.shape + found.rank, expected.shape);
  if (!same) {
    std::string foundType =
        formatType(found.element ? found.element : expected.element,
                   found.layout ? found.layout : expected.layout,
                   found.shape ? found.shape : expected.shape,
                   found.shape ? found.rank : expected.rank);
    return makeError(POOT_CONST_MISMATCH, bundle_->file().name(),
                     ": the weights given for const ",
                     weights::quoted(expected.name), " are ", foundType, " of ",
                     found.size, " bytes, and the bundle was compiled for ",
                     expectedType, " of ", expected.size,
                     " bytes; give the weights that it was compiled from, or "
                     "compile these")
        .with("const", expected.name)
        .with("expected", expectedType)
        .with("found", foundType);
  }
  bytes = {static_cast<const uint8_t *>(found.data),
           static_cast<size_t>(found.size)};
  return success();
}

Error Executable::bindConsts(const poot_executable_options &options) {
  // What only the load program reads is freed after it has run.
  enum Use : uint8_t { Unused, LoadOnly, Always };
  std::vector<Use> use(length(bundle_->index().consts()), Unused);
  eachBuffer(target_->load(), [&](fb::BufferRole role, uint32_t index) {
    if (role == fb::BufferRole::Const)
      use[index] = LoadOnly;
  });
  for (const auto &entry : entries_)
    eachBuffer(entry->program, [&](fb::BufferRole role, uint32_t index) {
      if (role == fb::BufferRole::Const)
        use[index] = Always;
    });

  // All are looked up before any is uploaded, so that a wrong file costs
  // nothing.
  std::vector<weights::ByteSpan> bytes(use.size());
  uint64_t total = 0, done = 0;
  for (uint32_t i = 0; i != use.size(); ++i)
    if (use[i] != Unused) {
      if (Error e = findConst(i, options, bytes[i]))
        return e;
      total += bytes[i].size;
    }

  consts_.resize(use.size());
  Transfer transfer(*device_);
  auto report = [&] {
    if (options.progress)
      options.progress(options.progress_user, "weights", done, total);
  };
  report();
  for (uint32_t i = 0; i != use.size(); ++i) {
    if (use[i] == Unused)
      continue;
    if (Error e = device_->allocate(
            bytes[i].size,
            use[i] == LoadOnly ? Memory::Temporary : Memory::Device,
            weights::concat("the weights '", bundle_->consts().all()[i].name,
                            "'"),
            consts_[i]))
      return e;
    if (use[i] == Always)
      memory_ += bytes[i].size;
    // In parts, so that progress moves within a large tensor too.
    constexpr uint64_t kPart = 64 << 20;
    for (uint64_t at = 0; at != bytes[i].size;) {
      uint64_t size = std::min<uint64_t>(kPart, bytes[i].size - at);
      if (Error e =
              transfer.upload({consts_[i].get(), at, size}, bytes[i].data + at))
        return e;
      at += size;
      done += size;
      report();
    }
  }
  return transfer.finish();
}

Buffer *Executable::constant(fb::BufferRole role, uint32_t index) const {
  switch (role) {
  case fb::BufferRole::Const:
    return consts_[index].get();
  case fb::BufferRole::Computed:
    return computed_[index].get();
  default:
    return nullptr;
  }
}

Error Executable::runLoadProgram() {
  computed_.resize(length(target_->computed()));
  for (uint32_t i = 0; i != computed_.size(); ++i) {
    const fb::Computed &value = *target_->computed()->Get(i);
    if (Error e = device_->allocate(
            value.size(), Memory::Device,
            weights::concat("the computed value '", text(value.name()), "'"),
            computed_[i]))
      return e;
    memory_ += value.size();
  }
  const fb::Program *load = target_->load();
  if (!load || !length(load->commands()))
    return success();

  std::unique_ptr<Buffer> scratch;
  if (load->arena_size())
    if (Error e = device_->allocate(load->arena_size(), Memory::Temporary,
                                    "the load program", scratch))
      return e;
  static const std::vector<int64_t> none;
  Placement placement;
  placement.stateExtents = &none;
  placement.find = [&](fb::BufferRole role, uint32_t index) {
    return role == fb::BufferRole::Arena ? scratch.get()
                                         : constant(role, index);
  };
  std::vector<Command> commands;
  if (Error e = lower(*load, placement, commands))
    return e;
  std::unique_ptr<Recording> recording;
  if (Error e = device_->record(commands, /*timed=*/false, recording))
    return e;
  Submission submission;
  submission.recording = recording.get();
  uint64_t ticket = 0;
  if (Error e = device_->submit(submission, ticket))
    return e;
  if (Error e = device_->waitForever(ticket))
    return e;

  std::vector<bool> needed(consts_.size());
  std::vector<bool> neededKernel(kernels_.size());
  for (const auto &entry : entries_) {
    eachBuffer(entry->program, [&](fb::BufferRole role, uint32_t index) {
      if (role == fb::BufferRole::Const)
        needed[index] = true;
    });
    for (uint32_t i = 0; i != length(entry->program->commands()); ++i)
      if (const fb::Dispatch *dispatch =
              entry->program->commands()->Get(i)->body_as_Dispatch())
        neededKernel[dispatch->kernel()] = true;
  }
  recording.reset();
  for (size_t i = 0; i != needed.size(); ++i)
    if (!needed[i])
      consts_[i].reset();
  for (size_t i = 0; i != neededKernel.size(); ++i)
    if (!neededKernel[i])
      kernels_[i].reset();
  return success();
}

uint64_t Executable::memory() {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_ + (arena_ ? arena_->size() : 0);
}

Error Executable::arena(Buffer *&buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!arena_) {
    uint64_t size = 0;
    for (const auto &entry : entries_)
      size = std::max(size, entry->program->arena_size());
    if (size)
      if (Error e =
              device_->allocate(size, Memory::Device,
                                "the intermediate values of a step", arena_))
        return e;
  }
  buffer = arena_.get();
  return success();
}

Error Executable::kernel(uint32_t index, Kernel *&kernel) {
  if (!kernels_[index])
    if (Error e = device_->loadKernel(
            bundle_->file(), *target_->kernels()->Get(index), kernels_[index]))
      return e;
  kernel = kernels_[index].get();
  return success();
}

std::string Executable::place(const fb::Program &program,
                              uint32_t command) const {
  const fb::Command &source = *program.commands()->Get(command);
  std::string where =
      weights::concat(bundle_->file().name(), ": entry '",
                      text(program.entry()), "', command ", command);
  if (length(source.location()))
    where += weights::concat(" (", text(source.location()), ")");
  return where;
}

Error Executable::lower(const fb::Program &program, const Placement &placement,
                        std::vector<Command> &commands) {
  // Slices of fixed buffers were checked by the reader; those of open states
  // only now have an end.
  auto slice = [&](uint32_t number, uint64_t offset, uint64_t size,
                   uint32_t command, Slice &result) -> Error {
    const fb::Buffer &buffer = *program.buffers()->Get(number);
    Buffer *memory = placement.find(buffer.role(), buffer.index());
    if (!memory)
      return makeError(POOT_CORRUPT_BUNDLE, place(program, command),
                       ": buffer ", number, " is used here, but has no memory");
    bool open = buffer.role() == fb::BufferRole::State &&
                (*placement.stateExtents)[buffer.index()] >= 0;
    if (open) {
      if (size == 0 && offset <= memory->size())
        size = memory->size() - offset;
      if (offset > memory->size() || size > memory->size() - offset)
        return makeError(
            POOT_INVALID_ARGUMENT, place(program, command), ": bytes ", offset,
            " to +", size, " of state ",
            weights::quoted(bundle_->states().all()[buffer.index()].name),
            " are needed, and with an extent of ",
            (*placement.stateExtents)[buffer.index()], " it has ",
            memory->size(), "; create the session with a larger extent");
    }
    result = {memory, buffer.offset() + offset, size};
    return success();
  };

  std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t i = 0; i != length(program.commands()); ++i) {
    const fb::Command &source = *program.commands()->Get(i);
    Command command;
    command.location = text(source.location());
    for (uint32_t w = 0; w != length(source.waits()); ++w)
      command.waits.push_back(source.waits()->Get(w)->command());
    if (const fb::Dispatch *dispatch = source.body_as_Dispatch()) {
      command.kind = Command::Kind::Dispatch;
      if (length(dispatch->cluster()) || dispatch->cooperative() ||
          dispatch->dynamic_workgroup_bytes())
        return makeError(POOT_NO_TARGET, place(program, i), ": asks for ",
                         length(dispatch->cluster()) ? "clusters of workgroups"
                         : dispatch->cooperative() ? "a cooperative launch"
                                                   : "dynamic workgroup memory",
                         ", which ", device_->info().api, " devices lack");
      if (Error e = kernel(dispatch->kernel(), command.kernel))
        return e;
      std::copy_n(dispatch->grid()->begin(), 3, command.grid.begin());
      for (uint32_t a = 0; a != length(dispatch->arguments()); ++a) {
        const fb::Argument &argument = *dispatch->arguments()->Get(a);
        if (argument.tensor_map() >= 0)
          return makeError(POOT_NO_TARGET, place(program, i),
                           ": passes a tensor map, which ", device_->info().api,
                           " devices lack");
        Slice result;
        if (Error e = slice(argument.buffer(), argument.offset(),
                            argument.size(), i, result))
          return e;
        command.arguments.push_back(result);
      }
      for (uint32_t m = 0; m != length(dispatch->metadata()); ++m) {
        const fb::Metadata &word = *dispatch->metadata()->Get(m);
        uint32_t value = word.value();
        if (word.kind() == fb::MetadataKind::StateExtent) {
          int64_t extent = (*placement.stateExtents)[value];
          if (extent > INT32_MAX)
            return makeError(POOT_INVALID_ARGUMENT, place(program, i),
                             ": the extent of a state is ", extent,
                             "; kernels count to ", INT32_MAX);
          value = static_cast<uint32_t>(extent);
        }
        command.metadata.push_back(value);
      }
    } else if (const fb::FillBuffer *fill = source.body_as_FillBuffer()) {
      command.kind = Command::Kind::Fill;
      command.word = fill->word();
      if (Error e = slice(fill->destination(), fill->offset(), fill->size(), i,
                          command.destination))
        return e;
    } else if (const fb::Copy *copy = source.body_as_Copy()) {
      command.kind = Command::Kind::Copy;
      if (Error e = slice(copy->source(), copy->source_offset(), copy->size(),
                          i, command.source))
        return e;
      if (Error e = slice(copy->destination(), copy->destination_offset(),
                          copy->size(), i, command.destination))
        return e;
    }
    commands.push_back(std::move(command));
  }
  device_->kernelsLoaded();
  return success();
}
