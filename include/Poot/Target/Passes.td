//===- Passes.td - Passes that lower kernels to a target ------------------===//

#ifndef POOT_TARGET_PASSES_TD
#define POOT_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelExpandAtomics
    : Pass<"kernel-expand-atomics", "::poot::kernel::FuncOp"> {
  let summary = "f32 atomics by compare and exchange";
  let description = [{
    Takes a structured kernel. Memory of f32 that an atomic operation touches
    becomes memory of i32; `add`, `min` and `max` become loops around
    `kernel.atomic_cas` on the bits. Where the operand and the old number don't
    compare, `min` and `max` leave the old one. A buffer with access `read` that
    is loaded atomically gets `read_write`, as an atomic load is an `or` with 0.

    What such an operation orders is ordered by barriers before and behind the
    loop: lavapipe of Mesa 22 ends a kernel early where the invocations of a
    workgroup pass different numbers of them within loops.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::spirv::SPIRVDialect"];
}

def KernelToSpirv : Pass<"kernel-to-spirv", "::mlir::ModuleOp"> {
  let summary = "turns each structured kernel.func into a spirv.module";
  let description = [{
    Takes kernels after `kernel-rotate-loops` and makes a `spirv.module` of the
    same name in place of each, ready to serialize: entry point, interface,
    workgroup size, and the fewest capabilities and extensions that its code
    needs. Buffer *i* is set 0, binding *i*; metadata are push constants in
    order, four bytes each.

    Private variables and constant tables become variables of the function,
    workgroup arrays that overlay others of the same element type share one
    variable, and what is left of loop hints controls the loops.

    A type that the target doesn't have, or an operation without a translation,
    is an error at its location.
  }];
  let options = [Option<"target", "target", "std::string", "\"vulkan:f16\"",
                        "vulkan:base (32-bit types), vulkan:f16 (all types), "
                        "vulkan:coopmat (cooperative matrices too) or "
                        "vulkan:cpu (all types, small workgroups)">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::spirv::SPIRVDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // POOT_TARGET_PASSES_TD
