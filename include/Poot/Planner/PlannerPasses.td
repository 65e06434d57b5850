//===- PlannerPasses.td - From graph to plan ---------------------*- tablegen -*-//

#ifndef POOT_PLANNER_PLANNERPASSES_TD
#define POOT_PLANNER_PLANNERPASSES_TD

include "mlir/Pass/PassBase.td"

def PlanDecompose : Pass<"plan-decompose", "::mlir::ModuleOp"> {
  let summary = "Composites that no kernel holds become primitives";
  let description = [{
    The kernel library has a form for every composite op, but not for every size:
    heads of attention have at most 256 elements, and a multiple of 4; those of a
    rotation an even number. What it has none for decomposes, and so does
    `graph.fused`, which later passes alone make. Runs before
    `graph-hoist-computed`, so that what comes of it is hoisted, too.
  }];
}

def PlanUseKernels : Pass<"plan-use-kernels", "::mlir::ModuleOp"> {
  let summary = "Give ops to the kernels of the user's that implement them";
  let description = [{
    A kernel whose attribute `implements` names an op or an expression of ops,
    such as `silu`, takes the place of every such op whose types it serves: what
    it computes becomes a `graph.fused`, which it serves on every target.
    Kernels come from `files`, and from modules within the module. One that
    doesn't keep to [the contract](../own-kernels.md) is an error, and one that
    finds nothing a warning.

    Runs once nothing else rewrites the graph.
  }];
  let options = [
    ListOption<"files", "files", "std::string",
               ".kir.json and .mlir files of kernels">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::math::MathDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect", "::poot::kernel::KernelDialect",
  ];
}

def PlanFuseProducts : Pass<"plan-fuse-products", "::mlir::ModuleOp"> {
  let summary = "Element-wise ops become part of the products whose sums they take";
  let description = [{
    A matrix product and the element-wise ops that its result alone leads to, up
    to the last of them, become a `graph.fused`: one kernel of the library, whose
    store hook computes the ops on each sum. Activations, residuals and casts then
    write and read no memory of their own. Where two products of few rows with the
    same left operand and packed weights alike meet in these ops, as gate and up
    do in a feed-forward layer, one kernel computes both.

    Runs after `plan-use-kernels`, so that ops which a user's kernel implements
    are that kernel's.
  }];
}

def PlanLowerGraph : Pass<"plan-lower-graph", "::mlir::ModuleOp"> {
  let summary = "Turn every function of the graph into a program of a target";
  let description = [{
    Each entry, and the load function, becomes a `plan.program`. View ops
    (transpose, reshape, slice, broadcast) become strides where strides can
    express them; every other op becomes a dispatch of a kernel, which equal requests
    share: one of the kernel library (kernels/lib) that is specialized, or one
    that is generated for element-wise ops, gathers, scatters and random words. A
    scatter into a state's own old value updates the state in place; reading the
    old value afterwards is an error that names the reader. An operand beyond the
    target's binding size is split into several dispatches; a stack of matrices
    that rows choose of, and what is summed, can't be.

    Runs once for each target; the functions stay until `plan-erase-graph`.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"vulkan\"",
           "target to plan for: vulkan, vulkan:base, vulkan:f16, "
           "vulkan:coopmat, vulkan:cpu, interp">,
    Option<"testVectors", "test-vectors", "bool", /*default=*/"false",
           "give each kernel a seeded check whose expected values the oracle "
           "computes">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::math::MathDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect",
    "::poot::kernel::KernelDialect", "::poot::plan::PlanDialect",
  ];
}

def PlanEraseGraph : Pass<"plan-erase-graph", "::mlir::ModuleOp"> {
  let summary = "Drop the functions that programs have replaced, and the kernels "
                "that they were made with";
}

#endif
