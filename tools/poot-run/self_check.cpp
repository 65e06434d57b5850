//===- self_check.cpp - poot-run --self-check -----------------------------===//

#include "poot-run.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace poot;
using namespace poot::run;

namespace {

struct CheckResult {
  std::string kernel, variant, message;
  uint32_t vector;
  bool passed;
  double largestError;
};

void collect(void *user, const poot_check_result *result) {
  static_cast<std::vector<CheckResult> *>(user)->push_back(
      {result->kernel, result->variant, result->message, result->vector,
       result->passed, result->largest_error});
}

void printJson(const poot_device_info &device,
               const std::vector<CheckResult> &results, size_t failed) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const CheckResult &result : results)
    list.push_back({{"kernel", result.kernel},
                    {"variant", result.variant},
                    {"vector", result.vector},
                    {"passed", result.passed},
                    // JSON has no infinity: null.
                    {"largest_error", result.largestError},
                    {"message", result.message}});
  const Json object = {{"device", device.id},     {"name", device.name},
                       {"driver", device.driver}, {"checked", results.size()},
                       {"failed", failed},        {"results", list}};
  std::printf(
      "%s\n",
      object.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

} // namespace

int run::selfCheck(const Options &options) {
  rt::Result<rt::Bundle> bundle = rt::Bundle::open(options.bundle);
  if (!bundle)
    return fail(bundle.error());
  rt::Device device;
  if (int status = openDevice(options, device); status != kSuccess)
    return status;
  std::vector<CheckResult> results;
  if (rt::Error error{poot_self_check(
          device.get(), bundle->get(),
          options.target.empty() ? nullptr : options.target.c_str(), collect,
          &results)})
    return fail(error);
  if (results.empty())
    return fail(options.bundle + ": has no test vectors for this device, so "
                                 "nothing was checked");

  size_t failed = 0;
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "variant", "vector", "result", "largest error", ""}};
  for (const CheckResult &result : results) {
    failed += !result.passed;
    char error[32];
    std::snprintf(error, sizeof error, "%.3g", result.largestError);
    rows.push_back({result.kernel, result.variant,
                    std::to_string(result.vector),
                    result.passed ? "ok" : "WRONG", error, result.message});
  }
  if (options.json) {
    printJson(device.info(), results, failed);
  } else {
    std::printf("%s, %s\n", device.info().name, device.info().driver);
    printTable(rows);
    std::printf("%zu of %zu test vectors passed\n", results.size() - failed,
                results.size());
  }
  return printMessages(options, device, failed == 0 ? kSuccess : kFailure);
}
