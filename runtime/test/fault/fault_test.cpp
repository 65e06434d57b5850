// What the user is told when the driver fails: memory exhausted, the device
// lost, a kernel refused. fault_layer.cpp makes the driver fail.

#include "../conformance/test_bundle.h"
#include "poot/runtime.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace poot;
using namespace poot::test;

namespace {
/// As long as it lives, FUNCTION answers RESULT.
struct Fault {
  Fault(const std::string &function, int result) {
    setenv("POOT_FAULT", (function + "=" + std::to_string(result)).c_str(), 1);
  }
  ~Fault() { unsetenv("POOT_FAULT"); }
};

class FaultTest : public testing::Test {
protected:
  void SetUp() override {
    uint32_t w = bundle.addConst("w", std::vector<int32_t>(64, 1));
    bundle.addState("s", {64});
    Program entry = bundle.addEntry("run");
    uint32_t x = entry.slot("x", 64);
    entry.dispatch(
        bundle.add(), 64,
        {in(x), in(entry.constant(bundle, w)), out(entry.output("y", 64))},
        {64});
    bytes = bundle.encode();
    auto opened = rt::Bundle::openMemory(bytes.data(), bytes.size());
    ASSERT_TRUE(opened) << opened.error().message();
    file = std::move(*opened);
    reopen();
  }

  void reopen() {
    auto opened = rt::Device::open("vulkan");
    ASSERT_TRUE(opened) << opened.error().message();
    device = std::move(*opened);
  }

  rt::Session session() {
    auto executable = rt::Executable::create(device, file);
    EXPECT_TRUE(executable) << executable.error().message();
    auto session = rt::Session::create(*executable);
    EXPECT_TRUE(session) << session.error().message();
    return std::move(*session);
  }

  rt::Result<poot_step> step(rt::Session &session) {
    return session.submit("run", {rt::slot("x", values)});
  }

  /// CODE, PARTS in the message, a remedy and no bare number.
  void expect(const rt::Error &error, poot_code code,
              const std::vector<std::string> &parts, const char *vkResult) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error.code(), code) << error.message();
    for (const std::string &part : parts)
      EXPECT_NE(error.message().find(part), std::string::npos)
          << part << " in: " << error.message();
    EXPECT_NE(error.message().find("vulkan:"), std::string::npos)
        << error.message();
    EXPECT_EQ(error.message().find("-1"), std::string::npos) << error.message();
    if (vkResult)
      EXPECT_EQ(error.detail("vk-result"), vkResult);
  }

  TestBundle bundle;
  std::vector<uint8_t> bytes;
  rt::Bundle file;
  rt::Device device;
  std::vector<int32_t> values = std::vector<int32_t>(64, 41);
};
} // namespace

TEST_F(FaultTest, NothingFailsWithoutAFault) {
  rt::Session good = session();
  auto first = step(good);
  ASSERT_TRUE(first) << first.error().message();
  std::vector<int32_t> y(64);
  ASSERT_FALSE(good.readOutput(*first, "y", y.data(), 256));
  EXPECT_EQ(y, std::vector<int32_t>(64, 42));
}

TEST_F(FaultTest, OutOfDeviceMemory) {
  {
    Fault fault("vkAllocateMemory", -2);
    auto executable = rt::Executable::create(device, file);
    expect(executable.error(), POOT_OUT_OF_MEMORY,
           {"out of device memory", "256 bytes", "weights 'w'", "in all",
            "close other programs"},
           "VK_ERROR_OUT_OF_DEVICE_MEMORY");
    EXPECT_EQ(executable.error().detail("device"), device.info().id);
  }
  // Nothing is broken by it.
  rt::Session good = session();
  EXPECT_TRUE(step(good));
}

TEST_F(FaultTest, OutOfHostMemory) {
  auto executable = rt::Executable::create(device, file);
  ASSERT_TRUE(executable);
  Fault fault("vkCreateBuffer", -1);
  auto session = rt::Session::create(*executable);
  expect(session.error(), POOT_OUT_OF_MEMORY,
         {"out of host memory", "the state 's'"},
         "VK_ERROR_OUT_OF_HOST_MEMORY");
}

