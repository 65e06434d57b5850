// What a device is to the rest of the runtime: memory, kernels, recorded
// programs, and one in-order queue with a timeline. Vulkan implements it;
// executables and sessions are written against it alone.
//
// Order. Submissions execute one after another, and each sees all that earlier
// ones wrote. Within a recording only the commands' waits order commands.
//
// Lifetime. Whoever holds a buffer, kernel or recording keeps the device alive,
// and waits for the submissions that use them before destroying them.
//
// Threads. A device may be used by several threads at a time.

#ifndef POOT_RUNTIME_DEVICE_H
#define POOT_RUNTIME_DEVICE_H

#include "error.h"
#include "poot/bundle/reader.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace poot::runtime {

/// What memory is for.
enum class Memory : uint8_t {
  Device,    ///< Read and written by kernels.
  Temporary, ///< The same, but freed soon: kept apart so that it frees well.
  Upload,    ///< Written by the host, copied from.
  Readback,  ///< Copied to, read by the host.
};

/// Bytes on the device, aligned for any argument.
class Buffer {
public:
  virtual ~Buffer() = default;
  uint64_t size() const { return size_; }
  /// Where the host reads and writes the same bytes; null where it can't.
  /// Writes are seen by later submissions, and the host sees what a submission
  /// wrote once it has been waited for.
  uint8_t *host() const { return host_; }

protected:
  uint64_t size_ = 0;
  uint8_t *host_ = nullptr;
};

/// A part of a buffer. Size 0 is an empty slice.
struct Slice {
  Buffer *buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Machine code, ready to be dispatched.
class Kernel {
public:
  virtual ~Kernel() = default;
  const std::string &name() const { return name_; }

protected:
  std::string name_;
};

/// One command of a program with everything resolved.
struct Command {
  enum class Kind : uint8_t { Dispatch, Fill, Copy };
  Kind kind = Kind::Dispatch;

  // Dispatch.
  Kernel *kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::vector<Slice> arguments;
  std::vector<uint32_t> metadata;

  // Fill and Copy.
  Slice destination;
  Slice source;      // Copy; as large as the destination.
  uint32_t word = 0; // Fill.

  /// Indices of earlier commands whose effects this one needs.
  std::vector<uint32_t> waits;
  /// The graph op it came from, for messages; may be empty.
  std::string location;
};

/// A program recorded once, submitted often.
class Recording {
public:
  virtual ~Recording() = default;
};

struct CopyRegion {
  Buffer *source = nullptr;
  uint64_t sourceOffset = 0;
  Buffer *destination = nullptr;
  uint64_t destinationOffset = 0;
  uint64_t size = 0;
};

/// Runs copies, then a recording, then copies. Each part may be empty.
struct Submission {
  std::vector<CopyRegion> before;
  Recording *recording = nullptr;
  std::vector<CopyRegion> after;
};

/// poot_device_info with the strings it points to.
struct DeviceInfo {
  poot_device_info info = {};
  std::string id, api, name, driver;
  std::vector<std::string> features;

  DeviceInfo() = default;
  DeviceInfo(DeviceInfo &&) = default;
  DeviceInfo &operator=(DeviceInfo &&) = default;

  bool hasFeature(const std::string &feature) const;
  /// Points info at the strings; called once they have their final place.
  const poot_device_info &seal();

private:
  std::vector<const char *> featurePointers_;
};

class Device {
public:
  virtual ~Device() = default;

  const poot_device_info &info() const { return info_.info; }
  bool hasFeature(const std::string &name) const {
    return info_.hasFeature(name);
  }
  /// "vulkan:0 (llvmpipe ...)": in messages.
  std::string describe() const { return info_.id + " (" + info_.name + ")"; }
  /// Offsets of arguments are multiples of this.
  uint64_t argumentAlignment() const { return argumentAlignment_; }

  /// Whether this device could run code of that form and architecture.
  virtual bool acceptsCode(const bundle::fb::Code &code) const = 0;

  /// At least SIZE bytes, of undefined content. WHAT says in messages what the
  /// memory was for.
  virtual Error allocate(uint64_t size, Memory memory, const std::string &what,
                         std::unique_ptr<Buffer> &buffer) = 0;

  /// Hands a kernel of FILE to the driver.
  virtual Error loadKernel(const bundle::BundleFile &file,
                           const bundle::fb::Kernel &kernel,
                           std::unique_ptr<Kernel> &result) = 0;
  /// Called after a round of loadKernel: a good time to save caches.
  virtual void kernelsLoaded() {}

  /// Records COMMANDS. TIMED recordings can be asked how long each took.
  virtual Error record(const std::vector<Command> &commands, bool timed,
                       std::unique_ptr<Recording> &recording) = 0;
  /// Milliseconds of every command in the last submission of a timed
  /// recording, which has been waited for.
  virtual Error readTimes(Recording &recording, std::vector<double> &ms) = 0;

  /// Tickets grow by the order of execution.
  virtual Error submit(const Submission &submission, uint64_t &ticket) = 0;
  /// Waits until the ticket's submission has finished; FINISHED is false when
  /// the time ran out first.
  virtual Error wait(uint64_t ticket, uint64_t timeoutNs, bool &finished) = 0;
  Error waitForever(uint64_t ticket) {
    bool finished;
    return wait(ticket, POOT_FOREVER, finished);
  }

  virtual std::vector<std::string> validationMessages() const { return {}; }

protected:
  DeviceInfo info_;
  uint64_t argumentAlignment_ = 1;
};

struct DeviceOptions {
  bool validation = false;
  /// Folder of compiled kernels; empty: none.
  std::string cacheFolder;
};

/// Devices of every driver, in the order of their numbers, and why others are
/// missing.
struct DeviceList {
  std::vector<std::unique_ptr<DeviceInfo>> devices;
  std::vector<std::string> notes;
};

DeviceList listDevices();
/// Opens a device by its id, or the best of an api by the api's name.
Error openDevice(const std::string &id, const DeviceOptions &options,
                 std::shared_ptr<Device> &device);

/// Copies between host and device through bounded staging memory, or directly
/// where the host reaches the buffer. Uploads are complete only after finish().
class Transfer {
public:
  explicit Transfer(Device &device) : device_(device) {}
  ~Transfer();

  Error upload(const Slice &destination, const void *data);
  Error finish();
  /// Waits for everything submitted before, then reads.
  Error download(const Slice &source, void *data, uint64_t lastTicket);

  static constexpr uint64_t kStagingBytes = 8 << 20; // of each of two halves

private:
  Device &device_;
  std::unique_ptr<Buffer> staging_[2];
  uint64_t ticket_[2] = {0, 0};
  unsigned next_ = 0;
};

} // namespace poot::runtime

#endif // POOT_RUNTIME_DEVICE_H
