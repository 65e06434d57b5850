// The interpreter's device: buffers in host memory, kernels decoded when they
// are loaded, and a thread that executes submissions in order.
//
// A submission that fails leaves its error to whoever waits for it or for a
// later one, as a lost device does.

#include "device.h"
#include "module.h"

#include "poot/bundle/features.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>

#include <dlfcn.h>
#include <unistd.h>

using namespace poot;
using namespace poot::runtime;

namespace {

/// The interpreter's library, loaded once and kept.
struct Library {
  const poot::interp::Module *module = nullptr;
  std::string missing;

  static const Library &get() {
    static const Library library = load();
    return library;
  }

private:
  static Library load();
};

Library Library::load() {
  constexpr const char *name = "libpoot-interp.so." POOT_VERSION_MAJOR;
  // It lies beside the runtime's library, or where libraries are looked for.
  void *handle = nullptr;
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&Library::get), &self) &&
      self.dli_fname) {
    std::string path = self.dli_fname;
    handle = dlopen((path.substr(0, path.rfind('/') + 1) + name).c_str(),
                    RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle)
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  Library library;
  if (!handle) {
    library.missing = weights::concat(
        "interp: ", name, " was not found; install it beside the runtime");
    return library;
  }
  auto get = reinterpret_cast<poot::interp::GetModule>(
      dlsym(handle, poot::interp::kModuleSymbol));
  const poot::interp::Module *module = get ? get() : nullptr;
  if (module && std::strcmp(module->version, POOT_VERSION) == 0)
    library.module = module;
  else
    library.missing = weights::concat("interp: ", name, " is of version ",
                                      module ? module->version : "unknown",
                                      ", the runtime of " POOT_VERSION,
                                      "; install both of one version");
  return library;
}

constexpr uint32_t kSubgroupSize = 32;
constexpr uint32_t kMostSubgroupSize = 128;
/// Workgroups in x, y and z, as most drivers have it.
constexpr uint32_t kMostWorkgroups[] = {2147483647, 65535, 65535};
constexpr uint64_t kMostArgumentBytes = uint64_t(1) << 40;
constexpr uint32_t kMostMetadataBytes = 1024;
constexpr uint64_t kMostWorkgroupBytes = uint64_t(1) << 24;
constexpr size_t kAlignment = 64;
/// Most messages that a device keeps.
constexpr size_t kMostMessages = 1000;

uint64_t hostMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

DeviceInfo describeInterpreter() {
  DeviceInfo info;
  info.id = "interp:0";
  info.api = "interp";
  info.name = "kernel interpreter";
  info.driver = "poot " POOT_VERSION;
  for (const bundle::FeatureInfo &feature : bundle::kFeatures)
    info.features.push_back(feature.name);
  info.info.type = POOT_DEVICE_CPU;
  info.info.unified_memory = true;
  info.info.memory = info.info.max_allocation = hostMemory();
  info.info.max_argument_range = kMostArgumentBytes;
  info.info.max_metadata_bytes = kMostMetadataBytes;
  info.info.subgroup_size = kSubgroupSize;
  return info;
}

class HostBuffer final : public Buffer {
public:
  HostBuffer(uint64_t size, uint64_t capacity, uint8_t *data)
      : capacity(capacity) {
    size_ = size;
    host_ = data;
  }
  ~HostBuffer() override { std::free(host_); }

  const uint64_t capacity;
};

class InterpKernel final : public Kernel {
public:
  InterpKernel(std::string name,
               std::shared_ptr<const poot::interp::Program> program)
      : program(std::move(program)) {
    name_ = std::move(name);
  }
  const std::shared_ptr<const poot::interp::Program> program;
};

class InterpRecording final : public Recording {
public:
  std::vector<Command> commands;
  bool timed = false;
  std::vector<double> ms;
};

class Interpreter final : public Device {
public:
  explicit Interpreter(bool sanitize) : sanitize_(sanitize) {
    info_ = describeInterpreter();
    info_.seal();
    argumentAlignment_ = 16;
    const char *threads = std::getenv("POOT_INTERP_THREADS");
    threads_ = threads ? static_cast<unsigned>(std::atoi(threads)) : 0;
    if (threads_ < 1 || threads_ > 256)
      threads_ = std::clamp(std::thread::hardware_concurrency(), 1u, 256u);
    worker_ = std::thread([this] { work(); });
  }
  ~Interpreter() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    worker_.join();
  }

  bool acceptsCode(const bundle::fb::Code &code) const override {
    return code.format() == bundle::fb::CodeFormat::Kir;
  }
  Error allocate(uint64_t size, Memory memory, const std::string &what,
                 std::unique_ptr<Buffer> &buffer) override;
  Error loadKernel(const bundle::BundleFile &file,
                   const bundle::fb::Kernel &kernel,
                   std::unique_ptr<Kernel> &result) override;
  Error record(const std::vector<Command> &commands, bool timed,
               std::unique_ptr<Recording> &recording) override;
  Error readTimes(Recording &recording, std::vector<double> &ms) override {
    ms = static_cast<InterpRecording &>(recording).ms;
    return success();
  }
  Error submit(const Submission &submission, uint64_t &ticket) override;
  Error wait(uint64_t ticket, uint64_t timeoutNs, bool &finished) override;
  std::vector<std::string> validationMessages() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return messages_;
  }

