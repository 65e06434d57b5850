//===- Objects.cpp - Types, and the places that objects lie in ------------===//

#include "Importer.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecordLayout.h"

using namespace clang;
using namespace poot;
using namespace poot::import;
using mlir::Location;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The arguments of the class template that TYPE is an instance of.
static llvm::ArrayRef<TemplateArgument> getTemplateArguments(QualType type) {
  return cast<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl())
      ->getTemplateArgs()
      .asArray();
}

mlir::Type Importer::scalarType(QualType type, SourceLocation loc,
                                bool report) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (auto *basic = type->getAs<BuiltinType>()) {
    switch (basic->getKind()) {
    case BuiltinType::Float16:
    case BuiltinType::Half:
      return builder.getF16Type();
    case BuiltinType::BFloat16:
      return builder.getBF16Type();
    case BuiltinType::Float:
      return builder.getF32Type();
    case BuiltinType::Double:
      return builder.getF64Type();
    case BuiltinType::Bool:
      return builder.getI1Type();
    case BuiltinType::LongDouble:
    case BuiltinType::Float128:
    case BuiltinType::Ibm128:
    case BuiltinType::Int128:
    case BuiltinType::UInt128:
      if (report)
        fail(Diagnostic::Type, loc,
             "type '" + type.getAsString() + "' in a kernel");
      return {};
    default:
      if (basic->isInteger())
        return builder.getIntegerType(ast.getTypeSize(type));
      return {};
    }
  }
  if (type->isEnumeralType())
    return builder.getIntegerType(ast.getTypeSize(type));
  if (auto *vector = type->getAs<clang::VectorType>()) {
    mlir::Type element = scalarType(vector->getElementType(), loc, report);
    if (!element)
      return {};
    return mlir::VectorType::get({int64_t(vector->getNumElements())}, element);
  }
  if (getKernelType(type) == "fragment") {
    auto arguments = getTemplateArguments(type);
    mlir::Type element = scalarType(arguments[0].getAsType(), loc, report);
    int64_t rows = arguments[1].getAsIntegral().getExtValue();
    int64_t columns = arguments[2].getAsIntegral().getExtValue();
    auto use = static_cast<kernel::FragmentUse>(
        arguments[3].getAsIntegral().getExtValue());
    auto fragment = kernel::FragmentType::getChecked(
        [&] { return mlir::emitError(builder.getUnknownLoc()); },
        builder.getContext(), rows, columns, element, use);
    if (!fragment && report)
      fail(Diagnostic::Type, loc, "fragment of this shape in a kernel");
    return fragment;
  }
  return {};
}

const CXXRecordDecl *Importer::checkRecord(QualType type, SourceLocation loc) {
  auto *record = type->getAsCXXRecordDecl();
  std::string name = "'" + type.getUnqualifiedType().getAsString() + "'";
  if (!record || !record->hasDefinition())
    fail(Diagnostic::Type, loc, "type " + name + " in a kernel");
  if (record->isUnion())
    fail(Diagnostic::Union, loc, "union " + name + " in a kernel");
  if (record->isPolymorphic())
    fail(Diagnostic::Virtual, loc,
         "class " + name + " with virtual functions in a kernel");
  if (record->getNumVBases() != 0)
    fail(Diagnostic::VirtualBase, loc,
         "class " + name + " with a virtual base in a kernel");
  if (!record->hasTrivialDestructor())
    fail(Diagnostic::Destructor, loc,
         "class " + name + " with a destructor in a kernel");
  for (auto *field : record->fields())
    if (field->isBitField())
      fail(Diagnostic::BitField, loc,
           "class " + name + " with bit-fields in a kernel");
  return record;
}

/// Scalars that memory can hold. A bool is a byte there.
static bool isMemoryElement(mlir::Type type) {
  auto vector = llvm::dyn_cast_or_null<mlir::VectorType>(type);
  if (!vector)
    return type && type.isIntOrFloat() && !type.isInteger(1);
  return (vector.getNumElements() == 2 || vector.getNumElements() == 4) &&
         !vector.getElementType().isInteger(1);
}

