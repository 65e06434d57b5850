//===- ContractionKernels.cpp - Matrix products, rows of weights ----------===//
//
// Fills the library's kernels that multiply matrices and read packed weights
// (kernels/lib/matmul.cpp, matvec.cpp, packed.cpp and repack.cpp). All products
// are brought to one form first: rows of the left operand with columns of the
// right one, the depth innermost in both.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "LibraryKernels.h"
#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Variants.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

using Values = SmallVector<KValue>;

/// Invocations that a block should leave, where there are as many outputs.
static constexpr int64_t kWantedInvocations = 64;
/// Most outputs of an invocation, which keeps their sums in registers.
static constexpr int64_t kMaxOutputs = 32;

namespace {

/// A product in the one form.
struct Product {
  /// The request with layouts left [batch.., row.., depth], right [batch..,
  /// column, depth] or [matrix, column, depth], result [batch.., row..,
  /// column], and the rows' matrices [row..].
  KernelRequest request;
  Extents batchShape, rowShape;
  int64_t batches = 1, rows = 1, columns = 1, depth = 1;
  /// Rows choose their matrix.
  bool isIndexed = false;
  /// What becomes of the sums, if anything does.
  const Epilogue *epilogue = nullptr;

  /// The operand that is the weight of a second product; 0 if there is none.
  unsigned getSecondWeight() const {
    return epilogue ? epilogue->getSecondWeight() : 0;
  }
  const OperandLayout &left() const { return request.inputs[0]; }
  const OperandLayout &right() const { return request.inputs[1]; }

  Index leftIndex(OperandAccess &at, KValue batch, KValue row, KValue k) const;
  Index rightIndex(OperandAccess &at, KValue batch, KValue column,
                   KValue k) const;
  /// Stores the result of the sums there.
  void store(OperandAccess &at, KValue batch, KValue row, KValue column,
             ArrayRef<KValue> sums) const;
  /// The matrix that a row takes of a stack. A number outside is clamped.
  KValue matrix(OperandAccess &at, KValue row) const;
};

/// The outputs of one invocation.
struct Block {
  int64_t rows = 1;
  int64_t columns = 1;
};

} // namespace

Index Product::leftIndex(OperandAccess &at, KValue batch, KValue row,
                         KValue k) const {
  Index index = at.delinearize(batch, batchShape);
  llvm::append_range(index, at.delinearize(row, rowShape));
  index.push_back(k);
  return index;
}

Index Product::rightIndex(OperandAccess &at, KValue batch, KValue column,
                          KValue k) const {
  Index index = isIndexed ? Index{batch} : at.delinearize(batch, batchShape);
  index.append({column, k});
  return index;
}

void Product::store(OperandAccess &at, KValue batch, KValue row, KValue column,
                    ArrayRef<KValue> sums) const {
  if (epilogue) {
    KValue number = (batch * rows + row) * columns + column;
    at.storeElement(0, number, epilogue->compute(at, number, sums));
    return;
  }
  // Results have the dimensions of the left operand.
  at.store(0, leftIndex(at, batch, row, column),
           convert(at.k, sums[0], at.output().element));
}

KValue Product::matrix(OperandAccess &at, KValue row) const {
  KValue number = at.load(2, at.delinearize(row, rowShape));
  return at.k.max(at.k.min(number, at.k.i32(right().shape[0] - 1)),
                  at.k.i32(0));
}

/// The layout with these dimensions alone.
static OperandLayout select(const OperandLayout &layout,
                            ArrayRef<int64_t> dims) {
  OperandLayout result = layout;
  result.shape.clear();
  result.strides.clear();
  for (int64_t dim : dims) {
    result.shape.push_back(layout.shape[dim]);
    result.strides.push_back(layout.strides[dim]);
  }
  return result;
}

static SmallVector<int64_t> range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, end));
}

/// `inner`'s dimensions behind those of `outer`, which is a layout of the same
/// operand.
static OperandLayout join(const OperandLayout &outer,
                          const OperandLayout &inner) {
  OperandLayout result = outer;
  llvm::append_range(result.shape, inner.shape);
  llvm::append_range(result.strides, inner.strides);
  return result;
}

