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

  std::string interpret; // FILE.kir.json or FILE.poot
  std::string kernel;
  std::string grid = "1,1,1";
  std::vector<std::string> metadata;  // Numbers
  std::vector<std::string> constants; // NAME=NUMBER
  uint32_t subgroupSize = 32;
  uint64_t stepLimit = 0;
  bool sanitize = false;
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
/// Runs one kernel in the interpreter.
int interpret(const Options &options);
/// Launches one kernel of the bundle on the device.
int launch(const Options &options);

/// Opens the device that the options name; kSuccess, or the exit status.
int openDevice(const Options &options, rt::Device &device);
/// With --sanitize, prints what the device saw. Returns STATUS, or kFailure
/// where there was something.
int printMessages(const Options &options, const rt::Device &device, int status);

} // namespace poot::run

#endif // POOT_RUN_H
