//===- PlannerPasses.td - From graph to plan ---------------------*- tablegen -*-//

#ifndef POOT_PLANNER_PLANNERPASSES_TD
#define POOT_PLANNER_PLANNERPASSES_TD

include "mlir/Pass/PassBase.td"

def PlanLowerGraph : Pass<"plan-lower-graph", "::mlir::ModuleOp"> {
  let summary = "Turn every function of the graph into a program of a target";
  let description = [{
    Each entry, and the load function, becomes a `plan.program`. View ops
    (transpose, reshape, slice, broadcast) become strides where strides can
    express them; every other op becomes a dispatch of a generated kernel, which
    equal requests share. A scatter into a state's own old value updates the
    state in place; reading the old value afterwards is an error that names the
    reader. An operand beyond the target's binding size is split into several
    dispatches.

    Runs once for each target; the functions stay until `plan-erase-graph`.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"vulkan\"",
           "target to plan for: vulkan, vulkan:base, vulkan:f16">,
    Option<"testVectors", "test-vectors", "bool", /*default=*/"false",
           "give each kernel a seeded check whose expected values the oracle "
           "computes">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
    "::poot::kernel::KernelDialect", "::poot::plan::PlanDialect",
  ];
}

def PlanEraseGraph : Pass<"plan-erase-graph", "::mlir::ModuleOp"> {
  let summary = "Drop the functions that programs have replaced";
}

#endif
