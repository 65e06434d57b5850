//===- verify_test.cpp - Each rule of the index, broken once --------------===//
//
// Every case changes the sample in one way and names what the reader says then.
// The file around the index is right, so that only the rule can refuse it.
//
//===----------------------------------------------------------------------===//

#include "poot/bundle/reader.h"
#include "sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

using namespace poot;
using namespace poot::bundle;

namespace {

struct Case {
  const char *name;
  std::function<void(fb::BundleT &)> change;
  const char *message;
};

fb::TargetT &target(fb::BundleT &b) { return *b.targets[0]; }
fb::KernelT &kernel(fb::BundleT &b) { return *target(b).kernels[0]; }
fb::TestVectorT &test(fb::BundleT &b) { return *kernel(b).tests[0]; }
fb::TestInputT &planar(fb::BundleT &b) {
  return *kernel(b).tests[1]->inputs[1];
}
fb::ProgramT &load(fb::BundleT &b) { return *target(b).load; }
fb::ProgramT &program(fb::BundleT &b) { return *target(b).programs[0]; }
fb::CommandT &command(fb::BundleT &b, size_t i) {
  return *program(b).commands[i];
}
fb::DispatchT &dispatch(fb::BundleT &b, size_t i) {
  return *command(b, i).body.AsDispatch();
}
fb::FillBufferT &fill(fb::BundleT &b) {
  return *command(b, 0).body.AsFillBuffer();
}
fb::CopyT &copy(fb::BundleT &b) { return *command(b, 3).body.AsCopy(); }

const double kNan = std::numeric_limits<double>::quiet_NaN();
const uint64_t kHuge = ~uint64_t(0);

// clang-format off: it puts whole cases on lines of any length.
const Case kCases[] = {
    {"SectionKind",
     [](fb::BundleT &b) { b.sections[0]->kind = fb::SectionKind(7); },
     "sections[0]: kind 7 is unknown; known: Kernel, Weights, Kir"},
    {"SectionOffset",
     [](fb::BundleT &b) { b.sections[1]->offset = 4097; },
     "sections[1]: the offset 4097 is not a multiple of 4096"},
    {"SectionEmpty",
     [](fb::BundleT &b) { b.sections[0]->size = 0; },
     "sections[0]: is empty"},
    {"SectionOverlap",
     [](fb::BundleT &b) { b.sections[1]->offset = 0; },
     "sections[1]: the offset 0 is before the end of the previous section, "
     "100"},
    {"SectionOutside",
     [](fb::BundleT &b) { b.sections[2]->size = 34; },
     "sections[2]: bytes 8192 to +34 are not inside the data area of 8225 "
     "bytes"},
    {"SectionWraps",
     [](fb::BundleT &b) { b.sections[2]->offset = kHuge - 4095; },
     "sections[2]: bytes 18446744073709547520 to +33 are not inside"},
    {"SectionsEnd",
     [](fb::BundleT &b) { b.sections[2]->size = 32; },
     "sections: they end at byte 8224 of a data area of 8225 bytes"},
    {"ModelKey",
     [](fb::BundleT &b) { b.model[0]->key = ""; },
     "model[0].key: is empty"},
    {"ConstName",
     [](fb::BundleT &b) { b.consts[0]->name = ""; },
     "consts[0].name: is empty"},
    {"ConstTwice",
     [](fb::BundleT &b) { b.consts[1]->name = "norm.weight"; },
     "consts[1]: the name 'norm.weight' is taken by an earlier one"},
    {"ConstSize",
     [](fb::BundleT &b) { b.consts[0]->size = 60; },
     "consts[0]: the size is 60 bytes, but its type takes 64"},
    {"ConstElement",
     [](fb::BundleT &b) { b.consts[0]->type->element = "f33"; },
     "consts[0].type: the element type 'f33' is unknown; known: f32, f16, "
     "bf16,"},
    {"ConstLayout",
     [](fb::BundleT &b) { b.consts[0]->type->layout = "gguf"; },
     "consts[0].type: the layout 'gguf' does not suit f32; allowed: none"},
    {"ConstPackedLayout",
     [](fb::BundleT &b) { b.consts[1]->type->layout = "rows"; },
     "consts[1].type: the layout 'rows' does not suit q4_k; allowed: gguf, "
     "planar"},
    {"ConstPackedRow",
     [](fb::BundleT &b) { b.consts[1]->type->shape = {2, 255}; },
     "consts[1].type:"},
    {"ConstOpen",
     [](fb::BundleT &b) { b.consts[0]->type->shape = {-1, 4}; },
     "consts[0].type: the outermost extent is open, which only a state's may"
     " be"},
    {"ConstExtent",
     [](fb::BundleT &b) { b.consts[0]->type->shape = {4, 0}; },
     "consts[0].type: extent 1 is 0; at least 1 is needed"},
    {"ConstProduct",
     [](fb::BundleT &b) { b.consts[0]->type->shape = {1ll << 62, 1ll << 62}; },
     "consts[0].type:"},
    {"ConstSection",
     [](fb::BundleT &b) { b.consts[0]->section = 3; },
     "consts[0]: section 3 is out of range; there are 3"},
    {"ConstNegativeSection",
     [](fb::BundleT &b) { b.consts[0]->section = -2; },
     "consts[0]: section -2 is not allowed; -1 stands for none"},
    {"ConstSectionKind",
     [](fb::BundleT &b) { b.consts[0]->section = 0; },
     "consts[0]: section 0 holds no weights"},
    {"ConstSectionSize",
     [](fb::BundleT &b) { b.consts[1]->section = 1; },
     "consts[1]: section 1 has 64 bytes, but the constant 288"},
    {"StateInnerOpen",
     [](fb::BundleT &b) { b.states[0]->type->shape = {4, -1}; },
     "states[0].type: extent 1 is -1; at least 1 is needed"},
    {"StateRow",
     [](fb::BundleT &b) { b.states[0]->size = 64; },
     "states[0]: the size is 64 bytes, but its type takes 128"},
    {"LongName",
     [](fb::BundleT &b) { b.producer = std::string(70000, 'x'); },
     "producer: a string of 70000 bytes; at most 65536 are allowed"},
    {"TargetName",
     [](fb::BundleT &b) { target(b).name = ""; },
     "targets[0].name: is empty"},
    {"TargetTwice",
     [](fb::BundleT &b) { b.targets[1]->name = "vulkan:f16"; },
     "targets[1]: the name 'vulkan:f16' is taken by an earlier target"},
    {"TargetFeature",
     [](fb::BundleT &b) { target(b).required_features.push_back(""); },
     "targets[0].required_features[2].name: is empty"},
    {"TargetLoad",
     [](fb::BundleT &b) { target(b).load.reset(); },
     "targets[0]: has computed values, but no load program"},
    {"KernelName",
     [](fb::BundleT &b) { kernel(b).name = ""; },
     "targets[0].kernels[0].name: is empty"},
    {"KernelCode",
     [](fb::BundleT &b) { kernel(b).code.clear(); },
     "targets[0].kernels[0]: has no code"},
    {"KernelWorkgroup",
     [](fb::BundleT &b) { kernel(b).workgroup_size = {64, 0, 1}; },
     "targets[0].kernels[0].workgroup_size: the extent of y is 0; at least 1"
     " is needed"},
    {"KernelWorkgroupRank",
     [](fb::BundleT &b) { kernel(b).workgroup_size = {64}; },
     "targets[0].kernels[0].workgroup_size: has 1 extents; x, y and z are "
     "needed"},
    {"KernelWorkgroupProduct",
     [](fb::BundleT &b) { kernel(b).workgroup_size = {65536, 65536, 65536}; },
     "targets[0].kernels[0]: the workgroup has more than 2^32 invocations"},
    {"KernelAccess",
     [](fb::BundleT &b) { kernel(b).arguments[1] = fb::Access(3); },
     "targets[0].kernels[0].arguments[1]: access 3 is unknown; known: Read, "
     "Write, ReadWrite"},
    {"CodeFormat",
     [](fb::BundleT &b) { kernel(b).code[0]->format = fb::CodeFormat(5); },
     "targets[0].kernels[0].code[0]: format 5 is unknown; known: Spirv,"},
    {"CodeEntry",
     [](fb::BundleT &b) { kernel(b).code[0]->entry_point = ""; },
     "targets[0].kernels[0].code[0].entry_point: is empty"},
    {"CodeSection",
     [](fb::BundleT &b) { kernel(b).code[0]->section = 3; },
     "targets[0].kernels[0].code[0]: section 3 is out of range; there are 3"},
    {"CodeSectionKind",
     [](fb::BundleT &b) { kernel(b).code[0]->section = 2; },
     "targets[0].kernels[0].code[0]: section 2 is of another kind than "
     "Kernel"},
    {"CodeRange",
     [](fb::BundleT &b) { kernel(b).code[0]->size = 104; },
     "targets[0].kernels[0].code[0]: bytes 0 to +104 are not inside section "
     "0 of 100 bytes"},
    {"CodeWraps",
     [](fb::BundleT &b) { kernel(b).code[0]->offset = kHuge - 3; },
     "targets[0].kernels[0].code[0]: bytes 18446744073709551612 to +64 are "
     "not inside section 0"},
    {"CodeWords",
     [](fb::BundleT &b) { kernel(b).code[0]->offset = 2; },
     "targets[0].kernels[0].code[0]: SPIR-V at byte 2 of 64 bytes is not "
     "made of whole words"},
    {"CodeNoArchitecture",
     [](fb::BundleT &b) {
       b.targets[1]->kernels[0]->code[0]->architecture = "";
     },
     "targets[1].kernels[0].code[0]: machine code names no architecture"},
    {"CodeArchitecture",
     [](fb::BundleT &b) { kernel(b).code[0]->architecture = "sm_80"; },
     "targets[0].kernels[0].code[0]: SPIR-V is for no architecture, but "
     "names 'sm_80'"},
    {"TestGrid",
     [](fb::BundleT &b) { test(b).grid = {1, 1}; },
     "targets[0].kernels[0].tests[0].grid: has 2 extents"},
    {"TestMetadata",
     [](fb::BundleT &b) { test(b).metadata = {1}; },
     "targets[0].kernels[0].tests[0]: has 1 words of metadata, but the "
     "kernel 2"},
    {"TestInputs",
     [](fb::BundleT &b) { test(b).inputs.pop_back(); },
     "targets[0].kernels[0].tests[0]: has 2 inputs, but the kernel 3 "
     "arguments"},
    {"TestInputArgument",
     [](fb::BundleT &b) { test(b).inputs[0]->argument = 1; },
     "targets[0].kernels[0].tests[0].inputs[0]: is for argument 1; inputs "
     "are in the order of the arguments"},
    {"TestInputEmpty",
     [](fb::BundleT &b) { test(b).inputs[0]->bytes = 0; },
     "targets[0].kernels[0].tests[0].inputs[0]: has no bytes"},
    {"TestInputHuge",
     [](fb::BundleT &b) { test(b).inputs[1]->bytes = kHuge - 63; },
     "targets[0].kernels[0].tests[0].inputs[1]: the inputs take more than "
     "268435456 bytes"},
    {"TestInputFill",
     [](fb::BundleT &b) { test(b).inputs[0]->fill = fb::Fill(5); },
     "targets[0].kernels[0].tests[0].inputs[0]: fill 5 is unknown"},
    {"TestInputElement",
     [](fb::BundleT &b) { test(b).inputs[0]->element = ""; },
     "targets[0].kernels[0].tests[0].inputs[0]: the element type '' is "
     "unknown"},
    {"TestInputBlocks",
     [](fb::BundleT &b) { test(b).inputs[1]->bytes = 287; },
     "targets[0].kernels[0].tests[0].inputs[1]: 287 bytes are no whole "
     "number of q4_k blocks of 144"},
    {"TestInputPacked",
     [](fb::BundleT &b) { test(b).inputs[1]->fill = fb::Fill::Uniform; },
     "targets[0].kernels[0].tests[0].inputs[1]: numbers can't fill q4_k"},
    {"TestInputBytes",
     [](fb::BundleT &b) { test(b).inputs[0]->fill = fb::Fill::Bytes; },
     "targets[0].kernels[0].tests[0].inputs[0]: random bytes may be no "
     "number in f32"},
    {"TestInputFloat8",
     [](fb::BundleT &b) { test(b).inputs[0]->element = "f8e4m3"; },
     "targets[0].kernels[0].tests[0].inputs[0]: numbers of f8e4m3 can't be "
     "generated"},
    {"TestInputRange",
     [](fb::BundleT &b) { test(b).inputs[0]->low = 2; },
     "targets[0].kernels[0].tests[0].inputs[0]: low and high are no range of"
     " numbers that f32 holds"},
    {"TestInputNan",
     [](fb::BundleT &b) { test(b).inputs[0]->high = kNan; },
     "targets[0].kernels[0].tests[0].inputs[0]: low and high are no range"},
    {"TestInputScale",
     [](fb::BundleT &b) { test(b).inputs[1]->high = 1e5; },
     "targets[0].kernels[0].tests[0].inputs[1]: low and high are no range of"
     " numbers that q4_k holds"},
    {"TestInputInteger",
     [](fb::BundleT &b) {
       test(b).inputs[0]->fill = fb::Fill::UniformInt;
       test(b).inputs[0]->high = 1.5;
     },
     "targets[0].kernels[0].tests[0].inputs[0]: low and high are no integers"
     " within 2^53"},
    {"TestInputPermutation",
     [](fb::BundleT &b) { kernel(b).tests[1]->inputs[0]->low = -0.5; },
     "targets[0].kernels[0].tests[1].inputs[0]: low and high are no integers"
     " within 2^53"},
    {"TestInputPlanarFill",
     [](fb::BundleT &b) { planar(b).fill = fb::Fill::Zero; },
     "targets[0].kernels[0].tests[1].inputs[1]: has planar rows; they are for "
     "Bytes of a packed type"},
    {"TestInputPlanarType",
     [](fb::BundleT &b) { planar(b).element = "i32"; },
     "targets[0].kernels[0].tests[1].inputs[1]: has planar rows"},
    {"TestInputPlanarNoType",
     [](fb::BundleT &b) { planar(b).element = ""; },
     "targets[0].kernels[0].tests[1].inputs[1]: has planar rows"},
    {"TestInputPlanarBlocks",
     [](fb::BundleT &b) { planar(b).planar_row = 128; },
     "targets[0].kernels[0].tests[1].inputs[1]: planar rows of 128 elements "
     "are no whole number of q4_k blocks of 256"},
    {"TestInputPlanarHuge",
     [](fb::BundleT &b) { planar(b).planar_row = uint64_t(1) << 63; },
     "targets[0].kernels[0].tests[1].inputs[1]: planar rows have "
     "9223372036854775808 elements; at most 1073741824 are allowed"},
    {"TestInputPlanarRows",
     [](fb::BundleT &b) { planar(b).planar_row = 768; },
     "targets[0].kernels[0].tests[1].inputs[1]: 320 bytes are no whole number "
     "of planar rows of 448"},
    {"ExpectedArgument",
     [](fb::BundleT &b) { test(b).expected[0]->argument = 3; },
     "targets[0].kernels[0].tests[0].expected[0]: argument 3 is out of "
     "range; there are 3"},
    {"ExpectedRead",
     [](fb::BundleT &b) { test(b).expected[0]->argument = 0; },
     "targets[0].kernels[0].tests[0].expected[0]: argument 0 is only read by"
     " the kernel"},
    {"ExpectedElement",
     [](fb::BundleT &b) { test(b).expected[0]->element = "q4_k"; },
     "targets[0].kernels[0].tests[0].expected[0]: values of the element type"
     " 'q4_k' can't be compared"},
    {"ExpectedCount",
     [](fb::BundleT &b) { test(b).expected[0]->value.pop_back(); },
     "targets[0].kernels[0].tests[0].expected[0]: has 2 indices and 1 values"},
    {"ExpectedIndex",
     [](fb::BundleT &b) { test(b).expected[0]->index[1] = 16; },
     "targets[0].kernels[0].tests[0].expected[0]: index[1] is 16, but "
     "argument 2 has 16 elements"},
    {"ExpectedTolerance",
     [](fb::BundleT &b) { test(b).expected[0]->absolute_tolerance = -1; },
     "targets[0].kernels[0].tests[0].expected[0]: a tolerance is no number "
     "of at least 0"},
    {"LoadEntry",
     [](fb::BundleT &b) { load(b).entry = "load"; },
     "targets[0].load: the load program is no entry, but is named 'load'"},
    {"LoadRole",
     [](fb::BundleT &b) { load(b).buffers[0]->role = fb::BufferRole::State; },
     "targets[0].load.buffers[0]: role State is not allowed in the load "
     "program; allowed: Const, Computed, Arena"},
    {"LoadSlots",
     [](fb::BundleT &b) { load(b).slots = std::move(program(b).slots); },
     "targets[0].load: the load program has slots or outputs"},
    {"LoadUnwritten",
     [](fb::BundleT &b) { load(b).commands.pop_back(); },
     "targets[0].load: no command writes the target's computed[0]"},
    {"EntryEmpty",
     [](fb::BundleT &b) { program(b).entry = ""; },
     "targets[0].programs[0].entry: is empty"},
    {"EntryTwice",
     [](fb::BundleT &b) {
       target(b).programs.push_back(std::make_unique<fb::ProgramT>());
       target(b).programs[1]->entry = program(b).entry;
     },
     "targets[0].programs[1]: the entry 'decode.1x1.greedy' is taken by an "
     "earlier program"},
    {"KeyPhase",
     [](fb::BundleT &b) { program(b).key->phase = fb::Phase(9); },
     "targets[0].programs[0].key: phase 9 is unknown; known: None, Prefill, "
     "Decode"},
    {"SlotSize",
     [](fb::BundleT &b) { program(b).slots[0]->size = 8; },
     "targets[0].programs[0].slots[0]: the size is 8 bytes, but its type "
     "takes 4"},
    {"OutputUnwritten",
     [](fb::BundleT &b) { command(b, 3).body.AsCopy()->destination = 5; },
     "targets[0].programs[0]: no command writes outputs[0]"},
    {"BufferRole",
     [](fb::BundleT &b) { program(b).buffers[0]->role = fb::BufferRole(6); },
     "targets[0].programs[0].buffers[0]: role 6 is unknown; known: Const, "
     "State, Computed, Slot, Output, Arena"},
    {"BufferIndex",
     [](fb::BundleT &b) { program(b).buffers[0]->index = 1; },
     "targets[0].programs[0].buffers[0]: index 1 is out of range; there are "
     "1"},
    {"BufferSize",
     [](fb::BundleT &b) { program(b).buffers[1]->size = 287; },
     "targets[0].programs[0].buffers[1]: the size is 287 bytes, but Const 1 "
     "has 288"},
    {"BufferOffset",
     [](fb::BundleT &b) { program(b).buffers[0]->offset = 4; },
     "targets[0].programs[0].buffers[0]: offset is 4; 0 is needed for Slot"},
    {"ArenaRange",
     [](fb::BundleT &b) { program(b).buffers[6]->offset = 1000; },
     "targets[0].programs[0].buffers[6]: bytes 1000 to +256 are not inside "
     "the arena of 1024 bytes"},
    {"ArenaWraps",
     [](fb::BundleT &b) { program(b).buffers[6]->offset = kHuge - 255; },
     "targets[0].programs[0].buffers[6]: bytes 18446744073709551360 to +256 "
     "are not inside the arena"},
    {"ArenaIndex",
     [](fb::BundleT &b) { program(b).buffers[6]->index = 1; },
     "targets[0].programs[0].buffers[6]: index is 1; 0 is needed for Arena"},
    {"WaitLater",
     [](fb::BundleT &b) {
       command(b, 1).waits[0] = fb::Wait(1, fb::EdgeKind::Full);
     },
     "targets[0].programs[0].commands[1].waits[0]: waits for command 1, "
     "which is not before command 1"},
    {"WaitEdge",
     [](fb::BundleT &b) {
       command(b, 1).waits[0] = fb::Wait(0, fb::EdgeKind(2));
     },
     "targets[0].programs[0].commands[1].waits[0]: edge 2 is unknown; known:"
     " Full, Programmatic"},
    {"WaitProgrammatic",
     [](fb::BundleT &b) { dispatch(b, 2).programmatic = false; },
     "targets[0].programs[0].commands[2].waits[0]: a programmatic edge leads"
     " from a dispatch to a programmatic dispatch only"},
    {"DispatchKernel",
     [](fb::BundleT &b) { dispatch(b, 1).kernel = 2; },
     "targets[0].programs[0].commands[1]: kernel 2 is out of range; there "
     "are 2"},
    {"DispatchGrid",
     [](fb::BundleT &b) { dispatch(b, 1).grid = {1, 1, 0}; },
     "targets[0].programs[0].commands[1].grid: the extent of z is 0; at "
     "least 1 is needed"},
    {"DispatchCluster",
     [](fb::BundleT &b) { dispatch(b, 2).cluster = {3, 1, 1}; },
     "targets[0].programs[0].commands[2]: the grid's extent 4 of x is no "
     "multiple of the cluster's, 3"},
    {"DispatchArguments",
     [](fb::BundleT &b) { dispatch(b, 1).arguments.pop_back(); },
     "targets[0].programs[0].commands[1]: has 2 arguments, but kernel 'add' "
     "takes 3"},
    {"DispatchMetadata",
     [](fb::BundleT &b) { dispatch(b, 1).metadata.pop_back(); },
     "targets[0].programs[0].commands[1]: has 1 words of metadata, but "
     "kernel 'add' takes 2"},
    {"ArgumentBuffer",
     [](fb::BundleT &b) { dispatch(b, 1).arguments[1]->buffer = 8; },
     "targets[0].programs[0].commands[1].arguments[1]: buffer 8 is out of "
     "range; there are 8"},
    {"ArgumentRange",
     [](fb::BundleT &b) { dispatch(b, 1).arguments[1]->offset = 145; },
     "targets[0].programs[0].commands[1].arguments[1]: bytes 145 to +144 are"
     " not inside buffer 1 of 288 bytes"},
    {"ArgumentWraps",
     [](fb::BundleT &b) { dispatch(b, 1).arguments[1]->offset = kHuge; },
     "targets[0].programs[0].commands[1].arguments[1]: bytes "
     "18446744073709551615 to +144 are not inside buffer 1"},
    {"ArgumentEmpty",
     [](fb::BundleT &b) { dispatch(b, 1).arguments[1]->size = 0; },
     "targets[0].programs[0].commands[1].arguments[1]: bytes 144 to +0 are "
     "not inside buffer 1"},
    {"ArgumentOpenWraps",
     [](fb::BundleT &b) { dispatch(b, 2).arguments[0]->offset = kHuge; },
     "targets[0].programs[0].commands[2].arguments[0]: bytes "
     "18446744073709551615 to +256 are out of any range"},
    {"ArgumentAccess",
     [](fb::BundleT &b) {
       dispatch(b, 1).arguments[1]->access = fb::Access::ReadWrite;
     },
     "targets[0].programs[0].commands[1].arguments[1]: access is ReadWrite, "
     "but the kernel's is another"},
    {"ArgumentUnknownAccess",
     [](fb::BundleT &b) {
       dispatch(b, 1).arguments[1]->access = fb::Access(7);
     },
     "targets[0].programs[0].commands[1].arguments[1]: access 7 is unknown"},
    {"ArgumentWritesConst",
     [](fb::BundleT &b) { dispatch(b, 1).arguments[2]->buffer = 1; },
     "targets[0].programs[0].commands[1].arguments[2]: buffer 1 is written, "
     "but a Const is only read"},
    {"ArgumentWritesSlot",
     [](fb::BundleT &b) { fill(b).destination = 0; },
     "targets[0].programs[0].commands[0]: destination 0 is written, but a "
     "Slot is only read"},
    {"ArgumentWritesComputed",
     [](fb::BundleT &b) { dispatch(b, 2).arguments[2]->buffer = 4; },
     "targets[0].programs[0].commands[2].arguments[2]: buffer 4 is written, "
     "but only the load program writes Computed values"},
    {"ArgumentMap",
     [](fb::BundleT &b) { dispatch(b, 2).arguments[0]->tensor_map = 1; },
     "targets[0].programs[0].commands[2].arguments[0]: tensor_map 1 is out "
     "of range; there are 1"},
    {"ArgumentNegativeMap",
     [](fb::BundleT &b) { dispatch(b, 2).arguments[0]->tensor_map = -2; },
     "targets[0].programs[0].commands[2].arguments[0]: tensor_map -2 is not "
     "allowed; -1 stands for none"},
    {"MetadataKind",
     [](fb::BundleT &b) {
       dispatch(b, 1).metadata[0] = fb::Metadata(fb::MetadataKind(2), 0);
     },
     "targets[0].programs[0].commands[1].metadata[0]: kind 2 is unknown; "
     "known: Literal, StateExtent"},
    {"MetadataState",
     [](fb::BundleT &b) {
       dispatch(b, 1).metadata[1] =
           fb::Metadata(fb::MetadataKind::StateExtent, 2);
     },
     "targets[0].programs[0].commands[1].metadata[1]: state 2 is out of "
     "range; there are 2"},
    {"MetadataFixed",
     [](fb::BundleT &b) {
       dispatch(b, 1).metadata[1] =
           fb::Metadata(fb::MetadataKind::StateExtent, 1);
     },
     "targets[0].programs[0].commands[1].metadata[1]: the extent of state 1 "
     "is fixed"},
    {"FillRange",
     [](fb::BundleT &b) { fill(b).offset = 132; },
     "targets[0].programs[0].commands[0]: bytes 132 to +128 are not inside "
     "buffer 5 of 256 bytes"},
    {"FillWords",
     [](fb::BundleT &b) { fill(b).size = 126; },
     "targets[0].programs[0].commands[0]: bytes 128 to +126 are not made of "
     "whole words"},
    {"FillOpen",
     [](fb::BundleT &b) { fill(b).destination = 2; fill(b).size = 0; },
     "targets[0].programs[0].commands[0]: the size is 0"},
    {"CopySource",
     [](fb::BundleT &b) { copy(b).source = 8; },
     "targets[0].programs[0].commands[3]: source 8 is out of range; there "
     "are 8"},
    {"CopyRange",
     [](fb::BundleT &b) { copy(b).source_offset = 253; },
     "targets[0].programs[0].commands[3]: bytes 253 to +4 are not inside "
     "buffer 6 of 256 bytes"},
    {"CopyOverlap",
     [](fb::BundleT &b) {
       copy(b).destination = 6;
       copy(b).destination_offset = 2;
     },
     "targets[0].programs[0].commands[3]: source and destination overlap"},
    {"MapBuffer",
     [](fb::BundleT &b) { program(b).tensor_maps[0]->buffer = 8; },
     "targets[0].programs[0].tensor_maps[0]: buffer 8 is out of range; there"
     " are 8"},
    {"MapRank",
     [](fb::BundleT &b) { program(b).tensor_maps[0]->strides.clear(); },
     "targets[0].programs[0].tensor_maps[0]: has 2 extents, 0 strides and a "
     "box of 2"},
};
// clang-format on

class BrokenRule : public testing::TestWithParam<Case> {};

TEST_P(BrokenRule, IsNamed) {
  sample::Sample sample = sample::make();
  Expected<std::vector<uint8_t>> whole =
      encodeBundle(sample.index, sample.sections);
  ASSERT_TRUE(whole) << whole.status().message();
  FileHeader header;
  std::memcpy(&header, whole->data(), sizeof header);
  const std::vector<uint8_t> data(whole->begin() + header.dataStart,
                                  whole->end());
  GetParam().change(sample.index);
  const std::vector<uint8_t> bytes = sample::frame(sample.index, data);
  Refusal refusal = Refusal::None;
  Expected<BundleFile> file =
      BundleFile::openMemory({bytes.data(), bytes.size()}, "m.poot", &refusal);
  ASSERT_FALSE(file);
  EXPECT_EQ(refusal, Refusal::Inconsistent);
  const std::string message = file.status().message();
  EXPECT_NE(message.find(std::string("\n  ") + GetParam().message),
            std::string::npos)
      << message;
  EXPECT_EQ(message.rfind("m.poot: the index contradicts itself\n", 0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Index, BrokenRule, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.name);
                         });

TEST(VerifyIndex, CountsFurtherMessages) {
  sample::Sample sample = sample::make();
  ASSERT_TRUE(encodeBundle(sample.index, sample.sections));
  for (int i = 0; i != 50; ++i) {
    sample.index.model.push_back(std::make_unique<fb::KeyValueT>());
    sample.index.model.back()->key = "family";
  }
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishBundleBuffer(builder, fb::Bundle::Pack(builder, &sample.index));
  const std::vector<std::string> messages =
      verifyIndex(*fb::GetBundle(builder.GetBufferPointer()), builder.GetSize(),
                  2 * kSectionAlignment + 33, 20);
  ASSERT_EQ(messages.size(), 21u);
  EXPECT_EQ(messages[0],
            "model[2]: the key 'family' is taken by an earlier one");
  EXPECT_EQ(messages[20], "and 30 more");
}

TEST(VerifyIndex, SampleHasNoFault) {
  sample::Sample sample = sample::make();
  EXPECT_TRUE(encodeBundle(sample.index, sample.sections).ok());
}

} // namespace
