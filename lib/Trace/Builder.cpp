//===- Builder.cpp - Records the primitives of a step ---------------------===//
//
// Each primitive computes its result type, creates the op and runs the op's
// own verifier, so that the rules of the graph dialect stand in one place. A
// violation becomes the builder's error and the op goes.
//
//===----------------------------------------------------------------------===//

#include "Poot/Trace/Builder.h"

#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Graph/GraphOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <limits>

using namespace mlir;
using namespace poot;
using namespace poot::trace;
using Kind = TraceError::Kind;

static StringRef toRef(std::string_view text) {
  return StringRef(text.data(), text.size());
}

std::string trace::toString(const TensorType &type) {
  std::string text = std::string(weights::getName(type.element)) + "[";
  for (size_t i = 0; i < type.shape.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += type.shape[i] == kOpenExtent ? "?" : std::to_string(type.shape[i]);
  }
  return text + "]";
}

std::string TraceError::toString() const {
  std::string text = scope.empty() ? "" : scope + ": ";
  if (!helper.empty())
    text += helper + ": ";
  return text + message;
}

//===----------------------------------------------------------------------===//
// State of a builder
//===----------------------------------------------------------------------===//

struct trace::Builder::Impl {
  Impl(ModuleOp module, TraceLimits limits)
      : module(module), limits(limits), symbols(module),
        builder(module.getContext()) {
    module.getContext()->loadDialect<graph::GraphDialect, func::FuncDialect>();
  }

  ModuleOp module;
  TraceLimits limits;
  SymbolTable symbols;
  OpBuilder builder;
  std::optional<TraceError> error;
  SmallVector<std::string> scopes;
  int64_t numOps = 0;
  int64_t literalBytes = 0;

  // The entry under construction.
  func::FuncOp entry;
  SmallVector<std::pair<std::string, Value>> outputs;

  std::string getScope() const { return llvm::join(scopes, "/"); }

  Location getLocation() {
    MLIRContext *context = module.getContext();
    if (scopes.empty())
      return UnknownLoc::get(context);
    return NameLoc::get(StringAttr::get(context, getScope()));
  }

  void fail(Kind kind, std::string helper, std::string message) {
    if (!error)
      error =
          TraceError{kind, std::move(helper), getScope(), std::move(message)};
  }

  /// Whether HELPER may record an op that takes VALUES.
  bool begin(StringRef helper, ArrayRef<Traced> values) {
    if (error)
      return false;
    if (!entry) {
      fail(Kind::Sequence, helper.str(), "no entry has begun");
      return false;
    }
    for (const Traced &value : values)
      if (!value) {
        fail(Kind::Argument, helper.str(), "an operand has no value");
        return false;
      }
    if (++numOps > limits.maxOps) {
      fail(Kind::Limit, helper.str(),
           "more than " + std::to_string(limits.maxOps) +
               " ops (TraceLimits::maxOps)");
      return false;
    }
    return true;
  }

  /// The MLIR type of a value; null, with an error, where there is none.
  Type convert(StringRef helper, const TensorType &type,
               bool allowOpen = false) {
    MLIRContext *context = module.getContext();
    Shape shape = type.shape;
    bool isOpen = allowOpen && !shape.empty() && shape[0] == kOpenExtent;
    // Of an open tensor the rest is what can be bounded here.
    Shape known(shape.begin() + (isOpen ? 1 : 0), shape.end());
    Type result;
    if (type.element == ElementType::Bool) {
      if (static_cast<int64_t>(shape.size()) <= graph::kMaxRank &&
          graph::countElements(known))
        result = RankedTensorType::get(known, IntegerType::get(context, 1));
    } else {
      result = graph::getConstType(context, type.element, known);
    }
    if (!result || (isOpen && weights::isPacked(type.element)) ||
        static_cast<int64_t>(shape.size()) > graph::kMaxRank) {
      fail(Kind::Shape, helper.str(),
           trace::toString(type) +
               " is no type of a graph value; extents are at least 1, the rank "
               "at most 8, packed rows whole blocks, elements i1, i8 to i64, "
               "f16, bf16, f32, f64 or packed");
      return {};
    }
    weights::Expected<int64_t> bytes = weights::countBytes(type.element, known);
    if (!bytes || *bytes > limits.maxValueBytes) {
      fail(Kind::Limit, helper.str(),
           trace::toString(type) + " takes more than " +
               std::to_string(limits.maxValueBytes) +
               " bytes (TraceLimits::maxValueBytes)");
      return {};
    }
    if (isOpen) {
      SmallVector<int64_t> extents = {ShapedType::kDynamic};
      llvm::append_range(extents, known);
      result = RankedTensorType::get(
          extents, llvm::cast<RankedTensorType>(result).getElementType());
    }
    return result;
  }

