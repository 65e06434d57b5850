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
  // {"weight_map": {TENSOR: FILE}}; whatever lies deeper is dropped as it is
  // read, so that nesting costs nothing.
  auto shallow = [](int depth, nlohmann::json::parse_event_t,
                    nlohmann::json &) { return depth <= 2; };
  nlohmann::json json =
      nlohmann::json::parse(text, text + file->size(), shallow, false);
  if (json.is_discarded())
    return malformed("is not valid JSON");
  if (!json.is_object() || !json.contains("weight_map") ||
      !json["weight_map"].is_object())
    return malformed("must be an object with 'weight_map', an object that maps "
                     "tensors to files");
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  std::map<std::string, std::vector<std::string>> tensorsOfShard;
  for (auto &[name, shard] : json["weight_map"].items()) {
    if (!shard.is_string())
      return malformed("weight_map of tensor ", weights::quoted(name),
                       " must be a file name");
    const std::string &fileName = shard.get_ref<const std::string &>();
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
