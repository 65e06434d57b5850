//===- interpret.cpp - poot-run --interpret -------------------------------===//
//
// Runs one kernel of a .kir.json file, or of a bundle that carries KIR, in the
// interpreter, with the sanitizer where asked.
//
//===----------------------------------------------------------------------===//

#include "kernel_values.h"

#include "poot/kir/json.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace poot;
using namespace poot::run;
using weights::Expected;
using weights::makeError;
using weights::Status;
using weights::StatusCode;

namespace {

/// The module that holds the kernel; of a bundle, the code of that kernel in
/// the first target that has it as KIR.
Expected<kir::Module> loadModule(const std::string &path,
                                 std::string &kernelName) {
  const std::string suffix = ".poot";
  if (path.size() < suffix.size() ||
      path.compare(path.size() - suffix.size(), suffix.size(), suffix) != 0)
    return kir::readJsonFile(path);
  Expected<bundle::BundleFile> file = bundle::BundleFile::open(path);
  if (!file)
    return file.status();
  return readKir(*file, kernelName);
}

Status interpretKernel(const Options &options, bool &clean) {
  interp::ProgramOptions programOptions;
  programOptions.subgroupSize = options.subgroupSize;
  programOptions.sanitize = options.sanitize;
  for (const std::string &text : options.constants) {
    const char *number = std::strchr(text.c_str(), '=');
    char *end = nullptr;
    double value = number ? std::strtod(++number, &end) : 0;
    if (!number || end == number || *end)
      return makeError(StatusCode::InvalidArgument, "--spec ", text,
                       ": NAME=NUMBER is needed");
    programOptions.constants.emplace_back(text.substr(0, text.find('=')),
                                          value);
  }
  std::string name = options.kernel;
  Expected<kir::Module> module = loadModule(options.interpret, name);
  if (!module)
    return module.status();
  Expected<LoadedKernel> kernel =
      loadKernel(std::move(*module), name, options.interpret, programOptions);
  if (!kernel)
    return kernel.status();
  KernelValues values;
  if (Status status = readValues(options, *kernel, values); !status.ok())
    return status;

  interp::RunOptions run;
  run.threads = std::max(1u, std::thread::hardware_concurrency());
  run.stepLimit = options.stepLimit;
  run.grid = values.grid;
  run.metadata = values.metadata;
  for (const Bytes &buffer : values.buffers)
    run.arguments.push_back({buffer.data, buffer.size, 0, buffer.undefined});
  interp::Findings findings;
  Status status = kernel->program->run(run, &findings);
  for (const interp::Report &report : findings.reports)
    std::fputs(toText(report).c_str(), stderr);
  if (findings.dropped)
    std::fprintf(stderr, "poot-run: %llu more were not printed\n",
                 static_cast<unsigned long long>(findings.dropped));
  clean = findings.reports.empty();
  return status.ok() ? writeValues(*kernel, values) : status;
}

} // namespace

int run::interpret(const Options &options) {
  bool clean = true;
  Status status = interpretKernel(options, clean);
  if (!status.ok())
    return fail(status.message());
  return clean ? kSuccess : kFailure;
}
