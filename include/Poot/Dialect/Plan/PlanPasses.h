//===- PlanPasses.h - Passes over plans -------------------------*- C++ -*-===//

#ifndef POOT_DIALECT_PLAN_PLANPASSES_H
#define POOT_DIALECT_PLAN_PLANPASSES_H

#include "Poot/Dialect/Plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace poot::plan {

#define GEN_PASS_DECL
#include "Poot/Dialect/Plan/PlanPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "Poot/Dialect/Plan/PlanPasses.h.inc"

} // namespace poot::plan

#endif
