// Creates the instance and asks every physical device what it can do.

#include "instance.h"

#include "cooperative_matrix.h"
#include "poot/bundle/features.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

using namespace poot;
using namespace poot::runtime;
using namespace poot::runtime::vulkan;
using bundle::Feature;

static constexpr uint32_t kLowestVersion = VK_API_VERSION_1_2;
static const char kValidationLayer[] = "VK_LAYER_KHRONOS_validation";

static std::string versionName(uint32_t version) {
  return weights::concat(VK_API_VERSION_MAJOR(version), '.',
                         VK_API_VERSION_MINOR(version));
}

static std::string hex(const uint8_t *bytes, size_t count) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i != count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

void MessageLog::add(std::string message) {
  // A broken program repeats itself at every dispatch.
  constexpr size_t kMost = 1000;
  std::lock_guard<std::mutex> lock(mutex_);
  if (messages_.size() < kMost)
    messages_.push_back(std::move(message));
}

std::vector<std::string> MessageLog::messages() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return messages_;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(
    VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
    const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  static_cast<MessageLog *>(user)->add(data->pMessage);
  return VK_FALSE;
}

Error Instance::create(bool validation, std::unique_ptr<Instance> &result,
                       std::vector<std::string> &notes) {
  const Loader &loader = Loader::get();
  if (!loader.missing.empty())
    return makeError(POOT_NO_DEVICE, loader.missing);

  uint32_t version = VK_API_VERSION_1_0;
  loader.EnumerateInstanceVersion(&version);
  if (version < kLowestVersion)
    return makeError(POOT_NO_DEVICE, "vulkan: the loader is of version ",
                     versionName(version), "; 1.2 or newer is needed");
  version = std::min<uint32_t>(version, VK_API_VERSION_1_3);

  std::unique_ptr<Instance> instance(new Instance);
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "poot";
  application.pEngineName = "poot";
  application.apiVersion = version;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  const char *layer = kValidationLayer;
  const char *debugUtils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = onMessage;
  messenger.pUserData = &instance->log_;
  VkValidationFeatureEnableEXT enabled[] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT checks = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  checks.enabledValidationFeatureCount = 1;
  checks.pEnabledValidationFeatures = enabled;
  if (validation) {
    uint32_t count = 0;
    loader.EnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    loader.EnumerateInstanceLayerProperties(&count, layers.data());
    layers.resize(count);
    if (std::none_of(layers.begin(), layers.end(), [](const auto &l) {
          return std::strcmp(l.layerName, kValidationLayer) == 0;
        }))
      return makeError(POOT_NO_DEVICE, "vulkan: validation was asked for, but ",
                       kValidationLayer,
                       " is not installed; install it (Debian: "
                       "vulkan-validationlayers) or turn validation off");
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &debugUtils;
    info.pNext = &checks;
  }

  VkResult status = loader.CreateInstance(&info, nullptr, &instance->handle_);
  if (status != VK_SUCCESS) {
    instance->handle_ = VK_NULL_HANDLE;
    return vulkanError(status, "vulkan", "creating an instance");
  }
  instance->functions_.load(loader, instance->handle_);

  if (validation) {
    auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        loader.GetInstanceProcAddr(instance->handle_,
                                   "vkCreateDebugUtilsMessengerEXT"));
    status = create ? create(instance->handle_, &messenger, nullptr,
                             &instance->messenger_)
                    : VK_ERROR_EXTENSION_NOT_PRESENT;
    if (status != VK_SUCCESS)
      return vulkanError(status, "vulkan",
                         "registering for validation messages");
  }

  uint32_t count = 0;
  status = instance->functions_.EnumeratePhysicalDevices(instance->handle_,
                                                         &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  if (status == VK_SUCCESS)
    status = instance->functions_.EnumeratePhysicalDevices(
        instance->handle_, &count, handles.data());
  // VK_INCOMPLETE: a device appeared in between; those known will do.
  if (status != VK_SUCCESS && status != VK_INCOMPLETE)
    return vulkanError(status, "vulkan", "listing the devices");
  handles.resize(count);
  for (VkPhysicalDevice handle : handles)
    instance->describe(handle, notes);
  result = std::move(instance);
  return success();
}

