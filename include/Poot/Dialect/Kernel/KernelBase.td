//===- KernelBase.td - The kernel dialect, its enumerations and types -----===//

#ifndef POOT_DIALECT_KERNEL_KERNELBASE_TD
#define POOT_DIALECT_KERNEL_KERNELBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let summary = "One GPU kernel as a control-flow graph";
  let description = [{
    A `kernel.func` is what one dispatch runs. Its body is a control-flow graph
    of `cf`, `arith`, `math` and `vector` operations and of this dialect's own:
    loads and stores, identifiers, workgroup arrays, barriers, atomics and
    subgroup operations.

    **Interface.** The arguments of a kernel are its buffers, then its metadata.
    Buffer *i* is binding *i*. Metadata are 32-bit scalars that are passed by
    value, in order, four bytes each.

    **Indices** are `i32` and count elements of the memory they index. An access
    out of bounds is undefined behaviour.

    **Aliasing.** A buffer with access `read` is written by nobody while the
    kernel runs, with one exception: a kernel may write through another buffer
    an element that it read through this one, if no other invocation reads it,
    and no invocation reads it afterwards. That is what makes element-wise
    kernels work in place.

    **Floating point.** Arithmetic is done as written. Only where both have
    `fastmath<contract>` may a product and a sum be rounded once.

    **Hooks and specialization.** A kernel may call hooks, which a compiler fills
    with code of its own, and read specialization constants, which it replaces
    by numbers. What is left takes its default.

    **Private variables** of an invocation are values, or `kernel.var` where the
    source assigns them several times or indexes them. The value of one that
    was never written is `kernel.unwritten`.

    **Convergence.** A barrier must be reached by all invocations of a workgroup
    or by none. A subgroup operation works on the invocations of the subgroup
    that execute it together; optimizations never move it across a branch, merge
    it with another or let other invocations execute it together. Each iteration
    of a loop executes its own.
  }];
  let cppNamespace = "::poot::kernel";
  let hasConstantMaterializer = 1;
  // Constants, and values that don't exist.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::ub::UBDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Kernel_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::poot::kernel";
  let genSpecializedAttr = 0;
}

def Kernel_Access : Kernel_Enum<"Access", "how a kernel uses a buffer", [
  I32EnumAttrCase<"Read", 1, "read">,
  I32EnumAttrCase<"Write", 2, "write">,
  I32EnumAttrCase<"ReadWrite", 3, "read_write">,
]>;

def Kernel_Dim : Kernel_Enum<"Dim", "dimension of the grid", [
  I32EnumAttrCase<"X", 0, "x">,
  I32EnumAttrCase<"Y", 1, "y">,
  I32EnumAttrCase<"Z", 2, "z">,
]>;
def Kernel_DimAttr : EnumAttr<Kernel_Dialect, Kernel_Dim, "dim">;

def Kernel_AtomicKind : Kernel_Enum<"AtomicKind", "atomic operation", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Min", 1, "min">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"UMin", 3, "umin">,
  I32EnumAttrCase<"UMax", 4, "umax">,
  I32EnumAttrCase<"And", 5, "and">,
  I32EnumAttrCase<"Or", 6, "or">,
  I32EnumAttrCase<"Xor", 7, "xor">,
  I32EnumAttrCase<"Exchange", 8, "exchange">,
]>;
def Kernel_AtomicKindAttr
    : EnumAttr<Kernel_Dialect, Kernel_AtomicKind, "atomic_kind">;

def Kernel_Order : Kernel_Enum<"MemoryOrder", "ordering of an atomic", [
  I32EnumAttrCase<"Relaxed", 0, "relaxed">,
  I32EnumAttrCase<"Acquire", 1, "acquire">,
  I32EnumAttrCase<"Release", 2, "release">,
  I32EnumAttrCase<"AcqRel", 3, "acq_rel">,
]>;
def Kernel_OrderAttr : EnumAttr<Kernel_Dialect, Kernel_Order, "order">;