  /// CREATE's op, verified; null, with an error, where it breaks a rule.
  template <class Create> Operation *record(StringRef helper, Create create) {
    std::string message;
    Operation *op = nullptr;
    {
      ScopedDiagnosticHandler handler(module.getContext(),
                                      [&](Diagnostic &diagnostic) {
                                        if (message.empty())
                                          message = diagnostic.str();
                                        return success();
                                      });
      op = create();
      if (succeeded(mlir::verify(op, /*verifyRecursively=*/false)))
        return op;
    }
    op->erase();
    fail(Kind::Shape, helper.str(), message);
    return nullptr;
  }

  /// The value of OP in terms of this interface.
  TensorType describe(Value value) {
    TensorType type;
    type.element = graph::getStoredType(value.getType());
    for (int64_t extent : graph::getShape(value.getType()))
      type.shape.push_back(ShapedType::isDynamic(extent) ? kOpenExtent
                                                         : extent);
    return type;
  }
};

trace::Builder::Builder(ModuleOp module, TraceLimits limits)
    : impl(std::make_unique<Impl>(module, limits)) {}
trace::Builder::~Builder() = default;

const TraceError *trace::Builder::error() const {
  return impl->error ? &*impl->error : nullptr;
}

Traced trace::Builder::fail(Kind kind, std::string helper,
                            std::string message) {
  impl->fail(kind, std::move(helper), std::move(message));
  return {};
}

trace::Builder::Scope::Scope(Builder &builder, std::string_view name)
    : builder(builder) {
  builder.impl->scopes.emplace_back(name);
}

trace::Builder::Scope::~Scope() { builder.impl->scopes.pop_back(); }

//===----------------------------------------------------------------------===//
// Entries, slots, symbols
//===----------------------------------------------------------------------===//

static graph::EntryAttr convertKey(MLIRContext *context,
                                   const StepShape &shape) {
  mlir::Builder types(context);
  auto convert = [&](ElementType type) -> Type {
    if (type == ElementType::F16)
      return types.getF16Type();
    return type == ElementType::BF16 ? Type(types.getBF16Type())
                                     : Type(types.getF32Type());
  };
  return graph::EntryAttr::get(
      context,
      shape.phase == Phase::Prefill ? graph::Phase::Prefill
                                    : graph::Phase::Decode,
      shape.rows, shape.tokens, shape.capacity,
      shape.cache == CacheLayout::Paged ? graph::CacheLayout::Paged
                                        : graph::CacheLayout::Contiguous,
      shape.logits == LogitsRows::All ? graph::LogitsRows::All
                                      : graph::LogitsRows::Last,
      shape.suffix == Suffix::Greedy ? "greedy" : "logits",
      convert(shape.numerics.activation), convert(shape.numerics.kv),
      convert(shape.numerics.accumulate));
}

void trace::Builder::beginEntry(std::string_view name, const StepShape *key) {
  if (impl->error)
    return;
  if (impl->entry)
    return impl->fail(Kind::Sequence, "beginEntry",
                      "the entry " + impl->entry.getName().str() +
                          " has not ended");
  if (name.empty() || impl->symbols.lookup(toRef(name)))
    return impl->fail(Kind::Symbol, "beginEntry",
                      "the name '" + std::string(name) +
                          "' is empty or taken in this module");
  if (key)
    if (weights::Status status = verify(*key); !status.ok())
      return impl->fail(Kind::Argument, "beginEntry", status.message());
  OpBuilder &builder = impl->builder;
  builder.setInsertionPointToEnd(impl->module.getBody());
  impl->entry = func::FuncOp::create(builder, impl->getLocation(), toRef(name),
                                     builder.getFunctionType({}, {}));
  impl->symbols.insert(impl->entry);
  if (key)
    impl->entry->setAttr(graph::kEntryAttr,
                         convertKey(impl->module.getContext(), *key));
  builder.setInsertionPointToEnd(impl->entry.addEntryBlock());
  impl->outputs.clear();
}

