// The list of devices over all drivers, and opening one by its id.

#include "device.h"
#include "interp/device.h"
#include "vulkan/device.h"

#include <algorithm>
#include <cctype>

using namespace poot;
using namespace poot::runtime;

bool DeviceInfo::hasFeature(const std::string &feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

const poot_device_info &DeviceInfo::seal() {
  featurePointers_.clear();
  for (const std::string &feature : features)
    featurePointers_.push_back(feature.c_str());
  info.id = id.c_str();
  info.api = api.c_str();
  info.name = name.c_str();
  info.driver = driver.c_str();
  info.feature_count = featurePointers_.size();
  info.features = featurePointers_.data();
  return info;
}

DeviceList runtime::listDevices() {
  DeviceList list;
  vulkan::listVulkanDevices(list);
  interp::listInterpreter(list);
  return list;
}

/// Of devices that one bare name could mean, the first GPU, else the first.
template <class Range, class GetInfo>
static size_t preferred(const Range &devices, GetInfo info) {
  auto first = [&](poot_device_type type) {
    for (size_t i = 0; i != devices.size(); ++i)
      if (info(devices[i]).info.type == type)
        return i;
    return devices.size();
  };
  for (poot_device_type type :
       {POOT_DEVICE_DISCRETE_GPU, POOT_DEVICE_INTEGRATED_GPU, POOT_DEVICE_CPU})
    if (size_t i = first(type); i != devices.size())
      return i;
  return 0;
}

Error runtime::openDevice(const std::string &id, const DeviceOptions &options,
                          std::shared_ptr<Device> &device) {
  size_t colon = id.find(':');
  std::string api = id.substr(0, colon);
  std::string number = colon == std::string::npos ? "" : id.substr(colon + 1);
  bool wellFormed =
      colon == std::string::npos ||
      (!number.empty() && number.size() <= 6 &&
       std::all_of(number.begin(), number.end(),
                   [](unsigned char c) { return std::isdigit(c); }));
  if ((api != "vulkan" && api != "interp") || !wellFormed)
    return makeError(POOT_INVALID_ARGUMENT, "there is no device ",
                     weights::quoted(id),
                     "; a device is named 'vulkan', 'vulkan:0' or 'interp', "
                     "the kernel interpreter")
        .with("device", id);
  if (api == "interp") {
    if (!number.empty() && std::stoul(number) != 0)
      return makeError(POOT_NO_DEVICE, "there is no device ",
                       weights::quoted(id),
                       "; there is one interpreter: 'interp:0'")
          .with("device", id);
    return interp::openInterpreter(options, device);
  }

  std::vector<std::string> notes;
  std::unique_ptr<vulkan::Instance> instance;
  if (Error e = vulkan::Instance::create(options.validation, instance, notes))
    return e;
  const auto &devices = instance->devices();
  size_t index =
      number.empty()
          ? preferred(devices, [](const auto &d) -> auto & { return d.info; })
          : std::stoul(number);
  if (index >= devices.size()) {
    std::string message =
        weights::concat("there is no device ", weights::quoted(id));
    std::vector<std::string> names;
    for (const auto &d : devices)
      names.push_back(weights::concat(d.info.id, " (", d.info.name, ")"));
    message += weights::concat("; devices here: ", formatNames(names));
    for (const std::string &note : notes)
      message += weights::concat("; ", note);
    if (devices.empty())
      message += "; install a Vulkan driver for your GPU, or Mesa's lavapipe "
                 "(Debian: mesa-vulkan-drivers) to run on the CPU";
    return makeError(POOT_NO_DEVICE, message).with("device", id);
  }
  return vulkan::VulkanDevice::open(std::move(instance), index, options,
                                    device);
}
