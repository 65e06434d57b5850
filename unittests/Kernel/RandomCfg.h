//===- RandomCfg.h - Random kernels with arbitrary control flow -----------===//
//
// A random kernel is data: blocks of simple instructions over six variables,
// and terminators with any block as target, so that graphs come out reducible
// and irreducible, with several loop exits, early returns and switches. It can
// be emitted as a kernel.func, and it can be run here, by an interpreter that
// shares nothing with MLIR: that is the reference.
//
// Every run ends: an edge to the same or an earlier block costs fuel, and
// without fuel it leads to the exit.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_UNITTESTS_KERNEL_RANDOMCFG_H
#define POOT_UNITTESTS_KERNEL_RANDOMCFG_H

#include "Poot/Dialect/Kernel/Kernel.h"

#include "mlir/IR/Builders.h"

#include <cstdint>
#include <vector>

namespace poot::test {

class RandomCfg {
public:
  static constexpr unsigned kInvocations = 128; // in workgroups of 64
  static constexpr unsigned kInputs = 64;
  static constexpr unsigned kWordsPerInvocation = 8;

  explicit RandomCfg(uint64_t seed);

  /// Emits @random with the buffers: input (i32, kInputs words, read), output
  /// (i32, kWordsPerInvocation for each invocation, read and written).
  /// With an `unroll` count the head of every loop asks for it.
  kernel::FuncOp emit(mlir::OpBuilder &builder, unsigned unroll = 0) const;

  std::vector<uint32_t> getInput() const;
  /// What the output holds after a run that began with zeros.
  std::vector<uint32_t> run() const;

private:
  static constexpr unsigned kInts = 4, kFloats = 2, kFixed = 3;

  enum class Code {
    // d = a op b
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Min,
    Max,
    UMin,
    // d = a op constant
    Shl,
    UShr,
    Shr,
    Div,
    Rem,
    UDiv,
    // d = a < b ? a : constant
    SelectLess,
    // d = input[a], d = output[a], output[a] = b
    LoadInput,
    LoadOutput,
    Store,
    // d = int(f), f = float(a), then on floats
    ToInt,
    ToFloat,
    FAdd,
    FSub,
    FMul,
    FScale,
    FMin,
    FMax,
    FSelect,
  };
  /// Operands: 0 to 3 are the variables, then the fixed values, then the
  /// constant.
  struct Instruction {
    Code code;
    unsigned destination;
    unsigned a, b;
    int32_t constant;
    float scale;
  };
  enum class Compare { Less, Greater, Equal, NotEqual, ULess, FLess };
  struct Condition {
    Compare compare;
    unsigned a;
    int32_t mask, constant;
  };
  struct Target {
    enum Kind { Block, Exit, OtherExit, Return } kind;
    unsigned block;
  };
  struct Block {
    std::vector<Instruction> instructions;
    enum Kind { Jump, Branch, Switch } kind;
    Condition condition;         // of a branch
    unsigned flag;               // of a switch, & 3
    std::vector<int32_t> cases;  // of a switch
    std::vector<Target> targets; // jump 1, branch 2, switch default first
  };

  struct State;
  struct Emitter;

  std::vector<Block> blocks;
  std::vector<uint32_t> input;
  int32_t fuel;
};

} // namespace poot::test

#endif // POOT_UNITTESTS_KERNEL_RANDOMCFG_H
