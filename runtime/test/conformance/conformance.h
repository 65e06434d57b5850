// What the tests of the conformance suite share: each runs on every device
// present, under the validation layers, and fails on any message of theirs.
//
// POOT_CONFORMANCE_VALIDATION=0 runs without them, for a machine that has none.

#ifndef POOT_RUNTIME_CONFORMANCE_H
#define POOT_RUNTIME_CONFORMANCE_H

#include "poot/runtime.hpp"
#include "test_bundle.h"

#include <gtest/gtest.h>
#include <numeric>

namespace poot::test {

using Ints = std::vector<int32_t>;

/// first, first + 1, ...
inline Ints iota(size_t count, int32_t first = 0) {
  Ints values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

bool validationWanted();

class Conformance : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override;
  /// No test leaves a validation message.
  void TearDown() override;

  /// An executable of BUNDLE on the device. Fails the test when there is none.
  rt::Executable load(TestBundle &bundle,
                      const poot_executable_options *options = nullptr);
  /// A session of a fresh executable.
  rt::Session start(TestBundle &bundle,
                    poot_session_options options = POOT_SESSION_OPTIONS_INIT);
  /// Opens the bundle; its bytes live as long as the test.
  rt::Bundle open(TestBundle &bundle);

  rt::Device device;
  bool expectsMessages = false;

private:
  std::vector<std::unique_ptr<std::vector<uint8_t>>> files_;
};

/// Submits, and fails the test where that fails.
poot_step submit(rt::Session &session, const std::string &entry,
                 const std::vector<poot_slot_value> &values);
/// Reads COUNT elements of an output.
Ints read(rt::Session &session, poot_step step, const std::string &output,
          size_t count);

/// Whether ERROR has CODE and its message all of PARTS.
testing::AssertionResult says(const rt::Error &error, poot_code code,
                              const std::vector<std::string> &parts);

std::vector<std::string> devicesPresent();

} // namespace poot::test

#define POOT_FOR_EVERY_DEVICE(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite,                                     \
                           testing::ValuesIn(poot::test::devicesPresent()),    \
                           [](const auto &info) {                              \
                             std::string name = info.param;                    \
                             for (char &c : name)                              \
                               c = c == ':' ? '_' : c;                         \
                             return name;                                      \
                           })

#endif // POOT_RUNTIME_CONFORMANCE_H
