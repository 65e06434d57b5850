//===- GraphComposites.td - Composite ops of the graph dialect --*- tablegen -*-//
//
// Ops that stand for several primitives, so that one kernel can do their work.
// Only passes make them: no model family and no reader does. Each has a
// decomposition into primitives, which is its meaning. Included by GraphOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_GRAPHCOMPOSITES_TD
#define POOT_DIALECT_GRAPH_GRAPHCOMPOSITES_TD

def Graph_WeightTensor : AnyTypeOf<[Graph_DequantTensor, Graph_PackedType],
    "a static tensor of f16, bf16 or f32, or a packed weight">;

class Graph_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<Graph_CompositeOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Stored weights
//===----------------------------------------------------------------------===//

def Graph_PackedContractionOp : Graph_CompositeOp<"packed_contraction"> {
  let summary = "A product with weights as they are stored";
  let description = [{
    `x [R.., K] · W [N, K] -> [R.., N]`: `result[r.., n] = sum_k x[r.., k] *
    W[n, k]`, x times W transposed, with W as the checkpoint stores it: packed,
    or in another float type than x. With `experts`, W is a stack `[E, N, K]`
    and row `r` takes matrix `indices[r..]`.

    ```mlir
    %y = graph.packed_contraction %x, %w
      : tensor<8x576xf32>, !graph.packed<q4_1, gguf, 1536x576> -> tensor<8x1536xf32>
    %z = graph.packed_contraction %x, %ws experts %i
      : tensor<8x576xf32>, !graph.packed<q4_1, gguf, 4x1536x576>, tensor<8xi32> -> tensor<8x1536xf32>
    ```
  }];
  let arguments = (ins Graph_DequantTensor:$lhs, Graph_WeightTensor:$weights,
                       Optional<Graph_I32Tensor>:$indices);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $weights (`experts` $indices^)? `:` type($lhs) `,` type($weights)
    (`,` type($indices)^)? `->` type($result) attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_PackedRowGatherOp : Graph_CompositeOp<"packed_row_gather"> {
  let summary = "Rows of a packed weight by index, decoded";
  let description = [{
    `W [N, K], indices [I..] -> [I.., K]`: `result[i.., k] = W[indices[i..], k]`
    as f16, bf16 or f32. No other row is decoded.
  }];
  let arguments = (ins Graph_PackedType:$weights, Graph_I32Tensor:$indices);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $weights `,` $indices `:` qualified(type($weights)) `,` type($indices) `->`
    type($result) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Graph_AttentionOp : Graph_CompositeOp<"attention", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Causal attention over a cache of keys and values";
  let description = [{
    `query [R, T, H, D], keys [S, Hkv, D], values [S, Hkv, Dv], positions
    [R, T] -> [R, T, H, Dv]`. Row `r` sees the cache slots of its C positions:
    slot `r * C + c` of position `c` where S is R * C, else `slots[r, c]`, with
    `slots [R, C]`. Token `t` attends to the positions up to its own,
    `positions[r, t]`, where one below 0 (padding) counts as 0. Query head `h`
    attends with key and value head `h / (H / Hkv)`.

    ```mlir
    %y = graph.attention %q, %k, %v, %pos scale 0.125
      : tensor<1x1x9x64xf32>, tensor<512x3x64xf32>, tensor<512x3x64xf32>, tensor<1x1xi32> -> tensor<1x1x9x64xf32>
    ```

    Scores, their maximum and sums are in f32; no buffer of scores is needed
    (online softmax).
  }];
  let arguments = (ins Graph_DequantTensor:$query, Graph_OpenTensor:$keys,
                       Graph_OpenTensor:$values, Graph_I32Tensor:$positions,
                       Optional<Graph_I32Tensor>:$slots, F32Attr:$scale);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $query `,` $keys `,` $values `,` $positions (`slots` $slots^)? `scale` $scale
    `:` type($query) `,` type($keys) `,` type($values) `,` type($positions)
    (`,` type($slots)^)? `->` type($result) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The positions of a row that the cache holds: C.
    int64_t getCapacity();
  }];
}

def Graph_RopePairs : Graph_Enum<"RopePairs", "elements that a rotation pairs", [
  I32EnumAttrCase<"Halves", 0, "halves">, I32EnumAttrCase<"Adjacent", 1, "adjacent">]>;

