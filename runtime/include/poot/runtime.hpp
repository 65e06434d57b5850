// The C++ view of poot/runtime.h: handles that clean up after themselves and
// errors that are values. Nothing throws but std::bad_alloc. What each call
// does is documented there; get() gives the C handle for whatever is not
// wrapped.
#ifndef POOT_RUNTIME_HPP
#define POOT_RUNTIME_HPP

#include "poot/runtime.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace poot::rt {

/// Success, or a code, a message and details.
class [[nodiscard]] Error {
public:
  Error() = default;
  explicit Error(poot_error *error) : error_(error) {}

  /// Whether there is an error.
  explicit operator bool() const { return error_ != nullptr; }
  poot_code code() const { return poot_error_code(error_.get()); }
  std::string message() const {
    return error_ ? poot_error_message(error_.get()) : "";
  }
  /// The fact KEY behind the message; empty when there is none.
  std::string detail(const std::string &key) const {
    for (size_t i = 0; i != poot_error_detail_count(error_.get()); ++i)
      if (key == poot_error_detail_key(error_.get(), i))
        return poot_error_detail_value(error_.get(), i);
    return "";
  }
  poot_error *release() { return error_.release(); }

private:
  struct Free {
    void operator()(poot_error *error) const { poot_error_free(error); }
  };
  std::unique_ptr<poot_error, Free> error_;
};

/// A T, or the error that says why there is none.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  /// Whether there is a value.
  explicit operator bool() const { return !error_; }
  const Error &error() const { return error_; }
  Error takeError() { return std::move(error_); }
  T &operator*() { return value_; }
  T *operator->() { return &value_; }

private:
  T value_{};
  Error error_;
};

namespace detail {
template <class Handle, void (*destroy)(Handle *)> struct Destroy {
  void operator()(Handle *handle) const { destroy(handle); }
};
template <class Handle, void (*destroy)(Handle *)>
using Owner = std::unique_ptr<Handle, Destroy<Handle, destroy>>;
} // namespace detail

class DeviceList {
public:
  static Result<DeviceList> get() {
    poot_device_list *list = nullptr;
    if (poot_error *error = poot_list_devices(&list))
      return Error(error);
    DeviceList result;
    result.handle_.reset(list);
    return result;
  }
  size_t size() const { return poot_device_list_size(handle_.get()); }
  const poot_device_info &operator[](size_t i) const {
    return *poot_device_list_at(handle_.get(), i);
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (size_t i = 0; i != poot_device_list_note_count(handle_.get()); ++i)
      notes.push_back(poot_device_list_note(handle_.get(), i));
    return notes;
  }

private:
  detail::Owner<poot_device_list, poot_device_list_free> handle_;
};

class Device {
public:
  static Result<Device> open(const std::string &id,
                             const poot_device_options *options = nullptr) {
    poot_device *device = nullptr;
    if (poot_error *error = poot_device_open(id.c_str(), options, &device))
      return Error(error);
    Device result;
    result.handle_.reset(device);
    return result;
  }
  const poot_device_info &info() const {
    return *poot_device_get_info(handle_.get());
  }
  std::vector<std::string> validationMessages() const {
    std::vector<std::string> messages;
    for (size_t i = 0; i != poot_device_validation_count(handle_.get()); ++i)
      messages.push_back(poot_device_validation_message(handle_.get(), i));
    return messages;
  }
  poot_device *get() const { return handle_.get(); }

private:
  detail::Owner<poot_device, poot_device_close> handle_;
};

class Bundle {
public:
  static Result<Bundle> open(const std::string &path) {
    poot_bundle *bundle = nullptr;
    return take(poot_bundle_open(path.c_str(), &bundle), bundle);
  }
  /// DATA must outlive the bundle and all that is made from it.
  static Result<Bundle> openMemory(const void *data, size_t size) {
    poot_bundle *bundle = nullptr;
    return take(poot_bundle_open_memory(data, size, &bundle), bundle);
  }
  poot_bundle *get() const { return handle_.get(); }

private:
  // BUNDLE by reference: it is set by the call that made ERROR.
  static Result<Bundle> take(poot_error *error, poot_bundle *&bundle) {
    if (error)
      return Error(error);
    Bundle result;
    result.handle_.reset(bundle);
    return result;
  }
  detail::Owner<poot_bundle, poot_bundle_close> handle_;
};

