// SPDX-License-Identifier: Apache-2.0
// modules: tune
// Logs of other tuners: any bytes give trials with sane numbers, or an error, never a crash.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

static enum assay_status put(void *arg, const struct store_trial *t, struct assay_error *err) {
  (void)arg;
  (void)err;
  bool sane = t->number >= 0 && t->compile_ns >= 0 && t->bench_ns >= 0 && strlen(t->configuration) < (1u << 16) &&
              (isnan(t->tuner_ns) || t->tuner_ns > 0);
  if (!sane)
    __builtin_trap();
  return ASSAY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct tune_log_about about = {"run", "task", "workload", "cuda", "file"};
  struct assay_error err = {0};
  int64_t n;
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (tune_log_read(&(struct tune_log){NULL, text, size}, &about, put, NULL, &n, &err) == ASSAY_OK && n < 1)
    __builtin_trap();
  free(text);
  return 0;
}
