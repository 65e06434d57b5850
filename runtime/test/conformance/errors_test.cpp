// What is refused, and how: devices, bundles, targets, limits, slots.

#include "conformance.h"

#include "poot/bundle/format.h"

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace poot;
using namespace poot::test;

using ErrorsTest = Conformance;
POOT_FOR_EVERY_DEVICE(ErrorsTest);

static TestBundle simple() {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 64), k = entry.slot("k", 64);
  entry.dispatch(bundle.add(), 64, {in(x), in(k), out(entry.output("y", 64))},
                 {64});
  return bundle;
}

TEST_P(ErrorsTest, DevicesSayWhatTheyAre) {
  const poot_device_info &info = device.info();
  EXPECT_EQ(GetParam(), info.id);
  const std::string api = GetParam().substr(0, GetParam().find(':'));
  EXPECT_EQ(info.api, api);
  EXPECT_NE(std::string(info.name), "");
  EXPECT_NE(std::string(info.driver), "");
  EXPECT_GE(info.memory, uint64_t(1) << 28);
  EXPECT_GE(info.max_allocation, uint64_t(1) << 28);
  EXPECT_GE(info.max_argument_range, uint64_t(1) << 27);
  EXPECT_GE(info.max_metadata_bytes, 128u);
  EXPECT_GE(info.subgroup_size, 1u);
  bool basic = false;
  for (size_t i = 0; i != info.feature_count; ++i)
    basic |= std::strcmp(info.features[i], "subgroup-basic") == 0;
  EXPECT_TRUE(basic);
  auto bare = rt::Device::open(api);
  ASSERT_TRUE(bare) << bare.error().message();
  if (api != "vulkan")
    return;
  // A GPU where there is one.
  auto list = rt::DeviceList::get();
  ASSERT_TRUE(list);
  bool anyGpu = false;
  for (size_t i = 0; i != list->size(); ++i)
    anyGpu |= (*list)[i].type == POOT_DEVICE_DISCRETE_GPU ||
              (*list)[i].type == POOT_DEVICE_INTEGRATED_GPU;
  EXPECT_EQ(anyGpu, bare->info().type == POOT_DEVICE_DISCRETE_GPU ||
                        bare->info().type == POOT_DEVICE_INTEGRATED_GPU);
}

TEST_P(ErrorsTest, UnknownDevices) {
  for (const char *id : {"", "cuba", "vulkan:", "vulkan:x", "vulkan:-1",
                         "vulkan:0x1", "vulkan:12345678901234567890"})
    EXPECT_TRUE(says(rt::Device::open(id).error(), POOT_INVALID_ARGUMENT,
                     {"'vulkan:0'"}))
        << id;
  EXPECT_TRUE(says(rt::Device::open("vulkan:99").error(), POOT_NO_DEVICE,
                   {"'vulkan:99'", "devices here", "vulkan:0"}));
}

TEST_P(ErrorsTest, BundlesThatCannotBeUsed) {
  EXPECT_TRUE(says(rt::Bundle::open("/no/such.poot").error(), POOT_FILE_ERROR,
                   {"/no/such.poot"}));
  TestBundle bundle = simple();
  std::vector<uint8_t> good = bundle.encode();
  auto refusal = [](const std::vector<uint8_t> &bytes) {
    return rt::Bundle::openMemory(bytes.data(), bytes.size()).takeError();
  };
  std::vector<uint8_t> text(8192, 'x');
  EXPECT_TRUE(says(refusal(text), POOT_NOT_A_BUNDLE, {}));
  std::vector<uint8_t> newer = good;
  newer[offsetof(bundle::FileHeader, version)] = 200;
  rt::Error version = refusal(newer);
  EXPECT_TRUE(says(version, POOT_BUNDLE_VERSION, {"200"}));
  EXPECT_EQ(version.detail("refusal"), "TooNew");
  std::vector<uint8_t> cut(good.begin(), good.end() - 4096);
  EXPECT_TRUE(says(refusal(cut), POOT_CORRUPT_BUNDLE, {}));
  EXPECT_FALSE(refusal(good));
}

TEST_P(ErrorsTest, DamagedKernelsNeverReachTheDriver) {
  TestBundle bundle = simple();
  std::vector<uint8_t> bytes = bundle.encode();
  bytes[bytes.size() - 30] ^= 4; // In the last section: the code of 'add'.
  auto opened = rt::Bundle::openMemory(bytes.data(), bytes.size());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(says(rt::Executable::create(device, *opened).error(),
                   POOT_CORRUPT_BUNDLE, {"section 1", "hash"}));
}

