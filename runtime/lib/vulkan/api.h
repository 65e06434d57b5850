// The Vulkan functions that the runtime calls, found with dlopen, and names for
// what the driver answers. No link-time dependency on libvulkan.

#ifndef POOT_RUNTIME_VULKAN_API_H
#define POOT_RUNTIME_VULKAN_API_H

#include "../error.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#define POOT_VULKAN_GLOBAL_FUNCTIONS(X)                                        \
  X(CreateInstance)                                                            \
  X(EnumerateInstanceVersion)                                                  \
  X(EnumerateInstanceLayerProperties)                                          \
  X(EnumerateInstanceExtensionProperties)

#define POOT_VULKAN_INSTANCE_FUNCTIONS(X)                                      \
  X(DestroyInstance)                                                           \
  X(EnumeratePhysicalDevices)                                                  \
  X(EnumerateDeviceExtensionProperties)                                        \
  X(GetPhysicalDeviceFeatures2)                                                \
  X(GetPhysicalDeviceMemoryProperties)                                         \
  X(GetPhysicalDeviceProperties)                                               \
  X(GetPhysicalDeviceProperties2)                                              \
  X(GetPhysicalDeviceQueueFamilyProperties)                                    \
  X(CreateDevice)                                                              \
  X(GetDeviceProcAddr)

#define POOT_VULKAN_DEVICE_FUNCTIONS(X)                                        \
  X(DestroyDevice)                                                             \
  X(DeviceWaitIdle)                                                            \
  X(GetDeviceQueue)                                                            \
  X(QueueSubmit)                                                               \
  X(AllocateMemory)                                                            \
  X(FreeMemory)                                                                \
  X(MapMemory)                                                                 \
  X(CreateBuffer)                                                              \
  X(DestroyBuffer)                                                             \
  X(GetBufferMemoryRequirements)                                               \
  X(BindBufferMemory)                                                          \
  X(CreateShaderModule)                                                        \
  X(DestroyShaderModule)                                                       \
  X(CreatePipelineCache)                                                       \
  X(DestroyPipelineCache)                                                      \
  X(GetPipelineCacheData)                                                      \
  X(CreateDescriptorSetLayout)                                                 \
  X(DestroyDescriptorSetLayout)                                                \
  X(CreatePipelineLayout)                                                      \
  X(DestroyPipelineLayout)                                                     \
  X(CreateComputePipelines)                                                    \
  X(DestroyPipeline)                                                           \
  X(CreateDescriptorPool)                                                      \
  X(DestroyDescriptorPool)                                                     \
  X(AllocateDescriptorSets)                                                    \
  X(UpdateDescriptorSets)                                                      \
  X(CreateCommandPool)                                                         \
  X(DestroyCommandPool)                                                        \
  X(ResetCommandPool)                                                          \
  X(AllocateCommandBuffers)                                                    \
  X(BeginCommandBuffer)                                                        \
  X(EndCommandBuffer)                                                          \
  X(CmdBindPipeline)                                                           \
  X(CmdBindDescriptorSets)                                                     \
  X(CmdPushConstants)                                                          \
  X(CmdDispatch)                                                               \
  X(CmdCopyBuffer)                                                             \
  X(CmdFillBuffer)                                                             \
  X(CmdPipelineBarrier)                                                        \
  X(CmdResetQueryPool)                                                         \
  X(CmdWriteTimestamp)                                                         \
  X(CreateQueryPool)                                                           \
  X(DestroyQueryPool)                                                          \
  X(GetQueryPoolResults)                                                       \
  X(GetSemaphoreCounterValue)                                                  \
  X(CreateSemaphore)                                                           \
  X(DestroySemaphore)                                                          \
  X(WaitSemaphores)

namespace poot::runtime::vulkan {

/// The loader library. Stays loaded for the life of the process, since drivers
/// leave threads and exit handlers behind.
struct Loader {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define X(name) PFN_vk##name name = nullptr;
  POOT_VULKAN_GLOBAL_FUNCTIONS(X)
#undef X
  /// Why there is no loader; empty when there is one.
  std::string missing;

  static const Loader &get();
};

struct InstanceFunctions {
#define X(name) PFN_vk##name name = nullptr;
  POOT_VULKAN_INSTANCE_FUNCTIONS(X)
#undef X
  void load(const Loader &loader, VkInstance instance);
};

struct DeviceFunctions {
#define X(name) PFN_vk##name name = nullptr;
  POOT_VULKAN_DEVICE_FUNCTIONS(X)
#undef X
  void load(const InstanceFunctions &instance, VkDevice device);
};

/// "VK_ERROR_DEVICE_LOST".
const char *resultName(VkResult result);

/// What a failed call means to the user. DEVICE says which device, DOING what
/// was attempted: "vulkan:0 (X): out of device memory while DOING; ...".
Error vulkanError(VkResult result, const std::string &device,
                  const std::string &doing);

} // namespace poot::runtime::vulkan

#endif // POOT_RUNTIME_VULKAN_API_H
