//===- GraphDialect.td - The graph dialect ----------------------*- tablegen -*-//
//
// The dialect itself. docs/graph-semantics.md gives every op's meaning as
// numbered constraints, which verifiers, oracle and tests refer to.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_GRAPH_GRAPHDIALECT_TD
#define POOT_DIALECT_GRAPH_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::poot::graph";
  let summary = "The tensor program of one step of a model";
  let description = [{
    A module holds symbols shared by every entry function (`graph.const`,
    `graph.state`, `graph.computed`) and the functions themselves. A public
    `func.func` is an *entry*: its arguments are the slots, named by the
    argument attribute `graph.name`; its results are the outputs, named by the
    result attribute of the same name. `graph.entry` on the function is the key
    a driver chooses the entry by.

    Tensors are ranked and static, with element types i1, i8, i16, i32, i64
    (signless, read as signed), f16, bf16, f32 and f64. Only the outermost
    extent of a state may be open.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif
