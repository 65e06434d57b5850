// An open bundle as the C API shows it: the reader's file, and its tables in
// the shape of poot_tensor_info.

#ifndef POOT_RUNTIME_BUNDLE_VIEW_H
#define POOT_RUNTIME_BUNDLE_VIEW_H

#include "device.h"

#include <memory>
#include <string>
#include <vector>

namespace poot::runtime {

namespace fb = bundle::fb;

/// Infos that point into the bundle; the shape is copied, since the file stores
/// it little-endian and the API gives plain integers.
class TensorInfos {
public:
  void add(const char *name, const fb::TensorType &type, uint64_t size);
  const std::vector<poot_tensor_info> &all() const { return infos_; }
  const poot_tensor_info *find(const std::string &name) const;
  std::vector<std::string> names() const;

private:
  std::vector<poot_tensor_info> infos_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> shapes_;
};

/// "q4_k gguf 4096x4096", the outermost extent "?" where it is open.
std::string formatType(const char *element, const char *layout,
                       const int64_t *shape, size_t rank);

class BundleView {
public:
  static Error open(const std::string &path,
                    std::shared_ptr<const BundleView> &view);
  static Error openMemory(const void *data, size_t size,
                          std::shared_ptr<const BundleView> &view);

  const bundle::BundleFile &file() const { return *file_; }
  const fb::Bundle &index() const { return file_->index(); }
  const TensorInfos &consts() const { return consts_; }
  const TensorInfos &states() const { return states_; }

  /// The target NAME, or, where it is empty, the one that requires the most of
  /// what DEVICE has. The error says what each target lacks.
  Error chooseTarget(const Device &device, const std::string &name,
                     const fb::Target *&target) const;
  /// Proves that the code of TARGET's kernels is what was written.
  Error checkCode(const fb::Target &target) const;

private:
  static Error view(weights::Expected<bundle::BundleFile> file,
                    bundle::Refusal refusal,
                    std::shared_ptr<const BundleView> &view);

  std::unique_ptr<bundle::BundleFile> file_;
  TensorInfos consts_, states_;
};

} // namespace poot::runtime

#endif // POOT_RUNTIME_BUNDLE_VIEW_H
