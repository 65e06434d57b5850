// Checks a safetensors file: header length, JSON header, placement of tensors.
//
// The header goes through nlohmann's event parser, which needs no recursion and
// no document tree: each event must be the one that the fixed form of the
// header allows next, so nesting is bounded by construction, and duplicate keys
// are seen.

#include "poot/weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>

namespace poot::weights {

namespace {

constexpr uint64_t maxHeaderSize = 100000000;
constexpr size_t maxRank = 16;

struct Entry {
  TensorView view;
  uint64_t begin;
  uint64_t end;
};

std::string listDtypes() {
  std::string out;
  for (const ElementTypeInfo &info : elementTypes)
    if (info.safetensors)
      out += concat(out.empty() ? "" : ", ", info.safetensors);
  return out;
}

/// Accepts { NAME: {"dtype": S, "shape": [N...], "data_offsets": [N, N]}... }
/// and one {"__metadata__": {S: S...}}.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
public:
  explicit HeaderHandler(const std::string &file) : file_(file) {}

  Status status;
  std::vector<Entry> entries;

  bool null() override { return reject("null"); }
  bool boolean(bool) override { return reject("a boolean"); }
  bool number_integer(number_integer_t value) override {
    return reject(concat("the negative number ", value));
  }
  bool number_float(number_float_t, const string_t &text) override {
    return reject(concat("the number ", weights::quoted(text)));
  }
  bool binary(binary_t &) override { return reject("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    switch (state_) {
    case State::Shape:
      if (value > INT64_MAX)
        return failTensor("has extent ", value, ", may be at most 2^63-1");
      if (entry_.view.shape.size() == maxRank)
        return failTensor("has more than ", maxRank, " dimensions");
      entry_.view.shape.push_back(static_cast<int64_t>(value));
      return true;
    case State::Offsets:
      if (offsetCount_ < 2)
        (offsetCount_ == 0 ? entry_.begin : entry_.end) = value;
      ++offsetCount_;
      return true;
    default:
      return reject(concat("the number ", value));
    }
  }

  bool string(string_t &text) override {
    if (state_ == State::MetadataValue) {
      state_ = State::Metadata;
      return true;
    }
    if (state_ != State::Dtype)
      return reject("the string " + weights::quoted(text));
    std::optional<ElementType> type = elementTypeFromSafetensors(text);
    if (!type)
      return fail(StatusCode::Unsupported, "tensor ",
                  weights::quoted(entry_.view.name), " has dtype ",
                  weights::quoted(text), ", must be one of ", listDtypes());
    entry_.view.type = *type;
    state_ = State::Tensor;
    return true;
  }

  bool start_object(std::size_t) override {
    switch (state_) {
    case State::Start:
      state_ = State::Top;
      return true;
    case State::TensorValue:
      state_ = State::Tensor;
      return true;
    case State::MetadataObject:
      state_ = State::Metadata;
      return true;
    default:
      return reject("an object");
    }
  }

  bool key(string_t &text) override {
    switch (state_) {
    case State::Top:
      if (!names_.insert(text).second)
        return fail(StatusCode::Malformed, "tensor ", weights::quoted(text),
                    " occurs twice in the header");
      if (text == "__metadata__") {
        state_ = State::MetadataObject;
        return true;
      }
      if (text.empty())
        return fail(StatusCode::Malformed, "a tensor name is empty");
      entry_ = Entry();
      entry_.view.name = text;
      seenDtype_ = seenShape_ = seenOffsets_ = false;
      offsetCount_ = 0;
      state_ = State::TensorValue;
      return true;
    case State::Tensor: {
      bool *seen = text == "dtype"          ? &seenDtype_
                   : text == "shape"        ? &seenShape_
                   : text == "data_offsets" ? &seenOffsets_
                                            : nullptr;
      if (!seen)
        return failTensor("has the unknown field ", weights::quoted(text),
                          ", must be 'dtype', 'shape' or 'data_offsets'");
      if (*seen)
        return failTensor("has field ", weights::quoted(text), " twice");
      *seen = true;
      state_ = seen == &seenDtype_   ? State::Dtype
               : seen == &seenShape_ ? State::ShapeArray
                                     : State::OffsetsArray;
      return true;
    }
    case State::Metadata:
      if (!metadataKeys_.insert(text).second)
        return fail(StatusCode::Malformed, "__metadata__ has key ",
                    weights::quoted(text), " twice");
      state_ = State::MetadataValue;
      return true;
    default:
      return reject("a key");
    }
  }

  bool end_object() override {
    if (state_ == State::Top) {
      state_ = State::End;
      return true;
    }
    if (state_ == State::Metadata) {
      state_ = State::Top;
      return true;
    }
    const char *missing = !seenDtype_     ? "dtype"
                          : !seenShape_   ? "shape"
                          : !seenOffsets_ ? "data_offsets"
                                          : nullptr;
    if (missing)
      return failTensor("lacks '", missing, "'");
    entries.push_back(std::move(entry_));
    state_ = State::Top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::ShapeArray)
      state_ = State::Shape;
    else if (state_ == State::OffsetsArray)
      state_ = State::Offsets;
    else
      return reject("an array");
    return true;
  }

