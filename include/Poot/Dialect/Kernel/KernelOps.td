//===- KernelOps.td - Operations of the kernel dialect --------------------===//

#ifndef POOT_DIALECT_KERNEL_KERNELOPS_TD
#define POOT_DIALECT_KERNEL_KERNELOPS_TD

include "Poot/Dialect/Kernel/KernelBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/MemorySlotInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kernel_Dialect, mnemonic, traits>;

// What the invocations that run together see of each other. Reading it keeps a
// subgroup operation where it is: it isn't merged with another one in a
// dominating block, nor hoisted out of a loop.
def Kernel_ConvergenceResource : Resource<"::poot::kernel::ConvergenceResource">;

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

def Kernel_FuncOp : Kernel_Op<"func", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "a kernel";
  let description = [{
    The code of one dispatch. Arguments are buffers (argument *i* is binding
    *i*), then metadata of type `i32` or `f32`, passed by value in order. There
    are no results. `workgroup_size` gives the invocations of a workgroup in x,
    y and z.

    ```mlir
    kernel.func @scale(%x: !kernel.buffer<f32, read>,
                       %y: !kernel.buffer<f32, write>, %n: i32, %s: f32)
        attributes {workgroup_size = array<i32: 64, 1, 1>} {
      ...
      kernel.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       DenseI32ArrayAttr:$workgroup_size,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type,
                                 "::llvm::ArrayRef<int32_t>":$workgroupSize)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// Buffers come first; the remaining arguments are metadata.
    unsigned getNumBuffers();
    unsigned getNumMetadata() { return getNumArguments() - getNumBuffers(); }
    BufferType getBufferType(unsigned binding);
  }];
}

def Kernel_ReturnOp : Kernel_Op<"return", [
    Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "end of an invocation";
  let description = [{
    Ends this invocation. A kernel may return at several places, also from
    within a loop.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Kernel_WorkgroupAllocOp : Kernel_Op<"workgroup_alloc"> {
  let summary = "declares an array that a workgroup shares";
  let description = [{
    Declares one array, for the whole run of the kernel, however often control
    passes here. It stands in the entry block. How many bytes the arrays of a
    kernel may take in sum is a limit of the target.

    An array may share the bytes of earlier ones that it `overlays`: writing one
    leaves the content of the others undefined. Whether it does is the target's
    choice.

    ```mlir
    %tile = kernel.workgroup_alloc : !kernel.workgroup<256xf32>
    %sums = kernel.workgroup_alloc overlays(%tile : !kernel.workgroup<256xf32>)
        : !kernel.workgroup<64xf32>
    ```
  }];
  let arguments = (ins Variadic<Kernel_Workgroup>:$overlays);
  let results = (outs Res<Kernel_Workgroup, "", [MemAlloc]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type), [{
    build($_builder, $_state, type, ::mlir::ValueRange());
  }]>];
  let assemblyFormat = [{
    (`overlays` `(` $overlays^ `:` qualified(type($overlays)) `)`)? attr-dict
    `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

class Kernel_ElementOf<string memory, string value>
    : TypesMatchWith<"type of '" # value # "' is the element type of '" #
                     memory # "'", memory, value,
                     "::poot::kernel::getElementType($_self)">;

def Kernel_LoadOp : Kernel_Op<"load", [
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads an element";
  let description = [{
    A load from a buffer with access `read` or a table has no memory effect, so
    equal ones are merged; it isn't speculated, since the index may be out of
    bounds on paths that don't execute it. Of a structure one leaf is read, and
    of an array in it one element.

    ```mlir
    %v = kernel.load %x[%i] : !kernel.buffer<f32, read>
    %w = kernel.load %s[%i] leaf 2[%j]
        : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                         read>
    ```
  }];
  let arguments = (ins Kernel_Memory:$memory, I32:$index,
                       OptionalAttr<I32Attr>:$leaf, Optional<I32>:$element);
  let results = (outs Kernel_Element:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$memory,
                                 "::mlir::Value":$index)>];
  let assemblyFormat = [{
    $memory `[` $index `]` (`leaf` $leaf^)? (`[` $element^ `]`)? attr-dict `:`
    qualified(type($memory))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Kernel_StoreOp : Kernel_Op<"store"> {
  let summary = "writes an element";
  let description = [{
    ```mlir
    kernel.store %v, %y[%i] : !kernel.buffer<f32, write>
    kernel.store %w, %s[%i] leaf 2[%j]
        : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>,
                         write>
    ```
  }];
  let arguments = (ins Kernel_Element:$value,
                       Arg<Kernel_SharedMemory, "", [MemWrite]>:$memory,
                       I32:$index, OptionalAttr<I32Attr>:$leaf,
                       Optional<I32>:$element);
  let builders = [OpBuilder<(ins "::mlir::Value":$value,
                                 "::mlir::Value":$memory,
                                 "::mlir::Value":$index)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Kernel_ConstantTableOp : Kernel_Op<"constant_table", [Pure]> {
  let summary = "a table of constants";
  let description = [{
    ```mlir
    %t = kernel.constant_table dense<[1.0, 2.0]> : tensor<2xf32>
        -> !kernel.table<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Kernel_Table:$result);
  let assemblyFormat = "$value attr-dict `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Kernel_AtomicValue : AnyTypeOf<[I32, I64, F32], "i32, i64 or f32">;

def Kernel_AtomicRmwOp : Kernel_Op<"atomic_rmw", [
    Kernel_ElementOf<"memory", "value">,
    Kernel_ElementOf<"memory", "result">]> {
  let summary = "reads, modifies and writes an element in one step";
  let description = [{
    Returns the old value. The element type is i32 or i64, or f32 for `add`,
    `min`, `max` and `exchange`. `min` and `max` compare signed, `umin` and
    `umax` unsigned. The order applies to the other accesses
    of this invocation to the same kind of memory (buffers, or workgroup
    arrays), as seen by the invocations that the scope names.

    ```mlir
    %old = kernel.atomic_rmw add relaxed device %x[%i], %v
        : !kernel.buffer<i32, read_write>
    ```
  }];
  let arguments = (ins Kernel_AtomicKindAttr:$kind, Kernel_OrderAttr:$order,
                       Kernel_ScopeAttr:$scope,
                       Arg<Kernel_SharedMemory, "", [MemRead, MemWrite]>:$memory,
                       I32:$index, Kernel_AtomicValue:$value);
  let results = (outs Kernel_AtomicValue:$result);
  let assemblyFormat = [{
    $kind $order $scope $memory `[` $index `]` `,` $value attr-dict `:`
    type($memory)
  }];
  let hasVerifier = 1;
}

def Kernel_AtomicCasOp : Kernel_Op<"atomic_cas", [
    Kernel_ElementOf<"memory", "value">,
    Kernel_ElementOf<"memory", "expected">,
    Kernel_ElementOf<"memory", "result">]> {
  let summary = "stores a value if the element has the expected one";
  let description = [{
    Returns the old value; the store took place if it equals `expected`. The
    element type is i32 or i64. If it doesn't take place, an order of `release` or
    `acq_rel` orders as `relaxed` or `acquire`.

    ```mlir
    %old = kernel.atomic_cas acq_rel device %x[%i], %expected, %v
        : !kernel.buffer<i32, read_write>
    ```
  }];
  let arguments = (ins Kernel_OrderAttr:$order, Kernel_ScopeAttr:$scope,
                       Arg<Kernel_SharedMemory, "", [MemRead, MemWrite]>:$memory,
                       I32:$index, Kernel_AtomicValue:$expected,
                       Kernel_AtomicValue:$value);
  let results = (outs Kernel_AtomicValue:$result);
  let assemblyFormat = [{
    $order $scope $memory `[` $index `]` `,` $expected `,` $value attr-dict `:`
    type($memory)
  }];
  let hasVerifier = 1;
}

def Kernel_AtomicLoadOp : Kernel_Op<"atomic_load", [
    Kernel_ElementOf<"memory", "result">]> {
  let summary = "reads an element in one step";
  let description = [{
    The element type is i32, i64 or f32; the order is `relaxed` or `acquire`.

    ```mlir
    %v = kernel.atomic_load acquire device %x[%i]
        : !kernel.buffer<i32, read_write>
    ```
  }];
  let arguments = (ins Kernel_OrderAttr:$order, Kernel_ScopeAttr:$scope,
                       Arg<Kernel_SharedMemory, "", [MemRead, MemWrite]>:$memory,
                       I32:$index);
  let results = (outs Kernel_AtomicValue:$result);
  let assemblyFormat =
      "$order $scope $memory `[` $index `]` attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def Kernel_AtomicStoreOp : Kernel_Op<"atomic_store", [
    Kernel_ElementOf<"memory", "value">]> {
  let summary = "writes an element in one step";
  let description = [{
    The element type is i32, i64 or f32; the order is `relaxed` or `release`.

    ```mlir
    kernel.atomic_store release device %x[%i], %v
        : !kernel.buffer<i32, read_write>
    ```
  }];
  let arguments = (ins Kernel_OrderAttr:$order, Kernel_ScopeAttr:$scope,
                       Arg<Kernel_SharedMemory, "", [MemRead, MemWrite]>:$memory,
                       I32:$index, Kernel_AtomicValue:$value);
  let assemblyFormat = [{
    $order $scope $memory `[` $index `]` `,` $value attr-dict `:` type($memory)
  }];
  let hasVerifier = 1;
}

def Kernel_BarrierOp : Kernel_Op<"barrier", [
    MemoryEffects<[MemRead, MemWrite,
                   MemWrite<Kernel_ConvergenceResource>]>]> {
  let summary = "waits for the workgroup";
  let description = [{
    Every invocation of the workgroup waits until all have come here. What they
    wrote before to workgroup arrays and buffers is visible after it to all
    invocations of the workgroup.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Private variables
//===----------------------------------------------------------------------===//

def Kernel_VarElement
    : AnyTypeOf<[I1, Kernel_Scalar, VectorOfAnyRankOf<[AnyType]>,
                 Kernel_Fragment],
                "i1, scalar, vector or fragment">;

def Kernel_VarOp : Kernel_Op<"var", [
    DeclareOpInterfaceMethods<PromotableAllocationOpInterface>,
    DeclareOpInterfaceMethods<DestructurableAllocationOpInterface>]> {
  let summary = "declares a variable of the invocation";
  let description = [{
    Declares a variable or array, whose content is undefined at first. It stands
    in the entry block of a kernel or of a hook's body. SROA splits an array
    that constants alone index, mem2reg makes values of variables, and one that
    is only written disappears.

    ```mlir
    %sum = kernel.var : !kernel.var<f32>
    %tile = kernel.var : !kernel.var<4x8xf32>
    ```
  }];
  let results = (outs Res<Kernel_Var, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Kernel_VarLoadOp : Kernel_Op<"var_load", [
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<PromotableMemOpInterface>,
    DeclareOpInterfaceMethods<DestructurableAccessorOpInterface>,
    DeclareOpInterfaceMethods<SafeMemorySlotAccessOpInterface>]> {
  let summary = "reads a variable";
  let description = [{
    ```mlir
    %v = kernel.var_load %tile[%i, %j] : !kernel.var<4x8xf32>
    ```
  }];
  let arguments = (ins Arg<Kernel_Var, "", [MemRead]>:$var,
                       Variadic<I32>:$indices);
  let results = (outs Kernel_VarElement:$result);
  let assemblyFormat =
      "$var `[` $indices `]` attr-dict `:` qualified(type($var))";
  let hasVerifier = 1;
}

def Kernel_VarStoreOp : Kernel_Op<"var_store", [
    TypesMatchWith<"the value has the variable's element type", "var", "value",
                   "::llvm::cast<VarType>($_self).getElementType()">,
    DeclareOpInterfaceMethods<PromotableMemOpInterface>,
    DeclareOpInterfaceMethods<DestructurableAccessorOpInterface>,
    DeclareOpInterfaceMethods<SafeMemorySlotAccessOpInterface>]> {
  let summary = "writes a variable";
  let description = [{
    ```mlir
    kernel.var_store %v, %tile[%i, %j] : !kernel.var<4x8xf32>
    ```
  }];
  let arguments = (ins Kernel_VarElement:$value,
                       Arg<Kernel_Var, "", [MemWrite]>:$var,
                       Variadic<I32>:$indices);
  let assemblyFormat = [{
    $value `,` $var `[` $indices `]` attr-dict `:` qualified(type($var))
  }];
  let hasVerifier = 1;
}

def Kernel_UnwrittenOp : Kernel_Op<"unwritten", [Pure]> {
  let summary = "the value of a variable before its first write";
  let description = [{
    What mem2reg makes of reading a variable that nothing has written. Any value
    may stand for it, and to depend on it is a fault. It isn't `ub.poison`: a
    choice between a value and poison folds to the value, after which nothing
    could report that the source left a way without one.

    ```mlir
    %found = kernel.unwritten : i1
    ```
  }];
  let results = (outs Kernel_VarElement:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Specialization and hooks
//===----------------------------------------------------------------------===//

def Kernel_SpecConstantOp : Kernel_Op<"spec_constant", [
    Pure, AllTypesMatch<["default_value", "result"]>]> {
  let summary = "a number that the planner may replace";
  let description = [{
    The value of the kernel's specialization constant of that name. Whoever
    specializes the kernel replaces it; otherwise it has its default.

    ```mlir
    %d = kernel.spec_constant "head_dim" = 64 : i32
    ```
  }];
  let arguments = (ins StrAttr:$name, TypedAttrInterface:$default_value);
  let results = (outs AnyTypeOf<[I1, I32, F32]>:$result);
  let assemblyFormat = "$name `=` $default_value attr-dict";
}

def Kernel_HookOp : Kernel_Op<"hook", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead, MemWrite, MemRead<Kernel_ConvergenceResource>]>]> {
  let summary = "a place where the planner adds code";
  let description = [{
    Calls the hook of that name. A kernel's hooks are filled with bodies, or by
    default with the one named here, before the kernel is lowered.

    ```mlir
    %y = kernel.hook "epilogue"(%row, %column, %v) default @identity
        : (i32, i32, vector<4xf32>) -> vector<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$operands,
                       FlatSymbolRefAttr:$default_body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $name `(` $operands `)` `default` $default_body attr-dict `:`
    functional-type($operands, $results)
  }];
}

def Kernel_HookBodyOp : Kernel_Op<"hook_body", [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "code that fills a hook";
  let description = [{
    Its arguments are the operands of the hook that it fills, then whatever
    buffers it reads or writes beside them, then metadata: these are appended to
    the interface of the kernel. The body is a control-flow graph that ends in
    `kernel.yield`.

    ```mlir
    kernel.hook_body @identity(%row: i32, %column: i32, %v: vector<4xf32>)
        -> vector<4xf32> {
      kernel.yield %v : vector<4xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Kernel_YieldOp : Kernel_Op<"yield", [
    Pure, HasParent<"HookBodyOp">, ReturnLike, Terminator]> {
  let summary = "the results of a hook's body";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

def Kernel_LoopHintOp : Kernel_Op<"loop_hint", [
    MemoryEffects<[MemWrite<Kernel_ConvergenceResource>]>]> {
  let summary = "what the author wants done with a loop";
  let description = [{
    Stands in the block that a loop's back edge leads to, and speaks of that
    loop: `unroll_full` and `unroll` by a count ask for it to be written out,
    `nounroll` for it to stay a loop.

    ```mlir
    kernel.loop_hint unroll_full
    kernel.loop_hint unroll times 4
    ```
  }];
  let arguments = (ins Kernel_UnrollAttr:$unroll, OptionalAttr<I32Attr>:$count);
  let assemblyFormat = "$unroll (`times` $count^)? attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Identifiers
//===----------------------------------------------------------------------===//

class Kernel_GridIdOp<string mnemonic> : Kernel_Op<mnemonic, [Pure]> {
  let arguments = (ins Kernel_DimAttr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Kernel_LocalIdOp : Kernel_GridIdOp<"local_id"> {
  let summary = "number of this invocation in its workgroup";
  let description = [{
    ```mlir
    %t = kernel.local_id x
    ```
  }];
  // The identifier in a dimension of extent 1 is 0.
  let hasFolder = 1;
}

def Kernel_WorkgroupIdOp : Kernel_GridIdOp<"workgroup_id"> {
  let summary = "number of this workgroup in the grid";
  let description = [{
    ```mlir
    %g = kernel.workgroup_id x
    ```
  }];
}

def Kernel_NumWorkgroupsOp : Kernel_GridIdOp<"num_workgroups"> {
  let summary = "extent of the grid in workgroups";
  let description = [{
    ```mlir
    %n = kernel.num_workgroups y
    ```
  }];
}

class Kernel_SubgroupQueryOp<string mnemonic> : Kernel_Op<mnemonic, [Pure]> {
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Kernel_LaneIdOp : Kernel_SubgroupQueryOp<"lane_id"> {
  let summary = "number of this invocation in its subgroup";
}

def Kernel_SubgroupIdOp : Kernel_SubgroupQueryOp<"subgroup_id"> {
  let summary = "number of this subgroup in its workgroup";
}

def Kernel_SubgroupSizeOp : Kernel_SubgroupQueryOp<"subgroup_size"> {
  let summary = "extent of a subgroup on this device";
  let description = [{
    The number of lanes of a full subgroup. The last subgroup of a workgroup
    whose size isn't a multiple of it has fewer active lanes.
  }];
}

//===----------------------------------------------------------------------===//
// Subgroups
//===----------------------------------------------------------------------===//

class Kernel_SubgroupOp<string mnemonic, list<Trait> traits = []>
    : Kernel_Op<mnemonic,
                [MemoryEffects<[MemRead<Kernel_ConvergenceResource>]>] #
                    traits>;

def Kernel_SubgroupValue
    : AnyTypeOf<[I8, I16, I32, I64, F16, F32, F64],
                "scalar of i8, i16, i32, i64, f16, f32 or f64">;

def Kernel_SubgroupReduceOp
    : Kernel_SubgroupOp<"subgroup_reduce", [SameOperandsAndResultType]> {
  let summary = "combines the values of a subgroup";
  let description = [{
    Every active lane gets the combination of all active lanes' values. The
    order of a floating-point sum or product is the device's. `umin` and `umax`
    are for integers.

    ```mlir
    %s = kernel.subgroup_reduce add %v : f32
    ```
  }];
  let arguments = (ins Kernel_ReduceKindAttr:$kind,
                       Kernel_SubgroupValue:$value);
  let results = (outs Kernel_SubgroupValue:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Kernel_SubgroupScanOp
    : Kernel_SubgroupOp<"subgroup_scan", [SameOperandsAndResultType]> {
  let summary = "prefix sums over a subgroup";
  let description = [{
    A lane gets the sum over the active lanes before it, with its own
    (`inclusive`) or without (`exclusive`; the first lane gets zero).

    ```mlir
    %s = kernel.subgroup_scan exclusive %v : i32
    ```
  }];
  let arguments = (ins Kernel_ScanKindAttr:$kind, Kernel_SubgroupValue:$value);
  let results = (outs Kernel_SubgroupValue:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}

def Kernel_SubgroupShuffleOp
    : Kernel_SubgroupOp<"subgroup_shuffle", [AllTypesMatch<["value", "result"]>]> {
  let summary = "reads another lane's value";
  let description = [{
    `idx` reads lane `lane`, `xor` lane `self ^ lane`, `up` lane `self - lane`
    and `down` lane `self + lane`. The value of a lane that is inactive or
    doesn't exist is undefined.

    ```mlir
    %o = kernel.subgroup_shuffle xor %v, %mask : f32
    ```
  }];
  let arguments = (ins Kernel_ShuffleKindAttr:$kind,
                       Kernel_SubgroupValue:$value, I32:$lane);
  let results = (outs Kernel_SubgroupValue:$result);
  let assemblyFormat = "$kind $value `,` $lane attr-dict `:` type($value)";
}

def Kernel_SubgroupBroadcastOp
    : Kernel_SubgroupOp<"subgroup_broadcast",
                        [AllTypesMatch<["value", "result"]>]> {
  let summary = "reads the same lane's value in all lanes";
  let description = [{
    `lane` is equal in all active lanes and names an active lane.

    ```mlir
    %o = kernel.subgroup_broadcast %v, %lane : f32
    ```
  }];
  let arguments = (ins Kernel_SubgroupValue:$value, I32:$lane);
  let results = (outs Kernel_SubgroupValue:$result);
  let assemblyFormat = "$value `,` $lane attr-dict `:` type($value)";
}

class Kernel_SubgroupVoteOp<string mnemonic> : Kernel_SubgroupOp<mnemonic> {
  let arguments = (ins I1:$value);
  let results = (outs I1:$result);
  let assemblyFormat = "$value attr-dict";
}

def Kernel_SubgroupAnyOp : Kernel_SubgroupVoteOp<"subgroup_any"> {
  let summary = "whether the condition holds in any active lane";
}

def Kernel_SubgroupAllOp : Kernel_SubgroupVoteOp<"subgroup_all"> {
  let summary = "whether the condition holds in all active lanes";
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def Kernel_FragmentFillOp : Kernel_SubgroupOp<"fragment_fill", [
    TypesMatchWith<"the value has the fragment's element type", "result",
                   "value",
                   "::llvm::cast<FragmentType>($_self).getElementType()">]> {
  let summary = "a fragment of equal elements";
  let description = [{
    ```mlir
    %c = kernel.fragment_fill %zero
        : !kernel.fragment<16x16xf32, accumulator>
    ```
  }];
  let arguments = (ins Kernel_Scalar:$value);
  let results = (outs Kernel_Fragment:$result);
  let assemblyFormat = "$value attr-dict `:` qualified(type($result))";
}

def Kernel_FragmentLoadOp : Kernel_Op<"fragment_load", [
    MemoryEffects<[MemRead<Kernel_ConvergenceResource>]>]> {
  let summary = "reads a fragment";
  let description = [{
    Element (r, c) comes from `index + r * stride + c` (`row`) or
    `index + c * stride + r` (`column`).

    ```mlir
    %a = kernel.fragment_load row %x[%i], %stride
        : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf16, a>
    ```
  }];
  let arguments = (ins Kernel_LayoutAttr:$layout,
                       Arg<Kernel_SharedMemory, "", [MemRead]>:$memory,
                       I32:$index, I32:$stride);
  let results = (outs Kernel_Fragment:$result);
  let assemblyFormat = [{
    $layout $memory `[` $index `]` `,` $stride attr-dict `:`
    qualified(type($memory)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Kernel_FragmentStoreOp : Kernel_Op<"fragment_store", [
    MemoryEffects<[MemRead<Kernel_ConvergenceResource>]>]> {
  let summary = "writes a fragment";
  let description = [{
    Element (r, c) goes where `kernel.fragment_load` would read it.

    ```mlir
    kernel.fragment_store row %c, %y[%i], %stride
        : !kernel.fragment<16x16xf32, accumulator>, !kernel.buffer<f32, write>
    ```
  }];
  let arguments = (ins Kernel_LayoutAttr:$layout, Kernel_Fragment:$value,
                       Arg<Kernel_SharedMemory, "", [MemWrite]>:$memory,
                       I32:$index, I32:$stride);
  let assemblyFormat = [{
    $layout $value `,` $memory `[` $index `]` `,` $stride attr-dict `:`
    qualified(type($value)) `,` qualified(type($memory))
  }];
  let hasVerifier = 1;
}

def Kernel_FragmentMmaOp : Kernel_SubgroupOp<"fragment_mma", [
    AllTypesMatch<["c", "result"]>]> {
  let summary = "a·b + c";
  let description = [{
    Products are exact in the accumulator's type where it is wider; the order of
    the sum is the target's.

    ```mlir
    %d = kernel.fragment_mma %a, %b, %c
        : !kernel.fragment<16x16xf16, a>, !kernel.fragment<16x16xf16, b>
        -> !kernel.fragment<16x16xf32, accumulator>
    ```
  }];
  let arguments = (ins Kernel_Fragment:$a, Kernel_Fragment:$b,
                       Kernel_Fragment:$c);
  let results = (outs Kernel_Fragment:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $c attr-dict `:` qualified(type($a)) `,` qualified(type($b))
    `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

#endif // POOT_DIALECT_KERNEL_KERNELOPS_TD
