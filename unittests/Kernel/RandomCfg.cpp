//===- RandomCfg.cpp - Random kernels with arbitrary control flow ---------===//

#include "RandomCfg.h"

#include "Poot/Dialect/Kernel/KernelBuilder.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace poot;
using namespace poot::test;
using poot::kernel::KernelBuilder;
using poot::kernel::KValue;

// Floats stay within this: no infinity arises, and conversions are defined. Nor
// do they become subnormal, which devices may flush to zero: a factor is at
// least 1, and a product of variables gets a constant added.
static constexpr float kLargest = 65536.0f;

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

RandomCfg::RandomCfg(uint64_t seed) {
  std::mt19937_64 engine(seed);
  // Not std::uniform_int_distribution, whose results differ between libraries.
  auto below = [&](unsigned bound) {
    return static_cast<unsigned>(engine() % bound);
  };
  auto chance = [&](unsigned percent) { return below(100) < percent; };
  auto between = [&](int low, int high) {
    return low + static_cast<int>(below(high - low + 1));
  };

  for (unsigned i = 0; i != kInputs; ++i)
    input.push_back(chance(30) ? static_cast<uint32_t>(engine())
                               : static_cast<uint32_t>(between(-50, 50)));
  fuel = between(4, 40);

  unsigned numBlocks = between(2, 10);
  auto randomTarget = [&]() -> Target {
    if (chance(12))
      return {Target::Exit, 0};
    if (chance(6))
      return {Target::OtherExit, 0};
    if (chance(6))
      return {Target::Return, 0};
    return {Target::Block, below(numBlocks)};
  };
  auto randomInstruction = [&] {
    Instruction instruction;
    instruction.code =
        static_cast<Code>(below(static_cast<unsigned>(Code::FSelect) + 1));
    bool isFloat = instruction.code >= Code::ToFloat;
    instruction.destination = below(isFloat ? kFloats : kInts);
    bool readsFloat =
        instruction.code == Code::ToInt || instruction.code > Code::ToFloat;
    instruction.a = below(readsFloat ? kFloats : kInts + kFixed);
    instruction.b = below(readsFloat ? kFloats : kInts + kFixed + 1);
    instruction.constant = between(-20, 20);
    switch (instruction.code) {
    case Code::Shl:
    case Code::UShr:
    case Code::Shr:
      instruction.constant = between(0, 31);
      break;
    case Code::Div:
    case Code::Rem:
    case Code::UDiv:
      instruction.constant = between(1, 20);
      break;
    default:
      break;
    }
    static const float scales[] = {1.5f, -2.0f, 1.25f, -1.25f, 3.0f, -1.0f};
    instruction.scale = scales[below(6)];
    return instruction;
  };

  for (unsigned i = 0; i != numBlocks; ++i) {
    Block block;
    unsigned numInstructions = between(0, 4);
    for (unsigned j = 0; j != numInstructions; ++j)
      block.instructions.push_back(randomInstruction());
    block.condition.compare = static_cast<Compare>(below(6));
    block.condition.a = below(kInts + kFixed);
    static const int32_t masks[] = {1, 3, 7, 63, -1};
    block.condition.mask = masks[below(5)];
    block.condition.constant =
        block.condition.mask < 0
            ? between(-20, 20)
            : static_cast<int32_t>(below(block.condition.mask + 1));
    block.flag = below(kInts + kFixed);
    unsigned kind = below(100);
    unsigned numTargets = 1;
    block.kind = Block::Jump;
    if (kind >= 15) {
      block.kind = Block::Branch;
      numTargets = 2;
    }
    if (kind >= 85) {
      block.kind = Block::Switch;
      for (int32_t value = 0; value != 4; ++value)
        if (chance(60))
          block.cases.push_back(value);
      numTargets = 1 + block.cases.size();
    }
    for (unsigned j = 0; j != numTargets; ++j)
      block.targets.push_back(randomTarget());
    blocks.push_back(std::move(block));
  }
}

std::vector<uint32_t> RandomCfg::getInput() const { return input; }

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

struct RandomCfg::State {
  uint32_t ints[kInts + kFixed];
  float floats[kFloats];
};

static float bound(float x) {
  return std::min(std::max(x, -kLargest), kLargest);
}

