//===- Variants.cpp - Which kernel of the library serves ------------------===//

#include "Variants.h"
#include "llvm/ADT/StringRef.h"

namespace poot::planner {

/// Rows that take a workgroup each. Shorter ones take an invocation, which
/// needs no barrier.
static constexpr int64_t kGroupLength = 33;
/// Positions of a cache that are too few for a workgroup.
static constexpr int64_t kFewPositions = 32;

namespace {
struct Variant {
  Family family;
  llvm::StringLiteral kernel;
  bool (*serves)(const Demand &);
};
} // namespace

static bool isLong(const Demand &d) { return d.depth >= kGroupLength; }
static bool always(const Demand &) { return true; }
/// f16 goes through fragments, which round f32 sums alone.
static bool isHalf(const Demand &d) { return d.target.hasFragments && d.isF16; }
static bool isGpu(const Demand &d) { return !d.target.isCpu; }
/// Enough for tiles of 64 x 64, which do all of their work however little of
/// it counts.
static bool isTiled(const Demand &d) {
  return isGpu(d) && !d.isIndexed && d.rows > kFewRows && d.columns >= 32 &&
         d.depth >= 16;
}

// The first that serves is taken: from the widest loads and the most sharing
// to the form that always can.
static constexpr Variant kVariants[] = {
    {Family::Reduce, "row_reduce_group", isLong},
    {Family::Reduce, "row_reduce_lane", always},
    {Family::Scan, "row_scan", always},
    {Family::TopK, "arg_top_k", always},
    {Family::Softmax, "softmax_group", isLong},
    {Family::Softmax, "softmax_lane", always},
    {Family::RmsNorm, "rms_norm_group", isLong},
    {Family::RmsNorm, "rms_norm_lane", always},
    {Family::LayerNorm, "layer_norm_group", isLong},
    {Family::LayerNorm, "layer_norm_lane", always},

    {Family::Product, "matvec_subgroup",
     [](const Demand &d) {
       return d.isWeight && isGpu(d) && d.rows <= kFewRows;
     }},
    {Family::Product, "matvec_lane",
     [](const Demand &d) { return d.isWeight && !isGpu(d); }},
    {Family::Product, "matmul_fragment",
     [](const Demand &d) { return isHalf(d) && d.hasQuads && isTiled(d); }},
    {Family::Product, "matmul_tiled",
     [](const Demand &d) { return d.isF32 && isTiled(d); }},
    {Family::Product, "matmul_wide",
     [](const Demand &d) { return d.isF32 && d.hasQuads; }},
    {Family::Product, "matmul", always},

    {Family::IndexedProduct, "matmul_indexed", always},

    {Family::PackedProduct, "packed_lane",
     [](const Demand &d) { return !d.isPlanar; }},
    {Family::PackedProduct, "packed_fragment",
     [](const Demand &d) { return isHalf(d) && isTiled(d); }},
    {Family::PackedProduct, "packed_tiled", isTiled},
    {Family::PackedProduct, "packed_subgroup", isGpu},
    {Family::PackedProduct, "packed_lane", always},

    // Of a workgroup each invocation takes the scores of a position.
    {Family::Attention, "attention_lane",
     [](const Demand &d) { return d.depth <= kFewPositions; }},
    {Family::Attention, "attention_group", always},
    // Few positions aren't split.
    {Family::AttentionParts, "attention_split_group", always},
};

llvm::StringRef chooseVariant(const Demand &demand) {
  for (const Variant &variant : kVariants)
    if (variant.family == demand.family && variant.serves(demand))
      return variant.kernel;
  llvm_unreachable("every family ends with a form that always serves");
}

} // namespace poot::planner
