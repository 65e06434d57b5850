//===- GraphInterfaces.td - Interfaces of graph ops -------------*- tablegen -*-//

#ifndef POOT_DIALECT_GRAPH_GRAPHINTERFACES_TD
#define POOT_DIALECT_GRAPH_GRAPHINTERFACES_TD

include "mlir/IR/OpBase.td"

def Graph_CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::poot::graph";
  let description = [{
    An op that primitives of the dialect could say as well. Its decomposition is
    its meaning: what the oracle computes, and what a target without a kernel
    for it runs. A device may round where the op's constraints leave it open.
  }];
  let methods = [InterfaceMethod<[{
    Builds the primitives at the builder's insertion point and returns one value
    for each result, of its type. The op itself stays.
  }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>];
}

#endif
