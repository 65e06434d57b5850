#include "Poot/Dialect/Kernel/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
namespace poot::kernel {
#define GEN_PASS_DEF_KERNELEXPANDMATH
#include "Poot/Dialect/Kernel/Passes.h.inc"
} // namespace poot::kernel
namespace {
struct ExpandMath : poot::kernel::impl::KernelExpandMathBase<ExpandMath> {
  void runOnOperation() override {}
};
} // namespace