static mlir::Type getStoredType(mlir::Type type) {
  return type && type.isInteger(1)
             ? mlir::IntegerType::get(type.getContext(), 8)
             : type;
}

void Importer::flattenStructure(QualType type, int64_t offset,
                                llvm::SmallVectorImpl<mlir::Type> &leaves,
                                llvm::SmallVectorImpl<int64_t> &counts,
                                llvm::SmallVectorImpl<int64_t> &offsets,
                                SourceLocation loc) {
  int64_t count = 1;
  QualType element = type;
  while (auto *array = ast.getAsConstantArrayType(element)) {
    count *= array->getZExtSize();
    element = array->getElementType();
  }
  if (mlir::Type scalar = getStoredType(scalarType(element, loc));
      isMemoryElement(scalar)) {
    leaves.push_back(scalar);
    counts.push_back(count);
    offsets.push_back(offset);
    return;
  }
  if (count != 1 || !element->isRecordType())
    fail(Diagnostic::BufferElement, loc,
         "'" + type.getAsString() + "' in the elements of a buffer");
  const CXXRecordDecl *record = checkRecord(element, loc);
  const ASTRecordLayout &layout = ast.getASTRecordLayout(record);
  for (const CXXBaseSpecifier &base : record->bases())
    flattenStructure(
        base.getType(),
        offset + layout.getBaseClassOffset(base.getType()->getAsCXXRecordDecl())
                     .getQuantity(),
        leaves, counts, offsets, loc);
  for (const FieldDecl *field : record->fields())
    flattenStructure(field->getType(),
                     offset + layout.getFieldOffset(field->getFieldIndex()) / 8,
                     leaves, counts, offsets, loc);
}

mlir::Type Importer::elementType(QualType type, SourceLocation loc) {
  if (mlir::Type scalar = getStoredType(scalarType(type, loc))) {
    if (isMemoryElement(scalar))
      return scalar;
    fail(Diagnostic::BufferElement, loc,
         "elements of type '" + type.getUnqualifiedType().getAsString() + "'");
  }
  if (!type->isRecordType())
    fail(Diagnostic::BufferElement, loc,
         "elements of type '" + type.getUnqualifiedType().getAsString() + "'");
  llvm::SmallVector<mlir::Type> leaves;
  llvm::SmallVector<int64_t> counts, offsets;
  flattenStructure(type, 0, leaves, counts, offsets, loc);
  if (leaves.empty())
    fail(Diagnostic::BufferElement, loc, "elements of an empty structure");
  auto structure = kernel::StructType::getChecked(
      [&] { return mlir::emitError(getLoc(loc)); }, builder.getContext(),
      int64_t(ast.getTypeSizeInChars(type).getQuantity()),
      llvm::ArrayRef<mlir::Type>(leaves), llvm::ArrayRef<int64_t>(counts),
      llvm::ArrayRef<int64_t>(offsets));
  if (!structure)
    fail(Diagnostic::BufferElement, loc,
         "elements of the packed structure '" +
             type.getUnqualifiedType().getAsString() + "'");
  return structure;
}

//===----------------------------------------------------------------------===//
// Making objects
//===----------------------------------------------------------------------===//

