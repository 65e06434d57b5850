//===- Export.cpp - Plans become bundles ----------------------------------===//

#include "Poot/Bundle/Export.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Kernel/Transforms.h"
#include "Poot/Dialect/Plan/Plan.h"
#include "Poot/Kir/Kir.h"
#include "Poot/Planner/Kernels.h"
#include "Poot/Planner/TargetInfo.h"
#include "Poot/Target/Spirv.h"
#include "mlir/Pass/PassManager.h"
#include "poot/kir/json.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

using namespace mlir;

namespace poot {
namespace {

namespace fb = bundle::fb;

/// Where an op came from, for messages: the innermost name or file position.
std::string describe(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
        .str();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describe(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = describe(part); !text.empty())
        return text;
  return {};
}

std::unique_ptr<fb::TensorTypeT> exportType(Type type) {
  auto result = std::make_unique<fb::TensorTypeT>();
  result->element = weights::getName(graph::getStoredType(type));
  if (auto packed = dyn_cast<graph::PackedType>(type))
    result->layout = graph::stringifyPackedLayout(packed.getLayout()).str();
  for (int64_t extent : graph::getShape(type))
    result->shape.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
  return result;
}

fb::Access exportAccess(plan::Access access) {
  switch (access) {
  case plan::Access::Read:
    return fb::Access::Read;
  case plan::Access::Write:
    return fb::Access::Write;
  case plan::Access::ReadWrite:
    return fb::Access::ReadWrite;
  }
  llvm_unreachable("every access has its case");
}

fb::Access exportAccess(kernel::Access access) {
  switch (access) {
  case kernel::Access::Read:
    return fb::Access::Read;
  case kernel::Access::Write:
    return fb::Access::Write;
  case kernel::Access::ReadWrite:
    return fb::Access::ReadWrite;
  }
  llvm_unreachable("every access has its case");
}

std::unique_ptr<fb::EntryKeyT> exportKey(Attribute attr) {
  auto entry = dyn_cast_or_null<graph::EntryAttr>(attr);
  if (!entry)
    return nullptr;
  auto key = std::make_unique<fb::EntryKeyT>();
  key->phase = entry.getPhase() == graph::Phase::Prefill ? fb::Phase::Prefill
                                                         : fb::Phase::Decode;
  key->rows = entry.getRows();
  key->tokens = entry.getTokens();
  key->capacity = entry.getCapacity();
  key->cache = entry.getCache() == graph::CacheLayout::Contiguous
                   ? fb::CacheLayout::Contiguous
                   : fb::CacheLayout::Paged;
  key->logits = entry.getLogits() == graph::LogitsRows::Last ? fb::Logits::Last
                                                             : fb::Logits::All;
  key->suffix = entry.getSuffix().str();
  auto name = [](Type type) {
    return std::string(weights::getName(*graph::getElementType(type)));
  };
  key->activation = name(entry.getActivation());
  key->kv = name(entry.getKv());
  key->accumulate = name(entry.getAccumulate());
  return key;
}

/// The dictionary of lib/Planner/TestVectors.h as a table.
std::unique_ptr<fb::TestVectorT> exportTestVector(DictionaryAttr attr) {
  auto test = std::make_unique<fb::TestVectorT>();
  auto ints = [](DictionaryAttr dictionary, StringRef name) {
    return cast<DenseI64ArrayAttr>(dictionary.get(name)).asArrayRef();
  };
  auto integer = [](DictionaryAttr dictionary, StringRef name) {
    return cast<IntegerAttr>(dictionary.get(name)).getInt();
  };
  auto number = [](DictionaryAttr dictionary, StringRef name) {
    return cast<FloatAttr>(dictionary.get(name)).getValueAsDouble();
  };
  auto text = [](DictionaryAttr dictionary, StringRef name) {
    return cast<StringAttr>(dictionary.get(name)).getValue();
  };
  for (int64_t extent : ints(attr, "grid"))
    test->grid.push_back(extent);
  for (int64_t word : ints(attr, "metadata"))
    test->metadata.push_back(word);
  for (Attribute element : cast<ArrayAttr>(attr.get("inputs"))) {
    auto dictionary = cast<DictionaryAttr>(element);
    auto input = std::make_unique<fb::TestInputT>();
    input->argument = test->inputs.size();
    input->bytes = integer(dictionary, "bytes");
    input->element = text(dictionary, "element").str();
    for (fb::Fill fill : fb::EnumValuesFill())
      if (text(dictionary, "fill") == fb::EnumNameFill(fill))
        input->fill = fill;
    input->low = number(dictionary, "low");
    input->high = number(dictionary, "high");
    input->seed = integer(dictionary, "seed");
    input->planar_row = integer(dictionary, "planar_row");
    test->inputs.push_back(std::move(input));
  }
  for (Attribute element : cast<ArrayAttr>(attr.get("expected"))) {
    auto dictionary = cast<DictionaryAttr>(element);
    auto expected = std::make_unique<fb::TestExpectationT>();
    expected->argument = integer(dictionary, "argument");
    expected->element = text(dictionary, "element").str();
    for (int64_t index : ints(dictionary, "index"))
      expected->index.push_back(index);
    for (double value :
         cast<DenseF64ArrayAttr>(dictionary.get("value")).asArrayRef())
      expected->value.push_back(value);
    expected->absolute_tolerance = number(dictionary, "absolute_tolerance");
    expected->relative_tolerance = number(dictionary, "relative_tolerance");
    test->expected.push_back(std::move(expected));
  }
  return test;
}

/// Bytes of a literal as a device holds it: i1 in 32-bit words.
std::vector<uint8_t> literalBytes(DenseElementsAttr elements) {
  std::vector<uint8_t> bytes;
  if (elements.getElementType().isInteger(1)) {
    for (bool value : elements.getValues<bool>()) {
      uint32_t word = value;
      const auto *data = reinterpret_cast<const uint8_t *>(&word);
      bytes.insert(bytes.end(), data, data + sizeof(word));
    }
    return bytes;
  }
  ArrayRef<char> raw = elements.getRawData();
  bytes.assign(raw.begin(), raw.end());
  return bytes;
}

class Exporter {
public:
  Exporter(ModuleOp module, const ExportOptions &options, ExportedBundle &out)
      : module(module), options(options), out(out), symbols(module) {}

