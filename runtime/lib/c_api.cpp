// The C API over the runtime's classes: checks pointers, and turns what little
// can be thrown (memory exhaustion) into an error.

#include "poot/runtime.h"

#include "executable.h"
#include "self_check.h"
#include "session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <new>

using namespace poot;
using namespace poot::runtime;

struct poot_device_list {
  DeviceList list;
};
struct poot_device {
  std::shared_ptr<Device> device;
  /// Messages handed out, which stay where they are.
  mutable std::deque<std::string> messages;
};
struct poot_bundle {
  std::shared_ptr<const BundleView> view;
};
struct poot_executable {
  std::shared_ptr<Executable> executable;
};
struct poot_session {
  std::unique_ptr<Session> session;
};

/// Runs BODY, which returns an Error, so that no exception reaches C.
template <class F> static poot_error *guard(F body) {
  try {
    return body().release();
  } catch (const std::bad_alloc &) {
    return poot_error_create(POOT_OUT_OF_MEMORY,
                             "out of host memory; close other programs or use "
                             "a smaller model");
  } catch (const std::exception &exception) {
    return poot_error_create(POOT_DRIVER_ERROR, exception.what());
  }
}

static Error null(const char *what) {
  return makeError(POOT_INVALID_ARGUMENT, what, " is NULL");
}

/// The caller's options as this version knows them: what an older caller's
/// struct lacks is the default, what a newer one's has beyond is unknown here.
template <class T> static T adopt(const T *options, T defaults) {
  if (options)
    std::memcpy(static_cast<void *>(&defaults), options,
                std::min(options->struct_size, sizeof(T)));
  return defaults;
}

static bool environmentSays(const char *name, const char *value) {
  const char *text = std::getenv(name);
  return text && std::strcmp(text, value) == 0;
}

static std::string cacheFolder(const char *option) {
  auto set = [](const char *text) { return text && *text; };
  if (!set(option))
    option = std::getenv("POOT_PIPELINE_CACHE");
  if (set(option))
    return std::strcmp(option, "off") == 0 ? "" : option;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); set(cache))
    return weights::concat(cache, "/poot");
  if (const char *home = std::getenv("HOME"); set(home))
    return weights::concat(home, "/.cache/poot");
  return "";
}