Object Importer::allocate(QualType type, SourceLocation loc,
                          llvm::SmallVector<int64_t> extents) {
  type = type.getNonReferenceType();
  Object object;
  object.type = type;
  auto declare = [&](mlir::Type element) -> Value {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    return kernel::VarOp::create(
        builder, getLoc(loc),
        kernel::VarType::get(builder.getContext(), extents, element));
  };
  if (type.isVolatileQualified())
    fail(Diagnostic::Volatile, loc, "volatile object in a kernel");
  if (mlir::Type scalar = scalarType(type, loc)) {
    object.memory = declare(scalar);
    return object;
  }
  if (type->isPointerType()) {
    if (!extents.empty())
      fail(Diagnostic::Pointer, loc, "array of pointers in a kernel");
    object.isPointer = true;
    object.memory = declare(builder.getI32Type());
    object.parts.emplace_back();
    return object;
  }
  if (auto *array = ast.getAsConstantArrayType(type)) {
    uint64_t count = array->getZExtSize();
    uint64_t total = count;
    for (int64_t extent : extents)
      total *= extent;
    if (count == 0 || total > (1u << 20))
      fail(Diagnostic::Type, loc,
           "array of " + llvm::Twine(count) +
               " elements in a kernel: 1 to 2^20 are possible");
    extents.push_back(count);
    object = allocate(array->getElementType(), loc, extents);
    object.type = type;
    return object;
  }
  if (type->isVariableArrayType())
    fail(Diagnostic::Vla, loc, "array of variable extent in a kernel");
  llvm::StringRef special = getKernelType(type);
  if (special == "workgroup")
    fail(Diagnostic::WorkgroupArray, loc, "copy of a workgroup array");
  if (special == "buffer") // bound when it is initialized
    return object;
  if (!type->isRecordType())
    fail(Diagnostic::Type, loc,
         "type '" + type.getAsString() + "' in a kernel");
  const CXXRecordDecl *record = checkRecord(type, loc);
  for (const CXXBaseSpecifier &base : record->bases())
    object.parts.push_back(allocate(base.getType(), loc, extents));
  for (const FieldDecl *field : record->fields()) {
    if (!field->getType()->isReferenceType()) {
      object.parts.push_back(allocate(field->getType(), loc, extents));
      continue;
    }
    // Bound when the object is initialized.
    object.parts.emplace_back();
    object.parts.back().type = field->getType();
  }
  return object;
}

Object Importer::allocateWorkgroup(QualType type, int64_t count,
                                   llvm::ArrayRef<Value> overlays,
                                   SourceLocation loc) {
  Object object;
  object.type = type;
  if (mlir::Type scalar = getStoredType(scalarType(type, loc))) {
    if (!isMemoryElement(scalar))
      fail(Diagnostic::BufferElement, loc,
           "elements of type '" + type.getAsString() +
               "' in a workgroup array");
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    for (Value other : overlays)
      if (auto *op = other.getDefiningOp();
          op && !op->isBeforeInBlock(&*builder.getInsertionPoint()))
        builder.setInsertionPointAfter(op);
    object.memory = kernel::WorkgroupAllocOp::create(
        builder, getLoc(loc),
        kernel::WorkgroupType::get(builder.getContext(), count, scalar),
        overlays);
    return object;
  }
  // An array for each part of a structure.
  const CXXRecordDecl *record = checkRecord(type, loc);
  for (const CXXBaseSpecifier &base : record->bases())
    object.parts.push_back(
        allocateWorkgroup(base.getType(), count, overlays, loc));
  for (const FieldDecl *field : record->fields())
    object.parts.push_back(
        allocateWorkgroup(field->getType(), count, overlays, loc));
  return object;
}

Object Importer::structureElement(Value memory, QualType type, Value index,
                                  uint32_t &leaf) {
  Object object;
  object.type = type;
  QualType element = type;
  llvm::SmallVector<int64_t, 2> extents;
  while (auto *array = ast.getAsConstantArrayType(element)) {
    extents.push_back(array->getZExtSize());
    element = array->getElementType();
  }
  if (isScalar(element)) {
    object.memory = memory;
    object.indices.push_back(index);
    object.leaf = leaf++;
    object.extents = extents;
    return object;
  }
  auto *record = element->getAsCXXRecordDecl();
  for (const CXXBaseSpecifier &base : record->bases())
    object.parts.push_back(
        structureElement(memory, base.getType(), index, leaf));
  for (const FieldDecl *field : record->fields())
    object.parts.push_back(
        structureElement(memory, field->getType(), index, leaf));
  return object;
}

