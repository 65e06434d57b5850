//===- KernelDialect.cpp - The kernel dialect and its types ---------------===//

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot::kernel;

namespace {
/// Everything may be inlined: hook bodies are, and kernels aren't called.
struct KernelInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

#include "Poot/Dialect/Kernel/KernelDialect.cpp.inc"
#include "Poot/Dialect/Kernel/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Poot/Dialect/Kernel/KernelAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Poot/Dialect/Kernel/KernelTypes.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Poot/Dialect/Kernel/KernelOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Poot/Dialect/Kernel/KernelTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Poot/Dialect/Kernel/KernelAttrs.cpp.inc"
      >();
  addInterfaces<KernelInlinerInterface>();
}

// Folded identifiers become constants.
Operation *KernelDialect::materializeConstant(OpBuilder &builder,
                                              Attribute value, Type type,
                                              Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

static bool isScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

static bool isElement(Type type) {
  if (isScalar(type))
    return true;
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && !vector.isScalable() &&
         (vector.getDimSize(0) == 2 || vector.getDimSize(0) == 4) &&
         isScalar(vector.getElementType());
}

static LogicalResult
verifyElementType(function_ref<InFlightDiagnostic()> emitError, Type type) {
  if (isElement(type))
    return success();
  return emitError() << "element type " << type
                     << " is none of i8, i16, i32, i64, f16, bf16, f32, f64 "
                        "and vectors of 2 or 4 of them";
}

Type poot::kernel::getElementType(Type memory) {
  return TypeSwitch<Type, Type>(memory)
      .Case<BufferType, WorkgroupType, TableType>(
          [](auto type) { return type.getElementType(); })
      .Default(Type());
}

unsigned poot::kernel::getElementBytes(Type element) {
  if (auto structure = dyn_cast<StructType>(element))
    return structure.getSize();
  if (auto vector = dyn_cast<VectorType>(element))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return element.getIntOrFloatBitWidth() / 8;
}

Type poot::kernel::getLeafType(Type memory, std::optional<uint32_t> leaf) {
  Type element = getElementType(memory);
  auto structure = dyn_cast_if_present<StructType>(element);
  if (!structure)
    return leaf ? Type() : element;
  if (!leaf || *leaf >= structure.getLeaves().size())
    return {};
  return structure.getLeaves()[*leaf];
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type elementType, Access) {
  if (isa<StructType>(elementType))
    return success();
  return verifyElementType(emitError, elementType);
}

//===----------------------------------------------------------------------===//
// Structures
//===----------------------------------------------------------------------===//

LogicalResult StructType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t size, ArrayRef<Type> leaves,
                                 ArrayRef<int64_t> counts,
                                 ArrayRef<int64_t> offsets) {
  if (leaves.empty() || leaves.size() != counts.size() ||
      leaves.size() != offsets.size())
    return emitError() << "a structure has at least one leaf";
  if (size < 1 || size > INT32_MAX)
    return emitError() << "structure of " << size << " bytes; allowed are 1 to "
                       << INT32_MAX;
  int64_t end = 0;
  for (auto [leaf, count, offset] : llvm::zip(leaves, counts, offsets)) {
    if (failed(verifyElementType(emitError, leaf)))
      return failure();
    int64_t bytes = getElementBytes(leaf);
    if (count < 1 || count > INT32_MAX)
      return emitError() << "leaf of " << count
                         << " elements; allowed are 1 to " << INT32_MAX;
    if (offset < end || offset > size || offset % bytes != 0)
      return emitError() << "leaf " << leaf << " at " << offset
                         << " overlaps the one before it, lies beyond the "
                            "structure or isn't aligned to "
                         << bytes;
    end = offset + count * bytes;
    if (size % bytes != 0)
      return emitError() << "size " << size << " isn't a multiple of leaf "
                         << leaf;
  }
  if (size < end)
    return emitError() << "leaves end at " << end << ", beyond the size "
                       << size;
  return success();
}

int64_t StructType::getAlignment() const {
  int64_t alignment = 1;
  for (Type leaf : getLeaves())
    alignment = std::max<int64_t>(alignment, getElementBytes(leaf));
  return alignment;
}

Type StructType::parse(AsmParser &parser) {
  int64_t size;
  SmallVector<Type> leaves;
  SmallVector<int64_t> counts, offsets;
  SMLoc loc = parser.getCurrentLocation();
  auto parseLeaf = [&]() -> ParseResult {
    counts.push_back(1);
    return failure(parser.parseType(leaves.emplace_back()) ||
                   (succeeded(parser.parseOptionalKeyword("x")) &&
                    parser.parseInteger(counts.back())) ||
                   parser.parseKeyword("at") ||
                   parser.parseInteger(offsets.emplace_back()));
  };
  if (parser.parseLess() || parser.parseInteger(size) || parser.parseColon() ||
      parser.parseCommaSeparatedList(parseLeaf) || parser.parseGreater())
    return {};
  return parser.getChecked<StructType>(loc, parser.getContext(), size, leaves,
                                       counts, offsets);
}

