// SPDX-License-Identifier: Apache-2.0
// modules: store
// A store file of any content: it opens or is refused, and what opens can be read to its end; nothing crashes.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool touch(void *arg, const struct store_verdict *v) {
  volatile char *sink = arg;
  for (const char *p = v->evidence; *p; p++)
    *sink = *p;
  for (int i = 0; i < v->n_samples; i++)
    *sink = (char)(v->samples_ns[i] > 0);
  return true;
}

static void use(const char *path) {
  struct store *s = NULL;
  struct assay_error err = {0};
  struct store_verdict key = {.run = "r", .reason = ASSAY_REASON_PASS};
  char sink, *value = NULL;
  bool flag;
  int64_t id;
  if (store_open(path, &s, &err) != ASSAY_OK)
    return;
  (void)store_each(s, NULL, touch, &sink, &err);
  (void)store_each(s, "r", touch, &sink, &err);
  (void)store_has(s, &key, &flag, &err);
  (void)store_claim(s, &key, &flag, &err);
  (void)store_put(s, &key, &id, &err);
  if (store_get_machine(s, "m", "k", &value, &err) == ASSAY_OK)
    base_free(value);
  store_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64], other[80];
  // In memory, where a store's syncs take no time: half of it on a disk.
  const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, sizeof path, "%s/fuzz_store.%ld", folder, (long)getpid());
  FILE *f = fopen(path, "wb");
  if (!f)
    return 0;
  size_t written = fwrite(data, 1, size, f);
  if (fclose(f) == 0 && written == size)
    use(path);
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  for (int i = 0; i < 4; i++) {
    snprintf(other, sizeof other, "%s%s", path, suffixes[i]);
    unlink(other);
  }
  return 0;
}
