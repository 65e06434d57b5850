//===- Pattern.cpp - What a kernel of the user's stands for ---------------===//

#include "Pattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace poot::graph;

namespace poot::planner {

/// Most ops of a pattern. Each commutative one doubles what may have to be
/// tried.
static constexpr unsigned kMostOps = 16;
/// Longest text, since the parser calls itself for each bracket.
static constexpr size_t kMostCharacters = 1000;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
struct NamedPattern {
  StringLiteral name, definition;
};
struct OpName {
  StringRef name;
  unsigned leastOperands, mostOperands;
  bool isRows = false;
};
} // namespace

/// The compositions that models are traced with (lib/Trace/Ops.cpp).
static constexpr NamedPattern kNamedPatterns[] = {
    {"silu", "div(x, add(exp(neg(x)), 1))"},
    {"gelu", "mul(mul(x, 0.5), add(erf(mul(x, 0.7071067811865476)), 1))"},
    {"gelu_tanh", "mul(mul(x, 0.5), add(tanh(mul(add(x, mul(mul(mul(x, x), x), "
                  "0.044715)), 0.7978845608028654)), 1))"},
    {"swiglu", "mul(silu(x), y)"},
};

/// The ops that patterns are made of: element-wise ones by their kind, rows by
/// the op's name.
static ArrayRef<OpName> getOpNames() {
  static const SmallVector<OpName> names = [] {
    SmallVector<OpName> all;
    for (unsigned i = 0; i <= getMaxEnumValForUnaryKind(); ++i)
      if (std::optional<UnaryKind> kind = symbolizeUnaryKind(i))
        all.push_back({stringifyUnaryKind(*kind), 1, 1});
    for (unsigned i = 0; i <= getMaxEnumValForBinaryKind(); ++i)
      if (std::optional<BinaryKind> kind = symbolizeBinaryKind(i))
        all.push_back({stringifyBinaryKind(*kind), 2, 2});
    for (unsigned i = 0; i <= getMaxEnumValForComparePredicate(); ++i)
      if (std::optional<ComparePredicate> kind = symbolizeComparePredicate(i))
        all.push_back({stringifyComparePredicate(*kind), 2, 2});
    all.push_back({"select", 3, 3});
    all.push_back({"softmax", 1, 1, /*isRows=*/true});
    all.push_back({"rms_norm", 1, 2, /*isRows=*/true});
    all.push_back({"layer_norm", 1, 3, /*isRows=*/true});
    return all;
  }();
  return names;
}

static const OpName *findOp(StringRef name) {
  const OpName *found = llvm::find_if(
      getOpNames(), [&](const OpName &op) { return op.name == name; });
  return found == getOpNames().end() ? nullptr : found;
}

static const NamedPattern *findNamed(StringRef name) {
  const NamedPattern *found =
      llvm::find_if(kNamedPatterns, [&](const NamedPattern &pattern) {
        return pattern.name == name;
      });
  return found == std::end(kNamedPatterns) ? nullptr : found;
}

/// The name of `op` in patterns; empty for an op that none has.
static StringRef getPatternName(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case([](UnaryOp o) { return stringifyUnaryKind(o.getKind()); })
      .Case([](BinaryOp o) { return stringifyBinaryKind(o.getKind()); })
      .Case([](CompareOp o) {
        return stringifyComparePredicate(o.getPredicate());
      })
      .Case<SelectOp, SoftmaxOp, RmsNormOp>(
          [](Operation *o) { return o->getName().stripDialect(); })
      .Case([](LayerNormOp o) {
        // Of one operand beside x it must be clear which one it is.
        return o.getBias() && !o.getScale() ? StringRef()
                                            : o->getName().stripDialect();
      })
      .Default([](Operation *) { return StringRef(); });
}

static bool isCommutative(StringRef op) {
  return llvm::is_contained(
      {"add", "mul", "max", "min", "and", "or", "xor", "eq", "ne"}, op);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

class PatternParser {
public:
  PatternParser(StringRef text, Pattern &pattern,
                function_ref<InFlightDiagnostic()> emitError)
      : text(text), rest(text), pattern(pattern), emitError(emitError) {}

  LogicalResult parse();

private:
  using Nodes = SmallVector<unsigned>;

  InFlightDiagnostic error() {
    return emitError() << "can't implement '" << text << "': ";
  }
  InFlightDiagnostic unknownName(StringRef name);
  FailureOr<unsigned> parseExpression();
  FailureOr<unsigned> parseNumber();
  FailureOr<unsigned> operand(StringRef name);
  FailureOr<unsigned> call(StringRef name, Nodes arguments);
  FailureOr<unsigned> expand(const NamedPattern &named, Nodes arguments);
  StringRef takeName() {
    rest = rest.ltrim();
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size()).ltrim();
    return name;
  }
  unsigned append(Pattern::Node node) {
    pattern.nodes.push_back(std::move(node));
    return pattern.nodes.size() - 1;
  }

  StringRef text, rest;
  Pattern &pattern;
  function_ref<InFlightDiagnostic()> emitError;
  /// Operands by their names, numbers by their values: equal ones are one node.
  llvm::StringMap<unsigned> operands;
  /// Within the definition of a named pattern: what its operands stand for.
  /// They come in order.
  std::optional<Nodes> arguments;
};