/// Brings rows of the left operand and the result, and of the
/// rows' matrices, to few dimensions.
static Product analyze(const KernelRequest &request, int64_t batchRank,
                       const OperandLayout &right) {
  Product product;
  product.request = request;
  OperandLayout &left = product.request.inputs[0];
  OperandLayout &out = product.request.outputs[0];
  int64_t rank = out.shape.size();
  product.depth = left.shape.back();
  product.columns = out.shape.back();

  // Neighbouring dimensions that all operands step through alike are one.
  SmallVector<OperandLayout> batch = {select(left, range(0, batchRank)),
                                      select(out, range(0, batchRank))};
  SmallVector<OperandLayout> row = {select(left, range(batchRank, rank - 1)),
                                    select(out, range(batchRank, rank - 1))};
  product.isIndexed = request.inputs.size() == 3;
  if (product.isIndexed)
    row.push_back(request.inputs[2]);
  else
    batch.push_back(select(right, range(0, batchRank)));
  collapseDims(batch);
  collapseDims(row);
  product.batchShape = batch[0].shape;
  product.rowShape = row[0].shape;
  product.batches = batch[0].count();
  product.rows = row[0].count();
  left = join(join(batch[0], row[0]), select(left, {rank - 1}));
  out = join(join(batch[1], row[1]), select(out, {rank - 1}));
  if (product.isIndexed) {
    product.request.inputs[1] = right;
    product.request.inputs[2] = row[2];
  } else {
    int64_t rightRank = right.shape.size();
    product.request.inputs[1] =
        join(batch[2], select(right, {rightRank - 2, rightRank - 1}));
  }
  return product;
}

/// The block with the fewest loads in all: an invocation loads rows + columns
/// elements for rows * columns products.
static Block chooseBlock(const Product &product, int64_t maxOutputs) {
  auto invocations = [&](int64_t rows, int64_t columns) {
    return product.batches * llvm::divideCeilSigned(product.rows, rows) *
           llvm::divideCeilSigned(product.columns, columns);
  };
  int64_t wanted = std::min(kWantedInvocations, invocations(1, 1));
  int64_t fewestLoads = std::numeric_limits<int64_t>::max();
  Block block;
  for (int64_t rows = 1; rows <= 8; ++rows) {
    for (int64_t columns = 1; columns <= 8; columns *= 2) {
      int64_t count = invocations(rows, columns);
      int64_t loads = count * (rows + columns);
      if (rows > product.rows || columns >= 2 * product.columns ||
          rows * columns > maxOutputs || count < wanted || loads >= fewestLoads)
        continue;
      block = {rows, columns};
      fewestLoads = loads;
    }
  }
  return block;
}

/// True if the right operand is a matrix whose columns follow each other, of a
/// type that matvec has a form for, which loads four neighbours at once.
static bool isWeight(const Product &product) {
  const OperandLayout &right = product.right();
  size_t rank = right.shape.size();
  Type element = right.element, left = product.left().element;
  return product.batches == 1 && !product.isIndexed && !right.literal &&
         product.depth % 4 == 0 && isa<FloatType>(left) && !left.isF64() &&
         (element.isF32() || element.isF16() || element.isBF16()) &&
         right.strides[rank - 1] == 1 &&
         (right.strides[rank - 2] == product.depth || product.columns == 1) &&
         right.offset % product.depth == 0;
}

/// The form for two products of a kernel of few rows: of matvec_lane it is
/// matvec_gated_lane.
static std::string pairForm(StringRef variant) {
  auto [family, form] = variant.split('_');
  return (family + "_gated_" + form).str();
}

static StringRef weightInstance(Type element) {
  return element.isF32()   ? "f32_weights"
         : element.isF16() ? "f16_weights"
                           : "bf16_words";
}

/// The instance of kernels with fragments for subgroups of 32.
static constexpr StringLiteral kFragmentInstance = "32";

/// Launches a workgroup for each tile of 64 x 64.
static void launchTiles(LibraryKernel &kernel, const Product &product,
                        bool isFragment) {
  if (isFragment)
    kernel.requireSubgroupSize(32);
  kernel.launchWorkgroups(product.batches *
                          llvm::divideCeilSigned(product.rows, 64) *
                          llvm::divideCeilSigned(product.columns, 64));
}

/// Launches what a kernel of few rows takes for its work: an invocation, or a
/// subgroup. How many subgroups a workgroup has is known to the device alone:
/// with the smallest number, one, there are enough.
static void launchFewRows(LibraryKernel &kernel, StringRef variant,
                          int64_t work) {
  if (variant.ends_with("_subgroup"))
    kernel.launchWorkgroups(work);
  else
    kernel.launchInvocations(work);
}

