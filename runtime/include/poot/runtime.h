/* The C API of poot's runtime: opens a bundle, puts it on a device and replays
 * its steps. The runtime holds no compiler; drivers (Vulkan, later CUDA and
 * HSA) are found at run time with dlopen, so one library runs on any machine.
 *
 *   device      a driver's device, "vulkan:0"
 *   bundle      a .poot file: kernels and programs for several targets
 *   executable  a bundle on a device: kernels, weights, computed values
 *   session     states, slots and recordings of one user of an executable
 *   step        one run of an entry within a session
 *
 * Errors. A function that can fail returns NULL on success, else an error the
 * caller frees with poot_error_free. Its message names the cause and the
 * remedy; its code and details are for programs. Nothing aborts the caller, no
 * C++ exception leaves the library. On failure, out-parameters are set to NULL
 * (handles) or left alone (buffers).
 *
 * Handles. A handle keeps alive what it was made from, so handles may be
 * destroyed in any order. Destroying NULL does nothing. Destroying a session
 * waits for its steps.
 *
 * Threads. Different handles may be used by different threads at the same time,
 * even when they share a device or an executable. One handle must not be used
 * by two threads at once, save for poot_bundle and poot_executable queries,
 * which only read.
 *
 * Structs. Structs that the library returns are owned by the handle they were
 * asked from, live as long as it does, and only ever grow at their end. Structs
 * that the caller fills start with struct_size; the POOT_*_INIT macros set it
 * and zero the rest, which means "default" for every field.
 */
#ifndef POOT_RUNTIME_H
#define POOT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define POOT_API __attribute__((visibility("default")))
#define POOT_CHECK __attribute__((warn_unused_result))
#else
#define POOT_API
#define POOT_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poot_error poot_error;
typedef struct poot_device_list poot_device_list;
typedef struct poot_device poot_device;
typedef struct poot_bundle poot_bundle;
typedef struct poot_executable poot_executable;
typedef struct poot_session poot_session;

/* "0.1.0" */
POOT_API const char *poot_version(void);

/* ---- Errors ------------------------------------------------------------- */

/* Codes only ever get added. */
typedef enum poot_code {
  POOT_OK = 0,
  POOT_INVALID_ARGUMENT = 1, /* the call itself is wrong: NULL, a wrong size */
  POOT_NOT_FOUND = 2,        /* no entry, slot, output, state of that name */
  POOT_FILE_ERROR = 3,       /* a file could not be opened or read */
  POOT_NOT_A_BUNDLE = 4,     /* the file is something else */
  POOT_BUNDLE_VERSION = 5,   /* made for another version of the runtime */
  POOT_CORRUPT_BUNDLE = 6,   /* truncated or inconsistent */
  POOT_NO_DEVICE = 7,        /* no such device, or no driver for it */
  POOT_NO_TARGET = 8,        /* nothing in the bundle fits the device */
  POOT_MISSING_CONST = 9,    /* no weights of that name were given */
  POOT_CONST_MISMATCH = 10,  /* weights of another type or shape were given */
  POOT_DEVICE_LIMIT = 11,    /* the program exceeds a limit of the device */
  POOT_OUT_OF_MEMORY = 12,   /* host or device memory ran out */
  POOT_DEVICE_LOST = 13,     /* the device stopped; reopen it */
  POOT_KERNEL_REJECTED = 14, /* the driver did not accept a kernel */
  POOT_TIMEOUT = 15,         /* the wait ended before the step did */
  POOT_GONE = 16,            /* the step's outputs are no longer kept */
  POOT_DRIVER_ERROR = 17,    /* the driver failed in another way */
} poot_code;

POOT_API poot_code poot_error_code(const poot_error *error); /* NULL: POOT_OK */
/* "no-target", "out-of-memory": stable, for logs and programs. */
POOT_API const char *poot_code_name(poot_code code);
POOT_API const char *poot_error_message(const poot_error *error);
/* Facts behind the message, as pairs: ("const", "blk.0.attn_q.weight"),
 * ("expected", "q4_k gguf 4096x4096"), ("found", "f16 4096x4096"), ... */
POOT_API size_t poot_error_detail_count(const poot_error *error);
POOT_API const char *poot_error_detail_key(const poot_error *error, size_t i);
POOT_API const char *poot_error_detail_value(const poot_error *error, size_t i);
POOT_API void poot_error_free(poot_error *error);
/* For callbacks that report errors of their own. Copies the message. */
POOT_API poot_error *poot_error_create(poot_code code, const char *message);

