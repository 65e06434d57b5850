//===- Importer.h - From clang's tree to the kernel dialect -----*- C++ -*-===//
//
// Imports one function. An object of C++ is kept as a tree that mirrors its
// type, whose leaves are places: a private variable with its indices, an
// element of a buffer, of a workgroup array, of a table. So structures, arrays
// and references need no addresses: a reference is bound to a place when it is
// imported, and calls are expanded where they stand.
//
// What can't be imported is reported, and ends the import of this kernel with
// an exception that doesn't leave these files. Statements are imported one by
// one, so that each can report once.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_LIB_IMPORT_IMPORTER_H
#define POOT_LIB_IMPORT_IMPORTER_H

#include "Poot/Dialect/Kernel/Kernel.h"
#include "Poot/Import/Diagnostics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Frontend/CompilerInstance.h"

#include <deque>
#include <map>

namespace poot::import {

/// The annotation KEY on a declaration: its further arguments. Nothing where
/// there is no such annotation.
std::optional<llvm::SmallVector<const clang::Expr *, 4>>
findAnnotation(const clang::Decl *decl, llvm::StringRef key);
/// The text of an argument of an annotation.
llvm::StringRef getText(const clang::Expr *argument);
/// What poot/kernel.h says a class is: "buffer", "workgroup", "fragment".
llvm::StringRef getKernelType(clang::QualType type);

/// Whether clang knows the value of a variable that outlives calls: it is
/// constexpr, or constant with an initializer that clang can compute.
bool isConstant(const clang::VarDecl *variable,
                const clang::ASTContext &context);

/// Thrown after an error has been reported.
struct Failure {};

/// Where an object lies.
struct Object {
  clang::QualType type;

  // A leaf: a place in `memory`, or all of it where indices are missing.
  mlir::Value memory;
  llvm::SmallVector<mlir::Value, 3> indices;
  /// Of an element of a buffer of structures, which leaf, and the extents of
  /// that leaf where it is an array.
  std::optional<uint32_t> leaf;
  llvm::SmallVector<int64_t, 2> extents;
  /// Of a vector, the elements that are meant; or one that is computed.
  llvm::SmallVector<unsigned, 4> swizzle;
  mlir::Value lane;

  /// A pointer: `parts[0]` is the array without its last index, and this the
  /// variable that holds the index.
  bool isPointer = false;
  /// Otherwise bases, then fields.
  std::vector<Object> parts;

  /// A leaf that lies in one of two places: in `choices[0]` where `condition`
  /// holds, else in `choices[1]`. It has the memory of the first.
  mlir::Value condition;
  std::vector<Object> choices;

  /// Of a pointer, that `parts[0]` is one object, which it points to.
  bool pointsToOne = false;

  bool isLeaf() const { return static_cast<bool>(memory); }
  bool isChoice() const { return !choices.empty(); }
};

/// Whether two objects are surely the same place.
bool isSamePlace(const Object &a, const Object &b);

class Importer {
public:
  Importer(clang::CompilerInstance &clang, mlir::ModuleOp module,
           Reporter &reporter);

  /// Imports FUNCTION as a kernel named NAME. False after an error.
  bool importKernel(const clang::FunctionDecl *function, llvm::StringRef name);

private:
  using Block = mlir::Block;
  using Type = mlir::Type;
  using Value = mlir::Value;

  /// A function that is being expanded.
  struct Frame {
    const clang::FunctionDecl *function = nullptr;
    std::map<const clang::ValueDecl *, Object> variables;
    /// Captures of a lambda, by what they capture.
    std::map<const clang::ValueDecl *, Object *> captures;
    Object *self = nullptr;
    Object *capturedThis = nullptr;
    /// Where the result goes; null for none and for a reference.
    Object *result = nullptr;
    bool returnsReference = false;
    bool hasReturned = false;
    std::optional<Object> reference;
    Block *returnBlock = nullptr;
    mlir::Location callLoc;
    explicit Frame(mlir::Location loc) : callLoc(loc) {}
  };
  struct Target {
    Block *onBreak, *onContinue;
  };

  // Reports (Importer.cpp).
  [[noreturn]] void fail(Diagnostic diagnostic, clang::SourceLocation loc,
                         const llvm::Twine &message);
  /// Remembers the place, for errors that come up where none is known.
  mlir::Location getLoc(clang::SourceLocation loc);

