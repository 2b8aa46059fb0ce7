// SPDX-License-Identifier: Apache-2.0
// modules: report
// Fuzz target: verdicts as JSON Lines, and traces of flashinfer-bench. What is refused leaves the store as it was; what
// is read can be written and read again, and is the same then.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/flashinfer.h"
#include "report/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A property that does not hold is a finding like a crash.
static void must(int holds) {
  if (!holds)
    abort();
}

enum { MOST_RUNS = 8, NAME = 256 };
struct runs {
  char names[MOST_RUNS][NAME];
  int n;
};

static bool note_run(void *arg, const struct store_run *r) {
  struct runs *runs = arg;
  if (runs->n < MOST_RUNS && strlen(r->name) < NAME)
    strcpy(runs->names[runs->n++], r->name);
  return true;
}

static void again(struct store *s, const char *run) {
  struct buf once = {0}, twice = {0};
  struct assay_error err = {0};
  int64_t n = 0, read = 0, deleted = 0;
  must(lines_write(s, run, false, &once, &n, &err) == ASSAY_OK);
  must(store_delete_run(s, run, &deleted, &err) == ASSAY_OK && deleted == n);
  must(lines_read(s, buf_str(&once), once.len, &read, &err) == ASSAY_OK && read == n);
  must(lines_write(s, run, false, &twice, &n, &err) == ASSAY_OK);
  must(once.len == twice.len && memcmp(buf_str(&once), buf_str(&twice), once.len) == 0);
  buf_release(&once);
  buf_release(&twice);
}

static void use(struct store *s, const uint8_t *data, size_t size) {
  struct assay_error err = {0};
  struct runs runs = {0};
  int64_t n = 0;
  const enum assay_status status = lines_read(s, (const char *)data, size, &n, &err);
  must(store_each_run(s, note_run, &runs, &err) == ASSAY_OK);
  must(status == ASSAY_OK || (runs.n == 0 && err.message[0]));
  for (int i = 0; i < runs.n; i++)
    again(s, runs.names[i]);
}

// Traces become verdicts like any others.
static void use_traces(struct store *s, const uint8_t *data, size_t size) {
  struct assay_error err = {0};
  struct runs before = {0}, after = {0};
  int64_t n = 0;
  must(store_each_run(s, note_run, &before, &err) == ASSAY_OK);
  const enum assay_status status = flashinfer_read(s, "traces of a fuzzer", (const char *)data, size, &n, &err);
  must(store_each_run(s, note_run, &after, &err) == ASSAY_OK);
  must(status == ASSAY_OK || (after.n == before.n && err.message[0]));
  if (!status && n > 0)
    again(s, "traces of a fuzzer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  char path[64], other[80];
  struct store *s = NULL;
  struct assay_error err = {0};
  // In memory, where a store's syncs take no time: half of it on a disk.
  const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, sizeof path, "%s/fuzz_lines.%ld", folder, (long)getpid());
  if (store_open(path, &s, &err) == ASSAY_OK)
    flashinfer_is_traces((const char *)data, size) ? use_traces(s, data, size) : use(s, data, size);
  store_close(s);
  for (int i = 0; i < 4; i++) {
    snprintf(other, sizeof other, "%s%s", path, endings[i]);
    unlink(other);
  }
  return 0;
}
