// Maps a regular file read-only, with the reason when that can't be done.

#include "poot/weights/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace poot::weights {

Expected<MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a named pipe must fail below, not wait for a writer.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    StatusCode code =
        errno == ENOENT ? StatusCode::NotFound : StatusCode::IoError;
    return makeError(code, path, ": cannot open: ", systemError(errno));
  }
  struct stat info;
  auto fail = [&](StatusCode code, const std::string &why) {
    ::close(fd);
    return makeError(code, path, ": ", why);
  };
  if (::fstat(fd, &info) != 0)
    return fail(StatusCode::IoError, "cannot stat: " + systemError(errno));
  if (S_ISDIR(info.st_mode))
    return fail(StatusCode::InvalidArgument,
                "is a directory, must be a regular file");
  if (!S_ISREG(info.st_mode))
    return fail(StatusCode::InvalidArgument, "is not a regular file");
  if (info.st_size == 0)
    return fail(StatusCode::Malformed, "is empty");
  size_t size = static_cast<size_t>(info.st_size);
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED)
    return fail(errno == ENOMEM ? StatusCode::ResourceExhausted
                                : StatusCode::IoError,
                concat("cannot map ", size, " bytes: ", systemError(errno)));
  ::close(fd);
  MappedFile file;
  file.bytes_ = {static_cast<const uint8_t *>(address), size};
  file.path_ = path;
  return file;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), path_(std::move(other.path_)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.data)
    ::munmap(const_cast<uint8_t *>(bytes_.data), bytes_.size);
}

} // namespace poot::weights
