// KIR as plain data: kernels as control-flow graphs, without MLIR.
//
// This is what the compiler half's kernel dialect becomes where there is no
// compiler: in .kir.json files and in bundles, for the kernel interpreter. The
// op set is closed (ops.def), and every index below refers to a table of this
// data. Nothing here checks anything; verify.h does, and a module that it
// accepts may be executed without further checks of its form.

#ifndef POOT_KIR_KIR_H
#define POOT_KIR_KIR_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poot::kir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `Index` stands only where MLIR wants it: between an index_cast and a dynamic
/// position in a vector. It holds 64 bits.
enum class Element : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  Index,
  F16,
  BF16,
  F32,
  F64
};

bool isFloat(Element element);
inline bool isInteger(Element element) { return !isFloat(element); }
/// Bits of a value: 1 for i1, 64 for index.
unsigned bitWidth(Element element);
/// Bytes in memory and in constants: 1 for i1, 8 for index.
unsigned byteSize(Element element);
/// "i32", "bf16", "index".
std::string_view spelling(Element element);

/// A scalar, or a vector of `lanes` of them.
struct Shape {
  Element element = Element::I32;
  uint32_t lanes = 0; ///< 0: a scalar. vector<1xf32> has 1.

  bool isVector() const { return lanes != 0; }
  uint32_t count() const { return lanes ? lanes : 1; }
  uint64_t bytes() const { return uint64_t(count()) * byteSize(element); }
  bool operator==(const Shape &other) const {
    return element == other.element && lanes == other.lanes;
  }
  bool operator!=(const Shape &other) const { return !(*this == other); }
};

/// One leaf of a structure.
struct Leaf {
  Shape shape;
  uint64_t count = 1; ///< Elements of an array; 1 where the leaf is none.
  uint64_t offset = 0;

  bool operator==(const Leaf &other) const {
    return shape == other.shape && count == other.count &&
           offset == other.offset;
  }
};

enum class TypeKind : uint8_t {
  Value,     ///< A scalar or vector.
  Buffer,    ///< buffer<f32, read>, buffer<struct<...>, write>
  Workgroup, ///< workgroup<256xf32>
  Table,     ///< table<16xf32>
  Var,       ///< var<f32>, var<4x8xf32>, var<fragment<...>>
  Fragment,  ///< fragment<16x16xf16, a>
};
enum class Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };
enum class FragmentUse : uint8_t { A, B, Accumulator };

/// A type, or the type of what lies in memory.
struct Type {
  TypeKind kind = TypeKind::Value;
  /// The value itself; the element of the memory where it is no structure and
  /// no fragment; the element (a scalar) of a fragment.
  Shape shape;
  /// Buffer, Workgroup, Table: the leaves where the element is a structure.
  std::vector<Leaf> leaves;
  uint64_t structBytes = 0;     ///< Of the structure; 0 where there is none.
  Access access = Access::Read; ///< Buffer.
  /// Workgroup, Table: one extent. Var: the extents; none for a single value.
  std::vector<uint64_t> extents;
  /// Fragment, or Var of fragments (then `ofFragments`).
  uint32_t rows = 0, columns = 0;
  FragmentUse use = FragmentUse::A;
  bool ofFragments = false;

  bool isValue() const { return kind == TypeKind::Value; }
  bool isStruct() const { return structBytes != 0; }
  /// Product of the extents: elements of a workgroup array, table, variable.
  uint64_t elementCount() const;
  /// Bytes of one element of a buffer, workgroup array or table.
  uint64_t elementBytes() const {
    return isStruct() ? structBytes : shape.bytes();
  }
  bool operator==(const Type &other) const;
  bool operator!=(const Type &other) const { return !(*this == other); }
};