void trace::Builder::endEntry() {
  if (impl->error)
    return;
  if (!impl->entry)
    return impl->fail(Kind::Sequence, "endEntry", "no entry has begun");
  SmallVector<Value> values;
  for (auto &[name, value] : impl->outputs)
    values.push_back(value);
  OpBuilder &builder = impl->builder;
  func::ReturnOp::create(builder, impl->getLocation(), values);
  impl->entry.setFunctionType(
      builder.getFunctionType(impl->entry.getBody().front().getArgumentTypes(),
                              ValueRange(values).getTypes()));
  for (auto [i, output] : llvm::enumerate(impl->outputs))
    impl->entry.setResultAttr(i, graph::kNameAttr,
                              builder.getStringAttr(output.first));
  impl->entry = {};
}

Traced trace::Builder::input(std::string_view name, const TensorType &type) {
  if (!impl->begin("input", {}))
    return {};
  Type converted = impl->convert("input", type);
  if (!converted)
    return {};
  func::FuncOp entry = impl->entry;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttrOfType<StringAttr>(i, graph::kNameAttr) == toRef(name))
      return fail(Kind::Symbol, "input",
                  "there is a slot '" + std::string(name) + "' already");
  if (name.empty() || type.element == ElementType::Bool ||
      weights::isPacked(type.element))
    return fail(Kind::Argument, "input",
                "slot '" + std::string(name) + "' of type " + toString(type) +
                    "; a slot has a name and elements other than i1 and "
                    "packed ones");
  unsigned index = entry.getNumArguments();
  OpBuilder &builder = impl->builder;
  (void)entry.insertArgument(
      index, converted,
      builder.getDictionaryAttr(builder.getNamedAttr(
          graph::kNameAttr, builder.getStringAttr(toRef(name)))),
      impl->getLocation());
  return Traced(entry.getArgument(index).getAsOpaquePointer(), type);
}

static Value unwrap(const void *handle) {
  return Value::getFromOpaquePointer(handle);
}

void trace::Builder::output(std::string_view name, Traced value) {
  if (!impl->begin("output", value))
    return;
  for (auto &[other, unused] : impl->outputs)
    if (other == name)
      return impl->fail(Kind::Symbol, "output",
                        "there is an output '" + other + "' already");
  if (name.empty() || value.element() == ElementType::Bool ||
      weights::isPacked(value.element()))
    return impl->fail(Kind::Argument, "output",
                      "output '" + std::string(name) + "' of type " +
                          toString(value.type()) +
                          "; an output has a name and elements other than i1 "
                          "and packed ones");
  impl->outputs.emplace_back(std::string(name), unwrap(value.handle));
}

/// Declares the symbol NAME of class SymbolOp and TYPE before the first
/// function, or finds it with that type; gets its value.
template <class SymbolOp>
static Operation *getSymbol(trace::Builder &b, OpBuilder &builder,
                            SymbolTable &symbols, StringRef helper,
                            StringRef name, Type type, Location location) {
  Operation *existing = symbols.lookup(name);
  auto symbol = dyn_cast_or_null<SymbolOp>(existing);
  if (name.empty() || (existing && (!symbol || symbol.getType() != type))) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    stream << "'" << name << "' of type " << type
           << " does not agree with what the module holds under that name";
    b.fail(Kind::Symbol, helper.str(), message);
    return nullptr;
  }
  if (!symbol) {
    OpBuilder::InsertionGuard guard(builder);
    auto module = cast<ModuleOp>(symbols.getOp());
    builder.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
    symbol = SymbolOp::create(builder, location, name, type);
    symbols.insert(symbol);
  }
  return graph::GetOp::create(builder, location, type, name);
}

Traced trace::Builder::weight(std::string_view name, const TensorType &type) {
  if (!impl->begin("weight", {}))
    return {};
  Type converted = impl->convert("weight", type);
  if (!converted)
    return {};
  Operation *get =
      getSymbol<graph::ConstOp>(*this, impl->builder, impl->symbols, "weight",
                                toRef(name), converted, impl->getLocation());
  return get ? Traced(get->getResult(0).getAsOpaquePointer(), type) : Traced();
}

