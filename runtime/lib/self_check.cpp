// Runs each test vector as a program of one dispatch.

#include "self_check.h"

#include "poot/bundle/test_vector.h"

#include <algorithm>

using namespace poot;
using namespace poot::runtime;

static Error runVector(Device &device, Kernel &kernel,
                       const fb::TestVector &test, bool &passed,
                       double &largestError, std::string &message) {
  Command command;
  command.kernel = &kernel;
  std::copy_n(test.grid()->begin(), 3, command.grid.begin());
  if (test.metadata())
    command.metadata.assign(test.metadata()->begin(), test.metadata()->end());

  // One buffer for each argument; the reader has checked that all are there.
  size_t arguments = test.inputs() ? test.inputs()->size() : 0;
  std::vector<std::unique_ptr<Buffer>> buffers(arguments);
  std::vector<std::vector<uint8_t>> bytes(arguments);
  command.arguments.resize(arguments);
  Transfer transfer(device);
  for (size_t i = 0; i != arguments; ++i) {
    const fb::TestInput &input = *test.inputs()->Get(static_cast<uint32_t>(i));
    size_t argument = input.argument();
    bytes[argument].resize(input.bytes());
    bundle::fillTestInput(input, bytes[argument].data());
    if (Error e = device.allocate(input.bytes(), Memory::Temporary,
                                  "a test vector", buffers[argument]))
      return e;
    command.arguments[argument] = {buffers[argument].get(), 0, input.bytes()};
    if (Error e = transfer.upload(command.arguments[argument],
                                  bytes[argument].data()))
      return e;
  }
  if (Error e = transfer.finish())
    return e;
  std::unique_ptr<Recording> recording;
  if (Error e = device.record({command}, /*timed=*/false, recording))
    return e;
  Submission submission;
  submission.recording = recording.get();
  uint64_t ticket = 0;
  if (Error e = device.submit(submission, ticket))
    return e;
  if (Error e = device.waitForever(ticket))
    return e;

  passed = true;
  largestError = 0;
  for (uint32_t i = 0; test.expected() && i != test.expected()->size(); ++i) {
    const fb::TestExpectation &expected = *test.expected()->Get(i);
    std::vector<uint8_t> &actual = bytes[expected.argument()];
    if (Error e = transfer.download(command.arguments[expected.argument()],
                                    actual.data(), ticket))
      return e;
    bundle::TestComparison comparison =
        bundle::compareExpectation(expected, {actual.data(), actual.size()});
    largestError = std::max(largestError, comparison.largestError);
    if (comparison.passed())
      continue;
    if (passed)
      message = weights::concat("argument ", expected.argument(), ": ",
                                comparison.message());
    passed = false;
  }
  return success();
}

Error runtime::selfCheck(Device &device, const BundleView &bundle,
                         const std::string &targetName,
                         poot_check_report report, void *user) {
  const fb::Target *target = nullptr;
  if (Error e = bundle.chooseTarget(device, targetName, target))
    return e;
  if (Error e = bundle.checkCode(*target))
    return e;
  if (!target->kernels())
    return success();
  for (const fb::Kernel *kernel : *target->kernels()) {
    if (!kernel->tests() || !kernel->tests()->size())
      continue;
    std::unique_ptr<Kernel> loaded;
    if (Error e = device.loadKernel(bundle.file(), *kernel, loaded))
      return e;
    for (uint32_t i = 0; i != kernel->tests()->size(); ++i) {
      poot_check_result result = {};
      result.kernel = kernel->name()->c_str();
      result.variant = kernel->variant() ? kernel->variant()->c_str() : "";
      result.vector = i;
      std::string message;
      if (Error e = runVector(device, *loaded, *kernel->tests()->Get(i),
                              result.passed, result.largest_error, message))
        return e;
      result.message = message.c_str();
      if (report)
        report(user, &result);
    }
  }
  device.kernelsLoaded();
  return success();
}
