//===- PatternTest.cpp - Named patterns are what models are traced with ---===//

#include "Pattern.h"
#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Trace/Builder.h"
#include "Poot/Trace/Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <functional>

using namespace poot;
using namespace poot::trace;

namespace {

/// Traces RECORD on two slots as models are traced, and canonicalizes it as the
/// compiler does before it looks for patterns. Gives the pattern's matches.
std::vector<planner::Pattern::Match>
findPattern(llvm::StringRef name, ElementType element,
            const std::function<Traced(Builder &, Traced, Traced)> &record) {
  mlir::MLIRContext context;
  auto loc = mlir::UnknownLoc::get(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  Builder b(*module);
  b.beginEntry("entry");
  Traced x = b.input("x", {element, {2, 8}}), y = b.input("y", x.type());
  b.output("z", record(b, x, y));
  b.endEntry();
  EXPECT_FALSE(b.error()) << b.error()->toString();
  mlir::PassManager passes(&context);
  graph::buildCompositesPipeline(passes);
  EXPECT_TRUE(succeeded(passes.run(*module)));

  auto pattern =
      planner::Pattern::parse(name, [&] { return mlir::emitError(loc); });
  EXPECT_TRUE(succeeded(pattern));
  std::vector<planner::Pattern::Match> matches;
  if (succeeded(pattern))
    module->walk([&](mlir::Operation *op) {
      if (auto match = pattern->match(op))
        matches.push_back(*match);
    });
  return matches;
}

struct Named {
  const char *name;
  std::function<Traced(Builder &, Traced, Traced)> record;
  /// Of the match.
  size_t operands, ops;
};

TEST(Pattern, NamesWhatModelsAreTracedWith) {
  const Named all[] = {
      {"silu", [](Builder &b, Traced x, Traced) { return silu(b, x); }, 1, 4},
      {"gelu", [](Builder &b, Traced x, Traced) { return gelu(b, x, false); },
       1, 5},
      {"gelu_tanh",
       [](Builder &b, Traced x, Traced) { return gelu(b, x, true); }, 1, 9},
      {"swiglu", [](Builder &b, Traced x, Traced y) { return swiglu(b, x, y); },
       2, 5},
  };
  for (const Named &named : all) {
    SCOPED_TRACE(named.name);
    auto matches = findPattern(named.name, ElementType::F32, named.record);
    ASSERT_EQ(matches.size(), 1u);
    EXPECT_EQ(matches[0].operands.size(), named.operands);
    EXPECT_EQ(matches[0].ops.size(), named.ops);
  }
}

TEST(Pattern, HalfTypesAreCastAround) {
  auto matches =
      findPattern("silu", ElementType::F16,
                  [](Builder &b, Traced x, Traced) { return silu(b, x); });
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].ops.size(), 4u);
}

} // namespace
