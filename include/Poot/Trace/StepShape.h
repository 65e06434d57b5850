//===- StepShape.h - The key and shape of one entry -----------------------===//
//
// What an entry is traced for, and what a driver chooses it by: the plain form
// of the attribute #graph.entry.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TRACE_STEPSHAPE_H
#define POOT_TRACE_STEPSHAPE_H

#include "poot/weights/element_type.h"

namespace poot::trace {

enum class Phase { Prefill, Decode };
enum class CacheLayout {
  Contiguous, ///< Each row owns `capacity` consecutive cache slots.
  Paged,      ///< A row's slots are blocks that its block table names.
};
enum class LogitsRows {
  Last, ///< Of each row's last real token.
  All,  ///< Of every token.
};
enum class Suffix {
  Greedy, ///< Output `next_token`: the most likely token of each row.
  Logits, ///< Output `logits` in f32.
};

/// f16, bf16 or f32.
struct Numerics {
  weights::ElementType activation = weights::ElementType::F32;
  weights::ElementType kv = weights::ElementType::F32;
  weights::ElementType accumulate = weights::ElementType::F32;
};

struct StepShape {
  Phase phase = Phase::Decode;
  int64_t rows = 1;     ///< Sequences that step together.
  int64_t tokens = 1;   ///< New tokens of each row, padding included.
  int64_t capacity = 1; ///< Positions of each row that the cache holds.
  CacheLayout cache = CacheLayout::Contiguous;
  int64_t blockSize = 16; ///< Slots of a block; paged only. Divides capacity.
  LogitsRows logits = LogitsRows::Last;
  Suffix suffix = Suffix::Greedy;
  Numerics numerics;
};

/// Success, or which member of SHAPE breaks which rule.
weights::Status verify(const StepShape &shape);

/// The entry's function name: `prefill_r1_t32_c1024_greedy`,
/// `decode_r4_c4096_paged_logits`. `_tN` stands where N is not 1, `_paged` and
/// `_all` where the cache is paged and all logits return.
std::string getEntryName(const StepShape &shape);

} // namespace poot::trace

#endif // POOT_TRACE_STEPSHAPE_H
