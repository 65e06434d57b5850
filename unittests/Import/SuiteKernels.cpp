//===- SuiteKernels.cpp - What the kernel subset of C++ can do ------------===//
//
// One kernel for each part of the language. Most have the same interface: each
// of 256 work-items reads integers and floats and writes four of each. pootc
// compiles this file; ImportTest.cpp runs what comes out.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"

#include "poot/kernel.h"

#include <bit>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

using namespace poot;
using poot::test::SuiteCase;
using poot::test::Words;

#define SUITE_KERNEL(NAME)                                                     \
  POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void NAME(                         \
      buffer<const int32_t> a, buffer<const float> x, buffer<int32_t> o,       \
      buffer<float> y, int32_t n)

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SUITE_KERNEL(flow) {
  uint32_t id = global_id();
  int i = local_id(), sum = 0;
  while (true) {
    if (i >= n)
      break;
    int v = a[i++];
    if (v < 0 && (v & 1))
      continue;
    switch (v % 5) {
    case 0:
      sum += 1;
      break;
    case 1:
      sum += 10;
      [[fallthrough]];
    case 2:
      sum -= 3;
      break;
    default:
      sum ^= v;
    }
    sum = v > 100 ? sum - 100 : sum + 1;
    if (sum == 77) {
      o[4 * id] = -1;
      return;
    }
  }
  sum %= 1000;
  do {
    sum--;
  } while (sum > 500);
  o[4 * id] = sum;
  y[4 * id] = x[id];
}

/// Several exits of one loop, some of them through a second one.
SUITE_KERNEL(exits) {
  uint32_t id = global_id();
  int steps = 0, v = a[id], result = 0;
  while (true) {
    for (int k = 0; k < 8; ++k) {
      v = v * 31 + k;
      if ((v & 63) == 5) {
        result = 1;
        break;
      }
      if ((v & 127) == 9) {
        o[4 * id + 1] = v;
        return;
      }
      if (v % 3 == 0)
        continue;
      ++steps;
    }
    if (result)
      break;
    if (steps > 40) {
      result = 2;
      break;
    }
    v ^= steps;
  }
  o[4 * id] = result;
  o[4 * id + 1] = steps;
  y[4 * id] = x[id] + 0.0f * n;
}

/// Duff's device: the switch jumps into the loop.
SUITE_KERNEL(duff) {
  uint32_t id = global_id();
  int count = (a[id] & 31) + 1, passes = (count + 3) / 4, sum = 0, at = 0;
  switch (count % 4) {
  case 0:
    do {
      sum += a[at++] * 3;
      [[fallthrough]];
    case 3:
      sum ^= a[at++];
      [[fallthrough]];
    case 2:
      sum += a[at++];
      [[fallthrough]];
    case 1:
      sum -= a[at++];
    } while (--passes > 0);
  }
  o[4 * id] = sum;
  o[4 * id + 1] = at;
  y[4 * id] = x[id] * float(n);
}

