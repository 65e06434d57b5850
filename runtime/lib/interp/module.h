// What libpoot-interp.so is to the runtime, which loads it as it loads drivers:
// most programs never interpret, and shouldn't carry what does. The two are
// built together and exchange C++ objects, so another version is refused.

#ifndef POOT_RUNTIME_INTERP_MODULE_H
#define POOT_RUNTIME_INTERP_MODULE_H

#include "poot/interp/interpreter.h"

namespace poot::interp {

struct Module {
  /// POOT_VERSION of the build.
  const char *version;
  /// Reads the text of a .kir.json and decodes one of its kernels. ISKIR says
  /// on failure whether the text was right and the kernel alone was not.
  weights::Expected<std::shared_ptr<const Program>> (*load)(
      std::string_view text, std::string_view kernel,
      const ProgramOptions &options, bool &isKir);
  std::string (*toText)(const Report &report);
};

/// The name and the type of the one symbol that the library exports.
inline constexpr const char *kModuleSymbol = "poot_interp";
using GetModule = const Module *(*)();

} // namespace poot::interp

#endif // POOT_RUNTIME_INTERP_MODULE_H
