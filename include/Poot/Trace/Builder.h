//===- Builder.h - Records the primitives of a step -----------------------===//
//
// A Builder records graph ops into a module, entry by entry, from plain C++:
// families include no MLIR. It never fails half-way: the first error sticks,
// every later call does nothing and returns a falsy handle, and the caller asks
// once, at the end. Shapes are checked by the graph dialect's own verifiers.
//
//   Builder b(module);
//   b.beginEntry("double");
//   Traced x = b.input("x", {ElementType::F32, {4}});
//   b.output("y", b.binary(BinaryKind::Add, x, x));
//   b.endEntry();
//   if (const TraceError *error = b.error()) ...
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TRACE_BUILDER_H
#define POOT_TRACE_BUILDER_H

#include "Poot/Trace/StepShape.h"
#include "Poot/Trace/Traced.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace poot::trace {

/// Bounds on one module, against a configuration that would trace without end
/// or declare tensors that no device holds.
struct TraceLimits {
  int64_t maxOps = int64_t(1) << 20;
  int64_t maxValueBytes = int64_t(1) << 38;   ///< Of any one tensor.
  int64_t maxLiteralBytes = int64_t(1) << 20; ///< Of all non-splat literals.
};

struct TraceError {
  enum class Kind {
    Shape,    ///< Operands do not fit each other or the op.
    Argument, ///< A parameter is outside its range.
    Symbol,   ///< A weight or state is declared twice with two types.
    Sequence, ///< Calls in an order that makes no entry.
    Limit,    ///< A TraceLimits bound is exceeded.
  };
  Kind kind;
  std::string helper;  ///< The helper or primitive that found it.
  std::string scope;   ///< Where in the model: "blk.3/attention".
  std::string message; ///< What was wrong, with the shapes.

  /// "blk.3/attention: linear: ...".
  std::string toString() const;
};

class Builder {
public:
  /// Records into MODULE, which outlives the builder and may hold symbols and
  /// entries already.
  explicit Builder(mlir::ModuleOp module, TraceLimits limits = {});
  ~Builder();
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;

  /// The first error; null while there is none.
  const TraceError *error() const;
  /// Records an error unless there is one already; the handle is falsy.
  Traced fail(TraceError::Kind kind, std::string helper, std::string message);

  /// Starts the entry NAME; its slots, ops and outputs follow up to endEntry.
  /// With a KEY a driver can choose it.
  void beginEntry(std::string_view name, const StepShape *key = nullptr);
  void endEntry();

  /// While it lives, ops and errors carry NAME as part of their location.
  class Scope {
  public:
    Scope(Builder &builder, std::string_view name);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Builder &builder;
  };

  //===--- Slots, outputs, symbols ----------------------------------------===//

  Traced input(std::string_view name, const TensorType &type);
  void output(std::string_view name, Traced value);

  /// The checkpoint's tensor NAME, declared at its first use.
  Traced weight(std::string_view name, const TensorType &type);
  /// The value of state NAME at the start of the step, declared at its first
  /// use. Its outermost extent may be kOpenExtent.
  Traced state(std::string_view name, const TensorType &type);
  /// The state's value from this step on; at most once an entry.
  void setState(std::string_view name, Traced value);

  //===--- Primitives (docs/graph-semantics.md) ---------------------------===//

  /// All elements are VALUE, converted to the element type.
  Traced splat(double value, const TensorType &type);
  /// Elements in row-major order; element type f32 or i32.
  Traced literal(const std::vector<float> &values, const Shape &shape);
  Traced literal(const std::vector<int32_t> &values, const Shape &shape);

  /// KIND is the dialect's own spelling: "exp", "rsqrt".
  Traced unary(std::string_view kind, Traced x);
  /// "add", "mul", "max", ... of operands of one type.
  Traced binary(std::string_view kind, Traced lhs, Traced rhs);
  /// The same with RHS for every element.
  Traced binary(std::string_view kind, Traced lhs, double rhs);
  /// "eq", "lt", "le", ...
  Traced compare(std::string_view predicate, Traced lhs, Traced rhs);
  Traced select(Traced condition, Traced trueValue, Traced falseValue);
  /// X itself where it has the element type already.
  Traced cast(Traced x, ElementType element);
  Traced iota(const TensorType &type, int64_t dim);
  /// X's dimension i becomes dimension DIMS[i] of SHAPE.
  Traced broadcast(Traced x, const Shape &shape,
                   const std::vector<int64_t> &dims);
  Traced reshape(Traced x, const Shape &shape);
  Traced transpose(Traced x, const std::vector<int64_t> &permutation);
  /// SHAPE elements from OFFSETS on, stride 1.
  Traced slice(Traced x, const std::vector<int64_t> &offsets,
               const Shape &shape);
  Traced slice(Traced x, const std::vector<int64_t> &offsets,
               const std::vector<int64_t> &strides, const Shape &shape);
  Traced concat(const std::vector<Traced> &inputs, int64_t dim);
  Traced gather(Traced data, Traced indices, int64_t dim);
  Traced scatter(Traced data, Traced indices, Traced updates);
  /// "sum", "max", ... over DIMS, which disappear.
  Traced reduce(std::string_view kind, Traced x,
                const std::vector<int64_t> &dims);
  Traced scan(std::string_view kind, Traced x, int64_t dim, bool exclusive);
  struct TopK {
    Traced values, indices;
  };
  TopK argTopK(Traced x, int64_t k);
  /// RESULT is the result's element type.
  Traced matmul(Traced lhs, Traced rhs, ElementType result);
  Traced indexedMatmul(Traced lhs, Traced weights, Traced indices,
                       ElementType result);
  Traced packedDequant(Traced packed, ElementType element);
  Traced randomBits(Traced seed, const Shape &shape);

private:
  template <class T>
  Traced recordLiteral(const TensorType &type, const std::vector<T> &values);

  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace poot::trace

#endif // POOT_TRACE_BUILDER_H