Instance::~Instance() {
  if (!handle_)
    return;
  if (messenger_) {
    auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        Loader::get().GetInstanceProcAddr(handle_,
                                          "vkDestroyDebugUtilsMessengerEXT"));
    if (destroy)
      destroy(handle_, messenger_, nullptr);
  } else {
    // The first instance to end lives on to the end of the process, so that the
    // loader keeps the drivers loaded: NVIDIA's 580 can't be unloaded and
    // loaded again more than about 30 times in one process.
    static std::atomic<VkInstance> kept{VK_NULL_HANDLE};
    VkInstance none = VK_NULL_HANDLE;
    if (kept.compare_exchange_strong(none, handle_))
      return;
  }
  functions_.DestroyInstance(handle_, nullptr);
}

/// Whether the device has the product that Feature::CooperativeMatrix means.
static bool hasCooperativeMatrix(VkInstance instance, VkPhysicalDevice device) {
  auto getProperties = reinterpret_cast<GetCooperativeMatrixProperties>(
      Loader::get().GetInstanceProcAddr(
          instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (!getProperties)
    return false;
  uint32_t count = 0;
  if (getProperties(device, &count, nullptr) != VK_SUCCESS)
    return false;
  std::vector<CooperativeMatrixProperties> products(count);
  if (getProperties(device, &count, products.data()) != VK_SUCCESS)
    return false;
  return std::any_of(products.begin(), products.begin() + count,
                     [](const CooperativeMatrixProperties &product) {
                       return product.rows == 16 && product.columns == 16 &&
                              product.inner == 16 &&
                              product.aType == kComponentFloat16 &&
                              product.bType == kComponentFloat16 &&
                              product.cType == kComponentFloat32 &&
                              product.resultType == kComponentFloat32 &&
                              product.scope == kScopeSubgroup;
                     });
}

/// The features of kFeatures that the device has.
static std::vector<std::string>
featureNames(const PhysicalDevice &device,
             const VkPhysicalDeviceSubgroupProperties &subgroup) {
  auto operation = [&](VkSubgroupFeatureFlagBits bit) {
    return (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
           (subgroup.supportedOperations & bit);
  };
  auto has = [&](Feature feature) -> bool {
    switch (feature) {
    case Feature::Storage8:
      return device.features12.storageBuffer8BitAccess;
    case Feature::Storage16:
      return device.storage16.storageBuffer16BitAccess;
    case Feature::Int8:
      return device.features12.shaderInt8;
    case Feature::Int16:
      return device.features.shaderInt16;
    case Feature::Int64:
      return device.features.shaderInt64;
    case Feature::Float16:
      return device.features12.shaderFloat16;
    case Feature::Float64:
      return device.features.shaderFloat64;
    case Feature::SubgroupBasic:
      return operation(VK_SUBGROUP_FEATURE_BASIC_BIT);
    case Feature::SubgroupVote:
      return operation(VK_SUBGROUP_FEATURE_VOTE_BIT);
    case Feature::SubgroupArithmetic:
      return operation(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    case Feature::SubgroupBallot:
      return operation(VK_SUBGROUP_FEATURE_BALLOT_BIT);
    case Feature::SubgroupShuffle:
      return operation(VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
    case Feature::SubgroupShuffleRelative:
      return operation(VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT);
    case Feature::SubgroupExtendedTypes:
      return device.features12.shaderSubgroupExtendedTypes;
    case Feature::Int64Atomics:
      return device.features12.shaderBufferInt64Atomics;
    case Feature::Int64WorkgroupAtomics:
      return device.features12.shaderSharedInt64Atomics;
    case Feature::CooperativeMatrix:
      return device.cooperativeMatrix;
    case Feature::Cpu:
      return device.info.info.type == POOT_DEVICE_CPU;
    }
    return false;
  };
  std::vector<std::string> names;
  for (size_t i = 0; i != bundle::kNumFeatures; ++i)
    if (has(static_cast<Feature>(i)))
      names.push_back(bundle::kFeatures[i].name);
  return names;
}

static poot_device_type deviceType(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return POOT_DEVICE_CPU;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return POOT_DEVICE_INTEGRATED_GPU;
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return POOT_DEVICE_DISCRETE_GPU;
  default:
    return POOT_DEVICE_OTHER;
  }
}

/// Whether the host can write what kernels read at full speed, so that staging
/// would only copy twice.
static bool isUnified(const PhysicalDevice &device, VkPhysicalDeviceType type) {
  // For tests of the staging path on a machine with CPU devices only.
  const char *staging = std::getenv("POOT_VULKAN_STAGING");
  if (staging && std::strcmp(staging, "1") == 0)
    return false;
  const VkPhysicalDeviceMemoryProperties &memory = device.memory;
  bool allLocal = true;
  for (uint32_t i = 0; i != memory.memoryHeapCount; ++i)
    allLocal &= (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
                    ? true
                    : false;
  if (type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU &&
      type != VK_PHYSICAL_DEVICE_TYPE_CPU && !allLocal)
    return false;
  VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                 VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = 0; i != memory.memoryTypeCount; ++i)
    if ((memory.memoryTypes[i].propertyFlags & wanted) == wanted)
      return true;
  return false;
}

void Instance::describe(VkPhysicalDevice handle,
                        std::vector<std::string> &notes) {
  PhysicalDevice device;
  device.handle = handle;
  VkPhysicalDeviceProperties basic;
  functions_.GetPhysicalDeviceProperties(handle, &basic);
  auto skip = [&](const std::string &why) {
    notes.push_back(weights::concat("vulkan: device '", basic.deviceName,
                                    "' is left out: ", why));
  };
  device.apiVersion = std::min<uint32_t>(basic.apiVersion, VK_API_VERSION_1_3);
  if (basic.apiVersion < kLowestVersion)
    return skip(weights::concat("its driver offers Vulkan ",
                                versionName(basic.apiVersion),
                                ", and 1.2 is needed; update the driver"));

  uint32_t count = 0;
  functions_.GetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions_.GetPhysicalDeviceQueueFamilyProperties(handle, &count,
                                                    families.data());
  uint32_t family = 0;
  while (family != count &&
         !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++family;
  if (family == count)
    return skip("it has no compute queue");
  device.queueFamily = family;
  device.timestampBits = families[family].timestampValidBits;

  uint32_t extensionCount = 0;
  functions_.EnumerateDeviceExtensionProperties(handle, nullptr,
                                                &extensionCount, nullptr);
  std::vector<VkExtensionProperties> extensions(extensionCount);
  functions_.EnumerateDeviceExtensionProperties(
      handle, nullptr, &extensionCount, extensions.data());
  auto hasExtension = [&](const char *name) {
    return std::any_of(
        extensions.begin(), extensions.end(),
        [&](const auto &e) { return std::strcmp(e.extensionName, name) == 0; });
  };
  bool sizeControlExtension =
      hasExtension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  bool is13 = device.apiVersion >= VK_API_VERSION_1_3;
  bool mayControlSize = is13 || sizeControlExtension;

  // Features: ask for all, keep those that kFeatures names.
  VkPhysicalDeviceSubgroupSizeControlFeatures sizeControl = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDevice16BitStorageFeatures storage16 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  storage16.pNext = mayControlSize ? &sizeControl : nullptr;
  VkPhysicalDeviceVulkan12Features features12 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  features12.pNext = &storage16;
  // Its code is SPIR-V 1.6, which Vulkan 1.3 takes.
  CooperativeMatrixFeatures cooperativeMatrix;
  bool mayMultiply = is13 && hasExtension(kCooperativeMatrixExtension);
  if (mayMultiply) {
    cooperativeMatrix.pNext = features12.pNext;
    features12.pNext = &cooperativeMatrix;
  }
  VkPhysicalDeviceFeatures2 features = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  features.pNext = &features12;
  functions_.GetPhysicalDeviceFeatures2(handle, &features);
  if (!features12.timelineSemaphore)
    return skip("its driver lacks timeline semaphores; update the driver");
  device.features.shaderInt16 = features.features.shaderInt16;
  device.features.shaderInt64 = features.features.shaderInt64;
  device.features.shaderFloat64 = features.features.shaderFloat64;
  device.storage16.sType = storage16.sType;
  device.storage16.storageBuffer16BitAccess =
      storage16.storageBuffer16BitAccess;
  device.features12.sType = features12.sType;
  device.features12.timelineSemaphore = VK_TRUE;
  device.features12.storageBuffer8BitAccess =
      features12.storageBuffer8BitAccess;
  device.features12.shaderInt8 = features12.shaderInt8;
  device.features12.shaderFloat16 = features12.shaderFloat16;
  device.features12.shaderSubgroupExtendedTypes =
      features12.shaderSubgroupExtendedTypes;
  device.features12.shaderBufferInt64Atomics =
      features12.shaderBufferInt64Atomics;
  device.features12.shaderSharedInt64Atomics =
      features12.shaderSharedInt64Atomics;
  device.cooperativeMatrix = cooperativeMatrix.cooperativeMatrix &&
                             hasCooperativeMatrix(handle_, handle);

  // Properties.
  VkPhysicalDeviceMaintenance4Properties maintenance4 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  sizes.pNext = is13 ? &maintenance4 : nullptr;
  VkPhysicalDeviceDriverProperties driver = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  driver.pNext = mayControlSize ? &sizes : nullptr;
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &driver};
  VkPhysicalDeviceMaintenance3Properties maintenance3 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &subgroup};
  VkPhysicalDeviceIDProperties ids = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, &maintenance3};
  VkPhysicalDeviceProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &ids};
  functions_.GetPhysicalDeviceProperties2(handle, &properties);
  functions_.GetPhysicalDeviceMemoryProperties(handle, &device.memory);

  device.limits = properties.properties.limits;
  device.timestampPeriod = device.limits.timestampPeriod;
  device.maxAllocation = maintenance3.maxMemoryAllocationSize;
  if (is13 && maintenance4.maxBufferSize)
    device.maxAllocation =
        std::min<uint64_t>(device.maxAllocation, maintenance4.maxBufferSize);
  device.subgroupSize = subgroup.subgroupSize;
  if (mayControlSize && sizeControl.subgroupSizeControl &&
      (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT)) {
    device.subgroupSizeControl = true;
    device.subgroupSizeControlIsExtension = !is13;
    device.minSubgroupSize = sizes.minSubgroupSize;
    device.maxSubgroupSize = sizes.maxSubgroupSize;
  }
  device.unified = isUnified(device, basic.deviceType);
  device.cacheKey = weights::concat(hex(ids.deviceUUID, VK_UUID_SIZE), '-',
                                    basic.driverVersion, '-',
                                    hex(basic.pipelineCacheUUID, VK_UUID_SIZE));

  DeviceInfo &info = device.info;
  info.api = "vulkan";
  info.id = weights::concat("vulkan:", devices_.size());
  info.name = basic.deviceName;
  info.driver = driver.driverName;
  if (driver.driverInfo[0])
    info.driver += weights::concat(' ', driver.driverInfo);
  info.info.type = deviceType(basic.deviceType);
  info.features = featureNames(device, subgroup);
  info.info.unified_memory = device.unified;
  for (uint32_t i = 0; i != device.memory.memoryHeapCount; ++i)
    if (device.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.info.memory = std::max<uint64_t>(info.info.memory,
                                            device.memory.memoryHeaps[i].size);
  info.info.max_allocation = device.maxAllocation;
  info.info.max_argument_range = device.limits.maxStorageBufferRange;
  info.info.max_metadata_bytes = device.limits.maxPushConstantsSize;
  info.info.subgroup_size = device.subgroupSize;
  devices_.push_back(std::move(device));
}
