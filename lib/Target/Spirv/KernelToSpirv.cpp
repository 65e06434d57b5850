//===- KernelToSpirv.cpp - Structured kernels to spirv.module -------------===//
//
// One conversion: upstream's patterns for arith, math, scf and vector, and our
// own for the kernel dialect. Types are checked first, since upstream's
// patterns take for granted that every type converts. Capabilities and
// extensions are derived from the code that results.
//
//===----------------------------------------------------------------------===//

#include "MemoryModel.h"

#include "Poot/Dialect/Kernel/Kernel.h"
#include "Poot/Target/Passes.h"
#include "Poot/Target/Spirv.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

namespace poot {
#define GEN_PASS_DEF_KERNELTOSPIRV
#include "Poot/Target/Passes.h.inc"
} // namespace poot

using namespace mlir;
using namespace poot;
using namespace poot::kernel;
using spirv::StorageClass;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether the type is a fragment or a variable of such. Those that the target
/// hasn't are expanded by now.
static bool isFragment(Type type) {
  if (auto var = dyn_cast<VarType>(type))
    type = var.getElementType();
  return isa<FragmentType>(type);
}

/// Whether a value of this type can exist on the target.
static bool isAllowed(Type type, const SpirvTarget &target) {
  if (Type element = getElementType(type))
    type = element;
  if (auto structure = dyn_cast<StructType>(type))
    return llvm::all_of(structure.getLeaves(),
                        [&](Type leaf) { return isAllowed(leaf, target); });
  if (auto var = dyn_cast<VarType>(type))
    type = var.getElementType();
  if (auto vector = dyn_cast<VectorType>(type)) {
    // One element alone stands between a scalar and its parts in a cast.
    if (vector.getRank() != 1 || vector.isScalable() ||
        vector.getDimSize(0) > 4)
      return false;
    type = vector.getElementType();
  }
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    return integer.isSignless() &&
           (width == 1 || width == 32 ||
            (target.allTypes && (width == 8 || width == 16 || width == 64)));
  }
  // An index, as vector.extract takes it, has 32 bits.
  return type.isF32() || type.isIndex() ||
         (target.allTypes && isa<Float16Type, BFloat16Type, Float64Type>(type));
}

static StringRef getAllowedTypes(const SpirvTarget &target) {
  return target.allTypes
             ? "i1, i8, i16, i32, i64, f16, bf16, f32, f64 and vectors of 2 to "
               "4 of them"
             : "i1, i32, f32 and vectors of 2 to 4 of them";
}

