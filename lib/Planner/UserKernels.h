//===- UserKernels.h - Kernels of the user's serve ops ----------*- C++ -*-===//
//
// A kernel of the user's says in its attribute `implements` which op or
// expression of ops it computes. Files of such kernels become modules within
// the graph's module; where the graph has what they implement, a `graph.fused`
// takes its place, which the kernel then serves as one of the library does.
// docs/own-kernels.md is the contract.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_USERKERNELS_H
#define POOT_LIB_PLANNER_USERKERNELS_H

#include "LibraryKernels.h"

namespace poot::planner {

/// The kernel that computes `op`; null if the module has none.
kernel::FuncOp findUserKernel(graph::FusedOp op);

/// How far results of `func` may be from the oracle's, as its attribute
/// `tolerance` says, absolutely and relatively. Nothing without one.
std::optional<double> getTolerance(kernel::FuncOp func);

mlir::FailureOr<GeneratedKernel> makeFused(const LibraryRequest &request);

} // namespace poot::planner

#endif
