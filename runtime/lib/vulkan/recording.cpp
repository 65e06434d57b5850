// Command buffers: a program is recorded once; each submission frames it with
// a short command buffer of copies before and one after.
//
// Barriers are global memory barriers. Within a recording one goes before a
// command that waits for a command with no barrier since. Each frame starts
// with one, so that submissions see each other's writes.

#include "device.h"

#include <algorithm>
#include <chrono>

using namespace poot;
using namespace poot::runtime;
using namespace poot::runtime::vulkan;

static constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
static constexpr VkAccessFlags kWrites =
    VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
static constexpr VkAccessFlags kAccesses =
    kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

static void barrier(const DeviceFunctions &vk, VkCommandBuffer buffer) {
  VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = kWrites;
  memory.dstAccessMask = kAccesses;
  vk.CmdPipelineBarrier(buffer, kStages, kStages, 0, 1, &memory, 0, nullptr, 0,
                        nullptr);
}

VulkanRecording::~VulkanRecording() {
  device.vk_.DestroyQueryPool(device.device_, queries, nullptr);
  device.vk_.DestroyDescriptorPool(device.device_, descriptorPool, nullptr);
  device.vk_.DestroyCommandPool(device.device_, commandPool, nullptr);
}

Error VulkanDevice::checkDispatch(const Command &command) {
  const auto &kernel = static_cast<const VulkanKernel &>(*command.kernel);
  const VkPhysicalDeviceLimits &limits = physical_->limits;
  std::string where = weights::concat("kernel '", kernel.name(), "'");
  if (!command.location.empty())
    where += weights::concat(" (", command.location, ")");
  if (command.arguments.size() != kernel.argumentCount ||
      command.metadata.size() != kernel.metadataWords)
    return makeError(POOT_CORRUPT_BUNDLE, describe(), ": a dispatch of ", where,
                     " passes ", command.arguments.size(), " arguments and ",
                     command.metadata.size(), " words of metadata, and it has ",
                     kernel.argumentCount, " and ", kernel.metadataWords);
  for (unsigned i = 0; i != 3; ++i)
    if (command.grid[i] > limits.maxComputeWorkGroupCount[i])
      return makeError(POOT_DEVICE_LIMIT, describe(), ": a dispatch of ", where,
                       " has a grid of ", command.grid[0], "x", command.grid[1],
                       "x", command.grid[2],
                       ", and the device's limit maxComputeWorkGroupCount is ",
                       limits.maxComputeWorkGroupCount[0], "x",
                       limits.maxComputeWorkGroupCount[1], "x",
                       limits.maxComputeWorkGroupCount[2],
                       "; compile the bundle for this device")
          .with("kernel", kernel.name())
          .with("limit", "maxComputeWorkGroupCount");
  for (size_t i = 0; i != command.arguments.size(); ++i) {
    const Slice &slice = command.arguments[i];
    if (slice.size > limits.maxStorageBufferRange)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": argument ", i, " of ",
                       where, " spans ", formatBytes(slice.size), " (",
                       slice.size,
                       " bytes), and the device's limit maxStorageBufferRange "
                       "is ",
                       formatBytes(limits.maxStorageBufferRange),
                       "; compile the bundle for this limit, or make the state "
                       "extents smaller")
          .with("kernel", kernel.name())
          .with("limit", "maxStorageBufferRange");
    if (slice.offset % argumentAlignment_)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": argument ", i, " of ",
                       where, " starts at byte ", slice.offset,
                       " of its buffer, and the device needs multiples of ",
                       argumentAlignment_,
                       " (minStorageBufferOffsetAlignment); compile the bundle "
                       "for this device")
          .with("kernel", kernel.name())
          .with("limit", "minStorageBufferOffsetAlignment");
  }
  return success();
}