static LogicalResult checkTypes(FuncOp func, const SpirvTarget &target) {
  auto check = [&](Type type, Operation *op, StringRef what) -> LogicalResult {
    if (isAllowed(type, target))
      return success();
    return op->emitOpError(what)
           << " has type " << type << ", which target " << target.name
           << " doesn't have; allowed are " << getAllowedTypes(target);
  };
  for (BlockArgument argument : func.getArguments())
    if (failed(check(argument.getType(), func,
                     ("argument #" + Twine(argument.getArgNumber())).str())))
      return failure();
  WalkResult result = func.walk([&](Operation *op) {
    if (op == func.getOperation())
      return WalkResult::advance();
    if (auto hook = dyn_cast<HookOp>(op)) {
      hook.emitOpError("'")
          << hook.getName() << "' isn't filled; run kernel-fill-hooks first";
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (!isFragment(type) && failed(check(type, op, "result")))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (failed(check(type, op, "carried value")))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Lets workgroup arrays share bytes where they may and have the same element
/// type. SPIR-V has no other way to say so than one array.
static void shareWorkgroupArrays(FuncOp func) {
  struct Group {
    WorkgroupAllocOp array;
    SmallVector<Value> members;
  };
  SmallVector<Group> groups;
  DenseMap<Value, Value> arrays;
  for (auto alloc : llvm::make_early_inc_range(
           func.getBody().front().getOps<WorkgroupAllocOp>())) {
    auto type = cast<WorkgroupType>(alloc.getType());
    // Two arrays that it overlays don't overlay each other for that reason.
    Group *best = nullptr;
    auto getSize = [](Group &group) {
      return cast<WorkgroupType>(group.array.getType()).getSize();
    };
    for (Group &group : groups)
      if (getElementType(group.array.getType()) == type.getElementType() &&
          llvm::all_of(group.members,
                       [&](Value member) {
                         return llvm::is_contained(alloc.getOverlays(), member);
                       }) &&
          (!best || getSize(*best) < getSize(group)))
        best = &group;
    if (!best) {
      groups.push_back({alloc, {alloc}});
      continue;
    }
    best->members.push_back(alloc);
    arrays[alloc] = best->array;
    if (type.getSize() > getSize(*best))
      best->array.getResult().setType(type);
  }
  for (auto alloc : func.getBody().front().getOps<WorkgroupAllocOp>())
    alloc.getOverlaysMutable().clear();
  for (auto [shared, array] : arrays) {
    shared.replaceAllUsesWith(array);
    shared.getDefiningOp()->erase();
  }
}

static LogicalResult checkLimits(FuncOp func, const SpirvTarget &target) {
  // Vulkan wants whole subgroups where these multiply matrices; nearly all
  // GPUs have subgroups of 32 at most.
  bool hasFragments = false;
  func.walk([&](Operation *op) {
    hasFragments |= llvm::any_of(op->getResultTypes(), isFragment);
  });
  if (hasFragments && func.getWorkgroupSize()[0] % 32 != 0)
    return func.emitOpError("has ")
           << func.getWorkgroupSize()[0]
           << " invocations in x; with fragments, target " << target.name
           << " needs a multiple of 32, so that subgroups are whole";

  uint64_t invocations = 1;
  for (int32_t extent : func.getWorkgroupSize())
    invocations *= extent;
  if (invocations > target.maxWorkgroupInvocations)
    return func.emitOpError("has ")
           << invocations << " invocations in a workgroup; target "
           << target.name << " allows " << target.maxWorkgroupInvocations;

  uint64_t metadata = uint64_t(func.getNumMetadata()) * 4;
  if (metadata > target.maxMetadataBytes)
    return func.emitOpError("has ")
           << metadata << " bytes of metadata; target " << target.name
           << " allows " << target.maxMetadataBytes;

  uint64_t bytes = 0;
  for (auto alloc : func.getBody().front().getOps<WorkgroupAllocOp>()) {
    auto type = cast<WorkgroupType>(alloc.getType());
    unsigned elementBytes = getElementBytes(type.getElementType());
    bytes = llvm::alignTo(bytes, elementBytes) +
            uint64_t(type.getSize()) * elementBytes;
    if (bytes > target.maxWorkgroupBytes)
      return alloc.emitOpError("brings the workgroup arrays to ")
             << bytes << " bytes; target " << target.name << " allows "
             << target.maxWorkgroupBytes;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Buffer types become pointers to a struct with a runtime array, as Vulkan
/// wants them; bf16 is carried as its bits.
static void addTypeConversions(SPIRVTypeConverter &converter) {
  converter.addConversion([](BFloat16Type type) -> Type {
    return IntegerType::get(type.getContext(), 16);
  });
  converter.addConversion([](VectorType type) -> std::optional<Type> {
    if (!type.getElementType().isBF16())
      return std::nullopt;
    return type.clone(IntegerType::get(type.getContext(), 16));
  });
  converter.addConversion([&converter](BufferType type) -> Type {
    Type element = converter.convertType(type.getElementType());
    if (!element)
      return {};
    auto unit = UnitAttr::get(type.getContext());
    auto array = spirv::RuntimeArrayType::get(
        element, getElementBytes(type.getElementType()));
    SmallVector<spirv::StructType::MemberDecorationInfo, 1> access;
    if (!type.isWritable())
      access.emplace_back(0, spirv::Decoration::NonWritable, unit);
    else if (!type.isReadable())
      access.emplace_back(0, spirv::Decoration::NonReadable, unit);
    auto block =
        spirv::StructType::get({array}, {0u}, access,
                               {spirv::StructType::StructDecorationInfo(
                                   spirv::Decoration::Block, unit)});
    return spirv::PointerType::get(block, StorageClass::StorageBuffer);
  });
  converter.addConversion([&converter](StructType type) -> Type {
    SmallVector<Type> members;
    SmallVector<uint32_t> offsets;
    for (auto [leaf, count, offset] :
         llvm::zip(type.getLeaves(), type.getCounts(), type.getOffsets())) {
      Type member = converter.convertType(leaf);
      if (!member)
        return {};
      members.push_back(count == 1 ? member
                                   : spirv::ArrayType::get(
                                         member, count, getElementBytes(leaf)));
      offsets.push_back(offset);
    }
    return spirv::StructType::get(members, offsets);
  });
  converter.addConversion([](FragmentType type) -> Type {
    using Use = spirv::CooperativeMatrixUseKHR;
    Use use = type.getUse() == FragmentUse::A   ? Use::MatrixA
              : type.getUse() == FragmentUse::B ? Use::MatrixB
                                                : Use::MatrixAcc;
    return spirv::CooperativeMatrixType::get(type.getElementType(),
                                             type.getRows(), type.getColumns(),
                                             spirv::Scope::Subgroup, use);
  });
  // Tables and variables are variables of the function.
  converter.addConversion([&converter](TableType type) -> Type {
    Type element = converter.convertType(type.getElementType());
    if (!element)
      return {};
    return spirv::PointerType::get(
        spirv::ArrayType::get(element, type.getSize()), StorageClass::Function);
  });
  converter.addConversion([&converter](VarType type) -> Type {
    Type element = converter.convertType(type.getElementType());
    if (!element)
      return {};
    for (int64_t extent : llvm::reverse(type.getShape()))
      element = spirv::ArrayType::get(element, extent);
    return spirv::PointerType::get(element, StorageClass::Function);
  });
  converter.addConversion([&converter](WorkgroupType type) -> Type {
    Type element = converter.convertType(type.getElementType());
    if (!element)
      return {};
    return spirv::PointerType::get(
        spirv::ArrayType::get(element, type.getSize()),
        StorageClass::Workgroup);
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Carries the workgroup size until the entry point is made.
static constexpr StringLiteral kWorkgroupSize = "poot.workgroup_size";

namespace {

struct FuncPattern : OpConversionPattern<FuncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FuncOp func, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = func.getLoc();
    auto module = spirv::ModuleOp::create(
        rewriter, loc, spirv::AddressingModel::Logical,
        spirv::MemoryModel::GLSL450, std::nullopt, func.getSymName());
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());

    // The entry point keeps the kernel's name; whatever is called the same
    // gives way.
    auto getName = [&](const Twine &name) {
      std::string result = name.str();
      if (result == func.getSymName())
        result += "_";
      return result;
    };

    unsigned numBuffers = func.getNumBuffers();
    SmallVector<spirv::GlobalVariableOp> buffers;
    for (unsigned i = 0; i != numBuffers; ++i)
      buffers.push_back(spirv::GlobalVariableOp::create(
          rewriter, loc, getTypeConverter()->convertType(func.getBufferType(i)),
          getName("buffer" + Twine(i)), /*descriptorSet=*/0, /*binding=*/i));

    spirv::GlobalVariableOp metadata;
    SmallVector<Type> fields(func.getArgumentTypes().drop_front(numBuffers));
    if (!fields.empty()) {
      SmallVector<uint32_t> offsets;
      for (unsigned i = 0; i != fields.size(); ++i)
        offsets.push_back(4 * i);
      auto block = spirv::StructType::get(
          fields, offsets, {},
          {spirv::StructType::StructDecorationInfo(spirv::Decoration::Block,
                                                   rewriter.getUnitAttr())});
      metadata = spirv::GlobalVariableOp::create(
          rewriter, loc,
          spirv::PointerType::get(block, StorageClass::PushConstant),
          getName("metadata"));
    }

    auto spirvFunc = spirv::FuncOp::create(rewriter, loc, func.getSymName(),
                                           rewriter.getFunctionType({}, {}),
                                           spirv::FunctionControl::None);
    spirvFunc->setAttr(kWorkgroupSize, func.getWorkgroupSizeAttr());
    rewriter.inlineRegionBefore(func.getBody(), spirvFunc.getBody(),
                                spirvFunc.end());
    Block *entry = &spirvFunc.front();

    TypeConverter::SignatureConversion signature(entry->getNumArguments());
    rewriter.setInsertionPointToStart(entry);
    for (auto [i, buffer] : llvm::enumerate(buffers))
      signature.remapInput(
          i, spirv::AddressOfOp::create(rewriter, loc, buffer).getResult());
    for (unsigned i = 0; i != fields.size(); ++i) {
      Value base = spirv::AddressOfOp::create(rewriter, loc, metadata);
      Value field = spirv::ConstantOp::create(
          rewriter, loc, rewriter.getI32Type(), rewriter.getI32IntegerAttr(i));
      Value address =
          spirv::AccessChainOp::create(rewriter, loc, base, ValueRange(field));
      signature.remapInput(
          numBuffers + i,
          spirv::LoadOp::create(rewriter, loc, address).getResult());
    }
    rewriter.applySignatureConversion(entry, signature, getTypeConverter());
    rewriter.eraseOp(func);
    return success();
  }
};

struct ReturnPattern : OpConversionPattern<kernel::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(kernel::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::ReturnOp>(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value createAddress(OpBuilder &builder, Location loc, Type memory, Value base,
                    Value index, std::optional<uint32_t> leaf = {},
                    Value element = {}) {
  SmallVector<Value, 4> indices;
  auto number = [&](uint32_t value) {
    return spirv::ConstantOp::create(builder, loc, builder.getI32Type(),
                                     builder.getI32IntegerAttr(value));
  };
  if (isa<BufferType>(memory)) // The array is member 0 of the struct.
    indices.push_back(number(0));
  indices.push_back(index);
  if (leaf)
    indices.push_back(number(*leaf));
  if (element)
    indices.push_back(element);
  return spirv::AccessChainOp::create(builder, loc, base, indices);
}

struct WorkgroupAllocPattern : OpConversionPattern<WorkgroupAllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WorkgroupAllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto module = op->getParentOfType<spirv::ModuleOp>();
    std::string name;
    unsigned number = 0;
    do
      name = ("workgroup" + Twine(number++)).str();
    while (SymbolTable::lookupSymbolIn(module, name));
    spirv::GlobalVariableOp variable;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      variable = spirv::GlobalVariableOp::create(
          rewriter, op.getLoc(), getTypeConverter()->convertType(op.getType()),
          name);
    }
    rewriter.replaceOpWithNewOp<spirv::AddressOfOp>(op, variable);
    return success();
  }
};

struct LoadPattern : OpConversionPattern<kernel::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(kernel::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::LoadOp>(
        op, createAddress(rewriter, op.getLoc(), op.getMemory().getType(),
                          adaptor.getMemory(), adaptor.getIndex(), op.getLeaf(),
                          adaptor.getElement()));
    return success();
  }
};

/// A variable of the function, which SPIR-V wants in its first block.
Value createVariable(ConversionPatternRewriter &rewriter, Operation *op,
                     Type type, Attribute initializer = {}) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto func = op->getParentOfType<spirv::FuncOp>();
  rewriter.setInsertionPointToStart(&func.front());
  auto pointer = cast<spirv::PointerType>(type);
  Value value;
  if (initializer)
    value = spirv::ConstantOp::create(rewriter, op->getLoc(),
                                      pointer.getPointeeType(), initializer);
  return spirv::VariableOp::create(rewriter, op->getLoc(), type,
                                   StorageClass::Function, value);
}

struct ConstantTablePattern : OpConversionPattern<ConstantTableOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ConstantTableOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Attribute value = op.getValue();
    if (cast<TableType>(op.getType()).getElementType().isBF16())
      value = cast<DenseElementsAttr>(value).bitcast(rewriter.getI16Type());
    rewriter.replaceOp(
        op,
        createVariable(rewriter, op,
                       getTypeConverter()->convertType(op.getType()), value));
    return success();
  }
};

struct VarPattern : OpConversionPattern<VarOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(VarOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, createVariable(rewriter, op,
                           getTypeConverter()->convertType(op.getType())));
    return success();
  }
};

