//===- Epilogue.h - Ops fused into a product --------------------*- C++ -*-===//
//
// A `graph.fused` with a product in it: one matrix product, or two of the same
// left operand, and what element-wise ops make of the sums. plan-fuse-products
// makes it; a kernel of the library computes it, whose store hook holds the
// element-wise ops.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_EPILOGUE_H
#define POOT_LIB_PLANNER_EPILOGUE_H

#include "OperandAccess.h"

namespace poot::planner {

class Epilogue {
public:
  explicit Epilogue(graph::FusedOp op);
  /// Whether a product is in `op`; ops of a user's kernel have none.
  static bool isIn(graph::FusedOp op);

  /// The product, whose operands are the first of the fused op.
  mlir::Operation *getProduct() const { return products[0]; }
  /// The number of the operand that is the weight of a second product; 0 if
  /// there is none.
  unsigned getSecondWeight() const { return secondWeight; }

  /// Element `number` of the result, in row-major order, by the products' sums
  /// there.
  KValue compute(OperandAccess &at, KValue number,
                 llvm::ArrayRef<KValue> sums) const;

private:
  graph::FusedOp op;
  llvm::SmallVector<mlir::Operation *, 2> products;
  unsigned secondWeight = 0;
};

} // namespace poot::planner

#endif
