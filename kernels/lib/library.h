//===- library.h - What the kernels of the library share ------------------===//
//
// How the kernels of this folder number their work. A kernel says in its
// comment what a *work number* stands for: an output, a block of outputs or a
// row. It is launched with at least so many invocations, or workgroups, along x
// and, where there are more than a grid takes, y; those beyond the last do
// nothing.
//
// All of them are made to be specialized: extents are specialization constants
// where a compiler knows them, memory is reached through hooks. The default
// body of a hook addresses dense row-major buffers; a compiler fills it with
// the address, element type and arithmetic of its own, and the buffer that
// nothing reads any more leaves the kernel's interface.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_KERNELS_LIBRARY_H
#define POOT_KERNELS_LIBRARY_H

#include "poot/kernel.h"

namespace poot::library {

/// The number of this workgroup along x, then y.
inline int32_t linear_workgroup() {
  return static_cast<int32_t>(workgroup_id(x) +
                              workgroup_id(y) * num_workgroups(x));
}

/// The number of this invocation, workgroup by workgroup.
inline int32_t linear_id() {
  return linear_workgroup() * static_cast<int32_t>(workgroup_size(x)) +
         static_cast<int32_t>(local_id(x));
}

inline int32_t divide_up(int32_t a, int32_t b) { return (a + b - 1) / b; }

inline float sum4(vec<float, 4> v) { return (v.x + v.y) + (v.z + v.w); }

} // namespace poot::library

#endif // POOT_KERNELS_LIBRARY_H