Value createVarAddress(OpBuilder &builder, Location loc, Value var,
                       ValueRange indices) {
  if (indices.empty())
    return var;
  return spirv::AccessChainOp::create(builder, loc, var, indices);
}

struct VarLoadPattern : OpConversionPattern<VarLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(VarLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::LoadOp>(
        op, createVarAddress(rewriter, op.getLoc(), adaptor.getVar(),
                             adaptor.getIndices()));
    return success();
  }
};

struct VarStorePattern : OpConversionPattern<VarStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(VarStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address = createVarAddress(rewriter, op.getLoc(), adaptor.getVar(),
                                     adaptor.getIndices());
    rewriter.replaceOpWithNewOp<spirv::StoreOp>(op, address,
                                                adaptor.getValue());
    return success();
  }
};

/// Nobody gave it a number: it has its default.
struct SpecConstantPattern : OpConversionPattern<SpecConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SpecConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::ConstantOp>(op, op.getType(),
                                                   op.getDefaultValue());
    return success();
  }
};

/// What we could unroll is unrolled by now; the rest is the driver's. It gets
/// no count, which the loop control of the SPIR-V dialect has no room for.
struct LoopHintPattern : OpConversionPattern<LoopHintOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LoopHintOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Loops are converted before what they contain.
    if (auto loop = op->getParentOfType<spirv::LoopOp>()) {
      auto control = op.getUnroll() == Unroll::None
                         ? spirv::LoopControl::DontUnroll
                         : spirv::LoopControl::Unroll;
      rewriter.modifyOpInPlace(loop, [&] { loop.setLoopControl(control); });
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct StorePattern : OpConversionPattern<kernel::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(kernel::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address = createAddress(
        rewriter, op.getLoc(), op.getMemory().getType(), adaptor.getMemory(),
        adaptor.getIndex(), op.getLeaf(), adaptor.getElement());
    rewriter.replaceOpWithNewOp<spirv::StoreOp>(op, address,
                                                adaptor.getValue());
    return success();
  }
};