private:
  Error checkKernel(const bundle::fb::Kernel &kernel) const;
  Error checkCommand(const Command &command) const;
  void checkWaits(const std::vector<Command> &commands);
  void work();
  Error execute(const Submission &submission);
  Error dispatch(const Command &command);
  Error lost() const {
    return makeError(failure_->code, failure_->message)
        .with("device", info_.id);
  }

  const bool sanitize_;
  unsigned threads_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<std::pair<uint64_t, Submission>> queue_;
  uint64_t lastTicket_ = 0, finished_ = 0;
  bool closing_ = false;
  std::unique_ptr<poot_error> failure_;
  std::vector<std::string> messages_;
  std::thread worker_;
};

Error Interpreter::allocate(uint64_t size, Memory, const std::string &what,
                            std::unique_ptr<Buffer> &buffer) {
  auto tooLarge = [&] {
    return makeError(POOT_DEVICE_LIMIT, describe(), ": ", what, " needs ",
                     formatBytes(size), " (", size,
                     " bytes) in one buffer, and the limit "
                     "maxMemoryAllocationSize is ",
                     formatBytes(info_.info.max_allocation),
                     "; use a smaller model or smaller state extents")
        .with("limit", "maxMemoryAllocationSize")
        .with("bytes", std::to_string(size));
  };
  if (size > info_.info.max_allocation)
    return tooLarge();
  // Kernels may read odd sizes by words or vectors.
  uint64_t capacity = std::max<uint64_t>(
      (size + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  auto *data = static_cast<uint8_t *>(std::aligned_alloc(kAlignment, capacity));
  if (!data)
    return makeError(POOT_OUT_OF_MEMORY, describe(), ": allocating ",
                     formatBytes(size), " for ", what,
                     " failed; close other programs or use a smaller model")
        .with("bytes", std::to_string(size));
  std::memset(data + size, 0, capacity - size);
  buffer = std::make_unique<HostBuffer>(size, capacity, data);
  return success();
}

Error Interpreter::checkKernel(const bundle::fb::Kernel &kernel) const {
  const std::string name = kernel.name()->str();
  auto over = [&](const std::string &what, uint64_t has, const char *limit,
                  uint64_t most) {
    return makeError(POOT_DEVICE_LIMIT, describe(), ": kernel '", name,
                     "' has ", what, " ", has, ", and the device's limit ",
                     limit, " is ", most,
                     "; compile the bundle for this device")
        .with("kernel", name)
        .with("limit", limit);
  };
  uint64_t items = 1;
  for (uint32_t extent : *kernel.workgroup_size()) {
    if (extent > poot::interp::kMostWorkItems)
      return over("a workgroup extent of", extent, "maxComputeWorkGroupSize",
                  poot::interp::kMostWorkItems);
    items *= extent;
  }
  if (items > poot::interp::kMostWorkItems)
    return over("work-items in a group:", items,
                "maxComputeWorkGroupInvocations", poot::interp::kMostWorkItems);
  if (kernel.static_workgroup_bytes() > kMostWorkgroupBytes)
    return over("bytes of workgroup memory:", kernel.static_workgroup_bytes(),
                "maxComputeSharedMemorySize", kMostWorkgroupBytes);
  if (uint64_t(kernel.metadata_words()) * 4 > kMostMetadataBytes)
    return over("bytes of metadata:", uint64_t(kernel.metadata_words()) * 4,
                "maxPushConstantsSize", kMostMetadataBytes);
  if (kernel.required_features())
    for (const auto *feature : *kernel.required_features())
      if (!hasFeature(feature->str()))
        return makeError(POOT_NO_TARGET, describe(), ": kernel '", name,
                         "' requires the feature '", feature->str(),
                         "', which the device lacks; it has ",
                         formatNames(info_.features))
            .with("kernel", name)
            .with("feature", feature->str());
  const uint32_t subgroup = kernel.subgroup_size();
  if (subgroup > kMostSubgroupSize || (subgroup & (subgroup - 1)))
    return makeError(POOT_NO_TARGET, describe(), ": kernel '", name,
                     "' needs subgroups of ", subgroup,
                     ", and the device has those of powers of two up to ",
                     kMostSubgroupSize)
        .with("kernel", name);
  return success();
}

Error Interpreter::loadKernel(const bundle::BundleFile &file,
                              const bundle::fb::Kernel &kernel,
                              std::unique_ptr<Kernel> &result) {
  const std::string name = kernel.name()->str();
  if (Error e = checkKernel(kernel))
    return e;
  const bundle::fb::Code *code = nullptr;
  for (const auto *candidate : *kernel.code())
    if (!code && acceptsCode(*candidate))
      code = candidate;
  if (!code)
    return makeError(POOT_NO_TARGET, file.name(), ": kernel '", name,
                     "' has no KIR, which ", describe(), " needs")
        .with("kernel", name);
  weights::ByteSpan bytes = file.code(*code);
  auto rejected = [&](poot_code reason, const std::string &message) {
    return makeError(reason, file.name(), ": the code of kernel '", name,
                     "' can't be run: ", message, "; compile the bundle anew")
        .with("kernel", name);
  };
  poot::interp::ProgramOptions options;
  options.sanitize = sanitize_;
  options.subgroupSize =
      kernel.subgroup_size() ? kernel.subgroup_size() : kSubgroupSize;
  bool isKir = false;
  auto program = Library::get().module->load(
      {reinterpret_cast<const char *>(bytes.data), bytes.size},
      code->entry_point()->string_view(), options, isKir);
  if (!program)
    return rejected(isKir ? POOT_KERNEL_REJECTED : POOT_CORRUPT_BUNDLE,
                    program.status().message());
  // The sizes that commands are checked against are the code's own.
  size_t arguments = kernel.arguments() ? kernel.arguments()->size() : 0;
  if ((*program)->buffers().size() != arguments ||
      (*program)->metadata().size() != kernel.metadata_words())
    return rejected(
        POOT_CORRUPT_BUNDLE,
        weights::concat("it takes ", (*program)->buffers().size(),
                        " buffers and ", (*program)->metadata().size(),
                        " words of metadata, and the bundle says ", arguments,
                        " and ", kernel.metadata_words()));
  result = std::make_unique<InterpKernel>(name, std::move(*program));
  return success();
}

Error Interpreter::checkCommand(const Command &command) const {
  if (command.kind == Command::Kind::Fill) {
    if (command.destination.offset % 4 || command.destination.size % 4)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": a fill of ",
                       command.destination.size, " bytes at offset ",
                       command.destination.offset,
                       ", and both must be multiples of 4");
    return success();
  }
  if (command.kind == Command::Kind::Copy)
    return success();
  const auto &kernel = static_cast<const InterpKernel &>(*command.kernel);
  std::string where = weights::concat("kernel '", kernel.name(), "'");
  if (!command.location.empty())
    where += weights::concat(" (", command.location, ")");
  if (command.arguments.size() != kernel.program->buffers().size() ||
      command.metadata.size() != kernel.program->metadata().size())
    return makeError(POOT_CORRUPT_BUNDLE, describe(), ": a dispatch of ", where,
                     " passes ", command.arguments.size(), " arguments and ",
                     command.metadata.size(), " words of metadata, and it has ",
                     kernel.program->buffers().size(), " and ",
                     kernel.program->metadata().size());
  for (unsigned i = 0; i != 3; ++i)
    if (command.grid[i] > kMostWorkgroups[i])
      return makeError(POOT_DEVICE_LIMIT, describe(), ": a dispatch of ", where,
                       " has a grid of ", command.grid[0], "x", command.grid[1],
                       "x", command.grid[2],
                       ", and the device's limit maxComputeWorkGroupCount is ",
                       kMostWorkgroups[0], "x", kMostWorkgroups[1], "x",
                       kMostWorkgroups[2],
                       "; compile the bundle for this device")
          .with("kernel", kernel.name())
          .with("limit", "maxComputeWorkGroupCount");
  for (size_t i = 0; i != command.arguments.size(); ++i) {
    const Slice &slice = command.arguments[i];
    if (slice.size > kMostArgumentBytes)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": argument ", i, " of ",
                       where, " spans ", formatBytes(slice.size), " (",
                       slice.size,
                       " bytes), and the device's limit maxStorageBufferRange "
                       "is ",
                       formatBytes(kMostArgumentBytes))
          .with("kernel", kernel.name())
          .with("limit", "maxStorageBufferRange");
    if (slice.offset % argumentAlignment_)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": argument ", i, " of ",
                       where, " starts at byte ", slice.offset,
                       " of its buffer, and the device needs multiples of ",
                       argumentAlignment_,
                       " (minStorageBufferOffsetAlignment); compile the bundle "
                       "for this device")
          .with("kernel", kernel.name())
          .with("limit", "minStorageBufferOffsetAlignment");
  }
  return success();
}