  bool end_array() override {
    if (state_ == State::Offsets && offsetCount_ != 2)
      return failTensor("has ", offsetCount_, " data_offsets, must be 2");
    state_ = State::Tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::json::exception &error) override {
    // The useful part of "[json.exception.parse_error.101] parse error at line
    // 1, column 2: syntax error ...; last read: ..."; what was last read may be
    // long and unprintable.
    // POSITION counts the characters read, the offending one included.
    std::string text = error.what();
    text.erase(std::min(text.size(), text.find("; last read")));
    if (size_t start = text.find(": "); start != std::string::npos)
      text.erase(0, start + 2);
    if (text.size() > 120)
      text.resize(120);
    for (char &c : text)
      if (c < 0x20 || c > 0x7e)
        c = '?';
    status = makeError(StatusCode::Malformed, file_, ": byte ", 7 + position,
                       ": the header is not valid JSON: ", text);
    return false;
  }

private:
  enum class State {
    Start,
    Top,
    TensorValue,
    Tensor,
    Dtype,
    ShapeArray,
    Shape,
    OffsetsArray,
    Offsets,
    MetadataObject,
    Metadata,
    MetadataValue,
    End,
  };

  template <class... Parts> bool fail(StatusCode code, const Parts &...parts) {
    status = makeError(code, file_, ": ", parts...);
    return false;
  }
  template <class... Parts> bool failTensor(const Parts &...parts) {
    return fail(StatusCode::Malformed, "tensor ",
                weights::quoted(entry_.view.name), " ", parts...);
  }

  /// WHAT came where the header's form allows something else.
  bool reject(const std::string &what) {
    switch (state_) {
    case State::TensorValue:
      return failTensor("must be an object, is ", what);
    case State::Dtype:
      return failTensor("has a dtype that must be a string, is ", what);
    case State::ShapeArray:
      return failTensor("has a shape that must be an array, is ", what);
    case State::Shape:
      return failTensor("has a shape that must hold integers from 0 to 2^63-1, "
                        "holds ",
                        what);
    case State::OffsetsArray:
      return failTensor("has data_offsets that must be an array, is ", what);
    case State::Offsets:
      return failTensor("has data_offsets that must hold two integers from 0 "
                        "to 2^64-1, holds ",
                        what);
    case State::MetadataObject:
    case State::MetadataValue:
      return fail(StatusCode::Malformed,
                  "__metadata__ must be an object of strings, holds ", what);
    default:
      return fail(StatusCode::Malformed, "the header must be an object, is ",
                  what);
    }
  }

  const std::string &file_;
  State state_ = State::Start;
  Entry entry_{};
  bool seenDtype_ = false, seenShape_ = false, seenOffsets_ = false;
  size_t offsetCount_ = 0;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> metadataKeys_;
};

} // namespace

Expected<Safetensors> Safetensors::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Expected<Safetensors> result = parse(file->bytes(), path);
  if (result)
    result->file_ = std::move(*file);
  return result;
}

Expected<Safetensors> Safetensors::parse(ByteSpan bytes,
                                         const std::string &name) {
  auto malformed = [&](const auto &...parts) {
    return makeError(StatusCode::Malformed, name, ": ", parts...);
  };
  if (bytes.size < 8)
    return malformed("truncated: has ", bytes.size,
                     " bytes, must start with a header length of 8");
  uint64_t headerSize = 0;
  std::memcpy(&headerSize, bytes.data, 8);
  if (headerSize > maxHeaderSize)
    return malformed("byte 0: declares a header of ", headerSize,
                     " bytes, may be at most ", maxHeaderSize);
  if (headerSize > bytes.size - 8)
    return malformed("byte 0: declares a header of ", headerSize,
                     " bytes, but ", bytes.size - 8, " remain");
  if (headerSize == 0 || bytes.data[8] != '{')
    return malformed("byte 8: the header must start with '{'");

  ByteSpan header = bytes.slice(8, static_cast<size_t>(headerSize));
  ByteSpan data = bytes.slice(8 + header.size, bytes.size - 8 - header.size);
  HeaderHandler handler(name);
  const char *text = reinterpret_cast<const char *>(header.data);
  // JSON syntax beyond what the handler rejects: exceptions are possible for
  // memory alone.
  bool parsed = nlohmann::json::sax_parse(text, text + header.size, &handler);
  if (!parsed)
    return handler.status;

  std::vector<Entry> &entries = handler.entries;
  for (const Entry &entry : entries) {
    std::string what = "tensor " + weights::quoted(entry.view.name);
    if (entry.begin > entry.end)
      return malformed(what, " has inverted data_offsets ", entry.begin, ", ",
                       entry.end);
    if (entry.end > data.size)
      return malformed(what, " ends at data offset ", entry.end,
                       ", but the file holds ", data.size, " bytes of data");
    Expected<int64_t> size = countBytes(entry.view.type, entry.view.shape);
    if (!size)
      return malformed(what, ": ", size.status().message());
    if (static_cast<uint64_t>(*size) != entry.end - entry.begin)
      return malformed(what, " of shape ", toString(entry.view.shape), " and ",
                       getName(entry.view.type), " takes ", *size,
                       " bytes, but its data_offsets span ",
                       entry.end - entry.begin);
  }
  // The name decides among tensors without data, for a fixed order.
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.view.name) <
           std::tie(b.begin, b.end, b.view.name);
  });
  Safetensors result;
  uint64_t covered = 0;
  for (Entry &entry : entries) {
    if (entry.begin < covered)
      return malformed("tensor ", weights::quoted(entry.view.name),
                       " overlaps the one before it: begins at data offset ",
                       entry.begin, ", must be ", covered);
    if (entry.begin > covered)
      return malformed("a gap before tensor ", weights::quoted(entry.view.name),
                       ": begins at data offset ", entry.begin, ", must be ",
                       covered);
    covered = entry.end;
    entry.view.data = data.slice(static_cast<size_t>(entry.begin),
                                 static_cast<size_t>(entry.end - entry.begin));
    result.tensors_.push_back(std::move(entry.view));
  }
  if (covered != data.size)
    return malformed("the tensors cover ", covered, " of ", data.size,
                     " bytes of data, must cover all");
  return result;
}

} // namespace poot::weights
