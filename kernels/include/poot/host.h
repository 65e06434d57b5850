//===- host.h - Runs kernels on the CPU -----------------------------------===//
//
// Launches a kernel on the calling thread, for tests and debuggers. Each
// work-item is a fibre; a barrier switches to the next one.
//
//   poot::host::result result = poot::host::launch(
//       {4, 1, 1}, {64, 1, 1}, [&] { scale({x, n}, {y, n}, n, 2.0f); });
//   if (!result)
//     std::cerr << result.error;
//
//===----------------------------------------------------------------------===//

#ifndef POOT_HOST_H
#define POOT_HOST_H

#include "poot/host_context.h"

#include <functional>
#include <string>

namespace poot::host {

struct extent3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct options {
  /// Lanes of a subgroup, 1 to 128. Work-items are numbered x fastest.
  uint32_t subgroup_size = 32;
  /// Bytes of each work-item's stack.
  size_t stack_bytes = 128 * 1024;
};

/// Converts to true if the launch went well. Otherwise it stopped at the first
/// fault, and ERROR says what that was: an index out of range, a barrier that
/// only a part of the workgroup reaches, an impossible launch.
struct result {
  std::string error;
  explicit operator bool() const { return error.empty(); }
};

/// Runs BODY, which calls a kernel, once for each work-item of GRID workgroups
/// of WORKGROUP_SIZE work-items. Memory of workgroup arrays is filled with 0xCD
/// before each workgroup.
result launch(extent3 grid, extent3 workgroup_size,
              const std::function<void()> &body, options options = {});

} // namespace poot::host

#endif // POOT_HOST_H
