//===- attention.cpp - Causal attention with online softmax ---------------===//
//
// query [rows, tokens, heads, head_dim] over a cache of keys [slots, kv_heads,
// head_dim] and values [slots, kv_heads, value_dim]. Row r sees the cache slots
// of its `capacity` positions, token t those up to its own position. Query head
// h takes key and value head h / (heads / kv_heads). No scores are written to
// memory: maximum, sum and weighted values are kept up as positions come by.
//
//   attention_lane    an invocation a query head with all its positions, no
//                     barrier. Work number: (row, token, head).
//   attention_group   a workgroup of 128 a key head and `block` queries, which
//                     are the pairs (token, head of the group), so that they
//                     share the loads of keys and values. Work number: (row,
//                     key head, block of queries).
//   attention_split_group
//                     the same for a part of the positions: split s of `splits`
//                     takes `span` of them. Its work number has the split
//                     innermost. It writes the parts' values, not yet divided,
//                     and maximum and sum.
//   attention_combine joins the parts. An invocation an element of the result.
//                     Work number: (row, token, head, element).
//
// Hooks: load_query4(query, row, token, head, e), load_key4(keys, slot,
// kv_head, e), load_value4(values, slot, kv_head, e): elements e to e + 3, so
// that both dimensions are multiples of 4; position(positions, row, token);
// slot(slots, row, position), by which a cache is paged; store(out, row, token,
// head, e, value).
//
//===----------------------------------------------------------------------===//

#include "library.h"

namespace poot::library {

POOT_SPEC inline int32_t rows = 1;
POOT_SPEC inline int32_t tokens = 1;
POOT_SPEC inline int32_t heads = 1;
POOT_SPEC inline int32_t kv_heads = 1;
/// Multiples of 4, at most 256.
POOT_SPEC inline int32_t head_dim = 64;
POOT_SPEC inline int32_t value_dim = 64;
POOT_SPEC inline float score_scale = 0.125f;
/// Queries of a workgroup, at most 8.
POOT_SPEC inline int32_t block = 1;
POOT_SPEC inline int32_t splits = 1;

inline constexpr int32_t groupSize = 128;
inline constexpr int32_t maxBlock = 8;
inline constexpr int32_t maxQuads = 64; // of a head
/// What a maximum starts from: below every score, and finite, so that the
/// difference of two is a number.
inline constexpr float lowest = -3.4028235e38f;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

using quads_t = buffer<const vec<float, 4>>;

POOT_HOOK("load_query4")
inline vec<float, 4> load_query4(quads_t query, int32_t row, int32_t token,
                                 int32_t head, int32_t e) {
  return query[(((row * tokens + token) * heads + head) * head_dim + e) / 4];
}

POOT_HOOK("load_key4")
inline vec<float, 4> load_key4(quads_t keys, int32_t slot, int32_t head,
                               int32_t e) {
  return keys[((slot * kv_heads + head) * head_dim + e) / 4];
}

POOT_HOOK("load_value4")
inline vec<float, 4> load_value4(quads_t values, int32_t slot, int32_t head,
                                 int32_t e) {
  return values[((slot * kv_heads + head) * value_dim + e) / 4];
}

POOT_HOOK("position")
inline int32_t position(buffer<const int32_t> positions, int32_t row,
                        int32_t token) {
  return positions[row * tokens + token];
}

/// By default a row's positions follow each other in the cache.
POOT_HOOK("slot")
inline int32_t slot(int32_t row, int32_t position, int32_t capacity) {
  return row * capacity + position;
}

POOT_HOOK("store")
inline void store(buffer<float> out, int32_t row, int32_t token, int32_t head,
                  int32_t e, float value) {
  out[((row * tokens + token) * heads + head) * value_dim + e] = value;
}

/// The last position that a token sees. One below 0 (padding) counts as 0, one
/// beyond the cache as its last.
inline int32_t last_position(buffer<const int32_t> positions, int32_t row,
                             int32_t token, int32_t capacity) {
  return max(min(position(positions, row, token), capacity - 1), 0);
}

//===----------------------------------------------------------------------===//
// An invocation a query head
//===----------------------------------------------------------------------===//

/// What positions come to: sum of exp(score - largest), and the
/// values weighted by these.
struct Lane {
  float largest, sum;
  vec<float, 4> values[maxQuads];

