//===- IndexedKernels.cpp - Gather, scatter and random bits --------------===//
//
// Bodies with one invocation an element whose addresses or values depend on
// data.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using kernel::KernelBuilder;

void buildGather(KernelBody &body) {
  KernelBuilder &k = body.k;
  auto gather = cast<GatherOp>(body.request.op);
  size_t dim = gather.getDim();
  size_t indexRank = body.input(1).shape.size();
  KValue id = body.linearId(body.output().count());
  Index out = body.delinearize(id, body.output().shape);

  Index where(out.begin() + dim, out.begin() + dim + indexRank);
  KValue row = body.load(1, where);
  // An index outside the extent is clamped, so that no access leaves its
  // buffer.
  bool isPart = body.request.tableRows >= 0;
  KValue extent = isPart     ? k.i32(body.request.tableRows)
                  : dim == 0 ? body.outermostExtent(0)
                             : k.i32(body.input(0).shape[dim]);
  row = k.max(k.min(row, extent - 1), k.i32(0));
  if (isPart) {
    row = row - body.request.firstRow;
    k.returnIf((row < 0) | (row >= body.input(0).shape[dim]));
  }

  Index data(out.begin(), out.begin() + dim);
  data.push_back(row);
  data.append(out.begin() + dim + indexRank, out.end());
  body.store(0, out, body.load(0, data));
}

void buildScatter(KernelBody &body) {
  KernelBuilder &k = body.k;
  const OperandLayout &indices = body.input(0);
  const OperandLayout &updates = body.input(1);
  KValue id = body.linearId(updates.count());
  Index from = body.delinearize(id, updates.shape);
  Index where(from.begin(), from.begin() + indices.shape.size());
  KValue row = body.load(0, where);
  // Index -1 drops its row; any other index outside is dropped likewise.
  k.returnIf((row < 0) | (row >= body.outputExtent()));
  Index to = {row};
  to.append(from.begin() + indices.shape.size(), from.end());
  body.store(0, to, body.load(1, from));
}

void buildRandomBits(KernelBody &body) {
  KernelBuilder &k = body.k;
  // Philox4x32-10 with the constants of Salmon et al., "Parallel random
  // numbers: as easy as 1, 2, 3", SC 2011.
  constexpr int64_t kMultiplier0 = int32_t(0xD2511F53);
  constexpr int64_t kMultiplier1 = int32_t(0xCD9E8D57);
  constexpr int64_t kWeyl0 = int32_t(0x9E3779B9);
  constexpr int64_t kWeyl1 = int32_t(0xBB67AE85);

  int64_t count = body.output().count();
  KValue id = body.linearId((count + 3) / 4);
  auto seed = [&](int64_t i) { return body.load(0, {k.i32(i)}); };
  KValue key0 = seed(0), key1 = seed(1);
  KValue counter[4] = {id, k.i32(0), seed(2), seed(3)};
  auto multiply = [&](KValue value, int64_t by) -> std::pair<KValue, KValue> {
    auto product = arith::MulUIExtendedOp::create(k.getOpBuilder(), k.getLoc(),
                                                  value, k.i32(by));
    return {KValue(k, product.getLow()), KValue(k, product.getHigh())};
  };
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = multiply(counter[0], kMultiplier0);
    auto [low1, high1] = multiply(counter[2], kMultiplier1);
    KValue next0 = high1 ^ counter[1] ^ key0;
    KValue next2 = high0 ^ counter[3] ^ key1;
    counter[0] = next0;
    counter[1] = low1;
    counter[2] = next2;
    counter[3] = low0;
    key0 = key0 + kWeyl0;
    key1 = key1 + kWeyl1;
  }
  for (int64_t word = 0; word < 4; ++word) {
    KValue element = id * 4 + word;
    auto write = [&] {
      body.store(0, body.delinearize(element, body.output().shape),
                 counter[word]);
    };
    if (count % 4 == 0)
      write();
    else
      k.ifThen(element < count, write);
  }
}

} // namespace poot::planner
