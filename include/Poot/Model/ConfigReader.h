//===- ConfigReader.h - Typed access to GGUF keys and config.json ---------===//
//
// Two readers with one manner: the first error sticks and later reads return
// their fallback, so that a family reads all its values and asks once.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_MODEL_CONFIGREADER_H
#define POOT_MODEL_CONFIGREADER_H

#include "poot/weights/gguf.h"

#include <memory>
#include <optional>

namespace poot::model {

/// Keys of a GGUF file under `ARCHITECTURE.`.
class GgufReader {
public:
  GgufReader(const weights::Gguf &gguf, std::string architecture)
      : gguf(gguf), prefix(std::move(architecture) + ".") {}

  bool has(const std::string &key) const { return gguf.has(prefix + key); }
  /// Any integer type of the file; a missing key without FALLBACK is an error.
  int64_t integer(const std::string &key,
                  std::optional<int64_t> fallback = std::nullopt);
  /// f32 or f64.
  double number(const std::string &key,
                std::optional<double> fallback = std::nullopt);
  std::string text(const std::string &key, std::string fallback);

  const weights::Status &status() const { return error; }

private:
  void fail(weights::Status status);

  const weights::Gguf &gguf;
  std::string prefix;
  weights::Status error;
};

/// Members of a JSON object, such as config.json's.
class JsonReader {
public:
  /// TEXT must be a JSON object; PATH names it in messages.
  static weights::Expected<JsonReader> parse(std::string_view text,
                                             std::string path);
  JsonReader(JsonReader &&);
  ~JsonReader();

  /// Whether the member exists and is not null.
  bool has(const std::string &key) const;
  int64_t integer(const std::string &key,
                  std::optional<int64_t> fallback = std::nullopt);
  double number(const std::string &key,
                std::optional<double> fallback = std::nullopt);
  bool boolean(const std::string &key, bool fallback);
  std::string text(const std::string &key, std::string fallback);
  /// The object under KEY, which must be one; its errors are its own.
  weights::Expected<JsonReader> object(const std::string &key) const;

  const std::string &path() const;
  const weights::Status &status() const;

private:
  struct Impl;
  explicit JsonReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace poot::model

#endif // POOT_MODEL_CONFIGREADER_H
