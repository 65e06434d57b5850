// Builtins on the CPU: identifiers, barriers, subgroups, atomics, arithmetic of
// half types, and the faults that a launch reports.

#include "poot/host.h"
#include "poot/kernel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace poot;

namespace {

/// Sums each workgroup's part of X in a tree.
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void tree_sum(buffer<const float> x,
                                                        buffer<float> y) {
  workgroup<float, 64> part;
  uint32_t t = local_id();
  part[t] = x[global_id()];
  barrier();
  for (uint32_t half = 32; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    barrier();
  }
  if (t == 0)
    y[workgroup_id()] = part[0];
}

POOT_SPEC inline int32_t factor = 3;
POOT_HOOK("epilogue") inline float epilogue(uint32_t, float v) { return v; }

POOT_KERNEL POOT_WORKGROUP_SIZE(8, 2, 1) void scaled(buffer<float> y) {
  uint32_t i = local_id(x) + local_id(poot::y) * workgroup_size(x);
  y[i] = epilogue(i, static_cast<float>(factor) * static_cast<float>(i));
}

TEST(Host, BarriersOrderWorkItems) {
  std::vector<float> in(256), out(4);
  std::iota(in.begin(), in.end(), 0.0f);
  host::result result = host::launch({4, 1, 1}, {64, 1, 1}, [&] {
    tree_sum({in.data(), in.size()}, {out.data(), out.size()});
  });
  ASSERT_TRUE(result) << result.error;
  for (int g = 0; g < 4; ++g)
    EXPECT_EQ(out[g], std::accumulate(&in[64 * g], &in[64 * g] + 64, 0.0f));
}

TEST(Host, SpecializationConstantsAreVariables) {
  std::vector<float> out(16);
  factor = 5;
  host::result result =
      host::launch({}, {8, 2, 1}, [&] { scaled({out.data(), out.size()}); });
  factor = 3;
  ASSERT_TRUE(result) << result.error;
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], 5.0f * i);
}

TEST(Host, ADivergentBarrierIsReported) {
  host::result ended = host::launch({}, {32, 1, 1}, [] {
    if (local_id() < 3)
      return;
    barrier();
  });
  EXPECT_NE(ended.error.find("divergent barrier"), std::string::npos);
  EXPECT_NE(ended.error.find("host_test.cpp:"), std::string::npos);
  EXPECT_NE(ended.error.find("has ended"), std::string::npos);

  host::result apart = host::launch({}, {32, 1, 1}, [] {
    if (local_id() < 3)
      barrier();
    else
      barrier();
  });
  EXPECT_NE(apart.error.find("divergent barrier"), std::string::npos);
}

TEST(Host, AnIndexOutOfRangeIsReported) {
  std::vector<float> out(4);
  host::result result = host::launch({}, {8, 1, 1}, [&] {
    buffer<float> y(out.data(), out.size());
    y[local_id()] = 1;
  });
  EXPECT_EQ(result.error, "index 4 of a buffer of 4 elements: work-item "
                          "(4, 0, 0) of workgroup (0, 0, 0)");
  result = host::launch({}, {2, 1, 1}, [&] {
    workgroup<int, 2, 3> tile;
    tile(local_id(), 3) = 1;
  });
  EXPECT_EQ(result.error, "index 3 of a workgroup array of 3 elements: "
                          "work-item (0, 0, 0) of workgroup (0, 0, 0)");
}

TEST(Host, SubgroupsOfAnySize) {
  for (uint32_t size : {4u, 8u, 32u}) {
    std::vector<uint32_t> sum(64), before(64), other(64);
    host::options options;
    options.subgroup_size = size;
    host::result result = host::launch(
        {}, {64, 1, 1},
        [&] {
          uint32_t i = local_id();
          sum[i] = subgroup_add(i);
          before[i] = subgroup_exclusive_add(1u);
          other[i] = subgroup_shuffle_xor(i, 1);
          if (i % 2 == 0) // the lanes that come here take part
            sum[i] += 1000 * subgroup_add(1u);
        },
        options);
    ASSERT_TRUE(result) << result.error;
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t first = i / size * size;
      uint32_t expected = size * first + size * (size - 1) / 2;
      EXPECT_EQ(sum[i], expected + (i % 2 == 0 ? 1000 * size / 2 : 0));
      EXPECT_EQ(before[i], i % size);
      EXPECT_EQ(other[i], i ^ 1);
    }
  }
}