/// As in .kir.json: "vector<4xf32>", "buffer<f32, read>",
/// "struct<16: f32 at 0, f16 x 4 at 8>" as an element.
std::string toString(const Type &type);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// Numbered as in MLIR and in the kernel dialect.
enum class IntPredicate : uint8_t {
  Eq,
  Ne,
  Slt,
  Sle,
  Sgt,
  Sge,
  Ult,
  Ule,
  Ugt,
  Uge
};
enum class FloatPredicate : uint8_t {
  False,
  Oeq,
  Ogt,
  Oge,
  Olt,
  Ole,
  One,
  Ord,
  Ueq,
  Ugt,
  Uge,
  Ult,
  Ule,
  Une,
  Uno,
  True,
};
enum class Rounding : uint8_t {
  ToNearestEven,
  Downward,
  Upward,
  TowardZero,
  ToNearestAway,
};
enum class CombiningKind : uint8_t {
  Add,
  Mul,
  MinUI,
  MinSI,
  MinNumF,
  MaxUI,
  MaxSI,
  MaxNumF,
  And,
  Or,
  Xor,
  MinimumF,
  MaximumF,
};
enum class AtomicKind : uint8_t {
  Add,
  Min,
  Max,
  UMin,
  UMax,
  And,
  Or,
  Xor,
  Exchange
};
enum class Order : uint8_t { Relaxed, Acquire, Release, AcqRel };
enum class Scope : uint8_t { Subgroup, Workgroup, Device };
enum class ReduceKind : uint8_t { Add, Mul, Min, Max, UMin, UMax };
enum class ScanKind : uint8_t { Inclusive, Exclusive };
enum class ShuffleKind : uint8_t { Idx, Xor, Up, Down };
enum class Dim : uint8_t { X, Y, Z };
enum class Layout : uint8_t { Row, Column };
enum class Unroll : uint8_t { None, Full, Count };

/// Bits of AttributeKey::FastMath and ::Overflow.
enum FastMathBit : uint32_t {
  Reassoc = 1,
  NoNaN = 2,
  NoInf = 4,
  NoSignedZero = 8,
  AllowReciprocal = 16,
  Contract = 32,
  ApproxFunc = 64,
};
enum OverflowBit : uint32_t { NoSignedWrap = 1, NoUnsignedWrap = 2 };

enum class AttributeKey : uint8_t {
  Value,        ///< Constant
  Overflow,     ///< Mask of OverflowBit; absent for none
  FastMath,     ///< Mask of FastMathBit; absent for none
  Exact,        ///< Flag
  IntPredicate, ///< Enumerator, as all down to Unroll
  FloatPredicate,
  Rounding,
  CombiningKind,
  AtomicKind,
  Order,
  Scope,
  ReduceKind,
  ScanKind,
  ShuffleKind,
  Dim,
  Layout,
  Unroll,
  Leaf,        ///< Number
  Count,       ///< Number
  Offset,      ///< Number
  Position,    ///< Numbers: none or one; kDynamic
  Mask,        ///< Numbers
  Cases,       ///< Numbers, in the type of cf.switch's operand
  Weights,     ///< Numbers
  Name,        ///< Text
  DefaultBody, ///< Text: a hook body of the module
};

/// In Position: the next operand says where.
inline constexpr int64_t kDynamic = INT64_MIN;
inline constexpr uint32_t kMany = UINT32_MAX;

struct Attribute {
  AttributeKey key;
  /// Enumerators, masks, numbers; a flag is present or not.
  int64_t number = 0;
  std::vector<int64_t> numbers;
  std::string text;
  /// Constant: elements one after the other, little-endian, byteSize() each.
  /// Where all elements of a vector or table are equal, there is only one.
  std::vector<uint8_t> data;
};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

enum class Opcode : uint8_t {
#define POOT_KIR_OP(Opcode, ...) Opcode,
#include "poot/kir/ops.def"
};

/// How the types of an operation hang together; verify.cpp says it in code.
enum class TypeRule : uint8_t {
  Constant,
  Register,
  IntSame,
  AddExtended,
  IntCompare,
  FloatSame,
  FloatCompare,
  FloatTest,
  Select,
  IntWiden,
  IntNarrow,
  FloatWiden,
  FloatNarrow,
  FloatToInt,
  IntToFloat,
  Bitcast,
  IndexCast,
  VectorBitcast,
  VectorBroadcast,
  VectorExtract,
  VectorInsert,
  VectorFromElements,
  VectorToElements,
  VectorShuffle,
  VectorInterleave,
  VectorDeinterleave,
  VectorExtractSlice,
  VectorInsertSlice,
  VectorReduction,
  Branch,
  Return,
  Yield,
  Unreachable,
  WorkgroupAlloc,
  Load,
  Store,
  Table,
  AtomicRmw,
  AtomicCas,
  AtomicLoad,
  AtomicStore,
  Nothing,
  Var,
  VarLoad,
  VarStore,
  SpecConstant,
  Hook,
  LoopHint,
  I32,
  SubgroupSame,
  SubgroupLane,
  Vote,
  FragmentFill,
  FragmentLoad,
  FragmentStore,
  FragmentMma,
};