  /// Exports the programs with the kernels that they launch.
  LogicalResult exportPrograms();
  /// Exports all kernels for each of `targets`, without a program.
  LogicalResult exportKernels(ArrayRef<std::string> targets);

private:
  void describeModel();
  void finish();
  uint32_t addSection(fb::SectionKind kind, std::vector<uint8_t> bytes);
  LogicalResult exportConsts();
  LogicalResult exportTarget(StringRef name, ArrayRef<kernel::FuncOp> kernels,
                             ArrayRef<plan::ProgramOp> programs);
  FailureOr<SmallVector<kernel::FuncOp>>
  usedKernels(ArrayRef<plan::ProgramOp> programs);
  /// Compiles `func` to the code of a target: sets what the code decides.
  using Compile = llvm::function_ref<FailureOr<std::vector<uint8_t>>(
      kernel::FuncOp func, fb::KernelT &kernel, fb::CodeT &code)>;
  LogicalResult exportKernel(kernel::FuncOp func, Compile compile,
                             uint32_t section, std::vector<uint8_t> &bytes,
                             fb::TargetT &target);
  FailureOr<std::unique_ptr<fb::ProgramT>>
  exportProgram(plan::ProgramOp program,
                const llvm::StringMap<uint32_t> &kernels, fb::TargetT &target);

