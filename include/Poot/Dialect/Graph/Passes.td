//===- Passes.td - Passes over the graph dialect ----------------*- tablegen -*-//

#ifndef POOT_DIALECT_GRAPH_PASSES_TD
#define POOT_DIALECT_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphVerify : Pass<"graph-verify", "::mlir::ModuleOp"> {
  let summary = "Check the rules that concern a whole module";
  let description = [{
    Checks what no verifier of a single op can see: entries and their names and
    keys, the load function, and that no old value of a state is read after its
    update (docs/graph-semantics.md, G-entry, G-load and G-state). It changes
    nothing. Every pipeline that starts from a graph runs it first.
  }];
}

def GraphHoistComputed : Pass<"graph-hoist-computed", "::mlir::ModuleOp"> {
  let summary = "Move work that depends on constants alone into the load function";
  let description = [{
    A value that depends on consts, literals and iotas alone is the same in every
    step. Where such a value meets the rest of an entry, this pass makes it a
    `graph.computed`, which the load function (`@__load`, named by the module
    attribute `graph.load`) computes once a device, and the entry gets. Equal
    computations share one symbol, across entries too.

    Only work moves: the reshapes, transposes, slices and broadcasts between it
    and its use stay in the entry, where they are strided views; literals and
    bare consts stay as well. A value of i1, which no symbol can have, stays and
    what it is computed from moves.

    A symbol is named after the first const that it depends on and what was done
    to it: `blk.0.attn_q.weight.f32` is that const in f32.
  }];
  let dependentDialects = ["::poot::graph::GraphDialect",
                           "::mlir::func::FuncDialect"];
}

class GraphRewrite<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::poot::graph::GraphDialect"];
}

def GraphPackedContraction : GraphRewrite<"graph-packed-contraction"> {
  let summary = "Products with weights and gathers of their rows, without decoding them";
  let description = [{
    A const that is decoded (`graph.packed_dequant`) or widened (`graph.cast`)
    only to be the transposed right operand of `graph.matmul`s, the stack of
    `graph.indexed_matmul`s or the data of `graph.gather`s becomes the weight of
    `graph.packed_contraction` and `graph.packed_row_gather`. Where anything else
    uses the decoded value, it must exist anyway and nothing changes. Slices of
    rows become slices of the packed weight.

    Runs before `graph-hoist-computed`, which would have the load program decode
    what a step then reads unpacked.
  }];
}

def GraphFlashAttention : GraphRewrite<"graph-flash-attention"> {
  let summary = "Two products around a softmax become attention";
  let description = [{
    Matches what causal attention over a cache is traced to: scores, scaled and
    masked by position, softmax, and the weighted sum of values; keys and values
    are a state, contiguous or gathered through slots, and are repeated for
    groups of query heads. Nothing changes where a score has another use, the
    mask isn't causal, or an update of the state stands in between.
  }];
}

def GraphRope : GraphRewrite<"graph-rope"> {
  let summary = "Rotations of pairs become graph.rope";
  let description = [{
    Matches `x * cos + swapped(x) * sin`, where cos and sin repeat over heads and
    swapped exchanges the halves, or neighbouring elements, of the rotated part.
  }];
}

def GraphRowNorms : GraphRewrite<"graph-row-norms"> {
  let summary = "Reductions over rows become softmax, rms_norm and layer_norm";
  let description = [{
    Casts to f32 before and back after become part of the op. Nothing changes
    where an intermediate value has another use.
  }];
}

def GraphDecompose : GraphRewrite<"graph-decompose"> {
  let summary = "Composite ops become primitives";
  let options = [ListOption<"ops", "ops", "std::string",
    "composite ops to decompose, without the dialect's name (all by default)">];
}

def GraphRepackWeights : GraphRewrite<"graph-repack-weights"> {
  let summary = "Weights in the layout that kernels load widest";
  let description = [{
    The packed consts that only composites read, through slices of rows, get a
    `graph.repack` to the layout `planar`, which `graph-hoist-computed` then moves
    to the load program. Does nothing to a const that anything else reads.
  }];
}

#endif
