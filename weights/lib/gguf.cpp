// Checks a GGUF file from front to back: header, metadata, tensor records, then
// the placement of the tensors' bytes.

#include "poot/weights/gguf.h"

#include <algorithm>
#include <cstring>

namespace poot::weights {

namespace {

constexpr uint64_t maxKeyLength = 65535; // gguf.md: "up to 2^16-1 bytes".
constexpr uint64_t maxNameLength = 64;
constexpr uint32_t maxRank = 4;
constexpr uint64_t minAlignment = 8; // Keeps every scalar type aligned.
constexpr uint64_t maxAlignment = 1 << 20;

// The fewest bytes that one record can take: a one-byte key and a one-byte
// value; a one-byte name without extents.
constexpr uint64_t minMetadataBytes = 8 + 1 + 4 + 1;
constexpr uint64_t minTensorBytes = 8 + 1 + 4 + 4 + 8;

struct ValueTypeInfo {
  const char *name;
  uint32_t bytes; ///< 0: not of fixed size.
};
constexpr ValueTypeInfo valueTypes[] = {
    {"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
    {"i32", 4}, {"f32", 4}, {"bool", 1}, {"string", 0}, {"array", 0},
    {"u64", 8}, {"i64", 8}, {"f64", 8},
};
constexpr uint32_t valueTypeCount = sizeof valueTypes / sizeof valueTypes[0];

const ValueTypeInfo &getInfo(GgufValueType type) {
  return valueTypes[static_cast<uint32_t>(type)];
}

template <class T> T load(const uint8_t *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

/// Reads forward through the file. The first failure sticks: later reads return
/// zero and an empty string, so that a caller may read a whole record before it
/// looks.
class Cursor {
public:
  Cursor(ByteSpan bytes, const std::string &file)
      : bytes_(bytes), file_(file) {}

  size_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size - offset_; }
  bool failed() const { return !status_.ok(); }
  Status status() const { return status_; }

  /// Records an error at OFFSET.
  template <class... Parts>
  Status failAt(size_t offset, const Parts &...parts) {
    return fail(StatusCode::Malformed, offset, parts...);
  }
  template <class... Parts>
  Status fail(StatusCode code, size_t offset, const Parts &...parts) {
    if (status_.ok())
      status_ = makeError(code, file_, ": byte ", offset, ": ", parts...);
    return status_;
  }

  /// Passes LENGTH bytes, which hold WHAT.
  const uint8_t *take(uint64_t length, std::string_view what) {
    if (failed())
      return nullptr;
    if (length > remaining()) {
      (void)failAt(offset_, "truncated: ", what, " takes ", length,
                   " bytes, but ", remaining(), " remain");
      return nullptr;
    }
    const uint8_t *data = bytes_.data + offset_;
    offset_ += static_cast<size_t>(length);
    return data;
  }

  template <class T> T read(std::string_view what) {
    const uint8_t *data = take(sizeof(T), what);
    return data ? load<T>(data) : T();
  }

  std::string_view readString(std::string_view what) {
    size_t start = offset_;
    uint64_t length = read<uint64_t>(what);
    if (!failed() && length > remaining()) {
      (void)failAt(start, what, " declares ", length, " bytes, but ",
                   remaining(), " remain");
      return {};
    }
    const uint8_t *data = take(length, what);
    return data ? std::string_view(reinterpret_cast<const char *>(data),
                                   static_cast<size_t>(length))
                : std::string_view();
  }

private:
  ByteSpan bytes_;
  const std::string &file_;
  size_t offset_ = 0;
  Status status_;
};

/// Passes one value, or COUNT array elements, of TYPE.
void skipValues(Cursor &cursor, GgufValueType type, uint64_t count,
                const std::string &what) {
  if (type == GgufValueType::String) {
    for (uint64_t i = 0; i < count && !cursor.failed(); ++i)
      cursor.readString(what);
    return;
  }
  // No overflow: count was checked against the remaining bytes.
  const uint8_t *data = cursor.take(count * getInfo(type).bytes, what);
  if (!data || type != GgufValueType::Bool)
    return;
  for (uint64_t i = 0; i < count; ++i)
    if (data[i] > 1) {
      (void)cursor.failAt(cursor.offset() - static_cast<size_t>(count - i),
                          what, " is a bool of value ",
                          static_cast<int>(data[i]), ", must be 0 or 1");
      return;
    }
}

Expected<GgufMetadata> readMetadata(Cursor &cursor) {
  size_t start = cursor.offset();
  GgufMetadata entry;
  entry.key = cursor.readString("a metadata key");
  if (cursor.failed())
    return cursor.status();
  if (entry.key.empty())
    return cursor.failAt(start, "a metadata key is empty");
  if (entry.key.size() > maxKeyLength)
    return cursor.failAt(start, "a metadata key has ", entry.key.size(),
                         " bytes, may have ", maxKeyLength);
  std::string what = "the value of key " + weights::quoted(entry.key);

  auto readType = [&](std::string_view role) -> GgufValueType {
    size_t at = cursor.offset();
    uint32_t type = cursor.read<uint32_t>(what);
    if (!cursor.failed() && type >= valueTypeCount)
      (void)cursor.failAt(at, what, " has ", role, " ", type, ", must be 0 to ",
                          valueTypeCount - 1);
    return cursor.failed() ? GgufValueType::U8
                           : static_cast<GgufValueType>(type);
  };
  entry.type = entry.elementType = readType("type");
  entry.count = 1;
  if (entry.type == GgufValueType::Array && !cursor.failed()) {
    size_t at = cursor.offset();
    entry.elementType = readType("element type");
    if (entry.elementType == GgufValueType::Array)
      return cursor.failAt(at, what,
                           " is an array of arrays; elements must be scalars "
                           "or strings");
    at = cursor.offset();
    entry.count = cursor.read<uint64_t>(what);
    uint64_t least = entry.elementType == GgufValueType::String
                         ? 8 // Its length.
                         : getInfo(entry.elementType).bytes;
    if (!cursor.failed() && entry.count > cursor.remaining() / least)
      return cursor.failAt(at, what, " declares ", entry.count, " elements of ",
                           getName(entry.elementType), ", but ",
                           cursor.remaining(), " bytes remain");
  }
  entry.offset = cursor.offset();
  skipValues(cursor, entry.elementType, entry.count, what);
  if (cursor.failed())
    return cursor.status();
  return entry;
}

std::string listGgufTypes() {
  std::string out;
  for (const ElementTypeInfo &info : elementTypes)
    if (info.ggufType >= 0)
      out +=
          concat(out.empty() ? "" : ", ", info.name, " (", info.ggufType, ")");
  return out;
}

/// One tensor record. Its data is found once all records are read.
struct TensorRecord {
  TensorView view;
  uint64_t bytes;
  uint64_t offset; ///< From the start of the data.
  size_t offsetAt; ///< Where OFFSET stands in the file.
};

Expected<TensorRecord> readTensorRecord(Cursor &cursor) {
  size_t start = cursor.offset();
  std::string_view name = cursor.readString("a tensor name");
  if (cursor.failed())
    return cursor.status();
  if (name.empty())
    return cursor.failAt(start, "a tensor name is empty");
  if (name.size() > maxNameLength)
    return cursor.failAt(start, "tensor name ", weights::quoted(name), " has ",
                         name.size(), " bytes, may have ", maxNameLength);
  std::string what = "tensor " + weights::quoted(name);

  size_t at = cursor.offset();
  uint32_t rank = cursor.read<uint32_t>(what);
  if (rank > maxRank)
    return cursor.failAt(at, what, " has ", rank, " dimensions, may have ",
                         maxRank);
  TensorRecord record;
  record.view.name = name;
  record.view.shape.resize(rank);
  for (uint32_t i = 0; i < rank; ++i) {
    at = cursor.offset();
    uint64_t extent = cursor.read<uint64_t>(what);
    if (cursor.failed())
      return cursor.status();
    if (extent == 0)
      return cursor.failAt(at, what, " has dimension ", i,
                           " of extent 0, must be at least 1");
    if (extent > INT64_MAX)
      return cursor.failAt(at, what, " has dimension ", i, " of extent ",
                           extent, " (negative), may be at most 2^63-1");
    // The file has the innermost extent first.
    record.view.shape[rank - 1 - i] = static_cast<int64_t>(extent);
  }
  at = cursor.offset();
  uint32_t number = cursor.read<uint32_t>(what);
  record.offsetAt = cursor.offset();
  record.offset = cursor.read<uint64_t>(what);
  if (cursor.failed())
    return cursor.status();
  std::optional<ElementType> type = elementTypeFromGguf(number);
  if (!type)
    return cursor.fail(StatusCode::Unsupported, at, what, " has type ", number,
                       ", which poot can't decode; it can: ", listGgufTypes());
  record.view.type = *type;
  Expected<int64_t> bytes = countBytes(*type, record.view.shape);
  if (!bytes)
    return cursor.failAt(start, what, ": ", bytes.status().message());
  record.bytes = static_cast<uint64_t>(*bytes);
  return record;
}

} // namespace

const char *getName(GgufValueType type) { return getInfo(type).name; }

Expected<Gguf> Gguf::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Expected<Gguf> result = parse(file->bytes(), path);
  if (result)
    result->file_ = std::move(*file);
  return result;
}

Expected<Gguf> Gguf::parse(ByteSpan bytes, std::string name) {
  Gguf result;
  result.name_ = std::move(name);
  if (Status status = result.load(bytes); !status.ok())
    return status;
  return result;
}

Status Gguf::load(ByteSpan bytes) {
  bytes_ = bytes;
  Cursor cursor(bytes, name_);

  const uint8_t *magic = cursor.take(4, "the magic");
  if (!magic)
    return cursor.status();
  if (std::memcmp(magic, "GGUF", 4) != 0)
    return cursor.failAt(
        0, "not a GGUF file: starts with ",
        weights::quoted({reinterpret_cast<const char *>(magic), 4}),
        ", must start with 'GGUF'");
  version_ = cursor.read<uint32_t>("the version");
  if (cursor.failed())
    return cursor.status();
  uint32_t swapped = __builtin_bswap32(version_);
  if (version_ > 0xffff && swapped <= 0xffff)
    return cursor.fail(StatusCode::Unsupported, 4,
                       "a big-endian GGUF file (version ", swapped,
                       "); only little-endian files are read");
  if (version_ != 2 && version_ != 3)
    return cursor.fail(StatusCode::Unsupported, 4, "GGUF version ", version_,
                       " is not supported, must be 2 or 3");

  uint64_t tensorCount = cursor.read<uint64_t>("the tensor count");
  uint64_t metadataCount = cursor.read<uint64_t>("the metadata count");
  if (cursor.failed())
    return cursor.status();
  if (tensorCount > cursor.remaining() / minTensorBytes)
    return cursor.failAt(8, "declares ", tensorCount, " tensors, but only ",
                         cursor.remaining(), " bytes follow the header");
  if (metadataCount > cursor.remaining() / minMetadataBytes)
    return cursor.failAt(16, "declares ", metadataCount,
                         " metadata entries, but only ", cursor.remaining(),
                         " bytes follow the header");

  for (uint64_t i = 0; i < metadataCount; ++i) {
    size_t at = cursor.offset();
    Expected<GgufMetadata> entry = readMetadata(cursor);
    if (!entry)
      return entry.status();
    if (!metadataIndex_.emplace(entry->key, metadata_.size()).second)
      return cursor.failAt(at, "key ", weights::quoted(entry->key),
                           " occurs twice");
    metadata_.push_back(*entry);
  }

  if (const GgufMetadata *entry = findMetadata("general.alignment")) {
    Expected<uint32_t> alignment = get<uint32_t>(entry->key);
    if (!alignment)
      return alignment.status();
    alignment_ = *alignment;
    if ((alignment_ & (alignment_ - 1)) != 0 || alignment_ < minAlignment ||
        alignment_ > maxAlignment)
      return cursor.failAt(entry->offset, "general.alignment is ", alignment_,
                           ", must be a power of two from ", minAlignment,
                           " to ", maxAlignment);
  }

  std::vector<TensorRecord> records;
  for (uint64_t i = 0; i < tensorCount; ++i) {
    Expected<TensorRecord> record = readTensorRecord(cursor);
    if (!record)
      return record.status();
    records.push_back(std::move(*record));
  }

  // Padding after the last record may be missing when there is no data.
  uint64_t dataStart = (cursor.offset() + alignment_ - 1) & ~(alignment_ - 1);
  uint64_t dataSize = bytes.size > dataStart ? bytes.size - dataStart : 0;
  for (TensorRecord &record : records) {
    size_t at = record.offsetAt;
    std::string what = "tensor " + weights::quoted(record.view.name);
    if (record.offset % alignment_ != 0)
      return cursor.failAt(at, what, " has data offset ", record.offset,
                           ", must be a multiple of the alignment ",
                           alignment_);
    if (record.offset > dataSize || record.bytes > dataSize - record.offset)
      return cursor.failAt(at, what, " takes ", record.bytes,
                           " bytes at data offset ", record.offset,
                           ", but the file holds ", dataSize, " bytes of data");
    record.view.data = {bytes.data + dataStart + record.offset,
                        static_cast<size_t>(record.bytes)};
    tensors_.push_back(std::move(record.view));
  }

  // The index refers to names that no longer move.
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!tensorIndex_.emplace(tensors_[i].name, i).second)
      return makeError(StatusCode::Malformed, name_, ": tensor ",
                       weights::quoted(tensors_[i].name), " occurs twice");