struct AttributeUse {
  AttributeKey key;
  bool required;
};

/// One line of ops.def.
struct OpInfo {
  Opcode opcode;
  std::string_view spelling; ///< "arith.addi"
  uint32_t minOperands, maxOperands, results;
  TypeRule rule;
  std::vector<AttributeUse> attributes;

  bool isTerminator() const;
};
const OpInfo &getInfo(Opcode opcode);
/// Null where KIR has no such op.
const OpInfo *findOp(std::string_view spelling);

using TypeId = uint32_t;     ///< Into Module::types.
using ValueId = uint32_t;    ///< Into Body::values.
using LocationId = uint32_t; ///< Into Module::locations.

struct Successor {
  uint32_t block = 0; ///< Into Body::blocks.
  std::vector<ValueId> arguments;
};

struct Op {
  Opcode opcode = Opcode::KernelBarrier;
  std::vector<ValueId> operands, results;
  std::vector<Attribute> attributes; ///< In the order of ops.def.
  std::vector<Successor> successors; ///< Of terminators.
  LocationId location = 0;

  const Attribute *find(AttributeKey key) const;
  bool has(AttributeKey key) const { return find(key); }
  /// The number, enumerator or mask; `otherwise` where there is none.
  int64_t number(AttributeKey key, int64_t otherwise = 0) const;
  template <class Enum> Enum get(AttributeKey key) const {
    return static_cast<Enum>(number(key));
  }
};

struct Value {
  TypeId type = 0;
  LocationId location = 0; ///< Of a block's argument; else its op's.
};

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Op> ops;
};

/// A control-flow graph. The first block is the entry: its arguments are the
/// function's, and no block branches to it. Values are numbered in the order in
/// which the blocks define them: arguments, then results.
struct Body {
  std::vector<Value> values;
  std::vector<Block> blocks;
};

enum class FunctionKind : uint8_t { Kernel, HookBody };

struct Function {
  FunctionKind kind = FunctionKind::Kernel;
  std::string name;
  LocationId location = 0;
  bool isPrivate = false;
  Body body;

  // Kernel. Arguments are buffers, then metadata (i32 or f32).
  std::array<uint32_t, 3> workgroupSize = {1, 1, 1};
  /// From POOT_ATTRIBUTE, sorted by key.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// Hooks and the bodies that fill them, sorted by hook.
  std::vector<std::pair<std::string, std::string>> fill;

  // HookBody: the types that its kernel.yield has.
  std::vector<TypeId> results;

  const std::vector<ValueId> &arguments() const {
    return body.blocks.front().arguments;
  }
};

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

enum class LocationKind : uint8_t { Unknown, File, Call, Name, Fused };

/// Where an op came from. Parts come before what they are part of.
struct Location {
  LocationKind kind = LocationKind::Unknown;
  std::string text;              ///< File: its name. Name: the name.
  uint32_t line = 0, column = 0; ///< File.
  uint32_t endLine = 0,
           endColumn = 0; ///< File: equal to the start for a point.
  /// Call: the place in the callee, then the place of the call. Name: what is
  /// named. Fused: the parts.
  std::vector<LocationId> parts;

  bool operator==(const Location &other) const;
};

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

struct Module {
  std::vector<Type> types; ///< No two are equal.
  std::vector<Location> locations;
  std::vector<Function> functions;

  const Type &type(const Body &body, ValueId value) const {
    return types[body.values[value].type];
  }
  /// Null where there is none of that name.
  const Function *findKernel(std::string_view name) const;
  const Function *findHookBody(std::string_view name) const;
};

/// A kernel's leading arguments that are buffers.
unsigned countBuffers(const Module &module, const Function &kernel);

/// One step of the path to a place: file position, or the name of a graph op
/// where there is no file.
struct Frame {
  std::string_view file;
  uint32_t line = 0, column = 0;
  std::string_view name;
};
/// The place itself, then the calls that led there, innermost first; at most
/// 64 of them.
std::vector<Frame> callPath(const Module &module, LocationId location);

} // namespace poot::kir

#endif // POOT_KIR_KIR_H