/// The block of an invocation or subgroup of a product of few rows: as large as
/// registers hold it, and as leaves enough blocks to keep a device busy. On a
/// CPU a load costs so much more than a product that sums may spill.
static Block chooseFewRowsBlock(const Product &product,
                                const TargetInfo &target) {
  int64_t wanted = target.isCpu ? 256 : 512;
  int64_t maxOutputs = target.isCpu ? 64 : 8;
  Block block;
  block.rows = product.isIndexed ? 1 : std::min(product.rows, kFewRows);
  int64_t down = llvm::divideCeilSigned(product.rows, block.rows);
  while (block.columns < 8 && block.rows * block.columns * 2 <= maxOutputs &&
         down * product.columns / (block.columns * 2) >= wanted)
    block.columns *= 2;
  return block;
}

/// What the kernels of few_rows.h have in common.
static void fillFewRows(LibraryKernel &kernel, StringRef variant,
                        const Product &product, const TargetInfo &target) {
  Block block = chooseFewRowsBlock(product, target);
  kernel.set("rows", product.rows);
  kernel.set("columns", product.columns);
  kernel.set("depth", product.depth);
  kernel.set("block_rows", block.rows);
  kernel.set("block_columns", block.columns);
  kernel.fill("load_x4", [&](OperandAccess &at, ArrayRef<KValue> i) {
    return Values{
        at.loadQuad(0, product.leftIndex(at, at.k.i32(0), i[0], i[1]))};
  });
  bool isPair = kernel.hasHook("store_pair");
  kernel.fill(isPair ? "store_pair" : "store",
              [&](OperandAccess &at, ArrayRef<KValue> v) {
                product.store(at, at.k.i32(0), v[0], v[1], v.drop_front(2));
                return Values{};
              });
  bool isFragment = variant.ends_with("_fragment");
  if (variant.ends_with("_tiled") || isFragment)
    launchTiles(kernel, product, isFragment);
  else
    launchFewRows(kernel, variant,
                  llvm::divideCeilSigned(product.rows, block.rows) *
                      llvm::divideCeilSigned(product.columns, block.columns));
}

static FailureOr<GeneratedKernel> makeProduct(const LibraryRequest &r,
                                              const Product &product) {
  LibraryRequest own = r.serving(product.request);
  Type sumType = accumulatorOf(product.left().element);
  Demand demand{product.isIndexed ? Family::IndexedProduct : Family::Product,
                r.target, product.rows, product.depth};
  demand.columns = product.columns;
  demand.isF32 = sumType.isF32();
  demand.hasQuads = product.depth % 4 == 0 &&
                    OperandAccess::hasQuads(product.left()) &&
                    OperandAccess::hasQuads(product.right());
  demand.isWeight = isWeight(product);
  demand.isF16 =
      product.left().element.isF16() && product.right().element.isF16();
  StringRef variant = chooseVariant(demand);

  if (variant.starts_with("matvec_")) {
    const OperandLayout &right = product.right();
    unsigned second = product.getSecondWeight();
    LibraryKernel kernel =
        own.instantiate(second ? pairForm(variant) : variant.str(),
                        weightInstance(right.element));
    kernel.bind(1, 1);
    if (second)
      kernel.bind(2, second);
    int64_t first = right.offset / product.depth;
    kernel.fill("weight_row", [&](OperandAccess &, ArrayRef<KValue> i) {
      return Values{i[1] + first};
    });
    fillFewRows(kernel, variant, product, r.target);
    return own.finish(kernel);
  }

  bool isFragment = variant == "matmul_fragment";
  bool hasInstances = variant == "matmul" || variant == "matmul_indexed";
  LibraryKernel kernel =
      isFragment ? own.instantiate(variant, kFragmentInstance)
                 : own.instantiate(variant, hasInstances ? sumType : Type());
  kernel.set("batches", product.batches);
  kernel.set("rows", product.rows);
  kernel.set("columns", product.columns);
  kernel.set("depth", product.depth);
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    product.store(at, v[0], v[1], v[2], v[3]);
    return Values{};
  });
  if (variant == "matmul_wide" || isFragment) {
    auto quad = [&](OperandAccess &at, unsigned operand, const Index &index) {
      KValue value = at.loadQuad(operand, index);
      return Values{isFragment
                        ? at.k.cast(value, at.k.vectorType(4, at.k.f16Type()))
                        : value};
    };
    kernel.fill("load_left4", [&](OperandAccess &at, ArrayRef<KValue> i) {
      return quad(at, 0, product.leftIndex(at, i[0], i[1], i[2]));
    });
    kernel.fill("load_right4", [&](OperandAccess &at, ArrayRef<KValue> i) {
      return quad(at, 1, product.rightIndex(at, i[0], i[1], i[2]));
    });
  } else {
    kernel.fill("load_left", [&](OperandAccess &at, ArrayRef<KValue> i) {
      KValue value = at.load(0, product.leftIndex(at, i[0], i[1], i[2]));
      return Values{convert(at.k, value, sumType)};
    });
    kernel.fill("load_right", [&](OperandAccess &at, ArrayRef<KValue> i) {
      KValue value = at.load(1, product.rightIndex(at, i[0], i[2], i[1]));
      return Values{convert(at.k, value, sumType)};
    });
  }
  if (product.isIndexed)
    kernel.fill("expert", [&](OperandAccess &at, ArrayRef<KValue> i) {
      return Values{product.matrix(at, i[0])};
    });
  if (variant == "matmul_tiled" || isFragment) {
    kernel.set("right_transposed", true);
    launchTiles(kernel, product, isFragment);
    return own.finish(kernel);
  }
  Block block = chooseBlock(product, variant == "matmul_wide" ? kMaxOutputs / 2
                                                              : kMaxOutputs);
  if (product.isIndexed)
    block.rows = 1;
  kernel.set("block_rows", block.rows);
  kernel.set("block_columns", block.columns);
  kernel.set("steps", product.depth >= 16 && product.depth % 4 == 0 ? 4 : 1);
  kernel.launchInvocations(
      product.batches * llvm::divideCeilSigned(product.rows, block.rows) *
      llvm::divideCeilSigned(product.columns, block.columns));
  return own.finish(kernel);
}