struct AtomicRmwPattern : OpConversionPattern<AtomicRmwOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AtomicRmwOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type memory = op.getMemory().getType();
    Value address = createAddress(rewriter, op.getLoc(), memory,
                                  adaptor.getMemory(), adaptor.getIndex());
    auto replace = [&](auto tag) {
      rewriter.replaceOpWithNewOp<decltype(tag)>(
          op, op.getType(), address, getScope(op.getScope()),
          getSemantics(op.getOrder(), memory), adaptor.getValue());
    };
    switch (op.getKind()) {
    case AtomicKind::Add:
      replace(spirv::AtomicIAddOp());
      break;
    case AtomicKind::Min:
      replace(spirv::AtomicSMinOp());
      break;
    case AtomicKind::Max:
      replace(spirv::AtomicSMaxOp());
      break;
    case AtomicKind::UMin:
      replace(spirv::AtomicUMinOp());
      break;
    case AtomicKind::UMax:
      replace(spirv::AtomicUMaxOp());
      break;
    case AtomicKind::And:
      replace(spirv::AtomicAndOp());
      break;
    case AtomicKind::Or:
      replace(spirv::AtomicOrOp());
      break;
    case AtomicKind::Xor:
      replace(spirv::AtomicXorOp());
      break;
    case AtomicKind::Exchange:
      replace(spirv::AtomicExchangeOp());
      break;
    }
    return success();
  }
};

struct AtomicCasPattern : OpConversionPattern<AtomicCasOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AtomicCasOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type memory = op.getMemory().getType();
    Value address = createAddress(rewriter, op.getLoc(), memory,
                                  adaptor.getMemory(), adaptor.getIndex());
    // A comparison that fails stores nothing, so it releases nothing.
    MemoryOrder onFailure = op.getOrder();
    if (onFailure == MemoryOrder::Release)
      onFailure = MemoryOrder::Relaxed;
    else if (onFailure == MemoryOrder::AcqRel)
      onFailure = MemoryOrder::Acquire;
    rewriter.replaceOpWithNewOp<spirv::AtomicCompareExchangeOp>(
        op, op.getType(), address, getScope(op.getScope()),
        getSemantics(op.getOrder(), memory), getSemantics(onFailure, memory),
        adaptor.getValue(), adaptor.getExpected());
    return success();
  }
};

/// There is no plain atomic load here: nothing is or-ed to the element.
struct AtomicLoadPattern : OpConversionPattern<AtomicLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AtomicLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type memory = op.getMemory().getType();
    Value address = createAddress(rewriter, op.getLoc(), memory,
                                  adaptor.getMemory(), adaptor.getIndex());
    Value zero =
        spirv::ConstantOp::create(rewriter, op.getLoc(), op.getType(),
                                  rewriter.getIntegerAttr(op.getType(), 0));
    rewriter.replaceOpWithNewOp<spirv::AtomicOrOp>(
        op, op.getType(), address, getScope(op.getScope()),
        getSemantics(op.getOrder(), memory), zero);
    return success();
  }
};

struct AtomicStorePattern : OpConversionPattern<AtomicStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(AtomicStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type memory = op.getMemory().getType();
    Value address = createAddress(rewriter, op.getLoc(), memory,
                                  adaptor.getMemory(), adaptor.getIndex());
    spirv::AtomicExchangeOp::create(
        rewriter, op.getLoc(), op.getValue().getType(), address,
        getScope(op.getScope()), getSemantics(op.getOrder(), memory),
        adaptor.getValue());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierPattern : OpConversionPattern<BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // UniformMemory stands for storage buffers.
    rewriter.replaceOpWithNewOp<spirv::ControlBarrierOp>(
        op, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
        spirv::MemorySemantics::AcquireRelease |
            spirv::MemorySemantics::WorkgroupMemory |
            spirv::MemorySemantics::UniformMemory);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Identifiers
//===----------------------------------------------------------------------===//

/// Loads a built-in input, declaring its variable on first use.
Value loadBuiltin(ConversionPatternRewriter &rewriter, Operation *op, Type type,
                  spirv::BuiltIn builtin) {
  auto module = op->getParentOfType<spirv::ModuleOp>();
  std::string name = ("builtin_" + spirv::stringifyBuiltIn(builtin)).str();
  auto variable = dyn_cast_if_present<spirv::GlobalVariableOp>(
      SymbolTable::lookupSymbolIn(module, name));
  if (!variable) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    variable = spirv::GlobalVariableOp::create(
        rewriter, op->getLoc(),
        spirv::PointerType::get(type, StorageClass::Input), name, builtin);
  }
  Value address = spirv::AddressOfOp::create(rewriter, op->getLoc(), variable);
  return spirv::LoadOp::create(rewriter, op->getLoc(), address);
}