  std::vector<const TensorView *> order;
  for (const TensorView &tensor : tensors_)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorView *a, const TensorView *b) {
              return a->data.data < b->data.data;
            });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->data.end() > order[i]->data.begin())
      return makeError(StatusCode::Malformed, name_, ": tensors ",
                       weights::quoted(order[i - 1]->name), " and ",
                       weights::quoted(order[i]->name),
                       " overlap at data offset ",
                       order[i]->data.data - (bytes.data + dataStart));
  return Status();
}

const GgufMetadata *Gguf::findMetadata(std::string_view key) const {
  auto it = metadataIndex_.find(key);
  return it == metadataIndex_.end() ? nullptr : &metadata_[it->second];
}

const TensorView *Gguf::findTensor(std::string_view name) const {
  auto it = tensorIndex_.find(name);
  return it == tensorIndex_.end() ? nullptr : &tensors_[it->second];
}

namespace {

template <class T> constexpr GgufValueType valueTypeOf();
template <> constexpr GgufValueType valueTypeOf<uint8_t>() {
  return GgufValueType::U8;
}
template <> constexpr GgufValueType valueTypeOf<int8_t>() {
  return GgufValueType::I8;
}
template <> constexpr GgufValueType valueTypeOf<uint16_t>() {
  return GgufValueType::U16;
}
template <> constexpr GgufValueType valueTypeOf<int16_t>() {
  return GgufValueType::I16;
}
template <> constexpr GgufValueType valueTypeOf<uint32_t>() {
  return GgufValueType::U32;
}
template <> constexpr GgufValueType valueTypeOf<int32_t>() {
  return GgufValueType::I32;
}
template <> constexpr GgufValueType valueTypeOf<float>() {
  return GgufValueType::F32;
}
template <> constexpr GgufValueType valueTypeOf<bool>() {
  return GgufValueType::Bool;
}
template <> constexpr GgufValueType valueTypeOf<std::string_view>() {
  return GgufValueType::String;
}
template <> constexpr GgufValueType valueTypeOf<uint64_t>() {
  return GgufValueType::U64;
}
template <> constexpr GgufValueType valueTypeOf<int64_t>() {
  return GgufValueType::I64;
}
template <> constexpr GgufValueType valueTypeOf<double>() {
  return GgufValueType::F64;
}

/// Reads the value at DATA, which load() has checked, and passes it.
template <class T> T readChecked(const uint8_t *&data) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    size_t length = static_cast<size_t>(load<uint64_t>(data));
    std::string_view value(reinterpret_cast<const char *>(data + 8), length);
    data += 8 + length;
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return *data++ != 0;
  } else {
    T value = load<T>(data);
    data += sizeof(T);
    return value;
  }
}

