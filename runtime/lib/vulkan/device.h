// The Vulkan device: memory.cpp allocates, kernel.cpp makes pipelines and keeps
// their cache, recording.cpp records and submits.

#ifndef POOT_RUNTIME_VULKAN_DEVICE_H
#define POOT_RUNTIME_VULKAN_DEVICE_H

#include "instance.h"

#include <atomic>
#include <deque>
#include <map>

namespace poot::runtime::vulkan {

class VulkanDevice;

/// One VkDeviceMemory, from which buffers are cut in order.
struct Block {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint8_t *host = nullptr;
  uint32_t type = 0;
  uint64_t size = 0;
  uint64_t used = 0;
  uint32_t live = 0; ///< Buffers in it; the block goes with the last.
};

struct VulkanBuffer final : Buffer {
  explicit VulkanBuffer(VulkanDevice &device) : device(device) {}
  ~VulkanBuffer() override;

  VulkanDevice &device;
  VkBuffer handle = VK_NULL_HANDLE;
  Block *block = nullptr;
  Memory memory = Memory::Device;

  friend class VulkanDevice;
};

/// Shared by all kernels with as many arguments and words of metadata.
struct Layout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

struct VulkanKernel final : Kernel {
  explicit VulkanKernel(VulkanDevice &device) : device(device) {}
  ~VulkanKernel() override;

  VulkanDevice &device;
  VkPipeline pipeline = VK_NULL_HANDLE;
  Layout layout;
  uint32_t argumentCount = 0;
  uint32_t metadataWords = 0;

  friend class VulkanDevice;
};

struct VulkanRecording final : Recording {
  explicit VulkanRecording(VulkanDevice &device) : device(device) {}
  ~VulkanRecording() override;

  VulkanDevice &device;
  VkCommandPool commandPool = VK_NULL_HANDLE;
  VkDescriptorPool descriptorPool = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  /// One; or one for each command when it is timed without timestamps.
  std::vector<VkCommandBuffer> commandBuffers;
  size_t commandCount = 0;
  bool timedByHost = false;
  std::vector<double> hostMs;
};

class VulkanDevice final : public Device {
public:
  static Error open(std::unique_ptr<Instance> instance, size_t index,
                    const DeviceOptions &options,
                    std::shared_ptr<Device> &device);
  ~VulkanDevice() override;

  bool acceptsCode(const bundle::fb::Code &code) const override;
  Error allocate(uint64_t size, Memory memory, const std::string &what,
                 std::unique_ptr<Buffer> &buffer) override;
  Error loadKernel(const bundle::BundleFile &file,
                   const bundle::fb::Kernel &kernel,
                   std::unique_ptr<Kernel> &result) override;
  void kernelsLoaded() override;
  Error record(const std::vector<Command> &commands, bool timed,
               std::unique_ptr<Recording> &recording) override;
  Error readTimes(Recording &recording, std::vector<double> &ms) override;
  Error submit(const Submission &submission, uint64_t &ticket) override;
  Error wait(uint64_t ticket, uint64_t timeoutNs, bool &finished) override;
  std::vector<std::string> validationMessages() const override {
    return instance_->validationMessages();
  }

private:
  friend struct VulkanBuffer;
  friend struct VulkanKernel;
  friend struct VulkanRecording;

  /// What frames a submission: copies before and after a recording.
  struct Frame {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer before = VK_NULL_HANDLE;
    VkCommandBuffer after = VK_NULL_HANDLE;
    uint64_t ticket = 0;
  };

  VulkanDevice() = default;
  /// The error of a call that failed; remembers that the device was lost.
  Error failed(VkResult result, const std::string &doing);

  // memory.cpp
  Error findMemoryType(uint32_t allowed, Memory memory, uint32_t &type,
                       bool &hostVisible) const;
  Error takeBlock(const VkMemoryRequirements &requirements, Memory memory,
                  const std::string &what, Block *&block, uint64_t &offset);
  void release(VulkanBuffer &buffer);

  // kernel.cpp
  Error checkKernel(const bundle::fb::Kernel &kernel);
  Error findLayout(uint32_t arguments, uint32_t metadataWords, Layout &layout);
  void loadPipelineCache(const std::string &folder);

  // recording.cpp
  Error recordCommand(VulkanRecording &recording, VkCommandBuffer buffer,
                      const Command &command, const VulkanKernel *&bound);
  Error checkDispatch(const Command &command);
  Error takeFrame(Frame *&frame);
  Error submitBuffers(const std::vector<VkCommandBuffer> &buffers,
                      uint64_t &ticket);
  Error submitTimedByHost(VulkanRecording &recording);

  std::unique_ptr<Instance> instance_;
  PhysicalDevice *physical_ = nullptr; // In instance_.
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions vk_;
  std::atomic<bool> lost_{false};

  std::mutex memoryMutex_;
  std::vector<std::unique_ptr<Block>> blocks_[4]; // By Memory.

  std::mutex kernelMutex_;
  std::map<std::pair<uint32_t, uint32_t>, Layout> layouts_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::string cacheFile_;
  std::atomic<bool> cacheGrew_{false};

  std::mutex queueMutex_; // The queue, frames and tickets.
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  uint64_t lastTicket_ = 0;
  std::deque<Frame> frames_;
};

/// Lists the driver's devices and opens one; see device.h of the runtime.
void listVulkanDevices(DeviceList &list);

} // namespace poot::runtime::vulkan

#endif // POOT_RUNTIME_VULKAN_DEVICE_H
