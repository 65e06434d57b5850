//===- GraphOps.td - Symbols and primitives of the graph dialect -*- tablegen -*-//
//
// Each op's `Gn` numbers refer to docs/graph-semantics.md. The composites stand
// in GraphComposites.td.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_GRAPHOPS_TD
#define POOT_DIALECT_GRAPH_GRAPHOPS_TD

include "Poot/Dialect/Graph/GraphAttributes.td"
include "Poot/Dialect/Graph/GraphInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Predicates of the C++ side (GraphTypes.h): ranked, static, every extent at
// least 1, rank and byte size within the dialect's limits.
class Graph_TensorOf<string predicate, string summary>
    : Type<CPred<"::poot::graph::" # predicate # "($_self)">, summary,
           "::mlir::RankedTensorType">;
def Graph_Tensor : Graph_TensorOf<"isTensor",
    "a static tensor of i1, i8, i16, i32, i64, f16, bf16, f32 or f64">;
// Also admits an open (`?`) outermost extent, as states may have.
def Graph_OpenTensor : Graph_TensorOf<"isOpenTensor",
    "a tensor of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, static but for the outermost extent">;
def Graph_I32Tensor : Graph_TensorOf<"isI32Tensor", "a static tensor of i32">;
def Graph_BoolTensor : Graph_TensorOf<"isBoolTensor", "a static tensor of i1">;
def Graph_DequantTensor : Graph_TensorOf<"isDequantTensor",
    "a static tensor of f16, bf16 or f32">;
def Graph_TensorOrPacked : AnyTypeOf<[Graph_Tensor, Graph_PackedType],
    "a static tensor of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, or a packed weight">;
def Graph_OpenTensorOrPacked : AnyTypeOf<[Graph_OpenTensor, Graph_PackedType],
    "a tensor of i1, i8, i16, i32, i64, f16, bf16, f32 or f64, static but for the outermost extent, or a packed weight">;

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;
// Ops without side effects whose result type follows from the operands.
class Graph_PureOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

class Graph_SymbolOp<string mnemonic> : Graph_Op<mnemonic, [Symbol]> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Graph_ConstOp : Graph_SymbolOp<"const"> {
  let summary = "A weight or table, bound by name from a checkpoint";
  let description = [{
    Uploaded once, never moved, shared by every entry. The symbol's name is the
    tensor's name in the checkpoint.

    ```mlir
    graph.const @blk.0.attn_q.weight : !graph.packed<q4_1, gguf, 576x576>
    ```
  }];
}

def Graph_StateOp : Graph_SymbolOp<"state"> {
  let summary = "A tensor carried across steps";
  let description = [{
    Zero when a session is created. The outermost extent may be `?`; it is then
    fixed when the session is created, and such a state may only be read by
    `graph.gather` and written by `graph.scatter` along dimension 0.

    ```mlir
    graph.state @k.0 : tensor<2048x3x64xf32>
    ```
  }];
}

def Graph_ComputedOp : Graph_SymbolOp<"computed"> {
  let summary = "A value that the load program computes once a device";
  let description = [{
    Made by `graph-hoist-computed` from values that depend on constants alone.
    The private function named by the module attribute `graph.load` sets each
    one exactly once; entries only get it.
  }];
}

def Graph_GetOp : Graph_Op<"get", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                   DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The value of a const, state or computed symbol";
  let description = [{
    The value of a state is the one at the start of the step. Reading it after
    the same function's `graph.set` of that state is an error that names the
    reader (G2).
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs Graph_OpenTensorOrPacked:$result);
  let assemblyFormat = "$symbol `:` type($result) attr-dict";
}

