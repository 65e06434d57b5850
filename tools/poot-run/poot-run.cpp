//===- poot-run.cpp - Runs, checks and describes a bundle -----------------===//

#include "poot-run.h"

#include "poot/bundle/info.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>

using namespace poot;
using namespace poot::run;

int run::fail(const std::string &message) {
  std::fprintf(stderr, "poot-run: error: %s\n", message.c_str());
  return kFailure;
}

int run::fail(const rt::Error &error) { return fail(error.message()); }

void run::printTable(std::vector<std::vector<std::string>> rows) {
  // Most cells are texts of the bundle, which may hold anything.
  for (std::vector<std::string> &row : rows)
    for (std::string &cell : row)
      cell = bundle::printable(cell);
  std::vector<size_t> width(rows.front().size());
  for (const std::vector<std::string> &row : rows)
    for (size_t c = 0; c != row.size(); ++c)
      width[c] = std::max(width[c], row[c].size());
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (size_t c = 0; c != row.size(); ++c)
      line += row[c] + std::string(width[c] - row[c].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

static int printInfo(const Options &options) {
  weights::Expected<bundle::BundleFile> file =
      bundle::BundleFile::open(options.bundle);
  if (!file)
    return fail(file.status().message());
  const std::string text =
      options.json ? bundle::infoJson(*file) : bundle::infoText(*file);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kSuccess;
}

static int verify(const Options &options) {
  weights::Expected<bundle::BundleFile> file =
      bundle::BundleFile::open(options.bundle);
  if (!file)
    return fail(file.status().message());
  if (weights::Status status = file->verifySections(); !status.ok())
    return fail(status.message());
  std::printf("%s: every section is intact\n", options.bundle.c_str());
  return kSuccess;
}

int main(int argc, char **argv) {
  CLI::App app("Runs an entry or a kernel of a compiled bundle (.poot) on a "
               "device, checks a device with the bundle's own test vectors, or "
               "describes the bundle.",
               "poot-run");
  app.footer(
      "Exit status: 0 when all went well; 1 after an error or a failed check; "
      "2 for a mistake on the command line.\n\n"
      "Examples:\n"
      "  poot-run m.poot --info\n"
      "  poot-run m.poot --self-check --device vulkan:1\n"
      "  poot-run m.poot --entry forward --input x=x.npy --output y=y.npy\n"
      "  poot-run m.poot --manifest runs.json\n"
      "  poot-run k.poot --kernel scale --grid 4 --input x=x.npy\n"
      "      --input y=zeros:256 --metadata 256,0.5\n"
      "  poot-run --interpret k.kir.json --grid 4 --input x=x.npy\n"
      "      --input y=undefined:256 --metadata 256,0.5 --sanitize\n\n"
      "A manifest is a JSON object whose array \"runs\" has an object for each "
      "run: the string \"entry\", the objects \"inputs\" and \"outputs\" with "
      "a "
      "file name for each slot and output, and the number \"steps\" (1 if "
      "absent). File names are relative to the manifest's folder.");

  Options options;
  bool info = false, check = false, devices = false, hashes = false;
  app.add_option("bundle", options.bundle, "The bundle")
      ->type_name("FILE.poot");
  app.set_version_flag("--version", std::string("poot ") + poot_version(),
                       "Print the version and exit");

  const char *jobs = "What to do (one of these)";
  app.add_flag("--info", info,
               "Print what the bundle holds: targets, kernels, entries, "
               "weights, sections")
      ->group(jobs);
  CLI::Option *entry =
      app.add_option("--entry", options.entry, "Run this entry")
          ->type_name("NAME")
          ->group(jobs);
  CLI::Option *manifest =
      app.add_option("--manifest", options.manifest,
                     "Run several entries one after another, with states "
                     "carried along")
          ->type_name("FILE.json")
          ->group(jobs);
  app.add_flag("--self-check", check,
               "Run every kernel's test vectors on the device and compare with "
               "the expected values in the bundle; needs no weights")
      ->group(jobs);
  app.add_flag("--verify", hashes,
               "Compare every section of the bundle with its hash")
      ->group(jobs);
  app.add_flag("--list-devices", devices,
               "Print the devices of this machine; needs no bundle")
      ->group(jobs);

  CLI::Option *interpreted =
      app.add_option("--interpret", options.interpret,
                     "Run one kernel of a file of KIR, or of a bundle that "
                     "carries it, in the kernel interpreter; needs no device")
          ->type_name("FILE")
          ->group(jobs);
  CLI::Option *kernel =
      app.add_option("--kernel", options.kernel,
                     "Launch this kernel of the bundle by itself, on buffers "
                     "of yours; its KIR must be in the bundle as well. With "
                     "--interpret, the kernel to run, needed where the file "
                     "has several")
          ->type_name("NAME")
          ->group(jobs);

  const char *all = "Options";
  app.add_option("--device", options.device,
                 "Device: vulkan:N as --list-devices numbers them, or vulkan "
                 "for the first GPU, else the first CPU device; interp is the "
                 "kernel interpreter, for bundles that carry KIR")
      ->type_name("ID")
      ->capture_default_str()
      ->group(all);
  app.add_option("--target", options.target,
                 "One of the bundle's targets, instead of the best that fits "
                 "the device")
      ->type_name("NAME")
      ->group(all);
  app.add_flag("--json", options.json,
               "Print JSON, with --info, --self-check or --list-devices; by "
               "itself it means --info --json")
      ->group(all);

  app.add_flag("--sanitize", options.sanitize,
               "Report races, accesses out of bounds, undefined values and "
               "other faults of kernels, with --interpret or --device interp; "
               "other devices report what their validation layers see")
      ->group(all);

  const char *running = "Options for --entry, --manifest and --kernel";
  std::vector<CLI::Option *> runOptions, entryOptions, valueOptions,
      kernelOptions, interpretOptions;
  valueOptions.push_back(
      app.add_option("--input", options.inputs,
                     "The value of a slot, an array of its type and shape; "
                     "bf16 as f32. Once for each slot. Of a kernel, a buffer "
                     "by its number or name: a file, zeros:SHAPE, "
                     "random:SEED:SHAPE or undefined:SHAPE (zeros that the "
                     "sanitizer of --interpret takes for unwritten), like "
                     "zeros:4x8")
          ->type_name("NAME=FILE.npy"));
  valueOptions.push_back(
      app.add_option("--output", options.outputs,
                     "Write an output; bf16 as f32. Without any, all outputs "
                     "are printed, long ones in part. Of a kernel, a buffer's "
                     "content")
          ->type_name("NAME=FILE.npy"));
  runOptions.push_back(
      app.add_option("--weights", options.weights,
                     "The weights that the bundle doesn't hold: a GGUF or "
                     "safetensors file, a shard index, or a folder")
          ->type_name("PATH"));
  runOptions.push_back(
      app.add_option("--state-extent", options.stateExtents,
                     "Outermost extent of the states that leave it open; with "
                     "a name, of that one")
          ->type_name("[NAME=]N"));
  entryOptions.push_back(
      app.add_option("--steps", options.steps,
                     "Run the entry this often on the same inputs, with states "
                     "carried along; outputs are those of the last step")
          ->type_name("N")
          ->check(CLI::Range(uint64_t(1), uint64_t(1) << 40))
          ->capture_default_str());
  runOptions.push_back(app.add_flag(
      "--profile", options.profile,
      "Print the device time of each command, summed over the steps"));
  for (CLI::Option *option : entryOptions) {
    option->needs(entry);
    runOptions.push_back(option);
  }
  const char *launching = "Options for --kernel and --interpret";
  kernelOptions.push_back(
      app.add_option("--grid", options.grid, "Workgroups in x, y and z")
          ->type_name("X[,Y[,Z]]")
          ->capture_default_str());
  kernelOptions.push_back(
      app.add_option("--metadata", options.metadata,
                     "The numbers that the kernel takes by value, in order")
          ->type_name("N[,N...]"));
  const char *interpreting = "Options for --interpret";
  interpretOptions.push_back(
      app.add_option("--spec", options.constants,
                     "The value of a specialization constant; in a bundle "
                     "poot-compile --spec has set them")
          ->type_name("NAME=N"));
  interpretOptions.push_back(
      app.add_option("--subgroup-size", options.subgroupSize,
                     "Lanes of a subgroup, a power of two")
          ->type_name("N")
          ->check(CLI::Range(1u, 128u))
          ->capture_default_str());
  interpretOptions.push_back(
      app.add_option("--step-limit", options.stepLimit,
                     "Give up after so many operations of single work-items; "
                     "0: never")
          ->check(CLI::Range(uint64_t(0), uint64_t(1) << 62))
          ->type_name("N")
          ->capture_default_str());
  for (CLI::Option *option : kernelOptions)
    option->group(launching);
  for (CLI::Option *option : interpretOptions)
    option->needs(interpreted)->group(interpreting);
  for (auto *list : {&kernelOptions, &interpretOptions})
    for (CLI::Option *option : *list)
      if (option->get_expected_max() > 1)
        option->expected(1)->multi_option_policy(
            CLI::MultiOptionPolicy::TakeAll);
  runOptions.insert(runOptions.end(), valueOptions.begin(), valueOptions.end());
  for (CLI::Option *option : runOptions) {
    option->group(running);
    if (option->get_expected_max() > 1)
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are "errors" of status 0.
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  auto misused = [](const char *message) {
    std::fprintf(stderr, "poot-run: error: %s\nRun with --help for more.\n",
                 message);
    return kUsage;
  };
  const bool run = entry->count() != 0 || manifest->count() != 0;
  const bool interprets = interpreted->count() != 0;
  const bool launches = kernel->count() != 0 && !interprets;
  const int jobCount = info + check + devices + hashes + (entry->count() != 0) +
                       (manifest->count() != 0) + interprets + launches;
  if (jobCount == 0 && options.json)
    info = true;
  else if (jobCount != 1)
    return misused("exactly one of --info, --entry, --manifest, --self-check, "
                   "--verify, --list-devices, --interpret and --kernel is "
                   "needed");
  for (CLI::Option *option : runOptions) {
    const bool isValue = std::find(valueOptions.begin(), valueOptions.end(),
                                   option) != valueOptions.end();
    if (option->count() == 0)
      continue;
    if (isValue && entry->count() == 0 && !interprets && !launches)
      return misused(
          (option->get_name() + " goes with --entry, --kernel or --interpret")
              .c_str());
    if (!isValue && !run)
      return misused(
          (option->get_name() + " goes with --entry or --manifest").c_str());
  }
  for (CLI::Option *option : kernelOptions)
    if (option->count() != 0 && !interprets && !launches)
      return misused(
          (option->get_name() + " goes with --kernel or --interpret").c_str());
  if (options.sanitize && !run && !check && !interprets && !launches)
    return misused("--sanitize goes with --entry, --manifest, --self-check, "
                   "--kernel or --interpret");
  if (interprets && !options.bundle.empty())
    return misused("--interpret takes its file itself, and no bundle beside");
  if (options.json && (run || hashes || interprets || launches))
    return misused("--json goes with --info, --self-check or --list-devices");
  if (options.bundle.empty() && !devices && !interprets)
    return misused("the bundle's file name is missing");
  if (!options.bundle.empty() && devices)
    return misused("--list-devices takes no bundle");

  const int status = devices      ? listDevices(options)
                     : info       ? printInfo(options)
                     : hashes     ? verify(options)
                     : check      ? selfCheck(options)
                     : interprets ? interpret(options)
                     : launches   ? launch(options)
                                  : runEntries(options);
  // A full disk shows up here at the latest.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return fail("standard output can't be written: " +
                weights::systemError(errno));
  return status;
}
