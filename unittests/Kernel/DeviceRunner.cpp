//===- DeviceRunner.cpp - Runs compiled kernels on a device ---------------===//

#include "DeviceRunner.h"

#include "Poot/Kir/Kir.h"

#include "poot/bundle/bundle_generated.h"
#include "poot/bundle/writer.h"
#include "poot/kir/json.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include <cstring>
#include <iostream>

using namespace poot;
using namespace poot::test;
namespace fb = poot::bundle::fb;

std::string test::validateCode(const SpirvKernel &code) {
  if (llvm::is_contained(code.features, "cooperative-matrix"))
    return {};
  std::string messages;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
  tools.SetMessageConsumer([&](spv_message_level_t, const char *,
                               const spv_position_t &, const char *message) {
    messages += (messages.empty() ? "" : "\n") + std::string(message);
  });
  if (tools.Validate(code.words))
    return {};
  return messages.empty() ? "no reason is given" : messages;
}

mlir::FailureOr<Launch> test::compileForLaunch(kernel::FuncOp func,
                                               llvm::StringRef targetName) {
  mlir::FailureOr<SpirvTarget> target =
      SpirvTarget::parse(targetName, [&] { return func.emitError(); });
  if (failed(target))
    return mlir::failure();
  mlir::FailureOr<SpirvKernel> code = compileToSpirv(func, *target);
  if (failed(code))
    return mlir::failure();
  if (std::string invalid = validateCode(*code); !invalid.empty())
    return func.emitError("spirv-val: ") << invalid;
  mlir::FailureOr<kir::Module> exported = exportKir(func);
  if (failed(exported))
    return mlir::failure();
  Launch launch;
  launch.code = std::move(*code);
  launch.kir = kir::writeJson(*exported);
  for (unsigned i = 0; i != func.getNumBuffers(); ++i)
    launch.access.push_back(func.getBufferType(i).getAccess());
  launch.grid = {1, 1, 1};
  return launch;
}

std::vector<std::string> test::devicesPresent() {
  std::vector<std::string> ids;
  auto list = rt::DeviceList::get();
  for (size_t i = 0; list && i != list->size(); ++i)
    ids.push_back((*list)[i].id);
  return ids;
}

rt::Device test::openDevice(const std::string &id, bool validation) {
  poot_device_options options = POOT_DEVICE_OPTIONS_INIT;
  options.validation = validation;
  options.pipeline_cache = "off";
  auto opened = rt::Device::open(id, &options);
  EXPECT_TRUE(opened) << opened.error().message();
  if (!opened)
    return {};
  const poot_device_info *info = poot_device_get_info(opened->get());
  std::cerr << info->id << ": " << info->name << " (" << info->driver << ")\n";
  return std::move(*opened);
}

static bool isInterpreter(llvm::StringRef id) {
  return id.starts_with("interp");
}

std::vector<std::string> test::missingFeatures(const rt::Device &device,
                                               const SpirvKernel &code) {
  const poot_device_info *info = poot_device_get_info(device.get());
  std::vector<std::string> missing;
  // These are features that SPIR-V asks for.
  if (isInterpreter(info->id))
    return missing;
  for (const std::string &feature : code.features) {
    bool found = false;
    for (size_t i = 0; i != info->feature_count; ++i)
      found |= feature == info->features[i];
    if (!found)
      missing.push_back(feature);
  }
  return missing;
}

//===----------------------------------------------------------------------===//
// The bundle
//===----------------------------------------------------------------------===//

namespace {

/// A target with one program, to which launches are added one by one.
struct BundleBuilder {
  explicit BundleBuilder(fb::CodeFormat format) : format(format) {
    index.producer = "kernel tests";
    index.targets.push_back(std::make_unique<fb::TargetT>());
    index.targets[0]->name =
        format == fb::CodeFormat::Kir ? "interp" : "vulkan:f16";
    index.targets[0]->programs.push_back(std::make_unique<fb::ProgramT>());
    program().entry = "all";
  }

  fb::ProgramT &program() { return *index.targets[0]->programs[0]; }

  static std::unique_ptr<fb::TensorTypeT> getType(size_t words) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->element = "i32";
    type->shape = {static_cast<int64_t>(words)};
    return type;
  }

  uint32_t addBuffer(fb::BufferRole role, size_t number, size_t words) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->role = role;
    buffer->index = static_cast<uint32_t>(number);
    buffer->size = words * 4;
    program().buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(program().buffers.size() - 1);
  }

  uint32_t addSlot(const std::string &name, size_t words) {
    auto slot = std::make_unique<fb::SlotT>();
    slot->name = name;
    slot->type = getType(words);
    slot->size = words * 4;
    program().slots.push_back(std::move(slot));
    return addBuffer(fb::BufferRole::Slot, program().slots.size() - 1, words);
  }

  uint32_t addOutput(const std::string &name, size_t words) {
    auto output = std::make_unique<fb::OutputT>();
    output->name = name;
    output->type = getType(words);
    output->size = words * 4;
    program().outputs.push_back(std::move(output));
    return addBuffer(fb::BufferRole::Output, program().outputs.size() - 1,
                     words);
  }

  fb::CommandT &addCommand() {
    program().commands.push_back(std::make_unique<fb::CommandT>());
    return *program().commands.back();
  }

  void add(const Launch &launch, const std::string &name);

  fb::CodeFormat format;
  fb::BundleT index;
  std::vector<bundle::SectionSource> sections;
};

