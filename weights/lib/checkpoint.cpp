// Finds out what a checkpoint is stored as, and merges shards.

#include "poot/weights/checkpoint.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace poot::weights {

static bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.substr(text.size() - suffix.size()) == suffix;
}

static bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

namespace {
/// Accepts {"weight_map": {TENSOR: FILE...}...} and takes the map out of it, in
/// time in proportion to the text; other keys may hold anything.
class IndexHandler : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string error;
  std::vector<std::pair<std::string, std::string>> files;
  bool hasMap = false;

  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "weight_map")
      hasMap = inMap_ = true;
    else if (!value())
      return false;
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (!value())
      return false;
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1)
      inMap_ = false;
    return true;
  }
  bool end_array() override { return end_object(); }
  bool key(string_t &text) override {
    if (depth_ == 1 || isEntry())
      key_ = text;
    return true;
  }
  bool string(string_t &text) override {
    if (isEntry())
      files.emplace_back(key_, text);
    return true;
  }
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t &) override {
    return value();
  }
  bool binary(binary_t &) override { return value(); }
  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::json::exception &) override {
    error = "is not valid JSON";
    return false;
  }

private:
  bool isEntry() const { return inMap_ && depth_ == 2; }
  /// Of anything but a string.
  bool value() {
    if (!isEntry())
      return true;
    error = "weight_map of tensor " + weights::quoted(key_) +
            " must be a file name";
    return false;
  }

  size_t depth_ = 0; ///< Objects and lists that are open.
  bool inMap_ = false;
  std::string key_;
};
} // namespace

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint result;
  result.path_ = path;
  std::string file = path;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    const char *candidates[] = {"/model.safetensors.index.json",
                                "/model.safetensors"};
    for (const char *candidate : candidates)
      if (file == path && exists(path + candidate))
        file = path + candidate;
    if (file == path)
      return makeError(StatusCode::NotFound, path,
                       ": the folder holds neither "
                       "model.safetensors.index.json nor model.safetensors; "
                       "name a .gguf file directly");
  }
  if (endsWith(file, ".index.json")) {
    if (Status status = result.openIndex(file); !status.ok())
      return status;
    return result;
  }
  Expected<MappedFile> mapped = MappedFile::open(file);
  if (!mapped)
    return mapped.status();
  if (mapped->size() >= 4 && std::memcmp(mapped->data(), "GGUF", 4) == 0) {
    Expected<Gguf> gguf = Gguf::open(file);
    if (!gguf)
      return gguf.status();
    Expected<uint16_t> parts = gguf->getOr<uint16_t>("split.count", 1);
    if (!parts)
      return parts.status();
    if (*parts > 1)
      return makeError(StatusCode::Unsupported, file, ": is one of ", *parts,
                       " parts of a split model; merge them first, with "
                       "llama-gguf-split --merge");
    result.gguf_ = std::make_unique<Gguf>(std::move(*gguf));
    return result;
  }
  // safetensors has no magic, but its header is JSON after eight bytes.
  if (!endsWith(file, ".safetensors") &&
      (mapped->size() < 9 || mapped->data()[8] != '{'))
    return makeError(StatusCode::Malformed, file,
                     ": neither GGUF (must start with 'GGUF') nor safetensors "
                     "(must hold a JSON header from byte 8)");
  if (Status status = result.addShard(file); !status.ok())
    return status;
  return result;
}

Status Checkpoint::addShard(const std::string &path) {
  Expected<Safetensors> shard = Safetensors::open(path);
  if (!shard)
    return shard.status();
  for (const TensorView &tensor : shard->tensors()) {
    if (!index_.emplace(tensor.name, tensors_.size()).second)
      return makeError(StatusCode::Malformed, path, ": tensor ",
                       weights::quoted(tensor.name),
                       " is in another shard as well");
    tensors_.push_back(tensor);
  }
  shards_.push_back(std::move(*shard));
  return Status();
}

Status Checkpoint::openIndex(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  auto malformed = [&](const auto &...parts) {
    return makeError(StatusCode::Malformed, path, ": ", parts...);
  };
  const char *text = reinterpret_cast<const char *>(file->data());
  IndexHandler handler;
  bool parsed = nlohmann::json::sax_parse(text, text + file->size(), &handler);
  if (!parsed)
    return malformed(handler.error);
  if (!handler.hasMap)
    return malformed("must be an object with 'weight_map', an object that maps "
                     "tensors to files");
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  std::map<std::string, std::vector<std::string>> tensorsOfShard;
  for (const auto &[name, fileName] : handler.files) {
    if (!endsWith(fileName, ".safetensors") ||
        fileName.find('/') != std::string::npos)
      return malformed("weight_map of tensor ", weights::quoted(name), " is ",
                       weights::quoted(fileName),
                       ", must be a .safetensors file in the same folder");
    tensorsOfShard[fileName].push_back(name);
  }
  for (const auto &[fileName, names] : tensorsOfShard) {
    size_t first = tensors_.size();
    if (Status status = addShard(folder + fileName); !status.ok())
      return status;
    for (const std::string &name : names) {
      auto it = index_.find(name);
      if (it == index_.end() || it->second < first)
        return malformed("tensor ", weights::quoted(name), " should be in ",
                         fileName, ", which lacks it");
    }
  }
  return Status();
}

const TensorView *Checkpoint::find(std::string_view name) const {
  if (gguf_)
    return gguf_->findTensor(name);
  auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

} // namespace poot::weights