Traced trace::Builder::state(std::string_view name, const TensorType &type) {
  if (!impl->begin("state", {}))
    return {};
  Type converted = impl->convert("state", type, /*allowOpen=*/true);
  if (!converted)
    return {};
  if (weights::isPacked(type.element) || type.element == ElementType::Bool)
    return fail(Kind::Argument, "state",
                "a state cannot have type " + toString(type));
  Operation *get =
      getSymbol<graph::StateOp>(*this, impl->builder, impl->symbols, "state",
                                toRef(name), converted, impl->getLocation());
  return get ? Traced(get->getResult(0).getAsOpaquePointer(), type) : Traced();
}

void trace::Builder::setState(std::string_view name, Traced value) {
  if (!impl->begin("setState", value))
    return;
  auto symbol =
      dyn_cast_or_null<graph::StateOp>(impl->symbols.lookup(toRef(name)));
  Value converted = unwrap(value.handle);
  if (!symbol || symbol.getType() != converted.getType())
    return impl->fail(Kind::Symbol, "setState",
                      "no state '" + std::string(name) + "' of type " +
                          toString(value.type()));
  for (auto set : impl->entry.getBody().front().getOps<graph::SetOp>())
    if (set.getSymbol() == toRef(name))
      return impl->fail(Kind::Sequence, "setState",
                        "state '" + std::string(name) +
                            "' is set already; an entry sets a state once");
  graph::SetOp::create(impl->builder, impl->getLocation(), toRef(name),
                       converted);
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

/// Records OPERATION(types..., arguments...) as HELPER and returns its value.
#define RECORD(helper, Op, ...)                                                \
  [&]() -> Traced {                                                            \
    Operation *op = impl->record(helper, [&] {                                 \
      return graph::Op::create(impl->builder, impl->getLocation(),             \
                               __VA_ARGS__)                                    \
          .getOperation();                                                     \
    });                                                                        \
    if (!op)                                                                   \
      return {};                                                               \
    Value value = op->getResult(0);                                            \
    return Traced(value.getAsOpaquePointer(), impl->describe(value));          \
  }()

Traced trace::Builder::splat(double value, const TensorType &type) {
  if (!impl->begin("splat", {}))
    return {};
  auto converted =
      dyn_cast_or_null<RankedTensorType>(impl->convert("splat", type));
  if (!converted)
    return impl->error ? Traced()
                       : fail(Kind::Argument, "splat",
                              "a literal cannot have type " + toString(type));
  Type element = converted.getElementType();
  DenseElementsAttr literal;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    // Exact: a double holds every i32 and the extremes of narrower types.
    unsigned width = integer.getWidth();
    double limit = std::ldexp(1.0, width == 1 ? 1 : width - 1);
    if (!(value == std::floor(value)) || value < (width == 1 ? 0 : -limit) ||
        value >= limit)
      return fail(Kind::Argument, "splat",
                  std::to_string(value) + " is no value of " +
                      weights::getName(type.element));
    literal = DenseElementsAttr::get(
        converted,
        APInt(width, static_cast<uint64_t>(static_cast<int64_t>(value)),
              /*isSigned=*/true, /*implicitTrunc=*/true));
  } else {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(llvm::cast<FloatType>(element).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &losesInfo);
    literal = DenseElementsAttr::get(converted, rounded);
  }
  return RECORD("splat", ConstantOp, converted, literal);
}

template <class T>
static DenseElementsAttr makeLiteral(Type type, const std::vector<T> &values) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  if (!tensor || tensor.getNumElements() != static_cast<int64_t>(values.size()))
    return {};
  return DenseElementsAttr::get(tensor, ArrayRef<T>(values));
}

Traced trace::Builder::literal(const std::vector<float> &values,
                               const Shape &shape) {
  return recordLiteral({ElementType::F32, shape}, values);
}

Traced trace::Builder::literal(const std::vector<int32_t> &values,
                               const Shape &shape) {
  return recordLiteral({ElementType::I32, shape}, values);
}