  ModuleOp module;
  const ExportOptions &options;
  ExportedBundle &out;
  SymbolTable symbols;
  llvm::StringMap<uint32_t> consts, states;
  size_t kernelsDone = 0, kernelsTotal = 0;
};

uint32_t Exporter::addSection(fb::SectionKind kind,
                              std::vector<uint8_t> bytes) {
  out.sectionBytes.push_back(std::move(bytes));
  out.sections.push_back(bundle::SectionSource::fromMemory(kind, {}));
  return out.sections.size() - 1;
}

/// The consts, literals and states that programs use, in the module's order.
LogicalResult Exporter::exportConsts() {
  llvm::StringSet<> used;
  module.walk([&](plan::BufferOp buffer) {
    if (buffer.getName())
      used.insert(*buffer.getName());
  });
  for (Operation &op : *module.getBody()) {
    if (auto constant = dyn_cast<graph::ConstOp>(op)) {
      if (!used.contains(constant.getSymName()))
        continue;
      auto entry = std::make_unique<fb::ConstT>();
      entry->name = constant.getSymName().str();
      entry->type = exportType(constant.getType());
      entry->size = planner::deviceBytes(constant.getType());
      consts[entry->name] = out.index.consts.size();
      out.index.consts.push_back(std::move(entry));
    } else if (auto literal = dyn_cast<plan::DataOp>(op)) {
      auto elements = dyn_cast<DenseElementsAttr>(literal.getValue());
      if (!elements)
        return literal.emitError("only dense literals can be exported");
      Type type = elements.getType();
      if (elements.getElementType().isInteger(1))
        type = RankedTensorType::get(elements.getType().getShape(),
                                     IntegerType::get(op.getContext(), 32));
      auto entry = std::make_unique<fb::ConstT>();
      entry->name = literal.getSymName().str();
      entry->type = exportType(type);
      entry->size = planner::deviceBytes(type);
      entry->section =
          addSection(fb::SectionKind::Weights, literalBytes(elements));
      consts[entry->name] = out.index.consts.size();
      out.index.consts.push_back(std::move(entry));
    } else if (auto state = dyn_cast<graph::StateOp>(op)) {
      if (!used.contains(state.getSymName()))
        continue;
      auto entry = std::make_unique<fb::StateT>();
      entry->name = state.getSymName().str();
      entry->type = exportType(state.getType());
      entry->size = planner::deviceBytes(state.getType());
      states[entry->name] = out.index.states.size();
      out.index.states.push_back(std::move(entry));
    }
  }
  return success();
}

/// SPIR-V of a kernel.
FailureOr<std::vector<uint8_t>> compileSpirv(kernel::FuncOp func,
                                             const SpirvTarget &target,
                                             fb::KernelT &kernel,
                                             fb::CodeT &code) {
  FailureOr<SpirvKernel> compiled = compileToSpirv(func, target);
  if (failed(compiled))
    return failure();
  code.format = fb::CodeFormat::Spirv;
  code.entry_point = compiled->entryPoint;
  kernel.workgroup_size.assign(std::begin(compiled->workgroupSize),
                               std::end(compiled->workgroupSize));
  kernel.required_features = compiled->features;
  const auto *data = reinterpret_cast<const uint8_t *>(compiled->words.data());
  return std::vector<uint8_t>(data,
                              data + compiled->words.size() * sizeof(uint32_t));
}

/// The kernel as it is, with the hook bodies that it reaches: .kir.json, a file
/// of its own for each kernel. The interpreter needs no feature of a device.
FailureOr<std::vector<uint8_t>>
compileKir(kernel::FuncOp func, fb::KernelT &kernel, fb::CodeT &code) {
  FailureOr<kir::Module> exported = exportKir(func);
  if (failed(exported))
    return failure();
  std::string text = kir::writeJson(*exported);
  code.format = fb::CodeFormat::Kir;
  code.entry_point = func.getSymName().str();
  kernel.workgroup_size.assign(func.getWorkgroupSize().begin(),
                               func.getWorkgroupSize().end());
  return std::vector<uint8_t>(text.begin(), text.end());
}

LogicalResult Exporter::exportKernel(kernel::FuncOp func, Compile compile,
                                     uint32_t section,
                                     std::vector<uint8_t> &bytes,
                                     fb::TargetT &target) {
  if (options.progress)
    options.progress(kernelsDone++, kernelsTotal);
  auto entry = std::make_unique<fb::KernelT>();
  entry->name = func.getSymName().str();
  auto stored = std::make_unique<fb::CodeT>();
  FailureOr<std::vector<uint8_t>> code = compile(func, *entry, *stored);
  if (failed(code))
    return failure();
  stored->section = section;
  stored->offset = bytes.size();
  stored->size = code->size();
  bytes.insert(bytes.end(), code->begin(), code->end());
  entry->code.push_back(std::move(stored));
  for (unsigned i = 0; i < func.getNumBuffers(); ++i)
    entry->arguments.push_back(exportAccess(func.getBufferType(i).getAccess()));
  entry->metadata_words = func.getNumMetadata();
  if (auto size = func->getAttrOfType<IntegerAttr>(kernel::kSubgroupSizeAttr))
    entry->subgroup_size = size.getInt();
  func.walk([&](kernel::WorkgroupAllocOp alloc) {
    auto type = cast<kernel::WorkgroupType>(alloc.getType());
    entry->static_workgroup_bytes +=
        type.getSize() * kernel::getElementBytes(type.getElementType());
  });
  entry->location = describe(func.getLoc());
  if (auto variant = func->getAttrOfType<StringAttr>(planner::kVariantAttr))
    entry->variant = variant.str();
  if (auto test = func->getAttrOfType<DictionaryAttr>(planner::kTestVectorAttr))
    entry->tests.push_back(exportTestVector(test));
  for (const std::string &feature : entry->required_features)
    if (!llvm::is_contained(target.required_features, feature))
      target.required_features.push_back(feature);
  target.kernels.push_back(std::move(entry));
  return success();
}

FailureOr<std::unique_ptr<fb::ProgramT>>
Exporter::exportProgram(plan::ProgramOp program,
                        const llvm::StringMap<uint32_t> &kernels,
                        fb::TargetT &target) {
  auto result = std::make_unique<fb::ProgramT>();
  result->entry = program.getEntry().value_or("").str();
  result->key = exportKey(program.getKeyAttr());
  if (!program.getArenaSize())
    return program.emitError("has no arena yet; run plan-assign-arena first");
  result->arena_size = *program.getArenaSize();

  llvm::DenseMap<Operation *, uint32_t> buffers, commands;
  llvm::StringMap<uint32_t> computed;
  for (auto [i, value] : llvm::enumerate(target.computed))
    computed[value->name] = i;

  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
      auto entry = std::make_unique<fb::BufferT>();
      entry->size = buffer.getBytes();
      StringRef name = buffer.getName().value_or("");
      switch (buffer.getRole()) {
      case plan::Role::Const:
        entry->role = fb::BufferRole::Const;
        entry->index = consts.lookup(name);
        break;
      case plan::Role::State:
        entry->role = fb::BufferRole::State;
        entry->index = states.lookup(name);
        break;
      case plan::Role::Computed:
        entry->role = fb::BufferRole::Computed;
        entry->index = computed.lookup(name);
        break;
      case plan::Role::Slot: {
        entry->role = fb::BufferRole::Slot;
        entry->index = result->slots.size();
        auto slot = std::make_unique<fb::SlotT>();
        slot->name = name.str();
        slot->type = exportType(*buffer.getType());
        slot->size = buffer.getBytes();
        result->slots.push_back(std::move(slot));
        break;
      }
      case plan::Role::Output: {
        entry->role = fb::BufferRole::Output;
        entry->index = result->outputs.size();
        auto output = std::make_unique<fb::OutputT>();
        output->name = name.str();
        output->type = exportType(*buffer.getType());
        output->size = buffer.getBytes();
        result->outputs.push_back(std::move(output));
        break;
      }
      case plan::Role::Arena:
        entry->role = fb::BufferRole::Arena;
        // A buffer that no command uses has no place and needs no entry.
        if (!buffer.getOffset())
          continue;
        entry->offset = *buffer.getOffset();
        break;
      }
      buffers[buffer] = result->buffers.size();
      result->buffers.push_back(std::move(entry));
      continue;
    }

