//===- KernelDialect.cpp - The kernel dialect and its types ---------------===//

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace poot::kernel;

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

static LogicalResult
verifyElementType(function_ref<InFlightDiagnostic()> emitError, Type type) {
  if (isScalar(type))
    return success();
  if (auto vector = dyn_cast<VectorType>(type))
    if (vector.getRank() == 1 && !vector.isScalable() &&
        (vector.getDimSize(0) == 2 || vector.getDimSize(0) == 4) &&
        isScalar(vector.getElementType()))
      return success();
  return emitError() << "element type " << type
                     << " is none of i8, i16, i32, i64, f16, bf16, f32, f64 "
                        "and vectors of 2 or 4 of them";
}

Type poot::kernel::getElementType(Type memory) {
  return TypeSwitch<Type, Type>(memory)
      .Case<BufferType, WorkgroupType>(
          [](auto type) { return type.getElementType(); })
      .Default(Type());
}

unsigned poot::kernel::getElementBytes(Type element) {
  if (auto vector = dyn_cast<VectorType>(element))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return element.getIntOrFloatBitWidth() / 8;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type elementType, Access) {
  return verifyElementType(emitError, elementType);
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

Type WorkgroupType::parse(AsmParser &parser) {
  SmallVector<int64_t, 1> dims;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(dims, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  if (dims.size() != 1) {
    parser.emitError(loc, "expected one extent, as in `<64xf32>`");
    return {};
  }
  return parser.getChecked<WorkgroupType>(loc, parser.getContext(), dims[0],
                                          elementType);
}

void WorkgroupType::print(AsmPrinter &printer) const {
  printer << '<' << getSize() << 'x' << getElementType() << '>';
}