InFlightDiagnostic PatternParser::unknownName(StringRef name) {
  InFlightDiagnostic diagnostic = error();
  diagnostic << "'" << name << "' is no op or pattern; allowed are ";
  for (const NamedPattern &named : kNamedPatterns)
    diagnostic << named.name << ", ";
  llvm::interleaveComma(getOpNames(), diagnostic,
                        [&](const OpName &op) { diagnostic << op.name; });
  return diagnostic;
}

FailureOr<unsigned> PatternParser::operand(StringRef name) {
  auto [it, isNew] = operands.try_emplace(name);
  if (!isNew)
    return it->second;
  // `expand` counts whether there were enough.
  if (arguments)
    return it->second = (*arguments)[std::min<size_t>(operands.size(),
                                                      arguments->size()) -
                                     1];
  Pattern::Node node{Pattern::Node::Kind::Operand};
  node.operand = pattern.numOperands++;
  return it->second = append(node);
}

FailureOr<unsigned> PatternParser::parseNumber() {
  StringRef number = rest.take_while([](char c) {
    return llvm::isAlnum(c) || c == '.' || c == '-' || c == '+';
  });
  Pattern::Node node{Pattern::Node::Kind::Number};
  if (number.getAsDouble(node.number))
    return error() << "'" << number << "' is no number";
  rest = rest.drop_front(number.size()).ltrim();
  return append(node);
}

FailureOr<unsigned> PatternParser::parseExpression() {
  rest = rest.ltrim();
  if (!rest.empty() && (llvm::isDigit(rest[0]) || rest[0] == '-'))
    return parseNumber();
  StringRef name = takeName();
  if (name.empty())
    return error() << "an op, an operand or a number is missing "
                   << (rest.empty() ? "at the end"
                                    : "before '" + rest.str() + "'");
  if (!rest.consume_front("(")) {
    if (findOp(name) || findNamed(name))
      return error() << "'" << name << "' needs its operands, as in " << name
                     << "(x)";
    return operand(name);
  }
  Nodes children;
  do {
    FailureOr<unsigned> child = parseExpression();
    if (failed(child))
      return failure();
    children.push_back(*child);
  } while (rest.consume_front(","));
  if (!rest.consume_front(")"))
    return error() << "')' is missing "
                   << (rest.empty() ? "at the end"
                                    : "before '" + rest.str() + "'");
  rest = rest.ltrim();
  return call(name, children);
}

FailureOr<unsigned> PatternParser::call(StringRef name, Nodes children) {
  if (const NamedPattern *named = findNamed(name))
    return expand(*named, children);
  const OpName *op = findOp(name);
  if (!op)
    return unknownName(name);
  if (children.size() < op->leastOperands ||
      children.size() > op->mostOperands) {
    InFlightDiagnostic diagnostic = error();
    diagnostic << "'" << name << "' takes " << op->leastOperands;
    if (op->mostOperands != op->leastOperands)
      diagnostic << " to " << op->mostOperands;
    return diagnostic << (op->mostOperands == 1 ? " operand" : " operands")
                      << ", not " << children.size();
  }
  Pattern::Node node{Pattern::Node::Kind::Op};
  node.op = op->name;
  node.children = std::move(children);
  return append(std::move(node));
}

FailureOr<unsigned> PatternParser::expand(const NamedPattern &named,
                                          Nodes children) {
  PatternParser inner(named.definition, pattern, emitError);
  inner.arguments = std::move(children);
  FailureOr<unsigned> root = inner.parseExpression();
  if (failed(root))
    return failure();
  if (inner.operands.size() != inner.arguments->size())
    return error() << "'" << named.name << "' takes " << inner.operands.size()
                   << " operands, not " << inner.arguments->size();
  return root;
}

LogicalResult PatternParser::parse() {
  if (text.size() > kMostCharacters)
    return emitError() << "implements a pattern of " << text.size()
                       << " characters; a pattern has at most "
                       << kMostCharacters;
  // A name alone stands for the op or pattern on operands of its own.
  StringRef name = text.trim();
  FailureOr<unsigned> root = failure();
  if (llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; })) {
    if (const NamedPattern *named = findNamed(name)) {
      rest = named->definition;
      root = parseExpression();
    } else if (const OpName *op = findOp(name)) {
      rest = "";
      Nodes own;
      for (unsigned i = 0; i < op->mostOperands; ++i)
        own.push_back(*operand(std::to_string(i)));
      root = call(name, own);
    } else {
      return unknownName(name);
    }
  } else {
    root = parseExpression();
  }
  if (failed(root))
    return failure();
  if (!rest.empty())
    return error() << "'" << rest << "' is left behind the expression";
  if (pattern.nodes.back().kind != Pattern::Node::Kind::Op ||
      pattern.numOperands == 0)
    return error() << "a pattern is an op with at least one operand";
  if (pattern.getNumOps() > kMostOps)
    return error() << "it has " << pattern.getNumOps()
                   << " ops; a pattern has at most " << kMostOps;
  for (const Pattern::Node &node : pattern.nodes)
    if (node.kind == Pattern::Node::Kind::Op && findOp(node.op)->isRows &&
        (pattern.getNumOps() > 1 ||
         pattern.numOperands != node.children.size()))
      return error() << "'" << node.op
                     << "' is a pattern by itself, on different operands; "
                        "expressions have element-wise ops alone";
  return success();
}

