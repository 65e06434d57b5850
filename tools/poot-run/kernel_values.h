//===- kernel_values.h - What one kernel is run on ------------------------===//
//
// Buffers and numbers for a kernel as the command line gives them, and where
// its results go: the same for --interpret and --kernel. KIR says what the
// kernel takes.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_RUN_KERNEL_VALUES_H
#define POOT_RUN_KERNEL_VALUES_H

#include "poot-run.h"

#include "poot/bundle/reader.h"
#include "poot/interp/interpreter.h"
#include "poot/weights/npy.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace poot::run {

/// A kernel that is ready to be interpreted, which says what it takes as well.
struct LoadedKernel {
  std::shared_ptr<const interp::Program> program;
  /// What the source calls each buffer and number; empty where the file doesn't
  /// say.
  std::vector<std::string> bufferNames, metadataNames;
};

/// Kernel NAME of MODULE, which came from FILE; its only one where the name is
/// empty.
weights::Expected<LoadedKernel>
loadKernel(kir::Module module, std::string name, const std::string &file,
           const interp::ProgramOptions &options);

/// The KIR of a kernel that a bundle carries. NAME becomes what the kernel is
/// called within the KIR.
weights::Expected<kir::Module> readKir(const bundle::BundleFile &file,
                                       std::string &name);

/// A buffer's bytes, and what they were made of.
struct Bytes {
  std::vector<uint8_t> storage;
  uint8_t *data = nullptr;
  uint64_t size = 0;
  bool given = false, undefined = false;
  weights::Shape shape;

  Bytes() = default;
  Bytes(Bytes &&) = default; // A copy's data would be another's storage.
  Bytes &operator=(Bytes &&) = default;

  void allocate(uint64_t bytes) {
    storage.assign(bytes + 64, 0);
    data = storage.data() +
           (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64);
    size = bytes;
  }
};

/// What a kernel is run on.
struct KernelValues {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  /// Bits of i32 and f32.
  std::vector<uint32_t> metadata;
  std::vector<Bytes> buffers;
  /// The file that each buffer is written to; empty for none.
  std::vector<std::string> outputs;
};

/// Reads what --grid, --metadata, --input and --output say.
weights::Status readValues(const Options &options, const LoadedKernel &kernel,
                           KernelValues &values);

/// Writes the buffers that --output names; without any, prints all that the
/// kernel may write.
weights::Status writeValues(const LoadedKernel &kernel,
                            const KernelValues &values);

} // namespace poot::run

#endif // POOT_RUN_KERNEL_VALUES_H