static std::string describeCommand(const Command &command, size_t number) {
  std::string text = weights::concat("command ", number);
  if (command.kind == Command::Kind::Dispatch)
    text += weights::concat(" (kernel '", command.kernel->name(), "')");
  else
    text += command.kind == Command::Kind::Fill ? " (fill)" : " (copy)";
  if (!command.location.empty())
    text += weights::concat(" of ", command.location);
  return text;
}

/// Two commands that use the same bytes, one of them to write, need an order.
/// Here they always have one, but on other devices their waits alone give it.
void Interpreter::checkWaits(const std::vector<Command> &commands) {
  struct Use {
    const Buffer *buffer;
    uint64_t begin, end;
    bool writes;
    size_t command;
  };
  std::vector<Use> uses;
  for (size_t i = 0; i != commands.size(); ++i) {
    const Command &command = commands[i];
    auto add = [&](const Slice &slice, bool writes) {
      if (slice.size)
        uses.push_back(
            {slice.buffer, slice.offset, slice.offset + slice.size, writes, i});
    };
    if (command.kind == Command::Kind::Dispatch) {
      const auto &kernel = static_cast<const InterpKernel &>(*command.kernel);
      for (size_t a = 0; a != command.arguments.size(); ++a)
        add(command.arguments[a],
            kernel.program->buffers()[a].access != kir::Access::Read);
      continue;
    }
    add(command.destination, true);
    if (command.kind == Command::Kind::Copy)
      add(command.source, false);
  }
  // Which commands come before each one, as bits.
  const size_t words = (commands.size() + 63) / 64;
  std::vector<std::vector<uint64_t>> before(commands.size(),
                                            std::vector<uint64_t>(words));
  for (size_t i = 0; i != commands.size(); ++i)
    for (uint32_t wait : commands[i].waits) {
      for (size_t w = 0; w != words; ++w)
        before[i][w] |= before[wait][w];
      before[i][wait / 64] |= uint64_t(1) << (wait % 64);
    }
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) {
    return std::tie(a.buffer, a.begin) < std::tie(b.buffer, b.begin);
  });
  std::vector<std::string> found;
  for (size_t i = 0; i != uses.size(); ++i)
    for (size_t j = i + 1;
         j != uses.size() && uses[j].buffer == uses[i].buffer &&
         uses[j].begin < uses[i].end;
         ++j) {
      size_t first = std::min(uses[i].command, uses[j].command);
      size_t second = std::max(uses[i].command, uses[j].command);
      if (first == second || !(uses[i].writes || uses[j].writes) ||
          (before[second][first / 64] >> (first % 64) & 1))
        continue;
      found.push_back(weights::concat(
          describeCommand(commands[second], second), " doesn't wait for ",
          describeCommand(commands[first], first),
          ", though both use the same bytes and one writes them "
          "[poot-sanitize-wait]"));
    }
  std::lock_guard<std::mutex> lock(mutex_);
  for (std::string &text : found)
    if (messages_.size() < kMostMessages &&
        std::find(messages_.begin(), messages_.end(), text) == messages_.end())
      messages_.push_back(std::move(text));
}

