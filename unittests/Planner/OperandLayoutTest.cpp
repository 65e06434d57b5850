//===- OperandLayoutTest.cpp - Strided views against brute force ----------===//
//
// Chains of random view operations on a layout, each compared element by
// element with an array that holds every element's position.
//
//===----------------------------------------------------------------------===//

#include "Poot/Planner/OperandLayout.h"
#include "Poot/Dialect/Graph/GraphOps.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using namespace poot;
using namespace poot::planner;

namespace {

/// The index of element `linear` in row-major order.
Extents indexOf(int64_t linear, ArrayRef<int64_t> shape) {
  Extents index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = linear % shape[i];
    linear /= shape[i];
  }
  return index;
}

int64_t linearOf(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [i, extent] : llvm::zip(index, shape))
    linear = linear * extent + i;
  return linear;
}

/// The positions of all elements of `layout` in row-major order.
std::vector<int64_t> positionsOf(const OperandLayout &layout) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < layout.count(); ++i) {
    Extents index = indexOf(i, layout.shape);
    int64_t position = layout.offset;
    for (auto [at, stride] : llvm::zip(index, layout.strides))
      position += at * stride;
    positions.push_back(position);
  }
  return positions;
}

class OperandLayoutTest : public testing::Test {
protected:
  OperandLayoutTest() { context.loadDialect<graph::GraphDialect>(); }

  int64_t random(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  Extents randomShape() {
    Extents shape(random(0, 4));
    for (int64_t &extent : shape)
      extent = random(1, 4);
    return shape;
  }

  /// Another way to write as many elements.
  Extents regroup(ArrayRef<int64_t> shape) {
    Extents result;
    for (int64_t extent : shape)
      for (int64_t prime : {2, 3, 5, 7})
        while (extent % prime == 0) {
          extent /= prime;
          if (!result.empty() && random(0, 1))
            result.back() *= prime;
          else
            result.push_back(prime);
        }
    while (random(0, 2) == 0)
      result.insert(result.begin() + random(0, result.size()), 1);
    return result;
  }

  MLIRContext context;
  std::mt19937 engine{1};
};

TEST_F(OperandLayoutTest, ViewsKeepEveryElementsPosition) {
  unsigned reshaped = 0, refused = 0;
  for (int chain = 0; chain < 4000; ++chain) {
    OperandLayout layout = OperandLayout::dense(
        RankedTensorType::get(randomShape(), Float32Type::get(&context)));
    std::vector<int64_t> expected(layout.count());
    std::iota(expected.begin(), expected.end(), 0);
    for (int64_t step = random(1, 5); step > 0; --step) {
      Extents old = layout.shape;
      std::vector<int64_t> next;
      switch (random(0, 3)) {
      case 0: {
        Extents order(old.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), engine);
        layout = layout.transpose(order);
        for (int64_t i = 0; i < layout.count(); ++i) {
          Extents to = indexOf(i, layout.shape), from(old.size());
          for (size_t d = 0; d < order.size(); ++d)
            from[order[d]] = to[d];
          next.push_back(expected[linearOf(from, old)]);
        }
        break;
      }
      case 1: {
        Extents offsets, steps, extents;
        for (int64_t extent : old) {
          offsets.push_back(random(0, extent - 1));
          steps.push_back(random(1, 3));
          extents.push_back(
              random(1, (extent - 1 - offsets.back()) / steps.back() + 1));
        }
        layout = layout.slice(offsets, steps, extents);
        for (int64_t i = 0; i < layout.count(); ++i) {
          Extents from = indexOf(i, layout.shape);
          for (size_t d = 0; d < from.size(); ++d)
            from[d] = offsets[d] + from[d] * steps[d];
          next.push_back(expected[linearOf(from, old)]);
        }
        break;
      }
      case 2: {
        Extents dims, extents;
        for (int64_t extent : old) {
          if (random(0, 3) == 0)
            extents.push_back(random(1, 3));
          dims.push_back(extents.size());
          extents.push_back(extent == 1 ? random(1, 3) : extent);
        }
        layout = layout.broadcast(dims, extents);
        for (int64_t i = 0; i < layout.count(); ++i) {
          Extents to = indexOf(i, layout.shape), from;
          for (size_t d = 0; d < dims.size(); ++d)
            from.push_back(old[d] == 1 ? 0 : to[dims[d]]);
          next.push_back(expected[linearOf(from, old)]);
        }
        break;
      }
      case 3: {
        Extents extents = regroup(old);
        std::optional<OperandLayout> result = layout.reshape(extents);
        next = expected;
        ++reshaped;
        if (!result) {
          ++refused;
          // Right to refuse: a dense layout never is.
          ASSERT_FALSE(layout.isDense());
          break;
        }
        layout = *result;
        ASSERT_EQ(layout.shape, extents);
        break;
      }
      }
      expected = next;
      ASSERT_EQ(positionsOf(layout), expected) << layout.key();
    }
    // Dense means: the elements follow each other.
    bool follows = true;
    for (size_t i = 0; i < expected.size(); ++i)
      follows &= expected[i] == expected[0] + int64_t(i);
    ASSERT_EQ(layout.isDense(), follows) << layout.key();
    int64_t last = *std::max_element(expected.begin(), expected.end());
    ASSERT_EQ(layout.spanBytes(), (last + 1) * 4);
  }
  // Both outcomes occur.
  EXPECT_GT(refused, 100u);
  EXPECT_GT(reshaped - refused, 100u);
}