    auto command = std::make_unique<fb::CommandT>();
    command->location = describe(op.getLoc());
    auto bufferOf = [&](Value value) {
      return buffers.lookup(value.getDefiningOp());
    };
    OperandRange waits(nullptr, 0);
    if (auto dispatch = dyn_cast<plan::DispatchOp>(op)) {
      fb::DispatchT body;
      body.kernel = kernels.lookup(dispatch.getKernel());
      body.grid.assign(dispatch.getGrid().begin(), dispatch.getGrid().end());
      for (auto [buffer, attr] :
           llvm::zip(dispatch.getBuffers(), dispatch.getArguments())) {
        auto argument = cast<plan::ArgumentAttr>(attr);
        auto entry = std::make_unique<fb::ArgumentT>();
        entry->buffer = bufferOf(buffer);
        entry->offset = argument.getOffset();
        // Size 0 stands for all that follows the offset.
        entry->size = std::max<int64_t>(argument.getSize(), 0);
        entry->access = exportAccess(argument.getAccess());
        body.arguments.push_back(std::move(entry));
      }
      for (Attribute word : dispatch.getMetadata()) {
        if (auto extent = dyn_cast<plan::ExtentAttr>(word)) {
          body.metadata.emplace_back(
              fb::MetadataKind::StateExtent,
              states.lookup(extent.getState().getValue()));
          continue;
        }
        APInt bits = isa<FloatAttr>(word)
                         ? cast<FloatAttr>(word).getValue().bitcastToAPInt()
                         : cast<IntegerAttr>(word).getValue();
        body.metadata.emplace_back(fb::MetadataKind::Literal,
                                   bits.getZExtValue());
      }
      command->body.Set(std::move(body));
      waits = dispatch.getWaits();
    } else if (auto copy = dyn_cast<plan::CopyOp>(op)) {
      fb::CopyT body;
      body.source = bufferOf(copy.getSource());
      body.source_offset = copy.getSourceOffset();
      body.destination = bufferOf(copy.getDestination());
      body.destination_offset = copy.getDestinationOffset();
      body.size = copy.getBytes();
      command->body.Set(std::move(body));
      waits = copy.getWaits();
    } else if (auto fill = dyn_cast<plan::FillOp>(op)) {
      fb::FillBufferT body;
      body.destination = bufferOf(fill.getDestination());
      body.offset = fill.getOffset();
      body.size = fill.getBytes();
      body.word = fill.getWord();
      command->body.Set(std::move(body));
      waits = fill.getWaits();
    } else {
      return op.emitError("has no place in a program");
    }
    for (Value wait : waits)
      command->waits.emplace_back(commands.lookup(wait.getDefiningOp()),
                                  fb::EdgeKind::Full);
    commands[&op] = result->commands.size();
    result->commands.push_back(std::move(command));
  }
  return result;
}

