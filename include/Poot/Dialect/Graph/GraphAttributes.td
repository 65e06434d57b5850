//===- GraphAttributes.td - Types, enums and attributes ----------*- tablegen -*-//

#ifndef POOT_DIALECT_GRAPH_GRAPHATTRIBUTES_TD
#define POOT_DIALECT_GRAPH_GRAPHATTRIBUTES_TD

include "Poot/Dialect/Graph/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Element-wise kinds
//===----------------------------------------------------------------------===//

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::poot::graph";
}

// Kinds are appended only: their numbers are stored in bytecode.
def Graph_UnaryKind : Graph_Enum<"UnaryKind", "element-wise function", [
  I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Abs", 1, "abs">,
  I32EnumAttrCase<"Sign", 2, "sign">, I32EnumAttrCase<"Not", 3, "not">,
  I32EnumAttrCase<"Exp", 4, "exp">, I32EnumAttrCase<"Exp2", 5, "exp2">,
  I32EnumAttrCase<"Expm1", 6, "expm1">, I32EnumAttrCase<"Log", 7, "log">,
  I32EnumAttrCase<"Log2", 8, "log2">, I32EnumAttrCase<"Log1p", 9, "log1p">,
  I32EnumAttrCase<"Sqrt", 10, "sqrt">, I32EnumAttrCase<"Rsqrt", 11, "rsqrt">,
  I32EnumAttrCase<"Sin", 12, "sin">, I32EnumAttrCase<"Cos", 13, "cos">,
  I32EnumAttrCase<"Tanh", 14, "tanh">, I32EnumAttrCase<"Erf", 15, "erf">,
  I32EnumAttrCase<"Floor", 16, "floor">, I32EnumAttrCase<"Ceil", 17, "ceil">,
  I32EnumAttrCase<"RoundEven", 18, "round_even">,
  I32EnumAttrCase<"Trunc", 19, "trunc">]>;

def Graph_BinaryKind : Graph_Enum<"BinaryKind", "element-wise function of two operands", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">,
  I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Div", 3, "div">,
  I32EnumAttrCase<"Rem", 4, "rem">, I32EnumAttrCase<"Max", 5, "max">,
  I32EnumAttrCase<"Min", 6, "min">, I32EnumAttrCase<"Pow", 7, "pow">,
  I32EnumAttrCase<"And", 8, "and">, I32EnumAttrCase<"Or", 9, "or">,
  I32EnumAttrCase<"Xor", 10, "xor">, I32EnumAttrCase<"Shl", 11, "shl">,
  I32EnumAttrCase<"ShrS", 12, "shr_s">, I32EnumAttrCase<"ShrU", 13, "shr_u">]>;

def Graph_ComparePredicate : Graph_Enum<"ComparePredicate", "comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
  I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
  I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "associative combination", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

def Graph_PackedEncoding : Graph_Enum<"PackedEncoding", "block encoding of packed weights", [
  I32EnumAttrCase<"Q4_0", 0, "q4_0">, I32EnumAttrCase<"Q4_1", 1, "q4_1">,
  I32EnumAttrCase<"Q5_0", 2, "q5_0">, I32EnumAttrCase<"Q5_1", 3, "q5_1">,
  I32EnumAttrCase<"Q8_0", 4, "q8_0">, I32EnumAttrCase<"Q2_K", 5, "q2_k">,
  I32EnumAttrCase<"Q3_K", 6, "q3_k">, I32EnumAttrCase<"Q4_K", 7, "q4_k">,
  I32EnumAttrCase<"Q5_K", 8, "q5_k">, I32EnumAttrCase<"Q6_K", 9, "q6_k">,
  I32EnumAttrCase<"IQ4_NL", 10, "iq4_nl">, I32EnumAttrCase<"MXFP4", 11, "mxfp4">]>;

def Graph_PackedLayout : Graph_Enum<"PackedLayout", "order of a packed weight's bytes", [
  I32EnumAttrCase<"Gguf", 0, "gguf">, I32EnumAttrCase<"Planar", 1, "planar">]>;

class Graph_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Graph_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Graph_PackedType : Graph_Type<"Packed", "packed"> {
  let summary = "Weights stored in blocks of a packed encoding";
  let description = [{
    `!graph.packed<q4_k, gguf, 4096x14336>`: the shape counts elements; the
    innermost extent is a multiple of the encoding's block. Layout `gguf` is
    the order of the file; `planar` keeps the quants and the scales of each row
    in separate, aligned planes (`weights/include/poot/weights/planar.h`).
  }];
  let parameters = (ins
    EnumParameter<Graph_PackedEncoding>:$encoding,
    EnumParameter<Graph_PackedLayout>:$layout,
    ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $encoding `,` $layout `,` custom<PackedShape>($shape) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const;
  }];
}

//===----------------------------------------------------------------------===//
// Entry keys
//===----------------------------------------------------------------------===//

def Graph_Phase : Graph_Enum<"Phase", "phase of generation", [
  I32EnumAttrCase<"Prefill", 1, "prefill">, I32EnumAttrCase<"Decode", 2, "decode">]>;
def Graph_CacheLayout : Graph_Enum<"CacheLayout", "layout of the KV cache", [
  I32EnumAttrCase<"Contiguous", 1, "contiguous">, I32EnumAttrCase<"Paged", 2, "paged">]>;
def Graph_LogitsRows : Graph_Enum<"LogitsRows", "tokens whose logits a step returns", [
  I32EnumAttrCase<"Last", 1, "last">, I32EnumAttrCase<"All", 2, "all">]>;

def Graph_EntryAttr : AttrDef<Graph_Dialect, "Entry"> {
  let mnemonic = "entry";
  let summary = "The key that a driver chooses an entry by";
  let description = [{
    Phase, step shape (rows, new tokens per row, cache capacity per row and
    layout, which logits return), sampling suffix, and the numerics that the
    graph was traced with.
  }];
  let parameters = (ins
    EnumParameter<Graph_Phase>:$phase,
    "int64_t":$rows, "int64_t":$tokens, "int64_t":$capacity,
    EnumParameter<Graph_CacheLayout>:$cache,
    EnumParameter<Graph_LogitsRows>:$logits,
    StringRefParameter<"sampling suffix">:$suffix,
    "::mlir::Type":$activation, "::mlir::Type":$kv, "::mlir::Type":$accumulate);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
