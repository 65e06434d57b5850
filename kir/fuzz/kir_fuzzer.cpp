// Fuzzes the reader of .kir.json: no text may crash it or take memory out of
// proportion, and what it accepts keeps its bytes from the first writing on.

#include "poot/kir/json.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace poot::kir;
  auto module = readJson({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!module)
    return 0;
  std::string text = writeJson(*module);
  auto again = readJson(text, "written");
  if (!again || writeJson(*again) != text) {
    std::fprintf(stderr, "not read back: %s\n%s",
                 again.status().message().c_str(), text.c_str());
    std::abort();
  }
  for (const Function &function : module->functions)
    for (const Block &block : function.body.blocks)
      for (const Op &op : block.ops)
        (void)callPath(*module, op.location);
  return 0;
}