def Kernel_Scope : Kernel_Enum<"MemoryScope", "who observes an atomic", [
  I32EnumAttrCase<"Subgroup", 0, "subgroup">,
  I32EnumAttrCase<"Workgroup", 1, "workgroup">,
  I32EnumAttrCase<"Device", 2, "device">,
]>;
def Kernel_ScopeAttr : EnumAttr<Kernel_Dialect, Kernel_Scope, "scope">;

def Kernel_ReduceKind : Kernel_Enum<"ReduceKind", "subgroup reduction", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Mul", 1, "mul">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Max", 3, "max">,
  I32EnumAttrCase<"UMin", 4, "umin">,
  I32EnumAttrCase<"UMax", 5, "umax">,
]>;
def Kernel_ReduceKindAttr
    : EnumAttr<Kernel_Dialect, Kernel_ReduceKind, "reduce_kind">;

def Kernel_ScanKind : Kernel_Enum<"ScanKind", "subgroup scan", [
  I32EnumAttrCase<"Inclusive", 0, "inclusive">,
  I32EnumAttrCase<"Exclusive", 1, "exclusive">,
]>;
def Kernel_ScanKindAttr
    : EnumAttr<Kernel_Dialect, Kernel_ScanKind, "scan_kind">;

def Kernel_ShuffleKind : Kernel_Enum<"ShuffleKind", "subgroup shuffle", [
  I32EnumAttrCase<"Idx", 0, "idx">,
  I32EnumAttrCase<"Xor", 1, "xor">,
  I32EnumAttrCase<"Up", 2, "up">,
  I32EnumAttrCase<"Down", 3, "down">,
]>;
def Kernel_ShuffleKindAttr
    : EnumAttr<Kernel_Dialect, Kernel_ShuffleKind, "shuffle_kind">;

def Kernel_FragmentUse : Kernel_Enum<"FragmentUse", "operand of a product", [
  I32EnumAttrCase<"A", 0, "a">,
  I32EnumAttrCase<"B", 1, "b">,
  I32EnumAttrCase<"Accumulator", 2, "accumulator">,
]>;

def Kernel_Layout : Kernel_Enum<"FragmentLayout", "order of a matrix in memory", [
  I32EnumAttrCase<"Row", 0, "row">,
  I32EnumAttrCase<"Column", 1, "column">,
]>;
def Kernel_LayoutAttr : EnumAttr<Kernel_Dialect, Kernel_Layout, "layout">;

def Kernel_Unroll : Kernel_Enum<"Unroll", "what to do with a loop", [
  I32EnumAttrCase<"None", 0, "nounroll">,
  I32EnumAttrCase<"Full", 1, "unroll_full">,
  I32EnumAttrCase<"Count", 2, "unroll">,
]>;
def Kernel_UnrollAttr : EnumAttr<Kernel_Dialect, Kernel_Unroll, "unroll">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Kernel_Type<string name, string typeMnemonic>
    : TypeDef<Kernel_Dialect, name> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

def Kernel_Buffer : Kernel_Type<"Buffer", "buffer"> {
  let summary = "memory that a dispatch binds to a kernel";
  let description = [{
    An array of elements in device memory whose extent the type doesn't know.
    An element is one of i8, i16, i32, i64, f16, bf16, f32, f64, or a vector of
    2 or 4 of them; it is stored in its natural size, little-endian, packed.
    A vector element is aligned to its size. Or it is a `!kernel.struct` of
    these, whose leaves are read and written one by one.

    ```mlir
    !kernel.buffer<f32, read>
    !kernel.buffer<vector<4xf16>, read_write>
    ```
  }];
  let parameters = (ins "::mlir::Type":$elementType,
                        EnumParameter<Kernel_Access>:$access);
  let builders = [TypeBuilderWithInferredContext<
      (ins "::mlir::Type":$elementType, "Access":$access), [{
        return $_get(elementType.getContext(), elementType, access);
      }]>];
  let assemblyFormat = "`<` $elementType `,` $access `>`";
  let extraClassDeclaration = [{
    bool isReadable() const { return static_cast<int>(getAccess()) & 1; }
    bool isWritable() const { return static_cast<int>(getAccess()) & 2; }
  }];
}

