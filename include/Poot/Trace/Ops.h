//===- Ops.h - Composite helpers of model families ------------------------===//
//
// What transformer models are made of, each traced as primitives. A helper
// checks its operands first and names itself and both shapes in the error.
// Sums, norms and softmax are in f32 whatever the activation type is.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_TRACE_OPS_H
#define POOT_TRACE_OPS_H

#include "Poot/Trace/Builder.h"

namespace poot::trace {

/// A weight's values in ELEMENT: dequantized when packed, cast otherwise.
Traced weightValues(Builder &b, Traced weight, ElementType element);

/// SOURCE repeated to SHAPE, dimensions aligned at the innermost as in numpy.
Traced broadcastTo(Builder &b, Traced source, const Shape &shape);

/// x [.., K], weight [N, K] (packed or not), bias [N] or none: x · weightᵀ +
/// bias, [.., N] in element type RESULT.
Traced linear(Builder &b, Traced x, Traced weight, ElementType result,
              Traced bias = {});

/// ids i32 [..], table [V, H] (packed or not): [.., H] in ELEMENT.
Traced embedding(Builder &b, Traced ids, Traced table, ElementType element);

/// x / sqrt(mean(x²) + epsilon) · weight over the innermost dimension; x
/// [.., H], weight [H]. Zhang, Sennrich: Root Mean Square Layer Normalization,
/// 2019.
Traced rmsNorm(Builder &b, Traced x, Traced weight, double epsilon);

/// (x − mean) / sqrt(variance + epsilon) · weight + bias over the innermost
/// dimension; bias may be absent.
Traced layerNorm(Builder &b, Traced x, Traced weight, Traced bias,
                 double epsilon);

/// Over the innermost dimension, in f32, shifted by the maximum.
Traced softmax(Builder &b, Traced x);

/// x · sigmoid(x).
Traced silu(Builder &b, Traced x);
/// x · Φ(x) by erf, or the tanh approximation (Hendrycks, Gimpel 2016).
Traced gelu(Builder &b, Traced x, bool tanhApproximation);
/// silu(gate) · up.
Traced swiglu(Builder &b, Traced gate, Traced up);

/// Which elements of a head rotate together.
enum class RopeForm {
  HalfSplit,    ///< i and i + r/2.
  AdjacentPair, ///< 2i and 2i + 1.
};

/// The rotation of a head's first r elements at each position of a step.
struct RopeAngles {
  Traced cos, sin; ///< f32 [rows, tokens, r]; sin carries the signs.
  RopeForm form;
};

/// Angles for `pos` i32 [rows, tokens] (below 0 taken as 0) with rotation
/// FREQUENCIES f32 [r/2] in radians a position. The tables over all POSITIONS
/// positions depend on constants alone. Su et al.: RoFormer, 2021.
RopeAngles ropeAngles(Builder &b, Traced pos, Traced frequencies,
                      int64_t positions, RopeForm form);

/// x [rows, tokens, heads, d] with d >= r, rotated.
Traced rope(Builder &b, Traced x, const RopeAngles &angles);

/// Where the keys and values of a step's rows are.
struct CacheView {
  int64_t rows, capacity;
  /// i32 [rows, capacity]: the slot of each position; falsy when row r owns
  /// slots [r · capacity, (r + 1) · capacity).
  Traced slots;
};

/// Slots of a paged cache from `block_table` i32 [rows, capacity / blockSize]:
/// table[r, p / blockSize] · blockSize + p mod blockSize. Entries below 0 are
/// taken as 0.
CacheView pagedView(Builder &b, Traced blockTable, int64_t blockSize);

/// Added to attention scores: 0 where key position j <= pos, else a large
/// negative number; f32 [rows, tokens, capacity]. A padding token (pos −1) sees
/// position 0, so that its softmax is a number.
Traced causalBias(Builder &b, Traced pos, int64_t capacity);

/// The state's rows in position order: [rows, capacity, kvHeads, d].
Traced readCache(Builder &b, Traced cache, const CacheView &view);

/// q [rows, tokens, heads, d]; keys, values [rows, capacity, kvHeads, d]; heads
/// is a multiple of kvHeads, query head h reads head h / (heads / kvHeads).
/// softmax(scale · q · keysᵀ + bias) · values, [rows, tokens, heads · d] in q's
/// element type.
Traced attention(Builder &b, Traced q, Traced keys, Traced values, Traced bias,
                 double scale);

} // namespace poot::trace

#endif // POOT_TRACE_OPS_H