static int32_t asSigned(uint32_t x) { return static_cast<int32_t>(x); }

/// Arithmetic that C++ leaves undefined or to the implementation is written in
/// unsigned numbers.
static uint32_t shiftRight(uint32_t x, unsigned by) {
  uint64_t extended = asSigned(x) < 0 ? 0xffffffff00000000u | x : x;
  return static_cast<uint32_t>(extended >> by);
}

std::vector<uint32_t> RandomCfg::run() const {
  std::vector<uint32_t> output(kInvocations * kWordsPerInvocation, 0);
  for (unsigned lane = 0; lane != kInvocations; ++lane) {
    uint32_t *own = &output[lane * kWordsPerInvocation];
    State s;
    uint32_t x = input[lane % kInputs];
    uint32_t y = input[(lane * 7 + 3) % kInputs];
    s.ints[0] = x;
    s.ints[1] = y;
    s.ints[2] = lane;
    s.ints[3] = 1;
    s.ints[kInts] = lane;
    s.ints[kInts + 1] = x;
    s.ints[kInts + 2] = y;
    s.floats[0] = static_cast<float>(asSigned(x & 255));
    s.floats[1] = 0.5f;
    int32_t left = fuel;
    Target at = {Target::Block, 0};
    while (at.kind == Target::Block) {
      const Block &block = blocks[at.block];
      for (const Instruction &i : block.instructions) {
        bool readsFloat = i.code == Code::ToInt || i.code > Code::ToFloat;
        uint32_t a = readsFloat ? 0 : s.ints[i.a];
        uint32_t b = readsFloat              ? 0
                     : i.b == kInts + kFixed ? static_cast<uint32_t>(i.constant)
                                             : s.ints[i.b];
        float f = readsFloat ? s.floats[i.a] : 0;
        float g = readsFloat ? s.floats[i.b] : 0;
        uint32_t &d = s.ints[i.destination];
        float &e = s.floats[i.destination % kFloats];
        switch (i.code) {
        case Code::Add:
          d = a + b;
          break;
        case Code::Sub:
          d = a - b;
          break;
        case Code::Mul:
          d = a * b;
          break;
        case Code::And:
          d = a & b;
          break;
        case Code::Or:
          d = a | b;
          break;
        case Code::Xor:
          d = a ^ b;
          break;
        case Code::Min:
          d = asSigned(a) < asSigned(b) ? a : b;
          break;
        case Code::Max:
          d = asSigned(a) > asSigned(b) ? a : b;
          break;
        case Code::UMin:
          d = a < b ? a : b;
          break;
        case Code::Shl:
          d = a << i.constant;
          break;
        case Code::UShr:
          d = a >> i.constant;
          break;
        case Code::Shr:
          d = shiftRight(a, i.constant);
          break;
        case Code::Div:
          d = asSigned(a) / i.constant;
          break;
        case Code::Rem:
          d = asSigned(a) % i.constant;
          break;
        case Code::UDiv:
          d = a / static_cast<uint32_t>(i.constant);
          break;
        case Code::SelectLess:
          d = asSigned(a) < asSigned(b) ? a : i.constant;
          break;
        case Code::LoadInput:
          d = input[a % kInputs];
          break;
        case Code::LoadOutput:
          d = own[a % kWordsPerInvocation];
          break;
        case Code::Store:
          own[a % kWordsPerInvocation] = b;
          break;
        case Code::ToInt:
          d = static_cast<uint32_t>(static_cast<int32_t>(f));
          break;
        case Code::ToFloat:
          e = static_cast<float>(asSigned(a & 255));
          break;
        case Code::FAdd:
          e = bound(f + g);
          break;
        case Code::FSub:
          e = bound(f - g);
          break;
        case Code::FMul:
          e = bound(f * g) + i.scale;
          break;
        case Code::FScale:
          e = bound(f * i.scale);
          break;
        case Code::FMin:
          e = std::min(f, g);
          break;
        case Code::FMax:
          e = std::max(f, g);
          break;
        case Code::FSelect:
          e = f < g ? f : i.scale;
          break;
        }
      }
      unsigned taken = 0;
      if (block.kind == Block::Branch) {
        const Condition &c = block.condition;
        uint32_t masked = s.ints[c.a] & static_cast<uint32_t>(c.mask);
        bool holds = false;
        switch (c.compare) {
        case Compare::Less:
          holds = asSigned(masked) < c.constant;
          break;
        case Compare::Greater:
          holds = asSigned(masked) > c.constant;
          break;
        case Compare::Equal:
          holds = asSigned(masked) == c.constant;
          break;
        case Compare::NotEqual:
          holds = asSigned(masked) != c.constant;
          break;
        case Compare::ULess:
          holds = masked < static_cast<uint32_t>(c.constant);
          break;
        case Compare::FLess:
          holds = s.floats[0] < s.floats[1];
          break;
        }
        taken = holds ? 0 : 1;
      } else if (block.kind == Block::Switch) {
        int32_t flag = asSigned(s.ints[block.flag] & 3);
        auto found = std::find(block.cases.begin(), block.cases.end(), flag);
        if (found != block.cases.end())
          taken = 1 + (found - block.cases.begin());
      }
      Target next = block.targets[taken];
      if (next.kind == Target::Block && next.block <= at.block && --left <= 0)
        next = {Target::Exit, 0};
      at = next;
    }
    if (at.kind == Target::Return)
      continue;
    uint32_t hash = at.kind == Target::Exit ? own[0] : 77;
    for (unsigned i = 0; i != kInts; ++i)
      hash = hash * 31 + s.ints[i];
    for (float f : s.floats)
      hash = hash * 31 + static_cast<uint32_t>(static_cast<int32_t>(f * 8.0f));
    own[0] = hash;
  }
  return output;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

struct RandomCfg::Emitter {
  Emitter(const RandomCfg &cfg, mlir::OpBuilder &builder, unsigned unroll)
      : cfg(cfg), unroll(unroll),
        k(builder, builder.getUnknownLoc(), "random", {64, 1, 1}) {}

  const RandomCfg &cfg;
  unsigned unroll;
  KernelBuilder k;
  KValue input, output, base;
  KValue fixed[kFixed];
  // Each takes all variables and the fuel.
  std::vector<mlir::Block *> blocks;
  mlir::Block *exits[2], *returnBlock;

  struct Variables {
    KValue ints[kInts], floats[kFloats], fuel;
    llvm::SmallVector<mlir::Value> getValues() const {
      llvm::SmallVector<mlir::Value> values(std::begin(ints), std::end(ints));
      values.append(std::begin(floats), std::end(floats));
      values.push_back(fuel);
      return values;
    }
  };

  kernel::FuncOp emit();
  mlir::Block *createBlock();
  Variables enter(mlir::Block *block);
  KValue bound(KValue x) {
    return k.min(k.max(x, k.f32(-kLargest)), k.f32(kLargest));
  }
  KValue own(KValue i) { return base + (i & int64_t(kWordsPerInvocation - 1)); }
  void emitInstruction(const Instruction &i, Variables &v);
  KValue emitCondition(const Condition &c, const Variables &v);
  /// The block that the edge leads to and what it gets; a backward edge goes
  /// through a block that spends the fuel.
  std::pair<mlir::Block *, llvm::SmallVector<mlir::Value>>
  emitEdge(Target target, unsigned from, const Variables &v);
};

kernel::FuncOp RandomCfg::emit(mlir::OpBuilder &builder,
                               unsigned unroll) const {
  return Emitter(*this, builder, unroll).emit();
}

mlir::Block *RandomCfg::Emitter::createBlock() {
  auto *block = new mlir::Block;
  k.getFunc().getBody().push_back(block);
  for (unsigned i = 0; i != kInts; ++i)
    block->addArgument(k.i32Type(), k.getLoc());
  for (unsigned i = 0; i != kFloats; ++i)
    block->addArgument(k.f32Type(), k.getLoc());
  block->addArgument(k.i32Type(), k.getLoc());
  return block;
}

RandomCfg::Emitter::Variables RandomCfg::Emitter::enter(mlir::Block *block) {
  k.getOpBuilder().setInsertionPointToEnd(block);
  Variables v;
  for (unsigned i = 0; i != kInts; ++i)
    v.ints[i] = {k, block->getArgument(i)};
  for (unsigned i = 0; i != kFloats; ++i)
    v.floats[i] = {k, block->getArgument(kInts + i)};
  v.fuel = {k, block->getArgument(kInts + kFloats)};
  return v;
}

void RandomCfg::Emitter::emitInstruction(const Instruction &i, Variables &v) {
  bool readsFloat = i.code == Code::ToInt || i.code > Code::ToFloat;
  auto getInt = [&](unsigned operand) {
    return operand < kInts            ? v.ints[operand]
           : operand < kInts + kFixed ? fixed[operand - kInts]
                                      : k.i32(i.constant);
  };
  KValue a = readsFloat ? v.floats[i.a] : getInt(i.a);
  KValue b = readsFloat ? v.floats[i.b] : getInt(i.b);
  KValue constant = k.i32(i.constant);
  KValue &d = v.ints[i.destination];
  KValue &e = v.floats[i.destination % kFloats];
  switch (i.code) {
  case Code::Add:
    d = a + b;
    break;
  case Code::Sub:
    d = a - b;
    break;
  case Code::Mul:
    d = a * b;
    break;
  case Code::And:
    d = a & b;
    break;
  case Code::Or:
    d = a | b;
    break;
  case Code::Xor:
    d = a ^ b;
    break;
  case Code::Min:
    d = k.min(a, b);
    break;
  case Code::Max:
    d = k.max(a, b);
    break;
  case Code::UMin:
    d = k.umin(a, b);
    break;
  case Code::Shl:
    d = a << constant;
    break;
  case Code::UShr:
    d = k.ushr(a, constant);
    break;
  case Code::Shr:
    d = a >> constant;
    break;
  case Code::Div:
    d = a / constant;
    break;
  case Code::Rem:
    d = a % constant;
    break;
  case Code::UDiv:
    d = k.udiv(a, constant);
    break;
  case Code::SelectLess:
    d = k.select(a < b, a, constant);
    break;
  case Code::LoadInput:
    d = k.load(input, a & int64_t(kInputs - 1));
    break;
  case Code::LoadOutput:
    d = k.load(output, own(a));
    break;
  case Code::Store:
    k.store(output, own(a), b);
    break;
  case Code::ToInt:
    d = k.cast(a, k.i32Type());
    break;
  case Code::ToFloat:
    e = k.cast(a & 255, k.f32Type());
    break;
  case Code::FAdd:
    e = bound(a + b);
    break;
  case Code::FSub:
    e = bound(a - b);
    break;
  case Code::FMul:
    e = bound(a * b) + double(i.scale);
    break;
  case Code::FScale:
    e = bound(a * double(i.scale));
    break;
  case Code::FMin:
    e = k.min(a, b);
    break;
  case Code::FMax:
    e = k.max(a, b);
    break;
  case Code::FSelect:
    e = k.select(a < b, a, k.f32(i.scale));
    break;
  }
}

KValue RandomCfg::Emitter::emitCondition(const Condition &c,
                                         const Variables &v) {
  KValue a = c.a < kInts ? v.ints[c.a] : fixed[c.a - kInts];
  KValue masked = a & int64_t(c.mask);
  switch (c.compare) {
  case Compare::Less:
    return masked < c.constant;
  case Compare::Greater:
    return masked > c.constant;
  case Compare::Equal:
    return masked == c.constant;
  case Compare::NotEqual:
    return masked != c.constant;
  case Compare::ULess:
    return k.ult(masked, k.i32(c.constant));
  case Compare::FLess:
    return v.floats[0] < v.floats[1];
  }
  llvm_unreachable("unknown comparison");
}

std::pair<mlir::Block *, llvm::SmallVector<mlir::Value>>
RandomCfg::Emitter::emitEdge(Target target, unsigned from, const Variables &v) {
  switch (target.kind) {
  case Target::Exit:
    return {exits[0], v.getValues()};
  case Target::OtherExit:
    return {exits[1], v.getValues()};
  case Target::Return:
    return {returnBlock, {}};
  case Target::Block:
    break;
  }
  if (target.block > from)
    return {blocks[target.block], v.getValues()};
  mlir::OpBuilder::InsertionGuard guard(k.getOpBuilder());
  mlir::Block *latch = createBlock();
  Variables inner = enter(latch);
  inner.fuel = inner.fuel - 1;
  KValue goesOn = inner.fuel > 0;
  mlir::cf::CondBranchOp::create(k.getOpBuilder(), k.getLoc(), goesOn,
                                 blocks[target.block], inner.getValues(),
                                 exits[0], inner.getValues());
  return {latch, v.getValues()};
}

kernel::FuncOp RandomCfg::Emitter::emit() {
  using kernel::Access;
  mlir::OpBuilder &b = k.getOpBuilder();
  input = k.addBuffer(k.i32Type(), Access::Read);
  output = k.addBuffer(k.i32Type(), Access::ReadWrite);
  KValue lane = k.globalId(kernel::Dim::X);
  base = lane * int64_t(kWordsPerInvocation);
  fixed[0] = lane;
  fixed[1] = k.load(input, lane & int64_t(kInputs - 1));
  fixed[2] = k.load(input, (lane * 7 + 3) & int64_t(kInputs - 1));
  Variables v;
  v.ints[0] = fixed[1];
  v.ints[1] = fixed[2];
  v.ints[2] = lane;
  v.ints[3] = k.i32(1);
  v.floats[0] = k.cast(fixed[1] & 255, k.f32Type());
  v.floats[1] = k.f32(0.5);
  v.fuel = k.i32(cfg.fuel);
  mlir::Block *entry = b.getInsertionBlock();

  for (size_t i = 0; i != cfg.blocks.size(); ++i)
    blocks.push_back(createBlock());
  for (mlir::Block *&exit : exits)
    exit = createBlock();
  returnBlock = new mlir::Block;
  k.getFunc().getBody().push_back(returnBlock);

  b.setInsertionPointToEnd(entry);
  mlir::cf::BranchOp::create(b, k.getLoc(), blocks[0], v.getValues());

  std::vector<bool> isHead(cfg.blocks.size());
  for (size_t i = 0; i != cfg.blocks.size(); ++i)
    for (Target target : cfg.blocks[i].targets)
      if (target.kind == Target::Block && target.block <= i)
        isHead[target.block] = true;
  for (size_t i = 0; i != cfg.blocks.size(); ++i) {
    const Block &block = cfg.blocks[i];
    v = enter(blocks[i]);
    if (unroll != 0 && isHead[i])
      kernel::LoopHintOp::create(b, k.getLoc(), kernel::Unroll::Count,
                                 b.getI32IntegerAttr(unroll));
    for (const Instruction &instruction : block.instructions)
      emitInstruction(instruction, v);
    llvm::SmallVector<mlir::Block *> successors;
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> operands;
    for (Target target : block.targets) {
      auto [successor, values] = emitEdge(target, i, v);
      successors.push_back(successor);
      operands.push_back(values);
    }
    if (block.kind == Block::Jump) {
      mlir::cf::BranchOp::create(b, k.getLoc(), successors[0], operands[0]);
    } else if (block.kind == Block::Branch) {
      KValue condition = emitCondition(block.condition, v);
      mlir::cf::CondBranchOp::create(b, k.getLoc(), condition, successors[0],
                                     operands[0], successors[1], operands[1]);
    } else {
      KValue flag = (block.flag < kInts ? v.ints[block.flag]
                                        : fixed[block.flag - kInts]) &
                    3;
      llvm::SmallVector<mlir::ValueRange> caseOperands(operands.begin() + 1,
                                                       operands.end());
      mlir::cf::SwitchOp::create(
          b, k.getLoc(), flag, successors[0], operands[0], block.cases,
          mlir::BlockRange(successors).drop_front(), caseOperands);
    }
  }

  for (unsigned i = 0; i != 2; ++i) {
    v = enter(exits[i]);
    KValue hash = i == 0 ? k.load(output, base) : k.i32(77);
    for (KValue x : v.ints)
      hash = hash * 31 + x;
    for (KValue f : v.floats)
      hash = hash * 31 + k.cast(f * 8.0, k.i32Type());
    k.store(output, base, hash);
    kernel::ReturnOp::create(b, k.getLoc());
  }
  b.setInsertionPointToEnd(returnBlock);
  return k.finish();
}
