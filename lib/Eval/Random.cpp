//===- Random.cpp - Counter-based random words ----------------------------===//

#include "Ops.h"
#include "Poot/Eval/Philox.h"

using namespace mlir;
using namespace poot;
using namespace poot::eval;

/// Element i is word i mod 4 of the block with counter
/// (i / 4, 0, seed[2], seed[3]) under the key (seed[0], seed[1])
/// (G-random_bits-2).
Result eval::evaluate(graph::RandomBitsOp op, Operands operands,
                      const EvalOptions &) {
  Result result = allocateResult(op);
  if (failed(result))
    return failure();
  const uint32_t *seed = operands[0].dataAs<uint32_t>();
  uint32_t *out = result->mutableData<uint32_t>();
  for (int64_t i = 0, count = result->getNumElements(); i < count; i += 4) {
    auto words =
        philox4x32({seed[0], seed[1]}, {uint32_t(i / 4), 0, seed[2], seed[3]});
    std::copy_n(words.begin(), std::min<int64_t>(4, count - i), out + i);
  }
  return result;
}