/* ---- Devices ------------------------------------------------------------ */

typedef enum poot_device_type {
  POOT_DEVICE_CPU = 0,
  POOT_DEVICE_INTEGRATED_GPU = 1,
  POOT_DEVICE_DISCRETE_GPU = 2,
  POOT_DEVICE_OTHER = 3,
} poot_device_type;

typedef struct poot_device_info {
  const char *id;     /* "vulkan:0": what poot_device_open takes */
  const char *api;    /* "vulkan", "interp" */
  const char *name;   /* as the driver calls it */
  const char *driver; /* driver and its version */
  poot_device_type type;
  bool unified_memory;         /* the host writes device memory directly */
  uint64_t memory;             /* bytes of device memory */
  uint64_t max_allocation;     /* bytes of one buffer */
  uint64_t max_argument_range; /* bytes that one kernel argument can span */
  uint32_t max_metadata_bytes; /* bytes passed by value to a kernel */
  uint32_t subgroup_size;
  size_t feature_count;
  const char *const *features; /* names of poot/bundle/features.h */
} poot_device_info;

/* Every device of every driver found. A machine without any yields an empty
 * list and notes, not an error. */
POOT_API POOT_CHECK poot_error *poot_list_devices(poot_device_list **list);
POOT_API size_t poot_device_list_size(const poot_device_list *list);
POOT_API const poot_device_info *
poot_device_list_at(const poot_device_list *list, size_t i);
/* Why a driver or one of its devices is missing, one line each. */
POOT_API size_t poot_device_list_note_count(const poot_device_list *list);
POOT_API const char *poot_device_list_note(const poot_device_list *list,
                                           size_t i);
POOT_API void poot_device_list_free(poot_device_list *list);

typedef struct poot_device_options {
  size_t struct_size;
  /* Turns the driver's validation layers on and collects their messages (also
   * POOT_VULKAN_VALIDATION=1). An error when the layers are not installed. The
   * interpreter runs kernels under its sanitizer (POOT_INTERP_SANITIZE=1). */
  bool validation;
  /* Folder of compiled kernels; NULL: POOT_PIPELINE_CACHE from the environment,
   * else $XDG_CACHE_HOME/poot or ~/.cache/poot; "off": none. */
  const char *pipeline_cache;
} poot_device_options;
#define POOT_DEVICE_OPTIONS_INIT {sizeof(poot_device_options), false, NULL}

/* Opens "vulkan:1", or "vulkan": its first GPU, else its first CPU device; or
 * "interp", the kernel interpreter. options may be NULL. */
POOT_API POOT_CHECK poot_error *
poot_device_open(const char *id, const poot_device_options *options,
                 poot_device **device);
POOT_API const poot_device_info *
poot_device_get_info(const poot_device *device);
/* Messages of the validation layers so far; always 0 without validation. */
POOT_API size_t poot_device_validation_count(const poot_device *device);
POOT_API const char *poot_device_validation_message(const poot_device *device,
                                                    size_t i);
POOT_API void poot_device_close(poot_device *device);

/* ---- Bundles ------------------------------------------------------------ */

typedef struct poot_tensor_info {
  const char *name;
  const char *element; /* "f32", "i32", or a packed encoding, "q4_k" */
  const char *layout;  /* of a packed encoding: "gguf", "planar"; else "" */
  size_t rank;
  const int64_t *shape; /* outermost first; -1: fixed when a session is made */
  uint64_t size;        /* bytes; of one row where the outermost extent is -1 */
} poot_tensor_info;

/* The file is mapped and must not change while the bundle is open. */
POOT_API POOT_CHECK poot_error *poot_bundle_open(const char *path,
                                                 poot_bundle **bundle);
/* Does not copy: data must outlive the bundle and all that is made from it. */
POOT_API POOT_CHECK poot_error *
poot_bundle_open_memory(const void *data, size_t size, poot_bundle **bundle);
POOT_API void poot_bundle_close(poot_bundle *bundle);

POOT_API const char *poot_bundle_producer(const poot_bundle *bundle);
/* What the model's configuration says, as pairs; NULL when the key is unknown.
 */
POOT_API const char *poot_bundle_model_value(const poot_bundle *bundle,
                                             const char *key);
POOT_API size_t poot_bundle_const_count(const poot_bundle *bundle);
POOT_API const poot_tensor_info *poot_bundle_const(const poot_bundle *bundle,
                                                   size_t i);
/* Whether the const's bytes are in the bundle, so that nobody need provide
 * them. */
