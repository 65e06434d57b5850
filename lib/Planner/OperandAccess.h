//===- OperandAccess.h - A kernel reads and writes operands -----*- C++ -*-===//
//
// The code that addresses the operands of a request by their layouts, at
// whatever place of a kernel a builder stands: in a generated body, or in a
// hook of a kernel from the library.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_PLANNER_OPERANDACCESS_H
#define POOT_LIB_PLANNER_OPERANDACCESS_H

#include "Poot/Dialect/Kernel/KernelBuilder.h"
#include "Poot/Planner/Kernels.h"

namespace poot::planner {

using kernel::KValue;
using Index = llvm::SmallVector<KValue, 4>;

/// The arguments of a kernel that serves a request: the inputs that are not
/// literals, then the outputs; then, as metadata, the extents of the open
/// states among them. A literal and a fixed extent have none.
struct KernelArguments {
  llvm::SmallVector<mlir::Value> inputs, outputs;
  /// Inputs once more, by vectors of four elements, where they are read so.
  llvm::SmallVector<mlir::Value> inputQuads;
  llvm::SmallVector<mlir::Value> inputExtents, outputExtents;

  /// Appends them to the interface of `k`'s kernel.
  static KernelArguments append(kernel::KernelBuilder &k,
                                const KernelRequest &request);

  static constexpr unsigned kNone = ~0u;
  /// The operand, counted over inputs and outputs, that `argument` is the
  /// buffer or the extent of; kNone of an argument that isn't one of these.
  unsigned operandOf(mlir::Value argument) const;
};

class OperandAccess {
public:
  OperandAccess(kernel::KernelBuilder &k, const KernelRequest &request,
                KernelArguments &arguments)
      : k(k), request(request), arguments(arguments) {}

  kernel::KernelBuilder &k;
  const KernelRequest &request;

  const OperandLayout &input(unsigned i) const { return request.inputs[i]; }
  const OperandLayout &output(unsigned i = 0) const {
    return request.outputs[i];
  }

  /// The outermost extent of an operand, at run time where it is open.
  KValue outermostExtent(unsigned i) {
    return extent(arguments.inputExtents[i], input(i));
  }
  KValue outputExtent(unsigned i = 0) {
    return extent(arguments.outputExtents[i], output(i));
  }

  /// The buffer of an input that is no literal.
  KValue inputBuffer(unsigned i) { return {k, arguments.inputs[i]}; }
  KValue outputBuffer(unsigned i = 0) { return {k, arguments.outputs[i]}; }

  /// Position of an element in its buffer.
  KValue position(const OperandLayout &layout, llvm::ArrayRef<KValue> index);
  /// The element of input `i`; an i1 for a Boolean.
  KValue load(unsigned i, llvm::ArrayRef<KValue> index);
  KValue loadAt(unsigned i, KValue position);
  /// Four elements along the innermost dimension from `index` on, which is a
  /// multiple of four there, as is the extent; floats in f32.
  KValue loadQuad(unsigned i, llvm::ArrayRef<KValue> index);
  /// True if that is one load.
  static bool hasQuads(const OperandLayout &layout);
  void store(unsigned i, llvm::ArrayRef<KValue> index, KValue value);

  /// The element of that number in row-major order.
  KValue elementPosition(const OperandLayout &layout, KValue number);
  KValue loadElement(unsigned i, KValue number);
  void storeElement(unsigned i, KValue number, KValue value);

  /// f16 and bf16 in f32, everything else as it is.
  KValue widen(KValue value);
  /// To the element type of output `i`, rounding.
  KValue narrow(unsigned i, KValue value);

  /// The index of element `linear` of a tensor of `shape`, in row-major order.
  Index delinearize(KValue linear, llvm::ArrayRef<int64_t> shape);

private:
  KValue extent(mlir::Value argument, const OperandLayout &layout);

  KernelArguments &arguments;
};

/// The value converted as graph.cast does, from an i1 or element type.
KValue convert(kernel::KernelBuilder &k, KValue value, mlir::Type type);

/// The element type that a buffer holds for graph elements of `type`.
mlir::Type storageType(mlir::Type type);

/// How many workgroups to launch along x, y and z for `workgroups` of them,
/// numbered `workgroup_id(x) + workgroup_id(y) * num_workgroups(x)`. There may
/// be a few more.
llvm::SmallVector<int64_t, 3> linearGrid(int64_t workgroups);

} // namespace poot::planner

#endif
