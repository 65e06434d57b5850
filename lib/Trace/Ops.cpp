//===- Ops.cpp - Composite helpers of model families ----------------------===//
//
// Composites as primitives; Ops.h gives their meaning. Helpers return early on
// a falsy operand: the builder holds the error already.
//
//===----------------------------------------------------------------------===//

#include "Poot/Trace/Ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace poot;
using namespace poot::trace;
using Kind = TraceError::Kind;

static Traced mismatch(Builder &b, const char *helper,
                       const std::string &what) {
  return b.fail(Kind::Shape, helper, what);
}

/// SHAPE without its innermost extent.
static Shape leading(const Shape &shape) {
  return Shape(shape.begin(), shape.end() - 1);
}

static Shape withInnermost(Shape shape, int64_t extent) {
  shape.back() = extent;
  return shape;
}

/// ROWS [..] repeated along a new innermost dimension to SHAPE [.., n].
static Traced alongInnermost(Builder &b, Traced rows, const Shape &shape) {
  std::vector<int64_t> dims(shape.size() - 1);
  std::iota(dims.begin(), dims.end(), 0);
  return b.broadcast(rows, shape, dims);
}

Traced trace::weightValues(Builder &b, Traced weight, ElementType element) {
  if (!weight)
    return {};
  if (weights::isPacked(weight.element()))
    return b.packedDequant(weight, element);
  return b.cast(weight, element);
}

Traced trace::broadcastTo(Builder &b, Traced source, const Shape &shape) {
  if (!source)
    return {};
  if (source.shape() == shape)
    return source;
  int64_t shift = static_cast<int64_t>(shape.size()) - source.rank();
  bool fits = shift >= 0;
  std::vector<int64_t> dims;
  for (int64_t i = 0; fits && i < source.rank(); ++i) {
    dims.push_back(i + shift);
    fits = source.dim(i) == 1 ||
           source.dim(i) == shape[static_cast<size_t>(i + shift)];
  }
  if (!fits)
    return mismatch(b, "broadcastTo",
                    toString(source.type()) + " does not repeat to " +
                        toString(TensorType{source.element(), shape}));
  return b.broadcast(source, shape, dims);
}

Traced trace::linear(Builder &b, Traced x, Traced weight, ElementType result,
                     Traced bias) {
  if (!x || !weight)
    return {};
  if (x.rank() < 1 || weight.rank() != 2 || x.dim(-1) != weight.dim(1) ||
      (bias && bias.shape() != Shape{weight.dim(0)}))
    return mismatch(b, "linear",
                    "x " + toString(x.type()) + " and weight " +
                        toString(weight.type()) +
                        (bias ? " with bias " + toString(bias.type()) : "") +
                        " do not fit [.., K], [N, K] and [N]");
  int64_t inputs = weight.dim(1), outputs = weight.dim(0);
  int64_t rows = 1;
  for (int64_t extent : leading(x.shape()))
    rows *= extent;
  Traced matrix = b.reshape(x, {rows, inputs});
  Traced values = weightValues(b, weight, x.element());
  Traced y = b.matmul(matrix, b.transpose(values, {1, 0}), result);
  if (bias)
    y = b.binary(
        "add", y,
        broadcastTo(b, weightValues(b, bias, result), {rows, outputs}));
  return b.reshape(y, withInnermost(x.shape(), outputs));
}

Traced trace::embedding(Builder &b, Traced ids, Traced table,
                        ElementType element) {
  if (!ids || !table)
    return {};
  if (ids.element() != ElementType::I32 || table.rank() != 2)
    return mismatch(b, "embedding",
                    "ids " + toString(ids.type()) + " and table " +
                        toString(table.type()) +
                        " do not fit i32 [..] and [V, H]");
  return b.gather(weightValues(b, table, element), ids, 0);
}

/// The mean over the innermost dimension, repeated to x's shape; x is f32.
static Traced meanOfRows(Builder &b, Traced x) {
  Traced sum = b.reduce("sum", x, {x.rank() - 1});
  return b.binary("mul", sum, 1.0 / static_cast<double>(x.dim(-1)));
}

/// x · r with r = 1 / sqrt(MEANSQUARE + epsilon) a row.
static Traced scaleByRoot(Builder &b, Traced x, Traced meanSquare,
                          double epsilon) {
  Traced root = b.unary("rsqrt", b.binary("add", meanSquare, epsilon));
  return b.binary("mul", x, alongInnermost(b, root, x.shape()));
}

