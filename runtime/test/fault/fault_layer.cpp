// A Vulkan layer that makes calls fail on demand, since no driver on a test
// machine loses its device or runs out of memory when asked to.
//
// While the environment variable POOT_FAULT is "NAME=RESULT", every call of
// that function returns that VkResult instead of reaching the driver:
// "vkQueueSubmit=-4". Functions: those of POOT_FAULT_FUNCTIONS. With
// "timestamps=0" its queues have no timestamps.

#include <cstdlib>
#include <cstring>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define POOT_FAULT_FUNCTIONS(X)                                                \
  X(AllocateMemory)                                                            \
  X(CreateBuffer)                                                              \
  X(CreateComputePipelines)                                                    \
  X(QueueSubmit)                                                               \
  X(WaitSemaphores)

// Of the last instance and device made; a test uses one driver only, so that
// they are the same for all.
static PFN_vkGetInstanceProcAddr nextInstanceProc;
static PFN_vkGetDeviceProcAddr nextDeviceProc;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties nextQueueFamilies;
#define X(name) static PFN_vk##name next##name;
POOT_FAULT_FUNCTIONS(X)
#undef X

/// Whether FUNCTION is to fail, and how.
static bool fails(const char *function, VkResult &result) {
  const char *fault = std::getenv("POOT_FAULT");
  size_t length = std::strlen(function);
  if (!fault || std::strncmp(fault, function, length) != 0 ||
      fault[length] != '=')
    return false;
  result = static_cast<VkResult>(std::atoi(fault + length + 1));
  return true;
}

template <class F, class... Args>
static VkResult call(const char *name, F next, Args... args) {
  VkResult result;
  return fails(name, result) ? result : next(args...);
}

static VKAPI_ATTR VkResult VKAPI_CALL faultAllocateMemory(
    VkDevice device, const VkMemoryAllocateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory) {
  return call("vkAllocateMemory", nextAllocateMemory, device, info, callbacks,
              memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL
faultCreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                  const VkAllocationCallbacks *callbacks, VkBuffer *buffer) {
  return call("vkCreateBuffer", nextCreateBuffer, device, info, callbacks,
              buffer);
}

static VKAPI_ATTR VkResult VKAPI_CALL faultCreateComputePipelines(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkComputePipelineCreateInfo *infos,
    const VkAllocationCallbacks *callbacks, VkPipeline *pipelines) {
  return call("vkCreateComputePipelines", nextCreateComputePipelines, device,
              cache, count, infos, callbacks, pipelines);
}

static VKAPI_ATTR VkResult VKAPI_CALL faultQueueSubmit(VkQueue queue,
                                                       uint32_t count,
                                                       const VkSubmitInfo *info,
                                                       VkFence fence) {
  return call("vkQueueSubmit", nextQueueSubmit, queue, count, info, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL faultWaitSemaphores(
    VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout) {
  return call("vkWaitSemaphores", nextWaitSemaphores, device, info, timeout);
}

static VKAPI_ATTR void VKAPI_CALL
faultQueueFamilies(VkPhysicalDevice device, uint32_t *count,
                   VkQueueFamilyProperties *families) {
  nextQueueFamilies(device, count, families);
  VkResult ignored;
  for (uint32_t i = 0; families && i != *count; ++i)
    if (fails("timestamps", ignored))
      families[i].timestampValidBits = 0;
}

/// The loader's link to the next layer, in the chain of a create info.
template <class Info>
static Info *findLink(const void *chain, VkStructureType type) {
  for (auto *info = static_cast<const VkBaseInStructure *>(chain); info;
       info = info->pNext) {
    auto *link = reinterpret_cast<const Info *>(info);
    if (info->sType == type && link->function == VK_LAYER_LINK_INFO)
      return const_cast<Info *>(link);
  }
  return nullptr;
}

static VKAPI_ATTR VkResult VKAPI_CALL faultCreateInstance(
    const VkInstanceCreateInfo *info, const VkAllocationCallbacks *callbacks,
    VkInstance *instance) {
  auto *link = findLink<VkLayerInstanceCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  nextInstanceProc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto create = reinterpret_cast<PFN_vkCreateInstance>(
      nextInstanceProc(VK_NULL_HANDLE, "vkCreateInstance"));
  VkResult result = create(info, callbacks, instance);
  if (result == VK_SUCCESS)
    nextQueueFamilies =
        reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
            nextInstanceProc(*instance,
                             "vkGetPhysicalDeviceQueueFamilyProperties"));
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL
faultCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                  const VkAllocationCallbacks *callbacks, VkDevice *device) {
  auto *link = findLink<VkLayerDeviceCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  auto instanceProc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  nextDeviceProc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  auto create = reinterpret_cast<PFN_vkCreateDevice>(
      instanceProc(VK_NULL_HANDLE, "vkCreateDevice"));
  VkResult result = create(physical, info, callbacks, device);
  if (result != VK_SUCCESS)
    return result;
#define X(name)                                                                \
  next##name =                                                                 \
      reinterpret_cast<PFN_vk##name>(nextDeviceProc(*device, "vk" #name));
  POOT_FAULT_FUNCTIONS(X)
#undef X
  return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
faultGetDeviceProcAddr(VkDevice device, const char *name) {
#define X(function)                                                            \
  if (std::strcmp(name, "vk" #function) == 0)                                  \
    return reinterpret_cast<PFN_vkVoidFunction>(fault##function);
  POOT_FAULT_FUNCTIONS(X)
#undef X
  return nextDeviceProc(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
faultGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (std::strcmp(name, "vkCreateInstance") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(faultCreateInstance);
  if (std::strcmp(name, "vkCreateDevice") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(faultCreateDevice);
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(faultGetDeviceProcAddr);
  if (std::strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(faultQueueFamilies);
  return nextInstanceProc ? nextInstanceProc(instance, name) : nullptr;
}

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = faultGetInstanceProcAddr;
  interface->pfnGetDeviceProcAddr = faultGetDeviceProcAddr;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
