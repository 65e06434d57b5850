// A Vulkan instance and what its physical devices can do: everything that is
// asked of a driver before a device is opened.

#ifndef POOT_RUNTIME_VULKAN_INSTANCE_H
#define POOT_RUNTIME_VULKAN_INSTANCE_H

#include "../device.h"
#include "api.h"

#include <mutex>

namespace poot::runtime::vulkan {

/// Messages of the validation layers; the driver may call from any thread.
class MessageLog {
public:
  void add(std::string message);
  std::vector<std::string> messages() const;

private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

/// One usable device: Vulkan 1.2, timeline semaphores, a compute queue.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceInfo info;
  uint32_t apiVersion = 0;
  uint32_t queueFamily = 0;
  uint32_t timestampBits = 0; ///< 0: no timestamps.
  float timestampPeriod = 0;  ///< Nanoseconds.
  VkPhysicalDeviceLimits limits = {};
  VkPhysicalDeviceMemoryProperties memory = {};
  uint64_t maxAllocation = 0;
  bool unified = false;
  /// Whether a kernel may ask for one of several subgroup sizes.
  bool subgroupSizeControl = false;
  bool subgroupSizeControlIsExtension = false;
  uint32_t minSubgroupSize = 0;
  uint32_t maxSubgroupSize = 0;
  uint32_t subgroupSize = 0;
  /// Names device and driver build, for files of compiled kernels.
  std::string cacheKey;

  /// The features of kFeatures that the device has, as vkCreateDevice takes
  /// them.
  VkPhysicalDeviceFeatures features = {};
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  VkPhysicalDeviceVulkan12Features features12 = {};
  /// Whether subgroups multiply 16x16 matrices of f16 into f32.
  bool cooperativeMatrix = false;
};

class Instance {
public:
  /// NOTES tells why devices are left out.
  static Error create(bool validation, std::unique_ptr<Instance> &instance,
                      std::vector<std::string> &notes);
  ~Instance();

  const InstanceFunctions &functions() const { return functions_; }
  std::vector<PhysicalDevice> &devices() { return devices_; }
  std::vector<std::string> validationMessages() const {
    return log_.messages();
  }

private:
  Instance() = default;
  void describe(VkPhysicalDevice handle, std::vector<std::string> &notes);

  InstanceFunctions functions_;
  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<PhysicalDevice> devices_;
  MessageLog log_;
};

} // namespace poot::runtime::vulkan

#endif // POOT_RUNTIME_VULKAN_INSTANCE_H