  /// Takes positions up to END.
  void attend(quads_t query, quads_t keys, quads_t cached, int32_t row,
              int32_t token, int32_t head, int32_t end, int32_t capacity) {
#pragma clang fp contract(fast)
    vec<float, 4> q[maxQuads];
#pragma unroll
    for (int32_t i = 0; i < head_dim / 4; ++i)
      q[i] = load_query4(query, row, token, head, i * 4) * score_scale;
    largest = lowest;
    sum = 0;
#pragma unroll
    for (int32_t i = 0; i < value_dim / 4; ++i)
      values[i] = 0;
    int32_t group = head / (heads / kv_heads);
    for (int32_t p = 0; p < end; ++p) {
      int32_t from = slot(row, p, capacity);
      vec<float, 4> products = 0;
#pragma unroll
      for (int32_t i = 0; i < head_dim / 4; ++i)
        products += q[i] * load_key4(keys, from, group, i * 4);
      float score = sum4(products);
      float larger = max(largest, score);
      float rescale = exp(largest - larger);
      float weight = exp(score - larger);
      largest = larger;
      sum = sum * rescale + weight;
#pragma unroll
      for (int32_t i = 0; i < value_dim / 4; ++i)
        values[i] = values[i] * rescale +
                    load_value4(cached, from, group, i * 4) * weight;
    }
  }
};

POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void attention_lane(
    quads_t query, quads_t keys, quads_t values,
    buffer<const int32_t> positions, buffer<float> out, int32_t capacity) {
  int32_t id = linear_id();
  if (id >= rows * tokens * heads)
    return;
  int32_t row = id / (tokens * heads), token = id / heads % tokens;
  int32_t head = id % heads;
  Lane lane;
  lane.attend(query, keys, values, row, token, head,
              last_position(positions, row, token, capacity) + 1, capacity);
  float factor = 1 / lane.sum;
#pragma unroll
  for (int32_t i = 0; i < value_dim / 4; ++i)
#pragma unroll
    for (int32_t e = 0; e < 4; ++e)
      store(out, row, token, head, i * 4 + e, lane.values[i][e] * factor);
}

/// PARTS is [rows, tokens, heads, splits, value_dim]; STATISTICS has maximum
/// and sum of each.
POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void attention_combine(
    buffer<const float> parts, buffer<const vec<float, 2>> statistics,
    buffer<float> out) {
#pragma clang fp contract(fast)
  int32_t id = linear_id();
  if (id >= rows * tokens * heads * value_dim)
    return;
  int32_t e = id % value_dim, query = id / value_dim;
  float largest = lowest;
  for (int32_t s = 0; s < splits; ++s)
    largest = max(largest, statistics[query * splits + s].x);
  float sum = 0, value = 0;
  for (int32_t s = 0; s < splits; ++s) {
    int32_t part = query * splits + s;
    vec<float, 2> own = statistics[part];
    // A part without positions has a sum of 0 and values of 0.
    float weight = exp(own.x - largest);
    sum += own.y * weight;
    value += parts[part * value_dim + e] * weight;
  }
  store(out, query / (tokens * heads), query / heads % tokens, query % heads, e,
        value / sum);
}

//===----------------------------------------------------------------------===//
// A workgroup a block of queries
//===----------------------------------------------------------------------===//

/// Queries FIRST to FIRST + block of key head GROUP of a row, of which query n
/// is token n / (heads of the group), head n % (heads of the group).
struct Block {
  int32_t row, group, first, split;
  bool exists;