std::string describeType(const GgufMetadata &entry) {
  return entry.type == GgufValueType::Array
             ? concat("array of ", getName(entry.elementType))
             : getName(entry.type);
}

/// The entry of KEY when it has TYPE and ELEMENT_TYPE.
Expected<const GgufMetadata *> findTyped(const Gguf &file, std::string_view key,
                                         GgufValueType type,
                                         GgufValueType elementType) {
  GgufMetadata wanted{key, type, elementType, 1, 0};
  const GgufMetadata *entry = file.findMetadata(key);
  if (!entry)
    return makeError(StatusCode::NotFound, file.name(), ": key ",
                     weights::quoted(key), " is missing, must be present as ",
                     describeType(wanted));
  if (entry->type != type || entry->elementType != elementType)
    return makeError(StatusCode::Malformed, file.name(), ": byte ",
                     entry->offset, ": key ", weights::quoted(key),
                     " has type ", describeType(*entry), ", must be ",
                     describeType(wanted));
  return entry;
}

} // namespace

template <class T> Expected<T> Gguf::get(std::string_view key) const {
  Expected<const GgufMetadata *> entry =
      findTyped(*this, key, valueTypeOf<T>(), valueTypeOf<T>());
  if (!entry)
    return entry.status();
  const uint8_t *data = bytes_.data + (*entry)->offset;
  return readChecked<T>(data);
}