/// The kernels that programs launch, in the order of their first use.
FailureOr<SmallVector<kernel::FuncOp>>
Exporter::usedKernels(ArrayRef<plan::ProgramOp> programs) {
  llvm::MapVector<StringRef, kernel::FuncOp> used;
  for (plan::ProgramOp program : programs)
    program.walk([&](plan::DispatchOp dispatch) {
      used.insert({dispatch.getKernel(),
                   symbols.lookup<kernel::FuncOp>(dispatch.getKernel())});
    });
  SmallVector<kernel::FuncOp> kernels;
  for (auto [symbol, func] : used) {
    if (!func)
      return module.emitError("no kernel named '") << symbol << "'";
    kernels.push_back(func);
  }
  return kernels;
}

LogicalResult Exporter::exportTarget(StringRef name,
                                     ArrayRef<kernel::FuncOp> kernels,
                                     ArrayRef<plan::ProgramOp> programs) {
  bool isKir = name == planner::kInterpTarget;
  SpirvTarget spirv;
  if (!isKir) {
    FailureOr<SpirvTarget> parsed = SpirvTarget::parse(name, [&] {
      return module.emitError("cannot compile for this target: ");
    });
    if (failed(parsed))
      return failure();
    spirv = std::move(*parsed);
  }
  auto compile = [&](kernel::FuncOp func, fb::KernelT &kernel,
                     fb::CodeT &code) {
    return isKir ? compileKir(func, kernel, code)
                 : compileSpirv(func, spirv, kernel, code);
  };
  auto target = std::make_unique<fb::TargetT>();
  target->name = name.str();

  llvm::StringSet<> computed;
  for (plan::ProgramOp program : programs)
    program.walk([&](plan::BufferOp buffer) {
      if (buffer.getRole() == plan::Role::Computed)
        computed.insert(*buffer.getName());
    });
  for (auto value : module.getOps<graph::ComputedOp>()) {
    if (!computed.contains(value.getSymName()))
      continue;
    auto entry = std::make_unique<fb::ComputedT>();
    entry->name = value.getSymName().str();
    entry->type = exportType(value.getType());
    entry->size = planner::deviceBytes(value.getType());
    target->computed.push_back(std::move(entry));
  }

  uint32_t section =
      addSection(isKir ? fb::SectionKind::Kir : fb::SectionKind::Kernel, {});
  std::vector<uint8_t> code;
  llvm::StringMap<uint32_t> numbers;
  for (kernel::FuncOp func : kernels) {
    numbers[func.getSymName()] = target->kernels.size();
    if (failed(exportKernel(func, compile, section, code, *target)))
      return failure();
  }
  for (const planner::TargetInfo &info : planner::getTargets())
    if (name == info.name && !info.feature.empty())
      target->required_features.push_back(info.feature.str());
  llvm::sort(target->required_features);
  out.sectionBytes[section] = std::move(code);

  for (plan::ProgramOp program : programs) {
    auto exported = exportProgram(program, numbers, *target);
    if (failed(exported))
      return failure();
    if (program.isLoad())
      target->load = std::move(*exported);
    else
      target->programs.push_back(std::move(*exported));
  }
  out.index.targets.push_back(std::move(target));
  return success();
}

