//===- AttentionKernels.cpp - Rotations and attention ---------------------===//
//
// Fills the library's kernels for graph.rope and graph.attention
// (kernels/lib/rope.cpp and attention.cpp).
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"
#include "Variants.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using Values = SmallVector<KValue>;

static LogicalResult refuseHeads(const LibraryRequest &r) {
  return emitError(r.loc) << "'" << r.request.op->getName()
                          << "' has heads that no kernel holds; run "
                             "plan-decompose first";
}

bool hasRopeKernel(RopeOp op) {
  // An invocation takes two elements, rotated or not.
  return op.getType().getShape().back() % 2 == 0;
}

FailureOr<GeneratedKernel> makeRope(const LibraryRequest &r) {
  auto rope = cast<RopeOp>(r.request.op);
  if (!hasRopeKernel(rope))
    return refuseHeads(r);
  const OperandLayout &in = r.request.inputs[0];
  Extents rowShape(in.shape.begin(), in.shape.end() - 2);
  int64_t heads = in.shape[rowShape.size()], size = in.shape.back();
  int64_t rows = in.count() / (heads * size);
  LibraryKernel kernel = r.instantiate("rope");
  kernel.set("rows", rows);
  kernel.set("heads", heads);
  kernel.set("head_dim", size);
  kernel.set("rotary", r.request.inputs[1].shape.back());
  kernel.set("adjacent", rope.getPairs() == RopePairs::Adjacent);
  auto element = [&](OperandAccess &at, ArrayRef<KValue> i) {
    Index index = at.delinearize(i[0], rowShape);
    index.append({i[1], i[2]});
    return index;
  };
  kernel.fill("load", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.widen(at.load(0, element(at, i)))};
  });
  auto fillFactor = [&](StringRef hook, unsigned operand) {
    kernel.fill(hook, [&](OperandAccess &at, ArrayRef<KValue> i) {
      Index index = at.delinearize(i[0], rowShape);
      index.push_back(i[1]);
      return Values{at.widen(at.load(operand, index))};
    });
  };
  fillFactor("cosine", 1);
  fillFactor("sine", 2);
  bool isCacheWrite = r.request.updatesOutput();
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    KValue value = at.narrow(0, v[3]);
    if (!isCacheWrite) {
      at.store(0, element(at, v), value);
      return Values{};
    }
    // As a scatter, a number outside of the cache drops its row.
    KValue slot = at.load(3, at.delinearize(v[0], r.request.inputs[3].shape));
    at.k.ifThen((slot >= 0) & (slot < at.outputExtent()),
                [&] { at.store(0, {slot, v[1], v[2]}, value); });
    return Values{};
  });
  kernel.launchInvocations(rows * heads * size / 2);
  return r.finish(kernel);
}

/// Queries of one key head that a workgroup takes at most.
static constexpr int64_t kMaxQueries = 8;
/// Elements of a head at most.
static constexpr int64_t kMaxHeadSize = 256;

bool hasAttentionKernel(AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType()).getShape();
  auto result = cast<RankedTensorType>(op.getType()).getShape();
  return query.back() % 4 == 0 && query.back() <= kMaxHeadSize &&
         result.back() % 4 == 0 && result.back() <= kMaxHeadSize;
}

int64_t chooseAttentionSplits(AttentionOp op, const TargetInfo &target) {
  auto query = cast<RankedTensorType>(op.getQuery().getType()).getShape();
  auto keys = cast<RankedTensorType>(op.getKeys().getType()).getShape();
  int64_t heads = query[2], keyHeads = keys[1];
  int64_t workgroups =
      query[0] * keyHeads *
      llvm::divideCeilSigned(query[1] * (heads / keyHeads), kMaxQueries);
  if (workgroups >= target.workgroupsWanted)
    return 1;
  // A part has positions for the invocations of a workgroup.
  constexpr int64_t positions = 128;
  int64_t most = llvm::divideCeilSigned(op.getCapacity(), positions);
  return std::max<int64_t>(
      1, std::min(target.workgroupsWanted / workgroups, most));
}

