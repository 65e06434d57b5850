//===- Passes.td - Passes over kernels ------------------------------------===//

#ifndef POOT_DIALECT_KERNEL_PASSES_TD
#define POOT_DIALECT_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelCheck : Pass<"kernel-check", "::poot::kernel::FuncOp"> {
  let summary = "finds barriers, indices and arrays that are wrong";
  let description = [{
    Nothing is changed. For kernels that are control-flow graphs, with their
    variables made values and their hooks filled; pootc runs the same checks.

    | name | | what |
    |---|---|---|
    | `divergent-barrier` | error | some invocations of a workgroup, known from their numbers, come to a barrier, and the others of them don't |
    | `maybe-divergent-barrier` | warning | whether an invocation comes to a barrier depends on a value that may differ within the workgroup |
    | `index-range` | error | all that an index can be, by the ranges of what it is computed from, is outside of its array |
    | `workgroup-limit` | warning | workgroup arrays take more bytes than the limit |

    A value differs within a workgroup if it comes from the number of an
    invocation, from memory read at places that differ, from an atomic or a
    subgroup operation, or from a branch or loop that such a value decides.
    What all invocations read at one place is one value. So a branch that a
    parameter, the number of the workgroup, or an element that all of them read
    decides gives no warning.
  }];
  let options = [
    Option<"workgroupLimit", "workgroup-limit", "int64_t",
           "32768",
           "bytes that workgroup arrays may take in sum">];
}

