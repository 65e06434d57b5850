//===- poot-run.h - What poot-run can do ----------------------------------===//
//
// Each function does one of the tool's jobs and returns its exit status.
// Results go to standard output, errors to standard error.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_RUN_H
#define POOT_RUN_H

#include "poot/runtime.hpp"
#include "poot/weights/status.h"

#include <string>
#include <vector>

namespace poot::run {

/// Exit statuses. Mistakes on the command line give kUsage.
enum : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

struct Options {
  std::string bundle;
  std::string device = "vulkan";
  std::string target; // Empty: the best that fits the device.
  bool json = false;

  std::string entry;
  std::string manifest;
  std::vector<std::string> inputs;       // NAME=FILE.npy
  std::vector<std::string> outputs;      // NAME=FILE.npy
  std::vector<std::string> stateExtents; // N or NAME=N
  std::string weights;
  uint64_t steps = 1;
  bool profile = false;
};

/// Prints "poot-run: error: MESSAGE" and returns kFailure.
int fail(const std::string &message);
int fail(const rt::Error &error);

/// A table whose columns are aligned; row 0 holds the titles. Cells that are
/// long or not printable are quoted.
void printTable(std::vector<std::vector<std::string>> rows);

int listDevices(const Options &options);
int selfCheck(const Options &options);
/// Runs what --entry or --manifest says.
int runEntries(const Options &options);

} // namespace poot::run

#endif // POOT_RUN_H