POOT_API bool poot_bundle_const_is_embedded(const poot_bundle *bundle,
                                            size_t i);
POOT_API size_t poot_bundle_state_count(const poot_bundle *bundle);
POOT_API const poot_tensor_info *poot_bundle_state(const poot_bundle *bundle,
                                                   size_t i);
POOT_API size_t poot_bundle_target_count(const poot_bundle *bundle);
POOT_API const char *poot_bundle_target(const poot_bundle *bundle, size_t i);

/* ---- Executables -------------------------------------------------------- */

/* What a const provider found under a name. */
typedef struct poot_const_data {
  const void *data; /* valid until poot_executable_create returns; NULL: none */
  uint64_t size;    /* bytes */
  /* The type found, compared with the type expected; NULL: only sizes are. */
  const char *element;
  const char *layout; /* NULL: the same as expected */
  size_t rank;
  const int64_t *shape; /* NULL: not compared */
} poot_const_data;

/* Asked once for every const that the chosen target uses and the bundle does
 * not hold. found comes zeroed; leave it so when there is no such tensor. An
 * error returned ends the creation and becomes its result. */
typedef poot_error *(*poot_const_provider)(void *user,
                                           const poot_tensor_info *expected,
                                           poot_const_data *found);

/* Told of progress in a long step: "weights" counts bytes. */
typedef void (*poot_progress)(void *user, const char *what, uint64_t done,
                              uint64_t total);

typedef struct poot_executable_options {
  size_t struct_size;
  poot_const_provider provider; /* needed when the bundle lacks consts */
  void *provider_user;
  poot_progress progress;
  void *progress_user;
  /* One of the bundle's targets; NULL: the best that fits, which is the one
   * that requires the most features of those the device has, on a CPU among
   * those for CPUs if there are any. */
  const char *target;
} poot_executable_options;
#define POOT_EXECUTABLE_OPTIONS_INIT                                           \
  {sizeof(poot_executable_options), NULL, NULL, NULL, NULL, NULL}

/* Chooses a target, uploads the weights once and runs the load program that
 * prepares computed values. */
POOT_API POOT_CHECK poot_error *
poot_executable_create(poot_device *device, poot_bundle *bundle,
                       const poot_executable_options *options,
                       poot_executable **executable);
POOT_API void poot_executable_destroy(poot_executable *executable);

typedef enum poot_phase {
  POOT_PHASE_NONE = 0,
  POOT_PHASE_PREFILL = 1,
  POOT_PHASE_DECODE = 2,
} poot_phase;
typedef enum poot_cache_layout {
  POOT_CACHE_NONE = 0,
  POOT_CACHE_CONTIGUOUS = 1,
  POOT_CACHE_PAGED = 2,
} poot_cache_layout;
typedef enum poot_logits {
  POOT_LOGITS_NONE = 0,
  POOT_LOGITS_LAST = 1,
  POOT_LOGITS_ALL = 2,
} poot_logits;

/* What a driver chooses an entry by, and what a step of it takes and gives. */
typedef struct poot_entry_info {
  const char *name;
  poot_phase phase;
  uint32_t rows;
  uint32_t tokens;   /* new tokens a row */
  uint32_t capacity; /* cache entries a row; 0: open */
  poot_cache_layout cache;
  poot_logits logits;
  const char *suffix;     /* "greedy", "logits", ... */
  const char *activation; /* numerics, element type names */
  const char *kv;
  const char *accumulate;
  size_t slot_count;
  const poot_tensor_info *slots;
  size_t output_count;
  const poot_tensor_info *outputs;
  size_t command_count;
} poot_entry_info;

POOT_API const char *poot_executable_target(const poot_executable *executable);
POOT_API size_t poot_executable_entry_count(const poot_executable *executable);
POOT_API const poot_entry_info *
poot_executable_entry(const poot_executable *executable, size_t i);
/* NULL when there is no such entry. */
POOT_API const poot_entry_info *
poot_executable_find_entry(const poot_executable *executable, const char *name);
/* Device bytes of weights, computed values and intermediate values. */
POOT_API uint64_t poot_executable_memory(const poot_executable *executable);

/* ---- Sessions and steps ------------------------------------------------- */

typedef struct poot_state_extent {
  const char *state;
  int64_t extent;
} poot_state_extent;