template <typename OpTy, spirv::BuiltIn builtin>
struct GridIdPattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value all = loadBuiltin(
        rewriter, op, VectorType::get({3}, rewriter.getI32Type()), builtin);
    rewriter.replaceOpWithNewOp<spirv::CompositeExtractOp>(
        op, all, ArrayRef<int32_t>(static_cast<int32_t>(op.getDim())));
    return success();
  }
};

template <typename OpTy, spirv::BuiltIn builtin>
struct SubgroupIdPattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, loadBuiltin(rewriter, op, rewriter.getI32Type(), builtin));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Subgroups
//===----------------------------------------------------------------------===//

struct SubgroupReducePattern : OpConversionPattern<SubgroupReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SubgroupReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto replace = [&](auto tag) {
      rewriter.replaceOpWithNewOp<decltype(tag)>(
          op, op.getType(), spirv::Scope::Subgroup,
          spirv::GroupOperation::Reduce, adaptor.getValue(), Value());
      return success();
    };
    bool isFloat = isa<FloatType>(op.getType());
    switch (op.getKind()) {
    case ReduceKind::Add:
      return isFloat ? replace(spirv::GroupNonUniformFAddOp())
                     : replace(spirv::GroupNonUniformIAddOp());
    case ReduceKind::Mul:
      return isFloat ? replace(spirv::GroupNonUniformFMulOp())
                     : replace(spirv::GroupNonUniformIMulOp());
    case ReduceKind::Min:
      return isFloat ? replace(spirv::GroupNonUniformFMinOp())
                     : replace(spirv::GroupNonUniformSMinOp());
    case ReduceKind::Max:
      return isFloat ? replace(spirv::GroupNonUniformFMaxOp())
                     : replace(spirv::GroupNonUniformSMaxOp());
    case ReduceKind::UMin:
      return replace(spirv::GroupNonUniformUMinOp());
    case ReduceKind::UMax:
      return replace(spirv::GroupNonUniformUMaxOp());
    }
    return failure();
  }
};

struct SubgroupScanPattern : OpConversionPattern<SubgroupScanOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SubgroupScanOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto operation = op.getKind() == ScanKind::Inclusive
                         ? spirv::GroupOperation::InclusiveScan
                         : spirv::GroupOperation::ExclusiveScan;
    auto replace = [&](auto tag) {
      rewriter.replaceOpWithNewOp<decltype(tag)>(
          op, op.getType(), spirv::Scope::Subgroup, operation,
          adaptor.getValue(), Value());
      return success();
    };
    return isa<FloatType>(op.getType())
               ? replace(spirv::GroupNonUniformFAddOp())
               : replace(spirv::GroupNonUniformIAddOp());
  }
};

struct SubgroupShufflePattern : OpConversionPattern<SubgroupShuffleOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SubgroupShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto replace = [&](auto tag) {
      rewriter.replaceOpWithNewOp<decltype(tag)>(
          op, op.getType(), spirv::Scope::Subgroup, adaptor.getValue(),
          adaptor.getLane());
      return success();
    };
    switch (op.getKind()) {
    case ShuffleKind::Idx:
      return replace(spirv::GroupNonUniformShuffleOp());
    case ShuffleKind::Xor:
      return replace(spirv::GroupNonUniformShuffleXorOp());
    case ShuffleKind::Up:
      return replace(spirv::GroupNonUniformShuffleUpOp());
    case ShuffleKind::Down:
      return replace(spirv::GroupNonUniformShuffleDownOp());
    }
    return failure();
  }
};

struct SubgroupBroadcastPattern : OpConversionPattern<SubgroupBroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SubgroupBroadcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // OpGroupNonUniformBroadcast as MLIR has it takes a constant lane.
    if (matchPattern(op.getLane(), m_Constant()))
      rewriter.replaceOpWithNewOp<spirv::GroupNonUniformBroadcastOp>(
          op, op.getType(), spirv::Scope::Subgroup, adaptor.getValue(),
          adaptor.getLane());
    else
      rewriter.replaceOpWithNewOp<spirv::GroupNonUniformShuffleOp>(
          op, op.getType(), spirv::Scope::Subgroup, adaptor.getValue(),
          adaptor.getLane());
    return success();
  }
};

template <typename OpTy, typename SpirvOp>
struct SubgroupVotePattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<SpirvOp>(
        op, op.getType(), spirv::Scope::Subgroup, adaptor.getValue());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

spirv::CooperativeMatrixLayoutKHR getLayout(FragmentLayout layout) {
  return layout == FragmentLayout::Row
             ? spirv::CooperativeMatrixLayoutKHR::RowMajor
             : spirv::CooperativeMatrixLayoutKHR::ColumnMajor;
}