def Graph_RopeOp : Graph_CompositeOp<"rope", [
    AllTypesMatch<["operand", "result"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "A rotation of pairs of elements by given angles";
  let description = [{
    `x [B.., H, D], cos and sin [B.., r] -> [B.., H, D]` with even `r <= D`:
    `result[.., e] = x[.., e] * cos[b.., e] + x[.., e'] * sin[b.., e]` for
    `e < r`, else `x[.., e]`. `e'` is the other element of e's pair: `halves`
    pairs `e` and `e + r / 2`, `adjacent` pairs `2i` and `2i + 1`. For a rotation
    sin is negative at the pair's first element.
  }];
  let arguments = (ins Graph_RopePairs:$pairs, Graph_DequantTensor:$operand,
                       Graph_DequantTensor:$cos, Graph_DequantTensor:$sin);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $pairs $operand `,` $cos `,` $sin `:` type($operand) `,` type($cos) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Graph_SoftmaxOp : Graph_CompositeOp<"softmax", [
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "Exponentials along the innermost dimension that sum to 1";
  let description = [{
    `exp(x - max) / sum(exp(x - max))` in f32, maximum and sum over the row.
  }];
  let arguments = (ins Graph_DequantTensor:$operand);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = "$operand `:` type($operand) attr-dict";
  let hasVerifier = 1;
}

def Graph_RmsNormOp : Graph_CompositeOp<"rms_norm", [
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "Rows of mean square 1";
  let description = [{
    `x * rsqrt(mean(x * x) + epsilon) * scale` in f32, the mean over the
    innermost dimension, of which `scale` has one element each.
  }];
  let arguments = (ins Graph_DequantTensor:$operand,
                       Optional<Graph_DequantTensor>:$scale, F32Attr:$epsilon);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $operand (`scale` $scale^)? `epsilon` $epsilon `:` type($operand)
    (`,` type($scale)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_CompositeOp<"layer_norm", [
    AllTypesMatch<["operand", "result"]>, AttrSizedOperandSegments]> {
  let summary = "Rows of mean 0 and variance 1";
  let description = [{
    `(x - mean(x)) * rsqrt(variance(x) + epsilon) * scale + bias` in f32, mean
    and variance over the innermost dimension, of which `scale` and `bias` have
    one element each.
  }];
  let arguments = (ins Graph_DequantTensor:$operand,
                       Optional<Graph_DequantTensor>:$scale,
                       Optional<Graph_DequantTensor>:$bias, F32Attr:$epsilon);
  let results = (outs Graph_DequantTensor:$result);
  let assemblyFormat = [{
    $operand (`scale` $scale^)? (`bias` $bias^)? `epsilon` $epsilon `:`
    type($operand) (`scale` type($scale)^)? (`bias` type($bias)^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fused computations
//===----------------------------------------------------------------------===//

def Graph_FusedOp : Graph_CompositeOp<"fused", [IsolatedFromAbove, SingleBlock]> {
  let summary = "Ops that one kernel computes together";
  let description = [{
    What the ops of the body compute of the operands. Values between them exist
    nowhere. `plan-use-kernels` makes it, where a kernel of the user's implements
    what `pattern` says ([own-kernels.md](../own-kernels.md)), and
    `plan-fuse-products` of a matrix product and what becomes of its sums.

    ```mlir
    %y = graph.fused "silu"(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %one = graph.constant dense<1.0> : tensor<8xf32>
      %0 = graph.unary neg %a : tensor<8xf32>
      %1 = graph.unary exp %0 : tensor<8xf32>
      %2 = graph.binary add %1, %one : tensor<8xf32>
      %3 = graph.binary div %a, %2 : tensor<8xf32>
      graph.yield %3 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$pattern, Variadic<Graph_TensorOrPacked>:$operands);
  let results = (outs Graph_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $pattern `(` $operands `)` `:` functional-type($operands, $result) $body
    attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Graph_YieldOp : Graph_PureOp<"yield", [Terminator, HasParent<"FusedOp">]> {
  let summary = "The result of a fused computation";
  let arguments = (ins Graph_Tensor:$operand);
  let assemblyFormat = "$operand `:` type($operand) attr-dict";
}

#endif
