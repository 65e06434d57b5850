//===- IndexedKernels.cpp - Gather, scatter, random bits, dequantization --===//
//
// Bodies with one invocation an element whose addresses or values depend on
// data.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "poot/weights/block_decode.h"

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

namespace {

/// Backend of the block decoders that appends to a kernel: bytes come out of a
/// buffer of 32-bit words, so that no device needs 8-bit storage.
struct KernelBlock {
  using I32 = KValue;
  using F32 = KValue;

  KernelBuilder &k;
  KValue words;
  KValue start; // byte position of the block in the buffer

  I32 byte(I32 p) {
    KValue position = start + p;
    KValue word = k.load(words, k.ushr(position, k.i32(2)));
    return k.ushr(word, (position & 3) << 3) & 255;
  }
  I32 signedByte(I32 p) { return ((byte(p) ^ 128) - 128); }
  F32 f16(int32_t p) {
    KValue half = byte(k.i32(p)) | (byte(k.i32(p + 1)) << 8);
    KValue magnitude = half & 0x7fff;
    // Normal numbers move their exponent; subnormal ones are exact multiples
    // of 2^-24; the largest exponent is infinity or NaN in both formats.
    KValue normal =
        k.bitcast((magnitude << 13) + (int64_t(112) << 23), k.f32Type());
    KValue subnormal = toF32(magnitude) * std::ldexp(1.0, -24);
    KValue special =
        k.bitcast((magnitude << 13) | (int64_t(0xff) << 23), k.f32Type());
    KValue value = k.select(magnitude < 0x400, subnormal,
                            k.select(magnitude < 0x7c00, normal, special));
    return k.select((half & 0x8000) != 0, -value, value);
  }
  I32 constant(int32_t value) { return k.i32(value); }
  I32 selectLess(I32 x, int32_t limit, I32 a, I32 c) {
    return k.select(x < limit, a, c);
  }
  I32 lookup(const int8_t (&table)[16], I32 index) {
    // A tree of selects over the four bits of the index.
    SmallVector<KValue> level;
    for (int8_t value : table)
      level.push_back(k.i32(value));
    for (int bit = 0; bit < 4; ++bit) {
      KValue set = ((index >> bit) & 1) != 0;
      SmallVector<KValue> next;
      for (size_t i = 0; i < level.size(); i += 2)
        next.push_back(k.select(set, level[i + 1], level[i]));
      level = std::move(next);
    }
    return level.front();
  }
  F32 toF32(I32 x) { return k.cast(x, k.f32Type()); }
  F32 bitsToF32(I32 x) { return k.bitcast(x, k.f32Type()); }
};

} // namespace

void buildPackedDequant(KernelBody &body) {
  KernelBuilder &k = body.k;
  // Decoding promises the bits of weights/, which rounds each product.
  k.setContraction(false);
  const OperandLayout &packed = body.input(0);
  weights::ElementType type =
      graph::getElementType(cast<PackedType>(packed.element).getEncoding());
  int64_t blockElements = weights::getInfo(type).blockElements;

  KValue id = body.linearId(body.output().count());
  Index index = body.delinearize(id, packed.shape);
  KValue column = index.back();
  Index block = index;
  block.back() = k.udiv(column, k.i32(blockElements));
  KernelBlock backend{k, body.inputBuffer(0), body.position(packed, block)};
  KValue value = weights::decodeElement(type, backend,
                                        k.urem(column, k.i32(blockElements)));
  body.store(0, index, body.narrow(0, value));
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
