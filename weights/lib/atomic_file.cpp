// Writes to a temporary file, then renames it over the target.

#include "poot/weights/atomic_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace poot::weights {

static StatusCode codeOf(int errorNumber) {
  switch (errorNumber) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return StatusCode::ResourceExhausted;
  case ENOENT:
  case ENOTDIR:
    return StatusCode::NotFound;
  default:
    return StatusCode::IoError;
  }
}

Status AtomicFile::fail(std::string_view action) {
  int errorNumber = errno;
  return makeError(codeOf(errorNumber), path_, ": cannot ", action, ": ",
                   systemError(errorNumber));
}

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  AtomicFile file;
  file.path_ = file.target_ = path;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return makeError(StatusCode::InvalidArgument, path,
                       ": cannot write: is a directory, must be a file name");
    if (!S_ISREG(info.st_mode)) {
      file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (file.descriptor_ < 0)
        return file.fail("open");
      return file;
    }
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      file.target_ = resolved;
      std::free(resolved);
    }
  }
  // Unique within this process by the counter, across processes by the id, and
  // O_EXCL catches the rest (a crashed process with the same id).
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100 && file.descriptor_ < 0; ++attempt) {
    std::string name =
        concat(file.target_, ".tmp-", ::getpid(), "-", counter.fetch_add(1));
    file.descriptor_ =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0)
      file.temporary_ = std::move(name);
    else if (errno != EEXIST)
      break;
  }
  if (file.descriptor_ < 0)
    return file.fail("create");
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
}

Status AtomicFile::write(const void *data, size_t size) {
  assert(descriptor_ >= 0 && "written after commit");
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    // Linux writes at most 2 GiB - 4 KiB at a time.
    ssize_t written =
        ::write(descriptor_, bytes, std::min<size_t>(size, 1 << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fail("write");
    bytes += written;
    size -= static_cast<size_t>(written);
    size_ += static_cast<uint64_t>(written);
  }
  return Status();
}

Status AtomicFile::padTo(uint64_t alignment) {
  static const char zeros[4096] = {};
  uint64_t missing = (alignment - size_ % alignment) % alignment;
  while (missing > 0) {
    size_t part =
        static_cast<size_t>(std::min<uint64_t>(missing, sizeof zeros));
    if (Status status = write(zeros, part); !status.ok())
      return status;
    missing -= part;
  }
  return Status();
}

Status AtomicFile::commit() {
  assert(descriptor_ >= 0 && "committed twice");
  // A device or pipe can't be synchronised, and needn't be.
  if (!temporary_.empty() && ::fsync(descriptor_) != 0)
    return fail("write");
  if (::close(std::exchange(descriptor_, -1)) != 0)
    return fail("close");
  if (temporary_.empty())
    return Status();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    return fail("rename the finished file to its name");
  temporary_.clear();
  return Status();
}

Status writeFile(const std::string &path, ByteSpan bytes) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(bytes.data, bytes.size); !status.ok())
    return status;
  return file->commit();
}

} // namespace poot::weights