std::string bufferName(size_t launch, size_t buffer) {
  return std::to_string(launch) + "." + std::to_string(buffer);
}

void BundleBuilder::add(const Launch &launch, const std::string &name) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = name;
  const uint32_t *size = launch.code.workgroupSize;
  kernel->workgroup_size = {size[0], size[1], size[2]};
  kernel->subgroup_size = launch.subgroupSize;
  kernel->metadata_words = launch.code.metadataBytes / 4;
  bool isKir = format == fb::CodeFormat::Kir;
  if (!isKir)
    kernel->required_features = launch.code.features;
  auto code = std::make_unique<fb::CodeT>();
  code->format = format;
  code->section = static_cast<uint32_t>(sections.size());
  code->size = isKir ? launch.kir.size() : launch.code.words.size() * 4;
  code->entry_point = launch.code.entryPoint;
  sections.push_back(bundle::SectionSource::fromMemory(
      isKir ? fb::SectionKind::Kir : fb::SectionKind::Kernel,
      {isKir ? reinterpret_cast<const uint8_t *>(launch.kir.data())
             : reinterpret_cast<const uint8_t *>(launch.code.words.data()),
       code->size}));
  kernel->code.push_back(std::move(code));

  size_t number = index.targets[0]->kernels.size();
  fb::DispatchT dispatch;
  dispatch.kernel = static_cast<uint32_t>(number);
  dispatch.grid.assign(launch.grid.begin(), launch.grid.end());
  std::vector<fb::Wait> waits;
  for (size_t i = 0; i != launch.buffers.size(); ++i) {
    size_t words = launch.buffers[i].size();
    uint32_t buffer;
    fb::Access access = fb::Access::Read;
    uint32_t initial = addSlot(bufferName(number, i), words);
    if (launch.access[i] == kernel::Access::Read) {
      buffer = initial;
    } else {
      // What is written begins as the slot's content.
      access = launch.access[i] == kernel::Access::Write
                   ? fb::Access::Write
                   : fb::Access::ReadWrite;
      buffer = addOutput(bufferName(number, i), words);
      fb::CopyT copy;
      copy.source = initial;
      copy.destination = buffer;
      copy.size = words * 4;
      addCommand().body.Set(std::move(copy));
      waits.emplace_back(static_cast<uint32_t>(program().commands.size() - 1),
                         fb::EdgeKind::Full);
    }
    kernel->arguments.push_back(access);
    auto argument = std::make_unique<fb::ArgumentT>();
    argument->buffer = buffer;
    argument->access = access;
    argument->size = words * 4;
    dispatch.arguments.push_back(std::move(argument));
  }
  for (uint32_t word : launch.metadata)
    dispatch.metadata.emplace_back(fb::MetadataKind::Literal, word);
  index.targets[0]->kernels.push_back(std::move(kernel));
  fb::CommandT &command = addCommand();
  command.body.Set(std::move(dispatch));
  command.waits = std::move(waits);
}

} // namespace

std::string test::runOnDevice(rt::Device &device,
                              std::vector<Launch> &launches) {
  BundleBuilder builder(isInterpreter(poot_device_get_info(device.get())->id)
                            ? fb::CodeFormat::Kir
                            : fb::CodeFormat::Spirv);
  for (size_t i = 0; i != launches.size(); ++i)
    builder.add(launches[i], "kernel" + std::to_string(i));
  auto bytes = bundle::encodeBundle(builder.index, builder.sections);
  if (!bytes)
    return bytes.status().message();
  auto opened = rt::Bundle::openMemory(bytes->data(), bytes->size());
  if (!opened)
    return opened.error().message();
  auto executable = rt::Executable::create(device, *opened);
  if (!executable)
    return executable.error().message();
  auto session = rt::Session::create(*executable);
  if (!session)
    return session.error().message();

  std::vector<std::string> names;
  for (size_t i = 0; i != launches.size(); ++i)
    for (size_t j = 0; j != launches[i].buffers.size(); ++j)
      names.push_back(bufferName(i, j));
  std::vector<poot_slot_value> values;
  for (Launch &launch : launches)
    for (std::vector<uint32_t> &buffer : launch.buffers) {
      poot_slot_value value = {};
      value.slot = names[values.size()].c_str();
      value.data = buffer.data();
      value.size = buffer.size() * 4;
      values.push_back(value);
    }
  auto step = session->submit("all", values);
  if (!step)
    return step.error().message();
  for (size_t i = 0; i != launches.size(); ++i)
    for (size_t j = 0; j != launches[i].buffers.size(); ++j) {
      if (launches[i].access[j] == kernel::Access::Read)
        continue;
      std::vector<uint32_t> &buffer = launches[i].buffers[j];
      if (rt::Error error = session->readOutput(
              *step, bufferName(i, j), buffer.data(), buffer.size() * 4))
        return error.message();
    }
  return {};
}
