//===- LibraryKernels.cpp - Ops that kernels of the library serve ---------===//

#include "LibraryKernels.h"

using namespace mlir;

namespace poot::planner {

LibraryKernel LibraryRequest::instantiate(StringRef variant,
                                          StringRef instance) const {
  return LibraryKernel(library, loc, (variant + "_" + instance).str(), request);
}

LibraryKernel LibraryRequest::instantiate(StringRef variant, Type type) const {
  if (!type)
    return LibraryKernel(library, loc, variant, request);
  std::string instance;
  llvm::raw_string_ostream(instance) << type;
  return instantiate(variant, instance);
}

Type accumulatorOf(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (element.isInteger() && element.getIntOrFloatBitWidth() < 32)
    return IntegerType::get(element.getContext(), 32);
  return element;
}

} // namespace poot::planner