Traced trace::rmsNorm(Builder &b, Traced x, Traced weight, double epsilon) {
  if (!x || !weight)
    return {};
  if (x.rank() < 1 || weight.shape() != Shape{x.dim(-1)})
    return mismatch(b, "rmsNorm",
                    "x " + toString(x.type()) + " and weight " +
                        toString(weight.type()) +
                        " do not fit [.., H] and [H]");
  Traced wide = b.cast(x, ElementType::F32);
  Traced normal =
      wide ? scaleByRoot(b, wide, meanOfRows(b, b.binary("mul", wide, wide)),
                         epsilon)
           : Traced();
  Traced scale = weightValues(b, weight, ElementType::F32);
  return b.cast(b.binary("mul", normal, broadcastTo(b, scale, x.shape())),
                x.element());
}

Traced trace::layerNorm(Builder &b, Traced x, Traced weight, Traced bias,
                        double epsilon) {
  if (!x || !weight)
    return {};
  if (x.rank() < 1 || weight.shape() != Shape{x.dim(-1)} ||
      (bias && bias.shape() != weight.shape()))
    return mismatch(b, "layerNorm",
                    "x " + toString(x.type()) + " and weight " +
                        toString(weight.type()) +
                        (bias ? " with bias " + toString(bias.type()) : "") +
                        " do not fit [.., H], [H] and [H]");
  Traced wide = b.cast(x, ElementType::F32);
  if (!wide)
    return {};
  Traced mean = alongInnermost(b, meanOfRows(b, wide), x.shape());
  Traced centred = b.binary("sub", wide, mean);
  if (!centred)
    return {};
  Traced variance = meanOfRows(b, b.binary("mul", centred, centred));
  Traced y = scaleByRoot(b, centred, variance, epsilon);
  y = b.binary(
      "mul", y,
      broadcastTo(b, weightValues(b, weight, ElementType::F32), x.shape()));
  if (bias)
    y = b.binary(
        "add", y,
        broadcastTo(b, weightValues(b, bias, ElementType::F32), x.shape()));
  return b.cast(y, x.element());
}

Traced trace::softmax(Builder &b, Traced x) {
  if (!x)
    return {};
  if (x.rank() < 1)
    return mismatch(b, "softmax", "a scalar has no innermost dimension");
  int64_t last = x.rank() - 1;
  Traced wide = b.cast(x, ElementType::F32);
  Traced maximum = b.reduce("max", wide, {last});
  Traced shifted = b.binary("sub", wide, alongInnermost(b, maximum, x.shape()));
  Traced powers = b.unary("exp", shifted);
  Traced sum = b.reduce("sum", powers, {last});
  Traced y = b.binary("div", powers, alongInnermost(b, sum, x.shape()));
  return b.cast(y, x.element());
}

Traced trace::silu(Builder &b, Traced x) {
  if (!x)
    return {};
  Traced wide = b.cast(x, ElementType::F32);
  // x / (1 + exp(-x)): for x far below 0 this is x / infinity, which is -0.
  Traced divisor = b.binary("add", b.unary("exp", b.unary("neg", wide)), 1.0);
  return b.cast(b.binary("div", wide, divisor), x.element());
}

Traced trace::gelu(Builder &b, Traced x, bool tanhApproximation) {
  if (!x)
    return {};
  Traced wide = b.cast(x, ElementType::F32);
  Traced inner;
  if (tanhApproximation) {
    Traced cube = b.binary("mul", b.binary("mul", wide, wide), wide);
    Traced sum = b.binary("add", wide, b.binary("mul", cube, 0.044715));
    inner = b.unary("tanh", b.binary("mul", sum, std::sqrt(2.0 / M_PI)));
  } else {
    inner = b.unary("erf", b.binary("mul", wide, std::sqrt(0.5)));
  }
  Traced half = b.binary("mul", wide, 0.5);
  return b.cast(b.binary("mul", half, b.binary("add", inner, 1.0)),
                x.element());
}

Traced trace::swiglu(Builder &b, Traced gate, Traced up) {
  if (!gate || !up)
    return {};
  if (gate.type() != up.type())
    return mismatch(b, "swiglu",
                    "gate " + toString(gate.type()) + " and up " +
                        toString(up.type()) + " differ");
  return b.binary("mul", silu(b, gate), up);
}

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

/// X reduced to [-pi, pi] after Cody and Waite: 2 pi in three parts, the first
/// two so short that their products with up to 2^15 turns are exact in f32.
/// Devices promise accuracy of sin and cos in that range alone.
static Traced reduceAngle(Builder &b, Traced x) {
  constexpr double kTwoPi = 2 * M_PI;
  constexpr double kHigh = 201.0 / 32;       // 8 bits
  constexpr double kMiddle = 507.0 / 262144; // 9 bits
  Traced turns = b.unary("round_even", b.binary("mul", x, 1.0 / kTwoPi));
  Traced y = b.binary("sub", x, b.binary("mul", turns, kHigh));
  y = b.binary("sub", y, b.binary("mul", turns, kMiddle));
  return b.binary("sub", y, b.binary("mul", turns, kTwoPi - kHigh - kMiddle));
}