SUITE_KERNEL(switches) {
  uint32_t id = global_id();
  enum class Kind : uint8_t { none, some = 7, all = 200 };
  Kind kind = a[id] % 3 == 0   ? Kind::none
              : a[id] % 3 == 1 ? Kind::some
                               : Kind::all;
  int r = 0;
  for (int i = 0; i < 6; ++i) {
    switch (int k = (a[id] + i) & 7; k) {
      int inner;
    case 0:
      inner = 4;
      r += inner;
      continue;
    case 1:
    case 2:
      r += 100;
      break;
    case 5: {
      if (i == 3)
        break;
      r += 7;
    }
    default:
      r *= 3;
    }
    r += 1;
  }
  switch (kind) {
  case Kind::none:
    r += 1000;
    break;
  case Kind::all:
    r += 2000;
    break;
  case Kind::some:
    break;
  }
  switch (n) {
  default:
    r -= 5;
  }
  o[4 * id] = r;
  if (float v = x[id]; v > 0)
    y[4 * id] = v;
  else if (int m = a[id])
    y[4 * id] = float(m);
  for (int i = 3; int w = a[id] >> i; i += 2)
    if (i > 20)
      break;
    else
      o[4 * id + 1] += w;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace classes {
struct Moments {
  float mean = 0, spread = 0;
  int count = 0;
  void add(float v) {
    count++;
    float d = v - mean;
    mean += d / count;
    spread += d * (v - mean);
  }
  Moments operator+(Moments other) const {
    Moments r;
    r.count = count + other.count;
    r.mean =
        (mean * count + other.mean * other.count) / (r.count ? r.count : 1);
    r.spread = spread + other.spread;
    return r;
  }
};
struct Named {
  bool operator==(const Named &) const = default;
  int id = 3;
};
struct Point : Named {
  float px, py;
  Point(float px, float py = 2) : px(px), py(py) { id += int(px); }
  Point() : Point(1, 1) {}
  Point &operator+=(const Point &p) {
    px += p.px;
    py += p.py;
    return *this;
  }
  friend Point operator*(Point p, float f) { return {p.px * f, p.py * f}; }
  float operator()(float f) const { return px * f + py; }
  explicit operator bool() const { return px > py; }
  bool operator==(const Point &) const = default;
};
struct Deep : Point {
  using Point::Point;
  float depth = px * 2; // of the object that is being made
  float sum() const { return px + py + depth; }
};
struct Aggregate {
  int first;
  int second = first + 5;
  float third[3] = {1, 2};
};
template <int N> struct Tile {
  float v[N][N] = {};
  constexpr int size() const { return N * N; }
  float &operator()(int i, int j) { return v[i][j]; }
  const float &operator()(int i, int j) const { return v[i][j]; }
};
} // namespace classes

SUITE_KERNEL(structures) {
  using namespace classes;
  uint32_t id = global_id();
  Moments even, odd;
  for (int i = 0; i < 9; i++)
    if (i & 1)
      odd.add(x[id + i]);
    else
      even.add(x[id + i]);
  Moments all = even + odd;
  Point p(x[id]), q, r{x[id], 1.5f};
  p += q * 3;
  Deep deep(x[id], 4.0f);
  Aggregate aggregate{a[id]};
  Tile<3> tile;
  tile(a[id] & 1, 2) += 2;
  const Tile<3> copied = tile;
  tile(0, 2) = -1;
  y[4 * id] = all.mean + all.spread;
  y[4 * id + 1] = p.px + p(2) + deep.sum();
  y[4 * id + 2] = copied(0, 2) + copied(1, 2) * 10 + copied.size();
  y[4 * id + 3] = aggregate.third[0] + aggregate.third[a[id] & 1];
  o[4 * id] = all.count + q.id + p.id;
  o[4 * id + 1] = aggregate.second;
  o[4 * id + 2] = (p ? 1 : 0) + (p == r ? 2 : 0) + (r == r ? 4 : 0);
  Point line[3] = {{1, 2}, {x[id], 3}};
  line[a[id] & 1] = line[2];
  std::swap(line[0], line[1]);
  o[4 * id + 3] = int(line[0].px * 100) + int(line[1].px * 7) + n;
}

namespace pairs {
struct Two {
  float first;
  int second;
};
inline Two both(float f, int i) { return {f * 2, i + 1}; }
inline float &pick(float (&v)[4], int i) { return v[i & 3]; }
inline void exchange(float &l, float &r) {
  float t = l;
  l = r;
  r = t;
}
} // namespace pairs

SUITE_KERNEL(references) {
  using namespace pairs;
  uint32_t id = global_id();
  auto [f, i] = both(x[id], a[id]);
  float v[4] = {f, 1, 2, 3};
  pick(v, i) += 10;
  exchange(v[0], v[3]);
  auto &[v0, v1, v2, v3] = v;
  v1 *= 5;
  float &alias = v[i & 1];
  alias -= 0.5f;
  const float &bound = v2 + 1;
  int left = 1, right = 2;
  (a[id] > 0 ? left : right) += 100;
  int &chosen = a[id] & 2 ? left : right;
  chosen *= 3;
  const int &larger = std::max(left, right);
  std::pair<int, float> pair(left, v0);
  auto [pi, pf] = pair;
  pair.first = 1000;
  y[4 * id] = v[0] + v[1] * 3;
  y[4 * id + 1] = v[2] + v[3] * 7 + bound;
  y[4 * id + 2] = std::clamp(f, -1.0f, 1.0f) + std::min<float>(f, 3);
  y[4 * id + 3] = pf;
  o[4 * id] = left * 1000 + right;
  o[4 * id + 1] = larger + pi;
  o[4 * id + 2] = pair.first + n;
  exchange(y[4 * id], y[4 * id + 1]);
  o[4 * id + 3] += std::exchange(left, 4) + left;
}

SUITE_KERNEL(lambdas) {
  uint32_t id = global_id();
  int calls = 0;
  float scale = x[id];
  auto byValue = [scale](float f) { return f * scale; };
  auto byReference = [&](int k) {
    ++calls;
    return a[k] + calls;
  };
  scale = 100;
  auto generic = [&](auto g, auto... more) { return g(more...) + scale; };
  y[4 * id] = byValue(2);
  y[4 * id + 1] = generic(byValue, 3.0f);
  o[4 * id] = int(generic(byReference, 3));
  o[4 * id + 1] = [&] {
    if (n > a[id])
      return 1;
    for (int i = 0;; ++i)
      if (i * i > n)
        return i;
  }();
  auto counter = [count = 0](int by) mutable { return count += by; };
  counter(3);
  o[4 * id + 2] = counter(a[id]) + calls;
  struct Holder {
    int value;
    int twice() {
      auto get = [this](int k) { return value * k; };
      value += 1;
      return get(2);
    }
    int copied() {
      auto get = [*this] { return value; };
      value = 0;
      return get();
    }
  } holder{a[id]};
  o[4 * id + 3] = holder.twice() + holder.copied() * 3 + holder.value;
  auto nested = [&](float f) {
    auto inner = [&, f] { return f + scale + float(calls); };
    return inner();
  };
  y[4 * id + 2] = nested(0.5f);
}

//===----------------------------------------------------------------------===//
// Arrays, pointers, the library
//===----------------------------------------------------------------------===//

SUITE_KERNEL(arrays) {
  uint32_t id = global_id();
  float grid[3][4];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      grid[i][j] = x[id + i * 4 + j];
  float (*row)[4] = &grid[a[id] & 1];
  float *p = grid[1];
  float sum = 0;
  for (float *q = p; q != p + 4; ++q)
    sum += *q;
  *p++ = 9;
  p += 1;
  p[-1] += 0.25f;
  for (auto &line : grid)
    for (float &f : line)
      f *= 2;
  std::array<int, 5> list{};
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = a[id + uint32_t(i)];
  int total = 0;
  for (int v : list)
    total += v;
  list.fill(a[id] & 7);
  list[a[id] & 3] = 70;
  y[4 * id] = sum + grid[1][0] + grid[1][1] * 3;
  y[4 * id + 1] = (*row)[2] + float(p - grid[1]);
  int local[] = {3, 1, 2};
  y[4 * id + 2] = float(local[id % 3]);
  o[4 * id] = total;
  o[4 * id + 1] = list[0] + list[3] * 100 + list.back();
  o[4 * id + 2] = std::max({a[id], n, 3}) + std::min({a[id], -2});
  int zeroed[70] = {};
  zeroed[a[id] & 63] = 5;
  int copied[70];
  std::copy(zeroed, zeroed + 70, copied);
  o[4 * id + 3] = std::accumulate(copied, copied + 70, 1) + copied[id & 63];
}

namespace more {
struct Base {
  float v;
  Base(float f) : v(f) {}
  float get() const { return v; }
};
struct Derived : Base {
  using Base::Base;
  float w = v * 2;
};
struct Link {
  int q;
  void to(Link *other) const { other->q += q; }
};
} // namespace more

/// What the library's headers are made of.
SUITE_KERNEL(further) {
  uint32_t id = global_id();
  std::tuple<float, int> tuple{x[id], n};
  auto [f, i] = tuple;
  float sum = 0;
  for (float v : {1.0f, x[id], 3.0f})
    sum += v;
  float list[5] = {3, 1, 2, x[id], 4};
  auto *most = std::max_element(list, list + 5);
  auto least = std::minmax(x[id], x[id + 1]);
  y[4 * id] = f + std::get<0>(tuple) + sum;
  y[4 * id + 1] = *most + float(int(most - list)) + least.first - least.second;
  y[4 * id + 2] = std::inner_product(&x[id], &x[id] + 5, &x[id + 8], 0.0f);
  more::Derived derived(x[id]);
  more::Base base = derived;
  const more::Base &same = derived;
  y[4 * id + 3] = derived.get() + derived.w + base.get() + same.v;
  int single = a[id];
  int *pointer = &single;
  *pointer += 2;
  more::Link from{1}, to{single};
  from.to(&to);
  o[4 * id] = single + to.q * 3 + i;
  static const int table[] = {1, 2, 3};
  int grid[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  int (&row)[2] = grid[id % 3];
  row[1] = 9;
  for (auto &[p, q] : grid)
    o[4 * id + 1] += p * q * table[id % 3];
  int counts[3] = {};
  counts[id % 3]++;
  --counts[0];
  int old = counts[id % 3]--;
  counts[1] += counts[2] = 5;
  o[4 * id + 2] = (counts[0] = old, counts[0] + 1) + counts[1] * 10;
  float big[300] = {}, other[300];
  big[a[id] & 255] = 3;
  std::copy(std::begin(big), std::end(big), other);
  std::copy(other + 1, other + 200, other); // overlaps
  o[4 * id + 3] = int(other[id]) + int(other[(a[id] & 255)]);
}

SUITE_KERNEL(library) {
  uint32_t id = global_id();
  float v = x[id], w = x[id + 1];
  y[4 * id] = std::exp(v) + std::sqrt(std::abs(w)) + std::tanh(v);
  y[4 * id + 1] = std::fma(v, w, 1.0f) + std::floor(v) * std::ceil(w) +
                  std::pow(2.0f, v) + std::trunc(w);
  y[4 * id + 2] = std::fmax(v, w) - std::fmin(v, w) + poot::rsqrt(2 + v * v) +
                  std::copysign(3.0f, w) + poot::clamp(v, -1.0f, 1.0f);
  y[4 * id + 3] = std::sin(v) * std::cos(w) + std::log(4.5f + v) +
                  __builtin_expf(w * 0.5f) + poot::erf(v);
  uint32_t u = uint32_t(a[id]) * 2654435761u;
  o[4 * id] =
      std::popcount(u) + std::countl_zero(u >> 3) * 100 + poot::ctz(u | 256);
  o[4 * id + 1] = int(std::rotl(u, 7) ^ std::bit_cast<uint32_t>(v));
  o[4 * id + 2] = std::abs(a[id]) + poot::max(a[id], n) +
                  (std::isnan(v) ? 1 : 0) + int(poot::mul_hi(u, 77u));
  o[4 * id + 3] = poot::bit_cast<int>(w);
}

/// One of several arrays, of which only a run knows which.
SUITE_KERNEL(choices) {
  uint32_t id = global_id();
  float first[3] = {x[id], 1, 2}, second[3] = {3, x[id + 1], 5};
  float *p = a[id] > 0 ? first : second;
  p[1] += 10;
  ++p;
  *p *= 2;
  const float *q = a[id] & 1 ? &first[1] : &second[2];
  buffer<const float> source = x;
  auto target = a[id] & 4 ? y : y;
  const auto &either = a[id] & 8 ? a : a;
  struct Both {
    int left, right[2];
  } l = {1, {2, 3}}, r = {4, {5, 6}};
  Both &chosen = a[id] & 1 ? l : r;
  chosen.right[id & 1] += 100;
  (a[id] & 2 ? chosen.left : l.right[0]) = 50;
  Both copied = a[id] & 4 ? l : r;
  auto increment = [](int &v) { return v++; };
  int counted = increment(a[id] & 8 ? r.left : r.right[1]);
  target[4 * id] = *q + source[id + 2];
  y[4 * id + 1] = first[0] + first[1] * 3 + first[2] * 5;
  y[4 * id + 2] = second[0] + second[1] * 3 + second[2] * 5;
  o[4 * id] = l.left + l.right[0] * 3 + l.right[1] * 5 + n;
  o[4 * id + 1] = r.left + r.right[0] * 3 + r.right[1] * 5;
  o[4 * id + 2] = copied.left + copied.right[0] * 2 + counted * 100;
  uint32_t before = id - 1000u; // wraps around
  o[4 * id + 3] = either[before + 1001u] + a[(id ^ 5u) - 5u + 5u];
  if (a[id] & 16) {
    y[4 * id + 3] = x[id];
    o[id & 3 ? 4 * id + 3 : 4 * id + 2] -= 1;
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

SUITE_KERNEL(integers) {
  uint32_t id = global_id();
  int v = a[id], w = a[id + 1] | 1;
  uint32_t u = uint32_t(v) * 2654435761u;
  o[4 * id] = v / w + v % w + int(u / 7u) + int(u % 1000u);
  o[4 * id + 1] = (v >> 3) ^ int(u >> 5) ^ (v << 4) ^ ~w;
  uint32_t wrapped = id - 300u; // below zero for every work-item
  o[4 * id + 2] = int(wrapped + 300u) + (wrapped > 5u) + (v < w) * 2 +
                  (u < uint32_t(w)) * 4 + !v * 8;
  v += 3;
  v -= w;
  v *= 5;
  v &= 0xffff;
  v |= 1;
  v ^= n;
  v <<= 2;
  v >>= 1;
  v %= 1000;
  v /= 3;
  o[4 * id + 3] = v++ + --w;
  bool flag = n & 4, other = v;
  flag |= other;
  y[4 * id] = float(v) + flag + float(u) * 1e-6f;
  y[4 * id + 1] = float(int(x[id] * 100)) + float(uint32_t(x[id] + 5));
  y[4 * id + 2] = -x[id] + (x[id] < 0 ? 1.0f : 2.0f) + !x[id];
}

SUITE_KERNEL(widths) {
  uint32_t id = global_id();
  int8_t c = int8_t(a[id]);
  uint8_t uc = uint8_t(a[id]);
  int16_t s = int16_t(a[id] * 77);
  uint16_t us = uint16_t(s);
  int64_t l = int64_t(a[id]) * 1000003 * a[id + 1];
  uint64_t ul = uint64_t(l) >> 3;
  c += 100;
  uc += 200;
  s <<= 2;
  us >>= 1;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < uint64_t(a[id] & 15); ++i)
    sum += i * ul;
  size_t at = id + 1;
  o[4 * id] = c * 1000 + uc;
  o[4 * id + 1] = s ^ us;
  o[4 * id + 2] = int(l >> 20) ^ int(ul) ^ int(sum >> 32) + (l < 0);
  o[4 * id + 3] = a[at - 1] + (c < uc) + (us > s) * 2;
  y[4 * id] = float(l) * 1e-6f + float(uc);
  double d = double(x[id]) / 3;
  d += 1e-9;
  y[4 * id + 1] = float(d * d) + float(int64_t(d * 1e3));
  f16 h = f16(x[id]) * f16(x[id + 1]) + f16(a[id]);
  h += f16(0.5f);
  bf16 b = bf16(x[id]) * bf16(x[id + 1]) + bf16(a[id]);
  y[4 * id + 2] = float(h) + float(f16(id)) + (h > f16(1));
  y[4 * id + 3] = float(b) * 2;
}

SUITE_KERNEL(vectors) {
  using float4 = vec<float, 4>;
  using int4 = vec<int32_t, 4>;
  uint32_t id = global_id();
  float4 v = {x[id], x[id + 1], x[id + 2], x[id + 3]};
  float4 w = v * 2.0f + v.wzyx - float4(1.5f);
  w.x = 7;
  w.yz = v.xw;
  w[a[id] & 3] += 3;
  int4 i = __builtin_convertvector(v * 10.0f, int4);
  i = (i << 1) ^ int4(a[id]);
  int4 less = v < w;
  vec<float, 2> half = w.lo + w.hi;
  vec<float, 8> wide = {v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
  wide += wide * wide;
  float total = 0;
  for (int k = 0; k < 8; ++k)
    total += wide[k];
  float4 chosen = less ? v : w;
  vec<float, 3> three = v.xyz;
  three.s20 = three.s02 * 2.0f;
  y[4 * id] = w.x + w.y * 2 + w.z * 4 + w.w * 8;
  y[4 * id + 1] = half.x * half.y;
  y[4 * id + 2] = total;
  y[4 * id + 3] = chosen.x + chosen.y + chosen.z - chosen.w + three.x * three.z;
  o[4 * id] = i.x + i.y + i.z + i.w;
  o[4 * id + 1] = less.x + less.y * 2 + less.z * 4 + less.w * 8;
  o[4 * id + 2] = (-i).x + (~i).y + n;
  o[4 * id + 3] = poot::bit_cast<int4>(v)[a[id] & 3];
}

//===----------------------------------------------------------------------===//
// Constants and templates
//===----------------------------------------------------------------------===//

namespace constants {
constexpr float weights[5] = {0.5f, 1, 1.5f, 2, 4};
constexpr int matrix[2][3] = {{1, 2, 3}, {40, 50, 60}};
struct Entry {
  int key;
  float value[2];
};
constexpr Entry entries[] = {{5, {1, 2}}, {6, {3, 4}}, {7, {5, 6}}};
constexpr std::array<int, 4> primes = {2, 3, 5, 7};
constexpr Entry one = entries[1];
constexpr int factorial(int k) { return k <= 1 ? 1 : k * factorial(k - 1); }
constexpr auto squares = [] {
  std::array<int, 8> r{};
  for (int i = 0; i < 8; ++i)
    r[i] = i * i;
  return r;
}();
template <class... T> constexpr auto sum(T... v) { return (v + ... + 0); }
template <class T> struct Traits {
  static constexpr int width = sizeof(T) * 8;
  static constexpr T table[3] = {T(1), T(2), T(4)};
};
template <class T, int N> inline T unrolled(const T (&v)[N]) {
  if constexpr (N > 2) {
    T r = 0;
    for (int i = 0; i < N; ++i)
      r += v[i] * T(Traits<T>::table[i % 3]);
    return r;
  } else {
    return v[0];
  }
}
template <class F, size_t... I>
inline int apply(F f, std::index_sequence<I...>) {
  return (f(int(I)) + ...);
}
template <int (*F)(int)> inline int through(int v) { return F(v); }
inline int triple(int v) { return v * 3; }
inline int shadowed(int v) { return v + 1; }
namespace inner {
inline int shadowed(int v) { return v + 2; }
template <class T> inline int shadowed(T v) { return int(v) + 3; }
} // namespace inner
} // namespace constants

SUITE_KERNEL(tables) {
  using namespace constants;
  uint32_t id = global_id();
  static constexpr float local[3] = {10, 20, 30};
  int at = a[id] & 1;
  y[4 * id] = weights[(a[id] & 3) + 1] + local[id % 3];
  y[4 * id + 1] = entries[at + 1].value[at] + one.value[1];
  y[4 * id + 2] = Traits<float>::table[at] + Traits<float>::width;
  float three[] = {x[id], 2, 3};
  y[4 * id + 3] = unrolled(three) + sum(x[id], 2.0f, 3);
  o[4 * id] = matrix[at][id % 3] + entries[at].key + primes[a[id] & 3];
  o[4 * id + 1] =
      factorial(5) + squares[a[id] & 7] +
      apply([&](int k) { return a[id] * k; }, std::make_index_sequence<4>());
  o[4 * id + 2] = through<triple>(a[id]) + shadowed(1) * 10 +
                  inner::shadowed(1) * 100 + inner::shadowed(1.5f) * 1000;
  int total = n;
  for (int p : primes)
    total += p;
  o[4 * id + 3] = total;
}

template <class T, int N>
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void instance(buffer<const int32_t> a,
                                                        buffer<const float> x,
                                                        buffer<int32_t> o,
                                                        buffer<T> y,
                                                        int32_t n) {
  uint32_t id = global_id();
  T sum = 0;
  for (int i = 0; i < N; ++i)
    sum += T(x[id + i]);
  y[4 * id] = sum;
  o[4 * id] = a[id] + N + n;
}
template void instance<float, 3>(buffer<const int32_t>, buffer<const float>,
                                 buffer<int32_t>, buffer<float>, int32_t);

//===----------------------------------------------------------------------===//
// Workgroups
//===----------------------------------------------------------------------===//

template <class F>
inline float fold(const workgroup<float, 64> &part, float v, F combine) {
  uint32_t t = local_id();
  part[t] = v;
  barrier();
  for (uint32_t h = 32; h > 0; h /= 2) {
    if (t < h)
      part[t] = combine(part[t], part[t + h]);
    barrier();
  }
  float result = part[0];
  barrier();
  return result;
}

SUITE_KERNEL(groups) {
  uint32_t id = global_id(), t = local_id();
  workgroup<float, 64> part;
  workgroup<int32_t, 4, 16> grid;
  workgroup<uint32_t, 32> counts(overlay, part);
  float largest = fold(part, x[id], [](float l, float r) { return max(l, r); });
  float total =
      fold(part, x[id] - largest, [](float l, float r) { return l + r; });
  grid(t / 16, t % 16) = a[id];
  barrier();
  int transposed = grid(t % 4, t / 4) + grid[63 - t];
  if (t < 32)
    counts[t] = 0;
  barrier();
  atomic_add(counts[uint32_t(a[id]) % 32], 1u);
  barrier();
  atomic_max(counts[31 - t % 32], 2u);
  barrier();
  o[4 * id] = transposed;
  o[4 * id + 1] = int(counts[t % 32]);
  o[4 * id + 2] = int(workgroup_id() * 1000 + workgroup_size() +
                      num_workgroups() * 10 + local_id(poot::y)) +
                  n;
  y[4 * id] = largest;
  y[4 * id + 1] = total;
}

/// Some work-items leave before the barrier's branch, all of a workgroup
/// together.
SUITE_KERNEL(leaving) {
  uint32_t t = local_id(), id = global_id();
  workgroup<int32_t, 64> part;
  for (int round = 0; round < 3; ++round) {
    if (int(workgroup_id()) + round > 3) {
      o[4 * id + 1] = round;
      return;
    }
    part[t] = a[id] + round;
    barrier();
    o[4 * id] += part[63 - t];
    barrier();
  }
  y[4 * id] = x[id] * float(n);
}

SUITE_KERNEL(atomics) {
  uint32_t id = global_id();
  int32_t v = a[id];
  atomic_add(o[0], v);
  atomic_sub(o[1], v);
  atomic_min(o[2], v, memory_order::acq_rel);
  atomic_max(o[3], v, memory_order::relaxed, memory_scope::device);
  atomic_bit_and(o[4], v | 0xffff);
  atomic_bit_or(o[5], v);
  atomic_bit_xor(o[6], v);
  int32_t old = atomic_load(o[7]);
  while (true) {
    int32_t seen = atomic_compare_exchange(o[7], old, old + (v & 3) + 1);
    if (seen == old)
      break;
    old = seen;
  }
  if (id == 0)
    atomic_store(o[8], 12, memory_order::release);
  if (id == 1)
    o[10] = atomic_exchange(o[9], 34);
  y[id] = x[id] + float(n);
}

SUITE_KERNEL(subgroups) {
  uint32_t id = global_id(), t = local_id();
  workgroup<int32_t, 2> sums;
  workgroup<float, 1> largest;
  if (t == 0) {
    sums[0] = 0;
    sums[1] = -100000;
    largest[0] = -1000.0f;
  }
  barrier();
  int32_t mine = subgroup_add(a[id]), top = subgroup_max(a[id]);
  float high = subgroup_max(x[id]);
  int32_t before = subgroup_exclusive_add(1), upTo = subgroup_inclusive_add(1);
  int32_t swapped = subgroup_shuffle_xor(a[id], 1);
  int32_t first = subgroup_broadcast(a[id], 0);
  int32_t next = subgroup_shuffle(a[id], (lane_id() + 1) % subgroup_size());
  if (subgroup_all(before + 1 == upTo) && !subgroup_any(first == 5000) &&
      lane_id() == 0) {
    atomic_add(sums[0], mine);
    atomic_max(sums[1], top);
    atomic_max(largest[0], high);
  }
  barrier();
  o[4 * id] = sums[0] + sums[1];
  o[4 * id + 1] = swapped;
  o[4 * id + 2] = int(uint32_t(before) == lane_id()) + n +
                  int(subgroup_id() * subgroup_size() + lane_id() == t);
  o[4 * id + 3] = next == a[t / subgroup_size() * subgroup_size() +
                            (lane_id() + 1) % subgroup_size() + id - t];
  y[4 * id] = largest[0];
}

//===----------------------------------------------------------------------===//
// Specialization and hooks
//===----------------------------------------------------------------------===//

POOT_SPEC inline int32_t rows = 5;
POOT_SPEC inline float factor = 0.25f;
POOT_SPEC inline bool doubled = true;

namespace hooks {
struct Result {
  float gate, up;
  int32_t tag;
};
POOT_HOOK("epilogue") inline Result epilogue(int32_t row, vec<float, 2> v) {
  if (row > 3)
    return {v.x, v.y, 1};
  return {v.x * 2, v.y + 1, 2};
}
template <class T> POOT_HOOK("load") inline T read(buffer<const T> m, int i) {
  return m[i];
}
POOT_HOOK("end")
inline void finish(const Result &r, buffer<int32_t> to, uint32_t at) {
  to[at] = r.tag + 10;
}
} // namespace hooks

SUITE_KERNEL(hooked) {
  uint32_t id = global_id();
  float sum = 0;
  for (int i = 0; i < rows; ++i)
    sum += hooks::read(x, int(id) + i) * factor;
  if (doubled)
    sum *= 2;
  auto [gate, up, tag] =
      hooks::epilogue(int(id % 8), vec<float, 2>{sum, x[id]});
  y[4 * id] = gate;
  y[4 * id + 1] = up;
  o[4 * id] = tag + hooks::read(a, int(id)) + n;
  hooks::finish({gate, up, tag}, o, 4 * id + 1);
}

//===----------------------------------------------------------------------===//
// Interfaces of other forms
//===----------------------------------------------------------------------===//

namespace forms {
struct Particle {
  vec<float, 4> place;
  float mass[3];
  int32_t id;
  struct {
    uint32_t low, high;
  } key;
  float rest[2][3]; // no padding: what is in it nobody promises
};
struct Parameters {
  int32_t count;
  float scale[2];
  bool flag;
  int8_t small;
  struct {
    uint16_t inner;
  } nested;
};
} // namespace forms

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void particles(
    buffer<const forms::Particle> from, forms::Parameters parameters,
    buffer<forms::Particle> to, float step) {
  uint32_t id = global_id();
  forms::Particle p = from[id];
  p.place += step * parameters.scale[id & 1];
  p.mass[id % 3] = float(parameters.count) + p.mass[0];
  p.key.high ^= p.key.low + uint32_t(parameters.nested.inner);
  p.rest[id & 1][1] += from[id].rest[1][id & 1];
  to[id] = p;
  to[id].id = from[(id + 1) % 256].id + parameters.small;
  if (parameters.flag)
    to[id].place.y = -1;
  to[id].mass[2] += 1;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

template <class T> buffer<T> bind(Words &words) {
  return {reinterpret_cast<T *>(words.data()), words.size() * 4 / sizeof(T)};
}

constexpr int32_t kCount = 37;

using CommonKernel = void (*)(buffer<const int32_t>, buffer<const float>,
                              buffer<int32_t>, buffer<float>, int32_t);
template <CommonKernel K> void callCommon(std::vector<Words> &b) {
  K(bind<const int32_t>(b[0]), bind<const float>(b[1]), bind<int32_t>(b[2]),
    bind<float>(b[3]), kCount);
}

template <CommonKernel K>
SuiteCase common(std::string name, std::string target = "vulkan:base") {
  std::mt19937 random(7);
  std::uniform_int_distribution<int32_t> integers(-1000, 1000);
  std::uniform_real_distribution<float> reals(-4, 4);
  Words a(320), x(320);
  for (uint32_t &word : a)
    word = static_cast<uint32_t>(integers(random));
  for (uint32_t &word : x)
    word = std::bit_cast<uint32_t>(reals(random));
  return {std::move(name),
          std::move(target),
          {a, x, Words(1024, 3), Words(1024)},
          {static_cast<uint32_t>(kCount)},
          callCommon<K>,
          {true, true, true, false}};
}

void callParticles(std::vector<Words> &b) {
  particles(bind<const forms::Particle>(b[0]),
            {11, {0.5f, 2}, true, -7, {40000}}, bind<forms::Particle>(b[1]),
            0.125f);
}

SuiteCase makeParticles() {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> reals(-4, 4);
  Words from(256 * sizeof(forms::Particle) / 4);
  for (uint32_t &word : from)
    word = std::bit_cast<uint32_t>(reals(random));
  auto word = [](float f) { return std::bit_cast<uint32_t>(f); };
  return {"particles",
          "vulkan:f16",
          {from, Words(from.size())},
          {11, word(0.5f), word(2), 1, static_cast<uint32_t>(-7), 40000,
           word(0.125f)},
          callParticles,
          {true, false}};
}

} // namespace

std::vector<SuiteCase> poot::test::makeSuite() {
  return {
      common<flow>("flow"),
      common<exits>("exits"),
      common<duff>("duff"),
      common<switches>("switches", "vulkan:f16"),
      common<structures>("structures"),
      common<references>("references"),
      common<lambdas>("lambdas"),
      common<arrays>("arrays"),
      common<choices>("choices"),
      common<further>("further"),
      common<library>("library"),
      common<integers>("integers"),
      common<widths>("widths", "vulkan:f16"),
      common<vectors>("vectors"),
      common<tables>("tables"),
      common<instance<float, 3>>("instance_f32_3"),
      common<groups>("groups"),
      common<leaving>("leaving"),
      common<atomics>("atomics"),
      common<subgroups>("subgroups"),
      common<hooked>("hooked"),
      makeParticles(),
  };
}
