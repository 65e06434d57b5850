//===- RepackWeights.cpp - Weights in the layout that kernels load widest -===//
//
// The pass graph-repack-weights. Works on a const as a whole: each entry reads
// the same form of it, or none does.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace poot;
using namespace poot::graph;

namespace poot::graph {
#define GEN_PASS_DEF_GRAPHREPACKWEIGHTS
#include "Poot/Dialect/Graph/Passes.h.inc"
} // namespace poot::graph

/// Whether only composites read VALUE, a packed weight, or slices of it.
static bool isReadByComposites(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<SliceOp>(user))
      return isReadByComposites(user->getResult(0));
    return isa<PackedContractionOp, PackedRowGatherOp>(user);
  });
}

static PackedType getPlanar(Type type) {
  auto packed = cast<PackedType>(type);
  return PackedType::get(packed.getContext(), packed.getEncoding(),
                         PackedLayout::Planar, packed.getShape());
}

static void makeSlicesPlanar(Value value) {
  for (Operation *user : value.getUsers())
    if (isa<SliceOp>(user)) {
      user->getResult(0).setType(getPlanar(user->getResult(0).getType()));
      makeSlicesPlanar(user->getResult(0));
    }
}

namespace {
struct RepackWeights : graph::impl::GraphRepackWeightsBase<RepackWeights> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    llvm::MapVector<Operation *, SmallVector<GetOp>> readers;
    getOperation().walk([&](GetOp get) {
      auto packed = dyn_cast<PackedType>(get.getType());
      auto symbol = symbols.lookup<ConstOp>(get.getSymbol());
      if (symbol && packed && packed.getLayout() == PackedLayout::Gguf)
        readers[symbol].push_back(get);
    });
    for (auto &[symbol, gets] : readers) {
      if (!llvm::all_of(gets, [](GetOp get) {
            return isReadByComposites(get.getResult());
          }))
        continue;
      for (GetOp get : gets) {
        if (get.use_empty())
          continue;
        OpBuilder builder(get->getContext());
        builder.setInsertionPointAfter(get);
        auto repack = RepackOp::create(builder, get.getLoc(),
                                       getPlanar(get.getType()), get);
        get.getResult().replaceAllUsesExcept(repack, repack);
        makeSlicesPlanar(repack);
      }
    }
  }
};
} // namespace
