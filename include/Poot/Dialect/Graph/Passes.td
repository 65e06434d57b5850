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

def GraphDecompose : GraphRewrite<"graph-decompose"> {
  let summary = "Composite ops become primitives";
  let options = [ListOption<"ops", "ops", "std::string",
    "composite ops to decompose, without the dialect's name (all by default)">];
}

#endif
