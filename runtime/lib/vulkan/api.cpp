// Finds the Vulkan loader and its functions, and words what drivers answer.

#include "api.h"

#include <dlfcn.h>

using namespace poot::runtime;
using namespace poot::runtime::vulkan;

const Loader &Loader::get() {
  static const Loader loader = [] {
    Loader l;
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      l.missing = "vulkan: libvulkan.so.1 was not found; install the Vulkan "
                  "loader (Debian: libvulkan1) and a driver";
      return l;
    }
    l.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        dlsym(library, "vkGetInstanceProcAddr"));
    bool complete = l.GetInstanceProcAddr != nullptr;
#define X(name)                                                                \
  if (l.GetInstanceProcAddr)                                                   \
    l.name = reinterpret_cast<PFN_vk##name>(                                   \
        l.GetInstanceProcAddr(nullptr, "vk" #name));                           \
  complete &= l.name != nullptr;
    POOT_VULKAN_GLOBAL_FUNCTIONS(X)
#undef X
    if (!complete)
      l.missing = "vulkan: libvulkan.so.1 is older than Vulkan 1.1; a loader "
                  "of 1.2 or newer is needed";
    return l;
  }();
  return loader;
}

void InstanceFunctions::load(const Loader &loader, VkInstance instance) {
#define X(name)                                                                \
  name = reinterpret_cast<PFN_vk##name>(                                       \
      loader.GetInstanceProcAddr(instance, "vk" #name));
  POOT_VULKAN_INSTANCE_FUNCTIONS(X)
#undef X
}

void DeviceFunctions::load(const InstanceFunctions &instance, VkDevice device) {
#define X(name)                                                                \
  name = reinterpret_cast<PFN_vk##name>(                                       \
      instance.GetDeviceProcAddr(device, "vk" #name));
  POOT_VULKAN_DEVICE_FUNCTIONS(X)
#undef X
}

const char *vulkan::resultName(VkResult result) {
  switch (result) {
#define X(name)                                                                \
  case name:                                                                   \
    return #name;
    X(VK_SUCCESS)
    X(VK_NOT_READY)
    X(VK_TIMEOUT)
    X(VK_INCOMPLETE)
    X(VK_ERROR_OUT_OF_HOST_MEMORY)
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    X(VK_ERROR_INITIALIZATION_FAILED)
    X(VK_ERROR_DEVICE_LOST)
    X(VK_ERROR_MEMORY_MAP_FAILED)
    X(VK_ERROR_LAYER_NOT_PRESENT)
    X(VK_ERROR_EXTENSION_NOT_PRESENT)
    X(VK_ERROR_FEATURE_NOT_PRESENT)
    X(VK_ERROR_INCOMPATIBLE_DRIVER)
    X(VK_ERROR_TOO_MANY_OBJECTS)
    X(VK_ERROR_FRAGMENTED_POOL)
    X(VK_ERROR_OUT_OF_POOL_MEMORY)
    X(VK_ERROR_FRAGMENTATION)
    X(VK_ERROR_INVALID_SHADER_NV)
    X(VK_ERROR_UNKNOWN)
#undef X
  default:
    return "an unknown VkResult";
  }
}

Error vulkan::vulkanError(VkResult result, const std::string &device,
                          const std::string &doing) {
  poot_code code = POOT_DRIVER_ERROR;
  std::string text;
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    code = POOT_OUT_OF_MEMORY;
    text = weights::concat(device, ": out of host memory while ", doing,
                           "; close other programs or use a smaller model");
    break;
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    code = POOT_OUT_OF_MEMORY;
    text = weights::concat(
        device, ": out of device memory while ", doing,
        "; close other programs that use the device, choose smaller state "
        "extents or a smaller model, or a device with more memory");
    break;
  case VK_ERROR_DEVICE_LOST:
    code = POOT_DEVICE_LOST;
    text = weights::concat(
        device, ": the device was lost while ", doing,
        " (it hung, crashed or was reset; the system log says more); what was "
        "on it is gone: close everything made from it and open it again");
    break;
  case VK_ERROR_TOO_MANY_OBJECTS:
    code = POOT_OUT_OF_MEMORY;
    text = weights::concat(device,
                           ": the driver's number of memory allocations is "
                           "exhausted while ",
                           doing, "; close other sessions of this process");
    break;
  case VK_ERROR_INCOMPATIBLE_DRIVER:
    code = POOT_NO_DEVICE;
    text = weights::concat(device, ": no Vulkan driver was found while ", doing,
                           "; install one for your GPU (or Mesa's lavapipe, "
                           "Debian: mesa-vulkan-drivers, for the CPU)");
    break;
  default:
    text = weights::concat(device, ": the driver answered ", resultName(result),
                           " while ", doing,
                           "; run with POOT_VULKAN_VALIDATION=1 to learn more, "
                           "or update the driver");
  }
  return makeError(code, text).with("vk-result", resultName(result));
}