TEST_P(ErrorsTest, TargetsThatDoNotFit) {
  TestBundle bundle = simple();
  bundle.target().required_features = {"warp-drive"};
  bundle.index.targets.push_back(
      std::make_unique<fb::TargetT>(bundle.target()));
  bundle.index.targets[1]->name = "cuda:sm_80";
  bundle.index.targets[1]->required_features.clear();
  for (auto &kernel : bundle.index.targets[1]->kernels) {
    kernel->code.resize(1);
    kernel->code[0]->format = fb::CodeFormat::Ptx;
  }
  rt::Bundle opened = open(bundle);
  auto none = rt::Executable::create(device, opened);
  EXPECT_TRUE(says(none.error(), POOT_NO_TARGET,
                   {device.info().id, "'vulkan:base' requires 'warp-drive'",
                    std::string("'cuda:sm_80' holds no code for ") +
                        device.info().api + " devices"}));
  EXPECT_NE(none.error().detail("target:vulkan:base"), "");
  poot_executable_options options = POOT_EXECUTABLE_OPTIONS_INIT;
  options.target = "hsa:gfx942";
  EXPECT_TRUE(says(rt::Executable::create(device, opened, &options).error(),
                   POOT_NOT_FOUND,
                   {"'hsa:gfx942'", "'vulkan:base' and 'cuda:sm_80'"}));
}

TEST_P(ErrorsTest, TheBestTargetIsChosen) {
  TestBundle bundle = simple();
  for (const char *feature : {"subgroup-basic", "warp-drive"}) {
    bundle.index.targets.push_back(
        std::make_unique<fb::TargetT>(bundle.target()));
    bundle.index.targets.back()->name = std::string("vulkan:") + feature;
    bundle.index.targets.back()->required_features = {feature};
  }
  EXPECT_EQ(load(bundle).target(), "vulkan:subgroup-basic");
  poot_executable_options options = POOT_EXECUTABLE_OPTIONS_INIT;
  options.target = "vulkan:base";
  EXPECT_EQ(load(bundle, &options).target(), "vulkan:base");
  // One for CPUs goes before one that requires more of what a CPU has.
  bundle.index.targets.push_back(
      std::make_unique<fb::TargetT>(bundle.target()));
  bundle.index.targets.back()->name = "vulkan:cpu";
  bundle.index.targets.back()->required_features = {"cpu"};
  bundle.index.targets[1]->required_features = {"subgroup-arithmetic",
                                                "subgroup-basic"};
  EXPECT_EQ(load(bundle).target(), device.info().type == POOT_DEVICE_CPU
                                       ? "vulkan:cpu"
                                       : "vulkan:subgroup-basic");
}

TEST_P(ErrorsTest, KernelsBeyondTheDevice) {
  struct Case {
    const char *limit;
    void (*change)(fb::TargetT &target);
  };
  // Only the tables change, and the kernel is refused before the driver sees
  // that its code says otherwise.
  const Case cases[] = {
      {"maxPushConstantsSize",
       [](fb::TargetT &t) {
         t.kernels[0]->metadata_words = 5000;
         t.programs[0]->commands[0]->body.AsDispatch()->metadata.resize(5000);
       }},
      {"maxComputeWorkGroupSize",
       [](fb::TargetT &t) { t.kernels[0]->workgroup_size = {1, 1, 1u << 30}; }},
      {"maxComputeWorkGroupInvocations",
       [](fb::TargetT &t) { t.kernels[0]->workgroup_size = {64, 64, 64}; }},
      {"maxComputeSharedMemorySize",
       [](fb::TargetT &t) { t.kernels[0]->static_workgroup_bytes = 1u << 30; }},
  };
  for (const Case &c : cases) {
    TestBundle bundle = simple();
    c.change(bundle.target());
    rt::Session session = start(bundle);
    rt::Error error = session.prepare("run");
    EXPECT_TRUE(says(error, POOT_DEVICE_LIMIT, {"'add'", c.limit})) << c.limit;
    EXPECT_EQ(error.detail("limit"), c.limit);
  }

  TestBundle feature = simple();
  feature.target().kernels[0]->required_features = {"warp-drive"};
  EXPECT_TRUE(says(start(feature).prepare("run"), POOT_NO_TARGET,
                   {"'add'", "'warp-drive'", "it has"}));
  TestBundle subgroup = simple();
  subgroup.target().kernels[0]->subgroup_size = 3;
  EXPECT_TRUE(says(start(subgroup).prepare("run"), POOT_NO_TARGET,
                   {"'add'", "subgroups of 3"}));
  // What the schema holds for other devices.
  TestBundle cluster = simple();
  cluster.target().programs[0]->commands[0]->body.AsDispatch()->cluster = {1, 1,
                                                                           1};
  EXPECT_TRUE(says(start(cluster).prepare("run"), POOT_NO_TARGET,
                   {"clusters of workgroups", "'run', command 0"}));
  TestBundle cooperative = simple();
  cooperative.target()
      .programs[0]
      ->commands[0]
      ->body.AsDispatch()
      ->cooperative = true;
  EXPECT_TRUE(says(start(cooperative).prepare("run"), POOT_NO_TARGET,
                   {"cooperative launch", "'run', command 0"}));
}

