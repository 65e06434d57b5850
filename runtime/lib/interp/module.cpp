// The entry of libpoot-interp.so.

#include "module.h"

#include "poot/kir/json.h"

using namespace poot;
using namespace poot::interp;

static weights::Expected<std::shared_ptr<const Program>>
load(std::string_view text, std::string_view kernel,
     const ProgramOptions &options, bool &isKir) {
  auto module = kir::readJson(text, "KIR");
  isKir = static_cast<bool>(module);
  if (!module)
    return module.status();
  return Program::create(std::make_shared<kir::Module>(std::move(*module)),
                         kernel, options);
}

extern "C" __attribute__((visibility("default"))) const Module *poot_interp() {
  static const Module module = {POOT_VERSION, load, toText};
  return &module;
}
