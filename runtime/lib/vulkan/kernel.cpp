// Pipelines from the SPIR-V of a bundle, and the file that keeps what the
// driver compiled.
//
// The cache file is named after the device and the driver's build and holds a
// header of ours before the driver's data: some drivers crash on damaged data
// instead of refusing it. Without a usable file everything works, only slower,
// so no failure here is an error.

#include "device.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <xxhash.h>

#include <unistd.h>

using namespace poot;
using namespace poot::runtime;
using namespace poot::runtime::vulkan;

static constexpr uint32_t kSpirvMagic = 0x07230203;
static constexpr uint64_t kLargestCache = uint64_t(256) << 20;

namespace {
struct CacheHeader {
  char magic[8];
  uint64_t size;
  uint64_t hash; // XXH3-64 of the bytes that follow.
};
} // namespace

static const char kCacheMagic[8] = {'p', 'o', 'o', 't', 'v', 'k', 'c', '1'};

VulkanKernel::~VulkanKernel() {
  device.vk_.DestroyPipeline(device.device_, pipeline, nullptr);
}

void VulkanDevice::loadPipelineCache(const std::string &folder) {
  std::vector<char> data;
  if (!folder.empty()) {
    cacheFile_ =
        weights::concat(folder, "/vulkan-", physical_->cacheKey, ".bin");
    std::ifstream file(cacheFile_, std::ios::binary);
    CacheHeader header;
    if (file.read(reinterpret_cast<char *>(&header), sizeof header) &&
        std::memcmp(header.magic, kCacheMagic, sizeof kCacheMagic) == 0 &&
        header.size <= kLargestCache) {
      data.resize(header.size);
      if (!file.read(data.data(), static_cast<std::streamsize>(data.size())) ||
          XXH3_64bits(data.data(), data.size()) != header.hash)
        data.clear();
    }
  }
  VkPipelineCacheCreateInfo info = {
      VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  if (vk_.CreatePipelineCache(device_, &info, nullptr, &cache_) != VK_SUCCESS)
    cache_ = VK_NULL_HANDLE;
}

void VulkanDevice::kernelsLoaded() {
  if (cacheFile_.empty() || !cache_ || !cacheGrew_.exchange(false))
    return;
  std::lock_guard<std::mutex> lock(kernelMutex_);
  size_t size = 0;
  if (vk_.GetPipelineCacheData(device_, cache_, &size, nullptr) != VK_SUCCESS ||
      size == 0 || size > kLargestCache)
    return;
  std::vector<char> data(size);
  if (vk_.GetPipelineCacheData(device_, cache_, &size, data.data()) !=
      VK_SUCCESS)
    return;
  CacheHeader header;
  std::memcpy(header.magic, kCacheMagic, sizeof kCacheMagic);
  header.size = size;
  header.hash = XXH3_64bits(data.data(), size);

  std::error_code ignored;
  std::filesystem::create_directories(
      std::filesystem::path(cacheFile_).parent_path(), ignored);
  static std::atomic<unsigned> counter{0};
  std::string temporary =
      weights::concat(cacheFile_, '.', getpid(), '.', counter++, ".tmp");
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char *>(&header), sizeof header);
  file.write(data.data(), static_cast<std::streamsize>(size));
  file.close();
  if (file)
    std::filesystem::rename(temporary, cacheFile_, ignored);
  if (!file || ignored)
    std::filesystem::remove(temporary, ignored);
}