Error VulkanDevice::recordCommand(VulkanRecording &recording,
                                  VkCommandBuffer buffer,
                                  const Command &command,
                                  const VulkanKernel *&bound) {
  switch (command.kind) {
  case Command::Kind::Dispatch: {
    const auto &kernel = static_cast<const VulkanKernel &>(*command.kernel);
    if (bound != &kernel)
      vk_.CmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                          kernel.pipeline);
    bound = &kernel;
    if (kernel.argumentCount) {
      VkDescriptorSetAllocateInfo info = {
          VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
      info.descriptorPool = recording.descriptorPool;
      info.descriptorSetCount = 1;
      info.pSetLayouts = &kernel.layout.set;
      VkDescriptorSet set;
      VkResult status = vk_.AllocateDescriptorSets(device_, &info, &set);
      if (status != VK_SUCCESS)
        return failed(status, weights::concat("binding the arguments of '",
                                              kernel.name(), "'"));
      std::vector<VkDescriptorBufferInfo> ranges;
      for (const Slice &slice : command.arguments) {
        const auto &target = static_cast<const VulkanBuffer &>(*slice.buffer);
        // Kernels may read odd sizes by words; allocate() left room for it.
        uint64_t size = std::max<uint64_t>((slice.size + 3) / 4 * 4, 4);
        size =
            std::min<uint64_t>(size, physical_->limits.maxStorageBufferRange);
        ranges.push_back({target.handle, slice.offset, size});
      }
      VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      write.dstSet = set;
      write.descriptorCount = static_cast<uint32_t>(ranges.size());
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = ranges.data();
      // A write that is longer than its binding goes on with the next ones.
      vk_.UpdateDescriptorSets(device_, 1, &write, 0, nullptr);
      vk_.CmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                                kernel.layout.pipeline, 0, 1, &set, 0, nullptr);
    }
    if (kernel.metadataWords)
      vk_.CmdPushConstants(buffer, kernel.layout.pipeline,
                           VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           kernel.metadataWords * 4, command.metadata.data());
    vk_.CmdDispatch(buffer, command.grid[0], command.grid[1], command.grid[2]);
    return success();
  }
  case Command::Kind::Fill: {
    const Slice &to = command.destination;
    if (to.offset % 4 || to.size % 4)
      return makeError(POOT_DEVICE_LIMIT, describe(), ": a fill of ", to.size,
                       " bytes at offset ", to.offset,
                       ", and both must be multiples of 4");
    if (to.size)
      vk_.CmdFillBuffer(buffer, static_cast<VulkanBuffer &>(*to.buffer).handle,
                        to.offset, to.size, command.word);
    return success();
  }
  case Command::Kind::Copy: {
    const Slice &from = command.source, &to = command.destination;
    VkBufferCopy region = {from.offset, to.offset, to.size};
    if (to.size)
      vk_.CmdCopyBuffer(
          buffer, static_cast<VulkanBuffer &>(*from.buffer).handle,
          static_cast<VulkanBuffer &>(*to.buffer).handle, 1, &region);
    return success();
  }
  }
  return success();
}

