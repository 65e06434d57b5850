// Opening and closing of a Vulkan device.

#include "device.h"
#include "cooperative_matrix.h"

using namespace poot;
using namespace poot::runtime;
using namespace poot::runtime::vulkan;

void vulkan::listVulkanDevices(DeviceList &list) {
  std::unique_ptr<Instance> instance;
  if (Error e = Instance::create(/*validation=*/false, instance, list.notes)) {
    list.notes.push_back(e->message);
    return;
  }
  if (instance->devices().empty())
    list.notes.push_back(
        "vulkan: no usable device; install a driver for your GPU, or Mesa's "
        "lavapipe (Debian: mesa-vulkan-drivers) to run on the CPU");
  for (PhysicalDevice &device : instance->devices()) {
    auto info = std::make_unique<DeviceInfo>(std::move(device.info));
    info->seal();
    list.devices.push_back(std::move(info));
  }
}

Error VulkanDevice::open(std::unique_ptr<Instance> instance, size_t index,
                         const DeviceOptions &options,
                         std::shared_ptr<Device> &result) {
  std::shared_ptr<VulkanDevice> device(new VulkanDevice);
  PhysicalDevice &physical = instance->devices()[index];
  device->instance_ = std::move(instance);
  device->physical_ = &physical;
  device->info_ = std::move(physical.info);
  device->info_.seal();
  // Planners align to 256, which is the most that a driver may ask for.
  device->argumentAlignment_ =
      std::max<uint64_t>(physical.limits.minStorageBufferOffsetAlignment, 4);

  float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = physical.queueFamily;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;

  VkPhysicalDeviceSubgroupSizeControlFeatures sizeControl = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  sizeControl.subgroupSizeControl = VK_TRUE;
  VkPhysicalDevice16BitStorageFeatures storage16 = physical.storage16;
  storage16.pNext = physical.subgroupSizeControl ? &sizeControl : nullptr;
  VkPhysicalDeviceVulkan12Features features12 = physical.features12;
  features12.pNext = &storage16;
  std::vector<const char *> extensions;
  CooperativeMatrixFeatures cooperativeMatrix;
  cooperativeMatrix.cooperativeMatrix = VK_TRUE;
  if (physical.cooperativeMatrix) {
    cooperativeMatrix.pNext = features12.pNext;
    features12.pNext = &cooperativeMatrix;
    extensions.push_back(kCooperativeMatrixExtension);
  }
  if (physical.subgroupSizeControlIsExtension)
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  VkPhysicalDeviceFeatures2 features = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12};
  features.features = physical.features;

  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const InstanceFunctions &vk = device->instance_->functions();
  VkResult status =
      vk.CreateDevice(physical.handle, &info, nullptr, &device->device_);
  if (status != VK_SUCCESS) {
    device->device_ = VK_NULL_HANDLE;
    return vulkanError(status, device->describe(), "opening the device");
  }
  device->vk_.load(vk, device->device_);
  device->vk_.GetDeviceQueue(device->device_, physical.queueFamily, 0,
                             &device->queue_);

  VkSemaphoreTypeCreateInfo type = {
      VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     &type};
  status = device->vk_.CreateSemaphore(device->device_, &semaphore, nullptr,
                                       &device->timeline_);
  if (status != VK_SUCCESS)
    return device->failed(status, "creating the timeline");
  device->loadPipelineCache(options.cacheFolder);
  result = std::move(device);
  return success();
}

VulkanDevice::~VulkanDevice() {
  if (!device_)
    return;
  vk_.DeviceWaitIdle(device_);
  for (Frame &frame : frames_)
    vk_.DestroyCommandPool(device_, frame.pool, nullptr);
  for (auto &[key, layout] : layouts_) {
    vk_.DestroyPipelineLayout(device_, layout.pipeline, nullptr);
    vk_.DestroyDescriptorSetLayout(device_, layout.set, nullptr);
  }
  vk_.DestroyPipelineCache(device_, cache_, nullptr);
  vk_.DestroySemaphore(device_, timeline_, nullptr);
  vk_.DestroyDevice(device_, nullptr);
}

Error VulkanDevice::failed(VkResult result, const std::string &doing) {
  // What still runs may use memory that is freed from here on. A lost device
  // answers at once.
  if (result == VK_ERROR_DEVICE_LOST && !lost_.exchange(true))
    vk_.DeviceWaitIdle(device_);
  return vulkanError(result, describe(), doing).with("device", info_.id);
}

bool VulkanDevice::acceptsCode(const bundle::fb::Code &code) const {
  return code.format() == bundle::fb::CodeFormat::Spirv;
}
