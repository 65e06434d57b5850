// .npy: a magic, a Python dictionary with descr, fortran_order and shape, then
// the elements.

#include "poot/weights/npy.h"

#include "poot/weights/atomic_file.h"

#include <cstring>

namespace poot::weights {

namespace {

constexpr size_t maxRank = 32; // numpy's own limit up to version 1.

std::string listDescriptors() {
  std::string out;
  for (const ElementTypeInfo &info : elementTypes)
    if (info.npy)
      out += concat(out.empty() ? "'" : ", '", info.npy, "'");
  return out;
}

/// Parses the dictionary literal: exactly the three keys, in any order.
class HeaderParser {
public:
  HeaderParser(std::string_view text, size_t base, const std::string &file)
      : text_(text), base_(base), file_(file) {}

  /// Fills in type and shape.
  Status parse(NpyArray &array);

private:
  template <class... Parts> Status fail(const Parts &...parts) {
    return failWith(StatusCode::Malformed, parts...);
  }
  template <class... Parts>
  Status failWith(StatusCode code, const Parts &...parts) {
    return makeError(code, file_, ": byte ", base_ + at_, ": ", parts...);
  }

  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                  text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  /// Passes C, and the white space before it, when it comes next.
  bool accept(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }

  bool acceptWord(std::string_view word) {
    skipSpace();
    if (text_.substr(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  /// A quoted string without escapes.
  bool acceptString(std::string_view &out) {
    skipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      return false;
    size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos)
      return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  Status parseDescriptor(ElementType &type);
  Status parseShape(Shape &shape);

  std::string_view text_;
  size_t base_;
  const std::string &file_;
  size_t at_ = 0;
};

Status HeaderParser::parseDescriptor(ElementType &type) {
  skipSpace();
  if (at_ < text_.size() && text_[at_] == '[')
    return failWith(StatusCode::Unsupported,
                    "a structured array; elements must be scalars");
  std::string_view descriptor;
  if (!acceptString(descriptor))
    return fail("'descr' must be a string");
  if (std::optional<ElementType> known = elementTypeFromNpy(descriptor)) {
    type = *known;
    return Status();
  }
  if (!descriptor.empty() && descriptor[0] == '>')
    return failWith(StatusCode::Unsupported, "descr ",
                    weights::quoted(descriptor),
                    " is big-endian; must be one of ", listDescriptors());
  if (descriptor == "|O")
    return failWith(StatusCode::Unsupported,
                    "an array of Python objects (pickled); must be one of ",
                    listDescriptors());
  return failWith(StatusCode::Unsupported, "descr ",
                  weights::quoted(descriptor), " is unknown; must be one of ",
                  listDescriptors());
}

Status HeaderParser::parseShape(Shape &shape) {
  if (!accept('('))
    return fail("'shape' must be a tuple of integers");
  while (!accept(')')) {
    skipSpace();
    int64_t extent = 0;
    size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(extent, int64_t(10), &extent) ||
          __builtin_add_overflow(extent, int64_t(text_[at_] - '0'), &extent))
        return fail("an extent is beyond 2^63-1");
    if (at_ == start)
      return fail("'shape' must be a tuple of integers that aren't negative");
    if (shape.size() == maxRank)
      return fail("more than ", maxRank, " dimensions");
    shape.push_back(extent);
    if (!accept(',')) {
      if (!accept(')'))
        return fail("expected ',' or ')' in 'shape'");
      return Status();
    }
  }
  return Status();
}

Status HeaderParser::parse(NpyArray &array) {
  if (!accept('{'))
    return fail("the header must be a Python dictionary");
  bool haveType = false, haveOrder = false, haveShape = false;
  bool fortranOrder = false;
  while (!accept('}')) {
    std::string_view key;
    if (!acceptString(key))
      return fail("expected a key in quotes or '}'");
    bool *have = key == "descr"           ? &haveType
                 : key == "fortran_order" ? &haveOrder
                 : key == "shape"         ? &haveShape
                                          : nullptr;
    if (!have)
      return fail("unknown key ", weights::quoted(key),
                  ", must be 'descr', 'fortran_order' or 'shape'");
    if (*have)
      return fail("key ", weights::quoted(key), " occurs twice");
    *have = true;
    if (!accept(':'))
      return fail("expected ':' after key ", weights::quoted(key));
    Status status;
    if (have == &haveType)
      status = parseDescriptor(array.type);
    else if (have == &haveShape)
      status = parseShape(array.shape);
    else if (acceptWord("True"))
      fortranOrder = true;
    else if (!acceptWord("False"))
      status = fail("'fortran_order' must be True or False");
    if (!status.ok())
      return status;
    if (!accept(',')) {
      if (!accept('}'))
        return fail("expected ',' or '}' after the value of ",
                    weights::quoted(key));
      break;
    }
  }
  skipSpace();
  if (at_ != text_.size())
    return fail("text follows the header's dictionary");
  for (auto [have, key] :
       {std::pair(haveType, "descr"), std::pair(haveOrder, "fortran_order"),
        std::pair(haveShape, "shape")})
    if (!have)
      return fail("the header lacks '", key, "'");
  if (fortranOrder && array.shape.size() > 1)
    return failWith(StatusCode::Unsupported,
                    "the array is in Fortran order; save it in row-major "
                    "order, with numpy.ascontiguousarray");
  return Status();
}

} // namespace

Expected<NpyArray> parseNpy(ByteSpan bytes, const std::string &name) {
  auto malformed = [&](const auto &...parts) {
    return makeError(StatusCode::Malformed, name, ": ", parts...);
  };
  if (bytes.size < 10 || std::memcmp(bytes.data, "\x93NUMPY", 6) != 0)
    return malformed("not a .npy file: must start with '\\x93NUMPY', a version "
                     "and a header length");
  int version = bytes.data[6];
  if (version != 1 && version != 2)
    return makeError(StatusCode::Unsupported, name, ": .npy version ", version,
                     ".", int(bytes.data[7]),
                     " is not supported, must be 1.0 or 2.0");
  size_t base = version == 1 ? 10 : 12;
  if (bytes.size < base)
    return malformed("truncated: ends within the header length");
  size_t headerSize = 0;
  for (size_t i = base; i-- > 8;)
    headerSize = headerSize << 8 | bytes.data[i];
  if (headerSize > bytes.size - base)
    return malformed("declares a header of ", headerSize, " bytes, but ",
                     bytes.size - base, " remain");
  NpyArray array;
  HeaderParser parser(
      {reinterpret_cast<const char *>(bytes.data) + base, headerSize}, base,
      name);
  if (Status status = parser.parse(array); !status.ok())
    return status;
  Expected<int64_t> size = countBytes(array.type, array.shape);
  if (!size)
    return malformed(size.status().message());
  ByteSpan data =
      bytes.slice(base + headerSize, bytes.size - base - headerSize);
  if (static_cast<uint64_t>(*size) != data.size)
    return malformed("shape ", toString(array.shape), " of ",
                     getName(array.type), " takes ", *size, " bytes, but ",
                     data.size, " follow the header");
  array.data.assign(data.begin(), data.end());
  return array;
}

Expected<NpyArray> readNpy(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return parseNpy(file->bytes(), path);
}

Status writeNpy(const std::string &path, ElementType type, const Shape &shape,
                const void *data) {
  const ElementTypeInfo &info = getInfo(type);
  if (!info.npy)
    return makeError(
        StatusCode::Unsupported, path, ": ", info.name,
        " can't be stored in a .npy file; can be: ", listDescriptors());
  if (shape.size() > maxRank)
    return makeError(StatusCode::InvalidArgument, path, ": ", shape.size(),
                     " dimensions, a .npy file may have ", maxRank);
  Expected<int64_t> size = countBytes(type, shape);
  if (!size)
    return makeError(StatusCode::InvalidArgument, path, ": ",
                     size.status().message());
  std::string header =
      concat("{'descr': '", info.npy, "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i)
    header += concat(i ? ", " : "", shape[i]);
  header += shape.size() == 1 ? ",), }" : "), }";
  // The header ends in a newline, and the elements start at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);

  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(start + header); !status.ok())
    return status;
  if (Status status = file->write(data, static_cast<size_t>(*size));
      !status.ok())
    return status;
  return file->commit();
}

} // namespace poot::weights