  static int32_t group_heads() { return heads / kv_heads; }
  static int32_t queries() { return tokens * group_heads(); }
  bool has(int32_t n) const { return first + n < queries(); }
  /// Those beyond the last repeat it.
  int32_t query(int32_t n) const { return min(first + n, queries() - 1); }
  int32_t token(int32_t n) const { return query(n) / group_heads(); }
  int32_t head(int32_t n) const {
    return group * group_heads() + query(n) % group_heads();
  }
};

inline Block own_block() {
  int32_t blocks = divide_up(Block::queries(), block);
  int32_t id = linear_workgroup();
  return {id / (splits * blocks * kv_heads), id / (splits * blocks) % kv_heads,
          id / splits % blocks * block, id % splits,
          id < rows * kv_heads * blocks * splits};
}

/// Memory that the workgroup shares.
struct Shared {
  const workgroup<float, maxBlock, groupSize> &scores;
  const workgroup<float, maxBlock, 16> &partial;
  const workgroup<vec<float, 4>, maxBlock, maxQuads> &query;
};

/// What an invocation has of each query: the running maximum and sum, which all
/// have alike, and elements t and t + 128 of the weighted values.
struct Group {
  float largest[maxBlock], sum[maxBlock];
  float values[2 * maxBlock];

  /// Of 16 numbers for each query, the largest or the sum.
  static float join_max(const Shared &shared, int32_t n) {
    float result = shared.partial(n, 0);
#pragma unroll
    for (int32_t i = 1; i < 16; ++i)
      result = max(result, shared.partial(n, i));
    return result;
  }
  static float join_sum(const Shared &shared, int32_t n) {
    float result = shared.partial(n, 0);
#pragma unroll
    for (int32_t i = 1; i < 16; ++i)
      result += shared.partial(n, i);
    return result;
  }