void Exporter::describeModel() {
  out.index.producer = "poot " POOT_VERSION;
  for (const auto &[key, value] : options.model) {
    auto pair = std::make_unique<fb::KeyValueT>();
    pair->key = key;
    pair->value = value;
    out.index.model.push_back(std::move(pair));
  }
}

void Exporter::finish() {
  // A target whose programs need no kernel has an empty section; sections are
  // numbered already, so it keeps a word.
  for (auto [source, bytes] : llvm::zip(out.sections, out.sectionBytes)) {
    if (bytes.empty())
      bytes.resize(4);
    source.bytes = {bytes.data(), bytes.size()};
  }
}

LogicalResult Exporter::exportPrograms() {
  llvm::MapVector<StringRef, SmallVector<plan::ProgramOp>> targets;
  llvm::StringSet<> names;
  for (auto program : module.getOps<plan::ProgramOp>()) {
    targets[program.getTarget()].push_back(program);
    program.walk([&](plan::DispatchOp dispatch) {
      kernelsTotal += names.insert(dispatch.getKernel()).second;
    });
  }
  if (targets.empty())
    return module.emitError(
        "has no program to export; a graph needs at least one entry, "
        "a public function");
  describeModel();
  if (failed(exportConsts()))
    return failure();
  for (const auto &[name, programs] : targets) {
    FailureOr<SmallVector<kernel::FuncOp>> kernels = usedKernels(programs);
    if (failed(kernels) || failed(exportTarget(name, *kernels, programs)))
      return failure();
  }
  finish();
  return success();
}

LogicalResult Exporter::exportKernels(ArrayRef<std::string> targets) {
  // What a driver gets is optimized; KIR is what the kernel says.
  OwningOpRef<ModuleOp> optimized = module.clone();
  PassManager passes(module.getContext());
  kernel::buildKernelOptimizePipeline(passes);
  if (failed(passes.run(*optimized)))
    return failure();
  SmallVector<kernel::FuncOp> plain(module.getOps<kernel::FuncOp>());
  SmallVector<kernel::FuncOp> fast(optimized->getOps<kernel::FuncOp>());
  kernelsTotal = plain.size() * targets.size();
  describeModel();
  for (const std::string &name : targets)
    if (failed(exportTarget(name, name == planner::kInterpTarget ? plain : fast,
                            {})))
      return failure();
  finish();
  return success();
}

} // namespace

LogicalResult exportBundle(ModuleOp module, const ExportOptions &options,
                           ExportedBundle &bundle) {
  return Exporter(module, options, bundle).exportPrograms();
}

LogicalResult exportKernels(ModuleOp module, ArrayRef<std::string> targets,
                            const ExportOptions &options,
                            ExportedBundle &bundle) {
  return Exporter(module, options, bundle).exportKernels(targets);
}

} // namespace poot