TEST(Host, AtomicsGiveTheOldValue) {
  std::vector<uint32_t> count(2), order(32);
  host::result result = host::launch({}, {32, 1, 1}, [&] {
    buffer<uint32_t> c(count.data(), count.size());
    order[local_id()] = atomic_add(c[0], 1);
    atomic_max(c[1], local_id());
  });
  ASSERT_TRUE(result) << result.error;
  EXPECT_EQ(count[0], 32u);
  EXPECT_EQ(count[1], 31u);
  std::sort(order.begin(), order.end());
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(order[i], i);
}

TEST(Host, HalfTypesRoundEachOperation) {
  f16 a = static_cast<f16>(2048.0f), b = static_cast<f16>(1.0f);
  EXPECT_EQ(static_cast<float>(a + b + b), 2048.0f); // not 2050
  bf16 c = static_cast<bf16>(256.0f), d = static_cast<bf16>(1.0f);
  EXPECT_EQ(static_cast<float>(c + d + d), 256.0f); // not 258
  EXPECT_EQ(bit_cast<uint32_t>(1.0f), 0x3f800000u);
  EXPECT_EQ(clz(1u), 31u);
  EXPECT_EQ(ctz(0u), 32u);
}

TEST(Host, AWorkgroupArrayOverAnotherIsAllowed) {
  std::vector<float> out(8);
  host::result result = host::launch({}, {8, 1, 1}, [&] {
    workgroup<uint32_t, 8> first;
    first[local_id()] = local_id();
    barrier();
    uint32_t v = first[7 - local_id()];
    barrier();
    workgroup<float, 8> second(overlay, first);
    second[local_id()] = static_cast<float>(v);
    barrier();
    out[local_id()] = second[local_id()];
  });
  ASSERT_TRUE(result) << result.error;
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], 7.0f - i);
}

TEST(Host, AFragmentProduct) {
  using A = fragment<f16, 16, 16, use::a>;
  using B = fragment<f16, 16, 16, use::b>;
  using C = fragment<float, 16, 16, use::accumulator>;
  std::vector<f16> a(256), b(256);
  std::vector<float> c(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<f16>(i % 7);
    b[i] = static_cast<f16>(i % 5);
  }
  host::result result = host::launch({}, {1, 1, 1}, [&] {
    buffer<const f16> x(a.data(), 256), y(b.data(), 256);
    buffer<float> z(c.data(), 256);
    C sum = fragment_fill<C>(1.0f);
    sum = fragment_mma(fragment_load<A>(x, 0, 16),
                       fragment_load<B>(y, 0, 16, layout::column), sum);
    fragment_store(sum, z, 0, 16);
  });
  ASSERT_TRUE(result) << result.error;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 1;
      for (int k = 0; k < 16; ++k)
        sum += (i * 16 + k) % 7 * ((j * 16 + k) % 5);
      EXPECT_EQ(c[i * 16 + j], sum);
    }
}

TEST(Host, ImpossibleLaunches) {
  EXPECT_FALSE(host::launch({}, {0, 1, 1}, [] {}));
  EXPECT_FALSE(host::launch({}, {2048, 1, 1}, [] {}));
  host::options options;
  options.subgroup_size = 0;
  EXPECT_FALSE(host::launch({}, {1, 1, 1}, [] {}, options));
}

TEST(Host, MathematicsOfVectors) {
  vec<float, 4> v = {0.25f, -2, 0, 9};
  vec<float, 4> root = poot::sqrt(v * v), power = poot::pow(v * v, v);
  vec<f16, 2> half = poot::exp(vec<f16, 2>{f16(1), f16(0)});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(root[i], std::fabs(v[i]));
    EXPECT_EQ(power[i], std::pow(v[i] * v[i], v[i]));
  }
  EXPECT_EQ(static_cast<float>(half[0]),
            static_cast<float>(static_cast<f16>(std::exp(1.0f))));
  EXPECT_EQ(static_cast<float>(half[1]), 1.0f);
}

} // namespace
