// The kernel interpreter as a device of the runtime: "interp:0". It runs the
// KIR that a bundle carries, on the CPU. With validation, kernels run under the
// sanitizer, and its reports are the device's messages.

#ifndef POOT_RUNTIME_INTERP_DEVICE_H
#define POOT_RUNTIME_INTERP_DEVICE_H

#include "../device.h"

namespace poot::runtime::interp {

void listInterpreter(DeviceList &list);
Error openInterpreter(const DeviceOptions &options,
                      std::shared_ptr<Device> &device);

} // namespace poot::runtime::interp

#endif // POOT_RUNTIME_INTERP_DEVICE_H