  // Types and objects (Objects.cpp).
  Type scalarType(clang::QualType type, clang::SourceLocation loc,
                  bool report = true);
  bool isScalar(clang::QualType type) {
    return static_cast<bool>(scalarType(type, {}, /*report=*/false));
  }
  Type elementType(clang::QualType type, clang::SourceLocation loc);
  Object allocate(clang::QualType type, clang::SourceLocation loc,
                  llvm::SmallVector<int64_t> extents = {});
  Object allocateWorkgroup(clang::QualType type, int64_t count,
                           llvm::ArrayRef<Value> overlays,
                           clang::SourceLocation loc);
  Object elementOf(const Object &handle, clang::QualType type, Value index,
                   clang::SourceLocation loc);
  Object structureElement(Value memory, clang::QualType type, Value index,
                          uint32_t &leaf);
  void flattenStructure(clang::QualType type, int64_t offset,
                        llvm::SmallVectorImpl<Type> &leaves,
                        llvm::SmallVectorImpl<int64_t> &counts,
                        llvm::SmallVectorImpl<int64_t> &offsets,
                        clang::SourceLocation loc);
  const clang::CXXRecordDecl *checkRecord(clang::QualType type,
                                          clang::SourceLocation loc);
  Object field(const Object &object, const clang::FieldDecl *field);
  void addIndex(Object &object, Value index, clang::QualType type);
  Value load(const Object &object, mlir::Location loc);
  void store(Value value, const Object &object, mlir::Location loc);
  void copy(Object &to, const Object &from, clang::SourceLocation loc);
  void forRange(uint64_t from, uint64_t to, clang::SourceLocation loc,
                llvm::function_ref<void(Value)> body);
  void forValues(Value from, Value to, mlir::Location loc,
                 llvm::function_ref<void(Value)> body);
  /// What SIDE gives on the side that CONDITION takes; nothing, or one value.
  Value ifElse(Value condition, mlir::Location loc,
               llvm::function_ref<Value(bool)> side);
  Object choose(Value condition, const Object &first, const Object &second,
                clang::SourceLocation loc);
  Object choose(const clang::AbstractConditionalOperator *expr);
  Object chooseBySides(Value condition, const clang::Expr *onTrue,
                       const clang::Expr *onFalse, clang::SourceLocation loc,
                       llvm::function_ref<Object(const clang::Expr *)> import);
  /// The one array that a leaf lies in.
  Value getMemory(const Object &object, clang::SourceLocation loc);
  void storeConstant(const Object &object, const clang::APValue &value,
                     clang::SourceLocation loc);
  Value constant(Type type, const clang::APValue &value, mlir::Location loc);
  Value zero(Type type, mlir::Location loc);
  Value number(int64_t value, mlir::Location loc, unsigned width = 32);
  void zeroInitialize(const Object &object, clang::SourceLocation loc);
  std::optional<Object> constantTable(const clang::VarDecl *variable,
                                      clang::SourceLocation loc);
  void forEachElement(const Object &object,
                      llvm::function_ref<void(const Object &)> visit,
                      clang::SourceLocation loc);

  // Values (Expressions.cpp).
  Value scalar(const clang::Expr *expr);
  Value castExpr(const clang::CastExpr *expr);
  Value unary(const clang::UnaryOperator *expr);
  Value comparePointers(const clang::BinaryOperator *expr);
  Value binaryExpr(const clang::BinaryOperator *expr);
  Value conditional(const clang::AbstractConditionalOperator *expr);
  Value binary(clang::BinaryOperatorKind kind, Value lhs, Value rhs,
               clang::QualType type, const clang::Expr *expr);
  Value convert(Value value, clang::QualType from, clang::QualType to,
                clang::SourceLocation loc);
  Value toBool(Value value, mlir::Location loc);
  Value toIndex(const clang::Expr *expr);
  Value increment(const clang::UnaryOperator *expr, const Object &object);
  Value vectorOf(const clang::InitListExpr *expr);
  Value shuffled(Value vector, llvm::ArrayRef<unsigned> elements,
                 mlir::Location loc);
  void discard(const clang::Expr *expr);

