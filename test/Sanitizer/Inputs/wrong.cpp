// What check_faults.py must not let pass.

#include "poot/kernel.h"
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

// CASE harmless: --input 0=undefined:64
KERNEL harmless(buffer<int32_t> y) {
  y[local_id()] = 7;
//              ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL harmless_fixed(buffer<int32_t> y) { y[local_id()] = 7; }

// CASE elsewhere: --input 0=undefined:64
KERNEL elsewhere(buffer<int32_t> y) {
  uint32_t i = local_id() + 1;
//             ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
  y[i] = 7;
}
KERNEL elsewhere_fixed(buffer<int32_t> y) { y[local_id()] = 7; }

// CASE not_fixed: --input 0=undefined:64
KERNEL not_fixed(buffer<int32_t> y) {
  y[local_id() + 1] = 7;
//                  ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL not_fixed_fixed(buffer<int32_t> y) { y[local_id() + 2] = 7; }

// CASE unmarked: --input 0=undefined:64
KERNEL unmarked(buffer<int32_t> y) { y[local_id()] = 7; }
KERNEL unmarked_fixed(buffer<int32_t> y) { y[local_id()] = 7; }

// CASE alone: --input 0=undefined:64
KERNEL alone(buffer<int32_t> y) {
  y[local_id() + 1] = 7;
//                  ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
}
KERNEL without_case(buffer<int32_t> y) { y[local_id()] = 7; }