class Executable {
public:
  static Result<Executable>
  create(const Device &device, const Bundle &bundle,
         const poot_executable_options *options = nullptr) {
    poot_executable *executable = nullptr;
    if (poot_error *error = poot_executable_create(device.get(), bundle.get(),
                                                   options, &executable))
      return Error(error);
    Executable result;
    result.handle_.reset(executable);
    return result;
  }
  std::string target() const { return poot_executable_target(handle_.get()); }
  size_t entryCount() const {
    return poot_executable_entry_count(handle_.get());
  }
  const poot_entry_info &entry(size_t i) const {
    return *poot_executable_entry(handle_.get(), i);
  }
  /// Null when there is no such entry.
  const poot_entry_info *findEntry(const std::string &name) const {
    return poot_executable_find_entry(handle_.get(), name.c_str());
  }
  poot_executable *get() const { return handle_.get(); }

private:
  detail::Owner<poot_executable, poot_executable_destroy> handle_;
};

/// A slot's value from the host.
inline poot_slot_value slot(const char *name, const void *data, uint64_t size) {
  return {name, data, size, 0, nullptr};
}
template <class T>
poot_slot_value slot(const char *name, const std::vector<T> &values) {
  return slot(name, values.data(), values.size() * sizeof(T));
}
/// A slot's value from an earlier step's output.
inline poot_slot_value link(const char *name, poot_step step,
                            const char *output) {
  return {name, nullptr, 0, step, output};
}

class Session {
public:
  static Result<Session> create(const Executable &executable,
                                const poot_session_options *options = nullptr) {
    poot_session *session = nullptr;
    if (poot_error *error =
            poot_session_create(executable.get(), options, &session))
      return Error(error);
    Session result;
    result.handle_.reset(session);
    return result;
  }
  Error prepare(const std::string &entry) {
    return Error(poot_session_prepare(handle_.get(), entry.c_str()));
  }
  /// Keeps all outputs readable.
  Result<poot_step> submit(const std::string &entry,
                           const std::vector<poot_slot_value> &values) {
    poot_step step = 0;
    if (poot_error *error =
            poot_session_submit(handle_.get(), entry.c_str(), values.data(),
                                values.size(), nullptr, 0, &step))
      return Error(error);
    return step;
  }
  /// Keeps only OUTPUTS readable.
  Result<poot_step> submit(const std::string &entry,
                           const std::vector<poot_slot_value> &values,
                           const std::vector<const char *> &outputs) {
    static const char *const none[] = {nullptr}; // Not NULL: that means all.
    poot_step step = 0;
    if (poot_error *error = poot_session_submit(
            handle_.get(), entry.c_str(), values.data(), values.size(),
            outputs.empty() ? none : outputs.data(), outputs.size(), &step))
      return Error(error);
    return step;
  }
  Error wait(poot_step step, uint64_t timeoutNs = POOT_FOREVER) {
    return Error(poot_session_wait(handle_.get(), step, timeoutNs));
  }
  Error readOutput(poot_step step, const std::string &output, void *data,
                   uint64_t size) {
    return Error(poot_session_read_output(handle_.get(), step, output.c_str(),
                                          data, size));
  }
  Error reset() { return Error(poot_session_reset(handle_.get())); }
  Error readState(const std::string &state, uint64_t offset, void *data,
                  uint64_t size) {
    return Error(poot_session_read_state(handle_.get(), state.c_str(), offset,
                                         data, size));
  }
  Error writeState(const std::string &state, uint64_t offset, const void *data,
                   uint64_t size) {
    return Error(poot_session_write_state(handle_.get(), state.c_str(), offset,
                                          data, size));
  }
  Result<std::vector<poot_profile_row>> profile() {
    const poot_profile_row *rows = nullptr;
    size_t count = 0;
    if (poot_error *error = poot_session_profile(handle_.get(), &rows, &count))
      return Error(error);
    return std::vector<poot_profile_row>(rows, rows + count);
  }
  poot_session *get() const { return handle_.get(); }

private:
  detail::Owner<poot_session, poot_session_destroy> handle_;
};

} // namespace poot::rt

#endif // POOT_RUNTIME_HPP