Object Importer::elementOf(const Object &handle, QualType type, Value index,
                           SourceLocation loc) {
  if (!handle.isLeaf()) { // a workgroup array of structures
    Object object = handle;
    object.type = type;
    for (Object &part : object.parts)
      part = elementOf(part, part.type, index, loc);
    return object;
  }
  if (handle.isChoice())
    return choose(handle.condition,
                  elementOf(handle.choices[0], type, index, loc),
                  elementOf(handle.choices[1], type, index, loc), loc);
  if (!isScalar(type)) {
    uint32_t leaf = 0;
    return structureElement(handle.memory, type, index, leaf);
  }
  Object object;
  object.type = type;
  object.memory = handle.memory;
  object.indices.push_back(index);
  return object;
}

Object Importer::field(const Object &object, const FieldDecl *field) {
  auto *record = cast<CXXRecordDecl>(field->getParent());
  size_t number = record->getNumBases() + field->getFieldIndex();
  if (number >= object.parts.size())
    fail(Diagnostic::Expression, lastPlace,
         "object that isn't known where the kernel is imported");
  return object.parts[number];
}

void Importer::addIndex(Object &object, Value index, QualType type) {
  object.type = type;
  auto elementType = [&](const Object &part) {
    auto *array =
        part.type.isNull() ? nullptr : ast.getAsConstantArrayType(part.type);
    return array ? array->getElementType() : part.type;
  };
  for (Object &choice : object.choices)
    addIndex(choice, index, elementType(choice));
  if (object.isLeaf() && !object.isPointer && !object.isChoice())
    object.indices.push_back(index);
  for (Object &part : object.parts)
    addIndex(part, index, part.type);
}

/// Calls VISIT for every value that says where OBJECT lies.
static void forEachValue(Object &object,
                         llvm::function_ref<void(Value &)> visit) {
  for (Value &index : object.indices)
    visit(index);
  if (object.lane)
    visit(object.lane);
  if (object.condition)
    visit(object.condition);
  for (Object &part : object.parts)
    forEachValue(part, visit);
  for (Object &choice : object.choices)
    forEachValue(choice, visit);
}

/// One of two objects. Places that differ become choices of the leaves.
Object Importer::choose(Value condition, const Object &first,
                        const Object &second, SourceLocation loc) {
  if (isSamePlace(first, second))
    return first;
  Object object;
  object.type = first.type;
  if (first.isPointer || second.isPointer ||
      first.isLeaf() != second.isLeaf() ||
      (!first.isLeaf() && first.parts.size() != second.parts.size()))
    fail(Diagnostic::PointerBase, loc,
         "one of two objects that hold pointers in a kernel");
  if (first.isLeaf()) {
    object.memory = first.memory;
    object.condition = condition;
    object.choices = {first, second};
    return object;
  }
  for (auto [a, b] : llvm::zip(first.parts, second.parts))
    object.parts.push_back(choose(condition, a, b, loc));
  return object;
}

/// One of two objects, each of which is imported on its side alone. The indices
/// that a side computes reach the end through variables.
Object
Importer::chooseBySides(Value condition, const Expr *onTrue,
                        const Expr *onFalse, SourceLocation source,
                        llvm::function_ref<Object(const Expr *)> import) {
  Location loc = getLoc(source);
  Object objects[2];
  llvm::SmallVector<Object> variables[2];
  ifElse(condition, loc, [&](bool first) {
    unsigned side = first ? 0 : 1;
    objects[side] = import(first ? onTrue : onFalse);
    forEachValue(objects[side], [&](Value &value) {
      Object variable = allocate(
          value.getType().isInteger(1) ? ast.BoolTy : ast.IntTy, source);
      store(value, variable, loc);
      variables[side].push_back(variable);
    });
    return Value();
  });
  for (unsigned side : {0, 1}) {
    size_t next = 0;
    forEachValue(objects[side], [&](Value &value) {
      value = load(variables[side][next++], loc);
    });
  }
  return choose(condition, objects[0], objects[1], source);
}