/// Joins the results of parts of the positions.
static FailureOr<GeneratedKernel> makeCombine(const LibraryRequest &r) {
  ArrayRef<int64_t> parts = r.request.inputs[0].shape;
  LibraryKernel kernel = r.instantiate("attention_combine");
  kernel.bind(0, 0);
  kernel.bind(1, 1);
  kernel.set("rows", parts[0]);
  kernel.set("tokens", parts[1]);
  kernel.set("heads", parts[2]);
  kernel.set("splits", parts[3]);
  kernel.set("value_dim", parts[4]);
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    at.store(0, v.take_front(4), at.narrow(0, v[4]));
    return Values{};
  });
  kernel.launchInvocations(r.request.outputs[0].count());
  return r.finish(kernel);
}

FailureOr<GeneratedKernel> makeAttention(const LibraryRequest &r) {
  if (r.request.inputs.size() == 2)
    return makeCombine(r);
  auto attention = cast<AttentionOp>(r.request.op);
  if (!hasAttentionKernel(attention))
    return refuseHeads(r);
  ArrayRef<int64_t> query = r.request.inputs[0].shape;
  ArrayRef<int64_t> values = r.request.inputs[2].shape;
  int64_t rows = query[0], tokens = query[1], heads = query[2];
  int64_t keyHeads = values[1];
  bool isPaged = r.request.inputs.size() == 5;
  bool isSplit = r.request.outputs.size() == 2;
  int64_t splits = isSplit ? r.request.outputs[0].shape[3] : 1;
  int64_t queries = tokens * (heads / keyHeads);
  int64_t block = std::min(queries, kMaxQueries);

  int64_t capacity = attention.getCapacity();
  StringRef variant =
      chooseVariant({isSplit ? Family::AttentionParts : Family::Attention,
                     r.target, rows, capacity});
  LibraryKernel kernel = r.instantiate(variant);
  kernel.set("rows", rows);
  kernel.set("tokens", tokens);
  kernel.set("heads", heads);
  kernel.set("kv_heads", keyHeads);
  kernel.set("head_dim", query[3]);
  kernel.set("value_dim", values[2]);
  kernel.set("score_scale", attention.getScale().convertToDouble());
  kernel.set("block", block);
  kernel.set("splits", splits);

  kernel.fill("load_query4", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.loadQuad(0, i)};
  });
  kernel.fill("load_key4", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.loadQuad(1, i)};
  });
  kernel.fill("load_value4", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.loadQuad(2, i)};
  });
  kernel.fill("position", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{at.load(3, i)};
  });
  if (isPaged)
    kernel.fill("slot", [&](OperandAccess &at, ArrayRef<KValue> i) {
      // A slot outside the cache is clamped, so that no access leaves it.
      KValue slot = at.load(4, i.take_front(2));
      KValue last = at.outermostExtent(1) - 1;
      return Values{at.k.max(at.k.min(slot, last), at.k.i32(0))};
    });
  // Positions of a row, and of a part of them.
  kernel.compute(0, [&](OperandAccess &at) { return at.k.i32(capacity); });
  if (isSplit) {
    kernel.compute(1, [&](OperandAccess &at) {
      return at.k.i32(llvm::divideCeilSigned(capacity, splits));
    });
    unsigned numInputs = r.request.inputs.size();
    kernel.bind(4, numInputs);
    kernel.bind(5, numInputs + 1);
  } else {
    kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
      at.store(0, v.take_front(4), at.narrow(0, v[4]));
      return Values{};
    });
  }
  if (variant.ends_with("_lane"))
    kernel.launchInvocations(rows * tokens * heads);
  else
    kernel.launchWorkgroups(rows * keyHeads *
                            llvm::divideCeilSigned(queries, block) * splits);
  return r.finish(kernel);
}

} // namespace poot::planner