Error Interpreter::record(const std::vector<Command> &commands, bool timed,
                          std::unique_ptr<Recording> &result) {
  for (const Command &command : commands)
    if (Error e = checkCommand(command))
      return e;
  if (sanitize_)
    checkWaits(commands);
  auto recording = std::make_unique<InterpRecording>();
  recording->commands = commands;
  recording->timed = timed;
  recording->ms.resize(commands.size());
  result = std::move(recording);
  return success();
}

Error Interpreter::submit(const Submission &submission, uint64_t &ticket) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure_)
    return lost();
  ticket = ++lastTicket_;
  queue_.emplace_back(ticket, submission);
  wake_.notify_one();
  return success();
}

Error Interpreter::wait(uint64_t ticket, uint64_t timeoutNs, bool &finished) {
  std::unique_lock<std::mutex> lock(mutex_);
  auto over = [&] { return finished_ >= ticket; };
  // Longer than any process lives: without end.
  constexpr uint64_t kLong = uint64_t(1) << 60;
  if (timeoutNs >= kLong) {
    done_.wait(lock, over);
    finished = true;
  } else {
    finished = done_.wait_for(lock, std::chrono::nanoseconds(timeoutNs), over);
  }
  if (finished && failure_)
    return lost();
  return success();
}

void Interpreter::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty())
      return;
    auto [ticket, submission] = std::move(queue_.front());
    queue_.pop_front();
    bool skip = failure_ != nullptr;
    lock.unlock();
    Error error;
    if (!skip) {
      try {
        error = execute(submission);
      } catch (const std::bad_alloc &) {
        error = makeError(POOT_OUT_OF_MEMORY, describe(),
                          ": out of host memory while running a program");
      }
    }
    lock.lock();
    if (error)
      failure_.reset(error.release());
    finished_ = ticket;
    done_.notify_all();
  }
}