FailureOr<Pattern>
Pattern::parse(StringRef text, function_ref<InFlightDiagnostic()> emitError) {
  Pattern pattern;
  if (failed(PatternParser(text, pattern, emitError).parse()))
    return failure();
  return pattern;
}

//===----------------------------------------------------------------------===//
// The pattern
//===----------------------------------------------------------------------===//

unsigned Pattern::getNumOps() const {
  return llvm::count_if(
      nodes, [](const Node &node) { return node.kind == Node::Kind::Op; });
}

bool Pattern::isRows() const { return findOp(nodes.back().op)->isRows; }

void Pattern::print(unsigned at, llvm::raw_ostream &os) const {
  const Node &node = nodes[at];
  switch (node.kind) {
  case Node::Kind::Operand:
    os << "x" << node.operand;
    return;
  case Node::Kind::Number:
    os << llvm::format("%.17g", node.number);
    return;
  case Node::Kind::Op:
    os << node.op << "(";
    llvm::interleaveComma(node.children, os,
                          [&](unsigned child) { print(child, os); });
    os << ")";
    return;
  }
}

std::string Pattern::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(nodes.size() - 1, os);
  return text;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Whether all elements of `value` are a literal: `number`, rounded to their
/// type.
static bool isNumber(Value value, double number) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat())
    return false;
  if (auto type = dyn_cast<FloatType>(elements.getElementType())) {
    APFloat rounded(number);
    bool loses;
    rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &loses);
    return elements.getSplatValue<APFloat>().bitwiseIsEqual(rounded);
  }
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue()) ==
         number;
}

/// Whether each goal's node is its value, with what is bound already. Operands
/// of commutative ops are tried both ways.
bool Pattern::solve(SmallVector<Goal> goals,
                    SmallVectorImpl<Value> &bound) const {
  if (goals.empty())
    return true;
  auto [at, value] = goals.pop_back_val();
  const Node &node = nodes[at];
  if (bound[at])
    return bound[at] == value && solve(std::move(goals), bound);
  SmallVector<Value> next(bound.begin(), bound.end());
  next[at] = value;
  auto accept = [&](SmallVector<Goal> left, SmallVector<Value> trial) {
    if (!solve(std::move(left), trial))
      return false;
    bound.assign(trial);
    return true;
  };
  switch (node.kind) {
  case Node::Kind::Operand:
    return accept(std::move(goals), std::move(next));
  case Node::Kind::Number:
    return isNumber(value, node.number) &&
           accept(std::move(goals), std::move(next));
  case Node::Kind::Op: {
    Operation *op = value.getDefiningOp();
    if (!op || getPatternName(op) != node.op ||
        op->getNumOperands() != node.children.size())
      return false;
    auto tryOrder = [&](bool swapped) {
      SmallVector<Goal> left(goals);
      for (auto [i, child] : llvm::enumerate(node.children))
        left.push_back({child, op->getOperand(swapped ? 1 - i : i)});
      return accept(std::move(left), next);
    };
    return tryOrder(false) || (isCommutative(node.op) && tryOrder(true));
  }
  }
  llvm_unreachable("every kind has its case");
}

std::optional<Pattern::Match> Pattern::match(Operation *root) const {
  SmallVector<Value> bound(nodes.size());
  unsigned last = nodes.size() - 1;
  if (getPatternName(root) != nodes[last].op ||
      !solve({{last, root->getResult(0)}}, bound))
    return std::nullopt;
  Match match;
  match.operands.resize(numOperands);
  for (auto [node, value] : llvm::zip_equal(nodes, bound)) {
    if (node.kind == Node::Kind::Operand)
      match.operands[node.operand] = value;
    if (node.kind == Node::Kind::Op &&
        !llvm::is_contained(match.ops, value.getDefiningOp()))
      match.ops.push_back(value.getDefiningOp());
  }
  llvm::sort(match.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : match.ops)
    if (op != root && llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !llvm::is_contained(match.ops, user);
        }))
      return std::nullopt;
  for (Value operand : match.operands)
    if (llvm::is_contained(match.ops, operand.getDefiningOp()))
      return std::nullopt;
  return match;
}

} // namespace poot::planner