TEST_F(FaultTest, MemoryRunsOutInAStep) {
  rt::Session good = session();
  ASSERT_FALSE(good.prepare("run"));
  {
    Fault fault("vkAllocateMemory", -2);
    expect(step(good).error(), POOT_OUT_OF_MEMORY, {"slots and outputs"},
           "VK_ERROR_OUT_OF_DEVICE_MEMORY");
  }
  // The step did not happen; the next does.
  auto next = step(good);
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(*next, 1u);
}

TEST_F(FaultTest, DeviceLostAtSubmission) {
  rt::Session doomed = session();
  ASSERT_TRUE(step(doomed));
  {
    Fault fault("vkQueueSubmit", -4);
    expect(step(doomed).error(), POOT_DEVICE_LOST,
           {"the device was lost", "system log", "open it again"},
           "VK_ERROR_DEVICE_LOST");
  }
  // It stays lost, whatever is tried ...
  EXPECT_EQ(step(doomed).error().code(), POOT_DEVICE_LOST);
  EXPECT_EQ(doomed.wait(1).code(), POOT_DEVICE_LOST);
  EXPECT_EQ(doomed.reset().code(), POOT_DEVICE_LOST);
  EXPECT_EQ(doomed.readState("s", 0, values.data(), 4).code(),
            POOT_DEVICE_LOST);
  EXPECT_EQ(rt::Executable::create(device, file).error().code(),
            POOT_DEVICE_LOST);
  // ... until it is opened again.
  reopen();
  rt::Session fresh = session();
  EXPECT_TRUE(step(fresh));
}

TEST_F(FaultTest, DeviceLostWhileWaiting) {
  rt::Session doomed = session();
  auto first = step(doomed);
  ASSERT_TRUE(first);
  {
    Fault fault("vkWaitSemaphores", -4);
    expect(doomed.readOutput(*first, "y", values.data(), 256), POOT_DEVICE_LOST,
           {"waiting for a step"}, "VK_ERROR_DEVICE_LOST");
  }
  EXPECT_EQ(step(doomed).error().code(), POOT_DEVICE_LOST);
}

TEST_F(FaultTest, KernelRejected) {
  rt::Session good = session();
  {
    Fault fault("vkCreateComputePipelines", -13);
    rt::Error error = good.prepare("run");
    expect(error, POOT_KERNEL_REJECTED,
           {"kernel 'add'", "entry point 'main'", "POOT_VULKAN_VALIDATION=1"},
           "VK_ERROR_UNKNOWN");
    EXPECT_EQ(error.detail("kernel"), "add");
  }
  EXPECT_TRUE(step(good));
}

TEST_F(FaultTest, OtherFailures) {
  rt::Session good = session();
  Fault fault("vkQueueSubmit", -3);
  expect(step(good).error(), POOT_DRIVER_ERROR,
         {"VK_ERROR_INITIALIZATION_FAILED", "submitting a step"},
         "VK_ERROR_INITIALIZATION_FAILED");
}

TEST_F(FaultTest, TimesWithoutTimestamps) {
  Fault fault("timestamps", 0);
  reopen();
  auto executable = rt::Executable::create(device, file);
  ASSERT_TRUE(executable);
  poot_session_options options = POOT_SESSION_OPTIONS_INIT;
  options.profile = true;
  auto timed = rt::Session::create(*executable, &options);
  ASSERT_TRUE(timed) << timed.error().message();
  for (int i = 0; i != 2; ++i) {
    auto next = step(*timed);
    ASSERT_TRUE(next) << next.error().message();
    std::vector<int32_t> y(64);
    ASSERT_FALSE(timed->readOutput(*next, "y", y.data(), 256));
    EXPECT_EQ(y, std::vector<int32_t>(64, 42));
  }
  auto rows = timed->profile();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].runs, 2u);
  EXPECT_GT((*rows)[0].total_ms, 0);
}