  /// Takes positions BEGIN up to END of the block's last query. The whole
  /// workgroup comes here with the same block and positions.
  void attend(const Shared &shared, quads_t query, quads_t keys, quads_t cached,
              buffer<const int32_t> positions, const Block &own, int32_t begin,
              int32_t end, int32_t capacity) {
#pragma clang fp contract(fast)
    int32_t t = static_cast<int32_t>(local_id());
#pragma unroll
    for (int32_t n = 0; n < block; ++n) {
      for (int32_t i = t; i < head_dim / 4; i += groupSize)
        shared.query(n, i) =
            load_query4(query, own.row, own.token(n), own.head(n), i * 4) *
            score_scale;
      largest[n] = lowest;
      sum[n] = 0;
      values[2 * n] = 0;
      values[2 * n + 1] = 0;
    }
    barrier();
    for (int32_t base = begin; base < end; base += groupSize) {
      // An invocation takes the scores of one position.
      int32_t p = base + t;
      vec<float, 4> products[maxBlock];
#pragma unroll
      for (int32_t n = 0; n < block; ++n)
        products[n] = 0;
      if (p < end) {
        int32_t from = slot(own.row, p, capacity);
        for (int32_t i = 0; i < head_dim / 4; ++i) {
          vec<float, 4> key = load_key4(keys, from, own.group, i * 4);
#pragma unroll
          for (int32_t n = 0; n < block; ++n)
            products[n] += key * shared.query(n, i);
        }
      }
#pragma unroll
      for (int32_t n = 0; n < block; ++n) {
        bool sees = p < end && p <= last_position(positions, own.row,
                                                  own.token(n), capacity);
        shared.scores(n, t) = sees ? sum4(products[n]) : lowest;
      }
      barrier();
      // 16 invocations a query join 8 scores each.
      int32_t n16 = t / 16, i16 = t % 16;
      if (n16 < block) {
        float part = shared.scores(n16, i16);
#pragma unroll
        for (int32_t i = 1; i < groupSize / 16; ++i)
          part = max(part, shared.scores(n16, i16 + i * 16));
        shared.partial(n16, i16) = part;
      }
      barrier();
      float rescale[maxBlock];
#pragma unroll
      for (int32_t n = 0; n < block; ++n) {
        float larger = max(largest[n], join_max(shared, n));
        rescale[n] = exp(largest[n] - larger);
        largest[n] = larger;
        // What isn't seen weighs nothing, even where nothing is seen yet.
        float score = shared.scores(n, t);
        shared.scores(n, t) = score == lowest ? 0.0f : exp(score - larger);
      }
      barrier();
      if (n16 < block) {
        float part = 0;
#pragma unroll
        for (int32_t i = 0; i < groupSize / 16; ++i)
          part += shared.scores(n16, i16 + i * 16);
        shared.partial(n16, i16) = part;
      }
      barrier();
#pragma unroll
      for (int32_t n = 0; n < block; ++n) {
        sum[n] = sum[n] * rescale[n] + join_sum(shared, n);
        values[2 * n] *= rescale[n];
        values[2 * n + 1] *= rescale[n];
      }
      int32_t count = min(groupSize, end - base);
#pragma unroll
      for (int32_t half = 0; half < divide_up(value_dim, groupSize); ++half) {
        int32_t e = t + half * groupSize;
        if (e < value_dim)
          for (int32_t i = 0; i < count; ++i) {
            int32_t from = slot(own.row, base + i, capacity);
            float value =
                load_value4(cached, from, own.group, e / 4 * 4)[e % 4];
#pragma unroll
            for (int32_t n = 0; n < block; ++n)
              values[2 * n + half] += value * shared.scores(n, i);
          }
      }
      barrier(); // the next positions overwrite the scores
    }
  }
};

/// The positions that any query of the block sees.
inline int32_t block_end(buffer<const int32_t> positions, const Block &own,
                         int32_t capacity) {
  int32_t end = 0;
#pragma unroll
  for (int32_t n = 0; n < block; ++n)
    end =
        max(end, last_position(positions, own.row, own.token(n), capacity) + 1);
  return end;
}

POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1, 1) void attention_group(
    quads_t query, quads_t keys, quads_t values,
    buffer<const int32_t> positions, buffer<float> out, int32_t capacity) {
  Block own = own_block();
  if (!own.exists)
    return;
  workgroup<float, maxBlock, groupSize> scores;
  workgroup<float, maxBlock, 16> partial;
  workgroup<vec<float, 4>, maxBlock, maxQuads> queries;
  Group group;
  group.attend({scores, partial, queries}, query, keys, values, positions, own,
               0, block_end(positions, own, capacity), capacity);
  int32_t t = static_cast<int32_t>(local_id());
#pragma unroll
  for (int32_t n = 0; n < block; ++n)
#pragma unroll
    for (int32_t half = 0; half < divide_up(value_dim, groupSize); ++half) {
      int32_t e = t + half * groupSize;
      if (own.has(n) && e < value_dim)
        store(out, own.row, own.token(n), own.head(n), e,
              group.values[2 * n + half] / group.sum[n]);
    }
}

POOT_KERNEL POOT_WORKGROUP_SIZE(groupSize, 1, 1) void attention_split_group(
    quads_t query, quads_t keys, quads_t values,
    buffer<const int32_t> positions, buffer<float> parts,
    buffer<vec<float, 2>> statistics, int32_t capacity, int32_t span) {
  Block own = own_block();
  if (!own.exists)
    return;
  workgroup<float, maxBlock, groupSize> scores;
  workgroup<float, maxBlock, 16> partial;
  workgroup<vec<float, 4>, maxBlock, maxQuads> queries;
  int32_t begin = own.split * span;
  int32_t end = min(block_end(positions, own, capacity), begin + span);
  Group group;
  group.attend({scores, partial, queries}, query, keys, values, positions, own,
               begin, end, capacity);
  int32_t t = static_cast<int32_t>(local_id());
#pragma unroll
  for (int32_t n = 0; n < block; ++n) {
    int32_t number =
        ((own.row * tokens + own.token(n)) * heads + own.head(n)) * splits +
        own.split;
#pragma unroll
    for (int32_t half = 0; half < divide_up(value_dim, groupSize); ++half) {
      int32_t e = t + half * groupSize;
      if (own.has(n) && e < value_dim)
        parts[number * value_dim + e] = group.values[2 * n + half];
    }
    if (own.has(n) && t == 0)
      statistics[number] = vec<float, 2>{group.largest[n], group.sum[n]};
  }
}

} // namespace poot::library
