//===- Ops.h - One evaluator per op -----------------------------*- C++ -*-===//
//
// Each function gives the result of one verified op on operands of its types,
// or reports an error at the op. Unless it says otherwise, operands arrive
// row-major; results may be views. The numbers in comments are those of
// docs/graph-semantics.md.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_EVAL_OPS_H
#define POOT_LIB_EVAL_OPS_H

#include "Poot/Eval/Eval.h"

namespace poot::eval {

using Operands = llvm::ArrayRef<Tensor>;
using Result = mlir::FailureOr<Tensor>;

/// A row-major tensor for a result of OP, or an error at OP.
Result allocateResult(mlir::Operation *op, mlir::Type elementType,
                      llvm::ArrayRef<int64_t> shape);
/// The same, of the type of OP's only result, which is static.
Result allocateResult(mlir::Operation *op);
/// TENSOR row-major, or an error at OP.
Result rowMajorFor(mlir::Operation *op, const Tensor &tensor);

// Elementwise.cpp
Result evaluate(graph::ConstantOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::UnaryOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::BinaryOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::CompareOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::SelectOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::CastOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::IotaOp op, Operands operands, const EvalOptions &);

// Move.cpp. Broadcast, transpose, slice and concat take operands of any
// strides.
Result evaluate(graph::BroadcastOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::ReshapeOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::TransposeOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::SliceOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::ConcatOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::GatherOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::ScatterOp op, Operands operands, const EvalOptions &);

// Reduce.cpp. Reduce and scan take operands of any strides.
Result evaluate(graph::ReduceOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::ScanOp op, Operands operands, const EvalOptions &);
mlir::FailureOr<llvm::SmallVector<Tensor>>
evaluate(graph::ArgTopKOp op, Operands operands, const EvalOptions &);

// Contract.cpp. Matmul takes operands of any strides.
Result evaluate(graph::MatmulOp op, Operands operands, const EvalOptions &);
Result evaluate(graph::IndexedMatmulOp op, Operands operands,
                const EvalOptions &);
Result evaluate(graph::PackedDequantOp op, Operands operands,
                const EvalOptions &);
Result evaluate(graph::RepackOp op, Operands operands, const EvalOptions &);

// Random.cpp
Result evaluate(graph::RandomBitsOp op, Operands operands, const EvalOptions &);

} // namespace poot::eval

#endif