Error Interpreter::execute(const Submission &submission) {
  auto copy = [](const CopyRegion &region) {
    if (region.size)
      std::memmove(region.destination->host() + region.destinationOffset,
                   region.source->host() + region.sourceOffset, region.size);
  };
  for (const CopyRegion &region : submission.before)
    copy(region);
  if (auto *recording = static_cast<InterpRecording *>(submission.recording)) {
    // Commands wait for earlier ones alone, so their own order will do.
    for (size_t i = 0; i != recording->commands.size(); ++i) {
      const Command &command = recording->commands[i];
      auto start = std::chrono::steady_clock::now();
      const Slice &to = command.destination;
      switch (command.kind) {
      case Command::Kind::Dispatch:
        if (Error e = dispatch(command))
          return e;
        break;
      case Command::Kind::Fill:
        for (uint64_t at = 0; at != to.size; at += 4)
          std::memcpy(to.buffer->host() + to.offset + at, &command.word, 4);
        break;
      case Command::Kind::Copy:
        copy({command.source.buffer, command.source.offset, to.buffer,
              to.offset, to.size});
        break;
      }
      if (recording->timed)
        recording->ms[i] = std::chrono::duration<double, std::milli>(
                               std::chrono::steady_clock::now() - start)
                               .count();
    }
  }
  for (const CopyRegion &region : submission.after)
    copy(region);
  return success();
}

Error Interpreter::dispatch(const Command &command) {
  const auto &kernel = static_cast<const InterpKernel &>(*command.kernel);
  poot::interp::RunOptions options;
  options.grid = command.grid;
  options.metadata = command.metadata;
  options.threads = threads_;
  for (const Slice &slice : command.arguments) {
    poot::interp::Argument argument;
    const auto *buffer = static_cast<const HostBuffer *>(slice.buffer);
    argument.data = buffer->host() + slice.offset;
    argument.size = slice.size;
    // Kernels may read odd sizes by words or vectors; allocate() left room.
    argument.slack =
        std::min<uint64_t>(15, buffer->capacity - slice.offset - slice.size);
    options.arguments.push_back(argument);
  }
  poot::interp::Findings findings;
  weights::Status status = kernel.program->run(options, &findings);
  if (sanitize_ && !findings.reports.empty()) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const poot::interp::Report &report : findings.reports) {
      if (messages_.size() == kMostMessages)
        break;
      std::string text = Library::get().module->toText(report);
      text.pop_back();
      if (!command.location.empty())
        text += weights::concat("\n", command.location,
                                ": note: in the dispatch of kernel '",
                                kernel.name(), "' for this");
      if (std::find(messages_.begin(), messages_.end(), text) ==
          messages_.end())
        messages_.push_back(std::move(text));
    }
  }
  if (status.ok())
    return success();
  std::string where = weights::concat("kernel '", kernel.name(), "'");
  if (!command.location.empty())
    where += weights::concat(" (", command.location, ")");
  return makeError(POOT_DRIVER_ERROR, describe(), ": ", where,
                   " failed: ", status.message())
      .with("kernel", kernel.name());
}

} // namespace

void runtime::interp::listInterpreter(DeviceList &list) {
  if (!Library::get().module) {
    list.notes.push_back(Library::get().missing);
    return;
  }
  auto info = std::make_unique<DeviceInfo>(describeInterpreter());
  info->seal();
  list.devices.push_back(std::move(info));
}

Error runtime::interp::openInterpreter(const DeviceOptions &options,
                                       std::shared_ptr<Device> &device) {
  if (!Library::get().module)
    return makeError(POOT_NO_DEVICE, Library::get().missing)
        .with("device", "interp");
  const char *wanted = std::getenv("POOT_INTERP_SANITIZE");
  bool sanitize =
      options.validation || (wanted && std::strcmp(wanted, "1") == 0);
  device = std::make_shared<Interpreter>(sanitize);
  return success();
}
