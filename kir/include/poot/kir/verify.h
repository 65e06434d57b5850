// What makes a module of KIR well-formed.

#ifndef POOT_KIR_VERIFY_H
#define POOT_KIR_VERIFY_H

#include "poot/kir/kir.h"
#include "poot/weights/status.h"

namespace poot::kir {

/// Checks everything that whoever executes or translates a module relies on:
/// indices into the tables, types, counts, attributes, terminators, successors,
/// that definitions dominate their uses, and that hooks neither dangle nor call
/// themselves. The message names the function, the block and the op. What
/// depends on numbers known at run time (indices, divisors) isn't checked.
weights::Status verify(const Module &module);

} // namespace poot::kir

#endif // POOT_KIR_VERIFY_H