void StructType::print(AsmPrinter &printer) const {
  printer << '<' << getSize() << ": ";
  llvm::interleaveComma(llvm::seq<size_t>(0, getLeaves().size()), printer,
                        [&](size_t i) {
                          printer << getLeaves()[i];
                          if (getCounts()[i] != 1)
                            printer << " x " << getCounts()[i];
                          printer << " at " << getOffsets()[i];
                        });
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Workgroup arrays
//===----------------------------------------------------------------------===//

LogicalResult
WorkgroupType::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t size, Type elementType) {
  // Indices are i32 and signed.
  if (size < 1 || size > INT32_MAX)
    return emitError() << "workgroup array of " << size
                       << " elements; allowed are 1 to " << INT32_MAX;
  return verifyElementType(emitError, elementType);
}

/// `<8x4xf32>`: any number of extents, then a type.
static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<int64_t> &dims,
                              Type &elementType) {
  return failure(parser.parseLess() ||
                 parser.parseDimensionList(dims, /*allowDynamic=*/false) ||
                 parser.parseType(elementType));
}

template <typename ArrayType> static Type parseArray(AsmParser &parser) {
  SmallVector<int64_t, 1> dims;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, dims, elementType) || parser.parseGreater())
    return {};
  if (dims.size() != 1) {
    parser.emitError(loc, "expected one extent, as in `<64xf32>`");
    return {};
  }
  return parser.getChecked<ArrayType>(loc, parser.getContext(), dims[0],
                                      elementType);
}

Type WorkgroupType::parse(AsmParser &parser) {
  return parseArray<WorkgroupType>(parser);
}

void WorkgroupType::print(AsmPrinter &printer) const {
  printer << '<' << getSize() << 'x' << getElementType() << '>';
}

LogicalResult TableType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t size, Type elementType) {
  if (size < 1 || size > INT32_MAX)
    return emitError() << "table of " << size << " elements; allowed are 1 to "
                       << INT32_MAX;
  if (!isScalar(elementType))
    return emitError() << "a table holds scalars, not " << elementType;
  return success();
}

Type TableType::parse(AsmParser &parser) {
  return parseArray<TableType>(parser);
}

void TableType::print(AsmPrinter &printer) const {
  printer << '<' << getSize() << 'x' << getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// Private variables and fragments
//===----------------------------------------------------------------------===//

LogicalResult VarType::verify(function_ref<InFlightDiagnostic()> emitError,
                              ArrayRef<int64_t> shape, Type elementType) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > INT32_MAX / count)
      return emitError() << "an extent of " << extent
                         << "; a variable has 1 to " << INT32_MAX
                         << " elements";
    count *= extent;
  }
  auto vector = dyn_cast<VectorType>(elementType);
  Type scalar = vector ? vector.getElementType() : elementType;
  if (vector && (vector.getRank() != 1 || vector.isScalable()))
    return emitError() << "a vector of a variable has one extent";
  if (isScalar(scalar) || scalar.isInteger(1) || isa<FragmentType>(elementType))
    return success();
  return emitError() << "a variable can't hold " << elementType;
}

Type VarType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, dims, elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<VarType>(loc, parser.getContext(), dims,
                                    elementType);
}

void VarType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getShape())
    printer << extent << 'x';
  printer << getElementType() << '>';
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t rows, int64_t columns,
                                   Type elementType, FragmentUse) {
  auto isExtent = [](int64_t extent) {
    return extent == 8 || extent == 16 || extent == 32;
  };
  if (!isExtent(rows) || !isExtent(columns))
    return emitError() << "a fragment of " << rows << "x" << columns
                       << "; its extents are 8, 16 or 32";
  if (!isScalar(elementType))
    return emitError() << "a fragment can't hold " << elementType;
  return success();
}

Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type elementType;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, dims, elementType) || parser.parseComma() ||
      parser.parseKeyword(&keyword) || parser.parseGreater())
    return {};
  std::optional<FragmentUse> use = symbolizeFragmentUse(keyword);
  if (dims.size() != 2 || !use) {
    parser.emitError(loc, "expected a fragment as in `<16x16xf16, a>`, with a "
                          "use of a, b or accumulator");
    return {};
  }
  return parser.getChecked<FragmentType>(loc, parser.getContext(), dims[0],
                                         dims[1], elementType, *use);
}

void FragmentType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getColumns() << 'x' << getElementType()
          << ", " << stringifyFragmentUse(getUse()) << '>';
}
