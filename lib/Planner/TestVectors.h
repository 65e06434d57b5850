//===- TestVectors.h - Seeded checks of kernels -----------------*- C++ -*-===//
//
// Each kernel of a bundle carries a check that needs no model: inputs that a
// seed generates, and output elements that the oracle expects of them.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_TESTVECTORS_H
#define POOT_LIB_PLANNER_TESTVECTORS_H

#include "Poot/Planner/Kernels.h"

namespace poot::planner {

/// Makes the check of `kernel`, as the dictionary that kTestVectorAttr holds:
///
///   grid      array<i64>
///   metadata  array<i64>: the words passed by value
///   inputs    a dictionary for each argument: bytes, element, fill, low, high,
///             seed, planar_row
///   expected  a dictionary for each output: argument, element, index
///             (array<i64>: elements from the argument's start), value
///             (array<f64>), absolute_tolerance, relative_tolerance
///
/// Null where the kernel has none: it works on a part of a table or of the
/// positions of attention, an extent is open, its operands are too large to
/// generate in a moment, updates of one row would race, a norm centres equal
/// numbers, or the oracle refuses the generated inputs.
mlir::DictionaryAttr makeTestVector(mlir::Location loc,
                                    const KernelRequest &request,
                                    const GeneratedKernel &kernel);

} // namespace poot::planner

#endif