def KernelExpandMath : Pass<"kernel-expand-math", "::poot::kernel::FuncOp"> {
  let summary = "writes out the mathematics that GPU instruction sets lack";
  let description = [{
    After this pass a kernel computes with f32 transcendental operations that
    every target has (exp, exp2, log, log2, sqrt, rsqrt, ...), with integer
    operations and with comparisons. What is expanded, and how far the result
    may be from the exact one in units in the last place (f32), measured against
    double precision with correctly rounded arithmetic:

    | operation | method | ulp |
    |---|---|---|
    | erf | polynomial below 1, else 1 - erfc | 2 |
    | erfc | polynomials, exp(-x²) with a compensated square | 4 |
    | expm1 | polynomial below ln 2 / 2, else exp with split ln 2 | 2 |
    | log1p | polynomial after reduction to [√½, √2), compensated | 2 |
    | tanh | through expm1 | 3 |
    | cbrt | bit estimate and three Newton steps | 1 |
    | sin, cos | exact reduction by π/2 for every argument, polynomials | 2 |
    | tan | sin / cos | 4 |
    | atan, atan2 | polynomial on [0, 1] | 3 |
    | pow | exp2 and log2 in extended precision, special cases of C99 | 4 |

    Exact ones: trunc, round, copysign, ceildivsi, ceildivui, floordivsi, remsi,
    ctpop, ctlz and cttz (through i32 for other widths), clampf, isfinite,
    isnormal.

    Transcendental operations on f16 and bf16 are computed in f32, and so is
    every operation on bf16; conversions from and to bf16 become integer
    operations. A NaN operand gives NaN.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def KernelPropagateConstants : Pass<"kernel-propagate-constants"> {
  let summary = "constants through branches and around loops";
  let description = [{
    As upstream's sccp, which is wrong around loops where a fold gives a value
    that the operation doesn't read: the element that a vector was made of, or
    `a` for `(a + b) - b`. What holds in a loop's first iteration was taken to
    hold in all.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def KernelSimplify : Pass<"kernel-simplify"> {
  let summary = "canonicalizes a control-flow graph";
  let description = [{
    Every canonicalization of the dialects in use but those of `cf.br`, whose
    merging of blocks while values fold need not end where a fold has cut a loop
    off. Between rounds, branches on constants are decided, blocks that nothing
    reaches are removed, and blocks that follow each other are merged. Blocks
    that are alike aren't merged: two branches may hold a barrier each.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

def KernelFillHooks : Pass<"kernel-fill-hooks", "::mlir::ModuleOp"> {
  let summary = "replaces the hooks of kernels by bodies";
  let description = [{
    A kernel names in its attribute `kernel.fill` which `kernel.hook_body` fills
    which hook; all others, and those that bodies call, get their default. What
    a body takes beyond the hook's operands is appended to the kernel's buffers
    and metadata. No hook and no body is left.

    ```mlir
    kernel.func @matmul(...) attributes {
      kernel.fill = {epilogue = @silu_mul}, ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

def KernelSpecialize : Pass<"kernel-specialize", "::poot::kernel::FuncOp"> {
  let summary = "replaces specialization constants by numbers";
  let options = [
    ListOption<"values", "values", "std::string",
               "numbers, as in head_dim=64,scale=0.125">,
    Option<"defaults", "defaults", "bool", "false",
           "give the constants that aren't named their defaults">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def KernelUnrollLoops : Pass<"kernel-unroll-loops", "::poot::kernel::FuncOp"> {
  let summary = "writes out loops of a known trip count";
  let description = [{
    A loop whose `kernel.loop_hint` is `unroll_full`, or `unroll` by at least
    its trip count, is written out if it has at most 4096 trips and comes to at
    most 32768 operations; where it isn't, a remark at the hint says why. A loop
    without hint that holds no other is written out up to 16 trips and 192
    operations, so that small arrays that it indexes become values. Any other
    `unroll` is left to the target, and `nounroll` is obeyed.

    The trip count is what constant folding finds; exits that depend on data
    may come beside it. Each iteration keeps its branches, so the invocations
    that execute a barrier or subgroup operation together are the same as
    before.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::ub::UBDialect"];
}

def KernelExpandFragments
    : Pass<"kernel-expand-fragments", "::poot::kernel::FuncOp"> {
  let summary = "writes out the products that a target has no unit for";
  let description = [{
    Takes a control-flow graph. Where `products` has every product of the
    kernel, its fragments stay, and become variables where they live beyond a
    block. Otherwise they become arrays of the invocations: each lane of a
    subgroup holds every n-th row of `a` and of the sum, and all of `b`. This
    is right for subgroups of any size; all invocations that start together in a
    subgroup must execute the kernel's fragment operations together.

    Products and sums are those of the accumulator's type, in ascending order.
  }];
  let options = [
    ListOption<"products", "products", "std::string",
               "what the target has, as in 16x16x16:f16:f32 (rows, columns and "
               "inner extent, operands, sum)">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def KernelSplitVectors
    : Pass<"kernel-split-vectors", "::poot::kernel::FuncOp"> {
  let summary = "makes vectors of 2 to 4 elements of longer ones";
  let description = [{
    Takes a control-flow graph. A vector of more than four elements becomes
    several, and one of a single element becomes that element: in arithmetic,
    conversions, block arguments and variables.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::ub::UBDialect",
                           "::mlir::vector::VectorDialect"];
}

def KernelStructurize : Pass<"kernel-structurize", "::poot::kernel::FuncOp"> {
  let summary = "lifts the control-flow graph to scf.if and scf.while";
  let description = [{
    Any graph is accepted: several loop exits, early returns, switches and
    irreducible loops. Afterwards the body is one block; loops are scf.while
    that test at their end. A switch is a chain of scf.if. A value that is
    undefined on some path is zero there.

    Memory is named by an argument or a workgroup_alloc: a branch or select
    between two buffers is an error, reported where the memory is accessed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect"];
}

def KernelRotateLoops : Pass<"kernel-rotate-loops", "::poot::kernel::FuncOp"> {
  let summary = "makes every loop test at its head";
  let description = [{
    An scf.while whose first region does more than compute its condition, or
    computes what the loop results in, becomes one that carries condition and
    results and tests them first:

        do { r = f(x); c = g(x) } while (c)
        → c = true; while (c) { r = f(x); c = g(x) }

    The last structural step before SPIR-V. Drivers that run lanes together
    crash on other forms or lose what lanes that left early had computed:
    lavapipe of Mesa 22 where a loop tests at its end, SwiftShader where the
    head computes a result.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // POOT_DIALECT_KERNEL_PASSES_TD