typedef struct poot_session_options {
  size_t struct_size;
  /* The outermost extent of states that leave it open: by name, else
   * default_extent for all others. */
  const poot_state_extent *extents;
  size_t extent_count;
  int64_t default_extent;
  /* Steps that may be unfinished at a time, and that keep their outputs
   * readable; 0: 4. */
  uint32_t steps_in_flight;
  /* Times every command (poot_session_profile); steps then run one by one. */
  bool profile;
} poot_session_options;
#define POOT_SESSION_OPTIONS_INIT                                              \
  {sizeof(poot_session_options), NULL, 0, 0, 0, false}

/* States start as zeros where the bundle says so. */
POOT_API POOT_CHECK poot_error *
poot_session_create(poot_executable *executable,
                    const poot_session_options *options,
                    poot_session **session);
POOT_API void poot_session_destroy(poot_session *session);

/* Records an entry's commands now instead of at its first step. */
POOT_API POOT_CHECK poot_error *poot_session_prepare(poot_session *session,
                                                     const char *entry);

/* Steps of a session count from 1. */
typedef uint64_t poot_step;

/* A slot's value for one step: bytes of the host, copied at submission, or,
 * when output is not NULL, that output of an earlier step, copied on the device
 * without the host. That step must be the last one submitted of its entry. */
typedef struct poot_slot_value {
  const char *slot;
  const void *data;
  uint64_t size;
  poot_step step;
  const char *output;
} poot_slot_value;

/* Starts a step. Each slot of the entry must have exactly one value. Steps of
 * one session run in the order of their submission. Waits while
 * steps_in_flight steps are unfinished. outputs names the outputs that will be
 * read on the host (output_count of them); NULL: all. */
POOT_API POOT_CHECK poot_error *
poot_session_submit(poot_session *session, const char *entry,
                    const poot_slot_value *values, size_t value_count,
                    const char *const *outputs, size_t output_count,
                    poot_step *step);

#define POOT_FOREVER UINT64_MAX
/* Waits until the step has finished. */
POOT_API POOT_CHECK poot_error *
poot_session_wait(poot_session *session, poot_step step, uint64_t timeout_ns);

/* Waits for the step, then copies an output to the host. size must be the
 * output's. Fails with POOT_GONE when steps_in_flight later steps were
 * submitted. */
POOT_API POOT_CHECK poot_error *
poot_session_read_output(poot_session *session, poot_step step,
                         const char *output, void *data, uint64_t size);

/* Zeros the states that start as zeros, after the steps submitted so far. */
POOT_API POOT_CHECK poot_error *poot_session_reset(poot_session *session);
/* Bytes of a state, its open extent applied; 0 when there is no such state. */
POOT_API uint64_t poot_session_state_size(const poot_session *session,
                                          const char *state);
/* Copies bytes [offset, offset + size) of a state, after the steps submitted
 * so far. */
POOT_API POOT_CHECK poot_error *
poot_session_read_state(poot_session *session, const char *state,
                        uint64_t offset, void *data, uint64_t size);
POOT_API POOT_CHECK poot_error *
poot_session_write_state(poot_session *session, const char *state,
                         uint64_t offset, const void *data, uint64_t size);
/* Device bytes of states, slots and outputs. */
POOT_API uint64_t poot_session_memory(const poot_session *session);

/* ---- Where the time goes ------------------------------------------------ */

typedef struct poot_profile_row {
  const char *entry;
  size_t command;       /* index in the entry's program */
  const char *kernel;   /* or "fill", "copy" */
  const char *variant;  /* of the kernel, or "" */
  const char *location; /* the graph op it came from, or "" */
  uint64_t runs;
  double total_ms; /* device time */
} poot_profile_row;

/* Sums over all steps finished so far, a row for every command run. Needs
 * poot_session_options.profile. The rows live until the next call that takes
 * this session. */
POOT_API POOT_CHECK poot_error *
poot_session_profile(poot_session *session, const poot_profile_row **rows,
                     size_t *row_count);

/* ---- Self-check --------------------------------------------------------- */

typedef struct poot_check_result {
  const char *kernel;
  const char *variant;
  uint32_t vector; /* index of the kernel's test vector */
  bool passed;
  double largest_error; /* absolute, over all sampled elements */
  const char *message;  /* what differed, or "" */
} poot_check_result;
typedef void (*poot_check_report)(void *user, const poot_check_result *result);

/* Runs the test vectors of every kernel of a target (NULL: the best that fits)
 * on the device and compares them with the oracle's values in the bundle.
 * Needs no weights. A wrong result is reported, not an error. */
POOT_API POOT_CHECK poot_error *
poot_self_check(poot_device *device, poot_bundle *bundle, const char *target,
                poot_check_report report, void *user);

#ifdef __cplusplus
}
#endif

#endif