TEST_P(ErrorsTest, SubgroupSizeOfTheDevice) {
  TestBundle bundle = simple();
  bundle.target().kernels[0]->subgroup_size = device.info().subgroup_size;
  rt::Session session = start(bundle);
  poot_step step = submit(
      session, "run", {rt::slot("x", iota(64)), rt::slot("k", iota(64, 1))});
  EXPECT_EQ(read(session, step, "y", 64)[63], 63 + 64);
}

TEST_P(ErrorsTest, GridsBeyondTheDevice) {
  TestBundle bundle = simple();
  bundle.target().programs[0]->commands[0]->body.AsDispatch()->grid = {
      1, 1, UINT32_MAX};
  bundle.target().programs[0]->commands[0]->location = "layer 7";
  rt::Session session = start(bundle);
  EXPECT_TRUE(
      says(session.prepare("run"), POOT_DEVICE_LIMIT,
           {"'add' (layer 7)", "1x1x4294967295", "maxComputeWorkGroupCount"}));
}

TEST_P(ErrorsTest, MisalignedArguments) {
  TestBundle bundle;
  Program entry = bundle.addEntry("run");
  uint32_t x = entry.slot("x", 65);
  entry.dispatch(bundle.affine(), 64,
                 {in(x, 2, 256), out(entry.output("y", 64))}, {64, 1, 0});
  rt::Session session = start(bundle);
  EXPECT_TRUE(says(
      session.prepare("run"), POOT_DEVICE_LIMIT,
      {"argument 0", "'affine'", "byte 2", "minStorageBufferOffsetAlignment"}));
}

TEST_P(ErrorsTest, SlotsAndOutputs) {
  TestBundle bundle = simple();
  rt::Session session = start(bundle);
  Ints values = iota(64);
  auto fails = [&](const std::string &entry,
                   const std::vector<poot_slot_value> &slots) {
    return session.submit(entry, slots).takeError();
  };
  EXPECT_TRUE(
      says(fails("walk", {}), POOT_NOT_FOUND, {"'walk'", "entries: 'run'"}));
  EXPECT_TRUE(says(fails("run", {rt::slot("x", values)}), POOT_INVALID_ARGUMENT,
                   {"slot 'k'", "no value", "'x' and 'k'"}));
  EXPECT_TRUE(says(fails("run", {rt::slot("x", values), rt::slot("k", values),
                                 rt::slot("z", values)}),
                   POOT_NOT_FOUND, {"no slot 'z'", "'x' and 'k'"}));
  EXPECT_TRUE(says(fails("run", {rt::slot("x", values), rt::slot("x", values)}),
                   POOT_INVALID_ARGUMENT, {"'x'", "two values"}));
  EXPECT_TRUE(says(
      fails("run", {rt::slot("x", values), rt::slot("k", values.data(), 252)}),
      POOT_INVALID_ARGUMENT, {"'k'", "i32 64", "256 bytes", "252 bytes"}));
  EXPECT_TRUE(
      says(fails("run", {rt::slot("x", values), rt::slot("k", nullptr, 256)}),
           POOT_INVALID_ARGUMENT, {"'k'", "NULL"}));
  // A refused step does not count, and leaves the session as it was.
  poot_step step =
      submit(session, "run", {rt::slot("x", values), rt::slot("k", values)});
  EXPECT_EQ(step, 1u);
  EXPECT_TRUE(says(session.readOutput(step, "z", values.data(), 256),
                   POOT_NOT_FOUND, {"'z'", "outputs: 'y'"}));
  EXPECT_TRUE(says(session.readOutput(step, "y", values.data(), 128),
                   POOT_INVALID_ARGUMENT, {"'y'", "256 bytes", "128"}));
  EXPECT_TRUE(says(session.wait(2), POOT_INVALID_ARGUMENT,
                   {"no step 2", "submitted 1"}));
  EXPECT_TRUE(says(session.wait(0), POOT_INVALID_ARGUMENT, {"no step 0"}));
}

