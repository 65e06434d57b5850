//===- StepShape.cpp - The key and shape of one entry ---------------------===//

#include "Poot/Trace/StepShape.h"

#include <utility>

using namespace poot;
using namespace poot::trace;
using weights::ElementType;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

/// Far beyond any model, and small enough that no product of two overflows.
static constexpr int64_t kMaxExtent = int64_t(1) << 24;

Status trace::verify(const StepShape &shape) {
  for (auto [name, value] : {std::pair{"rows", shape.rows},
                             {"tokens", shape.tokens},
                             {"capacity", shape.capacity}})
    if (value < 1 || value > kMaxExtent)
      return makeError(StatusCode::InvalidArgument, "step shape: ", name,
                       " is ", value, "; it must be 1 to ", kMaxExtent);
  if (shape.tokens > shape.capacity)
    return makeError(StatusCode::InvalidArgument, "step shape: ", shape.tokens,
                     " tokens a row do not fit a cache of ", shape.capacity,
                     " positions");
  if (shape.cache == CacheLayout::Paged &&
      (shape.blockSize < 1 || shape.capacity % shape.blockSize != 0))
    return makeError(StatusCode::InvalidArgument,
                     "step shape: the block size is ", shape.blockSize,
                     "; it must divide the capacity, ", shape.capacity);
  if (shape.suffix == Suffix::Greedy && shape.logits == LogitsRows::All)
    return makeError(StatusCode::InvalidArgument,
                     "step shape: the greedy suffix takes the last token's "
                     "logits; all logits return with the suffix logits only");
  for (auto [name, type] : {std::pair{"activation", shape.numerics.activation},
                            {"kv", shape.numerics.kv},
                            {"accumulate", shape.numerics.accumulate}})
    if (type != ElementType::F32 && type != ElementType::F16 &&
        type != ElementType::BF16)
      return makeError(StatusCode::InvalidArgument, "step shape: the ", name,
                       " type is ", weights::getName(type),
                       "; it must be f32, f16 or bf16");
  return {};
}

std::string trace::getEntryName(const StepShape &shape) {
  std::string name = shape.phase == Phase::Prefill ? "prefill" : "decode";
  name += "_r" + std::to_string(shape.rows);
  if (shape.tokens != 1)
    name += "_t" + std::to_string(shape.tokens);
  name += "_c" + std::to_string(shape.capacity);
  if (shape.cache == CacheLayout::Paged)
    name += "_paged";
  if (shape.logits == LogitsRows::All)
    name += "_all";
  return name + (shape.suffix == Suffix::Greedy ? "_greedy" : "_logits");
}
