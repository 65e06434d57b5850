//===- KernelBody.cpp - What the kernel bodies share ----------------------===//

#include "KernelBody.h"
#include "Epilogue.h"
#include "LibraryKernels.h"
#include "UserKernels.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace poot::planner {

KernelBody::KernelBody(OpBuilder &builder, Location loc, StringRef name,
                       const KernelRequest &request)
    : KernelFrame(builder, loc, name, kWorkgroupSize),
      OperandAccess(KernelFrame::builder, request, KernelFrame::arguments) {
  KernelFrame::arguments =
      KernelArguments::append(KernelFrame::builder, request);
}

KValue KernelBody::linearId(int64_t count) {
  int64_t workgroups = llvm::divideCeil(count, kWorkgroupSize);
  grid = linearGrid(workgroups);
  KValue workgroup = k.workgroupId(kernel::Dim::X);
  if (grid[1] > 1)
    workgroup = workgroup + k.workgroupId(kernel::Dim::Y) * grid[0];
  KValue id = workgroup * kWorkgroupSize + k.localId(kernel::Dim::X);
  if (grid[0] * grid[1] * kWorkgroupSize != count)
    k.returnIf(id >= count);
  return id;
}

GeneratedKernel KernelBody::finish() {
  GeneratedKernel kernel{k.finish(), grid, {}};
  for (BlockArgument argument : kernel.func.getArguments())
    kernel.operands.push_back(KernelFrame::arguments.operandOf(argument));
  return kernel;
}

bool KernelRequest::updatesOutput() const {
  // A rotation with a fourth input, the rows to write.
  bool isCacheWrite = isa_and_nonnull<graph::RopeOp>(op) && inputs.size() == 4;
  return tableRows >= 0 || isCacheWrite ||
         isa_and_nonnull<graph::ScatterOp>(op);
}

std::string KernelRequest::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (op ? op->getName().getStringRef() : "copy");
  if (op)
    os << DictionaryAttr::get(op->getContext(),
                              llvm::to_vector(op->getAttrs()));
  if (auto fused = dyn_cast_or_null<graph::FusedOp>(op)) {
    llvm::DenseMap<Value, size_t> numbers;
    for (Value argument : fused.getBody().getArguments())
      numbers.try_emplace(argument, numbers.size());
    for (Operation &inner : fused.getBody().front()) {
      os << " " << inner.getName() << inner.getAttrDictionary();
      for (Value operand : inner.getOperands())
        os << " %" << numbers.lookup(operand);
      os << ":" << inner.getResultTypes();
      for (Value result : inner.getResults())
        numbers.try_emplace(result, numbers.size());
    }
  }
  for (const OperandLayout &layout : inputs)
    os << " " << layout.key();
  os << " ->";
  for (const OperandLayout &layout : outputs)
    os << " " << layout.key();
  if (firstRow != 0 || tableRows >= 0)
    os << " rows from " << firstRow << " of " << tableRows;
  return text;
}

StringRef getKindName(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<graph::UnaryOp>(
          [](auto o) { return stringifyUnaryKind(o.getKind()); })
      .Case<graph::BinaryOp>(
          [](auto o) { return stringifyBinaryKind(o.getKind()); })
      .Case<graph::CompareOp>(
          [](auto o) { return stringifyComparePredicate(o.getPredicate()); })
      .Case<graph::ReduceOp, graph::ScanOp>(
          [](auto o) { return stringifyReduceKind(o.getKind()); })
      .Case<graph::FusedOp>([](auto o) {
        kernel::FuncOp func = findUserKernel(o);
        return func ? func.getSymName() : o.getPattern();
      })
      .Default([](Operation *o) { return o->getName().stripDialect(); });
}

std::string KernelRequest::name() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef kind = op ? getKindName(op) : StringRef();
  if (!op)
    os << "copy";
  else if (isa<graph::ReduceOp, graph::ScanOp>(op))
    os << op->getName().stripDialect() << "_" << kind;
  else
    os << kind;
  auto shape = [&](const OperandLayout &layout) {
    os << "_";
    for (auto [i, extent] : llvm::enumerate(layout.shape)) {
      os << (i ? "x" : "");
      if (ShapedType::isDynamic(extent))
        os << "n";
      else
        os << extent;
    }
    if (layout.shape.empty())
      os << "scalar";
  };
  Type element =
      inputs.empty() ? outputs.front().element : inputs.front().element;
  os << "_";
  if (auto packed = dyn_cast<graph::PackedType>(element))
    os << graph::stringifyPackedEncoding(packed.getEncoding());
  else
    os << element;
  if (isa_and_nonnull<graph::MatmulOp, graph::IndexedMatmulOp>(op)) {
    shape(inputs[0]);
    shape(inputs[1]);
  } else if (isa_and_nonnull<graph::ReduceOp>(op)) {
    shape(inputs[0]);
  } else {
    shape(outputs.front());
  }
  return text;
}

/// Builds the body of an op that no kernel of the library serves.
static LogicalResult buildBody(KernelBody &body, Location loc) {
  Operation *op = body.request.op;
  if (!op || op->hasTrait<OpTrait::Elementwise>() || isa<graph::IotaOp>(op))
    return buildElementwise(body);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::GatherOp>([&](auto) { return buildGather(body), success(); })
      .Case<graph::ScatterOp>(
          [&](auto) { return buildScatter(body), success(); })
      .Case<graph::RandomBitsOp>(
          [&](auto) { return buildRandomBits(body), success(); })
      .Default([&](Operation *) {
        return emitError(loc) << "no kernel for '" << op->getName() << "'";
      });
}

FailureOr<GeneratedKernel> generateKernel(OpBuilder &builder, Location loc,
                                          StringRef name,
                                          const KernelRequest &request,
                                          KernelLibrary &library,
                                          const TargetInfo &target) {
  using Make = FailureOr<GeneratedKernel> (*)(const LibraryRequest &);
  Make function =
      request.op
          ? TypeSwitch<Operation *, Make>(request.op)
                .Case<graph::ReduceOp>([&](auto) { return makeReduce; })
                .Case<graph::ScanOp>([&](auto) { return makeScan; })
                .Case<graph::ArgTopKOp>([&](auto) { return makeArgTopK; })
                .Case<graph::SoftmaxOp>([&](auto) { return makeSoftmax; })
                .Case<graph::RmsNormOp>([&](auto) { return makeRmsNorm; })
                .Case<graph::LayerNormOp>([&](auto) { return makeLayerNorm; })
                .Case<graph::MatmulOp>([&](auto) { return makeMatmul; })
                .Case<graph::IndexedMatmulOp>(
                    [&](auto) { return makeIndexedMatmul; })
                .Case<graph::PackedContractionOp>(
                    [&](auto) { return makePackedContraction; })
                .Case<graph::PackedDequantOp, graph::PackedRowGatherOp>(
                    [&](auto) { return makePackedRows; })
                .Case<graph::RepackOp>([&](auto) { return makeRepack; })
                .Case<graph::RopeOp>([&](auto) { return makeRope; })
                .Case<graph::AttentionOp>([&](auto) { return makeAttention; })
                .Case<graph::FusedOp>([&](auto o) {
                  return Epilogue::isIn(o) ? makeFusedProduct : makeFused;
                })
                .Default([](Operation *) { return nullptr; })
          : nullptr;
  if (function)
    return function({library, builder, loc, name, request, target});

  KernelBody body(builder, loc, name, request);
  LogicalResult result = buildBody(body, loc);
  GeneratedKernel generated = body.finish();
  if (failed(result)) {
    generated.func.erase();
    return failure();
  }
  return generated;
}

} // namespace poot::planner
