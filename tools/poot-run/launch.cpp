//===- launch.cpp - poot-run --kernel
//--------------------------------------===//
//
// Launches one kernel of a bundle on a device, on buffers of the command line.
// The runtime runs entries, so the kernel gets one of its own: a bundle in
// memory that holds its code for every target, and a program that copies each
// buffer that the kernel writes, and dispatches it once.
//
//===----------------------------------------------------------------------===//

#include "kernel_values.h"

#include "poot/bundle/writer.h"

#include <algorithm>

using namespace poot;
using namespace poot::run;
using weights::concat;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;
namespace fb = bundle::fb;

namespace {

constexpr const char *kEntry = "launch";

/// Slot and output of buffer I.
std::string nameOf(size_t i) { return std::to_string(i); }

std::unique_ptr<fb::TensorTypeT> bytesType(uint64_t size) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = "u8";
  type->shape = {static_cast<int64_t>(size)};
  return type;
}

uint32_t addBuffer(fb::ProgramT &program, fb::BufferRole role, size_t index,
                   uint64_t size) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->role = role;
  buffer->index = static_cast<uint32_t>(index);
  buffer->size = size;
  program.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program.buffers.size() - 1);
}

uint32_t addSlot(fb::ProgramT &program, size_t number, uint64_t size) {
  auto slot = std::make_unique<fb::SlotT>();
  slot->name = nameOf(number);
  slot->type = bytesType(size);
  slot->size = size;
  program.slots.push_back(std::move(slot));
  return addBuffer(program, fb::BufferRole::Slot, program.slots.size() - 1,
                   size);
}

uint32_t addOutput(fb::ProgramT &program, size_t number, uint64_t size) {
  auto output = std::make_unique<fb::OutputT>();
  output->name = nameOf(number);
  output->type = bytesType(size);
  output->size = size;
  program.outputs.push_back(std::move(output));
  return addBuffer(program, fb::BufferRole::Output, program.outputs.size() - 1,
                   size);
}

/// Kernel 0 of a target, launched once.
std::unique_ptr<fb::ProgramT> makeProgram(const fb::KernelT &kernel,
                                          const KernelValues &values) {
  auto program = std::make_unique<fb::ProgramT>();
  program->entry = kEntry;
  fb::DispatchT dispatch;
  dispatch.grid.assign(values.grid.begin(), values.grid.end());
  auto command = std::make_unique<fb::CommandT>();
  for (size_t i = 0; i != values.buffers.size(); ++i) {
    const uint64_t size = values.buffers[i].size;
    uint32_t buffer = addSlot(*program, i, size);
    if (kernel.arguments[i] != fb::Access::Read) {
      // Slots are only read. What the kernel leaves alone stays as it was.
      fb::CopyT copy;
      copy.source = buffer;
      copy.size = size;
      copy.destination = buffer = addOutput(*program, i, size);
      command->waits.emplace_back(
          static_cast<uint32_t>(program->commands.size()), fb::EdgeKind::Full);
      program->commands.push_back(std::make_unique<fb::CommandT>());
      program->commands.back()->body.Set(std::move(copy));
    }
    auto argument = std::make_unique<fb::ArgumentT>();
    argument->buffer = buffer;
    argument->access = kernel.arguments[i];
    argument->size = size;
    dispatch.arguments.push_back(std::move(argument));
  }
  for (uint32_t word : values.metadata)
    dispatch.metadata.emplace_back(fb::MetadataKind::Literal, word);
  command->body.Set(std::move(dispatch));
  program->commands.push_back(std::move(command));
  return program;
}

const fb::Kernel *findKernel(const fb::Target &target,
                             const std::string &name) {
  if (target.kernels())
    for (const fb::Kernel *kernel : *target.kernels())
      if (kernel->name()->string_view() == name)
        return kernel;
  return nullptr;
}

/// The kernels of all targets, each once.
std::string kernelNames(const fb::Bundle &index) {
  std::vector<std::string_view> names;
  if (index.targets())
    for (const fb::Target *target : *index.targets())
      if (target->kernels())
        for (const fb::Kernel *kernel : *target->kernels())
          names.push_back(kernel->name()->string_view());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (std::string_view name : names)
    text += concat(text.empty() ? "" : ", ", name);
  return text.empty() ? "none" : text;
}

