/* Runs one step of a bundle and prints the start of every output.
 *
 *   run_bundle                  lists the devices
 *   run_bundle M.poot           lists the entries of a bundle
 *   run_bundle M.poot ENTRY     runs ENTRY once with every slot zero
 *
 * The bundle must hold its weights: providing them from a checkpoint is what
 * poot_executable_options.provider is for. */
#include <poot/runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the error, frees it and ends the program. */
static void check(poot_error *error) {
  if (!error)
    return;
  fprintf(stderr, "run_bundle: %s: %s\n",
          poot_code_name(poot_error_code(error)), poot_error_message(error));
  poot_error_free(error);
  exit(1);
}

static void list_devices(void) {
  poot_device_list *list;
  check(poot_list_devices(&list));
  for (size_t i = 0; i != poot_device_list_size(list); ++i) {
    const poot_device_info *info = poot_device_list_at(list, i);
    printf("%s: %s, %s, %llu MiB\n", info->id, info->name, info->driver,
           (unsigned long long)(info->memory >> 20));
  }
  for (size_t i = 0; i != poot_device_list_note_count(list); ++i)
    printf("%s\n", poot_device_list_note(list, i));
  poot_device_list_free(list);
}

static void print_output(const poot_tensor_info *info, const void *data) {
  int is_float = strcmp(info->element, "f32") == 0;
  int is_int = strcmp(info->element, "i32") == 0;
  printf("%s (%s, %llu bytes):", info->name, info->element,
         (unsigned long long)info->size);
  for (uint64_t i = 0; (is_float || is_int) && i < info->size / 4 && i != 8;
       ++i)
    if (is_float)
      printf(" %g", ((const float *)data)[i]);
    else
      printf(" %d", ((const int32_t *)data)[i]);
  printf("\n");
}

static void run_entry(poot_session *session, const poot_entry_info *entry) {
  poot_slot_value *slots = calloc(entry->slot_count + 1, sizeof *slots);
  for (size_t i = 0; i != entry->slot_count; ++i) {
    slots[i].slot = entry->slots[i].name;
    slots[i].size = entry->slots[i].size;
    slots[i].data = calloc(1, entry->slots[i].size);
  }
  poot_step step;
  check(poot_session_submit(session, entry->name, slots, entry->slot_count,
                            NULL, 0, &step));
  /* The slots were copied. */
  for (size_t i = 0; i != entry->slot_count; ++i)
    free((void *)slots[i].data);
  free(slots);

  for (size_t i = 0; i != entry->output_count; ++i) {
    const poot_tensor_info *info = &entry->outputs[i];
    void *data = malloc(info->size);
    check(
        poot_session_read_output(session, step, info->name, data, info->size));
    print_output(info, data);
    free(data);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) {
    list_devices();
    return 0;
  }
  poot_bundle *bundle;
  check(poot_bundle_open(argv[1], &bundle));
  poot_device *device;
  check(poot_device_open("vulkan", NULL, &device));
  poot_executable *executable;
  check(poot_executable_create(device, bundle, NULL, &executable));
  if (argc < 3) {
    for (size_t i = 0; i != poot_executable_entry_count(executable); ++i)
      printf("%s\n", poot_executable_entry(executable, i)->name);
  } else {
    const poot_entry_info *entry =
        poot_executable_find_entry(executable, argv[2]);
    if (!entry) {
      fprintf(stderr, "run_bundle: %s has no entry '%s'\n", argv[1], argv[2]);
      return 1;
    }
    poot_session_options options = POOT_SESSION_OPTIONS_INIT;
    options.default_extent = 256; /* of states whose type leaves it open */
    poot_session *session;
    check(poot_session_create(executable, &options, &session));
    run_entry(session, entry);
    poot_session_destroy(session);
  }
  poot_executable_destroy(executable);
  poot_device_close(device);
  poot_bundle_close(bundle);
  return 0;
}