TEST_P(ErrorsTest, NullIsAnError) {
  TestBundle bundle = simple();
  rt::Bundle opened = open(bundle);
  poot_device *deviceOut = nullptr;
  EXPECT_TRUE(says(rt::Error(poot_device_open(nullptr, nullptr, &deviceOut)),
                   POOT_INVALID_ARGUMENT, {"id is NULL"}));
  EXPECT_TRUE(says(rt::Error(poot_bundle_open("x", nullptr)),
                   POOT_INVALID_ARGUMENT, {"bundle is NULL"}));
  EXPECT_TRUE(says(rt::Error(poot_executable_create(nullptr, opened.get(),
                                                    nullptr, nullptr)),
                   POOT_INVALID_ARGUMENT, {"device is NULL"}));
  EXPECT_TRUE(says(rt::Error(poot_session_submit(nullptr, "run", nullptr, 0,
                                                 nullptr, 0, nullptr)),
                   POOT_INVALID_ARGUMENT, {"session is NULL"}));
  EXPECT_EQ(poot_error_code(nullptr), POOT_OK);
  EXPECT_EQ(poot_bundle_target(opened.get(), 1), nullptr);
  poot_session_destroy(nullptr);
  poot_device_close(nullptr);
}

TEST_P(ErrorsTest, HandlesGoInAnyOrder) {
  TestBundle bundle = simple();
  rt::Bundle opened = open(bundle);
  auto own = rt::Device::open(GetParam());
  ASSERT_TRUE(own);
  rt::Device first = std::move(*own);
  auto executable = rt::Executable::create(first, opened);
  ASSERT_TRUE(executable) << executable.error().message();
  auto session = rt::Session::create(*executable);
  ASSERT_TRUE(session);
  first = rt::Device();
  opened = rt::Bundle();
  *executable = rt::Executable();
  poot_step step = submit(*session, "run",
                          {rt::slot("x", iota(64)), rt::slot("k", iota(64))});
  EXPECT_EQ(read(*session, step, "y", 64)[5], 10);
}

TEST_P(ErrorsTest, EntriesDescribeThemselves) {
  TestBundle bundle = simple();
  auto key = std::make_unique<fb::EntryKeyT>();
  key->phase = fb::Phase::Decode;
  key->rows = 2;
  key->tokens = 3;
  key->cache = fb::CacheLayout::Paged;
  key->logits = fb::Logits::All;
  key->suffix = "greedy";
  key->kv = "f16";
  bundle.target().programs[0]->key = std::move(key);
  auto pair = std::make_unique<fb::KeyValueT>();
  pair->key = "general.architecture";
  pair->value = "llama";
  bundle.index.model.push_back(std::move(pair));
  rt::Bundle opened = open(bundle);
  EXPECT_STREQ(poot_bundle_model_value(opened.get(), "general.architecture"),
               "llama");
  EXPECT_EQ(poot_bundle_model_value(opened.get(), "x"), nullptr);
  EXPECT_STREQ(poot_bundle_producer(opened.get()), "conformance suite");
  EXPECT_STREQ(poot_bundle_target(opened.get(), 0), "vulkan:base");
  rt::Executable executable = load(bundle);
  EXPECT_EQ(executable.findEntry("walk"), nullptr);
  ASSERT_EQ(executable.entryCount(), 1u);
  const poot_entry_info &entry = executable.entry(0);
  EXPECT_STREQ(entry.name, "run");
  EXPECT_EQ(entry.phase, POOT_PHASE_DECODE);
  EXPECT_EQ(entry.rows, 2u);
  EXPECT_EQ(entry.tokens, 3u);
  EXPECT_EQ(entry.cache, POOT_CACHE_PAGED);
  EXPECT_EQ(entry.logits, POOT_LOGITS_ALL);
  EXPECT_STREQ(entry.suffix, "greedy");
  EXPECT_STREQ(entry.kv, "f16");
  EXPECT_STREQ(entry.accumulate, "");
  ASSERT_EQ(entry.slot_count, 2u);
  EXPECT_STREQ(entry.slots[1].name, "k");
  EXPECT_STREQ(entry.slots[1].element, "i32");
  ASSERT_EQ(entry.slots[1].rank, 1u);
  EXPECT_EQ(entry.slots[1].shape[0], 64);
  EXPECT_EQ(entry.slots[1].size, 256u);
  ASSERT_EQ(entry.output_count, 1u);
  EXPECT_STREQ(entry.outputs[0].name, "y");
  EXPECT_EQ(entry.command_count, 1u);
}