def Kernel_Workgroup : Kernel_Type<"Workgroup", "workgroup"> {
  let summary = "array that the invocations of a workgroup share";
  let description = [{
    An array of a fixed number of elements, with the element types of
    `!kernel.buffer`. Its content is undefined when the kernel starts.

    ```mlir
    !kernel.workgroup<256xf32>
    ```
  }];
  let parameters = (ins "int64_t":$size, "::mlir::Type":$elementType);
  let builders = [TypeBuilderWithInferredContext<
      (ins "int64_t":$size, "::mlir::Type":$elementType), [{
        return $_get(elementType.getContext(), size, elementType);
      }]>];
  let hasCustomAssemblyFormat = 1;
}

def Kernel_Struct : Kernel_Type<"Struct", "struct"> {
  let summary = "element of a buffer that has several parts";
  let description = [{
    A structure by its leaves: scalars, vectors of 2 or 4, or arrays of such.
    Nested structures are flattened. Each leaf names its offset in bytes; the
    number before the colon is the size of the whole.

    ```mlir
    !kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>
    ```
  }];
  let parameters = (ins "int64_t":$size,
                        ArrayRefParameter<"::mlir::Type">:$leaves,
                        ArrayRefParameter<"int64_t">:$counts,
                        ArrayRefParameter<"int64_t">:$offsets);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The size that the widest leaf is aligned to.
    int64_t getAlignment() const;
  }];
}

def Kernel_Table : Kernel_Type<"Table", "table"> {
  let summary = "array of constants that the kernel knows";
  let description = [{
    ```mlir
    !kernel.table<16xf32>
    ```
  }];
  let parameters = (ins "int64_t":$size, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Kernel_Var : Kernel_Type<"Var", "var"> {
  let summary = "variable of one invocation";
  let description = [{
    A variable or array that one invocation alone reads and writes. Elements are
    i1, scalars, vectors of any length, and fragments.

    ```mlir
    !kernel.var<f32>
    !kernel.var<4x8xvector<4xf32>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Kernel_Fragment : Kernel_Type<"Fragment", "fragment"> {
  let summary = "part of a matrix that a subgroup holds together";
  let description = [{
    How its elements lie in the lanes is the target's affair. As `a` or `b` it
    is an operand of `kernel.fragment_mma`, as `accumulator` its sum.

    ```mlir
    !kernel.fragment<16x16xf16, a>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns,
                        "::mlir::Type":$elementType,
                        EnumParameter<Kernel_FragmentUse>:$use);
  let hasCustomAssemblyFormat = 1;
}

/// What lies in memory that invocations share.
def Kernel_SharedMemory : AnyTypeOf<[Kernel_Buffer, Kernel_Workgroup],
                                    "buffer or workgroup array">;
def Kernel_Memory : AnyTypeOf<[Kernel_Buffer, Kernel_Workgroup, Kernel_Table],
                              "buffer, workgroup array or constant table">;

def Kernel_Scalar
    : AnyTypeOf<[I8, I16, I32, I64, F16, BF16, F32, F64],
                "scalar of i8, i16, i32, i64, f16, bf16, f32 or f64">;
def Kernel_Element
    : AnyTypeOf<[Kernel_Scalar,
                 VectorOfLengthAndType<[2, 4], [I8, I16, I32, I64, F16, BF16,
                                                F32, F64]>],
                "scalar, or vector of 2 or 4 scalars">;

#endif // POOT_DIALECT_KERNEL_KERNELBASE_TD
