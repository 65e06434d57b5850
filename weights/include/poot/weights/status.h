// The error type of the deployment half: weights/, bundle/, runtime/, serve/.
//
// A function that can fail returns a Status, or an Expected<T> when it also
// has a result. Nothing here throws, and an error is a value that may be
// dropped without consequence (but not by accident: both are [[nodiscard]]).
// The message is for a person: it names the file, the place, what was wrong
// and what is allowed. The code is for a program that reacts to the class.

#ifndef POOT_WEIGHTS_STATUS_H
#define POOT_WEIGHTS_STATUS_H

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace poot::weights {

enum class StatusCode : uint8_t {
  Ok = 0,
  InvalidArgument,   ///< The caller asked for something that can't be.
  NotFound,          ///< No such file, tensor, key, entry or device.
  Malformed,         ///< A file breaks the rules of its own format.
  Unsupported,       ///< Valid, but nothing that this build can do.
  IoError,           ///< The operating system refused a read or a write.
  ResourceExhausted, ///< Memory, disk or a device limit ran out.
  DeviceLost,        ///< The device stopped answering.
  Internal,          ///< A defect of poot itself.
};

/// Success, or a code with a message. Success carries no allocation.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {
    assert(code != StatusCode::Ok && "success has no message");
  }

  bool ok() const { return code_ == StatusCode::Ok; }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A T, or the Status that says why there is none. Test it like a pointer:
///
///   Expected<Gguf> file = Gguf::open(path);
///   if (!file)
///     return file.status();
///   use(*file);
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : storage_(std::in_place_index<0>, std::move(value)) {}
  Expected(Status error) : storage_(std::in_place_index<1>, std::move(error)) {
    assert(!std::get<1>(storage_).ok() && "success needs a value");
  }

  explicit operator bool() const { return storage_.index() == 0; }
  bool ok() const { return storage_.index() == 0; }

  T &operator*() & { return get(); }
  const T &operator*() const & { return get(); }
  T &&operator*() && { return std::move(get()); }
  T *operator->() { return &get(); }
  const T *operator->() const { return &get(); }

  /// The error; success when there is a value.
  Status status() const {
    const Status *error = std::get_if<1>(&storage_);
    return error ? *error : Status();
  }

private:
  T &get() {
    assert(ok() && "an Expected without a value");
    return *std::get_if<0>(&storage_);
  }
  const T &get() const {
    assert(ok() && "an Expected without a value");
    return *std::get_if<0>(&storage_);
  }

  std::variant<T, Status> storage_;
};

namespace detail {
inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, char c) { out += c; }
template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
void append(std::string &out, Int value) {
  out += std::to_string(value);
}
} // namespace detail

/// Concatenates strings, characters and integers.
template <class... Parts> std::string concat(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// An error whose message is the concatenation of PARTS.
template <class... Parts>
Status makeError(StatusCode code, const Parts &...parts) {
  return Status(code, concat(parts...));
}

/// TEXT from an untrusted file, fit for a message: in single quotes, bytes
/// outside printable ASCII as \xNN, cut after 80 characters. Call it qualified,
/// weights::quoted, or std::quoted may be found as well.
std::string quoted(std::string_view text);

/// What the operating system calls ERROR_NUMBER (an errno value), in lower case
/// as it stands in a sentence: "no such file or directory".
std::string systemError(int errorNumber);

} // namespace poot::weights

#endif // POOT_WEIGHTS_STATUS_H
