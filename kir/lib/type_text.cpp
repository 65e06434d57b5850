// Types as text, read back. The grammar is what toString() writes:
//
//   value  = element | vector<N x element>
//   struct = struct<BYTES: value [x COUNT] at OFFSET, ...>
//   type   = value | fragment<RxCxelement, use> | buffer<value|struct, access>
//          | workgroup<Nxvalue> | table<Nxelement> | var<[Nx...]value|fragment>
//
// There is one spelling of a type: what toString() writes of it again.

#include "attributes.h"
#include "poot/kir/json.h"

namespace poot::kir {
namespace {

class TypeParser {
public:
  explicit TypeParser(std::string_view text) : rest(text) {}

  std::optional<Type> parse() {
    Type type;
    if (!parseType(type) || !rest.empty())
      return std::nullopt;
    return type;
  }

private:
  bool take(std::string_view token) {
    if (rest.substr(0, token.size()) != token)
      return false;
    rest.remove_prefix(token.size());
    return true;
  }

  bool number(uint64_t &value) {
    size_t digits = 0;
    value = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') {
      // Larger than anything that a type may have, and far from overflow.
      if (digits == 15)
        return false;
      value = value * 10 + (rest[digits++] - '0');
    }
    rest.remove_prefix(digits);
    return digits != 0;
  }

  bool number32(uint32_t &value) {
    uint64_t wide;
    if (!number(wide) || wide > INT32_MAX)
      return false;
    value = static_cast<uint32_t>(wide);
    return true;
  }

  bool element(Element &result) {
    // The longest that fits: i1 begins i16.
    std::string_view longest;
    for (unsigned i = 0; i <= static_cast<unsigned>(Element::F64); ++i) {
      std::string_view name = spelling(static_cast<Element>(i));
      if (rest.substr(0, name.size()) == name && name.size() > longest.size()) {
        result = static_cast<Element>(i);
        longest = name;
      }
    }
    return !longest.empty() && take(longest);
  }

  bool shape(Shape &result) {
    if (!take("vector<"))
      return element(result.element);
    return number32(result.lanes) && result.lanes != 0 && take("x") &&
           element(result.element) && take(">");
  }

  bool structure(Type &type) {
    if (!number(type.structBytes) || type.structBytes == 0 || !take(": "))
      return false;
    do {
      Leaf leaf;
      if (!shape(leaf.shape) || (take(" x ") && !number(leaf.count)) ||
          !take(" at ") || !number(leaf.offset))
        return false;
      type.leaves.push_back(leaf);
    } while (take(", "));
    return take(">");
  }

  bool fragment(Type &type) {
    if (!number32(type.rows) || !take("x") || !number32(type.columns) ||
        !take("x") || !element(type.shape.element) || !take(", "))
      return false;
    for (FragmentUse use :
         {FragmentUse::Accumulator, FragmentUse::A, FragmentUse::B}) {
      type.use = use;
      if (take(spelling(use)))
        return take(">");
    }
    return false;
  }

  bool memoryElement(Type &type) {
    return take("struct<") ? structure(type) : shape(type.shape);
  }

  bool extents(Type &type) {
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      uint64_t extent;
      if (!number(extent) || !take("x"))
        return false;
      type.extents.push_back(extent);
    }
    return true;
  }

  bool parseType(Type &type) {
    if (take("buffer<")) {
      type.kind = TypeKind::Buffer;
      if (!memoryElement(type) || !take(", "))
        return false;
      for (Access access : {Access::ReadWrite, Access::Read, Access::Write}) {
        type.access = access;
        if (take(spelling(access)))
          return take(">");
      }
      return false;
    }
    if (take("workgroup<")) {
      type.kind = TypeKind::Workgroup;
      return extents(type) && memoryElement(type) && take(">");
    }
    if (take("table<")) {
      type.kind = TypeKind::Table;
      return extents(type) && shape(type.shape) && take(">");
    }
    if (take("var<")) {
      type.kind = TypeKind::Var;
      if (!extents(type))
        return false;
      if (take("fragment<")) {
        type.ofFragments = true;
        return fragment(type) && take(">");
      }
      return shape(type.shape) && take(">");
    }
    if (take("fragment<")) {
      type.kind = TypeKind::Fragment;
      return fragment(type);
    }
    return shape(type.shape);
  }

  std::string_view rest;
};

} // namespace

weights::Expected<Type> parseType(std::string_view text) {
  std::optional<Type> type = TypeParser(text).parse();
  // "007" and the like are other spellings of a type.
  if (!type || toString(*type) != text)
    return weights::makeError(
        weights::StatusCode::Malformed, weights::quoted(text),
        " is no type; types are spelt as in f32, vector<4xf16>, "
        "buffer<f32, read>, workgroup<64xf32>, table<4xi32>, var<2x3xf32>, "
        "fragment<16x16xf16, a>");
  return std::move(*type);
}

} // namespace poot::kir
