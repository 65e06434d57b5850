// Accesses of several work-items with no order between them.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// No barrier between writing a tile and reading others' elements of it.
// CASE missing_barrier: --input 0=random:1:64 --input 1=undefined:64
KERNEL missing_barrier(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
//        ^ note: the other access, a write
  y[i] = tile[63 - i];
//       ^ error: data race: a read of element 63 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL missing_barrier_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
  barrier();
  y[i] = tile[63 - i];
}

// The next turn of the loop writes the tile while others still read it.
// CASE one_barrier_a_turn: --input 0=random:1:256 --input 1=undefined:64
KERNEL one_barrier_a_turn(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  float sum = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    tile[i] = x[k * 64 + i];
//          ^ error: data race: a write of element 0 of workgroup array 0 is not ordered with a read of it [race]
    barrier();
    sum += tile[63 - i];
//         ^ note: the other access, a read
  }
  y[i] = sum;
}
KERNEL one_barrier_a_turn_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  float sum = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    tile[i] = x[k * 64 + i];
    barrier();
    sum += tile[63 - i];
    barrier();
  }
  y[i] = sum;
}

// Lanes run together, but nothing says that they see what others write.
// CASE lanes_in_step: --input 0=random:1:64 --input 1=undefined:64
KERNEL lanes_in_step(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
//        ^ note: the other access, a write
  y[i] = tile[i ^ 1];
//       ^ error: data race: a read of element 1 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL lanes_in_step_fixed(buffer<const float> x, buffer<float> y) {
  uint32_t i = local_id();
  y[i] = subgroup_shuffle_xor(x[i], 1);
}

// All add to one element.
// CASE accumulator: --input 0=random:1:64 --input 1=undefined:1
KERNEL accumulator(buffer<const int32_t> x, buffer<int32_t> y) {
  workgroup<int32_t, 1> sum;
  if (local_id() == 0)
    sum[0] = 0;
  barrier();
  sum[0] += x[local_id()];
//       ^ error: data race: a write of element 0 of workgroup array 0 is not ordered with a read of it [race]
//       ^ error: data race: a write of element 0 of workgroup array 0 is not ordered with a write of it [race]
//       ^ note: the other access, a read
//       ^ note: the other access, a write
  barrier();
  if (local_id() == 0)
    y[0] = sum[0];
}
KERNEL accumulator_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  workgroup<int32_t, 1> sum;
  if (local_id() == 0)
    sum[0] = 0;
  barrier();
  atomic_add(sum[0], x[local_id()]);
  barrier();
  if (local_id() == 0)
    y[0] = sum[0];
}

// The number in the workgroup is taken for that in the grid.
// CASE between_workgroups: --grid 2 --input 0=undefined:128
KERNEL between_workgroups(buffer<uint32_t> y) { y[local_id()] = global_id(); }
//                                                            ^ error: data race: a write of element 0 of buffer 0 is not ordered with a write of it [race]
//                                                            ^ note: the other access, a write
KERNEL between_workgroups_fixed(buffer<uint32_t> y) {
  y[global_id()] = global_id();
}

// That all write the same makes it no better.
// CASE same_value: --input 0=random:1:64 --input 1=zeros:1
KERNEL same_value(buffer<const float> x, buffer<int32_t> y) {
  if (x[local_id()] > 0)
    y[0] = 1;
//       ^ error: data race: a write of element 0 of buffer 1 is not ordered with a write of it [race]
//       ^ note: the other access, a write
}
KERNEL same_value_fixed(buffer<const float> x, buffer<int32_t> y) {
  if (x[local_id()] > 0)
    atomic_store(y[0], 1);
}

// Counted with atomics, and read without.
// CASE mixed_with_atomics: --input 0=zeros:1 --input 1=undefined:64
KERNEL mixed_with_atomics(buffer<int32_t> count, buffer<int32_t> y) {
  uint32_t i = local_id();
  atomic_add(count[0], 1);
//^ note: the other access, an atomic update
  y[i] = count[0];
//       ^ error: data race: a read of element 0 of buffer 0 is not ordered with an atomic update of it [race]
}
KERNEL mixed_with_atomics_fixed(buffer<int32_t> count, buffer<int32_t> y) {
  uint32_t i = local_id();
  atomic_add(count[0], 1);
  barrier();
  y[i] = count[0];
}

