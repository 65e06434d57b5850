// Device memory. Large buffers have memory of their own, small ones are cut in
// order from blocks that go when their last buffer does: weights, states and
// arenas come and go together, so nothing cleverer is needed.

#include "device.h"

#include <algorithm>

using namespace poot;
using namespace poot::runtime;
using namespace poot::runtime::vulkan;

static constexpr uint64_t kSmallestBlock = uint64_t(1) << 20;
static constexpr uint64_t kLargestBlock = uint64_t(32) << 20;

VulkanBuffer::~VulkanBuffer() { device.release(*this); }

Error VulkanDevice::findMemoryType(uint32_t allowed, Memory memory,
                                   uint32_t &type, bool &hostVisible) const {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  // Wishes in order; the specification guarantees that one is granted.
  std::vector<VkMemoryPropertyFlags> wishes;
  switch (memory) {
  case Memory::Device:
  case Memory::Temporary:
    if (physical_->unified)
      wishes = {local | host | cached, local | host};
    wishes.push_back(local);
    break;
  case Memory::Upload:
    wishes = {host};
    break;
  case Memory::Readback:
    wishes = {host | cached, host};
    break;
  }
  const VkPhysicalDeviceMemoryProperties &properties = physical_->memory;
  for (VkMemoryPropertyFlags wish : wishes)
    for (uint32_t i = 0; i != properties.memoryTypeCount; ++i)
      if ((allowed >> i & 1) &&
          (properties.memoryTypes[i].propertyFlags & wish) == wish) {
        type = i;
        hostVisible = (wish & host) == host;
        return success();
      }
  return makeError(POOT_DRIVER_ERROR, describe(),
                   ": the driver offers no memory that buffers can use");
}

Error VulkanDevice::takeBlock(const VkMemoryRequirements &requirements,
                              Memory memory, const std::string &what,
                              Block *&block, uint64_t &offset) {
  uint32_t type = 0;
  bool hostVisible = false;
  if (Error e = findMemoryType(requirements.memoryTypeBits, memory, type,
                               hostVisible))
    return e;
  auto &blocks = blocks_[static_cast<size_t>(memory)];
  uint64_t alignment = std::max<uint64_t>(requirements.alignment, 256);
  bool small = requirements.size <= kLargestBlock / 4;
  if (small && !blocks.empty()) {
    Block &last = *blocks.back();
    uint64_t start = (last.used + alignment - 1) / alignment * alignment;
    if (last.type == type && start <= last.size &&
        requirements.size <= last.size - start) {
      last.used = start + requirements.size;
      ++last.live;
      block = &last;
      offset = start;
      return success();
    }
  }

  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.memoryTypeIndex = type;
  info.allocationSize = requirements.size;
  if (small) {
    uint64_t last = blocks.empty() ? 0 : blocks.back()->size;
    info.allocationSize =
        std::max(requirements.size,
                 std::min(std::max(2 * last, kSmallestBlock), kLargestBlock));
  }
  auto fresh = std::make_unique<Block>();
  VkResult status = vk_.AllocateMemory(device_, &info, nullptr, &fresh->memory);
  if (status != VK_SUCCESS && info.allocationSize > requirements.size) {
    info.allocationSize = requirements.size;
    status = vk_.AllocateMemory(device_, &info, nullptr, &fresh->memory);
  }
  if (status != VK_SUCCESS)
    return failed(status,
                  weights::concat("allocating ", formatBytes(requirements.size),
                                  " for ", what, " (it has ",
                                  formatBytes(info_.info.memory), " in all)"))
        .with("bytes", std::to_string(requirements.size));
  if (hostVisible) {
    void *host = nullptr;
    status = vk_.MapMemory(device_, fresh->memory, 0, VK_WHOLE_SIZE, 0, &host);
    if (status != VK_SUCCESS) {
      vk_.FreeMemory(device_, fresh->memory, nullptr);
      return failed(status, weights::concat("mapping the memory of ", what));
    }
    fresh->host = static_cast<uint8_t *>(host);
  }
  fresh->type = type;
  fresh->size = info.allocationSize;
  fresh->used = requirements.size;
  fresh->live = 1;
  block = fresh.get();
  offset = 0;
  // Small buffers are cut from the last block: let a full one not hide it.
  if (small || blocks.empty())
    blocks.push_back(std::move(fresh));
  else
    blocks.insert(blocks.end() - 1, std::move(fresh));
  return success();
}

Error VulkanDevice::allocate(uint64_t size, Memory memory,
                             const std::string &what,
                             std::unique_ptr<Buffer> &result) {
  if (lost_)
    return failed(VK_ERROR_DEVICE_LOST, "allocating memory");
  if (size > physical_->maxAllocation || size > UINT64_MAX - 256)
    return makeError(POOT_DEVICE_LIMIT, describe(), ": ", what, " needs ",
                     formatBytes(size), " (", size,
                     " bytes) in one buffer, and the driver's limit "
                     "maxMemoryAllocationSize is ",
                     formatBytes(physical_->maxAllocation),
                     "; use a smaller model or smaller state extents")
        .with("limit", "maxMemoryAllocationSize")
        .with("bytes", std::to_string(size));
  auto buffer = std::make_unique<VulkanBuffer>(*this);
  buffer->memory = memory;
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  // A multiple of 16, so that kernels may read odd sizes by words or vectors.
  info.size = std::max<uint64_t>((size + 15) / 16 * 16, 16);
  info.usage =
      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (memory == Memory::Device || memory == Memory::Temporary)
    info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VkResult status = vk_.CreateBuffer(device_, &info, nullptr, &buffer->handle);
  if (status != VK_SUCCESS) {
    buffer->handle = VK_NULL_HANDLE;
    return failed(status, weights::concat("creating a buffer of ",
                                          formatBytes(size), " for ", what));
  }
  VkMemoryRequirements requirements;
  vk_.GetBufferMemoryRequirements(device_, buffer->handle, &requirements);

  uint64_t offset = 0;
  {
    std::lock_guard<std::mutex> lock(memoryMutex_);
    if (Error e = takeBlock(requirements, memory, what, buffer->block, offset))
      return e;
  }
  status = vk_.BindBufferMemory(device_, buffer->handle, buffer->block->memory,
                                offset);
  if (status != VK_SUCCESS)
    return failed(status, weights::concat("binding the memory of ", what));
  buffer->size_ = size;
  if (buffer->block->host)
    buffer->host_ = buffer->block->host + offset;
  result = std::move(buffer);
  return success();
}

void VulkanDevice::release(VulkanBuffer &buffer) {
  vk_.DestroyBuffer(device_, buffer.handle, nullptr);
  if (!buffer.block)
    return;
  std::lock_guard<std::mutex> lock(memoryMutex_);
  if (--buffer.block->live)
    return;
  vk_.FreeMemory(device_, buffer.block->memory, nullptr);
  auto &blocks = blocks_[static_cast<size_t>(buffer.memory)];
  blocks.erase(
      std::find_if(blocks.begin(), blocks.end(), [&](const auto &block) {
        return block.get() == buffer.block;
      }));
}