/// The bundle of the launch.
Expected<std::vector<uint8_t>> makeBundle(const bundle::BundleFile &file,
                                          const Options &options,
                                          const KernelValues &values) {
  fb::BundleT index;
  std::vector<bundle::SectionSource> sections;
  for (const fb::Target *target : *file.index().targets()) {
    const fb::Kernel *found = findKernel(*target, options.kernel);
    if (!found)
      continue;
    std::unique_ptr<fb::KernelT> kernel(found->UnPack());
    if (kernel->arguments.size() != values.buffers.size() ||
        kernel->metadata_words != values.metadata.size())
      return makeError(
          StatusCode::Malformed, file.name(), ": kernel ", options.kernel,
          " of target ", target->name()->str(), " takes ",
          kernel->arguments.size(), " buffers and ", kernel->metadata_words,
          " numbers, but its KIR says otherwise (", values.buffers.size(),
          " and ", values.metadata.size(), "); compile the bundle anew");
    for (const auto &code : kernel->code) {
      // Its new section gets a hash of its own, of whatever is there.
      if (!file.isIntact(code->section))
        return makeError(StatusCode::Malformed, file.name(), ": section ",
                         code->section,
                         ", which holds kernels, differs from its hash; copy "
                         "or compile the bundle anew");
      sections.push_back(bundle::SectionSource::fromMemory(
          file.index().sections()->Get(code->section)->kind(),
          file.section(code->section).slice(code->offset, code->size)));
      code->section = static_cast<uint32_t>(sections.size() - 1);
      code->offset = 0;
    }
    auto copy = std::make_unique<fb::TargetT>();
    copy->name = target->name()->str();
    copy->required_features = kernel->required_features;
    copy->programs.push_back(makeProgram(*kernel, values));
    copy->kernels.push_back(std::move(kernel));
    index.targets.push_back(std::move(copy));
  }
  return bundle::encodeBundle(index, sections);
}

/// A message of the runtime, which knows the launch as "bundle in memory".
int failIn(const Options &options, const rt::Error &error) {
  const std::string_view unnamed = "bundle in memory";
  std::string message = error.message();
  if (message.compare(0, unnamed.size(), unnamed) == 0)
    message.replace(0, unnamed.size(), options.bundle);
  return fail(message);
}

} // namespace

int run::launch(const Options &options) {
  // What can be wrong without a device comes first.
  Expected<bundle::BundleFile> file = bundle::BundleFile::open(options.bundle);
  if (!file)
    return fail(file.status().message());
  bool known = false;
  if (file->index().targets())
    for (const fb::Target *target : *file->index().targets())
      known |= findKernel(*target, options.kernel) != nullptr;
  if (!known)
    return fail(concat(options.bundle, ": has no kernel ",
                       weights::quoted(options.kernel), "; it has ",
                       kernelNames(file->index())));
  std::string name = options.kernel;
  Expected<kir::Module> module = readKir(*file, name);
  if (!module)
    return fail(module.status().message());
  Expected<LoadedKernel> kernel =
      loadKernel(std::move(*module), name, options.bundle, {});
  if (!kernel)
    return fail(kernel.status().message());
  KernelValues values;
  if (Status status = readValues(options, *kernel, values); !status.ok())
    return fail(status.message());
  for (uint32_t extent : values.grid)
    if (extent == 0)
      return fail(concat("--grid ", options.grid,
                         ": at least one workgroup in x, y and z is needed"));
  Expected<std::vector<uint8_t>> bytes = makeBundle(*file, options, values);
  if (!bytes)
    return fail(bytes.status().message());

  rt::Device device;
  if (int status = openDevice(options, device); status != kSuccess)
    return status;
  rt::Result<rt::Bundle> bundle =
      rt::Bundle::openMemory(bytes->data(), bytes->size());
  if (!bundle)
    return failIn(options, bundle.error());
  poot_executable_options executableOptions = POOT_EXECUTABLE_OPTIONS_INIT;
  if (!options.target.empty())
    executableOptions.target = options.target.c_str();
  rt::Result<rt::Executable> executable =
      rt::Executable::create(device, *bundle, &executableOptions);
  if (!executable)
    return failIn(options, executable.error());
  rt::Result<rt::Session> session = rt::Session::create(*executable);
  if (!session)
    return failIn(options, session.error());

  std::vector<std::string> names;
  for (size_t i = 0; i != values.buffers.size(); ++i)
    names.push_back(nameOf(i));
  std::vector<poot_slot_value> slots;
  for (size_t i = 0; i != names.size(); ++i)
    slots.push_back(rt::slot(names[i].c_str(), values.buffers[i].data,
                             values.buffers[i].size));
  rt::Result<poot_step> step = session->submit(kEntry, slots);
  if (!step)
    return failIn(options, step.error());
  // A kernel may write nothing; its failure shall still be seen.
  int status = kSuccess;
  if (rt::Error error = session->wait(*step))
    status = failIn(options, error);
  const poot_entry_info *entry = executable->findEntry(kEntry);
  for (size_t i = 0; status == kSuccess && i != entry->output_count; ++i) {
    const std::string output = entry->outputs[i].name;
    Bytes &buffer = values.buffers[std::stoul(output)];
    if (rt::Error error =
            session->readOutput(*step, output, buffer.data, buffer.size))
      status = failIn(options, error);
  }
  if (status == kSuccess)
    if (Status written = writeValues(*kernel, values); !written.ok())
      status = fail(written.message());
  return printMessages(options, device, status);
}
