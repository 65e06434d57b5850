// Formatting of error messages, and the C API's view of errors.

#include "error.h"

#include <cstdio>
#include <new>

namespace poot::runtime {

std::string formatBytes(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.1f %s" : "%.0f %s", value,
                units[unit]);
  return text;
}

std::string formatNames(const std::vector<std::string> &names) {
  if (names.empty())
    return "none";
  // A bundle may hold hundreds of consts; a message should stay readable.
  constexpr size_t kMost = 24;
  std::string text;
  for (size_t i = 0; i != names.size() && i != kMost; ++i) {
    if (i)
      text += i + 1 == names.size() ? " and " : ", ";
    text += weights::quoted(names[i]);
  }
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

} // namespace poot::runtime

extern "C" {

poot_code poot_error_code(const poot_error *error) {
  return error ? error->code : POOT_OK;
}

const char *poot_code_name(poot_code code) {
  switch (code) {
  case POOT_OK:
    return "ok";
  case POOT_INVALID_ARGUMENT:
    return "invalid-argument";
  case POOT_NOT_FOUND:
    return "not-found";
  case POOT_FILE_ERROR:
    return "file-error";
  case POOT_NOT_A_BUNDLE:
    return "not-a-bundle";
  case POOT_BUNDLE_VERSION:
    return "bundle-version";
  case POOT_CORRUPT_BUNDLE:
    return "corrupt-bundle";
  case POOT_NO_DEVICE:
    return "no-device";
  case POOT_NO_TARGET:
    return "no-target";
  case POOT_MISSING_CONST:
    return "missing-const";
  case POOT_CONST_MISMATCH:
    return "const-mismatch";
  case POOT_DEVICE_LIMIT:
    return "device-limit";
  case POOT_OUT_OF_MEMORY:
    return "out-of-memory";
  case POOT_DEVICE_LOST:
    return "device-lost";
  case POOT_KERNEL_REJECTED:
    return "kernel-rejected";
  case POOT_TIMEOUT:
    return "timeout";
  case POOT_GONE:
    return "gone";
  case POOT_DRIVER_ERROR:
    return "driver-error";
  }
  return "unknown";
}

const char *poot_error_message(const poot_error *error) {
  return error ? error->message.c_str() : "";
}

size_t poot_error_detail_count(const poot_error *error) {
  return error ? error->details.size() : 0;
}

const char *poot_error_detail_key(const poot_error *error, size_t i) {
  return i < poot_error_detail_count(error) ? error->details[i].first.c_str()
                                            : nullptr;
}

const char *poot_error_detail_value(const poot_error *error, size_t i) {
  return i < poot_error_detail_count(error) ? error->details[i].second.c_str()
                                            : nullptr;
}

void poot_error_free(poot_error *error) { delete error; }

poot_error *poot_error_create(poot_code code, const char *message) {
  // POOT_OK would make a failure look like success.
  if (code == POOT_OK)
    code = POOT_INVALID_ARGUMENT;
  return new (std::nothrow) poot_error{code, message ? message : "", {}};
}

} // extern "C"