Error VulkanDevice::checkKernel(const bundle::fb::Kernel &kernel) {
  const VkPhysicalDeviceLimits &limits = physical_->limits;
  auto over = [&](const std::string &what, uint64_t has, const char *limit,
                  uint64_t most) {
    return makeError(POOT_DEVICE_LIMIT, describe(), ": kernel '",
                     kernel.name()->str(), "' has ", what, " ", has,
                     ", and the device's limit ", limit, " is ", most,
                     "; compile the bundle for this device")
        .with("kernel", kernel.name()->str())
        .with("limit", limit);
  };
  const auto &group = *kernel.workgroup_size();
  uint64_t invocations = 1;
  for (uint32_t i = 0; i != group.size() && i != 3; ++i) {
    if (group[i] > limits.maxComputeWorkGroupSize[i])
      return over("a workgroup extent of", group[i], "maxComputeWorkGroupSize",
                  limits.maxComputeWorkGroupSize[i]);
    invocations *= group[i];
  }
  if (invocations > limits.maxComputeWorkGroupInvocations)
    return over("work-items in a group:", invocations,
                "maxComputeWorkGroupInvocations",
                limits.maxComputeWorkGroupInvocations);
  if (kernel.static_workgroup_bytes() > limits.maxComputeSharedMemorySize)
    return over("bytes of workgroup memory:", kernel.static_workgroup_bytes(),
                "maxComputeSharedMemorySize",
                limits.maxComputeSharedMemorySize);
  if (uint64_t(kernel.metadata_words()) * 4 > limits.maxPushConstantsSize)
    return over("bytes of metadata:", uint64_t(kernel.metadata_words()) * 4,
                "maxPushConstantsSize", limits.maxPushConstantsSize);
  uint64_t arguments = kernel.arguments() ? kernel.arguments()->size() : 0;
  if (arguments > limits.maxPerStageDescriptorStorageBuffers)
    return over("arguments:", arguments, "maxPerStageDescriptorStorageBuffers",
                limits.maxPerStageDescriptorStorageBuffers);
  if (kernel.required_features())
    for (const auto *feature : *kernel.required_features())
      if (!hasFeature(feature->str()))
        return makeError(POOT_NO_TARGET, describe(), ": kernel '",
                         kernel.name()->str(), "' requires the feature '",
                         feature->str(), "', which the device lacks; it has ",
                         formatNames(info_.features))
            .with("kernel", kernel.name()->str())
            .with("feature", feature->str());
  uint32_t subgroup = kernel.subgroup_size();
  if (subgroup && subgroup != physical_->subgroupSize &&
      !(physical_->subgroupSizeControl &&
        subgroup >= physical_->minSubgroupSize &&
        subgroup <= physical_->maxSubgroupSize &&
        (subgroup & (subgroup - 1)) == 0))
    return makeError(POOT_NO_TARGET, describe(), ": kernel '",
                     kernel.name()->str(), "' needs subgroups of ", subgroup,
                     ", and the device has subgroups of ",
                     physical_->subgroupSize)
        .with("kernel", kernel.name()->str());
  return success();
}