Value Importer::ifElse(Value condition, Location loc,
                       llvm::function_ref<Value(bool)> side) {
  Block *onTrue = newBlock(), *onFalse = newBlock(), *end = newBlock();
  branchIf(condition, onTrue, onFalse, loc);
  Value result;
  for (bool first : {true, false}) {
    startBlock(first ? onTrue : onFalse);
    Value value = side(first);
    if (value && !result)
      result = end->addArgument(value.getType(), loc);
    branch(end, loc, value ? mlir::ValueRange(value) : mlir::ValueRange());
  }
  startBlock(end);
  return result;
}

Value Importer::getMemory(const Object &object, SourceLocation loc) {
  if (object.isChoice())
    fail(Diagnostic::BufferSelect, loc,
         "one of two arrays where a kernel must name one");
  if (!object.isLeaf())
    fail(Diagnostic::BufferElement, loc,
         "array of structures where scalars are needed");
  return object.memory;
}

/// Runs BODY for the numbers FROM to TO - 1. Few are written out.
void Importer::forRange(uint64_t from, uint64_t to, SourceLocation source,
                        llvm::function_ref<void(Value)> body) {
  Location loc = getLoc(source);
  if (to - from <= 32) {
    for (uint64_t i = from; i < to; ++i)
      body(number(i, loc));
    return;
  }
  forValues(number(from, loc), number(to, loc), loc, body);
}