/// FIRST and SECOND [.., r/2] as the two halves, or the even and odd elements,
/// of [.., r].
static Traced interleave(Builder &b, Traced first, Traced second,
                         RopeForm form) {
  if (!first || !second)
    return {};
  if (form == RopeForm::HalfSplit)
    return b.concat({first, second}, first.rank() - 1);
  Shape single = first.shape(), whole = first.shape();
  single.push_back(1);
  whole.back() *= 2;
  return b.reshape(
      b.concat({b.reshape(first, single), b.reshape(second, single)},
               first.rank()),
      whole);
}

/// Zero for what is below it: positions and blocks of padding are -1.
static Traced atLeastZero(Builder &b, Traced x) {
  return b.binary("max", x, 0.0);
}

RopeAngles trace::ropeAngles(Builder &b, Traced pos, Traced frequencies,
                             int64_t positions, RopeForm form) {
  RopeAngles angles = {{}, {}, form};
  if (!pos || !frequencies)
    return angles;
  if (pos.element() != ElementType::I32 || pos.rank() != 2 ||
      frequencies.element() != ElementType::F32 || frequencies.rank() != 1) {
    mismatch(b, "ropeAngles",
             "pos " + toString(pos.type()) + " and frequencies " +
                 toString(frequencies.type()) +
                 " do not fit i32 [rows, tokens] and f32 [r/2]");
    return angles;
  }
  Shape table = {positions, frequencies.dim(0)};
  Traced index =
      b.cast(b.iota({ElementType::I32, {positions}}, 0), ElementType::F32);
  Traced angle = reduceAngle(b, b.binary("mul", b.broadcast(index, table, {0}),
                                         b.broadcast(frequencies, table, {1})));
  Traced cos = b.unary("cos", angle), sin = b.unary("sin", angle);
  Traced cosTable = interleave(b, cos, cos, form);
  Traced sinTable = interleave(b, b.unary("neg", sin), sin, form);
  Traced at = atLeastZero(b, pos);
  angles.cos = b.gather(cosTable, at, 0);
  angles.sin = b.gather(sinTable, at, 0);
  return angles;
}

Traced trace::rope(Builder &b, Traced x, const RopeAngles &angles) {
  if (!x || !angles.cos || !angles.sin)
    return {};
  int64_t r = angles.cos.dim(-1);
  if (x.rank() != 4 || x.dim(3) < r ||
      angles.cos.shape() != Shape{x.dim(0), x.dim(1), r})
    return mismatch(b, "rope",
                    "x " + toString(x.type()) + " and angles " +
                        toString(angles.cos.type()) +
                        " do not fit [rows, tokens, heads, d] and [rows, "
                        "tokens, r] with r <= d");
  Shape shape = withInnermost(x.shape(), r);
  Traced part = b.cast(b.slice(x, {0, 0, 0, 0}, shape), ElementType::F32);
  Traced swapped;
  if (angles.form == RopeForm::HalfSplit) {
    Shape half = withInnermost(shape, r / 2);
    swapped = b.concat({b.slice(part, {0, 0, 0, r / 2}, half),
                        b.slice(part, {0, 0, 0, 0}, half)},
                       3);
  } else {
    Shape pairs = withInnermost(shape, r / 2), single;
    pairs.push_back(2);
    single = withInnermost(pairs, 1);
    Traced paired = b.reshape(part, pairs);
    swapped = b.reshape(b.concat({b.slice(paired, {0, 0, 0, 0, 1}, single),
                                  b.slice(paired, {0, 0, 0, 0, 0}, single)},
                                 4),
                        shape);
  }
  Traced cos = b.broadcast(angles.cos, shape, {0, 1, 3});
  Traced sin = b.broadcast(angles.sin, shape, {0, 1, 3});
  Traced y = b.cast(b.binary("add", b.binary("mul", part, cos),
                             b.binary("mul", swapped, sin)),
                    x.element());
  if (r == x.dim(3))
    return y;
  Traced rest =
      b.slice(x, {0, 0, 0, r}, withInnermost(x.shape(), x.dim(3) - r));
  return b.concat({y, rest}, 3);
}

//===----------------------------------------------------------------------===//
// Attention over a cache
//===----------------------------------------------------------------------===//