Error VulkanDevice::record(const std::vector<Command> &commands, bool timed,
                           std::unique_ptr<Recording> &result) {
  if (lost_)
    return failed(VK_ERROR_DEVICE_LOST, "recording a program");
  auto recording = std::make_unique<VulkanRecording>(*this);
  recording->commandCount = commands.size();
  recording->timedByHost = timed && physical_->timestampBits == 0;

  uint32_t sets = 0, descriptors = 0;
  for (const Command &command : commands)
    if (command.kind == Command::Kind::Dispatch) {
      if (Error e = checkDispatch(command))
        return e;
      sets += !command.arguments.empty();
      descriptors += static_cast<uint32_t>(command.arguments.size());
    }
  const std::string doing = "recording a program";
  if (sets) {
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                 descriptors};
    VkDescriptorPoolCreateInfo info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    info.maxSets = sets;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkResult status = vk_.CreateDescriptorPool(device_, &info, nullptr,
                                               &recording->descriptorPool);
    if (status != VK_SUCCESS)
      return failed(status, doing);
  }
  if (timed && !recording->timedByHost) {
    VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = static_cast<uint32_t>(commands.size()) + 1;
    VkResult status =
        vk_.CreateQueryPool(device_, &info, nullptr, &recording->queries);
    if (status != VK_SUCCESS)
      return failed(status, doing);
  }
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = physical_->queueFamily;
  VkResult status =
      vk_.CreateCommandPool(device_, &pool, nullptr, &recording->commandPool);
  if (status != VK_SUCCESS)
    return failed(status, doing);
  VkCommandBufferAllocateInfo info = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = recording->commandPool;
  info.commandBufferCount =
      recording->timedByHost ? static_cast<uint32_t>(commands.size()) : 1;
  recording->commandBuffers.resize(info.commandBufferCount);
  if (info.commandBufferCount) {
    status = vk_.AllocateCommandBuffers(device_, &info,
                                        recording->commandBuffers.data());
    if (status != VK_SUCCESS)
      return failed(status, doing);
  }

  // Submitted again while an earlier submission may still be pending.
  VkCommandBufferBeginInfo begin = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  const VulkanKernel *bound = nullptr;
  if (recording->timedByHost) {
    for (size_t i = 0; i != commands.size(); ++i) {
      VkCommandBuffer buffer = recording->commandBuffers[i];
      if ((status = vk_.BeginCommandBuffer(buffer, &begin)) != VK_SUCCESS)
        return failed(status, doing);
      bound = nullptr;
      if (Error e = recordCommand(*recording, buffer, commands[i], bound))
        return e;
      barrier(vk_, buffer);
      if ((status = vk_.EndCommandBuffer(buffer)) != VK_SUCCESS)
        return failed(status, doing);
    }
    result = std::move(recording);
    return success();
  }

  VkCommandBuffer buffer = recording->commandBuffers[0];
  if ((status = vk_.BeginCommandBuffer(buffer, &begin)) != VK_SUCCESS)
    return failed(status, doing);
  auto stamp = [&](size_t i) {
    vk_.CmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                          recording->queries, static_cast<uint32_t>(i));
  };
  if (timed) {
    vk_.CmdResetQueryPool(buffer, recording->queries, 0,
                          static_cast<uint32_t>(commands.size()) + 1);
    stamp(0);
  }
  // Commands before this one are visible to all that follow.
  uint32_t visible = 0;
  for (uint32_t i = 0; i != commands.size(); ++i) {
    const Command &command = commands[i];
    if (std::any_of(command.waits.begin(), command.waits.end(),
                    [&](uint32_t w) { return w >= visible; })) {
      barrier(vk_, buffer);
      visible = i;
    }
    if (Error e = recordCommand(*recording, buffer, command, bound))
      return e;
    if (timed) {
      // One after the other, so that the times add up to the step's.
      barrier(vk_, buffer);
      visible = i + 1;
      stamp(i + 1);
    }
  }
  if ((status = vk_.EndCommandBuffer(buffer)) != VK_SUCCESS)
    return failed(status, doing);
  result = std::move(recording);
  return success();
}

Error VulkanDevice::readTimes(Recording &base, std::vector<double> &ms) {
  auto &recording = static_cast<VulkanRecording &>(base);
  if (recording.timedByHost) {
    ms = recording.hostMs;
    return success();
  }
  std::vector<uint64_t> stamps(recording.commandCount + 1);
  VkResult status = vk_.GetQueryPoolResults(
      device_, recording.queries, 0, static_cast<uint32_t>(stamps.size()),
      stamps.size() * sizeof(uint64_t), stamps.data(), sizeof(uint64_t),
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (status != VK_SUCCESS)
    return failed(status, "reading timestamps");
  uint64_t mask = physical_->timestampBits >= 64
                      ? UINT64_MAX
                      : (uint64_t(1) << physical_->timestampBits) - 1;
  ms.resize(recording.commandCount);
  for (size_t i = 0; i != ms.size(); ++i)
    ms[i] = static_cast<double>((stamps[i + 1] - stamps[i]) & mask) *
            physical_->timestampPeriod / 1e6;
  return success();
}

Error VulkanDevice::takeFrame(Frame *&frame) {
  uint64_t finished = 0;
  VkResult status = vk_.GetSemaphoreCounterValue(device_, timeline_, &finished);
  if (status != VK_SUCCESS)
    return failed(status, "submitting a step");
  // Tickets grow along the queue: the first frame is the oldest.
  if (!frames_.empty() && frames_.front().ticket <= finished) {
    frames_.push_back(frames_.front());
    frames_.pop_front();
    frame = &frames_.back();
    status = vk_.ResetCommandPool(device_, frame->pool, 0);
    return status == VK_SUCCESS ? success()
                                : failed(status, "submitting a step");
  }
  Frame fresh;
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = physical_->queueFamily;
  status = vk_.CreateCommandPool(device_, &pool, nullptr, &fresh.pool);
  if (status != VK_SUCCESS)
    return failed(status, "submitting a step");
  VkCommandBufferAllocateInfo info = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = fresh.pool;
  info.commandBufferCount = 2;
  VkCommandBuffer buffers[2];
  status = vk_.AllocateCommandBuffers(device_, &info, buffers);
  if (status != VK_SUCCESS) {
    vk_.DestroyCommandPool(device_, fresh.pool, nullptr);
    return failed(status, "submitting a step");
  }
  fresh.before = buffers[0];
  fresh.after = buffers[1];
  frames_.push_back(fresh);
  frame = &frames_.back();
  return success();
}

Error VulkanDevice::submitBuffers(const std::vector<VkCommandBuffer> &buffers,
                                  uint64_t &ticket) {
  uint64_t next = lastTicket_ + 1;
  VkTimelineSemaphoreSubmitInfo timeline = {
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &next;
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline};
  info.commandBufferCount = static_cast<uint32_t>(buffers.size());
  info.pCommandBuffers = buffers.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  VkResult status = vk_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE);
  if (status != VK_SUCCESS)
    return failed(status, "submitting a step");
  ticket = lastTicket_ = next;
  return success();
}

