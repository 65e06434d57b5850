//===- KernelBody.cpp - What the kernel bodies share ----------------------===//

#include "KernelBody.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace poot::planner {

KernelBody::KernelBody(OpBuilder &builder, Location loc, StringRef name,
                       const KernelRequest &request, int32_t workgroupSize)
    : KernelFrame(builder, loc, name, workgroupSize),
      OperandAccess(KernelFrame::builder, request,
                    KernelArguments::append(KernelFrame::builder, request)),
      workgroupSize(workgroupSize) {}

KValue KernelBody::linearWorkgroupId(int64_t workgroups) {
  grid = linearGrid(workgroups);
  KValue id = k.workgroupId(kernel::Dim::X);
  if (grid[1] > 1)
    id = id + k.workgroupId(kernel::Dim::Y) * grid[0];
  return id;
}

KValue KernelBody::linearId(int64_t count) {
  int64_t workgroups = llvm::divideCeil(count, workgroupSize);
  KValue id =
      linearWorkgroupId(workgroups) * workgroupSize + k.localId(kernel::Dim::X);
  if (grid[0] * grid[1] * workgroupSize != count)
    k.returnIf(id >= count);
  return id;
}

KValue KernelBody::linearWorkgroup(int64_t count) {
  KValue id = linearWorkgroupId(count);
  // All invocations of a workgroup leave together, before any barrier.
  if (grid[0] * grid[1] != count)
    k.returnIf(id >= count);
  return id;
}

GeneratedKernel KernelBody::finish() { return {k.finish(), grid}; }

bool KernelRequest::updatesOutput() const {
  return tableRows >= 0 || isa_and_nonnull<graph::ScatterOp>(op);
}

std::string KernelRequest::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (op ? op->getName().getStringRef() : "copy");
  if (op)
    os << DictionaryAttr::get(op->getContext(),
                              llvm::to_vector(op->getAttrs()));
  for (const OperandLayout &layout : inputs)
    os << " " << layout.key();
  os << " ->";
  for (const OperandLayout &layout : outputs)
    os << " " << layout.key();
  if (firstRow != 0 || tableRows >= 0)
    os << " rows from " << firstRow << " of " << tableRows;
  return text;
}

std::string KernelRequest::name() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  // The kind of an element-wise op or reduction says more than the op's name.
  StringRef kind;
  if (op)
    kind = TypeSwitch<Operation *, StringRef>(op)
               .Case<graph::UnaryOp>(
                   [](auto o) { return stringifyUnaryKind(o.getKind()); })
               .Case<graph::BinaryOp>(
                   [](auto o) { return stringifyBinaryKind(o.getKind()); })
               .Case<graph::CompareOp>([](auto o) {
                 return stringifyComparePredicate(o.getPredicate());
               })
               .Case<graph::ReduceOp, graph::ScanOp>(
                   [](auto o) { return stringifyReduceKind(o.getKind()); })
               .Default([](Operation *) { return StringRef(); });
  if (!op)
    os << "copy";
  else if (isa<graph::ReduceOp, graph::ScanOp>(op))
    os << op->getName().stripDialect() << "_" << kind;
  else
    os << (kind.empty() ? op->getName().stripDialect() : kind);
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

FailureOr<GeneratedKernel> generateKernel(OpBuilder &builder, Location loc,
                                          StringRef name,
                                          const KernelRequest &request) {
  KernelBody body(builder, loc, name, request, workgroupSizeFor(request));
  Operation *op = request.op;
  LogicalResult result = success();
  if (!op || op->hasTrait<OpTrait::Elementwise>() || isa<graph::IotaOp>(op)) {
    result = buildElementwise(body);
  } else {
    result = TypeSwitch<Operation *, LogicalResult>(op)
                 .Case<graph::GatherOp>(
                     [&](auto) { return buildGather(body), success(); })
                 .Case<graph::ScatterOp>(
                     [&](auto) { return buildScatter(body), success(); })
                 .Case<graph::ReduceOp>(
                     [&](auto) { return buildReduce(body), success(); })
                 .Case<graph::ScanOp>(
                     [&](auto) { return buildScan(body), success(); })
                 .Case<graph::ArgTopKOp>(
                     [&](auto) { return buildArgTopK(body), success(); })
                 .Case<graph::MatmulOp>(
                     [&](auto) { return buildMatmul(body), success(); })
                 .Case<graph::IndexedMatmulOp>(
                     [&](auto) { return buildIndexedMatmul(body), success(); })
                 .Case<graph::PackedDequantOp>(
                     [&](auto) { return buildPackedDequant(body), success(); })
                 .Case<graph::RandomBitsOp>(
                     [&](auto) { return buildRandomBits(body), success(); })
                 .Default([&](Operation *) {
                   return emitError(loc)
                          << "no kernel body for '" << op->getName() << "'";
                 });
  }
  GeneratedKernel generated = body.finish();
  if (failed(result)) {
    generated.func.erase();
    return failure();
  }
  return generated;
}

} // namespace poot::planner
