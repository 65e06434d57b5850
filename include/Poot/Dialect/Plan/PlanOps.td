//===- PlanOps.td - The plan dialect -----------------------------*- tablegen -*-//
//
// What the runtime replays. A `plan.program` is the ordered list of commands of
// one entry on one target; its buffers are handles to device memory, not
// values, so commands have effects and their order counts.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_DIALECT_PLAN_PLANOPS_TD
#define POOT_DIALECT_PLAN_PLANOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::poot::plan";
  let summary = "Dispatches over buffers: what the runtime replays";
  let description = [{
    A module in plan form holds `kernel.func` symbols and one `plan.program`
    for each (entry, target), plus one load program a target. Buffers of role
    const, state and computed name the `graph.*` symbols of the same module.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Type<string name, string typeMnemonic> : TypeDef<Plan_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Plan_BufferType : Plan_Type<"Buffer", "buffer"> {
  let summary = "A handle to a range of device memory";
}
def Plan_EventType : Plan_Type<"Event", "event"> {
  let summary = "The completion of a command";
}

class Plan_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::poot::plan";
}
def Plan_Role : Plan_Enum<"Role", "where a buffer lives", [
  I32EnumAttrCase<"Const", 0, "const">, I32EnumAttrCase<"State", 1, "state">,
  I32EnumAttrCase<"Computed", 2, "computed">, I32EnumAttrCase<"Slot", 3, "slot">,
  I32EnumAttrCase<"Output", 4, "output">, I32EnumAttrCase<"Arena", 5, "arena">]>;
def Plan_Access : Plan_Enum<"Access", "how a kernel uses an argument", [
  I32EnumAttrCase<"Read", 0, "read">, I32EnumAttrCase<"Write", 1, "write">,
  I32EnumAttrCase<"ReadWrite", 2, "read_write">]>;

def Plan_ArgumentAttr : AttrDef<Plan_Dialect, "Argument"> {
  let mnemonic = "arg";
  let summary = "The slice of a buffer that a kernel argument is bound to";
  let description = [{
    `#plan.arg<read 0 : 2304>`: access, byte offset and byte size. Size -1 is
    all that follows the offset, for a state with an open extent.
    `#plan.arg<read 0 : 30081024 touches 576>` is of a table of which a kernel
    reads rows: no more than 576 bytes of it.
  }];
  let parameters = (ins EnumParameter<Plan_Access>:$access,
                        "int64_t":$offset, "int64_t":$size,
                        OptionalParameter<"int64_t">:$touched);
  let builders = [AttrBuilder<(ins "::poot::plan::Access":$access,
                                   "int64_t":$offset, "int64_t":$size,
                                   CArg<"int64_t", "0">:$touched), [{
    return $_get($_ctxt, access, offset, size, touched);
  }]>];
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    `<` $access $offset `:` $size (`touches` $touched^)? `>`
  }];
}

def Plan_ExtentAttr : AttrDef<Plan_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "Launch metadata: the open extent of a state";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$state);
  let assemblyFormat = "`<` $state `>`";
}

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SingleBlock, NoTerminator,
    NoRegionArguments, RegionKindInterface, IsolatedFromAbove]> {
  let summary = "The commands of one entry on one target";
  let description = [{
    `entry` names the graph function that the program came from; without it
    this is the target's load program. `arena_size` is there once
    `plan-assign-arena` has run.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target,
                       OptionalAttr<StrAttr>:$entry,
                       OptionalAttr<AnyAttr>:$key,
                       OptionalAttr<I64Attr>:$arena_size,
                       OptionalAttr<I64Attr>:$arena_lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `target` $target (`entry` $entry^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    static ::mlir::RegionKind getRegionKind(unsigned) { return ::mlir::RegionKind::SSACFG; }
    bool isLoad() { return !getEntry(); }
  }];
}

def Plan_BufferOp : Plan_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "A range of device memory";
  let description = [{
    `name` is the symbol of a const, state or computed value, or the name of a
    slot or output. `bytes` of a state with an open extent counts one row.
    `type` is the tensor type that a slot or output has at the entry's border.
    `offset` is an arena buffer's place.
  }];
  let arguments = (ins Plan_Role:$role, OptionalAttr<StrAttr>:$name, I64Attr:$bytes,
                       OptionalAttr<TypeAttr>:$type, OptionalAttr<I64Attr>:$offset);
  let results = (outs Plan_BufferType:$result);
  let assemblyFormat = [{
    $role ($name^)? `bytes` $bytes (`type` $type^)? (`at` $offset^)? attr-dict
  }];
  let hasVerifier = 1;
}

class Plan_Command<string mnemonic, list<Trait> traits = []> : Plan_Op<mnemonic,
    !listconcat([HasParent<"ProgramOp">], traits)>;

def Plan_DispatchOp : Plan_Command<"dispatch", [AttrSizedOperandSegments]> {
  let summary = "One launch of a kernel";
  let description = [{
    ```mlir
    %e1 = plan.dispatch @add_f32_576 grid [9, 1, 1](%a, %b, %c)
        [#plan.arg<read 0 : 2304>, #plan.arg<read 0 : 2304>, #plan.arg<write 0 : 2304>]
        metadata [7 : i32] after(%e0)
    ```
    Metadata words are `i32` or `f32` literals or `#plan.extent`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$grid,
                       Variadic<Plan_BufferType>:$buffers, ArrayAttr:$arguments,
                       ArrayAttr:$metadata, Variadic<Plan_EventType>:$waits);
  let results = (outs Plan_EventType:$event);
  let assemblyFormat = [{
    $kernel `grid` $grid `(` $buffers `)` $arguments `metadata` $metadata
    (`after` `(` $waits^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_CopyOp : Plan_Command<"copy"> {
  let summary = "A copy between two buffers";
  let arguments = (ins Plan_BufferType:$source, I64Attr:$source_offset,
                       Plan_BufferType:$destination, I64Attr:$destination_offset,
                       I64Attr:$bytes, Variadic<Plan_EventType>:$waits);
  let results = (outs Plan_EventType:$event);
  let assemblyFormat = [{
    $source `[` $source_offset `]` `to` $destination `[` $destination_offset `]`
    `bytes` $bytes (`after` `(` $waits^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_FillOp : Plan_Command<"fill"> {
  let summary = "A range of a buffer set to a 32-bit word";
  let arguments = (ins Plan_BufferType:$destination, I64Attr:$offset, I64Attr:$bytes,
                       I32Attr:$word, Variadic<Plan_EventType>:$waits);
  let results = (outs Plan_EventType:$event);
  let assemblyFormat = [{
    $destination `[` $offset `]` `bytes` $bytes `word` $word (`after` `(` $waits^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_DataOp : Plan_Op<"data", [Symbol]> {
  let summary = "The bytes of a literal that travels in the bundle";
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name $value attr-dict";
}

#endif