  // Places (Places.cpp).
  Object place(const clang::Expr *expr);
  Object temporary(const clang::Expr *expr);
  Object *findVariable(const clang::ValueDecl *decl);
  Object thisObject(const clang::Expr *expr);
  Object placeOfName(const clang::DeclRefExpr *expr);
  Object placeOfVariable(const clang::VarDecl *variable,
                         clang::SourceLocation loc);
  Object baseObject(Object object, const clang::CastExpr *cast);
  Object assign(const clang::BinaryOperator *expr);
  Object compoundAssign(const clang::CompoundAssignOperator *expr);
  Object pointer(const clang::Expr *expr);
  Object dereference(const Object &pointer, clang::QualType type);
  void storePointer(Object &to, const Object &from, clang::SourceLocation loc);
  void initialize(Object &object, const clang::Expr *expr);
  void initializeRecord(Object &object, const clang::InitListExpr *list);

  // Calls (Calls.cpp).
  Value call(const clang::CallExpr *expr, Object *destination, Object &place);
  Object expand(const clang::FunctionDecl *function, Object *self,
                llvm::ArrayRef<const clang::Expr *> arguments, Object *result,
                clang::SourceLocation loc, llvm::ArrayRef<Object> objects = {});
  void moveElements(const clang::CallExpr *expr);
  bool holdsBuffers(clang::QualType type);
  Value bitCast(Value value, Type to, mlir::Location loc);
  void construct(Object &object, const clang::CXXConstructExpr *expr);
  Value builtin(llvm::StringRef op, llvm::StringRef detail,
                const clang::CallExpr *expr, Object *destination,
                Object &place);
  Value mathCall(llvm::StringRef op, llvm::ArrayRef<Value> operands,
                 clang::QualType type, const clang::Expr *expr);
  Value hook(llvm::StringRef name, const clang::CallExpr *expr,
             Object *destination, Object &place);
  kernel::HookBodyOp hookBody(llvm::StringRef name,
                              const clang::FunctionDecl *function,
                              mlir::FunctionType type,
                              clang::SourceLocation loc);

  // Statements (Statements.cpp).
  void statement(const clang::Stmt *stmt);
  void statements(const clang::CompoundStmt *stmt);
  void ifStatement(const clang::IfStmt *stmt);
  void switchStatement(const clang::SwitchStmt *stmt);
  void loop(const clang::Expr *condition, const clang::Stmt *body,
            const clang::Expr *increment, bool testsAtEnd,
            clang::SourceLocation loc,
            const clang::Stmt *loopVariable = nullptr,
            const clang::VarDecl *conditionVariable = nullptr);
  void returnStatement(const clang::ReturnStmt *stmt);
  void variable(const clang::VarDecl *decl);

  // Blocks.
  Block *newBlock();
  bool isTerminated() const;
  void branch(Block *to, mlir::Location loc, mlir::ValueRange values = {});
  void startBlock(Block *block) { builder.setInsertionPointToEnd(block); }
  void branchIf(Value condition, Block *then, Block *otherwise,
                mlir::Location loc);
  void finishBody(mlir::Region &body, llvm::function_ref<void()> addEnd);

  // The kernel's interface (Kernels.cpp).
  void bindParameters(const clang::FunctionDecl *function);
  void bindMetadata(const Object &object, const clang::ParmVarDecl *parameter);
  mlir::Location getNamedLoc(const clang::ParmVarDecl *parameter);
  void narrowAccess();

  clang::CompilerInstance &clang;
  clang::ASTContext &ast;
  mlir::ModuleOp module;
  Reporter &reporter;
  mlir::OpBuilder builder;

  kernel::FuncOp func;
  clang::SourceLocation lastPlace;
  /// Calls that were expanded; a kernel of too many would not end.
  unsigned expansions = 0;
  /// The blocks that are being filled, of the kernel or of a hook's body, and
  /// where its variables are declared.
  mlir::Region *region = nullptr;
  Block *entry = nullptr;

  std::vector<Frame *> stack;
  std::vector<Target> targets;
  std::map<const clang::SwitchCase *, Block *> cases;
  std::map<const clang::Expr *, Object> opaque;
  std::map<const clang::VarDecl *, Object> tables;
  std::map<const clang::FunctionDecl *, kernel::HookBodyOp> hookBodies;
  /// Keeps objects that frames point to.
  std::deque<Object> kept;
  Value arrayIndex; // of an array that is copied element by element
  std::optional<std::pair<kernel::Unroll, uint32_t>> loopHint;
};

} // namespace poot::import

#endif // POOT_LIB_IMPORT_IMPORTER_H