template <class T>
Traced trace::Builder::recordLiteral(const TensorType &type,
                                     const std::vector<T> &values) {
  if (!impl->begin("literal", {}))
    return {};
  Type converted = impl->convert("literal", type);
  if (!converted)
    return {};
  DenseElementsAttr value = makeLiteral(converted, values);
  if (!value)
    return fail(Kind::Shape, "literal",
                std::to_string(values.size()) + " values for " +
                    toString(type));
  impl->literalBytes += static_cast<int64_t>(values.size() * sizeof(T));
  if (impl->literalBytes > impl->limits.maxLiteralBytes)
    return fail(Kind::Limit, "literal",
                "literals of more than " +
                    std::to_string(impl->limits.maxLiteralBytes) +
                    " bytes (TraceLimits::maxLiteralBytes)");
  return RECORD("literal", ConstantOp, converted, value);
}

Traced trace::Builder::unary(std::string_view kind, Traced x) {
  if (!impl->begin(toRef(kind), x))
    return {};
  std::optional<graph::UnaryKind> symbol =
      graph::symbolizeUnaryKind(toRef(kind));
  if (!symbol)
    return fail(Kind::Argument, "unary",
                "there is no unary kind '" + std::string(kind) + "'");
  Value operand = unwrap(x.handle);
  return RECORD(toRef(kind), UnaryOp, operand.getType(), *symbol, operand);
}

Traced trace::Builder::binary(std::string_view kind, Traced lhs, Traced rhs) {
  if (!impl->begin(toRef(kind), {lhs, rhs}))
    return {};
  std::optional<graph::BinaryKind> symbol =
      graph::symbolizeBinaryKind(toRef(kind));
  if (!symbol)
    return fail(Kind::Argument, "binary",
                "there is no binary kind '" + std::string(kind) + "'");
  if (lhs.type() != rhs.type())
    return fail(Kind::Shape, std::string(kind),
                "operands " + toString(lhs.type()) + " and " +
                    toString(rhs.type()) + " differ");
  Value left = unwrap(lhs.handle), right = unwrap(rhs.handle);
  return RECORD(toRef(kind), BinaryOp, left.getType(), *symbol, left, right);
}

Traced trace::Builder::binary(std::string_view kind, Traced lhs, double rhs) {
  if (!impl->begin(toRef(kind), lhs))
    return {};
  return binary(kind, lhs, splat(rhs, lhs.type()));
}

Traced trace::Builder::compare(std::string_view predicate, Traced lhs,
                               Traced rhs) {
  if (!impl->begin("compare", {lhs, rhs}))
    return {};
  std::optional<graph::ComparePredicate> symbol =
      graph::symbolizeComparePredicate(toRef(predicate));
  if (!symbol)
    return fail(Kind::Argument, "compare",
                "there is no predicate '" + std::string(predicate) + "'");
  if (lhs.type() != rhs.type())
    return fail(Kind::Shape, "compare",
                "operands " + toString(lhs.type()) + " and " +
                    toString(rhs.type()) + " differ");
  Type result = impl->convert("compare", {ElementType::Bool, lhs.shape()});
  if (!result)
    return {};
  return RECORD("compare", CompareOp, result, *symbol, unwrap(lhs.handle),
                unwrap(rhs.handle));
}

Traced trace::Builder::select(Traced condition, Traced trueValue,
                              Traced falseValue) {
  if (!impl->begin("select", {condition, trueValue, falseValue}))
    return {};
  if (condition.type() != TensorType{ElementType::Bool, trueValue.shape()} ||
      trueValue.type() != falseValue.type())
    return fail(Kind::Shape, "select",
                "condition " + toString(condition.type()) + " for values " +
                    toString(trueValue.type()) + " and " +
                    toString(falseValue.type()));
  Value left = unwrap(trueValue.handle);
  return RECORD("select", SelectOp, left.getType(), unwrap(condition.handle),
                left, unwrap(falseValue.handle));
}

Traced trace::Builder::cast(Traced x, ElementType element) {
  if (!impl->begin("cast", x))
    return {};
  if (x.element() == element)
    return x;
  Type result = impl->convert("cast", {element, x.shape()});
  if (!result)
    return {};
  return RECORD("cast", CastOp, result, unwrap(x.handle));
}

