// What the tests of the conformance suite share; see conformance.h.

#include "conformance.h"

#include <cstdlib>
#include <cstring>
#include <iostream>

using namespace poot;
using namespace poot::test;

bool test::validationWanted() {
  const char *wanted = std::getenv("POOT_CONFORMANCE_VALIDATION");
  return !wanted || std::strcmp(wanted, "0") != 0;
}

std::vector<std::string> test::devicesPresent() {
  static const std::vector<std::string> present = [] {
    std::vector<std::string> ids;
    auto list = rt::DeviceList::get();
    for (size_t i = 0; list && i != list->size(); ++i) {
      ids.push_back((*list)[i].id);
      std::cerr << (*list)[i].id << ": " << (*list)[i].name << " ("
                << (*list)[i].driver << ")\n";
    }
    for (const std::string &note : list->notes())
      std::cerr << note << "\n";
    return ids;
  }();
  return present;
}

// A run that found no device has shown nothing.
TEST(Devices, ThereIsOne) { EXPECT_FALSE(devicesPresent().empty()); }

void Conformance::SetUp() {
  poot_device_options options = POOT_DEVICE_OPTIONS_INIT;
  options.validation = validationWanted();
  options.pipeline_cache = "off";
  auto opened = rt::Device::open(GetParam(), &options);
  ASSERT_TRUE(opened) << opened.error().message();
  device = std::move(*opened);
}

void Conformance::TearDown() {
  if (!device.get() || expectsMessages)
    return;
  for (const std::string &message : device.validationMessages())
    ADD_FAILURE() << message;
}

rt::Bundle Conformance::open(TestBundle &bundle) {
  files_.push_back(std::make_unique<std::vector<uint8_t>>(bundle.encode()));
  auto opened =
      rt::Bundle::openMemory(files_.back()->data(), files_.back()->size());
  EXPECT_TRUE(opened) << opened.error().message();
  return std::move(*opened);
}

rt::Executable Conformance::load(TestBundle &bundle,
                                 const poot_executable_options *options) {
  rt::Bundle opened = open(bundle);
  auto executable = rt::Executable::create(device, opened, options);
  EXPECT_TRUE(executable) << executable.error().message();
  return std::move(*executable);
}

rt::Session Conformance::start(TestBundle &bundle,
                               poot_session_options options) {
  rt::Executable executable = load(bundle);
  auto session = rt::Session::create(executable, &options);
  EXPECT_TRUE(session) << session.error().message();
  return std::move(*session);
}

poot_step test::submit(rt::Session &session, const std::string &entry,
                       const std::vector<poot_slot_value> &values) {
  auto step = session.submit(entry, values);
  EXPECT_TRUE(step) << step.error().message();
  return step ? *step : 0;
}

Ints test::read(rt::Session &session, poot_step step, const std::string &output,
                size_t count) {
  Ints values(count, -1);
  rt::Error error = session.readOutput(step, output, values.data(), count * 4);
  EXPECT_FALSE(error) << error.message();
  return values;
}

testing::AssertionResult test::says(const rt::Error &error, poot_code code,
                                    const std::vector<std::string> &parts) {
  if (!error)
    return testing::AssertionFailure() << "no error";
  if (error.code() != code)
    return testing::AssertionFailure()
           << poot_code_name(error.code()) << ": " << error.message();
  for (const std::string &part : parts)
    if (error.message().find(part) == std::string::npos)
      return testing::AssertionFailure()
             << "no '" << part << "' in: " << error.message();
  return testing::AssertionSuccess();
}