// Vectors of four, each read by the work-item that wrote it and by its neighbour.
// CASE vectors: --input 0=random:1:64 --input 1=undefined:63
KERNEL vectors(buffer<const float> x, buffer<vec<float, 4>> y) {
  workgroup<vec<float, 4>, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
//        ^ note: the other access, a write
  if (i < 63)
    y[i] = tile[i] + tile[i + 1];
//                   ^ error: data race: a read of element 1 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL vectors_fixed(buffer<const float> x, buffer<vec<float, 4>> y) {
  workgroup<vec<float, 4>, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
  barrier();
  if (i < 63)
    y[i] = tile[i] + tile[i + 1];
}

// Setting one component of a vector writes all of it, those of others too.
// CASE components: --input 0=random:1:64 --input 1=undefined:64
KERNEL components(buffer<const float> x, buffer<float> y) {
  workgroup<vec<float, 4>, 16> tile;
  uint32_t i = local_id();
  if (i < 16)
    tile[i] = 0;
  barrier();
  tile[i / 4][i % 4] = x[i];
//                   ^ error: data race: a write of element 0 of workgroup array 0 is not ordered with a read of it [race]
//                   ^ error: data race: a write of element 0 of workgroup array 0 is not ordered with a write of it [race]
//                   ^ note: the other access, a read
//                   ^ note: the other access, a write
  barrier();
  y[i] = tile[i % 16].x;
}
KERNEL components_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i];
  barrier();
  y[i] = tile[i % 16 * 4];
}

// A subgroup loads a matrix whose elements its lanes have just written. It holds
// two elements a lane, but which isn't said.
// CASE fragment_load_early: --input 0=random:1:64 --input 1=undefined:64
using block = fragment<float, 8, 8, use::a>;
KERNEL fragment_load_early(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  if (subgroup_id() > 0)
    return;
  tile[lane_id()] = x[lane_id()];
//                ^ note: the other access, a write
  tile[lane_id() + 32] = x[lane_id() + 32];
//                     ^ note: the other access, a write
  fragment_store(fragment_load<block>(tile, 0, 8), y, 0, 8, layout::column);
//               ^ error: data race: a read of element 1 of workgroup array 0 is not ordered with a write of it [race]
//               ^ error: data race: a read of element 32 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL fragment_load_early_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  tile[local_id()] = x[local_id()];
  barrier();
  if (subgroup_id() == 0)
    fragment_store(fragment_load<block>(tile, 0, 8), y, 0, 8, layout::column);
}

// The other way: what a fragment has stored is read by the lanes at once.
// CASE fragment_store_early: --input 0=random:1:64 --input 1=undefined:64
KERNEL fragment_store_early(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  if (subgroup_id() > 0)
    return;
  fragment_store(fragment_load<block>(x, 0, 8), tile, 0, 8);
//^ note: the other access, a write
  y[lane_id()] = tile[lane_id()] + tile[lane_id() + 32];
//               ^ error: data race: a read of element 1 of workgroup array 0 is not ordered with a write of it [race]
//                                 ^ error: data race: a read of element 32 of workgroup array 0 is not ordered with a write of it [race]
}
KERNEL fragment_store_early_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  if (subgroup_id() == 0)
    fragment_store(fragment_load<block>(x, 0, 8), tile, 0, 8);
  barrier();
  y[local_id()] = tile[local_id()];
}

// Windows of four elements that start at every second one overlap.
// CASE windows: --input 0=zeros:130
KERNEL windows(buffer<float> y) {
  uint32_t i = local_id();
  for (uint32_t k = 0; k < 4; ++k)
    y[2 * i + k] = float(i);
//               ^ error: data race: a write of element 2 of buffer 0 is not ordered with a write of it [race]
//               ^ note: the other access, a write
}
KERNEL windows_fixed(buffer<float> y) {
  uint32_t i = local_id();
  for (uint32_t k = 0; k < 2; ++k)
    y[2 * i + k] = float(i);
}