Traced trace::Builder::iota(const TensorType &type, int64_t dim) {
  if (!impl->begin("iota", {}))
    return {};
  Type result = impl->convert("iota", type);
  if (!result)
    return {};
  return RECORD("iota", IotaOp, result, dim);
}

Traced trace::Builder::broadcast(Traced x, const Shape &shape,
                                 const std::vector<int64_t> &dims) {
  if (!impl->begin("broadcast", x))
    return {};
  Type result = impl->convert("broadcast", {x.element(), shape});
  if (!result)
    return {};
  return RECORD("broadcast", BroadcastOp, result, unwrap(x.handle), dims);
}

Traced trace::Builder::reshape(Traced x, const Shape &shape) {
  if (!impl->begin("reshape", x))
    return {};
  if (x.shape() == shape)
    return x;
  Type result = impl->convert("reshape", {x.element(), shape});
  if (!result)
    return {};
  return RECORD("reshape", ReshapeOp, result, unwrap(x.handle));
}

Traced trace::Builder::transpose(Traced x,
                                 const std::vector<int64_t> &permutation) {
  if (!impl->begin("transpose", x))
    return {};
  // Of a permutation that is none the verifier will say so.
  TensorType type = x.type();
  for (size_t i = 0; i < permutation.size() && i < type.shape.size(); ++i)
    if (permutation[i] >= 0 && permutation[i] < x.rank())
      type.shape[i] = x.dim(permutation[i]);
  Type result = impl->convert("transpose", type);
  if (!result)
    return {};
  return RECORD("transpose", TransposeOp, result, unwrap(x.handle),
                permutation);
}

Traced trace::Builder::slice(Traced x, const std::vector<int64_t> &offsets,
                             const Shape &shape) {
  return slice(x, offsets, std::vector<int64_t>(shape.size(), 1), shape);
}

Traced trace::Builder::slice(Traced x, const std::vector<int64_t> &offsets,
                             const std::vector<int64_t> &strides,
                             const Shape &shape) {
  if (!impl->begin("slice", x))
    return {};
  Type result = impl->convert("slice", {x.element(), shape});
  if (!result)
    return {};
  return RECORD("slice", SliceOp, result, unwrap(x.handle), offsets, strides);
}

Traced trace::Builder::concat(const std::vector<Traced> &inputs, int64_t dim) {
  if (!impl->begin("concat", inputs))
    return {};
  if (inputs.empty() || dim < 0 || dim >= inputs[0].rank())
    return fail(Kind::Argument, "concat",
                std::to_string(inputs.size()) +
                    " inputs cannot be joined along dimension " +
                    std::to_string(dim));
  TensorType type = inputs[0].type();
  SmallVector<Value> values = {unwrap(inputs[0].handle)};
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].rank() != inputs[0].rank())
      return fail(Kind::Shape, "concat",
                  "inputs " + toString(inputs[0].type()) + " and " +
                      toString(inputs[i].type()) + " differ in rank");
    type.shape[static_cast<size_t>(dim)] += inputs[i].dim(dim);
    values.push_back(unwrap(inputs[i].handle));
  }
  Type result = impl->convert("concat", type);
  if (!result)
    return {};
  return RECORD("concat", ConcatOp, result, values, dim);
}

Traced trace::Builder::gather(Traced data, Traced indices, int64_t dim) {
  if (!impl->begin("gather", {data, indices}))
    return {};
  if (dim < 0 || dim >= data.rank())
    return fail(Kind::Argument, "gather",
                "dimension " + std::to_string(dim) + " is outside data " +
                    toString(data.type()));
  TensorType type = data.type();
  type.shape.erase(type.shape.begin() + dim);
  type.shape.insert(type.shape.begin() + dim, indices.shape().begin(),
                    indices.shape().end());
  Type result = impl->convert("gather", type);
  if (!result)
    return {};
  return RECORD("gather", GatherOp, result, unwrap(data.handle),
                unwrap(indices.handle), dim);
}

Traced trace::Builder::scatter(Traced data, Traced indices, Traced updates) {
  if (!impl->begin("scatter", {data, indices, updates}))
    return {};
  Value value = unwrap(data.handle);
  return RECORD("scatter", ScatterOp, value.getType(), value,
                unwrap(indices.handle), unwrap(updates.handle));
}