TEST_P(ErrorsTest, SelfCheckTellsRightFromWrong) {
  TestBundle bundle;
  bundle.affine();
  auto vector = [](double expected) {
    auto test = std::make_unique<fb::TestVectorT>();
    test->grid = {1, 1, 1};
    test->metadata = {64, 4, 2};
    for (uint32_t i = 0; i != 2; ++i) {
      auto input = std::make_unique<fb::TestInputT>();
      input->argument = i;
      input->bytes = 256;
      input->element = "i32";
      input->fill = i ? fb::Fill::Zero : fb::Fill::UniformInt;
      input->low = input->high = 10; // Every element is 10.
      test->inputs.push_back(std::move(input));
    }
    auto expectation = std::make_unique<fb::TestExpectationT>();
    expectation->argument = 1;
    expectation->element = "i32";
    expectation->index = {0, 63};
    expectation->value = {42, expected};
    test->expected.push_back(std::move(expectation));
    return test;
  };
  bundle.target().kernels[0]->variant = "v";
  bundle.target().kernels[0]->tests.push_back(vector(42));
  bundle.target().kernels[0]->tests.push_back(vector(43.5));
  rt::Bundle opened = open(bundle);
  struct Seen {
    std::vector<bool> passed;
    std::vector<std::string> messages;
    double largest = 0;
  } seen;
  rt::Error error(poot_self_check(
      device.get(), opened.get(), nullptr,
      [](void *user, const poot_check_result *result) {
        auto &seen = *static_cast<Seen *>(user);
        EXPECT_STREQ(result->kernel, "affine");
        EXPECT_STREQ(result->variant, "v");
        EXPECT_EQ(result->vector, seen.passed.size());
        seen.passed.push_back(result->passed);
        seen.messages.push_back(result->message);
        seen.largest = result->largest_error;
      },
      &seen));
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(seen.passed, (std::vector<bool>{true, false}));
  ASSERT_EQ(seen.messages.size(), 2u);
  EXPECT_EQ(seen.messages[0], "");
  EXPECT_NE(seen.messages[1].find("argument 1"), std::string::npos)
      << seen.messages[1];
  EXPECT_EQ(seen.largest, 1.5);
}

TEST_P(ErrorsTest, CompiledKernelsAreCached) {
  if (GetParam() == "interp:0")
    GTEST_SKIP() << "the interpreter compiles nothing";
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) /
                    ("poot-cache-" + std::to_string(::getpid()));
  fs::remove_all(folder);
  TestBundle bundle = simple();
  rt::Bundle opened = open(bundle);
  auto run = [&] {
    poot_device_options options = POOT_DEVICE_OPTIONS_INIT;
    std::string path = folder.string() + "/deep";
    options.pipeline_cache = path.c_str();
    auto own = rt::Device::open(GetParam(), &options);
    ASSERT_TRUE(own) << own.error().message();
    auto executable = rt::Executable::create(*own, opened);
    ASSERT_TRUE(executable) << executable.error().message();
    auto session = rt::Session::create(*executable);
    ASSERT_TRUE(session);
    poot_step step = submit(*session, "run",
                            {rt::slot("x", iota(64)), rt::slot("k", iota(64))});
    EXPECT_EQ(read(*session, step, "y", 64)[20], 40);
  };
  auto files = [&] {
    std::vector<fs::path> found;
    if (fs::exists(folder))
      for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
          found.push_back(entry.path());
    return found;
  };
  run();
  ASSERT_EQ(files().size(), 1u);
  fs::path file = files()[0];
  EXPECT_EQ(file.filename().string().rfind("vulkan-", 0), 0u);
  EXPECT_GT(fs::file_size(file), 24u);
  auto content = [&] {
    std::ifstream stream(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  };
  std::string whole = content();
  // Damaged in each way that a disk may find; replaced by a good one.
  for (std::string damaged :
       {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() - 1),
        whole.substr(0, whole.size() - 1) + char(whole.back() ^ 1),
        std::string(5000, 'x')}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
    run();
    ASSERT_EQ(files().size(), 1u);
    EXPECT_NE(content(), damaged);
    EXPECT_EQ(content().substr(0, 8), "pootvkc1");
  }
  fs::remove_all(folder);
  // A folder that can't be made costs speed, nothing else.
  std::ofstream(folder.string()) << "a file";
  run();
  fs::remove_all(folder);
}
