//===- PlanPasses.td - Passes over plans -------------------------*- tablegen -*-//

#ifndef POOT_DIALECT_PLAN_PLANPASSES_TD
#define POOT_DIALECT_PLAN_PLANPASSES_TD

include "mlir/Pass/PassBase.td"

def PlanAssignArena : Pass<"plan-assign-arena", "::poot::plan::ProgramOp"> {
  let summary = "Give each arena buffer its place";
  let description = [{
    A buffer lives from the first command that uses it to the last. Buffers are
    placed largest first, each in the lowest gap among those placed already
    that live at the same time; offsets are multiples of 256. Sets the
    program's `arena_size`, and `arena_lower_bound`: the most bytes that live
    at one time, which no placement can beat.
  }];
}

def PlanAddEdges : Pass<"plan-add-edges", "::poot::plan::ProgramOp"> {
  let summary = "Make each command wait for those it depends on";
  let description = [{
    A command waits for earlier ones that wrote bytes it uses, or that used
    bytes it writes. Waits that others imply are left out. Runs after
    `plan-assign-arena`, since buffers that share a place depend on each other.
  }];
}

#endif
