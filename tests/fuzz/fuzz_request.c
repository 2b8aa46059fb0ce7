// SPDX-License-Identifier: Apache-2.0
// modules: serve
// The body of a submission: whatever the bytes, parsing gives candidates that are within all limits, or an error with a
// message. No name leads out of a folder.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/request.h"
#include "serve/route.h"

enum { MAX_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct serve_candidate *c) {
  if (strlen(c->task) >= QUEUE_NAME || c->task[0] == '/' || strstr(c->task, ".") || strstr(c->task, "//"))
    abort();
  if (strlen(c->name) >= QUEUE_NAME || strchr(c->name, '/') || c->name[0] == '.' || c->name[0] == '-')
    abort();
  if (strlen(c->workload) >= QUEUE_NAME || c->source_bytes > SERVE_MOST_SOURCE || strlen(c->source) != c->source_bytes)
    abort();
}

// As a target of a request: what is found has a whole identity, or none.
static void check_route(const uint8_t *data, size_t size) {
  char target[512], identity[QUEUE_IDENTITY];
  size_t n = size < sizeof target ? size : sizeof target - 1;
  memcpy(target, data, n);
  target[n] = '\0';
  enum route r = route_find(target, identity);
  if (identity[0] != '\0' && r != ROUTE_NONE && strlen(identity) != QUEUE_IDENTITY - 1)
    abort();
  if (r != ROUTE_NONE && memchr(target, '%', strcspn(target, "?")))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct request r;
  struct assay_error err = {0};
  if (size > MAX_BYTES)
    return 0;
  check_route(data, size);
  enum assay_status status = request_parse((const char *)data, size, &r, &err);
  if ((status != ASSAY_OK) != (err.message[0] != '\0') || (status != ASSAY_OK) != (r.n == 0))
    abort();
  for (int i = 0; i < r.n; i++)
    check(&r.candidates[i]);
  if (status == ASSAY_OK && !r.settings)
    abort();
  request_release(&r);
  return 0;
}
