// Matrix products against sums in higher precision.

#include "../lib/matmul.cpp"

#include "library_test.h"

using namespace poot;
using namespace poot::library;
using namespace poot::test;

std::vector<Spec> poot::test::currentSpecs() {
  return {POOT_TEST_SPEC(batches),    POOT_TEST_SPEC(rows),
          POOT_TEST_SPEC(columns),    POOT_TEST_SPEC(depth),
          POOT_TEST_SPEC(block_rows), POOT_TEST_SPEC(block_columns),
          POOT_TEST_SPEC(steps),      POOT_TEST_SPEC(right_transposed),
          POOT_TEST_SPEC(experts)};
}

namespace {

int64_t operations() { return int64_t(batches) * rows * columns * depth; }

/// LEFT times matrices of which AT(batch, row, k, column) gives elements.
template <class Acc, class T, class At>
std::vector<Wanted> product(const std::vector<T> &left, At at) {
  std::vector<Wanted> result;
  for (int32_t b = 0; b < batches; ++b)
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t n = 0; n < columns; ++n) {
        Sum<Acc> sum;
        for (int32_t k = 0; k < depth; ++k)
          sum.add(static_cast<double>(left[(b * rows + r) * depth + k]),
                  static_cast<double>(at(b, r, k, n)));
        result.push_back(sum.wanted());
      }
  return result;
}

int64_t blocks() {
  return int64_t(batches) * divide_up(rows, block_rows) *
         divide_up(columns, block_columns);
}
int64_t tiles() {
  return int64_t(batches) * divide_up(rows, 64) * divide_up(columns, 64);
}

template <class Acc> void testMatmul(const std::string &name) {
  Random random(1);
  sweep({{"batches", batches, 2},
         {"rows", rows, 11},
         {"columns", columns, 13},
         {"depth", depth, 9},
         {"block_rows", block_rows, 2, 1, 8},
         {"block_columns", block_columns, 4, 1, 8},
         {"steps", steps, 2, 1, 4}},
        operations, [&] {
          auto left = random.operands<Acc>(batches * rows * depth, depth);
          auto right = random.operands<Acc>(batches * depth * columns, depth);
          auto wanted = product<Acc>(left, [&](int b, int, int k, int n) {
            return right[(b * depth + k) * columns + n];
          });
          run(invocations(name, blocks()), matmul<Acc>, in(left), in(right),
              out<Acc>(wanted));
        });
}

TEST(Matmul, F32) { testMatmul<float>("matmul_f32"); }
TEST(Matmul, F64) { testMatmul<double>("matmul_f64"); }
TEST(Matmul, I32) { testMatmul<int32_t>("matmul_i32"); }
TEST(Matmul, I64) { testMatmul<int64_t>("matmul_i64"); }

TEST(Matmul, Wide) {
  Random random(2);
  sweep({{"batches", batches, 2},
         {"rows", rows, 11},
         {"columns", columns, 13},
         {"depth", depth, 12, 4},
         {"block_rows", block_rows, 2, 1, 8},
         {"block_columns", block_columns, 4, 1, 8}},
        operations, [&] {
          auto left = random.operands<float>(batches * rows * depth, depth);
          auto right = random.operands<float>(batches * depth * columns, depth);
          auto wanted = product<float>(left, [&](int b, int, int k, int n) {
            return right[(b * columns + n) * depth + k];
          });
          run(invocations("matmul_wide", blocks()), matmul_wide, in<4>(left),
              in<4>(right), out<float>(wanted));
        });
}

/// Some indices are outside of the stack, and count as the nearest inside.
template <class Acc> void testIndexed(const std::string &name) {
  Random random(3);
  batches = 1;
  sweep({{"rows", rows, 11},
         {"columns", columns, 13},
         {"depth", depth, 9},
         {"block_columns", block_columns, 4, 1, 8},
         {"experts", experts, 4}},
        operations, [&] {
          auto left = random.operands<Acc>(rows * depth, depth);
          auto right = random.operands<Acc>(experts * depth * columns, depth);
          std::vector<int32_t> indices(rows);
          for (int32_t &index : indices)
            index = random.integer(-2, experts + 1);
          auto wanted = product<Acc>(left, [&](int, int r, int k, int n) {
            int32_t expert = std::clamp(indices[r], 0, experts - 1);
            return right[(expert * depth + k) * columns + n];
          });
          run(invocations(name,
                          int64_t(rows) * divide_up(columns, block_columns)),
              matmul_indexed<Acc>, in(left), in(right), in(indices),
              out<Acc>(wanted));
        });
}

TEST(Matmul, IndexedF32) { testIndexed<float>("matmul_indexed_f32"); }
TEST(Matmul, IndexedF64) { testIndexed<double>("matmul_indexed_f64"); }
TEST(Matmul, IndexedI32) { testIndexed<int32_t>("matmul_indexed_i32"); }
TEST(Matmul, IndexedI64) { testIndexed<int64_t>("matmul_indexed_i64"); }

TEST(Matmul, Tiled) {
  Random random(4);
  sweep({{"batches", batches, 2},
         {"rows", rows, 11},
         {"columns", columns, 13},
         {"depth", depth, 9}},
        operations, [&] {
          auto left = random.operands<float>(batches * rows * depth, depth);
          auto right = random.operands<float>(batches * depth * columns, depth);
          auto wanted = product<float>(left, [&](int b, int, int k, int n) {
            return right[(b * depth + k) * columns + n];
          });
          run({"matmul_tiled", tiles(), 256}, matmul_tiled, in(left), in(right),
              out<float>(wanted));
        });
}

/// What the loops of an invocation take where fragments are arrays: for each 16
/// steps of the depth they load a lane's rows of the left operand and all of
/// the right one, and multiply.
template <int LANES> int64_t turnsWithoutMatrices() {
  return int64_t(divide_up(depth, 32)) * 2 * (16 * 17 + 2 * 16 / LANES * 17);
}

/// Where the right operand isn't transposed, its innermost extent is that of
/// columns.
template <int LANES> void testFragments() {
  Random random(5);
  for (bool transposed : {false, true}) {
    right_transposed = transposed;
    sweep({{"batches", batches, 2},
           {"rows", rows, 11},
           {"columns", columns, 20, transposed ? 1 : 4},
           {"depth", depth, 36, 4}},
          operations, [&] {
            auto left = random.operands<f16>(batches * rows * depth, depth);
            auto right = random.operands<f16>(batches * depth * columns, depth);
            auto wanted = product<float>(left, [&](int b, int, int k, int n) {
              return transposed ? right[(b * columns + n) * depth + k]
                                : right[(b * depth + k) * columns + n];
            });
            run({"matmul_fragment_" + std::to_string(LANES), tiles(), 128,
                 LANES, 4, turnsWithoutMatrices<LANES>()},
                matmul_fragment<LANES>, in<4>(left), in<4>(right),
                out<float>(wanted));
          });
  }
}

TEST(Matmul, FragmentsOf8Lanes) { testFragments<8>(); }
TEST(Matmul, FragmentsOf32Lanes) { testFragments<32>(); }
TEST(Matmul, FragmentsOf64Lanes) { testFragments<64>(); }

} // namespace