static Product analyzeMatmul(const KernelRequest &request) {
  const OperandLayout &right = request.inputs[1];
  const OperandLayout &out = request.outputs[0];
  // Batch dimensions that the right operand is broadcast along count as rows,
  // so that the query heads of a group share the loads of their keys.
  int64_t rank = out.shape.size(), batchRank = rank - 2;
  while (batchRank > 0 &&
         (right.strides[batchRank - 1] == 0 || out.shape[batchRank - 1] == 1))
    --batchRank;
  SmallVector<int64_t> dims = range(0, batchRank);
  dims.append({rank - 1, rank - 2});
  return analyze(request, batchRank, select(right, dims));
}

static Product analyzeIndexedMatmul(const KernelRequest &request) {
  return analyze(request, 0, select(request.inputs[1], {0, 2, 1}));
}

static Product analyzePacked(const KernelRequest &request) {
  return analyze(request, 0, request.inputs[1]);
}

FailureOr<GeneratedKernel> makeMatmul(const LibraryRequest &r) {
  return makeProduct(r, analyzeMatmul(r.request));
}

FailureOr<GeneratedKernel> makeIndexedMatmul(const LibraryRequest &r) {
  return makeProduct(r, analyzeIndexedMatmul(r.request));
}

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

static std::string packedInstance(const OperandLayout &weight) {
  auto type = cast<PackedType>(weight.element);
  return (stringifyPackedEncoding(type.getEncoding()) + "_" +
          stringifyPackedLayout(type.getLayout()))
      .str();
}

/// The row of a packed weight, counted from the argument's start, at an index
/// of all its dimensions but the innermost.
static KValue packedRow(OperandAccess &at, const OperandLayout &weight,
                        ArrayRef<KValue> index) {
  int64_t rowBytes = getPackedRowBytes(cast<PackedType>(weight.element));
  assert(weight.offset % rowBytes == 0 && "arguments start at whole rows");
  KValue row = at.k.i32(weight.offset / rowBytes);
  for (auto [i, stride] : llvm::zip(index, weight.strides))
    row = row + i * (stride / rowBytes);
  return row;
}

static FailureOr<GeneratedKernel> makePackedProduct(const LibraryRequest &r,
                                                    const Product &product) {
  const OperandLayout &weight = product.right();
  Demand demand{Family::PackedProduct, r.target, product.rows, product.depth};
  demand.columns = product.columns;
  demand.isIndexed = product.isIndexed;
  demand.isPlanar =
      cast<PackedType>(weight.element).getLayout() == PackedLayout::Planar;
  demand.isF16 = product.left().element.isF16();
  std::string variant = chooseVariant(demand).str();
  unsigned second = product.getSecondWeight();
  if (second)
    variant = pairForm(variant);
  LibraryRequest own = r.serving(product.request);
  std::string instance = packedInstance(weight);
  if (variant == "packed_fragment")
    instance += ("_" + kFragmentInstance).str();
  LibraryKernel kernel = own.instantiate(variant, instance);
  kernel.bind(1, 1);
  kernel.bind(2, 1);
  if (second) {
    kernel.bind(3, second);
    kernel.bind(4, second);
  }
  kernel.fill("weight_row", [&](OperandAccess &at, ArrayRef<KValue> i) {
    Index index;
    if (product.isIndexed)
      index.push_back(product.matrix(at, i[0]));
    index.push_back(i[1]);
    return Values{packedRow(at, weight, index)};
  });
  fillFewRows(kernel, variant, product, r.target);
  return own.finish(kernel);
}