Traced trace::Builder::reduce(std::string_view kind, Traced x,
                              const std::vector<int64_t> &dims) {
  if (!impl->begin("reduce", x))
    return {};
  std::optional<graph::ReduceKind> symbol =
      graph::symbolizeReduceKind(toRef(kind));
  if (!symbol)
    return fail(Kind::Argument, "reduce",
                "there is no reduction '" + std::string(kind) + "'");
  TensorType type = {x.element(), {}};
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!llvm::is_contained(dims, i))
      type.shape.push_back(x.dim(i));
  Type result = impl->convert("reduce", type);
  if (!result)
    return {};
  return RECORD("reduce", ReduceOp, result, *symbol, unwrap(x.handle), dims);
}

Traced trace::Builder::scan(std::string_view kind, Traced x, int64_t dim,
                            bool exclusive) {
  if (!impl->begin("scan", x))
    return {};
  std::optional<graph::ReduceKind> symbol =
      graph::symbolizeReduceKind(toRef(kind));
  if (!symbol)
    return fail(Kind::Argument, "scan",
                "there is no reduction '" + std::string(kind) + "'");
  Value operand = unwrap(x.handle);
  return RECORD("scan", ScanOp, operand.getType(), *symbol, operand, dim,
                exclusive);
}

trace::Builder::TopK trace::Builder::argTopK(Traced x, int64_t k) {
  if (!impl->begin("argTopK", x))
    return {};
  if (x.rank() < 1 || k < 1 || k > x.dim(-1)) {
    fail(Kind::Argument, "argTopK",
         "k " + std::to_string(k) + " of " + toString(x.type()));
    return {};
  }
  TensorType type = x.type();
  type.shape.back() = k;
  Type values = impl->convert("argTopK", type);
  Type indices = impl->convert("argTopK", {ElementType::I32, type.shape});
  if (!values || !indices)
    return {};
  Traced first =
      RECORD("argTopK", ArgTopKOp, values, indices, unwrap(x.handle), k);
  if (!first)
    return {};
  Value second = unwrap(first.handle).getDefiningOp()->getResult(1);
  return {first, Traced(second.getAsOpaquePointer(), impl->describe(second))};
}

Traced trace::Builder::matmul(Traced lhs, Traced rhs, ElementType result) {
  if (!impl->begin("matmul", {lhs, rhs}))
    return {};
  if (lhs.rank() < 2 || rhs.rank() != lhs.rank())
    return fail(Kind::Shape, "matmul",
                "operands " + toString(lhs.type()) + " and " +
                    toString(rhs.type()) + " need one rank of at least 2");
  TensorType type = {result, lhs.shape()};
  type.shape.back() = rhs.dim(-1);
  Type converted = impl->convert("matmul", type);
  if (!converted)
    return {};
  return RECORD("matmul", MatmulOp, converted, unwrap(lhs.handle),
                unwrap(rhs.handle));
}

Traced trace::Builder::indexedMatmul(Traced lhs, Traced weights, Traced indices,
                                     ElementType result) {
  if (!impl->begin("indexedMatmul", {lhs, weights, indices}))
    return {};
  TensorType type = {result, indices.shape()};
  if (weights.rank() > 0)
    type.shape.push_back(weights.dim(-1));
  Type converted = impl->convert("indexedMatmul", type);
  if (!converted)
    return {};
  return RECORD("indexedMatmul", IndexedMatmulOp, converted, unwrap(lhs.handle),
                unwrap(weights.handle), unwrap(indices.handle));
}

Traced trace::Builder::packedDequant(Traced packed, ElementType element) {
  if (!impl->begin("packedDequant", packed))
    return {};
  Type result = impl->convert("packedDequant", {element, packed.shape()});
  if (!result)
    return {};
  return RECORD("packedDequant", PackedDequantOp, result,
                unwrap(packed.handle));
}

Traced trace::Builder::randomBits(Traced seed, const Shape &shape) {
  if (!impl->begin("randomBits", seed))
    return {};
  Type result = impl->convert("randomBits", {ElementType::I32, shape});
  if (!result)
    return {};
  return RECORD("randomBits", RandomBitsOp, result, unwrap(seed.handle));
}