extern "C" {

const char *poot_version(void) { return POOT_VERSION; }

// ---- Devices

poot_error *poot_list_devices(poot_device_list **list) {
  return guard([&]() -> Error {
    if (!list)
      return null("list");
    *list = nullptr;
    *list = new poot_device_list{listDevices()};
    return success();
  });
}

size_t poot_device_list_size(const poot_device_list *list) {
  return list ? list->list.devices.size() : 0;
}

const poot_device_info *poot_device_list_at(const poot_device_list *list,
                                            size_t i) {
  return i < poot_device_list_size(list) ? &list->list.devices[i]->info
                                         : nullptr;
}

size_t poot_device_list_note_count(const poot_device_list *list) {
  return list ? list->list.notes.size() : 0;
}

const char *poot_device_list_note(const poot_device_list *list, size_t i) {
  return i < poot_device_list_note_count(list) ? list->list.notes[i].c_str()
                                               : nullptr;
}

void poot_device_list_free(poot_device_list *list) { delete list; }

poot_error *poot_device_open(const char *id, const poot_device_options *given,
                             poot_device **device) {
  return guard([&]() -> Error {
    if (!id || !device)
      return null(id ? "device" : "id");
    *device = nullptr;
    poot_device_options options = adopt(given, POOT_DEVICE_OPTIONS_INIT);
    DeviceOptions internal;
    internal.validation =
        options.validation || environmentSays("POOT_VULKAN_VALIDATION", "1");
    internal.cacheFolder = cacheFolder(options.pipeline_cache);
    auto result = std::make_unique<poot_device>();
    if (Error e = openDevice(id, internal, result->device))
      return e;
    *device = result.release();
    return success();
  });
}

const poot_device_info *poot_device_get_info(const poot_device *device) {
  return device ? &device->device->info() : nullptr;
}

size_t poot_device_validation_count(const poot_device *device) {
  return device ? device->device->validationMessages().size() : 0;
}

const char *poot_device_validation_message(const poot_device *device,
                                           size_t i) {
  if (!device)
    return nullptr;
  std::vector<std::string> all = device->device->validationMessages();
  if (i >= all.size())
    return nullptr;
  while (device->messages.size() < all.size())
    device->messages.push_back(all[device->messages.size()]);
  return device->messages[i].c_str();
}

void poot_device_close(poot_device *device) { delete device; }

// ---- Bundles

poot_error *poot_bundle_open(const char *path, poot_bundle **bundle) {
  return guard([&]() -> Error {
    if (!path || !bundle)
      return null(path ? "bundle" : "path");
    *bundle = nullptr;
    auto result = std::make_unique<poot_bundle>();
    if (Error e = BundleView::open(path, result->view))
      return e;
    *bundle = result.release();
    return success();
  });
}

poot_error *poot_bundle_open_memory(const void *data, size_t size,
                                    poot_bundle **bundle) {
  return guard([&]() -> Error {
    if (!data || !bundle)
      return null(data ? "bundle" : "data");
    *bundle = nullptr;
    auto result = std::make_unique<poot_bundle>();
    if (Error e = BundleView::openMemory(data, size, result->view))
      return e;
    *bundle = result.release();
    return success();
  });
}

void poot_bundle_close(poot_bundle *bundle) { delete bundle; }

const char *poot_bundle_producer(const poot_bundle *bundle) {
  const auto *producer = bundle ? bundle->view->index().producer() : nullptr;
  return producer ? producer->c_str() : "";
}

const char *poot_bundle_model_value(const poot_bundle *bundle,
                                    const char *key) {
  if (!bundle || !key || !bundle->view->index().model())
    return nullptr;
  for (const fb::KeyValue *pair : *bundle->view->index().model())
    if (std::strcmp(pair->key()->c_str(), key) == 0)
      return pair->value()->c_str();
  return nullptr;
}

size_t poot_bundle_const_count(const poot_bundle *bundle) {
  return bundle ? bundle->view->consts().all().size() : 0;
}

const poot_tensor_info *poot_bundle_const(const poot_bundle *bundle, size_t i) {
  return i < poot_bundle_const_count(bundle) ? &bundle->view->consts().all()[i]
                                             : nullptr;
}

bool poot_bundle_const_is_embedded(const poot_bundle *bundle, size_t i) {
  return i < poot_bundle_const_count(bundle) &&
         bundle->view->index()
                 .consts()
                 ->Get(static_cast<uint32_t>(i))
                 ->section() >= 0;
}

size_t poot_bundle_state_count(const poot_bundle *bundle) {
  return bundle ? bundle->view->states().all().size() : 0;
}

const poot_tensor_info *poot_bundle_state(const poot_bundle *bundle, size_t i) {
  return i < poot_bundle_state_count(bundle) ? &bundle->view->states().all()[i]
                                             : nullptr;
}

size_t poot_bundle_target_count(const poot_bundle *bundle) {
  const auto *targets = bundle ? bundle->view->index().targets() : nullptr;
  return targets ? targets->size() : 0;
}

const char *poot_bundle_target(const poot_bundle *bundle, size_t i) {
  return i < poot_bundle_target_count(bundle)
             ? bundle->view->index()
                   .targets()
                   ->Get(static_cast<uint32_t>(i))
                   ->name()
                   ->c_str()
             : nullptr;
}

// ---- Executables

poot_error *poot_executable_create(poot_device *device, poot_bundle *bundle,
                                   const poot_executable_options *given,
                                   poot_executable **executable) {
  return guard([&]() -> Error {
    if (!device || !bundle || !executable)
      return null(!device ? "device" : !bundle ? "bundle" : "executable");
    *executable = nullptr;
    auto result = std::make_unique<poot_executable>();
    if (Error e = Executable::create(
            device->device, bundle->view,
            adopt<poot_executable_options>(given, POOT_EXECUTABLE_OPTIONS_INIT),
            result->executable))
      return e;
    *executable = result.release();
    return success();
  });
}

void poot_executable_destroy(poot_executable *executable) { delete executable; }

const char *poot_executable_target(const poot_executable *executable) {
  return executable ? executable->executable->target().name()->c_str()
                    : nullptr;
}

size_t poot_executable_entry_count(const poot_executable *executable) {
  return executable ? executable->executable->entries().size() : 0;
}

const poot_entry_info *poot_executable_entry(const poot_executable *executable,
                                             size_t i) {
  return i < poot_executable_entry_count(executable)
             ? &executable->executable->entries()[i]->info
             : nullptr;
}

const poot_entry_info *
poot_executable_find_entry(const poot_executable *executable,
                           const char *name) {
  for (size_t i = 0; name && i != poot_executable_entry_count(executable); ++i)
    if (const poot_entry_info *entry = poot_executable_entry(executable, i);
        std::strcmp(entry->name, name) == 0)
      return entry;
  return nullptr;
}

uint64_t poot_executable_memory(const poot_executable *executable) {
  return executable ? executable->executable->memory() : 0;
}

// ---- Sessions

poot_error *poot_session_create(poot_executable *executable,
                                const poot_session_options *given,
                                poot_session **session) {
  return guard([&]() -> Error {
    if (!executable || !session)
      return null(executable ? "session" : "executable");
    *session = nullptr;
    poot_session_options options =
        adopt<poot_session_options>(given, POOT_SESSION_OPTIONS_INIT);
    if (options.extent_count && !options.extents)
      return null("extents");
    auto result = std::make_unique<poot_session>();
    if (Error e =
            Session::create(executable->executable, options, result->session))
      return e;
    *session = result.release();
    return success();
  });
}

void poot_session_destroy(poot_session *session) { delete session; }

poot_error *poot_session_prepare(poot_session *session, const char *entry) {
  return guard([&]() -> Error {
    if (!session || !entry)
      return null(session ? "entry" : "session");
    return session->session->prepare(entry);
  });
}

poot_error *poot_session_submit(poot_session *session, const char *entry,
                                const poot_slot_value *values,
                                size_t value_count, const char *const *outputs,
                                size_t output_count, poot_step *step) {
  return guard([&]() -> Error {
    if (!session || !entry)
      return null(session ? "entry" : "session");
    if (value_count && !values)
      return null("values");
    poot_step ignored;
    return session->session->submit(entry, values, value_count, outputs,
                                    output_count, step ? *step : ignored);
  });
}

poot_error *poot_session_wait(poot_session *session, poot_step step,
                              uint64_t timeout_ns) {
  return guard([&]() -> Error {
    if (!session)
      return null("session");
    return session->session->wait(step, timeout_ns);
  });
}

poot_error *poot_session_read_output(poot_session *session, poot_step step,
                                     const char *output, void *data,
                                     uint64_t size) {
  return guard([&]() -> Error {
    if (!session || !output || !data)
      return null(!session ? "session" : !output ? "output" : "data");
    return session->session->readOutput(step, output, data, size);
  });
}

poot_error *poot_session_reset(poot_session *session) {
  return guard([&]() -> Error {
    if (!session)
      return null("session");
    return session->session->reset();
  });
}

uint64_t poot_session_state_size(const poot_session *session,
                                 const char *state) {
  return session && state ? session->session->stateSize(state) : 0;
}

poot_error *poot_session_read_state(poot_session *session, const char *state,
                                    uint64_t offset, void *data,
                                    uint64_t size) {
  return guard([&]() -> Error {
    if (!session || !state || !data)
      return null(!session ? "session" : !state ? "state" : "data");
    return session->session->readState(state, offset, data, size);
  });
}

poot_error *poot_session_write_state(poot_session *session, const char *state,
                                     uint64_t offset, const void *data,
                                     uint64_t size) {
  return guard([&]() -> Error {
    if (!session || !state || !data)
      return null(!session ? "session" : !state ? "state" : "data");
    return session->session->writeState(state, offset, data, size);
  });
}

uint64_t poot_session_memory(const poot_session *session) {
  return session ? session->session->memory() : 0;
}

poot_error *poot_session_profile(poot_session *session,
                                 const poot_profile_row **rows,
                                 size_t *row_count) {
  return guard([&]() -> Error {
    if (!session || !rows || !row_count)
      return null(!session ? "session" : !rows ? "rows" : "row_count");
    return session->session->profile(*rows, *row_count);
  });
}

// ---- Self-check

poot_error *poot_self_check(poot_device *device, poot_bundle *bundle,
                            const char *target, poot_check_report report,
                            void *user) {
  return guard([&]() -> Error {
    if (!device || !bundle)
      return null(device ? "bundle" : "device");
    return selfCheck(*device->device, *bundle->view, target ? target : "",
                     report, user);
  });
}

} // extern "C"
