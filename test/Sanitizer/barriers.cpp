// Barriers that a part of the workgroup comes to.
// RUN: python3 %S/check_faults.py %s %t

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// Work-items beyond the end leave before the barrier.
// CASE early_return: --grid 2 --input 0=random:1:100 --input 1=undefined:100 --metadata 100
KERNEL early_return(buffer<const float> x, buffer<float> y, uint32_t n) {
  workgroup<float, 64> tile;
  if (global_id() >= n)
    return;
  tile[local_id()] = x[global_id()];
  barrier();
//^ error: only 36 of 64 work-items of the workgroup come to this barrier; 28 have ended [divergent-barrier]
  y[global_id()] = tile[local_id() ^ 1];
}
KERNEL early_return_fixed(buffer<const float> x, buffer<float> y, uint32_t n) {
  workgroup<float, 64> tile;
  if (global_id() < n)
    tile[local_id()] = x[global_id()];
  barrier();
  if (global_id() < n)
    y[global_id()] = tile[local_id() ^ 1];
}

// 100 elements are two turns of a loop for some, and one for others.
// CASE turns: --input 0=undefined:100 --metadata 100
KERNEL turns(buffer<uint32_t> y, uint32_t n) {
  for (uint32_t i = local_id(); i < n; i += 64) {
    y[i] = i;
    barrier();
//  ^ error: only 36 of 64 work-items of the workgroup come to this barrier; 28 have ended [divergent-barrier]
  }
}
KERNEL turns_fixed(buffer<uint32_t> y, uint32_t n) {
  for (uint32_t first = 0; first < n; first += 64) {
    if (first + local_id() < n)
      y[first + local_id()] = first + local_id();
    barrier();
  }
}

// A barrier in both branches isn't one barrier.
// CASE both_branches: --input 0=random:1:64 --input 1=undefined:64
KERNEL both_branches(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  if (x[i] > 0) {
    tile[i] = x[i];
    barrier();
//  ^ note: the other barrier, where work-item (0, 0, 0) of workgroup (0, 0, 0) waits
  } else {
    tile[i] = 0;
    barrier();
//  ^ error: only 27 of 64 work-items of the workgroup come to this barrier; 37 wait at another barrier [divergent-barrier]
  }
  y[i] = tile[63 - i];
}
KERNEL both_branches_fixed(buffer<const float> x, buffer<float> y) {
  workgroup<float, 64> tile;
  uint32_t i = local_id();
  tile[i] = x[i] > 0 ? x[i] : 0;
  barrier();
  y[i] = tile[63 - i];
}

// Each leaves a loop with a barrier when it has found what it looks for.
// CASE left_loop: --input 0=random:1:640 --input 1=undefined:64
KERNEL left_loop(buffer<const int32_t> x, buffer<int32_t> y) {
  y[local_id()] = -1;
  for (int32_t k = 0; k < 10; ++k) {
    if (x[k * 64 + local_id()] > 80) {
      y[local_id()] = k;
      break;
    }
    barrier();
//  ^ error: only 53 of 64 work-items of the workgroup come to this barrier; 11 have ended [divergent-barrier]
  }
}
KERNEL left_loop_fixed(buffer<const int32_t> x, buffer<int32_t> y) {
  bool found = false;
  y[local_id()] = -1;
  for (int32_t k = 0; k < 10; ++k) {
    if (!found && x[k * 64 + local_id()] > 80) {
      y[local_id()] = k;
      found = true;
    }
    barrier();
  }
}