def Graph_SetOp : Graph_Op<"set", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                   DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The new value of a state, or of a computed symbol in the load program";
  let description = [{
    A function sets a state at most once. When the value is a `graph.scatter`
    into the state's own old value, the update happens in place.
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol, Graph_OpenTensorOrPacked:$value);
  let assemblyFormat = "$symbol `,` $value `:` type($value) attr-dict";
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_PureOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "An inline literal";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_UnaryOp : Graph_PureOp<"unary", [SameOperandsAndResultType, Elementwise]> {
  let summary = "An element-wise function";
  let description = [{
    ```mlir
    %1 = graph.unary exp %0 : tensor<4xf32>
    ```
    `neg`, `abs`, `sign` take integers and floats, `not` takes integers and i1,
    the others floats.
  }];
  let arguments = (ins Graph_UnaryKind:$kind, Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand `:` type($result) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_BinaryOp : Graph_PureOp<"binary", [SameOperandsAndResultType, Elementwise]> {
  let summary = "An element-wise function of two operands";
  let description = [{
    Operands have one type: broadcasts are explicit. `and`, `or`, `xor` take
    integers and i1, shifts take integers, `pow` takes floats, the others
    integers and floats.
  }];
  let arguments = (ins Graph_BinaryKind:$kind, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs `:` type($result) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_CompareOp : Graph_PureOp<"compare", [SameTypeOperands, SameOperandsAndResultShape, Elementwise,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "An element-wise comparison";
  let arguments = (ins Graph_ComparePredicate:$predicate, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs `:` type($lhs) attr-dict";
  let hasFolder = 1;
}

def Graph_SelectOp : Graph_PureOp<"select", [AllTypesMatch<["true_value", "false_value", "result"]>,
    TypesMatchWith<"condition has the result's shape", "result", "condition",
      "::llvm::cast<::mlir::RankedTensorType>($_self).clone(::mlir::IntegerType::get($_self.getContext(), 1))">,
    Elementwise]> {
  let summary = "An element-wise choice";
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$true_value, Graph_Tensor:$false_value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$condition `,` $true_value `,` $false_value `:` type($result) attr-dict";
  let hasFolder = 1;
}

def Graph_CastOp : Graph_PureOp<"cast", [SameOperandsAndResultShape, Elementwise]> {
  let summary = "A numeric conversion";
  let description = [{
    Between floats: round to nearest even. Float to integer: toward zero,
    saturating, NaN to 0. Between integers: sign-extend or truncate. To i1: not
    equal to zero; from i1: 0 or 1.
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `:` type($operand) `->` type($result) attr-dict";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Graph_IotaOp : Graph_PureOp<"iota"> {
  let summary = "Each element's index along one dimension";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`dim` $dim `:` type($result) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_BroadcastOp : Graph_PureOp<"broadcast"> {
  let summary = "Repetition along new or unit dimensions";
  let description = [{
    Operand dimension `i` becomes result dimension `dims[i]`; its extent is 1
    or that of the result. `dims` is strictly increasing.

    ```mlir
    %1 = graph.broadcast %0 dims [0, 2] : tensor<3x64xf32> -> tensor<3x3x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims `:` type($operand) `->` type($result) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_ReshapeOp : Graph_PureOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `:` type($operand) `->` type($result) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_TransposeOp : Graph_PureOp<"transpose", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A permutation of dimensions";
  let description = [{ Result dimension `i` is operand dimension `permutation[i]`. }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $permutation `:` type($operand) `->` type($result) attr-dict";
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_PureOp<"slice"> {
  let summary = "A rectangular part, with strides";
  let description = [{
    Extents come from the result type. A packed operand may be sliced along
    every dimension but the innermost, with stride 1.
  }];
  let arguments = (ins Graph_TensorOrPacked:$operand, DenseI64ArrayAttr:$offsets,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Graph_TensorOrPacked:$result);
  let assemblyFormat = [{
    $operand `offsets` $offsets `strides` $strides `:` type($operand) `->` type($result) attr-dict
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_ConcatOp : Graph_PureOp<"concat", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Operands joined along one dimension";
  let description = [{ Packed operands join along every dimension but the innermost. }];
  let arguments = (ins Variadic<Graph_TensorOrPacked>:$inputs, I64Attr:$dim);
  let results = (outs Graph_TensorOrPacked:$result);
  let assemblyFormat = "$inputs `dim` $dim `:` type($inputs) `->` type($result) attr-dict";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Indexed access
//===----------------------------------------------------------------------===//

def Graph_GatherOp : Graph_PureOp<"gather", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Elements taken along one dimension by index";
  let description = [{
    `result[a.., i.., b..] = data[a.., indices[i..], b..]`, the indices' shape in
    place of dimension `dim`. An index outside the extent is an error in the
    oracle; devices clamp it.
  }];
  let arguments = (ins Graph_OpenTensor:$data, Graph_I32Tensor:$indices, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$data `,` $indices `dim` $dim `:` type($data) `,` type($indices) `->` type($result) attr-dict";
}

def Graph_ScatterOp : Graph_PureOp<"scatter", [AllTypesMatch<["data", "result"]>]> {
  let summary = "Rows replaced by index";
  let description = [{
    `result[indices[i..], ..] = updates[i.., ..]`, all other rows are data's.
    Index -1 drops its row. Any other index outside the extent, and a duplicate
    index, is an error in the oracle; devices drop the former and leave the
    order of the latter open.
  }];
  let arguments = (ins Graph_OpenTensor:$data, Graph_I32Tensor:$indices, Graph_Tensor:$updates);
  let results = (outs Graph_OpenTensor:$result);
  let assemblyFormat = "$data `,` $indices `,` $updates `:` type($data) `,` type($indices) `,` type($updates) attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def Graph_ReduceOp : Graph_PureOp<"reduce", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A combination over dimensions, which disappear";
  let description = [{
    f16 and bf16 accumulate in f32. `max` and `min` return NaN when an element
    is NaN.
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand `dims` $dims `:` type($operand) `->` type($result) attr-dict";
}

def Graph_ScanOp : Graph_PureOp<"scan", [SameOperandsAndResultType]> {
  let summary = "Running combinations along one dimension";
  let description = [{
    Inclusive by default; with `exclusive`, element i combines those before i
    and the first one is the kind's neutral element.
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$operand, I64Attr:$dim, UnitAttr:$exclusive);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand `dim` $dim (`exclusive` $exclusive^)? `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Graph_ArgTopKOp : Graph_PureOp<"arg_top_k", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "The k largest elements along the innermost dimension, and where they are";
  let description = [{
    Sorted descending; of equals the lower index first; NaN counts as largest.
  }];
  let arguments = (ins Graph_Tensor:$operand, I64Attr:$k);
  let results = (outs Graph_Tensor:$values, Graph_I32Tensor:$indices);
  let assemblyFormat = "$operand `k` $k `:` type($operand) `->` type($values) `,` type($indices) attr-dict";
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def Graph_MatmulOp : Graph_PureOp<"matmul"> {
  let summary = "A batched matrix product";
  let description = [{
    `[B.., M, K] x [B.., K, N] -> [B.., M, N]`; batch extents are equal:
    broadcasts are explicit. Operands have one element type; the result has the
    same or, for f16 and bf16, f32, for i8, i32. Sums accumulate in f32 for
    floats up to f32, in f64 for f64, in i32 for i8 and in the operand's type
    for other integers.
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `:` type($lhs) `,` type($rhs) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Graph_IndexedMatmulOp : Graph_PureOp<"indexed_matmul"> {
  let summary = "A vector-matrix product with a matrix of a stack per row";
  let description = [{
    `lhs [I.., K], weights [E, K, N], indices [I..] -> [I.., N]`:
    `result[i.., n] = sum_k lhs[i.., k] * weights[indices[i..], k, n]`.
    Element types and accumulation as in `graph.matmul`. An index outside
    `[0, E)` is an error in the oracle; devices clamp it.
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$weights, Graph_I32Tensor:$indices);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $weights `,` $indices `:` type($lhs) `,` type($weights) `,` type($indices) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Graph_PackedDequantOp : Graph_PureOp<"packed_dequant"> {
  let summary = "The values of a packed weight";
  let description = [{ Exact in f32; rounded to nearest even in f16 and bf16. }];
  let arguments = (ins Graph_PackedType:$operand);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = "$operand `:` qualified(type($operand)) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

def Graph_RepackOp : Graph_PureOp<"repack"> {
  let summary = "The same packed weight in another layout";
  let description = [{
    No value changes. `graph-repack-weights` makes it, for targets whose kernels
    read the layout `planar`; the load program runs it.
  }];
  let arguments = (ins Graph_PackedType:$operand);
  let results = (outs Graph_PackedType:$result);
  let assemblyFormat = "$operand `:` qualified(type($operand)) `->` qualified(type($result)) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_RandomBitsOp : Graph_PureOp<"random_bits"> {
  let summary = "Counter-based random words";
  let description = [{
    Philox4x32-10 (Salmon et al., SC 2011). `seed` holds key words 0 and 1 and
    counter words 2 and 3 in that order; element `i` in row-major order is word
    `i mod 4` of the block with counter `(i / 4, 0, seed[2], seed[3])`.
  }];
  let arguments = (ins Graph_I32Tensor:$seed);
  let results = (outs Graph_I32Tensor:$result);
  let assemblyFormat = "$seed `:` type($seed) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

include "Poot/Dialect/Graph/GraphComposites.td"

#endif