template <class T>
Expected<std::vector<T>> Gguf::getArray(std::string_view key) const {
  Expected<const GgufMetadata *> entry =
      findTyped(*this, key, GgufValueType::Array, valueTypeOf<T>());
  if (!entry)
    return entry.status();
  const uint8_t *data = bytes_.data + (*entry)->offset;
  std::vector<T> values;
  // Bounded: load() found COUNT elements in the file.
  values.reserve(static_cast<size_t>((*entry)->count));
  for (uint64_t i = 0; i < (*entry)->count; ++i)
    values.push_back(readChecked<T>(data));
  return values;
}

template Expected<bool> Gguf::get(std::string_view) const;

#define POOT_GGUF_GETTERS(T)                                                   \
  template Expected<T> Gguf::get(std::string_view) const;                      \
  template Expected<std::vector<T>> Gguf::getArray(std::string_view) const;
POOT_GGUF_GETTERS(uint8_t)
POOT_GGUF_GETTERS(int8_t)
POOT_GGUF_GETTERS(uint16_t)
POOT_GGUF_GETTERS(int16_t)
POOT_GGUF_GETTERS(uint32_t)
POOT_GGUF_GETTERS(int32_t)
POOT_GGUF_GETTERS(uint64_t)
POOT_GGUF_GETTERS(int64_t)
POOT_GGUF_GETTERS(float)
POOT_GGUF_GETTERS(double)
POOT_GGUF_GETTERS(std::string_view)
#undef POOT_GGUF_GETTERS

} // namespace poot::weights