CacheView trace::pagedView(Builder &b, Traced blockTable, int64_t blockSize) {
  if (!blockTable)
    return {0, 0, {}};
  if (blockTable.element() != ElementType::I32 || blockTable.rank() != 2 ||
      blockSize < 1) {
    mismatch(b, "pagedView",
             "table " + toString(blockTable.type()) + " with blocks of " +
                 std::to_string(blockSize) +
                 " does not fit i32 [rows, blocks]");
    return {0, 0, {}};
  }
  int64_t rows = blockTable.dim(0), capacity = blockTable.dim(1) * blockSize;
  Traced position = b.iota({ElementType::I32, {capacity}}, 0);
  double size = static_cast<double>(blockSize);
  Traced block =
      b.gather(atLeastZero(b, blockTable), b.binary("div", position, size), 1);
  Traced offset =
      b.broadcast(b.binary("rem", position, size), {rows, capacity}, {1});
  return {rows, capacity,
          b.binary("add", b.binary("mul", block, size), offset)};
}

Traced trace::causalBias(Builder &b, Traced pos, int64_t capacity) {
  if (!pos)
    return {};
  if (pos.element() != ElementType::I32 || pos.rank() != 2)
    return mismatch(b, "causalBias",
                    "pos " + toString(pos.type()) +
                        " does not fit i32 [rows, tokens]");
  Shape shape = {pos.dim(0), pos.dim(1), capacity};
  Traced key =
      b.broadcast(b.iota({ElementType::I32, {capacity}}, 0), shape, {2});
  Traced query = b.broadcast(atLeastZero(b, pos), shape, {0, 1});
  TensorType type = {ElementType::F32, shape};
  // Finite, so that no sum with a score is NaN; exp of it is 0 beside any
  // visible score.
  return b.select(b.compare("le", key, query), b.splat(0, type),
                  b.splat(-1e30, type));
}

Traced trace::readCache(Builder &b, Traced cache, const CacheView &view) {
  if (!cache)
    return {};
  if (cache.rank() != 3 || view.rows < 1)
    return mismatch(b, "readCache",
                    "cache " + toString(cache.type()) +
                        " does not fit [slots, kvHeads, d]");
  Shape shape = {view.rows, view.capacity, cache.dim(1), cache.dim(2)};
  if (view.slots)
    return b.gather(cache, view.slots, 0);
  return b.reshape(cache, shape);
}

Traced trace::attention(Builder &b, Traced q, Traced keys, Traced values,
                        Traced bias, double scale) {
  if (!q || !keys || !values || !bias)
    return {};
  bool fits = q.rank() == 4 && keys.rank() == 4 && values.rank() == 4 &&
              q.dim(0) == keys.dim(0) && q.dim(3) == keys.dim(3) &&
              q.dim(2) % keys.dim(2) == 0 &&
              values.shape() == withInnermost(keys.shape(), values.dim(3)) &&
              bias.type() == TensorType{ElementType::F32,
                                        {q.dim(0), q.dim(1), keys.dim(1)}};
  if (!fits)
    return mismatch(
        b, "attention",
        "q " + toString(q.type()) + ", keys " + toString(keys.type()) +
            ", values " + toString(values.type()) + " and bias " +
            toString(bias.type()) +
            " do not fit [rows, tokens, heads, d], [rows, capacity, kvHeads, "
            "d] twice and f32 [rows, tokens, capacity], with heads a multiple "
            "of kvHeads");
  int64_t rows = q.dim(0), tokens = q.dim(1), heads = q.dim(2), d = q.dim(3);
  int64_t capacity = keys.dim(1), kvHeads = keys.dim(2), width = values.dim(3);
  int64_t group = heads / kvHeads;

  // One batch dimension each for row, key/value head and query head of it.
  Traced query = b.transpose(b.reshape(q, {rows, tokens, kvHeads, group, d}),
                             {0, 2, 3, 1, 4});
  Traced keyColumns =
      b.broadcast(b.transpose(b.cast(keys, q.element()), {0, 2, 3, 1}),
                  {rows, kvHeads, group, d, capacity}, {0, 1, 3, 4});
  Traced scores = b.matmul(query, keyColumns, ElementType::F32);
  if (!scores)
    return {};
  scores = b.binary("add", b.binary("mul", scores, scale),
                    b.broadcast(bias, scores.shape(), {0, 3, 4}));
  Traced probabilities = b.cast(softmax(b, scores), q.element());
  Traced valueRows =
      b.broadcast(b.transpose(b.cast(values, q.element()), {0, 2, 1, 3}),
                  {rows, kvHeads, group, capacity, width}, {0, 1, 3, 4});
  Traced y = b.matmul(probabilities, valueRows, q.element());
  return b.reshape(b.transpose(y, {0, 3, 1, 2, 4}),
                   {rows, tokens, heads * width});
}
