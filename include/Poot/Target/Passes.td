//===- Passes.td - Passes that lower kernels to a target ------------------===//

#ifndef POOT_TARGET_PASSES_TD
#define POOT_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

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
                        "vulkan:base (32-bit types), vulkan:f16 (all types) or "
                        "vulkan:coopmat (cooperative matrices too)">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::spirv::SPIRVDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // POOT_TARGET_PASSES_TD
