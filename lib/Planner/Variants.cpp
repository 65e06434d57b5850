//===- Variants.cpp - Which kernel of the library serves ------------------===//

#include "Variants.h"
#include "llvm/ADT/StringRef.h"

namespace poot::planner {

/// Rows that take a workgroup each. Shorter ones take an invocation, which
/// needs no barrier.
static constexpr int64_t kGroupLength = 33;
/// Most rows that share the loads of a weight.
static constexpr int64_t kFewRows = 8;

namespace {
struct Variant {
  Family family;
  llvm::StringLiteral kernel;
  bool (*serves)(const Demand &);
};
} // namespace

static bool isLong(const Demand &d) { return d.depth >= kGroupLength; }
static bool always(const Demand &) { return true; }
static bool isFewRows(const Demand &d) {
  return d.isWeight && d.hasQuads && d.batches == 1 && d.rows <= kFewRows;
}
static bool hasSubgroups(const Demand &d) { return d.target.prefersSubgroups; }

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
     [](const Demand &d) { return isFewRows(d) && hasSubgroups(d); }},
    {Family::Product, "matvec_lane", isFewRows},
    // A tile is 64 x 64: smaller products leave most of its work undone.
    {Family::Product, "matmul_tiled",
     [](const Demand &d) {
       return d.isF32 && d.target.prefersTiles && d.rows >= 32 &&
              d.columns >= 32 && d.depth >= 16;
     }},
    {Family::Product, "matmul_wide",
     [](const Demand &d) { return d.isF32 && d.hasQuads; }},
    {Family::Product, "matmul", always},

    {Family::IndexedProduct, "matmul_indexed", always},

    {Family::PackedProduct, "packed_lane",
     [](const Demand &d) { return !d.isPlanar; }},
    {Family::PackedProduct, "packed_tiled",
     [](const Demand &d) {
       return d.target.prefersTiles && !d.isIndexed && d.rows > kFewRows &&
              d.columns >= 32;
     }},
    {Family::PackedProduct, "packed_subgroup", hasSubgroups},
    {Family::PackedProduct, "packed_lane", always},

    {Family::Attention, "attention_group", hasSubgroups},
    {Family::Attention, "attention_lane", always},
    {Family::AttentionParts, "attention_split_group", hasSubgroups},
    {Family::AttentionParts, "attention_split_lane", always},
};

llvm::StringRef chooseVariant(const Demand &demand) {
  for (const Variant &variant : kVariants)
    if (variant.family == demand.family && variant.serves(demand))
      return variant.kernel;
  llvm_unreachable("every family ends with a form that always serves");
}

} // namespace poot::planner
