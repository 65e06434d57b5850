//===- KernelBody.h - What the kernel bodies share --------------*- C++ -*-===//
//
// The frame of a generated kernel: its arguments, the addressing of operands by
// their layouts, and the invocation's number in the grid.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_KERNELBODY_H
#define POOT_LIB_PLANNER_KERNELBODY_H

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Planner/Kernels.h"

namespace poot::planner {

using kernel::KValue;
using Index = llvm::SmallVector<KValue, 4>;

class KernelBody {
public:
  KernelBody(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
             const KernelRequest &request, int32_t workgroupSize = 64);

  kernel::KernelBuilder k;
  const KernelRequest &request;

  const OperandLayout &input(unsigned i) const { return request.inputs[i]; }
  const OperandLayout &output(unsigned i = 0) const {
    return request.outputs[i];
  }

  /// The outermost extent of input `i`, at run time where it is open.
  KValue outermostExtent(unsigned i) { return inputExtents[i]; }
  KValue outputExtent(unsigned i = 0) { return outputExtents[i]; }

  /// The buffer of an input that is no literal.
  KValue inputBuffer(unsigned i) { return inputs[i]; }
  KValue outputBuffer(unsigned i = 0) { return outputs[i]; }

  /// Position of an element in its buffer.
  KValue position(const OperandLayout &layout, llvm::ArrayRef<KValue> index);
  /// The element of input `i`; an i1 for a Boolean.
  KValue load(unsigned i, llvm::ArrayRef<KValue> index);
  KValue loadAt(unsigned i, KValue position);
  void store(unsigned i, llvm::ArrayRef<KValue> index, KValue value);

  /// f16 and bf16 in f32, everything else as it is.
  KValue widen(KValue value);
  /// To the element type of output `i`, rounding.
  KValue narrow(unsigned i, KValue value);

  /// Ends the invocations beyond `count` and returns this one's number. Sets
  /// the grid; call it once.
  KValue linearId(int64_t count);
  /// One workgroup for each of `count`; returns this one's number.
  KValue linearWorkgroup(int64_t count);
  /// The index of element `linear` of a tensor of `shape`, in row-major order.
  Index delinearize(KValue linear, llvm::ArrayRef<int64_t> shape);

  GeneratedKernel finish();

private:
  KValue linearWorkgroupId(int64_t workgroups);

  int32_t workgroupSize;
  llvm::SmallVector<KValue> inputs, outputs, inputExtents, outputExtents;
  llvm::SmallVector<int64_t, 3> grid;
};

/// The element type that a buffer holds for graph elements of `type`.
mlir::Type storageType(mlir::Type type);

/// Combines two values as a reduction of `kind` does. Floats are f32 or f64.
KValue combine(kernel::KernelBuilder &k, graph::ReduceKind kind, KValue lhs,
               KValue rhs);
/// The neutral element of `kind`.
KValue neutral(kernel::KernelBuilder &k, graph::ReduceKind kind,
               mlir::Type type);
/// The value converted as graph.cast does, from an i1 or element type.
KValue convert(kernel::KernelBuilder &k, KValue value, mlir::Type type);

// One function a family of ops; each adds its code to `body`.
mlir::LogicalResult buildElementwise(KernelBody &body);
void buildGather(KernelBody &body);
void buildScatter(KernelBody &body);
void buildReduce(KernelBody &body);
void buildScan(KernelBody &body);
void buildArgTopK(KernelBody &body);
void buildMatmul(KernelBody &body);
void buildIndexedMatmul(KernelBody &body);
void buildPackedDequant(KernelBody &body);
void buildRandomBits(KernelBody &body);

/// Invocations of a workgroup that a product wants.
int32_t matmulWorkgroupSize(const KernelRequest &request);
/// Invocations of a workgroup that the ops above want.
int32_t workgroupSizeFor(const KernelRequest &request);

} // namespace poot::planner

#endif
