//===- devices.cpp - poot-run --list-devices ------------------------------===//

#include "poot-run.h"

#include "poot/bundle/info.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace poot;
using namespace poot::run;

static const char *typeName(poot_device_type type) {
  switch (type) {
  case POOT_DEVICE_CPU:
    return "CPU";
  case POOT_DEVICE_INTEGRATED_GPU:
    return "integrated GPU";
  case POOT_DEVICE_DISCRETE_GPU:
    return "discrete GPU";
  case POOT_DEVICE_OTHER:
    break;
  }
  return "other";
}

static std::vector<std::string> features(const poot_device_info &info) {
  return {info.features, info.features + info.feature_count};
}

static void printJson(const rt::DeviceList &list) {
  using Json = nlohmann::ordered_json;
  Json devices = Json::array();
  for (size_t i = 0; i != list.size(); ++i) {
    const poot_device_info &info = list[i];
    devices.push_back({{"id", info.id},
                       {"name", info.name},
                       {"api", info.api},
                       {"driver", info.driver},
                       {"type", typeName(info.type)},
                       {"unified_memory", info.unified_memory},
                       {"memory", info.memory},
                       {"max_allocation", info.max_allocation},
                       {"max_argument_range", info.max_argument_range},
                       {"max_metadata_bytes", info.max_metadata_bytes},
                       {"subgroup_size", info.subgroup_size},
                       {"features", features(info)}});
  }
  const Json object = {{"devices", devices}, {"notes", list.notes()}};
  std::printf(
      "%s\n",
      object.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

int run::listDevices(const Options &options) {
  rt::Result<rt::DeviceList> list = rt::DeviceList::get();
  if (!list)
    return fail(list.error());
  if (options.json) {
    printJson(*list);
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows = {
      {"device", "name", "type", "memory", "driver"}};
  for (size_t i = 0; i != list->size(); ++i) {
    const poot_device_info &info = (*list)[i];
    rows.push_back({info.id, info.name, typeName(info.type),
                    bundle::formatBytes(info.memory), info.driver});
  }
  if (list->size() == 0)
    std::printf("no device\n");
  else
    printTable(rows);
  for (size_t i = 0; i != list->size(); ++i) {
    std::string line;
    for (const std::string &feature : features((*list)[i]))
      line += (line.empty() ? "" : ", ") + feature;
    std::printf("%s%s has %s\n", i == 0 ? "\n" : "", (*list)[i].id,
                line.empty() ? "no optional features" : line.c_str());
  }
  for (const std::string &note : list->notes())
    std::printf("note: %s\n", note.c_str());
  return kSuccess;
}

int run::openDevice(const Options &options, rt::Device &device) {
  poot_device_options deviceOptions = POOT_DEVICE_OPTIONS_INIT;
  deviceOptions.validation = options.sanitize;
  rt::Result<rt::Device> opened =
      rt::Device::open(options.device, &deviceOptions);
  if (!opened)
    return fail(opened.error());
  device = std::move(*opened);
  return kSuccess;
}

int run::printMessages(const Options &options, const rt::Device &device,
                       int status) {
  if (!options.sanitize)
    return status;
  for (const std::string &message : device.validationMessages()) {
    std::fprintf(stderr, "%s\n", message.c_str());
    status = kFailure;
  }
  return status;
}
