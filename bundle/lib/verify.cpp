//===- verify.cpp - The rules that a bundle's index keeps -----------------===//
//
// What the FlatBuffers verifier can't know: whether indices, sizes, slices and
// names agree. Works on an index that has passed that verifier. Since offsets
// of a hostile index may share data (a thousand programs that are all the same
// one), the work is counted and stops at a fixed multiple of the index's size.
//
//===----------------------------------------------------------------------===//

#include "poot/bundle/reader.h"
#include "poot/weights/element_type.h"
#include "poot/weights/planar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_set>

using namespace poot;
using namespace poot::bundle;

namespace {

std::string outOf(uint64_t count) {
  return count == 0 ? std::string("there are none")
                    : weights::concat("there are ", count);
}

template <class T> std::string_view view(const T *string) {
  return string ? std::string_view(string->data(), string->size())
                : std::string_view();
}

template <class V> uint64_t length(const V *vector) {
  return vector ? vector->size() : 0;
}

bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

using weights::ElementType;

bool isOneOf(ElementType type, std::initializer_list<ElementType> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// Types that test vectors can't generate or compare numbers of.
bool isEightBitFloat(ElementType type) {
  return isOneOf(type, {ElementType::F8E4M3, ElementType::F8E5M2});
}

/// Types in which some bytes are no number.
bool hasNonNumbers(ElementType type) {
  return isEightBitFloat(type) ||
         isOneOf(type, {ElementType::F16, ElementType::BF16, ElementType::F32,
                        ElementType::F64, ElementType::Bool});
}

std::string knownElements() {
  std::string names;
  for (const weights::ElementTypeInfo &info : weights::elementTypes)
    names += weights::concat(names.empty() ? "" : ", ", info.name);
  return names;
}

class IndexVerifier {
public:
  IndexVerifier(const fb::Bundle &index, uint64_t indexSize, uint64_t dataSize,
                size_t maxMessages)
      : index(index), dataSize(dataSize), maxMessages(maxMessages),
        budget(4 * indexSize + 4096) {}

  std::vector<std::string> run();

private:
  /// One step of the place in messages: a field, or an element of it.
  struct Step {
    const char *field;
    int64_t element;
  };
  /// Enters a step for the life of the object.
  class Scope {
  public:
    Scope(IndexVerifier &verifier, const char *field, int64_t element = -1)
        : verifier(verifier) {
      verifier.place.push_back({field, element});
    }
    ~Scope() { verifier.place.pop_back(); }

  private:
    IndexVerifier &verifier;
  };

  template <class... Parts> void error(const Parts &...parts) {
    if (messages.size() == maxMessages) {
      ++omitted;
      return;
    }
    std::string text;
    for (const Step &step : place) {
      if (!text.empty())
        text += '.';
      text += step.field;
      if (step.element >= 0)
        text += weights::concat('[', step.element, ']');
    }
    if (!text.empty())
      text += ": ";
    messages.push_back(text + weights::concat(parts...));
  }

  /// Accounts for WORK; false once the budget is spent.
  bool spend(uint64_t work) {
    if (exhausted)
      return false;
    if (work <= budget) {
      budget -= work;
      return true;
    }
    exhausted = true;
    return false;
  }

  template <class Enum>
  bool checkEnum(const char *what, Enum value, const char *const *names) {
    if (value <= Enum::MAX)
      return true;
    std::string known;
    for (const char *const *name = names; *name; ++name)
      known += weights::concat(known.empty() ? "" : ", ", *name);
    error(what, " ", uint64_t(value), " is unknown; known: ", known);
    return false;
  }

  bool checkIndex(const char *what, uint64_t value, uint64_t count) {
    if (value < count)
      return true;
    error(what, " ", value, " is out of range; ", outOf(count));
    return false;
  }

  void checkText(const char *field, const flatbuffers::String *text);
  /// A text that must not be empty.
  void checkName(const char *field, const flatbuffers::String *text);
  template <class Int>
  bool checkAligned(const char *field, const flatbuffers::Vector<Int> *vector);
  bool checkThree(const char *field, const flatbuffers::Vector<uint32_t> *v);
  void checkFeatures(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
          *features);

  /// Calls FUNCTION(element, i) for each element, within its place.
  template <class V, class F>
  void each(const char *field, const V *vector, F function) {
    for (uint64_t i = 0, e = length(vector); i != e; ++i) {
      if (!spend(1))
        return;
      Scope scope(*this, field, int64_t(i));
      function(vector->Get(uint32_t(i)), uint32_t(i));
    }
  }

  /// Each element has a name of its own, a type, and the size of the type.
  template <class V>
  void checkNamedValues(const char *field, const V *vector, bool mayBeOpen);
  /// The bytes of a type, a row of it where the outermost extent is open;
  /// nothing (and a message) for a type that is wrong.
  std::optional<uint64_t> checkType(const fb::TensorType &type, bool mayBeOpen);

  void checkSections();
  void checkConsts();
  void checkTarget(const fb::Target &target);
  void checkCode(const fb::Code &code);
  void checkKernel(const fb::Kernel &kernel);
  void checkTest(const fb::Kernel &kernel, const fb::TestVector &test);
  void checkTestInput(const fb::TestInput &input);
  void checkPlanarRows(const fb::TestInput &input,
                       weights::ElementType element);
  void checkExpectation(const fb::Kernel &kernel, const fb::TestVector &test,
                        const fb::TestExpectation &expectation);

  /// A program as it is walked: what is known of its buffers and writes.
  struct ProgramState {
    const fb::Target &target;
    const fb::Program &program;
    bool isLoad;
    std::vector<bool> written; // By buffer.
  };
  void checkProgram(const fb::Target &target, const fb::Program &program,
                    bool isLoad);
  void checkBuffer(ProgramState &state, const fb::Buffer &buffer);
  void checkCommand(ProgramState &state, const fb::Command &command,
                    uint32_t number);
  void checkDispatch(ProgramState &state, const fb::Dispatch &dispatch);
  void checkWrittenValues(const ProgramState &state);
  bool checkSlice(ProgramState &state, const char *what, uint32_t buffer,
                  uint64_t offset, uint64_t size, bool mayBeWhole);
  void checkWrite(ProgramState &state, const char *what, uint32_t buffer);
  bool overlap(const ProgramState &state, const fb::Copy &copy) const;

  const fb::Bundle &index;
  const uint64_t dataSize;
  const size_t maxMessages;
  uint64_t budget;
  bool exhausted = false;
  std::vector<Step> place;
  std::vector<std::string> messages;
  uint64_t omitted = 0;
};

//===----------------------------------------------------------------------===//
// Texts, vectors, types
//===----------------------------------------------------------------------===//

void IndexVerifier::checkText(const char *field,
                              const flatbuffers::String *text) {
  if (!text)
    return;
  Scope scope(*this, field);
  // The limit also bounds the work for a string that many tables share.
  if (text->size() > kMaxStringLength)
    return error("a string of ", text->size(), " bytes; at most ",
                 kMaxStringLength, " are allowed");
  if (!spend(text->size()))
    return;
}

void IndexVerifier::checkName(const char *field,
                              const flatbuffers::String *text) {
  if (!text || text->size() == 0) {
    Scope scope(*this, field);
    return error("is empty");
  }
  checkText(field, text);
}

/// FlatBuffers aligns the elements of a vector, but its verifier looks at the
/// length before them only. It doesn't align an empty vector.
template <class Int>
bool IndexVerifier::checkAligned(const char *field,
                                 const flatbuffers::Vector<Int> *vector) {
  if (!vector || vector->size() == 0 ||
      reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(Int) == 0)
    return true;
  Scope scope(*this, field);
  error("is not aligned to ", sizeof(Int), " bytes");
  return false;
}

bool IndexVerifier::checkThree(const char *field,
                               const flatbuffers::Vector<uint32_t> *v) {
  Scope scope(*this, field);
  if (length(v) != 3) {
    error("has ", length(v), " extents; x, y and z are needed");
    return false;
  }
  for (uint32_t i = 0; i != 3; ++i)
    if (v->Get(i) == 0) {
      error("the extent of ", "xyz"[i], " is 0; at least 1 is needed");
      return false;
    }
  return true;
}

void IndexVerifier::checkFeatures(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
        *features) {
  // Features that this build doesn't know are no fault of the file: a device
  // that lacks them is refused by name.
  for (uint64_t i = 0, e = length(features); i != e && spend(1); ++i) {
    Scope scope(*this, "required_features", int64_t(i));
    checkName("name", features->Get(uint32_t(i)));
  }
}

std::optional<uint64_t> IndexVerifier::checkType(const fb::TensorType &type,
                                                 bool mayBeOpen) {
  Scope scope(*this, "type");
  checkText("element", type.element());
  checkText("layout", type.layout());
  if (!checkAligned("shape", type.shape()))
    return std::nullopt;
  const std::optional<ElementType> element =
      weights::elementTypeFromName(view(type.element()));
  if (!element) {
    error("the element type ", weights::quoted(view(type.element())),
          " is unknown; known: ", knownElements());
    return std::nullopt;
  }
  const bool packed = weights::isPacked(*element);
  const std::string_view layout = view(type.layout());
  const bool planar = layout == "planar";
  if (packed ? layout != "gguf" && !planar : !layout.empty()) {
    error("the layout ", weights::quoted(layout), " does not suit ",
          weights::getName(*element),
          "; allowed: ", packed ? "gguf, planar" : "none");
    return std::nullopt;
  }
  weights::Shape shape;
  const bool open = isOpen(type);
  for (uint64_t i = 0, e = length(type.shape()); i != e && spend(1); ++i) {
    const int64_t extent = type.shape()->Get(uint32_t(i));
    if (i == 0 && open) {
      if (mayBeOpen)
        continue;
      error("the outermost extent is open, which only a state's may be");
      return std::nullopt;
    }
    if (extent < 1) {
      error("extent ", i, " is ", extent, "; at least 1 is needed");
      return std::nullopt;
    }
    shape.push_back(extent);
  }
  weights::Expected<int64_t> bytes = weights::countBytes(*element, shape);
  if (bytes)
    return uint64_t(*bytes);
  error(bytes.status().message());
  return std::nullopt;
}

template <class V>
void IndexVerifier::checkNamedValues(const char *field, const V *vector,
                                     bool mayBeOpen) {
  std::unordered_set<std::string_view> names;
  each(field, vector, [&](const auto *value, uint32_t) {
    checkName("name", value->name());
    if (!names.insert(view(value->name())).second)
      error("the name ", weights::quoted(view(value->name())),
            " is taken by an earlier one");
    std::optional<uint64_t> bytes = checkType(*value->type(), mayBeOpen);
    if (!bytes)
      return;
    // Planes of a planar packing are padded, by a rule of the planner.
    const bool planar = view(value->type()->layout()) == "planar";
    if (planar ? value->size() < *bytes : value->size() != *bytes)
      error("the size is ", value->size(), " bytes, but its type takes ",
            *bytes);
  });
}

//===----------------------------------------------------------------------===//
// Sections and constants
//===----------------------------------------------------------------------===//

void IndexVerifier::checkSections() {
  uint64_t end = 0;
  each("sections", index.sections(), [&](const fb::Section *section, uint32_t) {
    checkEnum("kind", section->kind(), fb::EnumNamesSectionKind());
    if (section->offset() % kSectionAlignment != 0)
      error("the offset ", section->offset(), " is not a multiple of ",
            kSectionAlignment);
    if (section->size() == 0)
      error("is empty");
    if (section->offset() < end)
      error("the offset ", section->offset(),
            " is before the end of the previous section, ", end);
    if (!fits(section->offset(), section->size(), dataSize))
      error("bytes ", section->offset(), " to +", section->size(),
            " are not inside the data area of ", dataSize, " bytes");
    else
      end = std::max(end, section->offset() + section->size());
  });
  if (end != dataSize && messages.empty() && !exhausted)
    error("sections: they end at byte ", end, " of a data area of ", dataSize,
          " bytes");
}

void IndexVerifier::checkConsts() {
  checkNamedValues("consts", index.consts(), false);
  each("consts", index.consts(), [&](const fb::Const *value, uint32_t) {
    if (value->section() == -1)
      return;
    if (value->section() < -1)
      return error("section ", value->section(),
                   " is not allowed; -1 stands for none");
    if (!checkIndex("section", uint64_t(value->section()),
                    length(index.sections())))
      return;
    const fb::Section *section =
        index.sections()->Get(uint32_t(value->section()));
    if (section->kind() != fb::SectionKind::Weights)
      error("section ", value->section(), " holds no weights");
    if (section->size() != value->size())
      error("section ", value->section(), " has ", section->size(),
            " bytes, but the constant ", value->size());
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void IndexVerifier::checkCode(const fb::Code &code) {
  checkText("architecture", code.architecture());
  checkName("entry_point", code.entry_point());
  if (!checkEnum("format", code.format(), fb::EnumNamesCodeFormat()))
    return;
  const std::string_view architecture = view(code.architecture());
  const bool machine = code.format() == fb::CodeFormat::Cubin ||
                       code.format() == fb::CodeFormat::AmdGcn;
  if (machine && architecture.empty())
    error("machine code names no architecture");
  if (code.format() == fb::CodeFormat::Spirv && !architecture.empty())
    error("SPIR-V is for no architecture, but names ",
          weights::quoted(architecture));
  if (!checkIndex("section", code.section(), length(index.sections())))
    return;
  const fb::Section *section = index.sections()->Get(code.section());
  const fb::SectionKind kind = code.format() == fb::CodeFormat::Kir
                                   ? fb::SectionKind::Kir
                                   : fb::SectionKind::Kernel;
  if (section->kind() != kind)
    error("section ", code.section(), " is of another kind than ",
          fb::EnumNameSectionKind(kind));
  if (code.size() == 0 || !fits(code.offset(), code.size(), section->size()))
    error("bytes ", code.offset(), " to +", code.size(),
          " are not inside section ", code.section(), " of ", section->size(),
          " bytes");
  if (code.format() == fb::CodeFormat::Spirv &&
      (code.offset() % 4 != 0 || code.size() % 4 != 0))
    error("SPIR-V at byte ", code.offset(), " of ", code.size(),
          " bytes is not made of whole words");
}

void IndexVerifier::checkTestInput(const fb::TestInput &input) {
  checkText("element", input.element());
  if (!checkEnum("fill", input.fill(), fb::EnumNamesFill()))
    return;
  const std::string_view name = view(input.element());
  const std::optional<ElementType> element = weights::elementTypeFromName(name);
  const bool whole = input.fill() == fb::Fill::UniformInt ||
                     input.fill() == fb::Fill::Permutation;
  const bool typed = whole || input.fill() == fb::Fill::Uniform;
  if (!element && (typed || !name.empty()))
    return error("the element type ", weights::quoted(name),
                 " is unknown; known: ", knownElements());
  const bool packed = element && weights::isPacked(*element);
  if (input.planar_row() != 0 && !(packed && input.fill() == fb::Fill::Bytes))
    return error("has planar rows; they are for Bytes of a packed type");
  if (!element)
    return;
  const weights::ElementTypeInfo &info = weights::getInfo(*element);
  if (input.planar_row() != 0)
    checkPlanarRows(input, *element);
  else if (input.bytes() % uint64_t(info.blockBytes) != 0)
    error(input.bytes(), " bytes are no whole number of ", info.name,
          " blocks of ", info.blockBytes);
  if (typed && packed)
    error("numbers can't fill ", info.name,
          ", which is packed; allowed: Bytes, Zero");
  if (typed && isEightBitFloat(*element))
    error("numbers of ", info.name, " can't be generated; allowed: Zero");
  if (input.fill() == fb::Fill::Bytes && hasNonNumbers(*element))
    error("random bytes may be no number in ", info.name,
          "; allowed: Uniform, UniformInt, Permutation, Zero");
  const bool ranged = typed || (input.fill() == fb::Fill::Bytes && packed);
  const double low = input.low(), high = input.high();
  const double limit = packed || element == ElementType::F16 ? 65504.0 : 1e300;
  if (ranged && !(low >= -limit && high <= limit && low <= high))
    error("low and high are no range of numbers that ", info.name, " holds");
  constexpr double kMaxExact = 9007199254740992.0; // 2^53
  if (whole && !(low >= -kMaxExact && high <= kMaxExact &&
                 low == std::floor(low) && high == std::floor(high)))
    error("low and high are no integers within 2^53");
}

void IndexVerifier::checkPlanarRows(const fb::TestInput &input,
                                    ElementType element) {
  const weights::ElementTypeInfo &info = weights::getInfo(element);
  const uint64_t row = input.planar_row();
  if (row % uint64_t(info.blockElements) != 0)
    return error("planar rows of ", row, " elements are no whole number of ",
                 info.name, " blocks of ", info.blockElements);
  // No element takes less than two bits, so that longer rows don't fit.
  constexpr uint64_t kMaxRow = kMaxTestVectorBytes * 4;
  if (row > kMaxRow)
    return error("planar rows have ", row, " elements; at most ", kMaxRow,
                 " are allowed");
  const uint64_t rowBytes =
      uint64_t(weights::planarRow(element, int64_t(row)).bytes());
  if (input.bytes() % rowBytes != 0)
    error(input.bytes(), " bytes are no whole number of planar rows of ",
          rowBytes);
}

void IndexVerifier::checkExpectation(const fb::Kernel &kernel,
                                     const fb::TestVector &test,
                                     const fb::TestExpectation &expectation) {
  checkText("element", expectation.element());
  const bool indexAligned = checkAligned("index", expectation.index());
  const bool aligned =
      checkAligned("value", expectation.value()) && indexAligned;
  if (!(expectation.absolute_tolerance() >= 0 &&
        expectation.relative_tolerance() >= 0 &&
        std::isfinite(expectation.absolute_tolerance()) &&
        std::isfinite(expectation.relative_tolerance())))
    error("a tolerance is no number of at least 0");
  const uint32_t argument = expectation.argument();
  if (!checkIndex("argument", argument, length(kernel.arguments())))
    return;
  if (kernel.arguments()->Get(argument) == fb::Access::Read)
    error("argument ", argument, " is only read by the kernel");
  const std::optional<ElementType> element =
      weights::elementTypeFromName(view(expectation.element()));
  if (!element || weights::isPacked(*element) || isEightBitFloat(*element))
    return error("values of the element type ",
                 weights::quoted(view(expectation.element())),
                 " can't be compared; allowed: f32, f16, bf16, f64, bool and "
                 "integers of 8 to 64 bits");
  const uint64_t count = length(expectation.index());
  if (count == 0 || count != length(expectation.value()))
    return error("has ", count, " indices and ", length(expectation.value()),
                 " values; as many of each are needed, and at least one");
  if (!aligned || length(test.inputs()) != length(kernel.arguments()))
    return;
  const uint64_t elements = test.inputs()->Get(argument)->bytes() /
                            uint64_t(weights::getInfo(*element).blockBytes);
  for (uint32_t i = 0; i != count && spend(1); ++i)
    if (expectation.index()->Get(i) >= elements)
      return error("index[", i, "] is ", expectation.index()->Get(i),
                   ", but argument ", argument, " has ", elements, " elements");
}

void IndexVerifier::checkTest(const fb::Kernel &kernel,
                              const fb::TestVector &test) {
  checkThree("grid", test.grid());
  spend(length(test.metadata()));
  if (length(test.metadata()) != kernel.metadata_words())
    error("has ", length(test.metadata()),
          " words of metadata, but the kernel ", kernel.metadata_words());
  if (length(test.inputs()) != length(kernel.arguments()))
    error("has ", length(test.inputs()), " inputs, but the kernel ",
          length(kernel.arguments()), " arguments");
  uint64_t total = 0;
  each("inputs", test.inputs(), [&](const fb::TestInput *input, uint32_t i) {
    if (input->argument() != i)
      error("is for argument ", input->argument(),
            "; inputs are in the order "
            "of the arguments");
    if (input->bytes() == 0)
      error("has no bytes");
    else if (!fits(total, input->bytes(), kMaxTestVectorBytes))
      error("the inputs take more than ", kMaxTestVectorBytes, " bytes");
    else
      total += input->bytes();
    checkTestInput(*input);
  });
  each("expected", test.expected(),
       [&](const fb::TestExpectation *expectation, uint32_t) {
         checkExpectation(kernel, test, *expectation);
       });
}

void IndexVerifier::checkKernel(const fb::Kernel &kernel) {
  checkName("name", kernel.name());
  checkText("variant", kernel.variant());
  checkText("location", kernel.location());
  checkFeatures(kernel.required_features());
  if (length(kernel.code()) == 0)
    error("has no code");
  each("code", kernel.code(),
       [&](const fb::Code *code, uint32_t) { checkCode(*code); });
  if (checkThree("workgroup_size", kernel.workgroup_size())) {
    const auto &size = *kernel.workgroup_size();
    const uint64_t plane = uint64_t(size[0]) * size[1];
    if (plane > UINT32_MAX || plane * size[2] > UINT32_MAX)
      error("the workgroup has more than 2^32 invocations");
  }
  for (uint64_t i = 0, e = length(kernel.arguments()); i != e && spend(1);
       ++i) {
    Scope scope(*this, "arguments", int64_t(i));
    checkEnum("access", kernel.arguments()->GetEnum<fb::Access>(uint32_t(i)),
              fb::EnumNamesAccess());
  }
  each("tests", kernel.tests(),
       [&](const fb::TestVector *test, uint32_t) { checkTest(kernel, *test); });
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void IndexVerifier::checkBuffer(ProgramState &state, const fb::Buffer &buffer) {
  const fb::Program &program = state.program;
  if (!checkEnum("role", buffer.role(), fb::EnumNamesBufferRole()))
    return;
  const char *role = fb::EnumNameBufferRole(buffer.role());
  if (buffer.role() == fb::BufferRole::Arena) {
    if (buffer.index() != 0)
      error("index is ", buffer.index(), "; 0 is needed for Arena");
    if (buffer.size() == 0 ||
        !fits(buffer.offset(), buffer.size(), program.arena_size()))
      error("bytes ", buffer.offset(), " to +", buffer.size(),
            " are not inside the arena of ", program.arena_size(), " bytes");
    return;
  }
  if (buffer.offset() != 0)
    error("offset is ", buffer.offset(), "; 0 is needed for ", role);
  if (state.isLoad && buffer.role() != fb::BufferRole::Const &&
      buffer.role() != fb::BufferRole::Computed)
    return error("role ", role,
                 " is not allowed in the load program; allowed: "
                 "Const, Computed, Arena");
  auto check = [&](const auto *values) {
    if (!checkIndex("index", buffer.index(), length(values)))
      return;
    const uint64_t size = values->Get(buffer.index())->size();
    if (buffer.size() != size)
      error("the size is ", buffer.size(), " bytes, but ", role, " ",
            buffer.index(), " has ", size);
  };
  switch (buffer.role()) {
  case fb::BufferRole::Const:
    return check(index.consts());
  case fb::BufferRole::State:
    return check(index.states());
  case fb::BufferRole::Computed:
    return check(state.target.computed());
  case fb::BufferRole::Slot:
    return check(program.slots());
  case fb::BufferRole::Output:
    return check(program.outputs());
  case fb::BufferRole::Arena:
    break;
  }
}

/// Whether BUFFER of the program is a state whose size the session decides.
bool isOpenState(const fb::Bundle &index, const fb::Buffer &buffer) {
  return buffer.role() == fb::BufferRole::State &&
         buffer.index() < length(index.states()) &&
         isOpen(*index.states()->Get(buffer.index())->type());
}

bool IndexVerifier::checkSlice(ProgramState &state, const char *what,
                               uint32_t number, uint64_t offset, uint64_t size,
                               bool mayBeWhole) {
  const fb::Program &program = state.program;
  if (!checkIndex(what, number, length(program.buffers())))
    return false;
  const fb::Buffer &buffer = *program.buffers()->Get(number);
  if (isOpenState(index, buffer)) {
    if (size == 0 && !mayBeWhole)
      error("the size is 0");
    if (!fits(offset, size, kMaxFileSize))
      error("bytes ", offset, " to +", size, " are out of any range");
    return true;
  }
  if (size == 0 || !fits(offset, size, buffer.size())) {
    error("bytes ", offset, " to +", size, " are not inside buffer ", number,
          " of ", buffer.size(), " bytes");
    return false;
  }
  return true;
}

void IndexVerifier::checkWrite(ProgramState &state, const char *what,
                               uint32_t number) {
  const fb::Program &program = state.program;
  if (number >= length(program.buffers()))
    return;
  state.written[number] = true;
  const fb::BufferRole role = program.buffers()->Get(number)->role();
  if (role == fb::BufferRole::Const || role == fb::BufferRole::Slot)
    error(what, " ", number, " is written, but a ",
          fb::EnumNameBufferRole(role), " is only read");
  if (role == fb::BufferRole::Computed && !state.isLoad)
    error(what, " ", number,
          " is written, but only the load program writes Computed values");
}

void IndexVerifier::checkDispatch(ProgramState &state,
                                  const fb::Dispatch &dispatch) {
  const bool grid = checkThree("grid", dispatch.grid());
  if (length(dispatch.cluster()) != 0 &&
      checkThree("cluster", dispatch.cluster()) && grid)
    for (uint32_t i = 0; i != 3; ++i)
      if (dispatch.grid()->Get(i) % dispatch.cluster()->Get(i) != 0)
        error("the grid's extent ", dispatch.grid()->Get(i), " of ", "xyz"[i],
              " is no multiple of the cluster's, ", dispatch.cluster()->Get(i));
  if (!checkIndex("kernel", dispatch.kernel(), length(state.target.kernels())))
    return;
  const fb::Kernel &kernel = *state.target.kernels()->Get(dispatch.kernel());
  const uint64_t arguments = length(kernel.arguments());
  if (length(dispatch.arguments()) != arguments)
    error("has ", length(dispatch.arguments()), " arguments, but kernel ",
          weights::quoted(view(kernel.name())), " takes ", arguments);
  if (length(dispatch.metadata()) != kernel.metadata_words())
    error("has ", length(dispatch.metadata()),
          " words of metadata, but kernel ",
          weights::quoted(view(kernel.name())), " takes ",
          kernel.metadata_words());
  each("arguments", dispatch.arguments(),
       [&](const fb::Argument *argument, uint32_t i) {
         if (!checkEnum("access", argument->access(), fb::EnumNamesAccess()))
           return;
         checkSlice(state, "buffer", argument->buffer(), argument->offset(),
                    argument->size(), true);
         if (argument->access() != fb::Access::Read)
           checkWrite(state, "buffer", argument->buffer());
         if (i < arguments &&
             kernel.arguments()->GetEnum<fb::Access>(i) != argument->access())
           error("access is ", fb::EnumNameAccess(argument->access()),
                 ", but the kernel's is another");
         if (argument->tensor_map() < -1)
           error("tensor_map ", argument->tensor_map(),
                 " is not allowed; -1 stands for none");
         else if (argument->tensor_map() >= 0)
           checkIndex("tensor_map", uint64_t(argument->tensor_map()),
                      length(state.program.tensor_maps()));
       });
  each("metadata", dispatch.metadata(),
       [&](const fb::Metadata *word, uint32_t) {
         if (!checkEnum("kind", word->kind(), fb::EnumNamesMetadataKind()) ||
             word->kind() == fb::MetadataKind::Literal)
           return;
         if (checkIndex("state", word->value(), length(index.states())) &&
             !isOpen(*index.states()->Get(word->value())->type()))
           error("the extent of state ", word->value(), " is fixed");
       });
}

/// Whether source and destination share bytes; both slices are inside.
bool IndexVerifier::overlap(const ProgramState &state,
                            const fb::Copy &copy) const {
  const fb::Buffer &source = *state.program.buffers()->Get(copy.source());
  const fb::Buffer &target = *state.program.buffers()->Get(copy.destination());
  const bool sameMemory = source.role() == target.role() &&
                          (source.role() == fb::BufferRole::Arena ||
                           source.index() == target.index());
  const uint64_t from = source.offset() + copy.source_offset();
  const uint64_t to = target.offset() + copy.destination_offset();
  return sameMemory && from < to + copy.size() && to < from + copy.size();
}

void IndexVerifier::checkCommand(ProgramState &state,
                                 const fb::Command &command, uint32_t number) {
  checkText("location", command.location());
  bool programmatic = false;
  switch (command.body_type()) {
  case fb::CommandBody::Dispatch: {
    const fb::Dispatch &dispatch = *command.body_as_Dispatch();
    programmatic = dispatch.programmatic();
    checkDispatch(state, dispatch);
    break;
  }
  case fb::CommandBody::FillBuffer: {
    const fb::FillBuffer &fill = *command.body_as_FillBuffer();
    checkSlice(state, "destination", fill.destination(), fill.offset(),
               fill.size(), false);
    checkWrite(state, "destination", fill.destination());
    if (fill.offset() % 4 != 0 || fill.size() % 4 != 0)
      error("bytes ", fill.offset(), " to +", fill.size(),
            " are not made of whole words");
    break;
  }
  case fb::CommandBody::Copy: {
    const fb::Copy &copy = *command.body_as_Copy();
    const bool source = checkSlice(state, "source", copy.source(),
                                   copy.source_offset(), copy.size(), false);
    const bool target =
        checkSlice(state, "destination", copy.destination(),
                   copy.destination_offset(), copy.size(), false);
    checkWrite(state, "destination", copy.destination());
    if (source && target && overlap(state, copy))
      error("source and destination overlap");
    break;
  }
  default:
    error("the command's type ", uint64_t(command.body_type()),
          " is unknown; known: Dispatch, FillBuffer, Copy");
    break;
  }
  each("waits", command.waits(), [&](const fb::Wait *wait, uint32_t) {
    if (wait->command() >= number)
      return error("waits for command ", wait->command(),
                   ", which is not before command ", number);
    if (!checkEnum("edge", wait->edge(), fb::EnumNamesEdgeKind()) ||
        wait->edge() == fb::EdgeKind::Full)
      return;
    const fb::Command &earlier =
        *state.program.commands()->Get(wait->command());
    if (!programmatic || earlier.body_type() != fb::CommandBody::Dispatch)
      error("a programmatic edge leads from a dispatch to a programmatic "
            "dispatch only");
  });
}

/// Nobody may read a result that was never written.
void IndexVerifier::checkWrittenValues(const ProgramState &state) {
  const fb::BufferRole role =
      state.isLoad ? fb::BufferRole::Computed : fb::BufferRole::Output;
  std::vector<bool> written(state.isLoad ? length(state.target.computed())
                                         : length(state.program.outputs()));
  for (uint32_t i = 0; i != state.written.size(); ++i) {
    const fb::Buffer &buffer = *state.program.buffers()->Get(i);
    if (state.written[i] && buffer.role() == role &&
        buffer.index() < written.size())
      written[buffer.index()] = true;
  }
  for (size_t i = 0; i != written.size(); ++i)
    if (!written[i])
      error("no command writes ",
            state.isLoad ? "the target's computed" : "outputs", "[", i, "]");
}

void IndexVerifier::checkProgram(const fb::Target &target,
                                 const fb::Program &program, bool isLoad) {
  if (isLoad && view(program.entry()).size() != 0)
    error("the load program is no entry, but is named ",
          weights::quoted(view(program.entry())));
  if (!isLoad)
    checkName("entry", program.entry());
  if (const fb::EntryKey *key = program.key()) {
    Scope scope(*this, "key");
    checkEnum("phase", key->phase(), fb::EnumNamesPhase());
    checkEnum("cache", key->cache(), fb::EnumNamesCacheLayout());
    checkEnum("logits", key->logits(), fb::EnumNamesLogits());
    checkText("suffix", key->suffix());
    checkText("activation", key->activation());
    checkText("kv", key->kv());
    checkText("accumulate", key->accumulate());
  }
  if (isLoad && (length(program.slots()) || length(program.outputs())))
    error("the load program has slots or outputs");
  checkNamedValues("slots", program.slots(), false);
  checkNamedValues("outputs", program.outputs(), false);

  ProgramState state{target, program, isLoad, {}};
  // The vector's size is bounded by the index's only once its elements have
  // been paid for.
  if (!spend(length(program.buffers())))
    return;
  state.written.resize(length(program.buffers()));
  each("buffers", program.buffers(), [&](const fb::Buffer *buffer, uint32_t) {
    checkBuffer(state, *buffer);
  });
  each("tensor_maps", program.tensor_maps(),
       [&](const fb::TensorMap *map, uint32_t) {
         checkText("element", map->element());
         checkAligned("extents", map->extents());
         checkAligned("strides", map->strides());
         if (!checkIndex("buffer", map->buffer(), length(program.buffers())))
           return;
         const uint64_t rank = length(map->extents());
         if (rank < 1 || rank > 5 || length(map->box()) != rank ||
             length(map->strides()) + 1 != rank)
           error("has ", rank, " extents, ", length(map->strides()),
                 " strides and a box of ", length(map->box()),
                 "; n, n - 1 and n are needed, n from 1 to 5");
       });
  each("commands", program.commands(),
       [&](const fb::Command *command, uint32_t i) {
         checkCommand(state, *command, i);
       });
  if (!exhausted)
    checkWrittenValues(state);
}

void IndexVerifier::checkTarget(const fb::Target &target) {
  checkName("name", target.name());
  checkFeatures(target.required_features());
  each("kernels", target.kernels(),
       [&](const fb::Kernel *kernel, uint32_t) { checkKernel(*kernel); });
  checkNamedValues("computed", target.computed(), false);
  if (target.load()) {
    Scope scope(*this, "load");
    checkProgram(target, *target.load(), true);
  } else if (length(target.computed()) != 0) {
    error("has computed values, but no load program");
  }
  std::unordered_set<std::string_view> entries;
  each("programs", target.programs(),
       [&](const fb::Program *program, uint32_t) {
         checkProgram(target, *program, false);
         if (!entries.insert(view(program->entry())).second)
           error("the entry ", weights::quoted(view(program->entry())),
                 " is taken by an earlier program");
       });
}

std::vector<std::string> IndexVerifier::run() {
  checkText("producer", index.producer());
  std::unordered_set<std::string_view> keys;
  each("model", index.model(), [&](const fb::KeyValue *pair, uint32_t) {
    checkName("key", pair->key());
    // A value may be any text of any length, such as a chat template.
    spend(pair->value()->size());
    if (!keys.insert(view(pair->key())).second)
      error("the key ", weights::quoted(view(pair->key())),
            " is taken by an earlier one");
  });
  checkSections();
  checkConsts();
  checkNamedValues("states", index.states(), true);
  std::unordered_set<std::string_view> names;
  each("targets", index.targets(), [&](const fb::Target *target, uint32_t) {
    checkTarget(*target);
    if (!names.insert(view(target->name())).second)
      error("the name ", weights::quoted(view(target->name())),
            " is taken by an earlier target");
  });
  if (omitted != 0)
    messages.push_back(weights::concat("and ", omitted, " more"));
  if (exhausted)
    messages.push_back("the index refers to the same data over and over");
  return std::move(messages);
}

} // namespace

bool bundle::isOpen(const fb::TensorType &type) {
  if (length(type.shape()) == 0)
    return false;
  // The verifier asks this of types whose alignment is wrong, too.
  int64_t outermost;
  std::memcpy(&outermost, type.shape()->Data(), sizeof outermost);
  return flatbuffers::EndianScalar(outermost) == -1;
}

std::vector<std::string> bundle::verifyIndex(const fb::Bundle &index,
                                             uint64_t indexSize,
                                             uint64_t dataSize,
                                             size_t maxMessages) {
  return IndexVerifier(index, indexSize, dataSize, maxMessages).run();
}