TEST_F(OperandLayoutTest, CollapsedDimensionsKeepTheOrder) {
  unsigned collapsed = 0;
  for (int round = 0; round < 4000; ++round) {
    Extents shape = randomShape();
    SmallVector<OperandLayout> layouts;
    for (int64_t i = random(1, 3); i > 0; --i) {
      OperandLayout layout = OperandLayout::dense(
          RankedTensorType::get(shape, Float32Type::get(&context)));
      // Some dimensions repeat, some have gaps.
      for (size_t d = 0; d < shape.size(); ++d)
        if (random(0, 3) == 0)
          layout.strides[d] = random(0, 1) ? 0 : layout.strides[d] * 2;
      layout.offset = random(0, 5);
      layouts.push_back(layout);
    }
    SmallVector<OperandLayout> before(layouts);
    collapseDims(layouts);
    collapsed += layouts.front().shape.size() < shape.size();
    for (auto [old, now] : llvm::zip(before, layouts)) {
      ASSERT_EQ(now.shape, layouts.front().shape);
      ASSERT_EQ(positionsOf(now), positionsOf(old)) << old.key();
      ASSERT_FALSE(llvm::is_contained(now.shape, 1));
    }
  }
  EXPECT_GT(collapsed, 100u);
}

TEST_F(OperandLayoutTest, BooleansAreWordsAndPackedRowsAreBytes) {
  Type boolean = RankedTensorType::get({2, 3}, IntegerType::get(&context, 1));
  EXPECT_EQ(deviceBytes(boolean), 24);
  auto packed = graph::PackedType::get(&context, graph::PackedEncoding::Q8_0,
                                       graph::PackedLayout::Gguf, {4, 64});
  EXPECT_EQ(deviceBytes(packed), 4 * 2 * 34);
  OperandLayout layout = OperandLayout::dense(packed);
  // The innermost dimension is always whole.
  EXPECT_EQ(layout.strides, (Extents{68, 0}));
  OperandLayout rows = layout.slice({1, 0}, {1, 1}, {2, 64});
  EXPECT_EQ(rows.offset, 68);
  EXPECT_EQ(rows.spanBytes(), 3 * 68);
  EXPECT_TRUE(rows.isDense());

  auto stack = graph::PackedType::get(&context, graph::PackedEncoding::Q8_0,
                                      graph::PackedLayout::Gguf, {4, 3, 64});
  layout = OperandLayout::dense(stack);
  EXPECT_TRUE(layout.slice({1, 1, 0}, {1, 1, 1}, {1, 2, 64}).isDense());
  EXPECT_FALSE(layout.slice({1, 1, 0}, {1, 1, 1}, {2, 1, 64}).isDense());
}

} // namespace