void Importer::forValues(Value from, Value to, Location loc,
                         llvm::function_ref<void(Value)> body) {
  Block *head = newBlock(), *inner = newBlock(), *end = newBlock();
  Value index = head->addArgument(builder.getI32Type(), loc);
  branch(head, loc, from);
  startBlock(head);
  branchIf(mlir::arith::CmpIOp::create(
               builder, loc, mlir::arith::CmpIPredicate::ult, index, to),
           inner, end, loc);
  startBlock(inner);
  body(index);
  branch(
      head, loc,
      Value(mlir::arith::AddIOp::create(builder, loc, index, number(1, loc))));
  startBlock(end);
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

namespace {
/// The index of an element and, in a structure, of an element of a leaf.
struct Position {
  Value index, element;
};
} // namespace

/// A leaf's indices count its extents; memory has one index.
static Position getPosition(const Object &object, mlir::OpBuilder &builder,
                            Location loc) {
  auto linear = [&](llvm::ArrayRef<Value> indices,
                    llvm::ArrayRef<int64_t> extents) {
    Value sum = indices.front();
    for (size_t i = 1; i < indices.size(); ++i) {
      Value extent = mlir::arith::ConstantIntOp::create(
          builder, loc, builder.getI32Type(), extents[i]);
      sum = mlir::arith::MulIOp::create(builder, loc, sum, extent);
      sum = mlir::arith::AddIOp::create(builder, loc, sum, indices[i]);
    }
    return sum;
  };
  llvm::ArrayRef<Value> indices = object.indices;
  if (!object.leaf)
    return {linear(indices, object.extents), {}};
  Position position{indices.front(), {}};
  if (!object.extents.empty())
    position.element = linear(indices.drop_front(), object.extents);
  return position;
}

/// Whether a byte of memory holds a bool.
static bool isBoolByte(const Object &object, mlir::Type type) {
  return type.isInteger(8) && !object.type.isNull() &&
         object.type->isBooleanType();
}

Value Importer::load(const Object &object, Location loc) {
  if (!object.isLeaf())
    fail(Diagnostic::Expression, lastPlace,
         "object that isn't known where the kernel is imported");
  Value value;
  if (object.isChoice()) {
    value = ifElse(object.condition, loc, [&](bool first) {
      return load(object.choices[first ? 0 : 1], loc);
    });
  } else if (llvm::isa<kernel::VarType>(object.memory.getType())) {
    value =
        kernel::VarLoadOp::create(builder, loc, object.memory, object.indices);
  } else {
    Position at = getPosition(object, builder, loc);
    mlir::IntegerAttr leaf = object.leaf
                                 ? builder.getI32IntegerAttr(*object.leaf)
                                 : mlir::IntegerAttr();
    mlir::Type type = kernel::getLeafType(object.memory.getType(), object.leaf);
    value = kernel::LoadOp::create(builder, loc, type, object.memory, at.index,
                                   leaf, at.element);
    if (isBoolByte(object, type))
      value = toBool(value, loc);
  }
  if (object.lane) {
    Value position = mlir::arith::IndexCastUIOp::create(
        builder, loc, builder.getIndexType(), object.lane);
    return mlir::vector::ExtractOp::create(
        builder, loc, value, llvm::ArrayRef<mlir::OpFoldResult>{position});
  }
  if (!object.swizzle.empty())
    return shuffled(value, object.swizzle, loc);
  return value;
}

void Importer::store(Value value, const Object &object, Location loc) {
  if (!object.isLeaf())
    fail(Diagnostic::Expression, lastPlace,
         "object that isn't known where the kernel is imported");
  if (object.lane || !object.swizzle.empty()) {
    Object whole = object;
    whole.lane = {};
    whole.swizzle.clear();
    Value vector = load(whole, loc);
    if (object.lane) {
      Value position = mlir::arith::IndexCastUIOp::create(
          builder, loc, builder.getIndexType(), object.lane);
      vector = mlir::vector::InsertOp::create(
          builder, loc, value, vector,
          llvm::ArrayRef<mlir::OpFoldResult>{position});
    } else {
      for (auto [i, element] : llvm::enumerate(object.swizzle)) {
        Value part = object.swizzle.size() == 1
                         ? value
                         : mlir::vector::ExtractOp::create(builder, loc, value,
                                                           int64_t(i));
        vector = mlir::vector::InsertOp::create(builder, loc, part, vector,
                                                int64_t(element));
      }
    }
    return store(vector, whole, loc);
  }
  if (object.isChoice()) {
    ifElse(object.condition, loc, [&](bool first) {
      store(value, object.choices[first ? 0 : 1], loc);
      return Value();
    });
    return;
  }
  if (llvm::isa<kernel::TableType>(object.memory.getType()))
    fail(Diagnostic::Global, lastPlace, "change of a constant in a kernel");
  if (llvm::isa<kernel::VarType>(object.memory.getType())) {
    kernel::VarStoreOp::create(builder, loc, value, object.memory,
                               object.indices);
    return;
  }
  Position at = getPosition(object, builder, loc);
  mlir::IntegerAttr leaf = object.leaf ? builder.getI32IntegerAttr(*object.leaf)
                                       : mlir::IntegerAttr();
  if (value.getType().isInteger(1))
    value =
        mlir::arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  kernel::StoreOp::create(builder, loc, value, object.memory, at.index, leaf,
                          at.element);
}

/// Calls VISIT for every scalar of OBJECT, in the order of its type. Arrays are
/// written out.
void Importer::forEachElement(const Object &object,
                              llvm::function_ref<void(const Object &)> visit,
                              SourceLocation loc) {
  if (auto *array = ast.getAsConstantArrayType(object.type)) {
    for (uint64_t i = 0; i < array->getZExtSize(); ++i) {
      Object element = object;
      addIndex(element, number(i, getLoc(loc)), array->getElementType());
      forEachElement(element, visit, loc);
    }
    return;
  }
  if (object.isPointer || object.isLeaf())
    return visit(object);
  for (const Object &part : object.parts)
    forEachElement(part, visit, loc);
}

/// References, buffers and what a lambda captured of `this` are bound anew; all
/// else is read before anything is written, since the two may overlap.
void Importer::copy(Object &to, const Object &from, SourceLocation loc) {
  std::vector<std::pair<Object, Object>> elements;
  std::function<void(Object &, const Object &)> gather =
      [&](Object &to, const Object &from) {
        bool isHandle = getKernelType(to.type) == "buffer";
        if (isHandle || (to.isPointer && !from.isPointer)) {
          to = from;
          return;
        }
        if (auto *array = ast.getAsConstantArrayType(to.type)) {
          auto one = [&](Value index, bool isLoop) {
            Object a = to, b = from;
            addIndex(a, index, array->getElementType());
            addIndex(b, index, array->getElementType());
            if (isLoop)
              copy(a, b, loc);
            else
              gather(a, b);
          };
          uint64_t count = array->getZExtSize();
          if (count > 32)
            forRange(0, count, loc, [&](Value i) { one(i, /*isLoop=*/true); });
          else
            for (uint64_t i = 0; i < count; ++i)
              one(number(i, getLoc(loc)), /*isLoop=*/false);
          return;
        }
        if (to.isPointer || to.isLeaf()) {
          elements.emplace_back(to, from);
          // What a pointer points into is bound when it is stored.
          if (to.isPointer)
            storePointer(to, from, loc);
          return;
        }
        auto *record = to.type->getAsCXXRecordDecl();
        if (!record || to.parts.size() != from.parts.size())
          fail(Diagnostic::Expression, loc,
               "object that isn't known where the kernel is imported");
        size_t part = record->getNumBases();
        for (size_t i = 0; i < part; ++i)
          gather(to.parts[i], from.parts[i]);
        for (const FieldDecl *field : record->fields()) {
          if (field->getType()->isReferenceType())
            to.parts[part] = from.parts[part];
          else
            gather(to.parts[part], from.parts[part]);
          ++part;
        }
      };
  gather(to, from);
  llvm::SmallVector<Value> values;
  for (auto &[target, source] : elements)
    values.push_back(target.isPointer ? Value() : load(source, getLoc(loc)));
  for (auto [element, value] : llvm::zip(elements, values))
    if (value)
      store(value, element.first, getLoc(loc));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Importer::number(int64_t value, Location loc, unsigned width) {
  return mlir::arith::ConstantIntOp::create(
      builder, loc, builder.getIntegerType(width), value);
}

Value Importer::zero(mlir::Type type, Location loc) {
  if (auto fragment = llvm::dyn_cast<kernel::FragmentType>(type))
    return kernel::FragmentFillOp::create(builder, loc, type,
                                          zero(fragment.getElementType(), loc));
  return mlir::arith::ConstantOp::create(
      builder, loc, llvm::cast<mlir::TypedAttr>(builder.getZeroAttr(type)));
}

static mlir::TypedAttr constantAttr(mlir::OpBuilder &builder, mlir::Type type,
                                    const APValue &value) {
  if (value.isInt() && llvm::isa<mlir::IntegerType>(type))
    return builder.getIntegerAttr(
        type, value.getInt().extOrTrunc(type.getIntOrFloatBitWidth()));
  if (value.isFloat() && llvm::isa<mlir::FloatType>(type))
    return mlir::FloatAttr::get(type, value.getFloat());
  return {};
}

Value Importer::constant(mlir::Type type, const APValue &value, Location loc) {
  if (mlir::TypedAttr attr = constantAttr(builder, type, value))
    return mlir::arith::ConstantOp::create(builder, loc, attr);
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  if (!vector || !value.isVector())
    return {};
  llvm::SmallVector<mlir::Attribute> elements;
  for (unsigned i = 0; i < value.getVectorLength(); ++i) {
    mlir::TypedAttr element =
        constantAttr(builder, vector.getElementType(), value.getVectorElt(i));
    if (!element)
      return {};
    elements.push_back(element);
  }
  return mlir::arith::ConstantOp::create(
      builder, loc,
      llvm::cast<mlir::TypedAttr>(
          mlir::Attribute(mlir::DenseElementsAttr::get(vector, elements))));
}

void Importer::zeroInitialize(const Object &object, SourceLocation loc) {
  if (auto *array = ast.getAsConstantArrayType(object.type))
    return forRange(0, array->getZExtSize(), loc, [&](Value index) {
      Object element = object;
      addIndex(element, index, array->getElementType());
      zeroInitialize(element, loc);
    });
  if (object.isPointer)
    fail(Diagnostic::Pointer, loc, "null pointer in a kernel");
  if (object.isLeaf())
    return store(zero(scalarType(object.type, loc), getLoc(loc)), object,
                 getLoc(loc));
  for (const Object &part : object.parts)
    zeroInitialize(part, loc);
}

/// Stores a constant that clang has computed.
void Importer::storeConstant(const Object &object, const APValue &value,
                             SourceLocation loc) {
  if (auto *array = ast.getAsConstantArrayType(object.type)) {
    if (!value.isArray())
      fail(Diagnostic::Expression, loc, "constant of this kind in a kernel");
    for (unsigned i = 0, n = array->getZExtSize(); i < n; ++i) {
      Object element = object;
      addIndex(element, number(i, getLoc(loc)), array->getElementType());
      storeConstant(element,
                    i < value.getArrayInitializedElts()
                        ? value.getArrayInitializedElt(i)
                        : value.getArrayFiller(),
                    loc);
    }
    return;
  }
  if (object.isLeaf() && !object.isPointer) {
    Value number = constant(scalarType(object.type, loc), value, getLoc(loc));
    if (!number)
      fail(Diagnostic::Expression, loc, "constant of this kind in a kernel");
    return store(number, object, getLoc(loc));
  }
  if (!value.isStruct())
    fail(Diagnostic::Expression, loc, "constant of this kind in a kernel");
  unsigned bases = value.getStructNumBases();
  for (auto [i, part] : llvm::enumerate(object.parts))
    storeConstant(part,
                  i < bases ? value.getStructBase(i)
                            : value.getStructField(i - bases),
                  loc);
}

static bool collect(mlir::OpBuilder &builder, mlir::Type type,
                    const APValue &value, int64_t count,
                    llvm::SmallVectorImpl<mlir::Attribute> &elements) {
  if (!value.isArray()) {
    mlir::TypedAttr element = constantAttr(builder, type, value);
    elements.push_back(element);
    return static_cast<bool>(element);
  }
  for (unsigned i = 0; i < value.getArraySize(); ++i)
    if (!collect(builder, type,
                 i < value.getArrayInitializedElts()
                     ? value.getArrayInitializedElt(i)
                     : value.getArrayFiller(),
                 count, elements))
      return false;
  return true;
}

/// A constant array of scalars as a table of the kernel.
std::optional<Object> Importer::constantTable(const VarDecl *variable,
                                              SourceLocation loc) {
  QualType element = variable->getType();
  llvm::SmallVector<int64_t, 2> extents;
  int64_t count = 1;
  while (auto *array = ast.getAsConstantArrayType(element)) {
    extents.push_back(array->getZExtSize());
    count *= extents.back();
    element = array->getElementType();
  }
  mlir::Type type = scalarType(element, loc);
  if (extents.empty() || !isMemoryElement(type) ||
      llvm::isa<mlir::VectorType>(type))
    return std::nullopt;
  auto [it, isNew] = tables.try_emplace(variable);
  if (isNew) {
    const APValue *value = variable->evaluateValue();
    llvm::SmallVector<mlir::Attribute> elements;
    if (!value || !collect(builder, type, *value, count, elements)) {
      tables.erase(it);
      return std::nullopt;
    }
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    it->second.type = variable->getType();
    it->second.extents = extents;
    it->second.memory = kernel::ConstantTableOp::create(
        builder, getLoc(loc),
        kernel::TableType::get(builder.getContext(), count, type),
        mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({count}, type),
                                     elements));
  }
  return it->second;
}