struct FragmentFillPattern : OpConversionPattern<FragmentFillOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FragmentFillOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::CompositeConstructOp>(
        op, getTypeConverter()->convertType(op.getType()),
        ValueRange(adaptor.getValue()));
    return success();
  }
};

struct FragmentLoadPattern : OpConversionPattern<FragmentLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FragmentLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address =
        createAddress(rewriter, op.getLoc(), op.getMemory().getType(),
                      adaptor.getMemory(), adaptor.getIndex());
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixLoadOp>(
        op, getTypeConverter()->convertType(op.getType()), address,
        getLayout(op.getLayout()), adaptor.getStride(),
        spirv::MemoryAccessAttr(), IntegerAttr());
    return success();
  }
};

struct FragmentStorePattern : OpConversionPattern<FragmentStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FragmentStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value address =
        createAddress(rewriter, op.getLoc(), op.getMemory().getType(),
                      adaptor.getMemory(), adaptor.getIndex());
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixStoreOp>(
        op, address, adaptor.getValue(), getLayout(op.getLayout()),
        adaptor.getStride(), spirv::MemoryAccessAttr(), IntegerAttr());
    return success();
  }
};

struct FragmentMmaPattern : OpConversionPattern<FragmentMmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(FragmentMmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<spirv::KHRCooperativeMatrixMulAddOp>(
        op, adaptor.getA(), adaptor.getB(), adaptor.getC());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Arithmetic that upstream lacks
//===----------------------------------------------------------------------===//

template <typename OpTy, typename SpirvOp>
struct UnaryPattern : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<SpirvOp>(
        op, this->getTypeConverter()->convertType(op.getType()),
        adaptor.getOperands()[0]);
    return success();
  }
};

/// Keeps a product and a sum apart where fastmath<contract> doesn't allow to
/// join them. Drivers also take it as leave to drop compensations like
/// (a + b) - a where the decoration is missing.
template <typename OpTy, typename SpirvOp>
struct ContractablePattern : OpConversionPattern<OpTy> {
  ContractablePattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern<OpTy>(converter, context, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto result = rewriter.replaceOpWithNewOp<SpirvOp>(
        op, this->getTypeConverter()->convertType(op.getType()),
        adaptor.getLhs(), adaptor.getRhs());
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::contract))
      result->setAttr("no_contraction", rewriter.getUnitAttr());
    return success();
  }
};

/// A constant of type bf16 is the constant of its bits.
struct Bf16ConstantPattern : OpConversionPattern<arith::ConstantOp> {
  Bf16ConstantPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    auto i16 = rewriter.getI16Type();
    Type type = getTypeConverter()->convertType(op.getType());
    Attribute bits;
    if (auto number = dyn_cast<FloatAttr>(op.getValue()))
      bits = rewriter.getIntegerAttr(i16, number.getValue().bitcastToAPInt());
    else if (auto elements = dyn_cast<DenseFPElementsAttr>(op.getValue()))
      bits = elements.bitcast(i16);
    else
      return failure();
    rewriter.replaceOpWithNewOp<spirv::ConstantOp>(op, type,
                                                   cast<TypedAttr>(bits));
    return success();
  }
};

/// Integers are unsigned in SPIR-V, as upstream writes those without a sign,
/// and ConvertSToF reads them as signed. spirv-opt, which drivers run, goes by
/// the type where it folds the conversion of a constant: it is given a signed
/// one.
struct SignedToFloatPattern : OpConversionPattern<arith::SIToFPOp> {
  SignedToFloatPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(arith::SIToFPOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = adaptor.getIn().getType();
    auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
    Type result = getTypeConverter()->convertType(op.getType());
    if (!integer || integer.getWidth() == 1 || !result)
      return failure();
    Type signedType = IntegerType::get(op.getContext(), integer.getWidth(),
                                       IntegerType::Signed);
    if (auto vector = dyn_cast<VectorType>(type))
      signedType = vector.clone(signedType);
    Value value = spirv::BitcastOp::create(rewriter, op.getLoc(), signedType,
                                           adaptor.getIn());
    rewriter.replaceOpWithNewOp<spirv::ConvertSToFOp>(op, result, value);
    return success();
  }
};