// An array is written while what shares its bytes is still being read.
// CASE overlay_early: --input 0=random:1:64 --input 1=undefined:64
KERNEL overlay_early(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> values;
  workgroup<float, 64> squares(overlay, values);
  uint32_t i = local_id();
  values[i] = x[i];
  barrier();
  float v = values[63 - i];
//          ^ note: the other access, a read
  squares[i] = v * v;
//           ^ error: data race: a write of workgroup array 1 is not ordered with a read of workgroup array 0, which may share its bytes [race]
  barrier();
  y[i] = squares[63 - i];
}
KERNEL overlay_early_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> values;
  workgroup<float, 64> squares(overlay, values);
  uint32_t i = local_id();
  values[i] = x[i];
  barrier();
  float v = values[63 - i];
  barrier();
  squares[i] = v * v;
  barrier();
  y[i] = squares[63 - i];
}

// A barrier is of one workgroup: the second doesn't wait for the first.
// CASE barrier_of_another: --grid 2 --input 0=undefined:128 --input 1=undefined:128
KERNEL barrier_of_another(buffer<uint32_t> x, buffer<uint32_t> y) {
  uint32_t i = global_id();
  x[i] = i;
//     ^ note: the other access, a write
  barrier();
  y[i] = x[i / 2];
//       ^ error: data race: a read of element 32 of buffer 0 is not ordered with a write of it [race]
}
KERNEL barrier_of_another_fixed(buffer<uint32_t> x, buffer<uint32_t> y) {
  uint32_t i = global_id();
  x[i] = i;
  barrier();
  y[i] = x[i ^ 1];
}

// The last workgroup sums what the others wrote. It knows that it is the last
// by a counter, which orders nothing unless it says so.
// CASE relaxed_counter: --grid 3 --input 0=random:1:192 --input 1=undefined:3 --input 2=zeros:1 --input 3=undefined:1
template <memory_order order>
inline void sum_of_all(buffer<const int32_t> x, buffer<int32_t> parts,
                       buffer<uint32_t> done, buffer<int32_t> y) {
  int32_t sum = 0;
  for (int32_t k = 0; k < 64; ++k)
    sum += x[workgroup_id() * 64 + k];
  if (local_id() != 0)
    return;
  parts[workgroup_id()] = sum;
//                      ^ note: the other access, a write
  if (atomic_add(done[0], 1, order) + 1 < num_workgroups())
    return;
  y[0] = 0;
  for (uint32_t g = 0; g < num_workgroups(); ++g)
    y[0] += parts[g];
//          ^ error: data race: a read of element 0 of buffer 1 is not ordered with a write of it [race]
}
KERNEL relaxed_counter(buffer<const int32_t> x, buffer<int32_t> parts,
                       buffer<uint32_t> done, buffer<int32_t> y) {
  sum_of_all<memory_order::relaxed>(x, parts, done, y);
//^ note: called from here
}
KERNEL relaxed_counter_fixed(buffer<const int32_t> x, buffer<int32_t> parts,
                             buffer<uint32_t> done, buffer<int32_t> y) {
  sum_of_all<memory_order::acq_rel>(x, parts, done, y);
}

// Atomics that are so in their workgroup alone.
// CASE narrow_scope: --grid 2 --input 0=random:1:128 --input 1=zeros:100
KERNEL narrow_scope(buffer<const int32_t> x, buffer<int32_t> y) {
  atomic_add(y[x[global_id()]], 1, memory_order::relaxed,
//^ error: data race: an atomic read of element 18 of buffer 1 is not ordered with an atomic update of it [race]
//^ note: the other access, an atomic update
             memory_scope::workgroup);
}
KERNEL narrow_scope_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  atomic_add(y[x[global_id()]], 1);
}
