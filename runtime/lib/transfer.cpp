// Copies between host and device, through two halves of a bounded staging
// buffer: the host fills one while the device empties the other.

#include "device.h"

#include <algorithm>
#include <cstring>

using namespace poot;
using namespace poot::runtime;

// Small transfers don't need the whole.
static constexpr uint64_t kSmallStaging = 64 << 10;

Transfer::~Transfer() {
  // Staging memory must outlive its copies, also after an error elsewhere.
  for (uint64_t ticket : ticket_)
    (void)device_.waitForever(ticket);
}

Error Transfer::upload(const Slice &destination, const void *data) {
  if (destination.size == 0)
    return success();
  if (uint8_t *host = destination.buffer->host()) {
    std::memcpy(host + destination.offset, data, destination.size);
    return success();
  }
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  for (uint64_t done = 0; done != destination.size;) {
    uint64_t size = std::min(kStagingBytes, destination.size - done);
    std::unique_ptr<Buffer> &half = staging_[next_];
    if (Error e = device_.waitForever(ticket_[next_]))
      return e;
    if (!half || half->size() < size)
      if (Error e =
              device_.allocate(std::max(size, kSmallStaging), Memory::Upload,
                               "the staging buffer", half))
        return e;
    std::memcpy(half->host(), bytes + done, size);
    Submission submission;
    submission.before.push_back(
        {half.get(), 0, destination.buffer, destination.offset + done, size});
    if (Error e = device_.submit(submission, ticket_[next_]))
      return e;
    next_ ^= 1;
    done += size;
  }
  return success();
}

Error Transfer::finish() {
  for (uint64_t ticket : ticket_)
    if (Error e = device_.waitForever(ticket))
      return e;
  return success();
}

Error Transfer::download(const Slice &source, void *data, uint64_t lastTicket) {
  if (source.size == 0)
    return success();
  if (const uint8_t *host = source.buffer->host()) {
    if (Error e = device_.waitForever(lastTicket))
      return e;
    std::memcpy(data, host + source.offset, source.size);
    return success();
  }
  uint8_t *bytes = static_cast<uint8_t *>(data);
  std::unique_ptr<Buffer> staging;
  if (Error e =
          device_.allocate(std::min(kStagingBytes, source.size),
                           Memory::Readback, "the readback buffer", staging))
    return e;
  for (uint64_t done = 0; done != source.size;) {
    uint64_t size = std::min(kStagingBytes, source.size - done);
    Submission submission;
    submission.after.push_back(
        {source.buffer, source.offset + done, staging.get(), 0, size});
    uint64_t ticket;
    if (Error e = device_.submit(submission, ticket))
      return e;
    if (Error e = device_.waitForever(ticket))
      return e;
    std::memcpy(bytes + done, staging->host(), size);
    done += size;
  }
  return success();
}