Error VulkanDevice::findLayout(uint32_t arguments, uint32_t metadataWords,
                               Layout &result) {
  std::lock_guard<std::mutex> lock(kernelMutex_);
  auto found = layouts_.find({arguments, metadataWords});
  if (found != layouts_.end()) {
    result = found->second;
    return success();
  }
  std::vector<VkDescriptorSetLayoutBinding> bindings(arguments);
  for (uint32_t i = 0; i != arguments; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                   VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = arguments;
  set.pBindings = bindings.data();
  Layout layout;
  VkResult status =
      vk_.CreateDescriptorSetLayout(device_, &set, nullptr, &layout.set);
  if (status != VK_SUCCESS)
    return failed(status, "creating a descriptor set layout");
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               metadataWords * 4};
  VkPipelineLayoutCreateInfo info = {
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &layout.set;
  info.pushConstantRangeCount = metadataWords ? 1 : 0;
  info.pPushConstantRanges = &range;
  status = vk_.CreatePipelineLayout(device_, &info, nullptr, &layout.pipeline);
  if (status != VK_SUCCESS) {
    vk_.DestroyDescriptorSetLayout(device_, layout.set, nullptr);
    return failed(status, "creating a pipeline layout");
  }
  result = layouts_[{arguments, metadataWords}] = layout;
  return success();
}

static std::string spirvVersion(uint32_t word) {
  return weights::concat(word >> 16 & 255, '.', word >> 8 & 255);
}

/// A header and whole instructions. Drivers take more than this on trust, but
/// none can walk past the end of such code.
static bool isSpirv(const std::vector<uint32_t> &words) {
  constexpr size_t kHeaderWords = 5;
  if (words.size() < kHeaderWords || words[0] != kSpirvMagic)
    return false;
  size_t at = kHeaderWords;
  while (at < words.size()) {
    size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return false;
    at += length;
  }
  return true;
}

Error VulkanDevice::loadKernel(const bundle::BundleFile &file,
                               const bundle::fb::Kernel &kernel,
                               std::unique_ptr<Kernel> &result) {
  if (lost_)
    return failed(VK_ERROR_DEVICE_LOST, "loading a kernel");
  std::string name = kernel.name()->str();
  if (Error e = checkKernel(kernel))
    return e;
  const bundle::fb::Code *code = nullptr;
  for (const auto *candidate : *kernel.code())
    if (acceptsCode(*candidate)) {
      code = candidate;
      break;
    }
  if (!code)
    return makeError(POOT_NO_TARGET, file.name(), ": kernel '", name,
                     "' has no SPIR-V, which ", describe(), " needs")
        .with("kernel", name);

  weights::ByteSpan bytes = file.code(*code);
  // Copied, since the section may hold it at any offset.
  std::vector<uint32_t> words(bytes.size / 4);
  std::memcpy(words.data(), bytes.data, words.size() * 4);
  if (bytes.size % 4 || !isSpirv(words))
    return makeError(POOT_CORRUPT_BUNDLE, file.name(), ": the code of kernel '",
                     name, "' is not SPIR-V; compile the bundle anew")
        .with("kernel", name);
  uint32_t most =
      physical_->apiVersion >= VK_API_VERSION_1_3 ? 0x00010600 : 0x00010500;
  if (words[1] > most)
    return makeError(POOT_NO_TARGET, describe(), ": kernel '", name,
                     "' is SPIR-V ", spirvVersion(words[1]),
                     ", and the driver accepts up to ", spirvVersion(most),
                     "; update the driver")
        .with("kernel", name);

  auto loaded = std::make_unique<VulkanKernel>(*this);
  loaded->name_ = name;
  loaded->argumentCount = kernel.arguments() ? kernel.arguments()->size() : 0;
  loaded->metadataWords = kernel.metadata_words();
  if (Error e = findLayout(loaded->argumentCount, loaded->metadataWords,
                           loaded->layout))
    return e;

  VkShaderModuleCreateInfo moduleInfo = {
      VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = words.size() * 4;
  moduleInfo.pCode = words.data();
  VkShaderModule module;
  std::string doing = weights::concat("compiling kernel '", name, "'");
  VkResult status =
      vk_.CreateShaderModule(device_, &moduleInfo, nullptr, &module);
  if (status == VK_SUCCESS) {
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
    size.requiredSubgroupSize = kernel.subgroup_size();
    VkComputePipelineCreateInfo info = {
        VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    if (kernel.subgroup_size() && physical_->subgroupSizeControl)
      info.stage.pNext = &size;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = code->entry_point()->c_str();
    info.layout = loaded->layout.pipeline;
    status = vk_.CreateComputePipelines(device_, cache_, 1, &info, nullptr,
                                        &loaded->pipeline);
    vk_.DestroyShaderModule(device_, module, nullptr);
  }
  if (status != VK_SUCCESS) {
    loaded->pipeline = VK_NULL_HANDLE;
    if (status == VK_ERROR_OUT_OF_HOST_MEMORY ||
        status == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        status == VK_ERROR_DEVICE_LOST)
      return failed(status, doing);
    return makeError(POOT_KERNEL_REJECTED, describe(),
                     ": the driver did not accept kernel '", name,
                     "' (variant '",
                     kernel.variant() ? kernel.variant()->str() : "",
                     "', entry point '", code->entry_point()->str(),
                     "'): ", resultName(status),
                     "; run with POOT_VULKAN_VALIDATION=1 to learn why, or "
                     "update the driver")
        .with("kernel", name)
        .with("vk-result", resultName(status));
  }
  cacheGrew_ = true;
  result = std::move(loaded);
  return success();
}
