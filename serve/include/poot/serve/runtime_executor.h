// The executor that runs steps on a device through the runtime's C API.

#ifndef POOT_SERVE_RUNTIME_EXECUTOR_H
#define POOT_SERVE_RUNTIME_EXECUTOR_H

#include "poot/runtime.h"
#include "poot/serve/driver.h"
#include "poot/weights/gguf.h"

#include <functional>
#include <memory>
#include <string>

namespace poot::serve {

struct RuntimeOptions {
  std::string bundle;            ///< path of the .poot file
  std::string device = "vulkan"; ///< as poot_device_open takes it
  /// Where the weights are that the bundle does not hold; may be null. Needed
  /// only while opening.
  const weights::Gguf *weights = nullptr;
  /// Told of progress while the weights are uploaded: what, done, total.
  std::function<void(const char *, uint64_t, uint64_t)> progress;
};

/// Takes the runtime's error, frees it, and returns it as a status.
weights::Status takeError(poot_error *error);

class RuntimeExecutor : public Executor {
public:
  /// Opens the bundle on the device, binds the weights by name and makes a
  /// session. Of the entries it takes those whose slots and outputs are the
  /// driver's, and of these the ones with the largest capacity. An error when
  /// there is none, which says what is in the way.
  static weights::Expected<std::unique_ptr<RuntimeExecutor>>
  open(const RuntimeOptions &options);

  const std::vector<Entry> &entries() const override { return usable; }
  int32_t capacity() const override { return rowCapacity; }
  int32_t vocabularySize() const override { return vocabulary; }
  weights::Expected<uint64_t> submit(const Entry &entry,
                                     const StepSlots &slots) override;
  weights::Status readTokens(uint64_t step,
                             std::vector<int32_t> &tokens) override;
  weights::Status readLogits(uint64_t step,
                             std::vector<float> &logits) override;

  /// Name and driver of the device, and the bundle's target in use.
  std::string description() const;

private:
  RuntimeExecutor() = default;
  weights::Status chooseEntries();

  template <auto destroy> struct Destroy {
    template <class T> void operator()(T *handle) const { destroy(handle); }
  };
  std::unique_ptr<poot_device, Destroy<poot_device_close>> device;
  std::unique_ptr<poot_bundle, Destroy<poot_bundle_close>> bundle;
  std::unique_ptr<poot_executable, Destroy<poot_executable_destroy>> executable;
  std::unique_ptr<poot_session, Destroy<poot_session_destroy>> session;
  std::vector<Entry> usable;
  int32_t rowCapacity = 0;
  int32_t vocabulary = 0;
  /// Rows of the latest steps, by step modulo 2.
  int32_t latestRows[2] = {0, 0};
};

} // namespace poot::serve

#endif // POOT_SERVE_RUNTIME_EXECUTOR_H