Error VulkanDevice::submitTimedByHost(VulkanRecording &recording) {
  recording.hostMs.clear();
  for (VkCommandBuffer buffer : recording.commandBuffers) {
    auto start = std::chrono::steady_clock::now();
    uint64_t ticket;
    if (Error e = submitBuffers({buffer}, ticket))
      return e;
    if (Error e = waitForever(ticket))
      return e;
    recording.hostMs.push_back(std::chrono::duration<double, std::milli>(
                                   std::chrono::steady_clock::now() - start)
                                   .count());
  }
  return success();
}

Error VulkanDevice::submit(const Submission &submission, uint64_t &ticket) {
  if (lost_)
    return failed(VK_ERROR_DEVICE_LOST, "submitting a step");
  std::lock_guard<std::mutex> lock(queueMutex_);
  Frame *frame = nullptr;
  if (Error e = takeFrame(frame))
    return e;
  const std::string doing = "submitting a step";
  VkCommandBufferBeginInfo begin = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  auto copy = [&](VkCommandBuffer buffer,
                  const std::vector<CopyRegion> &regions) {
    for (const CopyRegion &region : regions) {
      VkBufferCopy range = {region.sourceOffset, region.destinationOffset,
                            region.size};
      if (region.size)
        vk_.CmdCopyBuffer(
            buffer, static_cast<VulkanBuffer &>(*region.source).handle,
            static_cast<VulkanBuffer &>(*region.destination).handle, 1, &range);
    }
  };

  VkResult status = vk_.BeginCommandBuffer(frame->before, &begin);
  if (status != VK_SUCCESS)
    return failed(status, doing);
  barrier(vk_, frame->before);
  if (!submission.before.empty()) {
    copy(frame->before, submission.before);
    barrier(vk_, frame->before);
  }
  if ((status = vk_.EndCommandBuffer(frame->before)) != VK_SUCCESS)
    return failed(status, doing);

  if ((status = vk_.BeginCommandBuffer(frame->after, &begin)) != VK_SUCCESS)
    return failed(status, doing);
  if (!submission.after.empty()) {
    barrier(vk_, frame->after);
    copy(frame->after, submission.after);
  }
  VkMemoryBarrier toHost = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  toHost.srcAccessMask = kWrites;
  toHost.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  vk_.CmdPipelineBarrier(frame->after, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0,
                         1, &toHost, 0, nullptr, 0, nullptr);
  if ((status = vk_.EndCommandBuffer(frame->after)) != VK_SUCCESS)
    return failed(status, doing);

  std::vector<VkCommandBuffer> buffers = {frame->before};
  if (auto *recording = static_cast<VulkanRecording *>(submission.recording)) {
    if (recording->timedByHost) {
      if (Error e = submitBuffers(buffers, frame->ticket))
        return e;
      if (Error e = submitTimedByHost(*recording))
        return e;
      buffers.clear();
    } else {
      buffers.push_back(recording->commandBuffers[0]);
    }
  }
  buffers.push_back(frame->after);
  if (Error e = submitBuffers(buffers, ticket))
    return e;
  frame->ticket = ticket;
  return success();
}

Error VulkanDevice::wait(uint64_t ticket, uint64_t timeoutNs, bool &finished) {
  finished = ticket == 0;
  if (finished)
    return success();
  if (lost_)
    return failed(VK_ERROR_DEVICE_LOST, "waiting for a step");
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &ticket;
  VkResult status = vk_.WaitSemaphores(device_, &info, timeoutNs);
  if (status != VK_SUCCESS && status != VK_TIMEOUT)
    return failed(status, "waiting for a step");
  finished = status == VK_SUCCESS;
  return success();
}