/// A bitcast between bf16 and i16 is nothing.
struct SameTypeBitcastPattern : OpConversionPattern<arith::BitcastOp> {
  SameTypeBitcastPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(arith::BitcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (getTypeConverter()->convertType(op.getType()) !=
        adaptor.getIn().getType())
      return failure();
    rewriter.replaceOp(op, adaptor.getIn());
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Capabilities
//===----------------------------------------------------------------------===//

/// What the code of one spirv.module needs. A small type that is only loaded,
/// stored and converted is part of the storage capability; it needs one of its
/// own where something is computed with it, or where no buffer holds it.
namespace {
struct Requirements {
  llvm::SmallSetVector<spirv::Capability, 8> capabilities;
  llvm::SmallSetVector<spirv::Extension, 4> extensions;

  void visit(Operation *op);
  /// To be called after the last visit.
  void finish();

private:
  void visitValueType(Type type, bool computes);
  void visitPointee(Type type, StorageClass storage);

  bool hasInt8 = false, hasInt16 = false, hasFloat16 = false;
};
} // namespace

static Type getScalar(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getElementType();
  return type;
}

void Requirements::visitValueType(Type type, bool computes) {
  using C = spirv::Capability;
  if (auto matrix = dyn_cast<spirv::CooperativeMatrixType>(type)) {
    capabilities.insert(C::CooperativeMatrixKHR);
    extensions.insert(spirv::Extension::SPV_KHR_cooperative_matrix);
    return visitValueType(matrix.getElementType(), /*computes=*/true);
  }
  Type scalar = getScalar(type);
  if (!scalar.isIntOrFloat())
    return;
  bool isFloat = isa<FloatType>(scalar);
  switch (scalar.getIntOrFloatBitWidth()) {
  case 8:
    hasInt8 = true;
    if (computes)
      capabilities.insert(C::Int8);
    break;
  case 16:
    (isFloat ? hasFloat16 : hasInt16) = true;
    if (computes)
      capabilities.insert(isFloat ? C::Float16 : C::Int16);
    break;
  case 64:
    capabilities.insert(isFloat ? C::Float64 : C::Int64);
    break;
  default:
    break;
  }
}

void Requirements::visitPointee(Type type, StorageClass storage) {
  using C = spirv::Capability;
  if (auto block = dyn_cast<spirv::StructType>(type)) {
    for (unsigned i = 0; i != block.getNumElements(); ++i)
      visitPointee(block.getElementType(i), storage);
    return;
  }
  if (auto array = dyn_cast<spirv::RuntimeArrayType>(type))
    return visitPointee(array.getElementType(), storage);
  if (auto array = dyn_cast<spirv::ArrayType>(type))
    return visitPointee(array.getElementType(), storage);
  if (isa<spirv::CooperativeMatrixType>(type))
    return visitValueType(type, /*computes=*/true);
  Type scalar = getScalar(type);
  if (!scalar.isIntOrFloat())
    return;
  bool inBuffer = storage == StorageClass::StorageBuffer;
  unsigned width = scalar.getIntOrFloatBitWidth();
  if (inBuffer && width == 8) {
    capabilities.insert(C::StorageBuffer8BitAccess);
    extensions.insert(spirv::Extension::SPV_KHR_8bit_storage);
  } else if (inBuffer && width == 16) {
    capabilities.insert(C::StorageBuffer16BitAccess);
    extensions.insert(spirv::Extension::SPV_KHR_16bit_storage);
  }
  visitValueType(type, /*computes=*/!inBuffer);
}

void Requirements::visit(Operation *op) {
  using C = spirv::Capability;
  if (auto variable = dyn_cast<spirv::GlobalVariableOp>(op)) {
    auto pointer = cast<spirv::PointerType>(variable.getType());
    visitPointee(pointer.getPointeeType(), pointer.getStorageClass());
    auto builtin = variable->getAttrOfType<StringAttr>("built_in");
    if (builtin && builtin.getValue().starts_with("Subgroup"))
      capabilities.insert(C::GroupNonUniform);
    return;
  }
  bool computes =
      !isa<spirv::LoadOp, spirv::StoreOp, spirv::AccessChainOp,
           spirv::FConvertOp, spirv::UConvertOp, spirv::SConvertOp>(op);
  for (Type type : op->getOperandTypes())
    visitValueType(type, computes);
  for (Type type : op->getResultTypes()) {
    visitValueType(type, computes);
    // Variables that carry values out of a branch or loop.
    if (isa<spirv::VariableOp>(op)) {
      auto pointer = cast<spirv::PointerType>(type);
      visitPointee(pointer.getPointeeType(), pointer.getStorageClass());
    }
  }

  StringRef name = op->getName().stripDialect();
  if (name.starts_with("Atomic") && op->getResult(0).getType().isInteger(64))
    capabilities.insert(C::Int64Atomics);
  if (!name.consume_front("GroupNonUniform"))
    return;
  capabilities.insert(C::GroupNonUniform);
  if (name == "All" || name == "Any")
    capabilities.insert(C::GroupNonUniformVote);
  else if (name == "Broadcast")
    capabilities.insert(C::GroupNonUniformBallot);
  else if (name == "Shuffle" || name == "ShuffleXor")
    capabilities.insert(C::GroupNonUniformShuffle);
  else if (name == "ShuffleUp" || name == "ShuffleDown")
    capabilities.insert(C::GroupNonUniformShuffleRelative);
  else
    capabilities.insert(C::GroupNonUniformArithmetic);
}

void Requirements::finish() {
  using C = spirv::Capability;
  if (hasInt8 && !capabilities.contains(C::StorageBuffer8BitAccess))
    capabilities.insert(C::Int8);
  if (capabilities.contains(C::StorageBuffer16BitAccess))
    return;
  if (hasInt16)
    capabilities.insert(C::Int16);
  if (hasFloat16)
    capabilities.insert(C::Float16);
}

/// Adds the entry point, the workgroup size and what the code requires.
static void finishModule(spirv::ModuleOp module) {
  MLIRContext *context = module.getContext();
  spirv::FuncOp func = *module.getOps<spirv::FuncOp>().begin();
  auto workgroupSize =
      cast<DenseI32ArrayAttr>(func->removeAttr(kWorkgroupSize));

  // From SPIR-V 1.4 on the interface lists every global variable.
  SmallVector<Attribute> interface;
  for (auto variable : module.getOps<spirv::GlobalVariableOp>())
    interface.push_back(SymbolRefAttr::get(variable));

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  spirv::EntryPointOp::create(builder, func.getLoc(),
                              spirv::ExecutionModel::GLCompute, func,
                              interface);
  spirv::ExecutionModeOp::create(builder, func.getLoc(), func,
                                 spirv::ExecutionMode::LocalSize,
                                 workgroupSize.asArrayRef());

  Requirements needs;
  needs.capabilities.insert(spirv::Capability::Shader);
  module.walk([&](Operation *op) { needs.visit(op); });
  needs.finish();
  // Cooperative matrices came with SPIR-V 1.6, which Vulkan 1.3 takes.
  bool isNew =
      needs.capabilities.contains(spirv::Capability::CooperativeMatrixKHR);
  module->setAttr(spirv::ModuleOp::getVCETripleAttrName(),
                  spirv::VerCapExtAttr::get(
                      isNew ? spirv::Version::V_1_6 : spirv::Version::V_1_5,
                      needs.capabilities.getArrayRef(),
                      needs.extensions.getArrayRef(), context));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void populatePatterns(const SPIRVTypeConverter &converter,
                             ScfToSPIRVContext &scfContext,
                             RewritePatternSet &patterns) {
  arith::populateArithToSPIRVPatterns(converter, patterns);
  populateMathToSPIRVPatterns(converter, patterns);
  populateSCFToSPIRVPatterns(converter, scfContext, patterns);
  populateVectorToSPIRVPatterns(converter, patterns);

  using B = spirv::BuiltIn;
  patterns.add<
      FuncPattern, ReturnPattern, WorkgroupAllocPattern, LoadPattern,
      StorePattern, ConstantTablePattern, VarPattern, VarLoadPattern,
      VarStorePattern, SpecConstantPattern, LoopHintPattern, AtomicRmwPattern,
      AtomicCasPattern, AtomicLoadPattern, AtomicStorePattern, BarrierPattern,
      GridIdPattern<LocalIdOp, B::LocalInvocationId>,
      GridIdPattern<WorkgroupIdOp, B::WorkgroupId>,
      GridIdPattern<NumWorkgroupsOp, B::NumWorkgroups>,
      SubgroupIdPattern<LaneIdOp, B::SubgroupLocalInvocationId>,
      SubgroupIdPattern<SubgroupIdOp, B::SubgroupId>,
      SubgroupIdPattern<SubgroupSizeOp, B::SubgroupSize>, SubgroupReducePattern,
      SubgroupScanPattern, SubgroupShufflePattern, SubgroupBroadcastPattern,
      SubgroupVotePattern<SubgroupAnyOp, spirv::GroupNonUniformAnyOp>,
      SubgroupVotePattern<SubgroupAllOp, spirv::GroupNonUniformAllOp>,
      FragmentFillPattern, FragmentLoadPattern, FragmentStorePattern,
      FragmentMmaPattern, ContractablePattern<arith::AddFOp, spirv::FAddOp>,
      ContractablePattern<arith::SubFOp, spirv::FSubOp>,
      ContractablePattern<arith::MulFOp, spirv::FMulOp>, Bf16ConstantPattern,
      SignedToFloatPattern, SameTypeBitcastPattern>(converter,
                                                    patterns.getContext());
  // Upstream converts log2 through log, whose error it multiplies.
  patterns.add<UnaryPattern<math::Exp2Op, spirv::GLExp2Op>,
               UnaryPattern<math::Log2Op, spirv::GLLog2Op>,
               UnaryPattern<math::CtPopOp, spirv::BitCountOp>>(
      converter, patterns.getContext(), /*benefit=*/2);
}

namespace {
struct KernelToSpirv : public poot::impl::KernelToSpirvBase<KernelToSpirv> {
  using KernelToSpirvBase::KernelToSpirvBase;
  void runOnOperation() override;
};
} // namespace

void KernelToSpirv::runOnOperation() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  FailureOr<SpirvTarget> target =
      SpirvTarget::parse(this->target, [&] { return module.emitError(); });
  if (failed(target))
    return signalPassFailure();
  for (auto func : module.getOps<FuncOp>())
    shareWorkgroupArrays(func);
  for (auto func : module.getOps<FuncOp>())
    if (failed(checkLimits(func, *target)) || failed(checkTypes(func, *target)))
      return signalPassFailure();

  // The converter may use every type; which ones the target has was checked.
  using C = spirv::Capability;
  auto everything = spirv::VerCapExtAttr::get(
      spirv::Version::V_1_6,
      {C::Shader, C::Int8, C::Int16, C::Int64, C::Float16, C::Float64,
       C::Int64Atomics, C::CooperativeMatrixKHR, C::StorageBuffer8BitAccess,
       C::StorageBuffer16BitAccess, C::GroupNonUniform, C::GroupNonUniformVote,
       C::GroupNonUniformBallot, C::GroupNonUniformArithmetic,
       C::GroupNonUniformShuffle, C::GroupNonUniformShuffleRelative},
      {spirv::Extension::SPV_KHR_8bit_storage,
       spirv::Extension::SPV_KHR_16bit_storage,
       spirv::Extension::SPV_KHR_cooperative_matrix},
      context);
  auto environment = spirv::TargetEnvAttr::get(
      everything, spirv::getDefaultResourceLimits(context),
      spirv::ClientAPI::Vulkan, spirv::Vendor::Unknown,
      spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
  SPIRVConversionOptions options;
  options.emulateLT32BitScalarTypes = false;
  SPIRVTypeConverter converter(environment, options);
  addTypeConversions(converter);

  auto conversionTarget = SPIRVConversionTarget::get(environment);
  conversionTarget->addLegalOp<ModuleOp>();
  ScfToSPIRVContext scfContext;
  RewritePatternSet patterns(context);
  populatePatterns(converter, scfContext, patterns);
  SmallVector<Operation *> kernels(module.getOps<FuncOp>());
  if (failed(
          applyFullConversion(kernels, *conversionTarget, std::move(patterns))))
    return signalPassFailure();
  for (auto spirvModule : module.getOps<spirv::ModuleOp>())
    if (!spirvModule.getVceTriple())
      finishModule(spirvModule);
}
