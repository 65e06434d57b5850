// The runtime's error value. It is the C API's poot_error itself, so that
// nothing is translated at the border: a null Error is success, an Error
// released is what the caller gets.

#ifndef POOT_RUNTIME_ERROR_H
#define POOT_RUNTIME_ERROR_H

#include "poot/runtime.h"
#include "poot/weights/status.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

struct poot_error {
  poot_code code;
  std::string message;
  std::vector<std::pair<std::string, std::string>> details;
};

namespace poot::runtime {

/// Null on success. [[nodiscard]] by way of the class, since the functions
/// that return it are many.
class [[nodiscard]] Error {
public:
  Error() = default;
  Error(std::unique_ptr<poot_error> error) : error_(std::move(error)) {}

  explicit operator bool() const { return error_ != nullptr; }
  poot_error *operator->() { return error_.get(); }
  const poot_error *operator->() const { return error_.get(); }
  poot_error *release() { return error_.release(); }

  /// Adds a fact for programs; see poot_error_detail_key.
  Error &&with(std::string key, std::string value) && {
    error_->details.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }

private:
  std::unique_ptr<poot_error> error_;
};

inline Error success() { return Error(); }

/// An error whose message is the concatenation of PARTS.
template <class... Parts>
Error makeError(poot_code code, const Parts &...parts) {
  return Error(std::make_unique<poot_error>(
      poot_error{code, weights::concat(parts...), {}}));
}

/// "1.5 GiB": sizes in messages.
std::string formatBytes(uint64_t bytes);

/// "'a', 'b' and 'c'": what is allowed, in messages; "none" when empty.
std::string formatNames(const std::vector<std::string> &names);

} // namespace poot::runtime

#endif // POOT_RUNTIME_ERROR_H