FailureOr<GeneratedKernel> makePackedContraction(const LibraryRequest &r) {
  Product product = analyzePacked(r.request);
  return product.right().isPacked() ? makePackedProduct(r, product)
                                    : makeProduct(r, product);
}

FailureOr<GeneratedKernel> makeFusedProduct(const LibraryRequest &r) {
  Epilogue epilogue(cast<FusedOp>(r.request.op));
  Operation *op = epilogue.getProduct();
  // The product by itself, whose result is nowhere.
  KernelRequest request;
  request.op = op;
  request.inputs.assign(r.request.inputs.begin(),
                        r.request.inputs.begin() + op->getNumOperands());
  request.outputs = {OperandLayout::dense(op->getResult(0).getType())};
  Product product = isa<MatmulOp>(op)          ? analyzeMatmul(request)
                    : isa<IndexedMatmulOp>(op) ? analyzeIndexedMatmul(request)
                                               : analyzePacked(request);
  // The other operands follow, as they are.
  product.request.op = r.request.op;
  product.request.inputs.append(r.request.inputs.begin() + op->getNumOperands(),
                                r.request.inputs.end());
  product.request.outputs = r.request.outputs;
  product.epilogue = &epilogue;
  return product.right().isPacked() ? makePackedProduct(r, product)
                                    : makeProduct(r, product);
}

FailureOr<GeneratedKernel> makePackedRows(const LibraryRequest &r) {
  const OperandLayout &weight = r.request.inputs[0];
  const OperandLayout &out = r.request.outputs[0];
  bool isGather = isa<PackedRowGatherOp>(r.request.op);
  Extents rowShape(out.shape.begin(), out.shape.end() - 1);
  int64_t depth = out.shape.back(), rows = out.count() / depth;
  LibraryKernel kernel = r.instantiate("packed_rows", packedInstance(weight));
  kernel.bind(0, 0);
  kernel.bind(1, 0);
  kernel.set("rows", rows);
  kernel.set("depth", depth);
  kernel.fill("source_row", [&](OperandAccess &at, ArrayRef<KValue> i) {
    kernel::KernelBuilder &k = at.k;
    Index index = at.delinearize(i[0], rowShape);
    if (!isGather)
      return Values{packedRow(at, weight, index)};
    // A number outside the table is clamped. Of a part of a table, rows that
    // lie elsewhere are none.
    bool isPart = r.request.tableRows >= 0;
    int64_t tableRows = isPart ? r.request.tableRows : weight.shape[0];
    KValue number = at.load(1, index);
    number = k.max(k.min(number, k.i32(tableRows - 1)), k.i32(0));
    if (!isPart)
      return Values{packedRow(at, weight, {number})};
    number = number - r.request.firstRow;
    KValue isInside = (number >= 0) & (number < weight.shape[0]);
    return Values{
        k.select(isInside, packedRow(at, weight, {number}), k.i32(-1))};
  });
  kernel.fill("store", [&](OperandAccess &at, ArrayRef<KValue> v) {
    Index index = at.delinearize(v[0], rowShape);
    index.push_back(v[1]);
    at.store(0, index, at.narrow(0, v[2]));
    return Values{};
  });
  kernel.launchInvocations(rows * (depth / 8));
  return r.finish(kernel);
}

FailureOr<GeneratedKernel> makeRepack(const LibraryRequest &r) {
  const OperandLayout &from = r.request.inputs[0];
  const OperandLayout &to = r.request.outputs[0];
  if (from.offset != 0 || to.offset != 0 || !from.isDense() || !to.isDense())
    return emitError(r.loc)
           << "only whole weights can be repacked, not slices of them";
  int64_t elements = to.shape.back(), rows = 1;
  for (int64_t extent : ArrayRef(to.shape).drop_back())
    rows *= extent;
  LibraryKernel kernel = r.instantiate("repack", packedInstance(from));
  kernel.bind(0, 0);
  kernel.bind(1, 1);
  kernel.set("rows", rows);
  kernel.set("elements", elements);
  kernel.launchInvocations(rows *
                           getPackedRowBytes(cast<PackedType>(to.element)) / 4);
  return r.finish(kernel);
}

} // namespace poot::planner
