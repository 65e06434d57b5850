//===- ConfigReader.cpp - Typed access to GGUF keys and config.json -------===//

#include "Poot/Model/ConfigReader.h"

#include <nlohmann/json.hpp>

#include <limits>

using namespace poot;
using namespace poot::model;
using weights::Expected;
using weights::GgufValueType;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

void GgufReader::fail(Status status) {
  if (error.ok())
    error = std::move(status);
}

template <class T>
static Expected<int64_t> asInteger(const weights::Gguf &gguf,
                                   const std::string &key) {
  Expected<T> value = gguf.get<T>(key);
  if (!value)
    return value.status();
  if (std::is_unsigned_v<T> &&
      static_cast<uint64_t>(*value) >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return makeError(StatusCode::Malformed, gguf.name(), ": key ", key,
                     " is too large");
  return static_cast<int64_t>(*value);
}

static Expected<int64_t> readInteger(const weights::Gguf &gguf,
                                     const weights::GgufMetadata &metadata,
                                     const std::string &key) {
  switch (metadata.type) {
  case GgufValueType::U8:
    return asInteger<uint8_t>(gguf, key);
  case GgufValueType::I8:
    return asInteger<int8_t>(gguf, key);
  case GgufValueType::U16:
    return asInteger<uint16_t>(gguf, key);
  case GgufValueType::I16:
    return asInteger<int16_t>(gguf, key);
  case GgufValueType::I32:
    return asInteger<int32_t>(gguf, key);
  case GgufValueType::U64:
    return asInteger<uint64_t>(gguf, key);
  case GgufValueType::I64:
    return asInteger<int64_t>(gguf, key);
  default:
    return asInteger<uint32_t>(gguf, key);
  }
}

int64_t GgufReader::integer(const std::string &key,
                            std::optional<int64_t> fallback) {
  const weights::GgufMetadata *metadata = gguf.findMetadata(prefix + key);
  if (!metadata && fallback)
    return *fallback;
  // Without metadata the reader's own error names the missing key.
  Expected<int64_t> value = metadata
                                ? readInteger(gguf, *metadata, prefix + key)
                                : asInteger<uint32_t>(gguf, prefix + key);
  if (value)
    return *value;
  fail(value.status());
  return fallback.value_or(0);
}

double GgufReader::number(const std::string &key,
                          std::optional<double> fallback) {
  const weights::GgufMetadata *metadata = gguf.findMetadata(prefix + key);
  if (!metadata && fallback)
    return *fallback;
  if (metadata && metadata->type == GgufValueType::F64) {
    if (Expected<double> value = gguf.get<double>(prefix + key))
      return *value;
  }
  Expected<float> value = gguf.get<float>(prefix + key);
  if (value)
    return *value;
  fail(value.status());
  return fallback.value_or(0);
}

std::string GgufReader::text(const std::string &key, std::string fallback) {
  if (!has(key))
    return fallback;
  Expected<std::string_view> value = gguf.get<std::string_view>(prefix + key);
  if (value)
    return std::string(*value);
  fail(value.status());
  return fallback;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

struct JsonReader::Impl {
  nlohmann::json object;
  std::string path;
  Status error;

  /// The member KEY; null where it is missing, with an error unless it is
  /// optional.
  const nlohmann::json *find(const std::string &key, bool optional) {
    auto it = object.find(key);
    if (it != object.end() && !it->is_null())
      return &*it;
    if (!optional)
      fail(StatusCode::NotFound, key, "is missing");
    return nullptr;
  }

  void fail(StatusCode code, const std::string &key, const char *what) {
    if (error.ok())
      error = makeError(code, path, ": member '", key, "' ", what);
  }
};

JsonReader::JsonReader(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
JsonReader::JsonReader(JsonReader &&) = default;
JsonReader::~JsonReader() = default;

Expected<JsonReader> JsonReader::parse(std::string_view text,
                                       std::string path) {
  auto impl = std::make_unique<Impl>();
  impl->object = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                       /*allow_exceptions=*/false);
  if (!impl->object.is_object())
    return makeError(StatusCode::Malformed, path,
                     ": the file does not hold a JSON object");
  impl->path = std::move(path);
  return JsonReader(std::move(impl));
}

const std::string &JsonReader::path() const { return impl->path; }
const Status &JsonReader::status() const { return impl->error; }

bool JsonReader::has(const std::string &key) const {
  return impl->find(key, /*optional=*/true);
}

int64_t JsonReader::integer(const std::string &key,
                            std::optional<int64_t> fallback) {
  const nlohmann::json *value = impl->find(key, fallback.has_value());
  if (!value)
    return fallback.value_or(0);
  if (value->is_number_integer() &&
      (!value->is_number_unsigned() ||
       value->get<uint64_t>() <=
           static_cast<uint64_t>(std::numeric_limits<int64_t>::max())))
    return value->get<int64_t>();
  impl->fail(StatusCode::Malformed, key, "must be an integer");
  return fallback.value_or(0);
}

double JsonReader::number(const std::string &key,
                          std::optional<double> fallback) {
  const nlohmann::json *value = impl->find(key, fallback.has_value());
  if (!value)
    return fallback.value_or(0);
  if (value->is_number())
    return value->get<double>();
  impl->fail(StatusCode::Malformed, key, "must be a number");
  return fallback.value_or(0);
}

bool JsonReader::boolean(const std::string &key, bool fallback) {
  const nlohmann::json *value = impl->find(key, /*optional=*/true);
  if (!value)
    return fallback;
  if (value->is_boolean())
    return value->get<bool>();
  impl->fail(StatusCode::Malformed, key, "must be true or false");
  return fallback;
}

std::string JsonReader::text(const std::string &key, std::string fallback) {
  const nlohmann::json *value = impl->find(key, /*optional=*/true);
  if (!value)
    return fallback;
  if (value->is_string())
    return value->get<std::string>();
  impl->fail(StatusCode::Malformed, key, "must be a string");
  return fallback;
}

Expected<JsonReader> JsonReader::object(const std::string &key) const {
  const nlohmann::json *value = impl->find(key, /*optional=*/true);
  if (!value || !value->is_object())
    return makeError(StatusCode::Malformed, impl->path, ": member '", key,
                     "' must be an object");
  auto inner = std::make_unique<Impl>();
  inner->object = *value;
  inner->path = impl->path + ": " + key;
  return JsonReader(std::move(inner));
}
