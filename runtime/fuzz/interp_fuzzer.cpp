// Any text that is a verified module of KIR runs in the interpreter to an end,
// a refusal or a fault, with and without the sanitizer, and touches nothing but
// its buffers.

#include "poot/interp/interpreter.h"
#include "poot/kir/json.h"

#include <cstdlib>
#include <string_view>

using namespace poot;

static void runKernel(const std::shared_ptr<const kir::Module> &module,
                      const std::string &name, bool sanitize) {
  interp::ProgramOptions options;
  options.sanitize = sanitize;
  options.subgroupSize = 4;
  auto program = interp::Program::create(module, name, options);
  if (!program)
    return;
  // Each buffer is a block of its own, so that a step beyond it is seen.
  constexpr size_t kBytes = 256;
  interp::RunOptions run;
  run.grid = {2, 1, 1};
  run.stepLimit = 20000;
  run.maxReports = 20;
  std::vector<void *> blocks;
  for (size_t i = 0; i != (*program)->buffers().size(); ++i) {
    interp::Argument argument;
    blocks.push_back(std::aligned_alloc(64, kBytes));
    argument.data = static_cast<uint8_t *>(blocks.back());
    for (size_t byte = 0; byte != kBytes; ++byte)
      argument.data[byte] = static_cast<uint8_t>(byte * 7);
    argument.size = kBytes;
    argument.undefined = i % 2 == 1;
    run.arguments.push_back(argument);
  }
  run.metadata.assign((*program)->metadata().size(), 5);
  interp::Findings findings;
  weights::Status status = (*program)->run(run, &findings);
  (void)status.ok();
  for (const interp::Report &report : findings.reports)
    if (toText(report).empty())
      std::abort();
  for (void *block : blocks)
    std::free(block);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto read =
      kir::readJson({reinterpret_cast<const char *>(data), size}, "input");
  if (!read)
    return 0;
  auto module = std::make_shared<const kir::Module>(std::move(*read));
  for (const kir::Function &function : module->functions)
    if (function.kind == kir::FunctionKind::Kernel)
      for (bool sanitize : {false, true})
        runKernel(module, function.name, sanitize);
  return 0;
}
